/* SPDX-License-Identifier: MIT
 *
 * Plans of models: sound ones are taken, and what is damaged is refused or read without harm.
 */
#include <string.h>

#include "hal/contract/contract.h"
#include "kernels/cli/npy.h"
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

/* What is read of a file would lie behind its end, or it is not what the model says. */
TEST(plan, files_have_elements_of_the_tensors_size)
{
    static const struct {
        uint8_t type, file;
        bool good;
    } of[] = {{TYPE_F32, NPY_F4, true},  {TYPE_S32, NPY_U1, false},
              {TYPE_S32, NPY_I8, true},  {TYPE_F32, NPY_I8, false},
              {TYPE_S32, NPY_U8, true},  {TYPE_F32, NPY_U8, false},
              {TYPE_S32, NPY_U2, true},  {TYPE_F32, NPY_U2, false},
              {TYPE_BF16, NPY_F4, true}, {TYPE_BF16, NPY_U1, false}};
    size_t at = 0x8000 + (sizeof(struct plan_header) + 7) / 8 * 8;

    for (unsigned i = 0; i < LENGTH(of); i++) {
        size_t type = at + offsetof(struct plan_tensor, type), file = type + 1;
        uint8_t edits[] = {0,          (uint8_t)type, (uint8_t)(type >> 8),
                           of[i].type, (uint8_t)file, (uint8_t)(file >> 8),
                           of[i].file};
        unsigned copies;
        const char *why = fuzz_plan(edits, sizeof(edits), &copies);
        ok(!why == of[i].good, "plan/type_%u_in_a_file_of_%u", of[i].type, of[i].file);
    }
}

/* The second size, of which all but its place is as the first, has another input. */
TEST(plan, sizes_have_the_same_inputs)
{
    size_t at = 0x8000 + (sizeof(struct plan_header) + 7) / 8 * 8 +
                4 * sizeof(struct plan_tensor) + sizeof(struct plan_step) +
                offsetof(struct plan_header, n_inputs);
    uint8_t edits[] = {FUZZ_PLANS - 1, (uint8_t)at, (uint8_t)(at >> 8), 2};
    unsigned copies;

    ok(fuzz_plan(edits, sizeof(edits), &copies) != NULL,
       "plan/sizes_have_the_same_inputs");
    edits[3] = 1;
    ok(!fuzz_plan(edits, sizeof(edits), &copies), "plan/sizes_with_the_same_inputs");
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
