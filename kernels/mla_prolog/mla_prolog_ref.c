/* SPDX-License-Identifier: MIT
 *
 * mla_prolog by its definition, a row at a time in double precision; see mla_prolog.h.
 */
#include <math.h>
#include <stdlib.h>

#include "kernels/lib/f16.h"
#include "kernels/mla_prolog/mla_prolog.h"

/* x of a row, and the largest |bias| + sum of |a b| in it. */
static double product_row(const struct mla_prolog *p, const float *b, uint32_t row,
                          double *x, double *size)
{
    double largest = 0;

    for (uint32_t j = 0; j < p->n; j++) {
        x[j] = (double)f16_to_f32(p->bias[j]);
        size[j] = fabs(x[j]);
    }
    for (uint32_t i = 0; i < p->k; i++) {
        double a = (double)f16_to_f32(p->a[(uint64_t)row * p->k + i]);
        for (uint32_t j = 0; j < p->n && a != 0; j++) {
            double ab = a * (double)b[(uint64_t)i * p->n + j];
            x[j] += ab;
            size[j] += fabs(ab);
        }
    }
    for (uint32_t j = 0; j < p->n; j++) {
        largest = fmax(largest, size[j]);
    }
    return largest;
}

/* Distance of the fp16 numbers around a value. */
static double ulp_f16(double value)
{
    int exponent;

    (void)frexp(value, &exponent);
    return ldexp(1.0, (exponent < -13 ? -13 : exponent) - 11);
}

void mla_ref_row(const struct mla_prolog *p, const float *b, uint32_t row, double *want,
                 double *bound)
{
    double size = product_row(p, b, row, want, bound);
    double mean = 0, var = 0, sigma, per_y;

    for (uint32_t j = 0; j < p->n; j++) {
        mean += want[j] / p->n;
    }
    for (uint32_t j = 0; j < p->n; j++) {
        var += (want[j] - mean) * (want[j] - mean) / p->n;
    }
    sigma = sqrt(var + (double)MLA_EPS);
    per_y = ldexp(2 * (4 * sqrt(p->k) + 16) * size / sigma + 64, -24);
    for (uint32_t j = 0; j < p->n; j++) {
        double y = (want[j] - mean) / sigma;
        want[j] = y / 2 * (1 + erf(y * M_SQRT1_2));
        bound[j] = ulp_f16(want[j]) / 2 + per_y * fmax(1, fabs(y));
    }
}

static int check_row(const struct mla_prolog *p, const uint16_t *out, uint32_t row,
                     const double *want, const double *bound, struct mla_difference *d)
{
    for (uint32_t j = 0; j < p->n; j++) {
        double got = (double)f16_to_f32(out[(uint64_t)row * p->n + j]);
        double error = fabs(got - want[j]) / bound[j];
        if (!(error <= 1) && !(isnan(got) && isnan(want[j]))) {
            d->row = row;
            d->column = j;
            d->got = got;
            d->want = want[j];
            d->bound = bound[j];
            return ERR_MISMATCH;
        }
        d->worst = error > d->worst ? error : d->worst;
    }
    return 0;
}

int mla_check(const struct mla_prolog *p, const uint16_t *const *outs, unsigned n_outs,
              uint32_t rows, struct mla_difference *d)
{
    float *b = malloc((uint64_t)p->k * p->n * sizeof(*b));
    double *want = malloc((uint64_t)p->n * 2 * sizeof(*want));
    int err = b == NULL || want == NULL ? ERR_NOMEM : 0;

    *d = (struct mla_difference){0};
    rows = rows < p->m ? rows : p->m;
    for (uint64_t i = 0; !err && rows != 0 && i < (uint64_t)p->k * p->n; i++) {
        b[i] = f16_to_f32(p->b[i]);
    }
    for (uint32_t i = 0; !err && i < rows; i++) {
        uint32_t row = rows == 1 ? 0 : (uint32_t)((uint64_t)i * (p->m - 1) / (rows - 1));
        mla_ref_row(p, b, row, want, want + p->n);
        for (d->which = 0; !err && d->which < n_outs; d->which++) {
            err = check_row(p, outs[d->which], row, want, want + p->n, d);
        }
    }
    d->which -= err == ERR_MISMATCH; /* the loop went one too far */
    free(b);
    free(want);
    return err;
}
