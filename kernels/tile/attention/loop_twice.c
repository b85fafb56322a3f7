/* SPDX-License-Identifier: MIT
 *
 * Which programs are a running softmax, and what is computed in its two passes; see
 * loop_twice.h. Both passes are the program again, with nothing subtracted from the scores, and in
 * looks with no scale.
 */
#include <math.h>
#include <string.h>

#include "kernels/tile/attention/loop_twice.h"

/* The least number of a tile's scores, where a row has none, is -FLT_MAX; what is above that by as
 * much has to be infinite still when it is scaled, for what it gives to be seen. */
#define LEAST_SCALE 1e-30

static const struct tile_node *node(const struct loop_form *f, tile_value v)
{
    return &f->k->node[v];
}

static bool is_number(const struct loop_form *f, tile_value v, double number)
{
    return node(f, v)->op == TILE_NUMBER && node(f, v)->number == number;
}

/* Notes which values are of indices and numbers alone. */
static void find_plain(struct loop_twice *t, const struct loop_form *f)
{
    for (tile_value v = 1; v <= f->k->n_nodes; v++) {
        const struct tile_node *n = node(f, v);
        unsigned kind = tile_op_info[n->op].kind;
        t->plain[v] = n->op == TILE_INDEX || n->op == TILE_NUMBER || kind == KIND_MAP ||
                      kind == KIND_SHIFT || kind == KIND_COMPARE || kind == KIND_SELECT ||
                      kind == KIND_CAST;
        for (unsigned i = 0; i < loop_sources(n); i++) {
            t->plain[v] = t->plain[v] && n->operand[i] < v && t->plain[n->operand[i]];
        }
    }
}

/* The one operand that is left if the other is a certain one; 0: there is no such pair. */
static tile_value other(const struct loop_form *f, tile_value v, enum tile_op op,
                        tile_value one)
{
    const struct tile_node *n = node(f, v);

    return n->op != op            ? 0
           : n->operand[0] == one ? n->operand[1]
           : n->operand[1] == one ? n->operand[0]
                                  : 0;
}

/* Behind masks of indices that put `number` in its place. */
static tile_value behind_masks(const struct loop_twice *t, const struct loop_form *f,
                               tile_value v, double number)
{
    const struct tile_node *n = node(f, v);

    while (n->op == TILE_WHERE && t->plain[n->operand[0]] &&
           (is_number(f, n->operand[1], number) || is_number(f, n->operand[2], number))) {
        v = n->operand[is_number(f, n->operand[1], number) ? 2 : 1];
        n = node(f, v);
    }
    return v;
}

/* --- the form --- */

/* The carried maximum and what it is of. */
static bool find_top(struct loop_twice *t, const struct loop_form *f, tile_value *top)
{
    for (unsigned i = 0; i < f->k->n_carried; i++) {
        const struct tile_carry *c = &f->k->carry[i];
        tile_value most = other(f, c->next, TILE_MAX, c->value);
        if (most && node(f, most)->op == TILE_MOST && node(f, most)->dim == f->t &&
            is_number(f, c->first, -INFINITY) && loop_readers(f, most) == 1 &&
            loop_readers(f, c->value) == 2 && (c->last == 0 || loop_readers(f, c->last) == 0)) {
            t->top = c->value;
            t->scores = node(f, most)->operand[0];
            *top = c->next;
            return true;
        }
    }
    return false;
}

/* exp(of - top), which all that reads the difference is. */
static tile_value find_power(const struct loop_form *f, tile_value of, tile_value top)
{
    for (tile_value v = 1; v <= f->k->n_nodes; v++) {
        const struct tile_node *n = node(f, v), *x = node(f, n->operand[0]);
        if (n->op == TILE_EXP && x->op == TILE_SUB && x->operand[0] == of &&
            x->operand[1] == top && loop_readers(f, n->operand[0]) == 1) {
            return v;
        }
    }
    return 0;
}

/* The score times a number above 0, or by itself; 0: it is neither. */
static tile_value find_scaled(struct loop_twice *t, const struct loop_form *f)
{
    tile_value v = behind_masks(t, f, t->scores, -INFINITY);
    tile_value factor = other(f, v, TILE_MUL, f->score);
    bool number = factor && node(f, factor)->op == TILE_NUMBER;
    double scale = number ? node(f, factor)->number : 1;

    t->guess = scale >= LEAST_SCALE;
    return loop_readers(f, f->score) == 1 && scale > 0 && isfinite((float)scale) &&
                   (v == f->score || number)
               ? v
               : 0;
}

/* carry * r + what this tile gives: that, or 0. */
static tile_value find_added(const struct loop_form *f, const struct tile_carry *c,
                             tile_value r)
{
    const struct tile_node *n = node(f, c->next);

    if (n->op != TILE_ADD || !is_number(f, c->first, 0) || loop_readers(f, c->value) != 1) {
        return 0;
    }
    return other(f, n->operand[0], TILE_MUL, c->value) == r   ? n->operand[1]
           : other(f, n->operand[1], TILE_MUL, c->value) == r ? n->operand[0]
                                                              : 0;
}

/* All that is carried: the maximum, a sum and a product. */
static bool find_sums(struct loop_twice *t, const struct loop_form *f, tile_value r)
{
    unsigned sums = 0, products = 0;

    for (unsigned i = 0; i < f->k->n_carried; i++) {
        const struct tile_carry *c = &f->k->carry[i];
        tile_value added = c->value == t->top ? 0 : find_added(f, c, r);
        const struct tile_node *n = node(f, added);
        if (c->value == t->top) {
            continue;
        }
        if (added == f->value && added) {
            t->acc = c->last;
            products++;
        } else if (n->op == TILE_SUM && n->dim == f->t) {
            t->summed = n->operand[0];
            t->sum = i;
            sums++;
        } else {
            return false;
        }
    }
    return sums == 1 && products == 1 && loop_readers(f, f->value) == 1 &&
           loop_readers(f, r) == 2 && behind_masks(t, f, t->summed, 0) == t->powers &&
           behind_masks(t, f, node(f, f->given)->operand[0], 0) == t->powers;
}

/* --- the passes --- */

/* The program with `scaled` as its first product and nothing subtracted from the scores. */
static bool make_pass(struct loop_form *to, const struct loop_form *f,
                      const struct loop_twice *t, tile_value scaled,
                      struct tile_arena *arena)
{
    struct tile_kernel *k = tile_alloc(arena, sizeof(*k));
    size_t bytes = (f->k->n_nodes + 1) * sizeof(*k->node);
    struct tile_node *nodes = tile_alloc(arena, bytes);

    if (k == NULL || nodes == NULL) {
        return false;
    }
    *k = *f->k;
    k->node = memcpy(nodes, f->k->node, bytes);
    k->node[scaled].op = TILE_DOT;
    k->node[t->powers].operand[0] = t->scores;
    *to = *f;
    to->k = k;
    to->score = scaled;
    memset(to->part, PART_NONE, sizeof(to->part));
    memset(to->early, false, sizeof(to->early));
    return true;
}

bool twice_form(struct loop_twice *t, const struct loop_form *f, struct tile_arena *arena)
{
    tile_value top, r, scaled;
    bool ratio;

    if (f->k->exact || f->value == 0 || node(f, f->given)->op != TILE_CAST ||
        !find_top(t, f, &top)) {
        return false;
    }
    find_plain(t, f);
    scaled = find_scaled(t, f);
    t->powers = find_power(f, t->scores, top);
    r = find_power(f, t->top, top);
    if (scaled == 0 || t->powers == 0 || r == 0 || loop_readers(f, t->scores) != 2 ||
        loop_readers(f, top) != 3 || !find_sums(t, f, r) ||
        !make_pass(&t->look, f, t, scaled, arena) ||
        !make_pass(&t->work, f, t, f->score, arena)) {
        return false;
    }
    ratio = loop_is_ratio(f, t->acc, f->k->carry[t->sum].last);
    t->guess = t->guess && ratio;
    t->ones = ratio && node(f, f->given)->operand[0] == t->summed &&
              f->k->dim[f->e].size % 16 == 0;
    loop_mark(&t->look, t->scores, PART_BEFORE, false);
    loop_mark(&t->work, t->summed, PART_BEFORE, false);
    loop_mark(&t->work, f->given, PART_BEFORE, true);
    for (unsigned i = 0; i < f->k->n_results; i++) {
        loop_mark(&t->work, f->k->result[i].value, PART_END, false);
    }
    return true;
}
