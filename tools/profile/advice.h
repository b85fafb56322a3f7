/* SPDX-License-Identifier: MIT
 *
 * What limits a run, and what would help: each remedy is tried on the run's own order
 * (order.h), so what it would save is counted, not guessed.
 */
#ifndef TOOLS_PROFILE_ADVICE_H
#define TOOLS_PROFILE_ADVICE_H

#include "tools/profile/order.h"
#include "tools/profile/sums.h"

enum { ADVICE_TEXT = 320, REMEDIES = 16 };

struct remedy {
    const char *kind;       /* one word or two: "single buffer" */
    char why[ADVICE_TEXT];  /* what is wrong, with names and lines */
    char help[ADVICE_TEXT]; /* what to change */
    uint64_t cycles;        /* that it saves, at most */
};

struct advice {
    const char *bound; /* "MTE2 bound" and so on */
    const char *class; /* msopprof's word for it */
    char reason[ADVICE_TEXT];
    struct remedy remedy[REMEDIES]; /* the most cycles first */
    unsigned n;
};

void advice_make(struct advice *a, const struct trace *t, const struct sums *s,
                 struct order *o);

#endif
