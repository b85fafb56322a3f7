/* SPDX-License-Identifier: MIT
 *
 * See builder.h. Messages are those that read.c reads.
 */
#include "tools/graph/zoo/builder.h"

#include <stdlib.h>
#include <string.h>

#include "build/onnx/onnx.pb-c.h"

enum { MOST = 4096, OUTPUTS = 8, ATTRS = 8 };

struct builder {
    Onnx__ModelProto model;
    Onnx__GraphProto graph;
    Onnx__OperatorSetIdProto opset, *opsets[1];
    Onnx__NodeProto *node[MOST];
    Onnx__TensorProto *tensor[MOST];
    Onnx__ValueInfoProto *input[GRAPH_OPERANDS], *output[GRAPH_OPERANDS];
    struct tensor value[GRAPH_OPERANDS]; /* of the inputs */
    uint64_t seed;
};

/* splitmix64; from 0 to below 1. */
static double spread(struct builder *b)
{
    uint64_t x = b->seed += 0x9e3779b97f4a7c15u;

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

struct builder *builder_begin(const char *name, int64_t opset, uint64_t seed)
{
    struct builder *b = graph_alloc(1, sizeof(*b));

    onnx__model_proto__init(&b->model);
    onnx__graph_proto__init(&b->graph);
    onnx__operator_set_id_proto__init(&b->opset);
    b->opset.has_version = b->model.has_ir_version = true;
    b->opset.version = opset;
    b->opset.domain = graph_text("%s", "");
    b->opsets[0] = &b->opset;
    b->model.ir_version = 8;
    b->model.graph = &b->graph;
    b->model.n_opset_import = 1;
    b->model.opset_import = b->opsets;
    b->graph.name = graph_text("%s", name);
    b->graph.node = b->node;
    b->graph.initializer = b->tensor;
    b->graph.input = b->input;
    b->graph.output = b->output;
    b->seed = seed;
    return b;
}

static Onnx__TensorProto *tensor(struct builder *b, int32_t type, unsigned n,
                                 const int64_t *dim)
{
    Onnx__TensorProto *t = graph_alloc(1, sizeof(*t));

    if (b->graph.n_initializer == MOST) {
        abort(); /* no model of make.c has so many */
    }
    onnx__tensor_proto__init(t);
    t->has_data_type = true;
    t->data_type = type;
    t->name = graph_text("w%zu", b->graph.n_initializer);
    t->n_dims = n;
    t->dims = graph_alloc(n, sizeof(*t->dims));
    memcpy(t->dims, dim, n * sizeof(*dim));
    b->tensor[b->graph.n_initializer++] = t;
    return t;
}

const char *builder_weight(struct builder *b, double centre, double about,
                           const struct shape *shape)
{
    Onnx__TensorProto *t =
        tensor(b, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, shape->n, shape->dim);
    size_t n = (size_t)shape_count(shape);
    float *value = graph_alloc(n, sizeof(*value));

    for (size_t i = 0; i < n; i++) {
        value[i] = (float)(centre + about * (2 * spread(b) - 1));
    }
    t->has_raw_data = true;
    t->raw_data.len = n * sizeof(*value);
    t->raw_data.data = (uint8_t *)value;
    return t->name;
}

const char *builder_whole(struct builder *b, unsigned n, const int64_t *value)
{
    int64_t dim = n;
    Onnx__TensorProto *t = tensor(b, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, &dim);

    t->n_int64_data = n;
    t->int64_data = graph_alloc(n, sizeof(*value));
    memcpy(t->int64_data, value, n * sizeof(*value));
    return t->name;
}

static Onnx__ValueInfoProto *value_info(const char *name)
{
    Onnx__ValueInfoProto *v = graph_alloc(1, sizeof(*v));

    onnx__value_info_proto__init(v);
    v->name = graph_text("%s", name);
    return v;
}

static Onnx__TypeProto *type_of(const struct tensor *t)
{
    Onnx__TypeProto *type = graph_alloc(1, sizeof(*type));
    Onnx__TypeProto__Tensor *of = graph_alloc(1, sizeof(*of));
    Onnx__TensorShapeProto *shape = graph_alloc(1, sizeof(*shape));

    onnx__type_proto__init(type);
    onnx__type_proto__tensor__init(of);
    onnx__tensor_shape_proto__init(shape);
    type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
    type->tensor_type = of;
    of->has_elem_type = true;
    of->elem_type = t->type == ELEM_I64 ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
                                        : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    of->shape = shape;
    shape->n_dim = t->shape.n;
    shape->dim =
        graph_alloc(t->shape.n, sizeof(struct Onnx__TensorShapeProto__Dimension *));
    for (unsigned i = 0; i < t->shape.n; i++) {
        shape->dim[i] = graph_alloc(1, sizeof(*shape->dim[i]));
        onnx__tensor_shape_proto__dimension__init(shape->dim[i]);
        shape->dim[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        shape->dim[i]->dim_value = t->shape.dim[i];
    }
    return type;
}

const char *builder_input(struct builder *b, enum elem type, double about,
                          const struct shape *shape)
{
    unsigned i = (unsigned)b->graph.n_input++;
    struct tensor *t = &b->value[i];

    *t = (struct tensor){.name = graph_text("x%u", i), .type = type, .shape = *shape};
    tensor_values(t);
    for (int64_t k = 0; k < tensor_count(t); k++) {
        double x = spread(b);
        t->value[k] =
            type == ELEM_I64 ? (double)elem_whole(x * about) : about * (2 * x - 1);
    }
    b->input[i] = value_info(t->name);
    b->input[i]->type = type_of(t);
    return t->name;
}

const char *builder_more(struct builder *b)
{
    Onnx__NodeProto *n = b->node[b->graph.n_node - 1];

    n->output[n->n_output] = graph_text("%s.%zu", n->name, n->n_output);
    return n->output[n->n_output++];
}

const char *builder_node(struct builder *b, const char *op, unsigned n_in,
                         const char *const *in)
{
    Onnx__NodeProto *n = graph_alloc(1, sizeof(*n));

    if (b->graph.n_node == MOST) {
        abort(); /* likewise */
    }
    onnx__node_proto__init(n);
    n->op_type = graph_text("%s", op);
    n->name = graph_text("%s_%zu", op, b->graph.n_node);
    n->n_input = n_in;
    n->input = graph_alloc(n_in, sizeof(*n->input));
    for (unsigned i = 0; i < n_in; i++) {
        n->input[i] = graph_text("%s", in[i]);
    }
    n->output = graph_alloc(OUTPUTS, sizeof(*n->output));
    n->attribute = graph_alloc(ATTRS, sizeof(*n->attribute));
    b->node[b->graph.n_node++] = n;
    return builder_more(b);
}

static Onnx__AttributeProto *attribute(struct builder *b, const char *name,
                                       Onnx__AttributeProto__AttributeType type)
{
    Onnx__NodeProto *n = b->node[b->graph.n_node - 1];
    Onnx__AttributeProto *a = graph_alloc(1, sizeof(*a));

    onnx__attribute_proto__init(a);
    a->name = graph_text("%s", name);
    a->has_type = true;
    a->type = type;
    n->attribute[n->n_attribute++] = a;
    return a;
}

void builder_int(struct builder *b, const char *name, int64_t value)
{
    Onnx__AttributeProto *a =
        attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

    a->has_i = true;
    a->i = value;
}

void builder_ints(struct builder *b, const char *name, unsigned n, const int64_t *value)
{
    Onnx__AttributeProto *a =
        attribute(b, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

    a->n_ints = n;
    a->ints = graph_alloc(n, sizeof(*a->ints));
    memcpy(a->ints, value, n * sizeof(*value));
}

void builder_output(struct builder *b, const char *name)
{
    b->output[b->graph.n_output++] = value_info(name);
}

void builder_write(struct builder *b, FILE *to)
{
    size_t bytes = onnx__model_proto__get_packed_size(&b->model);
    uint8_t *data = graph_alloc(1, bytes);

    onnx__model_proto__pack(&b->model, data);
    fwrite(data, 1, bytes, to);
    free(data);
}

const struct tensor *builder_input_value(const struct builder *b, unsigned i)
{
    return i < b->graph.n_input ? &b->value[i] : NULL;
}
