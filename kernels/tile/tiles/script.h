/* SPDX-License-Identifier: MIT
 *
 * Private to the planner: plans as words of a schedule, and back. A word tells one decision, in
 * the order in which they are made: `x`, a cut by reductions; `y21888`, in pieces of at most so
 * many; `l1`, rows through L1 (rows.h); `r8c1024p1040n2fsb012`, a tile: rows, columns, pitch,
 * buffers, what else there is of a way by letters (`lc`: loads of two tiles, bulk.h), where large
 * buffers begin by digits;
 * `m128n256k512l64a4b2tr`, a product: rows and columns of its tiles, k in L1, and, what follows
 * from the others if it is not said: k in L0, slots of a and of b; then `c64`, columns in L0C if
 * those are not all; s, t: a, b stays; r: operands lie in rows, w: and of a at one time; g: c is a
 * column; `p4`, parts of k; `x8`, cores with tiles.
 */
#ifndef KERNELS_TILE_TILES_SCRIPT_H
#define KERNELS_TILE_TILES_SCRIPT_H

#include "kernels/mm/mm.h"
#include "kernels/tile/ir/ir.h"
#include "kernels/tile/emit/way.h"

/* What was decided on the way to a plan, in words of a schedule; or what a schedule says
 * is to be. */
enum { SCRIPT_WORDS = TILE_CHOICES - 3 /* room for cores, exact and arith */ };
struct script {
    const struct tile_kernel *k; /* with the schedule */
    bool follows;                /* it has such words */
    bool full;
    struct script_at {
        unsigned next;     /* choice of the schedule */
        unsigned n;        /* words */
        uint32_t products; /* bit i: word i is of one, and was not said */
    } at;
    char word[SCRIPT_WORDS][TILE_NAME_BYTES];
};

void script_begin(struct script *s, const struct tile_kernel *k);
const struct tile_choice *script_next(struct script *s); /* NULL: there is no more */
__attribute__((format(printf, 2, 3))) void script_add(struct script *s,
                                                      const char *format, ...);
void script_add_way(struct script *s, const struct way *w, const struct placing *p);
/* False, 0: it is no such word. */
bool script_read_way(const char *word, struct way *w, struct placing *p);
uint32_t script_read_pieces(const char *word);
bool script_read_tiling(const char *word, struct mm_tiling *t);
/* False: it is too long. */
bool script_way_word(const struct way *w, const struct placing *p, char *to, size_t size);
bool script_tiling_word(const struct mm_tiling *t, char *to, size_t size);
/* The next word if it is a product's, which is then done. */
bool script_next_tiling(struct script *s, struct mm_tiling *t);
/* `said`: it is the one that the schedule has. */
void script_add_tiling(struct script *s, const struct mm_tiling *t, bool said);
/* All words, or without those of products that were not said. */
char *script_text(const struct script *s, bool products, struct tile_arena *arena);

#endif
