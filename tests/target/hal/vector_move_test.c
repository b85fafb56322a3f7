/* SPDX-License-Identifier: MIT
 *
 * Fills, copies and transpositions as a kernel uses them, on the chip's last core. Every
 * case of the commands: tests/model/vector/move_test.c.
 */
#include "hal/vector_move.h"
#include "tests/target/engine.h"

enum { ROOM = 8192 };

/* Numbers from 0 on, n of them. */
static const uint32_t *numbers(uint32_t n)
{
    union cmd cmd;

    run_count(n);
    vector_fill(&cmd, OP_VCI, TYPE_S32, 0, 0);
    run_on(PIPE_V, &cmd);
    return chip_local(core(), NPU_MEM_UB, 0);
}

TEST(vector_move, copies_what_is_counted)
{
    const uint32_t *x = numbers(100), *y = x + ROOM / 4;
    union cmd cmd;

    vector_fill(&cmd, OP_VDUP, TYPE_S32, ROOM, 7);
    run_on(PIPE_V, &cmd);
    run_count(99);
    vector_copy(&cmd, TYPE_S32, ROOM, 0);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(y[i], i < 99 ? i : 7);
    }
    pipe_reset(core(), PIPE_V);
}

/* The first block in every block; then every second one. */
TEST(vector_move, copies_blocks_with_strides)
{
    const uint32_t *x = numbers(256), *y = x + ROOM / 4;
    struct vec_copy copy = {
        .type = TYPE_S32, .dst = vec_dense(ROOM), .x = vec_same_block(0), .repeat = 2};
    union cmd cmd;

    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    run_on(PIPE_V, &cmd);
    vector_copy_strided(&cmd, &copy);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(y[i], i % 8);
    }
    copy.x = (struct vec_at){.addr = 0, .blk = 2, .rep = 16};
    vector_copy_strided(&cmd, &copy);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(y[i], i / 8 * 16 + i % 8);
    }
    pipe_reset(core(), PIPE_V);
}

TEST(vector_move, fills_repeats_that_lie_apart)
{
    const uint32_t *x = numbers(256);
    union cmd cmd;

    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    run_on(PIPE_V, &cmd);
    vector_fill_strided(&cmd, &(struct vec_fill){.op = OP_VDUP,
                                                 .type = TYPE_S32,
                                                 .dst = vec_repeats(0, 16),
                                                 .bits = 1000,
                                                 .repeat = 2});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 256; i++) {
        CHECK_EQ(x[i], i / 64 % 2 ? i : 1000);
    }
    pipe_reset(core(), PIPE_V);
}

TEST(vector_move, broadcasts_elements_to_blocks)
{
    const uint32_t *x = numbers(16), *y = x + ROOM / 4;
    union cmd cmd;

    vector_broadcast(&cmd, TYPE_S32, ROOM, 0, 2);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(y[i], i / 8);
    }
    pipe_reset(core(), PIPE_V);
}

/* By one command, and by the blocks' addresses: two matrices side by side. */
TEST(vector_move, transposes)
{
    uint16_t *x = chip_local(core(), NPU_MEM_UB, 0);
    const uint16_t *one = x + ROOM / 2, *two = x + 2 * ROOM / 2;
    uint16_t rows[16], columns[16];
    union cmd cmd;

    for (unsigned i = 0; i < 512; i++) {
        x[i] = (uint16_t)i; /* 16 rows of 32 */
        rows[i / 32] = (uint16_t)(i / 32 * 2);
        columns[i / 32] = (uint16_t)(2 * ROOM / 32 + i / 32);
    }
    vector_transpose(&cmd, TYPE_S16, ROOM, 0);
    run_on(PIPE_V, &cmd);
    vector_addresses(&cmd, rows, false);
    run_on(PIPE_V, &cmd);
    vector_addresses(&cmd, columns, true);
    run_on(PIPE_V, &cmd);
    vector_transdata(&cmd,
                     &(struct vec_transdata){
                         .type = TYPE_S16, .repeat = 2, .dst_rep = 16, .src_rep = 1});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 512; i++) {
        if (i < 256) {
            CHECK_EQ(one[i], i % 16 * 16 + i / 16);
        }
        CHECK_EQ(two[i], i % 16 * 32 + i / 16);
    }
}

TEST(vector_move, interleaves_and_takes_apart)
{
    const uint32_t *x = numbers(256);
    struct vec_pairs pairs = {.op = OP_VINTLV,
                              .type = TYPE_S32,
                              .dst0 = ROOM,
                              .dst1 = ROOM + 512,
                              .src0 = 0,
                              .src1 = 512,
                              .n = 128};
    union cmd cmd;

    vector_pairs(&cmd, &pairs);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 256; i++) {
        CHECK_EQ(x[ROOM / 4 + i], i / 2 + i % 2 * 128);
    }
    pairs.op = OP_VDINTLV;
    pairs.src0 = ROOM;
    pairs.src1 = ROOM + 512;
    pairs.dst0 = 2 * ROOM;
    pairs.dst1 = 2 * ROOM + 512;
    vector_pairs(&cmd, &pairs);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 256; i++) {
        CHECK_EQ(x[2 * ROOM / 4 + i], i);
    }
    pipe_reset(core(), PIPE_V);
}

TEST(vector_move, multiplies_to_64_bits)
{
    int32_t *n = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    n[0] = -123456789;
    n[8] = 987654321;
    vector_pairs(&cmd, &(struct vec_pairs){.op = OP_VMULL,
                                           .type = TYPE_S32,
                                           .dst0 = 64,
                                           .dst1 = 96,
                                           .src0 = 0,
                                           .src1 = 32,
                                           .n = 1});
    run_on(PIPE_V, &cmd);
    CHECK_EQ((int64_t)(((uint64_t)(uint32_t)n[24] << 32) | (uint32_t)n[16]),
             -123456789ll * 987654321);
}
