/* SPDX-License-Identifier: MIT
 *
 * Bags: rows of a table that indices name, of which only sums, means or maxima over the last
 * dimension of the indices are wanted, are the firmware's embedding_bag, which never writes them.
 */
#include <string.h>

#include "tools/graph/model/edit.h"
#include "tools/graph/passes/pass.h"
#include "tools/graph/rules/reduce/reduce.h"
#include "tools/graph/steps/steps.h"

static const struct {
    const char *op, *mode;
} modes[] = {{"ReduceSum", "sum"}, {"ReduceMean", "mean"}, {"ReduceMax", "max"}};

/* Of a reduction; NULL: there is none of this. */
static const char *mode_of(const struct node *n)
{
    for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i].op, n->op) == 0) {
            return modes[i].mode;
        }
    }
    return NULL;
}

static void emit(struct emit *e, struct node *n)
{
    struct tensor *table = n->in[0], *index = n->in[1];
    int64_t each = index->shape.dim[index->shape.n - 1];
    struct shape bags = {.n = 2, .dim = {tensor_count(index) / each, each}},
                 y = {.n = 2, .dim = {bags.dim[0], table->shape.dim[1]}};
    struct group *s;

    s = operator_begin(e, n, "embedding_bag",
                       graph_text("--mode %s --from-end", mode_of(n)));
    operator_in(e, s, table);
    operator_in(e, s, tensor_view(index, &bags));
    operator_out(s, tensor_view(n->out[0], &y));
}

static const struct rule bag = {.op = "bag", .emit = emit, .alone = true};

/* The Gather whose rows a reduction alone reads, over a bag of them; NULL: it is no bag. */
static struct node *rows_of(const struct graph *g, struct node *n)
{
    struct tensor *x = n->in[0], *table, *index;
    struct node *rows = x && !x->alias && !x->value ? x->from : NULL;

    if (n->done || !rows || rows->done || strcmp(rows->op, "Gather") != 0 ||
        !mode_of(n) || edit_uses(g, x) != 1) {
        return NULL;
    }
    table = rows->in[0];
    index = rows->in[1];
    return table->shape.n == 2 && node_axis(g, rows, node_int(rows, "axis", 0), 2) == 0 &&
                   (table->type == ELEM_F32 || table->type == ELEM_F16) &&
                   !index->value && index->shape.n > 0 && tensor_count(x) > 0 &&
                   reduce_axes(g, n) == 1u << (index->shape.n - 1)
               ? rows
               : NULL;
}

unsigned pass_bags(struct graph *g)
{
    unsigned count = 0;

    for (struct node *n = g->nodes; n; n = n->next) {
        struct node *rows = n->n_in ? rows_of(g, n) : NULL;
        if (rows) {
            n->in[0] = rows->in[0];
            n->in[1] = rows->in[1];
            n->n_in = 2;
            n->rule = &bag;
            edit_name(n, rows, n);
            edit_delete(rows);
            count++;
        }
    }
    return count;
}
