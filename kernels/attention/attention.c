/* SPDX-License-Identifier: MIT
 *
 * Attention as steps of a launch; see attention.h.
 */
#include "kernels/attention/attention.h"

#include <stdio.h>

#include "kernels/lib/share.h"
#include "kernels/tile/text/text.h"

enum { ALIGN = 512, HALF = 2 /* bytes of F16 */, PARTS = 3 /* q, k, v */ };

static const char project[] =
    "kernel project(x: f16[r, e], w: f16[e, p], b: f32[p]) -> y: f16[r, p]\n"
    "    y = f16(x @ w + b)\n";
static const char project_plainly[] =
    "kernel project(x: f16[r, e], w: f16[e, p]) -> y: f16[r, p]\n"
    "    y = f16(x @ w)\n";

/* The dropout of kernels/ops/dropout.tile, of which `place` is here made of indices. */
static const char generator[] =
    "        h0 = (((n * %lu + h) * %lu + s) * %lu + t) * -1640531535 + %ld\n"
    "        h1 = h0 * (h0 + h0 + 1)\n"
    "        h2 = h1 * 65536 + shr(h1, 16)\n"
    "        h3 = h2 * (h2 + h2 + 1)\n"
    "        h4 = h3 * 65536 + shr(h3, 16)\n"
    "        z = where(h4 * (h4 + h4 + 1) < s32((%.9g - 0.5) * 4294967296), 0, p)\n";

static const char loop[] =
    "kernel attend(q: f16[n, s, h, d], k: f16[n, t, h, d], v: f16[n, t, h, d]) "
    "-> o: f16[n, s, h, d]\n"
    "    loop t %s carry m = -inf[n, h, s], l = 0[n, h, s], acc = 0[n, h, s, d]\n"
    "        x = %sdot(q, k, d) * (%.9g)%s\n"
    "        top = max(m, max(x, t))\n"
    "        p = exp(x - top)\n"
    "        r = exp(m - top)\n"
    "        l = l * r + sum(p, t)\n"
    "%s"
    "        acc = acc * r + dot(f16(%s), v, t)\n"
    "        m = top\n"
    "    end\n"
    "    o = f16(acc * rec(%s))\n";

static uint32_t columns(const struct attention *p)
{
    return p->heads * p->width;
}

/* --- plans --- */

static int check(const struct attention *p, struct tile_error *error)
{
    uint64_t place = (uint64_t)p->n * p->s, last = (uint64_t)p->n * p->t;

    if (p->n == 0 || p->s == 0 || p->t == 0 || p->e == 0 || p->heads == 0 ||
        p->width == 0 || (p->context && p->f == 0)) {
        return tile_error_set(error, NULL, ERR_ARG, "a size of 0");
    }
    if (place > INT32_MAX || last > INT32_MAX ||
        (uint64_t)p->heads * p->width * PARTS > INT32_MAX) {
        return tile_error_set(error, NULL, ERR_SHAPE, "more than 2^31 rows or columns");
    }
    if (!p->context && p->t != p->s) {
        return tile_error_set(error, NULL, ERR_SHAPE,
                              "keys that are not those of x, and no context");
    }
    if (!(p->drop >= 0 && p->drop < 1) || !(p->scale - p->scale == 0)) {
        return tile_error_set(error, NULL, ERR_ARG,
                              "drop is not from 0 to below 1, or scale no number");
    }
    return 0;
}

/* rows of `in` elements to `parts` times the columns of all heads. */
static int add_product(struct attention_plan *plan, const struct attention *p,
                       uint32_t rows, uint32_t in, uint32_t parts,
                       struct tile_arena *arena, struct tile_error *error)
{
    const struct tile_size sizes[] = {{"r", rows}, {"e", in}, {"p", parts * columns(p)}};
    struct tile_kernel *k;
    int err =
        tile_parse_sized(&k, p->bias ? project : project_plainly, sizes, 3, arena, error);

    return err ? err : tile_chain_add(&plan->chain, k, p->cores, arena, error);
}

static void write_loop(struct attention_plan *plan, const struct attention *p)
{
    char drops[sizeof(generator) + 96] = "", divisor[32] = "l";
    bool some = p->drop > 0;

    if (some) {
        snprintf(drops, sizeof(drops), generator, (unsigned long)p->heads,
                 (unsigned long)p->s, (unsigned long)p->t,
                 (long)(int32_t)(p->seed * 2246822507u), (double)p->drop);
        snprintf(divisor, sizeof(divisor), "(l * (1 - %.9g))", (double)p->drop);
    }
    snprintf(plan->text, sizeof(plan->text), loop, p->causal ? "while t <= s" : "",
             p->causal ? "where(t <= s, " : "", (double)p->scale,
             p->causal ? ", -inf)" : "", drops, some ? "z" : "p", divisor);
}

/* Heads are side by side in rows of q, k and v, which are parts of longer ones. */
static int add_loop(struct attention_plan *plan, const struct attention *p,
                    struct tile_arena *arena, struct tile_error *error)
{
    const struct tile_size sizes[] = {
        {"n", p->n}, {"s", p->s}, {"t", p->t}, {"h", p->heads}, {"d", p->width}};
    struct tile_kernel *k;
    int err;

    write_loop(plan, p);
    err = tile_parse_sized(&k, plan->text, sizes, 5, arena, error);
    if (err) {
        return err;
    }
    for (unsigned i = 0; i < PARTS; i++) {
        uint32_t parts = !p->context ? PARTS : i == 0 ? 1 : PARTS - 1;
        k->param[i].row = 2;
        k->param[i].apart = (uint64_t)parts * columns(p);
    }
    return tile_chain_add(&plan->chain, k, p->cores, arena, error);
}

int attention_plan(struct attention_plan *plan, const struct attention *p,
                   struct tile_arena *arena, struct tile_error *error)
{
    int err = check(p, error);

    *error = err ? *error : (struct tile_error){0};
    plan->chain.n = 0;
    if (!err && p->context) {
        err = add_product(plan, p, p->n * p->s, p->e, 1, arena, error);
        err =
            err ? err : add_product(plan, p, p->n * p->t, p->f, PARTS - 1, arena, error);
    } else if (!err) {
        err = add_product(plan, p, p->n * p->s, p->e, PARTS, arena, error);
    }
    return err ? err : add_loop(plan, p, arena, error);
}

/* --- the launch --- */

/* q, then with a context k and v, then what the steps want by themselves. */
static uint64_t q_bytes(const struct attention *p)
{
    uint64_t bytes = (uint64_t)p->n * p->s * columns(p) * HALF * (p->context ? 1 : PARTS);

    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t kv_bytes(const struct attention *p)
{
    uint64_t bytes = p->context ? (uint64_t)p->n * p->t * columns(p) * HALF * 2 : 0;

    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

uint64_t attention_room(const struct attention_plan *plan, const struct attention *p)
{
    return q_bytes(p) + kv_bytes(p) + tile_chain_scratch(&plan->chain);
}

/* Where the tensors of each step lie. */
static void set_calls(struct tile_call call[TILE_CHAIN], const struct attention *p,
                      char *room)
{
    const float *bias = p->bias;
    uint64_t u = columns(p);
    char *q = room, *k = p->context ? room + q_bytes(p) : q + u * HALF;
    unsigned last = p->context ? 2 : 1;

    call[0] = (struct tile_call){.in = {p->x, p->w, bias}, .out = {q}};
    if (p->context) {
        call[1] = (struct tile_call){.in = {p->context, p->w_kv, bias ? bias + u : NULL},
                                     .out = {k}};
    }
    call[last] = (struct tile_call){.in = {q, k, k + u * HALF}, .out = {p->y}};
}

int attention(const struct attention_plan *plan, const struct attention *p, void *room,
              struct sched_report *report)
{
    struct tile_call call[TILE_CHAIN];
    struct tile_error error;
    int err = check(p, &error);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    set_calls(call, p, room);
    return tile_chain_run(&plan->chain, "attention", p->cores, call,
                          (char *)room + q_bytes(p) + kv_bytes(p), report);
}
