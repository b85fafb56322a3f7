/* SPDX-License-Identifier: MIT
 *
 * What the launches of mla_prolog share: tiles, the maps of L1 and UB, semaphores.
 *
 * Everything is kept transposed: a tile is TILE columns of x times up to LANES rows, a
 * column after the other, so that a repeat of the Vector is one column and each lane a
 * row. Sums over a row are then plain additions, and the Cube gives such tiles if b, as
 * its left operand, takes the fast way into L0A.
 *
 * Rows are worked on in blocks; a block has n / TILE tiles, rounded up. The Vector goes
 * twice over a tile: pass 1 adds up the statistics, pass 2, once the block is complete,
 * computes results. The last tile of a block waits for that in UB, the others in L1. */
#ifndef KERNELS_MLA_PROLOG_TILES_H
#define KERNELS_MLA_PROLOG_TILES_H

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte_conv.h"
#include "hal/sem.h"
#include "kernels/mla_prolog/mla_prolog.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"

enum {
    TILE = 128,      /* columns of a tile */
    LANES = 64,      /* rows of a tile */
    ROW = LANES * 4, /* bytes of a column in UB: a repeat */
    TILE_BYTES = TILE * ROW,
    STRIPE = 2 * TILE, /* columns of b in a copy: 512 bytes of GM a row */
    A_K = 256,         /* k of a slot of a, rows of 512 bytes again */
    B_K = 128,         /* k of a slot of b */
    A_SLOTS = 4,
    B_SLOTS = 2,
    BIAS_SLOTS = 2,
    L0_SLOT = 32 << 10,
    L0C_BYTES = 128 << 10,
    PIECE = 4,       /* chunks of k that are issued together */
    BIAS_MAX = 8192, /* columns whose bias stays in L1 */
    F16_ONE = 0x3c00,
    F16_HALF = 0x3800,

    /* L1; from L1_X on for the fused launch */
    A_SLOT_BYTES = LANES * A_K * 2, /* half of it when a block has 2 * LANES rows */
    B_SLOT_BYTES = B_K * STRIPE * 2,
    L1_B = 0,
    L1_A = L1_B + B_SLOTS * B_SLOT_BYTES,
    L1_X = L1_A + A_SLOTS * A_SLOT_BYTES,
    X_SLOTS = 7,
    L1_ONES = L1_X + X_SLOTS * TILE_BYTES,
    L1_BIAS = L1_ONES + 512,
    L1_END = L1_BIAS + 2 * BIAS_MAX,

    /* UB. Two sources of a command differ by an odd number of rows, so that their blocks
     * are in other groups; a destination is in another bank than the source that lies in
     * its groups one repeat later (hal/contract/vector.md, "Banks"). */
    UB_XIN = 0,                     /* of pass 2 */
    UB_SHIFT = UB_XIN + TILE_BYTES, /* row constants, each twice */
    UB_MEAN = UB_SHIFT + 2 * ROW,
    UB_XST = UB_SHIFT + 2048,          /* of pass 1 */
    UB_W1 = UB_XST + TILE_BYTES + ROW, /* odd */
    UB_OUT = UB_W1 + TILE_BYTES,       /* fp16, LANES rows of TILE */
    UB_SCALE = UB_OUT + TILE_BYTES / 2 + ROW,
    UB_SCRATCH = UB_SCALE + 2 * ROW,
    UB_W2 = 128 << 10,
    UB_SUM_D = UB_W2 + TILE_BYTES, /* TILE / 2 rows each */
    UB_SUM_Q = UB_SUM_D + TILE_BYTES / 2,
    UB_END = UB_SUM_Q + TILE_BYTES / 2,
};

static_assert(L1_END <= 512 << 10 && UB_END <= 192 << 10, "the smallest profile");
static_assert(UB_SCRATCH + 16 * ROW <= UB_W2, "scratch ends where W2 begins");

/* FREE counts empty buffers, FULL filled ones. */
enum {
    A_FREE = MLA_SEM_FIRST,
    A_FULL,
    B_FREE,
    B_FULL,
    BIAS_FREE,
    BIAS_FULL,
    L0_FREE,
    L0_FULL,
    C_FREE, /* tiles in L0C */
    C_FULL,
    XST_FREE,
    XST_FULL,
    XIN_FREE,
    XIN_FULL,
    X_FREE, /* slots of x in L1 */
    X_FULL, /* fused: whole blocks; layernorm: tiles */
    OUT_FREE,
    OUT_FULL = MLA_SEM_LAST,
};

/* What one core does. */
struct share {
    const struct mla_prolog *p;
    uint32_t m_begin, m_end; /* rows */
    uint32_t rows;           /* of a block: LANES or 2 * LANES */
    uint32_t tiles;          /* of a block */
    uint32_t x_slots;        /* tiles of x in L1; 0: x lies in GM */
    unsigned c_slots;        /* tiles in L0C */
    unsigned b_slots;        /* that take turns */
    bool a_stays, b_stays, bias_stays;
    enum pipe reload;  /* that brings tiles back for pass 2; 0: nobody */
    struct step *step; /* of product.c: product.h; in no state yet */
};

static inline uint32_t block_rows(const struct share *s, uint32_t m0)
{
    return min_u32(s->rows, s->m_end - m0);
}

static inline uint32_t tile_columns(const struct share *s, uint32_t t)
{
    return min_u32(TILE, s->p->n - t * TILE);
}

/* Tile t of the LANES rows from m0 on in a workspace. */
static inline float *work_tile(const struct share *s, float *work, uint32_t m0,
                               uint32_t t)
{
    return work + ((uint64_t)(m0 / LANES) * s->p->n + (uint64_t)t * TILE) * LANES;
}

/* --- product.c: MTE1 and M --- */

static inline uint32_t a_slot(const struct share *s, unsigned i)
{
    return L1_A + i % A_SLOTS * (A_SLOT_BYTES * s->rows / LANES);
}

static inline uint32_t b_slot(const struct share *s, unsigned i)
{
    return L1_B + i % s->b_slots * B_SLOT_BYTES;
}

static inline uint32_t bias_slot(const struct share *s, unsigned i, uint32_t n0)
{
    return L1_BIAS + (s->bias_stays ? n0 : i % BIAS_SLOTS * STRIPE) * 2;
}

/* Chunk in whose front the second half of a stripe begins. */
static inline uint32_t middle(uint32_t k)
{
    return (k + B_K - 1) / B_K / 2 * B_K;
}

/* Where the piece of chunks that begins at k0 ends: of whole ones, or a rest. */
static inline uint32_t piece_end(const struct share *s, uint32_t k0)
{
    uint32_t half = middle(s->p->k), end = k0 < half ? half : s->p->k;
    uint32_t whole = (end - k0) / B_K;

    return whole ? k0 + min_u32(whole, PIECE) * B_K : end;
}

/* The tiles of x in L0C, block by block, in the order of columns; the semaphores C_FULL and
 * C_FREE hand them over. Begins with nothing issued, and decides what of *s it uses. */
void product_begin(struct share *s);
/* Issues the products of so many halves of stripes, counted from the first block on. */
void product_until(const struct share *s, uint64_t halves);
/* Has issued all. */
bool product_ended(const struct share *s);
/* Brings back the tiles for pass 2, up to tile t of the block at m0. */
void product_reload(const struct share *s, uint32_t m0, uint32_t t);
/* Takes the semaphores back, once all tiles are done. */
void product_finish(const struct share *s);

/* Halves of the stripes of a block. */
static inline uint64_t block_halves(const struct share *s)
{
    return (s->tiles + 1) / 2 * 2;
}

/* --- launch.c --- */

/* Issues n commands that were built to be issued again and again, many with one store. */
void issue_many(enum pipe pipe, union cmd *cmds, unsigned n);
/* Runs run(share) for each core's part of the rows, blocks of `rows` of them: it spawns
 * the tasks and returns when they have and every semaphore is 0 again. */
MUST_CHECK int run_shares(const struct mla_prolog *p, const char *name, uint32_t rows,
                          void (*run)(struct share *s), struct sched_report *report);
/* The buffers that a launch begins with, empty, and gets back at the end. */
struct handed {
    uint8_t sem, count;
};
void give(const struct handed *h, unsigned n);
void take_back(const struct handed *h, unsigned n);

/* --- reload.c: MTE1 or MTE2 --- */

/* Brings tiles back to UB_XIN for pass 2, from the pipe s->reload. */
struct reload {
    const struct share *s;
    uint64_t stripe; /* that is being multiplied, of all blocks */
    uint64_t due;    /* half of a stripe in which the next tile is due */
    uint32_t m0, t;  /* the next tile */
    unsigned slot;
};
void reload_begin(struct reload *r, const struct share *s);
/* Before each half of a stripe. */
void reload_until_half(struct reload *r, unsigned half);
/* All up to tile t of the block at m0. */
void reload_through(struct reload *r, uint32_t m0, uint32_t t);

/* --- fused.c --- */

/* MTE3: the fp16 tile t at UB_OUT to the rows from m0 on. */
void copy_out_tile(const struct share *s, uint32_t m0, uint32_t t);

/* --- vector.c: V --- */

/* What a launch does around the Vector: commands that bring what pass 1 of tile t, and
 * pass 2 of that tile of the block before, wants; that bring the rest for pass 2 of the
 * last block; that take a result out. */
struct ends {
    void (*feed)(void *arg, uint32_t m0, uint32_t t);
    void (*feed_rest)(void *arg, uint32_t m0, uint32_t t);
    void (*store)(void *arg, uint32_t m0, uint32_t t);
};
/* Both passes over all blocks; results are out (to UB_OUT) or y (to UB_W2). */
void both_passes(const struct share *s, bool gelu, const struct ends *ends, void *arg);
/* out of y; tiles come to UB_XIN and UB_XST by turns. */
void gelu_pass(const struct share *s, const struct ends *ends, void *arg);

#endif
