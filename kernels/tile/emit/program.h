/* SPDX-License-Identifier: MIT
 *
 * A kernel as a program over rows and columns: what emit.c makes commands of, tile by tile.
 * program.c builds it of the lowered kernel, groups.c decides which dimensions are rows and which
 * are columns.
 */
#ifndef KERNELS_TILE_EMIT_PROGRAM_H
#define KERNELS_TILE_EMIT_PROGRAM_H

#include "kernels/tile/ir/ir.h"
#include "kernels/tile/ir/size.h"

enum { PLAN_NODES = 256, PLAN_GROUPS = 8, PLAN_NOTES = 6 };

/* Which of the tile's two directions a value has. */
enum { HAS_COL = 1, HAS_ROW = 2, FULL = HAS_COL | HAS_ROW };

struct node {
    uint8_t op;    /* enum tile_op, as tile_lower() leaves them */
    uint8_t type;  /* enum type, or TILE_MASK */
    uint8_t has;   /* HAS_ */
    uint8_t index; /* INPUT: of param[] */
    uint8_t group; /* INDEX: of which group; reductions: over which */
    bool body;     /* made of what each tile has anew */
    uint8_t outer; /* bit g: changes with group g, which is neither rows nor columns */
    uint16_t in[3];
    uint16_t line, of; /* of: the value of the lowered kernel, for names */
    uint16_t last;     /* node that uses it last; PLAN_NODES: a result is made of it */
    double number;
};

/* Dimensions that are side by side in every tensor, and in every value all there or none
 * of them; those of size 1 are in no group. */
struct group {
    tile_dims dims;
    uint64_t size;
};

struct program {
    const struct tile_kernel *k;      /* lowered */
    struct node node[PLAN_NODES + 1]; /* from 1 */
    unsigned n;
    struct group group[PLAN_GROUPS];
    unsigned n_groups, col, row; /* numbers of groups; n_groups: there is none */
    uint64_t rows, cols;
    bool reduces, reduces_rows;  /* over columns, over rows: a tile has them all */
    uint32_t ub_begin, ub_bytes; /* its part of UB, from a bank on; 0: all */
    uint8_t sems;                /* the first of its semaphores */
    uint16_t result[TILE_RESULTS];
    unsigned n_notes;
    char note[PLAN_NOTES][96]; /* rewrites that were made */
};

/* One of rows alone, which do not lie side by side. */
bool program_is_across(const struct program *p, const struct tile_tensor *t);
/* Elements between two neighbours of a group in a tensor; 0: it does not have it. */
uint64_t program_stride(const struct program *p, const struct tile_tensor *t,
                        unsigned group);
int program_groups(struct program *p, struct tile_error *error);
/* 0, or an error with *error filled in. */
int program_make(struct program *p, const struct tile_kernel *k, struct tile_arena *arena,
                 struct tile_error *error);

#endif
