/* SPDX-License-Identifier: MIT
 *
 * Values of tensors that lie in files beside the model.
 */
#ifndef GRAPH_EXTERNAL_H
#define GRAPH_EXTERNAL_H

#include "build/onnx/onnx.pb-c.h"
#include "tools/graph/model/graph.h"

/* Reads them, as if the model held them: raw_data, to be given to free(). Dies where there is no
 * such file, or part of it of so many bytes, in the folder of the model or below. */
void external_read(const struct graph *g, Onnx__TensorProto *p, const char *name,
                   size_t bytes);

#endif
