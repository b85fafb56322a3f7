/* SPDX-License-Identifier: MIT
 *
 * Performance counters; see pmu.h.
 */
#include "hal/pmu.h"
#include "hal/mmio.h"

static unsigned starts;

void pmu_start(unsigned core)
{
    starts++;
    write64(core_base(core) + CORE_CTRL, CORE_CTRL_PMU);
}

uint64_t pmu_read(unsigned core, enum pipe pipe, enum pmu_counter counter)
{
    return read64(pipe_base(core, pipe) + counter);
}

unsigned pmu_starts(void)
{
    return starts;
}

uint64_t pmu_first(unsigned core)
{
    return pmu_last(core) ? read64(core_base(core) + PMU_FIRST) : 0;
}

uint64_t pmu_last(unsigned core)
{
    return read64(core_base(core) + PMU_LAST);
}

uint64_t pmu_span(unsigned core)
{
    uint64_t first = pmu_first(core), last = pmu_last(core);

    return last > first ? last - first : 0;
}

uint64_t pmu_event(unsigned core, unsigned selector, enum pmu_event event)
{
    write64(core_base(core) + PMU_SELECT + 8 * selector, event);
    return read64(core_base(core) + PMU_COUNT + 8 * selector);
}
