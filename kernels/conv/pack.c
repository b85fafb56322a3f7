/* SPDX-License-Identifier: MIT
 *
 * Weights of a convolution on their way from rows to fractals, once, by the machine; see
 * conv.h. MTE2 brings a block of output channels to L1 with ND2NZ, a matrix for each tap,
 * and MTE3 takes it to where it belongs.
 */
#include <string.h>

#include "hal/chip.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/plan.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"

struct pack {
    const struct conv *p;
    const char *from;
    char *to;
    uint32_t taps, in, out, blocks; /* channels of a group, in blocks of C0 */
    uint32_t n, chunk;              /* output channels, blocks, that L1 holds at a time */
};

/* Blocks [first, first + count) of output channels [n, n + rows) of a group. */
struct piece {
    uint32_t group, n, rows, first, count;
};

static void load(const struct pack *k, struct tque *que, const struct piece *part)
{
    uint32_t esize = type_bits(k->p->in) / 8, c0 = type_c0(k->p->in);
    uint32_t to = tque_alloc(que), all = up16(part->rows);
    uint64_t filter = (uint64_t)part->group * k->out + part->n;
    union cmd cmd;

    if (all != part->rows) {
        mte_fill(&cmd, NPU_MEM_L1, to, k->p->in, 0,
                 part->count * k->taps * all * MTE_BLOCK);
        task_issue(PIPE_MTE2, &cmd);
    }
    mte_gm_to_l1_nz_many(
        &cmd, to, k->from + (filter * k->taps * k->in + part->first * c0) * esize,
        &(struct mte_nz_many){.type = k->p->in,
                              .n_mats = k->taps,
                              .n_rows = part->rows,
                              .n_cols =
                                  min_u32(part->count * c0, k->in - part->first * c0),
                              .gm_pitch = k->taps * k->in,
                              .gm_mat = k->in,
                              .block_rows = k->taps * all,
                              .l1_mat = all});
    tque_enque(que, to, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

static void store(const struct pack *k, struct tque *que, const struct piece *part)
{
    uint32_t from = tque_deque(que), all = up16(k->out);
    uint64_t block = ((uint64_t)part->group * k->blocks + part->first) * k->taps;
    union cmd cmd;

    mte_l1_to_gm_rows(&cmd, k->to + (block * all + part->n) * MTE_BLOCK, from,
                      &(struct mte_rows){.n_rows = part->count * k->taps,
                                         .row_bytes = up16(part->rows) * MTE_BLOCK,
                                         .gm_pitch_bytes = all * MTE_BLOCK});
    tque_free(que, from, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

static void kernel(void *arg)
{
    const struct pack *k = arg;
    uint32_t chunks = (k->blocks + k->chunk - 1) / k->chunk;
    uint32_t columns = (k->out + k->n - 1) / k->n, all = k->p->groups * columns * chunks;
    struct tque *que = tque_init(tpipe_open(), "weights", TSCM, PIPE_MTE2, PIPE_MTE3, 2,
                                 k->chunk * k->taps * k->n * MTE_BLOCK);
    uint32_t end = (uint32_t)share_begin(all, 1, task_block() + 1, task_blocks());

    for (uint32_t i = (uint32_t)share_begin(all, 1, task_block(), task_blocks()); i < end;
         i++) {
        struct piece part = {.group = i / chunks / columns,
                             .n = i / chunks % columns * k->n,
                             .first = i % chunks * k->chunk};
        part.rows = min_u32(k->n, k->out - part.n);
        part.count = min_u32(k->chunk, k->blocks - part.first);
        load(k, que, &part);
        store(k, que, &part);
    }
}

uint64_t conv_packed_bytes(const struct conv *p)
{
    uint32_t in = p->c / p->groups, c0 = type_c0(p->in);

    if (conv_is_depthwise(p)) {
        return (uint64_t)up16(p->c) / 16 * p->kh * p->kw * MTE_FRACTAL;
    }
    if (conv_is_few(p)) {
        return (uint64_t)((in * p->kh * p->kw + c0 - 1) / c0) * up16(p->o) * MTE_BLOCK;
    }
    return (uint64_t)p->groups * ((in + c0 - 1) / c0) * p->kh * p->kw *
           up16(p->o / p->groups) * MTE_BLOCK;
}

int conv_pack(const struct conv *p, const void *weight, void *packed,
              struct sched_report *report)
{
    uint32_t c0 = type_c0(p->in), room = chip_mem(NPU_MEM_L1) / 2;
    struct pack k = {.p = p,
                     .from = weight,
                     .to = packed,
                     .taps = p->kh * p->kw,
                     .in = p->c / p->groups,
                     .out = p->o / p->groups,
                     .n = 16};
    struct launch l = {"conv_pack", kernel, &k, .cores = p->cores};
    char why[CONV_TEXT];
    int err = conv_check(p, why);

    report->text[0] = 0;
    if (!err && conv_is_depthwise(p)) {
        return depthwise_pack(p, weight, packed, report);
    }
    if (!err && conv_is_few(p)) {
        k.in *= k.taps; /* a filter's row as it lies in GM */
        k.taps = 1;
    }
    k.blocks = (k.in + c0 - 1) / c0;
    k.chunk = min_u32(k.blocks, room / (k.taps * k.n * MTE_BLOCK));
    return err ? err : launch(&l, report);
}
