/* SPDX-License-Identifier: MIT
 *
 * RNN, GRU and LSTM, one direction over a sequence: what each step of it is, in programs.
 */
#ifndef GRAPH_RECURRENT_H
#define GRAPH_RECURRENT_H

#include "tools/graph/steps/steps.h"

enum { RECURRENT_GATES = 4, RECURRENT_FUNCTIONS = 3 };

/* A function of gates as an expression of $0, $a, $b. */
struct activation {
    const char *text;
    double alpha, beta;
};

/* A node: steps t of a batch b, k inputs and h units, whose sums are those of `gates`. */
struct recurrent {
    struct emit *e;
    struct node *n;
    int64_t t, b, k, h, gates, directions;
    bool batch_first; /* the layout of operands and results */
    bool apart;       /* of a GRU: the last gate's sum of units is reset, bias and all */
    bool couple;      /* of an LSTM: what is forgotten is what comes in */
    double clip;      /* of sums; 0: none */
    struct tensor *x, *lengths; /* (t, b, k); (b) or NULL: all are t */
    struct tensor *all;         /* (t, direction, b, h) */
};

/* One of its directions. */
struct recurrent_pass {
    const struct recurrent *r;
    int64_t number;
    bool back; /* from the last step to the first */
    struct activation act[RECURRENT_FUNCTIONS];
    struct tensor *sums; /* of x, with biases: (t, gates, b, h) */
    struct tensor *h, *c;
};

/* The pass over all steps, from p->h and p->c on to those of the last. */
void recurrent_run(struct recurrent_pass *p);

#endif
