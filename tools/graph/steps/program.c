/* SPDX-License-Identifier: MIT
 *
 * Programs of nodes, expression by expression; see steps.h. Marks in them are program_text.c's.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/steps/steps.h"

const uint8_t program_axes[GROUP_AXES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                          12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

const char *program_type(const struct tensor *t)
{
    static const char *const type[] = {
        [ELEM_F32] = "f32", [ELEM_F16] = "f16", [ELEM_BF16] = "bf16", [ELEM_I64] = "s32",
        [ELEM_I32] = "s32", [ELEM_U16] = "s32", [ELEM_U32] = "s32",   [ELEM_U64] = "s32",
        [ELEM_I16] = "s16", [ELEM_I8] = "s8",   [ELEM_U8] = "u8",     [ELEM_BOOL] = "u8",
        [ELEM_OTHER] = NULL};

    return type[elem_file(t->type)];
}

/* --- building --- */

static void wrong(struct program *p, const char *why)
{
    p->group->wrong = p->group->wrong ? p->group->wrong : why;
}

struct program program_begin(struct emit *e, struct node *n)
{
    struct program p = {.e = e, .n = n, .group = e->join};

    if (!p.group) {
        p.group = graph_alloc(1, sizeof(*p.group));
        p.group->body = "";
        group_put(e, n, p.group);
    }
    memset(p.axis, NO_AXIS, sizeof(p.axis));
    if (e->join && e->binds != BINDS_MADE) {
        memcpy(p.axis, e->bound, sizeof(p.axis));
    }
    if (p.group->n_nodes == GROUP_NODES) {
        wrong(&p, "more nodes than a program may have");
    } else {
        p.group->node[p.group->n_nodes++] = n;
        n->group = p.group;
    }
    return p;
}

/* What dimension i of a tensor is in the group. */
static uint8_t axis_of(struct program *p, uint8_t local, int64_t size)
{
    struct group *g = p->group;

    if (size == 1) {
        return NO_AXIS;
    }
    if (size == 0) {
        wrong(p, "sums over a dimension that has no elements");
    }
    if (p->axis[local] == NO_AXIS) {
        if (g->n_axes == GROUP_AXES) {
            wrong(p, "more dimensions than a program may have");
            return 0;
        }
        g->size[g->n_axes] = size;
        p->axis[local] = (uint8_t)g->n_axes++;
    }
    if (g->size[p->axis[local]] != size) {
        wrong(p, "sizes differ");
    }
    return p->axis[local];
}

/* What the group has computed that has the bytes of t. */
static struct value *made(struct group *g, const struct tensor *t)
{
    for (; t; t = t->alias) {
        for (unsigned i = 0; i < g->n_made; i++) {
            if (g->made[i].t == t) {
                return &g->made[i];
            }
        }
    }
    return NULL;
}

/* An operand that the group has computed: its axes there are those here. */
static const char *join(struct program *p, const struct value *v, const struct tensor *t,
                        const uint8_t *axis)
{
    bool small = t->type == ELEM_I8 || t->type == ELEM_U8 || t->type == ELEM_I16 ||
                 t->type == ELEM_U16 || elem_is_small(t->type);

    if (!shape_equal(&v->t->shape, &t->shape) || small ||
        tensor_offset(v->t) != tensor_offset(t)) {
        wrong(p, small ? "whole numbers that wrap" : "another shape of the same bytes");
        return v->name;
    }
    for (unsigned d = 0; d < t->shape.n; d++) {
        uint8_t *to = &p->axis[axis[d]];
        if (v->axis[d] == NO_AXIS) {
            continue;
        }
        if (p->e->binds == BINDS_MADE && p->e->bound[axis[d]] == NO_AXIS) {
            if (memchr(p->e->bound, v->axis[d], sizeof(p->e->bound))) {
                wrong(p, "two dimensions would be one");
            }
            p->e->bound[axis[d]] = *to = v->axis[d];
        }
        if (*to != v->axis[d]) {
            wrong(p, "one dimension would be two");
        }
    }
    return v->name;
}

/* An operand that the group reads too: it is the same if none of its axes is another there, as
 * that of x in x - mean(x). */
static void share(struct program *p, const struct tensor *t, const uint8_t *axis)
{
    uint8_t bound[GROUP_AXES];
    const struct value *v = p->group->in;
    bool good = true;

    while (v < p->group->in + p->group->n_in && v->t != t) {
        v++;
    }
    if (v == p->group->in + p->group->n_in) {
        return;
    }
    p->e->shares = true;
    memcpy(bound, p->e->bound, sizeof(bound));
    for (unsigned d = 0; d < t->shape.n && p->e->binds == BINDS_READ; d++) {
        uint8_t *to = &bound[axis[d]];
        bool taken = memchr(bound, v->axis[d], sizeof(bound)) != NULL;
        good = good && (*to == v->axis[d] || (*to == NO_AXIS && !taken));
        *to = v->axis[d];
    }
    if (good) {
        memcpy(p->e->bound, bound, sizeof(bound));
    }
}

/* A constant of one element, as a number of the program: of a type that takes any, so one of
 * another than f32 says so. */
static const char *number(const struct graph *g, const struct tensor *t)
{
    const char *type = program_type(t), *digits;

    tensor_fits(g, t);
    digits = graph_text(elem_is_float(t->type) ? "%.9g" : "%.0f", t->value[0]);
    return strcmp(type, "f32") == 0 || strcmp(type, "s32") == 0
               ? graph_text("(%s)", digits)
               : graph_text("(%s(%s))", type, digits);
}

const char *program_in(struct program *p, struct tensor *t, const uint8_t *axis)
{
    struct group *g = p->group;
    const struct value *v = made(g, t);
    struct value in = {.t = t};

    if (v) {
        return join(p, v, t, axis);
    }
    if (p->e->binds) {
        share(p, t, axis);
        return "x";
    }
    if (!program_type(t)) {
        node_die(p->e->g, p->n, "'%s' is %s", t->name, elem_text(t->type));
    }
    for (unsigned d = 0; d < GRAPH_RANK; d++) {
        in.axis[d] = d < t->shape.n ? axis_of(p, axis[d], t->shape.dim[d]) : NO_AXIS;
    }
    if (t->value && tensor_count(t) == 1 && t->type != ELEM_BOOL &&
        isfinite(t->value[0])) {
        return number(p->e->g, t);
    }
    for (unsigned i = 0; i < g->n_in; i++) {
        if (g->in[i].t == t && memcmp(g->in[i].axis, in.axis, sizeof(in.axis)) == 0) {
            return g->in[i].name;
        }
    }
    if (g->n_in == PLAN_IN) {
        wrong(p, "more operands than a program may have");
        return "x";
    }
    in.is_mask = t->type == ELEM_BOOL;
    in.name = graph_text(in.is_mask ? "(x%u != 0)" : "x%u", g->n_in);
    g->in[g->n_in++] = in;
    return in.name;
}

const char *program_line(struct program *p, const char *expr)
{
    const char *name = graph_text("t%u", p->group->lines++);

    p->group->body = graph_text("%s    %s = %s\n", p->group->body, name, expr);
    return name;
}

void program_out(struct program *p, struct tensor *t, const uint8_t *axis,
                 const char *expr, bool is_mask)
{
    struct group *g = p->group;
    struct value v = {.t = t, .is_mask = is_mask};

    if (p->e->binds) {
        return;
    }
    if (!program_type(t)) {
        node_die(p->e->g, p->n, "'%s' is %s", t->name, elem_text(t->type));
    }
    if (g->n_made == GROUP_VALUES) {
        wrong(p, "more values than a program may have");
        return;
    }
    for (unsigned d = 0; d < GRAPH_RANK; d++) {
        v.axis[d] = d < t->shape.n ? axis_of(p, axis[d], t->shape.dim[d]) : NO_AXIS;
    }
    v.name = program_line(p, expr);
    if (t->type == ELEM_BOOL && !is_mask) {
        v.name = program_line(p, graph_text("%s != 0", v.name));
        v.is_mask = true;
    }
    g->made[g->n_made++] = v;
}

static unsigned mask_of(struct program *p, uint32_t axes)
{
    unsigned of = 0;

    for (unsigned a = 0; a < GROUP_AXES; a++) {
        if (axes >> a & 1 && p->axis[a] != NO_AXIS) {
            of |= 1u << p->axis[a];
        }
    }
    return of;
}

const char *program_over(struct program *p, const char *how, uint32_t axes,
                         const char *expr)
{
    unsigned of = mask_of(p, axes);

    return graph_text("\1%s;%u;%s\2%u;", how, of, expr, of);
}

const char *program_finite(const char *max)
{
    return graph_text("max(%s, -3.4028235e38)", max);
}

const char *program_positive(const char *sum)
{
    return graph_text("max(%s, 1e-30)", sum);
}

const char *program_index(struct program *p, uint8_t axis)
{
    if (p->axis[axis] == NO_AXIS) {
        return "0";
    }
    p->group->whole[p->axis[axis]] = true;
    return graph_text("\3%u;", p->axis[axis]);
}

/* 0, 1, .. of n dimensions. */
static const char *count(struct program *p, const uint8_t *axis, const int64_t *size,
                         unsigned n)
{
    struct tensor *t = graph_alloc(1, sizeof(*t));
    int64_t most;

    *t = (struct tensor){.type = ELEM_I32, .known = true, .shape = {.n = n}};
    memcpy(t->shape.dim, size, n * sizeof(*size));
    most = tensor_count(t);
    t->name = graph_text("0..%lld", (long long)most - 1);
    tensor_values(t);
    for (int64_t i = 0; i < most; i++) {
        t->value[i] = (double)i;
    }
    return program_in(p, t, axis);
}

const char *program_count(struct program *p, uint8_t axis, int64_t size)
{
    return count(p, &axis, &size, 1);
}

/* Whether t goes along an axis, or it has one element. */
static bool has(const struct tensor *t, const uint8_t *axis, uint8_t along, int64_t size)
{
    bool is = size == 1;

    for (unsigned k = 0; k < t->shape.n && !is; k++) {
        is = t->shape.dim[k] != 1 && axis[k] == along;
    }
    return is;
}

/* Neighbours are one operand: sequences of commands nest few loops. */
const char *program_spread(struct program *p, const char *expr, const struct tensor *t,
                           const uint8_t *axis, const struct tensor *to,
                           const uint8_t *to_axis)
{
    enum { ELEMENTS = 1 << 15 };
    const int64_t *size = to->shape.dim;

    for (unsigned d = 0, end; d < to->shape.n; d = end) {
        int64_t elements = size[d];
        end = d + 1;
        if (has(t, axis, to_axis[d], size[d])) {
            continue;
        }
        while (end < to->shape.n && elements * size[end] <= ELEMENTS &&
               !has(t, axis, to_axis[end], size[end])) {
            elements *= size[end++];
        }
        expr = graph_text("where(%s >= 0, %s, %s)",
                          count(p, to_axis + d, size + d, end - d), expr, expr);
    }
    return expr;
}

const char *program_range(enum elem type, const char *expr)
{
    long long least = elem_least(type), most = least + elem_numbers(type) - 1;

    return graph_text("clip(%s, %lld, %lld)", expr, least, most);
}

void program_exact(struct program *p)
{
    p->group->exact = true;
}

const char *program_text_with(const char *text, const char *const *value,
                              const char *const *attr)
{
    char *to = NULL;
    size_t bytes;
    FILE *f = open_memstream(&to, &bytes);

    for (; f && *text; text++) {
        if (text[0] == '$' && isdigit((unsigned char)text[1])) {
            fputs(value[*++text - '0'], f);
        } else if (text[0] == '$' && text[1]) {
            fputs(attr[*++text - 'a'], f);
        } else {
            fputc(*text, f);
        }
    }
    return f && fclose(f) == 0 ? to : "";
}
