/* SPDX-License-Identifier: MIT
 *
 * Remedies, each tried on the order of the run. Those that save nothing add nothing.
 */
#ifndef TOOLS_PROFILE_REMEDY_H
#define TOOLS_PROFILE_REMEDY_H

#include "tools/profile/advice.h"

/* What the trials share. */
struct trial {
    struct advice *a;
    const struct trace *t;
    const struct sums *s;
    struct order *o;
    uint64_t all;                 /* cycles of the run */
    uint64_t *cycles;             /* by command: for a change */
    bool *drop;                   /* by edge */
    uint32_t *more;               /* by text */
    const struct cmd_info **info; /* by text: the command of that name, or NULL */
};

/* Cycles that a change saves. */
uint64_t trial_saves(struct trial *x, const struct change *change);
/* One more remedy, unless it saves less than a hundredth of the run. `why` and `help` stay
 * to be written. */
struct remedy *trial_add(struct trial *x, const char *kind, uint64_t cycles);
/* cycles[] and so on as they are in the run. */
void trial_reset(struct trial *x);
/* A cost of the chip of the run. */
uint32_t trial_cost(const struct trial *x, enum npu_cost cost);
/* Cycles of a command that do not depend on how much it does. */
uint64_t trial_fixed(const struct trial *x, const struct command *c);

/* remedy.c: buffers and semaphores */
void try_buffers(struct trial *x);
void try_waits(struct trial *x);
void try_atomics(struct trial *x);
/* Marks all semaphores that count free buffers, each with `times` times its units more. */
void trial_rings(struct trial *x, uint32_t times);
/* costs.c: what commands take */
void try_rows(struct trial *x);
void try_banks(struct trial *x);
void try_shared(struct trial *x);
void try_reuse(struct trial *x);
void try_tiles(struct trial *x);
/* hart.c: the hart, launches and cores */
void try_hart(struct trial *x);
void try_launches(struct trial *x);
void try_shares(struct trial *x);

#endif
