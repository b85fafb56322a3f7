/* SPDX-License-Identifier: MIT
 *
 * Dimensions of a kernel as rows, columns and what is outside of them; see program.h. They
 * are put in an order that all tensors share, those that are always together become one,
 * the last one is the columns. Rows are what else is reduced, or what comes before them.
 */
#include "kernels/tile/emit/program.h"

/* Whether every value has both dimensions or none of them, side by side. */
static bool together(const struct tile_kernel *k, unsigned a, unsigned b)
{
    if (((k->rows >> a ^ k->rows >> b) | (k->columns >> a ^ k->columns >> b)) & 1) {
        return false;
    }
    for (unsigned i = 0; i < k->n_params + k->n_results; i++) {
        const struct tile_tensor *t = tile_tensor_at(k, i);
        if (tile_dim_stride(k, t, a) && tile_dim_stride(k, t, b) &&
            tile_dim_stride(k, t, a) != tile_dim_stride(k, t, b) * k->dim[b].size) {
            return false;
        }
    }
    for (unsigned i = 1; i <= k->n_nodes; i++) {
        tile_dims dims = k->node[i].dims;
        if ((dims >> a & 1) != (dims >> b & 1)) {
            return false;
        }
    }
    return true;
}

/* The rows: what is reduced besides the columns, or else the group before them.
 * PLAN_GROUPS: two groups are reduced besides them. */
static unsigned reduced_group(const struct program *p)
{
    unsigned row = p->n_groups;

    for (unsigned i = 1; i <= p->k->n_nodes; i++) {
        const struct tile_node *n = &p->k->node[i];
        for (unsigned g = 0; g < p->col; g++) {
            if (tile_op_info[n->op].kind == KIND_REDUCE &&
                (p->group[g].dims >> n->dim & 1)) {
                row = row == p->n_groups || row == g ? g : PLAN_GROUPS;
            }
        }
    }
    return row == p->n_groups ? p->col - 1 : row;
}

/* Rows and columns are those of a product's tiles. */
static int take_product(struct program *p, struct tile_error *error)
{
    const struct tile_kernel *k = p->k;

    p->row = p->n_groups;
    for (unsigned g = 0; g < p->n_groups; g++) {
        p->row = p->group[g].dims == k->rows ? g : p->row;
    }
    if (k->columns == 0 || p->group[p->col].dims != k->columns ||
        (k->rows && p->row == p->n_groups)) {
        return tile_error_set(error, NULL, ERR_LOCAL,
                              "rows and columns of the product are not those of all");
    }
    return 0;
}

/* The first tensor whose dimensions lie otherwise than those of the ones before it. */
static int refuse_order(const struct tile_kernel *k, struct tile_error *error)
{
    uint8_t order[TILE_DIMS];
    const struct tile_tensor *t;
    unsigned i = 1;
    int err;

    while (tile_dims_order(k, (2u << i) - 1, order) >= 0) {
        i++;
    }
    t = tile_tensor_at(k, i);
    err = tile_error_set(error, NULL, ERR_SHAPE,
                         "%s has the dimensions of other tensors in another order",
                         t->name);
    error->line = t->line;
    error->column = t->column;
    return err;
}

int program_groups(struct program *p, struct tile_error *error)
{
    const struct tile_kernel *k = p->k;
    uint8_t order[TILE_DIMS];
    int n = tile_dims_order(k, UINT32_MAX, order);

    if (n < 0) {
        return refuse_order(k, error);
    }
    for (int i = 0; i < n; i++) {
        struct group *g = &p->group[p->n_groups];
        if (i > 0 && together(k, order[i - 1], order[i])) {
            g[-1].size *= k->dim[order[i]].size;
            g[-1].dims = (tile_dims)(g[-1].dims | 1u << order[i]);
            continue;
        }
        if (p->n_groups == PLAN_GROUPS) {
            return tile_error_set(error, NULL, ERR_SHAPE, "more than %d loops",
                                  PLAN_GROUPS);
        }
        g->dims = (tile_dims)(1u << order[i]);
        g->size = k->dim[order[i]].size;
        p->n_groups++;
    }
    p->col = p->n_groups ? p->n_groups - 1 : p->n_groups;
    p->row = p->n_groups > 1 ? reduced_group(p) : p->n_groups;
    if ((k->product || k->columns) && take_product(p, error) != 0) {
        return ERR_LOCAL;
    }
    if (p->row == PLAN_GROUPS) {
        return tile_error_set(error, NULL, ERR_SHAPE,
                              "reductions over more than one dimension besides the last");
    }
    p->cols = p->col < p->n_groups ? p->group[p->col].size : 1;
    p->rows = p->row < p->n_groups ? p->group[p->row].size : 1;
    return 0;
}

bool program_is_across(const struct program *p, const struct tile_tensor *t)
{
    return p->row < p->n_groups && !program_stride(p, t, p->col) &&
           program_stride(p, t, p->row) > 1;
}

uint64_t program_stride(const struct program *p, const struct tile_tensor *t,
                        unsigned group)
{
    tile_dims dims = p->group[group].dims;

    for (unsigned i = t->rank; i-- > 0;) {
        if (dims >> t->dim[i] & 1) {
            return tile_dim_stride(p->k, t, t->dim[i]);
        }
    }
    return 0;
}
