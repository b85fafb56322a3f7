/* SPDX-License-Identifier: MIT
 *
 * Rows of published against modelled cycles; see calibrate_test.c.
 */
#ifndef TESTS_MODEL_CALIBRATE_CALIBRATE_H
#define TESTS_MODEL_CALIBRATE_CALIBRATE_H

#include "tests/model/rig.h"

struct row {
    const char *what, *source;
    double published;
    double accepted;                              /* percent */
    uint64_t (*run)(struct rig *r, uint64_t arg); /* cycles */
    uint64_t arg; /* bits 63:56: cores of the rig, 0: one */
};

/* Commands of the Vector; steps of whole matrix products. */
extern const struct row vector_rows[], matmul_rows[];
extern const unsigned n_vector_rows, n_matmul_rows;

#endif
