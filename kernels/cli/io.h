/* SPDX-License-Identifier: MIT
 *
 * The shape rule and the types of an operator, read from its description (op.h): what
 * operands are called, which sizes must be equal, what a result's shape is.
 */
#ifndef KERNELS_CLI_IO_H
#define KERNELS_CLI_IO_H

#include <stdio.h>
#include "kernels/cli/op.h"
#include "kernels/lib/near.h"

enum {
    IO_DIMS = 16,
    IO_NAME = NEAR_BYTES,
    IO_ROWS = 32,
    IO_BOOL = TYPE_COUNT /* of types */
};

struct io_operand {
    char name[IO_NAME];
    bool optional;
    bool any; /* dimensions: `x[*]` */
    unsigned n_dims;
    uint8_t dim[NPY_MAX_DIMS]; /* of struct io */
};

struct io {
    unsigned n_in, n_out, n_dims;
    unsigned n_known; /* of n_dims: those of operands; op->shape knows the others */
    struct io_operand operand[OP_OPERANDS]; /* results behind the last of n_in */
    char dim[IO_DIMS][IO_NAME];
    unsigned pack; /* number of the dimension that stands for `...`, or IO_DIMS */
    unsigned n_rows;
    uint8_t type[IO_ROWS][OP_OPERANDS];
    bool broadcast; /* `...` as NumPy broadcasts */
    bool any;       /* an operand has any dimensions */
};

/* Reads op->io and op->types; false if they are not as op.h has it. */
bool io_parse(const struct opdesc *op, struct io *io);
/* Type of that name in small letters, such as `f16`, or TYPE_NONE; of `bool` IO_BOOL. */
unsigned io_type(const char *name);
/* A bit for each row of types that has so far fitted. */
typedef uint32_t io_rows;
/* Of `rows`, those in which operand i is of a type, or IO_BOOL. */
io_rows io_rows_with(const struct io *io, io_rows rows, unsigned i, unsigned type);
/* Prints the types that operand i has in `rows`, each once, as `f16 or s8`; people: as
 * NumPy calls them. */
void io_print_types(FILE *to, const struct io *io, io_rows rows, unsigned i, bool people);
/* `a (3, 5)` */
void io_print_shape(FILE *to, unsigned ndim, const uint64_t *shape);

/* Sizes: what is known of each dimension, and by which operand. */
struct io_sizes {
    uint64_t size[IO_DIMS]; /* 0: not known yet */
    const char *by[IO_DIMS];
    unsigned pack_ndim;
    uint64_t pack[NPY_MAX_DIMS];
    bool pack_known;
};
/* The size of a dimension whose name is one, `x[m,16]`; 0: a name. */
uint32_t io_fixed(const struct io *io, unsigned dim);
/* Notes the sizes of operand i, a file; or ERR_SHAPE after one line on stderr. */
MUST_CHECK int io_note(const char *who, const struct io *io, struct io_sizes *sizes,
                       unsigned i, const struct tensor *t);
/* The shapes of the operands, 3x1x5,5, noted, too; t->path says which have one. 0,
 * ERR_SHAPE after one line, or ERR_FORMAT: that is not what the text says. */
MUST_CHECK int io_take_shapes(const char *who, const struct io *io, const char *text,
                              struct tensor *t, struct io_sizes *sizes);
/* Gives operand i, a result or made-up data, its shape as far as the rule tells it: a
 * dimension that no operand has is 0, as many as a `...` that none has are left out. Or
 * ERR_SHAPE after one line on stderr: it has too many dimensions. */
MUST_CHECK int io_shape(const char *who, const struct io *io,
                        const struct io_sizes *sizes, unsigned i, struct tensor *t);
/* t->count from the shape; or ERR_SHAPE after one line, if no array can be so. */
MUST_CHECK int io_count(const char *who, const struct io *io, unsigned i,
                        struct tensor *t);

#endif
