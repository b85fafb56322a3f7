/* SPDX-License-Identifier: MIT
 *
 * Cuts by reductions and by gathers, and where a program is cut at all; see cut.h.
 */
#include "kernels/tile/cut/draft.h"

static bool is_reduction(const struct tile_kernel *k, tile_value v)
{
    return tile_op_info[k->node[v].op].kind == KIND_REDUCE;
}

void cut_live(const struct tile_kernel *k, bool *live)
{
    for (unsigned r = 0; r < k->n_results; r++) {
        live[k->result[r].value] = true;
    }
    for (unsigned v = k->n_nodes; v; v--) {
        for (unsigned i = 0; i < 3 && live[v]; i++) {
            live[k->node[v].operand[i]] = true;
        }
    }
}

tile_dims cut_reduced(const struct tile_kernel *k)
{
    bool live[TILE_NODES + 1] = {false};
    tile_dims dims = 0;

    cut_live(k, live);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (live[v] && is_reduction(k, v) && k->dim[k->node[v].dim].size > 1) {
            dims |= (tile_dims)(1u << k->node[v].dim);
        }
    }
    return dims;
}

/* Reductions that depend on no other, all over the dimension of the first of them. */
static unsigned innermost(const struct tile_kernel *k, const bool *live, bool *set)
{
    bool depends[TILE_NODES + 1] = {false};
    unsigned n = 0, dim = TILE_NO_DIM;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *node = &k->node[v];
        for (unsigned i = 0; i < 3; i++) {
            depends[v] |= node->operand[i] && depends[node->operand[i]];
        }
        if (live[v] && is_reduction(k, v) && k->dim[node->dim].size > 1) {
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

/* All results, by what other stages have made. */
static bool finish_rest(struct draft *rest, const bool *made)
{
    rest->made = made;
    rest->make = take;
    for (unsigned r = 0; r < rest->c->from->n_results; r++) {
        draft_program_result(rest, r);
    }
    draft_end(rest);
    return !rest->c->failed;
}

bool cut_by_reductions(struct cut *cut, const struct tile_kernel *k,
                       struct tile_arena *arena)
{
    struct cutting c;
    bool made[TILE_NODES + 1] = {false}, set[TILE_NODES + 1] = {false};
    struct draft *d = NULL, *rest;

    if (!cutting_begin(&c, cut, k, UINT32_MAX, arena) || innermost(k, c.live, set) == 0) {
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
    return finish_rest(rest, set);
}

bool cut_gathers(struct cut *cut, const struct tile_kernel *k, struct tile_arena *arena)
{
    struct cutting c;
    bool none[TILE_NODES + 1] = {false}, set[TILE_NODES + 1] = {false};
    struct draft *rest;
    unsigned n = 0;

    if (!cutting_begin(&c, cut, k, UINT32_MAX, arena)) {
        return false;
    }
    for (tile_value v = 1; v <= k->n_nodes && !c.failed; v++) {
        struct draft *d = NULL;
        set[v] = c.live[v] && k->node[v].op == TILE_GATHER;
        n += set[v];
        d = set[v] ? draft_begin(&c, "gather", NULL) : NULL;
        if (d) {
            bool all = k->n_results == 1 && k->result[0].value == v && !k->result[0].adds;
            d->made = none;
            d->stage.gather = true;
            if (all) {
                draft_program_result(d, 0);
            } else {
                draft_leave(d, v, cutting_given(&c, v));
            }
            draft_end(d);
            if (all) {
                return !c.failed;
            }
        }
    }
    rest = n && !c.failed ? draft_begin(&c, "rest", NULL) : NULL;
    return rest && finish_rest(rest, set);
}
