/* SPDX-License-Identifier: MIT
 *
 * Plans of models: sound ones are taken, and what is damaged is refused or read without harm.
 */
#include <string.h>

#include "kernels/graph/plan.h"
#include "tests/fuzz/plan.h"
#include "tests/host/data.h"
#include "tests/test.h"

TEST(plan, sound_ones_are_taken)
{
    for (uint8_t i = 0; i < FUZZ_PLANS; i++) {
        unsigned copies;
        const char *why = fuzz_plan(&i, 1, &copies);
        ok(!why, "plan/sound_%u_is_taken", i);
    }
}

TEST(plan, damage_is_survived)
{
    unsigned n = 20000 * test_times, taken = 0, copied = 0;
    uint8_t edits[1 + 3 * 4];

    for (unsigned i = 0; i < n; i++) {
        size_t size = 1 + 3 * (1 + rnd() % 4);
        unsigned copies;
        for (size_t k = 0; k < size; k++) {
            edits[k] = (uint8_t)(k % 3 == 2 ? rnd() % 6 : rnd()); /* where: near */
        }
        taken += !fuzz_plan(edits, size, &copies);
        copied += copies;
    }
    test_note("%u of %u are taken, %u copy", taken, n, copied);
    ok(taken != 0 && taken < n && copied != 0, "plan/survives_%u_damages", n);
}
