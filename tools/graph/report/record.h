/* SPDX-License-Identifier: MIT
 *
 * What runs of plans have left in folders, as the scripts `debug` and `calibrate` have them:
 * tensors in `all`, where and what they are in `tensors`, cycles in `steps`.
 */
#ifndef GRAPH_RECORD_H
#define GRAPH_RECORD_H

#include "tools/graph/model/graph.h"

enum { RECORD_MOST = 8192 };

/* Of a file a line each, in its order: a tensor's place and name, or a step's nodes and cycles. */
struct record {
    const char *folder;
    unsigned n;
    char *name[RECORD_MOST];
    unsigned long long number[RECORD_MOST];
};

/* Reads one of the two; dies if it is not there. */
struct record *record_read(const char *folder, const char *file, bool cycles);
/* A tensor of the first kind, its values in double precision. */
struct tensor *record_tensor(const struct record *l, unsigned i);
/* Largest difference by the largest element of b; what is infinite or NaN in both is alike. */
double record_error(const double *a, const double *b, int64_t n);
_Noreturn void record_fail(const char *path, const char *why);

#endif
