/* SPDX-License-Identifier: MIT
 *
 * Unit flags: the fixpipe follows the Cube through marks in L0C, without a semaphore.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { EVENTS = 256, OUT = 1 << 20 };

static struct rig r;
static struct npu_host host;
static struct {
    unsigned pipe;
    uint64_t begin, end;
} events[EVENTS];
static unsigned n_events;

static void note(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (e->what == NPU_ENDS && n_events < EVENTS) {
        events[n_events].pipe = e->pipe;
        events[n_events].begin = e->begin;
        events[n_events++].end = e->end;
    }
}

/* L0A and L0B full of small fp16 numbers. */
static void open_rig(void)
{
    rig_prices(TIMING_v1);
    rig_open(&r, 1, PROFILE_a2);
    host = *r.npu.host;
    host.event = note;
    r.npu.host = &host;
    n_events = 0;
    for (unsigned i = 0; i < 65536; i += 2) {
        uint16_t a = (uint16_t)(0x3400 + i * 37 % 0x400),
                 b = (uint16_t)(0x3400 + i * 91 % 0x7ff);
        memcpy(r.npu.mem[0][NPU_MEM_L0A] + i, &a, 2);
        memcpy(r.npu.mem[0][NPU_MEM_L0B] + i, &b, 2);
    }
}

static union cmd mmad(uint32_t dst, unsigned m, unsigned n, unsigned k, unsigned unit)
{
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    c.head.flags = MMAD_INIT;
    c.mmad.dst = dst;
    c.mmad.m = (uint16_t)m;
    c.mmad.n = (uint16_t)n;
    c.mmad.k = (uint16_t)k;
    c.mmad.unit = (uint8_t)unit;
    return c;
}

/* m x n of a tile whose column blocks are `rows` apart, as rows of fp32 in GM. */
static union cmd fix(uint64_t to, uint32_t src, unsigned m, unsigned n, unsigned rows,
                     unsigned unit)
{
    union cmd c = rig_command(OP_FIX_L0C_GM, TYPE_F32);

    c.fix_gm.dst = RIG_GM_BASE + to;
    c.fix_gm.src = src;
    c.fix_gm.m = (uint16_t)m;
    c.fix_gm.n = (uint16_t)n;
    c.fix_gm.nd_num = 1;
    c.fix_gm.dst_pitch = n;
    c.fix_gm.src_c0_stride = (uint16_t)rows;
    c.fix_gm.unit = (uint8_t)unit;
    return c;
}

static void push(enum pipe pipe, union cmd c)
{
    rig_push(&r, 0, pipe, &c);
}

static unsigned marks(void)
{
    unsigned n = 0;

    for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
        n += (unsigned)__builtin_popcountll(rig_read(&r, 0, UNIT_MARK + 8 * w));
    }
    return n;
}

static bool waits_for_units(enum pipe pipe)
{
    uint64_t status = rig_read(&r, 0, rig_pipe(pipe, PIPE_STATUS));

    return field_get(PIPE_STATUS_STATE, status) == PIPE_WAITING &&
           field_get(PIPE_STATUS_UNITS, status);
}

static uint64_t end_of(enum pipe pipe)
{
    uint64_t end = 0;

    for (unsigned i = 0; i < n_events; i++) {
        end = events[i].pipe == pipe && events[i].end > end ? events[i].end : end;
    }
    return end;
}

static uint64_t begin_of(enum pipe pipe)
{
    uint64_t begin = UINT64_MAX;

    for (unsigned i = 0; i < n_events; i++) {
        begin =
            events[i].pipe == pipe && events[i].begin < begin ? events[i].begin : begin;
    }
    return begin;
}

/* --- one tile --- */

/* 128 x 128 x 256: 62 + 1024 cycles; FIX alone: 65536 / 117 = 561. */
TEST(unit, follows)
{
    uint8_t *by_semaphore = r.gm + OUT;
    union cmd m, f;

    open_rig();
    by_semaphore = r.gm + OUT;
    m = mmad(0, 128, 128, 256, UNIT_NONE);
    f = fix(OUT, 0, 128, 128, 128, UNIT_NONE);
    m.head.post_n[0] = f.head.wait_n[0] = 1;
    push(PIPE_FIX, f);
    push(PIPE_M, m);
    rig_drain(&r);
    ok(end_of(PIPE_FIX) == 1086 + 561, "unit/by_semaphore_one_after_the_other");
    memset(r.npu.mem[0][NPU_MEM_L0C], 0xa5, 65536);
    n_events = 0;
    rig_to(&r, 10000);
    push(PIPE_FIX, fix(0, 0, 128, 128, 128, UNIT_PASS));
    ok(waits_for_units(PIPE_FIX), "unit/the_fixpipe_waits_for_marks");
    push(PIPE_M, mmad(0, 128, 128, 256, UNIT_PASS));
    ok(marks() == 128 && waits_for_units(PIPE_FIX), "unit/a_mark_for_each_512_bytes");
    rig_drain(&r);
    ok(memcmp(r.gm, by_semaphore, 65536) == 0, "unit/gives_the_same_bytes");
    ok(begin_of(PIPE_FIX) == 10000 + 62 + 8, "unit/begins_with_the_first_unit");
    /* the last unit is there when the Cube ends; its read follows */
    ok(end_of(PIPE_M) == 11086 && end_of(PIPE_FIX) == 11086 + 5,
       "unit/ends_behind_the_last_unit");
    ok(marks() == 0, "unit/gives_the_units_back");
    rig_close(&r);
}

/* The fixpipe is the slower one: it is not held up behind its first unit. */
TEST(unit, slow_fixpipe)
{
    open_rig();
    push(PIPE_FIX, fix(0, 0, 128, 128, 128, UNIT_PASS));
    push(PIPE_M, mmad(0, 128, 128, 16, UNIT_PASS));
    rig_drain(&r);
    ok(begin_of(PIPE_FIX) == 62 + 1 && end_of(PIPE_FIX) == 63 + 561,
       "unit/a_slow_fixpipe_takes_its_own_time");
    rig_close(&r);
}

/* Two halves, the first before the Cube has ended. */
TEST(unit, halves)
{
    static uint8_t whole[65536];

    open_rig();
    push(PIPE_M, mmad(0, 128, 128, 256, UNIT_NONE));
    rig_drain(&r);
    push(PIPE_FIX, fix(0, 0, 128, 64, 128, UNIT_NONE));
    push(PIPE_FIX, fix(32768, 32768, 128, 64, 128, UNIT_NONE));
    rig_drain(&r);
    memcpy(whole, r.gm, 65536);
    memset(r.gm, 0, 65536);
    memset(r.npu.mem[0][NPU_MEM_L0C], 0xa5, 65536);
    n_events = 0;
    rig_to(&r, 10000);
    push(PIPE_M, mmad(0, 128, 128, 256, UNIT_PASS));
    push(PIPE_FIX, fix(0, 0, 128, 64, 128, UNIT_PASS));
    push(PIPE_FIX, fix(32768, 32768, 128, 64, 128, UNIT_PASS));
    rig_drain(&r);
    ok(memcmp(r.gm, whole, 65536) == 0 && marks() == 0 && events[0].pipe == PIPE_FIX &&
           events[0].end < 11086 && events[1].pipe == PIPE_M,
       "unit/the_first_half_ends_before_the_cube");
    rig_close(&r);
}

/* --- many tiles --- */

static uint64_t seed;

static uint32_t random32(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/* Tiles of any size, each in one to three steps of k, in one or two buffers of L0C. */
static void many(bool units, unsigned buffers, uint32_t *size)
{
    uint32_t at = 0;

    seed = 7;
    for (unsigned t = 0; t < 10; t++) {
        unsigned m = 1 + random32() % 128, n = 1 + random32() % 128, steps = 1 + t % 3;
        unsigned rows = (m + 15) / 16 * 16, buffer = t % buffers;
        union cmd f = fix(at, buffer * 65536, m, n, rows, units ? UNIT_PASS : UNIT_NONE);
        for (unsigned s = 0; s < steps; s++) {
            bool last = s + 1 == steps;
            union cmd c = mmad(buffer * 65536, m, n, 1 + random32() % 256,
                               !units ? UNIT_NONE
                               : last ? UNIT_PASS
                                      : UNIT_KEEP);
            c.head.flags = s ? 0 : MMAD_INIT;
            if (!units && s == 0) { /* semaphores 2, 3: free; 4, 5: full */
                c.head.wait_sem[0] = (uint8_t)(2 + buffer);
                c.head.wait_n[0] = 1;
            }
            if (!units && last) {
                c.head.post_sem[0] = (uint8_t)(4 + buffer);
                c.head.post_n[0] = 1;
            }
            push(PIPE_M, c);
        }
        if (!units) {
            f.head.wait_sem[0] = (uint8_t)(4 + buffer);
            f.head.post_sem[0] = (uint8_t)(2 + buffer);
            f.head.wait_n[0] = f.head.post_n[0] = 1;
        }
        push(PIPE_FIX, f);
        at += m * n * 4;
    }
    *size = at;
}

TEST(unit, many)
{
    static uint8_t want[1 << 20];

    for (unsigned buffers = 1; buffers <= 2; buffers++) {
        uint64_t by_semaphore;
        uint32_t size;
        open_rig();
        rig_write(&r, 0, SEM_POST + 8 * 2, 1);
        rig_write(&r, 0, SEM_POST + 8 * 3, 1);
        many(false, buffers, &size);
        rig_drain(&r);
        by_semaphore = r.now;
        memcpy(want, r.gm, size);
        rig_close(&r);
        open_rig();
        many(true, buffers, &size);
        rig_drain(&r);
        ok(memcmp(r.gm, want, size) == 0 && marks() == 0 && rig_error(&r, 0, PIPE_M) == 0,
           "unit/many_tiles_in_%u_buffers", buffers);
        ok(r.now < by_semaphore, "unit/is_faster_than_semaphores_with_%u_buffers",
           buffers);
        test_note("%u cycles, %u by semaphore", (unsigned)r.now, (unsigned)by_semaphore);
        rig_close(&r);
    }
}

/* --- keep, and what does not agree --- */

TEST(unit, keep)
{
    open_rig();
    push(PIPE_FIX, fix(0, 0, 16, 16, 16, UNIT_KEEP));
    push(PIPE_M, mmad(0, 16, 16, 16, UNIT_KEEP));
    rig_drain(&r);
    ok(waits_for_units(PIPE_FIX) && marks() == 0, "unit/mmad_that_keeps_passes_nothing");
    push(PIPE_M, mmad(0, 16, 16, 16, UNIT_PASS));
    rig_drain(&r);
    ok(n_events == 3 && marks() == 2, "unit/fixpipe_that_keeps_leaves_the_marks");
    push(PIPE_M, mmad(0, 16, 16, 16, UNIT_KEEP));
    rig_drain(&r);
    ok(waits_for_units(PIPE_M) && n_events == 3, "unit/the_cube_waits_for_its_units");
    push(PIPE_FIX, fix(0, 512, 8, 16, 16, UNIT_PASS));
    rig_drain(&r);
    ok(waits_for_units(PIPE_M) && marks() == 1, "unit/gives_back_what_it_reads");
    push(PIPE_FIX, fix(0, 0, 8, 16, 16, UNIT_PASS));
    rig_drain(&r);
    ok(n_events == 6 && marks() == 0, "unit/the_cube_goes_on");
    push(PIPE_FIX, fix(0, 0, 0, 16, 16, UNIT_PASS));
    rig_drain(&r);
    ok(n_events == 7, "unit/nothing_to_read_waits_for_nothing");
    rig_close(&r);
}

TEST(unit, mismatch)
{
    uint64_t error;

    open_rig();
    push(PIPE_M, mmad(0, 16, 16, 16, UNIT_PASS));
    push(PIPE_M, mmad(1024, 16, 16, 16, UNIT_NONE));
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_M) == 0, "unit/other_units_are_free");
    memset(r.npu.mem[0][NPU_MEM_L0C], 0xa5, 2048);
    push(PIPE_FIX, fix(0, 512, 4, 16, 16, UNIT_NONE));
    error = rig_read(&r, 0, rig_pipe(PIPE_FIX, PIPE_ERROR));
    ok(field_get(PIPE_ERROR_CODE, error) == NPU_ERR_UNIT &&
           field_get(PIPE_ERROR_FIELD, error) == offsetof(struct cmd_fix_gm, unit) &&
           rig_read(&r, 0, rig_pipe(PIPE_FIX, PIPE_ERROR_ADDR)) == 512,
       "unit/fixpipe_without_flag_is_refused");
    push(PIPE_M, mmad(0, 32, 32, 16, UNIT_NONE));
    error = rig_read(&r, 0, rig_pipe(PIPE_M, PIPE_ERROR));
    ok(field_get(PIPE_ERROR_CODE, error) == NPU_ERR_UNIT &&
           field_get(PIPE_ERROR_FIELD, error) == offsetof(struct cmd_mmad, unit) &&
           r.npu.mem[0][NPU_MEM_L0C][0] == 0xa5,
       "unit/mmad_without_flag_is_refused");
    rig_write(&r, 0, rig_pipe(PIPE_MTE1, PIPE_CTRL), PIPE_CTRL_RESET);
    ok(marks() != 0, "unit/a_reset_of_another_pipe_leaves_them");
    rig_write(&r, 0, rig_pipe(PIPE_FIX, PIPE_CTRL), PIPE_CTRL_RESET);
    ok(marks() == 0, "unit/reset_clears_the_marks");
    rig_close(&r);
    for (unsigned i = 0; i < 2; i++) {
        open_rig();
        push(i ? PIPE_FIX : PIPE_M,
             i ? fix(0, 0, 16, 16, 16, 1) : mmad(0, 16, 16, 16, 1));
        ok(rig_error(&r, 0, i ? PIPE_FIX : PIPE_M) == NPU_ERR_RANGE,
           "unit/%s_refuses_flag_1", i ? "fixpipe" : "mmad");
        rig_close(&r);
    }
}

/* Two halves of a tile, the upper one first: when the lower one is being written (512
 * cycles on 64 units, 1095 its end) the upper one has been there all the time. Its last
 * unit is written 504 cycles after its first; then 65 are to be read. */
TEST(unit, two_tiles)
{
    open_rig();
    push(PIPE_M, mmad(32768, 128, 64, 256, UNIT_PASS));
    push(PIPE_M, mmad(0, 128, 64, 256, UNIT_PASS));
    push(PIPE_FIX, fix(0, 0, 128, 128, 128, UNIT_PASS));
    rig_drain(&r);
    ok(end_of(PIPE_M) == 62 + 512 + 9 + 512 && begin_of(PIPE_FIX) == 1095 - 504 &&
           end_of(PIPE_FIX) == 591 + 504 + 285, /* 65 * 512 / 117 */
       "unit/a_tile_of_two_commands");
    rig_close(&r);
}

/* An MMAD that is cut off passes nothing. */
TEST(unit, cut_off)
{
    open_rig();
    push(PIPE_M, mmad(0, 64, 64, 256, UNIT_PASS));
    push(PIPE_FIX, fix(0, 0, 64, 64, 64, UNIT_PASS));
    rig_to(&r, 20);
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_drain(&r);
    ok(n_events == 0 && waits_for_units(PIPE_FIX),
       "unit/a_reset_of_the_cube_passes_nothing");
    push(PIPE_M, mmad(0, 64, 64, 256, UNIT_PASS));
    rig_to(&r, r.now + 20);
    rig_write(&r, 0, rig_pipe(PIPE_M, PIPE_PUSH),
              4); /* no command there: the pipe stops */
    rig_drain(&r);
    ok(n_events == 0 && marks() == 0 && waits_for_units(PIPE_FIX),
       "unit/a_cube_that_stops_passes_nothing");
    rig_close(&r);
}
