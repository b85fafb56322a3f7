/* SPDX-License-Identifier: MIT
 *
 * The Vector on the model: masks, counts, and what a command must not touch.
 */
#include <string.h>

#include "tests/host/rig.h"
#include "tests/host/tap.h"

static const float one = 1.0f, two = 2.0f, three = 3.0f;

static union cmd add(uint32_t dst, uint32_t x, uint32_t y)
{
    union cmd c = {.head = {.opcode = OP_VADD, .type = TYPE_F32}};

    c.vec2.dst = dst;
    c.vec2.src0 = x;
    c.vec2.src1 = y;
    c.vec2.dst_blk = c.vec2.src0_blk = c.vec2.src1_blk = 1;
    c.vec2.dst_rep = c.vec2.src0_rep = c.vec2.src1_rep = 8;
    return c;
}

static union cmd set_mask(uint64_t lo, bool counter)
{
    union cmd c = {.head = {.opcode = OP_SET_MASK, .flags = counter}};

    c.set_mask.lo = lo;
    return c;
}

static void fill(struct rig *r, uint32_t at, unsigned n, float value)
{
    for (unsigned i = 0; i < n; i++) {
        memcpy(r->npu.mem[0][NPU_MEM_UB] + at + 4 * i, &value, 4);
    }
}

static bool is(const struct rig *r, uint32_t at, float value)
{
    return memcmp(r->npu.mem[0][NPU_MEM_UB] + at, &value, 4) == 0;
}

/* With the address sanitizer this also shows that nothing behind UB is read. */
static void test_count_at_the_end_of_ub(void)
{
    struct rig r;
    uint32_t last = 196608 - 32;
    union cmd m = set_mask(7, true), c = add(0, last, last);

    rig_open(&r, 1, PROFILE_a2);
    fill(&r, last, 8, one);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && is(&r, 24, two),
       "vector/count_reaches_the_end_of_ub");
    ok(is(&r, 28, 0), "vector/not_an_element_beyond_the_count");
    c = add(last, 0, 0);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == 0 && is(&r, last, two + two) && is(&r, last + 28, one),
       "vector/destination_may_end_there_too");
    m = set_mask(9, true);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_BOUNDS, "vector/one_more_is_out_of_bounds");
    rig_close(&r);
}

/* A lane that is off is not written at all: what another engine puts there meanwhile
 * stays. The hart stores here while the command runs. */
static void test_masked_lanes(void)
{
    struct rig r;
    union cmd m = set_mask(1, false), c = add(4096, 0, 1024);

    rig_open(&r, 1, PROFILE_a2);
    c.vec2.repeat = 1;
    fill(&r, 0, 64, one);
    fill(&r, 1024, 64, two);
    rig_push(&r, 0, PIPE_V, &m);
    rig_push(&r, 0, PIPE_V, &c);
    rig_to(&r, 5);
    fill(&r, 4096, 64, one);
    rig_drain(&r);
    ok(is(&r, 4096, three), "vector/lane_that_is_on_is_written");
    ok(is(&r, 4100, one) && is(&r, 4096 + 252, one),
       "vector/lane_that_is_off_is_not_touched");
    rig_close(&r);
}

static void test_strides(void)
{
    struct rig r;
    union cmd c = add(8192, 0, 4096);

    rig_open(&r, 1, PROFILE_a2);
    fill(&r, 0, 1024, one);
    fill(&r, 4096, 1024, two);
    c.vec2.repeat = 2;
    c.vec2.dst_blk = 2;
    c.vec2.dst_rep = 16;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(is(&r, 8192 + 64, three) && is(&r, 8192 + 32, 0) &&
           is(&r, 8192 + 512 + 448, three),
       "vector/blocks_and_repeats_have_strides");
    c.vec2.dst_rep = 0;
    rig_push(&r, 0, PIPE_V, &c);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_OVERLAP &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_ERROR_ADDR)) == 8192,
       "vector/repeats_that_write_the_same_bytes_are_refused");
    rig_close(&r);
}

static void test_report_of_own_rules(void)
{
    struct rig r;
    union cmd c = add(32, 0, 4096), m = set_mask(1ull << 40, true);

    rig_open(&r, 1, PROFILE_a2);
    c.vec2.repeat = 2;
    c.vec2.src0 = 64;
    rig_push(&r, 0, PIPE_V, &c);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_OVERLAP &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_ERROR_VALUE)) == 64,
       "vector/overlap_tells_the_operand");
    rig_write(&r, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_push(&r, 0, PIPE_V, &m);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_RANGE &&
           rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_ERROR_VALUE)) == 1ull << 40,
       "vector/count_beyond_32_bits_is_refused");
    rig_close(&r);
}

int main(void)
{
    test_count_at_the_end_of_ub();
    test_masked_lanes();
    test_strides();
    test_report_of_own_rules();
    return tap_done();
}
