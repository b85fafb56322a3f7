/* SPDX-License-Identifier: MIT
 *
 * The example of sched/README.md: y = -x by recorded sequences.
 */
#include "hal/mte.h"
#include "hal/vector.h"
#include "sched/launch.h"
#include "sched/sequence.h"
#include "sched/tque.h"
#include "tests/target/test.h"

enum { TILE = 4096 /* bytes */, TILES = 37, RING = 2 };

struct negate {
    const char *x;
    char *y;
    uint32_t tiles;
};

static union cmd loads[RING], works[RING], stores[RING];
static struct seq_patch next_x[RING], next_y[RING];

/* Records a tile for each position of the rings. */
static void record(const struct negate *p, struct sequence *load, struct sequence *work,
                   struct sequence *store)
{
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, RING, TILE);
    struct tque *out = tque_init(pipe, "out", VECOUT, PIPE_V, PIPE_MTE3, RING, TILE);
    union cmd cmd;

    for (uint16_t i = 0; i < RING; i++) {
        uint32_t x = tque_alloc(in), y;
        mte_gm_to_ub(&cmd, x, p->x, TILE);
        tque_enque(in, x, &cmd);
        sequence_add(load, RING, &cmd);

        x = tque_deque(in);
        y = tque_alloc(out);
        vector_unary(&cmd, OP_VNEG, TYPE_F32, y, x);
        tque_free(in, x, &cmd);
        tque_enque(out, y, &cmd);
        sequence_add(work, RING, &cmd);

        y = tque_deque(out);
        mte_ub_to_gm(&cmd, p->y, y, TILE);
        tque_free(out, y, &cmd);
        sequence_add(store, RING, &cmd);

        next_x[i] = (struct seq_patch){.cmd = i,
                                       .field = SEQ_FIELD(copy_in.src),
                                       .base = (uintptr_t)p->x,
                                       .stride = {TILE}};
        next_y[i] = (struct seq_patch){.cmd = i,
                                       .field = SEQ_FIELD(copy_out.dst),
                                       .base = (uintptr_t)p->y,
                                       .stride = {TILE}};
    }
    sequence_positions(load, RING);
    sequence_positions(work, RING);
    sequence_positions(store, RING);
}

static void kernel(void *arg)
{
    const struct negate *p = arg;
    struct sequence load = {.name = "load",
                            .pipe = PIPE_MTE2,
                            .cmds = loads,
                            .patches = next_x,
                            .n_patches = RING};
    struct sequence work = {.name = "work", .pipe = PIPE_V, .cmds = works};
    struct sequence store = {.name = "store",
                             .pipe = PIPE_MTE3,
                             .cmds = stores,
                             .patches = next_y,
                             .n_patches = RING};
    union cmd count;

    vector_count(&count, TILE / sizeof(float));
    task_issue(PIPE_V, &count);
    record(p, &load, &work, &store);
    for (uint32_t i = 0; i < p->tiles; i++) {
        sequence_push(&load, i);
        sequence_push(&work, i);
        sequence_push(&store, i);
    }
}

TEST(negate, example_of_the_page)
{
    static float x[TILES * TILE / sizeof(float)], y[TILES * TILE / sizeof(float)];
    struct negate p = {(const char *)x, (char *)y, TILES};
    struct sched_report report;
    unsigned differ = 0;

    for (unsigned i = 0; i < TILES * TILE / sizeof(float); i++) {
        x[i] = (float)i + 1;
    }
    CHECK_OK(launch(&(struct launch){"negate", kernel, &p, .cores = 1}, &report));
    for (unsigned i = 0; i < TILES * TILE / sizeof(float); i++) {
        differ += y[i] != -x[i];
    }
    CHECK_EQ(differ, 0u);
}
