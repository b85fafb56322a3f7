/* SPDX-License-Identifier: MIT
 *
 * What launches cost, in cycles of the engines from call to return, on all cores of the
 * chip and on one.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "tests/bench/bench.h"

enum { ROUNDS = 4 };

static void empty(void *arg)
{
    (void)arg;
}

static uint64_t cycles_of(unsigned cores, int *err, struct sched_report *report)
{
    struct launch_report cost;

    measure_start();
    *err = *err ? *err
                : launch(&(struct launch){.name = "empty", .kernel = empty, .cores = cores},
                         report);
    measure_read(&cost);
    return cost.call;
}

int bench_launches(void)
{
    static struct bench_row rows[] = {
        {"empty kernel on one core, the first launch", 4000, 0},
        {"empty kernel on one core, the next ones", 4000, UINT64_MAX},
        {"empty kernel on all cores", 5000, UINT64_MAX},
    };
    struct sched_report report;
    int err = 0;

    rows[0].least = cycles_of(1, &err, &report);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t one = cycles_of(1, &err, &report), all = cycles_of(0, &err, &report);
        rows[1].least = one < rows[1].least ? one : rows[1].least;
        rows[2].least = all < rows[2].least ? all : rows[2].least;
    }
    return err ? report_error("bench", err, &report)
               : bench_print("cycles from call to return", rows, 3);
}
