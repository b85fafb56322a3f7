/* SPDX-License-Identifier: MIT
 *
 * Published and modelled cycles of the rows that need no QEMU, as CSV for tools/calibrate.
 * With arguments, those of tests/host/main.c, it is the test of them.
 */
#include <stdio.h>
#include "tests/model/calibrate/calibrate.h"
#include "tests/test.h"

static void line(const struct row *row, double cycles, double error)
{
    static const char *const bases[] = {"fitted", "typed in", "predicted"};

    (void)error;
    printf("\"%s\",%s,%s,%s,%.1f,%.0f,%.0f\n", row->what, row->source, bases[row->basis],
           npu_accuracy(row->path)->text, row->published, cycles, row->accepted);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return test_main(argc, argv);
    }
    printf("what,source,basis,path,published,modelled,accepted\n");
    calibrate(line);
    return 0;
}
