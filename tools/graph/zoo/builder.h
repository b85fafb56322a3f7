/* SPDX-License-Identifier: MIT
 *
 * A model of ONNX, written node by node, with weights of a seed.
 */
#ifndef GRAPH_BUILDER_H
#define GRAPH_BUILDER_H

#include <stdint.h>
#include <stdio.h>

#include "tools/graph/model/graph.h"

struct builder;

struct builder *builder_begin(const char *name, int64_t opset, uint64_t seed);
/* Numbers evenly spread about a centre: float32 weights; the inputs of a run, also whole ones
 * from 0 to below `spread`. The name. */
const char *builder_weight(struct builder *b, double centre, double spread,
                           const struct shape *shape);
const char *builder_input(struct builder *b, enum elem type, double spread,
                          const struct shape *shape);
/* Whole numbers of a shape, a slice or axes. */
const char *builder_whole(struct builder *b, unsigned n, const int64_t *value);
/* A node of inputs; its first output. */
const char *builder_node(struct builder *b, const char *op, unsigned n,
                         const char *const *in);
/* Of the node that was made last. */
void builder_int(struct builder *b, const char *name, int64_t value);
void builder_ints(struct builder *b, const char *name, unsigned n, const int64_t *value);
/* Another output of it. */
const char *builder_more(struct builder *b);
void builder_output(struct builder *b, const char *name);
/* The file; input i as an array. */
void builder_write(struct builder *b, FILE *to);
const struct tensor *builder_input_value(const struct builder *b, unsigned i);

#endif
