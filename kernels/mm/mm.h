/* SPDX-License-Identifier: MIT
 *
 * The Matmul object: products on the Cube as part of a kernel, after Ascend C's Matmul.
 *
 *     c = a x b + bias    a (m, k), b (k, n), c (m, n), bias (n), for each of a batch
 *
 * A block of a launch computes its share of c, tile by tile:
 *
 *     struct mm mm;
 *     mm_init(&mm, &(struct mm_shape){.m = m, .n = n, .k = k}, NULL);
 *     mm_set_a(&mm, a, TYPE_F16, MM_ND, false, 0);
 *     mm_set_b(&mm, b, TYPE_F16, MM_ND, false, 0);
 *     while (mm_iterate(&mm)) {
 *         mm_get_c(&mm, MM_GM, (uintptr_t)c, false);
 *     }
 *     mm_end(&mm);
 *
 * The hart only issues: it runs ahead of the engines and never waits for data.
 *
 * Types    a and b alike: F16, BF16, F32 (c F32, F16, BF16), S8, S4 (c S32, and with a scale
 *          F16, S8, U8). A float c may be scaled to S8 or U8. Two S4 are a byte, the first in
 *          its low half; rows in GM begin at whole bytes.
 * Numbers  hal/contract/cube.md: products exact, k ascending, one rounding a step, the sum
 *          begins with the bias; converted once (fixpipe.md). The same bits for every tiling
 *          and number of cores, but for MM_SPLIT_K: mm_part_begin().
 * Uses     mm_l1_bytes() of L1, L0A, L0B, L0C whole, with a bias BT, with scales or slopes of
 *          columns FB; semaphores `sem` to `sem` + MM_SEMS - 1 of its core, with parts of k one
 *          of the chip, SEM_CORE + its share. A core has one object at a time, or two of
 *          which each has half of L0A, L0B, L0C, BT and FB, its own semaphores and its own part
 *          of L1: mm_set_half(); else ERR_BUSY.
 * Errors   mm_check() says what is wrong with all that was set; in a task the same ends the
 *          run with that error and text before any command is issued.
 */
#ifndef KERNELS_MM_MM_H
#define KERNELS_MM_MM_H

#include "sched/sched.h"

enum {
    MM_SEMS = 15,  /* semaphores of an object */
    MM_PARTS = 24, /* of k, at most */
    MM_TEXT = 192, /* bytes of what is wrong, or of how it is done */
};

struct mm_shape {
    uint32_t m, n, k;
    uint32_t batch; /* products, one behind the other in a, b and c; 0: one */
};

enum mm_layout {
    MM_ND, /* rows */
    MM_NZ, /* column blocks of 32 bytes, in them a row of 32 bytes behind the other */
};

enum mm_place { MM_GM, MM_UB, MM_L1 };

/* What an object has of L0A, L0B, L0C, BT and FB. */
enum mm_half { MM_WHOLE, MM_FIRST_HALF, MM_SECOND_HALF };

/* How the work is cut. What is chosen is the cheapest by the contract's rates; the names say
 * what came out, or what it has to be. */
enum mm_strategy {
    MM_AUTO,
    MM_GENERAL,
    MM_SMALL,   /* c is one tile */
    MM_TALL,    /* b stays in L1, or, of a wide c, a */
    MM_GEMV,    /* m is 1: c as a column, b to L0A, which takes twice as much a cycle */
    MM_SPLIT_K, /* k in parts, whose sums are added to c in order */
    MM_BATCH,   /* each product is a tile or a few */
    MM_STRATEGIES,
};

/* Of a tiling, in elements. All of it is made by mm_plan(); who gives one of his own fills
 * in m, n, k and the rest as far as it is not to be the default. */
struct mm_tiling {
    enum mm_strategy strategy;
    uint32_t m, n;             /* of a tile of c at most: what comes to L1 for it */
    uint32_t columns;          /* of it in one of L0C's two slots; 0: n, or half of it */
    uint32_t k;                /* of a slot in L1 */
    uint32_t slice;            /* of k, of a slot in L0; 0: what fits */
    uint16_t a_slots, b_slots; /* in L1, to 255; 0: 2, or all of k of what stays, the least */
    uint32_t parts;            /* of k, each with sums of its own: MM_SPLIT_K; 0: one */
    uint32_t shares;           /* that have tiles, at most; 0: all */
    bool a_stays, b_stays;     /* while tiles of one row, one column follow each other */
    bool
        rows; /* operands lie in L1 as in GM, if that is MM_ND: copies that begin sooner */
    bool a_whole;    /* with that: a tile's panel of a comes by one load, not in chunks */
    uint64_t cycles; /* that it is expected to take; 0: not known */
};

/* One of the operands as it lies in GM. */
struct mm_operand {
    const void *gm;
    enum type type;
    enum mm_layout layout;
    bool transposed;  /* it lies there with its columns as rows */
    uint32_t pitch;   /* elements from a row to the next; MM_NZ: rows of a column block */
    uint64_t product; /* elements from one of a batch to the next */
    uint8_t given;    /* mm_give(): not from GM; panels that L1 is to have at the least */
    bool in_rows;     /* it lies so in L1: what follows from the tiling */
    bool sparse;      /* mm_set_sparse() */
};

/* A slot of L1 for a chunk that the caller brings, and semaphores of the core: his first
 * command to it takes 1 of `free`, his last posts 1 of `full`. */
struct mm_given {
    uint32_t l1;
    unsigned free, full;
};

/* Slots of UB, all alike, that pieces of c go round in (MM_UB): some rows of what a slot of
 * L0C holds. A piece's command takes 1 of `free` and posts 1 of `full`; so the caller posts
 * `slots` of `free` before the first tile, the first of his commands that reads a piece waits
 * for 1 of `full`, the last posts 1 of `free`. The hart waits for nothing if he issues those
 * of a tile before the next mm_iterate(). L0C hands two pieces or more over at one time: with
 * less than four slots the Cube waits for the Vector. */
struct mm_ring {
    uint32_t begin, bytes; /* in UB: the first slot, from a slot to the next */
    uint32_t slots;        /* 0: there is no ring */
    uint32_t rows;         /* of a piece at most; 0: of a tile */
    uint32_t pitch_bytes;  /* from a row to the next; 0: the piece's, up to 32 bytes */
    unsigned free, full;   /* semaphores of the core */
};

/* A piece of c on its way through a ring: its place in c, and in UB. */
struct mm_piece {
    uint32_t m0, mt, n0, nt, ub, pitch_bytes;
};

/* Where an object is in the list of its tiles: walk.h. */
struct mm_cursor {
    _Alignas(8) uint32_t tile; /* of the list; so that it is copied by words */
    uint32_t chunk, product, part;
    uint32_t m0, mt, n0, nt, k0, kt; /* its place in c and size; the chunk's */
    uint32_t k_begin, k_end, chunks; /* of the part: where it lies, its chunks */
    uint32_t a, b;                   /* slots of L1 that were used before the panels */
    bool a_first, a_last;            /* the tile loads the panel of a, is its last user */
    bool b_first, b_last;            /* that of b */
};

struct mm_room; /* recorded commands: room.h */
struct mm_script;

struct mm {
    struct mm_shape shape;
    struct mm_operand a, b;
    const void *bias;
    uint64_t
        bias_product; /* elements from one of a batch to the next; 0: all have the same */
    enum type c_type;
    uint32_t c_pitch;   /* 0: n */
    uint64_t c_product; /* 0: m rows of c_pitch */
    uint8_t cube_flags; /* MMAD_HF32, MMAD_HF32_ZERO */
    bool scaled;
    uint64_t scale_word;
    const uint64_t *scale_words; /* one for each column; NULL: scale_word for all */
    const float *slopes;         /* of FIX_RELU_CHANNEL, one for each column */
    struct mm_activation {
        uint8_t relu; /* FIX_RELU_ */
        bool clip;
        float slope, limit;
    } act;
    struct mm_ring ring;
    uint32_t
        tile_bytes; /* of sums in a tile that mm_plan() may choose; 0: what L0C has */
    /* Loads wait for nothing that is issued behind them: others use MTE2 besides, whose
     * commands would be waited for. */
    bool in_order;
    unsigned sem;                /* the first of its semaphores; 0 unless it is set */
    enum mm_half half;           /* mm_set_half() */
    unsigned share, shares;      /* of the tiles; 0 of 0: those of the task's block */
    uint32_t l1_begin, l1_bytes; /* of L1: where its part begins; 0: all behind that */
    uint32_t ub_begin;           /* of UB: where zeros lie, of parts in any order */
    struct mm_tiling tiling;
    bool any_order; /* parts of k may be added as they come: MM_SPLIT_K */
    bool adds;      /* mm_run() runs it, so that MM_AUTO may choose parts of k */
    /* Called before the first chunk's products, and when a chunk's have been issued; or NULL. */
    void (*between)(void *arg);
    void *arg;
    bool tiled;   /* `tiling` holds */
    bool checked; /* as it is */
    bool turned;  /* a, b and c are each other's columns as rows: MM_GEMV */
    /* What follows from all that, once it is checked: how many tiles (of all shares), where
     * buffers begin; and where the object is in its share. */
    uint32_t parts, rows, cols, tiles, tile_end, step;
    uint32_t turn, jump; /* where its tiles of a part end, how many of others follow */
    uint32_t winding;    /* mm_winding() */
    bool winds;          /* every other line goes back */
    uint8_t mine, next;  /* chip's semaphores: of the part before, of the one behind */
    uint32_t strip;      /* rows that a part hands on at one time */
    uint32_t unit_m, unit_n, unit_k; /* in whose multiples it is cut */
    uint32_t l0a, l0b, l0c;          /* where the object's part of them begins */
    uint32_t slot_a, slot_b, l1_a, l1_b, l1_bias, l1_scale, l1_slope, c1, l0a_slot,
        l0b_slot, c0;
    uint32_t group;              /* pieces of a chunk that are recorded together */
    const struct mm_cursor *now; /* the tile that was begun last */
    uint32_t loads, done;        /* chunks that are loaded, that are multiplied */
    uint32_t most_ahead;         /* that the one may be more than the other */
    uint32_t l0, c, out;         /* buffers, counted up; pieces into the ring */
    bool begun, fresh;           /* the first tile has; not even that */
    bool open;                   /* the tile of `now` has not been got yet */
    bool once;                   /* the share is too little to record anything */
    bool repeats;                /* it will be run again: mm_run() */
    uint64_t folded;             /* all that recordings depend on, once it is checked */
    uint8_t out_base;            /* what tiles go to in GM: enum mm_base */
    struct mm_script *writes;    /* where what is pushed is written down, or NULL */
    struct mm_room *room;
};

/* An object for products of a shape, with a tiling or NULL for the one that mm_plan() finds.
 * In a task or outside: blocks of a launch may begin with copies of what was set before. */
void mm_init(struct mm *mm, const struct mm_shape *shape, const struct mm_tiling *tiling);
/* pitch 0: rows lie side by side. What is transposed lies in GM as (k, m), as (n, k). */
void mm_set_a(struct mm *mm, const void *gm, enum type type, enum mm_layout layout,
              bool transposed, uint32_t pitch);
void mm_set_b(struct mm *mm, const void *gm, enum type type, enum mm_layout layout,
              bool transposed, uint32_t pitch);
/* b of S8, of which two of each four numbers along k are not 0: as mm_sparse_pack() has left it,
 * transposed; a fractal is then 64 of k. Only where chip_has_sparse(). */
void mm_set_sparse(struct mm *mm, const void *packed);
/* Bytes of n columns of k numbers packed; packs them as they lie in rows, but for those that are
 * not among the two largest of four, the first of equal ones: these become 0 in b, too. */
uint64_t mm_sparse_bytes(uint32_t n, uint32_t k);
void mm_sparse_pack(int8_t *b, uint32_t n, uint32_t k, void *to);
/* c's type, and elements from one of its rows in GM to the next, 0: n. Without it c is F32,
 * or S32, and its rows lie side by side. */
void mm_set_c(struct mm *mm, enum type type, uint32_t pitch);
/* The caller brings chunks of a, or of b, to L1 in rows, each up to 32 bytes, or of MM_NZ in
 * column blocks, as another object's tiles get there: windows as they would lie in GM, in the
 * order of the cursors of walk.h, each before its products are issued. A panel that more than
 * one tile uses stays; `panels`, 1 or 2, of what stays find room. */
void mm_give(struct mm *mm, bool b, unsigned panels);
struct mm_given mm_given_slot(const struct mm *mm, const struct mm_cursor *at);
/* n numbers, F32 or S32 as the sums are, the same for each product; NULL: none. */
void mm_set_bias(struct mm *mm, const void *gm);
/* c is scaled: by one word (fixpipe_word), or by one for each column, n words in GM. */
void mm_set_scale(struct mm *mm, uint64_t word, const uint64_t *gm);
void mm_set_activation(struct mm *mm, const struct mm_activation *activation);
/* Below 0 each column has its own slope, n fp32 numbers in GM (PReLU). */
void mm_set_slopes(struct mm *mm, const float *gm);
/* F32 is rounded to HF32 first, ties to even or towards zero (cube.md): a fractal a cycle. */
void mm_set_hf32(struct mm *mm, bool towards_zero);
/* Tiles go to UB through a ring. */
void mm_set_ring(struct mm *mm, const struct mm_ring *ring);

/* The object has only that half of L0A, L0B, L0C, BT and FB, semaphores from `sem` on, and of
 * L1 so many bytes from l1_begin on (0: all behind that): then another one has its own. Loads
 * wait for nothing that is issued behind them. No parts of k. */
void mm_set_half(struct mm *mm, enum mm_half half, unsigned sem, uint32_t l1_begin,
                 uint32_t l1_bytes);

/* 0, or an error, and in `why` what is wrong: no command would be issued. */
MUST_CHECK int mm_check(struct mm *mm, char why[MM_TEXT]);
/* Chooses the cheapest tiling for so many cores (0: all), as `strategy` says. ERR_ARG: that
 * strategy cannot do the shape; ERR_LOCAL: no tiling fits; `why` says what would. */
MUST_CHECK int mm_plan(struct mm *mm, unsigned cores, enum mm_strategy strategy,
                       char why[MM_TEXT]);
/* The same behind a check of what was set, and with one of what came out. */
MUST_CHECK int mm_plan_checked(struct mm *mm, unsigned cores, enum mm_strategy strategy,
                               char why[MM_TEXT]);
/* With that tiling, of which nothing but what it is expected to take is decided; MM_GEMV: of the
 * object turned. Errors as of mm_plan(). */
MUST_CHECK int mm_plan_as(struct mm *mm, const struct mm_tiling *tiling, unsigned cores,
                          char why[MM_TEXT]);
/* Of so many cores those that have a share. */
uint32_t mm_blocks(const struct mm *mm, unsigned cores);
/* The tiling in words. */
void mm_explain(const struct mm *mm, char text[MM_TEXT]);
const char *mm_strategy_name(enum mm_strategy strategy);
/* L1 that the tiling takes. */
uint32_t mm_l1_bytes(const struct mm *mm);

/* Issues all that the next tile of the share needs but its way out; false: there is none. */
bool mm_iterate(struct mm *mm);
/* The tile's way out, once for each: to c in GM, of which `to` is the first element, adding
 * to what is there if `atomic`; or its rows to UB at `to`, nt elements rounded up to 32
 * bytes from a row to the next (mm->now->nt; it says which tile); or to L1, column blocks of 32
 * bytes, each of mt rows rounded up to 16. */
void mm_get_c(struct mm *mm, enum mm_place place, uint64_t to, bool atomic);
/* With a ring: to UB through it, whatever `to` is. Pieces of the tile that was got last, in
 * the order in which they come, and where piece i is. */
unsigned mm_ring_pieces(const struct mm *mm);
void mm_ring_piece(const struct mm *mm, unsigned i, struct mm_piece *piece);
/* All of them, PIPE_DEPTH at most: how many. */
unsigned mm_ring_all(const struct mm *mm, struct mm_piece *pieces);
/* MM_SPLIT_K: part i of k begins with row mm_part_begin() of b. The first one's sums are c, to
 * which those of the others are added in their order, rounding each time. */
uint32_t mm_part_begin(const struct mm *mm, uint32_t i);
/* All tiles of the share to GM. */
void mm_iterate_all(struct mm *mm, void *c, bool atomic);
/* The block's whole part of the product, from what was planned and checked: all of that up to
 * mm_end(), with parts of k, for which all blocks run at once. With `any_order`, and of whole
 * numbers, parts are added to zeros as they come, and floats depend on which core is when
 * ready. A share of few commands that a core is given a second time is kept, and costs the
 * hart a store a pipe from then on; with `repeats` it is kept the first time. */
void mm_run(const struct mm *mm, void *c);
/* Waits until the object's commands have ended; its semaphores are then 0. */
void mm_end(struct mm *mm);

#endif
