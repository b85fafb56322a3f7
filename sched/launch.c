/* SPDX-License-Identifier: MIT
 *
 * Launches; see launch.h. One task per core takes block after block, so the work spreads
 * by itself over cores that are faster or begin earlier.
 */
#include "sched/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/hint.h"
#include "hal/irq.h"
#include "hal/sem.h"
#include "sched/task.h"
#include "sched/tque.h"

/* The barrier unit of launches; it works only while all blocks run at once. */
#define BARRIER_UNIT (ROW_CHIP_BARRIER - 1)
/* Semaphores that are left over: of how many the history is told. */
#define TOLD 3

struct run {
    const struct launch *l;
    unsigned next, blocks;
};

static bool all_at_once;

static void set_barrier(unsigned blocks, unsigned cores)
{
    uint32_t mask = blocks < 32 ? (1u << blocks) - 1 : UINT32_MAX;

    all_at_once = blocks != 0 && blocks <= cores;
    barrier_set(BARRIER_UNIT, LAUNCH_ARRIVE, all_at_once ? blocks : 0, LAUNCH_GO,
                all_at_once ? mask : 0);
}

void task_barrier_at(const char *where)
{
    if (!all_at_once) {
        task_fail(ERR_BARRIER, where, "%u blocks", task_blocks());
    }
    task_post_at(LAUNCH_ARRIVE, 1, where);
    task_wait_at(LAUNCH_GO, 1, where);
}

/* As left_behind, at once where nothing is, which is so after nearly every block. */
static unsigned left_on(unsigned core, unsigned first, char *text, size_t size)
{
    if (!core_busy(core) && sem_all_zero(core, first)) {
        report_forget_posts(core, first + SEM_CORE);
        return 0;
    }
    return left_behind(core, first + SEM_CORE, TOLD, text, size);
}

static bool owes(unsigned core)
{
    const struct pipe_port *port = pipe_ports[core];
    uint32_t any = task_owed_posts >> core & 1;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        any |= port[p].owed;
    }
    return any != 0;
}

static void check_block(const struct launch *l)
{
    unsigned core = task_core(), found;
    char left[SCHED_TEXT / 2];

    wait_leave_faults(running);
    while (irq_fault(core)) {
        task_yield(); /* the scheduler tells that, rather than what it has left */
    }
    left[0] = 0;
    found = owes(core) ? report_owed(core, left, sizeof(left)) : 0; /* queues are known */
    found += tpipe_leftovers(core, left, sizeof(left));
    found += left_on(core, 0, left, sizeof(left));
    if (found) {
        char which[24] = "";
        if (l->steps) {
            snprintf(which, sizeof(which), "step %u, ", running->step);
        }
        task_fail(ERR_LEFT, l->name, "%sblock %u: %s", which, task_block(), left);
    }
}

/* The semaphores of the chip belong to all blocks. */
static int check_chip(const struct launch *l, struct sched_report *report)
{
    char left[SCHED_TEXT / 2];

    left[0] = 0;
    if (left_on(0, SEM_CORE, left, sizeof(left)) == 0) {
        return 0;
    }
    snprintf(report->text, sizeof(report->text), "%s: %s\n  %s", l->name,
             err_text(ERR_LEFT), left);
    sched_drop();
    return ERR_LEFT;
}

/* Whatever the kernel has told about the task in the block before holds no longer. */
static void begin_block(void)
{
    if (running->priority != TASK_NORMAL) {
        sched_prioritise(TASK_NORMAL);
    }
    wait_leave_faults(running);
    running->tag = running->tag >> TAG_BITS << TAG_BITS;
}

static void end_block(const struct run *r)
{
    running->leave = NULL;
    if (running->children) {
        task_join_all();
    }
    task_drain();
    check_block(r->l);
    if (r->l->steps && r->blocks > 1) {
        task_barrier(); /* all blocks are in the same step */
    }
}

/* The next step of the block that the task is in, or the next block: the argument in
 * *arg. False: there is none. */
static bool next_block(struct run *r, void **arg)
{
    const struct steps *steps = r->l->steps;

    if (steps && running->block < r->blocks && ++running->step < steps->n) {
        *arg = steps->args[running->step];
        return true;
    }
    running->block = r->next;
    running->step = 0;
    *arg = steps && steps->n ? steps->args[0] : r->l->arg;
    return r->next++ < r->blocks && (steps == NULL || steps->n);
}

int steps_add(struct steps *steps, void *arg)
{
    if (steps->n >= steps->room) {
        return ERR_OVERFLOW;
    }
    steps->args[steps->n++] = arg;
    return 0;
}

unsigned task_step(void)
{
    return running->step;
}

/* Also task_exit comes back here, to behind the kernel: `leave` is set once, for all
 * blocks, and what it brings back is only what lies in memory. The compiler's setjmp needs no
 * library. */
static void run_blocks(void *arg)
{
    struct run *volatile r = arg;
    void *leave[5], *block_arg;

    running->blocks = r->blocks;
    running->block = r->blocks; /* in none */
    if (__builtin_setjmp(leave) != 0) {
        end_block(r);
    }
    while (next_block(r, &block_arg)) {
        begin_block();
        running->leave = leave;
        r->l->kernel(block_arg);
        end_block(r);
    }
}

/* What ran before must not show in the cycles of a launch: in what the hart knows of
 * lines, nor in when it begins, which a longer path on the command line moves. */
static void begin_anew(unsigned cores)
{
    irq_forget();
    chip_share(cores, true);
    chip_align();
}

static int run_launch(const struct launch *l, unsigned cores, struct sched_report *report)
{
    struct run r = {.l = l, .blocks = l->blocks ? l->blocks : cores};
    int err = 0;

    set_barrier(r.blocks, cores);
    for (unsigned c = 0; c < cores && c < r.blocks && !err; c++) {
        err = task_create(l->name, c, run_blocks, &r);
    }
    if (err) {
        sched_drop();
        return err;
    }
    sched_limit(l->name, l->limit);
    /* Once more, since what has been set up may depend on the slots in use; and the scalar
     * units begin here, in one instruction of a cycle, whichever it was before. */
    chip_align();
    chip_share(chip_shared(), false);
    chip_align();
    err = sched_run(report);
    set_barrier(0, 0);
    return err ? err : check_chip(l, report);
}

/* Copies of what is to be kept, one behind the other; NULL: no memory. */
static char *copy_kept(const struct launch *l)
{
    size_t bytes = 0;
    char *copy, *to;

    for (unsigned i = 0; i < l->n_keep; i++) {
        bytes += l->keep[i].bytes;
    }
    to = copy = malloc(bytes ? bytes : 1);
    for (unsigned i = 0; copy && i < l->n_keep; to += l->keep[i++].bytes) {
        memcpy(to, l->keep[i].data, l->keep[i].bytes);
    }
    return copy;
}

static void put_back(const struct launch *l, const char *copy)
{
    for (unsigned i = 0; i < l->n_keep; copy += l->keep[i++].bytes) {
        memcpy(l->keep[i].data, copy, l->keep[i].bytes);
    }
}

/* Whether the hardware may have failed, and not the caller. */
static bool worth_retrying(int err)
{
    return err == ERR_FAULT || err == ERR_DEADLOCK || err == ERR_LATE ||
           err == ERR_LEFT || err == ERR_SEM;
}

static int run_with_retries(const struct launch *l, unsigned cores,
                            struct sched_report *report)
{
    char *copy = l->retry ? copy_kept(l) : NULL;
    unsigned retried = 0;
    int err;

    if (l->retry && copy == NULL) {
        return ERR_NOMEM;
    }
    err = run_launch(l, cores, report);
    while (retried < l->retry && worth_retrying(err)) {
        static char text[SCHED_TEXT];

        memcpy(text, report->text, sizeof(text));
        put_back(l, copy);
        err = run_launch(l, cores, report);
        retried++;
        if (err == 0) {
            memcpy(report->text, text, sizeof(text));
        }
    }
    report->retried = retried;
    free(copy);
    return err;
}

int launch(const struct launch *l, struct sched_report *report)
{
    unsigned cores = l->cores ? l->cores : chip_cores();
    int err;

    report->text[0] = 0;
    report->retried = 0;
    if (running) {
        snprintf(report->text, sizeof(report->text), "%s: launched by task %s", l->name,
                 running->name);
        return ERR_BUSY;
    }
    if (cores > chip_cores()) {
        snprintf(report->text, sizeof(report->text), "%s: %s: %u wanted, %u there",
                 l->name, err_text(ERR_CORES), cores, chip_cores());
        return ERR_CORES;
    }
    if (l->steps && l->blocks > cores) {
        snprintf(report->text, sizeof(report->text), "%s: steps of %u blocks on %u cores",
                 l->name, l->blocks, cores);
        return ERR_BARRIER;
    }
    hint_name(HINT_BEGIN, l->name);
    measure_call();
    begin_anew(l->blocks && l->blocks < cores ? l->blocks : cores);
    measure_enter();
    err = run_with_retries(l, cores, report);
    measure_return();
    chip_share(chip_cores(), false);
    hint_name(HINT_END, l->name);
    return err;
}
