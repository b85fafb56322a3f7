/* SPDX-License-Identifier: MIT
 *
 * What a plan says of a size: memory for all that a run computes, constants, steps.
 */
#include "tools/graph/plan/write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"

static const uint8_t types[] = {
    [ELEM_F32] = TYPE_F32,  [ELEM_F16] = TYPE_F16,    [ELEM_BF16] = TYPE_BF16,
    [ELEM_F64] = TYPE_NONE, [ELEM_I64] = TYPE_S32,    [ELEM_I32] = TYPE_S32,
    [ELEM_U16] = TYPE_S32,  [ELEM_U32] = TYPE_S32,    [ELEM_U64] = TYPE_S32,
    [ELEM_I16] = TYPE_S16,  [ELEM_I8] = TYPE_S8,      [ELEM_U8] = TYPE_U8,
    [ELEM_BOOL] = TYPE_U8,  [ELEM_I4] = TYPE_S8,      [ELEM_U4] = TYPE_U8,
    [ELEM_I2] = TYPE_S8,    [ELEM_U2] = TYPE_U8,      [ELEM_E4M3] = TYPE_U8,
    [ELEM_E4M3Z] = TYPE_U8, [ELEM_E5M2] = TYPE_U8,    [ELEM_E5M2Z] = TYPE_U8,
    [ELEM_E2M1] = TYPE_U8,  [ELEM_OTHER] = TYPE_NONE,
};

enum { ROUNDS = 64 }; /* of orders that memory is given in */

/* A tensor that steps, inputs or outputs name. */
struct kept {
    struct tensor *t;     /* that has bytes of its own */
    uint32_t first, last; /* steps between which it is there; inputs from 0 */
    uint64_t at, bytes;
};

struct writer {
    const struct emit *e;
    struct kept *kept;
    uint32_t n_kept, n_names;
    struct tensor **named; /* with a number in the plan: views and what they are of */
    struct plan_file *file;
};

static uint64_t up(uint64_t x, uint64_t to)
{
    return (x + to - 1) / to * to;
}

static unsigned bytes_of(const struct tensor *t)
{
    return type_bits(types[t->type]) / 8;
}

/* --- which tensors there are --- */

/* The tensor whose memory it lies in, and behind how many elements. */
static struct tensor *place_of(struct tensor *t, int64_t *offset)
{
    *offset = tensor_offset(t);
    for (t = tensor_root(t); t->home; t = tensor_root(t->home)) {
        *offset += t->home_at + tensor_offset(t->home);
    }
    return t;
}

static struct kept *find(struct writer *w, struct tensor *t)
{
    int64_t offset;

    t = place_of(t, &offset);
    for (uint32_t i = 0; i < w->n_kept; i++) {
        if (w->kept[i].t == t) {
            return &w->kept[i];
        }
    }
    return NULL;
}

static void keep(struct writer *w, struct tensor *t, uint32_t step)
{
    struct kept *k = find(w, t);
    int64_t offset;

    if (k) {
        k->last = step;
        return;
    }
    t = place_of(t, &offset);
    if (types[t->type] == TYPE_NONE) {
        graph_die(w->e->g, "'%s' is %s", t->name, elem_text(t->type));
    }
    k = &w->kept[w->n_kept++];
    *k = (struct kept){.t = t,
                       .first = step,
                       .last = step,
                       .bytes = up((uint64_t)tensor_count(t) * bytes_of(t), PLAN_ALIGN)};
}

static uint32_t number(struct writer *w, struct tensor *t)
{
    if (t->id == 0) {
        w->named[w->n_names] = t;
        t->id = ++w->n_names;
    }
    return t->id - 1;
}

static uint32_t use(struct writer *w, struct tensor *t, uint32_t step)
{
    keep(w, t, step);
    return number(w, t);
}

/* --- memory: the largest first, each as low as it may lie --- */

static int by_size(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;

    return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : 0;
}

/* By when they come, and by how long they stay. */
static int by_first(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;

    return x->first > y->first ? 1 : x->first < y->first ? -1 : by_size(a, b);
}

static int by_stay(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    uint32_t p = x->last - x->first, q = y->last - y->first;

    return p < q ? 1 : p > q ? -1 : by_size(a, b);
}

static int (*const orders[])(const void *a, const void *b) = {by_size, by_stay, by_first};
enum { ORDERS = sizeof(orders) / sizeof(orders[0]) };

static bool meets(const struct kept *a, const struct kept *b)
{
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place at which it overlaps none of the first n that are there with it. */
static uint64_t lowest(const struct writer *w, const struct kept *k, uint32_t n)
{
    uint64_t at = 0;

    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t i = 0; i < n; i++) {
            const struct kept *o = &w->kept[i];
            if (!o->t->value && meets(o, k) && at < o->at + o->bytes &&
                o->at < at + k->bytes) {
                at = o->at + o->bytes;
                moved = true;
            }
        }
    }
    return at;
}

/* In their order; where the last one ends. */
static uint64_t place_all(struct writer *w)
{
    uint64_t end = 0;

    for (uint32_t i = 0; i < w->n_kept; i++) {
        struct kept *k = &w->kept[i];
        if (!k->t->value) {
            k->at = lowest(w, k, i);
            end = end > k->at + k->bytes ? end : k->at + k->bytes;
        }
    }
    return end;
}

/* The one that ends at `end` comes first. */
static void promote(struct writer *w, uint64_t end)
{
    uint32_t i = 0;
    struct kept top;

    while (w->kept[i].t->value || w->kept[i].at + w->kept[i].bytes != end) {
        i++;
    }
    top = w->kept[i];
    memmove(&w->kept[1], &w->kept[0], i * sizeof(top));
    w->kept[0] = top;
}

/* In several orders: what ends last was too late for a lower place, so it goes first, again and
 * again, and the best of all that is kept. */
static uint64_t place(struct writer *w, uint64_t live)
{
    struct kept *best = graph_alloc(w->n_kept, sizeof(*best));
    uint64_t least = UINT64_MAX;

    for (unsigned i = 0; i < ORDERS && least > live; i++) {
        qsort(w->kept, w->n_kept, sizeof(w->kept[0]), orders[i]);
        for (unsigned k = 0; k < ROUNDS && least > live; k++) {
            uint64_t end = place_all(w);
            if (end < least) {
                least = end;
                memcpy(best, w->kept, w->n_kept * sizeof(*best));
            }
            if (end > live) {
                promote(w, end);
            }
        }
    }
    memcpy(w->kept, best, w->n_kept * sizeof(*best));
    free(best);
    return least;
}

/* The most bytes that are there at one time: no arena is smaller. */
static uint64_t most_live(const struct writer *w, uint32_t n_steps)
{
    uint64_t most = 0;

    for (uint32_t step = 0; step <= n_steps + 1; step++) {
        uint64_t live = 0;
        for (uint32_t i = 0; i < w->n_kept; i++) {
            const struct kept *k = &w->kept[i];
            live += !k->t->value && k->first <= step && step <= k->last ? k->bytes : 0;
        }
        most = live > most ? live : most;
    }
    return most;
}

/* --- constants --- */

/* Where they lie among constants. */
static void place_constants(const struct writer *w)
{
    for (uint32_t i = 0; i < w->n_kept; i++) {
        struct kept *k = &w->kept[i];
        if (k->t->value) {
            tensor_fits(w->e->g, k->t);
            k->at = plan_file_constant(w->file, k->t, k->bytes);
        }
    }
}

/* --- tables --- */

static struct plan_tensor describe(struct writer *w, struct tensor *t, uint32_t name)
{
    const struct kept *k = find(w, t);
    int64_t offset;
    uint64_t at = (place_of(t, &offset), (uint64_t)offset * bytes_of(t));
    struct plan_tensor p = {.at = k->at + at,
                            .name = name,
                            .type = types[t->type],
                            .file = (uint8_t)graph_npy_type(t->type),
                            .rank = (uint8_t)t->shape.n,
                            .place = k->t->value ? PLAN_CONSTANT : PLAN_ARENA};

    for (unsigned d = 0; d < t->shape.n; d++) {
        p.size[d] = (uint32_t)t->shape.dim[d];
    }
    return p;
}

static struct plan_tensor *tensors(struct writer *w)
{
    struct plan_tensor *p = graph_alloc(w->n_names, sizeof(*p));

    for (uint32_t i = 0; i < w->n_names; i++) {
        p[i].name = plan_file_name(w->file, w->named[i]->name);
    }
    for (uint32_t i = 0; i < w->n_names; i++) {
        p[i] = describe(w, w->named[i], p[i].name);
    }
    return p;
}

static struct plan_step *steps(struct writer *w, uint32_t count)
{
    struct plan_step *p = graph_alloc(count, sizeof(*p));
    uint32_t at = 0;

    for (const struct step *s = w->e->steps; s; s = s->next, at++) {
        p[at] = (struct plan_step){.op = s->op ? plan_file_text(w->file, s->op) : 0,
                                   .text = plan_file_text(w->file, s->text),
                                   .nodes = plan_file_name(w->file, s->nodes),
                                   .n_in = (uint8_t)s->n_in,
                                   .n_out = (uint8_t)s->n_out};
        for (unsigned i = 0; i < s->n_in; i++) {
            p[at].in[i] = use(w, s->in[i], at + 1);
        }
        for (unsigned i = 0; i < s->n_out; i++) {
            p[at].out[i] = use(w, s->out[i], at + 1);
        }
    }
    return p;
}

void write_size(struct plan_file *file, struct emit *e)
{
    struct graph *g = e->g;
    struct plan_header h = {.magic = PLAN_MAGIC,
                            .version = PLAN_VERSION,
                            .contract = CONTRACT_VERSION,
                            .profile = chip_profile(),
                            .n_inputs = g->n_inputs,
                            .n_outputs = g->n_outputs};
    struct writer w = {.e = e, .file = file};
    uint32_t count = g->n_inputs + g->n_outputs + g->n_left;
    struct plan_step *list;

    for (const struct step *s = e->steps; s; s = s->next) {
        count += s->n_in + s->n_out;
        h.n_steps++;
    }
    w.kept = graph_alloc(count, sizeof(w.kept[0]));
    w.named = graph_alloc(count, sizeof(w.named[0]));
    for (unsigned i = 0; i < g->n_inputs; i++) {
        h.input[i] = use(&w, g->input[i], 0);
    }
    list = steps(&w, h.n_steps);
    for (unsigned i = 0; i < g->n_outputs; i++) {
        struct tensor *found = g->output[i]->count;
        h.output[i] = use(&w, g->output[i], h.n_steps + 1);
        h.found[i] = found ? use(&w, found, h.n_steps + 1) + 1 : 0;
        h.axis[i] = g->output[i]->counted;
    }
    e->live = most_live(&w, h.n_steps);
    h.arena = e->arena = place(&w, e->live);
    h.n_tensors = w.n_names;
    place_constants(&w);
    plan_file_add(file, &h, tensors(&w), list);
    free(w.kept);
    free(w.named);
}

void write_plan(struct emit *e, FILE *to)
{
    struct plan_file *file = plan_file_begin();

    write_size(file, e);
    plan_file_write(file, e->g, to);
}
