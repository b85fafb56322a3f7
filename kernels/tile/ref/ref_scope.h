/* SPDX-License-Identifier: MIT
 *
 * What the interpreter of tile programs works on; see ref.h.
 *
 * Values are computed in scopes. The scope of a result has its element's indices; the
 * scope of a reduction adds one, which runs over its dimension. What a scope computes is a
 * list of nodes in their order: of a result's all that does not depend on a dimension of
 * a reduction within, of a reduction's what depends on its own dimension and on none of
 * those within. A loop over tiles is one step over all of its dimension.
 */
#ifndef KERNELS_TILE_REF_REF_SCOPE_H
#define KERNELS_TILE_REF_REF_SCOPE_H

#include <string.h>

#include "kernels/tile/ref/ref.h"

/* A node of a scope. Of an INPUT, what it reads, which element when the scope's index is 0,
 * and how many further with each index. Of an operation that takes only the values of others,
 * which those are; `adds`: perhaps to a product, see ref.c. */
struct place {
    uint16_t node;
    bool reads, plain, adds;
    uint8_t n_of;
    enum type type;
    tile_value of[3];
    const void *data;
    uint64_t at, by;
};

struct scope {
    struct place *place;
    unsigned count;
    double cost, lost; /* lost: of a reduction, half units of the sum of its magnitudes */
};

struct tile_ref {
    const struct tile_kernel *k;
    const void *in[TILE_PARAMS];
    struct scope result[TILE_RESULTS];
    struct scope *inner;      /* of each node that is a reduction, DOT or CONV */
    uint64_t *at;             /* which element kept[] of such a node is of, plus 1 */
    struct tile_number *kept; /* the last value of such a node */
    struct tile_number
        *value; /* of each node in the scope that is computed; of constants */
    struct tile_number *saved; /* values of enclosing scopes that a reduction disturbs */
    unsigned n_saved;
    uint32_t index[TILE_DIMS];
};

static inline bool reduces(const struct tile_node *n)
{
    unsigned kind = tile_op_info[n->op].kind;

    return kind == KIND_REDUCE || kind == KIND_DOT;
}

/* Operands as the interpreter sees them: a carried value is its first one, behind the
 * loop the next one. A GATHER and a CONV read their parameters themselves. */
static inline unsigned operands(const struct tile_kernel *k, const struct tile_node *n,
                                tile_value *to)
{
    unsigned count = tile_op_info[n->op].operands;

    if (n->op == TILE_LAST) {
        to[0] = k->carry[k->node[n->operand[0]].index].next;
        return 1;
    }
    if (n->op == TILE_GATHER || n->op == TILE_CONV) {
        return 0;
    }
    memcpy(to, n->operand, sizeof(n->operand));
    return n->op == TILE_CARRY ? 1 : count;
}

/* ref_input.c: a number in GM; an element of a parameter; which one it is at the indices of
 * the scope; one by index; where an element is at those indices, and how far it is to the next
 * along `dim`, if that is one; adds n products along two parameters to a sum, and magnitudes
 * to another; each tap of a window, at its indices, and whether it is within the map; the sum
 * of a window's of parameters, and that of the magnitudes of its terms. */
double tile_ref_load(const void *data, enum type type, uint64_t i);
double tile_ref_input(const struct tile_ref *ref, unsigned param, uint64_t at);
uint64_t tile_ref_place(const struct tile_ref *ref, unsigned param);
double tile_ref_gather(struct tile_ref *ref, const struct tile_node *n);
void tile_ref_find(struct tile_ref *ref, struct place *place, unsigned param,
                   uint8_t dim);
void tile_ref_products(const struct place *x, const struct place *y, uint32_t n,
                       double *sum, double *size);
typedef void tile_ref_tap(struct tile_ref *ref, const struct tile_node *n, bool there,
                          void *arg);
void tile_ref_taps(struct tile_ref *ref, const struct tile_node *n, tile_ref_tap *take,
                   void *arg);
double tile_ref_conv(struct tile_ref *ref, const struct tile_node *n, double *size);

#endif
