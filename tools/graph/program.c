/* SPDX-License-Identifier: MIT
 *
 * Tile programs as text; see emit.h. Until a group is complete its expressions hold marks in
 * place of dimensions, because neighbours that are everywhere together become one in the end:
 * \1HOW;AXES; and \2AXES; around what is reduced, \3AXIS; for an index.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/emit.h"

const uint8_t program_axes[GROUP_AXES] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                          12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

const char *program_type(const struct tensor *t)
{
    static const char *const type[] = {
        [ELEM_F32] = "f32", [ELEM_F16] = "f16", [ELEM_BF16] = "bf16", [ELEM_I64] = "s32",
        [ELEM_I32] = "s32", [ELEM_I16] = "s16", [ELEM_I8] = "s8",     [ELEM_U8] = "u8",
        [ELEM_BOOL] = "u8", [ELEM_OTHER] = NULL};

    return type[t->type];
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
    if (e->join && !e->binds) {
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
    bool small = t->type == ELEM_I8 || t->type == ELEM_U8 || t->type == ELEM_I16;

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
        if (p->e->binds && p->e->bound[axis[d]] == NO_AXIS) {
            p->e->bound[axis[d]] = *to = v->axis[d];
        }
        if (*to != v->axis[d]) {
            wrong(p, "one dimension would be two");
        }
    }
    return v->name;
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

const char *program_index(struct program *p, uint8_t axis)
{
    if (p->axis[axis] == NO_AXIS) {
        return "0";
    }
    p->group->whole[p->axis[axis]] = true;
    return graph_text("\3%u;", p->axis[axis]);
}

const char *program_count(struct program *p, uint8_t axis, int64_t size)
{
    struct tensor *t = graph_alloc(1, sizeof(*t));

    *t = (struct tensor){.name = graph_text("0..%lld", (long long)size - 1),
                         .type = ELEM_I32,
                         .known = true,
                         .shape = {.n = 1, .dim = {size}}};
    tensor_values(t);
    for (int64_t i = 0; i < size; i++) {
        t->value[i] = (double)i;
    }
    return program_in(p, t, &axis);
}

const char *program_spread(struct program *p, const char *expr, const struct tensor *t,
                           const uint8_t *axis, const struct tensor *to,
                           const uint8_t *to_axis)
{
    for (unsigned d = 0; d < to->shape.n; d++) {
        bool has = to->shape.dim[d] == 1;
        for (unsigned k = 0; k < t->shape.n && !has; k++) {
            has = t->shape.dim[k] != 1 && axis[k] == to_axis[d];
        }
        expr =
            has ? expr
                : graph_text("where(%s >= 0, %s, %s)",
                             program_count(p, to_axis[d], to->shape.dim[d]), expr, expr);
    }
    return expr;
}

void program_exact(struct program *p)
{
    p->group->exact = true;
}

/* --- the text --- */

/* Axes that stand for one dimension of the program have the number of the first of them. */
struct merged {
    uint8_t first[GROUP_AXES];
    int64_t size[GROUP_AXES];
};

/* Axis b lies behind a wherever a tensor has one of them. */
static bool together(const struct value *v, uint8_t a, uint8_t b)
{
    unsigned at = GRAPH_RANK, next = GRAPH_RANK;

    for (unsigned d = 0, last = GRAPH_RANK; d < v->t->shape.n; d++) {
        if (v->axis[d] == NO_AXIS) {
            continue;
        }
        at = v->axis[d] == a ? d : at;
        next = v->axis[d] == b ? last : next;
        if (v->axis[d] == b && (last == GRAPH_RANK || v->axis[last] != a)) {
            return false;
        }
        last = d;
    }
    return at == next; /* both GRAPH_RANK: it has neither */
}

static bool mergeable(const struct group *g, uint8_t a, uint8_t b)
{
    bool good = !g->whole[a] && !g->whole[b];

    for (unsigned i = 0; good && i < g->n_in; i++) {
        good = together(&g->in[i], a, b);
    }
    for (unsigned i = 0; good && i < g->n_made; i++) {
        good = together(&g->made[i], a, b);
    }
    for (const char *c = g->body; good && (c = strchr(c, '\1')) != NULL; c++) {
        unsigned axes = (unsigned)strtoul(strchr(c, ';') + 1, NULL, 10);
        good = (axes >> a & 1) == (axes >> b & 1);
    }
    return good;
}

static struct merged merge(const struct group *g)
{
    struct merged m;

    for (uint8_t a = 0; a < g->n_axes; a++) {
        m.first[a] = a;
        m.size[a] = g->size[a];
    }
    for (uint8_t a = 0; a < g->n_axes; a++) {
        for (uint8_t b = 0; b < g->n_axes; b++) {
            if (a != b && m.first[a] != m.first[b] && mergeable(g, a, b)) {
                uint8_t from = m.first[b], to = m.first[a];
                for (uint8_t k = 0; k < g->n_axes; k++) {
                    m.first[k] = m.first[k] == from ? to : m.first[k];
                }
                m.size[to] *= m.size[from];
            }
        }
    }
    return m;
}

static void put_over(FILE *to, const struct group *g, const struct merged *m,
                     unsigned axes, const char *how, int length)
{
    for (unsigned a = g->n_axes; a-- > 0;) {
        if (axes >> a & 1 && m->first[a] == a) {
            if (how) {
                fprintf(to, "%.*s(", length, how);
            } else {
                fprintf(to, ", d%u)", a);
            }
        }
    }
}

/* Expressions with names of dimensions in place of marks. */
static const char *without_marks(const struct group *g, const struct merged *m,
                                 const char *c)
{
    char *text = NULL, *end;
    size_t bytes;
    FILE *to = open_memstream(&text, &bytes);

    for (; to && *c; c++) {
        if (*c == '\1') {
            const char *how = c + 1, *semicolon = strchr(how, ';');
            put_over(to, g, m, (unsigned)strtoul(semicolon + 1, &end, 10), how,
                     (int)(semicolon - how));
            c = end;
        } else if (*c == '\2') {
            put_over(to, g, m, (unsigned)strtoul(c + 1, &end, 10), NULL, 0);
            c = end;
        } else if (*c == '\3') {
            fprintf(to, "d%lu", strtoul(c + 1, &end, 10));
            c = end;
        } else {
            fputc(*c, to);
        }
    }
    return to && fclose(to) == 0 ? text : "";
}

/* A tensor as the program has it: a view with merged dimensions; `name: f32[d0, d2]`. */
static const char *declare(const struct merged *m, const struct value *v,
                           const char *name, struct tensor **view)
{
    struct shape s = {0};
    const char *list = "";
    uint8_t last = NO_AXIS;

    for (unsigned d = 0; d < v->t->shape.n; d++) {
        uint8_t axis = v->axis[d] == NO_AXIS ? NO_AXIS : m->first[v->axis[d]];
        if (axis != NO_AXIS && axis != last) {
            s.dim[s.n++] = m->size[axis];
            list = graph_text("%s%sd%u", list, *list ? ", " : "", axis);
            last = axis;
        }
    }
    *view = tensor_view(v->t, &s);
    return graph_text(*list ? "%s: %s[%s]" : "%s: %s", name, program_type(v->t), list);
}

/* The value in its tensor's type. */
static const char *converted(const struct value *v)
{
    const char *type = program_type(v->t);
    const char *expr = v->is_mask ? graph_text("where(%s, 1, 0)", v->name) : v->name;

    return strcmp(type, "f32") == 0 ? expr : graph_text("%s(%s)", type, expr);
}

/* A name of letters and digits, as a kernel's is. */
static const char *kernel_name(const char *name)
{
    char text[20] = "", *to = text;

    for (; *name && to < text + sizeof(text) - 1; name++) {
        *to++ = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '_';
    }
    return graph_text("node_%s", text);
}

void program_step(const struct emit *e, const struct group *g, struct step *s)
{
    struct merged m = merge(g);
    const char *params = "", *results = "", *body = without_marks(g, &m, g->body);

    s->nodes = g->node[0]->name;
    for (unsigned i = 1; i < g->n_nodes; i++) {
        s->nodes = graph_text("%s+%s", s->nodes, g->node[i]->name);
    }
    for (unsigned i = 0; i < g->n_in; i++) {
        params =
            graph_text("%s%s%s", params, i ? ", " : "",
                       declare(&m, &g->in[i], graph_text("x%u", i), &s->in[s->n_in++]));
    }
    for (unsigned i = 0; i < g->n_made; i++) {
        const struct value *v = &g->made[i];
        const char *name = graph_text("y%u", s->n_out);
        if (!group_gives(g, e->g, v->t)) {
            continue;
        }
        if (s->n_out == PLAN_OUT) {
            graph_die(e->g, "node '%s': more than %d results", s->nodes, PLAN_OUT);
        }
        results = graph_text("%s%s%s", results, s->n_out ? ", " : "",
                             declare(&m, v, name, &s->out[s->n_out]));
        s->n_out++;
        body = graph_text("%s    %s = %s\n", body, name, converted(v));
    }
    s->text = graph_text("kernel %s(%s) -> %s\n%s%s", kernel_name(g->node[0]->name),
                         params, results, body, g->exact ? "schedule exact" : "");
}

const char *text_with(const char *text, const char *const *value, const char *const *attr)
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
