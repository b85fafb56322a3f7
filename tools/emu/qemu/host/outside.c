/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See outside.h.
 */
#include "tools/emu/qemu/host/outside.h"
#include "tools/emu/qemu/device/compat.h"

struct job {
    void (*fn)(void *arg);
    void *arg;
    QemuSemaphore done;
};

static GAsyncQueue *jobs;

static void *work(void *opaque)
{
    for (;;) {
        struct job *job = g_async_queue_pop(jobs);

        job->fn(job->arg);
        qemu_sem_post(&job->done);
    }
    return NULL;
}

void outside_begin(void)
{
    static QemuThread thread;

    if (!jobs) {
        jobs = g_async_queue_new();
        qemu_thread_create(&thread, "npu-out", work, NULL, QEMU_THREAD_DETACHED);
    }
}

void outside_do(void (*fn)(void *arg), void *arg)
{
    struct job job = {.fn = fn, .arg = arg};

    outside_begin();
    qemu_sem_init(&job.done, 0);
    g_async_queue_push(jobs, &job);
    qemu_sem_wait(&job.done);
    qemu_sem_destroy(&job.done);
}
