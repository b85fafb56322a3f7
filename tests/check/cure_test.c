/* SPDX-License-Identifier: MIT
 *
 * What a race lacks, and who may take the units of whom: small programs on the bare model
 * with one mistake each, and what the check names from its record of the run (tape.c, sim.c,
 * edit.c, cure.c). The hart is the test; a command's pc is its line here.
 */
#include "tests/check/host.h"
#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/check/cure.h"
#include "tools/emu/check/stream.h"

/* Semaphores of a core, of the chip; a buffer in UB. */
enum { FULL = 1, FREE, DONE, MESSAGE = SEM_CORE + 1 };
enum { BUFFER = 0, ELSEWHERE = 16 << 10, BYTES = 256, CORES = 2 };

static struct rig chip;
static struct npu_host hearing;
static struct findings found;
static struct race *race;
static struct cure cure;

static void hear(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    tape_event(&found.tape, race, e);
    race_event(race, e);
}

static void begin(void)
{
    const struct race_report report = {findings_add, findings_mixed, &found};
    struct race_config config = {.cores = CORES,
                                 .profile = PROFILE_a2,
                                 .gm_base = RIG_GM_BASE,
                                 .gm_bytes = RIG_GM_BYTES};

    if (!chip.gm) {
        rig_open(&chip, CORES, PROFILE_a2);
    }
    rig_reset(&chip);
    findings_open(&found, &test_host);
    race = race_new(&test_host, &config, &report);
    hearing = *chip.npu.host;
    hearing.event = hear;
    chip.npu.host = &hearing;
    cure = (struct cure){.how = CURE_NONE};
    rig_write(&chip, NPU_CHIP, CHIP_TRACE, RIG_GM_BASE);
}

/* What the one finding lacks. */
static void end(void)
{
    uint64_t work = 0;

    rig_drain(&chip);
    CHECK_EQ(found.n, 1u);
    cure = cure_of(&found, 0, race, &work);
}

/* cure.other points into what this gives back. */
static void forget(void)
{
    race_free(race);
    findings_close(&found);
}

/* --- the hart --- */

/* A command of a line, which waits for `takes` units and posts one; 0: no semaphore. */
static void push(unsigned core, union cmd c, unsigned wait, unsigned takes, unsigned post)
{
    c.head.wait_sem[0] = (uint8_t)wait;
    c.head.wait_n[0] = (uint8_t)(wait ? takes : 0);
    c.head.post_sem[0] = (uint8_t)post;
    c.head.post_n[0] = post != 0;
    rig_push(&chip, core, pipe_of(&c), &c);
}

#define PUSH(core, c, wait, post) push(core, at_line(c, __LINE__), wait, 1, post)

static union cmd at_line(union cmd c, unsigned line)
{
    c.head.pc = line;
    return c;
}

static void takes(unsigned core, unsigned sem, unsigned count)
{
    rig_drain(&chip);
    rig_write(&chip, core, SEM_TAKE + 8 * sem, count);
    CHECK_EQ(rig_read(&chip, core, SEM_TAKEN), 1u);
}

/* --- commands --- */

static union cmd load(uint32_t ub)
{
    return rig_copy_in(ub, 0, BYTES);
}

static union cmd store(uint64_t gm)
{
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);

    c.copy_out.dst = RIG_GM_BASE + gm;
    c.copy_out.len_bytes = BYTES;
    c.copy_out.n_blocks = 1;
    return c;
}

static union cmd use(uint32_t ub)
{
    union cmd c = rig_command(OP_VABS, TYPE_F32);

    c.vec1.src = ub;
    c.vec1.dst = ELSEWHERE;
    c.vec1.src_blk = c.vec1.dst_blk = 1;
    c.vec1.src_rep = c.vec1.dst_rep = 8;
    c.vec1.repeat = 1;
    return c;
}

/* --- of one core --- */

TEST(cure, nobody_waits_for_what_is_posted)
{
    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_TAKE);
    CHECK_EQ(cure.sem, FULL);
    forget();
}

TEST(cure, a_unit_too_few)
{
    begin();
    PUSH(0, load(ELSEWHERE / 2), 0, FULL);
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), FULL, 0);
    takes(0, FULL, 1);
    end();
    CHECK_EQ(cure.how, CURE_MORE);
    CHECK_EQ(cure.sem, FULL);
    forget();
}

TEST(cure, posted_too_early)
{
    unsigned line;

    begin();
    PUSH(0, load(ELSEWHERE / 2), 0, FULL), line = __LINE__;
    PUSH(0, load(BUFFER), 0, 0);
    PUSH(0, use(BUFFER), FULL, 0);
    end();
    CHECK_EQ(cure.how, CURE_POST);
    CHECK_EQ(cure.sem, FULL);
    CHECK(cure.other && cure.other->pc == line);
    forget();
}

TEST(cure, waited_for_too_late)
{
    unsigned line;

    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), 0, 0);
    PUSH(0, use(ELSEWHERE / 2), FULL, 0), line = __LINE__;
    end();
    CHECK_EQ(cure.how, CURE_EARLY);
    CHECK_EQ(cure.sem, FULL);
    CHECK(cure.other && cure.other->pc == line);
    forget();
}

/* Rounds with one buffer, of which the hart says at first how many units there are; use
 * posts `units` of FREE. */
static void rounds(unsigned first, unsigned units, unsigned free)
{
    begin();
    if (first) {
        rig_post(&chip, 0, FREE, first);
    }
    for (unsigned i = 0; i < 4; i++) {
        union cmd c = at_line(use(BUFFER), __LINE__);
        PUSH(0, load(BUFFER), free, FULL);
        c.head.wait_sem[0] = FULL;
        c.head.wait_n[0] = 1;
        c.head.post_sem[0] = (uint8_t)free;
        c.head.post_n[0] = (uint8_t)units;
        rig_push(&chip, 0, PIPE_V, &c);
    }
}

TEST(cure, units_for_more_buffers_than_there_are)
{
    rounds(2, 1, FREE);
    takes(0, FREE, 2);
    end();
    CHECK_EQ(cure.how, CURE_FEWER);
    CHECK_EQ(cure.sem, FREE);
    CHECK_EQ(cure.units, 1u);
    forget();
}

TEST(cure, posted_twice)
{
    rounds(1, 2, FREE);
    end();
    CHECK_EQ(cure.how, CURE_TWICE);
    CHECK_EQ(cure.sem, FREE);
    forget();
}

/* The way back has no semaphore: one that holds as many units as there are buffers. */
TEST(cure, a_semaphore_of_its_own)
{
    rounds(0, 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_PAIR);
    CHECK_EQ(cure.units, 1u);
    forget();
}

/* The program means the first of a core's two commands to come first, whichever did. */
TEST(cure, in_the_order_of_the_program)
{
    begin();
    PUSH(0, use(BUFFER), DONE, 0);
    PUSH(0, load(BUFFER), 0, 0);
    rig_drain(&chip);
    rig_post(&chip, 0, DONE, 1);
    end();
    CHECK_EQ(found.finding[0].b.site.opcode, OP_VABS);
    CHECK_EQ(cure.how, CURE_PAIR);
    CHECK(cure.turned);
    forget();
}

/* Of what was dropped nothing can be told. */
TEST(cure, none_behind_a_reset)
{
    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), 0, 0);
    PUSH(0, use(BUFFER), DONE, 0);
    rig_drain(&chip);
    rig_write(&chip, 0, CORE_CTRL, CORE_CTRL_RESET);
    end();
    CHECK_EQ(cure.how, CURE_NONE);
    forget();
}

/* --- who takes --- */

/* The hart takes back what it has posted; whether it has looked that all is done. */
static void takes_back(bool looks)
{
    rounds(1, 1, FREE);
    rig_drain(&chip);
    for (unsigned p = 0; looks && p < 2; p++) {
        const enum pipe both[] = {PIPE_MTE2, PIPE_V};
        CHECK_EQ(rig_read(&chip, 0, rig_pipe(both[p], PIPE_LEFT)), 0u);
    }
    takes(0, FREE, 1);
    CHECK_EQ(found.n, 0u);
}

TEST(contended, by_the_hart_and_a_command)
{
    takes_back(false);
    CHECK_EQ(found.n_mixed, 1u);
    CHECK(found.mixed[0].takes);
    CHECK_EQ(found.mixed[0].sem, FREE);
    forget();
}

TEST(contended, not_if_nothing_is_left_to_do)
{
    takes_back(true);
    CHECK_EQ(found.n_mixed, 0u);
    forget();
}

/* Two consumers of what one command posts have a unit each, whoever comes first. */
TEST(contended, not_for_units_of_one_post)
{
    union cmd c = at_line(load(BUFFER), __LINE__);

    begin();
    c.head.post_sem[0] = FULL;
    c.head.post_n[0] = 2;
    rig_push(&chip, 0, PIPE_MTE2, &c);
    PUSH(0, use(BUFFER), FULL, 0);
    c = store(ELSEWHERE);
    PUSH(0, c, FULL, 0);
    rig_drain(&chip);
    CHECK_EQ(found.n_mixed, 0u);
    forget();
}

/* --- of two --- */

TEST(cure, a_semaphore_of_the_chip)
{
    begin();
    PUSH(0, store(0), 0, 0);
    PUSH(1, load(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_PAIR);
    CHECK(cure.sem < SEM_COUNT);
    forget();
}

TEST(cure, nobody_waits_for_what_another_core_posts)
{
    begin();
    PUSH(0, store(0), 0, MESSAGE);
    PUSH(1, load(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_TAKE);
    CHECK_EQ(cure.sem, MESSAGE);
    forget();
}

/* The hart of core 0 tells that of core 1 before the store has ended. */
TEST(cure, a_drain_before_the_hart_tells)
{
    begin();
    PUSH(0, store(0), 0, 0);
    rig_post(&chip, 0, MESSAGE, 1);
    takes(1, MESSAGE, 1);
    PUSH(1, load(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_DRAIN);
    forget();
}

/* Each core stores its part and loads that of the other one. */
TEST(cure, a_barrier)
{
    begin();
    for (unsigned c = 0; c < CORES; c++) {
        union cmd to = at_line(store(c * BYTES), __LINE__);
        union cmd from =
            at_line(rig_copy_in(ELSEWHERE, (1 - c) * BYTES, BYTES), __LINE__);
        rig_push(&chip, c, PIPE_MTE3, &to);
        rig_push(&chip, c, PIPE_MTE2, &from);
    }
    end();
    CHECK_EQ(cure.how, CURE_BARRIER);
    forget();
}

/* What both cores do nothing can put in order. */
TEST(cure, none_for_one_line_of_two_cores)
{
    begin();
    for (unsigned c = 0; c < CORES; c++) {
        PUSH(c, store(0), 0, 0);
    }
    end();
    CHECK_EQ(cure.how, CURE_NONE);
    forget();
}

/* What core 0 has waited for core 1 does not know: both belong to one record. */
TEST(cure, a_drain_of_one_core_ends_no_record)
{
    begin();
    PUSH(0, store(0), 0, 0);
    rig_drain(&chip);
    CHECK_EQ(rig_read(&chip, 0, rig_pipe(PIPE_MTE3, PIPE_LEFT)), 0u);
    PUSH(1, load(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_PAIR);
    forget();
}
