/* SPDX-License-Identifier: MIT
 *
 * Plans as files.
 */
#ifndef GRAPH_WRITE_H
#define GRAPH_WRITE_H

#include <stdio.h>
#include "tools/graph/plan/plan_file.h"
#include "tools/graph/steps/steps.h"

/* Gives every tensor its place and adds what a plan says of these sizes to its file. Dies if a
 * tensor's type or value is none that the machine has. */
void write_size(struct plan_file *file, struct emit *e);
/* A plan of one size. */
void write_plan(struct emit *e, FILE *to);

#endif
