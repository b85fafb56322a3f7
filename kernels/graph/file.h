/* SPDX-License-Identifier: MIT
 *
 * Elements of inputs and outputs: files have int64 and uint16 where the machine has 32 bits, and
 * float32 where it has bfloat16; what a run has found is less than there was room for.
 */
#ifndef KERNELS_GRAPH_FILE_H
#define KERNELS_GRAPH_FILE_H

#include "kernels/cli/npy.h"
#include "kernels/graph/plan.h"

/* Bytes of an element on the machine. */
size_t file_element(const struct plan_tensor *t);
/* 16 bits without a sign become 32, of which the file had not room; false: no memory. */
MUST_CHECK bool file_lengthen(const struct plan_tensor *t, struct npy *npy);
/* A file's elements as the machine has them, in their place. False: element *i does not fit. */
MUST_CHECK bool file_narrow(const struct plan_tensor *t, char *data, uint64_t *i);
/* The machine's elements as a file has them, of so many bytes each. */
void file_widen(const struct plan_tensor *t, const char *from, char *to, size_t bytes);
/* The first `found` along an axis are left. */
void file_cut(struct npy *npy, unsigned axis, int64_t found);

#endif
