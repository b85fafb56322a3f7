/* SPDX-License-Identifier: MIT
 *
 * The kernel most of these are made of: a stream of tiles through UB.
 */
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/lib/share.h"
#include "sched/tque.h"
#include "tests/profile/bottleneck.h"

enum {
    LATE,
    READ,
    MOVED,
    HALF = 0x3f000000 /* 0.5f */,
    GROUP_SHIFT = UB_GROUPS / 2 * 32
};

char *slow_x, *slow_y;

/* What all parts of a stream share. */
struct here {
    const struct stream *s;
    struct tque *in, *out;
    uint32_t second, l1, ub; /* operand of adds; constant */
    uint64_t begin, end;
};

static void copy_in(const struct here *h, uint64_t at)
{
    const struct stream *s = h->s;
    uint32_t x = tque_alloc(h->in);
    union cmd cmd;

    if (s->row_bytes) {
        struct mte_rows rows = {.n_rows = s->tile / s->row_bytes,
                                .row_bytes = s->row_bytes,
                                .gm_pitch_bytes = SLOW_X / SLOW_BYTES * s->row_bytes};
        mte_gm_to_ub_rows(&cmd, x, slow_x + at * (SLOW_X / SLOW_BYTES), &rows);
    } else {
        mte_gm_to_ub(&cmd, x, slow_x + at, s->tile);
    }
    tque_enque(h->in, x, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* The constant, through L1: the next read waits until MTE1 has moved this one on. */
static void read_constant(const struct here *h, bool first)
{
    union cmd cmd;

    mte_gm_to_l1(&cmd, h->l1, slow_y, h->s->tile);
    if (!first) {
        cmd_wait(&cmd, MOVED, 1);
    }
    cmd_post(&cmd, READ, 1);
    task_issue(PIPE_MTE2, &cmd);
    mte_l1_to_ub(&cmd, h->ub, h->l1, h->s->tile);
    cmd_wait(&cmd, READ, 1);
    cmd_post(&cmd, MOVED, 1);
    task_issue(PIPE_MTE1, &cmd);
}

static void compute(const struct here *h, bool first)
{
    const struct stream *s = h->s;
    uint32_t x = tque_deque(h->in), y;
    union cmd cmd;

    if (s->twice) {
        vector_scalar(&cmd, OP_VMULS, TYPE_F32, x, x, HALF);
        if (s->late && !first) {
            cmd_wait(&cmd, LATE, 1);
        }
        task_issue(PIPE_V, &cmd);
    }
    y = tque_alloc(h->out);
    for (unsigned i = 0; i < s->adds; i++) {
        vector_add(&cmd, TYPE_F32, y, x, h->second);
        task_issue(PIPE_V, &cmd);
    }
    vector_scalar(&cmd, OP_VMULS, TYPE_F32, y, x, HALF);
    tque_free(h->in, x, &cmd);
    tque_enque(h->out, y, &cmd);
    task_issue(PIPE_V, &cmd);
}

static void copy_out(const struct here *h, uint64_t at, bool last)
{
    uint32_t y = tque_deque(h->out);
    union cmd cmd;

    mte_ub_to_gm(&cmd, slow_y + at, y, h->s->tile);
    tque_free(h->out, y, &cmd);
    if (h->s->late && !last) {
        cmd_post(&cmd, LATE, 1);
    }
    task_issue(PIPE_MTE3, &cmd);
}

static void tiles(const struct here *h)
{
    uint32_t tile = h->s->tile;
    union cmd cmd;

    for (uint64_t at = h->begin; at < h->end; at += tile) {
        bool first = at == h->begin;
        if (h->s->constant && (first || h->s->again)) {
            read_constant(h, first);
        }
        copy_in(h, at);
        compute(h, first);
        copy_out(h, at, at + tile >= h->end);
    }
    if (h->s->constant) { /* the unit of the last one is nobody's */
        cmd_nop(&cmd);
        cmd_wait(&cmd, MOVED, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
}

void slow_stream(void *arg)
{
    const struct stream *s = arg;
    unsigned block = task_block(), blocks = task_blocks(), shares = blocks + s->uneven;
    unsigned first = s->uneven && block ? block + 1 : block;
    struct tpipe *pipe = tpipe_open();
    struct here h = {.s = s};
    union cmd cmd;

    h.begin = share_begin(s->bytes, s->tile, first, shares);
    h.end = share_begin(s->bytes, s->tile, block + 1 + s->uneven, shares);
    h.in = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, s->buffers, s->tile);
    h.out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, s->buffers, s->tile);
    if (s->adds) { /* half way round the groups of the tiles of x, or in the same */
        h.second = tbuf_init(pipe, "second", VECCALC, s->tile + GROUP_SHIFT) +
                   (s->clash ? 0 : GROUP_SHIFT);
    }
    if (s->constant) {
        h.l1 = tbuf_init(pipe, "constant", A1, s->tile);
        h.ub = tbuf_init(pipe, "constant", VECCALC, s->tile);
    }
    vector_count(&cmd, s->tile / sizeof(float));
    task_issue(PIPE_V, &cmd);
    tiles(&h);
}
