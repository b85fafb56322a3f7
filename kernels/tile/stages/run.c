/* SPDX-License-Identifier: MIT
 *
 * A plan on the machine: one launch that plays its stages one behind the other; see tile.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/attention/attention.h"
#include "kernels/tile/convolution/windows.h"
#include "kernels/tile/gather/gather.h"
#include "kernels/tile/product/prologue.h"
#include "kernels/tile/softmax/softmax.h"
#include "kernels/tile/tile.h"
#include "sched/launch.h"

struct tile_step {
    const struct tile_plan *t;
    const struct stage_run *run;
    struct tile_call call;
};

/* How a stage of each kind runs. */
static const struct stage_run *run_of(const struct tile_plan *t)
{
    static const struct stage_run *const runs[] = {
        &tiles_run, &product_run, &windows_run, &gather_run, &rows_run, &loop_run};
    unsigned i = 0;

    while (runs[i]->kind != t->kind) {
        i++;
    }
    return runs[i];
}

static void *address(const struct origin *o, const struct tile_call *call, char *scratch)
{
    char *base = o->of == OF_PARAM    ? (char *)(uintptr_t)call->in[o->index]
                 : o->of == OF_RESULT ? call->out[o->index]
                                      : scratch;

    return base + o->bytes;
}

/* Whether a stage reads a parameter of the call that lies there. */
static bool reads(const struct tile_plan *t, const struct tile_call *call, const void *at)
{
    bool does = false;

    for (; t; t = t->operand) {
        for (unsigned i = 0; i < t->k->n_params; i++) {
            does |= t->in[i].of == OF_PARAM && call->in[t->in[i].index] == at;
        }
    }
    return does;
}

/* A result that was written in the place of a parameter which is still wanted. */
static bool is_overwritten(const struct tile_plan *plan, const struct tile_call *call)
{
    bool bad = false;

    for (const struct tile_plan *t = plan; t; t = t->next) {
        bool again = t->kind->stores_again && t->kind->stores_again(t);
        for (const struct tile_plan *u = again ? t : t->next; u; u = u->next) {
            for (unsigned r = 0; r < t->k->n_results; r++) {
                bad |= t->out[r].of == OF_RESULT &&
                       reads(u, call, call->out[t->out[r].index]);
            }
        }
    }
    return bad;
}

/* For debuggers: the stage that is played, or NULL. */
const struct tile_plan *tile_played;

/* One stage after the other; what a stage reads has been written by all cores. */
void tile_kernel(void *arg)
{
    const struct tile_step *r = arg;

    for (unsigned i = 0; r[i].t; i++) {
        if (i && task_blocks() > 1) {
            task_barrier();
        }
        tile_played = r[i].t;
        r[i].run->play(r[i].t);
        if (r[i + 1].t && r[i + 1].run->prepare) { /* while the last commands are running */
            r[i + 1].run->prepare(r[i + 1].t);
        }
        if (r[i].run->finish) {
            r[i].run->finish(r[i].t);
        }
    }
}

/* A command's tag is the line that it is of. */
void tile_tell_line(const struct tile_plan *plan, struct sched_report *report)
{
    const struct tile_kernel *k = plan->k;
    size_t at = strlen(report->text);
    uint16_t line = (uint16_t)report->fault.tag;

    if (k->file && line) {
        snprintf(report->text + at, sizeof(report->text) - at, "\n  of %s:%u", k->file,
                 line);
    }
}

unsigned tile_cores(const struct tile_plan *plan)
{
    unsigned cores = 1;

    for (const struct tile_plan *t = plan; t; t = t->next) {
        cores = t->cores > cores ? t->cores : cores;
    }
    return cores;
}

uint64_t tile_scratch(const struct tile_plan *plan)
{
    return plan->scratch;
}

/* Of the whole program: behind the last dot of a stage's. */
static const char *program_name(const struct tile_plan *plan)
{
    const char *dot = strrchr(plan->name, '.');

    return dot ? dot + 1 : plan->name;
}

/* The tensors of a stage, *own, in a call of the whole. */
static void place_tensors(const struct tile_plan *t, struct tile_call *own,
                          const struct tile_call *call, char *scratch)
{
    for (unsigned i = 0; i < t->k->n_params; i++) {
        own->in[i] = address(&t->in[i], call, scratch);
    }
    for (unsigned i = 0; i < t->k->n_results; i++) {
        own->out[i] = address(&t->out[i], call, scratch);
    }
}

/* Addresses of a call, of all stages behind one another. */
static int bind(struct tile_step *r, const struct tile_plan *plan,
                const struct tile_call *call, char *scratch, struct sched_report *report)
{
    int err = 0;

    if (is_overwritten(plan, call)) {
        snprintf(report->text, sizeof(report->text),
                 "%s: a result in the place of a parameter is stored more than once",
                 program_name(plan));
        return ERR_ARG;
    }
    for (const struct tile_plan *t = plan; t && !err; t = t->next, r++) {
        *r = (struct tile_step){.t = t, .run = run_of(t)};
        place_tensors(t, &r->call, call, scratch);
        err = r->run->bind(t, &r->call, report);
        if (!err && t->operand) {
            struct tile_call own = {0};
            place_tensors(t->operand, &own, call, scratch);
            err = operand_run.bind(t->operand, &own, report);
        }
    }
    r->t = NULL;
    return err;
}

struct tile_step *tile_step(const struct tile_plan *plan, struct tile_arena *arena)
{
    struct tile_step *step;
    unsigned n = 1;

    for (const struct tile_plan *t = plan; t; t = t->next) {
        n++;
    }
    step = tile_alloc(arena, n * sizeof(*step));
    if (step) {
        step->t = plan;
    }
    return step;
}

int tile_step_bind(struct tile_step *step, const struct tile_call *call, void *scratch,
                   struct sched_report *report)
{
    report->text[0] = 0;
    return bind(step, step->t, call, scratch, report);
}

int tile_run(const struct tile_plan *plan, const struct tile_call *call,
             struct sched_report *report)
{
    struct tile_step step[PLAN_STAGES + 1];
    char *scratch = plan->scratch ? malloc(plan->scratch) : NULL;
    int err;

    if (plan->scratch && scratch == NULL) {
        snprintf(report->text, sizeof(report->text), "%s: no memory for %llu bytes",
                 program_name(plan), (unsigned long long)plan->scratch);
        return ERR_NOMEM;
    }
    err = bind(step, plan, call, scratch, report);
    if (!err) {
        err = launch(&(struct launch){.name = program_name(plan),
                                      .kernel = tile_kernel,
                                      .arg = step,
                                      .cores = tile_cores(plan)},
                     report);
        tile_played = NULL;
    }
    if (err == ERR_FAULT) {
        tile_tell_line(plan, report);
    }
    free(scratch);
    return err;
}
