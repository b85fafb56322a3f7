/* SPDX-License-Identifier: MIT
 *
 * What is made of the stream of events: who let a command begin and how long it waited for
 * whom, launches, critical paths. On the machine itself, with the prices of v1, where a copy
 * of 12288 bytes takes 291 cycles (model/machine/event_test.c) and a NOP 1.
 */
#include <stdio.h>
#include <string.h>

#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/trace/path.h"
#include "tools/emu/trace/sums.h"

enum { COPY = 291 };

static struct rig chip;
static struct npu_host host;
static struct follow *follow;
static struct path *path;
static struct sums sums;
static uint64_t took[8], missed[8]; /* of MTE2's commands, by their numbers */
static struct followed seen[NPU_MAX_CORES][NPU_PIPES][8]; /* by their numbers */

static void event(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (!follow) {
        return;
    }
    follow_event(follow, e);
    if (e->what == NPU_ENDS) {
        const struct followed *c = follow_ended(follow);
        seen[e->core][e->pipe][e->number % 8] = *c;
        if (e->pipe == PIPE_MTE2) {
            took[e->number % 8] = e->end - e->begin;
            missed[e->number % 8] = e->missed;
        }
        path_ended(path, e, c, "here");
        sums_ended(&sums, e, c);
    }
}

static void open_chip_of(unsigned cores, enum npu_timing timing)
{
    rig_prices(timing);
    rig_open(&chip, cores, PROFILE_a2);
    host = *chip.npu.host;
    host.event = event;
    chip.npu.host = &host;
    follow = follow_new(cores);
    path = path_new();
    memset(&sums, 0, sizeof(sums));
    memset(seen, 0, sizeof(seen));
}

static void open_chip(unsigned cores)
{
    open_chip_of(cores, TIMING_v1);
}

static void close_chip(void)
{
    follow_free(follow);
    path_free(path);
    follow = NULL;
    rig_close(&chip);
}

static union cmd copy(unsigned post)
{
    union cmd c = rig_copy_in(0, 0, 12288);

    c.head.post_sem[0] = (uint8_t)post;
    c.head.post_n[0] = post != 0;
    return c;
}

static void push(unsigned core, enum pipe pipe, union cmd c)
{
    rig_push(&chip, core, pipe, &c);
}

static bool is_by(const struct by *by, unsigned core, unsigned who, uint64_t number,
                  uint64_t at)
{
    test_note("by %u.%u.%llu at %llu", by->core, by->who, (unsigned long long)by->number,
              (unsigned long long)by->at);
    return by->core == core && by->who == who && by->number == number && by->at == at;
}

TEST(follow, semaphores)
{
    const struct followed *c = &seen[0][PIPE_V][1];

    open_chip(1);
    push(0, PIPE_V, rig_nop(3, 0));
    push(0, PIPE_MTE2, copy(3));
    rig_drain(&chip);
    ok(c->cause == CAUSE_SEM && is_by(&c->by, 0, PIPE_MTE2, 1, COPY),
       "follow/goes_back_to_who_posted");
    ok(c->n_waited == 1 && c->waited[0].sem == 3 && c->waited[0].cycles == COPY &&
           c->sem == COPY && c->empty == 0,
       "follow/waited_so_long_for_the_semaphore");
    close_chip();
}

TEST(follow, hart_posts)
{
    const struct followed *c = &seen[0][PIPE_V][1];

    open_chip(1);
    push(0, PIPE_V, rig_nop(3, 0));
    rig_to(&chip, 17);
    rig_post(&chip, 0, 3, 1);
    rig_drain(&chip);
    ok(c->cause == CAUSE_SEM && is_by(&c->by, 0, NPU_BY_HART, 0, 17),
       "follow/goes_back_to_a_post_of_the_hart");
    close_chip();
}

/* The second waits for nothing but the first; the third is pushed when the queue has been
 * empty for 9 cycles. */
TEST(follow, queue)
{
    const struct followed *c = seen[0][PIPE_V];

    open_chip(1);
    push(0, PIPE_V, rig_nop(0, 0));
    push(0, PIPE_V, rig_nop(0, 0));
    rig_to(&chip, 11);
    push(0, PIPE_V, rig_nop(0, 0));
    rig_drain(&chip);
    ok(c[1].cause == CAUSE_PUSH && c[1].empty == 0, "follow/first_goes_back_to_its_push");
    ok(c[2].cause == CAUSE_ORDER && is_by(&c[2].by, 0, PIPE_V, 1, 1),
       "follow/second_goes_back_to_the_first");
    ok(c[3].cause == CAUSE_PUSH && c[3].issued == 11 && c[3].empty == 9,
       "follow/third_found_the_queue_empty");
    close_chip();
}

/* The one of two posts that came last counts, and a unit that is left stays. */
TEST(follow, units)
{
    const struct followed *c = &seen[0][PIPE_V][1];
    union cmd two = rig_nop(3, 0);

    open_chip(1);
    two.head.wait_n[0] = 2;
    push(0, PIPE_V, two);
    rig_to(&chip, 5);
    rig_post(&chip, 0, 3, 1);
    push(0, PIPE_MTE2, copy(3));
    rig_to(&chip, 6);
    ok(follow_units(follow, 0, 3) == 1, "follow/knows_what_a_semaphore_holds");
    rig_drain(&chip);
    ok(is_by(&c->by, 0, PIPE_MTE2, 1, 5 + COPY), "follow/goes_back_to_the_last_unit");
    ok(follow_units(follow, 0, 3) == 0, "follow/knows_that_units_are_taken");
    close_chip();
}

/* Core 1 waits for a barrier unit that works when the copy of core 0 has posted. */
TEST(follow, barrier)
{
    const struct followed *c = &seen[1][PIPE_V][1];

    open_chip(2);
    rig_write(&chip, NPU_CHIP, CHIP_BARRIER + 8 * 2,
              field_put(CHIP_BARRIER_WATCH, 4) | field_put(CHIP_BARRIER_COUNT, 1) |
                  field_put(CHIP_BARRIER_TARGET, 9) | field_put(CHIP_BARRIER_CORES, 2));
    push(1, PIPE_V, rig_nop(9, 0));
    push(0, PIPE_MTE2, copy(SEM_CORE + 4));
    rig_drain(&chip);
    ok(c->cause == CAUSE_SEM && c->by.barrier == 2 + 1 &&
           is_by(&c->by, 0, PIPE_MTE2, 1, COPY),
       "follow/goes_through_a_barrier_unit");
    close_chip();
}

/* What was there before somebody listened; what a reset takes away. */
TEST(follow, unknown)
{
    const struct followed *c = &seen[0][PIPE_V][1];
    struct follow *late;

    open_chip(1);
    late = follow;
    follow = NULL;
    push(0, PIPE_V, rig_nop(3, 0));
    rig_post(&chip, 0, 4, 1);
    follow = late;
    rig_to(&chip, 8);
    rig_post(&chip, 0, 3, 1);
    rig_drain(&chip);
    ok(c->number == 1 && is_by(&c->by, 0, NPU_BY_HART, 0, 8),
       "follow/command_of_before_is_no_riddle");
    push(0, PIPE_V, rig_nop(4, 0));
    rig_drain(&chip);
    ok(seen[0][PIPE_V][2].waited[0].by.number == 0, "follow/unit_of_before_is_nobodys");
    rig_post(&chip, 0, 3, 5);
    push(0, PIPE_V, rig_nop(7, 0));
    rig_write(&chip, 0, CORE_CTRL, CORE_CTRL_RESET);
    ok(follow_units(follow, 0, 3) == 0 && follow_depth(follow, 0, PIPE_V) == 0,
       "follow/reset_takes_it_away");
    close_chip();
}

/* What is not in L2 costs what it costs more than the same once more. */
TEST(follow, l2)
{
    open_chip_of(1, TIMING_v2);
    push(0, PIPE_MTE2, copy(0));
    rig_drain(&chip);
    rig_to(&chip, chip.now + 1000);
    push(0, PIPE_MTE2, copy(0));
    rig_drain(&chip);
    test_note("%llu and %llu cycles, of these %llu", (unsigned long long)took[1],
              (unsigned long long)took[2], (unsigned long long)missed[1]);
    ok(missed[1] != 0 && missed[2] == 0 && took[1] - took[2] == missed[1],
       "follow/knows_what_l2_lacks");
    close_chip();
}

/* --- paths --- */

static char text[512];

static void told(void *ctx, const struct step *s)
{
    static const char *const kinds[] = {"price",  "hart",    "wake",
                                        "scalar", "command", "delay"};
    static const char *const vias[] = {"return", "push", "order", "sem",
                                       "units",  "line", "hart"};
    size_t at = strlen(text);

    (void)ctx;
    snprintf(text + at, sizeof(text) - at, "%s %llu-%llu %s,", kinds[s->kind],
             (unsigned long long)s->from, (unsigned long long)s->to, vias[s->via]);
}

/* The hart does something else at a cycle. */
static void hart_does(uint64_t cycle, const char *name)
{
    rig_to(&chip, cycle);
    path_hart(path, follow_does(follow), cycle, strcmp(name, "awake") == 0);
    follow_hart(follow, cycle, follow_name(follow, name));
}

static void call(void)
{
    follow_begins(follow, follow_name(follow, "test"));
    rig_write(&chip, NPU_CHIP, CHIP_SHARE,
              field_put(CHIP_SHARE_CORES, 1) | CHIP_SHARE_LAUNCH);
    rig_read(&chip, NPU_CHIP, CHIP_CYCLE);
}

static bool is_path(const char *want)
{
    struct launched l;
    bool launched;

    rig_read(&chip, NPU_CHIP, CHIP_CYCLE);
    launched = follow_ends(follow, &l);
    text[0] = '\0';
    path_hart(path, follow_does(follow), chip.now, false);
    path_tell(path, &l, told, NULL);
    test_note("%s", text);
    return launched && l.call == 100 && l.back == chip.now &&
           strcmp(follow_text(follow, l.name), "test") == 0 && strcmp(text, want) == 0;
}

/* Called at 100, the copy pushed at 110; the hart sleeps from 120 until the NOP behind the
 * copy raises the line, and is awake at 405. */
TEST(path, sleeps)
{
    open_chip(1);
    hart_does(100, "works");
    call();
    rig_to(&chip, 110);
    rig_write(&chip, 0, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_IDLE);
    push(0, PIPE_MTE2, copy(3));
    push(0, PIPE_V, rig_nop(3, 0));
    hart_does(120, "idle");
    hart_does(405, "awake");
    rig_to(&chip, 420);
    ok(is_path("hart 100-110 push,command 110-401 sem,command 401-402 line,"
               "wake 402-405 hart,hart 405-420 return,"),
       "path/goes_back_over_a_sleep");
    close_chip();
}

/* The hart never sleeps, so all is its own. */
TEST(path, works)
{
    open_chip(1);
    hart_does(100, "works");
    call();
    push(0, PIPE_V, rig_nop(0, 0));
    hart_does(130, "more");
    rig_to(&chip, 150);
    ok(is_path("hart 100-130 hart,hart 130-150 return,"), "path/is_the_harts_that_works");
    close_chip();
}

TEST(path, sums)
{
    const struct pipe_sums *p = &sums.core[0].pipe[PIPE_MTE2];
    uint64_t first, last;

    open_chip(1);
    ok(!sums_span(&sums, &first, &last), "sums/begin_with_nothing");
    push(0, PIPE_MTE2, copy(0));
    push(0, PIPE_MTE2, copy(0));
    rig_drain(&chip);
    ok(sums_span(&sums, &first, &last) && first == 0 && last == 2 * COPY,
       "sums/have_the_span");
    ok(p->commands == 2 && p->ran == 2 * COPY && p->read[NPU_MEM_GM] == 2 * 12288 &&
           p->written[NPU_MEM_UB] == 2 * 12288 &&
           p->path[NPU_MEM_GM][NPU_MEM_UB] == 2 * 12288,
       "sums/have_what_commands_moved");
    close_chip();
}
