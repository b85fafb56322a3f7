/* SPDX-License-Identifier: MIT
 *
 * Models that are made, not read.
 */
#ifndef GRAPH_MAKE_H
#define GRAPH_MAKE_H

#include <stdio.h>

struct builder;

/* The model of that name; NULL: there is none. */
struct builder *make_model(const char *model);
/* All names, with a blank in front of each. */
void make_names(FILE *to);

#endif
