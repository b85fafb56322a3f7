/* SPDX-License-Identifier: MIT
 *
 * Whether a condition on indices holds in all of a tile, in none of it, or in some; see
 * loop.h. Bounds of what is computed of indices and numbers tell; of anything else, and of
 * what is DEEP operations away from them, nothing is known.
 */
#include "kernels/tile/attention/loop.h"

enum { DEEP = 8 /* operands are walked as a tree, which doubles with each */ };

struct bounds {
    int64_t least, most;
    bool known;
};

static struct bounds index_bounds(const struct loop_form *f, unsigned dim,
                                  const struct loop_window *w)
{
    if (dim == f->t) {
        return (struct bounds){w->t0, w->t1, true};
    }
    if (dim == f->s) {
        return (struct bounds){w->s0, w->s1, true};
    }
    return (struct bounds){0, (int64_t)f->k->dim[dim].size - 1, true};
}

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct bounds product(struct bounds x, struct bounds y)
{
    int64_t a = x.least * y.least, b = x.least * y.most, c = x.most * y.least,
            d = x.most * y.most;

    return (struct bounds){lesser(lesser(a, b), lesser(c, d)),
                           greater(greater(a, b), greater(c, d)), true};
}

/* Only what S32 holds: beyond it results wrap. */
static struct bounds settled(struct bounds b)
{
    b.known = b.known && b.least >= INT32_MIN && b.most <= INT32_MAX;
    return b;
}

static struct bounds bounds_of(const struct loop_form *f, tile_value v,
                               const struct loop_window *w, unsigned depth)
{
    const struct tile_node *n = &f->k->node[v];
    struct bounds x, y;

    if (n->type != TYPE_S32 || depth == 0) {
        return (struct bounds){0};
    }
    if (n->op == TILE_INDEX) {
        return index_bounds(f, n->dim, w);
    }
    if (n->op == TILE_NUMBER) {
        return (struct bounds){(int64_t)n->number, (int64_t)n->number, true};
    }
    if (n->op != TILE_ADD && n->op != TILE_SUB && n->op != TILE_MUL &&
        n->op != TILE_MAX && n->op != TILE_MIN && n->op != TILE_NEG) {
        return (struct bounds){0};
    }
    x = bounds_of(f, n->operand[0], w, depth - 1);
    y = n->op == TILE_NEG ? x : bounds_of(f, n->operand[1], w, depth - 1);
    if (!x.known || !y.known) {
        return (struct bounds){0};
    }
    switch (n->op) {
    case TILE_ADD:
        return settled((struct bounds){x.least + y.least, x.most + y.most, true});
    case TILE_SUB:
        return settled((struct bounds){x.least - y.most, x.most - y.least, true});
    case TILE_MUL:
        return settled(product(x, y));
    case TILE_MAX:
        return (struct bounds){greater(x.least, y.least), greater(x.most, y.most), true};
    case TILE_MIN:
        return (struct bounds){lesser(x.least, y.least), lesser(x.most, y.most), true};
    default:
        return settled((struct bounds){-x.most, -x.least, true});
    }
}

static enum loop_state state_of(bool always, bool never)
{
    return always ? LOOP_ALWAYS : never ? LOOP_NEVER : LOOP_SOMETIMES;
}

static enum loop_state inverse(enum loop_state s)
{
    return state_of(s == LOOP_NEVER, s == LOOP_ALWAYS);
}

static enum loop_state compared(unsigned op, struct bounds x, struct bounds y)
{
    bool one = x.least == x.most && y.least == y.most;
    bool apart = x.most < y.least || y.most < x.least;

    switch (op) {
    case TILE_LT:
        return state_of(x.most < y.least, x.least >= y.most);
    case TILE_LE:
        return state_of(x.most <= y.least, x.least > y.most);
    case TILE_GT:
        return state_of(x.least > y.most, x.most <= y.least);
    case TILE_GE:
        return state_of(x.least >= y.most, x.most < y.least);
    case TILE_EQ:
        return state_of(one && !apart, apart);
    default:
        return state_of(apart, one && !apart);
    }
}

static enum loop_state holds(const struct loop_form *f, tile_value mask,
                             const struct loop_window *w, unsigned depth)
{
    const struct tile_node *n = &f->k->node[mask];
    enum loop_state a, b;

    if (tile_op_info[n->op].kind == KIND_COMPARE) {
        struct bounds x = bounds_of(f, n->operand[0], w, DEEP);
        struct bounds y = bounds_of(f, n->operand[1], w, DEEP);
        return x.known && y.known ? compared(n->op, x, y) : LOOP_SOMETIMES;
    }
    if (n->type != TILE_MASK || depth == 0 ||
        (n->op != TILE_NOT && n->op != TILE_AND && n->op != TILE_OR)) {
        return LOOP_SOMETIMES;
    }
    a = holds(f, n->operand[0], w, depth - 1);
    if (n->op == TILE_NOT) {
        return inverse(a);
    }
    b = holds(f, n->operand[1], w, depth - 1);
    return n->op == TILE_AND ? state_of(a == LOOP_ALWAYS && b == LOOP_ALWAYS,
                                        a == LOOP_NEVER || b == LOOP_NEVER)
                             : state_of(a == LOOP_ALWAYS || b == LOOP_ALWAYS,
                                        a == LOOP_NEVER && b == LOOP_NEVER);
}

enum loop_state loop_holds(const struct loop_form *f, tile_value mask,
                           const struct loop_window *w)
{
    return holds(f, mask, w, DEEP);
}
