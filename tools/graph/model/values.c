/* SPDX-License-Identifier: MIT
 *
 * See values.h.
 */
#include "tools/graph/model/values.h"

#include <stdlib.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/model/external.h"
#include "tools/graph/model/packed.h"

/* Element i of a list: halves are there as bits. */
static double listed_at(const Onnx__TensorProto *p, enum elem type, size_t i)
{
    uint16_t half;

    switch (type) {
    case ELEM_F32:
        return (double)p->float_data[i];
    case ELEM_F64:
        return p->double_data[i];
    case ELEM_U32:
        return (double)(uint32_t)p->uint64_data[i];
    case ELEM_U64:
        return (double)p->uint64_data[i];
    case ELEM_I64:
        return (double)p->int64_data[i];
    case ELEM_F16:
    case ELEM_BF16:
        half = (uint16_t)p->int32_data[i];
        return elem_get(type, &half);
    default:
        return p->int32_data[i];
    }
}

static size_t listed(const Onnx__TensorProto *p, enum elem type)
{
    switch (type) {
    case ELEM_F32:
        return p->n_float_data;
    case ELEM_F64:
        return p->n_double_data;
    case ELEM_I64:
        return p->n_int64_data;
    case ELEM_U32:
    case ELEM_U64:
        return p->n_uint64_data;
    default:
        return p->n_int32_data;
    }
}

/* Several in a byte, the first one lowest; bytes are raw, or a list. */
static void read_packed(const struct graph *g, const Onnx__TensorProto *p,
                        struct tensor *t, size_t count)
{
    unsigned bits = elem_bits(t->type), each = 8 / bits;
    size_t have = p->has_raw_data ? p->raw_data.len : p->n_int32_data;

    if (have != (count + each - 1) / each) {
        graph_die(g, "'%s' has values of %zu bytes", t->name, have);
    }
    tensor_values(t);
    for (size_t i = 0; i < count; i++) {
        int byte =
            p->has_raw_data ? p->raw_data.data[i / each] : (int)p->int32_data[i / each];
        t->value[i] = elem_round(t->type, byte >> (i % each * bits) & ((1 << bits) - 1));
    }
}

/* Type and shape of t, and its values, unless they are raw. */
static void read_numbers(const struct graph *g, Onnx__TensorProto *p, struct tensor *t)
{
    size_t count = 1, bytes, have;

    if (p->n_dims > GRAPH_RANK) {
        graph_die(g, "'%s' has %zu dimensions, at most %d", t->name, p->n_dims,
                  GRAPH_RANK);
    }
    t->type = dtype_of_onnx(p->data_type);
    t->shape.n = (unsigned)p->n_dims;
    for (unsigned d = 0; d < t->shape.n; d++) {
        t->shape.dim[d] = p->dims[d];
        if (p->dims[d] < 0 || p->dims[d] > GRAPH_ELEMENTS ||
            (p->dims[d] && (int64_t)count > GRAPH_ELEMENTS / p->dims[d])) {
            graph_die(g, "'%s' has a size of %lld", t->name, (long long)p->dims[d]);
        }
        count *= (size_t)p->dims[d];
    }
    t->known = true;
    if (t->type >= ELEM_TEXT) {
        return; /* whoever uses it is told of the type */
    }
    if (p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) {
        external_read(g, p, t->name, (count * elem_bits(t->type) + 7) / 8);
    }
    if (elem_bits(t->type) < 8) {
        read_packed(g, p, t, count);
        return;
    }
    bytes = elem_bytes(t->type);
    have = p->has_raw_data ? p->raw_data.len / bytes : listed(p, t->type);
    if (have != count || (p->has_raw_data && p->raw_data.len % bytes)) {
        graph_die(g, "'%s' is %s, but has values of %zu elements", t->name,
                  shape_text(&t->shape), have);
    }
    if (p->has_raw_data) {
        return; /* take_raw() */
    }
    tensor_values(t);
    for (size_t i = 0; i < count; i++) {
        t->value[i] = listed_at(p, t->type, i);
    }
}

static bool packs(enum elem type)
{
    return type == ELEM_F32 || type == ELEM_F16 || type == ELEM_BF16 || type == ELEM_I8 ||
           type == ELEM_U8;
}

/* Raw values, which go away from the message; `may_pack` if nobody else reads them. */
static void take_raw(Onnx__TensorProto *p, struct tensor *t, bool may_pack,
                     enum packed_where where)
{
    uint8_t *data = p->raw_data.data;
    enum elem type = dtype_within(t->type);

    if (t->known && !t->value && t->type < ELEM_TEXT && p->has_raw_data) {
        if (may_pack && packs(t->type) && packed_take(t, t->type, data, where)) {
            p->raw_data.data = NULL;
            if (type != t->type) {
                packed_hold(t);
            }
            return;
        }
        elem_get_all(t->type, data, (size_t)tensor_count(t), tensor_values(t));
    }
}

static void read_tensor(const struct graph *g, Onnx__TensorProto *p, struct tensor *t,
                        const struct strip_cut *cut, bool may_pack, bool mapped)
{
    bool external = p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;

    cut = external ? NULL : cut;
    if (cut) {
        p->raw_data = (ProtobufCBinaryData){.len = cut->len, .data = cut->data};
    }
    read_numbers(g, p, t);
    take_raw(p, t, may_pack,
             !cut     ? PACKED_OWNED
             : mapped ? PACKED_MAPPED
                      : PACKED_MEMORY);
    if (!cut) {
        free(p->raw_data.data);
    }
    p->raw_data = (ProtobufCBinaryData){0};
    if (!t->packed) {
        dtype_constant(t);
    }
}

void values_read(const struct graph *g, Onnx__TensorProto *p, struct tensor *t)
{
    read_tensor(g, p, t, NULL, false, false);
}

void values_read_packed(const struct graph *g, Onnx__TensorProto *p, struct tensor *t,
                        const struct strip_cut *cut, bool mapped)
{
    read_tensor(g, p, t, cut, true, mapped);
}
