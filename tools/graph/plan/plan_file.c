/* SPDX-License-Identifier: MIT
 *
 * See plan_file.h.
 */
#include "tools/graph/plan/plan_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/packed.h"

struct constant {
    const struct tensor *t;
    uint64_t at, bytes;
    unsigned size; /* number of the size that has brought it */
};

/* Tables of a size. */
struct tables {
    struct plan_header h;
    struct plan_tensor *t;
    struct plan_step *s;
};

struct plan_file {
    struct tables *tables;
    struct constant *constant;
    const struct tensor **twice; /* constants of this size that are there already */
    uint32_t *text; /* where each begins */
    char *texts;
    unsigned n_tables, n_constants, n_twice, n_texts;
    unsigned old_texts; /* of sizes before this one */
    size_t text_bytes;
    uint64_t constant_bytes;
    FILE *to;     /* NULL: only the CRC is wanted */
    uint32_t crc; /* of what would have been written */
};

static void *larger(void *of, size_t n, size_t size)
{
    void *p = realloc(of, n * size);

    if (!p) {
        fprintf(stderr, "graph: no memory for a plan\n");
        exit(2);
    }
    return p;
}

struct plan_file *plan_file_begin(void)
{
    struct plan_file *f = graph_alloc(1, sizeof(*f));

    (void)plan_file_text(f, ""); /* place 0: no text */
    return f;
}

/* --- texts --- */

uint32_t plan_file_text(struct plan_file *f, const char *s)
{
    uint32_t at = (uint32_t)f->text_bytes;
    size_t bytes = strlen(s) + 1;

    for (unsigned i = 0; i < f->old_texts; i++) {
        if (strcmp(f->texts + f->text[i], s) == 0) {
            return f->text[i];
        }
    }
    f->text = larger(f->text, f->n_texts + 1, sizeof(*f->text));
    f->text[f->n_texts++] = at;
    f->texts = larger(f->texts, f->text_bytes + bytes, 1);
    memcpy(f->texts + at, s, bytes);
    f->text_bytes += bytes;
    return at;
}

uint32_t plan_file_name(struct plan_file *f, const char *given)
{
    char *s = graph_text("%.*s", PLAN_NAME, given);

    graph_printable(s);
    return plan_file_text(f, s);
}

/* --- constants --- */

static bool same(const struct tensor *a, const struct tensor *b)
{
    return a->type == b->type && tensor_count(a) == tensor_count(b) && packed_same(a, b);
}

uint64_t plan_file_constant(struct plan_file *f, const struct tensor *t, uint64_t bytes)
{
    struct constant *c;

    for (unsigned i = 0; i < f->n_constants; i++) {
        c = &f->constant[i];
        if (c->size < f->n_tables && same(c->t, t)) {
            f->twice = larger(f->twice, f->n_twice + 1, sizeof(*f->twice));
            f->twice[f->n_twice++] = t;
            return c->at;
        }
    }
    f->constant = larger(f->constant, f->n_constants + 1, sizeof(*f->constant));
    c = &f->constant[f->n_constants++];
    *c = (struct constant){
        .t = t, .at = f->constant_bytes, .bytes = bytes, .size = f->n_tables};
    f->constant_bytes += bytes;
    return c->at;
}

/* Unless another constant has the same bytes of memory. */
static void forget_twice(struct plan_file *f)
{
    for (unsigned i = 0; i < f->n_twice; i++) {
        bool used = false;
        for (unsigned k = 0; k < f->n_constants; k++) {
            used = used || f->constant[k].t->value == f->twice[i]->value;
        }
        for (unsigned k = 0; k < i; k++) {
            used = used || f->twice[k]->value == f->twice[i]->value;
        }
        if (!used) {
            packed_free(f->twice[i]->value, f->twice[i]->packed);
        }
    }
    f->n_twice = 0;
}

void plan_file_add(struct plan_file *f, const struct plan_header *h,
                   struct plan_tensor *t, struct plan_step *s)
{
    forget_twice(f);
    f->tables = larger(f->tables, f->n_tables + 1, sizeof(*f->tables));
    f->tables[f->n_tables++] = (struct tables){.h = *h, .t = t, .s = s};
    f->old_texts = f->n_texts;
}

/* --- the file --- */

static uint64_t up(uint64_t x, uint64_t to)
{
    return (x + to - 1) / to * to;
}

/* Headers and tables of all sizes, texts, constants. */
static void place(struct plan_file *f)
{
    uint64_t at = 0, texts, constants;

    for (unsigned i = 0; i < f->n_tables; i++) {
        struct plan_header *h = &f->tables[i].h;
        h->tensors = at + up(sizeof(*h), 8);
        h->steps = h->tensors + h->n_tensors * sizeof(struct plan_tensor);
        at = up(h->steps + h->n_steps * sizeof(struct plan_step), 8);
        h->next = i + 1 < f->n_tables ? at : 0;
    }
    texts = at;
    constants = up(texts + f->text_bytes, PLAN_ALIGN);
    for (unsigned i = 0; i < f->n_tables; i++) {
        struct tables *s = &f->tables[i];
        s->h.texts = texts;
        s->h.constants = constants;
        s->h.bytes = constants + f->constant_bytes;
        for (uint32_t k = 0; k < s->h.n_tensors; k++) {
            s->t[k].at += s->t[k].place == PLAN_CONSTANT ? constants : 0;
        }
    }
}

static void put(struct plan_file *f, const struct graph *g, const void *data,
                size_t bytes, size_t size)
{
    static const char zeros[PLAN_ALIGN];

    if (!f->to) {
        f->crc = plan_crc(plan_crc(f->crc, data, bytes), zeros, size - bytes);
    } else if (fwrite(data, 1, bytes, f->to) != bytes ||
               fwrite(zeros, 1, size - bytes, f->to) != size - bytes) {
        graph_die(g, "the plan cannot be written: %s", strerror(errno));
    }
}

/* A part at a time: weights are there once, in double precision. */
static void put_constant(struct plan_file *f, const struct graph *g,
                         const struct constant *c)
{
    static char data[PACKED_PART * sizeof(double)];
    size_t count = (size_t)tensor_count(c->t),
           size = elem_bytes(elem_machine(c->t->type));

    for (size_t i = 0; i < count; i += PACKED_PART) {
        size_t n = count - i < PACKED_PART ? count - i : PACKED_PART;
        packed_put(c->t, i, n, data);
        put(f, g, data, n * size, i + n < count ? n * size : c->bytes - i * size);
    }
}

/* All that is in front of the constants: headers and tables of all sizes, texts. */
static char *front_of(const struct plan_file *f)
{
    char *front = graph_alloc(f->tables[0].h.constants, 1);
    const struct plan_header *h;
    uint64_t at = 0;

    for (unsigned i = 0; i < f->n_tables; i++, at = h->next) {
        const struct tables *s = &f->tables[i];
        h = &s->h;
        memcpy(front + at, h, sizeof(*h));
        memcpy(front + h->tensors, s->t, h->n_tensors * sizeof(*s->t));
        memcpy(front + h->steps, s->s, h->n_steps * sizeof(*s->s));
    }
    memcpy(front + f->tables[0].h.texts, f->texts, f->text_bytes);
    return front;
}

/* All from a place in front of the constants on. */
static void put_from(struct plan_file *f, const struct graph *g, const char *front, size_t at)
{
    size_t bytes = (size_t)f->tables[0].h.constants - at;

    put(f, g, front + at, bytes, bytes);
    for (unsigned i = 0; i < f->n_constants; i++) {
        put_constant(f, g, &f->constant[i]);
    }
}

/* The CRC first, which is in front of what it is of. What the firmware would refuse is a mistake
 * of ours: nothing is written then. */
void plan_file_write(struct plan_file *f, const struct graph *g, FILE *to)
{
    struct plan plan;
    char *front;

    place(f);
    front = front_of(f);
    if (!plan_holds(&plan, front)) {
        graph_die(g, "internal error: the firmware would call this plan damaged, so it is not "
                     "written");
    }
    f->to = NULL;
    put_from(f, g, front, PLAN_CRC_FROM);
    ((struct plan_header *)front)->crc = f->crc;
    f->to = to;
    put_from(f, g, front, 0);
}
