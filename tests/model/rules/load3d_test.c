/* SPDX-License-Identifier: MIT
 *
 * LOAD3D and its special registers: rules, what does nothing, costs, resets, snapshots.
 * What it moves: load3d_test.c.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rules/rule.h"
#include "tests/test.h"

enum { AREA = 65536 };

static uint8_t untouched[AREA]; /* what L0A holds if nothing happens */

static void start(void)
{
    fresh();
    noise(mem(NPU_MEM_L1), npu_mem_size(PROFILE_a2, NPU_MEM_L1));
    memset(untouched, 0xa5, AREA);
    memset(mem(NPU_MEM_L0A), 0xa5, AREA);
}

static void set_repeat(unsigned stride, unsigned times, unsigned mode)
{
    union cmd c = rig_command(OP_SET_LOAD3D_REPEAT, TYPE_NONE);

    c.set_load3d_repeat.stride = (uint16_t)stride;
    c.set_load3d_repeat.times = (uint8_t)times;
    c.set_load3d_repeat.mode = (uint8_t)mode;
    run(c);
}

static void set_boundary(uint32_t bytes)
{
    union cmd c = rig_command(OP_SET_LOAD3D_BOUNDARY, TYPE_NONE);

    c.set_load3d_boundary.bytes = bytes;
    run(c);
}

static bool l0a_untouched(void)
{
    return memcmp(mem(NPU_MEM_L0A), untouched, AREA) == 0;
}

/* MTE1 has stopped with this code, field and value; no byte of L0A has changed. */
static bool stopped(unsigned code, size_t field, uint64_t value)
{
    return rig_stopped(&rig, PIPE_MTE1, code, (unsigned)field) &&
           rig_read(&rig, 0, rig_pipe(PIPE_MTE1, PIPE_ERROR_VALUE)) == value &&
           l0a_untouched();
}

/* clang-format off */
static const struct rule rules[] = {
    {"a_filter_higher_than_the_map", OP_LOAD3D_L0A, WRONG(load3d, filter_h, 12, RANGE)},
    {"a_filter_wider_than_the_map", OP_LOAD3D_L0A, WRONG(load3d, filter_w, 14, RANGE)},
    {"a_filter_height_of_512", OP_LOAD3D_L0A, WRONG(load3d, filter_h, 512, RANGE)},
    {"a_filter_width_of_512", OP_LOAD3D_L0A, WRONG(load3d, filter_w, 512, RANGE)},
    {"a_map_of_32768_rows", OP_LOAD3D_L0A, WRONG(load3d, map_h, 32768, RANGE)},
    {"a_map_of_32768_columns", OP_LOAD3D_L0A, WRONG(load3d, map_w, 32768, RANGE)},
    {"a_stride_h_of_64", OP_LOAD3D_L0A, WRONG(load3d, stride_h, 64, RANGE)},
    {"a_stride_w_of_64", OP_LOAD3D_L0A, WRONG(load3d, stride_w, 64, RANGE)},
    {"a_stride_h_of_0", OP_LOAD3D_L0A, WRONG(load3d, stride_h, 0, RANGE)},
    {"a_stride_w_of_0", OP_LOAD3D_L0A, WRONG(load3d, stride_w, 0, RANGE)},
    {"a_dilation_h_of_0", OP_LOAD3D_L0A, WRONG(load3d, dilation_h, 0, RANGE)},
    {"a_dilation_w_of_0", OP_LOAD3D_L0A, WRONG(load3d, dilation_w, 0, RANGE)},
    {"a_start_inside_a_block", OP_LOAD3D_L0A, WRONG(load3d, k_start, 8, ALIGN)},
    {"a_part_of_a_block", OP_LOAD3D_L0A, WRONG(load3d, k_len, 24, ALIGN)},
    {"columns_beyond_the_last", OP_LOAD3D_L0A, WRONG(load3d, k_len, 19 * 16, RANGE)},
    {"a_start_behind_the_last_row", OP_LOAD3D_L0A, WRONG(load3d, m_start, 99, RANGE)},
    {"an_unaligned_destination", OP_LOAD3D_L0A, WRONG(load3d, dst, 256, ALIGN)},
    {"an_unaligned_source", OP_LOAD3D_L0A, WRONG(load3d, src, 16, ALIGN)},
    {"3_channels", OP_LOAD3D_L0A, WRONG(load3d, channels, 3, ALIGN)},
    {"12_channels", OP_LOAD3D_L0A, WRONG(load3d, channels, 12, ALIGN)},
    {"18_channels", OP_LOAD3D_L0A, WRONG(load3d, channels, 18, ALIGN)},
};
/* clang-format on */

static union cmd good(const struct rule *rule)
{
    return rig_load3d(rule->op, TYPE_F16);
}

TEST(load3d, rules)
{
    check_rules("load3d/refuses_", rules, LENGTH(rules), good, NULL);
}

/* Where the value of the error is the end of the access. */
TEST(load3d, bounds)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);

    c.load3d.src = 524288 - 32;
    start();
    run(c);
    /* m 0 to 49: map rows 0 to 5 of block 0 */
    ok(stopped(NPU_ERR_BOUNDS, offsetof(struct cmd_load3d, src),
               524288 - 32 + 6 * 11 * 32),
       "load3d/refuses_a_map_beyond_l1");
    c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
    c.load3d.dst = 65536 - 512;
    start();
    run(c);
    ok(stopped(NPU_ERR_BOUNDS, offsetof(struct cmd_load3d, dst),
               65536 - 512 + 4 * 9 * 512),
       "load3d/refuses_more_than_l0a_holds");
    c.load3d.dst = 0;
    start();
    set_repeat(0, 4, LOAD3D_ALONG_M); /* 4 x 18 KiB */
    run(c);
    ok(stopped(NPU_ERR_BOUNDS, offsetof(struct cmd_load3d, dst), 4 * 4 * 9 * 512),
       "load3d/refuses_more_iterations_than_l0a_holds");
}

/* Channels behind the whole blocks: only some numbers of them. */
TEST(load3d, channels)
{
    static const struct {
        enum type type;
        unsigned c0, legal[3];
    } t[] = {{TYPE_F32, 8, {4}},        {TYPE_S32, 8, {4}},
             {TYPE_F16, 16, {4, 8}},    {TYPE_S16, 16, {4, 8}},
             {TYPE_S8, 32, {4, 8, 16}}, {TYPE_U8, 32, {4, 8, 16}},
             {TYPE_S4, 64, {8, 16, 32}}};

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        bool good = true;

        for (unsigned n = 1; n < 2 * t[i].c0; n++) {
            union cmd c = rig_load3d(OP_LOAD3D_L0A, t[i].type);
            unsigned part = n % t[i].c0;
            bool legal = part == 0;

            for (unsigned j = 0; j < 3; j++) {
                legal = legal || part == t[i].legal[j];
            }
            c.load3d.channels = (uint16_t)n;
            c.load3d.k_len = (uint16_t)t[i].c0;
            start();
            run(c);
            good = good && (legal ? rig_error(&rig, 0, PIPE_MTE1) == 0 && !l0a_untouched()
                                  : stopped(NPU_ERR_ALIGN,
                                            offsetof(struct cmd_load3d, channels), n));
        }
        ok(good, "load3d/takes_only_some_numbers_of_channels_%u", i);
    }
}

TEST(load3d, repeat_rules)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);

    start();
    set_repeat(2, 5, LOAD3D_ALONG_M); /* the last begins at row 128 of 99 */
    c.load3d.m_len = 16;
    c.load3d.k_len = 16;
    run(c);
    ok(stopped(NPU_ERR_RANGE, offsetof(struct cmd_load3d, m_start), 0),
       "load3d/refuses_an_iteration_behind_the_last_row");
    start();
    set_repeat(2, 4, LOAD3D_ALONG_M); /* at row 96 */
    run(c);
    ok(rig_error(&rig, 0, PIPE_MTE1) == 0, "load3d/takes_an_iteration_at_the_last_rows");
    start();
    set_repeat(9, 3, LOAD3D_ALONG_K); /* the last has column block 18 of 18 */
    run(c);
    ok(stopped(NPU_ERR_RANGE, offsetof(struct cmd_load3d, k_len), 16),
       "load3d/refuses_an_iteration_behind_the_last_column");
    start();
    set_repeat(8, 3, LOAD3D_ALONG_K);
    run(c);
    ok(rig_error(&rig, 0, PIPE_MTE1) == 0,
       "load3d/takes_an_iteration_at_the_last_columns");
}

/* One field of a good command is 0. */
TEST(load3d, nothing)
{
    static const struct {
        const char *name;
        unsigned offset, size;
    } t[] = {
        {"map_h", MEMBER(load3d, map_h)},       {"map_w", MEMBER(load3d, map_w)},
        {"channels", MEMBER(load3d, channels)}, {"k_len", MEMBER(load3d, k_len)},
        {"m_len", MEMBER(load3d, m_len)},       {"filter_h", MEMBER(load3d, filter_h)},
        {"filter_w", MEMBER(load3d, filter_w)}};

    rig_prices(TIMING_v1);
    for (unsigned i = 0; i <= sizeof(t) / sizeof(t[0]); i++) {
        union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
        uint64_t before;

        start();
        c.load3d.m_start = 4000; /* wrong, but not looked at */
        c.load3d.src = 524288 - 32;
        if (i < sizeof(t) / sizeof(t[0])) {
            memset(c.bytes + t[i].offset, 0, t[i].size);
        } else {
            set_repeat(1, 0, LOAD3D_ALONG_M);
        }
        before = rig.now;
        run(c);
        ok(rig_error(&rig, 0, PIPE_MTE1) == 0 && l0a_untouched() &&
               rig.now - before == 23,
           "load3d/does_nothing_with_0_in_%s",
           i < sizeof(t) / sizeof(t[0]) ? t[i].name : "repeat");
    }
}

/* What SET_LOAD3D_REPEAT and SET_LOAD3D_BOUNDARY refuse. */
TEST(load3d, registers)
{
    static const struct {
        const char *name;
        uint32_t bytes;
        unsigned code;
    } t[] = {{"below_1024", 992, NPU_ERR_RANGE},
             {"inside_a_block", 1040, NPU_ERR_ALIGN},
             {"beyond_l1", 524288 + 32, NPU_ERR_RANGE}};
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);

    for (unsigned i = 0; i < 3; i++) {
        start();
        set_boundary(t[i].bytes);
        ok(stopped(t[i].code, offsetof(struct cmd_set_load3d_boundary, bytes),
                   t[i].bytes),
           "load3d/refuses_a_boundary_%s", t[i].name);
    }
    start();
    set_boundary(1024);
    set_boundary(524288);
    set_boundary(0);
    ok(rig_error(&rig, 0, PIPE_MTE1) == 0,
       "load3d/boundaries_from_1024_to_the_size_of_l1");
    set_repeat(0, 1, 2);
    ok(stopped(NPU_ERR_RANGE, offsetof(struct cmd_set_load3d_repeat, mode), 2),
       "load3d/refuses_a_third_direction");
    start();
    set_boundary(2048);
    c.load3d.src = 2048;
    run(c);
    ok(stopped(NPU_ERR_BOUNDS, offsetof(struct cmd_load3d, src), 2048),
       "load3d/refuses_a_map_that_begins_at_the_boundary");
}

TEST(load3d, costs)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
    uint32_t read = rig_pipe(PIPE_MTE1, PMU_BYTES_READ);
    uint64_t before;

    rig_prices(TIMING_v1);
    start();
    before = rig.now;
    set_repeat(1, 3, LOAD3D_ALONG_M);
    set_boundary(2048);
    ok(rig.now - before == 2, "load3d/its_registers_cost_a_cycle_each");
    start();
    c.load3d.m_len = 16;
    set_repeat(1, 3, LOAD3D_ALONG_M);
    ok(cycles_of(c) == 23 + 54,
       "load3d/iterations_cost_their_bytes"); /* 3 * 9 * 512 / 256 */
    start();
    set_repeat(1, 3, LOAD3D_ALONG_M); /* rows 0 to 47 are map rows 0 to 5, of one block */
    before = rig_read(&rig, 0, read);
    run(c);
    ok(rig_read(&rig, 0, read) - before == 6 * 11 * 32,
       "load3d/iterations_read_what_lies_between_them_once");
    start();
    c.load3d.channels = 4; /* and the boundary behind map row 1 */
    c.load3d.k_len = 36;
    c.load3d.m_len = 50;
    c.load3d.src = 2048 - 2 * 11 * 8 + 16;
    c.load3d.src -= c.load3d.src % 32;
    set_boundary(2048);
    before = rig_read(&rig, 0, read);
    ok(cycles_of(c) == 23 + 24,
       "load3d/few_channels_cost_their_bytes"); /* 4 * 3 * 512 / 256 */
    ok(rig_read(&rig, 0, read) - before == 6 * 11 * 8,
       "load3d/few_channels_read_their_bytes");
}

/* Loads with what the registers hold; true if L0A then is as in `as`, or keeps it there.
 */
static bool loads(uint8_t *as, bool keep)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
    uint8_t *l0a = mem(NPU_MEM_L0A);

    c.load3d.m_len = 16;
    c.load3d.src = 2048 - 320;
    memset(l0a, 0xa5, AREA);
    run(c);
    if (keep) {
        memcpy(as, l0a, AREA);
    }
    return rig_error(&rig, 0, PIPE_MTE1) == 0 && memcmp(as, l0a, AREA) == 0;
}

/* A map that is longer than what the boundary leaves: as if L1 repeated. */
TEST(load3d, around_twice)
{
    union cmd c = rig_load3d(OP_LOAD3D_L0A, TYPE_F16);
    uint8_t *l1 = mem(NPU_MEM_L1), *l0a = mem(NPU_MEM_L0A);
    uint32_t read = rig_pipe(PIPE_MTE1, PMU_BYTES_READ);
    uint64_t before;

    c.load3d.src = 512;
    start();
    for (unsigned i = 1024; i < 8192; i++) {
        l1[i] = l1[i - 1024];
    }
    run(c);
    memcpy(untouched, l0a, AREA);
    memset(l0a, 0xa5, AREA);
    memset(l1 + 1024, 0xee, 8192); /* not read any more */
    set_boundary(1024);
    before = rig_read(&rig, 0, read);
    run(c);
    ok(l0a_untouched() && rig_read(&rig, 0, read) - before == 1024,
       "load3d/goes_around_more_than_once");
}

/* A reset makes it one iteration without a boundary; a copy of the state keeps both. */
TEST(load3d, state)
{
    static uint8_t fresh[AREA], again[AREA], around[AREA];
    void *state = malloc(npu_state_size());

    start();
    loads(fresh, true);
    set_repeat(1, 2, LOAD3D_ALONG_M);
    loads(again, true);
    set_boundary(2048);
    loads(around, true);
    ok(memcmp(fresh, again, AREA) != 0 && memcmp(again, around, AREA) != 0,
       "load3d/registers_change_the_load");
    memcpy(state, rig.npu.s, npu_state_size());
    rig_write(&rig, 0, rig_pipe(PIPE_MTE1, PIPE_CTRL), PIPE_CTRL_RESET);
    ok(loads(fresh, false), "load3d/a_reset_sets_its_registers_back");
    memcpy(rig.npu.s, state, npu_state_size());
    ok(npu_restored(&rig.npu, &rig.config, rig.now) && loads(around, false),
       "load3d/a_snapshot_holds_its_registers");
    free(state);
}
