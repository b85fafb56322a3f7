/* SPDX-License-Identifier: MIT
 *
 * What a program has to do at the least, for the limit of a report; see tile_op.h.
 */
#include "kernels/tile/op/tile_op.h"

#include "kernels/tile/emit/emit.h"
#include "kernels/tile/ir/build.h"

/* The fastest command that does for an operation what it has to do for each element; 0:
 * none, or one that may be part of another. */
static enum op command_for(const struct tile_node *n)
{
    enum op unary = unary_op(n->op);

    switch ((enum tile_op)n->op) {
    case TILE_DOT:
    case TILE_CONV:
    case TILE_GATHER: /* of no pipe but those that copy */
    case TILE_RELU:   /* of VADDRELU and its like */
    case TILE_NOT:
        return 0;
    default:
        return unary                                                           ? unary
               : tile_op_info[n->op].kind == KIND_LEAF || n->type == TILE_MASK ? 0
                                                                               : OP_VADD;
    }
}

/* The product with a number that VAXPY makes of a sum at once; 0: none is an operand. */
static tile_value within_sum(const struct tile_kernel *k, const struct tile_node *n)
{
    for (unsigned i = 2; i-- > 0;) {
        const struct tile_node *y = &k->node[n->operand[i]];
        if ((n->op == TILE_ADD || (n->op == TILE_SUB && i == 1)) && y->op == TILE_MUL &&
            k->node[y->operand[1]].op == TILE_NUMBER && y->dims == n->dims &&
            (n->type == TYPE_F32 || n->type == TYPE_F16)) {
            return n->operand[i];
        }
    }
    return 0;
}

static bool is_product(const struct tile_node *n)
{
    return n->op == TILE_DOT || n->op == TILE_CONV;
}

/* A product, or one times a number. */
static bool is_scaled(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v], *by = &k->node[n->operand[1]];

    return is_product(n) ||
           (n->op == TILE_MUL && is_product(&k->node[n->operand[0]]) && by->dims == 0);
}

/* What the Cube and the fixpipe may do for the Vector: a number times a product, and sums of
 * that with a row or a column, from which the Cube can begin. */
static bool is_of_cube(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];

    return is_scaled(k, v) ||
           ((n->op == TILE_ADD || n->op == TILE_SUB) && is_scaled(k, n->operand[0]) &&
            k->node[n->operand[1]].dims != n->dims);
}

/* Whether a value is made of indices and numbers alone: what it is, no data tell. */
static bool is_of_places(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];

    return n->op == TILE_INDEX || n->op == TILE_NUMBER ||
           (tile_op_info[n->op].kind == KIND_COMPARE &&
            k->node[n->operand[0]].op == TILE_INDEX &&
            k->node[n->operand[1]].op == TILE_INDEX);
}

/* How often i <= j, or i < j, of so many. */
static uint64_t pairs(uint64_t of_i, uint64_t of_j, bool equal)
{
    uint64_t most = of_j + equal - 1, n = of_i < most ? of_i : most;

    return n * most - n * (n - 1) / 2;
}

/* How many elements of these dimensions a loop computes: those for which its condition holds,
 * if that compares two indices; else all. */
static uint64_t computed(const struct tile_kernel *k, tile_dims dims, unsigned loop)
{
    tile_value condition = loop ? k->loop[loop].condition : 0;
    const struct tile_node *c = &k->node[condition], *i = &k->node[c->operand[0]],
                           *j = &k->node[c->operand[1]];
    bool turned = c->op == TILE_GE || c->op == TILE_GT;
    bool equal = c->op == TILE_LE || c->op == TILE_GE;
    uint64_t all = tile_count(k, dims), of_i, of_j;

    if (condition == 0 || i->op != TILE_INDEX || j->op != TILE_INDEX ||
        i->dim == j->dim || (c->dims & ~dims) != 0 ||
        !(turned || equal || c->op == TILE_LT)) {
        return all;
    }
    of_i = k->dim[(turned ? j : i)->dim].size;
    of_j = k->dim[(turned ? i : j)->dim].size;
    return all / (of_i * of_j) * pairs(of_i, of_j, equal);
}

/* What the Vector has to compute at the least: each element of each operation once. */
static void work_on_vector(const struct tile_kernel *k, struct work *w)
{
    bool within[TILE_NODES + 1] = {false};

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        within[within_sum(k, &k->node[v])] = true;
    }
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        bool placed = n->op == TILE_WHERE && n->loop && is_of_places(k, n->operand[0]);
        enum op code = within[v] || placed || is_of_cube(k, v) ? 0 : command_for(n);
        tile_dims dims = k->node[n->operand[0]].dims | n->dims;
        if (code) {
            work_vector(w, code, (enum type)n->type, computed(k, dims, n->loop));
        }
    }
}

static struct tensor tensor_of(const struct tile_kernel *k, const struct tile_tensor *t)
{
    return (struct tensor){.count = tile_count(k, tile_tensor_dims(t)),
                           .type = (enum type)t->type};
}

/* A product of what only one of the operands has, for each index that both have. */
static void work_on_cube(const struct tile_kernel *k, const struct tile_node *n,
                         struct work *w)
{
    const struct tile_node *a = &k->node[n->operand[0]], *b = &k->node[n->operand[1]];
    tile_dims along = (tile_dims)(1u << n->dim), both = a->dims & b->dims;
    struct work one = {0};
    uint64_t times = tile_count(k, both & (tile_dims)~along);
    uint64_t all = tile_count(k, a->dims | b->dims);
    uint64_t some = computed(k, a->dims | b->dims, n->loop);

    work_matmul(&one, (enum type)a->type, tile_count(k, a->dims & (tile_dims)~both),
                tile_count(k, b->dims & (tile_dims)~both), k->dim[n->dim].size);
    w->cycles[PIPE_M] +=
        one.cycles[PIPE_M] * (double)times * ((double)some / (double)all);
    w->macs += some;
}

/* Of each group the pixels times what is under a window. */
static void work_on_windows(const struct tile_kernel *k, const struct tile_node *n,
                            struct work *w)
{
    const struct tile_conv *c = &k->conv[n->index];
    struct work one = {0};

    work_matmul(&one, (enum type)k->node[n->operand[0]].type,
                tile_count(k, n->dims & (tile_dims) ~(1u << c->out)),
                k->dim[c->out].size / c->groups, tile_conv_terms(k, c));
    w->cycles[PIPE_M] += one.cycles[PIPE_M] * c->groups;
    w->macs += one.macs * c->groups;
}

/* Where a parameter is first wanted: L1, if a product takes it as it is. */
static enum npu_mem wanted_in(const struct tile_kernel *k, unsigned param)
{
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        for (unsigned i = 0; i < 2 && is_product(&k->node[v]); i++) {
            const struct tile_node *x = &k->node[k->node[v].operand[i]];
            if (x->op == TILE_INPUT && x->index == param) {
                return NPU_MEM_L1;
            }
        }
    }
    return NPU_MEM_UB;
}

/* Where a result comes from: L0C, if it is a product, or one in fewer bytes. */
static enum npu_mem made_in(const struct tile_kernel *k, tile_value v)
{
    v = k->node[v].op == TILE_CAST ? k->node[v].operand[0] : v;
    return is_product(&k->node[v]) ? NPU_MEM_L0C : NPU_MEM_UB;
}

void tile_work(const struct tile_kernel *k, struct work *w)
{
    work_on_vector(k, w);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (k->node[v].op == TILE_DOT) {
            work_on_cube(k, &k->node[v], w);
        } else if (k->node[v].op == TILE_CONV) {
            work_on_windows(k, &k->node[v], w);
        }
    }
    for (unsigned i = 0; i < k->n_params; i++) {
        struct tensor t = tensor_of(k, &k->param[i]);
        work_in(w, wanted_in(k, i), &t);
    }
    for (unsigned i = 0; i < k->n_results; i++) {
        struct tensor t = tensor_of(k, &k->result[i].tensor);
        work_out(w, made_in(k, k->result[i].value), &t);
    }
}

void tile_chain_work(const struct tile_chain *chain, struct work *w)
{
    static _Alignas(16) char bytes[TILE_ARENA_BYTES / 4];

    for (unsigned i = 0; i < chain->n; i++) {
        struct tile_arena arena = {.base = bytes, .size = sizeof(bytes)};
        const struct tile_kernel *k = tile_lower(chain->program[i], &arena);
        struct work part = {0};
        if (k) {
            tile_work(k, &part);
        }
        w->cycles[PIPE_M] += part.cycles[PIPE_M];
        w->cycles[PIPE_V] += part.cycles[PIPE_V];
        w->macs += part.macs;
    }
}
