/* SPDX-License-Identifier: MIT
 *
 * The sums of the parts of k, added in an order that the shape alone decides. Parts are added
 * in pairs to zeros as they leave L0C, which is the same whichever comes first; then each block
 * takes its share of c's elements, in steps that UB holds: one load brings all sums of a step,
 * the upper half of them is added to the lower one until there is one.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "sched/launch.h"

enum {
    UNIT = 64,    /* elements that a share and a step are a multiple of */
    LEAST = 128,  /* of a share: 512 bytes, as a row of GM takes at the least */
    STEPS = 4,    /* of a share at most, if it fits, */
    ZEROS = 4096, /* elements that are stored by one command */
    WORTH = 8192, /* additions that are worth one more, so that pipes overlap */
};

/* A command that arrives at the barrier, one that waits until all have. */
static void arrive(struct mm *mm, enum pipe pipe)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, LAUNCH_ARRIVE, 1);
    mm_push(mm, pipe, &cmd, 1, MM_NO_BASE);
}

static void go(struct mm *mm, enum pipe pipe)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_wait(&cmd, LAUNCH_GO, 1);
    mm_push(mm, pipe, &cmd, 1, MM_NO_BASE);
}

/* Behind the block's tiles, before it loads what others have stored. MTE2, which may have
 * loaded all before FIX has even waited for the zeros, must not take what that waits for. */
static void barrier(struct mm *mm, bool adds)
{
    union cmd cmd;

    arrive(mm, PIPE_FIX);
    if (!adds) {
        go(mm, PIPE_FIX);
        return;
    }
    cmd_nop(&cmd);
    cmd_post(&cmd, mm->sem + MM_TILES_OUT, 1);
    mm_push(mm, PIPE_FIX, &cmd, 1, MM_NO_BASE);
    cmd_nop(&cmd);
    cmd_wait(&cmd, mm->sem + MM_TILES_OUT, 1);
    cmd_wait(&cmd, LAUNCH_GO, 1);
    mm_push(mm, PIPE_MTE2, &cmd, 1, MM_NO_BASE);
}

/* The block's share of the elements. */
static void take_share(uint32_t all, uint32_t *at, uint32_t *end)
{
    unsigned block = task_block(), blocks = mm_min(task_blocks(), mm_count(all, LEAST));

    *at = *end = 0;
    if (block < blocks) {
        *at = (uint32_t)share_begin(all, UNIT, block, blocks);
        *end = (uint32_t)share_begin(all, UNIT, block + 1, blocks);
    }
}

/* Elements of a step. */
static uint32_t step_of(const struct mm *mm, uint32_t share)
{
    uint32_t ub = mm->ub_bytes ? mm->ub_bytes : chip_mem(NPU_MEM_UB) - mm->ub_begin;
    uint32_t sums = mm_kept(mm, mm->parts);
    uint32_t most = ub / MM_SUM_BYTES / MM_PART_SLOTS / sums / UNIT * UNIT;
    uint32_t steps = mm_max(mm_min(STEPS, share * sums / WORTH), mm_count(share, most));

    return mm_up(mm_count(share, mm_max(1, steps)), UNIT);
}

/* n sums of `pitch` elements each become one, in the place of the first. */
static void add(struct mm *mm, uint32_t at, uint32_t pitch, uint32_t n)
{
    union cmd cmd[2];
    bool first = true;

    while (n > 1) {
        uint32_t low = mm_count(n, 2);
        vector_count(&cmd[0], (n - low) * pitch);
        vector_add(&cmd[1], mm_sum_type(mm), at, at, at + low * pitch * MM_SUM_BYTES);
        if (first) {
            cmd_wait(&cmd[0], mm->sem + MM_PART_FULL, 1);
        }
        if (low == 1) {
            cmd_post(&cmd[1], mm->sem + MM_SUM_FULL, 1);
        }
        mm_push(mm, PIPE_V, cmd, 2, MM_NO_BASE);
        first = false;
        n = low;
    }
}

static void add_step(struct mm *mm, const char *sums, char *c, uint32_t ub, uint32_t n)
{
    uint32_t all = mm->shape.m * mm->shape.n, pitch = mm_up(n, 8);
    uint32_t kept = mm_kept(mm, mm->parts);
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, ub, sums,
                      &(struct mte_rows){.n_rows = kept,
                                         .row_bytes = n * MM_SUM_BYTES,
                                         .gm_pitch_bytes = all * MM_SUM_BYTES,
                                         .local_pitch_bytes = pitch * MM_SUM_BYTES});
    cmd_wait(&cmd, mm->sem + MM_PART_FREE, 1);
    cmd_post(&cmd, mm->sem + MM_PART_FULL, 1);
    mm_push(mm, PIPE_MTE2, &cmd, 1, MM_BASE_SUMS);
    add(mm, ub, pitch, kept);
    mte_ub_to_gm(&cmd, c, ub, n * MM_SUM_BYTES);
    cmd_wait(&cmd, mm->sem + MM_SUM_FULL, 1);
    cmd_post(&cmd, mm->sem + MM_PART_FREE, 1);
    mm_push(mm, PIPE_MTE3, &cmd, 1, MM_BASE_C);
}

void mm_add_parts(struct mm *mm, const void *sums, void *c)
{
    uint32_t all = mm->shape.m * mm->shape.n, at, end, step, slot = 0;

    take_share(all, &at, &end);
    barrier(mm, at < end);
    step = step_of(mm, end - at);
    for (; at < end; at += step) {
        add_step(mm, (const char *)sums + (uint64_t)at * MM_SUM_BYTES,
                 (char *)c + (uint64_t)at * MM_SUM_BYTES,
                 mm->ub_begin + slot * step * mm_kept(mm, mm->parts) * MM_SUM_BYTES,
                 mm_min(step, end - at));
        slot = (slot + 1) % MM_PART_SLOTS;
    }
}

uint64_t mm_sums_bytes(const struct mm *mm)
{
    return (uint64_t)mm->shape.m * mm->shape.n * mm_kept(mm, mm->parts) * MM_SUM_BYTES;
}

void mm_clear(struct mm *mm, void *sums)
{
    uint32_t kept = mm_kept(mm, mm->parts), at, end, n;
    uint32_t all = mm->shape.m * mm->shape.n * mm_max(1, kept);
    union cmd cmd;

    take_share(all, &at, &end);
    n = mm_min(end - at, ZEROS);
    if (n) {
        vector_count(&cmd, n);
        mm_push(mm, PIPE_V, &cmd, 1, MM_NO_BASE);
        vector_fill(&cmd, OP_VDUP, TYPE_S32, mm->ub_begin, 0);
        cmd_post(&cmd, mm->sem + MM_SUM_FULL, 1);
        mm_push(mm, PIPE_V, &cmd, 1, MM_NO_BASE);
    }
    for (uint32_t i = at; i < end; i += ZEROS) {
        mte_ub_to_gm(&cmd, (char *)sums + (uint64_t)i * MM_SUM_BYTES, mm->ub_begin,
                     mm_min(ZEROS, end - i) * MM_SUM_BYTES);
        if (i == at) {
            cmd_wait(&cmd, mm->sem + MM_SUM_FULL, 1);
        }
        mm_push(mm, PIPE_MTE3, &cmd, 1, kept ? MM_BASE_SUMS : MM_BASE_C);
    }
    arrive(mm, PIPE_MTE3);
    go(mm, PIPE_FIX);
}
