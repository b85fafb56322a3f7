/* SPDX-License-Identifier: MIT
 *
 * `make calibrate`: published against modelled cycles as a table.
 */
#include <stdio.h>
#include "tests/model/calibrate/calibrate.h"

static void line(const struct row *row, double cycles, double error)
{
    printf("%-34s %-9s %9.1f %9.0f %+7.1f%% %8.0f%%\n", row->what, row->source,
           row->published, cycles, error, row->accepted);
}

int main(void)
{
    printf("%-34s %-9s %9s %9s %8s %9s\n", "command", "source", "published", "modelled",
           "error", "accepted");
    calibrate(line);
    return 0;
}
