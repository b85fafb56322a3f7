/* SPDX-License-Identifier: MIT
 *
 * The watchdog of a run: set for the next one, begun with it, looked at by the scheduler
 * whenever it looks at everything.
 */
#include "hal/chip.h"
#include "sched/task.h"

static const char *name;
static uint64_t limit, end; /* cycles that the next run may take; cycle, of this one */

void sched_limit(const char *run, uint64_t cycles)
{
    name = run;
    limit = cycles;
}

void watchdog_begin(void)
{
    end = chip_cycle() + limit;
    if (limit == 0 || end < limit) {
        end = SCHED_FOREVER;
    }
}

uint64_t watchdog_end(void)
{
    return end;
}

int watchdog_check(struct sched_report *report)
{
    if (end == SCHED_FOREVER || chip_cycle() < end) {
        return 0;
    }
    report_overdue(report, name, limit);
    return ERR_LATE;
}
