/* SPDX-License-Identifier: MIT
 *
 * What an operator tells about its run: cycles, the use of every pipe, faults.
 */
#ifndef KERNELS_CLI_REPORT_H
#define KERNELS_CLI_REPORT_H

#include "sched/sched.h"

/* Prints cycles from first command to last and a row per pipe that did anything, for
 * each of the first n cores that did, and what the last launch cost the hart. macs:
 * multiply-adds of the whole run, or 0. */
void report_pipes(unsigned n_cores, uint64_t macs);
/* Prints why sched_run failed, on stderr, and returns the run_status for it. */
int report_error(const char *who, int err, const struct sched_report *report);

#endif
