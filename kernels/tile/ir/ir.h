/* SPDX-License-Identifier: MIT
 *
 * The intermediate form of tile programs: what is computed, and nothing of how. Two ways
 * lead into it: the builders below, for operators in kernels/, and the text form (text.h),
 * which is built with the same builders, so that types and dimensions are checked once.
 * The interpreter (ref.h) and the planner read it.
 *
 * A program is a list of nodes. Each is an operation on values of nodes before it, has a
 * type and a set of named dimensions: its value has an element for each combination of
 * indices in them. Equal names are equal sizes; operands are broadcast over what they do
 * not have, by name and never by position. Sizes are not known while a program is built:
 * tile_set_size() gives them, tile_lower() wants all.
 *
 * Compiles for the host too. All memory comes from an arena that the caller provides.
 */
#ifndef KERNELS_TILE_IR_IR_H
#define KERNELS_TILE_IR_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/contract/contract.h"
#include "hal/err.h"

enum {
    TILE_DIMS = 16,   /* named dimensions of a kernel */
    TILE_RANK = 8,    /* dimensions of one parameter or result */
    TILE_PARAMS = 8,  /* tensors that it takes */
    TILE_RESULTS = 4, /* tensors that it gives */
    TILE_SCALARS = 16,
    TILE_NODES = 512,
    TILE_NAMES = 256, /* values that have one */
    TILE_LOOPS = 8,
    TILE_CARRIED = 8, /* values that a loop carries */
    TILE_CONVS = 4,
    TILE_CHOICES = 24,
    TILE_NAME_BYTES = 32,  /* of any name, with the 0 at its end */
    TILE_TEXT_BYTES = 160, /* of an error */
};

/* --- memory --- */

/* Bytes that are handed out from the front and given back all at once. */
struct tile_arena {
    char *base;
    size_t size, used;
};
/* `bytes` zeros, 16-byte aligned; NULL: the arena is full. */
void *tile_alloc(struct tile_arena *arena, size_t bytes);

/* --- values --- */

/* How a node's type and dimensions follow from its operands'. */
enum tile_kind {
    KIND_LEAF,    /* none: the builder is told */
    KIND_MAP,     /* of one type, which the value has too; dimensions of all operands */
    KIND_SHIFT,   /* the same; the second operand is a whole NUMBER */
    KIND_COMPARE, /* of one type; the value is a mask */
    KIND_SELECT,  /* a mask, and two of one type, which the value has */
    KIND_CAST,
    KIND_REDUCE, /* without the node's dim */
    KIND_GATHER, /* those of the first without the node's dim, and those of the second */
    KIND_DOT,    /* those of both without the node's dim */
    KIND_CONV,   /* those that the node's struct tile_conv names */
    KIND_LOOP,
};

#define TILE_OP(NAME, name, operands, kind, types, text) TILE_##NAME,
#define T(name)                                          (1u << TYPE_##name)
enum tile_op {
    TILE_NONE,
#include "kernels/tile/ir/ops.def"
    TILE_OP_COUNT,
};
#undef TILE_OP
#undef T

struct tile_op_info {
    const char *name; /* in programs, or NULL */
    uint8_t operands, kind;
    uint16_t types; /* a bit for each enum type that operands may have */
    const char *text;
};
extern const struct tile_op_info tile_op_info[TILE_OP_COUNT];

/* The number of a node, from 1; 0 is none. Operands have smaller numbers than what uses
 * them, but for what a CARRY gets from the step before. */
typedef uint16_t tile_value;
typedef uint16_t tile_dims; /* bit d: has dimension d */
enum { TILE_NO_DIM = 255 };

/* A mask, one bit an element, has no type of the machine's. */
#define TILE_MASK TYPE_NONE

struct tile_node {
    uint8_t op;   /* enum tile_op */
    uint8_t type; /* enum type: F32, F16, BF16, S32, S16, S8, U8, or TILE_MASK */
    uint8_t dim;  /* of INDEX, reductions, GATHER, DOT, a NUMBER that is its size;
                   * else TILE_NO_DIM */
    uint8_t loop; /* the loop that it is computed in, from 1; 0: none */
    tile_dims dims;
    tile_value operand[3]; /* 0: none */
    uint16_t line, column; /* in the source; line 0: not known */
    union {
        double number; /* NUMBER */
        uint32_t
            index; /* INPUT: of param[]; SCALAR: of scalar[]; CARRY, LAST: of carry[];
                      CONV: of conv[] */
    };
};

/* --- the kernel --- */

struct tile_dim {
    const char *name; /* or digits, if the size is part of the program */
    uint32_t size;    /* 0: not known yet */
};

/* A tensor in GM, row-major: its dimensions in order, each once. One that is a part of
 * another: what its dimensions from `row` on hold lies `apart` elements from the next. */
struct tile_tensor {
    const char *name;
    uint8_t type; /* enum type */
    bool boolean; /* of U8: 0 or 1, in a program a condition */
    uint8_t rank;
    uint8_t dim[TILE_RANK];
    uint8_t row;
    uint64_t apart; /* 0: side by side */
    uint16_t line, column;
};
struct tile_result {
    struct tile_tensor tensor;
    bool adds;    /* += : added to what is there, rounded once; not of U8 */
    bool scratch; /* of a stage: nobody but other stages sees it */
    tile_value value; /* of the tensor's type and dimensions; 0 until it is assigned */
};
struct tile_scalar {
    const char *name;
    double value; /* its default, until the caller gives another */
    bool given;   /* has a default, or was given */
    uint16_t line, column;
};

/* loop DIM [while CONDITION] carry ... end: the body computes on a part of dimension DIM
 * at a time, from its beginning on; how large a part is the planner's choice, so a program
 * whose result depends on that has none. Parts for which the condition holds nowhere may
 * be left out. All carried values change at the end of a step, together. */
struct tile_loop {
    uint8_t dim;
    tile_value condition; /* a mask, or 0 */
    uint8_t first, count; /* of carry[] */
    uint16_t line;
};
struct tile_carry {
    const char *name;
    uint8_t loop;
    tile_value first, next, value, last; /* value: in the body, last: behind the loop */
};

/* Windows of x, a parameter (image, map, map, channels), each times the filters of w, another
 * one (out, filter, filter, inner); the value is (image, place, place, out). Of two, the first
 * is that of rows. Where a window reaches beyond x there are zeros. */
enum { TILE_ROWS_OF, TILE_COLUMNS_OF, TILE_SIDES };
struct tile_conv {
    uint8_t image, map[TILE_SIDES], channels; /* dimensions of x */
    uint8_t out, filter[TILE_SIDES], inner;   /* of w; inner: channels, if groups is 1 */
    uint8_t place[TILE_SIDES];                /* map, if it has as many */
    uint8_t stride[TILE_SIDES], dilation[TILE_SIDES];
    uint8_t before[TILE_SIDES], behind[TILE_SIDES]; /* zeros on both ends */
    uint16_t groups;                                /* of channels, of out */
    uint16_t line, column;
};

/* A name that the program has given to a value; for messages, debuggers and reports. */
struct tile_name {
    const char *text;
    tile_value value;
    uint16_t line;
    uint8_t loop; /* that it is seen in, or 0 */
};

/* What the schedule says, in its order. What it does not say is chosen. */
enum tile_choice_kind {
    TILE_CHOICE_TILE,     /* dim, number: its size in a tile */
    TILE_CHOICE_LANES,    /* dim: lies along the lanes of a command */
    TILE_CHOICE_BUFFERS,  /* number: tiles of an operand at one time */
    TILE_CHOICE_CORES,    /* number */
    TILE_CHOICE_KEEP,     /* value, place */
    TILE_CHOICE_STRATEGY, /* word */
    TILE_CHOICE_LAYOUT,   /* word: one more decision of a plan, as --explain prints it */
    TILE_CHOICE_EXACT,    /* no rewrites that change a bit */
    TILE_CHOICE_ARITH,    /* type of arithmetic on f16 operands: F16 */
};
enum tile_place { TILE_IN_UB, TILE_IN_L1, TILE_IN_GM };
struct tile_choice {
    uint8_t kind, dim, place;
    tile_value value;
    uint32_t number;
    const char *word;
    uint16_t line, column; /* what refuses a choice says this */
};

struct tile_error {
    uint16_t line, column;      /* 0: of the kernel as a whole */
    char text[TILE_TEXT_BYTES]; /* "" if there is none */
};

/* Fills *error in, at a node's place unless it is NULL; returns err. */
__attribute__((format(printf, 4, 5))) int tile_error_set(struct tile_error *error,
                                                         const struct tile_node *at,
                                                         int err, const char *format,
                                                         ...);

struct tile_kernel {
    const char *name;
    const char *file; /* what lines are counted in, for messages; or NULL */
    unsigned n_dims, n_params, n_results, n_scalars, n_names, n_loops, n_carried,
        n_choices, n_convs;
    unsigned n_nodes; /* node[1 .. n_nodes] */
    struct tile_dim dim[TILE_DIMS];
    struct tile_tensor param[TILE_PARAMS];
    struct tile_result result[TILE_RESULTS];
    struct tile_scalar scalar[TILE_SCALARS];
    struct tile_loop loop[TILE_LOOPS + 1]; /* from 1 */
    struct tile_carry carry[TILE_LOOPS * TILE_CARRIED];
    struct tile_conv conv[TILE_CONVS];
    struct tile_choice choice[TILE_CHOICES];
    struct tile_name *names;
    struct tile_node *node;
    bool is_stage; /* of a program that is cut (cut.h) */
    /* Of what is computed of a product: the parameter, + 1, that comes out of L0C, and the
     * dimensions that are rows and columns of its tiles. 0: no parameter does. Of what an
     * operand is computed by, rows and columns alone. */
    uint8_t product;
    tile_dims rows, columns;
    enum type arith; /* of operands that are f16: F32 or, if the schedule says so, F16 */
    bool exact;
    bool by_gm; /* sums of products come to the Vector through GM, not from L0C */

    /* While it is built. */
    struct tile_arena *arena;
    uint16_t line, column; /* that the next nodes get */
    uint8_t in_loop;
    struct tile_error error; /* the first; from then on builders do nothing */
};

/* --- building --- */

/*
 * A kernel without anything; NULL: the arena is full. Builders return 0 (a value's number
 * otherwise) and note what was wrong in k->error, once; so a program is written without a
 * look at what each returns, and tile_end() tells. Values that would be the same node are
 * one.
 *
 *     struct tile_kernel *k = tile_begin(&arena, "softmax");
 *     tile_value x = tile_input(k, "x", TYPE_F32, "m n");
 *     uint8_t n = tile_dim(k, "n");
 *
 *     tile_result(k, "y", TYPE_F32, "m n", false);
 *     x = tile_map2(k, TILE_SUB, x, tile_reduce(k, TILE_MOST, x, n));
 *     x = tile_map1(k, TILE_EXP, x);
 *     tile_assign(k, "y", tile_map2(k, TILE_DIV, x, tile_reduce(k, TILE_SUM, x, n)));
 *     err = tile_end(k);
 */
struct tile_kernel *tile_begin(struct tile_arena *arena, const char *name);
/* Checks the whole: every result assigned, every dimension one of a parameter's. 0, or
 * ERR_ARG, ERR_TYPE, ERR_SHAPE, ERR_NOMEM with *k->error filled in. */
MUST_CHECK int tile_end(struct tile_kernel *k);
/* Lines that the next nodes are of, here in C. */
#define tile_here(k) ((k)->file = __FILE__, (k)->line = __LINE__)

/* The dimension of that name, new or not; digits are a size. TILE_NO_DIM on error. */
uint8_t tile_dim(struct tile_kernel *k, const char *name);
/* The same if it is there, or TILE_NO_DIM. */
uint8_t tile_find_dim(const struct tile_kernel *k, const char *name);
/* A parameter, its dimensions by name with blanks between; a scalar; a result. */
tile_value tile_input(struct tile_kernel *k, const char *name, enum type type,
                      const char *dims);
tile_value tile_scalar(struct tile_kernel *k, const char *name, double value, bool given);
void tile_result(struct tile_kernel *k, const char *name, enum type type,
                 const char *dims, bool adds);

tile_value tile_number(struct tile_kernel *k, double number);
tile_value tile_index(struct tile_kernel *k, uint8_t dim);
/* Operations of MAP, SHIFT, COMPARE and SELECT. Operands are brought to one type: F16,
 * BF16, S8 and U8 become F32 (F16 stays where arith is F16), a NUMBER or a SCALAR becomes
 * what the other is; S32, S16 and masks fit none but themselves. */
tile_value tile_map1(struct tile_kernel *k, enum tile_op op, tile_value x);
tile_value tile_map2(struct tile_kernel *k, enum tile_op op, tile_value x, tile_value y);
tile_value tile_map3(struct tile_kernel *k, enum tile_op op, tile_value x, tile_value y,
                     tile_value z);
tile_value tile_reduce(struct tile_kernel *k, enum tile_op op, tile_value x, uint8_t dim);
/* The same over each dimension of a set, which operations and functions allow that come
 * to the same in any order, and VAR. */
tile_value tile_reduce_all(struct tile_kernel *k, enum tile_op op, tile_value x,
                           tile_dims dims);
tile_value tile_cast(struct tile_kernel *k, tile_value x, enum type type);
/* index is S32 and a parameter; elements of x outside of dim are refused before a run. */
tile_value tile_gather(struct tile_kernel *k, tile_value x, tile_value index,
                       uint8_t dim);
tile_value tile_dot(struct tile_kernel *k, tile_value x, tile_value y, uint8_t dim);
/* c has all but dimensions of x and w; place: TILE_NO_DIM, or what the value calls its own. */
tile_value tile_conv(struct tile_kernel *k, tile_value x, tile_value w,
                     const struct tile_conv *c);
/* round(x / scale) + zero as S8 or U8; and (x - zero) * scale. */
tile_value tile_quantise(struct tile_kernel *k, tile_value x, tile_value scale,
                         tile_value zero, enum type type);
tile_value tile_dequantise(struct tile_kernel *k, tile_value x, tile_value scale,
                           tile_value zero);

/* Functions that are made of operations: their arguments are values, the last one a
 * dimension where `over` says so. */
struct tile_function {
    const char *name, *want; /* in programs: clip, and how it is called */
    uint8_t args;
    bool over;
    tile_value (*make)(struct tile_kernel *k, const tile_value *v, uint8_t dim);
};
extern const struct tile_function tile_functions[];
extern const unsigned tile_function_count;
/* The one of that name; NULL: there is none. */
const struct tile_function *tile_find_function(const char *name);

/* A loop: begin, carry each value from its first (a number in some dimensions), compute,
 * hand on each, end. tile_carry() gives the value in the body, tile_loop_end() changes
 * k->carry[].last to the values behind. */
void tile_loop_begin(struct tile_kernel *k, uint8_t dim);
void tile_loop_while(struct tile_kernel *k, tile_value condition);
tile_value tile_carry(struct tile_kernel *k, const char *name, double first,
                      tile_dims dims);
void tile_carry_next(struct tile_kernel *k, tile_value carry, tile_value next);
void tile_loop_end(struct tile_kernel *k);

/* Names a value; a result's name makes it that result, which a wider type may be. A name
 * is assigned once. */
void tile_assign(struct tile_kernel *k, const char *name, tile_value value);
/* The value of that name, or 0. */
tile_value tile_named(const struct tile_kernel *k, const char *name);
/* One more line of the schedule. */
void tile_choose(struct tile_kernel *k, const struct tile_choice *choice);

/* Notes an error at k->line and k->column, unless there is one. Returns 0. */
tile_value tile_fail(struct tile_kernel *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `softmax.tile:2:9: text` with the file, the line and the column that there are. */
void tile_error_print(char *to, size_t size, const char *file,
                      const struct tile_error *error);

/* --- sizes --- */

/* The size of a dimension, 1 to INT32_MAX, and of those of CONVs that follow from it then.
 * ERR_SHAPE: it has another, or a CONV cannot be. */
MUST_CHECK int tile_set_size(struct tile_kernel *k, uint8_t dim, uint64_t size);
/* Those of a tensor of k, in order, from an array's shape, whose sizes of 1 count for nothing.
 * ERR_SHAPE: another number of dimensions, or one has another size. */
MUST_CHECK int tile_set_shape(struct tile_kernel *k, const struct tile_tensor *t,
                              const uint32_t *size, unsigned rank);

/* --- reading --- */

/* `exp`, `+`; `f16` or `mask`, in text, which is returned; `[m, n]`. */
const char *tile_op_text(unsigned op);
char *tile_type_text(unsigned type, char text[8]);
void tile_dims_text(const struct tile_kernel *k, tile_dims dims, char *to, size_t size);
/* Name of the value, of the nearest one that uses it, or of its operation. */
const char *tile_name_of(const struct tile_kernel *k, tile_value value);
/* The choice of a kind (of a dimension, unless it is TILE_NO_DIM), or NULL. */
const struct tile_choice *tile_chosen(const struct tile_kernel *k,
                                      enum tile_choice_kind kind, uint8_t dim);
/* Elements in a set of dimensions; sizes must be known. */
uint64_t tile_count(const struct tile_kernel *k, tile_dims dims);
tile_dims tile_tensor_dims(const struct tile_tensor *t);
/* Parameters and behind them results. */
const struct tile_tensor *tile_tensor_at(const struct tile_kernel *k, unsigned i);
/* The dimensions with more than one element in an order that every tensor of a set (bit i:
 * that of tile_tensor_at()) has; how many, or -1: there is none. */
int tile_dims_order(const struct tile_kernel *k, uint32_t tensors, uint8_t *order);
/* Elements between two neighbours of a dimension in a tensor; 0: it does not have it. */
uint64_t tile_dim_stride(const struct tile_kernel *k, const struct tile_tensor *t,
                         unsigned d);

/*
 * The same kernel in operations that the Vector has, in memory of the arena; sizes must be
 * known. NULL: the arena is full; else look at its error: a scalar without a value, more
 * nodes than there may be. Behind it
 *  - there are no nodes that nobody needs but NUMBERs;
 *  - each MAP, SHIFT, COMPARE and SELECT is an operation that the Vector has on this type;
 *  - each CAST is a pair that VCONV has (F32 to S8 goes over S16);
 *  - SCALAR is gone: a NUMBER; numbers are rounded to their type, and what is computed of
 *    numbers alone is one: no operation has nothing but NUMBERs for operands, a result may
 *    be one;
 *  - SUB of a NUMBER is ADD, REC stands for 1 / x; a NUMBER is the last operand where the
 *    operation allows it; MEAN is SUM and a factor (if k->exact a quotient, unless the
 *    factor is a power of two), COUNT and ANY are SUM and MOST of where(mask, 1, 0);
 *    VAR, ARGMAX, GATHER, DOT, CONV and loops stay;
 *  - FLOOR, CEIL, ROUND and TRUNC are of F32.
 * Names, lines and columns are those of what a node was made from.
 */
struct tile_kernel *tile_lower(const struct tile_kernel *k, struct tile_arena *arena);

#endif
