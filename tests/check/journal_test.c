/* SPDX-License-Identifier: MIT
 *
 * Redundant waits: small programs on the bare model, told again without each of their waits.
 */
#include "tests/check/host.h"
#include "tests/check/small.h"
#include "tests/test.h"
#include "tools/emu/check/race/journal.h"

static struct journal journal;

static void hear(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    journal_event(&journal, e);
}

static void begin(void)
{
    journal_open(&journal, &test_host, &small_config);
    small_begin(hear);
}

/* Semaphores of waits that order nothing, a digit each in the order of the commands; `race`:
 * there is one as it is. */
static const char *redundant(void)
{
    static char text[16];
    size_t n = 0;

    rig_drain(&small);
    if (!journal_judge(&journal)) {
        journal_close(&journal);
        return "race";
    }
    for (unsigned i = 0; i < journal.n_waits && n < sizeof(text) - 1; i++) {
        if (journal.wait[i].redundant) {
            text[n++] = (char)('0' + journal.wait[i].sem);
        }
    }
    text[n] = 0;
    return text;
}

/* x comes first, then what nobody uses; `beside`: the sum waits for that as well. */
static void two_loads(bool wait, bool beside)
{
    union cmd c = use(BUFFER);

    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, load(BESIDE), 0, LATE);
    c.head.wait_sem[1] = LATE;
    c.head.wait_n[1] = beside;
    PUSH(0, c, wait ? FULL : 0, 0);
}

TEST(journal, a_wait_that_is_needed)
{
    two_loads(true, false);
    CHECK_STR(redundant(), "");
    CHECK_EQ(journal.n_waits, 1u);
    CHECK_EQ(journal.wait[0].count, 1u);
    CHECK(journal.wait[0].alone);
    journal_close(&journal);
}

TEST(journal, either_of_two_waits)
{
    two_loads(true, true);
    CHECK_STR(redundant(), "14");
    journal_close(&journal);
}

TEST(journal, nothing_where_there_is_a_race)
{
    two_loads(false, false);
    CHECK_STR(redundant(), "race");
}

/* Rounds with one buffer; the hart begins with a unit and takes it back. */
TEST(journal, a_ring_needs_both_of_its_semaphores)
{
    begin();
    rig_post(&small, 0, FREE, 1);
    for (unsigned i = 0; i < 4; i++) {
        small_push(0, at_line(load(BUFFER), 1), FREE, 1, FULL);
        small_push(0, at_line(use(BUFFER), 2), FULL, 1, FREE);
    }
    small_look(0, PIPE_MTE2);
    small_look(0, PIPE_V);
    small_take(0, FREE, 1);
    CHECK_STR(redundant(), "");
    CHECK_EQ(journal.n_waits, 2u);
    CHECK_EQ(journal.wait[0].count, 4u);
    journal_close(&journal);
}

/* What the hart has seen the end of is ordered without a wait. */
TEST(journal, a_wait_behind_a_look)
{
    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    small_look(0, PIPE_MTE2);
    PUSH(0, use(BUFFER), FULL, 0);
    CHECK_STR(redundant(), "1");
    journal_close(&journal);
}

TEST(journal, a_reset_ends_what_was)
{
    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, use(BUFFER), LATE, 0);
    rig_drain(&small);
    rig_write(&small, 0, CORE_CTRL, CORE_CTRL_RESET);
    rig_write(&small, 0, rig_pipe(PIPE_MTE2, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_write(&small, NPU_CHIP, CHIP_CTRL, CHIP_CTRL_RESET);
    PUSH(0, use(BUFFER), 0, 0);
    CHECK_STR(redundant(), "");
    journal_close(&journal);
}

/* It cannot be left out for one of them alone. */
TEST(journal, a_semaphore_of_two_places)
{
    begin();
    PUSH(0, load(BUFFER), 0, FULL);
    PUSH(0, load(BESIDE), 0, FULL);
    PUSH(0, use(BUFFER), FULL, 0);
    PUSH(0, use(BESIDE), FULL, 0);
    CHECK_STR(redundant(), "");
    CHECK_EQ(journal.n_waits, 2u);
    CHECK(!journal.wait[0].alone);
    journal_close(&journal);
}

/* The hart's stores and loads count as well. */
static const char *with_the_hart(bool take)
{
    struct race_hart_access a = {
        .site.pc = 1, .first = RIG_GM_BASE, .bytes = 8, .mem = NPU_MEM_GM};

    begin();
    PUSH(0, store(0), 0, DONE);
    if (take) {
        small_take(0, DONE, 1);
    }
    journal_hart(&journal, &a);
    return redundant();
}

TEST(journal, a_load_of_the_hart)
{
    CHECK_STR(with_the_hart(false), "race");
    CHECK_STR(with_the_hart(true), "");
    journal_close(&journal);
}

/* Messages between cores. */
TEST(journal, a_semaphore_of_the_chip)
{
    begin();
    PUSH(0, store(0), 0, MESSAGE);
    PUSH(1, load(BUFFER), MESSAGE, 0);
    CHECK_STR(redundant(), "");
    CHECK_EQ(journal.wait[0].core, 1u);
    journal_close(&journal);
}
