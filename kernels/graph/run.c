/* SPDX-License-Identifier: MIT
 *
 * Steps of a plan, made ready and computed; see run.h.
 */
#include "kernels/graph/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "sched/measure.h"

void *graph_at(const struct graph_run *run, uint32_t tensor)
{
    const struct plan_tensor *t = &run->plan.tensor[tensor];

    return (t->place == PLAN_CONSTANT ? run->file : run->arena) + t->at;
}

enum run_status graph_refuse(const struct graph_run *run, const struct plan_step *s,
                             const char *why)
{
    fprintf(stderr, "graph: %s: step %s: %s\n", run->path,
            plan_text(&run->plan, s->nodes), why);
    return RUN_INPUT;
}

enum run_status graph_prepare(struct graph_run *run)
{
    uint32_t n = run->plan.head->n_steps;
    enum run_status status = RUN_OK;

    run->job = calloc(n ? n : 1, sizeof(*run->job));
    if (!run->job) {
        fprintf(stderr, "graph: %s: no memory for its steps\n", run->path);
        return RUN_INPUT;
    }
    for (uint32_t i = 0; i < n && status == RUN_OK; i++) {
        struct graph_job *job = &run->job[i];
        const char *op = plan_text(&run->plan, run->plan.step[i].op);
        job->step = &run->plan.step[i];
        status = !*op                      ? graph_program(run, job)
                 : strcmp(op, "move") == 0 ? graph_copy(run, job)
                                           : graph_operator(run, job);
    }
    return status == RUN_OK ? graph_bind(run) : status;
}

void graph_free(struct graph_run *run)
{
    for (uint32_t i = 0; run->job && i < run->plan.head->n_steps; i++) {
        if (run->job[i].free) {
            run->job[i].free(run->job[i].arg);
        }
    }
    free(run->job);
    graph_free_programs(run);
}

/* --- launches --- */

/* The step that runs, for what went wrong in it. */
static struct graph_job *now;
static bool cold;

static void stay(void *arg)
{
    struct graph_job *job = arg;

    if (job->begin == 0) { /* the first block; all have ended the step before */
        if (cold) {
            chip_l2_empty();
        }
        now = job;
        job->begin = chip_cycle();
    }
    job->kernel(job->arg);
}

/* The first n of `jobs`, none of which launches by itself. */
static int launch_steps(const struct graph_run *run, struct graph_job *jobs, uint32_t n,
                        struct sched_report *report)
{
    void **args = malloc(n * sizeof(*args));
    struct steps steps = {.args = args, .room = n, .n = n};
    int err;

    if (!args) {
        report->text[0] = 0;
        return ERR_NOMEM;
    }
    for (uint32_t i = 0; i < n; i++) {
        args[i] = &jobs[i];
        jobs[i].begin = 0;
    }
    err = launch(
        &(struct launch){
            .name = "graph", .kernel = stay, .cores = run->cores, .steps = &steps},
        report);
    free(args);
    return err;
}

/* How many of the jobs from i on are one launch. */
static uint32_t together(const struct graph_run *run, uint32_t i)
{
    uint32_t n = 1;

    while (!run->separate && run->job[i].kernel && i + n < run->plan.head->n_steps &&
           run->job[i + n].kernel) {
        n++;
    }
    return n;
}

static enum run_status failed(const struct graph_run *run, int err,
                              struct sched_report *report)
{
    if (err == ERR_FAULT && now->tile) {
        tile_tell_line(now->tile, report);
    }
    return (enum run_status)report_error(plan_text(&run->plan, now->step->nodes), err,
                                         report);
}

/* Those of a launch are apart where each begins. */
static void take_cycles(struct graph_job *job, uint32_t n, uint64_t begin, uint64_t end)
{
    if (!job[0].kernel) {
        job[0].begin =
            begin; /* of a launch of its own all; of others the price is apart */
    }
    for (uint32_t i = 0; i < n; i++) {
        job[i].cycles = (i + 1 < n ? job[i + 1].begin : end) - job[i].begin;
    }
}

enum run_status graph_compute(struct graph_run *run)
{
    static struct sched_report report; /* too large for a stack */

    run->launches = 0;
    run->cycles = 0;
    cold = run->cold;
    for (uint32_t i = 0, n; i < run->plan.head->n_steps; i += n) {
        struct graph_job *job = &run->job[i];
        uint64_t begin = chip_cycle_begins(), end;
        int err;
        n = together(run, i);
        now = job;
        if (cold && !job->kernel) {
            chip_l2_empty();
        }
        err = job->kernel ? launch_steps(run, job, n, &report)
                          : job->run(job->arg, &report);
        if (err) {
            return failed(run, err, &report);
        }
        end = chip_cycle();
        take_cycles(job, n, begin, end);
        run->cycles += end - begin;
        run->launches++;
        if (run->ended && n == 1 && run->ended(run, job->step) != RUN_OK) {
            return RUN_INPUT;
        }
    }
    return RUN_OK;
}
