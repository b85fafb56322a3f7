/* SPDX-License-Identifier: MIT
 *
 * What the kernels of the operator `unwritten` have in common.
 */
#ifndef TESTS_BROKEN_INIT_H
#define TESTS_BROKEN_INIT_H

#include "hal/mte.h"
#include "hal/vector.h"
#include "sched/task.h"
#include "sched/tque.h"

enum { BYTES = 1024, ELEMENTS = BYTES / 4, GM_BYTES = 16 * BYTES };

extern char *x, *z; /* zeros; undefined when a kernel begins */
extern bool sound;

/* Issues a command and waits until it has ended: nothing here is about order. */
#define GO(pipe, cmd) (task_issue(pipe, cmd), task_drain())

uint32_t buffer(struct tpipe *pipe, const char *name, enum tposition position);
/* The commands of the Vector that follow work on n elements. */
void count(uint32_t n);
/* The first bytes of x to UB. */
void load(uint32_t ub, uint32_t bytes);

void tail_not_loaded(void *arg);
void wrong_length(void *arg);
void mask_too_wide(void *arg);
void maximum_of_padding(void *arg);
void sort_tail(void *arg);
void scalar_not_there(void *arg);
void offsets_not_there(void *arg);
void pattern_not_there(void *arg);
void bits_of_a_tail(void *arg);
void bits_of_both(void *arg);
void mask_of_a_tail(void *arg);
void half_twice(void *arg);
void k_beyond_what_is_loaded(void *arg);
void sum_without_a_start(void *arg);
void bias_not_there(void *arg);
void scale_not_there(void *arg);
void more_rows_than_there_are(void *arg);

#endif
