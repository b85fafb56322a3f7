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

static char seen[512];
static size_t used;

static void event(void *ctx, const struct npu_event *e)
{
    static const char *const words[] = {"push", "begin", "end", "fault"};

    (void)ctx;
    used += (size_t)snprintf(seen + used, sizeof(seen) - used, "%s %llu@%llu,",
                             words[e->what], (unsigned long long)e->number,
                             (unsigned long long)e->now);
}

static void sem(void *ctx, unsigned core, unsigned number, unsigned value)
{
    (void)ctx;
    used += (size_t)snprintf(seen + used, sizeof(seen) - used, "sem %u.%u=%u,", core,
                             number, value);
}

/* A chip whose events go to `seen`; host: as the rig's, and lives as long. */
static void listen(struct rig *r, struct npu_host *host)
{
    rig_open(r, 1, PROFILE_a2);
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

    listen(&r, &host);
    host.sem = sem;
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
    ok(strcmp(seen, "push 1@0,begin 1@0,push 2@0,end 1@291,sem 0.3=2,fault 2@291,") == 0,
       "event/order_numbers_and_cycles");
    rig_close(&r);
}

/* No two commands have one number, dropped ones among them; counters begin anew. */
TEST(event, numbers)
{
    struct rig r;
    struct npu_host host;
    union cmd c = rig_copy_in(0, 0, 12288);

    listen(&r, &host);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_drain(&r);
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_PMU);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_write(&r, 0, rig_pipe(PIPE_MTE2, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_push(&r, 0, PIPE_MTE2, &c);
    test_note("%s", seen);
    ok(strcmp(seen, "push 1@0,begin 1@0,end 1@291,push 2@291,begin 2@291,push 3@291,"
                    "push 4@291,begin 4@291,") == 0,
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

    listen(&r, &host);
    rig_write(&r, 0, SEM_POST + 8 * 3, SEM_MAX);
    c.head.post_sem[0] = 3;
    c.head.post_n[0] = 1;
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_push(&r, 0, PIPE_MTE2, &c);
    rig_drain(&r);
    test_note("%s", seen);
    ok(strcmp(seen, "push 1@0,begin 1@0,push 2@0,end 1@291,fault 1@291,") == 0,
       "event/fault_of_a_post_is_of_its_command");
    ok(npu_head_number(&r.npu, 0, PIPE_MTE2) == 2, "event/it_has_left_the_queue");
    rig_close(&r);
}
