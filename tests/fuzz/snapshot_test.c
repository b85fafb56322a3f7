/* SPDX-License-Identifier: MIT
 *
 * Damaged snapshots from fixed inputs, the same on every run.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/host/data.h"
#include "tests/test.h"

TEST(fuzz, damaged_snapshots)
{
    unsigned inputs = 500 * test_times;
    uint8_t data[768];

    for (unsigned i = 0; i < inputs; i++) {
        noise(data, sizeof(data));
        fuzz_snapshot_input(data, sizeof(data));
    }
    ok(true, "fuzz/survives_%u_damaged_snapshots", inputs);
    ok(fuzz_refused > inputs / 3, "fuzz/refuses_many_of_them");
    ok(fuzz_taken > inputs / 20, "fuzz/runs_on_with_the_others");
}
