/* SPDX-License-Identifier: MIT
 *
 * Plans as files.
 */
#ifndef GRAPH_WRITE_H
#define GRAPH_WRITE_H

#include <stdio.h>
#include "tools/graph/emit.h"

/* Gives every tensor its place and writes the plan. Dies if a tensor's type or value is none
 * that the machine has. */
void write_plan(struct emit *e, FILE *to);

#endif
