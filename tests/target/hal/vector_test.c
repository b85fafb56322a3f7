/* SPDX-License-Identifier: MIT
 *
 * What the Vector's commands do to UB, on the chip's last core. The hart makes operands
 * and reads sums through chip_local(); whatever lies around must stay as it was.
 */
#include <string.h>

#include "kernels/lib/f16.h"
#include "tests/target/engine.h"

enum { GUARD = 0xa5, ROOM = 8192 };

static uint8_t want[ROOM];

/* n elements at 64 of UB. */
static void check_add(enum type type, unsigned n)
{
    uint8_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    unsigned esize = type_bits(type) / 8;
    union cmd cmd;

    memset(want, GUARD, ROOM);
    for (unsigned i = 0; i < n; i++) {
        float x = (float)i * 0.37f, y = (float)i * -1.61f + 3, sum = x + y;
        uint16_t h[3] = {f32_to_f16(x), f32_to_f16(y), 0};

        h[2] = f32_to_f16(f16_to_f32(h[0]) + f16_to_f32(h[1]));
        memcpy(ub + 64 + i * esize, type == TYPE_F16 ? (void *)&h[2] : &sum, esize);
        memcpy(ub + ROOM + i * esize, type == TYPE_F16 ? (void *)&h[0] : &x, esize);
        memcpy(ub + 2 * ROOM + i * esize, type == TYPE_F16 ? (void *)&h[1] : &y, esize);
    }
    memcpy(want + 64, ub + 64, n * esize);
    memset(ub, GUARD, ROOM);
    run_count(n);
    vector_add(&cmd, type, 64, ROOM, 2 * ROOM);
    run_on(PIPE_V, &cmd);
    CHECK_BYTES(ub, want, ROOM);
}

TEST(vector, adds_any_count_of_floats)
{
    static const unsigned counts[] = {1, 7, 8, 9, 63, 64, 65, 127, 129, 1000};

    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        check_add(TYPE_F32, counts[i]);
    }
}

TEST(vector, adds_any_count_of_halves)
{
    static const unsigned counts[] = {1, 15, 16, 17, 127, 128, 129, 255, 257, 2000};

    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        check_add(TYPE_F16, counts[i]);
    }
}

TEST(vector, adds_nothing_for_a_count_of_0)
{
    check_add(TYPE_F32, 0);
}

TEST(vector, adds_in_place)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 100; i++) {
        ub[i] = (float)i;
    }
    run_count(99);
    vector_add(&cmd, TYPE_F32, 0, 0, 0);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(ub[i], (float)i * (i < 99 ? 2 : 1));
    }
}

/* Without a count, two repeats of 64 elements with every third one masked out. */
TEST(vector, masked_elements_stay)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    uint64_t mask = 0;
    union cmd cmd;

    for (unsigned i = 0; i < 64; i++) {
        mask |= (uint64_t)(i % 3 != 0) << i;
    }
    for (unsigned i = 0; i < 128; i++) {
        ub[i] = (float)i;
        ub[128 + i] = 1000;
    }
    vector_mask(&cmd, mask, 0);
    run_on(PIPE_V, &cmd);
    vector_binary_strided(&cmd, &(struct vec_binary){.op = OP_VADD,
                                                     .type = TYPE_F32,
                                                     .dst = vec_dense(512),
                                                     .x = vec_dense(0),
                                                     .y = vec_dense(0),
                                                     .repeat = 2});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(ub[128 + i], i % 64 % 3 != 0 ? 2.0f * (float)i : 1000.0f);
    }
    pipe_reset(core(), PIPE_V); /* which takes the mask away */
}

/* Rows of more than 255 blocks: strides have 16 bits. */
TEST(vector, rows_may_lie_far_apart)
{
    enum { ROWS = 8, PITCH = 509 /* blocks */ };
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned r = 0; r < ROWS; r++) {
        ub[r * PITCH * 8] = (float)r + 1;
        ub[r * PITCH * 8 + 8] = 0;
    }
    vector_mask(&cmd, 1, 0);
    run_on(PIPE_V, &cmd);
    vector_binary_strided(&cmd, &(struct vec_binary){.op = OP_VADD,
                                                     .type = TYPE_F32,
                                                     .dst = vec_repeats(32, PITCH),
                                                     .x = vec_repeats(0, PITCH),
                                                     .y = vec_repeats(0, PITCH),
                                                     .repeat = ROWS});
    run_on(PIPE_V, &cmd);
    for (unsigned r = 0; r < ROWS; r++) {
        CHECK_EQ(ub[r * PITCH * 8 + 8], 2 * ((float)r + 1));
    }
    pipe_reset(core(), PIPE_V); /* which takes the mask away */
}

/* 255 repeats: the most. Every operand has strides of its own. */
TEST(vector, operands_lie_where_they_are_told)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    const float *sum = ub + 2 * ROOM / 4;
    union cmd cmd;

    for (unsigned i = 0; i < 64 + 8; i++) {
        ub[i] = (float)i;
    }
    ub[ROOM / 4] = 1000;
    vector_mask(&cmd, 1, 0);
    run_on(PIPE_V, &cmd);
    vector_unary_strided(&cmd, &(struct vec_unary){.op = OP_VNEG,
                                                   .type = TYPE_F32,
                                                   .dst = vec_repeats(ROOM + 32, 2),
                                                   .x = vec_same_repeat(ROOM),
                                                   .repeat = 255});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 256; i++) {
        CHECK_EQ(ub[ROOM / 4 + 8 + 16 * i] == -1000, i < 255);
    }
    vector_mask(&cmd, UINT64_MAX, 0);
    run_on(PIPE_V, &cmd);
    vector_binary_strided(&cmd, &(struct vec_binary){.op = OP_VADD,
                                                     .type = TYPE_F32,
                                                     .dst = vec_dense(2 * ROOM),
                                                     .x = vec_same_repeat(0),
                                                     .y = vec_same_block(256),
                                                     .repeat = 2});
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(sum[i], (float)(i % 64 + 64 + i % 8));
    }
    vector_scalar_strided(&cmd, &(struct vec_scalar){
                                    .op = OP_VMULS,
                                    .type = TYPE_F32,
                                    .dst = vec_dense(2 * ROOM),
                                    .x = {.addr = 0, .blk = 0, .rep = 1},
                                    .scalar = 0x40000000, /* 2 */
                                    .repeat = 2,
                                });
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 128; i++) {
        CHECK_EQ(sum[i], (float)(2 * (i / 64 * 8 + i % 8)));
    }
    pipe_reset(core(), PIPE_V);
}

/* One of each kind: dst = max(x, y) by comparison and selection, then to fp16 and back.
 */
TEST(vector, compares_selects_and_converts)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 100; i++) {
        ub[i] = (float)(i % 7);
        ub[512 + i] = (float)(i % 5);
    }
    run_count(100);
    vector_compare(&cmd, TYPE_F32, CMP_GT, 8192, 0, 2048);
    run_on(PIPE_V, &cmd);
    vector_select(&cmd, TYPE_F32, 4096, 0, 2048, 8192);
    run_on(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_RINT, 12288, 4096);
    run_on(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, 4096, 12288);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(ub[1024 + i], (float)(i % 7 > i % 5 ? i % 7 : i % 5));
    }
}

/* x where x > 2, else 9: scalars, and bits in the register on their way. */
TEST(vector, compares_and_selects_with_scalars)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    const uint32_t *bits = chip_local(core(), NPU_MEM_UB, ROOM);
    union cmd cmd;

    for (unsigned i = 0; i < 64; i++) {
        ub[i] = (float)(i % 7);
    }
    vector_mask(&cmd, UINT64_MAX, 0);
    run_on(PIPE_V, &cmd);
    vector_compare_scalar(&cmd, &(struct vec_compare_scalar){
                                    .type = TYPE_F32,
                                    .cond = CMP_GT,
                                    .x = vec_dense(0),
                                    .scalar = 0x40000000, /* 2 */
                                    .repeat = 1,
                                    .flags = VCMPS_CMPMASK,
                                });
    run_on(PIPE_V, &cmd);
    vector_get_cmpmask(&cmd, ROOM);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 64; i++) {
        CHECK_EQ(bits[i / 32] >> i % 32 & 1, i % 7 > 2);
    }
    vector_set_cmpmask(&cmd, ROOM);
    run_on(PIPE_V, &cmd);
    vector_select_scalar(&cmd, &(struct vec_select_scalar){
                                   .type = TYPE_F32,
                                   .dst = vec_dense(2 * ROOM),
                                   .x = vec_dense(0),
                                   .scalar = 0x41100000, /* 9 */
                                   .repeat = 1,
                                   .flags = VSELS_CMPMASK,
                               });
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 64; i++) {
        CHECK_EQ(ub[2 * ROOM / 4 + i], i % 7 > 2 ? (float)(i % 7) : 9);
    }
    pipe_reset(core(), PIPE_V);
}

/* x where it is below y, in the second repeat of each; then as fp16. */
TEST(vector, compares_selects_and_converts_with_strides)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    const uint16_t *half = chip_local(core(), NPU_MEM_UB, 3 * ROOM);
    union cmd cmd;

    for (unsigned i = 0; i < 256; i++) {
        ub[i] = (float)i;
        ub[ROOM / 4 + i % 64] = 70;
    }
    vector_mask(&cmd, UINT64_MAX, 0);
    run_on(PIPE_V, &cmd);
    vector_compare_strided(&cmd, &(struct vec_compare){.type = TYPE_F32,
                                                       .cond = CMP_LT,
                                                       .dst = 2 * ROOM,
                                                       .x = vec_repeats(0, 16),
                                                       .y = vec_same_repeat(ROOM),
                                                       .repeat = 2});
    run_on(PIPE_V, &cmd);
    vector_select_strided(&cmd, &(struct vec_select){.type = TYPE_F32,
                                                     .dst = vec_repeats(0, 16),
                                                     .x = vec_repeats(0, 16),
                                                     .y = vec_same_repeat(ROOM),
                                                     .bits = 2 * ROOM,
                                                     .repeat = 2});
    run_on(PIPE_V, &cmd);
    vector_convert_strided(&cmd, &(struct vec_convert){
                                     .from = TYPE_F32,
                                     .to = TYPE_F16,
                                     .round = ROUND_RINT,
                                     .dst = vec_dense_of(3 * ROOM, 16, 32),
                                     .x = vec_dense(0),
                                     .repeat = 3,
                                 });
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 192; i++) {
        CHECK_EQ(f16_to_f32(half[i]), (float)(i < 128 ? i : 70));
    }
    pipe_reset(core(), PIPE_V);
}

TEST(vector, adds_and_converts_at_once)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    const uint16_t *half = chip_local(core(), NPU_MEM_UB, ROOM);
    union cmd cmd;

    for (unsigned i = 0; i < 100; i++) {
        ub[i] = (float)i - 50;
    }
    run_count(100);
    vector_binary_convert(&cmd, &(struct vec_binary_convert){
                                    .op = OP_VADDRELUCONV,
                                    .from = TYPE_F32,
                                    .to = TYPE_F16,
                                    .dst = vec_dense_of(ROOM, 16, 32),
                                    .x = vec_dense(0),
                                    .y = vec_dense(0),
                                });
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 100; i++) {
        CHECK_EQ(f16_to_f32(half[i]), i < 50 ? 0 : 2 * (float)i - 100);
    }
}

TEST(vector, scalar_and_unary_commands)
{
    float *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    for (unsigned i = 0; i < 70; i++) {
        ub[i] = (float)i;
    }
    run_count(70);
    vector_scalar(&cmd, OP_VADDS, TYPE_F32, 4096, 0, 0x40000000); /* 2 */
    run_on(PIPE_V, &cmd);
    vector_unary(&cmd, OP_VNEG, TYPE_F32, 4096, 4096);
    run_on(PIPE_V, &cmd);
    vector_unary(&cmd, OP_VEXP, TYPE_F32, 8192, 0);
    run_on(PIPE_V, &cmd);
    for (unsigned i = 0; i < 70; i++) {
        CHECK_EQ(ub[1024 + i], -(float)i - 2);
    }
    CHECK_EQ(ub[2048], 1.0f);
}

/* As a quantised layer ends: int32 sums times a scale, relu, to four bits and back. */
TEST(vector, scales_integers_and_packs_nibbles)
{
    int32_t *x = chip_local(core(), NPU_MEM_UB, 0);
    int32_t *y = chip_local(core(), NPU_MEM_UB, ROOM);
    const uint16_t *back = chip_local(core(), NPU_MEM_UB, 4 * ROOM);
    union cmd cmd;

    if (!chip_has_type(PIPE_V, TYPE_S4)) {
        test_skip("no S4 in this chip's Vector");
        return;
    }
    for (int i = 0; i < 100; i++) {
        x[i] = i * 16;
        y[i] = -320;
    }
    run_count(100);
    vector_deq_scale(&cmd, 0x2c00); /* 1/16 */
    run_on(PIPE_V, &cmd);
    vector_binary(&cmd, OP_VADDDEQRELU, TYPE_S32, 2 * ROOM, 0, ROOM);
    run_on(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_F16, TYPE_S4, ROUND_RINT, 3 * ROOM, 2 * ROOM);
    run_on(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_S4, TYPE_F16, ROUND_RINT, 4 * ROOM, 3 * ROOM);
    run_on(PIPE_V, &cmd);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(f16_to_f32(back[i]), i < 20 ? 0 : i > 27 ? 7 : i - 20);
    }
}

TEST(vector, converts_to_64_bits_and_back)
{
    float *x = chip_local(core(), NPU_MEM_UB, 0);
    const int64_t *wide = chip_local(core(), NPU_MEM_UB, ROOM);
    const float *back = chip_local(core(), NPU_MEM_UB, 3 * ROOM);
    union cmd cmd;

    for (int i = 0; i < 70; i++) {
        x[i] = (float)(i - 35) * 1e12f;
    }
    run_count(70);
    vector_convert(&cmd, TYPE_F32, TYPE_S64, ROUND_RINT, ROOM, 0);
    run_on(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_S64, TYPE_F32, ROUND_RINT, 3 * ROOM, ROOM);
    run_on(PIPE_V, &cmd);
    for (int i = 0; i < 70; i++) {
        CHECK_EQ(wide[i], (int64_t)x[i]);
        CHECK_EQ(back[i], x[i]);
    }
}

/* 60000 + 60000 in fp16. */
TEST(vector, saturates_where_it_is_told_to)
{
    uint16_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    ub[0] = f32_to_f16(60000);
    run_count(1);
    for (unsigned i = 0; i < 2; i++) {
        cmd_saturate(&cmd, i);
        run_on(PIPE_V, &cmd);
        vector_add(&cmd, TYPE_F16, ROOM, 0, 0);
        run_on(PIPE_V, &cmd);
        CHECK_EQ(ub[ROOM / 2], i ? 0x7bff : 0x7c00);
    }
    cmd_saturate(&cmd, false);
    run_on(PIPE_V, &cmd);
}

/* Two commands fill each block of bytes: even blocks of S16 below, odd ones above. */
TEST(vector, quantises_to_bytes)
{
    int16_t *x = chip_local(core(), NPU_MEM_UB, 0);
    const uint8_t *y = chip_local(core(), NPU_MEM_UB, ROOM);
    union cmd cmd;

    for (int i = 0; i < 256; i++) {
        x[i] = (int16_t)(i * 8 - 1000);
    }
    run_count(128);
    vector_set_deq(&cmd, vector_deq_word(0.125f, 100, false));
    run_on(PIPE_V, &cmd);
    for (unsigned upper = 0; upper < 2; upper++) {
        vector_quantise(&cmd, &(struct vec_quantise){
                                  .dst = vec_dense(ROOM),
                                  .x = {.addr = 32 * upper, .blk = 2, .rep = 16},
                                  .flags = upper ? VDEQ_HIGH : 0,
                              });
        run_on(PIPE_V, &cmd);
    }
    for (int i = 0; i < 256; i++) {
        CHECK_EQ(y[i], i < 25 ? 0 : i - 25);
    }
}
