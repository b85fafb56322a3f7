/* SPDX-License-Identifier: MIT
 *
 * Perturbed machines: what a seed delays, what it must leave alone, and that a run is
 * repeated exactly. Where a test needs a certain delay it looks for a seed that has it.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/machine/state/state.h"

enum { SEM = 5, OTHER = 6, SEEDS = 1000 };

static void open_seeded(struct rig *r, unsigned cores, uint32_t seed)
{
    rig_open(r, cores, PROFILE_a2);
    r->config.seed = seed;
    npu_init(&r->npu, &r->config);
}

/* Anew with another seed. What is left in its memories decides nothing here, and the host takes
 * milliseconds to hand out new ones. */
static void again(struct rig *r, uint32_t seed)
{
    memset(r->irq, 0, sizeof(r->irq));
    r->now = r->maps = 0;
    r->config.seed = seed;
    npu_init(&r->npu, &r->config);
}

static const struct npu_pipe *pipe_state(const struct rig *r, unsigned core,
                                         enum pipe pipe)
{
    return &r->npu.s->core[core].pipe[pipe];
}

/* Opens the first machine that holds back a command of pipe V by at least `cycles`. */
static void open_held(struct rig *r, uint64_t cycles, const union cmd *c)
{
    for (uint32_t seed = 1; seed < SEEDS; seed++) {
        open_seeded(r, 2, seed);
        rig_post(r, 0, SEM, 1);
        rig_push(r, 0, PIPE_V, c);
        if (pipe_state(r, 0, PIPE_V)->hold >= cycles) {
            return;
        }
        rig_close(r);
    }
    open_seeded(r, 2, 0);
}

TEST(perturb, held_begin)
{
    struct rig r;
    union cmd c = rig_nop(SEM, OTHER);
    uint64_t until;

    open_held(&r, 50, &c);
    until = pipe_state(&r, 0, PIPE_V)->hold;
    rig_write(&r, 0, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_IDLE);
    rig_to(&r, until - 1);
    ok(until && rig_sem(&r, 0, SEM) == 1 &&
           field_get(PIPE_STATUS_STATE, rig_read(&r, 0, rig_pipe(PIPE_V, PIPE_STATUS))) ==
               PIPE_WAITING,
       "perturb/a_held_command_has_taken_nothing");
    ok(npu_next(&r.npu) == until && !r.irq[0] &&
           field_get(CORE_STATUS_RUNNING, rig_read(&r, 0, CORE_STATUS)) == 1u << PIPE_V,
       "perturb/a_held_command_is_in_flight");
    rig_to(&r, until);
    ok(rig_sem(&r, 0, SEM) == 0 && pipe_state(&r, 0, PIPE_V)->begin == until,
       "perturb/it_takes_when_it_begins");
    ok(rig_read(&r, 0, rig_pipe(PIPE_V, PMU_STALL_SEM)) == until,
       "perturb/a_late_begin_counts_as_waiting");
    rig_drain(&r);
    ok(rig_sem(&r, 0, OTHER) == 1 && r.irq[0], "perturb/and_ends_as_ever");
    rig_close(&r);
}

/* The hart takes what a held command could have taken. */
TEST(perturb, lost_race)
{
    struct rig r;
    union cmd c = rig_nop(SEM, OTHER);

    open_held(&r, 50, &c);
    rig_write(&r, 0, SEM_TAKE + 8 * SEM, 1);
    ok(rig_read(&r, 0, SEM_TAKEN), "perturb/the_hart_may_take_first");
    rig_drain(&r);
    ok(pipe_state(&r, 0, PIPE_V)->state == PIPE_WAITING &&
           !field_get(CORE_STATUS_RUNNING, rig_read(&r, 0, CORE_STATUS)),
       "perturb/who_lost_waits_and_is_not_in_flight");
    rig_post(&r, 0, SEM, 1);
    rig_drain(&r);
    ok(rig_sem(&r, 0, SEM) == 0 && rig_sem(&r, 0, OTHER) == 1,
       "perturb/and_gets_the_next");
    rig_close(&r);
}

TEST(perturb, held_pipe_stops)
{
    struct rig r;
    union cmd c = rig_nop(SEM, OTHER);

    open_held(&r, 50, &c);
    rig_write(&r, 0, rig_pipe(PIPE_V, PIPE_PUSH), RIG_GM_BASE + 4);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_PUSH_ADDR && rig_sem(&r, 0, SEM) == 1 &&
           !field_get(CORE_STATUS_RUNNING, rig_read(&r, 0, CORE_STATUS)),
       "perturb/a_held_command_of_a_stopped_pipe_never_begins");
    rig_close(&r);
    open_held(&r, 50, &c);
    rig_write(&r, 0, rig_pipe(PIPE_V, PIPE_CTRL), PIPE_CTRL_RESET);
    ok(npu_next(&r.npu) == NPU_NEVER, "perturb/a_reset_drops_a_held_command");
    rig_close(&r);
}

/* Sources at the late begin, destination at the late end. */
TEST(perturb, bytes)
{
    struct rig r;
    union cmd c = rig_copy_in(0, 0, 64);
    uint8_t *ub;
    bool late = false;

    for (uint32_t seed = 1; !late && seed < SEEDS; seed++) {
        if (seed > 1) {
            rig_close(&r);
        }
        open_seeded(&r, 1, seed);
        rig_push(&r, 0, PIPE_MTE2, &c);
        if (pipe_state(&r, 0, PIPE_MTE2)->hold > 50) {
            rig_to(&r, npu_next(&r.npu) - 1);
            r.gm[0] = 77;
            rig_to(&r, npu_next(&r.npu));
            late = pipe_state(&r, 0, PIPE_MTE2)->end > r.now + 300;
        }
    }
    r.gm[0] = 0;
    ub = r.npu.mem[0][NPU_MEM_UB];
    rig_to(&r, npu_next(&r.npu) - 1);
    ok(late && ub[0] == 0, "perturb/destination_changes_at_the_late_end");
    rig_to(&r, npu_next(&r.npu));
    ok(ub[0] == 77, "perturb/sources_are_read_at_the_late_begin");
    ok(rig_read(&r, 0, rig_pipe(PIPE_MTE2, PMU_STALL_BW)) == 0 &&
           rig_read(&r, 0, rig_pipe(PIPE_MTE2, PMU_BUSY)) ==
               pipe_state(&r, 0, PIPE_MTE2)->end - pipe_state(&r, 0, PIPE_MTE2)->begin,
       "perturb/a_late_end_counts_as_busy");
    rig_close(&r);
}

TEST(perturb, line)
{
    struct rig r;
    uint64_t due = 0;
    unsigned prompt = 0;

    for (uint32_t seed = 1; seed < SEEDS && due < 50; seed++) {
        open_seeded(&r, 2, seed);
        rig_write(&r, 1, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_SEM);
        rig_write(&r, 1, SEM_ARM + 8 * SEM, 1);
        rig_post(&r, 1, SEM, 1);
        due = npu_next(&r.npu) == NPU_NEVER ? 0 : npu_next(&r.npu);
        if (due < 50) {
            rig_close(&r);
        }
    }
    rig_to(&r, due - 1);
    ok(!r.irq[1] && rig_read(&r, 1, CORE_IRQ_STATUS) & CORE_IRQ_STATUS_SEM,
       "perturb/a_line_rises_later_than_its_cause");
    rig_to(&r, due);
    ok(r.irq[1] && npu_next(&r.npu) == NPU_NEVER, "perturb/but_it_rises");
    rig_write(&r, 1, SEM_TAKE + 8 * SEM, 1);
    ok(!r.irq[1], "perturb/and_falls_at_once");
    for (unsigned i = 0; i < 1000 && (prompt == 0 || npu_next(&r.npu) == NPU_NEVER);
         i++) {
        rig_write(&r, 1, SEM_TAKE + 8 * SEM, 1);
        rig_post(&r, 1, SEM, 1);
        prompt += r.irq[1];
    }
    ok(npu_next(&r.npu) != NPU_NEVER && !r.irq[1] && prompt,
       "perturb/is_prompt_or_late_the_next_times");
    rig_write(&r, 1, SEM_TAKE + 8 * SEM, 1);
    ok(npu_next(&r.npu) == NPU_NEVER, "perturb/a_late_line_without_a_cause_stays_low");
    rig_close(&r);
}

/* Two pipes and two cores want one post: who gets it is the seed's choice. */
TEST(perturb, arbitration)
{
    unsigned won[2][2] = {{0}}, late = 0;
    union cmd c = rig_nop(SEM_CORE + 1, 0);
    struct rig r;

    open_seeded(&r, 2, 0);
    for (uint32_t seed = 1; seed <= 100; seed++) {
        again(&r, seed);
        for (unsigned core = 0; core < 2; core++) {
            rig_push(&r, core, PIPE_V, &c);
            rig_push(&r, core, PIPE_M, &c);
        }
        rig_to(&r, 10);
        rig_post(&r, 0, SEM_CORE + 1, 1);
        late += npu_next(&r.npu) != 11;
        rig_drain(&r);
        for (unsigned core = 0; core < 2; core++) {
            won[core][0] += pipe_state(&r, core, PIPE_V)->count == 0;
            won[core][1] += pipe_state(&r, core, PIPE_M)->count == 0;
        }
    }
    rig_close(&r);
    ok(won[0][0] + won[0][1] + won[1][0] + won[1][1] == 100,
       "perturb/one_post_lets_exactly_one_begin");
    ok(won[0][0] > 10 && won[0][1] > 10 && won[1][0] > 10 && won[1][1] > 10,
       "perturb/any_pipe_of_any_core_may_be_first");
    ok(late > 5 && late < 75, "perturb/most_begin_at_once");
}

/* Ends of many commands, in one number. */
static uint64_t history(struct rig *r, unsigned commands)
{
    uint64_t hash = 0;
    union cmd c = rig_nop(0, 0), d = rig_copy_in(0, 0, 4096);

    for (unsigned i = 0; i < commands; i++) {
        rig_push(r, i % 2, PIPE_V, &c);
        rig_push(r, i % 2, PIPE_MTE2, &d);
        rig_drain(r);
        hash = hash * 31 + r->now;
    }
    return hash;
}

TEST(perturb, repeats)
{
    uint64_t hash[4];
    struct rig r;

    rig_prices(TIMING_v1);
    for (unsigned i = 0; i < 4; i++) {
        open_seeded(&r, 2, i < 2 ? 7 : i);
        hash[i] = history(&r, 100);
        rig_close(&r);
    }
    ok(hash[0] == hash[1], "perturb/a_seed_repeats_its_run");
    ok(hash[0] != hash[2] && hash[2] != hash[3], "perturb/seeds_differ");
    open_seeded(&r, 2, 0);
    history(&r, 50);
    /* 192 + ceil(4096 / 125) = 225 cycles each; a NOP beside it hides. */
    ok(r.now == 50 * 225, "perturb/seed_0_changes_no_cycle");
    rig_close(&r);
}

/* Shape of the delays over many pipes: cycles that a NOP takes beyond its one. */
TEST(perturb, shape)
{
    unsigned none = 0, few = 0, some = 0, many = 0, all = 0;
    union cmd c = rig_nop(0, 0);
    struct rig r;

    open_seeded(&r, 1, 0);
    for (uint32_t seed = 1; seed <= 100; seed++) {
        again(&r, seed);
        for (unsigned i = 0; i < 100; i++, all++) {
            uint64_t extra;
            rig_push(&r, 0, PIPE_V, &c);
            rig_drain(&r);
            extra = pipe_state(&r, 0, PIPE_V)->end - pipe_state(&r, 0, PIPE_V)->begin - 1;
            none += extra == 0;
            few += extra > 0 && extra < 16;
            some += extra >= 16 && extra < 1024;
            many += extra >= 1024 && extra < 8192;
        }
    }
    rig_close(&r);
    test_note(
        "of %u ends %u at once, %u up to 15 cycles late, %u up to 1023, %u up to 8191",
        all, none, few, some, many);
    ok(none > all / 2 && few > all / 10 && some > all / 50 && many > all / 1000 &&
           none + few + some + many == all,
       "perturb/mostly_not_sometimes_a_little_rarely_thousands");
}

static void copy_machine(struct rig *to, const struct rig *from)
{
    memcpy(to->npu.s, from->npu.s, npu_state_size());
    memcpy(to->npu.l2, from->npu.l2, npu_l2_bytes(PROFILE_a2));
    for (unsigned c = 0; c < from->config.cores; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            memcpy(to->npu.mem[c][m], from->npu.mem[c][m],
                   npu_mem_size(PROFILE_a2, (enum npu_mem)m));
        }
    }
    memcpy(to->gm, from->gm, RIG_GM_BYTES);
    to->now = from->now;
}

TEST(perturb, snapshot)
{
    struct rig a, b;
    union cmd c = rig_nop(SEM, OTHER);
    uint32_t seed;

    open_held(&a, 50, &c);
    rig_to(&a, 20);
    open_seeded(&b, 2, a.config.seed);
    copy_machine(&b, &a);
    ok(npu_restored(&b.npu, &b.config, b.now), "perturb/a_snapshot_of_a_held_command");
    ok(history(&a, 20) == history(&b, 20) &&
           memcmp(a.npu.s, b.npu.s, npu_state_size()) == 0,
       "perturb/goes_on_alike");
    seed = b.config.seed;
    b.config.seed = seed + 1;
    ok(!npu_restored(&b.npu, &b.config, b.now),
       "perturb/a_snapshot_of_another_seed_is_refused");
    b.config.seed = seed;
    b.npu.s->core[0].pipe[PIPE_M].hold = 1;
    ok(!npu_restored(&b.npu, &b.config, b.now),
       "perturb/a_hold_without_a_command_is_refused");
    rig_close(&a);
    rig_close(&b);
}

/* Cycles by which two commands begin late that are pushed to an idle core. */
static uint64_t late_by(struct rig *r, unsigned core, bool *together)
{
    uint64_t now = r->now, first;
    union cmd c = rig_nop(0, 0);

    rig_push(r, core, PIPE_V, &c);
    rig_push(r, core, PIPE_MTE2, &c);
    rig_drain(r);
    first = pipe_state(r, core, PIPE_V)->begin;
    *together &= pipe_state(r, core, PIPE_MTE2)->begin == first;
    return first - now;
}

/* All of a core begins late, and nothing else does: only that delay is left. */
TEST(perturb, late_core)
{
    bool together = true, others = true;
    unsigned late = 0;
    struct rig r;

    rig_open(&r, 2, PROFILE_a2);
    for (uint32_t seed = 1; seed <= 100; seed++) {
        uint64_t key =
            (uint64_t)NPU_LATE_CORE << 60 | (uint64_t)1 << 52 | (uint64_t)NPU_PIPES << 48;
        struct npu_only only = {1, &key};
        r.config.only = &only;
        again(&r, seed);
        late += late_by(&r, 1, &together) > 0;
        others &= late_by(&r, 0, &together) == 0;
    }
    rig_close(&r);
    ok(late > 10 && late < 90, "perturb/an_idle_core_may_begin_late");
    ok(together, "perturb/all_of_its_pipes_do");
    ok(others, "perturb/others_begin_at_once");
}

TEST(perturb, only)
{
    static const uint64_t none[1];
    struct npu_only only = {0, none};
    uint64_t plain;
    struct rig r;

    open_seeded(&r, 2, 0);
    plain = history(&r, 50);
    rig_close(&r);
    rig_open(&r, 2, PROFILE_a2);
    r.config.seed = 7;
    r.config.only = &only;
    npu_init(&r.npu, &r.config);
    ok(history(&r, 50) == plain, "perturb/without_its_delays_a_seed_changes_no_cycle");
    r.config.only = NULL;
    ok(!npu_restored(&r.npu, &r.config, r.now),
       "perturb/a_snapshot_of_other_delays_is_refused");
    rig_close(&r);
}

TEST(perturb, slow_hart)
{
    unsigned slow = 0;
    struct rig r;

    open_seeded(&r, 1, 0);
    for (uint32_t seed = 0; seed <= 100; seed++) {
        again(&r, seed);
        for (unsigned i = 0; i < 100; i++) {
            npu_slow_hart(&r.npu);
        }
        slow += npu_hart_late(&r.npu) > 0;
        if (seed == 0) {
            ok(slow == 0, "perturb/without_a_seed_the_hart_is_never_late");
        }
    }
    ok(slow > 50, "perturb/the_hart_may_be_late_at_an_access");
    again(&r, 1);
    r.npu.s->hart_late = 11;
    rig_to(&r, 10);
    ok(!npu_restored(&r.npu, &r.config, r.now),
       "perturb/a_hart_that_is_later_than_it_is_is_refused");
    rig_close(&r);
}
