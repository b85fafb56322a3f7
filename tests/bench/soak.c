/* SPDX-License-Identifier: MIT
 *
 * The command `soak LAUNCHES OPERATORS SECONDS`: so many launches on all cores, so many
 * operators as the command line runs them, and one of each again after a sleep of so many
 * seconds of virtual time, which the host does not wait for. What a launch and an
 * operator cost, the heap and every semaphore are then what they were at the beginning; the
 * first thing that is not ends the run with a line. How far it is goes to stderr.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "sched/launch.h"
#include "sched/measure.h"

enum { STEPS = 20, FILLED = 1, DONE = 2, BYTES = 256 };

#define NS 1000000000ull

static uint8_t data[NPU_MAX_CORES][BYTES] __attribute__((aligned(BYTES)));
static uint64_t wake; /* the cycle at which the sleep ends */

/* What one launch costs, and an operator: cycles. */
struct cost {
    uint64_t call, span;
};

static struct cost launched, run;
static size_t heap;

static void pass_on(void *arg)
{
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, 0, data[task_block()], BYTES);
    cmd_post(&cmd, FILLED, 1);
    task_issue(PIPE_MTE2, &cmd);
    vector_count(&cmd, BYTES / 4);
    task_issue(PIPE_V, &cmd);
    vector_unary(&cmd, OP_VABS, TYPE_F32, BYTES, 0);
    cmd_wait(&cmd, FILLED, 1);
    cmd_post(&cmd, DONE, 1);
    task_issue(PIPE_V, &cmd);
    task_wait(DONE, 1);
    task_barrier();
}

static void sleep_long(void *arg)
{
    (void)arg;
    task_sleep_until(wake);
}

static struct cost measured(void)
{
    static struct launch_report report;

    measure_read(&report);
    return (struct cost){report.call, report.span};
}

static bool launch_once(void (*kernel)(void *arg), unsigned cores)
{
    static struct sched_report report;
    int err;

    measure_start();
    err = launch(&(struct launch){.name = "soak", .kernel = kernel, .cores = cores},
                 &report);
    if (err) {
        fprintf(stderr, "soak: launch: %s\n%s\n", err_text(err), report.text);
    }
    return err == 0;
}

static bool run_once(void)
{
    static char words[][8] = {"vadd", "--n", "3000"};
    static char *argv[] = {words[0], words[1], words[2], NULL};
    int status = op_command_line(3, argv);

    if (status != RUN_OK) {
        fprintf(stderr, "soak: vadd: status %d\n", status);
    }
    return status == RUN_OK;
}

/* As at the beginning, where `*was` is still zero? */
static bool same(const char *what, struct cost *was, struct cost now, uint64_t i)
{
    size_t used = (size_t)mallinfo().uordblks;

    if (was->call == 0) {
        *was = now;
        heap = used;
    }
    if (now.call != was->call || now.span != was->span) {
        fprintf(stderr, "soak: %s %llu: %llu cycles of %llu, at first %llu of %llu\n", what,
                (unsigned long long)i, (unsigned long long)now.span,
                (unsigned long long)now.call, (unsigned long long)was->span,
                (unsigned long long)was->call);
        return false;
    }
    if (used != heap) {
        fprintf(stderr, "soak: %s %llu: %zu bytes of the heap in use, at first %zu\n", what,
                (unsigned long long)i, used, heap);
        return false;
    }
    return true;
}

static bool clean(void)
{
    static char text[SCHED_TEXT];

    for (unsigned c = 0; c < chip_cores(); c++) {
        if (sched_leftovers(c, text, sizeof(text)) != 0) {
            fprintf(stderr, "soak: core %u: %s\n", c, text);
            return false;
        }
    }
    return true;
}

static bool one_launch(uint64_t i)
{
    return launch_once(pass_on, 0) && same("launch", &launched, measured(), i);
}

static bool one_operator(uint64_t i)
{
    return run_once() && same("operator", &run, measured(), i);
}

static bool repeat(const char *what, uint64_t n, bool (*once)(uint64_t i))
{
    for (uint64_t i = 0; i < n; i++) {
        if (!once(i)) {
            return false;
        }
        if ((i + 1) % (n / STEPS + 1) == 0 || i + 1 == n) {
            fprintf(stderr, "soak: %llu %s\n", (unsigned long long)i + 1, what);
        }
    }
    return true;
}

static bool sleep_seconds(uint64_t seconds)
{
    wake = chip_cycle() + seconds * (NS / chip_cores());
    return launch_once(sleep_long, 1);
}

static int soak(int argc, char **argv)
{
    uint64_t n[3];

    if (argc != 4) {
        fprintf(stderr, "soak: want LAUNCHES OPERATORS SECONDS\n");
        return RUN_INPUT;
    }
    for (int i = 0; i < 3; i++) {
        n[i] = strtoull(argv[i + 1], NULL, 10);
    }
    if (!run_once() || !launch_once(pass_on, 0) || !repeat("launches", n[0], one_launch) ||
        !repeat("operators", n[1], one_operator) || !sleep_seconds(n[2]) ||
        !one_launch(n[0]) || !one_operator(n[1]) || !clean()) {
        return RUN_CHECK;
    }
    fprintf(stderr, "soak: all alike\n");
    return RUN_OK;
}

COMMAND(soak, "LAUNCHES OPERATORS SECONDS", "does the same for long: does anything drift?",
        soak);
