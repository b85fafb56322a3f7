/* SPDX-License-Identifier: MIT
 *
 * Steps that are tile programs, planned for the sizes of their tensors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/report.h"
#include "kernels/graph/run.h"
#include "kernels/tile/text/text.h"

/* Plans lie in rooms of memory, one behind the other: each may want TILE_ARENA_BYTES while it
 * is made, and keeps little of them. */
enum { ROOM_BYTES = 4 * TILE_ARENA_BYTES };
struct graph_room {
    struct graph_room *next;
    size_t used;
    _Alignas(16) char bytes[ROOM_BYTES];
};

struct planned {
    struct tile_plan *plan;
    struct tile_call call;
    struct tile_step *step;
};

/* Memory for a plan; no base: there is none. */
static struct tile_arena arena_of(struct graph_run *run)
{
    struct graph_room *room = run->room;

    if (!room || ROOM_BYTES - room->used < TILE_ARENA_BYTES) {
        room = malloc(sizeof(*room));
        if (!room) {
            return (struct tile_arena){0};
        }
        room->next = run->room;
        room->used = 0;
        run->room = room;
    }
    return (struct tile_arena){.base = room->bytes + room->used,
                               .size = TILE_ARENA_BYTES};
}

/* The program's dimensions are those of the tensor that have more than one element. */
static bool sizes(struct tile_kernel *k, const struct tile_tensor *t,
                  const struct plan_tensor *of)
{
    return t->type == of->type && tile_set_shape(k, t, of->size, of->rank) == 0;
}

/* The program with its sizes; NULL after one line. */
static struct tile_kernel *program(struct graph_run *run, const struct plan_step *s,
                                   struct tile_call *call, struct tile_arena *arena,
                                   struct tile_error *error)
{
    const char *text = plan_text(&run->plan, s->text);
    struct tile_kernel *k = tile_parse(arena, text, strlen(text), NULL, error);
    bool fits = k && k->n_params == s->n_in && k->n_results == s->n_out;

    for (unsigned i = 0; fits && i < s->n_in; i++) {
        fits = sizes(k, &k->param[i], &run->plan.tensor[s->in[i]]);
        call->in[i] = graph_at(run, s->in[i]);
    }
    for (unsigned i = 0; fits && i < s->n_out; i++) {
        fits = sizes(k, &k->result[i].tensor, &run->plan.tensor[s->out[i]]);
        call->out[i] = graph_at(run, s->out[i]);
    }
    if (k && !fits) {
        snprintf(error->text, sizeof(error->text),
                 "its program is not for these tensors");
        return NULL;
    }
    return k;
}

enum run_status graph_program(struct graph_run *run, struct graph_job *job)
{
    const char *nodes = plan_text(&run->plan, job->step->nodes);
    struct tile_arena arena = arena_of(run);
    char line[2 * TILE_TEXT_BYTES];
    struct tile_error error = {0};
    struct tile_kernel *k;
    struct planned *p;

    if (!arena.base) {
        return graph_refuse(run, job->step, "no memory to plan it: MEM=");
    }
    p = tile_alloc(&arena, sizeof(*p));
    k = program(run, job->step, &p->call, &arena, &error);
    if (k) {
        k->file = nodes;
    }
    if (!k || tile_plan(&p->plan, k, run->cores, &arena, &error) != 0) {
        tile_error_print(line, sizeof(line), nodes, &error);
        return graph_refuse(run, job->step, line);
    }
    p->step = tile_step(p->plan, &arena);
    if (!p->step) {
        return graph_refuse(run, job->step, "no memory to plan it: MEM=");
    }
    if (tile_scratch(p->plan) > run->scratch_bytes) {
        run->scratch_bytes = tile_scratch(p->plan);
    }
    run->room->used = (size_t)(arena.base - run->room->bytes) + arena.used;
    *job = (struct graph_job){
        .step = job->step, .kernel = tile_kernel, .arg = p, .tile = p->plan};
    return RUN_OK;
}

enum run_status graph_bind(struct graph_run *run)
{
    static struct sched_report report; /* too large for a stack */

    run->scratch = malloc(run->scratch_bytes ? run->scratch_bytes : 1);
    for (uint32_t i = 0; i < run->plan.head->n_steps; i++) {
        struct graph_job *job = &run->job[i];
        struct planned *p = job->arg;
        int err;
        if (!job->tile) {
            continue;
        }
        if (!run->scratch) {
            return graph_refuse(run, job->step, "no memory for parts of it: MEM=");
        }
        err = tile_step_bind(p->step, &p->call, run->scratch, &report);
        if (err) {
            return (enum run_status)report_error(plan_text(&run->plan, job->step->nodes),
                                                 err, &report);
        }
        job->arg = p->step;
    }
    return RUN_OK;
}

void graph_free_programs(struct graph_run *run)
{
    struct graph_room *next;

    for (struct graph_room *room = run->room; room; room = next) {
        next = room->next;
        free(room);
    }
    free(run->scratch);
}
