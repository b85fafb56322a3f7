/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Time: the virtual clock drives the model through one timer, and nothing else does.
 *
 * Invariant: cycle c of the engines is nanosecond c * cores of the virtual clock,
 * which under -icount shift=0,sleep=off is the number of instructions that the hart
 * has retired plus what it slept. No wall clock, no bottom half, no thread: a run is
 * the same on every host. Source: QEMU 7.2 softmmu/icount.c and util/qemu-timer.c.
 */
#include "tools/emu/qemu/device.h"

uint64_t npu_now(const SalaiNPU *npu)
{
    return (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) / npu->config.cores;
}

static int64_t cycle_to_ns(const SalaiNPU *npu, uint64_t cycle)
{
    return cycle <= (uint64_t)INT64_MAX / npu->config.cores
               ? (int64_t)(cycle * npu->config.cores)
               : INT64_MAX;
}

/* While the hart sleeps and nothing but the NPU can wake it, nobody sees more of the
 * machine than its interrupt lines, and each event that the timer need not stop at saves
 * two switches between QEMU's threads. Both conditions are facts of virtual time. */
static int64_t next_stop(const SalaiNPU *npu)
{
    int64_t next = cycle_to_ns(npu, npu_next(&npu->model));
    int64_t others, quiet;

    if (next == INT64_MAX || !first_cpu->halted) {
        return next;
    }
    others = qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL);
    quiet = cycle_to_ns(npu, npu_quiet(&npu->model));
    return others >= 0 && others < quiet - qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) ? next
                                                                               : quiet;
}

void npu_arm(SalaiNPU *npu)
{
    int64_t ns = next_stop(npu);

    if (ns == npu->armed) {
        return;
    }
    npu->armed = ns;
    if (ns == INT64_MAX) {
        timer_del(npu->timer);
    } else {
        timer_mod(npu->timer, ns);
    }
}

static void timer_fired(void *opaque)
{
    SalaiNPU *npu = opaque;

    npu->armed = INT64_MAX;
    npu_advance(&npu->model, npu_now(npu));
    npu_arm(npu);
}

/*
 * Each expiry on the virtual clock makes QEMU write to the event descriptors of the main
 * loop's two AIO contexts: a switch of threads and a fight for the big lock, a dozen
 * microseconds for every command that ends, although these contexts hardly ever have
 * timers on that clock. Only if they do is there something to look at. QEMU has no call
 * for that, so this reaches into its list of timer lists; a probe list of our own, with
 * known contents, proves the layout first, and where it differs nothing is changed.
 */
struct timer_list {
    void *clock;
    QemuMutex active_timers_lock;
    QEMUTimer *active_timers;
    QLIST_ENTRY(timer_list) list;
    QEMUTimerListNotifyCB *notify_cb;
    void *notify_opaque;
};

static struct {
    AioContext *ctx;
    struct timer_list *list;
} quiet[2];

static void notify_if_timers(void *opaque, QEMUClockType type)
{
    for (size_t i = 0; i < ARRAY_SIZE(quiet); i++) {
        if (quiet[i].ctx == opaque && qatomic_read(&quiet[i].list->active_timers)) {
            aio_notify(opaque);
        }
    }
}

static void quieten_aio_contexts(void)
{
    QEMUTimerList *list = timerlist_new(QEMU_CLOCK_VIRTUAL, notify_if_timers, quiet);
    struct timer_list *probe = (struct timer_list *)list, *other;
    bool known = probe->notify_cb == notify_if_timers && probe->notify_opaque == quiet &&
                 probe->active_timers == NULL;

    quiet[0].ctx = qemu_get_aio_context();
    quiet[1].ctx = iohandler_get_aio_context();
    for (other = known ? QLIST_NEXT(probe, list) : NULL; other != NULL;
         other = QLIST_NEXT(other, list)) {
        for (size_t i = 0; i < ARRAY_SIZE(quiet); i++) {
            if (other->notify_opaque == quiet[i].ctx) {
                quiet[i].list = other;
                other->notify_cb = notify_if_timers;
            }
        }
    }
    timerlist_free(list);
}

void npu_time_init(SalaiNPU *npu)
{
    quieten_aio_contexts();
    npu->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_fired, npu);
    npu->armed = INT64_MAX;
}
