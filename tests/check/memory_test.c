/* SPDX-License-Identifier: MIT
 *
 * The memory check and the sync check on made-up streams of hints, accesses and events: what
 * is found and, beside each, the twin in which nothing is.
 */
#include <string.h>

#include "tests/check/host.h"
#include "tests/test.h"
#include "tools/emu/check/memory/memory.h"
#include "tools/emu/check/race/sync.h"

enum {
    GM = 0x80000000,
    GM_BYTES = 1 << 20,
    HEAP = GM + 0x1000,
    X = HEAP + 0x100,
    SIZE = 64
};

static const struct race_config config = {
    .cores = 2, .profile = PROFILE_a2, .gm_base = GM, .gm_bytes = GM_BYTES};

/* --- memory --- */

static struct memory *open_heap(void)
{
    struct memory *m = memory_new(&test_host, &config);

    memory_hint(m, 0,
                &(struct hint){.kind = HINT_HEAP, .addr = HEAP, .bytes = GM_BYTES / 2});
    return m;
}

static void tell(struct memory *m, enum hint_kind kind, uint64_t addr, uint64_t bytes)
{
    memory_hint(m, 1,
                &(struct hint){.kind = (uint8_t)kind,
                               .mem = NPU_MEM_UB,
                               .core = 1,
                               .count = kind == HINT_QUEUE ? 2 : 0,
                               .addr = addr,
                               .bytes = bytes,
                               .site = 0x100 + addr});
}

/* A command's access of core 1 that has its base at `base`. */
static void touch(struct memory *m, unsigned mem, uint64_t base, uint64_t first,
                  uint64_t bytes)
{
    memory_touch(m, &(struct record){.site.pc = first, .base = base}, 1, mem, first,
                 bytes);
}

static void hart(struct memory *m, uint64_t first, uint64_t bytes)
{
    memory_hart(
        m, &(struct race_hart_access){.mem = NPU_MEM_GM, .first = first, .bytes = bytes});
}

/* The classes that were found, a letter for each time; then nothing is left. */
static const char *found(struct memory *m)
{
    static char text[64];
    size_t used = 0;
    uint32_t n;
    uint64_t lost;
    const struct memory_finding *f = memory_findings(m, &n, &lost);

    for (uint32_t i = 0; i < n; i++) {
        for (uint64_t k = 0; k < f[i].count && used < sizeof(text) - 1; k++) {
            text[used++] = "BFNTOLS"[f[i].what];
        }
    }
    text[used] = 0;
    memory_free(m);
    return text;
}

TEST(memory, blocks)
{
    struct memory *m = open_heap();

    tell(m, HINT_BLOCK, X, SIZE);
    touch(m, NPU_MEM_GM, X, X, SIZE);
    touch(m, NPU_MEM_GM, X + 8, X + 8, SIZE - 8);
    touch(m, NPU_MEM_GM, HEAP - 8, HEAP - 8, 4); /* nobody's */
    CHECK(strcmp(found(m), "") == 0);
    m = open_heap();
    tell(m, HINT_BLOCK, X, SIZE);
    touch(m, NPU_MEM_GM, X + 8, X + 8, SIZE - 7);
    touch(m, NPU_MEM_GM, X + 8, X - 4, 4); /* its base is inside */
    ok(strcmp(found(m), "BB") == 0, "memory/leaves_its_block");
    m = open_heap();
    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_BLOCK, X + 2 * SIZE, SIZE);
    touch(m, NPU_MEM_GM, X + SIZE, X + SIZE, 4);
    touch(m, NPU_MEM_GM, X - 4, X - 4, 4);
    ok(strcmp(found(m), "NN") == 0, "memory/begins_in_no_block");
    m = open_heap();
    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_USED, X, SIZE - 4);
    touch(m, NPU_MEM_GM, X, X, SIZE - 4);
    touch(m, NPU_MEM_GM, X, X + SIZE - 4, 1);
    ok(strcmp(found(m), "B") == 0, "memory/padding_is_not_the_block");
}

TEST(memory, freed)
{
    struct memory *m = open_heap();

    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_FREE, X, 0);
    tell(m, HINT_REST, 0, 0);
    touch(m, NPU_MEM_GM, X, X, 4);
    hart(m, X + 4, 4);
    tell(m, HINT_FREE, X, 0);
    ok(strcmp(found(m), "FFT") == 0, "memory/used_and_freed_after_free");
    m = open_heap();
    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_FREE, X, 0);
    tell(m, HINT_BLOCK, X - 16, 2 * SIZE); /* another one in its place */
    tell(m, HINT_BLOCK, X + 4 * SIZE, SIZE);
    touch(m, NPU_MEM_GM, X, X, 4);
    tell(m, HINT_FREE, X - 16, 0);
    ok(strcmp(found(m), "") == 0, "memory/another_block_takes_the_place");
    m = open_heap();
    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_FREE, X + 8, 0);
    ok(strcmp(found(m), "O") == 0, "memory/frees_what_is_no_block");
}

TEST(memory, hart)
{
    struct memory *m = open_heap();

    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_WORK, 0, 0);
    hart(m, X - 8, 8); /* the allocator's */
    tell(m, HINT_REST, 0, 0);
    hart(m, X, 8);
    CHECK(strcmp(found(m), "") == 0);
    m = open_heap();
    tell(m, HINT_BLOCK, X, SIZE);
    hart(m, X - 8, 8);
    hart(m, X + SIZE - 4, 8);
    ok(strcmp(found(m), "NSB") == 0, "memory/hart_outside_and_skewed");
}

TEST(memory, leaks)
{
    struct memory *m = open_heap();

    tell(m, HINT_BLOCK, X, SIZE);
    tell(m, HINT_BEGIN, 0, 0);
    tell(m, HINT_BEGIN, 0, 0);
    tell(m, HINT_BLOCK, X + 128, SIZE);
    tell(m, HINT_FREE, X + 128, 0);
    tell(m, HINT_BLOCK, X + 256, 0);
    tell(m, HINT_END, 0, 0);
    tell(m, HINT_END, 0, 0);
    ok(strcmp(found(m), "L") == 0, "memory/leak_is_told_once");
    m = open_heap();
    tell(m, HINT_BEGIN, 0, 0);
    memory_hint(m, 1,
                &(struct hint){.kind = HINT_BLOCK, .count = 1, .addr = X, .bytes = SIZE});
    tell(m, HINT_END, 0, 0);
    ok(strcmp(found(m), "") == 0, "memory/library_may_keep_its_own");
    m = open_heap();
    tell(m, HINT_BEGIN, 0, 0);
    tell(m, HINT_BLOCK, X, SIZE);
    memory_hint(m, 1,
                &(struct hint){
                    .kind = HINT_USED, .count = HINT_COUNT_KEPT, .addr = X, .bytes = SIZE});
    tell(m, HINT_END, 0, 0);
    ok(strcmp(found(m), "") == 0, "memory/what_is_kept_is_no_leak");
}

TEST(memory, buffers)
{
    struct memory *m = open_heap();

    touch(m, NPU_MEM_UB, 0, 0, 4096); /* no buffers yet */
    tell(m, HINT_QUEUE, 256, 128);
    touch(m, NPU_MEM_UB, 256, 256, 128);
    touch(m, NPU_MEM_UB, 384, 384, 128);
    touch(m, NPU_MEM_L1, 0, 0, 128);
    touch(m, NPU_MEM_UB, 8192, 8192, 128); /* by hand */
    tell(m, HINT_OPEN, 0, 0);
    touch(m, NPU_MEM_UB, 0, 0, 4096);
    CHECK(strcmp(found(m), "") == 0);
    m = open_heap();
    tell(m, HINT_QUEUE, 256, 128);
    touch(m, NPU_MEM_UB, 256, 256, 129);
    touch(m, NPU_MEM_UB, 512, 512, 1);
    ok(strcmp(found(m), "BN") == 0, "memory/buffers_of_a_queue");
}

/* For the race check: what a byte of GM is part of. */
TEST(memory, block_of_a_byte)
{
    struct memory *m = open_heap();
    struct allocation a;

    tell(m, HINT_BLOCK, X, SIZE);
    memory_hint(m, 1,
                &(struct hint){.kind = HINT_USED, .addr = X, .bytes = SIZE, .name = 7});
    ok(memory_holds(m, 0, NPU_MEM_GM, X + SIZE - 1, &a) && a.addr == X &&
           a.bytes == SIZE && a.name == 7,
       "memory/name_of_a_block");
    ok(!memory_holds(m, 0, NPU_MEM_GM, X + SIZE, &a), "memory/no_block_there");
    memory_free(m);
}

/* --- sync --- */

static union cmd cmd;

static struct npu_event of(enum npu_happens what, unsigned pipe)
{
    return (struct npu_event){.what = what, .pipe = pipe, .cmd = &cmd, .pc = 4 * pipe};
}

static void run(struct sync *s, unsigned pipe)
{
    static const struct access dst = {.mem = NPU_MEM_UB};
    struct npu_event e = of(NPU_BEGINS, pipe), pushed = of(NPU_PUSHED, pipe),
                     ended = of(NPU_ENDS, pipe);

    e.dst = &dst;
    sync_event(s, &pushed);
    sync_event(s, &e);
    sync_event(s, &ended);
}

static void move(struct sync *s, enum npu_happens what, unsigned sem, unsigned value)
{
    struct npu_event e = of(what, PIPE_V);

    e.sem = sem;
    e.value = value;
    sync_event(s, &e);
}

static void scope(struct sync *s, enum hint_kind kind)
{
    sync_hint(s, &(struct hint){.kind = (uint8_t)kind});
}

static void reset(struct sync *s)
{
    struct npu_event e = of(NPU_RESETS, NPU_BY_HART);

    sync_event(s, &e);
}

static const char *told(struct sync *s)
{
    static char text[64];
    uint32_t n;
    uint64_t lost;
    const struct sync_finding *f = sync_findings(s, &n, &lost);

    for (uint32_t i = 0; i < n; i++) {
        text[i] = "LUS"[f[i].what];
    }
    text[n] = 0;
    sync_free(s);
    return text;
}

TEST(sync, leftovers)
{
    struct sync *s = sync_new(&test_host, 2);

    move(s, NPU_POSTS, 3, 1);
    scope(s, HINT_BEGIN);
    move(s, NPU_POSTS, 3, 2);
    move(s, NPU_TAKES, 3, 1);
    scope(s, HINT_END);
    reset(s);
    CHECK(strcmp(told(s), "") == 0);
    s = sync_new(&test_host, 2);
    scope(s, HINT_BEGIN);
    move(s, NPU_POSTS, 3, 1);
    scope(s, HINT_END);
    ok(strcmp(told(s), "L") == 0, "sync/a_unit_that_is_left");
    s = sync_new(&test_host, 2);
    scope(s, HINT_BEGIN);
    move(s, NPU_POSTS, 3, 1);
    reset(s);
    ok(strcmp(told(s), "L") == 0, "sync/a_reset_throws_a_unit_away");
}

TEST(sync, waits)
{
    struct sync *s = sync_new(&test_host, 2);
    struct npu_event pushed = of(NPU_PUSHED, PIPE_V), begins = of(NPU_BEGINS, PIPE_M);

    cmd = (union cmd){.head = {.wait_sem = {5}, .wait_n = {2}}};
    sync_event(s, &pushed);
    move(s, NPU_POSTS, 5, 1);
    reset(s);
    ok(strcmp(told(s), "U") == 0, "sync/a_wait_without_its_post");
    s = sync_new(&test_host, 2);
    sync_event(s, &pushed);
    sync_event(s, &begins); /* M runs: it may post */
    reset(s);
    CHECK(strcmp(told(s), "") == 0);
}

/* The hart has waited where it tried first; the scheduler takes for it elsewhere. */
TEST(sync, where_the_hart_began_to_wait)
{
    struct sync *s = sync_new(&test_host, 2);
    struct npu_event tries[] = {of(NPU_LACKS, NPU_BY_HART), of(NPU_LACKS, NPU_BY_HART),
                                of(NPU_LACKS, NPU_BY_HART), of(NPU_TAKES, NPU_BY_HART),
                                of(NPU_POSTS, NPU_BY_HART)};
    const struct sync_finding *f;
    uint64_t lost;
    uint32_t n;

    tries[0].pc = 0x10;
    tries[1].pc = tries[2].pc = tries[3].pc = 0x80;
    scope(s, HINT_BEGIN);
    tries[4].value = 1;
    for (unsigned i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        tries[i].cmd = NULL;
        sync_event(s, &tries[i]);
    }
    scope(s, HINT_END);
    f = sync_findings(s, &n, &lost);
    CHECK_EQ(n, 1);
    ok(f->take.site.pc == 0x80 && f->wanted.site.pc == 0x10 && f->post.site.pc != 0,
       "sync/where_the_hart_began_to_wait");
    sync_free(s);
}

TEST(sync, settings)
{
    struct sync *s = sync_new(&test_host, 2);
    union cmd mask = {.set_mask = {.lo = 1}};

    mask.head.opcode = OP_SET_MASK;

    scope(s, HINT_BEGIN);
    cmd = mask;
    run(s, PIPE_V);
    cmd = (union cmd){.head = {.opcode = OP_VADD}};
    run(s, PIPE_V);
    scope(s, HINT_END);
    scope(s, HINT_BEGIN);
    cmd = mask;
    run(s, PIPE_V);
    cmd = (union cmd){.head = {.opcode = OP_VADD}};
    run(s, PIPE_V);
    CHECK(strcmp(told(s), "") == 0);
    s = sync_new(&test_host, 2);
    scope(s, HINT_BEGIN);
    cmd = mask;
    run(s, PIPE_V);
    scope(s, HINT_END);
    scope(s, HINT_BEGIN);
    cmd = (union cmd){.head = {.opcode = OP_VADD}};
    run(s, PIPE_V);
    ok(strcmp(told(s), "S") == 0, "sync/a_mask_that_another_launch_left");
}
