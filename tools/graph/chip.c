/* SPDX-License-Identifier: MIT
 *
 * The chip that the firmware's planner asks about, on the host: numbers of a profile from the
 * contract's tables instead of registers.
 */
#include "hal/chip.h"

#include "tools/graph/trial.h"

static struct {
    enum npu_profile profile;
    unsigned cores;
} chip = {PROFILE_a2, 1};

void trial_chip(enum npu_profile profile, unsigned cores)
{
    chip.profile = profile;
    chip.cores = cores;
}

unsigned chip_cores(void)
{
    return chip.cores;
}

enum npu_profile chip_profile(void)
{
    return chip.profile;
}

enum npu_timing chip_timing(void)
{
    return TIMING_v2;
}

uint32_t chip_cost(enum npu_cost cost)
{
    return npu_profile_cost(chip.profile, TIMING_v2, cost);
}

uint32_t chip_mem(enum npu_mem mem)
{
    return npu_mem_size(chip.profile, mem);
}
