/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Jobs that other threads do, in rows: those of a row one after the other, in the order in
 * which they are given, rows side by side. One thread gives them; while it waits for a job it
 * works as the others do. A job may be shared out in parts to threads that have no row.
 * Nothing of QEMU's: the host tests have it too.
 */
#ifndef TOOLS_EMU_QEMU_DEVICE_POOL_H
#define TOOLS_EMU_QEMU_DEVICE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tools/emu/model/npu.h"

struct pool;

/* `threads` threads that call npu_job_do() for each job; they end with the process. NULL:
 * the host has none. sleepy: it has fewer processors, and who waits must not keep one. */
struct pool *pool_open(unsigned rows, unsigned threads, bool sleepy);
/* Room for a job; waits while there is none. */
void *pool_room(struct pool *p, unsigned row);
/* Gives the job that has been put there; its ticket, 1 the row's first time and 1 more each. */
uint64_t pool_give(struct pool *p, unsigned row);
/* Until the job of that ticket is done, and so all of its row before it, at most all that
 * have been given; what they have written is seen. */
void pool_wait(struct pool *p, unsigned row, uint64_t ticket);
/* How many there are. */
unsigned pool_threads(const struct pool *p);
/* So far: jobs given; parts done by others than the thread whose job it was. */
uint64_t pool_jobs(const struct pool *p);
uint64_t pool_helped(const struct pool *p);

#endif
