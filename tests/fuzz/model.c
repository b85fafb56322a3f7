/* SPDX-License-Identifier: MIT
 *
 * How libFuzzer changes a model for onnx.c: three times in four as a model, with other
 * operators, operands, attributes, types and sizes, else as bytes, of which most make none.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "build/onnx/onnx.pb-c.h"

enum { ROOM = 1 << 20, NAMES = 128, NAME = 32, EDITS = 3 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

static char names[NAMES][NAME]; /* operators that have been seen */
static _Alignas(16) char room[ROOM];
static size_t used;

static uint32_t below(uint32_t n)
{
    return n ? (uint32_t)rand() % n : 0;
}

/* Memory of a model, gone with the next. */
static void *take(void *ctx, size_t bytes)
{
    char *p = room + used;

    (void)ctx;
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > ROOM - used) {
        return NULL;
    }
    used += bytes;
    return p;
}

static void give_back(void *ctx, void *p)
{
    (void)ctx, (void)p;
}

static int64_t number(void)
{
    static const int64_t odd[] = {0,         1,       -1, 2,  3,  -2,        5,
                                  7,         8,       -8, 31, 64, 65536,     INT32_MAX,
                                  INT32_MIN, 1 << 20, -7, 4,  16, INT64_MAX, INT64_MIN};

    return odd[below(sizeof(odd) / sizeof(odd[0]))];
}

static void change_operator(Onnx__NodeProto *n)
{
    char *name = names[below(NAMES)], *other = names[below(NAMES)];

    if (n->op_type && strlen(n->op_type) < NAME) {
        memmove(name, n->op_type, strlen(n->op_type) + 1); /* it may be there */
    }
    n->op_type = other[0] ? other : n->op_type;
}

static void change_operands(Onnx__NodeProto *n)
{
    uint32_t i = below((uint32_t)n->n_input), k = below((uint32_t)n->n_input);

    switch (below(5)) {
    case 0:
        n->n_input -= n->n_input != 0;
        break;
    case 1:
        n->n_output -= n->n_output != 0;
        break;
    case 2:
        if (n->n_input) {
            n->input[i] = "";
        }
        break;
    case 3:
        if (n->n_output) {
            n->output[0] = n->n_input ? n->input[i] : "";
        }
        break;
    default:
        if (n->n_input) {
            n->input[i] = n->input[k];
        }
        break;
    }
}

static void change_attribute(Onnx__NodeProto *n)
{
    Onnx__AttributeProto *a =
        n->n_attribute ? n->attribute[below((uint32_t)n->n_attribute)] : NULL;

    if (!a) {
        return;
    }
    if (below(8) == 0) {
        n->n_attribute--;
    } else if (a->n_ints && below(4) == 0) {
        a->n_ints--;
    } else if (a->n_ints) {
        a->ints[below((uint32_t)a->n_ints)] = number();
    } else if (a->has_f) {
        a->f = below(4) ? (float)number() : (float)number() / (float)number();
    } else {
        a->has_i = 1;
        a->i = number();
    }
}

static void change_input(Onnx__ValueInfoProto *p)
{
    Onnx__TypeProto__Tensor *t =
        p->type && p->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
            ? p->type->tensor_type
            : NULL;

    if (t && below(4) == 0) {
        t->has_elem_type = 1;
        t->elem_type = (int32_t)below(17);
    } else if (t && t->shape && t->shape->n_dim) {
        Onnx__TensorShapeProto__Dimension *d =
            t->shape->dim[below((uint32_t)t->shape->n_dim)];
        d->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        d->dim_value = below(4) ? (int64_t)below(9) : number();
        t->shape->n_dim -= below(8) == 0;
    }
}

static void change_constant(Onnx__TensorProto *p)
{
    if (p->n_int64_data) {
        p->int64_data[below((uint32_t)p->n_int64_data)] = number();
    } else if (p->has_raw_data && p->raw_data.len >= sizeof(int64_t) &&
               p->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__INT64) {
        int64_t x = number();
        memcpy(p->raw_data.data + 8 * below((uint32_t)p->raw_data.len / 8), &x,
               sizeof(x));
    } else if (p->n_dims && below(2)) {
        p->dims[below((uint32_t)p->n_dims)] = below(5);
    } else {
        p->data_type = (int32_t)below(17);
    }
}

static void change(Onnx__GraphProto *g)
{
    Onnx__NodeProto *n = g->n_node ? g->node[below((uint32_t)g->n_node)] : NULL;
    uint32_t kind = below(6);

    if (n && kind == 0) {
        change_operator(n);
    } else if (n && kind == 1) {
        change_operands(n);
    } else if (n && kind < 4) {
        change_attribute(n);
    } else if (g->n_initializer && kind == 4) {
        change_constant(g->initializer[below((uint32_t)g->n_initializer)]);
    } else if (g->n_input) {
        change_input(g->input[below((uint32_t)g->n_input)]);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    ProtobufCAllocator memory = {take, give_back, NULL};
    Onnx__ModelProto *m;

    srand(seed);
    used = 0;
    m = below(4) ? onnx__model_proto__unpack(&memory, size, data) : NULL;
    if (!m || !m->graph) {
        return LLVMFuzzerMutate(data, size, most);
    }
    for (uint32_t i = 1 + below(EDITS); i != 0; i--) {
        change(m->graph);
    }
    if (onnx__model_proto__get_packed_size(m) > most) {
        return LLVMFuzzerMutate(data, size, most);
    }
    return onnx__model_proto__pack(m, data);
}
