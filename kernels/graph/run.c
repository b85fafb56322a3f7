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

enum { WORDS = 32 };

void *graph_at(const struct graph_run *run, uint32_t tensor)
{
    const struct plan_tensor *t = &run->plan.tensor[tensor];

    return (t->place == PLAN_CONSTANT ? run->file : run->arena) + t->at;
}

static enum run_status refuse(const struct graph_run *run, const struct plan_step *s,
                              const char *why)
{
    fprintf(stderr, "graph: %s: step %s: %s\n", run->path,
            plan_text(&run->plan, s->nodes), why);
    return RUN_INPUT;
}

/* --- tile programs --- */

static bool sizes(struct tile_kernel *k, const struct tile_tensor *t,
                  const struct plan_tensor *of)
{
    return t->type == of->type && tile_set_shape(k, t, of->size, of->rank) == 0;
}

static enum run_status program(const struct graph_run *run, const struct plan_step *s,
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
    return err ? (enum run_status)report_error("graph", err, &report) : RUN_OK;
}

static enum run_status run_program(const struct graph_run *run, const struct plan_step *s)
{
    struct tile_arena arena = {.base = malloc(TILE_ARENA_BYTES),
                               .size = TILE_ARENA_BYTES};
    enum run_status status =
        arena.base ? program(run, s, &arena) : refuse(run, s, "no memory to plan it");

    free(arena.base);
    return status;
}

/* --- operators --- */

/* A tensor of the plan as operators have theirs. */
static struct tensor tensor_of(const struct graph_run *run, uint32_t number)
{
    const struct plan_tensor *p = &run->plan.tensor[number];
    struct tensor t = {.type = (enum type)p->type,
                       .boolean = p->file == NPY_B1,
                       .ndim = p->rank,
                       .count = plan_count(p),
                       .data = graph_at(run, number),
                       .path = plan_text(&run->plan, p->name)};

    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        t.shape[d] = d < p->rank ? p->size[d] : 1;
    }
    return t;
}

static io_rows rows_of(const struct line *line, io_rows rows, unsigned i,
                       const struct tensor *t)
{
    return io_rows_with(&line->io, rows, i, t->boolean ? (unsigned)IO_BOOL : t->type);
}

/* Operands of the call as the operator wants them, results as it makes them. NULL, or why it
 * is not for these: what is wrong with a shape has been told. */
static const char *tensors(const struct graph_run *run, const struct plan_step *s,
                           const struct line *line, struct op_call *call)
{
    io_rows rows = (io_rows)((UINT64_C(1) << line->io.n_rows) - 1);
    unsigned n_in = line->io.n_in;
    struct io_sizes known = {0};
    int err = 0;

    if (s->n_in > n_in || s->n_out != line->io.n_out ||
        (s->n_in < n_in && !line->io.operand[s->n_in].optional)) {
        return "the operator has another number of operands";
    }
    for (unsigned i = 0; i < s->n_in && !err; i++) {
        call->in[i] = tensor_of(run, s->in[i]);
        rows = rows_of(line, rows, i, &call->in[i]);
        err = io_note(line->op->name, &line->io, &known, i, &call->in[i]);
    }
    for (unsigned i = 0; i < s->n_out && !err; i++) {
        struct tensor want = tensor_of(run, s->out[i]), *t = &call->out[i];
        rows = rows_of(line, rows, n_in + i, &want);
        *t = want;
        err = io_shape(line->op->name, &line->io, &known, n_in + i, t);
        err = !err && line->op->shape ? line->op->shape(call, i, t) : err;
        err = err ? err : io_count(line->op->name, &line->io, n_in + i, t);
        if (!err && t->count != want.count) {
            return "the operator's result has another size";
        }
    }
    return err         ? "the operator does not take these shapes"
           : rows == 0 ? "the operator does not take these types"
                       : NULL;
}

/* A call that has been read: its workspaces are filled, and it runs. */
static enum run_status call_operator(const struct graph_run *run,
                                     const struct plan_step *s, const struct line *line,
                                     struct op_call *call)
{
    static struct sched_report report;
    const char *why = tensors(run, s, line, call);
    int err;

    if (why) {
        return refuse(run, s, why);
    }
    if (line->op->prepare && line->op->prepare(call) != 0) {
        return RUN_INPUT;
    }
    err = line->op->run(call, &report);
    return err ? (enum run_status)report_error(line->op->name, err, &report) : RUN_OK;
}

static enum run_status run_operator(const struct graph_run *run,
                                    const struct plan_step *s)
{
    const char *name = plan_text(&run->plan, s->op);
    const struct opdesc *op = op_find(name);
    char *words = strdup(plan_text(&run->plan, s->text)), *argv[WORDS + 1], *rest = words;
    enum run_status status = RUN_INPUT;
    struct op_call call = {0};
    struct line line;
    int argc = 1;

    op = op ? op_open(op) : NULL;
    argv[0] = (char *)(uintptr_t)name;
    for (char *w; words && argc < WORDS && (w = strtok_r(rest, " ", &rest)) != NULL;) {
        argv[argc++] = w;
    }
    argv[argc] = NULL;
    if (!op || !op->run || !words) {
        status = refuse(run, s, "this image has no such operator");
    } else if (line_parse(op, argc, argv, &line, &call) == 0) {
        call.cores = run->cores;
        status = line.n_words ? refuse(run, s, "a file is no operand of a plan")
                              : call_operator(run, s, &line, &call);
    }
    for (unsigned i = 0; i < OP_WORK; i++) {
        free(call.work[i]);
    }
    free(words);
    return status;
}

static enum run_status run_copy(const struct graph_run *run, const struct plan_step *s)
{
    static struct sched_report report;
    int err = graph_copy(run, s, &report);

    return err == ERR_FORMAT  ? refuse(run, s, "its copies are not for these tensors")
           : err == ERR_NOMEM ? refuse(run, s, "no memory for its copies")
           : err              ? (enum run_status)report_error("graph", err, &report)
                              : RUN_OK;
}

enum run_status graph_step(struct graph_run *run, uint32_t step)
{
    const struct plan_step *s = &run->plan.step[step];

    return !s->op                                              ? run_program(run, s)
           : strcmp(plan_text(&run->plan, s->op), "move") == 0 ? run_copy(run, s)
                                                               : run_operator(run, s);
}
