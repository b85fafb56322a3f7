/* SPDX-License-Identifier: MIT
 *
 * What the firmware's planner would say of a program, asked on the host: the same code, with the
 * same numbers of the chip. So a program is known to be one that the machine can do, and what it
 * takes, before it is part of a plan.
 */
#ifndef GRAPH_TRIAL_H
#define GRAPH_TRIAL_H

#include "hal/contract/contract.h"
#include "kernels/move/move.h"
#include "tools/graph/price/cold.h"
#include "tools/graph/steps/steps.h"

/* The chip that plans are for. */
void trial_chip(enum npu_profile profile);
/* The program of a step, not lowered, with its sizes, until the next is asked for; NULL and *why:
 * there is none. */
const struct tile_kernel *trial_kernel(const struct step *s, const char **why);
/* Plans the program of a step. NULL, with *cycles predicted and *schedule words that lead to
 * the same plan without a search (NULL: none), or why it cannot be done. */
const char *trial_step(const struct step *s, uint64_t *cycles, const char **schedule);
/* The same behind other steps; then *b is what there is behind this one, too. trial_touch(): of a
 * step that is no program, what it reads and writes alone. */
uint64_t trial_behind(const struct step *s, struct trial_before *b);
void trial_touch(const struct step *s, struct trial_before *b);
/* The CRC-32 of its text and sizes. */
uint32_t trial_key(const struct step *s);
/* All words of its schedule on so many cores, of products too, whose shapes are put to shape[] in
 * that order, up to `most`; NULL: there are none. */
const char *trial_schedule_text(const struct step *s, unsigned cores,
                                struct cold_product *shape, unsigned most, unsigned *n);
/* The same of a program with a schedule, all that follows from it filled in; and what it takes on
 * so many cores when it runs once, with nothing in L2. NULL: it cannot be done. */
const char *trial_schedule(struct step s, unsigned cores, uint64_t *cycles);
/* What holds up a program that can be done: `V 45 %`; the cycles of its busiest pipe. */
const char *trial_limit(const struct step *s, uint64_t *busy);
/* What copies take besides on cores that stay: the hart makes them ready, all cores wait for the
 * last one; fitted to small ones of real models. And what the last step of a launch takes more,
 * whose cores end: counted instructions of the hart (from the end of a block to the launch's return
 * are 1790, to the next step 490). */
enum { TRIAL_STEP = 1100, TRIAL_LAUNCH_END = 1300 };
/* Whether a group is worth what it is: `after` is `before` with a node that `alone` computes by
 * itself. The planner has to be able to do it, and the rule to want it. */
void trial_weigh(const struct rule_of_joining *rule, const struct step *before,
                 const struct step *alone, const struct step *after, struct candidate *c);
/* The same of prices that are known: c->before, c->alone and c->after. */
void trial_decide(const struct rule_of_joining *rule, struct candidate *c);
/* What one of copies takes on one core: price.c. */
uint64_t trial_copies(const struct move *moves, unsigned n);
/* Forgets what it has been asked, whose memory goes away: for a process of several models. */
void trial_forget(void);

#endif
