/* SPDX-License-Identifier: MIT
 *
 * The pass `tails`: an activation behind a convolution of the firmware, which nobody else reads the
 * result of, becomes part of it: the fixpipe computes it when it stores the sums.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/passes/pass.h"
#include "tools/graph/rules/window/window.h"

/* What kernels/conv takes of an activation's limit: what float16 has. */
#define LIMIT_MIN 0x1p-24

/* An end of Clip's range, an operand or an attribute; false: it is not known, or not there. */
static bool bound(const struct node *n, unsigned i, const char *attr, double *to)
{
    const struct tensor *t = node_maybe(n, i);
    const struct attr *a = n->n_in == 1 ? node_attr(n, attr) : NULL;

    *to = a ? a->f : t && t->value && tensor_count(t) == 1 ? t->value[0] : 0;
    return a || (t && t->value && tensor_count(t) == 1);
}

/* The activation that a node is, of those that the fixpipe has; NULL: it is none. */
static const char *activation(const struct node *n, double *slope, double *limit)
{
    double least;

    *limit = *slope = 0;
    if (strcmp(n->op, "Clip") == 0 && bound(n, 1, "min", &least) && least == 0 &&
        bound(n, 2, "max", limit) && *limit >= LIMIT_MIN) {
        return "relu";
    }
    *slope = strcmp(n->op, "LeakyRelu") == 0 ? node_float(n, "alpha", 0.01) : 0;
    *limit = 0;
    return strcmp(n->op, "Relu") == 0                                         ? "relu"
           : strcmp(n->op, "LeakyRelu") == 0 && fabs(*slope) <= DTYPE_F16_MAX ? "leaky"
                                                                              : NULL;
}

unsigned pass_tails(struct graph *g)
{
    unsigned count = 0;

    for (struct node *n = g->nodes; n; n = n->next) {
        double slope, limit;
        struct node *next;
        const char *act;
        if (n->done || n->rule != &rule_conv2d || node_attr(n, "act")) {
            continue;
        }
        next = edit_only_reader(g, n->out[0]);
        act = next ? activation(next, &slope, &limit) : NULL;
        if (act) {
            node_attr_put(n, "act")->s = act;
            node_attr_put(n, "slope")->f = slope;
            node_attr_put(n, "limit")->f = limit;
            edit_absorb(next, n);
            count++;
        }
    }
    return count;
}
