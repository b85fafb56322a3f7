/* SPDX-License-Identifier: MIT
 *
 * How a recurrent layer is cut; see recurrent.h.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "kernels/lib/share.h"
#include "kernels/recurrent/inside.h"

enum {
    MOST_ROWS = 64,  /* of the batch at a time */
    V_COMMANDS = 18, /* of a tile, each over some arrays of sums */
    V_LANES = 64,
    V_START = 20,     /* cycles until the first of them leave it, about */
    MOST_TILE = 32,   /* units */
    HART_COMMAND = 8, /* cycles of the hart to play one */
    BARRIER = 100,    /* cycles until all cores have come so far */
};

/* --- pieces --- */

/* Blocks of L0B's slot. */
static uint32_t piece_blocks(const struct recurrent_cut *t)
{
    return RECURRENT_SLOT_B / (t->tile * MTE_BLOCK);
}

/* Pieces are of x and h side by side, unless a GRU takes them apart or they come one by one. */
static bool apart(const struct recurrent *p, const struct recurrent_cut *t)
{
    return p->gru || t->streams;
}

/* A gate's sums are of blocks `first` up to `end`, by whose rows. */
struct gate {
    uint32_t number, first, end;
};

static struct gate gate_of(const struct recurrent *p, const struct recurrent_cut *t,
                           unsigned gate)
{
    uint32_t all = t->x_blocks + t->h_blocks;

    return !p->gru || gate < 2 ? (struct gate){gate, 0, all}
           : gate == 2         ? (struct gate){2, 0, t->x_blocks}
                               : (struct gate){2, t->x_blocks, all};
}

bool recurrent_piece(const struct recurrent *p, const struct recurrent_cut *cut,
                     unsigned gate, unsigned i, struct recurrent_piece *piece)
{
    struct gate g = gate_of(p, cut, gate);
    uint32_t most = piece_blocks(cut), x = cut->x_blocks;

    if (apart(p, cut) && g.first < x && g.end > x) {
        uint32_t of_x = div_up_u32(x, most);
        g.first = i < of_x ? 0 : x;
        g.end = i < of_x ? x : g.end;
        i -= i < of_x ? 0 : of_x;
    }
    piece->gate = g.number;
    piece->first = g.first + i * most;
    if (piece->first >= g.end) {
        return false;
    }
    piece->blocks = min_u32(most, g.end - piece->first);
    return true;
}

uint32_t recurrent_pieces(const struct recurrent *p, const struct recurrent_cut *cut)
{
    struct recurrent_piece piece;
    uint32_t n = 0;

    for (unsigned gate = 0; gate < RECURRENT_SUMS; gate++) {
        for (unsigned i = 0; recurrent_piece(p, cut, gate, i, &piece); i++) {
            n++;
        }
    }
    return n;
}

/* --- what fits --- */

static bool fits(const struct recurrent *p, const struct recurrent_cut *t)
{
    uint32_t sums = RECURRENT_SUMS * t->rows * t->tile * 4;
    uint32_t ub = t->rows * t->units * 4 + t->rows * t->tile * (4 + 2 * RECURRENT_SLOTS) +
                  RECURRENT_SLOTS * sums;
    uint32_t l1 = (t->streams ? t->streams : 1) * t->w + RECURRENT_SLOTS * t->xh +
                  div_up_u32(RECURRENT_SUMS * p->units * 4, MTE_BLOCK) * MTE_BLOCK;

    return t->rows * (t->x_blocks + t->h_blocks) * MTE_BLOCK <= chip_mem(NPU_MEM_L0A) &&
           sums <= RECURRENT_SLOT_C && ub <= chip_mem(NPU_MEM_UB) &&
           l1 <= chip_mem(NPU_MEM_L1);
}

/* The most rows that do, weights in L1 for good if that is possible. */
static bool cut_rows(const struct recurrent *p, struct recurrent_cut *t)
{
    uint32_t gates = recurrent_gates(p), most = up16(min_u32(p->batch, MOST_ROWS));

    for (unsigned streamed = 0; streamed < 2; streamed++) {
        /* As many as the pieces of a step are a multiple of. */
        t->streams = streamed ? gates : 0;
        t->w = streamed ? RECURRENT_SLOT_B
                        : gates * t->units * (t->x_blocks + t->h_blocks) * MTE_BLOCK;
        for (t->rows = most; t->rows > 0; t->rows -= 16) {
            t->xh = t->rows * (t->x_blocks + t->h_blocks) * MTE_BLOCK;
            if (fits(p, t)) {
                return true;
            }
        }
    }
    return false;
}

/* --- what it costs --- */

static uint64_t cycles(const struct recurrent *p, const struct recurrent_cut *t)
{
    uint64_t parts = div_up_u32(p->batch, t->rows), tiles = t->units / t->tile;
    uint64_t blocks = (uint64_t)(t->x_blocks + t->h_blocks) * recurrent_gates(p);
    uint64_t bytes = blocks * t->tile * MTE_BLOCK, pieces = recurrent_pieces(p, t);
    uint64_t to_l0 =
        bytes / chip_cost(COST_L1_L0B_RATE) + pieces * chip_cost(COST_L1_L0_FIXED);
    uint64_t cube = blocks * (t->rows / 16) * (t->tile / 16);
    uint64_t in = t->streams ? bytes / chip_cost(COST_ND2NZ_RATE) : 0;
    uint64_t v =
        (uint64_t)V_COMMANDS * (V_START + div_up_u32(t->rows * t->tile, V_LANES));
    uint64_t commands = 2 * pieces + 2 * RECURRENT_SUMS + V_COMMANDS;
    uint64_t engines = tiles * max_u64(max_u64(to_l0, cube), max_u64(in, v)) + v;
    uint64_t busy = t->shared ? t->blocks : min_u32(t->blocks, (uint32_t)parts);
    uint64_t step = max_u64(engines, busy * tiles * commands * HART_COMMAND);

    if (t->shared) {
        step += chip_cost(COST_UB_GM_FIXED) + BARRIER + chip_cost(COST_ND2NZ_FLOOR) +
                t->rows * p->units * 2 / chip_cost(COST_ND2NZ_RATE);
    } else {
        parts = div_up_u32((uint32_t)parts, t->blocks);
    }
    return parts * p->steps * step;
}

int recurrent_cut(const struct recurrent *p, struct recurrent_cut *cut)
{
    unsigned cores = p->cores ? p->cores : chip_cores();
    uint64_t least = UINT64_MAX, takes;

    for (unsigned shared = 0; shared < (cores > 1 ? 2 : 1); shared++) {
        struct recurrent_cut t = {.shared = shared,
                                  .x_blocks = div_up_u32(p->in, 16),
                                  .h_blocks = p->units / 16};
        for (t.tile = 16; t.tile <= MOST_TILE && p->units % t.tile == 0; t.tile *= 2) {
            t.units = shared ? div_up_u32(p->units / t.tile, cores) * t.tile : p->units;
            if (!cut_rows(p, &t)) {
                continue;
            }
            t.blocks = shared ? div_up_u32(p->units, t.units)
                              : min_u32(cores, div_up_u32(p->batch, t.rows));
            takes = cycles(p, &t);
            if (takes < least) {
                least = takes;
                *cut = t;
            }
        }
    }
    return least == UINT64_MAX ? ERR_LOCAL : 0;
}
