/* SPDX-License-Identifier: MIT
 *
 * The chip that the firmware's planner asks about, on the host: numbers of a profile from the
 * contract's tables instead of registers.
 */
#include "hal/chip.h"

#include <stdlib.h>

#include "kernels/tile/tile.h"
#include "tools/graph/price/trial.h"

static enum npu_profile profile = PROFILE_a2;

void trial_chip(enum npu_profile of)
{
    profile = of;
}

/* What a program takes on one core is what is compared. */
unsigned chip_cores(void)
{
    return 1;
}

enum npu_profile chip_profile(void)
{
    return profile;
}

enum npu_timing chip_timing(void)
{
    return TIMING_v2;
}

uint32_t chip_cost(enum npu_cost cost)
{
    return npu_profile_cost(profile, TIMING_v2, cost);
}

uint32_t chip_mem(enum npu_mem mem)
{
    return npu_mem_size(profile, mem);
}

/* --- what some of the planner's files have for runs, of which there are none here --- */

uintptr_t task_window;
struct pipe_port *task_ports;

unsigned task_core(void)
{
    abort();
}

unsigned task_blocks(void)
{
    abort();
}

void task_block_on(unsigned sem, unsigned count, const char *where)
{
    (void)sem, (void)count, (void)where;
    abort();
}

int task_wait_room(enum pipe pipe, unsigned slots, uint64_t cycle)
{
    (void)pipe, (void)slots, (void)cycle;
    abort();
}

void *chip_local(unsigned core, enum npu_mem mem, uint32_t offset)
{
    (void)core, (void)mem, (void)offset;
    abort();
}
