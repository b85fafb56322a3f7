/* SPDX-License-Identifier: MIT
 *
 * Shapes, and NumPy's broadcasting; see graph.h.
 */
#include <stdio.h>
#include <string.h>

#include "tools/graph/model/graph.h"

int64_t shape_count(const struct shape *s)
{
    int64_t n = 1;

    for (unsigned d = 0; d < s->n; d++) {
        n *= s->dim[d];
    }
    return n;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
    return a->n == b->n && memcmp(a->dim, b->dim, a->n * sizeof(a->dim[0])) == 0;
}

const char *shape_text(const struct shape *s)
{
    char text[GRAPH_RANK * 24 + 3] = "[", *to = text + 1;

    for (unsigned d = 0; d < s->n; d++) {
        to += sprintf(to, "%s%lld", d ? ", " : "", (long long)s->dim[d]);
    }
    strcpy(to, "]");
    return graph_text("%s", text);
}

void shape_strides(const struct shape *s, int64_t stride[GRAPH_RANK])
{
    int64_t n = 1;

    for (unsigned d = s->n; d-- > 0;) {
        stride[d] = n;
        n *= s->dim[d];
    }
}

struct shape shape_broadcast(const struct graph *g, const struct node *n,
                             const struct shape *a, const struct shape *b)
{
    struct shape to = {.n = a->n > b->n ? a->n : b->n};

    for (unsigned d = 0; d < to.n; d++) {
        unsigned skip_a = to.n - a->n, skip_b = to.n - b->n;
        int64_t x = d < skip_a ? 1 : a->dim[d - skip_a];
        int64_t y = d < skip_b ? 1 : b->dim[d - skip_b];
        if (x != y && x != 1 && y != 1) {
            node_die(g, n, "%s and %s do not broadcast", shape_text(a), shape_text(b));
        }
        to.dim[d] = x == 1 ? y : x;
    }
    return to;
}

void shape_around(const struct shape *s, unsigned axis, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (unsigned d = 0; d < s->n; d++) {
        *outer *= d < axis ? s->dim[d] : 1;
        *inner *= d > axis ? s->dim[d] : 1;
    }
}

bool shape_step(const struct shape *s, int64_t at[GRAPH_RANK])
{
    for (unsigned d = s->n; d-- > 0;) {
        if (++at[d] < s->dim[d]) {
            return true;
        }
        at[d] = 0;
    }
    return false;
}

int64_t shape_at(const struct shape *of, const struct shape *broadcast,
                 const int64_t at[GRAPH_RANK])
{
    unsigned skip = broadcast->n - of->n;
    int64_t place = 0;

    for (unsigned d = 0; d < of->n; d++) {
        place = place * of->dim[d] + (of->dim[d] == 1 ? 0 : at[d + skip]);
    }
    return place;
}
