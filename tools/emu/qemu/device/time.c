/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Time: the virtual clock drives the model through one timer, and nothing else does.
 *
 * Invariant: the hart's clock is the virtual clock, which under -icount
 * shift=0,sleep=off is the number of instructions that the hart has retired plus what it
 * slept; the model makes cycles of it, as many nanoseconds each as cores share the hart.
 * With a seed the engines are ahead of that by the cycles for which their machine has held
 * up the hart. No wall clock, no bottom half, no thread: a run is the same on every host.
 * Source: QEMU 7.2 softmmu/icount.c and util/qemu-timer.c.
 */
#include "tools/emu/qemu/device/device.h"

uint64_t npu_now(const SalaiNPU *npu)
{
    return npu_cycle(&npu->model, (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL));
}

void npu_arm(SalaiNPU *npu)
{
    int64_t ns = (int64_t)npu_clock(&npu->model, npu_next(&npu->model));

    if (ns == npu->armed) {
        return;
    }
    /* Arming could move the clock, and the stop comes here once more. But the timer as it
     * was must not fire first: a recording would have an event that no run has. */
    npu->armed = npu_stopping() ? INT64_MAX : ns;
    if (npu->armed == INT64_MAX) {
        timer_del(npu->timer);
    } else {
        timer_mod(npu->timer, ns);
    }
}

static void timer_fired(void *opaque)
{
    SalaiNPU *npu = opaque;

    npu->inside = true;
    npu->armed = INT64_MAX;
    npu_advance(&npu->model, npu_now(npu));
    npu_arm(npu);
    npu->inside = false;
}

void npu_time_init(SalaiNPU *npu)
{
    npu->timer = timer_new_ns(QEMU_CLOCK_VIRTUAL, timer_fired, npu);
    npu->armed = INT64_MAX;
}
