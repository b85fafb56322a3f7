/* SPDX-License-Identifier: MIT
 *
 * Start-up in order, then the operators that the command line names:
 *
 *     salai NAME [ARGUMENT]... [+ NAME [ARGUMENT]...]...
 *
 * Names are checked before anything runs. The exit status is the worst of all.
 */
#include <stdio.h>
#include <string.h>
#include "boot/boot.h"
#include "hal/chip.h"
#include "hal/host.h"
#include "hal/irq.h"
#include "hal/pipe.h"
#include "kernels/cli/operator.h"
#include "sched/sched.h"

#define DEFAULT_OPERATOR "mla_prolog"
#define SEPARATOR        "+"

const struct operator* operator_find(const char *name)
{
    for (const struct operator* op = __operators_start; op < __operators_end; op++) {
        if (strcmp(op->name, name) == 0) {
            return op;
        }
    }
    return NULL;
}

static int help(int argc, char **argv)
{
    const struct operator* one = argc> 1 ? operator_find(argv[1]) : NULL;

    if (argc > 1 && one == NULL) {
        fprintf(stderr, "salai: no operator '%s'\n", argv[1]);
        return RUN_INPUT;
    }
    for (const struct operator* op = __operators_start; op < __operators_end; op++) {
        if (one == NULL || one == op) {
            printf("  %s%s%s\n        %s\n", op->name, op->usage[0] != '\0' ? " " : "",
                   op->usage, op->summary);
        }
    }
    if (one == NULL) {
        printf("Each that computes data also takes --digest: it prints a hash of its "
               "result.\n");
    }
    return RUN_OK;
}

OPERATOR(help, "[NAME]", "lists the operators, or tells how one is used", help);

static int empty(int argc, char **argv)
{
    (void)argc, (void)argv;
    return RUN_OK;
}

OPERATOR(empty, "", "returns at once: what a boot costs", empty);

/* Number of arguments before the next separator or the end. */
static int one_command(int argc, char **argv)
{
    int n = 0;

    while (n < argc && strcmp(argv[n], SEPARATOR) != 0) {
        n++;
    }
    return n;
}

static int check_names(int argc, char **argv)
{
    for (int i = 0, n; i <= argc; i += n + 1) {
        n = one_command(argc - i, argv + i);
        if (n == 0) {
            fprintf(stderr, "salai: nothing before or after a '" SEPARATOR "'\n");
            return RUN_INPUT;
        }
        if (operator_find(argv[i]) == NULL) {
            fprintf(stderr, "salai: no operator '%s'; 'help' lists them\n", argv[i]);
            return RUN_INPUT;
        }
    }
    return RUN_OK;
}

static int run_all(int argc, char **argv)
{
    int worst = RUN_OK;

    for (int i = 0, n; i <= argc; i += n + 1) {
        int status;

        n = one_command(argc - i, argv + i);
        argv[i + n] = NULL;
        status = operator_find(argv[i])->run(n, argv + i);
        worst = status > worst ? status : worst;
    }
    return worst;
}

int main(void)
{
    static char *argv[HOST_ARGS_MAX + 2];
    static char default_name[] = DEFAULT_OPERATOR;
    int argc, err;

    protect_init();    /* wild stores and stack overflow trap from here on */
    err = chip_init(); /* what machine this is, how far the heap may grow */
    if (err != 0) {
        fprintf(stderr, "salai: no NPU of this contract: %s\n", err_text(err));
        return RUN_FAULT;
    }
    pipe_init(chip_cores());
    irq_init(chip_cores()); /* engines may end a sleep */
    sched_init();           /* stacks of tasks, and the guards under them */
    argc = host_args(argv);
    if (argc < 0) {
        fprintf(stderr, "salai: command line: %s\n",
                argc == ERR_OVERFLOW ? "too many or too long arguments" : err_text(argc));
        return RUN_INPUT;
    }
    if (argc <= 1) { /* argv[0] is the program */
        argv[1] = default_name;
        argv[2] = NULL;
        argc = 2;
    }
    argc--;
    return check_names(argc, argv + 1) != 0 ? RUN_INPUT : run_all(argc, argv + 1);
}
