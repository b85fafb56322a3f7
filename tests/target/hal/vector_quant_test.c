/* SPDX-License-Identifier: MIT
 *
 * Quantisation, region proposals and interpolation as a kernel uses them. Every case of
 * the commands: tests/model/vector/quant_test.c.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/vector.h"
#include "hal/vector_more.h"
#include "kernels/lib/f16.h"
#include "tests/target/engine.h"
#include "tests/target/test.h"

enum { ROOM = 8192 };

/* Two commands fill each block of bytes: even blocks of S16 below, odd ones above. */
TEST(vector_more, quantises_to_bytes)
{
    int16_t *x = chip_local(core(), NPU_MEM_UB, 0);
    const uint8_t *y = chip_local(core(), NPU_MEM_UB, ROOM);
    union cmd cmd;

    for (int i = 0; i < 256; i++) {
        x[i] = (int16_t)(i * 8 - 1000);
    }
    vector_count(&cmd, 128);
    run_on(PIPE_V, &cmd);
    vector_set_deq(&cmd, vector_deq_word(0.125f, 100, false));
    run_on(PIPE_V, &cmd);
    for (unsigned upper = 0; upper < 2; upper++) {
        vector_quantise(&cmd, ROOM, 32 * upper, upper);
        cmd.vec_deq.src_blk = 2;
        cmd.vec_deq.src_rep = 16;
        run_on(PIPE_V, &cmd);
    }
    for (int i = 0; i < 256; i++) {
        CHECK_EQ(y[i], i < 25 ? 0 : i - 25);
    }
}

/* Scores in, four lists sorted and merged, scores out: highest first. */
TEST(vector_more, best_of_64_proposals)
{
    uint16_t *score = chip_local(core(), NPU_MEM_UB, 0);
    const uint16_t *sorted = chip_local(core(), NPU_MEM_UB, 3 * ROOM);
    union cmd cmd;

    for (unsigned i = 0; i < 64; i++) {
        score[i] = f32_to_f16((float)(i * 37 % 64));
    }
    vector_proposals(&cmd, OP_VRPCONCAT, TYPE_F16, ROOM, 0, 4, PROPOSAL_SCORE);
    run_on(PIPE_V, &cmd);
    vector_rpsort16(&cmd, TYPE_F16, ROOM, ROOM, 4);
    run_on(PIPE_V, &cmd);
    cmd_init(&cmd, OP_VMRGSORT, TYPE_F16);
    cmd.head.flags = VMRGSORT_PROPOSALS;
    cmd.vec_merge = (struct cmd_vec_merge){cmd.head,   2 * ROOM,   ROOM, ROOM + 256,
                                           ROOM + 512, ROOM + 768, 16,   16,
                                           16,         16,         15,   1};
    run_on(PIPE_V, &cmd);
    vector_proposals(&cmd, OP_VRPEXTRACT, TYPE_F16, 3 * ROOM, 2 * ROOM, 4,
                     PROPOSAL_SCORE);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 64; i++) {
        CHECK_EQ(f16_to_f32(sorted[i]), 63 - i);
    }
}

/* A block between each two neighbours, a quarter and three quarters of them; and a
 * product of integers that does not fit into 32 bits. */
TEST(vector_more, resizes_a_row)
{
    uint16_t *x = chip_local(core(), NPU_MEM_UB, 0);
    uint32_t *offset = chip_local(core(), NPU_MEM_UB, ROOM);
    uint16_t *weight = chip_local(core(), NPU_MEM_UB, 2 * ROOM);
    const uint16_t *y = chip_local(core(), NPU_MEM_UB, 3 * ROOM);
    int32_t *n = chip_local(core(), NPU_MEM_UB, 4 * ROOM);
    union cmd cmd;

    for (unsigned i = 0; i < 144; i++) {
        x[i] = f32_to_f16((float)(i / 16 * 8));
    }
    for (unsigned i = 0; i < 16; i++) {
        offset[i] = (i % 8 + i / 8) * 32;
    }
    weight[0] = f32_to_f16(0.25f);
    weight[1] = f32_to_f16(0.75f);
    vector_count(&cmd, 128);
    run_on(PIPE_V, &cmd);
    vector_interpolate(&cmd, 3 * ROOM, 0, ROOM, 2 * ROOM, 2, 1);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(f16_to_f32(y[i]), (float)(i / 16 * 8) + 6);
    }
    n[0] = -123456789;
    n[8] = 987654321;
    vector_mull(&cmd, 4 * ROOM + 64, 4 * ROOM + 96, 4 * ROOM, 4 * ROOM + 32, 1);
    run_on(PIPE_V, &cmd);
    CHECK_EQ((int64_t)(((uint64_t)(uint32_t)n[24] << 32) | (uint32_t)n[16]),
             -123456789ll * 987654321);
}
