/* SPDX-License-Identifier: MIT
 *
 * lstm and gru: their descriptions. See recurrent.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/lib/f16.h"
#include "kernels/recurrent/recurrent.h"

enum { X, W, R, BIAS, FIRST, FIRST_C };

static struct recurrent call_of(const struct op_call *c, bool gru)
{
    const uint64_t *x = c->in[X].shape;

    return (struct recurrent){.x = c->in[X].data,
                              .w = c->in[W].data,
                              .r = c->in[R].data,
                              .bias = c->in[BIAS].data,
                              .first = c->in[FIRST].data,
                              .first_c = gru ? NULL : c->in[FIRST_C].data,
                              .y = c->out[0].data,
                              .c = gru ? NULL : c->out[1].data,
                              .steps = (uint32_t)x[0],
                              .batch = (uint32_t)x[1],
                              .in = (uint32_t)x[2],
                              .units = (uint32_t)c->in[R].shape[1],
                              .gru = gru,
                              .cores = c->cores};
}

static int prepare_as(struct op_call *c, bool gru)
{
    struct recurrent p = call_of(c, gru);
    uint32_t gates = recurrent_gates(&p);
    int err = recurrent_check(&p);

    if (c->in[W].shape[0] != (uint64_t)gates * p.units ||
        c->in[BIAS].shape[0] != 4 * (uint64_t)p.units) {
        fprintf(stderr, "%s: want %lu x %lu rows of w and r, a bias of 4 x %lu\n",
                c->op->name, (unsigned long)gates, (unsigned long)p.units,
                (unsigned long)p.units);
        return ERR_SHAPE;
    }
    if (err) {
        fprintf(
            stderr,
            "%s: %lu units of %lu inputs: want a multiple of 16 up to 1024, and up to "
            "2048 together\n",
            c->op->name, (unsigned long)p.units, (unsigned long)p.in);
    }
    return err;
}

static int run_as(const struct op_call *c, struct sched_report *report, bool gru)
{
    struct recurrent p = call_of(c, gru);

    report->text[0] = 0;
    if (c->in[W].shape[0] != (uint64_t)recurrent_gates(&p) * p.units ||
        c->in[R].shape[0] != c->in[W].shape[0] ||
        c->in[BIAS].shape[0] != 4 * (uint64_t)p.units) {
        return ERR_ARG;
    }
    if (c->in[X].type != TYPE_F16 || c->out[0].type != TYPE_F16) {
        return ERR_TYPE;
    }
    return recurrent(&p, report);
}

/* --- by the definition, in fp32 as the machine rounds --- */

/* w and r in fp32, and one row of the batch: y of each step, the state of the last. */
struct definition {
    const struct recurrent *p;
    float *w, *r, *x, *h; /* x, h: of a step */
    uint16_t *y;
    float *state;
};

static void widen(float *to, const void *halves, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = f16_to_f32(((const uint16_t *)halves)[i]);
    }
}

/* False: there is no room. */
static bool begin(struct definition *d, const struct recurrent *p)
{
    size_t rows = (size_t)recurrent_gates(p) * p->units;
    size_t w = rows * p->in, r = rows * p->units;

    d->w = malloc((w + r + p->in + 2 * p->units) * sizeof(float));
    d->y = malloc((size_t)p->steps * p->units * sizeof(*d->y));
    if (!d->w || !d->y) {
        return false;
    }
    d->p = p;
    d->r = d->w + w;
    d->x = d->r + r;
    d->h = d->x + p->in;
    d->state = d->h + p->units;
    widen(d->w, p->w, w);
    widen(d->r, p->r, r);
    return true;
}

/* sum + of_x (w x) + of_h (r h), one rounding a product. */
static float sum_of(const struct definition *d, uint32_t row, bool of_x, bool of_h,
                    float sum)
{
    const float *w = d->w + (size_t)row * d->p->in;
    const float *r = d->r + (size_t)row * d->p->units;

    for (uint32_t k = 0; of_x && k < d->p->in; k++) {
        sum = fmaf(d->x[k], w[k], sum);
    }
    for (uint32_t k = 0; of_h && k < d->p->units; k++) {
        sum = fmaf(d->h[k], r[k], sum);
    }
    return sum;
}

static float sigmoid(float x)
{
    return 1 / (1 + (float)exp(-(double)x));
}

/* A unit's next state. */
static float next_state(const struct definition *d, uint32_t unit, float state,
                        float *out)
{
    const struct recurrent *p = d->p;
    float s[RECURRENT_SUMS];

    for (uint32_t g = 0; g < RECURRENT_SUMS; g++) {
        bool both = !p->gru || g < 2;
        s[g] = sum_of(d, (both ? g : 2) * p->units + unit, both || g == 2, both || g == 3,
                      p->bias[g * p->units + unit]);
    }
    if (p->gru) {
        float t = (float)tanh((double)(s[2] + s[3] * sigmoid(s[0])));
        return *out = t + (state - t) * sigmoid(s[1]);
    }
    state = state * sigmoid(s[1]) + sigmoid(s[0]) * (float)tanh((double)s[2]);
    *out = (float)tanh((double)state) * sigmoid(s[3]);
    return state;
}

static void row_of(struct definition *d, uint32_t row)
{
    const struct recurrent *p = d->p;
    uint16_t *y = d->y;

    for (uint32_t u = 0; u < p->units; u++) {
        d->h[u] =
            p->first ? f16_to_f32(((const uint16_t *)p->first)[row * p->units + u]) : 0;
        d->state[u] = p->gru ? d->h[u] : p->first_c ? p->first_c[row * p->units + u] : 0;
    }
    for (uint32_t t = 0; t < p->steps; t++, y += p->units) {
        widen(d->x, (const uint16_t *)p->x + ((size_t)t * p->batch + row) * p->in, p->in);
        for (uint32_t u = 0; u < p->units; u++) {
            float out;
            d->state[u] = next_state(d, u, d->state[u], &out);
            y[u] = f32_to_f16(out);
        }
        widen(d->h, y, p->units);
    }
}

/* An ulp of fp16 and what a difference of one in a step before makes of it. */
static void ref_as(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want, bool gru)
{
    const struct recurrent p = call_of(c, gru);
    struct definition d = {0};
    uint64_t known = UINT64_MAX;

    want->no_memory = !begin(&d, &p);
    for (uint64_t i = 0; i < n && !want->no_memory; i++) {
        uint64_t e = first + i, unit = e % p.units, row = e / p.units % p.batch;
        if (row != known) {
            row_of(&d, (uint32_t)row);
            known = row;
        }
        want->value[i] =
            out ? (double)d.state[unit]
                : (double)f16_to_f32(d.y[e / p.units / p.batch * p.units + unit]);
        want->bound[i] = 0x1p-9 + 0x1p-9 * fabs(want->value[i]);
    }
    free(d.w);
    free(d.y);
}

static void work_as(const struct op_call *c, struct work *w, bool gru)
{
    struct recurrent p = call_of(c, gru);
    uint64_t n = (uint64_t)p.steps * p.batch * p.units, rows = p.steps;
    uint32_t sigmoids = gru ? 2 : 3;

    for (unsigned i = X; i <= BIAS; i++) {
        work_in(w, NPU_MEM_L1, &c->in[i]);
    }
    for (uint64_t t = 0; t < rows; t++) {
        work_matmul(w, TYPE_F16, p.batch, recurrent_gates(&p) * p.units, p.in + p.units);
    }
    for (uint32_t i = 0; i < sigmoids; i++) {
        work_vector(w, OP_VMULS, TYPE_F32, n);
        work_vector(w, OP_VEXP, TYPE_F32, n);
        work_vector(w, OP_VADDS, TYPE_F32, n);
        work_vector(w, OP_VREC, TYPE_F32, n);
    }
    for (uint32_t i = 0; i < (gru ? 5u : 4u); i++) {
        work_vector(w, OP_VMUL, TYPE_F32, n);
    }
    for (uint32_t i = 0; i < (gru ? 1u : 2u); i++) {
        work_vector(w, OP_VTANH, TYPE_F32, n);
    }
    work_vector(w, OP_VCONV, TYPE_F32, n);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

#define KIND(name, is)                                                                   \
    static int name##_prepare(struct op_call *c)                                         \
    {                                                                                    \
        return prepare_as(c, is);                                                        \
    }                                                                                    \
    static int name##_run(const struct op_call *c, struct sched_report *report)          \
    {                                                                                    \
        return run_as(c, report, is);                                                    \
    }                                                                                    \
    static void name##_ref(const struct op_call *c, unsigned out, uint64_t first,        \
                           uint64_t n, struct op_want *want)                             \
    {                                                                                    \
        ref_as(c, out, first, n, want, is);                                              \
    }                                                                                    \
    static void name##_work(const struct op_call *c, struct work *w)                     \
    {                                                                                    \
        work_as(c, w, is);                                                               \
    }

KIND(lstm, false)
KIND(gru, true)

OPERATOR(
    lstm, .summary = "an LSTM over t steps: gates in one product a step, one launch",
    .io = "x[t,b,k] w[g,k] r[g,h] bias[g] first?[b,h] first_c?[b,h] -> y[t,b,h] c[b,h]",
    .types = "f16 f16 f16 f32 f16 f32 -> f16 f32", .prepare = lstm_prepare,
    .run = lstm_run, .ref = lstm_ref, .tolerance = OP_BOUND, .whole_rows = true,
    .check = 8, .work = lstm_work,
    .numpy = "y, c, bound = lstm(x, w, r, bias, first, first_c)",
    .cases = CASES("--shapes 1x1x1,64x1,64x16,64",
                   "--shapes 3x5x20,64x20,64x16,64,5x16,5x16",
                   "--shapes 4x70x33,128x33,128x32,128",
                   "--shapes 6x2x100,512x100,512x128,512",
                   "--shapes 7x3x200,1024x200,1024x256,1024"));

OPERATOR(gru, .summary = "a GRU over t steps: gates in one product a step, one launch",
         .io = "x[t,b,k] w[g,k] r[g,h] bias[q] first?[b,h] -> y[t,b,h]",
         .types = "f16 f16 f16 f32 f16 -> f16", .prepare = gru_prepare, .run = gru_run,
         .ref = gru_ref, .tolerance = OP_BOUND, .whole_rows = true, .check = 8,
         .work = gru_work, .numpy = "y, bound = gru(x, w, r, bias, first)",
         .cases = CASES("--shapes 1x1x1,48x1,48x16,64",
                        "--shapes 3x5x20,48x20,48x16,64,5x16",
                        "--shapes 4x70x33,96x33,96x32,128",
                        "--shapes 9x17x40,288x40,288x96,384"));
