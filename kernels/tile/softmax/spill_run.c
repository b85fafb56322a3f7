/* SPDX-License-Identifier: MIT
 *
 * Rows that L1 does not hold on the machine: both passes, between which cores wait for each
 * other; see spill.h.
 */
#include "kernels/tile/softmax/spill.h"
#include "sched/launch.h"

static struct spill_core *core_of(const struct rows_plan *p)
{
    struct spill_core *core = &p->spill->core[task_block()];

    return task_block() < p->stage.cores && core->chunks ? core : NULL;
}

static void label(void)
{
    static const char *const names[] = {"x",       "row in L1",   "e to sum",
                                        "e in L0", "sums in L0C", "y in L0C"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sched_label(task_core(), 2 * i + SPILL_X_FREE, names[i], "FREE");
        sched_label(task_core(), 2 * i + SPILL_X_FULL, names[i], "FULL");
    }
    sched_label(task_core(), SPILL_KEPT, "e in L1", "FULL");
    sched_label(task_core(), SPILL_DONE, "first pass", "FULL");
    sched_label(task_core(), SPILL_DIAGONAL_FREE, "1 / sum in L1", "FREE");
    sched_label(task_core(), SPILL_EXP_FULL, "e", "FULL");
    sched_label(task_core(), SPILL_MAX, "max", "FULL");
    sched_label(task_core(), SPILL_ZEROS, "zeros in L1", "FULL");
    sched_label(task_core(), SPILL_SUMMED, "sums", "FULL");
    sched_label(task_core(), SPILL_KNOWN, "1 / sum", "FULL");
}

static void wait_for_all(const struct spill_core *core)
{
    if (core) {
        task_wait(SPILL_DONE, 1);
    }
    task_barrier();
    if (core) {
        task_post(SPILL_DONE, 1);
    }
}

void spill_play(const struct rows_plan *p)
{
    struct spill_core *core = core_of(p);

    if (core) {
        label();
        for (unsigned sem = 0; sem < SPILL_SEMS; sem++) {
            unsigned units = spill_units(p->spill, sem, false);
            if (units) {
                task_post(sem, units);
            }
        }
        spill_first(p, core, NULL);
    }
    if (task_blocks() > 1) {
        wait_for_all(core);
    }
    if (core) {
        spill_second(p, core, NULL);
    }
}

void spill_finish(const struct rows_plan *p)
{
    if (core_of(p) == NULL) {
        return;
    }
    task_drain();
    for (unsigned sem = 0; sem < SPILL_SEMS; sem++) {
        unsigned units = spill_units(p->spill, sem, true);
        if (units) {
            task_wait(sem, units);
        }
    }
}
