/* SPDX-License-Identifier: MIT
 *
 * What a race lacks, and who may take the units of whom: small programs on the bare model
 * with one mistake each, and what the check names from its record of the run (tape.c, sim.c,
 * edit.c, cure.c).
 */
#include "tests/check/host.h"
#include "tests/check/small.h"
#include "tests/test.h"
#include "tools/emu/check/cure/cure.h"
#include "tools/emu/check/race/stream.h"

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
    static const struct race_report report = {findings_add, findings_mixed, &found};

    findings_open(&found, &test_host);
    race = race_new(&test_host, &small_config, &report);
    cure = (struct cure){.how = CURE_NONE};
    small_begin(hear);
}

/* What the one finding lacks. */
static void end(void)
{
    uint64_t work = 0;

    rig_drain(&small);
    CHECK_EQ(found.n, 1u);
    cure = cure_of(&found, 0, race, &work);
}

/* cure.other points into what this gives back. */
static void forget(void)
{
    race_free(race);
    findings_close(&found);
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
    PUSH(0, load(BESIDE), 0, FULL);
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), FULL, 0);
    small_take(0, FULL, 1);
    end();
    CHECK_EQ(cure.how, CURE_MORE);
    CHECK_EQ(cure.sem, FULL);
    forget();
}

TEST(cure, posted_too_early)
{
    unsigned line;

    begin();
    PUSH(0, load(BESIDE), 0, FULL), line = __LINE__;
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
    PUSH(0, use(BESIDE), FULL, 0), line = __LINE__;
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
        rig_post(&small, 0, FREE, first);
    }
    for (unsigned i = 0; i < 4; i++) {
        union cmd c = at_line(use(BUFFER), __LINE__);
        PUSH(0, load(BUFFER), free, FULL);
        c.head.wait_sem[0] = FULL;
        c.head.wait_n[0] = 1;
        c.head.post_sem[0] = (uint8_t)free;
        c.head.post_n[0] = (uint8_t)units;
        rig_push(&small, 0, PIPE_V, &c);
    }
}

TEST(cure, units_for_more_buffers_than_there_are)
{
    rounds(2, 1, FREE);
    small_take(0, FREE, 2);
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
    rig_drain(&small);
    rig_post(&small, 0, DONE, 1);
    end();
    CHECK_EQ(found.finding[0].b.site.opcode, OP_VABS);
    CHECK_EQ(cure.how, CURE_PAIR);
    CHECK(cure.turned);
    forget();
}

/* Two loads fill a buffer in turn with one that is used at once: what is missing is a wait of
 * those alone whose buffer is new. */
TEST(cure, of_some_commands_of_a_line)
{
    begin();
    for (unsigned i = 0; i < 4; i++) {
        union cmd c = at_line(load(i < 2 ? BUFFER : BESIDE), 1);
        small_push(0, c, 0, 0, i == 1 ? FULL : 0);
        small_push(0, at_line(use(i < 2 ? BUFFER : ELSEWHERE / 4), 2), 0, 0, 0);
    }
    end();
    CHECK(cure.some);
    forget();
}

/* A result goes from the Cube to the fixpipe by marks; what is in L0B is not ordered so. */
TEST(cure, beside_marks_of_L0C)
{
    union cmd m = rig_command(OP_MMAD, TYPE_F16),
              f = rig_command(OP_FIX_L0C_UB, TYPE_F32);
    union cmd l = rig_command(OP_INIT_L0B, TYPE_F16);

    m.head.flags = MMAD_INIT;
    m.mmad.m = m.mmad.n = m.mmad.k = 16;
    m.mmad.unit = UNIT_PASS;
    f.fix_local.m = f.fix_local.n = 16;
    f.fix_local.src_c0_stride = 16;
    f.fix_local.dst_pitch = 16;
    f.fix_local.nd_num = 1;
    f.fix_local.unit = UNIT_PASS;
    l.init.repeat = 1;
    l.init.len = 1;
    begin();
    for (unsigned i = 0; i < 2; i++) {
        small_push(0, at_line(m, 1), 0, 0, 0);
        small_push(0, at_line(f, 2), 0, 0, 0);
    }
    PUSH(0, l, 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_PAIR);
    forget();
}

/* Of what was dropped nothing can be told. */
TEST(cure, none_behind_a_reset)
{
    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), 0, 0);
    PUSH(0, use(BUFFER), DONE, 0);
    rig_drain(&small);
    rig_write(&small, 0, CORE_CTRL, CORE_CTRL_RESET);
    end();
    CHECK_EQ(cure.how, CURE_NONE);
    forget();
}

/* --- who takes --- */

/* The hart takes back what it has posted; whether it has looked that all is done. */
static void takes_back(bool looks)
{
    rounds(1, 1, FREE);
    if (looks) {
        small_look(0, PIPE_MTE2);
        small_look(0, PIPE_V);
    }
    small_take(0, FREE, 1);
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
    rig_push(&small, 0, PIPE_MTE2, &c);
    PUSH(0, use(BUFFER), FULL, 0);
    c = store(ELSEWHERE);
    PUSH(0, c, FULL, 0);
    rig_drain(&small);
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
    rig_post(&small, 0, MESSAGE, 1);
    small_take(1, MESSAGE, 1);
    PUSH(1, load(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_DRAIN);
    forget();
}

/* A barrier unit is there, and only the store lacks its post: the pair has none of its own. */
TEST(cure, beside_a_barrier_unit)
{
    begin();
    rig_write(&small, NPU_CHIP, CHIP_BARRIER,
              field_put(CHIP_BARRIER_WATCH, MESSAGE - SEM_CORE) |
                  field_put(CHIP_BARRIER_COUNT, CORES) |
                  field_put(CHIP_BARRIER_TARGET, LATE) |
                  field_put(CHIP_BARRIER_CORES, 3));
    PUSH(0, store(0), 0, 0);
    rig_post(&small, 0, MESSAGE, 1);
    rig_post(&small, 1, MESSAGE, 1);
    PUSH(1, load(BUFFER), LATE, 0);
    small_take(0, LATE, 1);
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
        rig_push(&small, c, PIPE_MTE3, &to);
        rig_push(&small, c, PIPE_MTE2, &from);
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
    small_look(0, PIPE_MTE3);
    PUSH(1, load(BUFFER), 0, 0);
    end();
    CHECK_EQ(cure.how, CURE_PAIR);
    forget();
}
