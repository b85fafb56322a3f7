/* SPDX-License-Identifier: MIT
 *
 * The Vector's commands of each part of a step, and where an item begins and ends; see
 * loop.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "hal/vector_move.h"
#include "kernels/tile/attention/loop.h"

static const struct tile_kernel *kernel_of(const struct loop_emit *e)
{
    return e->f->k;
}

static bool is_wide(const struct loop_emit *e, tile_value v)
{
    return loop_class(e->f, v) == LOOP_WIDTH;
}

void loop_part_begin(struct loop_emit *e, enum loop_part part,
                     struct loop_part_commands *to)
{
    to->n = to->n_patches = 0;
    e->to = to;
    e->part = part;
    e->cycles = 0;
    e->low = e->room->ub_bytes;
    memset(e->slot, 0, sizeof(e->slot));
    memset(e->holds, 0, sizeof(e->holds));
    memset(e->mask, 0, sizeof(e->mask));
    for (unsigned i = 0; i < LOOP_SLOTS; i++) {
        e->first[i] = e->last[i] = -1;
    }
    e->in_first = e->in_last = -1;
    tile_costs_init(&e->costs);
}

unsigned loop_slot_of(const struct loop_emit *e, unsigned kind, unsigned carry)
{
    unsigned i = 0;

    while (e->room->slot[i].kind != kind ||
           (kind == SLOT_CARRY && e->room->slot[i].carry != carry)) {
        i++;
    }
    return i;
}

static void end(struct loop_emit *e)
{
    struct tile_costs costs;
    struct loop_part_commands *to = e->to;
    uint64_t at = 0;

    to->cycles = e->cycles;
    tile_costs_init(&costs);
    for (unsigned i = 0; i < to->n && e->part == PART_BEFORE && !e->err; i++) {
        uint64_t cycles = tile_cost(&costs, &to->cmd[i]);
        if (i == e->given_at) {
            to->given_at = at;
            to->given_cycles = cycles;
        }
        at += cycles;
        if (i == (unsigned)e->last[loop_slot_of(e, SLOT_SCORE, 0)]) {
            to->free_at = at;
        }
        if ((int)i == e->in_last) {
            to->in_free_at = at;
        }
    }
}

/* The value in a slot when a part begins. */
void loop_lies_in(struct loop_emit *e, tile_value v, unsigned slot)
{
    e->slot[v] = (uint8_t)(slot + 1);
    e->holds[slot] = v;
}

/* The first command that touches a product waits for it, the last one lets the next come. */
void loop_hand_over(struct loop_emit *e, unsigned kind, unsigned full, unsigned empty)
{
    unsigned i = loop_slot_of(e, kind, 0);
    union cmd cmd;

    if (e->first[i] < 0 && !e->err) { /* nobody has looked at it */
        e->first[i] = e->last[i] = (int16_t)e->to->n;
        cmd_nop(&cmd);
        loop_put(e, &cmd);
    }
    if (!e->err) {
        cmd_wait(&e->to->cmd[e->first[i]], full, 1);
        cmd_post(&e->to->cmd[e->last[i]], empty, 1);
    }
}

/* --- what is read by others --- */

static bool reads(const struct loop_emit *e, tile_value by, tile_value v)
{
    const struct tile_node *n = &kernel_of(e)->node[by];
    bool leaf = n->op == TILE_CARRY || n->op == TILE_LAST || n->op == TILE_DOT;

    return !leaf && (n->operand[0] == v || n->operand[1] == v || n->operand[2] == v);
}

/* Some node of a part reads it. */
static bool is_read_in(const struct loop_emit *e, tile_value v, enum loop_part part)
{
    for (tile_value u = 1; u <= kernel_of(e)->n_nodes; u++) {
        if (e->f->part[u] == part && reads(e, u, v)) {
            return true;
        }
    }
    return false;
}

static bool is_next(const struct loop_emit *e, tile_value v)
{
    for (unsigned i = 0; i < kernel_of(e)->n_carried; i++) {
        if (kernel_of(e)->carry[i].next == v && !(e->f->ones && i == e->f->sum)) {
            return true;
        }
    }
    return false;
}

/* Nodes of a part that others want. */
static unsigned seeds(const struct loop_emit *e, enum loop_part part, tile_value *seed)
{
    unsigned n = 0;

    for (tile_value v = 1; v <= kernel_of(e)->n_nodes; v++) {
        bool wanted = v == e->f->given || is_next(e, v);
        for (unsigned other = PART_BEFORE; other <= PART_BESIDE; other++) {
            wanted = wanted || (other != part && is_read_in(e, v, (enum loop_part)other));
        }
        if (e->f->part[v] == part && wanted && kernel_of(e)->node[v].op != TILE_NUMBER &&
            kernel_of(e)->node[v].op != TILE_DOT &&
            kernel_of(e)->node[v].op != TILE_INPUT) {
            seed[n++] = v;
        }
    }
    return n;
}

static void copy_column(struct loop_emit *e, uint32_t to, uint32_t from)
{
    struct loop_op o = {.how = DO_SCALAR,
                        .op = OP_VMULS,
                        .type = TYPE_F32,
                        .dst = vec_dense(to),
                        .x = vec_dense(from),
                        .number = number_bits(TYPE_F32, 1)};

    loop_rows(e, &o, 2);
}

/* --- parts --- */

void loop_emit_before(struct loop_emit *e, const struct loop_variant *v,
                      struct loop_part_commands *to)
{
    tile_value seed[TILE_NODES];
    unsigned n;

    loop_part_begin(e, PART_BEFORE, to);
    e->variant = v;
    e->rows = v->rows;
    loop_lies_in(e, e->f->score, loop_slot_of(e, SLOT_SCORE, 0));
    n = seeds(e, PART_BEFORE, seed);
    loop_nodes(e, seed, n);
    loop_hand_over(e, SLOT_SCORE, LOOP_S_FULL, LOOP_S_FREE);
    loop_inputs_done(e);
    if (e->f->given && !e->err) {
        cmd_wait(&to->cmd[e->given_at], LOOP_P_FREE, 1);
        cmd_post(&to->cmd[e->given_at], LOOP_P_FULL, 1);
    }
    e->variant = NULL;
    end(e);
}

void loop_emit_after(struct loop_emit *e, struct loop_part_commands *to)
{
    const struct tile_kernel *k = kernel_of(e);
    tile_value seed[TILE_NODES];
    unsigned n;

    loop_part_begin(e, PART_AFTER, to);
    if (e->f->value == 0 || e->f->once) {
        return;
    }
    loop_lies_in(e, e->f->value, loop_slot_of(e, SLOT_VALUE, 0));
    for (unsigned i = 0; i < k->n_carried; i++) {
        if (is_wide(e, k->carry[i].value)) {
            loop_lies_in(e, k->carry[i].value, loop_slot_of(e, SLOT_CARRY, i));
        }
    }
    n = seeds(e, PART_AFTER, seed);
    loop_nodes(e, seed, n);
    for (unsigned i = 0; i < k->n_carried && !e->err; i++) {
        unsigned slot = e->slot[k->carry[i].next];
        if (slot && is_wide(e, k->carry[i].next) &&
            slot - 1 != loop_slot_of(e, SLOT_CARRY, i)) {
            struct loop_op o = {
                .how = DO_SCALAR,
                .op = OP_VMULS,
                .type = TYPE_F32,
                .dst = vec_dense(e->room->slot[loop_slot_of(e, SLOT_CARRY, i)].at),
                .x = vec_dense(e->room->slot[slot - 1].at),
                .number = number_bits(TYPE_F32, 1)};
            e->last[slot - 1] = (int16_t)e->to->n;
            loop_rows(e, &o, e->room->width);
        }
    }
    loop_hand_over(e, SLOT_VALUE, LOOP_O_FULL, LOOP_O_FREE);
    end(e);
}

/* Columns that AFTER, which comes behind the next step's BEFORE, reads as they are now. */
static bool is_kept(const struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &kernel_of(e)->node[v];

    return loop_class(e->f, v) == LOOP_COLUMN && n->type != TILE_MASK &&
           (n->op == TILE_CARRY || e->f->part[v] == PART_BEFORE) &&
           is_read_in(e, v, PART_AFTER);
}

void loop_emit_beside(struct loop_emit *e, struct loop_part_commands *to)
{
    const struct tile_kernel *k = kernel_of(e);
    tile_value seed[TILE_NODES];
    unsigned n;

    loop_part_begin(e, PART_BESIDE, to);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (is_kept(e, v)) {
            e->kept[v] = e->kept[v] ? e->kept[v] : loop_keep(e, LOOP_TWICE);
            copy_column(e, e->kept[v], loop_column_of(e, v));
        }
    }
    n = seeds(e, PART_BESIDE, seed);
    loop_nodes(e, seed, n);
    for (unsigned i = 0; i < k->n_carried && !e->err; i++) {
        uint32_t from = is_wide(e, k->carry[i].next) || e->f->once
                            ? e->carried[i]
                            : loop_column_of(e, k->carry[i].next);
        if (from != e->carried[i]) {
            copy_column(e, e->carried[i], from);
        }
    }
    end(e);
}

/* --- where an item begins --- */

/* A running maximum begins with the least number instead of -inf, so that the difference of
 * two such is no NaN; all that is above is as it was. */
static double first_of(const struct tile_kernel *k, unsigned carry, bool *instead)
{
    const struct tile_carry *c = &k->carry[carry];
    const struct tile_node *next = &k->node[c->next];
    double first = k->node[c->first].number;
    bool reads_it = next->operand[0] == c->value || next->operand[1] == c->value;

    *instead = isinf(first) && reads_it && next->op == (first < 0 ? TILE_MAX : TILE_MIN);
    return !*instead ? first : first < 0 ? -(double)FLT_MAX : (double)FLT_MAX;
}

void loop_fill(struct loop_emit *e, uint32_t to, double value, uint32_t n)
{
    struct loop_op o = {.how = DO_FILL,
                        .op = OP_VDUP,
                        .type = TYPE_F32,
                        .dst = vec_dense(to),
                        .number = number_bits(TYPE_F32, value)};

    loop_rows(e, &o, n);
}

/* What is behind the loop of a carried value: where it is still what stands for infinity,
 * infinity. */
static void save(struct loop_emit *e, unsigned carry)
{
    const struct tile_kernel *k = kernel_of(e);
    bool instead;
    double first = first_of(k, carry, &instead);
    struct loop_op o;

    if (!instead) {
        copy_column(e, e->saved[carry], e->carried[carry]);
        return;
    }
    o = (struct loop_op){.how = DO_COMPARE_SCALAR,
                         .type = TYPE_F32,
                         .detail = CMP_NE,
                         .bits = loop_bytes(e, BLOCK),
                         .x = vec_dense(e->carried[carry]),
                         .number = number_bits(TYPE_F32, first)};
    loop_rows(e, &o, 2);
    o = (struct loop_op){.how = DO_SELECT_SCALAR,
                         .type = TYPE_F32,
                         .bits = o.bits,
                         .dst = vec_dense(e->saved[carry]),
                         .x = vec_dense(e->carried[carry]),
                         .number = number_bits(TYPE_F32, first * 2)};
    loop_rows(e, &o, 2);
}

void loop_emit_saves(struct loop_emit *e, struct loop_part_commands *to)
{
    const struct tile_kernel *k = kernel_of(e);

    loop_part_begin(e, PART_NONE, to);
    for (unsigned i = 0; i < k->n_carried; i++) {
        bool wanted = is_read_in(e, k->carry[i].last, PART_END);
        for (unsigned r = 0; r < k->n_results; r++) {
            wanted = wanted || k->result[r].value == k->carry[i].last;
        }
        if (e->f->ones && i == e->f->sum) {
            e->saved[i] = e->room->slot[loop_slot_of(e, SLOT_VALUE, 0)].at +
                          e->room->width * LOOP_REPEAT;
        } else if (!is_wide(e, k->carry[i].value) && wanted) {
            e->saved[i] = e->saved[i] ? e->saved[i] : loop_keep(e, LOOP_TWICE);
            save(e, i);
        }
    }
    end(e);
}

void loop_emit_columns(struct loop_emit *e, struct loop_part_commands *to)
{
    const struct tile_kernel *k = kernel_of(e);
    bool instead;

    loop_part_begin(e, PART_NONE, to);
    for (unsigned i = 0; i < k->n_carried; i++) {
        if (!is_wide(e, k->carry[i].value) && e->f->once) {
            e->carried[i] = loop_column_of(e, k->carry[i].next);
        } else if (!is_wide(e, k->carry[i].value)) {
            e->carried[i] = e->carried[i] ? e->carried[i] : loop_keep(e, LOOP_TWICE);
            loop_fill(e, e->carried[i], first_of(k, i, &instead), 2);
        }
    }
    end(e);
}

void loop_emit_planes(struct loop_emit *e, struct loop_part_commands *to)
{
    const struct tile_kernel *k = kernel_of(e);
    bool instead;

    loop_part_begin(e, PART_NONE, to);
    for (unsigned i = 0; i < k->n_carried; i++) {
        if (is_wide(e, k->carry[i].value) && !e->f->once) {
            loop_fill(e, e->room->slot[loop_slot_of(e, SLOT_CARRY, i)].at,
                      first_of(k, i, &instead), e->room->width);
        }
    }
    if (e->room->out_in_carried) { /* once the result before has gone */
        cmd_wait(&e->to->cmd[0], LOOP_OUT_FREE, 1);
    }
    end(e);
}

void loop_emit_once(struct loop_emit *e, struct loop_part_commands *to)
{
    union cmd cmd;

    loop_part_begin(e, PART_NONE, to);
    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    loop_put(e, &cmd);
    for (unsigned i = 0; i < e->n_numbers; i++) {
        struct loop_op o = {.how = DO_FILL,
                            .op = OP_VDUP,
                            .type = (enum type)e->number[i].type,
                            .dst = vec_dense(e->number[i].at),
                            .number = number_bits(e->number[i].type, e->number[i].value)};
        loop_rows(e, &o, 2);
    }
    end(e);
}

/* --- and ends --- */

void loop_result(struct loop_emit *e, unsigned r)
{
    tile_value v = kernel_of(e)->result[r].value;
    const struct tile_tensor *t = &kernel_of(e)->result[r].tensor;
    unsigned esize = esize_of(t->type);

    if (is_wide(e, v)) {
        loop_transpose(e, esize, e->room->out[r], e->room->out_pitch[r],
                       e->room->slot[e->slot[v] - 1].at, e->room->width);
    } else {
        union cmd cmd;
        vector_copy_strided(&cmd, &(struct vec_copy){(enum type)t->type,
                                                     vec_dense(e->room->out[r]),
                                                     vec_dense(loop_column_of(e, v)), 1});
        loop_put(e, &cmd);
    }
}

void loop_emit_end(struct loop_emit *e, struct loop_part_commands *to)
{
    const struct tile_kernel *k = kernel_of(e);
    tile_value seed[TILE_RESULTS];

    loop_part_begin(e, PART_END, to);
    for (unsigned i = 0; i < k->n_carried; i++) {
        if (is_wide(e, k->carry[i].value)) {
            loop_lies_in(e, k->carry[i].last,
                         e->f->once ? loop_slot_of(e, SLOT_VALUE, 0)
                                    : loop_slot_of(e, SLOT_CARRY, i));
        }
    }
    for (unsigned r = 0; r < k->n_results; r++) {
        seed[r] = k->result[r].value;
    }
    loop_nodes(e, seed, k->n_results);
    for (unsigned r = 0; r < k->n_results && !e->err; r++) {
        unsigned from = e->to->n;
        loop_result(e, r);
        loop_note_use(e, e->slot[k->result[r].value], from);
    }
    if (e->f->ones) { /* sums are read there before it is looked at */
        e->first[loop_slot_of(e, SLOT_VALUE, 0)] = 0;
    }
    if (e->f->once && e->f->value) {
        loop_hand_over(e, SLOT_VALUE, LOOP_O_FULL, LOOP_O_FREE);
    }
    if (!e->err && !e->room->out_in_carried) {
        cmd_wait(&e->to->cmd[0], LOOP_OUT_FREE, 1);
    }
    if (!e->err) {
        cmd_post(&e->to->cmd[e->to->n - 1], LOOP_OUT_FULL, 1);
    }
    end(e);
}
