/* SPDX-License-Identifier: MIT
 *
 * Steps, and tile programs as text; see emit.h.
 */
#include "tools/graph/emit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const program_dims[GRAPH_RANK] = {"d0", "d1", "d2", "d3",
                                              "d4", "d5", "d6", "d7"};

/* --- steps --- */

struct step *emit_step(struct emit *e, const struct node *n, const char *op,
                       const char *text)
{
    struct step *s = graph_alloc(1, sizeof(*s));

    *s = (struct step){.op = op, .text = text, .nodes = n->name};
    *e->last = s;
    e->last = &s->next;
    return s;
}

void step_in(struct emit *e, struct step *s, struct tensor *t)
{
    if (s->n_in == PLAN_IN) {
        graph_die(e->g, "node '%s': more than %d operands", s->nodes, PLAN_IN);
    }
    s->in[s->n_in++] = t;
}

void step_out(struct emit *e, struct step *s, struct tensor *t)
{
    if (s->n_out == PLAN_OUT) {
        graph_die(e->g, "node '%s': more than %d results", s->nodes, PLAN_OUT);
    }
    s->out[s->n_out++] = t;
}

static bool empty(const struct node *n)
{
    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i] && tensor_count(n->out[i]) != 0) {
            return false;
        }
    }
    return true;
}

struct emit *emit_graph(struct graph *g)
{
    struct emit *e = graph_alloc(1, sizeof(*e));

    *e = (struct emit){.g = g, .last = &e->steps};
    for (struct node *n = g->nodes; n; n = n->next) {
        if (n->done || empty(n)) {
            continue;
        }
        if (!n->rule->emit) {
            node_die(g, n, "the machine has no operator for it");
        }
        n->rule->emit(e, n);
    }
    return e;
}

/* --- programs --- */

const char *program_type(const struct emit *e, const struct node *n,
                         const struct tensor *t)
{
    switch (t->type) {
    case ELEM_F32:
        return "f32";
    case ELEM_F16:
        return "f16";
    case ELEM_BF16:
        return "bf16";
    case ELEM_I64:
    case ELEM_I32:
        return "s32";
    case ELEM_I16:
        return "s16";
    case ELEM_I8:
        return "s8";
    case ELEM_U8:
    case ELEM_BOOL:
        return "u8";
    default:
        node_die(e->g, n, "'%s' is %s", t->name, elem_text(t->type));
    }
}

struct program program_begin(struct emit *e, const struct node *n)
{
    return (struct program){.e = e,
                            .n = n,
                            .step = emit_step(e, n, NULL, NULL),
                            .params = "",
                            .results = "",
                            .body = ""};
}

/* `name: f32[d0, d2]` */
static const char *declare(const struct program *p, const char *name,
                           const struct tensor *t, const char *const *dims)
{
    const char *list = "";

    for (unsigned d = 0; d < t->shape.n; d++) {
        if (t->shape.dim[d] != 1) {
            list = graph_text("%s%s%s", list, *list ? ", " : "", dims[d]);
        }
    }
    return graph_text(*list ? "%s: %s[%s]" : "%s: %s", name, program_type(p->e, p->n, t),
                      list);
}

const char *program_in(struct program *p, struct tensor *t, const char *const *dims)
{
    const char *name = graph_text("x%u", p->step->n_in), *text;

    text = declare(p, name, t, dims);
    p->params = graph_text("%s%s%s", p->params, *p->params ? ", " : "", text);
    step_in(p->e, p->step, t);
    return t->type == ELEM_BOOL ? graph_text("(%s != 0)", name) : name;
}

const char *program_index(struct program *p, int64_t size, const char *dim)
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
    return program_in(p, t, &dim);
}

const char *program_spread(struct program *p, const char *expr, const struct tensor *t,
                           const char *const *dims, const struct tensor *to,
                           const char *const *to_dims)
{
    for (unsigned d = 0; d < to->shape.n; d++) {
        bool has = to->shape.dim[d] == 1;
        for (unsigned k = 0; k < t->shape.n && !has; k++) {
            has = t->shape.dim[k] != 1 && strcmp(dims[k], to_dims[d]) == 0;
        }
        expr =
            has ? expr
                : graph_text("where(%s >= 0, %s, %s)",
                             program_index(p, to->shape.dim[d], to_dims[d]), expr, expr);
    }
    return expr;
}

const char *program_line(struct program *p, const char *expr)
{
    const char *name = graph_text("t%u", p->lines++);

    p->body = graph_text("%s    %s = %s\n", p->body, name, expr);
    return name;
}

void program_out(struct program *p, struct tensor *t, const char *const *dims,
                 const char *expr, bool is_mask)
{
    const char *name = graph_text("y%u", p->step->n_out);
    const char *text = declare(p, name, t, dims), *type = program_type(p->e, p->n, t);

    p->results = graph_text("%s%s%s", p->results, *p->results ? ", " : "", text);
    expr = is_mask ? graph_text("where(%s, 1, 0)", expr) : expr;
    p->body = graph_text(strcmp(type, "f32") == 0 ? "%s    %s = %.0s%s\n"
                                                  : "%s    %s = %s(%s)\n",
                         p->body, name, type, expr);
    step_out(p->e, p->step, t);
}

/* A name of letters and digits, as a kernel's is. */
static const char *kernel_name(const char *name)
{
    char text[24] = "", *to = text;

    for (; *name && to < text + sizeof(text) - 1; name++) {
        *to++ = isalnum((unsigned char)*name) ? (char)tolower((unsigned char)*name) : '_';
    }
    return graph_text("%s%s", isdigit((unsigned char)text[0]) ? "n" : "", text);
}

void program_end(struct program *p)
{
    p->step->text =
        graph_text("kernel node_%s(%s) -> %s\n%s%s", kernel_name(p->n->name), p->params,
                   p->results, p->body, p->exact ? "schedule exact\n" : "");
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
    return f && fclose(f) == 0 ? to : graph_text("%s", "");
}
