/* SPDX-License-Identifier: MIT
 *
 * What an operator tells about its run: where the cycles of its launches went, what
 * limits them, faults.
 */
#ifndef KERNELS_CLI_REPORT_H
#define KERNELS_CLI_REPORT_H

#include "sched/measure.h"
#include "sched/sched.h"

/* What a report of launches tells besides. */
enum report_detail {
    REPORT_SHORT, /* of many cores the sum, the slowest and the fastest */
    REPORT_CORES, /* a table of each core */
};

/* Prints what was measured: cycles from call to return and of the span, a row per pipe
 * that did anything, who used the hart, what limits. n_cores: that were asked for; macs:
 * multiply-adds of all launches, or 0. */
void report_launch(const struct launch_report *report, unsigned n_cores, uint64_t macs,
                   enum report_detail detail);
/* ", TIMING=v1" behind the first line of a report if these prices hold, else "". */
const char *report_timing(void);
/* Prints how far cycles of what took most of a launch are from those of a card, as far as
 * rows of `make calibrate` tell (hal/contract/accuracy.def). */
void report_accuracy(const struct launch_report *report);
/* Prints why sched_run failed, on stderr, and returns the run_status for it. */
int report_error(const char *who, int err, const struct sched_report *report);

#endif
