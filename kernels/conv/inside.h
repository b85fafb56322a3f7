/* SPDX-License-Identifier: MIT
 *
 * What the tasks of a convolution's block share.
 */
#ifndef KERNELS_CONV_INSIDE_H
#define KERNELS_CONV_INSIDE_H

#include <stddef.h>

#include "kernels/conv/plan.h"
#include "kernels/lib/share.h"
#include "sched/tque.h"

/* Semaphores of each core, behind those of what the Vector of a tile program does. MTE1 fills
 * slots of L0, of which each holds what one MMAD reads, the Cube empties them; the Cube fills
 * slots of L0C, the fixpipe empties them. */
enum conv_sem { CONV_L0_FREE = 16, CONV_L0_FULL, CONV_C_FREE, CONV_C_FULL };

enum {
    CONV_L0_SLOTS = 2,
    CONV_L0C_ROW = 64,     /* bytes of a row of a fractal in L0C */
    CONV_BIAS_BYTES = 512, /* of as many columns as a unit has at most */
    CONV_WORD_BYTES = 1024,
    CONV_MMADS = CONV_SET_MMADS,
    CONV_LOADS = 2 * CONV_MMADS,
    CONV_PARTS = 4, /* of a chunk, whose commands are kept */
};

/* Words of a LOAD3D: map_h, map_w, channels, m_len; then what lies from filter_w on. */
enum {
    MAP_WORD = offsetof(struct cmd_load3d, map_h) / 8,
    PADS_WORD = offsetof(struct cmd_load3d, filter_w) / 8,
};
_Static_assert(offsetof(struct cmd_load3d, m_len) / 8 == MAP_WORD &&
                   offsetof(struct cmd_load3d, k_len) / 8 == MAP_WORD + 1 &&
                   offsetof(struct cmd_load3d, pad_bottom) / 8 == PADS_WORD + 1,
               "these words hold nothing else");

/* The commands of a part, which are built once and then changed where sets differ. */
struct conv_record {
    uint32_t n, pieces, k, k_count; /* output channels, 0: none is built; blocks of k */
    uint32_t slices, n_load, n_mmad;
    union cmd load[CONV_LOADS], mmad[CONV_MMADS];
};

/* What the Vector does to some rows of sums, by the buffers that these and others lie in. */
enum { CONV_LIST = 80, CONV_LISTS = 6 };
struct conv_list {
    uint32_t sums, result, added, constants, elements, columns;
    unsigned n; /* 0: none is built */
    union cmd cmd[CONV_LIST];
};

/* By the part of the chunk; by whether the chunk is the first, another, the last. */
struct conv_room {
    struct conv_record record[CONV_PARTS][3];
    struct conv_list list[CONV_LISTS];
    unsigned next_list;
};

enum { CONV_TEMPS = 4 };

/* What the Vector goes on with, in UB: sums as they leave L0C, some rows of a piece at a
 * time; what is added; results. */
struct conv_tail {
    struct tque *sums, *added, *results, *constants;
    uint32_t elements; /* of sums, at most */
    uint32_t temp[CONV_TEMPS];
};

struct conv_share;

/* Who goes on with sums (struct conv's): all pieces of all units, in their order. Before
 * anything else; what a piece meets, on its way to UB; the piece itself, from L0C; a task that
 * does the rest. */
struct conv_sink {
    void (*begin)(const struct conv_share *s);
    void (*load)(const struct conv_share *s, const struct conv_unit *u,
                 const struct conv_piece *piece);
    void (*take)(const struct conv_share *s, const struct conv_unit *u,
                 const struct conv_piece *piece, uint32_t from);
    void (*finish)(void *share);
    void *arg;
};

/* What one core does: units [begin, end). */
struct conv_share {
    const struct conv_plan *plan;
    const struct conv_sink *sink; /* or NULL */
    struct conv_room *room;
    uint32_t begin, end;
    struct tque *patch, *weights, *bias, *words;
    uint32_t bt, l0a, l0b, l0c; /* where they begin */
    struct conv_tail tail;
};

/* The weights of the unit before are others; of a share that begins with `begin`. */
static inline bool conv_new_weights(const struct conv_plan *l, uint32_t begin,
                                    uint32_t unit)
{
    return unit == begin || unit % (l->deep * l->down * l->across) == 0 ||
           (l->by_patch && l->n_blocks > 1);
}

/* Likewise the patch, if patches have all channels: units that have only other channels of y
 * share it. */
static inline bool conv_new_patch(const struct conv_plan *l, uint32_t begin,
                                  uint32_t unit)
{
    return unit == begin || unit % l->n_blocks == 0 ||
           (!l->by_patch && l->deep * l->down * l->across > 1);
}

static inline bool conv_first_of_weights(const struct conv_share *s, uint32_t unit)
{
    return conv_new_weights(s->plan, s->begin, unit);
}

static inline uint32_t conv_sets(const struct conv_plan *l, const struct conv_unit *u)
{
    return (conv_pieces(l, u) + l->set - 1) / l->set;
}

/* A slot of L0A, of L0B where weights do not stay there, of L0C. */
static inline uint32_t conv_a_bytes(const struct conv_plan *l)
{
    return l->piece * l->slice * MTE_BLOCK;
}

static inline uint32_t conv_b_bytes(const struct conv_plan *l)
{
    return l->nt * l->slice * MTE_BLOCK;
}

static inline uint32_t conv_slot_bytes(const struct conv_plan *l)
{
    return l->piece * l->nt * 4;
}

static inline const char *conv_at(const void *base, uint64_t element, uint32_t bytes)
{
    return (const char *)base + element * bytes;
}

/* A block's share, of so many, of a convolution, with a pipe of its own; sink: or NULL. */
void conv_block(const struct conv_plan *plan, unsigned shares, struct conv_room *room,
                const struct conv_sink *sink);
/* The task that issues to MTE1, M and FIX; arg: a struct conv_share. */
void conv_multiply(void *arg);
/* What it has to say to FIX first; the command that takes a piece of the unit out of L0C,
 * but for what pieces differ in; that of a piece in L0C. */
void conv_store_begin(const struct conv_share *s);
void conv_store_make(const struct conv_plan *l, const struct conv_unit *u,
                     union cmd *cmd);
void conv_store(const struct conv_plan *l, const struct conv_unit *u, uint32_t from,
                const struct conv_piece *piece, union cmd *cmd);
/* Scales of the columns that follow. */
void conv_store_words(const struct conv_share *s, uint32_t n_count);

/* Rows of a piece, from m on, that lie one behind the other in y, to `end` at most: how
 * many, and the first one's pixel. A row of pixels where y has not all that are whole. */
struct conv_run {
    uint32_t count;
    uint64_t pixel;
};
/* Of a part of a transposed convolution, whose pixels lie apart. */
struct conv_run conv_run_apart(const struct conv_plan *l, const struct conv_unit *u,
                               const struct conv_piece *piece, uint32_t m, uint32_t end);
static inline struct conv_run conv_run(const struct conv_plan *l,
                                       const struct conv_unit *u,
                                       const struct conv_piece *piece, uint32_t m,
                                       uint32_t end)
{
    uint32_t row = u->row, col = m, count = end - m;
    uint64_t above = (uint64_t)(u->image + piece->image) * l->oh;

    if (l->p.part) {
        return conv_run_apart(l, u, piece, m, end);
    }
    if (u->cols != l->ow) {
        row += m / u->cols;
        col = m % u->cols;
        count = min_u32(u->cols - col, count);
        col += u->col;
    }
    return (struct conv_run){count, (above + row) * l->ow + col};
}

/* Room of the tail; its task, arg: a struct conv_share; a piece in L0C on its way to it;
 * what is added to a piece of the unit, from GM. */
void conv_tail_init(struct conv_share *s, struct tpipe *pipe);
void conv_tail(void *arg);
void conv_tail_take(const struct conv_share *s, uint32_t from,
                    const struct conv_piece *piece, union cmd *cmd);
void conv_tail_load(const struct conv_share *s, const struct conv_unit *u,
                    const struct conv_piece *piece);
void conv_tail_constants(const struct conv_share *s, const struct conv_unit *u);

#endif
