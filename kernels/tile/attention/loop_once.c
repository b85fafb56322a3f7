/* SPDX-License-Identifier: MIT
 *
 * A loop whose keys are all one tile; see loop.h. What is carried is a number when its only step
 * begins: with a running softmax max(-inf, x) is x, exp(-inf - x) is 0, so nothing is multiplied,
 * and what is left are the score's maximum, exp, sum and cast, and the second product as it comes
 * out of L0C.
 */
#include <math.h>
#include <string.h>

#include "kernels/tile/attention/loop.h"

struct once {
    struct tile_kernel *k;
    tile_value is[TILE_NODES + 1]; /* the node that has this one's value */
    bool known[TILE_NODES + 1], live[TILE_NODES + 1];
    double number[TILE_NODES + 1];
};

static bool is_known(const struct once *o, tile_value v, double number)
{
    return o->known[v] && o->number[v] == number;
}

/* The operand that is left of two if the other one changes nothing; 0: both count. */
static tile_value left_of(const struct once *o, const struct tile_node *n, double nothing)
{
    return is_known(o, n->operand[0], nothing)   ? n->operand[1]
           : is_known(o, n->operand[1], nothing) ? n->operand[0]
                                                 : 0;
}

static void note(struct once *o, tile_value v, double number)
{
    o->known[v] = true;
    o->number[v] = number;
}

static void fold(struct once *o, tile_value v)
{
    const struct tile_node *n = &o->k->node[v];
    tile_value x = n->operand[0], y = n->operand[1], left = 0;

    switch (n->op) {
    case TILE_MAX:
        left = left_of(o, n, -INFINITY);
        break;
    case TILE_MIN:
        left = left_of(o, n, INFINITY);
        break;
    case TILE_ADD:
        left = left_of(o, n, 0);
        break;
    case TILE_SUB: /* of a finite number */
        if (is_known(o, x, -INFINITY) && !o->known[y]) {
            note(o, v, -INFINITY);
        }
        break;
    case TILE_EXP:
        if (is_known(o, x, -INFINITY)) {
            note(o, v, 0);
        }
        break;
    case TILE_MUL:
        if (is_known(o, x, 0) && is_known(o, y, 0)) {
            note(o, v, 0);
        }
        break;
    default:
        break;
    }
    if (left && !o->known[left]) {
        o->is[v] = left;
    }
}

static void fold_all(struct once *o)
{
    struct tile_kernel *k = o->k;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        struct tile_node *n = &k->node[v];
        o->is[v] = v;
        if (n->op == TILE_CARRY) {
            const struct tile_node *first = &k->node[k->carry[n->index].first];
            if (first->op == TILE_NUMBER) {
                note(o, v, first->number);
            }
        } else if (n->op == TILE_NUMBER) {
            note(o, v, n->number);
        } else if (n->op != TILE_LAST) {
            for (unsigned i = 0; i < tile_op_info[n->op].operands; i++) {
                n->operand[i] = o->is[n->operand[i]];
            }
            fold(o, v);
        }
    }
    for (unsigned i = 0; i < k->n_carried; i++) {
        k->carry[i].next = o->is[k->carry[i].next];
    }
    for (unsigned r = 0; r < k->n_results; r++) {
        k->result[r].value = o->is[k->result[r].value];
    }
}

/* False: it reads what is carried. */
static bool reach(struct once *o, tile_value v)
{
    const struct tile_node *n = &o->k->node[v];
    bool good = n->op != TILE_CARRY && (!o->known[v] || n->op == TILE_NUMBER);

    if (v == 0 || o->live[v]) {
        return true;
    }
    o->live[v] = true;
    if (n->op == TILE_LAST) {
        return reach(o, o->k->carry[n->index].next);
    }
    for (unsigned i = 0; i < tile_op_info[n->op].operands && good; i++) {
        good = reach(o, n->operand[i]);
    }
    return good;
}

/* Nodes that nobody wants become numbers, carried values go. */
static void drop(struct once *o)
{
    struct tile_kernel *k = o->k;
    uint32_t now[TILE_LOOPS * TILE_CARRIED];
    bool kept[TILE_LOOPS * TILE_CARRIED];
    unsigned n = 0;

    for (unsigned i = 0; i < k->n_carried; i++) {
        kept[i] = o->live[k->carry[i].last];
        now[i] = n;
        if (kept[i]) {
            k->carry[n++] = k->carry[i];
        }
    }
    k->n_carried = k->loop[1].count = (uint8_t)n;
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        struct tile_node *node = &k->node[v];
        bool carry = node->op == TILE_CARRY || node->op == TILE_LAST;
        if (carry && kept[node->index]) {
            node->index = now[node->index];
        } else if (!o->live[v] && node->op != TILE_INPUT) {
            *node = (struct tile_node){
                .op = TILE_NUMBER, .type = TYPE_F32, .dim = TILE_NO_DIM};
        }
    }
}

bool loop_once(struct tile_kernel **to, const struct tile_kernel *k,
               struct tile_arena *arena)
{
    size_t bytes = (k->n_nodes + 1) * sizeof(*k->node);
    struct once *o = tile_alloc(arena, sizeof(*o));
    struct tile_kernel *copy = tile_alloc(arena, sizeof(*copy));
    struct tile_node *nodes = tile_alloc(arena, bytes);
    bool good = o && copy && nodes && !k->exact;

    if (!good) {
        return false;
    }
    memset(o, 0, sizeof(*o));
    *copy = *k;
    copy->node = memcpy(nodes, k->node, bytes);
    o->k = *to = copy;
    fold_all(o);
    good = reach(o, k->loop[1].condition);
    for (unsigned r = 0; r < k->n_results && good; r++) {
        good = reach(o, copy->result[r].value);
    }
    if (good) {
        drop(o);
    }
    return good;
}
