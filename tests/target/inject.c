/* SPDX-License-Identifier: MIT
 *
 * Memory that runs out: `inject N` has the N-th allocation from here on fail, once, and
 * `inject 0` says how many there have been since.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "boot/boot.h"
#include "hal/host.h"
#include "kernels/cli/op.h"

static unsigned long asked, at;

static bool fails(void)
{
    if (++asked != at) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

static int inject(int argc, char **argv)
{
    if (argc != 2) {
        return RUN_INPUT;
    }
    if (argv[1][0] == '0') {
        printf("inject: %lu allocations\n", asked);
    }
    asked = 0;
    heap_refuses = fails;
    at = strtoul(argv[1], NULL, 10);
    return RUN_OK;
}

COMMAND(inject, "N", "lets the N-th allocation from here on fail, once", inject);
