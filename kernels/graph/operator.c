/* SPDX-License-Identifier: MIT
 *
 * Steps that are operators of the firmware, called as from a command line, with tensors of
 * the plan in place of files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/line.h"
#include "kernels/graph/run.h"

enum { WORDS = 32 };

#define CUT " --cut "

struct called {
    struct line line;
    struct op_call call;
    char *words;         /* that its options are in */
    struct op_step step; /* of a launch that others share */
    bool borrows;        /* workspaces of the job before */
};

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
 * is not for these; nothing, where that has been told. */
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
    return err ? "" : rows == 0 ? "the operator does not take these types" : NULL;
}

static void free_call(void *arg)
{
    struct called *c = arg;

    for (unsigned i = 0; i < OP_WORK && !c->borrows; i++) {
        free(c->call.work[i]);
    }
    if (c->step.arg) {
        c->step.free(c->step.arg);
    }
    free(c->words);
    free(c);
}

static int run_call(void *arg, struct sched_report *report)
{
    struct called *c = arg;

    return c->line.op->run(&c->call, report);
}

static void step_call(void *arg)
{
    const struct called *c = arg;

    c->step.kernel(c->step.arg);
}

/* Bytes of options in front of how it is cut, which is the last one; all, if nothing says so. */
static size_t without_cut(const char *text)
{
    const char *cut = strstr(text, CUT);

    return cut && !strchr(cut + sizeof(CUT) - 1, ' ') ? (size_t)(cut - text) : strlen(text);
}

/* Whether the job before is the same but for how it is cut (kernels/conv), as of what
 * tools/graph/tune measures; then its workspaces serve both. */
static bool borrow(const struct graph_run *run, const struct graph_job *job,
                   struct called *c)
{
    const struct plan_step *s = job->step, *before = s - 1;
    const struct called *other = job == run->job ? NULL : job[-1].arg;
    const char *text = plan_text(&run->plan, s->text), *was;
    size_t n = without_cut(text);

    if (!text[n] || !other || job[-1].run != run_call || other->line.op != c->line.op ||
        before->n_in != s->n_in || memcmp(before->in, s->in, sizeof(s->in)) != 0) {
        return false;
    }
    was = plan_text(&run->plan, before->text);
    if (without_cut(was) != n || strncmp(text, was, n) != 0) {
        return false;
    }
    memcpy(c->call.work, other->call.work, sizeof(c->call.work));
    c->borrows = true;
    return true;
}

/* Operands are there, its workspaces are filled. */
static enum run_status ready(const struct graph_run *run, struct graph_job *job,
                             struct called *c)
{
    const struct plan_step *s = job->step;
    const char *why = c->line.n_words ? "a file is no operand of a plan"
                                      : tensors(run, s, &c->line, &c->call);

    if (why) {
        return why[0] ? graph_refuse(run, s, why) : RUN_INPUT;
    }
    c->call.cores = run->cores;
    if (c->line.op->prepare && !borrow(run, job, c) &&
        c->line.op->prepare(&c->call) != 0) {
        return RUN_INPUT;
    }
    if (c->line.op->step && c->line.op->step(&c->call, &c->step) == 0) {
        job->kernel = step_call; /* else it tells what is wrong when it runs */
    }
    return RUN_OK;
}

enum run_status graph_operator(struct graph_run *run, struct graph_job *job)
{
    const struct plan_step *s = job->step;
    const char *name = plan_text(&run->plan, s->op);
    const struct opdesc *op = op_find(name);
    struct called *c = calloc(1, sizeof(*c));
    char *argv[WORDS + 1], *rest;
    int argc = 1;

    op = op ? op_open(op) : NULL;
    if (!op || !op->run) {
        free(c);
        return graph_refuse(run, s, "this image has no such operator");
    }
    if (!c || !(c->words = strdup(plan_text(&run->plan, s->text)))) {
        free(c);
        return graph_refuse(run, s, "no memory for it");
    }
    *job = (struct graph_job){.step = s, .run = run_call, .arg = c, .free = free_call};
    rest = c->words;
    for (const char *w = rest; *w; w++) {
        if ((unsigned char)*w < ' ' || *w == 0x7f) {
            return graph_refuse(run, s, "options that cannot be printed");
        }
    }
    argv[0] = (char *)(uintptr_t)name;
    for (char *w; argc < WORDS && (w = strtok_r(rest, " ", &rest)) != NULL;) {
        argv[argc++] = w;
    }
    argv[argc] = NULL;
    return line_parse(op, argc, argv, &c->line, &c->call) == 0 ? ready(run, job, c)
                                                               : RUN_INPUT;
}
