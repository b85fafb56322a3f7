/* SPDX-License-Identifier: MIT
 *
 * Tile programs as text; see steps.h. Until a group is complete its expressions hold marks in
 * place of dimensions, because neighbours that are everywhere together become one in the end:
 * \1HOW;AXES; and \2AXES; around what is reduced, \3AXIS; for an index; \4 in front of the type
 * that operands of a product are rounded to.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/steps/steps.h"

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
        } else if (*c == '\4') {
            const char *type = c + 1;
            c = strchr(type, '(');
            fprintf(to, "%.*s(", g->arith == ARITH_CUBE ? 3 : (int)(c - type),
                    g->arith == ARITH_CUBE ? "f32" : type);
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

static const char *schedule_of(const struct group *g)
{
    static const char *const text[2][2] = {
        {"", "schedule arith f16"}, {"schedule exact", "schedule exact, arith f16"}};

    return text[g->exact][g->arith == ARITH_F16];
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
                         params, results, body, schedule_of(g));
}
