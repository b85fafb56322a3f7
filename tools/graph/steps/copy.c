/* SPDX-License-Identifier: MIT
 *
 * Steps that bring elements to other places; see steps.h.
 */
#include <stdlib.h>

#include "tools/graph/steps/steps.h"

void copy_begin(struct copy *c, struct emit *e, struct node *n, struct tensor *to)
{
    *c = (struct copy){.e = e, .step = operator_begin(e, n, "move", "")};
    operator_out(c->step, to);
}

/* For its price: where it really lies does not matter. */
static void add_move(struct copy *c, const struct tensor *from, int64_t x, int64_t y)
{
    struct group *g = c->step;
    uint32_t esize = (uint32_t)elem_bytes(elem_machine(g->made[0].t->type));
    struct move *m;

    g->moves = realloc(g->moves, (g->n_moves + 1) * sizeof(*g->moves));
    if (!g->moves) {
        graph_die(c->e->g, "no memory for copies");
    }
    m = &g->moves[g->n_moves++];
    *m = (struct move){.esize = esize, .ndim = c->n};
    m->x = from ? (const char *)PLAN_ALIGN + x * esize : NULL;
    m->y = (char *)PLAN_ALIGN + y * esize;
    for (unsigned d = 0; d < c->n; d++) {
        m->dim[d] =
            (struct move_dim){(uint64_t)c->size[d], (uint64_t)c->x[d], (uint64_t)c->y[d]};
    }
}

/* A dimension of none: there is nothing to copy. */
static bool is_empty(struct copy *c)
{
    for (unsigned d = 0; d < c->n; d++) {
        if (c->size[d] == 0) {
            c->n = 0;
            return true;
        }
    }
    return false;
}

/* `x1 X Y size:x:y ..;` */
void copy_add(struct copy *c, struct tensor *from, int64_t x, int64_t y)
{
    unsigned i = 0;

    if (is_empty(c)) {
        return;
    }
    while (i < c->step->n_in && c->step->in[i].t != from) {
        i++;
    }
    if (i == c->step->n_in) {
        operator_in(c->e, c->step, from);
    }
    c->step->text =
        graph_text("%sx%u %lld %lld", c->step->text, i, (long long)x, (long long)y);
    for (unsigned d = 0; d < c->n; d++) {
        c->step->text =
            graph_text("%s %lld:%lld:%lld", c->step->text, (long long)c->size[d],
                       (long long)c->x[d], (long long)c->y[d]);
    }
    c->step->text = graph_text("%s;", c->step->text);
    add_move(c, from, x, y);
    c->n = 0;
}

void copy_fill(struct copy *c, double value, int64_t y)
{
    if (is_empty(c)) {
        return;
    }
    c->step->text = graph_text("%s= %.9g %lld", c->step->text, value, (long long)y);
    for (unsigned d = 0; d < c->n; d++) {
        c->step->text = graph_text("%s %lld:0:%lld", c->step->text, (long long)c->size[d],
                                   (long long)c->y[d]);
    }
    c->step->text = graph_text("%s;", c->step->text);
    add_move(c, NULL, 0, y);
    c->n = 0;
}

void copy_dim(struct copy *c, int64_t size, int64_t x, int64_t y)
{
    if (size != 1) {
        c->size[c->n] = size;
        c->x[c->n] = x;
        c->y[c->n++] = y;
    }
}

bool copy_lies_in(const struct emit *e, struct tensor *x, struct tensor *to, int64_t at)
{
    struct tensor *t = tensor_root(x);
    bool fits = t->from && !t->from->done && !t->value && !t->home && t != to &&
                t->type == to->type && !t->count && tensor_count(t) == tensor_count(x) &&
                tensor_has_part(to, at);

    for (unsigned i = 0; i < e->g->n_outputs && fits; i++) {
        fits = tensor_root(e->g->output[i]) != t;
    }
    if (fits) {
        t->home = to;
        t->home_at = at;
    }
    return fits;
}
