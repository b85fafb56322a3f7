/* SPDX-License-Identifier: MIT
 *
 * Stages that are products: planned by the Matmul object, launched as part of the plan; see
 * product.h.
 */
#include "kernels/tile/product.h"

#include <stdio.h>
#include <string.h>

/* --- planning --- */

/* Lines of the source, for debuggers. */
static void take_lines(struct program *p, const struct tile_kernel *k)
{
    p->k = k;
    for (tile_value v = 1; v <= k->n_nodes && v <= PLAN_NODES; v++) {
        p->node[v].line = k->node[v].line;
        p->n = v;
    }
}

/* A row of c may also be computed as a column, by MM_GEMV. */
static int choose_tiling(struct product *p, unsigned cores, char why[MM_TEXT])
{
    struct mm column = p->mm;
    int err = mm_check(&p->mm, why);

    err = err ? err : mm_plan(&p->mm, cores, MM_GENERAL, why);
    if (!err && mm_plan(&column, cores, MM_GEMV, why) == 0 &&
        column.tiling.cycles < p->mm.tiling.cycles) {
        p->mm = column;
    }
    return err ? err : mm_check(&p->mm, why);
}

/* Products that are no batch of the object. */
static uint32_t times(const struct product *p)
{
    uint32_t n = 1;

    for (unsigned i = 0; i < p->n_outer - p->n_batch; i++) {
        n *= p->outer[i].size;
    }
    return n;
}

static void begin_plan(struct tile_plan *t, const struct tile_kernel *k, unsigned cores)
{
    struct product *p = t->product;

    take_lines(t->p, k);
    t->name = k->name;
    t->cores = cores < p->mm.tiles ? cores : p->mm.tiles;
    t->predicted.span = p->mm.tiling.cycles * times(p);
    plan_begin(t);
}

int product_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
                 struct tile_arena *arena, struct tile_error *error)
{
    struct tile_plan *t = tile_alloc(arena, sizeof(*t));
    struct product *p = tile_alloc(arena, sizeof(*p));
    char why[MM_TEXT];
    int err;

    *plan = t;
    if (t == NULL || p == NULL || (t->p = tile_alloc(arena, sizeof(*t->p))) == NULL) {
        return ERR_NOMEM;
    }
    p->dot = &k->node[cut_first_product(k)];
    err = product_shape(p, k, &k->result[0].tensor, error);
    if (err) {
        return err;
    }
    if (!product_by_fixpipe(p, k)) {
        return ERR_LOCAL;
    }
    mm_set_bias(&p->mm, p->bias ? p : NULL);
    err = choose_tiling(p, cores, why);
    if (err) {
        return program_refuse(error, p->dot, err, "product: %s", why);
    }
    t->product = p;
    begin_plan(t, k, cores);
    return 0;
}

/* --- running --- */

void product_bind(struct product *p, const struct tile_call *call)
{
    memcpy(p->in, call->in, sizeof(p->in));
    p->out = call->out[0];
}

static const void *at(const void *gm, uint64_t elements, unsigned type)
{
    return (const char *)gm + elements * esize_of(type);
}

/* One after the other of those that are no batch. */
static void play_one(const struct tile_plan *t, uint32_t number)
{
    const struct product *p = t->product;
    uint64_t a = 0, b = 0, c = 0;
    struct mm mm = p->mm;

    for (unsigned i = p->n_outer - p->n_batch; i-- > 0; number /= p->outer[i].size) {
        a += number % p->outer[i].size * p->outer[i].a;
        b += number % p->outer[i].size * p->outer[i].b;
        c += number % p->outer[i].size * p->outer[i].c;
    }
    mm.a.gm = mm.turned ? at(p->in[p->b], b, mm.a.type) : at(p->in[p->a], a, mm.a.type);
    mm.b.gm = mm.turned ? at(p->in[p->a], a, mm.a.type) : at(p->in[p->b], b, mm.a.type);
    mm.bias = p->bias ? p->in[p->bias - 1] : NULL;
    mm.share = task_block();
    mm.shares = t->cores;
    mm_iterate_all(&mm, (void *)(uintptr_t)at(p->out, c, mm.c_type), false);
    mm_end(&mm);
}

void product_play(const struct tile_plan *t)
{
    task_tag(t->product->dot->line);
    for (uint32_t i = 0; i < times(t->product) && task_block() < t->cores; i++) {
        play_one(t, i);
    }
    task_tag(0);
}

/* --- in words --- */

void product_explain(const struct tile_plan *t, FILE *to)
{
    const struct product *p = t->product;
    const struct tile_kernel *k = t->p->k;
    char text[MM_TEXT];

    fprintf(to, "%s on %u core%s: %lu x %lu x %lu", t->name, t->cores,
            t->cores == 1 ? "" : "s", (unsigned long)p->mm.shape.m,
            (unsigned long)p->mm.shape.n, (unsigned long)p->mm.shape.k);
    fprintf(to, p->mm.shape.batch > 1 ? ", %lu of them" : "",
            (unsigned long)p->mm.shape.batch);
    fprintf(to, times(p) > 1 ? ", %lu times\n" : "\n", (unsigned long)times(p));
    mm_explain(&p->mm, text);
    fprintf(to, "cube     %s x %s by %s; %s\n", k->param[p->a].name, k->param[p->b].name,
            k->dim[p->dot->dim].name, text);
    if (p->bias) {
        fprintf(to, "bt       %s: the sums begin with it\n", k->param[p->bias - 1].name);
    }
    fprintf(to, "fixpipe  %s%s to %s\n",
            p->mm.act.relu == FIX_RELU_PLAIN   ? "relu, "
            : p->mm.act.relu == FIX_RELU_LEAKY ? "leaky relu, "
                                               : "",
            type_name(p->mm.c_type), k->result[0].tensor.name);
}
