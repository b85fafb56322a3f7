/* SPDX-License-Identifier: MIT
 *
 * The program of the tests on the host: host-tests [--list] [--times N] [PART]...
 */
#include <stdio.h>
#include "tests/test.h"

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* a crash takes no line with it */
    return test_main(argc, argv);
}
