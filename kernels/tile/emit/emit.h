/* SPDX-License-Identifier: MIT
 *
 * One tile of a program as commands of the Vector, in buffers of UB: a struct way says how large
 * the tile is. Buffers have numbers while commands are counted; who plans gives them addresses
 * (tiles/place.c) and has the program emitted again, with these. emit/inside.h has what the files
 * of this folder share.
 */
#ifndef KERNELS_TILE_EMIT_EMIT_H
#define KERNELS_TILE_EMIT_EMIT_H

#include "kernels/tile/emit/program.h"
#include "kernels/tile/emit/way.h"
#include "kernels/tile/ir/size.h"

enum {
    PLAN_BUFFERS = 96,
    PLAN_COMMANDS = 640, /* of one body */
    PLAN_CONSTANTS = 16,
    PLAN_INDICES = 8
};

/* Bytes in UB that belong to one thing at a time. */
struct buffer {
    uint32_t bytes;
    uint16_t first, last; /* commands of the body that touch it */
    uint8_t load, store;  /* 1 + number of the parameter, of the result; 0: none */
    uint16_t value;       /* node that has it now */
    uint8_t beside;       /* 1 + one that commands read while they write this; 0: none */
    bool turn;            /* begins where groups begin anew, */
    bool half;    /* or a repeat further: rows of the tile begin in other groups */
    bool always;  /* of the preamble: lives as long as the launch */
    bool product; /* loaded out of L0C, or of rows in L1 */
    bool ring;    /* whose slots lie side by side */
    bool full;    /* of the large ones, whose banks matter */
    bool touched; /* by the body */
};

/* Where the forms of a value lie, buffer + 1; 0: not made. */
struct forms {
    uint8_t dense; /* as its class has it: rows by pitch, rows, columns, or one */
    uint8_t block; /* of rows: a block for each, twice, in turn */
    uint8_t wide;  /* of rows or one: a repeat's lanes for each */
    uint8_t twice; /* of rows: two of them */
    uint8_t full;  /* of anything: spread over the tile */
};

/* Commands, and the mask that they have left. */
struct stream {
    union cmd *cmd;
    unsigned n, room;
    enum { MASK_UNKNOWN, MASK_COUNT, MASK_BITS } mask;
    uint64_t lo, hi;
};

struct constant {
    uint32_t bits;
    uint8_t type, buffer;
};

/* Of a command of the body that begins a row of indices: where the tile begins. */
struct index_patch {
    uint16_t command;
    uint8_t group;
};

struct emit {
    const struct program *p;
    const struct way *w;
    struct stream pre, body, *to;
    struct buffer buffer[PLAN_BUFFERS];
    unsigned n_buffers, position;
    struct forms form[PLAN_NODES + 1];
    uint8_t pending[8]; /* buffers that the next command touches */
    unsigned n_pending;
    struct constant constant[PLAN_CONSTANTS];
    unsigned n_constants;
    struct index_patch index[PLAN_INDICES];
    unsigned n_index;
    uint16_t node, spread; /* that is emitted; the one of SPREAD_FIRST, or 0 */
    bool invariant;        /* it is the same for all tiles */
    uint32_t at[PLAN_BUFFERS][PLAN_RING]; /* addresses; a second pass needs them */
    uint32_t signature; /* of how sums are made: equal ones give equal bits */
    int err;            /* it cannot be done in this way: why */
    char why[TILE_TEXT_BYTES];
};

/* Empties all but the addresses; then emits the program for a position of the ring. */
void emit_program(struct emit *e, unsigned position);
/* The bits of a number in a type. */
uint32_t number_bits(unsigned type, double value);

/* layout.c: the command of an operation; with a number for its second operand, or 0; its
 * rounding. masks.c: CMP_ of a COMPARE. */
enum op unary_op(unsigned op);
enum op binary_op(unsigned op);
unsigned number_op(unsigned op);
uint8_t rounding_of(unsigned op);
uint8_t compare_of(unsigned op);

#endif
