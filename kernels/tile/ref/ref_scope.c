/* SPDX-License-Identifier: MIT
 *
 * Which nodes are computed in which scope; see ref_scope.h.
 */
#include "kernels/tile/ref/ref_scope.h"

#include <math.h>

#include "kernels/tile/ir/build.h"

/* What the program names, as its type holds it. */
static struct tile_number number(double x, enum type type)
{
    return type == TYPE_F16
               ? tile_ref_settle((struct tile_number){x, 0}, TYPE_F16, 1)
               : (struct tile_number){type == TYPE_F32 ? (double)(float)x : x, 0};
}

/* The same everywhere: it has its value from the beginning, and no scope computes it. */
static bool is_constant(const struct tile_node *n)
{
    return n->op == TILE_SCALAR || n->op == TILE_NUMBER;
}

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

static void make_place(const struct tile_kernel *k, struct place *p, tile_value v)
{
    const struct tile_node *n = &k->node[v];
    enum tile_kind kind = (enum tile_kind)tile_op_info[n->op].kind;

    p->node = v;
    p->reads = n->op == TILE_INPUT;
    p->plain = kind == KIND_MAP || kind == KIND_SHIFT || kind == KIND_COMPARE ||
               kind == KIND_SELECT || kind == KIND_CAST;
    p->n_of = (uint8_t)operands(k, n, p->of);
    if (p->plain) {
        p->type = (enum type)k->node[p->of[0]].type;
    }
    for (unsigned i = 0; i < p->n_of && n->op == TILE_ADD && !k->exact; i++) {
        unsigned op = k->node[p->of[i]].op;
        p->adds = p->adds || op == TILE_DOT || op == TILE_CONV;
    }
}

/* Half units of the sum of magnitudes that a reduction's loses; see ref.h. */
static double lost_in_sum(const struct tile_kernel *k, const struct tile_node *n)
{
    double count = reduces(n)           ? k->dim[n->dim].size
                   : n->op == TILE_CONV ? (double)tile_conv_terms(k, &k->conv[n->index])
                                        : 1;

    return 8 + log2(count) + sqrt(count) / 2;
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
            if (!is_constant(&k->node[v])) {
                make_place(k, &s->place[s->count++], (tile_value)v);
            }
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
        if (is_constant(n)) {
            ref->value[v] =
                number(n->op == TILE_NUMBER ? n->number : k->scalar[n->index].value,
                       (enum type)n->type);
        }
        ref->inner[v].lost = lost_in_sum(k, n);
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
