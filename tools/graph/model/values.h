/* SPDX-License-Identifier: MIT
 *
 * Values that a model's file holds.
 */
#ifndef GRAPH_VALUES_H
#define GRAPH_VALUES_H

#include "build/onnx/onnx.pb-c.h"
#include "tools/graph/model/graph.h"
#include "tools/graph/model/strip.h"

/* Type, shape and values of t. What the message has of them goes away: weights are most of what a
 * model is, and are there once. */
void values_read(const struct graph *g, Onnx__TensorProto *p, struct tensor *t);
/* The same of an initializer of the model, which may be packed. Values that were cut from the
 * message, strip.h, are those of the file, `mapped` or in memory that stays; or cut is NULL. */
void values_read_packed(const struct graph *g, Onnx__TensorProto *p, struct tensor *t,
                        const struct strip_cut *cut, bool mapped);

#endif
