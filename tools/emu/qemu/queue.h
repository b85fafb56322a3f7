/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Jobs that another thread does, one after the other, in the order in which they are given.
 * One thread gives them and waits for them. Nothing of QEMU's: the host tests have it too.
 */
#ifndef TOOLS_EMU_QEMU_QUEUE_H
#define TOOLS_EMU_QEMU_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct queue;

/* The i-th job behind the one that is done, from 1 on; NULL: not given yet. */
typedef void *queue_ahead(void *q, unsigned i);
/* A thread that calls work() for each job of `bytes` bytes; NULL: the host has none. It ends
 * with the process. */
typedef void queue_work(void *job, queue_ahead *ahead, void *q);
struct queue *queue_open(size_t bytes, queue_work *work);
/* Room for a job; waits while there is none. */
void *queue_room(struct queue *q);
/* Gives the job that has been put there; its ticket, 1 the first time and 1 more each. */
uint64_t queue_give(struct queue *q);
/* Until the job of that ticket is done, and so all before it; what it has written is
 * seen. */
void queue_wait(struct queue *q, uint64_t ticket);

#endif
