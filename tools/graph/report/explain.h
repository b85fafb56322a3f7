/* SPDX-License-Identifier: MIT
 *
 * What was decided, and measured: explain.txt and explain.json.
 */
#ifndef GRAPH_EXPLAIN_H
#define GRAPH_EXPLAIN_H

#include "tools/graph/steps/steps.h"

/* Passes, steps in order, and what was tried. */
void explain_text(const struct emit *e, FILE *to);
void explain_json(const struct emit *e, FILE *to);
/* Puts the cycles that a run has told of its steps into such a file. */
void explain_measured(const char *steps, const char *path);

#endif
