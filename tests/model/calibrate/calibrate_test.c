/* SPDX-License-Identifier: MIT
 *
 * No row of published against modelled cycles is further off than it was; calibrate.h.
 */
#include "tests/model/calibrate/calibrate.h"
#include "tests/test.h"

static void within(const struct row *row, double cycles, double error)
{
    ok(error <= row->accepted && -error <= row->accepted,
       "calibrate/%s: %.0f cycles, published %.1f", row->what, cycles, row->published);
}

TEST(calibrate, published_cycles)
{
    calibrate(within);
}
