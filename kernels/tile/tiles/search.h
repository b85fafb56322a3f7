/* SPDX-License-Identifier: MIT
 *
 * Private to the planner: the search for the fastest way.
 */
#ifndef KERNELS_TILE_TILES_SEARCH_H
#define KERNELS_TILE_TILES_SEARCH_H

#include "kernels/tile/tiles/tiles.h"

enum { PRE_COMMANDS = PLAN_COMMANDS / 2, KEPT = 3 };

struct search {
    struct program *p;
    struct emit e;
    struct order order;
    struct loops loops;
    unsigned cores;
    union cmd *body, *pre; /* room for commands */
    struct candidate best[KEPT];
    unsigned n_best, n_tried;
    struct candidate none; /* the one that came nearest to fit */
    struct way tried[64];
    unsigned n_ways;
    struct candidate lost[PLAN_LOST];
    unsigned n_lost;
    uint32_t signature;    /* that a way must have; 0: any */
    struct way wanted;     /* what the schedule says of it; 0: nothing */
    bool quick;            /* a small part of a program: no search for the last cycle */
    unsigned with_columns; /* so often the tile meets values of columns alone, */
    bool with_rows;        /* or of rows alone */
    struct candidate unfit[PLAN_UNFIT];
    unsigned n_unfit;
};

/* plan.c: memory for commands; false: there is none. */
bool search_begin(struct search *s, struct program *p, unsigned cores);
void search_end(struct search *s);
/* The commands of the way that was emitted last, as they are pushed. */
int plan_keep_commands(struct search *s, struct tile_arena *arena, struct tiles_plan *t);
/* Of ways that lost, for --explain. */
void tell_lost(struct search *s, const struct candidate *c);
/* candidate.c: emits a way, without commands yet; */
void use_way(struct search *s, const struct way *w);
/* and gives it memory; and, of tiles in loops, simulates it; `anew`: it
 * is not the one before. False: c->err and c->why tell why not. */
bool emit_way(struct search *s, struct candidate *c, bool anew);
bool evaluate(struct search *s, struct candidate *c, bool anew);
/* Its buffers lie where they cost the least, those from large one `first` on anew. */
void place_better(struct search *s, struct candidate *best, unsigned first);
/* Whether the tile meets values of columns alone or of rows alone, which *s knows then. */
bool search_mixes(struct search *s);
/* What a pitch is a multiple of: elements that are whole blocks of every type. */
uint32_t search_block(const struct program *p);
/* simulate.c: the tiles of a core's share, played by the contract's costs. */
struct tile_cycles simulate(const struct emit *e, const struct order *o,
                            const struct loops *loops, const struct share *share);
/* The best ways are in s->best then, the best one first. */
void search_for_cores(struct search *s);

#endif
