/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What the host's time goes into (host=FILE): the work of the Cube, of the Vector and of
 * the movers, the machine around them, whoever hears of its events, and the hart, which is
 * all of QEMU. A thread looks each millisecond of the host, and what the hart's thread
 * has used of a processor since then belongs to what it does now. So nothing is measured
 * where it happens, and a run without the option pays two stores a command.
 *
 * Invariant: nothing that the machine or the guest could see depends on it.
 */
#include "tools/emu/qemu/device/device.h"

#include <time.h>

#define LOOK_NS 1000000

enum phase {
    PHASE_CUBE,
    PHASE_VECTOR,
    PHASE_MOVERS,
    PHASE_EVENTS,
    PHASE_LISTENERS,
    PHASE_HART
};
static const char *const names[] = {"cube",   "vector",    "movers",
                                    "events", "listeners", "hart"};

static struct {
    FILE *out;
    const char *path;
    SalaiNPU *npu;
    clockid_t clock; /* of the hart's thread */
    double seconds[ARRAY_SIZE(names)];
} phases;

static double seconds_of(clockid_t clock)
{
    struct timespec t = {0};

    clock_gettime(clock, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static enum phase phase_now(void)
{
    SalaiNPU *npu = phases.npu;

    switch (qatomic_read(&npu->model.works)) {
    case 0:
        break;
    case PIPE_M:
        return PHASE_CUBE;
    case PIPE_V:
        return PHASE_VECTOR;
    default:
        return PHASE_MOVERS;
    }
    return qatomic_read(&npu->told)     ? PHASE_LISTENERS
           : qatomic_read(&npu->inside) ? PHASE_EVENTS
                                        : PHASE_HART;
}

static void *look(void *opaque)
{
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    double last = 0;

    for (;;) {
        double now = seconds_of(phases.clock);

        phases.seconds[phase_now()] += now - last;
        last = now;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* A line each: seconds of a phase and of the rest of the process, which starts and ends it;
 * commands that have ended; instructions; threads, their jobs, and parts of these that
 * others have done (apart.c). */
static void at_exit(int status, void *opaque)
{
    const SalaiNPU *npu = phases.npu;
    double rest = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    uint64_t commands = 0;

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        fprintf(phases.out, "%s %.4f\n", names[i], phases.seconds[i]);
        rest -= phases.seconds[i];
    }
    for (unsigned c = 0; c < npu->config.cores; c++) {
        for (unsigned p = PIPE_V; p < NPU_PIPES; p++) {
            commands += npu_head_number(&npu->model, c, p) - 1;
        }
    }
    fprintf(phases.out, "rest %.4f\ncommands %" PRIu64 "\ninstructions %" PRId64 "\n",
            rest, commands, icount_get_raw());
    fprintf(phases.out, "threads %u\njobs %" PRIu64 "\nhelped %" PRIu64 "\n",
            npu_apart_threads(), npu_apart_jobs(), npu_apart_helped());
    if (fclose(phases.out)) {
        error_report("npu.so: host=%s: could not be written", phases.path);
        npu_exit_worse(status);
    }
}

void npu_phases_open(SalaiNPU *npu, const char *path)
{
    pthread_t thread;

    if (!path) {
        return;
    }
    phases.npu = npu;
    phases.path = path;
    phases.out = fopen(path, "w");
    if (!phases.out) {
        npu_die("npu.so: host=%s: %s", path, strerror(errno));
    }
    if (pthread_getcpuclockid(first_cpu->thread->thread, &phases.clock) ||
        pthread_create(&thread, NULL, look, NULL)) {
        npu_die("npu.so: host=: no thread for it");
    }
    on_exit(at_exit, NULL);
}
