/* SPDX-License-Identifier: MIT
 *
 * The sums of the parts of k, added on the Vector in an order that the shape alone decides.
 * Each block takes its share of c's elements, in steps that UB holds: one load brings all
 * parts of a step, the upper half of them is added to the lower one until there is one.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"
#include "sched/launch.h"
#include "sched/tque.h"

enum { UNIT = 64 /* elements that a share is a multiple of */, BUFFERS = 2 };

/* Behind the block's tiles, before it loads what others have stored. */
static void barrier(void)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, LAUNCH_ARRIVE, 1);
    task_issue(PIPE_FIX, &cmd);
    cmd_nop(&cmd);
    cmd_wait(&cmd, LAUNCH_GO, 1);
    task_issue(PIPE_MTE2, &cmd);
}

/* n sums of `pitch` elements each: the last command that adds two of them, to `out`, is left
 * in *cmd. */
static void add(enum type type, uint32_t at, uint32_t out, uint32_t pitch, uint32_t n,
                union cmd *cmd)
{
    for (;;) {
        uint32_t low = mm_count(n, 2);
        vector_count(cmd, (n - low) * pitch);
        task_issue(PIPE_V, cmd);
        vector_add(cmd, type, n == 2 ? out : at, at, at + low * pitch * MM_SUM_BYTES);
        if (n == 2) {
            return;
        }
        task_issue(PIPE_V, cmd);
        n = low;
    }
}

void mm_add_parts(struct mm *mm, struct tpipe *pipe, const void *sums, void *c)
{
    uint32_t all = mm->shape.m * mm->shape.n, parts = mm->parts;
    uint64_t at = share_begin(all, UNIT, task_block(), task_blocks());
    uint64_t end = share_begin(all, UNIT, task_block() + 1, task_blocks());
    uint32_t step =
        tpipe_free(pipe, VECIN) / MM_SUM_BYTES / BUFFERS / (parts + 1) / UNIT * UNIT;
    struct tque *in = tque_init(pipe, "parts", VECIN, PIPE_MTE2, PIPE_V, BUFFERS,
                                step * parts * MM_SUM_BYTES);
    struct tque *out =
        tque_init(pipe, "sum", VECOUT, PIPE_V, PIPE_MTE3, BUFFERS, step * MM_SUM_BYTES);
    union cmd cmd;

    barrier();
    for (; at < end; at += step) {
        uint32_t n = (uint32_t)(end - at < step ? end - at : step), pitch = mm_up(n, 8);
        uint32_t x = tque_alloc(in), y;

        mte_gm_to_ub_rows(&cmd, x, (const char *)sums + at * MM_SUM_BYTES,
                          &(struct mte_rows){.n_rows = parts,
                                             .row_bytes = n * MM_SUM_BYTES,
                                             .gm_pitch_bytes = all * MM_SUM_BYTES,
                                             .local_pitch_bytes = pitch * MM_SUM_BYTES});
        tque_enque(in, x, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        x = tque_deque(in);
        y = tque_alloc(out);
        add(mm_sum_type(mm), x, y, pitch, parts, &cmd);
        tque_free(in, x, &cmd);
        tque_enque(out, y, &cmd);
        task_issue(PIPE_V, &cmd);
        y = tque_deque(out);
        mte_ub_to_gm(&cmd, (char *)c + at * MM_SUM_BYTES, y, n * MM_SUM_BYTES);
        tque_free(out, y, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}
