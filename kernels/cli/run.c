/* SPDX-License-Identifier: MIT
 *
 * An operator from its command line to its result; see op.h.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/host.h"
#include "kernels/cli/check.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/line.h"
#include "kernels/cli/pieces.h"
#include "kernels/cli/report.h"

static void print_tensors(const struct io *io, const struct tensor *t, unsigned from,
                          unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (t[i].data) {
            printf(" %s ", io->operand[from + i].name);
            io_print_shape(stdout, t[i].ndim, t[i].shape);
            printf(" %s", t[i].boolean ? "BOOL" : type_name(t[i].type));
        }
    }
}

/* `matmul: a (3, 5) F16 b (5, 7) F16 -> c (3, 7) F32` */
static void print_call(const struct line *line, const struct op_call *call)
{
    printf("%s:", line->op->name);
    print_tensors(&line->io, call->in, 0, line->io.n_in);
    printf(" ->");
    print_tensors(&line->io, call->out, line->io.n_in, line->io.n_out);
    printf("\n");
}

static void print_digests(const struct line *line, const char *who,
                          const struct op_call *call)
{
    for (unsigned i = 0; line->digest && i < line->io.n_out; i++) {
        const struct tensor *t = &call->out[i];
        data_digest(i ? line->io.operand[line->io.n_in + i].name : who, t->data, t->type,
                    t->count);
    }
}

int op_launch(const struct op_call *call, op_run_fn *run, struct sched_report *report)
{
    if (call->cold) {
        chip_l2_empty();
    }
    return run(call, report);
}

static int launch_alone(const struct line *line, const struct op_call *call)
{
    static struct sched_report report; /* too large for a stack */
    struct launch_report measured;
    /* A first launch finds nothing in L2: what the hart writes is not there. */
    struct work work = {.cold = call->cold || line->repeat == 1};
    struct work_limit limit;
    int err = 0;

    measure_start();
    for (uint32_t i = 0; i < line->repeat && !err; i++) {
        err = op_launch(call, line->op->run, &report);
    }
    if (err) {
        return report_error(line->op->name, err, &report);
    }
    if (line->op->show) {
        line->op->show(call);
    } else {
        print_call(line, call);
    }
    print_digests(line, line->op->name, call);
    if (line->op->work) {
        line->op->work(call, &work);
    }
    measure_read(&measured);
    report_launch(&measured, call->cores ? call->cores : chip_cores(),
                  work.macs * line->repeat, REPORT_SHORT);
    if (line->op->work) {
        limit = work_limit(&work, call->cores);
        printf("  the machine allows %.0f cycle%s (%s): %.1f %% of that limit reached\n",
               limit.cycles * line->repeat, limit.cycles * line->repeat > 1 ? "s" : "",
               limit.by, 100 * limit.cycles * line->repeat / (double)measured.span);
    }
    return RUN_OK;
}

/* In one launch and in separate ones, into `separate`. */
static int launch_both(const struct line *line, const struct op_call *call,
                       const struct op_call *separate)
{
    struct pieces_table table = {0};
    int status = (int)pieces_run(&table, call, line->no_separate ? NULL : separate);

    if (status != RUN_OK) {
        return status;
    }
    print_call(line, call);
    print_digests(line, line->op->name, call);
    if (!line->no_separate) {
        print_digests(line, "separate", separate);
    }
    pieces_print(&table);
    return RUN_OK;
}

/* Which elements, or rows, of which result were compared: all, or some with equal distances. */
static void print_checked(const struct line *line, const struct checked *checked, bool both)
{
    const struct io *io = &line->io;
    bool some = false;
    double worst = 0;

    for (unsigned i = 0; i < io->n_out; i++) {
        const struct checked *c = &checked[i];
        printf("%s %llu of %llu", i ? "," : "verified:", (unsigned long long)c->done,
               (unsigned long long)c->of);
        printf(io->n_out > 1 ? " of %s" : line->op->whole_rows ? " rows" : " elements",
               io->operand[io->n_in + i].name);
        some |= c->done < c->of;
        worst = c->worst > worst ? c->worst : worst;
    }
    printf("%s%s ", both ? " of both" : "", some ? ", spread out," : "");
    if (line->op->tolerance == OP_EXACT) {
        printf("equal the definition bit for bit\n");
    } else {
        printf("against double precision; worst error %.2f of bound\n", worst);
    }
}

/* Of the results of one launch and, if there are some, of the separate ones. */
static int check(const struct line *line, const struct op_call *call,
                 const struct op_call *separate)
{
    const struct opdesc *op = line->op;
    uint64_t samples = line->check < 0 ? check_default(call) : (uint64_t)line->check;
    struct checked checked[OP_OUT] = {{0}};
    uint64_t done = 0;
    int err = 0;

    for (unsigned i = 0; op->ref && samples && i < line->io.n_out && !err; i++) {
        struct candidate candidates[] = {
            {op->name, call->out[i].data},
            {"separate", separate ? separate->out[i].data : NULL}};
        err = check_several(call, i, candidates, separate ? 2 : 1, samples, &checked[i]);
        done += checked[i].done;
    }
    if (err || done == 0) {
        return err == ERR_MISMATCH ? RUN_CHECK : err ? RUN_INPUT : RUN_OK;
    }
    print_checked(line, checked, separate != NULL);
    return RUN_OK;
}

static int write_results(const struct line *line, const struct op_call *call)
{
    struct npy npy[OP_OUT];
    char why[NPY_WHY_BYTES];

    for (unsigned i = 0; i < line->io.n_out; i++) {
        const struct tensor *t = &call->out[i];
        npy[i] = (struct npy){.type = t->boolean ? NPY_B1 : data_npy_type(t->type),
                              .ndim = t->ndim,
                              .data = t->data};
        memcpy(npy[i].shape, t->shape, sizeof(npy[i].shape));
    }
    if (npy_write_all(line->io.n_out, line->out_path, npy, why) != 0) {
        fprintf(stderr, "%s: %s\n", line->op->name, why);
        return RUN_INPUT;
    }
    return RUN_OK;
}

/* Whether results could be put where they shall go, asked before a run that may be long:
 * all are begun, so that two of one path meet, and dropped. They are not kept until the
 * results are there because a handle does not survive a snapshot that is taken meanwhile. */
static int try_outputs(const struct line *line)
{
    int fd[OP_OUT], status = RUN_OK;
    unsigned n = 0;

    for (; n < line->io.n_out && status == RUN_OK; n++) {
        const char *path = line->out_path[n];
        fd[n] = path ? host_create(path) : 0;
        if (fd[n] < 0) {
            fprintf(stderr, "%s: %s: %s\n", line->op->name, path, host_errno_text());
            status = RUN_INPUT;
        }
    }
    while (n-- > 0) {
        if (line->out_path[n] && fd[n] >= 0 && host_create_end(fd[n], false) != 0 &&
            status == RUN_OK) {
            fprintf(stderr, "%s: %s: %s\n", line->op->name, line->out_path[n],
                    host_errno_text());
            status = RUN_INPUT;
        }
    }
    return status;
}

static int run_call(const struct line *line, struct op_call *call)
{
    bool both = line->op->pieces && !line->no_separate;
    struct op_call separate;
    int status = (int)line_call(line, call);

    status = status == RUN_OK ? try_outputs(line) : status;
    if (status != RUN_OK) {
        return status;
    }
    status = both ? (int)pieces_begin(call, &separate) : RUN_OK;
    if (status == RUN_OK) {
        status = line->op->pieces ? launch_both(line, call, &separate)
                                  : launch_alone(line, call);
    }
    if (status == RUN_OK) {
        status = check(line, call, both ? &separate : NULL);
    }
    if (both) {
        pieces_end(&separate);
    }
    return status == RUN_OK ? write_results(line, call) : status;
}

int op_run(const struct opdesc *op, int argc, char **argv)
{
    struct line line;
    struct op_call call;
    int status = RUN_INPUT;

    if (line_parse(op, argc, argv, &line, &call) == 0) {
        status = run_call(&line, &call);
    }
    line_free(&call);
    return status;
}
