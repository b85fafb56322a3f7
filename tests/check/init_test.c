/* SPDX-License-Identifier: MIT
 *
 * The init check. What it hears of the heap, of the hart and of commands; and random
 * programs of all commands, which run twice: bytes that are undefined when a program
 * begins have other values the second time. Each byte that is not the same at its end has to
 * be undefined then, or was told when it left for GM; and of those that are undefined most
 * do differ.
 */
#include <string.h>

#include "tests/check/host.h"
#include "tests/host/data.h"
#include "tests/model/machine/touch.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/check/memory/init.h"

static const struct race_config config = {
    .cores = 1, .profile = PROFILE_a2, .gm_base = RIG_GM_BASE, .gm_bytes = RIG_GM_BYTES};

static struct memory *memory;
static struct init *init;

static void begin(void)
{
    memory = memory_new(&test_host, &config);
    init = init_new(&test_host, &config, memory);
}

static void end(void)
{
    init_free(init);
    memory_free(memory);
}

static void hint(enum hint_kind kind, unsigned count, unsigned mem, uint64_t addr,
                 uint64_t bytes)
{
    struct hint h = {.kind = (uint8_t)kind,
                     .mem = (uint8_t)mem,
                     .count = (uint8_t)count,
                     .addr = addr,
                     .bytes = bytes,
                     .site = 0x100 + addr};

    init_hint(init, &h);
    memory_hint(memory, 0, &h);
}

static void hart(bool write, unsigned mem, uint64_t first, uint64_t bytes)
{
    struct race_hart_access a = {
        .site.pc = 0x10, .mem = mem, .first = first, .bytes = bytes, .write = write};

    if (init_hart_matters(init, mem, first, bytes)) {
        init_hart(init, &a, true);
    }
}

static uint64_t count_of(unsigned mem, uint64_t first, uint64_t bytes)
{
    uint64_t n = 0;

    for (uint64_t i = 0; i < bytes; i++) {
        n += init_undefined(init, 0, mem, first + i);
    }
    return n;
}

/* The last of so many findings; NULL: there are others. */
static const struct init_finding *last(uint32_t want)
{
    uint32_t n;
    uint64_t lost;
    const struct init_finding *f = init_findings(init, &n, &lost);

    return n == want ? &f[n - 1] : NULL;
}

static bool nothing_found(void)
{
    uint32_t n;
    uint64_t lost;

    (void)init_findings(init, &n, &lost);
    return n == 0;
}

/* --- what is undefined --- */

enum { GM = NPU_MEM_GM, X = RIG_GM_BASE + 0x1100, SIZE = 9000 /* three pages */ };

TEST(init, blocks)
{
    begin();
    hint(HINT_BLOCK, 0, 0, X, SIZE);
    CHECK_EQ(count_of(GM, X - 64, SIZE + 128), SIZE);
    hart(true, GM, X + 100, 8);
    ok(count_of(GM, X, SIZE) == SIZE - 8 && !init_undefined(init, 0, GM, X + 100),
       "init/stores_define");
    hint(HINT_INPUT, 0, 0, X + 1000, 5000);
    ok(count_of(GM, X, SIZE) == SIZE - 5008, "init/files_define");
    hint(HINT_BLOCK, HINT_COUNT_ZEROS, 0, X, SIZE);
    CHECK_EQ(count_of(GM, X, SIZE), 0);
    hint(HINT_BLOCK, HINT_COUNT_KEPT, 0, X, SIZE);
    ok(count_of(GM, X, SIZE) == 0, "init/zeros_and_the_library_s_are_defined");
    end();
}

/* The old block has 8 bytes that are defined. */
static void reallocate(uint64_t to, uint64_t bytes)
{
    begin();
    hint(HINT_BLOCK, 0, 0, X, SIZE);
    hart(true, GM, X + 16, 8);
    hint(HINT_WORK, 0, 0, 0, 0);
    for (uint64_t at = 0; to != X && at < bytes && at < SIZE; at += 8) {
        hart(false, GM, X + at, 8);
        hart(true, GM, to + at, 8);
    }
    hint(HINT_FREE, 0, 0, X, 0);
    hint(HINT_BLOCK, 0, 0, to, bytes);
}

TEST(init, realloc)
{
    static const uint64_t to[] = {X, X + 2 * SIZE};

    for (unsigned i = 0; i < 2; i++) {
        reallocate(to[i], SIZE + 96);
        ok(count_of(GM, to[i], SIZE + 96) == SIZE + 88 &&
               !init_undefined(init, 0, GM, to[i] + 16) && nothing_found(),
           i ? "init/a_block_moves" : "init/a_block_grows");
        end();
    }
    reallocate(X, 96);
    CHECK_EQ(count_of(GM, X, 96), 88);
    end();
}

TEST(init, buffers)
{
    begin();
    CHECK_EQ(count_of(NPU_MEM_UB, 0, 1024), 1024); /* nobody has written it */
    hart(true, NPU_MEM_UB, 0, 1024);
    hint(HINT_QUEUE, 2, NPU_MEM_UB, 128, 96);
    ok(count_of(NPU_MEM_UB, 0, 1024) == 192 && count_of(NPU_MEM_UB, 128, 192) == 192,
       "init/handed_out_again");
    hint(HINT_OPEN, 0, 0, 0, 0);
    ok(count_of(NPU_MEM_UB, 0, 1024) == 1024, "init/nobody_holds_it_any_more");
    end();
}

/* --- uses of the hart's --- */

TEST(init, uses)
{
    const struct init_finding *f;
    struct race_hart_access all = {.mem = GM, .first = X, .bytes = SIZE};

    begin();
    hint(HINT_BLOCK, 0, 0, X, SIZE);
    hart(true, GM, X, 4);
    hart(false, GM, X, 8); /* half of a word, as a string function has it */
    CHECK(nothing_found());
    hart(false, GM, X + 8, 8);
    f = last(1);
    ok(f && f->use == INIT_LOADED && f->addr == X + 8 && f->from.of.addr == X &&
           f->from.of.site == 0xfe + X,
       "init/a_load");
    hart(false, GM, X + 8, 8);
    CHECK(last(1) && last(1)->count == 1);
    init_output(init, &all);
    f = last(2);
    ok(f && f->use == INIT_OUTPUT && f->addr == X + 4 && f->bytes == SIZE - 12,
       "init/an_output");
    init_output(init, &all);
    CHECK(last(2));
    end();
}

/* --- random programs --- */

enum { PROGRAMS = 200, STEPS = 12, CHIPS = 2, MEMORIES = NPU_MEM_COUNT + 1 };
/* Of the bytes that are called undefined so many percent differ: minima, sums that are
 * rounded and sorting by whole commands have the rest. */
enum { PRECISE = 60 };

static struct rig chip[CHIPS];
static struct npu_host hearing[CHIPS];
/* Of the command that has run: what it touches. */
static struct {
    uint64_t hash[CHIPS];
    bool outside, to_gm;
} told;
/* Bytes that commands have written. */
static uint8_t written[MEMORIES][TOUCH_WINDOW];
static struct {
    unsigned programs, steps, blind;
    uint64_t marked, differ;
} sum;

static unsigned size(unsigned m)
{
    return m == NPU_MEM_COUNT ? RIG_GM_BYTES : npu_mem_size(PROFILE_a2, (enum npu_mem)m);
}

static uint64_t base(unsigned m)
{
    return m == NPU_MEM_COUNT ? RIG_GM_BASE : 0;
}

static uint8_t *bytes_of(unsigned c, unsigned m)
{
    return m == NPU_MEM_COUNT ? chip[c].gm : chip[c].npu.mem[0][m];
}

struct noting {
    unsigned chip, mem;
    enum touch_kind kind;
};

static bool note_range(void *ctx, uint64_t first, uint64_t bytes)
{
    const struct noting *n = ctx;
    uint64_t at = first - base(n->mem), *hash = &told.hash[n->chip];

    *hash = (*hash ^ (at << 20) ^ (bytes << 2) ^ n->kind) * 0x9e3779b97f4a7c15;
    if (at + bytes > touch_window(n->mem)) {
        told.outside = true;
        return false;
    }
    if (n->kind != TOUCH_READS) {
        memset(written[n->mem] + at, 1, bytes);
    }
    return true;
}

static void note(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct noting n = {*(unsigned *)opaque, a->mem, kind};

    told.to_gm = told.to_gm || (a->mem == NPU_MEM_GM && kind != TOUCH_READS);
    access_each(a, note_range, &n);
}

static void hear(void *ctx, const struct npu_event *e)
{
    unsigned c = e->npu == &chip[1].npu;

    (void)ctx;
    if (e->what == NPU_ENDS) {
        npu_touch(e->npu, 0, e->pipe, note, &c);
    }
    if (c == 0) {
        init_event(init, e);
    }
}

/* Both chips alike, but for what is undefined. */
static void fill(void)
{
    unsigned ranges = rnd() % 12;
    bool all = told.outside; /* then other bytes may be apart as well */
    uint8_t by = (uint8_t)(1 + rnd() % 255);

    for (unsigned c = 0; c < CHIPS; c++) {
        rig_write(&chip[c], 0, CORE_CTRL, CORE_CTRL_RESET);
    }
    for (unsigned m = 0; m < MEMORIES; m++) {
        noise(bytes_of(0, m), touch_window(m));
        for (unsigned i = 1; rnd() % 2 && i < touch_window(m); i += 2) { /* seldom NaN */
            bytes_of(0, m)[i] = (uint8_t)(0x38 | (bytes_of(0, m)[i] & 0x87));
        }
        memcpy(bytes_of(1, m), bytes_of(0, m), all ? size(m) : touch_window(m));
        hart(true, m, base(m), touch_window(m));
    }
    for (unsigned i = 0; i < ranges; i++) {
        unsigned m = rnd() % MEMORIES, first, bytes;
        if (touch_window(m)) {
            first = rnd() % touch_window(m);
            bytes = 1 + rnd() % (1u << rnd() % 12);
            bytes = bytes < touch_window(m) - first ? bytes : touch_window(m) - first;
            hint(m == NPU_MEM_COUNT ? HINT_BLOCK : HINT_BUFFER, m != NPU_MEM_COUNT, m,
                 base(m) + first, bytes);
            for (unsigned at = first; at < first + bytes; at++) {
                bytes_of(1, m)[at] = bytes_of(0, m)[at] ^ by;
            }
        }
    }
}

/* What a command looks for in the data, as stores of the hart's. */
static void prepare(const union cmd *cmd)
{
    static const unsigned mems[] = {NPU_MEM_UB, NPU_MEM_L0B_INDEX};
    static uint8_t was[2][TOUCH_WINDOW];

    for (unsigned i = 0; i < 2; i++) {
        memcpy(was[i], bytes_of(0, mems[i]), touch_window(mems[i]));
    }
    touch_data(cmd, bytes_of(0, NPU_MEM_UB), bytes_of(0, NPU_MEM_L0B_INDEX));
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned at = 0; at < touch_window(mems[i]); at++) {
            if (was[i][at] != bytes_of(0, mems[i])[at]) {
                bytes_of(1, mems[i])[at] = bytes_of(0, mems[i])[at];
                hart(true, mems[i], at, 1);
            }
        }
    }
}

/* From where results mostly are to where sources mostly are. */
static struct touch_program shuttle(void)
{
    struct touch_program p = {
        .cmd = rig_command(rnd() % 2 ? OP_COPY_UB_L1 : OP_COPY_L1_UB, TYPE_NONE)};

    p.cmd.copy_local.src = TOUCH_WINDOW / 2;
    p.cmd.copy_local.len = TOUCH_WINDOW / 2 / 32;
    p.cmd.copy_local.n_blocks = 1;
    return p;
}

/* On both; false: they went apart, or nowhere that is looked at. */
static bool step(const struct touch_program *p)
{
    unsigned errors[CHIPS];

    memset(&told, 0, sizeof(told));
    prepare(&p->cmd);
    for (unsigned c = 0; c < CHIPS; c++) {
        enum pipe pipe = pipe_of(&p->cmd);
        for (unsigned i = 0; i < p->n_set; i++) {
            rig_push(&chip[c], 0, pipe, &p->set[i]);
            rig_drain(&chip[c]);
        }
        rig_push(&chip[c], 0, pipe, &p->cmd);
        rig_drain(&chip[c]);
        errors[c] = rig_error(&chip[c], 0, pipe);
        if (errors[c]) {
            rig_write(&chip[c], 0, rig_pipe(pipe, PIPE_CTRL), PIPE_CTRL_RESET);
        }
    }
    sum.steps += !errors[0];
    return errors[0] == errors[1] && told.hash[0] == told.hash[1] && !told.outside;
}

/* A byte that differs and is called defined. */
static bool unsound(const union cmd *cmd)
{
    for (unsigned m = 0; m < MEMORIES; m++) {
        const uint8_t *a = bytes_of(0, m), *b = bytes_of(1, m);
        unsigned n = memcmp(a, b, touch_window(m)) ? touch_window(m) : 0;
        for (unsigned i = 0; i < n; i++) {
            if (a[i] != b[i] && !init_undefined(init, 0, m, base(m) + i)) {
                test_note("%s.%s flags %u: byte %u of %s is called defined",
                          cmd_find(cmd->head.opcode)->name, type_name(cmd->head.type),
                          cmd->head.flags, i,
                          m == NPU_MEM_COUNT ? "GM" : npu_mem_name((enum npu_mem)m));
                return true;
            }
        }
    }
    return false;
}

static void weigh(void)
{
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        for (unsigned i = 0; i < touch_window(m); i++) {
            if (written[m][i] && init_undefined(init, 0, m, i)) {
                sum.marked++;
                sum.differ += bytes_of(0, m)[i] != bytes_of(1, m)[i];
            }
        }
    }
}

static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) opcode,
#include "hal/contract/all.h"
};

/* False: something is wrong. */
static bool program(void)
{
    bool sound = true, on = true;

    begin();
    memset(written, 0, sizeof(written));
    fill();
    for (unsigned i = 0; i < STEPS && on; i++) {
        const struct cmd_info *info = cmd_find(opcodes[rnd() % LENGTH(opcodes)]);
        struct touch_program p = rnd() % 3 ? touch_program(info) : shuttle();
        bool apart = !step(&p);
        on = nothing_found() && !apart;
        sum.blind += apart;
        if (on) {
            sound = !unsound(&p.cmd);
        }
        on = on && sound;
    }
    weigh();
    end();
    return sound;
}

TEST(init, programs)
{
    unsigned wrong = 0;

    for (unsigned c = 0; c < CHIPS; c++) {
        if (!chip[c].gm) {
            rig_open(&chip[c], 1, PROFILE_a2);
        }
        rig_reset(&chip[c]);
        hearing[c] = *chip[c].npu.host;
        hearing[c].event = hear;
        chip[c].npu.host = &hearing[c];
    }
    memset(&sum, 0, sizeof(sum));
    for (; sum.programs < PROGRAMS * test_times && !wrong; sum.programs++) {
        wrong += !program();
    }
    test_note("%u programs, %u commands, %u blind; %llu of %llu undefined bytes differ",
              sum.programs, sum.steps, sum.blind, (unsigned long long)sum.differ,
              (unsigned long long)sum.marked);
    ok(!wrong && sum.steps > 6 * sum.programs && sum.blind < sum.programs / 3,
       "init/what_differs_is_undefined");
    ok(sum.marked > 1000 && sum.differ * 100 >= sum.marked * PRECISE,
       "init/most_of_what_is_undefined_differs");
}
