/* SPDX-License-Identifier: MIT
 *
 * A cut by reductions, and where a program is cut at all; see cut.h.
 */
#include "kernels/tile/draft.h"

static bool is_reduction(const struct tile_kernel *k, tile_value v)
{
    return tile_op_info[k->node[v].op].kind == KIND_REDUCE;
}

tile_dims cut_reduced(const struct tile_kernel *k)
{
    tile_dims dims = 0;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (is_reduction(k, v) && k->dim[k->node[v].dim].size > 1) {
            dims |= (tile_dims)(1u << k->node[v].dim);
        }
    }
    return dims;
}

/* Reductions that depend on no other, all over the dimension of the first of them. */
static unsigned innermost(const struct tile_kernel *k, bool *set)
{
    bool depends[TILE_NODES + 1] = {false};
    unsigned n = 0, dim = TILE_NO_DIM;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *node = &k->node[v];
        for (unsigned i = 0; i < 3; i++) {
            depends[v] |= node->operand[i] && depends[node->operand[i]];
        }
        if (is_reduction(k, v)) {
            set[v] = !depends[v] && (n == 0 || node->dim == dim);
            dim = set[v] ? node->dim : dim;
            n += set[v];
            depends[v] = true;
        }
    }
    return n;
}

static tile_value take(struct draft *d, tile_value v)
{
    return draft_take(d, v);
}

bool cut_by_reductions(struct cut *cut, const struct tile_kernel *k,
                       struct tile_arena *arena)
{
    struct cutting c;
    bool made[TILE_NODES + 1] = {false}, set[TILE_NODES + 1] = {false};
    struct draft *d = NULL, *rest;

    if (!cutting_begin(&c, cut, k, arena) || innermost(k, set) == 0) {
        return false;
    }
    for (tile_value v = 1; v <= k->n_nodes && !c.failed; v++) {
        if (set[v] && (d == NULL || draft_full(d))) {
            if (d) {
                draft_end(d);
            }
            d = draft_begin(&c, "reduce", NULL);
            if (d) {
                d->made = made;
            }
        }
        if (set[v] && d) {
            draft_leave(d, v, cutting_given(&c, v));
        }
    }
    rest = draft_begin(&c, "rest", NULL);
    if (c.failed || d == NULL || rest == NULL) {
        return false;
    }
    draft_end(d);
    rest->made = set;
    rest->make = take;
    for (unsigned r = 0; r < k->n_results; r++) {
        draft_program_result(rest, r);
    }
    draft_end(rest);
    return !c.failed;
}
