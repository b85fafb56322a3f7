/* SPDX-License-Identifier: MIT
 *
 * A tile program as an operator: the description that op.h wants, made at run time from
 * what the parser has read, so that files, made-up data, comparison and reports are those
 * of every operator.
 */
#ifndef KERNELS_TILE_OP_TILE_OP_H
#define KERNELS_TILE_OP_TILE_OP_H

#include "kernels/cli/limit.h"
#include "kernels/tile/ref/ref.h"
#include "kernels/tile/stages/chain.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"

enum {
    TILE_IO_BYTES = (TILE_PARAMS + TILE_RESULTS) * (TILE_RANK + 1) * TILE_NAME_BYTES,
    TILE_TYPES_BYTES = TILE_ROWS * (TILE_PARAMS + TILE_RESULTS + 1) * 5,
    TILE_BOUND = NPY_MAX_DIMS + 1, /* dimensions that `...` becomes, at the most */
};

/* Options of the command `tile`, and behind them the program's own: its scalars. */
struct tile_args {
    const char *kernel; /* which one of the file's, or NULL */
    bool explain, interpret, keepdims;
    uint32_t path; /* of what the Vector computes of products */
    int32_t axis;
    const char *axes; /* numbers with commas between; NULL: all */
    float scalar[TILE_SCALARS];
};

/* What an open program leaves open, from operands: dimensions that lie side by side and are
 * treated alike are one, those of size 1 none. */
struct tile_binding {
    struct tile_bound bound;
    unsigned n;
    struct {
        char name[4];
        uint64_t size;
        uint16_t params; /* bit i: parameter i has it */
        bool reduced, behind;
    } dim[TILE_BOUND];
    uint64_t sizes[TILE_BOUND]; /* of dim */
    char text[2 * TILE_PARAMS + 4][4 * TILE_BOUND];
};

/* An operator made of a program. The description comes first: a call leads back to it. */
struct tile_program {
    struct opdesc op;
    struct tile_kernel *k;
    const char *text, *kernel; /* what k is read from */
    size_t bytes;
    struct tile_open open;
    struct tile_binding binding;
    uint8_t named[TILE_PARAMS]; /* dimensions that have a name */
    struct tile_arena arena;
    size_t described; /* bytes of it that outlive a call */
    struct tile_plan *plan;
    const struct tile_kernel *lowered; /* the program, in operations of the Vector */
    struct tile_ref *ref;
    const char *path; /* of the source, for messages */
    bool built_in;    /* the program of an operator: there is no file to choose from */
    char io[TILE_IO_BYTES], types[TILE_TYPES_BYTES];
    struct option options[TILE_SCALARS + 8];
};

/* What a kernel in operations of the Vector has to do at the least, as a whole: what stages
 * leave for each other in GM is no work of the formula. */
void tile_work(const struct tile_kernel *k, struct work *w);
/* The same of all steps, on the Cube and the Vector alone. */
void tile_chain_work(const struct tile_chain *chain, struct work *w);
/* What an operator that is a chain has as work[0]: its plan, and the arena that it lies in. */
struct tile_chain_room {
    struct tile_chain plan;
    struct tile_arena arena;
    _Alignas(16) char bytes[];
};
/* That, with an arena of so many bytes; NULL: no memory, which has been said. */
struct tile_chain_room *tile_chain_room(struct op_call *call, size_t bytes);
/* A plan that could not be made: one line on stderr. err. */
int tile_chain_refuse(const struct op_call *call, int err, const struct tile_error *error);
/* Reads a text, in which the kernel of that name is looked for (NULL: the only one), and
 * makes the description. The arena is given; it and the text live as long. 0, or ERR_ARG
 * after one line on stderr: what is wrong with it, or a name that is one of the command
 * line's options. */
MUST_CHECK int tile_describe(struct tile_program *program, const char *text, size_t bytes,
                             const char *kernel);
/* program->k for the operands of a call, with sizes. 0, or an error after one line. */
MUST_CHECK int tile_bind(struct tile_program *program, const struct op_call *call);
/* The operands that are there, as k->param has them; how many. */
unsigned tile_operands(const struct op_call *call, const struct tensor **in);
/* What --axes and --keepdims leave of a result. As opdesc.shape. */
int tile_result_shape(const struct op_call *call, unsigned number, struct tensor *out);
/* The same of a program with CONVs: what windows make. */
int tile_conv_shape(const struct op_call *call, unsigned number, struct tensor *out);
/* Callbacks of the description, kernels/tile/op/tile_op.c. */
MUST_CHECK int tile_prepare(struct op_call *call);
int tile_op_run(const struct op_call *call, struct sched_report *report);
void tile_reference(const struct op_call *call, unsigned out, uint64_t first, uint64_t n,
                    struct op_want *want);
void tile_op_work(const struct op_call *call, struct work *w);
/* One line on stderr with the place in the source; returns err. */
int tile_refuse(const struct tile_program *program, const struct tile_error *error,
                int err);

#endif
