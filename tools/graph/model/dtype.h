/* SPDX-License-Identifier: MIT
 *
 * Types of elements by their numbers in ONNX, TensorProto.DataType, and what the machine is to have
 * in their place; see dtype_narrow(), dtype_half().
 */
#ifndef GRAPH_DTYPE_H
#define GRAPH_DTYPE_H

#include "tools/graph/model/graph.h"

/* The largest number of float16. */
#define DTYPE_F16_MAX 65504.0

/* What a Cast of ours is to: float16; float32, whatever is held in its place. */
enum { DTYPE_TO_F16 = 10, DTYPE_TO_F32 = -1 };

/* The type that the machine has of that number in ONNX. */
enum elem dtype_of(int64_t type);
/* From here on float64 is float32; a tensor that comes of elsewhere, as one is held then. */
void dtype_narrow(void);
void dtype_override(struct tensor *t);
/* From here on what a model has in float32 is float16 within it; inputs and results are cast. */
void dtype_half(void);
/* The type of a number, as the model has it; what it is in files, and within the model. */
enum elem dtype_of_onnx(int32_t type);
enum elem dtype_outside(enum elem type);
enum elem dtype_within(enum elem type);
/* What the host rounds values to that it knows: float32's digits stay until a step takes them, for
 * sizes may be computed of them, such as Resize's of its scales. */
enum elem dtype_known(enum elem type);
/* A constant of the model becomes that: what float16 has not, the largest that it has. */
void dtype_constant(struct tensor *t);
void dtype_clamp(double *x, size_t n);

#endif
