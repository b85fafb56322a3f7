/* SPDX-License-Identifier: MIT
 *
 * The oracle of the Vector's numbers: exact values in GNU MPFR, rounded by the definition
 * of each mode, and commands run on every path of this host. Numbers are patterns in
 * the low bits of 64.
 */
#ifndef TESTS_MODEL_ORACLE_ORACLE_H
#define TESTS_MODEL_ORACLE_ORACLE_H

#include <mpfr.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

enum { BATCH = 8192, AT_X = 0, AT_Y = 65536, AT_DST = 131072 };

/* Operands (or what dst holds before), results of the plain path. */
extern uint64_t in[3][BATCH], out[BATCH];
/* Precise enough for every exact result; for a test to use. */
extern mpfr_t v, x, y, z;

/* Around each test: a chip, and the numbers above. */
void oracle_open(void);
void oracle_close(void);

/* A number of the type: any bits, or one near those of the second kind. */
uint64_t sample(enum type type, unsigned i);
/* Zeros, limits, infinities, NaN, ties and so on of F32 or F16, the i-th of CORNERS. */
enum { CORNERS = 32 };
uint64_t corner(enum type type, unsigned i);
bool is_real(enum type type);
/* What a pattern stands for. */
void value(mpfr_t to, enum type type, uint64_t bits);
/* Pattern of a number in a floating type, an integer type (saturated; NaN: 0); of a type.
 * They may change `from`. */
uint64_t rounded_real(mpfr_t from, enum type type, unsigned mode);
uint64_t rounded_whole(mpfr_t from, enum type type, unsigned mode);
uint64_t rounded(mpfr_t from, enum type type, unsigned mode);
/* To a whole number, which stays a number. */
void make_whole(mpfr_t x, unsigned mode);

/* The command on n elements of in[0] and in[1], on every path; `dst` is what its results
 * lie on. Whether all gave the same. */
bool run_everywhere(union cmd cmd, enum type from, enum type to, const uint64_t *dst,
                    unsigned n);
union cmd vec1(enum op op, enum type type);
union cmd vec1s(enum op op, enum type type, uint64_t scalar);
union cmd vec2(enum op op, enum type type);
union cmd conv(enum type from, enum type to, unsigned mode);

#endif
