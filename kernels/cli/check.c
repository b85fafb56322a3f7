/* SPDX-License-Identifier: MIT
 *
 * Results against references; see check.h.
 */
#include "kernels/cli/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/data.h"
#include "kernels/cli/io.h"
#include "kernels/cli/limit.h"
#include "kernels/lib/f16.h"

static uint64_t row_of(const struct op_call *call, const struct tensor *t)
{
    return call->op->whole_rows && t->ndim ? t->shape[t->ndim - 1] : 1;
}

uint64_t check_default(const struct op_call *call)
{
    struct work work = {0};
    uint64_t elements = call->out[0].count;

    if (call->op->work) {
        call->op->work(call, &work);
    }
    return elements <= CHECK_ALL && work.macs <= CHECK_ALL &&
                   (double)elements * call->op->cost <= CHECK_ALL
               ? elements / row_of(call, &call->out[0])
               : call->op->check;
}

/* The s-th of `samples` places; the odd ones in between fall on every column of a tile.
 */
static uint64_t sample_at(uint64_t s, uint64_t samples, uint64_t count, bool rows)
{
    if (samples == count || samples == 1) {
        return s;
    }
    if (rows) {
        return s * (count - 1) / (samples - 1);
    }
    if (s == 0 || s == samples - 1) {
        return s ? count - 1 : 0;
    }
    return (uint64_t)((double)s / (double)samples * (double)count) | 1;
}

/* Distance of the numbers of a type around a value. */
static double ulp(enum type type, double value)
{
    return type == TYPE_F16 ? ulp_f16(value) : type == TYPE_F32 ? ulp_f32(value) : 1;
}

/* Of one element: what was got, wanted and allowed. */
struct pair {
    uint64_t got_bits, want_bits;
    double got, want, allowed; /* below 0: the bits must be equal */
};

/* Whether what is got is infinite and what is wanted may, rounded to the type, be so. */
static bool passes_range(const struct pair *p, enum type type)
{
    double least = type == TYPE_F16 ? 0x1.ffep15 : 0x1.ffffffp127; /* that rounds up */

    return isinf(p->got) && (p->got < 0 ? -p->want : p->want) + p->allowed >= least;
}

/* Error in units of what is allowed; of bits 0 or infinity. */
static double error_of(const struct pair *p, enum type type)
{
    if (p->allowed < 0) {
        return p->got_bits == p->want_bits ? 0 : INFINITY;
    }
    if ((isnan(p->got) && isnan(p->want)) || p->got == p->want || isinf(p->allowed) ||
        passes_range(p, type)) {
        return 0;
    }
    return isfinite(p->got) && isfinite(p->want) ? fabs(p->got - p->want) / p->allowed
                                                 : INFINITY;
}

static void print_number(double value, uint64_t bits, enum type type)
{
    fprintf(stderr, "%.9g", value);
    if (type != TYPE_NONE) {
        fprintf(stderr, " (0x%0*llx)", (int)type_bits(type) / 4,
                (unsigned long long)bits);
    }
}

/* A result that is being compared. */
struct job {
    const char *who;
    const struct op_call *call;
    unsigned out;
    const char *data;
    const struct op_want *want;
};

static void tell(const struct job *j, uint64_t i, const struct pair *p)
{
    const struct tensor *t = &j->call->out[j->out];
    uint64_t at[NPY_MAX_DIMS], left = i;
    struct io io;

    for (unsigned d = t->ndim; d-- > 0; left /= t->shape[d]) {
        at[d] = left % t->shape[d];
    }
    fprintf(stderr, "%s: %s[", j->who,
            io_parse(j->call->op, &io) ? io.operand[io.n_in + j->out].name : "result");
    for (unsigned d = 0; d < t->ndim; d++) {
        fprintf(stderr, "%s%llu", d ? ", " : "", (unsigned long long)at[d]);
    }
    fputs("] is ", stderr);
    print_number(p->got, p->got_bits, t->type);
    fputs(", want ", stderr);
    print_number(p->want, p->want_bits, p->allowed < 0 ? t->type : TYPE_NONE);
    if (p->allowed >= 0) {
        fprintf(stderr, " +- %.3g, %.3g times that away", p->allowed,
                error_of(p, t->type));
    } else if (isfinite(p->got) && isfinite(p->want)) {
        fprintf(stderr, ", %g ulp away", fabs(p->got - p->want) / ulp(t->type, p->want));
    }
    fprintf(stderr, "; at 0x%llx\n",
            (unsigned long long)((uintptr_t)j->data + i * (type_bits(t->type) / 8)));
}

/* Elements first .. first + n - 1. */
static int check_some(const struct job *j, uint64_t first, uint64_t n, double *worst)
{
    const struct op_want *want = j->want;
    enum type type = j->call->out[j->out].type;
    int tolerance = j->call->op->tolerance;

    for (uint64_t i = 0; i < n; i++) {
        uint64_t bits = data_bits(j->data, type, first + i);
        struct pair p = {.got_bits = bits, .got = data_value(bits, type)};
        double error;
        p.want_bits = want->bits[i];
        p.want = tolerance == OP_EXACT ? data_value(p.want_bits, type) : want->value[i];
        p.allowed = tolerance == OP_EXACT   ? -1
                    : tolerance == OP_BOUND ? want->bound[i]
                                            : tolerance * ulp(type, p.want);
        error = error_of(&p, type);
        if (!(error <= 1)) {
            tell(j, first + i, &p);
            return ERR_MISMATCH;
        }
        *worst = error > *worst ? error : *worst;
    }
    return 0;
}

int check_several(const struct op_call *call, unsigned out,
                  const struct candidate *candidates, unsigned n, uint64_t samples,
                  struct checked *checked)
{
    uint64_t row = row_of(call, &call->out[out]), of = call->out[out].count / row;
    struct op_want want = {.bits = calloc(row, 8)};
    int err = 0;

    want.value = calloc(row, sizeof(double));
    want.bound = calloc(row, sizeof(double));
    samples = samples < of ? samples : of;
    checked->done = samples;
    checked->of = of;
    want.no_memory = !want.bits || !want.value || !want.bound;
    for (uint64_t s = 0; !err && !want.no_memory && s < samples; s++) {
        uint64_t first = sample_at(s, samples, of, row > 1) * row;
        call->op->ref(call, out, first, row, &want);
        for (unsigned i = 0; !err && !want.no_memory && i < n; i++) {
            struct job j = {candidates[i].who, call, out, candidates[i].data, &want};
            err = check_some(&j, first, row, &checked->worst);
        }
    }
    if (want.no_memory) {
        fprintf(stderr, "%s: no memory for the reference; MEM= gives the machine more\n",
                candidates->who);
        err = ERR_NOMEM;
    }
    free(want.bits);
    free(want.value);
    free(want.bound);
    return err;
}

int check_result(const char *who, const struct op_call *call, unsigned out,
                 const void *data, uint64_t samples, struct checked *checked)
{
    return check_several(call, out, &(struct candidate){who, data}, 1, samples, checked);
}
