/* SPDX-License-Identifier: MIT
 *
 * Cutting a depthwise convolution; see depthwise.h. No bit of a result depends on it.
 */
#include "hal/chip.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"

enum {
    MOST_SHIFTS = PIPE_DEPTH / DEPTHWISE_BATCH,
    PATCH = 160 << 10, /* bytes of one: the more, the less the hart has to do */
    WIDEST = 64,       /* columns of a tile */
    MOST_PAD = 255,
    MOST_NEXT =
        65535, /* elements from a row of a tile to the next in y, for one command */
    UNITS = 3, /* of a core, at least */
};

uint32_t depthwise_diagonals(const struct conv *p)
{
    return p->kh * p->kw * MTE_FRACTAL;
}

/* Rows of y of a tile that is so wide in L0, at most. */
static uint32_t rows_of(const struct depthwise_plan *l, uint32_t wide)
{
    uint32_t row = wide * l->kh * l->p->kw * MTE_BLOCK;
    uint32_t rows = chip_mem(NPU_MEM_L0A) / CONV_L0_SLOTS / row;
    uint32_t c = chip_mem(NPU_MEM_L0C) / DEPTHWISE_C_SLOTS / CONV_L0C_ROW / wide;

    rows = rows > l->reach ? rows - l->reach : 0;
    return min_u32(min_u32(rows, c), l->oh);
}

/* Cycles of an image's tiles, one block of channels, by whatever is the slowest. */
static double cost_of(const struct depthwise_plan *l, uint32_t wide, uint32_t rows)
{
    uint32_t cols = min_u32(wide, l->ow), taps = l->kh * l->p->kw;
    double load = (double)(rows + l->reach) * wide * taps * MTE_BLOCK /
                      chip_cost(COST_L1_L0A_RATE) +
                  chip_cost(COST_L1_L0_FIXED);
    double cube = l->shifts * (double)(rows * wide / DEPTHWISE_BLOCK * taps +
                                       chip_cost(COST_MMAD_NEXT));
    double fix = (double)rows * cols * CONV_L0C_ROW / chip_cost(COST_L0C_GM_RATE);
    double most = load > cube ? load : cube;

    return (most > fix ? most : fix) * div_up_u32(l->ow, cols) * div_up_u32(l->oh, rows);
}

static uint64_t patch_bytes(const struct depthwise_plan *l, uint32_t rows)
{
    const struct conv *p = l->p;
    uint32_t high = (rows - 1) * p->stride_h + (p->kh - 1) * p->dilation_h + 1;
    uint32_t wide = (l->cols - 1) * p->stride_w + (p->kw - 1) * p->dilation_w + 1;

    return (uint64_t)min_u32(high, p->h) * min_u32(wide, p->w) * l->group * MTE_BLOCK;
}

static bool cut_tile(struct depthwise_plan *l)
{
    double best = 0;

    for (uint32_t wide = DEPTHWISE_BLOCK; wide <= WIDEST; wide += DEPTHWISE_BLOCK) {
        uint32_t rows = rows_of(l, wide);
        if (rows && wide * l->p->stride_w < MOST_PAD &&
            (best == 0 || cost_of(l, wide, rows) < best)) {
            best = cost_of(l, wide, rows);
            l->wide = wide;
            l->rows = rows;
        }
    }
    return best != 0;
}

int depthwise_plan(const struct conv *p, struct depthwise_plan *l)
{
    uint32_t all = div_up_u32(p->c, DEPTHWISE_BLOCK), high, most;
    unsigned cores = p->cores ? p->cores : chip_cores();

    *l = (struct depthwise_plan){.p = p, .oh = conv_oh(p), .ow = conv_ow(p)};
    l->shifts = p->stride_h == 1 && p->kh <= MOST_SHIFTS ? p->kh : 1;
    l->kh = p->kh / l->shifts;
    l->reach = (l->shifts - 1) * p->dilation_h;
    l->group = min_u32(all, chip_mem(NPU_MEM_L0B) / depthwise_diagonals(p));
    l->group = min_u32(l->group, chip_mem(NPU_MEM_BT) / CONV_L0C_ROW);
    if (!cut_tile(l) || l->group == 0 || (uint64_t)l->ow * p->c > MOST_NEXT) {
        return ERR_LOCAL;
    }
    l->a_bytes = (l->rows + l->reach) * l->wide * l->kh * p->kw * MTE_BLOCK;
    l->c_bytes = l->rows * l->wide * CONV_L0C_ROW;
    l->groups = div_up_u32(all, l->group);
    l->group = div_up_u32(all, l->groups);
    l->groups = div_up_u32(all, l->group);
    l->across = div_up_u32(l->ow, l->wide);
    l->cols = div_up_u32(l->ow, l->across);
    l->across = div_up_u32(l->ow, l->cols);
    high = div_up_u32(l->oh, l->rows);
    most = div_up_u32(UNITS * cores,
                      l->groups * p->n * l->across); /* patches wanted of a strip */
    l->tiles = high / most ? high / most : 1;
    while (l->tiles > 1 && patch_bytes(l, l->tiles * l->rows) > PATCH) {
        l->tiles--;
    }
    l->down = div_up_u32(high, l->tiles);
    l->bytes = (uint32_t)patch_bytes(l, l->tiles * l->rows);
    l->units = l->groups * p->n * l->across * l->down;
    return l->bytes > chip_mem(NPU_MEM_L1) / 3 ? ERR_LOCAL : 0;
}

bool conv_is_depthwise(const struct conv *p)
{
    struct depthwise_plan plan;

    return !p->part && p->in == TYPE_F16 && p->groups > 1 && p->groups == p->c &&
           p->groups == p->o && depthwise_plan(p, &plan) == 0;
}
