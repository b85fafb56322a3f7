/* SPDX-License-Identifier: MIT
 *
 * mla_prolog by its definition, a row at a time in double precision; see mla_prolog.h.
 */
#include <math.h>

#include "kernels/lib/f16.h"
#include "kernels/mla_prolog/mla_prolog.h"

/* x of a row, and the largest |bias| + sum of |a b| in it. */
static double product_row(const struct mla_prolog *p, uint32_t row, double *x,
                          double *size)
{
    double largest = 0;

    for (uint32_t j = 0; j < p->n; j++) {
        x[j] = f16_to_f64(p->bias[j]);
        size[j] = fabs(x[j]);
    }
    for (uint32_t i = 0; i < p->k; i++) {
        double a = f16_to_f64(p->a[(uint64_t)row * p->k + i]);
        for (uint32_t j = 0; j < p->n && a != 0; j++) {
            double ab = a * f16_to_f64(p->b[(uint64_t)i * p->n + j]);
            x[j] += ab;
            size[j] += fabs(ab);
        }
    }
    for (uint32_t j = 0; j < p->n; j++) {
        largest = fmax(largest, size[j]);
    }
    return largest;
}

void mla_ref_row(const struct mla_prolog *p, uint32_t row, double *want, double *bound)
{
    double size = product_row(p, row, want, bound);
    double mean = 0, var = 0, sigma, per_y;

    for (uint32_t j = 0; j < p->n; j++) {
        mean += want[j] / p->n;
    }
    for (uint32_t j = 0; j < p->n; j++) {
        var += (want[j] - mean) * (want[j] - mean) / p->n;
    }
    sigma = sqrt(var + (double)MLA_EPS);
    per_y = (2 * (4 * sqrt(p->k) + 16) * size / sigma + 64) * 0x1p-24;
    for (uint32_t j = 0; j < p->n; j++) {
        double y = (want[j] - mean) / sigma;
        want[j] = y / 2 * (1 + erf(y * M_SQRT1_2));
        bound[j] = ulp_f16(want[j]) / 2 + per_y * fmax(1, fabs(y));
    }
}
