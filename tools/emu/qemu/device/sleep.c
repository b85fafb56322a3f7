/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What happens to the clock while the hart sleeps or stands still.
 *
 * QEMU lets its main loop move the clock to the next timer when the hart is idle. The
 * main loop may look just after the hart's thread has entered wfi and before it has
 * counted its last instructions: then they are slept and counted, and the run is a
 * few nanoseconds longer (one sleep in 80,000, more under load). Here the hart's own
 * thread moves the clock, at the end of the run of instructions that wfi ends, and runs
 * the timers at once: exact, and without two switches of threads for each sleep.
 *
 * Invariant: without record/replay only the hart's thread ever moves the clock, under
 * QEMU's big lock, with every instruction counted and the machine running; so neither
 * the host's load nor a debugger's stop shows in it. With record/replay QEMU keeps the
 * two threads apart by its replay lock, and what it does is kept, but for the stops.
 *
 * A hart that sleeps with no timer to come, in a machine that nothing from outside
 * reaches, would do so for ever: the run ends with one line. An image of somebody's own
 * gets there. With a monitor or a debugger it is left asleep, and costs the host nothing.
 *
 * Source: QEMU 7.2 accel/tcg/tcg-accel-ops-rr.c, softmmu/icount.c, util/main-loop.c.
 */
#define NEED_CPU_H    1 /* for the whole of TCGCPUOps */
#define CONFIG_TARGET "config-target.h"
#include "tools/emu/qemu/device/device.h"
#include NPU_TCG_OPS_H

/* Timers that the hart can sleep through before the main loop gets a turn. */
#define SLEEP_STEPS 1000

static int is_there(Object *child, void *opaque)
{
    return 1;
}

static bool has_children(const char *path)
{
    Object *container = object_resolve_path(path, NULL);

    return container && object_child_foreach(container, is_there, NULL);
}

/* A debugger, a monitor or a terminal, and devices beside our own: they might wake it. */
static bool reached_from_outside(void)
{
    return has_children("/chardevs") || has_children("/machine/peripheral") ||
           has_children("/machine/peripheral-anon");
}

/* Whether a timer will wake a hart that has nothing to do: one of the guest's, not one of
 * the host's, as that of a disk's cache. QEMU would warn when it is asked to go to none. */
static bool timer_will_come(void)
{
    return qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, ~QEMU_TIMER_ATTR_EXTERNAL) >= 0;
}

static void sleeps_for_ever(void)
{
    if (!reached_from_outside()) {
        npu_die("npu.so: the hart sleeps at pc 0x%" PRIx64
                " for ever: nothing is left that would wake it",
                (uint64_t)CPU_GET_CLASS(first_cpu)->get_pc(first_cpu));
    }
}

/* Under the big lock, on the hart's thread: runs what is due, and while the hart has
 * nothing to do goes on to the next timer. */
static void sleep_on(void)
{
    qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL);
    for (int i = 0; i < SLEEP_STEPS && runstate_is_running() && all_cpu_threads_idle();
         i++) {
        if (!timer_will_come()) {
            sleeps_for_ever();
            break;
        }
        icount_start_warp_timer();
        if (!qemu_clock_run_timers(QEMU_CLOCK_VIRTUAL)) {
            break;
        }
    }
}

/* The hart's thread leaves translated code: asleep, at a timer, or for any other reason.
 * Timers that are due would be run a little later by QEMU, but by way of waking the
 * main loop, which has nothing to do with them. */
static void exec_exit(CPUState *cpu)
{
    if (cpu->halted ||
        qemu_clock_deadline_ns_all(QEMU_CLOCK_VIRTUAL, QEMU_TIMER_ATTR_ALL) == 0) {
        npu_bql_lock();
        sleep_on();
        npu_bql_unlock();
    }
}

static void sleep_work(CPUState *cpu, run_on_cpu_data data)
{
    sleep_on();
}

static bool hart_stopped(void)
{
    return first_cpu->stop || first_cpu->stopped;
}

static bool stop_asked; /* by npu_stop(), and not yet obeyed */

bool npu_stopping(void)
{
    return stop_asked;
}

/* Called under the big lock, from a timer or from an access of the hart's. When QEMU
 * looks backwards for the last stop, it notes this one and comes back to it. */
void npu_stop(void)
{
    if (replay_running_debug()) {
        replay_breakpoint();
        return;
    }
    stop_asked = true;
    first_cpu->stop = true;
    if (current_cpu) {
        cpu_exit(current_cpu);
    }
    npu_show_hart();
    qemu_system_debug_request();
}

/* A replay moves the clock of a sleeping hart without asking qtest: what is to stop the
 * machine first does so here, be it npu_stop() or the end of a step backwards. */
static void before_warp(void)
{
    qemu_clock_run_timers(QEMU_CLOCK_REALTIME);
    if (stop_asked || (npu_replay_at_end() && !replay_running_debug())) {
        vm_stop(RUN_STATE_DEBUG);
    }
}

/* While the hart sleeps the main loop takes one event of the record each time it wakes,
 * and where nothing but those is to come, as the signal that has ended a run which slept
 * for ever, nobody would wake it. */
static void replay_polls(MainLoopPoll *poll)
{
    qtest_allowed = hart_stopped();
    if (poll->state != MAIN_LOOP_POLL_FILL) {
        before_warp();
    } else if (runstate_is_running() && all_cpu_threads_idle()) {
        poll->timeout = 1; /* ms */
    }
}

/*
 * QEMU calls this before its main loop blocks and again right before it would move the
 * clock, which it does not do for qtest: between the two that flag is up. Nothing else
 * runs in between but the timers of other clocks. A hart that fell asleep some other
 * way (it was asleep in a snapshot) is sent to move the clock itself.
 */
static void main_loop_polls(Notifier *notifier, void *data)
{
    MainLoopPoll *poll = data;

    if (replay_mode == REPLAY_MODE_PLAY) {
        replay_polls(poll);
        return;
    }
    if (replay_mode == REPLAY_MODE_RECORD) {
        qtest_allowed = hart_stopped();
        return;
    }
    qtest_allowed = poll->state != MAIN_LOOP_POLL_FILL;
    if (qtest_allowed && runstate_is_running() && all_cpu_threads_idle() &&
        (timer_will_come() || !reached_from_outside())) {
        async_run_on_cpu(first_cpu, sleep_work, RUN_ON_CPU_NULL);
    }
}

/* npu_stop() has kept timers from being armed, which might have moved the clock; now it
 * cannot. A replay that has come back may stop before the timers of that instant: they
 * stay armed, for the record says that they fire, and will find nothing to do. */
static void state_changed(void *opaque, bool running, RunState state)
{
    SalaiNPU *npu = opaque;

    if (running) {
        return;
    }
    if (stop_asked) {
        stop_asked = false;
        npu_arm(npu);
    } else if (replay_mode == REPLAY_MODE_PLAY &&
               (state == RUN_STATE_DEBUG || state == RUN_STATE_PAUSED)) {
        npu_advance(&npu->model, npu_now(npu));
    }
}

void npu_sleep_init(SalaiNPU *npu)
{
    static Notifier notifier = {.notify = main_loop_polls};
    static struct TCGCPUOps ops;
    CPUClass *cc = CPU_GET_CLASS(first_cpu);

    if (replay_mode == REPLAY_MODE_NONE) {
        ops = *cc->tcg_ops;
        g_assert(ops.cpu_exec_exit == NULL && ops.tlb_fill != NULL);
        ops.cpu_exec_exit = exec_exit;
        cc->tcg_ops = &ops;
    }
    main_loop_poll_add_notifier(&notifier);
    qemu_add_vm_change_state_handler(state_changed, npu);
}
