/* SPDX-License-Identifier: MIT
 *
 * The Vector's commands of a running softmax; see loop_twice.h.
 */
#include <float.h>

#include "hal/vector_move.h"
#include "kernels/tile/attention/loop_twice.h"

static void part(struct loop_emit *e, const struct loop_form *f,
                 const struct loop_room *room, enum loop_part of,
                 struct loop_part_commands *to)
{
    e->f = f;
    e->room = room;
    loop_part_begin(e, of, to);
}

static void end(struct loop_emit *e)
{
    e->to->cycles = e->cycles;
    e->variant = NULL;
}

/* To a plane, what a tile has: where `of` lies. */
static void add_to(struct loop_emit *e, enum op op, uint32_t to, tile_value of)
{
    unsigned slot = e->slot[loop_real(e, of)], from = e->to->n;
    struct loop_op o = {
        .how = DO_BINARY, .op = op, .type = TYPE_F32, .dst = vec_dense(to)};

    if (e->err) {
        return;
    }
    o.x = vec_dense(to);
    o.y = vec_dense(e->room->slot[slot - 1].at);
    loop_rows(e, &o, e->rows);
    loop_note_use(e, slot, from);
}

static void begin_tile(struct loop_emit *e, const struct loop_form *f,
                       const struct loop_room *room, const struct loop_variant *v,
                       struct loop_part_commands *to)
{
    part(e, f, room, PART_BEFORE, to);
    e->variant = v;
    e->rows = v->rows;
    loop_lies_in(e, f->score, loop_slot_of(e, SLOT_SCORE, 0));
}

static void emit_look(struct loop_emit *e, const struct loop_plan *p,
                      const struct loop_variant *v, struct loop_part_commands *to)
{
    const struct loop_twice *t = p->twice;

    begin_tile(e, &t->look, &t->look_room, v, to);
    e->leave = false;
    loop_nodes(e, &t->scores, 1);
    add_to(e, OP_VMAX, t->top_plane, t->scores);
    loop_hand_over(e, SLOT_SCORE, TWICE_LS_FULL, TWICE_LS_FREE);
    end(e);
}

static void emit_work(struct loop_emit *e, const struct loop_plan *p,
                      const struct loop_variant *v, struct loop_part_commands *to)
{
    const struct loop_twice *t = p->twice;
    const tile_value seeds[] = {t->work.given, t->summed};
    unsigned n = t->ones ? 1 : 2;

    begin_tile(e, &t->work, &p->room, v, to);
    e->leave = true;
    loop_nodes(e, seeds, n);
    if (!t->ones) {
        add_to(e, OP_VADD, t->sum_plane, t->summed);
    }
    loop_hand_over(e, SLOT_SCORE, LOOP_S_FULL, LOOP_S_FREE);
    if (!e->err) {
        cmd_wait(&to->cmd[e->given_at], LOOP_P_FREE, 1);
        cmd_post(&to->cmd[e->given_at], LOOP_P_FULL, 1);
    }
    end(e);
}

/* A plane to a column. */
static void reduce(struct loop_emit *e, enum op op, uint32_t at, uint32_t column)
{
    struct loop_reduction r = {.op = op, .x = at, .n = e->room->tile, .column = column};

    r.spare[r.n_spare++] = (struct loop_spare){at, r.n};
    loop_reduce(e, &r);
}

static void emit_fill(struct loop_emit *e, const struct loop_plan *p, uint32_t plane,
                      double first, struct loop_part_commands *to)
{
    part(e, &p->twice->work, &p->room, PART_NONE, to);
    if (plane) {
        loop_fill(e, plane, first, p->room.tile);
    }
    end(e);
}

/* -max, which the Cube begins its sums with. */
static void emit_top(struct loop_emit *e, const struct loop_plan *p,
                     struct loop_part_commands *to)
{
    struct loop_twice *t = p->twice;
    struct loop_op o = {.how = DO_SCALAR,
                        .op = OP_VMULS,
                        .type = TYPE_F32,
                        .number = number_bits(TYPE_F32, -1)};
    unsigned at;

    part(e, &t->look, &t->look_room, PART_NONE, to);
    t->top_column = loop_keep(e, LOOP_TWICE);
    t->negative = loop_keep(e, LOOP_REPEAT);
    reduce(e, OP_VMAX, t->top_plane, t->top_column);
    o.dst = vec_dense(t->negative);
    o.x = vec_dense(t->top_column);
    at = to->n;
    loop_rows(e, &o, 1);
    if (!e->err) {
        cmd_wait(&to->cmd[at], TWICE_NEG_FREE, 1);
        cmd_post(&to->cmd[at], TWICE_NEG_FULL, 1);
    }
    end(e);
}

static void emit_sum(struct loop_emit *e, const struct loop_plan *p,
                     struct loop_part_commands *to)
{
    const struct loop_twice *t = p->twice;

    part(e, &t->work, &p->room, PART_NONE, to);
    e->saved[t->sum] = t->ones ? t->sums : loop_keep(e, LOOP_TWICE);
    if (!t->ones) {
        reduce(e, OP_VADD, t->sum_plane, e->saved[t->sum]);
    }
    end(e);
}

/* Which sums will do; NaN will not. */
static void emit_fine(struct loop_emit *e, struct loop_twice *t)
{
    struct loop_op o = {.how = DO_COMPARE_SCALAR,
                        .type = TYPE_F32,
                        .detail = CMP_LE,
                        .number = number_bits(TYPE_F32, TWICE_MOST)};

    o.bits = t->fine = loop_keep(e, BLOCK);
    o.x = vec_dense(e->saved[t->sum]);
    loop_rows(e, &o, 1);
}

static void emit_out(struct loop_emit *e, const struct loop_plan *p,
                     struct loop_part_commands *to)
{
    struct loop_twice *t = p->twice;
    const struct tile_kernel *k = t->work.k;
    tile_value seed[TILE_RESULTS];

    part(e, &t->work, &t->out_room, PART_END, to);
    loop_lies_in(e, t->acc, loop_slot_of(e, SLOT_VALUE, 0));
    emit_fine(e, t);
    for (unsigned r = 0; r < k->n_results; r++) {
        seed[r] = k->result[r].value;
    }
    loop_nodes(e, seed, k->n_results);
    for (unsigned r = 0; r < k->n_results && !e->err; r++) {
        loop_result(e, r);
    }
    if (!e->err) {
        cmd_wait(&to->cmd[0], LOOP_O_FULL, 1);
        cmd_post(&to->cmd[to->n - 1], LOOP_OUT_FULL, 1);
    }
    end(e);
}

void twice_emit(struct loop_plan *p, struct loop_emit *e)
{
    const struct loop_twice *t = p->twice;

    *e = (struct loop_emit){.next = p->room.columns, .low = p->room.ub_bytes};
    emit_top(e, p, p->part[LOOP_TOP]);
    emit_sum(e, p, p->part[LOOP_SUM]);
    for (unsigned i = 0; i < p->n_variants && !e->err; i++) {
        emit_look(e, p, &p->variant[i], t->look_part[i]);
        emit_work(e, p, &p->variant[i], p->variant[i].before);
    }
    e->rows = p->room.tile;
    emit_out(e, p, p->part[PART_END]);
    e->room = &p->room;
    e->f = &t->work;
    loop_emit_once(e, p->part[LOOP_ONCE]);
    emit_fill(e, p, t->top_plane, -(double)FLT_MAX, p->part[LOOP_COLUMNS]);
    emit_fill(e, p, t->sum_plane, 0, p->part[LOOP_PLANES]);
}
