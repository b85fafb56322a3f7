/* SPDX-License-Identifier: MIT
 *
 * The operator `test`, which runs what TEST() has registered on the target.
 */
#include "kernels/cli/op.h"
#include "tests/target/test.h"

static int run(int argc, char **argv)
{
    static const int status[] = {RUN_OK, RUN_CHECK, RUN_INPUT};

    return status[test_main(argc, argv)];
}

COMMAND(
    test, "[--list] [--any-timing] [--brief] [--long] [PART]...",
    "runs the self-tests with a part in their name or file, but with --any-timing "
    "not those of cycles, with --brief not those of many shapes, and with --long those "
    "that last",
    run);
