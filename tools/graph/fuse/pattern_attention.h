/* SPDX-License-Identifier: MIT
 *
 * Attention that has been found, private to pattern_attention*.c.
 */
#ifndef GRAPH_PATTERN_ATTENTION_H
#define GRAPH_PATTERN_ATTENTION_H

#include "tools/graph/fuse/axes.h"
#include "tools/graph/fuse/pattern.h"

enum { CHAIN = 12, MASKS = 2 };
struct operand {
    struct tensor *t;
    struct axes_list axes;
};

struct mask {
    struct operand x;
    enum { MASK_ADD, MASK_KEEP, MASK_HIDE, MASK_CAUSAL } how;
    double number; /* of scores that are not kept, that are hidden */
};

struct attention {
    struct axes axes;
    struct operand q, k, v;
    struct axes_list score, out;
    uint8_t t, d, e;
    int64_t keys, depth;
    double scale;
    struct mask mask[MASKS];
    unsigned n_masks;
    bool zeros;  /* for rows that see no key, which are NaN else: where weights are NaN */
    bool hidden; /* the same, and NaN where a score is: Softmax_hidden */
    struct tensor *result;
    struct node *chain[CHAIN]; /* from the first product to the softmax */
    uint8_t at[CHAIN];         /* the operand of each that the scores are */
    unsigned n_chain;
};

/* pattern_attention_programs.c */
bool pattern_attention_as_loop(struct program *p, const struct match *m);
bool pattern_attention_in_stages(struct program *p, const struct match *m);

#endif
