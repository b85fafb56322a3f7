/* SPDX-License-Identifier: MIT
 *
 * Steps; see run.h. A tile program is planned for the sizes of its tensors, an operator is
 * called as from a command line, with tensors of the plan in place of files.
 */
#include "kernels/graph/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/line.h"
#include "kernels/cli/report.h"
#include "kernels/tile/text.h"
#include "kernels/tile/tile.h"

enum { ARENA_BYTES = 4 << 20, WORDS = 32 };

void *graph_at(const struct graph_run *run, uint32_t tensor)
{
    const struct plan_tensor *t = &run->plan.tensor[tensor];

    return (t->place == PLAN_CONSTANT ? run->file : run->arena) + t->at;
}

static int refuse(const struct graph_run *run, const struct plan_step *s, const char *why)
{
    fprintf(stderr, "graph: %s: step %s: %s\n", run->path,
            plan_text(&run->plan, s->nodes), why);
    return ERR_ARG;
}

/* --- tile programs --- */

/* The program's dimensions are those of the tensor that have more than one element. */
static bool sizes(struct tile_kernel *k, const struct tile_tensor *t,
                  const struct plan_tensor *of)
{
    unsigned at = 0;

    if (t->type != of->type) {
        return false;
    }
    for (unsigned d = 0; d < of->rank; d++) {
        if (of->size[d] == 1) {
            continue;
        }
        if (at == t->rank || tile_set_size(k, t->dim[at++], of->size[d]) != 0) {
            return false;
        }
    }
    return at == t->rank;
}

static int program(const struct graph_run *run, const struct plan_step *s,
                   struct tile_arena *arena)
{
    const char *text = plan_text(&run->plan, s->text);
    static struct sched_report report; /* too large for a stack */
    struct tile_call call = {0};
    struct tile_error error;
    struct tile_plan *plan;
    char line[2 * TILE_TEXT_BYTES];
    struct tile_kernel *k = tile_parse(arena, text, strlen(text), NULL, &error);
    bool fits = k && k->n_params == s->n_in && k->n_results == s->n_out;
    int err;

    for (unsigned i = 0; fits && i < s->n_in; i++) {
        fits = sizes(k, &k->param[i], &run->plan.tensor[s->in[i]]);
        call.in[i] = graph_at(run, s->in[i]);
    }
    for (unsigned i = 0; fits && i < s->n_out; i++) {
        fits = sizes(k, &k->result[i].tensor, &run->plan.tensor[s->out[i]]);
        call.out[i] = graph_at(run, s->out[i]);
    }
    if (k && !fits) {
        return refuse(run, s, "its program is not for these tensors");
    }
    if (k) {
        k->file = plan_text(&run->plan, s->nodes);
    }
    err = k ? tile_plan(&plan, k, run->cores, arena, &error) : ERR_ARG;
    if (err) {
        tile_error_print(line, sizeof(line), plan_text(&run->plan, s->nodes), &error);
        return refuse(run, s, line);
    }
    err = tile_run(plan, &call, &report);
    return err ? report_error("graph", err, &report) : 0;
}

static int run_program(const struct graph_run *run, const struct plan_step *s)
{
    struct tile_arena arena = {.base = malloc(ARENA_BYTES), .size = ARENA_BYTES};
    int err =
        arena.base ? program(run, s, &arena) : refuse(run, s, "no memory to plan it");

    free(arena.base);
    return err;
}

/* --- operators --- */

static struct tensor tensor_of(const struct graph_run *run, uint32_t number)
{
    const struct plan_tensor *p = &run->plan.tensor[number];
    struct tensor t = {.type = (enum type)p->type,
                       .ndim = p->rank,
                       .count = plan_count(p),
                       .data = graph_at(run, number),
                       .path = plan_text(&run->plan, p->name)};

    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        t.shape[d] = d < p->rank ? p->size[d] : 1;
    }
    return t;
}

/* Operands of the call as the operator wants them, results as it makes them. */
static int tensors(const struct graph_run *run, const struct plan_step *s,
                   const struct line *line, struct op_call *call)
{
    io_rows rows = (io_rows)((UINT64_C(1) << line->io.n_rows) - 1);
    struct io_sizes known = {0};
    int err = 0;

    if (s->n_in > line->io.n_in || s->n_out != line->io.n_out) {
        return refuse(run, s, "more operands than the operator has");
    }
    for (unsigned i = 0; i < s->n_in && !err; i++) {
        call->in[i] = tensor_of(run, s->in[i]);
        rows = io_rows_with(&line->io, rows, i, call->in[i].type);
        err = io_note(line->op->name, &line->io, &known, i, &call->in[i]);
    }
    for (unsigned i = 0; i < s->n_out && !err; i++) {
        struct tensor want = tensor_of(run, s->out[i]), *t = &call->out[i];
        rows = io_rows_with(&line->io, rows, line->io.n_in + i, want.type);
        *t = want;
        err = io_shape(line->op->name, &line->io, &known, line->io.n_in + i, t);
        err = !err && line->op->shape ? line->op->shape(call, i, t) : err;
        err = err ? err : io_count(line->op->name, &line->io, line->io.n_in + i, t);
        if (!err && t->count != want.count) {
            err = refuse(run, s, "the operator's result has another size");
        }
    }
    return err ? err : rows == 0 ? refuse(run, s, "types that the operator has not") : 0;
}

static int run_operator(const struct graph_run *run, const struct plan_step *s)
{
    const struct opdesc *op = op_find(plan_text(&run->plan, s->op));
    static struct sched_report report;
    char *words = strdup(plan_text(&run->plan, s->text)), *argv[WORDS + 1], *rest = words;
    struct op_call call;
    struct line line;
    int argc = 1, err = ERR_ARG;

    argv[0] = (char *)(uintptr_t)plan_text(&run->plan, s->op);
    for (char *w; words && argc < WORDS && (w = strtok_r(rest, " ", &rest)) != NULL;) {
        argv[argc++] = w;
    }
    argv[argc] = NULL;
    if (op && op->run && words) {
        err = line_parse(op, argc, argv, &line, &call);
        call.cores = run->cores;
        err = err ? err : tensors(run, s, &line, &call);
        err = !err && op->prepare ? op->prepare(&call) : err;
        if (!err) {
            err = op->run(&call, &report);
            err = err ? report_error(op->name, err, &report) : 0;
        }
        for (unsigned i = 0; i < OP_WORK; i++) {
            free(call.work[i]);
        }
    } else {
        (void)refuse(run, s, "this image has no such operator");
    }
    free(words);
    return err;
}

static int run_copy(const struct graph_run *run, const struct plan_step *s)
{
    static struct sched_report report;
    int err = graph_copy(run, s, &report);

    return err == ERR_FORMAT  ? refuse(run, s, "its copies are not for these tensors")
           : err == ERR_NOMEM ? refuse(run, s, "no memory for its copies")
           : err              ? report_error("graph", err, &report)
                              : 0;
}

int graph_step(struct graph_run *run, uint32_t step)
{
    const struct plan_step *s = &run->plan.step[step];

    return !s->op                                              ? run_program(run, s)
           : strcmp(plan_text(&run->plan, s->op), "move") == 0 ? run_copy(run, s)
                                                               : run_operator(run, s);
}
