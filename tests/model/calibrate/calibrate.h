/* SPDX-License-Identifier: MIT
 *
 * Published against modelled cycles (profile a2): of single commands in command.c, fits
 * of vector commands in vector.c, steps of whole products in matmul.c.
 *
 * Each row is a measurement that somebody has published for a 910B (where: its source),
 * what the model takes for the same command, and the largest error that is accepted. That
 * is today's, rounded up: a change that makes a row worse fails, one that makes it better
 * should lower the number. Printed as a table by `make calibrate`.
 *
 * Sources: mskpp = its resource tables for the 910B (one core, GiB/s turned into cycles
 * at 1.8 GHz); msopprof = the profiler rows of asc-devkit's matmul_high_performance
 * README, divided by the number of commands; PTO = pto-isa's documentation of its cost
 * model; devkit = asc-devkit's bank_conflict example and, for Mmad, its page UnitFlag.
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

typedef void (*row_shown)(const struct row *row, double cycles, double error);

/* Runs every row, in order; the error in percent. */
void calibrate(row_shown show);

/* Commands of the Vector; steps of whole matrix products. */
extern const struct row vector_rows[], matmul_rows[];
extern const unsigned n_vector_rows, n_matmul_rows;

#endif
