/* SPDX-License-Identifier: MIT
 *
 * What the model tells a debugger: which bytes an access touches, and events of commands
 * and semaphores in their order.
 */
#include <stdio.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

static bool touches_slowly(const struct access *a, uint64_t first, uint64_t bytes)
{
    for (uint64_t k = 0; k < a->n[2]; k++) {
        for (uint64_t j = 0; j < a->n[1]; j++) {
            for (uint64_t i = 0; i < a->n[0]; i++) {
                uint64_t row =
                    a->base + i * a->stride[0] + j * a->stride[1] + k * a->stride[2];
                if (row < first + bytes && first < row + a->row_bytes) {
                    return true;
                }
            }
        }
    }
    return false;
}

static bool note_bytes(void *ctx, uint64_t first, uint64_t bytes)
{
    uint8_t *map = ctx;

    memset(map + first, 1, bytes);
    return true;
}

static bool stop_at_once(void *ctx, uint64_t first, uint64_t bytes)
{
    (void)ctx;
    (void)first;
    (void)bytes;
    return false;
}

/* Whether access_each() gives those bytes that npu_touches() says are touched. */
static bool gives_its_bytes(const struct access *a)
{
    uint8_t map[512] = {0};
    bool good = access_each(a, note_bytes, map);

    for (uint64_t i = 0; i < sizeof(map); i++) {
        good = good && map[i] == npu_touches(a, NPU_MEM_UB, i, 1);
    }
    return good && access_each(a, stop_at_once, NULL) == (access_bytes(a) == 0);
}

static uint32_t below(uint32_t n)
{
    return rnd() % n;
}

TEST(event, touches)
{
    unsigned wrong = 0, wrong_ranges = 0, hits = 0;

    for (unsigned round = 0; round < 200000; round++) {
        struct access a = {.mem = NPU_MEM_UB,
                           .row_bytes = below(9),
                           .n = {below(4), below(4), below(4)},
                           .base = below(32),
                           .stride = {below(12), below(40), below(100)}};
        uint64_t first = below(200), bytes = 1 + below(8);
        bool want = a.row_bytes && touches_slowly(&a, first, bytes);

        hits += want;
        wrong += npu_touches(&a, NPU_MEM_UB, first, bytes) != want;
        wrong_ranges += round % 100 == 0 && !gives_its_bytes(&a);
    }
    test_note("%u of 200000 touch", hits);
    ok(wrong == 0 && hits > 10000, "event/access_touches_its_rows_alone");
    ok(wrong_ranges == 0, "event/access_gives_its_ranges");
    struct access a = {.mem = NPU_MEM_UB, .row_bytes = 64, .n = {1, 1, 1}};
    ok(!npu_touches(&a, NPU_MEM_L1, 0, 1), "event/access_is_to_one_memory");
}

static char seen[1024];
static size_t used;

static const char *by(const struct npu_event *e)
{
    static char text[32];
    unsigned core = e->core;

    if (e->pipe == NPU_BY_BARRIER) {
        snprintf(text, sizeof(text), "unit %u", e->barrier);
    } else if (e->pipe == NPU_BY_HART) {
        snprintf(text, sizeof(text), core == NPU_CHIP ? "chip" : "hart %u", core);
    } else {
        snprintf(text, sizeof(text), "%u.%s", core, pipe_name(e->pipe));
    }
    return text;
}

static void event(void *ctx, const struct npu_event *e)
{
    static const char *const words[] = {"push",  "begin", "end",   "fault",
                                        "takes", "posts", "reset", "drained",
                                        "names", "hints", "lacks"};
    size_t room = sizeof(seen) - used;

    (void)ctx;
    if (e->what >= sizeof(words) / sizeof(words[0])) {
        return;
    }
    if (e->what <= NPU_FAULTS) {
        used +=
            (size_t)snprintf(seen + used, room, "%s %llu@%llu,", words[e->what],
                             (unsigned long long)e->number, (unsigned long long)e->now);
    } else if (e->what <= NPU_POSTS || e->what == NPU_LACKS) {
        used += (size_t)snprintf(seen + used, room, "%s %s %u of %u.%u=%u,", by(e),
                                 words[e->what], e->count, e->sem_core, e->sem, e->value);
    } else {
        used += (size_t)snprintf(seen + used, room, "%s %s,", by(e), words[e->what]);
    }
}

/* A chip whose events go to `seen`; host: as the rig's, and lives as long. */
static void listen(struct rig *r, struct npu_host *host, unsigned cores)
{
    rig_open(r, cores, PROFILE_a2);
    *host = *r->npu.host;
    host->event = event;
    r->npu.host = host;
    used = 0;
}

/* 12288 bytes take 215 + 103 cycles, as in pipe_test.c. */
TEST(event, order)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_copy_in(0, 0, 12288);

    rig_prices(TIMING_v1);
    listen(&r, &host, 1);
    c.head.post_sem[0] = 3;
    c.head.post_n[0] = 2;
    rig_push(&r, 0, PIPE_MTE2, &c);
    c.head.wait_sem[0] = 3;
    c.head.wait_n[0] = 1;
    c.head.post_n[0] = 0;
    c.head.opcode = 0x1ff;
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_drain(&r);
    test_note("%s", seen);
    ok(strcmp(seen, "push 1@0,begin 1@0,push 2@0,end 1@291,0.MTE2 posts 2 of 0.3=2,"
                    "fault 2@291,") == 0,
       "event/order_numbers_and_cycles");
    rig_close(&r);
}

/* No two commands have one number, dropped ones among them; counters begin anew. */
TEST(event, numbers)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_copy_in(0, 0, 12288);

    rig_prices(TIMING_v1);
    listen(&r, &host, 1);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_drain(&r);
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_PMU);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_write(&r, 0, rig_pipe(PIPE_MTE2, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_push(&r, 0, PIPE_MTE2, &c);
    test_note("%s", seen);
    ok(strcmp(seen, "push 1@0,begin 1@0,end 1@291,push 2@291,begin 2@291,push 3@291,"
                    "0.MTE2 reset,push 4@291,begin 4@291,") == 0,
       "event/numbers_hold_from_power_on");
    ok(npu_head_number(&r.npu, 0, PIPE_MTE2) == 4, "event/number_of_the_head");
    rig_close(&r);
}

/* The post comes behind the end: the queue has moved on to another command by then, and
 * the fault is still that of the one that posts. */
TEST(event, post_beyond_the_maximum)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_copy_in(0, 0, 12288);

    rig_prices(TIMING_v1);
    listen(&r, &host, 1);
    rig_write(&r, 0, SEM_POST + 8 * 3, SEM_MAX);
    c.head.post_sem[0] = 3;
    c.head.post_n[0] = 1;
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_drain(&r);
    test_note("%s", seen);
    ok(strcmp(seen, "hart 0 posts 255 of 0.3=255,push 1@0,begin 1@0,push 2@0,end 1@291,"
                    "fault 1@291,") == 0,
       "event/fault_of_a_post_is_of_its_command");
    ok(npu_head_number(&r.npu, 0, PIPE_MTE2) == 2, "event/it_has_left_the_queue");
    rig_close(&r);
}

/* Both takes of a command on one semaphore, in the order of its head, behind its begin;
 * the hart's, which get what is left, and one that gets nothing. */
TEST(event, takes)
{
    struct rig r;
    struct npu_host host;
    union cmd nop = rig_command(OP_NOP, TYPE_NONE);

    listen(&r, &host, 1);
    nop.head.wait_sem[0] = nop.head.wait_sem[1] = 5;
    nop.head.wait_n[0] = 1;
    nop.head.wait_n[1] = 2;
    rig_push(&r, 0, PIPE_V, &nop);
    rig_write(&r, 0, SEM_POST + 8 * 5, 4);
    rig_write(&r, 0, SEM_TAKE + 8 * 5, 2);
    rig_write(&r, 0, SEM_TAKE + 8 * 5, 1);
    test_note("%s", seen);
    ok(strcmp(seen, "push 1@0,hart 0 posts 4 of 0.5=4,begin 1@0,0.V takes 1 of 0.5=3,"
                    "0.V takes 2 of 0.5=1,hart 0 lacks 2 of 0.5=1,"
                    "hart 0 takes 1 of 0.5=0,") == 0,
       "event/takes_come_behind_the_begin");
    rig_close(&r);
}

/* What it took is gone, so it is told. */
TEST(event, takes_of_a_fault)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_command(OP_VGATHER, TYPE_S32);

    listen(&r, &host, 1);
    memset(r.npu.mem[0][NPU_MEM_UB], 0xff, 1024);
    c.vec_gather.repeat = 1;
    c.vec_gather.dst_rep = 8;
    c.head.wait_sem[0] = 5;
    c.head.wait_n[0] = 1;
    rig_push(&r, 0, PIPE_V, &c);
    rig_write(&r, 0, SEM_POST + 8 * 5, 1);
    test_note("%s", seen);
    ok(strcmp(seen, "push 1@0,hart 0 posts 1 of 0.5=1,fault 1@0,0.V takes 1 of 0.5=0,") ==
           0,
       "event/takes_of_a_command_that_fails");
    rig_close(&r);
}

/* A barrier unit takes from the chip and posts to each core, by its own name. */
TEST(event, barrier)
{
    struct rig r;
    struct npu_host host;
    union cmd nop = rig_command(OP_NOP, TYPE_NONE);

    listen(&r, &host, 2);
    rig_write(&r, NPU_CHIP, CHIP_BARRIER + 8 * 7,
              field_put(CHIP_BARRIER_WATCH, 3) | field_put(CHIP_BARRIER_COUNT, 2) |
                  field_put(CHIP_BARRIER_TARGET, 9) | field_put(CHIP_BARRIER_CORES, 3));
    rig_write(&r, 1, SEM_POST + 8 * (SEM_CORE + 3), 1);
    nop.head.post_sem[0] = SEM_CORE + 3;
    nop.head.post_n[0] = 1;
    rig_push(&r, 0, PIPE_M, &nop);
    rig_drain(&r);
    test_note("%s", seen);
    ok(strcmp(seen, "hart 1 posts 1 of 32.67=1,push 1@0,begin 1@0,end 1@1,"
                    "0.M posts 1 of 32.67=2,unit 7 takes 2 of 32.67=0,"
                    "unit 7 posts 1 of 0.9=1,unit 7 posts 1 of 1.9=1,") == 0,
       "event/barriers_take_and_post_by_core");
    rig_close(&r);
}

/* Resets by what they clear; PIPE_LEFT orders when it reads 0, PIPE_FREE never. */
TEST(event, registers)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_copy_in(0, 0, 12288);

    listen(&r, &host, 2);
    rig_push(&r, 1, PIPE_MTE2, &c);
    ok(rig_read(&r, 1, rig_pipe(PIPE_MTE2, PIPE_LEFT)) == 1, "pipe/tells_what_is_left");
    rig_drain(&r);
    used = 0;
    rig_read(&r, 1, rig_pipe(PIPE_MTE2, PIPE_FREE));
    npu_peek(&r.npu, r.now, 1, rig_pipe(PIPE_MTE2, PIPE_LEFT), 8);
    rig_read(&r, 1, rig_pipe(PIPE_MTE2, PIPE_LEFT));
    rig_write(&r, 1, CORE_CTRL, CORE_CTRL_RESET);
    rig_write(&r, 1, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_write(&r, NPU_CHIP, CHIP_CTRL, CHIP_CTRL_RESET);
    rig_write(&r, NPU_CHIP, CHIP_TRACE, 64);
    rig_write(&r, NPU_CHIP, CHIP_HINT, 64);
    test_note("%s", seen);
    ok(strcmp(seen, "1.MTE2 drained,hart 1 reset,1.V reset,chip reset,chip names,"
                    "chip hints,") == 0,
       "event/resets_and_drains");
    used = 0;
    npu_reset(&r.npu, r.now);
    ok(strcmp(seen, "hart 0 reset,hart 1 reset,chip reset,") == 0,
       "event/power_on_resets_everything");
    rig_close(&r);
}

static struct npu_event last;

static void keep(void *ctx, const struct npu_event *e)
{
    static uint64_t units[ROW_UNIT_MARK];

    (void)ctx;
    last = *e;
    if (e->units) {
        memcpy(units, e->units, sizeof(units));
        last.units = units;
    }
}

static void where(void *ctx, uint64_t *pc, uint64_t *ra)
{
    struct rig *r = ctx;

    *pc = 0x80001000 + r->now;
    *ra = 0x80002000;
}

/* A command's own pc, or that of the hart which has pushed it. */
TEST(event, where_from)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_copy_in(0, 0, 12288);

    listen(&r, &host, 1);
    host.event = keep;
    host.hart = where;
    rig_push(&r, 0, PIPE_MTE2, &c);
    c.head.pc = 0x1234;
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_to(&r, 100);
    ok(last.pc == 0x1234 && last.ra == 0, "event/pc_of_the_command");
    c.head.pc = 0;
    rig_push(&r, 0, PIPE_MTE2, &c);
    ok(last.pc == 0x80001064 && last.ra == 0x80002000, "event/pc_of_the_push");
    rig_to(&r, npu_next(&r.npu));
    ok(last.number == 2 && last.pc == 0x1234, "event/pc_of_the_second");
    rig_drain(&r);
    ok(last.number == 3 && last.what == NPU_ENDS && last.pc == 0x80001064,
       "event/pc_lasts_until_the_end");
    rig_write(&r, 0, SEM_POST + 8 * 5, 1);
    ok(last.what == NPU_POSTS && last.pc == 0x80001000 + r.now && last.ra == 0x80002000,
       "event/pc_of_a_post_of_the_hart");
    rig_close(&r);
}

TEST(event, atomics_and_units)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_command(OP_SET_ATOMIC_MTE3, TYPE_F32);
    union cmd m = rig_command(OP_MMAD, TYPE_F16);

    listen(&r, &host, 1);
    host.event = keep;
    c.set_atomic.op = ATOMIC_MAX;
    rig_push(&r, 0, PIPE_MTE3, &c);
    rig_drain(&r);
    ok(last.atomic_op == ATOMIC_NONE, "event/what_sets_the_mode_writes_nothing");
    c = rig_command(OP_COPY_UB_GM, TYPE_NONE);
    c.copy_out.dst = RIG_GM_BASE;
    c.copy_out.len_bytes = 32;
    c.copy_out.n_blocks = 1;
    rig_push(&r, 0, PIPE_MTE3, &c);
    ok(last.atomic_op == ATOMIC_MAX && last.atomic_type == TYPE_F32 && !last.units,
       "event/atomic_mode_of_a_write");
    rig_drain(&r);
    m.mmad.m = m.mmad.k = m.mmad.n = 16;
    m.mmad.dst = 2 * UNIT_BYTES;
    m.mmad.unit = UNIT_PASS;
    rig_push(&r, 0, PIPE_M, &m);
    ok(last.what == NPU_BEGINS && last.unit == UNIT_PASS && last.units &&
           last.units[0] == 0xc && last.units[1] == 0,
       "event/units_of_a_command");
    rig_close(&r);
}
