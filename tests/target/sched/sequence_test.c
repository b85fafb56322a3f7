/* SPDX-License-Identifier: MIT
 *
 * Recorded sequences: that their rounds are the commands that they should be, and the
 * mistakes that end a launch by name before anything is pushed.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "sched/launch.h"
#include "sched/sequence.h"
#include "sched/tque.h"
#include "tests/target/test.h"

enum { TILE = 256, TILES = 45, RING = 2, LENGTH = 3, MANY = 3 * PIPE_DEPTH };

static float from[TILES * TILE / 4] __attribute__((aligned(32)));
static float to[TILES * TILE / 4];

static int run(const char *name, void (*kernel)(void *arg), void *arg,
               struct sched_report *report)
{
    return launch(&(struct launch){name, kernel, arg, .cores = 1}, report);
}

static void fill(void)
{
    for (unsigned i = 0; i < TILES * TILE / 4; i++) {
        from[i] = (float)i + 1;
        to[i] = 0;
    }
}

static unsigned differing(float factor)
{
    unsigned n = 0;

    for (unsigned i = 0; i < TILES * TILE / 4; i++) {
        n += to[i] != factor * from[i];
    }
    return n;
}

/* --- load, compute and store in one loop --- */

/* to = -from, by three commands of the Vector for each tile. Positions of rings are half a
 * tile's addresses apart from 0 up, results behind them. */
enum { X_FREE, X_FULL, Y_FREE, Y_FULL, Y_BEGIN = RING * TILE };

struct negate {
    union cmd in[RING], work[RING * LENGTH], out[RING];
    struct seq_patch next_in[RING], next_out[RING];
    struct sequence load, body, store;
};

static void record(struct negate *r)
{
    memset(r, 0, sizeof(*r));
    r->load = (struct sequence){.name = "load",
                                .pipe = PIPE_MTE2,
                                .cmds = r->in,
                                .n = 1,
                                .positions = RING,
                                .patches = r->next_in,
                                .n_patches = RING};
    r->body = (struct sequence){
        .name = "body", .pipe = PIPE_V, .cmds = r->work, .n = LENGTH, .positions = RING};
    r->store = (struct sequence){.name = "store",
                                 .pipe = PIPE_MTE3,
                                 .cmds = r->out,
                                 .n = 1,
                                 .positions = RING,
                                 .patches = r->next_out,
                                 .n_patches = RING};
    for (unsigned i = 0; i < RING; i++) {
        uint32_t x = i * TILE, y = Y_BEGIN + i * TILE;
        union cmd *v = &r->work[i * LENGTH];
        mte_gm_to_ub(&r->in[i], x, from, TILE);
        cmd_wait(&r->in[i], X_FREE, 1);
        cmd_post(&r->in[i], X_FULL, 1);
        vector_count(&v[0], TILE / 4);
        cmd_wait(&v[0], X_FULL, 1);
        cmd_wait(&v[0], Y_FREE, 1);
        vector_unary(&v[1], OP_VNEG, TYPE_F32, y, x);
        cmd_post(&v[1], X_FREE, 1);
        cmd_nop(&v[2]);
        cmd_post(&v[2], Y_FULL, 1);
        mte_ub_to_gm(&r->out[i], to, y, TILE);
        cmd_wait(&r->out[i], Y_FULL, 1);
        cmd_post(&r->out[i], Y_FREE, 1);
        r->next_in[i] = (struct seq_patch){.cmd = (uint16_t)i,
                                           .field = SEQ_FIELD(copy_in.src),
                                           .base = (uintptr_t)from,
                                           .stride = {TILE}};
        r->next_out[i] = (struct seq_patch){.cmd = (uint16_t)i,
                                            .field = SEQ_FIELD(copy_out.dst),
                                            .base = (uintptr_t)to,
                                            .stride = {TILE}};
    }
}

static void rings(void (*change)(unsigned sem, unsigned count))
{
    change(X_FREE, RING);
    change(Y_FREE, RING);
}

static void post(unsigned sem, unsigned count)
{
    task_post(sem, count);
}

static void take(unsigned sem, unsigned count)
{
    task_wait(sem, count);
}

static struct negate recorded;

static void play(void *arg)
{
    const uint32_t *rounds = arg;
    struct negate *r = &recorded;
    struct seq_leg in = {.seq = &r->load, .rounds = {rounds[0], rounds[1], rounds[2]}};
    struct seq_leg work = {.seq = &r->body, .rounds = {rounds[0], rounds[1], rounds[2]}};
    struct seq_leg out = {.seq = &r->store, .rounds = {rounds[0], rounds[1], rounds[2]}};
    struct seq_lane lanes[] = {{.legs = &in, .n_legs = 1},
                               {.legs = &work, .n_legs = 1},
                               {.legs = &out, .n_legs = 1}};

    rings(post);
    sequence_play(lanes, 3);
    task_drain();
    rings(take);
}

TEST(sequence, one_loop_keeps_three_pipes_busy)
{
    struct sched_report report;
    uint32_t rounds[SEQ_LOOPS] = {TILES};

    fill();
    record(&recorded);
    CHECK_OK(run("play", play, rounds, &report));
    CHECK_EQ(differing(-1), 0u);
}

/* Three loops, the innermost of which goes backwards through the source and the result. */
TEST(sequence, loops_nest)
{
    struct sched_report report;
    uint32_t rounds[SEQ_LOOPS] = {3, 5, 3};

    static_assert(3 * 5 * 3 == TILES, "all tiles");
    fill();
    record(&recorded);
    for (unsigned i = 0; i < RING; i++) {
        struct seq_patch *p[] = {&recorded.next_in[i], &recorded.next_out[i]};
        for (unsigned k = 0; k < 2; k++) {
            p[k]->base += 2 * TILE;
            p[k]->stride[0] = -TILE;
            p[k]->stride[1] = 9 * TILE;
            p[k]->stride[2] = 3 * TILE;
        }
    }
    CHECK_OK(run("nest", play, rounds, &report));
    CHECK_EQ(differing(-1), 0u);
}

/* A lane of two legs, the second of which begins at an odd position. */
static void in_two_legs(void *arg)
{
    struct negate *r = &recorded;
    const uint16_t first = *(uint16_t *)arg;
    struct seq_patch rest_in[RING], rest_out[RING];
    struct sequence load = r->load, store = r->store;
    struct seq_leg in[2] = {{.seq = &r->load, .rounds = {first}},
                            {.seq = &load, .rounds = {TILES - first}, .first = first}};
    struct seq_leg work[2] = {
        {.seq = &r->body, .rounds = {first}},
        {.seq = &r->body, .rounds = {TILES - first}, .first = first}};
    struct seq_leg out[2] = {{.seq = &r->store, .rounds = {first}},
                             {.seq = &store, .rounds = {TILES - first}, .first = first}};
    struct seq_lane lanes[] = {{.legs = in, .n_legs = 2},
                               {.legs = work, .n_legs = 2},
                               {.legs = out, .n_legs = 2}};
    union cmd more[2][RING];

    for (unsigned i = 0; i < RING; i++) {
        rest_in[i] = r->next_in[i];
        rest_in[i].base += first * TILE;
        rest_out[i] = r->next_out[i];
        rest_out[i].base += first * TILE;
        more[0][i] = r->in[i];
        more[1][i] = r->out[i];
    }
    load.cmds = more[0];
    load.patches = rest_in;
    store.cmds = more[1];
    store.patches = rest_out;
    rings(post);
    sequence_play(lanes, 3);
    task_drain();
    rings(take);
}

TEST(sequence, lanes_go_from_leg_to_leg)
{
    struct sched_report report;
    uint16_t first = 7;

    fill();
    record(&recorded);
    CHECK_OK(run("legs", in_two_legs, &first, &report));
    CHECK_EQ(differing(-1), 0u);
}

static void push_by_hand(void *arg)
{
    struct negate *r = &recorded;

    (void)arg;
    rings(post);
    for (uint32_t i = 0; i < TILES; i++) {
        sequence_push(&r->load, i);
        sequence_push(&r->body, i);
        sequence_push(&r->store, i);
    }
    task_drain();
    rings(take);
}

TEST(sequence, bodies_are_pushed_by_hand)
{
    struct sched_report report;

    fill();
    record(&recorded);
    CHECK_OK(run("by hand", push_by_hand, NULL, &report));
    CHECK_EQ(differing(-1), 0u);
}

/* A record, once played, is played again by later launches: with other addresses too. */
TEST(sequence, later_launches_play_it_again)
{
    struct sched_report report;
    uint32_t rounds[SEQ_LOOPS] = {TILES - 1};

    fill();
    record(&recorded);
    CHECK_OK(run("play", play, rounds, &report));
    CHECK_EQ(differing(-1), (unsigned)TILE / 4);
    for (unsigned i = 0; i < RING; i++) {
        recorded.next_in[i].base += TILE;
        recorded.next_out[i].base += TILE;
    }
    memset(to, 0, sizeof(to));
    CHECK_OK(run("again", play, rounds, &report));
    CHECK_EQ(to[0], 0.0f);
    to[0] = -from[0];
    CHECK_EQ(differing(-1), (unsigned)TILE / 4 - 1);
}

/* --- recorded by queue verbs --- */

static void by_queues(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, RING, TILE);
    struct tque *out = tque_init(pipe, "out", VECOUT, PIPE_V, PIPE_MTE3, RING, TILE);
    struct negate *r = &recorded;
    struct seq_leg legs[] = {{.seq = &r->load, .rounds = {TILES}},
                             {.seq = &r->body, .rounds = {TILES}},
                             {.seq = &r->store, .rounds = {TILES}}};
    struct seq_lane lanes[] = {{.legs = &legs[0], .n_legs = 1},
                               {.legs = &legs[1], .n_legs = 1},
                               {.legs = &legs[2], .n_legs = 1}};
    union cmd cmd;

    (void)arg;
    r->load.n = r->body.n = r->store.n = 0;
    r->load.positions = r->body.positions = r->store.positions = 0;
    vector_count(&cmd, TILE / 4);
    task_issue(PIPE_V, &cmd);
    for (unsigned i = 0; i < RING; i++) {
        uint32_t x = tque_alloc(in), y;
        mte_gm_to_ub(&cmd, x, from, TILE);
        tque_enque(in, x, &cmd);
        sequence_add(&r->load, RING, &cmd);
        x = tque_deque(in);
        y = tque_alloc(out);
        vector_unary(&cmd, OP_VNEG, TYPE_F32, y, x);
        tque_free(in, x, &cmd);
        tque_enque(out, y, &cmd);
        sequence_add(&r->body, RING * LENGTH, &cmd);
        y = tque_deque(out);
        mte_ub_to_gm(&cmd, to, y, TILE);
        tque_free(out, y, &cmd);
        sequence_add(&r->store, RING, &cmd);
    }
    sequence_positions(&r->load, RING);
    sequence_positions(&r->body, RING);
    sequence_positions(&r->store, RING);
    sequence_play(lanes, 3);
}

TEST(sequence, queue_verbs_record_too)
{
    struct sched_report report;

    fill();
    record(&recorded);
    CHECK_OK(run("queues", by_queues, NULL, &report));
    CHECK_EQ(differing(-1), 0u);
    CHECK(recorded.in[0].head.pc != 0);
    CHECK(recorded.in[0].head.pc != recorded.out[0].head.pc);
}

/* --- issue_many --- */

static void issue_many(void *arg)
{
    static union cmd cmds[PIPE_DEPTH];

    (void)arg;
    memset(cmds, 0, sizeof(cmds));
    for (unsigned i = 0; i < PIPE_DEPTH; i++) {
        cmd_nop(&cmds[i]);
        cmd_post(&cmds[i], 1, 1);
    }
    for (unsigned i = 1; i <= PIPE_DEPTH; i++) {
        task_issue_many(PIPE_V, cmds, i);
        task_wait(1, i);
    }
    CHECK(cmds[0].head.pc != 0);
    CHECK(cmds[PIPE_DEPTH - 1].head.tag != 0);
}

TEST(sequence, many_commands_by_one_store)
{
    struct sched_report report;

    CHECK_OK(run("many", issue_many, NULL, &report));
}

/* --- mistakes --- */

static void check_mistake(void (*kernel)(void *arg), const char *text)
{
    struct sched_report report;
    uint32_t rounds[SEQ_LOOPS] = {TILES};

    fill();
    CHECK_EQ(run("wrong", kernel, rounds, &report), ERR_SEQUENCE);
    CHECK(strstr(report.text, "task wrong, core 0, ") != NULL);
    CHECK(strstr(report.text, text) != NULL);
    CHECK(strstr(report.text, "tests/target/sched/sequence_test.c:") != NULL);
    CHECK_EQ(differing(0), 0u); /* nothing was pushed */
    record(&recorded);
    CHECK_OK(run("next", play, rounds, &report));
    CHECK_EQ(differing(-1), 0u);
}

TEST(sequence, address_that_is_not_patched_is_named)
{
    record(&recorded);
    recorded.in[1].copy_in.src = 0;
    recorded.load.n_patches = 1;
    check_mistake(play, "sequence load, command 1 (COPY_GM_UB, pc 0x");
    recorded.in[1].copy_in.src = 0;
    recorded.load.n_patches = 1;
    recorded.load.checked = NULL;
    check_mistake(play, "): src is 0 and not patched");
}

TEST(sequence, patch_of_no_command_is_named)
{
    record(&recorded);
    recorded.next_in[1].cmd = RING;
    check_mistake(play, "sequence load, patch 1: command 2 is not one of them");
}

TEST(sequence, patch_outside_of_its_command_is_named)
{
    record(&recorded);
    recorded.next_out[0].field = CMD_BYTES;
    check_mistake(play, "patch 0: no operand begins at byte 64");
}

TEST(sequence, patch_that_leads_too_far_is_named)
{
    record(&recorded);
    recorded.next_in[0].stride[0] = INT64_MAX / TILES;
    check_mistake(play, "): src is patched from 0x");
}

TEST(sequence, patch_that_has_no_address_is_named)
{
    record(&recorded);
    recorded.next_in[0].base = 0;
    check_mistake(play, "): src is patched from 0x");
}

TEST(sequence, command_of_another_pipe_is_named)
{
    record(&recorded);
    cmd_init(&recorded.work[4], OP_MMAD, TYPE_F16);
    check_mistake(play, "): belongs to M, the sequence to V");
}

TEST(sequence, command_without_an_opcode_is_named)
{
    record(&recorded);
    recorded.work[5].head.opcode = 0;
    check_mistake(play, "sequence body, command 5 (no opcode, pc 0x");
}

static void push_too_long(void *arg)
{
    static union cmd nops[PIPE_DEPTH + 1];
    struct sequence s = {
        .name = "long", .pipe = PIPE_V, .cmds = nops, .n = PIPE_DEPTH + 1};

    (void)arg;
    for (unsigned i = 0; i <= PIPE_DEPTH; i++) {
        cmd_nop(&nops[i]);
    }
    sequence_push(&s, 0);
}

TEST(sequence, body_longer_than_a_queue_is_named)
{
    check_mistake(push_too_long, "sequence long: a body of 33 commands, V holds 32");
}

static void issue_too_many(void *arg)
{
    static union cmd cmds[MANY];

    (void)arg;
    task_issue_many(PIPE_V, cmds, MANY);
}

TEST(sequence, more_commands_than_a_queue_holds_are_named)
{
    check_mistake(issue_too_many, "96 commands at one time, V holds 1 to 32");
}

static void add_too_many(void *arg)
{
    (void)arg;
    sequence_add(&recorded.body, LENGTH, &recorded.work[0]);
}

TEST(sequence, record_that_is_full_is_named)
{
    record(&recorded);
    recorded.body.positions = 0;
    check_mistake(add_too_many,
                  "sequence body: command 3, which is one more than it has room for");
}

/* Core 0 plays first; the barrier keeps it from taking the other core's block as well. */
static void share(void *arg)
{
    struct seq_leg leg = {.seq = &recorded.load, .rounds = {1}};
    struct seq_lane lane = {.legs = &leg, .n_legs = 1};

    (void)arg;
    if (task_core() != 0) {
        task_barrier();
    }
    task_post(X_FREE, 1);
    sequence_play(&lane, 1);
    task_wait(X_FULL, 1);
    if (task_core() == 0) {
        task_barrier();
    }
}

TEST(sequence, patches_shared_by_two_cores_are_named)
{
    struct sched_report report;

    if (chip_cores() < 2) {
        test_skip("wants two cores");
        return;
    }
    record(&recorded);
    CHECK_EQ(launch(&(struct launch){"share", share, .cores = 2}, &report), ERR_SEQUENCE);
    CHECK(strstr(report.text,
                 "sequence load has patches and is core 0's in this run, not "
                 "core 1's") != NULL);
    record(&recorded);
    recorded.load.n_patches = 0; /* without them it may be shared */
    CHECK_OK(launch(&(struct launch){"share", share, .cores = 2}, &report));
}
