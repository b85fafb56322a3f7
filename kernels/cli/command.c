/* SPDX-License-Identifier: MIT
 *
 * The command line of the machine:
 *
 *     salai NAME [ARGUMENT]... [+ NAME [ARGUMENT]...]...
 *
 * Names are checked before anything runs. The exit status is the worst of all.
 */
#include <stdio.h>
#include <string.h>

#include "hal/hint.h"
#include "kernels/cli/op.h"

#define SEPARATOR "+"

const struct opdesc *op_find(const char *name)
{
    for (const struct opdesc *op = __operators_start; op < __operators_end; op++) {
        if (strcmp(op->name, name) == 0) {
            return op;
        }
    }
    return NULL;
}

const struct opdesc *op_open(const struct opdesc *op)
{
    return op->open ? op->open(op) : op;
}

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
        if (op_find(argv[i]) == NULL) {
            fprintf(stderr, "salai: no operator '%s'; 'help' lists them\n", argv[i]);
            return RUN_INPUT;
        }
    }
    return RUN_OK;
}

int op_command_line(int argc, char **argv)
{
    int worst = RUN_OK;

    if (check_names(argc, argv) != RUN_OK) {
        return RUN_INPUT;
    }
    for (int i = 0, n; i <= argc; i += n + 1) {
        const struct opdesc *op = op_open(op_find(argv[i]));
        int status = RUN_INPUT;

        n = one_command(argc - i, argv + i);
        argv[i + n] = NULL;
        if (op) {
            hint_name(HINT_BEGIN, op->name);
            status = op->command ? op->command(n, argv + i) : op_run(op, n, argv + i);
            hint_name(HINT_END, op->name);
        }
        worst = status > worst ? status : worst;
    }
    return worst;
}

static int empty(int argc, char **argv)
{
    (void)argc, (void)argv;
    return RUN_OK;
}

COMMAND(empty, "", "returns at once: what a boot costs", empty);
