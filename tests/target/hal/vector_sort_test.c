/* SPDX-License-Identifier: MIT
 *
 * Sorting as a kernel uses it, on the chip's last core. Every case of the commands:
 * tests/model/vector/gather_test.c, quant_test.c.
 */
#include "hal/vector_gather.h"
#include "hal/vector_move.h"
#include "hal/vector_sort.h"
#include "kernels/lib/f16.h"
#include "tests/target/engine.h"

enum { ROOM = 8192 };

/* 128 values, sorted by 32 and merged; then the three largest by a mask of bits, and the
 * value at each index gathered again. */
TEST(vector_sort, top_of_128)
{
    uint32_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    float *value = (float *)ub;
    union cmd cmd;

    for (unsigned i = 0; i < 128; i++) {
        value[i] = (float)(i * 37 % 128);
    }
    run_count(128);
    vector_fill(&cmd, OP_VCI, TYPE_S32, 1024, 0);
    run_on(PIPE_V, &cmd);
    vector_sort32(&cmd, TYPE_F32, 2048, 0, 1024, 4);
    run_on(PIPE_V, &cmd);
    vector_merge4(&cmd, TYPE_F32, 4096, 2048, 32);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(value[1024 + 2 * i], 127.0f - (float)i);
        CHECK_EQ(ub[1024 + 2 * i + 1] * 37 % 128, 127 - i);
    }
    ub[2048] = 0x2a; /* elements 1, 3 and 5: indices of the first three */
    run_count(6);
    vector_compact(&cmd, TYPE_S32, 12288, 4096, 8192);
    run_on(PIPE_V, &cmd);
    vector_get_count(&cmd, 16384);
    run_on(PIPE_V, &cmd);
    CHECK_EQ(ub[4096], 3u);
    for (unsigned i = 0; i < 3; i++) {
        ub[3072 + i] *= 4; /* to offsets */
    }
    run_count(3);
    vector_gather(&cmd, TYPE_F32, 20480, 0, 12288);
    run_on(PIPE_V, &cmd);
    CHECK_EQ(value[5120], 127.0f);
    CHECK_EQ(value[5121], 126.0f);
    CHECK_EQ(value[5122], 125.0f);
    pipe_reset(core(), PIPE_V);
}

/* Pairs are a value and a number of 32 bits. What is said of a third list does not count.
 */
TEST(vector_sort, merges_lists_of_other_lengths)
{
    static const float first[] = {9, 5}, second[] = {8, 7, 1};
    static const float want[] = {9, 8, 7, 5, 1};
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 3; i++) {
        ub[2 * i] = i < 2 ? first[i] : 100;
        ub[64 + 2 * i] = second[i];
    }
    vector_merge(
        &cmd,
        &(struct vec_merge){
            .type = TYPE_F32, .dst = ROOM, .lists = 2, .src = {0, 256}, .n = {2, 3, 3}});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 5; i++) {
        CHECK_EQ(ub[ROOM / 4 + 2 * i], want[i]);
    }
}

/* Scores in, four lists sorted and merged, scores out: highest first. */
TEST(vector_sort, best_of_64_proposals)
{
    uint16_t *score = chip_local(core(), NPU_MEM_UB, 0);
    const uint16_t *sorted = chip_local(core(), NPU_MEM_UB, 3 * ROOM);
    struct vec_proposals field = {.op = OP_VRPCONCAT,
                                  .type = TYPE_F16,
                                  .dst = ROOM,
                                  .src = 0,
                                  .n = 4,
                                  .field = PROPOSAL_SCORE};
    union cmd cmd;

    for (unsigned i = 0; i < 64; i++) {
        score[i] = f32_to_f16((float)(i * 37 % 64));
    }
    vector_proposals(&cmd, &field);
    run_on(PIPE_V, &cmd);
    vector_sort_proposals(&cmd, TYPE_F16, ROOM, ROOM, 4);
    run_on(PIPE_V, &cmd);
    vector_merge(&cmd, &(struct vec_merge){
                           .type = TYPE_F16,
                           .dst = 2 * ROOM,
                           .lists = 4,
                           .src = {ROOM, ROOM + 256, ROOM + 512, ROOM + 768},
                           .n = {16, 16, 16, 16},
                           .flags = VMRGSORT_PROPOSALS,
                       });
    run_on(PIPE_V, &cmd);
    field.op = OP_VRPEXTRACT;
    field.dst = 3 * ROOM;
    field.src = 2 * ROOM;
    vector_proposals(&cmd, &field);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 64; i++) {
        CHECK_EQ(f16_to_f32(sorted[i]), 63 - i);
    }
}
