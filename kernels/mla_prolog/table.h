/* SPDX-License-Identifier: MIT
 *
 * The table of `mla_prolog`: what each launch did and what the machine would have
 * allowed.
 */
#ifndef KERNELS_MLA_PROLOG_TABLE_H
#define KERNELS_MLA_PROLOG_TABLE_H

#include "kernels/mla_prolog/mla_prolog.h"

enum { TABLE_MAX = 4 };

/* Of one launch; with several cores cycles are those of the slowest, the rest the sum. */
struct table_launch {
    const char *name;
    uint64_t cycles, busy[NPU_PIPES]; /* busy: of the core that is busiest */
    uint64_t gm_in, gm_out;           /* bytes */
};

struct table {
    unsigned n;
    struct table_launch launch[TABLE_MAX];
};

/* Before a launch, and after it; x_bytes: of x that FIX has written to GM. */
void table_start(void);
void table_add(struct table *t, const char *name, uint64_t x_bytes);
/* The first launch is the fused one, the others are the separate ones, if any. */
void table_print(const struct table *t, const struct mla_prolog *p);

#endif
