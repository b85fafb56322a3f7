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
    uint32_t filter;                /* elements of one in GM */
    uint32_t n, chunk;              /* output channels, blocks, that L1 holds at a time */
};

/* Blocks [first, first + count) of output channels [n, n + rows) of a group. */
struct piece {
    uint32_t group, n, rows, first, count;
};

/* Number of the first tap of load i: all are one load, but those of a part, from the last. */
static uint32_t tap(const struct pack *k, uint32_t i)
{
    const struct conv_part *part = k->p->part;

    if (!part) {
        return i;
    }
    return (part->row + (k->p->kh - 1 - i / k->p->kw) * part->row_step) * part->kw +
           part->col + (k->p->kw - 1 - i % k->p->kw) * part->col_step;
}

static void load(const struct pack *k, struct tque *que, const struct piece *part)
{
    uint32_t esize = type_bits(k->p->in) / 8, c0 = type_c0(k->p->in);
    uint32_t to = tque_alloc(que), all = up16(part->rows);
    uint64_t filter = (uint64_t)part->group * k->out + part->n;
    bool empty = k->p->part && k->p->part->empty;
    bool filled = empty || all != part->rows;
    uint32_t mats = k->p->part ? 1 : k->taps, loads = empty ? 0 : k->taps / mats;
    struct mte_nz_many nz = {.type = k->p->in,
                             .n_mats = mats,
                             .n_rows = part->rows,
                             .n_cols =
                                 min_u32(part->count * c0, k->in - part->first * c0),
                             .gm_pitch = k->filter,
                             .gm_mat = k->in,
                             .block_rows = k->taps * all,
                             .l1_mat = all};
    union cmd cmd;

    if (filled) {
        mte_fill(&cmd, NPU_MEM_L1, to, k->p->in, 0,
                 part->count * k->taps * all * MTE_BLOCK);
    }
    for (uint32_t i = 0; i < loads; i++) {
        if (i || filled) {
            task_issue(PIPE_MTE2, &cmd);
        }
        mte_gm_to_l1_nz_many(
            &cmd, to + i * all * MTE_BLOCK,
            k->from + (filter * k->filter + tap(k, i) * k->in + part->first * c0) * esize,
            &nz);
    }
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

/* The share of the task's block of so many. */
static void pack_share(const struct pack *k, unsigned shares)
{
    uint32_t chunks = (k->blocks + k->chunk - 1) / k->chunk;
    uint32_t columns = (k->out + k->n - 1) / k->n, all = k->p->groups * columns * chunks;
    struct tque *que = tque_init(tpipe_open(), "weights", TSCM, PIPE_MTE2, PIPE_MTE3, 2,
                                 k->chunk * k->taps * k->n * MTE_BLOCK);
    uint32_t end = (uint32_t)share_begin(all, 1, task_block() + 1, shares);

    for (uint32_t i = (uint32_t)share_begin(all, 1, task_block(), shares); i < end; i++) {
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

static struct pack pack_of(const struct conv *p, const void *weight, void *packed)
{
    uint32_t c0 = type_c0(p->in), room = chip_mem(NPU_MEM_L1) / 2;
    struct pack k = {.p = p,
                     .from = weight,
                     .to = packed,
                     .taps = p->kh * p->kw,
                     .in = p->c / p->groups,
                     .out = p->o / p->groups,
                     .n = 16};

    if (conv_is_few(p)) {
        k.in *= k.taps; /* a filter's row as it lies in GM */
        k.taps = 1;
    }
    k.blocks = (k.in + c0 - 1) / c0;
    k.filter = (p->part ? p->part->taps : k.taps) * k.in;
    k.chunk = min_u32(k.blocks, room / (k.taps * k.n * MTE_BLOCK));
    return k;
}

void conv_pack_block(const struct conv *p, const void *weight, void *packed,
                     unsigned shares)
{
    struct pack k = pack_of(p, weight, packed);

    if (conv_is_depthwise(p)) {
        depthwise_pack_block(p, weight, packed, shares);
    } else {
        pack_share(&k, shares);
    }
    task_drain(); /* what follows in the launch reads it */
}

static void kernel(void *arg)
{
    pack_share(arg, task_blocks());
}

int conv_pack(const struct conv *p, const void *weight, void *packed,
              struct sched_report *report)
{
    struct pack k;
    struct launch l = {"conv_pack", kernel, &k, .cores = p->cores};
    char why[CONV_TEXT];
    int err = conv_check(p, why);

    report->text[0] = 0;
    if (!err && conv_is_depthwise(p)) {
        return depthwise_pack(p, weight, packed, report);
    }
    if (!err) {
        k = pack_of(p, weight, packed);
        err = launch(&l, report);
    }
    return err;
}
