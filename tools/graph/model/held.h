/* SPDX-License-Identifier: MIT
 *
 * Types of elements by their numbers in ONNX, TensorProto.DataType, and what the machine is to have
 * in their place; see graph_narrow(), graph_half().
 */
#ifndef GRAPH_HELD_H
#define GRAPH_HELD_H

#include "tools/graph/model/graph.h"

/* The largest number of float16. */
#define HELD_F16_MAX 65504.0

/* What a Cast of ours is to: float16; float32, whatever is held in its place. */
enum { HELD_TO_F16 = 10, HELD_TO_F32 = -1 };

/* The type of a number, as the model has it; what it is in files, and within the model. */
enum elem held_as_named(int32_t type);
enum elem held_outside(enum elem type);
enum elem held_within(enum elem type);
/* What the host rounds values to that it knows: float32's digits stay until a step takes them, for
 * sizes may be computed of them, such as Resize's of its scales. */
enum elem held_known(enum elem type);
/* A constant of the model becomes that: what float16 has not, the largest that it has. */
void held_constant(struct tensor *t);
void held_clamp(double *x, size_t n);

#endif
