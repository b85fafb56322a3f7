/* SPDX-License-Identifier: MIT
 *
 * Private to cut.c, pieces.c and draft.c: a stage, made of nodes of the program that is cut.
 */
#ifndef KERNELS_TILE_CUT_DRAFT_H
#define KERNELS_TILE_CUT_DRAFT_H

#include "kernels/tile/cut/cut.h"

/* So many pieces of one size of the dimension that is cut, side by side. */
struct segment {
    uint64_t start;
    uint32_t pieces, size;
};

/* A value of the program that a stage leaves for another. */
struct given {
    tile_value of;
    uint64_t bytes; /* where in the scratch */
};

enum { GIVEN = 24 };

/* A program while it is cut. */
struct cutting {
    struct cut *cut;
    const struct tile_kernel *from;
    struct tile_arena *arena;
    uint8_t order[TILE_DIMS]; /* dimensions as all tensors have them */
    unsigned n_order;
    uint8_t dim;               /* that is cut in pieces */
    bool live[TILE_NODES + 1]; /* some result needs it */
    struct given given[GIVEN];
    unsigned n_given;
    bool failed;
};

/* A stage while it is made. */
struct draft {
    struct cutting *c;
    struct stage stage;
    struct tile_kernel *k;
    const struct segment *segment; /* of the dimension that is cut; NULL: all of it */
    const bool *made;              /* nodes that `make` makes, not a copy */
    tile_value (*make)(struct draft *d, tile_value v);
    const void *arg; /* for it */
    tile_value to[TILE_NODES + 1];
};

/* False: tensors of a set (tile_dims_order()) have no common order. */
bool cutting_begin(struct cutting *c, struct cut *cut, const struct tile_kernel *k,
                   uint32_t tensors, struct tile_arena *arena);
/* Room in the scratch. */
uint64_t cutting_room(struct cutting *c, uint64_t bytes);
/* Where a value will lie that a stage leaves for another. */
uint64_t cutting_given(struct cutting *c, tile_value v);

/* An empty one, called `what` and the program's name. */
struct draft *draft_begin(struct cutting *c, const char *what,
                          const struct segment *segment);
/* The value of a node of the program, and before it of all that it needs. */
tile_value draft_node(struct draft *d, tile_value v);
/* The dimension within a piece, and that of a segment's pieces. */
uint8_t draft_within(struct draft *d);
uint8_t draft_pieces(struct draft *d, const struct segment *s);
/* A tensor of the program in the stage's dimensions; *elements: where it begins. */
struct tile_tensor draft_view(struct draft *d, const struct tile_tensor *t,
                              uint64_t *elements);
/* One of scratch: of dimensions of the program and, unless it is NULL, a segment's
 * pieces. */
struct tile_tensor draft_scratch(struct draft *d, tile_dims dims, unsigned type,
                                 const struct segment *pieces);
uint64_t draft_bytes(const struct draft *d, const struct tile_tensor *t);
tile_value draft_input(struct draft *d, struct tile_tensor t, const char *name,
                       struct origin origin);
void draft_result(struct draft *d, struct tile_tensor t, const char *name,
                  tile_value value, struct origin origin);
/* A parameter for a value that another stage leaves; a result that is one. */
tile_value draft_take(struct draft *d, tile_value v);
void draft_leave(struct draft *d, tile_value v, uint64_t bytes);
/* Result r of the program. */
void draft_program_result(struct draft *d, unsigned r);
bool draft_full(const struct draft *d); /* no room for one more result */
/* Appends the stage, if it has results. */
void draft_end(struct draft *d);

#endif
