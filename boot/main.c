/* SPDX-License-Identifier: MIT
 *
 * Start-up in order, then what the command line names (kernels/cli/command.c).
 */
#include <stdio.h>
#include "boot/boot.h"
#include "hal/chip.h"
#include "hal/host.h"
#include "hal/irq.h"
#include "hal/pipe.h"
#include "kernels/cli/op.h"
#include "sched/sched.h"

int main(void)
{
    static char first[] = "mla_prolog"; /* what runs if nothing is named */
    static char *argv[HOST_ARGS_MAX + 2];
    int argc, err;

    protect_init();    /* wild stores and stack overflow trap from here on */
    err = chip_init(); /* what machine this is, how far the heap may grow */
    if (err != 0) {
        fprintf(stderr, "salai: no NPU of this contract: %s\n", err_text(err));
        return RUN_FAULT;
    }
    pipe_init(chip_cores()); /* commands may be queued */
    irq_init(chip_cores());  /* engines may end a sleep */
    sched_init();            /* tasks have stacks, and guards under them */
    argc = host_args(argv);  /* what is wanted */
    if (argc < 0) {
        fprintf(stderr, "salai: command line: %s\n",
                argc == ERR_OVERFLOW ? "too many or too long arguments" : err_text(argc));
        return RUN_INPUT;
    }
    if (argc <= 1) { /* argv[0] is the program */
        argv[1] = first;
        argv[2] = NULL;
        argc = 2;
    }
    return op_command_line(argc - 1, argv + 1);
}
