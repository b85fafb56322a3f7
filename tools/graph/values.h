/* SPDX-License-Identifier: MIT
 *
 * Values that a model's file holds.
 */
#ifndef GRAPH_VALUES_H
#define GRAPH_VALUES_H

#include "build/onnx/onnx.pb-c.h"
#include "tools/graph/graph.h"

/* Type, shape and values of t. What the message has of them goes away: weights are most of what a
 * model is, and are there once. */
void values_read(const struct graph *g, Onnx__TensorProto *p, struct tensor *t);

#endif
