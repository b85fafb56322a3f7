/* SPDX-License-Identifier: MIT
 *
 * Gathering and scattering as a kernel uses them, on the chip's last core; compaction is
 * in vector_sort_test.c. Every case of the commands: tests/model/vector/gather_test.c,
 * quant_test.c.
 */
#include <string.h>

#include "hal/vector_gather.h"
#include "kernels/lib/f16.h"
#include "tests/target/engine.h"

enum { ROOM = 8192 };

/* The hart is told which offset was wrong, and nothing was written. */
TEST(vector_gather, wrong_offset_is_reported)
{
    uint32_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    struct fault fault;
    union cmd cmd;

    memset(ub, 0, 4096);
    ub[1] = 0x40000000;
    run_count(8);
    vector_gather(&cmd, TYPE_S32, 2048, 0, 0);
    CHECK_OK(pipe_push(core(), PIPE_V, &cmd));
    while (core_in_flight(core())) {
    }
    CHECK(core_fault(core(), &fault));
    CHECK_EQ(fault.code, (unsigned)NPU_ERR_OFFSET);
    CHECK_EQ(fault.field, (unsigned)offsetof(struct cmd_vec_gather, offsets));
    CHECK_EQ(fault.value, 0x40000000u);
    CHECK_EQ(ub[512], 0u);
    pipe_reset(core(), PIPE_V);
}

/* Backwards, one repeat beside the other, by 128 offsets. */
TEST(vector_gather, repeats_lie_apart)
{
    uint32_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    const uint32_t *back = ub + 2 * ROOM / 4;
    union cmd cmd;

    for (unsigned i = 0; i < 128; i++) {
        ub[i] = i;
        ub[ROOM / 4 + i] = 4 * (127 - i);
    }
    memset(ub + 2 * ROOM / 4, 0, 1024);
    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    run_on(PIPE_V, &cmd);
    vector_gather_strided(&cmd, &(struct vec_gather){.type = TYPE_S32,
                                                     .dst = 2 * ROOM,
                                                     .dst_rep = 16,
                                                     .src = 0,
                                                     .offsets = ROOM,
                                                     .repeat = 2});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 192; i++) {
        CHECK_EQ(back[i], i / 64 == 1 ? 0 : i < 64 ? 127 - i : 191 - i);
    }
    pipe_reset(core(), PIPE_V);
}

/* Elements to where they came from; and whole blocks backwards. */
TEST(vector_gather, scatters_and_takes_blocks)
{
    uint32_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    const uint32_t *to = ub + 2 * ROOM / 4;
    union cmd cmd;

    for (unsigned i = 0; i < 128; i++) {
        ub[i] = i;
        ub[ROOM / 4 + i] = 4 * (i * 37 % 128);
    }
    run_count(128);
    vector_scatter(&cmd, TYPE_S32, 2 * ROOM, 0, ROOM);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(to[i * 37 % 128], i);
    }
    for (unsigned i = 0; i < 16; i++) {
        ub[ROOM / 4 + i] = 32 * (15 - i);
    }
    vector_gather_blocks(&cmd, TYPE_S32, 2 * ROOM, 0, ROOM, 2);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(to[i], (15 - i / 8) * 8 + i % 8);
    }
    pipe_reset(core(), PIPE_V);
}

/* A block between each two neighbours, a quarter and three quarters of them. */
TEST(vector_gather, resizes_a_row)
{
    uint16_t *x = chip_local(core(), NPU_MEM_UB, 0);
    uint32_t *offset = chip_local(core(), NPU_MEM_UB, ROOM);
    uint16_t *weight = chip_local(core(), NPU_MEM_UB, 2 * ROOM);
    const uint16_t *y = chip_local(core(), NPU_MEM_UB, 3 * ROOM);
    union cmd cmd;

    for (unsigned i = 0; i < 144; i++) {
        x[i] = f32_to_f16((float)(i / 16 * 8));
    }
    for (unsigned i = 0; i < 16; i++) {
        offset[i] = (i % 8 + i / 8) * 32;
    }
    weight[0] = f32_to_f16(0.25f);
    weight[1] = f32_to_f16(0.75f);
    run_count(128);
    vector_interpolate(&cmd, &(struct vec_interpolate){.dst = 3 * ROOM,
                                                       .src = 0,
                                                       .offsets = ROOM,
                                                       .weights = 2 * ROOM,
                                                       .steps = 2,
                                                       .n = 1});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(f16_to_f32(y[i]), (float)(i / 16 * 8) + 6);
    }
}
