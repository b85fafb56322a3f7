/* SPDX-License-Identifier: MIT
 *
 * A tile program as an operator: the description that op.h wants, made at run time from
 * what the parser has read, so that files, made-up data, comparison and reports are those
 * of every operator.
 */
#ifndef KERNELS_TILE_TILE_OP_H
#define KERNELS_TILE_TILE_OP_H

#include "kernels/cli/limit.h"
#include "kernels/tile/ref.h"
#include "kernels/tile/tile.h"

enum {
    TILE_ARENA_BYTES = 4 << 20, /* program, plan and what the interpreter keeps */
    TILE_IO_BYTES = (TILE_PARAMS + TILE_RESULTS) * (TILE_RANK + 1) * TILE_NAME_BYTES,
};

/* Options of the command `tile`, and behind them the program's own: its scalars. */
struct tile_args {
    const char *kernel; /* which one of the file's, or NULL */
    bool explain, interpret;
    float scalar[TILE_SCALARS];
};

/* An operator made of a program. The description comes first: a call leads back to it. */
struct tile_program {
    struct opdesc op;
    struct tile_kernel *k;
    struct tile_arena arena;
    struct tile_plan *plan;
    const struct tile_kernel *lowered; /* the program, in operations of the Vector */
    struct tile_ref *ref;
    const char *path; /* of the source, for messages */
    char io[TILE_IO_BYTES], types[(TILE_PARAMS + TILE_RESULTS + 1) * 8];
    struct option options[TILE_SCALARS + 4];
};

/* What a kernel in operations of the Vector has to do at the least, as a whole: what stages
 * leave for each other in GM is no work of the formula. */
void tile_work(const struct tile_kernel *k, struct work *w);
/* Makes the description of program->k. 0, or ERR_ARG after one line on stderr: a name
 * that is one of the command line's options. */
MUST_CHECK int tile_describe(struct tile_program *program);

#endif
