/* SPDX-License-Identifier: MIT
 *
 * A plan's file: memory for all that a run computes, constants, steps; kernels/graph/plan.h.
 */
#include "tools/graph/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"

static const uint8_t types[] = {
    [ELEM_F32] = TYPE_F32,  [ELEM_F16] = TYPE_F16,    [ELEM_BF16] = TYPE_BF16,
    [ELEM_F64] = TYPE_NONE, [ELEM_I64] = TYPE_S32,    [ELEM_I32] = TYPE_S32,
    [ELEM_I16] = TYPE_S16,  [ELEM_I8] = TYPE_S8,      [ELEM_U8] = TYPE_U8,
    [ELEM_BOOL] = TYPE_U8,  [ELEM_OTHER] = TYPE_NONE,
};

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
    uint32_t *name;        /* of each, in the texts */
    char *texts;
    size_t text_bytes;
    FILE *to;
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

static struct kept *find(struct writer *w, struct tensor *t)
{
    t = tensor_root(t);
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

    if (k) {
        k->last = step;
        return;
    }
    t = tensor_root(t);
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

static uint64_t place(struct writer *w)
{
    uint64_t end = 0;

    qsort(w->kept, w->n_kept, sizeof(w->kept[0]), by_size);
    for (uint32_t i = 0; i < w->n_kept; i++) {
        struct kept *k = &w->kept[i];
        if (!k->t->value) {
            k->at = lowest(w, k, i);
            end = end > k->at + k->bytes ? end : k->at + k->bytes;
        }
    }
    return end;
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

static char *constants(const struct writer *w, uint64_t from, uint64_t *bytes)
{
    uint64_t at = 0;
    char *data;

    for (uint32_t i = 0; i < w->n_kept; i++) {
        if (w->kept[i].t->value) {
            w->kept[i].at = from + at;
            at += w->kept[i].bytes;
        }
    }
    data = graph_alloc(at, 1);
    for (uint32_t i = 0; i < w->n_kept; i++) {
        const struct tensor *t = w->kept[i].t;
        enum elem type = t->type == ELEM_I64 ? ELEM_I32 : t->type;
        uint64_t to = w->kept[i].at - from;
        if (t->value) {
            tensor_fits(w->e->g, t);
        }
        for (int64_t e = 0; t->value && e < tensor_count(t); e++) {
            elem_put(type, t->value[e], data + to + (uint64_t)e * bytes_of(t));
        }
    }
    *bytes = at;
    return data;
}

/* --- the file --- */

static uint32_t text(struct writer *w, const char *s)
{
    uint32_t at = (uint32_t)w->text_bytes;

    w->texts = realloc(w->texts, w->text_bytes + strlen(s) + 1);
    if (!w->texts) {
        graph_die(w->e->g, "no memory for its texts");
    }
    strcpy(w->texts + at, s);
    w->text_bytes += strlen(s) + 1;
    return at;
}

/* A name that a model has given, as a plan may have it. */
static uint32_t name(struct writer *w, const char *given)
{
    char *s = graph_text("%.*s", PLAN_NAME, given);

    graph_printable(s);
    return text(w, s);
}

static struct plan_tensor describe(struct writer *w, struct tensor *t)
{
    const struct kept *k = find(w, t);
    struct plan_tensor p = {.at = k->at + (uint64_t)tensor_offset(t) * bytes_of(t),
                            .name = w->name[t->id - 1],
                            .type = types[t->type],
                            .file = (uint8_t)graph_npy_type(t->type),
                            .rank = (uint8_t)t->shape.n,
                            .place = k->t->value ? PLAN_CONSTANT : PLAN_ARENA};

    for (unsigned d = 0; d < t->shape.n; d++) {
        p.size[d] = (uint32_t)t->shape.dim[d];
    }
    return p;
}

static struct plan_step *steps(struct writer *w, uint32_t count)
{
    struct plan_step *p = graph_alloc(count, sizeof(*p));
    uint32_t at = 0;

    for (const struct step *s = w->e->steps; s; s = s->next, at++) {
        p[at] = (struct plan_step){.op = s->op ? text(w, s->op) : 0,
                                   .text = text(w, s->text),
                                   .nodes = name(w, s->nodes),
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

static void put(const struct writer *w, const void *data, size_t bytes, size_t size)
{
    static const char zeros[PLAN_ALIGN];

    if (fwrite(data, 1, bytes, w->to) != bytes ||
        fwrite(zeros, 1, size - bytes, w->to) != size - bytes) {
        graph_die(w->e->g, "the plan cannot be written: %s", strerror(errno));
    }
}

/* The file's bytes; with the CRC of all behind it in the header. */
static void assemble(struct writer *w, struct plan_header *h, const struct plan_tensor *t,
                     const struct plan_step *s, const char *data, uint64_t data_bytes)
{
    char *bytes = NULL;
    size_t size;
    FILE *file = w->to;

    w->to = open_memstream(&bytes, &size);
    if (!w->to) {
        graph_die(w->e->g, "no memory for the plan");
    }
    put(w, h, sizeof(*h), h->tensors);
    put(w, t, h->n_tensors * sizeof(*t), h->steps - h->tensors);
    put(w, s, h->n_steps * sizeof(*s), h->texts - h->steps);
    put(w, w->texts, w->text_bytes, h->constants - h->texts);
    put(w, data, data_bytes, data_bytes);
    (void)fclose(w->to);
    w->to = file;
    h->crc = plan_crc(bytes + PLAN_CRC_FROM, size - PLAN_CRC_FROM);
    memcpy(bytes + offsetof(struct plan_header, crc), &h->crc, sizeof(h->crc));
    put(w, bytes, size, size);
    free(bytes);
}

void write_plan(struct emit *e, FILE *to)
{
    struct graph *g = e->g;
    struct plan_header h = {.magic = PLAN_MAGIC,
                            .version = PLAN_VERSION,
                            .contract = CONTRACT_VERSION,
                            .profile = chip_profile(),
                            .n_inputs = g->n_inputs,
                            .n_outputs = g->n_outputs};
    struct writer w = {.e = e, .to = to};
    uint32_t count = g->n_inputs + g->n_outputs;
    struct plan_tensor *tensors;
    struct plan_step *list;
    uint64_t bytes;
    char *data;

    for (const struct step *s = e->steps; s; s = s->next) {
        count += s->n_in + s->n_out;
        h.n_steps++;
    }
    w.kept = graph_alloc(count, sizeof(w.kept[0]));
    w.named = graph_alloc(count, sizeof(w.named[0]));
    (void)text(&w, ""); /* place 0: no text */
    for (unsigned i = 0; i < g->n_inputs; i++) {
        h.input[i] = use(&w, g->input[i], 0);
    }
    list = steps(&w, h.n_steps);
    for (unsigned i = 0; i < g->n_outputs; i++) {
        h.output[i] = use(&w, g->output[i], h.n_steps + 1);
    }
    h.arena = place(&w);
    e->arena = h.arena;
    e->live = most_live(&w, h.n_steps);
    h.n_tensors = w.n_names;
    h.tensors = up(sizeof(h), 8);
    h.steps = h.tensors + h.n_tensors * sizeof(struct plan_tensor);
    h.texts = h.steps + h.n_steps * sizeof(struct plan_step);
    tensors = graph_alloc(h.n_tensors, sizeof(*tensors));
    w.name = graph_alloc(w.n_names, sizeof(w.name[0]));
    for (uint32_t i = 0; i < w.n_names; i++) {
        w.name[i] = name(&w, w.named[i]->name);
    }
    h.constants = up(h.texts + w.text_bytes, PLAN_ALIGN);
    data = constants(&w, h.constants, &bytes);
    h.bytes = h.constants + bytes;
    for (uint32_t i = 0; i < w.n_names; i++) {
        tensors[i] = describe(&w, w.named[i]);
    }
    assemble(&w, &h, tensors, list, data, bytes);
}
