/* SPDX-License-Identifier: MIT
 *
 * The loops over the tiles of a program, which cores share, and the tile's loads and stores.
 */
#ifndef KERNELS_TILE_TILES_LOOPS_H
#define KERNELS_TILE_TILES_LOOPS_H

#include "kernels/tile/emit/program.h"
#include "kernels/tile/emit/way.h"
#include "sched/sequence.h"

enum { PLAN_LOOPS = SEQ_LOOPS };

struct loop {
    uint8_t group;  /* n_groups: of the one row, or the one column, that there is */
    uint32_t count; /* tiles */
    uint32_t tile;  /* elements of the group in a tile */
    uint32_t tail;  /* of the last one, if it has fewer; else 0 */
};
/* Loops over the tiles of a way, the innermost first. The cores share the tiles of one, in
 * so many of them together: no two cores write bytes of the same block of a result. */
struct loops {
    const struct program *p;
    const struct way *w;
    struct loop loop[PLAN_LOOPS];
    unsigned n, dealt;
    uint32_t unit;
};
/* A tile of a tensor that is loaded or stored. */
struct transfer {
    const struct tile_tensor *tensor;
    bool store;
    uint8_t variant;
    uint32_t ub;
};

struct share {
    uint32_t first[PLAN_LOOPS], count[PLAN_LOOPS]; /* tiles of each loop */
};

/* loops.c: which loops a way has; NULL, or why it cannot be. */
const char *loops_make(struct loops *l, const struct program *p, const struct way *w);
/* A result is stored more than once: it lacks the dimension of a loop. */
bool loops_store_again(const struct loops *l);
struct share loops_share(const struct loops *l, unsigned core, unsigned cores);
/* Tiles of a variant in a share; if asked, its rounds of each loop, from which one on. */
uint64_t loops_tiles(const struct loops *l, const struct share *share, unsigned variant,
                     struct share *rounds);
/* Bytes from a tile to the next of loop i in a tensor. */
uint64_t loops_stride(const struct loops *l, unsigned i, const struct tile_tensor *t);
/* Rows and columns of a tensor, which in UB lie as a way has them, to UB or from there. */
void loops_transfer(const struct program *p, const struct transfer *x, uint32_t rows,
                    uint32_t cols, uint32_t pitch, union cmd *cmd);
/* A load or a store; the address is that of the tensor. */
void loops_command(const struct loops *l, const struct transfer *x, union cmd *cmd);

#endif
