/* SPDX-License-Identifier: MIT
 *
 * Which arithmetic each program of a plan needs: what runs have left of it (record.h), beside the
 * same in double precision.
 *
 * Allowed is twice the error that a program's nodes have one by one, computed in double precision
 * and each rounded correctly to its type, sums of products term by term; or what --tolerance
 * says. Errors are relative to the largest element of a tensor. A program whose error is above
 * climbs: from f16, where that is faster, to f32 for what is in between, to F32 in products, to
 * its nodes by themselves.
 */
#ifndef GRAPH_CALIBRATE_H
#define GRAPH_CALIBRATE_H

#include <stdio.h>

#include "tools/graph/steps/steps.h"

/* `fused` and `plain` are what was run, with fuse_ariths() and with each node by itself, on each
 * of n samples, a.npy,b.npy; of sample i the folders of the runs are FOLDER/fused.i and plain.i.
 * Says on stdout what climbs, and writes lines of a file for tune_read(). tolerance < 0: none was
 * given. */
void calibrate(const struct emit *fused, const struct emit *plain, const char *folder,
               const char *const *samples, unsigned n, double tolerance, FILE *to);

#endif
