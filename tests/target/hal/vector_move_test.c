/* SPDX-License-Identifier: MIT
 *
 * Reductions, moves, gather and sort as a kernel would chain them, on the chip's last
 * core. What each command does in every mode is tested on the host.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/vector.h"
#include "hal/vector_move.h"
#include "tests/target/test.h"

static unsigned core(void)
{
    return chip_cores() - 1;
}

static void push(const union cmd *cmd)
{
    CHECK_OK(pipe_push(core(), PIPE_V, cmd));
}

static void wait(void)
{
    for (unsigned i = 0; !pipe_idle(core(), PIPE_V); i++) {
        CHECK(i < 100000);
    }
}

static void count(uint32_t n)
{
    union cmd cmd;

    vector_count(&cmd, n);
    push(&cmd);
}

/* 1 + 2 + ... + 1000: numbered by VCI, 16 partial sums, their sum. */
TEST(vector_move, sum_of_a_vector)
{
    const float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    count(1000);
    vector_fill(&cmd, OP_VCI, TYPE_F32, 0, 0x3f800000);
    push(&cmd);
    vector_reduce(&cmd, OP_VCADD, TYPE_F32, 8192, 0);
    push(&cmd);
    count(16);
    vector_reduce(&cmd, OP_VCADD, TYPE_F32, 12288, 8192);
    push(&cmd);
    wait();
    CHECK_EQ(ub[8192 / 4], 2080.0f); /* 1 to 64 */
    CHECK_EQ(ub[12288 / 4], 500500.0f);
    pipe_reset(core(), PIPE_V);
}

/* 128 values, sorted by 32 and merged; then the three largest by a mask of bits, and the
 * value at each index gathered again. */
TEST(vector_move, top_of_128)
{
    uint32_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    float *value = (float *)ub;
    union cmd cmd;

    for (unsigned i = 0; i < 128; i++) {
        value[i] = (float)(i * 37 % 128);
    }
    count(128);
    vector_fill(&cmd, OP_VCI, TYPE_S32, 1024, 0);
    push(&cmd);
    vector_sort32(&cmd, TYPE_F32, 2048, 0, 1024, 4);
    push(&cmd);
    vector_merge4(&cmd, TYPE_F32, 4096, 2048, 32);
    push(&cmd);
    wait();
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(value[1024 + 2 * i], 127.0f - (float)i);
        CHECK_EQ(ub[1024 + 2 * i + 1] * 37 % 128, 127 - i);
    }
    ub[2048] = 0x2a; /* elements 1, 3 and 5: indices of the first three */
    count(6);
    vector_compact(&cmd, TYPE_S32, 12288, 4096, 8192);
    push(&cmd);
    vector_get_count(&cmd, 16384);
    push(&cmd);
    wait();
    CHECK_EQ(ub[4096], 3u);
    for (unsigned i = 0; i < 3; i++) {
        ub[3072 + i] *= 4; /* to offsets */
    }
    count(3);
    vector_gather(&cmd, TYPE_F32, 20480, 0, 12288);
    push(&cmd);
    wait();
    CHECK_EQ(value[5120], 127.0f);
    CHECK_EQ(value[5121], 126.0f);
    CHECK_EQ(value[5122], 125.0f);
    pipe_reset(core(), PIPE_V);
}

/* The hart is told which offset was wrong, and nothing was written. */
TEST(vector_move, wrong_offset_is_reported)
{
    uint32_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    struct fault fault;
    union cmd cmd;

    memset(ub, 0, 4096);
    ub[1] = 0x40000000;
    count(8);
    vector_gather(&cmd, TYPE_S32, 2048, 0, 0);
    push(&cmd);
    while (core_in_flight(core())) {
    }
    CHECK(core_fault(core(), &fault));
    CHECK_EQ(fault.code, (unsigned)NPU_ERR_OFFSET);
    CHECK_EQ(fault.field, (unsigned)offsetof(struct cmd_vec_gather, offsets));
    CHECK_EQ(fault.value, 0x40000000u);
    CHECK_EQ(ub[512], 0u);
    pipe_reset(core(), PIPE_V);
}
