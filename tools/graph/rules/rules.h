/* SPDX-License-Identifier: MIT
 *
 * Rules by the names of their operators.
 */
#ifndef GRAPH_RULES_H
#define GRAPH_RULES_H

#include "tools/graph/model/graph.h"

/* NULL: there is none. */
const struct rule *rules_find(const char *op);
/* Why there is none; `: reason`, or nothing. */
const char *rules_why_not(const char *op);

#endif
