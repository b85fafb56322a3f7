/* SPDX-License-Identifier: MIT
 *
 * Operands of operators: files of the user, or data made up for benchmarks; and the
 * comparison of a result with a reference.
 */
#ifndef KERNELS_CLI_DATA_H
#define KERNELS_CLI_DATA_H

#include "hal/contract/contract.h"
#include "kernels/cli/npy.h"

/* The machine's type for an array of the file, and the other way round. */
enum type data_type(const struct npy *npy);
enum npy_type data_npy_type(enum type type);
/* Reads a file; on failure one line on stderr. */
MUST_CHECK int data_read(const char *who, const char *path, struct npy *npy);
/* Writes a result; on failure one line on stderr. */
MUST_CHECK int data_write(const char *who, const char *path, enum type type,
                          unsigned ndim, const size_t *shape, void *data);
/* malloc for `count` elements, 512-byte aligned; on failure one line on stderr. */
void *data_alloc(const char *who, enum type type, uint64_t count);
/* `count` elements that use the type's range well and are the same on every run: floats
 * in [-1, 1) in steps of 1/512, int8 from -128 to 127. NULL as data_alloc. */
void *data_make(const char *who, enum type type, uint64_t count, uint32_t seed);
/* With --digest (args.h) on the command line prints what identifies a result bit for bit,
 * `digest WHO TYPE COUNT HASH`, else nothing; each operator calls it with what it has
 * computed. tools/perturb compares these lines. */
void data_digest(const char *who, const void *data, enum type type, uint64_t count);
extern bool data_digest_wanted; /* set by args_parse() */
/* Element i as its bits, zero-extended. */
uint32_t data_bits(const void *data, enum type type, uint64_t i);

/* Compares `samples` of `count` elements (all if samples >= count), spread over the array
 * with both ends among them, with what ref() says, bit for bit. Prints the first
 * difference on stderr. Returns 0 or ERR_MISMATCH. */
typedef uint32_t data_ref_fn(const void *arg, uint64_t i);
MUST_CHECK int data_check(const char *who, const void *data, enum type type,
                          uint64_t count, uint64_t samples, data_ref_fn *ref,
                          const void *arg);

#endif
