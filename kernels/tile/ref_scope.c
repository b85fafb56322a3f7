/* SPDX-License-Identifier: MIT
 *
 * Which nodes are computed in which scope; see ref_scope.h.
 */
#include "kernels/tile/ref_scope.h"

#include "kernels/tile/build.h"

/* A walk from the nodes that a scope is for to those it needs. */
struct walk {
    const struct tile_kernel *k;
    uint8_t dim; /* the scope's, or TILE_NO_DIM */
    bool *in;    /* the scope */
    bool *seen;
    tile_dims *bound; /* dimensions of reductions within, by whatever way it was seen */
};

/* Notes that a node is needed under so many more dimensions of reductions. */
static bool visit(struct walk *w, tile_value v, tile_dims bound)
{
    if (w->dim != TILE_NO_DIM && (w->k->node[v].dims >> w->dim & 1) == 0) {
        return false; /* an enclosing scope has it */
    }
    if (w->seen[v] && (w->bound[v] & ~bound) == 0) {
        return false;
    }
    w->bound[v] = w->seen[v] ? (tile_dims)(w->bound[v] & bound) : bound;
    w->seen[v] = true;
    w->in[v] = (w->k->node[v].dims & w->bound[v]) == 0;
    return true;
}

/* From the last node down, since operands come first. */
static void walk_down(struct walk *w, tile_value from)
{
    for (unsigned v = from; v != 0; v--) {
        const struct tile_node *n = &w->k->node[v];
        tile_dims bound = w->bound[v];
        tile_value x[3];
        unsigned count = w->seen[v] ? operands(w->k, n, x) : 0;
        if (reduces(n)) {
            bound = (tile_dims)(bound | 1u << n->dim);
        }
        for (unsigned i = 0; i < count; i++) {
            visit(w, x[i], bound);
        }
    }
}

/* The list of a scope for n nodes, the last of which is the highest. */
static bool make_scope(struct tile_ref *ref, struct tile_arena *arena, struct scope *s,
                       uint8_t dim, const tile_value *nodes, unsigned n)
{
    const struct tile_kernel *k = ref->k;
    bool in[TILE_NODES + 1] = {false}, seen[TILE_NODES + 1] = {false};
    tile_dims bound[TILE_NODES + 1] = {0};
    struct walk w = {k, dim, in, seen, bound};
    tile_value last = 0;

    for (unsigned i = 0; i < n; i++) {
        visit(&w, nodes[i], 0);
        last = nodes[i] > last ? nodes[i] : last;
    }
    walk_down(&w, last);
    for (unsigned v = 1; v <= last; v++) {
        s->count += in[v];
    }
    s->place = tile_alloc(arena, s->count * sizeof(*s->place));
    s->count = 0;
    for (unsigned v = 1; v <= last && s->place; v++) {
        if (in[v]) {
            s->place[s->count++].node = (uint16_t)v;
            s->cost += 1 + (reduces(&k->node[v])
                                ? k->dim[k->node[v].dim].size * ref->inner[v].cost
                                : 0);
            s->cost += k->node[v].op == TILE_CONV
                           ? (double)tile_conv_terms(k, &k->conv[k->node[v].index])
                           : 0;
        }
    }
    return s->place != NULL;
}

struct tile_ref *tile_ref_begin(const struct tile_kernel *k, const void *const *in,
                                struct tile_arena *arena)
{
    struct tile_ref *ref = tile_alloc(arena, sizeof(*ref));
    unsigned nodes = k->n_nodes + 1, saved = 0;

    if (ref == NULL) {
        return NULL;
    }
    ref->k = k;
    memcpy(ref->in, in, k->n_params * sizeof(*in));
    ref->inner = tile_alloc(arena, nodes * sizeof(*ref->inner));
    ref->at = tile_alloc(arena, nodes * sizeof(*ref->at));
    ref->kept = tile_alloc(arena, nodes * sizeof(*ref->kept));
    ref->value = tile_alloc(arena, nodes * sizeof(*ref->value));
    if (!ref->inner || !ref->at || !ref->kept || !ref->value) {
        return NULL;
    }
    for (unsigned v = 1; v < nodes; v++) {
        const struct tile_node *n = &k->node[v];
        if (reduces(n) && !make_scope(ref, arena, &ref->inner[v], n->dim, n->operand,
                                      tile_op_info[n->op].operands)) {
            return NULL;
        }
        saved += ref->inner[v].count;
    }
    for (unsigned i = 0; i < k->n_results; i++) {
        if (!make_scope(ref, arena, &ref->result[i], TILE_NO_DIM, &k->result[i].value,
                        1)) {
            return NULL;
        }
    }
    ref->saved = tile_alloc(arena, saved * sizeof(*ref->saved));
    return ref->saved ? ref : NULL;
}

double tile_ref_cost(const struct tile_ref *ref, unsigned result)
{
    return ref->result[result].cost;
}
