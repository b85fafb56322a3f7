/* SPDX-License-Identifier: MIT
 *
 * The commands of a core for rows that L1 does not hold, with their semaphores; see
 * spill.h. What changes from chunk to chunk, spill_play.c sets.
 */
#include <assert.h>
#include <math.h>

#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "hal/vector_reduce.h"
#include "kernels/tile/softmax/spill.h"

enum { LINE_MAX, LINE_EXP, LINE_SUM, LINE_QUOTIENT };

/* A push under construction: its commands are those added since. */
struct adding {
    const struct rows_plan *p;
    const struct spill_plan *s;
    struct spill_core *core;
    struct sequence *seq;
    unsigned line;
};

static void begin(struct adding *a, enum spill_push which, enum pipe pipe, unsigned line)
{
    a->seq = &a->core->seq[which];
    a->line = line;
    *a->seq = (struct sequence){
        .name = "rows", .pipe = pipe, .cmds = &a->core->cmd[a->core->n]};
}

/* Room for one; builders set all of a command, so its line comes last. */
static union cmd *add(struct adding *a)
{
    assert(a->core->n < SPILL_COMMANDS);
    a->seq->n++;
    return &a->core->cmd[a->core->n++];
}

static void end(const struct adding *a)
{
    for (unsigned i = 0; i < a->seq->n; i++) {
        a->seq->cmds[i].head.tag = a->p->line[a->line];
    }
}

/* Takes units of one semaphore, gives of another. */
static void hands(union cmd *cmd, unsigned from, unsigned to, unsigned n)
{
    cmd_wait(cmd, from, n);
    cmd_post(cmd, to, n);
}

/* --- moves --- */

static void build_loads(struct adding *a)
{
    const struct spill_plan *s = a->s;
    uint32_t numbers = s->per_row * (uint32_t)sizeof(float);
    union cmd *cmd;

    begin(a, SPILL_LOAD, PIPE_MTE2, LINE_MAX);
    cmd = add(a);
    mte_gm_to_ub(cmd, 0, a->p->x, 0);
    hands(cmd, SPILL_X_FREE, SPILL_X_FULL, 1);
    end(a);
    begin(a, SPILL_SET_ZERO, PIPE_MTE2, LINE_QUOTIENT);
    cmd = add(a);
    mte_fill(cmd, NPU_MEM_L1, spill_diagonal_l1(s, 0), TYPE_F32, 0,
             (SPILL_DIAGONALS + 1) * PIPES_DIAGONAL_BYTES);
    cmd_post(cmd, SPILL_ZEROS, 1);
    end(a);
    begin(a, SPILL_LOAD_E, PIPE_MTE2, LINE_QUOTIENT);
    mte_gm_to_l1(add(a), 0, a->p->x, 0);
    end(a);
    begin(a, SPILL_LOAD_SUMS, PIPE_MTE2, LINE_SUM);
    cmd = add(a);
    mte_gm_to_ub(cmd, s->sums, s->number, numbers * (SPILL_SUMS + 1));
    cmd_post(cmd, SPILL_SUMMED, 1);
    end(a);
}

static void build_stores(struct adding *a)
{
    union cmd *cmd;

    begin(a, SPILL_KEEP, PIPE_MTE3, LINE_EXP);
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        cmd = add(a);
        mte_ub_to_l1(cmd, 0, 0, BLOCK);
        hands(cmd, SPILL_L1_FREE, SPILL_L1_FULL, 1);
        hands(cmd, SPILL_EXP_FULL, SPILL_X_FREE, 1);
    }
    end(a);
    begin(a, SPILL_STORE, PIPE_MTE3, LINE_QUOTIENT);
    cmd = add(a);
    mte_ub_to_gm(cmd, a->p->y, 0, 0);
    hands(cmd, SPILL_EXP_FULL, SPILL_X_FREE, SPILL_PIECES);
    end(a);
}

/* A matrix of 16 columns, the first 8 of which are a piece's first half, so that they are
 * the column blocks of the result. */
static void fill_e(struct adding *a, unsigned piece)
{
    union cmd *cmd = add(a);

    mte_l1_to_l0a(cmd, piece * chip_mem(NPU_MEM_L0A) / SPILL_PIECES, 0,
                  &(struct mte_window){.type = TYPE_F32, .n_cols = PIPES_DIAGONAL});
    cmd_wait(cmd, SPILL_E_FREE, 1);
    cmd_post(cmd, SPILL_E_FULL, 1);
    cmd_post(cmd, SPILL_L1_FREE, 1);
}

/* In the first pass halves of L0A are for sums and for what goes out, in the second one
 * for the pieces. */
static void build_fills(struct adding *a)
{
    union cmd *cmd;

    begin(a, SPILL_FILL, PIPE_MTE1, LINE_SUM);
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        cmd = add(a);
        mte_l1_to_l0a_fractals(cmd, 0, 0,
                               &(struct mte_fractals){.type = TYPE_F32, .src_pitch = 1});
        cmd_wait(cmd, SPILL_L1_FULL, 1);
        hands(cmd, SPILL_ADDED_FREE, SPILL_ADDED_FULL, 1);
        fill_e(a, SPILL_PIECES - 1);
    }
    end(a);
    begin(a, SPILL_FILL_E, PIPE_MTE1, LINE_QUOTIENT);
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        fill_e(a, i);
        cmd_wait(&a->seq->cmds[i], SPILL_KEPT, 1);
    }
    end(a);
    begin(a, SPILL_UNLOAD, PIPE_MTE1, LINE_QUOTIENT);
    cmd = add(a);
    mte_l1_to_ub(cmd, 0, 0, BLOCK);
    hands(cmd, SPILL_KEPT, SPILL_L1_FREE, SPILL_PIECES);
    hands(cmd, SPILL_X_FREE, SPILL_X_FULL, SPILL_PIECES);
    end(a);
}

static void build_constants(struct adding *a)
{
    union cmd *cmd;

    begin(a, SPILL_ONES, PIPE_MTE1, LINE_SUM);
    mte_fill(add(a), NPU_MEM_L0B, 0, TYPE_F32, number_bits(TYPE_F32, 1),
             spill_bytes(a->s) / SPILL_PIECES);
    end(a);
    begin(a, SPILL_LOAD_DIAGONAL, PIPE_MTE1, LINE_QUOTIENT);
    for (unsigned i = 0; i <= SPILL_DIAGONALS; i++) {
        cmd = add(a);
        mte_l1_to_l0b_fractals(
            cmd, spill_diagonal_l0b(a->s, i), spill_diagonal_l1(a->s, i),
            &(struct mte_fractals){.type = TYPE_F32,
                                   .n_fractals = PIPES_DIAGONAL_BYTES / MTE_FRACTAL,
                                   .src_pitch = 1});
        cmd_post(cmd, SPILL_DIAGONAL_FREE, 1);
        if (i < SPILL_DIAGONALS) { /* that of ones is there before any e */
            cmd_post(cmd, SPILL_E_FULL, 1);
        }
    }
    end(a);
    a->seq->n = 1;
    a->seq->positions = SPILL_DIAGONALS + 1;
}

/* --- the Cube --- */

static uint32_t y_in_l0c(const struct spill_plan *s, unsigned piece)
{
    uint32_t bytes = (uint32_t)round_up(spill_bytes(s) / SPILL_PIECES, 1024);

    return SPILL_PIECES * SPILL_SUMS * PIPES_DIAGONAL * 4 + piece * bytes;
}

/* Behind `full` units of what it reads. */
static void mmad_e(struct adding *a, unsigned half, unsigned piece, uint32_t l0b,
                   unsigned full)
{
    union cmd *cmd = add(a);

    cube_mmad(cmd, &(struct cube_mmad){.type = TYPE_F32,
                                       .c = y_in_l0c(a->s, piece),
                                       .a = half * chip_mem(NPU_MEM_L0A) / SPILL_PIECES,
                                       .b = l0b,
                                       .n = PIPES_DIAGONAL,
                                       .k = PIPES_DIAGONAL,
                                       .from = CUBE_FROM_ZERO});
    if (full) {
        cmd_wait(cmd, SPILL_E_FULL, full);
    }
    cmd_post(cmd, SPILL_E_FREE, 1);
    hands(cmd, SPILL_Y_FREE, SPILL_Y_FULL, 1);
}

static void build_mmads(struct adding *a)
{
    begin(a, SPILL_MMAD, PIPE_M, LINE_SUM);
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        union cmd *cmd = add(a);
        cube_mmad(cmd, &(struct cube_mmad){.type = TYPE_F32,
                                           .m = SPILL_SUMS,
                                           .n = 1,
                                           .from = i ? CUBE_FROM_C : CUBE_FROM_ZERO});
        hands(cmd, SPILL_ADDED_FULL, SPILL_ADDED_FREE, 1);
        if (i == 0) {
            cmd_wait(cmd, SPILL_SUM_FREE, 1);
        }
        if (i == SPILL_PIECES - 1) {
            cmd_post(cmd, SPILL_SUM_FULL, 1);
        }
        mmad_e(a, SPILL_PIECES - 1, i, spill_diagonal_l0b(a->s, SPILL_DIAGONALS), 1);
    }
    end(a);
    begin(a, SPILL_MMAD_E, PIPE_M, LINE_QUOTIENT); /* both pieces and the diagonal */
    for (unsigned i = 0; i < SPILL_DIAGONALS * SPILL_PIECES; i++) {
        unsigned piece = i % SPILL_PIECES;
        mmad_e(a, piece, piece, spill_diagonal_l0b(a->s, i / SPILL_PIECES),
               piece ? 0 : SPILL_PIECES + 1);
    }
    end(a);
    a->seq->n = SPILL_PIECES;
    a->seq->positions = SPILL_DIAGONALS;
}

static void build_fix(struct adding *a)
{
    union cmd *cmd;

    begin(a, SPILL_FIX, PIPE_FIX, LINE_QUOTIENT);
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        cmd = add(a);
        fixpipe_to_gm(cmd, a->p->y, y_in_l0c(a->s, i),
                      &(struct fixpipe_tile){.type = TYPE_F32,
                                             .n = PIPES_DIAGONAL,
                                             .nz_rows = 1,
                                             .flags = FIX_L0C_GM_SPLIT});
        hands(cmd, SPILL_Y_FULL, SPILL_Y_FREE, 1);
    }
    end(a);
    begin(a, SPILL_FIX_SUM, PIPE_FIX, LINE_SUM);
    cmd = add(a);
    fixpipe_to_gm(cmd, a->s->number, 0,
                  &(struct fixpipe_tile){.type = TYPE_F32, .m = SPILL_SUMS, .n = 1});
    hands(cmd, SPILL_SUM_FULL, SPILL_SUM_FREE, 1);
    end(a);
}

/* --- the Vector --- */

static void counted(struct adding *a, uint32_t n, enum op op, uint32_t dst, uint32_t x)
{
    vector_count(add(a), n);
    vector_reduce(add(a), op, TYPE_F32, dst, x);
}

static void build_first(struct adding *a)
{
    const struct spill_plan *s = a->s;
    union cmd *cmd;

    begin(a, SPILL_PAD, PIPE_V, LINE_MAX);
    cmd = add(a);
    vector_count(cmd, 0);
    cmd_wait(cmd, SPILL_X_FULL, SPILL_PIECES);
    vector_fill(add(a), OP_VDUP, TYPE_F32, 0, number_bits(TYPE_F32, -INFINITY));
    end(a);
    begin(a, SPILL_GREATEST, PIPE_V, LINE_MAX);
    counted(a, 0, OP_VCGMAX, s->part[0], 0);
    counted(a, 0, OP_VCGMAX, s->part[1], s->part[0]);
    counted(a, 0, OP_VCGMAX, 0, s->part[1]);
    cmd_wait(a->seq->cmds, SPILL_X_FULL, SPILL_PIECES);
    cmd_post(&a->seq->cmds[a->seq->n - 1], SPILL_MAX, 1);
    end(a);
    begin(a, SPILL_EXP, PIPE_V, LINE_EXP);
    vector_count(add(a), 0);
    vector_scalar(add(a), OP_VADDS, TYPE_F32, 0, 0, 0);
    cmd = add(a);
    vector_unary(cmd, OP_VEXP, TYPE_F32, 0, 0);
    cmd_post(cmd, SPILL_EXP_FULL, SPILL_PIECES);
    end(a);
}

/* exp(m(c) - m), and 1 / the sum of what each chunk comes to with that. */
static void build_second(struct adding *a)
{
    const struct spill_plan *s = a->s;
    uint32_t n = s->per_row, at = s->weighted;
    union cmd *cmd;

    begin(a, SPILL_ADD, PIPE_V, LINE_SUM);
    vector_count(add(a), n);
    vector_scalar(add(a), OP_VADDS, TYPE_F32, s->apart, s->apart, 0);
    vector_unary(add(a), OP_VEXP, TYPE_F32, s->apart, s->apart);
    cmd_wait(a->seq->cmds, SPILL_SUMMED, 1);
    counted(a, n * SPILL_SUMS, OP_VCGADD, s->of_blocks, s->sums);
    counted(a, n * SPILL_SUMS / VEC_BLOCKS, OP_VCPADD, s->of_chunks, s->of_blocks);
    vector_count(add(a), n);
    vector_binary(add(a), OP_VMUL, TYPE_F32, at, s->of_chunks, s->apart);
    vector_reduce(add(a), OP_VCADD, TYPE_F32, s->total, at);
    counted(a, div_up(n, REPEAT_BYTES / sizeof(float)), OP_VCADD, at, s->total);
    vector_count(add(a), 1);
    cmd = add(a);
    vector_unary(cmd, OP_VREC, TYPE_F32, s->total, at);
    cmd_post(cmd, SPILL_KNOWN, 1);
    end(a);
    begin(a, SPILL_SCALE, PIPE_V, LINE_QUOTIENT);
    cmd = add(a);
    vector_count(cmd, 0);
    cmd_wait(cmd, SPILL_X_FULL, SPILL_PIECES);
    cmd = add(a);
    vector_scalar(cmd, OP_VMULS, TYPE_F32, 0, 0, 0);
    cmd_post(cmd, SPILL_EXP_FULL, SPILL_PIECES);
    end(a);
}

void spill_build(const struct rows_plan *p, struct spill_core *core)
{
    struct adding a = {.p = p, .s = p->spill, .core = core};

    core->n = 0;
    build_loads(&a);
    build_stores(&a);
    build_fills(&a);
    build_constants(&a);
    build_mmads(&a);
    build_fix(&a);
    build_first(&a);
    build_second(&a);
}
