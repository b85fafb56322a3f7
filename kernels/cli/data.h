/* SPDX-License-Identifier: MIT
 *
 * Arrays of operators: memory for them, made-up values, what identifies a result.
 */
#ifndef KERNELS_CLI_DATA_H
#define KERNELS_CLI_DATA_H

#include "hal/contract/contract.h"
#include "kernels/cli/npy.h"

/* The machine's type for an array of the file, or TYPE_NONE; and the other way round. */
enum type data_type(enum npy_type type);
enum npy_type data_npy_type(enum type type);
/* malloc for `count` elements, 512-byte aligned, which a checker calls `name`; NULL: it has
 * none. On failure one line on stderr. */
void *data_named(const char *who, const char *name, enum type type, uint64_t count);
static inline void *data_alloc(const char *who, enum type type, uint64_t count)
{
    return data_named(who, NULL, type, count);
}
/* Tells a checker how many elements are used of memory that has come in another way. */
void data_used(const char *name, const void *data, enum type type, uint64_t count);

/* int64 as int32, in the same place: the number of the first one that is none, or count. */
uint64_t data_narrow(void *data, uint64_t count);

/* What made-up values are like. All are the same on every run. */
#define DATA_KINDS "range|special|bits|lowest"
enum data_kind {
    DATA_RANGE,   /* floats in [-1, 1) in steps of 1/512, integers of their whole range */
    DATA_SPECIAL, /* zeros, subnormals, largest ones, infinities, NaN */
    DATA_BITS,    /* any bits */
    DATA_LOWEST,  /* the lowest number that is finite */
};
void data_fill(enum data_kind kind, void *data, enum type type, uint64_t count,
               uint32_t seed);
/* data_alloc and data_fill of DATA_RANGE. */
void *data_make(const char *who, enum type type, uint64_t count, uint32_t seed);

/* Prints what identifies a result bit for bit, `digest WHO TYPE COUNT HASH`.
 * tools/perturb compares these lines. */
void data_digest(const char *who, const void *data, enum type type, uint64_t count);
/* Element i as its bits, zero-extended. */
uint64_t data_bits(const void *data, enum type type, uint64_t i);
/* The number that has these bits, and back: to nearest even, halves through F32, NaN the
 * canonical one, integers modulo their size. */
double data_value(uint64_t bits, enum type type);
uint64_t data_round(double number, enum type type);

#endif
