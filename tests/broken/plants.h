/* SPDX-License-Identifier: MIT
 *
 * What the kernels of the operator `plants` have in common.
 */
#ifndef TESTS_BROKEN_PLANTS_H
#define TESTS_BROKEN_PLANTS_H

#include "hal/mte.h"
#include "hal/vector.h"
#include "sched/launch.h"
#include "sched/tque.h"

/* Semaphores of the core; of the chip. */
enum { FULL, FREE, DONE, OTHER, TO_B = SEM_CORE, TO_A };
/* Places in a memory, so far apart that no two of them meet by accident. */
enum { BYTES = 1024, FAR = 16 << 10, GM_BYTES = 8 * FAR };

extern char *gm; /* GM_BYTES of zeros */
extern bool right;

/* Issues a command; one that waits for a unit of `wait` and posts one to `post`, NONE: it does
 * not. Lines whose accesses a finding names end with a comment, `one` or `two`. */
enum { NONE = SEM_COUNT };
#define GO(pipe, cmd)            task_issue(pipe, cmd)
#define GO_SYNC(pipe, cmd, w, p) (plant_sync(cmd, w, p), task_issue(pipe, cmd))
void plant_sync(union cmd *cmd, unsigned wait, unsigned post);
/* The commands of the Vector that follow work on so many bytes of 32-bit elements. */
void work_on(uint32_t bytes);
/* All of UB that the kernels use is written, and all has ended. */
void fill_ub(void);

#define PLANT(name, cores, want) void name(void *arg);
#include "tests/broken/plants.def"
#undef PLANT

#endif
