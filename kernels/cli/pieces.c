/* SPDX-License-Identifier: MIT
 *
 * One launch beside several; see pieces.h. Bytes of GM are what MTE2 has read, MTE3
 * written, and FIX written of what the launch says.
 */
#include "kernels/cli/pieces.h"

#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/cli/data.h"
#include "kernels/cli/report.h"

static const enum pipe order[] = {PIPE_MTE2, PIPE_MTE1, PIPE_M,
                                  PIPE_FIX,  PIPE_V,    PIPE_MTE3};
enum { PIPES = sizeof(order) / sizeof(order[0]) };

static uint64_t largest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- running --- */

enum run_status pieces_begin(const struct op_call *call, struct op_call *separate)
{
    enum run_status status = RUN_OK;

    *separate = *call;
    for (unsigned i = 0; i < OP_OUT; i++) {
        struct tensor *t = &separate->out[i];
        if (t->data) {
            t->data = data_alloc(call->op->name, t->type, t->count);
            status = t->data ? status : RUN_INPUT;
        }
    }
    return status;
}

void pieces_end(struct op_call *separate)
{
    for (unsigned i = 0; i < OP_OUT; i++) {
        free(separate->out[i].data);
    }
}

static void add(struct pieces_table *t, const struct op_piece *piece,
                const struct op_call *call)
{
    struct pieces_launch *l = &t->launch[t->n++];
    struct work work = {.cold = call->cold};

    *l = (struct pieces_launch){.piece = piece};
    measure_read(&l->measured);
    l->gm_out = piece->fix_out ? piece->fix_out(call) : 0;
    for (unsigned core = 0; core < chip_cores(); core++) {
        for (unsigned i = 0; i < PIPES; i++) {
            l->busy[i] = largest(l->busy[i], pmu_read(core, order[i], PMU_BUSY));
        }
        l->gm_in += pmu_read(core, PIPE_MTE2, PMU_BYTES_READ);
        l->gm_out += pmu_read(core, PIPE_MTE3, PMU_BYTES_WRITTEN);
    }
    l->beyond = l->gm_out + (!piece->reads_operands ? l->gm_in
                             : piece->fix_back      ? piece->fix_back(call)
                                                    : 0);
    piece->work(call, &work);
    l->limit = work_limit(&work, call->cores);
}

enum run_status pieces_run(struct pieces_table *t, const struct op_call *call,
                           const struct op_call *separate)
{
    static struct sched_report report; /* too large for a stack */

    for (const struct op_piece *p = call->op->pieces; p->name && t->n < PIECES_MAX; p++) {
        const struct op_call *on = t->n == 0 ? call : separate;
        int err;
        if (on == NULL) {
            break;
        }
        measure_start();
        err = op_launch(on, p->run, &report);
        if (err) {
            return (enum run_status)report_error(call->op->name, err, &report);
        }
        add(t, p, call);
    }
    return RUN_OK;
}

/* --- the table --- */

static struct pieces_launch sum_of(const struct pieces_table *t)
{
    struct pieces_launch sum = {0};

    for (unsigned i = 1; i < t->n; i++) {
        const struct pieces_launch *l = &t->launch[i];
        sum.measured.span += l->measured.span;
        sum.gm_in += l->gm_in;
        sum.gm_out += l->gm_out;
        sum.beyond += l->beyond;
        sum.limit.cycles += l->limit.cycles;
        for (unsigned j = 0; j < PIPES; j++) {
            sum.busy[j] += l->busy[j];
        }
    }
    return sum;
}

/* A row of numbers and, behind those of the separate launches, their sum. */
static void print_row(const struct pieces_table *t, const char *name,
                      double (*value)(const struct pieces_launch *l, unsigned pipe),
                      unsigned pipe, int digits)
{
    struct pieces_launch sum = sum_of(t);

    printf("  %-18s", name);
    for (unsigned i = 0; i < t->n; i++) {
        printf(" %11.*f", digits, value(&t->launch[i], pipe));
    }
    if (t->n > 1) {
        printf(" %11.*f", digits, value(&sum, pipe));
    }
    printf("\n");
}

static double cycles_of(const struct pieces_launch *l, unsigned pipe)
{
    (void)pipe;
    return (double)l->measured.span;
}

static double busy_of(const struct pieces_launch *l, unsigned pipe)
{
    return 100.0 * (double)l->busy[pipe] / (double)l->measured.span;
}

static double limit_of(const struct pieces_launch *l, unsigned pipe)
{
    (void)pipe;
    return l->limit.cycles;
}

static double reached_of(const struct pieces_launch *l, unsigned pipe)
{
    (void)pipe;
    return 100.0 * l->limit.cycles / (double)l->measured.span;
}

static double in_of(const struct pieces_launch *l, unsigned pipe)
{
    (void)pipe;
    return (double)(l->gm_in / 1024);
}

static double out_of(const struct pieces_launch *l, unsigned pipe)
{
    (void)pipe;
    return (double)(l->gm_out / 1024);
}

static double fewer(double a, double than)
{
    return 100.0 * (1 - a / than);
}

static void print_comparison(const struct pieces_table *t)
{
    const struct pieces_launch *one = &t->launch[0];
    struct pieces_launch sum = sum_of(t);

    printf(
        "%s: 1 launch for %u, %.1f %% fewer cycles (%.1f %% if each reached its limit),"
        "\n  %.1f %% fewer bytes of GM; beyond reading the operands %llu KiB for %llu, "
        "%.1f %% fewer\n",
        one->piece->name, t->n - 1,
        fewer((double)one->measured.span, (double)sum.measured.span),
        fewer(one->limit.cycles, sum.limit.cycles),
        fewer((double)(one->gm_in + one->gm_out), (double)(sum.gm_in + sum.gm_out)),
        (unsigned long long)(one->beyond / 1024), (unsigned long long)(sum.beyond / 1024),
        fewer((double)one->beyond, (double)sum.beyond));
}

void pieces_print(const struct pieces_table *t)
{
    printf("  profile %-10s", npu_profile_name(chip_profile()));
    for (unsigned i = 0; i < t->n; i++) {
        printf(" %11s", t->launch[i].piece->name);
    }
    printf("%s%s\n", t->n > 1 ? "    separate" : "", report_timing());
    print_row(t, "cycles", cycles_of, 0, 0);
    for (unsigned i = 0; i < PIPES; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%-4s busy, %%", pipe_name(order[i]));
        print_row(t, name, busy_of, i, 1);
    }
    printf("  limit by          ");
    for (unsigned i = 0; i < t->n; i++) {
        printf(" %11s", t->launch[i].limit.by);
    }
    printf("\n");
    print_row(t, "its cycles", limit_of, 0, 0);
    print_row(t, "reached, %", reached_of, 0, 1);
    print_row(t, "KiB from GM", in_of, 0, 0);
    print_row(t, "KiB to GM", out_of, 0, 0);
    if (t->n > 1) {
        print_comparison(t);
    }
    report_accuracy(&t->launch[0].measured);
}
