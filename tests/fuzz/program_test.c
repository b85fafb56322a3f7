/* SPDX-License-Identifier: MIT
 *
 * The fuzzer's programs from fixed inputs, the same on every run.
 */
#include "tests/fuzz/fuzz.h"
#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

TEST(fuzz, fixed_inputs)
{
    unsigned inputs = 1500 * test_times, missed = 0;
    uint8_t data[1024];

    for (unsigned i = 0; i < inputs; i++) {
        noise(data, sizeof(data));
        fuzz_program_input(data, sizeof(data));
    }
    ok(true, "fuzz/survives_%u_fixed_inputs", inputs);
    for (unsigned op = 0; op < CMD_OPCODES; op++) {
        if (cmd_find(op) && fuzz_completed[op] == 0) {
            test_note("%s was never completed", cmd_find(op)->name);
            missed++;
        }
    }
    ok(missed == 0, "fuzz/reaches_the_arithmetic_of_every_command");
}
