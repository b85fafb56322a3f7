/* SPDX-License-Identifier: MIT
 *
 * Tile programs on the machine.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/op.h"
#include "tests/tile/random.h"

/* `tile_random SEED`: the program of a seed, and its sizes as a comment, for NumPy. */
static int print_random(int argc, char **argv)
{
    char text[RANDOM_TEXT];
    uint32_t size[RANDOM_DIMS];
    unsigned n;

    if (argc != 2) {
        fprintf(stderr, "tile_random: want a seed\n");
        return RUN_INPUT;
    }
    n = random_program((uint32_t)strtoul(argv[1], NULL, 10), 4096, text, size);
    printf("%s#", text);
    for (unsigned d = 0; d < n; d++) {
        printf(" %lu", (unsigned long)size[d]);
    }
    printf("\n");
    return RUN_OK;
}

COMMAND(tile_random, "SEED", "prints a random tile program", print_random);
