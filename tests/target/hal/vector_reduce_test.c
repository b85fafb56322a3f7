/* SPDX-License-Identifier: MIT
 *
 * Reductions as a kernel chains them, on the chip's last core. Every case of the
 * commands: tests/model/vector/move_test.c.
 */
#include <string.h>

#include "hal/vector_move.h"
#include "hal/vector_reduce.h"
#include "tests/target/engine.h"

enum { ROOM = 8192 };

/* 1 + 2 + ... + 1000: numbered by VCI, 16 partial sums, their sum. */
TEST(vector_reduce, sum_of_a_vector)
{
    const float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    run_count(1000);
    vector_fill(&cmd, OP_VCI, TYPE_F32, 0, 0x3f800000);
    run_on(PIPE_V, &cmd);
    vector_reduce(&cmd, OP_VCADD, TYPE_F32, ROOM, 0);
    run_on(PIPE_V, &cmd);
    run_count(16);
    vector_reduce(&cmd, OP_VCADD, TYPE_F32, 2 * ROOM, ROOM);
    run_on(PIPE_V, &cmd);
    CHECK_EQ(ub[ROOM / 4], 2080.0f); /* 1 to 64 */
    CHECK_EQ(ub[2 * ROOM / 4], 500500.0f);
    pipe_reset(core(), PIPE_V);
}

/* The largest of each second repeat, every third word a result. */
TEST(vector_reduce, takes_repeats_and_gives_results_where_it_is_told)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 8 * 64; i++) {
        ub[i] = (float)(i / 64 * 1000 + i * 37 % 64);
    }
    memset(ub + ROOM / 4, 0, 64);
    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    run_on(PIPE_V, &cmd);
    vector_reduce_strided(&cmd, &(struct vec_reduce){.op = OP_VCMAX,
                                                     .type = TYPE_F32,
                                                     .dst = ROOM,
                                                     .dst_rep = 3,
                                                     .x = vec_repeats(0, 16),
                                                     .repeat = 4,
                                                     .flags = VCMAX_VALUE_ONLY});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 16; i++) {
        float want = i % 3 || i / 3 >= 4 ? 0 : (float)(i / 3 * 2000 + 63);
        CHECK_EQ(ub[ROOM / 4 + i], want);
    }
    pipe_reset(core(), PIPE_V);
}
