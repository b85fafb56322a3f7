/* SPDX-License-Identifier: MIT
 *
 * Work that other threads do leaves what work at once leaves. Random commands of every
 * opcode without a semaphore between them, so that each reads what others are about to
 * write, and products that are large enough to be shared, on a chip whose work is done at
 * once, and on one for which the threads of a pool do it. Guest memory changes while commands
 * run, as by a hart that does not wait.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/machine/touch.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/qemu/device/pool.h"

enum { MOST = 6000, LOOK = 50, ROOM = 24 };
#define ROUNDS (test_times < 10 ? 600 * test_times : MOST)

static struct rig r;
static struct npu_host host;
static struct pool *pool;
static unsigned cores;
static uint64_t want[MOST / LOOK]; /* digests of all there is */

static void *job(void *ctx, unsigned core)
{
    (void)ctx;
    return pool_room(pool, core);
}

static uint64_t give(void *ctx, unsigned core)
{
    (void)ctx;
    return pool_give(pool, core);
}

static void wait_for(void *ctx, unsigned core, uint64_t ticket)
{
    (void)ctx;
    pool_wait(pool, core, ticket);
}

static void open_rig(void)
{
    rnd_begin();
    rig_open(&r, cores, PROFILE_a2);
    for (unsigned c = 0; c < cores; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            noise(r.npu.mem[c][m], npu_mem_size(PROFILE_a2, (enum npu_mem)m));
        }
    }
}

static void work_apart(unsigned threads, bool sleepy)
{
    host = *r.npu.host;
    host.job = job;
    host.give = give;
    host.wait = wait_for;
    r.npu.host = &host;
    for (unsigned c = 0; c < cores; c++) {
        for (unsigned i = 0; i < NPU_SPARES; i++) {
            r.npu.later[c].spare[i] =
                malloc(npu_mem_size(PROFILE_a2, NPU_MEM_STAGE_MTE2));
        }
    }
    pool = pool_open(cores, threads, sleepy); /* which stays until the process ends */
    r.npu.apart = pool != NULL;
}

static void close_rig(void)
{
    for (unsigned c = 0; c < cores; c++) {
        for (unsigned i = 0; i < NPU_SPARES; i++) {
            free(r.npu.later[c].spare[i]);
        }
    }
    rig_close(&r);
}

/* A command that may not be legal; what its pipe has stopped at goes away. */
static void push(unsigned core, const union cmd *cmd)
{
    enum pipe pipe = pipe_of(cmd) ? pipe_of(cmd) : PIPE_V;

    if (rig_error(&r, core, pipe)) {
        rig_write(&r, core, rig_pipe(pipe, PIPE_CTRL), PIPE_CTRL_RESET);
    }
    if (rig_read(&r, core, rig_pipe(pipe, PIPE_LEFT)) < ROOM) {
        rig_push(&r, core, pipe, cmd);
    }
}

static uint64_t digest(uint64_t sum, const void *at, size_t bytes)
{
    uint64_t word;

    for (size_t i = 0; i + sizeof(word) <= bytes; i += sizeof(word)) {
        memcpy(&word, (const uint8_t *)at + i, sizeof(word));
        sum = (sum ^ word) * 0x100000001b3;
    }
    return sum;
}

static uint64_t all_there_is(void)
{
    uint64_t sum = digest(0, r.gm, RIG_GM_BYTES);

    npu_settle(&r.npu);
    for (unsigned c = 0; c < cores; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            sum = digest(sum, r.npu.mem[c][m], npu_mem_size(PROFILE_a2, (enum npu_mem)m));
        }
    }
    return digest(sum, r.npu.s, npu_state_size());
}

/* Large enough to be shared. */
static union cmd large_product(void)
{
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    c.mmad.m = 100;
    c.mmad.n = 250;
    c.mmad.k = 60;
    return c;
}

/* The same each time; the first look at which something is not as before, or -1. */
static int play(bool first)
{
    static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) OP_##NAME,
#include "hal/contract/all.h"
    };
    const union cmd product = large_product();

    for (unsigned i = 0; i < ROUNDS; i++) {
        struct touch_program p =
            touch_program(cmd_find(opcodes[rnd() % LENGTH(opcodes)]));
        uint32_t core = rnd() % cores, at = rnd() % (TOUCH_WINDOW / 2), value = rnd();

        for (unsigned k = 0; k < p.n_set; k++) {
            push(core, &p.set[k]);
        }
        push(core, &p.cmd);
        if (i % 4 == 0) {
            push(core, &product);
        }
        memcpy(r.gm + at, &value, sizeof(value));
        rig_to(&r, r.now + rnd() % 64);
        if (i % LOOK == LOOK - 1) {
            uint64_t sum = all_there_is();
            if (first) {
                want[i / LOOK] = sum;
            } else if (sum != want[i / LOOK]) {
                return (int)(i / LOOK);
            }
        }
    }
    return -1;
}

/* With so many threads besides the giver's. */
static void agrees(unsigned threads, bool sleepy)
{
    open_rig();
    play(true);
    close_rig();
    open_rig();
    work_apart(threads, sleepy);
    CHECK(r.npu.apart);
    CHECK_EQ(play(false), -1);
    CHECK(r.npu.could > ROUNDS / 8 && pool_jobs(pool) > ROUNDS / 8);
    close_rig();
}

TEST(later, one_thread_leaves_what_work_at_once_leaves)
{
    cores = 2;
    agrees(1, false);
}

/* More threads than rows, so some only help. */
TEST(later, so_do_three_for_one_core)
{
    cores = 1;
    agrees(3, false);
    CHECK(pool_helped(pool) > 0);
}

TEST(later, so_do_fifteen_without_processors)
{
    cores = 4;
    agrees(15, true);
}
