/* SPDX-License-Identifier: MIT
 *
 * What launches cost, in cycles of the engines from call to return, on all cores of the
 * chip and on one.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "kernels/matmul/matmul.h"
#include "sched/launch.h"
#include "sched/measure.h"
#include "tests/bench/bench.h"

enum { ROUNDS = 4, STEPS = 16 };

static void empty(void *arg)
{
    (void)arg;
}

static uint64_t cycles_of(const struct launch *l, int *err, struct sched_report *report)
{
    struct launch_report cost;

    measure_start();
    *err = *err ? *err : launch(l, report);
    measure_read(&cost);
    return cost.call - cost.price;
}

/* What a step is more than none. */
static uint64_t cycles_of_a_step(unsigned cores, int *err, struct sched_report *report)
{
    void *args[STEPS + 1] = {NULL};
    struct steps steps = {args, STEPS + 1, 1};
    struct launch l = {.name = "stays", .kernel = empty, .cores = cores, .steps = &steps};
    uint64_t one = cycles_of(&l, err, report);

    steps.n = STEPS + 1;
    return (cycles_of(&l, err, report) - one) / STEPS;
}

static void least(struct bench_row *row, uint64_t cycles)
{
    row->least = cycles < row->least ? cycles : row->least;
}

/* A product that is all launch. */
static uint64_t cycles_of_a_product(int *err, struct sched_report *report)
{
    enum { SIDE = 64 };
    static uint16_t a[SIDE * SIDE], b[SIDE * SIDE];
    static float c[SIDE * SIDE];
    struct launch_report cost;

    measure_start();
    *err = *err ? *err
                : matmul(&(struct matmul){.a = a,
                                          .b = b,
                                          .c = c,
                                          .m = SIDE,
                                          .n = SIDE,
                                          .k = SIDE,
                                          .in = TYPE_F16,
                                          .out = TYPE_F32,
                                          .cores = 1},
                         report);
    measure_read(&cost);
    return cost.call - cost.price;
}

int bench_launches(void)
{
    static struct bench_row rows[] = {
        {"empty kernel on one core, the first launch", 4000, 0},
        {"empty kernel on one core, the next ones", 4000, UINT64_MAX},
        {"empty kernel on all cores", 5000, UINT64_MAX},
        {"step of an empty kernel that stays, one core", 500, UINT64_MAX},
        {"step of an empty kernel that stays, all cores", 500, UINT64_MAX},
        {"matmul 64 x 64 x 64 on one core", 5500, UINT64_MAX},
    };
    const struct launch one = {.name = "empty", .kernel = empty, .cores = 1};
    const struct launch all = {.name = "empty", .kernel = empty};
    struct sched_report report;
    int err = 0;

    rows[0].least = cycles_of(&one, &err, &report);
    for (unsigned i = 0; i < ROUNDS; i++) {
        least(&rows[1], cycles_of(&one, &err, &report));
        least(&rows[2], cycles_of(&all, &err, &report));
        least(&rows[3], cycles_of_a_step(1, &err, &report));
        least(&rows[4], cycles_of_a_step(0, &err, &report));
        least(&rows[5], cycles_of_a_product(&err, &report));
    }
    return err ? report_error("bench", err, &report)
               : bench_print("cycles from call to return", rows,
                             sizeof(rows) / sizeof(rows[0]));
}
