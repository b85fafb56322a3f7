/* SPDX-License-Identifier: MIT
 *
 * Patches of a convolution and their pieces; see plan.h.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "kernels/conv/plan.h"
#include "kernels/lib/share.h"

enum {
    UNITS = 3,        /* of a core, at least, so that cores end together */
    LEAST_ROWS = 64,  /* of a patch that is cut for that */
    PATCH = 96 << 10, /* bytes of one: what lies before the first product, too */
    UNIT = 1200,      /* cycles that a unit takes besides, measured */
    LESS = 8,         /* part of them that is worth another cut */
    MOST_DOWN = 32,   /* patches of a map that are tried */
};

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Rows of a piece, at most: two of them in L0C, and a slice that is not short. */
static uint32_t most_rows(const struct conv_plan *l)
{
    uint32_t rows = chip_mem(NPU_MEM_L0C) / 2 / (l->nt * 4) / 16 * 16;

    return min_u32(rows, 256);
}

uint32_t conv_even_piece(const struct conv_plan *l)
{
    uint32_t m = l->rows * l->cols;

    return up16(div_up_u32(m, div_up_u32(m, most_rows(l))));
}

/* Cycles that the Cube, or MTE1 where it is slower, takes for a block of k of a piece: it
 * brings 32 bytes of each row and the weights. */
static uint32_t piece_cost(const struct conv_plan *l, uint32_t m, uint32_t piece)
{
    uint32_t slice = max_u32(1, chip_mem(NPU_MEM_L0A) / 2 / (piece * MTE_BLOCK));
    uint32_t cube =
        div_up_u32(m, 16) * div_up_u32(l->nt, 16) + chip_cost(COST_MMAD_NEXT) / slice;
    uint32_t load = m * MTE_BLOCK / chip_cost(COST_L1_L0A_RATE) +
                    l->nt * MTE_BLOCK / chip_cost(COST_L1_L0B_RATE) +
                    chip_cost(COST_L1_L0_FIXED) / slice * 2;

    return load > cube ? load + chip_cost(COST_MMAD_FIRST) / slice : cube;
}

static uint32_t rows_cost(const struct conv_plan *l, uint32_t rows, uint32_t most)
{
    uint32_t m = rows * l->cols, n = div_up_u32(m, most), piece = up16(div_up_u32(m, n));

    return (n - 1) * piece_cost(l, piece, piece) +
           piece_cost(l, m - (n - 1) * piece, piece);
}

/* Of up to so many rows of a patch, but at least half of them, how many take the least. */
static uint32_t best_rows(const struct conv_plan *l, uint32_t rows, uint32_t most)
{
    uint32_t best = div_up_u32(l->oh, div_up_u32(l->oh, rows)), least = UINT32_MAX;

    if (l->chunks > 1 || l->b_bytes <= chip_mem(NPU_MEM_L0B)) {
        return best; /* weights that come with each piece are what makes short ones slow */
    }
    for (uint32_t i = rows; i >= (rows + 1) / 2 && i > 0; i--) {
        uint32_t cost = l->oh / i * rows_cost(l, i, most);
        cost += l->oh % i ? rows_cost(l, l->oh % i, most) : 0;
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    return best;
}

/* What a unit takes: the busiest of what its products take, its way in and its way out, and what
 * it begins with; *in: its patch, for which several cores wait for each other. */
static uint32_t unit_cost(const struct conv_plan *l, uint32_t rows, uint32_t most,
                          unsigned cores, uint32_t *in)
{
    uint32_t products = rows_cost(l, rows, most) * l->blocks * l->taps;
    uint32_t out = rows * l->cols * l->nt * 4 / (uint32_t)chip_cost(COST_L0C_GM_RATE);

    *in = (uint32_t)(conv_patch_bytes(l, rows, l->cols, l->blocks) /
                     chip_cost(l->few ? COST_GM_L1_RATE : COST_ND2NZ_RATE)) *
          (cores > 1 ? 2 : 1);
    return max_u32(max_u32(products, out), *in) + UNIT;
}

/* Of all patches of so many rows, of the core that has most; the first one has to come first, which
 * takes longer where all cores want theirs from HBM at one time. */
static uint32_t patches_cost(const struct conv_plan *l, uint32_t rows, uint32_t most,
                             unsigned cores)
{
    uint32_t others = l->n_blocks * l->p.groups * l->p.n, down = div_up_u32(l->oh, rows);
    uint32_t first, in, unit = unit_cost(l, rows, most, cores, &first);
    uint32_t last = unit_cost(l, l->oh - (down - 1) * rows, most, cores, &in);

    return cores == 1 ? first + others * ((down - 1) * unit + last)
                      : 2 * first + div_up_u32(others * down, cores) * unit;
}

/* Of patches as even as can be those that take the least, if that is less than with the rows that
 * there are. */
static uint32_t fewer_patches(const struct conv_plan *l, uint32_t room, uint32_t most,
                              unsigned cores)
{
    uint32_t best = l->rows, usual = patches_cost(l, best, most, cores);
    uint32_t least = usual - usual / LESS;

    for (uint32_t down = 1; down <= MOST_DOWN && down <= l->oh; down++) {
        uint32_t rows = div_up_u32(l->oh, down), cost;
        if (conv_patch_bytes(l, rows, l->cols, l->blocks) > room ||
            rows * l->cols > UINT16_MAX) {
            continue;
        }
        cost = patches_cost(l, rows, most, cores);
        if (cost < least) {
            least = cost;
            best = rows;
        }
    }
    return best;
}

/* Whether L0C holds all of an image's pieces, so that weights which come in chunks come once. */
static bool fits_set(const struct conv_plan *l, uint32_t most)
{
    uint32_t m = l->oh * l->ow, n = div_up_u32(m, most);

    return m <= chip_mem(NPU_MEM_L0C) &&
           n * up16(div_up_u32(m, n)) * l->nt * 4 <= chip_mem(NPU_MEM_L0C);
}

/* The patch: as many rows of y as its part of L1 holds, or, if not even one fits, a part of
 * a row; of small images several. */
void conv_cut_patch(struct conv_plan *l, uint32_t all, unsigned cores)
{
    uint32_t most = most_rows(l), others = l->n_blocks * l->p.groups * l->p.n;
    bool once = l->chunks > 1 && others % cores == 0 && fits_set(l, most);
    uint32_t wanted = div_up_u32((once ? 1 : UNITS) * cores, others), rows, held;
    uint32_t room =
        l->chunks > 1 ? all : min_u32(all, max_u32(PATCH, chip_mem(NPU_MEM_L1) / 4));

    l->cols = l->ow;
    rows = l->chunks > 1 && !once ? max_u32(most / l->cols, 1) : l->oh;
    rows = min_u32(rows, l->oh);
    l->whole = l->chunks == 1 || conv_patch_bytes(l, rows, l->cols, l->blocks) <= room;
    held = l->whole ? l->blocks : l->chunk;
    while (conv_patch_bytes(l, 1, l->cols, held) > room) {
        l->cols = div_up_u32(l->cols, 2);
    }
    if (wanted > 1) {
        rows = min_u32(rows, max_u32(l->oh / wanted, div_up_u32(LEAST_ROWS, l->cols)));
    }
    while (rows > 1 && conv_patch_bytes(l, rows, l->cols, held) > room) {
        rows--;
    }
    l->rows = best_rows(l, rows, most);
    if (l->chunks == 1 && l->cols == l->ow) {
        l->rows = fewer_patches(l, all, most, cores);
    }
    l->down = div_up_u32(l->oh, l->rows);
    l->across = div_up_u32(l->ow, l->cols);
    l->piece = conv_even_piece(l);
    l->slots = min_u32(chip_mem(NPU_MEM_L0C) / (l->piece * l->nt * 4), 8);
    l->set = l->chunks > 1 ? l->slots : l->slots / 2;
    l->images = 1;
    if (l->down == 1 && l->across == 1) {
        uint64_t each = conv_patch_bytes(l, l->rows, l->cols, held);
        uint32_t of = div_up_u32(l->rows * l->cols, l->piece);
        l->images = max_u32(1, min_u32(l->set / of, (uint32_t)(room / each)));
        l->images = min_u32(l->images, max_u32(1, others / (UNITS * cores)));
        l->images = l->few ? 1 : min_u32(l->images, l->p.n);
    }
    l->deep = div_up_u32(l->p.n, l->images);
    l->a_bytes = (uint32_t)conv_patch_bytes(l, l->rows, l->cols, held) * l->images;
}
