/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See queue.h. A ring with two counters, each written by one thread. Who has to wait looks
 * for a while, since the other is often almost there, and then sleeps.
 *
 * Invariant: a thread that sleeps has said so before it looked for the last time, and the
 * other one looks for that after it has counted; so nobody sleeps through a wake-up.
 */
#include "tools/emu/qemu/queue.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define SLOTS 256
#define LOOKS 4000 /* some 20 us */

struct queue {
    _Alignas(64) _Atomic uint64_t given;
    _Alignas(64) _Atomic uint64_t done;
    _Alignas(64) atomic_bool asleep; /* the thread */
    _Atomic uint64_t wanted;         /* that the giver sleeps for, 0: it does not */
    pthread_mutex_t lock;
    pthread_cond_t more, less;
    size_t bytes;
    queue_work *work;
    uint8_t *jobs;
};

static void pause_host(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static uint8_t *slot(struct queue *q, uint64_t ticket)
{
    return q->jobs + (ticket - 1) % SLOTS * q->bytes;
}

static void sleep_for_more(struct queue *q, uint64_t last)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        if (atomic_load(&q->given) != last) {
            return;
        }
        pause_host();
    }
    pthread_mutex_lock(&q->lock);
    atomic_store(&q->asleep, true);
    while (atomic_load(&q->given) == last) {
        pthread_cond_wait(&q->more, &q->lock);
    }
    atomic_store(&q->asleep, false);
    pthread_mutex_unlock(&q->lock);
}

static void *ahead(void *opaque, unsigned i)
{
    struct queue *q = opaque;
    uint64_t ticket = atomic_load(&q->done) + 1 + i;

    return ticket <= atomic_load(&q->given) ? slot(q, ticket) : NULL;
}

static void *work(void *opaque)
{
    struct queue *q = opaque;

    for (uint64_t next = 1;; next++) {
        uint64_t wanted;

        sleep_for_more(q, next - 1);
        q->work(slot(q, next), ahead, q);
        atomic_store(&q->done, next);
        wanted = atomic_load(&q->wanted);
        if (wanted && wanted <= next) {
            pthread_mutex_lock(&q->lock);
            pthread_cond_signal(&q->less);
            pthread_mutex_unlock(&q->lock);
        }
    }
    return NULL;
}

struct queue *queue_open(size_t bytes, queue_work *of)
{
    struct queue *q = aligned_alloc(64, (sizeof(*q) + 63) / 64 * 64);
    sigset_t all, before;
    pthread_t thread;
    int failed;

    if (!q) {
        return NULL;
    }
    *q = (struct queue){.bytes = (bytes + 63) / 64 * 64, .work = of};
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->more, NULL);
    pthread_cond_init(&q->less, NULL);
    q->jobs = aligned_alloc(64, q->bytes * SLOTS);
    sigfillset(&all); /* signals are the others' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failed = !q->jobs || pthread_create(&thread, NULL, work, q);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed) {
        free(q->jobs);
        free(q);
        return NULL;
    }
    return q;
}

void queue_wait(struct queue *q, uint64_t ticket)
{
    for (unsigned i = 0; i < LOOKS; i++) {
        if (atomic_load(&q->done) >= ticket) {
            return;
        }
        pause_host();
    }
    pthread_mutex_lock(&q->lock);
    atomic_store(&q->wanted, ticket);
    while (atomic_load(&q->done) < ticket) {
        pthread_cond_wait(&q->less, &q->lock);
    }
    atomic_store(&q->wanted, 0);
    pthread_mutex_unlock(&q->lock);
}

void *queue_room(struct queue *q)
{
    uint64_t next = atomic_load(&q->given) + 1;

    if (next > SLOTS) {
        queue_wait(q, next - SLOTS);
    }
    return slot(q, next);
}

uint64_t queue_give(struct queue *q)
{
    uint64_t ticket = atomic_load(&q->given) + 1;

    atomic_store(&q->given, ticket);
    if (atomic_load(&q->asleep)) {
        pthread_mutex_lock(&q->lock);
        pthread_cond_signal(&q->more);
        pthread_mutex_unlock(&q->lock);
    }
    return ticket;
}
