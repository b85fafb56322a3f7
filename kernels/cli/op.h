/* SPDX-License-Identifier: MIT
 *
 * Operators: an operator is a description. OPERATOR() in any file that is linked in is
 * all it takes; linker/npu.ld collects and sorts them by name. From the description come
 * the command line, made-up data, checks of files, comparison with the reference,
 * reports, help and tests. COMMAND() gives a name to a program that is none, such as
 * `help`.
 *
 *     OPERATOR(vadd, .summary = "z = x + y on the Vector",
 *              .io = "x[...] y[...] -> z[...]",
 *              .types = "f32 f32 -> f32; f16 f16 -> f16", .run = run, .ref = ref,
 *              .numpy = "x + y", .cases = CASES("--n 1", "--n 300 --type f16"));
 */
#ifndef KERNELS_CLI_OP_H
#define KERNELS_CLI_OP_H

#include <stddef.h>
#include "hal/host.h"
#include "kernels/cli/data.h"
#include "kernels/cli/option.h"
#include "sched/sched.h"

enum {
    OP_IN = 8,  /* operands */
    OP_OUT = 4, /* results */
    OP_OPERANDS = OP_IN + OP_OUT,
    OP_WORK = 2, /* workspaces */
    OP_ARGS_BYTES = 128,
};

struct tensor {
    enum type type;
    bool boolean; /* of U8: 0 or 1, NumPy's bool */
    unsigned ndim;
    uint64_t shape[NPY_MAX_DIMS], count;
    void *data;       /* NULL: an operand that may be left out, and was */
    const char *path; /* NULL: made-up data */
};

/* Element i as a number. */
static inline double tensor_number(const struct tensor *t, uint64_t i)
{
    return data_value(data_bits(t->data, t->type, i), t->type);
}

/* What one call computes on. */
struct op_call {
    const struct opdesc *op;
    struct tensor in[OP_IN], out[OP_OUT];
    void *work[OP_WORK];                  /* allocated by op->prepare, freed behind it */
    unsigned cores;                       /* 0: all of the chip */
    bool cold;                            /* L2 is emptied before each launch */
    _Alignas(8) char args[OP_ARGS_BYTES]; /* what op->options are stored into */
};

/* What the reference says of elements of a result: bits, zero-extended, if they must be
 * equal; values, and with OP_BOUND the largest error of each, otherwise. */
struct op_want {
    uint64_t *bits;
    double *value, *bound;
    bool no_memory; /* the reference had none, and has left them as they were */
};

/* How a result is compared: a number of ulps of its type, or one of these. */
enum { OP_EXACT = 0, OP_BOUND = -1 };

/* Fills a kernel's parameter struct and calls it. Returns 0 or an error as sched_run(). */
typedef int op_run_fn(const struct op_call *call, struct sched_report *report);

/* What a launch would run, as a step of one that others share: its blocks, all that there are on
 * call->cores cores, call `kernel`; then one calls `free`. */
struct op_step {
    void (*kernel)(void *arg);
    void *arg;
    void (*free)(void *arg);
};

struct work; /* kernels/cli/limit.h */

/* A launch. The first of an operator's is all of it, like its run; those behind it, in
 * order, compute the same into results of their own. */
struct op_piece {
    const char *name;
    op_run_fn *run;
    void (*work)(const struct op_call *call, struct work *work);
    bool reads_operands; /* else all that it reads is what another launch has left */
    /* Bytes that FIX writes to GM, and those of them that it reads again; NULL: none. */
    uint64_t (*fix_out)(const struct op_call *call);
    uint64_t (*fix_back)(const struct op_call *call);
};

struct opdesc {
    const char *name, *summary;
    /* Operands and results: `a[m,k] b[k,n] -> c[m,n]`. Equal names are equal sizes. `...`
     * is any number of dimensions, alike in all operands, or, with broadcast, as NumPy
     * broadcasts them. `bias?[n]` may be left out;
     * such operands are the last. A result's name that no operand has, `y[k]`, is a size
     * that `shape` tells; an operand `x[*]` has any dimensions, `shape` says whether they go
     * with others, and made-up ones are told by --shapes. */
    const char *io;
    bool broadcast;
    /* Where the rule cannot say a result's shape, because it depends on options or is
     * computed: makes out->ndim (up to NPY_MAX_DIMS) and out->shape of result `number`
     * right. They hold what the rule says, 0 for what no operand has; operands have their
     * shapes and options their values. 0, or ERR_SHAPE after one line on stderr that says
     * why there is none. NULL: the rule says all. */
    int (*shape)(const struct op_call *call, unsigned number, struct tensor *out);
    /* Rows of what is allowed, the default first: `f16 f16 -> f32; s8 s8 -> s32`. */
    const char *types;
    enum type cube; /* that not every chip's Cube has, and this wants; or TYPE_NONE */
    const struct option *options; /* its own: OPTIONS(...) */
    op_run_fn *run;
    /* What run() would launch; the same errors. NULL: it launches by itself. */
    int (*step)(const struct op_call *call, struct op_step *to);
    /* Before the first run: workspaces. 0, or an error that has been told. NULL: none. */
    int (*prepare)(struct op_call *call);
    /* Elements first .. first + n - 1 of a result by definition; n is `row` or 1. */
    void (*ref)(const struct op_call *call, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want);
    int tolerance;   /* ulps, OP_EXACT or OP_BOUND */
    bool in_place;   /* the result may be in the place of any operand */
    bool whole_rows; /* ref is asked for whole rows of the last dimension */
    uint32_t check;  /* elements, or rows, that are compared where all take long */
    double cost;     /* of an element by ref, in multiply-adds; 0: see work */
    void (*work)(const struct op_call *call, struct work *work); /* for the limit */
    const struct op_piece *pieces; /* ends with a name of NULL; or NULL */
    /* Operands from texts, instead of from files or made up: with --text, or if nothing
     * is asked for; `only`: whatever words are given are texts. */
    int (*text)(struct op_call *call, const char *const *paths, unsigned n);
    bool text_only;
    void (*show)(const struct op_call *call); /* prints what the result means; or NULL */
    /* For tests/qemu/golden.py: an expression for the result, or statements that assign
     * to each result by its name and, with OP_BOUND, to `bound`; of tile programs so many
     * `ulps` are added to that. */
    const char *numpy;
    unsigned ulps;
    /* Command lines for tests, CASES(...), smallest first; the last two, or the one that
     * there is, also run under many timings (tests/qemu/device/perturb_test.sh). */
    const char *const *cases;

    /* Of an operator that is a text: makes all of the above of it, name and text apart.
     * What it returns is good until it is called again. */
    const struct opdesc *(*open)(const struct opdesc *entry);
    const char *program;

    /* Of a COMMAND instead of all that: argv[0] is the name, argv[argc] NULL. Returns an
     * enum run_status. */
    int (*command)(int argc, char **argv);
    const char *usage;
};

extern const struct opdesc __operators_start[], __operators_end[]; /* npu.ld */

/* aligned: the table is walked as an array, so no compiler may pad its entries. */
#define OP_ENTRY(id)                                                                     \
    static const struct opdesc op_##id                                                   \
        __attribute__((used, section(".operators." #id), aligned(8)))
#define OPERATOR(id, ...) OP_ENTRY(id) = {.name = #id, __VA_ARGS__}
#define COMMAND(id, usage_text, summary_text, fn)                                        \
    OP_ENTRY(id) = {                                                                     \
        .name = #id, .summary = (summary_text), .command = (fn), .usage = (usage_text)}

#define CASES(...)   ((const char *const[]){__VA_ARGS__, NULL})
#define PIECES(...)  ((const struct op_piece[]){__VA_ARGS__, {0}})
#define OPTIONS(...) ((const struct option[]){__VA_ARGS__, {0}})

/* The operator or command of that name, or NULL. */
const struct opdesc *op_find(const char *name);
/* Its description, which is the operator itself unless it is a text: see `open`. */
const struct opdesc *op_open(const struct opdesc *op);
/* Runs what a command line names, see kernels/cli/command.c: an enum run_status. */
int op_command_line(int argc, char **argv);
/* Runs an operator with its arguments, argv[0] apart: an enum run_status. */
int op_run(const struct opdesc *op, int argc, char **argv);
/* One launch of a call, with L2 as the call wants it. */
int op_launch(const struct op_call *call, op_run_fn *run, struct sched_report *report);

#endif
