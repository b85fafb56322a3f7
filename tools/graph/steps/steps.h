/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan: what the machine is to compute, in order. A step is an operator of the
 * firmware with its options, as on a command line, or a tile program in its text form that
 * computes a group of nodes.
 *
 * A rule writes the program of its node alone: operands and results with numbers for their
 * dimensions, expressions between. Whether it becomes a program of its own, or lines of one
 * that has computed an operand, is group.c's matter; then numbers that stand for the same
 * dimension are made one.
 */
#ifndef GRAPH_STEPS_H
#define GRAPH_STEPS_H

#include <stdio.h>

#include "kernels/graph/plan.h"
#include "kernels/move/move.h"
#include "tools/graph/model/graph.h"

enum { GROUP_AXES = 24, GROUP_VALUES = 64, GROUP_NODES = 48, NO_AXIS = 255 };

/* A tensor in a program: which of its axes each dimension is, NO_AXIS if it has one element. */
struct value {
    struct tensor *t;
    const char *name;
    uint8_t axis[GRAPH_RANK];
    bool is_mask;
};

/* How a program computes what is f16: in f32, its products too if it says so, or in f16. */
enum arith { ARITH_USUAL, ARITH_F16, ARITH_CUBE };

/* Nodes that are one program, or one that is an operator's step. */
struct group {
    const char *op, *text; /* of an operator; its options */
    struct move *moves;    /* of copies, for their price */
    unsigned n_moves;
    uint64_t cycles,
        least; /* of another operator: predicted, 0: not known; of its Cube */
    const struct conv *conv; /* of a convolution that the firmware cuts, or NULL */
    struct node *node[GROUP_NODES];
    struct value in[PLAN_IN], made[GROUP_VALUES];
    unsigned n_nodes, n_in, n_made, n_axes;
    int64_t size[GROUP_AXES];
    bool whole[GROUP_AXES]; /* no part of another: its index is used */
    const char *body;
    unsigned lines;
    bool exact; /* bits count: no rewrites */
    enum arith arith;
    bool shares;       /* an operator that takes its turn in a launch of others */
    bool alone;        /* nothing joins it */
    const char *wrong; /* why it cannot be; NULL: nothing */
    bool emitted;
    struct group *before; /* of the same node, which has to be computed first; or NULL */
    struct group *next;
};

struct step {
    const char *op;    /* operator; NULL: `text` is a program */
    const char *text;  /* a program, or options as `--axis 1` */
    const char *nodes; /* whose work it is */
    struct tensor *in[PLAN_IN], *out[PLAN_OUT];
    unsigned n_in, n_out;
    uint64_t cycles;   /* predicted; 0: not known */
    const char *limit; /* of a program: trial_limit() */
    uint64_t busy;     /* cycles that no other way to compute it saves, about */
    const char *plain; /* its text without a schedule, or cut */
    uint32_t key;      /* of that and its sizes: tune.h */
    const char *words; /* of a way that is tried */
    enum arith arith;
    bool tuned; /* has a schedule of measurements */
    const struct group *group;
    struct step *next;
};

/* What a step costs: predicted cycles, bytes of its operands and results. */
struct price {
    uint64_t cycles, bytes;
};

/* A node that might be part of a step. */
struct candidate {
    const char *node, *group; /* its name; those that it would join */
    const struct group *into;
    bool taken, known; /* known: the prices of the step without it, of a */
    struct price before, alone, after; /* step of its own, and of the step with it */
    const char *why;
    struct candidate *next;
};

/* When a node joins: if predicted cycles do not rise, and bytes neither; or if bytes fall by
 * so many percent. */
struct rule_of_joining {
    const char *name; /* "cycles", "bytes" */
    double threshold;
};

/* What steps so far have left: commands of the last products, one in each room (tools/graph/
 * cold.h), bytes that have passed L2. */
enum { TRIAL_BUFFERS = 2 };
struct trial_before {
    uint64_t recorded[TRIAL_BUFFERS], bytes;
    unsigned rooms; /* that there are */
};

struct emit {
    struct graph *g;
    struct group *groups, **last_group;
    struct step *steps, **last;
    struct group *join; /* that a node tries to become part of */
    /* ... and first learns what its axes are there: by what the group computes, then by what
     * both read. */
    enum { BINDS_NONE, BINDS_MADE, BINDS_READ } binds;
    bool shares; /* both read some tensor */
    uint8_t bound[GROUP_AXES];
    struct trial_before before;
    struct rule_of_joining rule;
    struct candidate *tried, **last_tried; /* what was tried */
    uint64_t arena,
        live; /* write.c: bytes that a run takes, and that are there at one time */
};

/* Bytes that a step reads and writes in GM. */
uint64_t step_bytes(const struct step *s);
/* A program with `layout ..` in its schedule. */
struct step step_with(const struct step *s, const char *schedule);

/* --- operators of the firmware: step.c --- */

struct group *operator_begin(struct emit *e, struct node *n, const char *op,
                             const char *options);
void operator_in(struct emit *e, struct group *s, struct tensor *t);
void operator_out(struct group *s, struct tensor *t);

/* --- steps that bring elements to other places: copy.c --- */

/* Strided copies into one tensor, kernels/move/move.h; of a copy its dimensions first. */
struct copy {
    struct emit *e;
    struct group *step;
    unsigned n;
    int64_t size[MOVE_DIMS], x[MOVE_DIMS], y[MOVE_DIMS];
};
void copy_begin(struct copy *c, struct emit *e, struct node *n, struct tensor *to);
void copy_dim(struct copy *c, int64_t size, int64_t x, int64_t y);
/* A copy of those dimensions, from element x on to element y on; or a value there. */
void copy_add(struct copy *c, struct tensor *from, int64_t x, int64_t y);
void copy_fill(struct copy *c, double value, int64_t y);
/* Whether the step that computes x can write it to its place in `to`, from element `at` on, and
 * then does: not if it has one already, or who runs the model wants it besides. */
bool copy_lies_in(const struct emit *e, struct tensor *x, struct tensor *to, int64_t at);

/* --- programs: program.c --- */

/* The program of a node: its numbers for axes, from 0. */
struct program {
    struct emit *e;
    struct node *n;
    struct group *group;
    uint8_t axis[GROUP_AXES]; /* what each is in the group */
};
struct program program_begin(struct emit *e, struct node *n);
/* An operand; dimension i is axis[i]. Its name in expressions, a mask where it is BOOL. */
const char *program_in(struct program *p, struct tensor *t, const uint8_t *axis);
/* A result, and the expression that it is, or condition: converted to its type. */
void program_out(struct program *p, struct tensor *t, const uint8_t *axis,
                 const char *expr, bool is_mask);
/* `name = expr` in front; the name. */
const char *program_line(struct program *p, const char *expr);
/* `how(expr, ...)` over some axes, bit by bit. */
const char *program_over(struct program *p, const char *how, uint32_t axes,
                         const char *expr);
/* Of a softmax whose rows may be -inf all through: a maximum that is the least number instead, so
 * that each exp is 0, and a sum to divide by that is not. */
const char *program_finite(const char *max);
const char *program_positive(const char *sum);
/* Where an element lies along an axis of some tensor. */
const char *program_index(struct program *p, uint8_t axis);
/* The same of an axis that no operand has: one that holds 0, 1, ... is made. */
const char *program_count(struct program *p, uint8_t axis, int64_t size);
/* An expression of t's dimensions repeated along those that `to` has besides. */
const char *program_spread(struct program *p, const char *expr, const struct tensor *t,
                           const uint8_t *axis, const struct tensor *to,
                           const uint8_t *to_axis);
/* An expression within the range of whole numbers. */
const char *program_range(enum elem type, const char *expr);
void program_exact(struct program *p);
/* 0, 1, 2, ... */
extern const uint8_t program_axes[GROUP_AXES];
/* Those of an operand that is broadcast to so many dimensions. */
static inline const uint8_t *program_axes_of(const struct tensor *t, unsigned rank)
{
    return program_axes + (rank - t->shape.n);
}
/* The machine's type: `f32`; NULL: it has none. */
const char *program_type(const struct tensor *t);
/* The step that a group is; *s without operands. Results are what others want of it. */
void program_step(const struct emit *e, const struct group *group, struct step *s);
/* --- groups: step.c, readers.c --- */

/* A group of its own that node n begins. */
void group_put(struct emit *e, const struct node *n, struct group *group);
/* The node that computes a tensor, views looked through; NULL: input or constant. */
struct node *group_maker(struct tensor *t);
/* Whether another node, or who runs the model, wants this tensor of a group. */
bool group_gives(const struct group *group, struct graph *g, const struct tensor *t);
/* That is looked for anew from here on: what nodes read, or views are of, has changed. */
void group_forget_readers(struct graph *g);

/* Text with each $0 .. $9 from `value`, $a .. $f from `attr`. */
const char *program_text_with(const char *text, const char *const *value,
                              const char *const *attr);

#endif
