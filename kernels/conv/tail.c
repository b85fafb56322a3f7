/* SPDX-License-Identifier: MIT
 *
 * What the Vector does to sums that the fixpipe cannot; see inside.h. Sums come to UB some
 * rows of a piece at a time, while the Cube is at the next ones: L0C -> UB -> GM, all of it
 * within the one launch.
 *
 * Bytes: sums and their first temporary lie in banks and groups of UB of their own, so that
 * no command waits for the write of the one before (hal/contract/vector.md, "Banks").
 */

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/conv/exact.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"

enum {
    BANK = 65536,
    APART = 256, /* half of the groups */
    ELEMENTS = BANK / 8,
    COLUMNS = 128, /* of a unit, at most */
    MOST_REPEATS = 255,
};

/* --- rooms --- */

/* Bytes of UB that an element takes: sums twice, temporaries, results and what is added
 * twice. */
static uint32_t element_bytes(const struct conv *p)
{
    uint32_t temps = p->exact ? CONV_TEMPS : 1;

    return 8 + 4 * temps + 2 * type_bits(p->out) / 8 + (p->add ? 4 : 0);
}

void conv_tail_init(struct conv_share *s, struct tpipe *pipe)
{
    const struct conv *p = &s->plan->p;
    struct conv_tail *t = &s->tail;
    uint32_t room = tpipe_free(pipe, VECIN) - APART;
    uint32_t constants = CONV_EXACT_ROWS * CONV_EXACT_PITCH;

    room -= p->exact ? 2 * constants : 0;
    t->elements = min_u32(ELEMENTS, room / element_bytes(p) / COLUMNS * COLUMNS);
    t->sums = tque_init(pipe, "sums", VECIN, PIPE_FIX, PIPE_V, 2, t->elements * 4);
    (void)tbuf_init(pipe, "a gap of half the groups", VECCALC, APART);
    for (unsigned i = 0; i < (p->exact ? CONV_TEMPS : 1); i++) {
        t->temp[i] = tbuf_init(pipe, "temporary", VECCALC, t->elements * 4);
    }
    t->results = tque_init(pipe, "results", VECOUT, PIPE_V, PIPE_MTE3, 2,
                           t->elements * type_bits(p->out) / 8);
    if (p->add) {
        t->added = tque_init(pipe, "added", VECIN, PIPE_MTE2, PIPE_V, 2, t->elements * 2);
    }
    if (p->exact) {
        t->constants =
            tque_init(pipe, "constants", VECIN, PIPE_MTE2, PIPE_V, 2, constants);
    }
}

/* Elements from a row of results to the next: rows begin at whole blocks. */
static uint32_t result_pitch(const struct conv *p, uint32_t n_count)
{
    uint32_t c0 = p->out == TYPE_S8 ? type_c0(TYPE_S8) : MTE_FRACTAL / MTE_BLOCK;

    return (n_count + c0 - 1) / c0 * c0;
}

/* Rows that go at a time, as even as they can be. */
static uint32_t rows_at_a_time(const struct conv_share *s, uint32_t n_count,
                               uint32_t m_len)
{
    uint32_t pitch = result_pitch(&s->plan->p, n_count);
    uint32_t most = s->tail.elements / pitch;
    uint32_t times;

    most = s->plan->p.exact ? min_u32(most, MOST_REPEATS) : most;
    times = (m_len + most - 1) / most;
    return (m_len + times - 1) / times;
}

/* --- in --- */

void conv_tail_take(const struct conv_share *s, uint32_t from,
                    const struct conv_piece *piece, union cmd *cmd)
{
    const struct conv_tail *t = &s->tail;
    uint32_t rows = rows_at_a_time(s, cmd->fix_local.n, piece->m_len), count;

    cmd->fix_local.src_c0_stride = (uint16_t)up16(piece->m_len);
    for (uint32_t m = 0; m < piece->m_len; m += count) {
        uint32_t to = tque_alloc(t->sums);
        count = min_u32(rows, piece->m_len - m);
        cmd_no_sync(cmd);
        cmd->fix_local.dst = to;
        cmd->fix_local.src = from + m * CONV_L0C_ROW;
        cmd->fix_local.m = (uint16_t)count;
        if (m == 0) {
            cmd_wait(cmd, CONV_C_FULL, 1);
        }
        tque_enque(t->sums, to, cmd);
        if (m + count == piece->m_len) {
            cmd_post(cmd, CONV_C_FREE, 1);
        }
        task_issue(PIPE_FIX, cmd);
    }
}

/* Pixels in GM beside rows of UB: at once where neither has gaps. */
static struct mte_rows rows_of(const struct conv_plan *l, uint32_t n_count,
                               uint32_t pitch, uint32_t count, enum type type)
{
    uint32_t bytes = type_bits(type) / 8, o = l->p.o;

    if (n_count == o && pitch == o) {
        return (struct mte_rows){.n_rows = 1, .row_bytes = count * n_count * bytes};
    }
    return (struct mte_rows){.n_rows = count,
                             .row_bytes = n_count * bytes,
                             .gm_pitch_bytes = o * bytes,
                             .local_pitch_bytes = pitch * bytes};
}

/* Of the unit's first channel of a pixel of y, or of what is added. */
static uint64_t element_of(const struct conv_share *s, const struct conv_unit *u,
                           uint64_t pixel)
{
    return pixel * s->plan->p.o + u->group * s->plan->out + u->n_first;
}

void conv_tail_load(const struct conv_share *s, const struct conv_unit *u,
                    const struct conv_piece *piece)
{
    const struct conv *p = &s->plan->p;
    uint32_t rows = rows_at_a_time(s, u->n_count, piece->m_len);
    uint32_t end = piece->m + piece->m_len, pitch = up16(u->n_count);
    struct conv_run run;
    union cmd cmd;

    for (uint32_t m = piece->m; m < end; m += rows) {
        uint32_t to = tque_alloc(s->tail.added), last = min_u32(m + rows, end);
        for (uint32_t i = m; i < last; i += run.count) {
            struct mte_rows to_ub;
            run = conv_run(s->plan, u, piece, i, last);
            to_ub = rows_of(s->plan, u->n_count, pitch, run.count, TYPE_F16);
            mte_gm_to_ub_rows(
                &cmd, to + (i - m) * pitch * 2,
                conv_at(p->add, element_of(s, u, run.pixel), sizeof(uint16_t)), &to_ub);
            if (i + run.count == last) {
                tque_enque(s->tail.added, to, &cmd);
            }
            task_issue(PIPE_MTE2, &cmd);
        }
    }
}

void conv_tail_constants(const struct conv_share *s, const struct conv_unit *u)
{
    const struct conv *p = &s->plan->p;
    uint32_t to = tque_alloc(s->tail.constants);
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, to, p->exact + u->group * s->plan->out + u->n_first,
                      &(struct mte_rows){.n_rows = CONV_EXACT_ROWS,
                                         .row_bytes = u->n_count * 4,
                                         .gm_pitch_bytes = p->o * 4,
                                         .local_pitch_bytes = CONV_EXACT_PITCH});
    tque_enque(s->tail.constants, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* --- compute --- */

static union cmd *more(struct conv_list *l)
{
    assert(l->n < CONV_LIST);
    return &l->cmd[l->n++];
}

static void scalar(struct conv_list *l, enum op op, uint32_t dst, uint32_t x, float with)
{
    vector_scalar(more(l), op, TYPE_F32, dst, x, f32_bits(with));
}

static void unary(struct conv_list *l, enum op op, uint32_t dst, uint32_t x)
{
    vector_unary(more(l), op, TYPE_F32, dst, x);
}

static void binary(struct conv_list *l, enum op op, uint32_t dst, uint32_t x, uint32_t y)
{
    vector_binary(more(l), op, TYPE_F32, dst, x, y);
}

/* t = 1 / (1 + exp(-x)): VREC takes a quarter of what VDIV does. */
static void sigmoid(struct conv_list *l, uint32_t t, uint32_t x)
{
    scalar(l, OP_VMULS, t, x, -1);
    unary(l, OP_VEXP, t, t);
    scalar(l, OP_VADDS, t, t, 1);
    unary(l, OP_VREC, t, t);
}

/* Of x, by a temporary: where the result is, one of the two. */
static uint32_t activate(struct conv_list *l, const struct conv *p, uint32_t x,
                         uint32_t t)
{
    switch (p->act) {
    case CONV_RELU:
        unary(l, OP_VRELU, x, x);
        return x;
    case CONV_LEAKY:
        scalar(l, OP_VLRELU, x, x, p->slope);
        return x;
    case CONV_SIGMOID:
        sigmoid(l, t, x);
        return t;
    case CONV_SILU:
        sigmoid(l, t, x);
        binary(l, OP_VMUL, t, t, x);
        return t;
    case CONV_TANH:
        unary(l, OP_VTANH, t, x);
        return t;
    case CONV_HARD_SWISH:
        scalar(l, OP_VMULS, t, x, 1.0f / 6);
        scalar(l, OP_VADDS, t, t, 0.5f);
        scalar(l, OP_VMAXS, t, t, 0);
        scalar(l, OP_VMINS, t, t, 1);
        binary(l, OP_VMUL, t, t, x);
        return t;
    default:
        return x;
    }
}

/* value += what has been brought, by a buffer that is free. */
static void add(struct conv_list *l, uint32_t with, uint32_t value, uint32_t t)
{
    vector_convert(more(l), TYPE_F16, TYPE_F32, ROUND_NONE, t, with);
    binary(l, OP_VADD, value, value, t);
}

/* Sums become results. */
static void record(const struct conv_share *s, struct conv_list *l)
{
    const struct conv *p = &s->plan->p;
    uint32_t t = s->tail.temp[0], x = l->sums, value;

    vector_count(more(l), l->elements);
    if (p->add && !p->add_last) {
        add(l, l->added, x, t);
    }
    value = activate(l, p, x, t);
    if (p->limit > 0) {
        scalar(l, OP_VMINS, value, value, p->limit);
    }
    if (p->add && p->add_last) {
        add(l, l->added, value, value == x ? t : x);
    }
    if (p->out == TYPE_F32) {
        vector_copy(more(l), TYPE_F32, l->result, value);
    } else {
        vector_convert(more(l), TYPE_F32, TYPE_F16, ROUND_NONE, l->result, value);
    }
}

/* The list of commands for these buffers and as many elements; built if there is none. */
static struct conv_list *list_of(const struct conv_share *s, const struct conv_list *want,
                                 const struct conv_unit *u, uint32_t rows)
{
    struct conv_room *room = s->room;
    struct conv_list *l;

    for (unsigned i = 0; i < CONV_LISTS; i++) {
        l = &room->list[i];
        if (l->n && l->sums == want->sums && l->elements == want->elements &&
            l->constants == want->constants && l->columns == u->n_count) {
            return l;
        }
    }
    l = &room->list[room->next_list++ % CONV_LISTS];
    l->n = 0;
    l->sums = want->sums;
    l->result = want->result;
    l->added = want->added;
    l->constants = want->constants;
    l->elements = want->elements;
    l->columns = u->n_count;
    if (s->plan->p.exact) {
        conv_exact(s, l, rows, result_pitch(&s->plan->p, u->n_count));
    } else {
        record(s, l);
    }
    return l;
}

/* Buffers are waited for and handed on by commands of their own, so that the list stays as
 * it is. */
static void finish(const struct conv_share *s, const struct conv_unit *u, uint32_t rows,
                   uint32_t constants)
{
    const struct conv_tail *tail = &s->tail;
    struct conv_list want = {.constants = constants, .elements = rows * up16(u->n_count)};
    const struct conv *p = &s->plan->p;
    struct conv_list *l;
    union cmd cmd;

    want.sums = tque_deque(tail->sums);
    want.result = tque_alloc(tail->results);
    want.added = p->add ? tque_deque(tail->added) : 0;
    l = list_of(s, &want, u, rows);
    cmd_nop(&cmd);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < l->n; i += PIPE_DEPTH) {
        task_issue_many(PIPE_V, l->cmd + i, min_u32(PIPE_DEPTH, l->n - i));
    }
    cmd_nop(&cmd);
    tque_free(tail->sums, want.sums, &cmd);
    tque_enque(tail->results, want.result, &cmd);
    if (p->add) {
        tque_free(tail->added, want.added, &cmd);
    }
    task_issue(PIPE_V, &cmd);
}

/* --- out --- */

/* Rows [m, end) of a piece, which `result` begins with. */
static void store(const struct conv_share *s, const struct conv_unit *u,
                  const struct conv_piece *piece, uint32_t m, uint32_t end)
{
    const struct conv *p = &s->plan->p;
    uint32_t from = tque_deque(s->tail.results), pitch = result_pitch(p, u->n_count);
    struct conv_run run;
    union cmd cmd;

    for (uint32_t i = m; i < end; i += run.count) {
        struct mte_rows rows;
        const char *to;
        run = conv_run(s->plan, u, piece, i, end);
        rows = rows_of(s->plan, u->n_count, pitch, run.count, p->out);
        to = conv_at(p->y, element_of(s, u, run.pixel), s->plan->out_bytes);
        mte_ub_to_gm_rows(&cmd, (void *)(uintptr_t)to,
                          from + (i - m) * pitch * type_bits(p->out) / 8, &rows);
        if (i + run.count == end) {
            tque_free(s->tail.results, from, &cmd);
        }
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void finish_piece(const struct conv_share *s, const struct conv_unit *u,
                         const struct conv_piece *piece, uint32_t constants)
{
    uint32_t rows = rows_at_a_time(s, u->n_count, piece->m_len);
    uint32_t end = piece->m + piece->m_len;

    for (uint32_t m = piece->m; m < end; m += rows) {
        uint32_t last = min_u32(m + rows, end);
        finish(s, u, last - m, constants);
        store(s, u, piece, m, last);
    }
}

void conv_tail(void *arg)
{
    const struct conv_share *s = arg;
    uint32_t constants = 0;
    struct conv_unit u;
    union cmd cmd;

    for (unsigned i = 0; i < CONV_LISTS; i++) {
        s->room->list[i].n = 0;
    }
    s->room->next_list = 0;
    for (uint32_t unit = s->begin; unit < s->end; unit++) {
        bool last = unit + 1 == s->end || conv_first_of_weights(s, unit + 1);
        conv_unit(s->plan, unit, &u);
        if (s->plan->p.exact && conv_first_of_weights(s, unit)) {
            constants = tque_deque(s->tail.constants);
        }
        for (uint32_t i = 0; i < conv_pieces(s->plan, &u); i++) {
            struct conv_piece piece = conv_piece(s->plan, &u, i);
            finish_piece(s, &u, &piece, constants);
        }
        if (s->plan->p.exact && last) {
            cmd_nop(&cmd);
            tque_free(s->tail.constants, constants, &cmd);
            task_issue(PIPE_V, &cmd);
        }
    }
}
