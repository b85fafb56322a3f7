/* SPDX-License-Identifier: MIT
 *
 * See lower.h. Texts are ours: what is wrong with one is a defect, and ends the process as such.
 */
#include "tools/graph/model/lower.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/model/edit.h"

/* --- the text --- */

struct reader {
    struct lower *l;
    const char *at;
};

static _Noreturn void broken(const struct reader *r)
{
    node_die(r->l->g, r->l->n, "its lines end at '%.20s'", r->at);
}

/* The next of a node's operands, results or attributes. */
static unsigned next(const struct reader *r, unsigned *n)
{
    if (*n == GRAPH_OPERANDS) {
        broken(r);
    }
    return (*n)++;
}

static bool take(struct reader *r, char c)
{
    while (*r->at == ' ') {
        r->at++;
    }
    if (*r->at != c) {
        return false;
    }
    r->at++;
    return true;
}

static void want(struct reader *r, char c)
{
    if (!take(r, c)) {
        broken(r);
    }
}

static const char *word(struct reader *r)
{
    const char *from;

    take(r, ' ');
    from = r->at;
    while (isalnum((unsigned char)*r->at) || *r->at == '_') {
        r->at++;
    }
    if (r->at == from) {
        broken(r);
    }
    return graph_text("%.*s", (int)(r->at - from), from);
}

static unsigned list(struct reader *r, int64_t to[GRAPH_OPERANDS])
{
    unsigned n = 0;

    want(r, '[');
    while (!take(r, ']')) {
        char *end;
        to[n++] = strtoll(r->at, &end, 10);
        if (end == r->at || n == GRAPH_OPERANDS) {
            broken(r);
        }
        r->at = end;
        take(r, ',');
    }
    return n;
}

/* --- tensors --- */

struct tensor *lower_tensor(const struct lower *l, const char *name)
{
    return graph_tensor(l->g, l->n, graph_text("%s%s", l->names, name));
}

double *lower_value(const struct lower *l, const char *name, enum elem type,
                    const struct shape *shape)
{
    struct tensor *t = lower_tensor(l, name);

    t->type = type;
    t->shape = *shape;
    t->known = true;
    tensor_check(l->g, t);
    return tensor_values(t);
}

static struct tensor *constant(struct reader *r, enum elem type, unsigned rank,
                               unsigned n, const double *value)
{
    const char *name = graph_text(".%u", r->l->count++);
    struct shape s = {.n = rank, .dim = {n}};

    memcpy(lower_value(r->l, name, type, &s), value, n * sizeof(*value));
    return lower_tensor(r->l, name);
}

static struct tensor *number(struct reader *r)
{
    char *end;
    double x = strtod(r->at, &end);
    bool whole = *end == 'i';

    r->at = end + whole;
    return constant(r, whole ? ELEM_I64 : ELEM_F32, 0, 1, &x);
}

/* NULL: it is left out. */
static struct tensor *operand(struct reader *r)
{
    int64_t whole[GRAPH_OPERANDS];
    double value[GRAPH_OPERANDS];
    unsigned n;

    take(r, ' ');
    if (take(r, '$')) {
        n = (unsigned)strtoul(word(r), NULL, 10);
        return node_maybe(r->l->n, n);
    }
    if (*r->at == '[') {
        n = list(r, whole);
        for (unsigned i = 0; i < n; i++) {
            value[i] = (double)whole[i];
        }
        return constant(r, ELEM_I64, 1, n, value);
    }
    if (isdigit((unsigned char)*r->at) || *r->at == '-') {
        return number(r);
    }
    return *r->at == ',' || *r->at == ';' || *r->at == ')' ? NULL
                                                           : lower_tensor(r->l, word(r));
}

static struct tensor *result(struct reader *r)
{
    unsigned i;

    if (!take(r, '@')) {
        return lower_tensor(r->l, word(r));
    }
    i = (unsigned)strtoul(word(r), NULL, 10);
    return i < r->l->n->n_out && r->l->n->out[i]
               ? r->l->n->out[i]
               : lower_tensor(r->l, graph_text("unused%u", i));
}

/* --- nodes --- */

static struct node *put_node(struct lower *l, const char *op)
{
    const char *name = graph_text("%s.%u", l->n->name, l->count++);
    struct node *n = edit_insert(l->g, &l->last->next, op, name);

    n->attr = graph_alloc(GRAPH_OPERANDS, sizeof(n->attr[0]));
    l->last = n;
    return n;
}

static void attribute(struct reader *r, struct node *n)
{
    struct attr *a = &n->attr[next(r, &n->n_attrs)];
    int64_t whole[GRAPH_OPERANDS], *ints;
    char *end;

    a->name = word(r);
    want(r, '=');
    if (*r->at == '[') {
        a->n_ints = list(r, whole);
        ints = graph_alloc(a->n_ints, sizeof(*ints));
        memcpy(ints, whole, a->n_ints * sizeof(*ints));
        a->ints = ints;
    } else if (isalpha((unsigned char)*r->at)) {
        a->s = word(r);
    } else {
        a->f = strtod(r->at, &end);
        a->i = strtoll(r->at, NULL, 10);
        r->at = end;
    }
}

static void line(struct reader *r)
{
    struct tensor *out[GRAPH_OPERANDS];
    unsigned n_out = 0;
    struct node *n;

    do {
        out[next(r, &n_out)] = result(r);
    } while (take(r, ','));
    want(r, '=');
    n = put_node(r->l, word(r));
    for (unsigned i = 0; i < n_out; i++) {
        edit_result(n, out[i]);
    }
    want(r, '(');
    do {
        n->in[next(r, &n->n_in)] = operand(r);
    } while (take(r, ','));
    if (take(r, ';')) {
        do {
            attribute(r, n);
        } while (take(r, ','));
    }
    want(r, ')');
    while (*r->at == '\n') {
        r->at++;
    }
}

struct lower lower_begin(struct graph *g, struct node *n)
{
    static unsigned number;

    return (struct lower){
        .g = g, .n = n, .last = n, .names = graph_text("%s.%u.", n->name, number++)};
}

void lower_reads(struct lower *l, struct tensor *const *in, unsigned n)
{
    memmove(l->n->in, in, n * sizeof(struct tensor *));
    l->n->n_in = n;
}

void lower_text(struct lower *l, const char *format, ...)
{
    struct reader r = {.l = l};
    char *text = NULL;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);
    va_list args;

    va_start(args, format);
    if (!to || vfprintf(to, format, args) < 0 || fclose(to) != 0) {
        graph_die(l->g, "no memory for lines");
    }
    va_end(args);
    r.at = text;
    while (*r.at) {
        line(&r);
    }
    free(text);
}

void lower_halves(struct lower *l)
{
    lower_text(l, "half = CastLike(65536i, $0)\nrest = Mod($0, half)\n"
                  "above = Sub($0, rest)\nshare = Div(above, half)\n"
                  "low = Cast(rest; to=1)\nhigh = Cast(share; to=1)\n");
}

void lower_end(const struct lower *l)
{
    edit_replaced(l->g, l->n);
}
