/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Time: the virtual clock drives the model through one timer, and nothing else does.
 *
 * Invariant: cycle c of the engines is nanosecond c * cores of the virtual clock,
 * which under -icount shift=0,sleep=off is the number of instructions that the hart
 * has retired plus what it slept. No wall clock, no bottom half, no thread: a run is
 * the same on every host. Source: qemu-7.2 softmmu/icount.c, accel/tcg/tcg-accel-ops-rr.c.
 */
#include "tools/emu/qemu/device.h"

uint64_t npu_now(const SalaiNPU *npu)
{
    return (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) / npu->config.cores;
}

void npu_arm(SalaiNPU *npu)
{
    uint64_t next = npu_next(&npu->model);
    int64_t ns = INT64_MAX;

    if (next <= (uint64_t)INT64_MAX / npu->config.cores) {
        ns = (int64_t)(next * npu->config.cores);
    }
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

void npu_time_init(SalaiNPU *npu)
{
    npu->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_fired, npu);
    npu->armed = INT64_MAX;
}

/*
 * A hart that a debugger has stopped counts as idle, and sleep=off then lets the clock
 * jump to the next timer: a breakpoint would change the run that it looks at. The jump
 * asks qtest_enabled() first, so that flag is up while a hart is stopped. QEMU calls
 * these notifiers right before it starts a jump.
 */
static void hold_clock(Notifier *notifier, void *data)
{
    static bool held;
    bool stopped = false;
    CPUState *cpu;

    CPU_FOREACH (cpu) {
        stopped |= cpu->stop || cpu->stopped;
    }
    if (stopped != held && (held || !qtest_allowed)) {
        held = stopped;
        qtest_allowed = stopped;
    }
}

void npu_hold_clock_when_stopped(void)
{
    static Notifier notifier = {.notify = hold_clock};

    main_loop_poll_add_notifier(&notifier);
}
