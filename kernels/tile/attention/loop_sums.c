/* SPDX-License-Identifier: MIT
 *
 * Sums of weights that the Cube may add up, as columns of ones beside v; see loop.h. They are
 * sums of weights as it gets them, in 16 bits: as the divisor of what is added up of the same
 * that is as good as any, for both round alike, but not by itself.
 */
#include "hal/chip.h"
#include "kernels/tile/attention/loop.h"

unsigned loop_readers(const struct loop_form *f, tile_value v)
{
    unsigned n = 0;

    for (tile_value u = 1; u <= f->k->n_nodes; u++) {
        const struct tile_node *by = &f->k->node[u];
        bool carried = by->op == TILE_CARRY || by->op == TILE_LAST;
        for (unsigned i = 0; i < 3 && !carried; i++) {
            n += by->operand[i] == v;
        }
    }
    for (unsigned i = 0; i < f->k->n_carried; i++) {
        n += f->k->carry[i].next == v;
    }
    for (unsigned r = 0; r < f->k->n_results; r++) {
        n += f->k->result[r].value == v;
    }
    return n;
}

/* It is the sum, times a number or not, and nothing else is made of that. */
static bool is_sum(const struct loop_form *f, tile_value v, tile_value sum)
{
    const struct tile_node *n = &f->k->node[v];
    bool first = n->operand[0] == sum;

    return v == sum ||
           (n->op == TILE_MUL && (first || n->operand[1] == sum) &&
            f->k->node[n->operand[first]].op == TILE_NUMBER && loop_readers(f, v) == 1);
}

bool loop_is_ratio(const struct loop_form *f, tile_value acc, tile_value sum)
{
    for (tile_value v = 1; v <= f->k->n_nodes; v++) {
        const struct tile_node *n = &f->k->node[v];
        if (n->op == TILE_OVER && n->operand[0] == acc && is_sum(f, n->operand[1], sum)) {
            return acc && sum && loop_readers(f, acc) == 1 && loop_readers(f, sum) == 1;
        }
    }
    return false;
}

/* What is behind the loop of the second product, as it is with nothing carried. */
static tile_value last_value(const struct loop_form *f)
{
    for (unsigned i = 0; i < f->k->n_carried; i++) {
        if (f->k->carry[i].next == f->value) {
            return f->k->carry[i].last;
        }
    }
    return 0;
}

void loop_find_sum(struct loop_form *f)
{
    const struct tile_kernel *k = f->k;
    const struct tile_node *given = &k->node[f->given];
    uint64_t wide = f->value ? k->dim[f->e].size : 0;
    uint64_t rows = wide + round_up(k->dim[f->d].size, 16) + 16;
    uint64_t bytes = round_up(k->dim[f->t].size, 16) * rows * 2;

    if (f->value == 0 || given->op != TILE_CAST || wide % 16 != 0 ||
        bytes > chip_mem(NPU_MEM_L0A) || esize_of(k->param[f->v].type) != 2 ||
        esize_of(k->param[f->q].type) != 2) {
        return;
    }
    for (unsigned i = 0; i < k->n_carried; i++) {
        const struct tile_node *n = &k->node[k->carry[i].next];
        if (n->op == TILE_SUM && n->dim == f->t && n->operand[0] == given->operand[0] &&
            loop_readers(f, k->carry[i].next) == 1 &&
            loop_is_ratio(f, last_value(f), k->carry[i].last)) {
            f->ones = true;
            f->sum = (uint8_t)i;
        }
    }
}
