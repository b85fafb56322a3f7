/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan: what the machine is to compute, in order. A step is an operator of the
 * firmware with its options, as on a command line, or a tile program in its text form.
 */
#ifndef GRAPH_EMIT_H
#define GRAPH_EMIT_H

#include "kernels/graph/plan.h"
#include "tools/graph/graph.h"

struct step {
    const char *op;    /* operator; NULL: `text` is a program */
    const char *text;  /* a program, or options as `--axis 1` */
    const char *nodes; /* whose work it is */
    struct tensor *in[PLAN_IN], *out[PLAN_OUT];
    unsigned n_in, n_out;
    struct step *next;
};

struct emit {
    struct graph *g;
    struct step *steps, **last;
};

/* Steps of all nodes that are not done. */
struct emit *emit_graph(struct graph *g);
/* One more step, without operands. */
struct step *emit_step(struct emit *e, const struct node *n, const char *op,
                       const char *text);
void step_in(struct emit *e, struct step *s, struct tensor *t);
void step_out(struct emit *e, struct step *s, struct tensor *t);

/* --- programs --- */

/* A tile program that grows: `kernel NODE(x0: f32[a, b], ..) -> y0: ..` and lines. */
struct program {
    struct emit *e;
    const struct node *n;
    struct step *step;
    const char *params, *results, *body;
    unsigned lines;
    bool exact; /* bits count: no rewrites */
};
struct program program_begin(struct emit *e, const struct node *n);
/* An operand whose dimensions have these names, in order (those of one element are left
 * out); its name: a mask where its type is BOOL. */
const char *program_in(struct program *p, struct tensor *t, const char *const *dims);
/* A result, and the expression that it is: converted to its type, masks too. */
void program_out(struct program *p, struct tensor *t, const char *const *dims,
                 const char *expr, bool is_mask);
/* An operand that holds 0, 1, ... along a dimension that no other one has; its name. */
const char *program_index(struct program *p, int64_t size, const char *dim);
/* An expression of t's dimensions repeated along those that `to` has besides. */
const char *program_spread(struct program *p, const char *expr, const struct tensor *t,
                           const char *const *dims, const struct tensor *to,
                           const char *const *to_dims);
/* `name = expr` in front; the name. */
const char *program_line(struct program *p, const char *expr);
/* All of it. */
void program_end(struct program *p);
/* d0, d1, ...: names for the dimensions of a shape, or for the last ones of a broadcast. */
extern const char *const program_dims[GRAPH_RANK];
/* Those of an operand that is broadcast to so many dimensions. */
static inline const char *const *program_dims_of(const struct tensor *t, unsigned rank)
{
    return program_dims + (rank - t->shape.n);
}
/* The machine's type: `f32`. Dies where it has none. */
const char *program_type(const struct emit *e, const struct node *n,
                         const struct tensor *t);

/* Text with each $0 .. $9 from `value`, $a .. $f from `attr`. */
const char *text_with(const char *text, const char *const *value,
                      const char *const *attr);

#endif
