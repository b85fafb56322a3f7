/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See pool.h. A row is a ring with two counters, each written by one thread at a time: who
 * gives, and who has taken the row. Who has nothing to do looks for a while, since there is
 * often something at once, and then sleeps.
 *
 * Invariants: only who has taken a row touches its jobs between `done` and `given`. A thread
 * that sleeps has said so before it looked for the last time, and who has something for it
 * looks for that after it has said what; so nobody sleeps through a wake-up.
 */
#include "tools/emu/qemu/device/pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SLOTS 128
#define TURN  16 /* jobs of a row, before the others have a turn */
#define LOOKS                                                                            \
    4000 /* some 20 us for the giver; helpers, without whom all goes on, look longer */
#define HELPERS_LOOK (10 * LOOKS)

struct row {
    struct pool *pool;
    uint8_t *jobs;
    _Alignas(64) _Atomic uint64_t given;
    _Alignas(64) _Atomic uint64_t done;
    atomic_bool taken;
    /* What is shared out: its serial number, how many parts, the next one; the parts that are
     * done. Who has got a part finds `part` and `of` as they belong to it, since they stay
     * until all are done. */
    _Alignas(64) _Atomic uint64_t next;
    _Atomic unsigned returned;
    share_part *part;
    const void *of;
};

struct pool {
    unsigned rows, threads;
    unsigned looks, helpers_look;
    size_t bytes; /* of a job */
    uint64_t jobs;
    _Atomic uint64_t helped;
    _Alignas(
        64) _Atomic uint64_t news; /* there is something to do, which there was not */
    atomic_uint asleep;            /* threads that wait for news */
    _Atomic uint64_t wanted;       /* job that the giver sleeps for, 0: it does not */
    _Atomic unsigned wanted_row;
    pthread_mutex_t lock;
    pthread_cond_t more, less;
    struct row row[];
};

static void pause_host(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static uint8_t *slot(const struct row *r, uint64_t ticket)
{
    return r->jobs + (ticket - 1) % SLOTS * r->pool->bytes;
}

static void wake(struct pool *p)
{
    atomic_fetch_add(&p->news, 1);
    if (atomic_load(&p->asleep)) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->more);
        pthread_mutex_unlock(&p->lock);
    }
}

/* --- parts of a job --- */

#define PARTS_BITS 16
#define PARTS_MASK ((1u << PARTS_BITS) - 1)

/* Does a part of what the row shares out; false: there is none left. */
static bool do_part(struct row *r)
{
    uint64_t next = atomic_load(&r->next);
    unsigned i;

    do {
        i = next & PARTS_MASK;
        if (i == (next >> PARTS_BITS & PARTS_MASK)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&r->next, &next, next + 1));
    r->part(r->of, i);
    atomic_fetch_add(&r->returned, 1);
    return true;
}

static void share_out(void *ctx, unsigned parts, share_part *part, const void *of)
{
    struct row *r = ctx;
    uint64_t serial = (atomic_load(&r->next) >> 2 * PARTS_BITS) + 1;
    unsigned own = 0;

    r->part = part;
    r->of = of;
    atomic_store(&r->returned, 0);
    atomic_store(&r->next, serial << 2 * PARTS_BITS | (uint64_t)parts << PARTS_BITS);
    if (r->pool->threads > 1) {
        wake(r->pool);
    }
    while (do_part(r)) {
        own++;
    }
    for (unsigned i = 0; atomic_load(&r->returned) < parts; i++) {
        if (i < r->pool->looks) {
            pause_host();
        } else {
            sched_yield(); /* who has the last part has no processor */
        }
    }
    if (own < parts) {
        atomic_fetch_add(&r->pool->helped, parts - own);
    }
}

/* --- rows --- */

static void *ahead(void *ctx, unsigned i)
{
    struct row *r = ctx;
    uint64_t ticket = atomic_load(&r->done) + 1 + i;

    return ticket <= atomic_load(&r->given) ? slot(r, ticket) : NULL;
}

static void tell_giver(struct row *r, uint64_t done)
{
    struct pool *p = r->pool;
    uint64_t wanted = atomic_load(&p->wanted);

    if (wanted && wanted <= done && &p->row[atomic_load(&p->wanted_row)] == r) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->less);
        pthread_mutex_unlock(&p->lock);
    }
}

/* Takes the row and does at most `most` of its jobs up to that ticket; false: there was none,
 * or another has the row. */
static bool do_jobs(struct row *r, uint64_t last, unsigned most)
{
    struct share share = {share_out, r};
    struct npu_crew crew = {ahead, r, &share};
    uint64_t done;

    if (atomic_load(&r->done) == atomic_load(&r->given) || atomic_load(&r->taken) ||
        atomic_exchange(&r->taken, true)) {
        return false;
    }
    done = atomic_load(&r->done);
    for (; most && done < last && done < atomic_load(&r->given); most--) {
        npu_job_do(slot(r, done + 1), &crew);
        atomic_store(&r->done, ++done);
        tell_giver(r, done);
    }
    atomic_store(&r->taken, false);
    if (atomic_load(&r->given) != done) {
        wake(r->pool); /* who has looked meanwhile has found it taken */
    }
    return true;
}

/* From the row behind `*at` on; false: there is nothing to do. */
static bool do_something(struct pool *p, unsigned *at)
{
    for (unsigned i = 0; i < p->rows; i++) {
        *at = *at + 1 < p->rows ? *at + 1 : 0;
        if (do_jobs(&p->row[*at], UINT64_MAX, TURN)) {
            return true;
        }
    }
    for (unsigned i = 0; i < p->rows; i++) {
        if (do_part(&p->row[i])) {
            return true;
        }
    }
    return false;
}

static void sleep_for_news(struct pool *p, uint64_t last)
{
    for (unsigned i = 0; i < p->helpers_look; i++) {
        if (atomic_load(&p->news) != last) {
            return;
        }
        pause_host();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->asleep, 1);
    while (atomic_load(&p->news) == last) {
        pthread_cond_wait(&p->more, &p->lock);
    }
    atomic_fetch_sub(&p->asleep, 1);
    pthread_mutex_unlock(&p->lock);
}

static void *work(void *opaque)
{
    struct pool *p = opaque;
    unsigned at = 0;

    for (;;) {
        uint64_t news = atomic_load(&p->news);

        if (!do_something(p, &at)) {
            sleep_for_news(p, news);
        }
    }
    return NULL;
}

static void sleep_for_job(struct row *r, uint64_t ticket)
{
    struct pool *p = r->pool;

    pthread_mutex_lock(&p->lock);
    atomic_store(&p->wanted_row, (unsigned)(r - p->row));
    atomic_store(&p->wanted, ticket);
    while (atomic_load(&r->done) < ticket) {
        pthread_cond_wait(&p->less, &p->lock);
    }
    atomic_store(&p->wanted, 0);
    pthread_mutex_unlock(&p->lock);
}

void pool_wait(struct pool *p, unsigned row, uint64_t ticket)
{
    struct row *r = &p->row[row];
    uint64_t given = atomic_load(&r->given);
    uint64_t last = ticket < given ? ticket : given;

    for (unsigned i = 0; atomic_load(&r->done) < last; i++) {
        if (do_jobs(r, last, SLOTS) || do_part(r)) {
            i = 0;
        } else if (i < p->looks) {
            pause_host();
        } else {
            sleep_for_job(r, last);
        }
    }
}

void *pool_room(struct pool *p, unsigned row)
{
    struct row *r = &p->row[row];
    uint64_t next = atomic_load(&r->given) + 1;

    if (next > SLOTS) {
        pool_wait(p, row, next - SLOTS);
    }
    return slot(r, next);
}

uint64_t pool_give(struct pool *p, unsigned row)
{
    uint64_t ticket = atomic_load(&p->row[row].given) + 1;

    atomic_store(&p->row[row].given, ticket);
    p->jobs++;
    if (!atomic_load(&p->row[row].taken)) { /* who has it looks again when it lets go */
        wake(p);
    }
    return ticket;
}

unsigned pool_threads(const struct pool *p)
{
    return p->threads;
}

uint64_t pool_jobs(const struct pool *p)
{
    return p->jobs;
}

uint64_t pool_helped(const struct pool *p)
{
    return atomic_load(&p->helped);
}

/* --- its beginning --- */

/* How many there are now. */
static unsigned start(struct pool *p, unsigned threads)
{
    sigset_t all, before;
    pthread_t thread;
    unsigned n = 0;

    sigfillset(&all); /* signals are the others' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (n < threads && pthread_create(&thread, NULL, work, p) == 0) {
        pthread_detach(thread);
        n++;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n;
}

struct pool *pool_open(unsigned rows, unsigned threads, bool sleepy)
{
    size_t of_row = (npu_job_bytes() + 63) / 64 * 64;
    size_t bytes = sizeof(struct pool) + rows * sizeof(struct row);
    struct pool *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
    uint8_t *jobs = aligned_alloc(64, of_row * SLOTS * rows);

    if (!p || !jobs) {
        free(p);
        free(jobs);
        return NULL;
    }
    *p = (struct pool){.rows = rows,
                       .looks = sleepy ? 1 : LOOKS,
                       .helpers_look = sleepy ? 1 : HELPERS_LOOK,
                       .bytes = of_row};
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->more, NULL);
    pthread_cond_init(&p->less, NULL);
    for (unsigned i = 0; i < rows; i++) {
        p->row[i] = (struct row){.pool = p, .jobs = jobs + i * SLOTS * of_row};
    }
    p->threads = start(p, threads);
    if (p->threads == 0) {
        free(p);
        free(jobs);
        return NULL;
    }
    return p;
}
