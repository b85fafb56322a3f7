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

/* What a result may be off. Sums have one order, so they differ by what h differs alone: squares
 * of what it is off, times those of r, are added up, for roundings are taken as independent, as
 * mla_prolog.h takes those of its sums, and go through the slopes of sigmoid, tanh and products,
 * where a few roundings in fp32 come to them. A state is no further off than SIGMAS roots of that.
 * Where all numbers so near are one of F16, y is that and nothing is off; else it is one of
 * those, and what h is off has an ulp more. */
static const float few = 0x1p-42f; /* the square of 8 roundings */
enum { SIGMAS = 4 };

/* A unit: its state, which a GRU rounds to h, and squares of what both may be off. */
struct unit {
    float state, of_state, h, of_h;
};

/* w, r and squares of r in fp32, and one row of the batch: y of each step, its units. */
struct definition {
    const struct recurrent *p;
    float *w, *r, *square, *x, *h,
        *of_h; /* x, h: of a step, and the square of what h is off */
    uint16_t *y;
    float *of_y;
    struct unit *unit;
};

static void widen(float *to, const void *halves, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        to[i] = f16_to_f32(((const uint16_t *)halves)[i]);
    }
}

static float square(float x)
{
    return x * x;
}

/* False: there is no room. */
static bool begin(struct definition *d, const struct recurrent *p)
{
    size_t rows = (size_t)recurrent_gates(p) * p->units;
    size_t w = rows * p->in, r = rows * p->units;

    d->w =
        malloc((w + 2 * r + p->in + (2 + (size_t)p->steps) * p->units) * sizeof(float));
    d->y = malloc((size_t)p->steps * p->units * sizeof(*d->y));
    d->unit = malloc(p->units * sizeof(*d->unit));
    if (!d->w || !d->y || !d->unit) {
        return false;
    }
    d->p = p;
    d->r = d->w + w;
    d->square = d->r + r;
    d->x = d->square + r;
    d->h = d->x + p->in;
    d->of_h = d->h + p->units;
    d->of_y = d->of_h + p->units;
    widen(d->w, p->w, w);
    widen(d->r, p->r, r);
    for (size_t i = 0; i < r; i++) {
        d->square[i] = square(d->r[i]);
    }
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

/* The square of what such a sum is off. */
static float of_sum(const struct definition *d, uint32_t row)
{
    const float *r = d->square + (size_t)row * d->p->units;
    float sum = 0;

    for (uint32_t k = 0; k < d->p->units; k++) {
        sum += r[k] * d->of_h[k];
    }
    return sum;
}

static float sigmoid(float x)
{
    return 1 / (1 + (float)exp(-(double)x));
}

/* Rounded before anything is added to it, which the compiler would do in one step. */
static float times(float x, float y)
{
    return (float)((double)x * (double)y);
}

/* By sums s, of which of[] are the squares of what they are off. */
static void lstm_unit(struct unit *u, const float *s, const float *of)
{
    float i = sigmoid(s[0]), f = sigmoid(s[1]), o = sigmoid(s[3]);
    float g = (float)tanh((double)s[2]), t;

    u->of_state = square(f) * u->of_state + square(u->state * f * (1 - f)) * of[1] +
                  square(g * i * (1 - i)) * of[0] + square(i * (1 - g * g)) * of[2];
    u->state = times(u->state, f) + times(i, g);
    u->of_state += few * (1 + square(u->state));
    t = (float)tanh((double)u->state);
    u->of_h =
        square(o * (1 - t * t)) * u->of_state + square(t * o * (1 - o)) * of[3] + few;
    u->h = t * o;
}

static void gru_unit(struct unit *unit, const float *s, const float *of)
{
    float u = sigmoid(s[0]), z = sigmoid(s[1]);
    float n = (float)tanh((double)(s[2] + times(s[3], u))), h = unit->state;
    float of_n =
        square(1 - n * n) * (square(u) * of[3] + square(s[3] * u * (1 - u)) * of[0] +
                             few * (1 + square(s[3])));

    unit->of_state = square(1 - z) * of_n + square(z) * unit->of_state +
                     square((h - n) * z * (1 - z)) * of[1] + few;
    unit->of_h = unit->of_state;
    unit->state = unit->h = n + times(h - n, z);
}

static void next(const struct definition *d, uint32_t unit)
{
    const struct recurrent *p = d->p;
    float s[RECURRENT_SUMS], of[RECURRENT_SUMS];

    for (uint32_t g = 0; g < RECURRENT_SUMS; g++) {
        bool both = !p->gru || g < 2, of_h = both || g == 3;
        uint32_t row = (both ? g : 2) * p->units + unit;
        s[g] = sum_of(d, row, both || g == 2, of_h, p->bias[g * p->units + unit]);
        of[g] = of_h ? of_sum(d, row) : 0;
    }
    (p->gru ? gru_unit : lstm_unit)(&d->unit[unit], s, of);
}

/* Between numbers of F16 at x. */
static float ulp(uint16_t x)
{
    return fmaxf(0x1p-24f, f16_to_f32(x & 0x7c00) * 0x1p-10f);
}

/* How far from y what h may be is rounded to. */
static float off_of(const struct unit *unit, uint16_t y)
{
    float off = SIGMAS * sqrtf(unit->of_h), near = f16_to_f32(y);
    float up = f16_to_f32(f32_to_f16(unit->h + off)) - near;
    float down = near - f16_to_f32(f32_to_f16(unit->h - off));

    return up > down ? up : down;
}

static void row_of(struct definition *d, uint32_t row)
{
    const struct recurrent *p = d->p;
    uint16_t *y = d->y;

    for (uint32_t u = 0; u < p->units; u++) {
        d->h[u] =
            p->first ? f16_to_f32(((const uint16_t *)p->first)[row * p->units + u]) : 0;
        d->unit[u] = (struct unit){.state = p->gru       ? d->h[u]
                                            : p->first_c ? p->first_c[row * p->units + u]
                                                         : 0};
        d->of_h[u] = 0;
    }
    for (uint32_t t = 0; t < p->steps; t++, y += p->units) {
        widen(d->x, (const uint16_t *)p->x + ((size_t)t * p->batch + row) * p->in, p->in);
        for (uint32_t u = 0; u < p->units; u++) {
            next(d, u);
        }
        for (uint32_t u = 0; u < p->units; u++) {
            y[u] = f32_to_f16(d->unit[u].h);
            d->of_y[t * p->units + u] = off_of(&d->unit[u], y[u]);
            d->of_h[u] =
                d->of_y[t * p->units + u] > 0 ? d->unit[u].of_h + square(ulp(y[u])) : 0;
        }
        widen(d->h, y, p->units);
    }
}

static void ref_as(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want, bool gru)
{
    const struct recurrent p = call_of(c, gru);
    struct definition d = {0};
    uint64_t known = UINT64_MAX;

    want->no_memory = !begin(&d, &p);
    for (uint64_t i = 0; i < n && !want->no_memory; i++) {
        uint64_t e = first + i, unit = e % p.units, row = e / p.units % p.batch;
        uint64_t at = e / p.units / p.batch * p.units + unit;
        if (row != known) {
            row_of(&d, (uint32_t)row);
            known = row;
        }
        want->value[i] = out ? (double)d.unit[unit].state : (double)f16_to_f32(d.y[at]);
        want->bound[i] =
            out ? SIGMAS * sqrt((double)d.unit[unit].of_state) : (double)d.of_y[at];
    }
    free(d.w);
    free(d.y);
    free(d.unit);
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
                   "--shapes 3x2x200,1024x200,1024x256,1024"));

OPERATOR(gru, .summary = "a GRU over t steps: gates in one product a step, one launch",
         .io = "x[t,b,k] w[g,k] r[g,h] bias[q] first?[b,h] -> y[t,b,h]",
         .types = "f16 f16 f16 f32 f16 -> f16", .prepare = gru_prepare, .run = gru_run,
         .ref = gru_ref, .tolerance = OP_BOUND, .whole_rows = true, .check = 8,
         .work = gru_work, .numpy = "y, bound = gru(x, w, r, bias, first)",
         .cases = CASES("--shapes 1x1x1,48x1,48x16,64",
                        "--shapes 3x5x20,48x20,48x16,64,5x16",
                        "--shapes 4x70x33,96x33,96x32,128",
                        "--shapes 9x17x40,288x40,288x96,384"));
