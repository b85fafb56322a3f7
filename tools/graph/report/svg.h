/* SPDX-License-Identifier: MIT
 *
 * Pictures of a graph before and after it became steps.
 */
#ifndef GRAPH_SVG_H
#define GRAPH_SVG_H

#include "tools/graph/steps/steps.h"

void svg_nodes(const struct emit *e, FILE *to);
void svg_steps(const struct emit *e, FILE *to);

#endif
