/* SPDX-License-Identifier: MIT
 *
 * Weights of a depthwise convolution as diagonals, by the Vector; see depthwise.h. VBRCB
 * makes a row of 16 equal elements of each weight, (channel, tap), and VAND with a mask that
 * is 1 on the diagonal puts it into row `channel` of the tap's fractal: of any bits, where a
 * product would make NaN of infinity.
 */
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/conv/depthwise.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "sched/vector.h"

enum { ROWS = 16, BLOCK = 32, FRACTAL = ROWS * BLOCK, HALF = VEC_BLOCKS };

static const uint16_t diagonal[ROWS][ROWS] = {
    {0xffff},        {[1] = 0xffff},  {[2] = 0xffff},  {[3] = 0xffff},
    {[4] = 0xffff},  {[5] = 0xffff},  {[6] = 0xffff},  {[7] = 0xffff},
    {[8] = 0xffff},  {[9] = 0xffff},  {[10] = 0xffff}, {[11] = 0xffff},
    {[12] = 0xffff}, {[13] = 0xffff}, {[14] = 0xffff}, {[15] = 0xffff},
};

struct pack {
    const struct conv *p;
    const char *from;
    char *to;
};

/* Block `block` of 16 channels; the last may have fewer. */
static void make(const struct pack *k, uint32_t block, uint32_t ub)
{
    uint32_t taps = k->p->kh * k->p->kw, c = min_u32(ROWS, k->p->c - block * ROWS);
    uint32_t weights = ub + FRACTAL, rows = weights + (taps * BLOCK + 255) / 256 * 256;
    uint32_t out = rows + taps * FRACTAL + 256;
    union cmd cmd;

    mte_gm_to_ub(&cmd, ub, diagonal, sizeof(diagonal));
    task_issue(PIPE_MTE2, &cmd);
    task_vector_count(ROWS * taps);
    vector_fill(&cmd, OP_VDUP, TYPE_S16, weights, 0);
    cmd_post(&cmd, 0, 1);
    task_vector(&cmd);
    mte_gm_to_ub(&cmd, weights, k->from + (uint64_t)block * ROWS * taps * 2,
                 c * taps * 2);
    cmd_wait(&cmd, 0, 1);
    cmd_post(&cmd, 1, 1);
    task_issue(PIPE_MTE2, &cmd);
    vector_broadcast(&cmd, TYPE_F16, rows, weights, taps * ROWS / VEC_BLOCKS);
    cmd_wait(&cmd, 1, 1);
    task_vector(&cmd);
    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    task_vector(&cmd);
    for (uint32_t half = 0; half < 2; half++) {
        vector_binary_strided(
            &cmd, &(struct vec_binary){
                      .op = OP_VAND,
                      .type = TYPE_S16,
                      .dst = {out + half * HALF * BLOCK, 1, ROWS},
                      .x = {rows + half * HALF * taps * BLOCK, (uint16_t)taps, 1},
                      .y = {ub + half * HALF * BLOCK, 1, 0},
                      .repeat = taps});
        if (half) {
            cmd_post(&cmd, 2, 1);
        }
        task_vector(&cmd);
    }
    mte_ub_to_gm(&cmd, k->to + (uint64_t)block * taps * FRACTAL, out, taps * FRACTAL);
    cmd_wait(&cmd, 2, 1);
    task_issue(PIPE_MTE3, &cmd);
    task_drain();
}

static void pack_share(const struct pack *k, unsigned shares)
{
    uint32_t blocks = (k->p->c + ROWS - 1) / ROWS, taps = k->p->kh * k->p->kw;
    uint32_t ub = tbuf_init(tpipe_open(), "diagonals", VECIN,
                            FRACTAL + 2 * taps * FRACTAL + taps * BLOCK + 1024);
    uint32_t end = (uint32_t)share_begin(blocks, 1, task_block() + 1, shares);

    for (uint32_t i = (uint32_t)share_begin(blocks, 1, task_block(), shares); i < end;
         i++) {
        make(k, i, ub);
    }
}

void depthwise_pack_block(const struct conv *p, const void *weight, void *packed,
                          unsigned shares)
{
    pack_share(&(struct pack){p, weight, packed}, shares);
}

static void kernel(void *arg)
{
    pack_share(arg, task_blocks());
}

int depthwise_pack(const struct conv *p, const void *weight, void *packed,
                   struct sched_report *report)
{
    struct pack k = {p, weight, packed};
    struct launch l = {"depthwise_pack", kernel, &k, .cores = p->cores};

    return launch(&l, report);
}
