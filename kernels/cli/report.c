/* SPDX-License-Identifier: MIT
 *
 * Reports of a run; see report.h.
 */
#include "kernels/cli/report.h"

#include <stdio.h>

#include "hal/chip.h"
#include "hal/host.h"
#include "hal/irq.h"
#include "hal/pmu.h"

static const enum pipe order[] = {PIPE_MTE2, PIPE_MTE1, PIPE_M,
                                  PIPE_V,    PIPE_FIX,  PIPE_MTE3};

static void print_pipe(unsigned core, enum pipe pipe, uint64_t span)
{
    uint64_t busy = pmu_read(core, pipe, PMU_BUSY);
    uint64_t commands = pmu_read(core, pipe, PMU_COMMANDS);

    if (commands == 0) {
        return;
    }
    printf("  %-4s %12llu %6.1f %% %12llu %12llu %10llu %10.1f %10.1f\n", pipe_name(pipe),
           (unsigned long long)busy, 100.0 * (double)busy / (double)span,
           (unsigned long long)pmu_read(core, pipe, PMU_STALL_SEM),
           (unsigned long long)pmu_read(core, pipe, PMU_STALL_BW),
           (unsigned long long)commands,
           (double)pmu_read(core, pipe, PMU_BYTES_READ) / 1024,
           (double)pmu_read(core, pipe, PMU_BYTES_WRITTEN) / 1024);
}

/* Of the last launch. A sleep after which nobody can run is as good as busy waiting. */
static void print_hart(void)
{
    struct sched_stats stats = sched_stats();

    printf("  hart %12llu switches between tasks, %llu sleeps, %llu of them in vain\n",
           (unsigned long long)stats.switches, (unsigned long long)stats.sleeps,
           (unsigned long long)stats.in_vain);
}

void report_pipes(unsigned n_cores, uint64_t macs)
{
    double ghz = chip_cost(COST_CLOCK_KHZ) / 1e6;

    for (unsigned core = 0; core < n_cores; core++) {
        uint64_t span = pmu_span(core);
        if (span == 0) {
            continue;
        }
        printf("core %u, profile %s: %llu cycles = %.1f us at %.2f GHz", core,
               npu_profile_name(chip_profile()), (unsigned long long)span,
               (double)span / ghz / 1e3, ghz);
        if (macs && n_cores == 1) {
            printf(", %.0f multiply-adds a cycle", (double)macs / (double)span);
        }
        printf("\n  pipe         busy  of all   waited sem     bandwidth   commands"
               "    KiB in   KiB out\n");
        for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
            print_pipe(core, order[i], span);
        }
    }
    print_hart();
}

int report_error(const char *who, int err, const struct sched_report *report)
{
    fprintf(stderr, "%s: %s\n", who, report->text[0] ? report->text : err_text(err));
    if (err == ERR_FAULT && report->task) {
        fprintf(stderr, "  issued by task %s\n", report->task);
    }
    if (err == ERR_FAULT && report->fault.pc) {
        fprintf(stderr,
                "  issued at pc 0x%llx: riscv64-unknown-elf-addr2line -e %s 0x%llx\n",
                (unsigned long long)report->fault.pc, host_program(),
                (unsigned long long)report->fault.pc - 1); /* inside the call */
    }
    return RUN_FAULT;
}
