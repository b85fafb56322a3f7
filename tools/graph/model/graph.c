/* SPDX-License-Identifier: MIT
 *
 * Memory, errors, nodes and tensors of a model; see graph.h.
 */
#include "tools/graph/model/graph.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/graph/model/edit.h"

/* --- memory and errors --- */

void *graph_alloc(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);

    if (!p) {
        fprintf(stderr, "graph: no memory for %zu bytes\n", n * size);
        exit(2);
    }
    return p;
}

static char *text_of(const char *format, va_list args)
{
    char few[256], *text; /* most have room in it: counting is formatting */
    va_list again;
    int length;

    va_copy(again, args);
    length = vsnprintf(few, sizeof(few), format, args);
    text = length < 0 ? NULL : malloc((size_t)length + 1);
    if (!text) {
        fprintf(stderr, "graph: no memory for a text\n");
        exit(2);
    }
    if ((size_t)length < sizeof(few)) {
        memcpy(text, few, (size_t)length + 1);
    } else {
        (void)vsnprintf(text, (size_t)length + 1, format, again);
    }
    va_end(again);
    return text;
}

char *graph_text(const char *format, ...)
{
    va_list args;
    char *text;

    va_start(args, format);
    text = text_of(format, args);
    va_end(args);
    return text;
}

void graph_printable(char *text)
{
    for (char *c = text; *c; c++) {
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    }
}

static void (*on_error)(void);

void graph_on_error(void (*then)(void))
{
    on_error = then;
}

static void die(char *line)
{
    graph_printable(line);
    fprintf(stderr, "%s\n", line);
    if (on_error) {
        on_error();
    }
    exit(2);
}

void graph_die(const struct graph *g, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    die(graph_text("%s: %s", g->path, text_of(format, args)));
    abort();
}

void node_die(const struct graph *g, const struct node *n, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    die(graph_text("%s: node '%s' (%s): %s", g->path, n->name, n->op,
                   text_of(format, args)));
    abort();
}

FILE *graph_open(const struct graph *g)
{
    int fd =
        open(g->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a FIFO may have no writer */
    struct stat is;
    FILE *f;

    if (fd < 0 || fstat(fd, &is) != 0) {
        graph_die(g, "%s", strerror(errno));
    }
    if (!S_ISREG(is.st_mode)) {
        graph_die(g, "is not a regular file");
    }
    f = fdopen(fd, "rb");
    if (!f) {
        graph_die(g, "%s", strerror(errno));
    }
    return f;
}

/* --- the graph --- */

struct tensor *graph_tensor(struct graph *g, const struct node *within, const char *name)
{
    uint32_t hash = 0;
    struct tensor *t, **bucket;

    for (const char *at = name; *at; at++) {
        hash = hash * 31 + (unsigned char)*at;
    }
    bucket = &g->bucket[hash % GRAPH_BUCKETS];
    for (t = *bucket; t; t = t->in_bucket) {
        if (t->within == within && strcmp(t->name, name) == 0) {
            return t;
        }
    }
    t = graph_alloc(1, sizeof(*t));
    t->in_bucket = *bucket;
    *bucket = t;
    t->within = within;
    t->name = graph_text("%s", name);
    *g->last_tensor = t;
    g->last_tensor = &t->next;
    return t;
}

struct node *graph_node(struct graph *g, const char *op, const char *name)
{
    return edit_insert(g, g->last_node, op, name);
}

/* --- reading nodes --- */

const struct attr *node_attr(const struct node *n, const char *name)
{
    for (unsigned i = 0; i < n->n_attrs; i++) {
        if (strcmp(n->attr[i].name, name) == 0) {
            n->attr[i].asked = true;
            return &n->attr[i];
        }
    }
    return NULL;
}

struct attr *node_attr_put(struct node *n, const char *name)
{
    struct attr *own = graph_alloc(n->n_attrs + 1, sizeof(*own));
    unsigned i = 0;

    if (n->n_attrs) {
        memcpy(own, n->attr, n->n_attrs * sizeof(*own));
    }
    n->attr = own;
    while (i < n->n_attrs && strcmp(own[i].name, name) != 0) {
        i++;
    }
    if (i == n->n_attrs) {
        own[n->n_attrs++] = (struct attr){.name = name, .asked = true};
    }
    return &own[i];
}

void node_heard(const struct graph *g, const struct node *n)
{
    /* Of training, of types that there are not, of results that nobody is given, what operands
     * tell as well, and types to compute in. */
    static const char *const none[] = {"broadcast", "is_test",    "momentum",
                                       "ratio",     "round_mode", "saturate",
                                       "seed",      "stash_type", "storage_order"};

    for (unsigned i = 0; i < n->n_attrs; i++) {
        bool heard = n->attr[i].asked;
        for (unsigned k = 0; k < sizeof(none) / sizeof(none[0]); k++) {
            heard = heard || strcmp(n->attr[i].name, none[k]) == 0;
        }
        if (!heard) {
            node_die(g, n, "attribute '%s' is not known", n->attr[i].name);
        }
    }
}

int64_t node_int(const struct node *n, const char *name, int64_t otherwise)
{
    const struct attr *a = node_attr(n, name);

    return a ? a->i : otherwise;
}

double node_float(const struct node *n, const char *name, double otherwise)
{
    const struct attr *a = node_attr(n, name);

    return a ? a->f : otherwise;
}

unsigned node_axis(const struct graph *g, const struct node *n, int64_t axis,
                   unsigned rank)
{
    int64_t at = axis < 0 ? axis + rank : axis;

    if (at < 0 || at >= rank) {
        node_die(g, n, "axis %lld of %u dimensions", (long long)axis, rank);
    }
    return (unsigned)at;
}

struct tensor *node_in(const struct graph *g, const struct node *n, unsigned i)
{
    if (i >= n->n_in || !n->in[i]) {
        node_die(g, n, "operand %u is missing", i);
    }
    return n->in[i];
}

unsigned node_ints(const struct graph *g, const struct node *n, const char *attr,
                   unsigned i, int64_t to[GRAPH_OPERANDS])
{
    const struct attr *a = attr ? node_attr(n, attr) : NULL;
    const struct tensor *t = node_maybe(n, i);
    int64_t count = a ? (int64_t)a->n_ints : t ? tensor_count(t) : 0;

    if (count > GRAPH_OPERANDS || (!a && t && !t->value)) {
        node_die(g, n, "%s",
                 count > GRAPH_OPERANDS ? "too many numbers in a list"
                                        : "a list that only a run knows");
    }
    for (int64_t k = 0; k < count; k++) {
        to[k] = a ? a->ints[k] : graph_whole(elem_whole(t->value[k]));
    }
    return (unsigned)count;
}

double node_number(const struct graph *g, const struct node *n, unsigned i)
{
    const struct tensor *t = node_in(g, n, i);

    if (tensor_count(t) != 1) {
        node_die(g, n, "'%s' is %s", t->name, shape_text(&t->shape));
    }
    if (!t->value) {
        node_die(g, n, "'%s' is known in a run only", t->name);
    }
    return t->value[0];
}

double node_number_or(const struct graph *g, const struct node *n, unsigned i,
                      const char *attr, double otherwise)
{
    return node_maybe(n, i) ? node_number(g, n, i)
           : attr           ? node_float(n, attr, otherwise)
                            : otherwise;
}

/* --- tensors --- */

void tensor_check(const struct graph *g, const struct tensor *t)
{
    int64_t count = 1;

    for (unsigned d = 0; d < t->shape.n; d++) {
        int64_t size = t->shape.dim[d];
        if (size < 0 || size > GRAPH_ELEMENTS ||
            (size && count > GRAPH_ELEMENTS / size)) {
            graph_die(g, "'%s' would be %s", t->name, shape_text(&t->shape));
        }
        count *= size;
    }
}

void tensor_is(const struct graph *g, struct node *n, unsigned i, enum elem type,
               const struct shape *shape)
{
    struct tensor *t = i < n->n_out ? n->out[i] : NULL;

    if (!t) {
        return;
    }
    t->type = type;
    t->shape = *shape;
    tensor_check(g, t);
    t->known = true;
}

int64_t tensor_count(const struct tensor *t)
{
    return shape_count(&t->shape);
}

uint64_t tensor_bytes(const struct tensor *t)
{
    size_t bytes = elem_bytes(elem_machine(t->type));

    return (uint64_t)tensor_count(t) * bytes;
}

double *tensor_values(struct tensor *t)
{
    t->value = graph_alloc((size_t)tensor_count(t), sizeof(double));
    return t->value;
}

void tensor_fits(const struct graph *g, const struct tensor *t)
{
    for (int64_t i = 0; elem_is_wide(t->type) && i < tensor_count(t); i++) {
        double x = t->value[i];
        if (!(x >= -0x1p31 && x < 0x1p31)) {
            graph_die(g, "'%s' holds %.0f: whole numbers have 32 bits here", t->name, x);
        }
    }
}

struct tensor *tensor_new(const struct node *n, const char *what, enum elem type,
                          const struct shape *shape)
{
    struct tensor *t = graph_alloc(1, sizeof(*t));

    *t = (struct tensor){.name = graph_text("%s.%s", n->name, what),
                         .type = type,
                         .shape = *shape,
                         .known = true};
    return t;
}

struct tensor *tensor_view(struct tensor *t, const struct shape *shape)
{
    struct tensor *view = graph_alloc(1, sizeof(*view));

    *view = (struct tensor){.name = t->name,
                            .type = t->type,
                            .shape = *shape,
                            .known = true,
                            .value = t->value,
                            .packed = t->packed,
                            .alias = t};
    return view;
}

struct tensor *tensor_part(struct tensor *t, int64_t from, const struct shape *shape)
{
    struct tensor *part = tensor_view(t, shape);

    part->offset = from;
    part->value = t->value ? t->value + from : NULL;
    return part;
}

int64_t tensor_offset(const struct tensor *t)
{
    int64_t offset = 0;

    for (; t; t = t->alias) {
        offset += t->offset;
    }
    return offset;
}

struct tensor *tensor_root(struct tensor *t)
{
    while (t->alias) {
        t = t->alias;
    }
    return t;
}

bool tensor_has_part(const struct tensor *t, int64_t at)
{
    return !t->count && (uint64_t)(tensor_offset(t) + at) *
                                elem_bytes(elem_machine(t->type)) % PART_BYTES ==
                            0;
}

void tensor_is_part(struct tensor *t, struct tensor *from, int64_t at)
{
    t->alias = from;
    t->offset = at;
}
