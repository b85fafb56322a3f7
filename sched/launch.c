/* SPDX-License-Identifier: MIT
 *
 * Launches; see launch.h. One task per core takes block after block, so the work spreads
 * by itself over cores that are faster or begin earlier.
 */
#include "sched/launch.h"

#include <stdio.h>

#include "hal/chip.h"
#include "sched/task.h"
#include "sched/tque.h"

struct run {
    const struct launch *l;
    unsigned next, blocks;
};

static void check_block(const struct launch *l)
{
    unsigned core = task_core();
    char left[512] = "";

    if (tpipe_leftovers(core, left, sizeof(left)) +
        left_behind(core, SEM_CORE, left, sizeof(left))) {
        task_fail(ERR_LEFT, l->name, "block %u: %s", task_block(), left);
    }
}

/* The semaphores of the chip belong to all blocks. */
static int check_chip(const struct launch *l, struct sched_report *report)
{
    char left[512];

    if (sched_leftovers(0, left, sizeof(left)) == 0) {
        return 0;
    }
    snprintf(report->text, sizeof(report->text), "%s: %s\n  %s", l->name,
             err_text(ERR_LEFT), left);
    sched_drop();
    return ERR_LEFT;
}

static void run_blocks(void *arg)
{
    struct run *r = arg;

    while (r->next < r->blocks) {
        running->block = r->next++;
        running->blocks = r->blocks;
        r->l->kernel(r->l->arg);
        task_join_all();
        task_drain();
        check_block(r->l);
    }
}

int launch(const struct launch *l, struct sched_report *report)
{
    unsigned cores = l->cores ? l->cores : chip_cores();
    struct run r = {.l = l, .blocks = l->blocks ? l->blocks : cores};
    int err = 0;

    report->text[0] = 0;
    if (cores > chip_cores()) {
        snprintf(report->text, sizeof(report->text), "%s: %s: %u wanted, %u there",
                 l->name, err_text(ERR_CORES), cores, chip_cores());
        return ERR_CORES;
    }
    for (unsigned c = 0; c < cores && c < r.blocks && !err; c++) {
        (void)tpipe_leftovers(c, report->text,
                              sizeof(report->text)); /* of a failed run */
        report->text[0] = 0;
        err = task_create(l->name, c, run_blocks, &r);
    }
    if (err) {
        sched_drop();
        return err;
    }
    err = sched_run(report);
    return err ? err : check_chip(l, report);
}
