/* SPDX-License-Identifier: MIT
 *
 * The operator `crash`: ends a run in the way that is asked for, so that a test on the
 * host can see reports and exit statuses.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hal/console.h"
#include "kernels/cli/op.h"
#include "sched/sched.h"

static int *volatile nowhere;

static void crash_null(void)
{
    *nowhere = 1;
}

static void crash_illegal(void)
{
    __asm__ volatile("unimp");
}

static void crash_jump(void)
{
    ((void (*)(void))(uintptr_t)0x20)();
}

static __attribute__((noinline)) int deeper(volatile int *up)
{
    volatile int here[256];

    here[0] = *up + 1;
    return here[0] < 0 ? 0 : deeper(here) + here[0];
}

static void crash_stack(void)
{
    volatile int zero = 0;

    deeper(&zero);
}

static void crash_code(void)
{
    *(volatile char *)(uintptr_t)crash_null = 0;
}

static void crash_constant(void)
{
    *(volatile char *)(uintptr_t) "a constant" = 0;
}

/* Traps with pointers gone astray, as a wild jump leaves them. */
static void crash_registers(void)
{
    __asm__ volatile("li gp, 0x10\n\tli tp, 0x20\n\tli sp, 0x30\n\tld t0, 0(sp)");
}

/* As if the trap report itself had trapped. */
static void crash_nested(void)
{
    __asm__ volatile("csrw mscratch, zero\n\tunimp");
}

static void crash_assert(void)
{
    assert(nowhere != NULL);
}

static void takes_interrupts(void *arg)
{
    (void)arg;
    __asm__ volatile("csrsi mstatus, 8");
    task_sleep_until(0);
}

/* What a task must not have done when it gives the hart away. */
static void crash_switch(void)
{
    struct sched_report report;

    if (task_create("careless", 0, takes_interrupts, NULL) == 0) {
        (void)!sched_run(&report);
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} crashes[] = {
    {"null", crash_null},           {"illegal", crash_illegal},
    {"jump", crash_jump},           {"stack", crash_stack},
    {"code", crash_code},           {"constant", crash_constant},
    {"registers", crash_registers}, {"assert", crash_assert},
    {"nested", crash_nested},       {"abort", abort},
    {"switch", crash_switch},
};

static int run(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        if (strcmp(argv[1], crashes[i].name) == 0) {
            printf("a begun line");
            crashes[i].run();
        }
    }
    if (argc == 3 && strcmp(argv[1], "exit") == 0) {
        return atoi(argv[2]);
    }
    fprintf(stderr, "salai: crash: which?\n");
    return RUN_INPUT;
}

COMMAND(
    crash,
    "null|illegal|jump|stack|code|constant|registers|assert|nested|abort|switch|exit "
    "STATUS",
    "ends in that way, to test reports and exit statuses", run);
