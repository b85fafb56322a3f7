/* SPDX-License-Identifier: MIT
 *
 * The file of a plan, kernels/graph/plan.h: tables for each size of a model; texts and
 * constants, which all of them share.
 */
#ifndef GRAPH_PLAN_FILE_H
#define GRAPH_PLAN_FILE_H

#include "kernels/graph/plan.h"
#include "tools/graph/model/graph.h"

struct plan_file;

struct plan_file *plan_file_begin(void);
/* Where a text is; and a name that a model has given, as a plan may have it. */
uint32_t plan_file_text(struct plan_file *f, const char *s);
uint32_t plan_file_name(struct plan_file *f, const char *given);
/* Where the values of a tensor lie, from the first constant on; `bytes` there. Those of another
 * size may be the same. */
uint64_t plan_file_constant(struct plan_file *f, const struct tensor *t, uint64_t bytes);
/* The tables of one size are complete: h says how many there are of each, constants of t lie
 * where plan_file_constant() has said. Values of which there are others go away. */
void plan_file_add(struct plan_file *f, const struct plan_header *h,
                   struct plan_tensor *t, struct plan_step *s);
/* Writes all of it; dies with a line about g. */
void plan_file_write(struct plan_file *f, const struct graph *g, FILE *to);

#endif
