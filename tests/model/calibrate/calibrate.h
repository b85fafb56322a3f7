/* SPDX-License-Identifier: MIT
 *
 * Published against modelled cycles (profile a2): of single commands in command.c and
 * silicon.c, fits of vector commands in vector.c, steps of whole products in matmul.c.
 * Whole operators are in operators.csv, for tools/calibrate runs them in QEMU.
 *
 * Each row is a measurement that somebody has published for a 910B (where: its source),
 * what the model takes for the same command, and the largest error that is accepted. That
 * is today's, rounded up: a change that makes a row worse fails, one that makes it better
 * should lower the number. Printed as a table by `make calibrate`.
 *
 * A row proves something only if no number of the profile was made from it. So each says
 * its basis, and one that is used for a fit is FITTED from then on.
 *
 * Sources: mskpp = its resource tables for the 910B (one core, GiB/s turned into cycles
 * at 1.8 GHz); msopprof = the profiler rows of asc-devkit's matmul_high_performance
 * README, divided by the number of commands; PTO = pto-isa's documentation of its cost
 * model, pto-isa = the busy shares of its GEMM by the number of commands; devkit =
 * asc-devkit's bank_conflict example, for Mmad its page UnitFlag, for GM its pages of
 * performance. Of a range that is published a row has the middle.
 */
#ifndef TESTS_MODEL_CALIBRATE_CALIBRATE_H
#define TESTS_MODEL_CALIBRATE_CALIBRATE_H

#include "tests/model/rig.h"

enum basis {
    FITTED,    /* a line or constant of the profile was laid through it and others */
    TYPED_IN,  /* its own numbers stand in the contract */
    PREDICTED, /* neither */
};

struct row {
    const char *what, *source;
    enum basis basis;
    enum npu_path path; /* whose accuracy it tells of */
    double published;
    double accepted;                              /* percent */
    uint64_t (*run)(struct rig *r, uint64_t arg); /* cycles */
    uint64_t arg; /* bits 63:56: cores of the rig, 0: one */
};

typedef void (*row_shown)(const struct row *row, double cycles, double error);

/* Runs every row, in order; the error in percent. */
void calibrate(row_shown show);

/* Commands of the Vector; steps of whole matrix products; one card's microbenchmarks. */
extern const struct row vector_rows[], matmul_rows[], silicon_rows[];
extern const unsigned n_vector_rows, n_matmul_rows, n_silicon_rows;

/* Powers the rig's chip on with so much GM, of which it does not matter what it holds. */
void calibrate_gm(struct rig *r, uint64_t bytes);

/* Cycles until everything that was pushed has ended. */
static inline uint64_t drain(struct rig *r, uint64_t begin)
{
    rig_drain(r);
    return r->now - begin;
}

#endif
