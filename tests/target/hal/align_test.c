/* SPDX-License-Identifier: MIT
 *
 * chip_align: what follows it is executed when a cycle of the engines begins, whatever
 * came before. One cycle is one instruction of the hart on a chip of one core, so there
 * is something to see only with several.
 */
#include "hal/chip.h"
#include "tests/target/test.h"

/* Instructions between the last of chip_align and the read, at most. */
#define BEHIND 4

static uint64_t hart_cycle(void)
{
    uint64_t cycle;

    __asm__ volatile("csrr %0, mcycle" : "=r"(cycle));
    return cycle;
}

static void waste(unsigned loops)
{
    for (unsigned i = 0; i < loops; i++) {
        __asm__ volatile("nop");
    }
}

TEST(align, to_a_cycle_of_the_engines)
{
    unsigned cores = chip_cores();

    for (unsigned i = 0; i < 4 * cores; i++) {
        waste(i % (cores + 1));
        chip_align();
        CHECK(hart_cycle() % cores <= BEHIND);
    }
}

TEST_CYCLES(align, agrees_with_the_chip)
{
    for (unsigned i = 0; i < 100; i++) {
        uint64_t before, after;

        waste(i);
        before = hart_cycle() / chip_cores();
        chip_align();
        after = chip_cycle();
        CHECK(after > before);
        CHECK(after <= before + 3 + 60 / chip_cores());
    }
}
