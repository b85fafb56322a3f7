/* SPDX-License-Identifier: MIT
 *
 * The commands of a core for long rows, with their semaphores; see rows.h. What changes
 * from slot to slot, rows_play.c sets.
 */
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector_reduce.h"
#include "kernels/tile/softmax/rows.h"

enum { LINE_MAX, LINE_EXP, LINE_SUM, LINE_QUOTIENT };

/* A push under construction. */
struct adding {
    const struct rows_plan *p;
    struct rows_core *core;
    struct sequence *s;
};

static struct adding begin(const struct rows_plan *p, struct rows_core *core,
                           enum rows_push which, enum pipe pipe)
{
    struct sequence *s = &core->seq[which];

    *s = (struct sequence){.name = "rows", .pipe = pipe, .cmds = &core->cmd[core->n]};
    return (struct adding){p, core, s};
}

static union cmd *add(struct adding *a)
{
    a->s->n++;
    return &a->core->cmd[a->core->n++];
}

/* The last n are of that line: builders set all of a command, so it comes behind them. */
static void lines(const struct adding *a, unsigned n, unsigned line)
{
    while (n) {
        a->core->cmd[a->core->n - n--].head.tag = a->p->line[line];
    }
}

/* Those of all turns have been added. */
static void turns(const struct adding *a)
{
    a->s->n /= ROWS_TURNS;
    a->s->positions = ROWS_TURNS;
}

/* --- moves --- */

static void build_loads(struct rows_plan *p, struct rows_core *core)
{
    struct adding a = begin(p, core, ROWS_LOAD_A, PIPE_MTE2);
    union cmd *cmd;

    for (unsigned turn = 0; turn < ROWS_TURNS; turn++) {
        cmd = add(&a);
        mte_gm_to_ub(cmd, rows_a(p, turn), p->x, rows_bytes(p));
        cmd_wait(cmd, ROWS_A_FREE, 1);
        cmd_post(cmd, ROWS_A_FULL, 1);
        lines(&a, 1, LINE_MAX);
    }
    turns(&a);
    a = begin(p, core, ROWS_LOAD_X, PIPE_MTE2);
    cmd = add(&a);
    mte_gm_to_l1(cmd, 0, p->x, rows_bytes(p));
    for (unsigned n = 1; n <= 2; n++) {
        cmd_no_sync(cmd);
        cmd_wait(cmd, ROWS_L1_FREE, n);
        cmd_post(cmd, ROWS_L1_FULL, n);
        p->load_sync[n - 1] = cmd->words[CMD_SYNC];
    }
    lines(&a, 1, LINE_EXP);
    a = begin(p, core, ROWS_KEEP, PIPE_MTE3);
    for (unsigned turn = 0; turn < ROWS_TURNS; turn++) {
        cmd = add(&a);
        mte_ub_to_l1(cmd, 0, rows_b(p, turn), rows_bytes(p));
        cmd_wait(cmd, ROWS_EXP_FULL, 1);
        cmd_post(cmd, ROWS_B_FREE, 1);
        cmd_post(cmd, ROWS_EXP_KEPT, 1);
        lines(&a, 1, LINE_EXP);
    }
    turns(&a);
}

/* To be summed e lies in any order. For the quotient it is a matrix of 16 columns, the first
 * 8 of which are its first half, so that they are the column blocks of the result. */
static void build_fills(const struct rows_plan *p, struct rows_core *core)
{
    struct adding a = begin(p, core, ROWS_FILL, PIPE_MTE1);
    uint32_t bytes = rows_bytes(p);

    for (unsigned turn = 0; turn < ROWS_TURNS; turn++) {
        union cmd *cmd = add(&a);
        mte_l1_to_ub(cmd, rows_b(p, turn + 1), 0, bytes);
        cmd_wait(cmd, ROWS_L1_FULL, 1);
        cmd_wait(cmd, ROWS_B_FREE, 1);
        cmd_post(cmd, ROWS_B_FULL, 1);
        lines(&a, 1, LINE_EXP);
        cmd = add(&a);
        mte_l1_to_l0a_fractals(cmd, 0, 0,
                               &(struct mte_fractals){.type = TYPE_F32,
                                                      .n_fractals = bytes / MTE_FRACTAL,
                                                      .src_pitch = 1});
        cmd_wait(cmd, ROWS_EXP_KEPT, 1);
        cmd_wait(cmd, ROWS_ADDED_FREE, 1);
        cmd_post(cmd, ROWS_ADDED_FULL, 1);
        lines(&a, 1, LINE_SUM);
        cmd = add(&a);
        mte_l1_to_l0a(cmd, bytes, 0,
                      &(struct mte_window){.type = TYPE_F32,
                                           .n_rows = p->chunk / PIPES_DIAGONAL,
                                           .n_cols = PIPES_DIAGONAL,
                                           .block_rows = p->chunk / PIPES_DIAGONAL});
        cmd_wait(cmd, ROWS_E_FREE, 1);
        cmd_post(cmd, ROWS_E_FULL, 1);
        cmd_post(cmd, ROWS_L1_FREE, 1);
        lines(&a, 1, LINE_QUOTIENT);
    }
    turns(&a);
}

/* What the sums are a product with, and what is 0 in the quotient's. */
static void build_constants(const struct rows_plan *p, struct rows_core *core)
{
    uint32_t diagonals = rows_of_group(p) * PIPES_DIAGONAL_BYTES;
    struct adding a = begin(p, core, ROWS_ZEROS, PIPE_MTE2);

    mte_fill(add(&a), NPU_MEM_L1, p->slots * rows_bytes(p), TYPE_F32, 0,
             ROWS_KNOWN * diagonals);
    lines(&a, 1, LINE_QUOTIENT);
    a = begin(p, core, ROWS_ONES, PIPE_MTE1);
    mte_fill(add(&a), NPU_MEM_L0B, 0, TYPE_F32, number_bits(TYPE_F32, 1),
             rows_ones_bytes(p));
    lines(&a, 1, LINE_SUM);
    a = begin(p, core, ROWS_LOAD_DIAGONAL, PIPE_MTE1);
    mte_l1_to_l0b_fractals(add(&a), 0, 0,
                           &(struct mte_fractals){.type = TYPE_F32,
                                                  .n_fractals = diagonals / MTE_FRACTAL,
                                                  .src_pitch = 1});
    lines(&a, 1, LINE_QUOTIENT);
}

/* --- the Cube --- */

/* What a Mmad of a row's sums waits for and posts. */
static uint64_t mmad_sync(bool first, bool last)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, ROWS_ADDED_FULL, 1);
    if (first) {
        cmd_wait(&cmd, ROWS_SUM_FREE, 1);
    }
    cmd_post(&cmd, ROWS_ADDED_FREE, 1);
    if (last) {
        cmd_post(&cmd, ROWS_SUM_FULL, 1);
    }
    return cmd.words[CMD_SYNC];
}

static void build_mmads(struct rows_plan *p, struct rows_core *core)
{
    struct adding a = begin(p, core, ROWS_MMAD, PIPE_M);
    union cmd *cmd = add(&a);

    for (unsigned i = 0; i < 4; i++) {
        p->mmad_sync[i / 2][i % 2] = mmad_sync(i / 2, i % 2);
    }
    cube_mmad(cmd, &(struct cube_mmad){.type = TYPE_F32,
                                       .m = ROWS_SUMS,
                                       .n = 1,
                                       .k = p->chunk / ROWS_SUMS,
                                       .from = CUBE_FROM_ZERO});
    lines(&a, 1, LINE_SUM);
    cmd = add(&a);
    cube_mmad(cmd, &(struct cube_mmad){.type = TYPE_F32,
                                       .a = rows_bytes(p),
                                       .m = p->chunk / PIPES_DIAGONAL,
                                       .n = PIPES_DIAGONAL,
                                       .k = PIPES_DIAGONAL,
                                       .from = CUBE_FROM_ZERO});
    cmd_wait(cmd, ROWS_E_FULL, 1);
    cmd_wait(cmd, ROWS_Y_FREE, 1);
    cmd_post(cmd, ROWS_E_FREE, 1);
    cmd_post(cmd, ROWS_Y_FULL, 1);
    lines(&a, 1, LINE_QUOTIENT);
}

static void build_fix(const struct rows_plan *p, struct rows_core *core)
{
    uint32_t rows = p->chunk / PIPES_DIAGONAL;
    struct adding a = begin(p, core, ROWS_FIX, PIPE_FIX);
    union cmd *cmd = add(&a);

    fixpipe_to_ub(
        cmd, p->sums, 0,
        &(struct fixpipe_tile){
            .type = TYPE_F32, .m = ROWS_SUMS, .n = 1, .pitch_elems = VEC_BLOCKS});
    cmd_wait(cmd, ROWS_SUM_FULL, 1);
    cmd_wait(cmd, ROWS_UB_FREE, 1);
    cmd_post(cmd, ROWS_SUM_FREE, 1);
    cmd_post(cmd, ROWS_UB_FULL, 1);
    lines(&a, 1, LINE_SUM);
    cmd = add(&a);
    fixpipe_to_gm(cmd, p->y, 0,
                  &(struct fixpipe_tile){.type = TYPE_F32,
                                         .m = rows,
                                         .n = PIPES_DIAGONAL,
                                         .nz_rows = rows,
                                         .flags = FIX_L0C_GM_SPLIT});
    cmd_wait(cmd, ROWS_Y_FULL, 1);
    cmd_post(cmd, ROWS_Y_FREE, 1);
    lines(&a, 1, LINE_QUOTIENT);
}

/* --- the Vector --- */

static void reduce(union cmd *cmd, enum op op, uint32_t dst, uint32_t x, uint8_t flags)
{
    vector_reduce_strided(cmd, &(struct vec_reduce){.op = op,
                                                    .type = TYPE_F32,
                                                    .dst = dst,
                                                    .dst_rep = 1,
                                                    .x = vec_dense(x),
                                                    .repeat = 1,
                                                    .flags = flags});
}

static void mask_first(union cmd *cmd, uint32_t lanes)
{
    vector_mask(cmd, lanes == ROWS_SUMS ? UINT64_MAX : (1ull << lanes) - 1, 0);
}

/* From the greatest of 64 elements each to that of a row. */
static void build_chain(const struct rows_plan *p, struct rows_core *core)
{
    struct adding a = begin(p, core, ROWS_CHAIN, PIPE_V);
    uint32_t left = p->n / (VEC_BLOCKS * VEC_BLOCKS);
    unsigned from = 1;
    union cmd *cmd;

    for (; left > ROWS_SUMS; left = div_up(left, VEC_BLOCKS), from ^= 1) {
        vector_count(add(&a), left);
        reduce(add(&a), OP_VCGMAX, p->part[from ^ 1], p->part[from], 0);
    }
    mask_first(add(&a), left);
    cmd = add(&a);
    reduce(cmd, OP_VCMAX, p->most, p->part[from], VCMAX_VALUE_ONLY);
    cmd->vec_reduce.src_rep = (uint16_t)(left / VEC_BLOCKS);
    cmd_post(cmd, ROWS_MAX, 1);
    lines(&a, a.s->n, LINE_MAX);
}

/* Each sum is the first element of a block. */
static void build_total(const struct rows_plan *p, struct rows_core *core)
{
    struct adding a = begin(p, core, ROWS_TOTAL, PIPE_V);
    union cmd *cmd;

    vector_mask(add(&a), 0x0101010101010101, 0);
    reduce(add(&a), OP_VCGADD, p->sum, p->sums, 0);
    mask_first(add(&a), ROWS_SUMS);
    reduce(add(&a), OP_VCADD, p->total, p->sum, 0);
    cmd = add(&a);
    vector_unary_strided(cmd,
                         &(struct vec_unary){OP_VREC, TYPE_F32, vec_dense(p->reciprocal),
                                             vec_dense(p->total), 1});
    cmd_post(cmd, ROWS_RECIPROCAL, 1);
    lines(&a, a.s->n, LINE_SUM);
}

static void build_work(const struct rows_plan *p, struct rows_core *core)
{
    struct adding a = begin(p, core, ROWS_WORK, PIPE_V);

    for (unsigned turn = 0; turn < ROWS_TURNS; turn++) {
        uint32_t ub = rows_b(p, turn);
        union cmd *cmd = add(&a);
        vector_count(cmd, p->chunk);
        cmd_wait(cmd, ROWS_B_FULL, 1);
        vector_scalar(add(&a), OP_VADDS, TYPE_F32, ub, ub, 0);
        cmd = add(&a);
        vector_unary(cmd, OP_VEXP, TYPE_F32, ub, ub);
        cmd_post(cmd, ROWS_EXP_FULL, 1);
        lines(&a, ROWS_WORK_EXP, LINE_EXP);
        cmd = add(&a);
        vector_count(cmd, p->chunk);
        cmd_wait(cmd, ROWS_A_FULL, 1);
        cmd = add(&a);
        reduce(cmd, OP_VCGMAX, p->part[0], rows_a(p, turn), 0);
        cmd_post(cmd, ROWS_A_FREE, 1);
        lines(&a, ROWS_WORK_ALL - ROWS_WORK_EXP, LINE_MAX);
    }
    turns(&a);
}

void rows_build(struct rows_plan *p, struct rows_core *core)
{
    struct adding a;

    core->n = 0;
    build_loads(p, core);
    build_fills(p, core);
    build_constants(p, core);
    build_mmads(p, core);
    build_fix(p, core);
    build_work(p, core);
    a = begin(p, core, ROWS_FOLD, PIPE_V);
    vector_count(add(&a), p->chunk / VEC_BLOCKS);
    reduce(add(&a), OP_VCGMAX, p->part[1], p->part[0], 0);
    lines(&a, 2, LINE_MAX);
    build_chain(p, core);
    build_total(p, core);
}
