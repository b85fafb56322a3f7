/* SPDX-License-Identifier: MIT
 *
 * A model's file into a graph. The format is read by code that protoc-c makes of ONNX's own
 * description; what it leaves is checked here, since any file may be given.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "build/onnx/onnx.pb-c.h"
#include "tools/graph/external.h"

#define FILE_MAX (INT64_C(1) << 31)
#define TRAINING "ai.onnx.preview.training" /* the domain of optimisers */

/* By their numbers in ONNX: onnx.proto, TensorProto.DataType. */
static enum elem elem_of(int32_t type)
{
    static const enum elem types[] = {
        [1] = ELEM_F32,    [2] = ELEM_U8,    [3] = ELEM_I8,       [4] = ELEM_U16,
        [12] = ELEM_U32,   [5] = ELEM_I16,   [6] = ELEM_I32,      [7] = ELEM_I64,
        [8] = ELEM_TEXT,   [13] = ELEM_U64,  [14] = ELEM_COMPLEX, [15] = ELEM_COMPLEX128,
        [24] = ELEM_E8M0,  [9] = ELEM_BOOL,  [10] = ELEM_F16,     [11] = ELEM_F64,
        [16] = ELEM_BF16,  [17] = ELEM_E4M3, [18] = ELEM_E4M3Z,   [19] = ELEM_E5M2,
        [20] = ELEM_E5M2Z, [21] = ELEM_U4,   [22] = ELEM_I4,      [23] = ELEM_E2M1,
        [25] = ELEM_U2,    [26] = ELEM_I2};
    bool known = type > 0 && (size_t)type < sizeof(types) / sizeof(types[0]);

    return known && types[type] != ELEM_NONE ? types[type] : ELEM_OTHER;
}

static bool narrow;

void graph_narrow(void)
{
    narrow = true;
}

/* What the machine is to have in place of a type. */
static enum elem held(enum elem type)
{
    return narrow && type == ELEM_F64 ? ELEM_F32 : type;
}

enum elem graph_elem(int64_t type)
{
    return held(elem_of((int32_t)type));
}

void graph_hold(struct tensor *t)
{
    enum elem type = held(t->type);

    if (type != t->type && t->value) {
        elem_round_all(type, t->value, (size_t)tensor_count(t));
    }
    t->type = type;
}

/* --- tensors --- */

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
    return type == ELEM_F32   ? p->n_float_data
           : type == ELEM_F64 ? p->n_double_data
           : type == ELEM_I64 ? p->n_int64_data
           : type == ELEM_U32 ? p->n_uint64_data
                              : p->n_int32_data;
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

/* Values that the model holds, as those of t; what the message has of them goes away: weights
 * are most of what a model is, and are there once. */
static void read_numbers(const struct graph *g, Onnx__TensorProto *p, struct tensor *t)
{
    size_t count = 1, bytes, have;

    if (p->n_dims > GRAPH_RANK) {
        graph_die(g, "'%s' has %zu dimensions, at most %d", t->name, p->n_dims,
                  GRAPH_RANK);
    }
    t->type = elem_of(p->data_type);
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
    if (t->type >= ELEM_U64) {
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
    tensor_values(t);
    if (p->has_raw_data) {
        elem_get_all(t->type, p->raw_data.data, count, t->value);
        free(p->raw_data.data);
        p->raw_data = (ProtobufCBinaryData){0};
        return;
    }
    for (size_t i = 0; i < count; i++) {
        t->value[i] = listed_at(p, t->type, i);
    }
}

static void read_values(const struct graph *g, Onnx__TensorProto *p, struct tensor *t)
{
    read_numbers(g, p, t);
    graph_hold(t);
}

/* --- nodes --- */

static const char *read_string(const ProtobufCBinaryData *s)
{
    return graph_text("%.*s", (int)(s->len < 64 ? s->len : 64), (const char *)s->data);
}

static bool keeps_file; /* its message: graphs within are read when they are wanted */

/* A graph within a node, which is being read. Others may have the names that it gives: here
 * they begin with that of the node's result. */
struct scope {
    const Onnx__GraphProto *p;
    const struct node *n;
    const char *of;
    const struct scope *outer;
};
static const struct scope *scope; /* NULL: it is the model's */

static bool gives(const Onnx__GraphProto *p, const char *name)
{
    bool given = false;

    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *have = p->initializer[i]->name;
        given = given || (have && strcmp(have, name) == 0);
    }
    for (size_t i = 0; i < p->n_node; i++) {
        const Onnx__NodeProto *n = p->node[i];
        for (size_t j = 0; j < n->n_output; j++) {
            given = given || strcmp(n->output[j], name) == 0;
        }
    }
    return given;
}

static struct tensor *tensor_of(struct graph *g, const char *name)
{
    for (const struct scope *s = scope; s; s = s->outer) {
        if (gives(s->p, name)) {
            return graph_tensor(g, s->n, graph_text("%s/%s", s->of, name));
        }
    }
    return graph_tensor(g, NULL, name);
}

static void read_attr(const struct graph *g, const Onnx__AttributeProto *p,
                      struct attr *a)
{
    int64_t *ints = graph_alloc(p->n_ints, sizeof(*ints));
    double *floats = graph_alloc(p->n_floats, sizeof(*floats));
    const char **strings = graph_alloc(p->n_strings, sizeof(*strings));

    *a = (struct attr){.name = graph_text("%s", p->name ? p->name : ""),
                       .i = p->has_i ? graph_whole(p->i) : 0,
                       .f = p->has_f ? (double)p->f : 0,
                       .graph = p->g,
                       .within = scope,
                       .n_ints = p->n_ints,
                       .n_floats = p->n_floats,
                       .n_strings = p->n_strings,
                       .ints = ints,
                       .floats = floats,
                       .strings = strings};
    for (size_t i = 0; i < p->n_ints; i++) {
        ints[i] = graph_whole(p->ints[i]);
    }
    for (size_t i = 0; i < p->n_floats; i++) {
        floats[i] = (double)p->floats[i];
    }
    for (size_t i = 0; i < p->n_strings; i++) {
        strings[i] = read_string(&p->strings[i]);
    }
    if (p->has_s) {
        a->s = read_string(&p->s);
    }
    keeps_file = keeps_file || p->g;
    if (p->t) {
        a->t = graph_alloc(1, sizeof(*a->t));
        a->t->name = a->name;
        read_values(g, p->t, a->t);
    }
}

static unsigned read_edges(struct graph *g, const struct node *n, char **names,
                           size_t count, struct tensor **to)
{
    if (count > GRAPH_OPERANDS) {
        node_die(g, n, "%zu operands or results, at most %d", count, GRAPH_OPERANDS);
    }
    for (size_t i = 0; i < count; i++) {
        to[i] = names[i] && names[i][0] ? tensor_of(g, names[i]) : NULL;
    }
    return (unsigned)count;
}

static void read_node(struct graph *g, const Onnx__NodeProto *p, unsigned number)
{
    const char *op = p->op_type ? p->op_type : "";
    struct node *n = graph_node(g, graph_text("%s", op),
                                p->name && p->name[0] ? graph_text("%s", p->name)
                                                      : graph_text("%s_%u", op, number));

    if (p->domain && p->domain[0] && strcmp(p->domain, "ai.onnx") != 0 &&
        (strcmp(p->domain, TRAINING) != 0 || !graph_rule(op))) {
        node_die(g, n, "domain '%s': only ONNX's own operators are known", p->domain);
    }
    n->n_in = read_edges(g, n, p->input, p->n_input, n->in);
    n->n_out = read_edges(g, n, p->output, p->n_output, n->out);
    n->n_attrs = (unsigned)p->n_attribute;
    n->attr = graph_alloc(n->n_attrs, sizeof(n->attr[0]));
    for (unsigned i = 0; i < n->n_attrs; i++) {
        read_attr(g, p->attribute[i], &n->attr[i]);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i] && (n->out[i]->from || n->out[i]->known)) {
            node_die(g, n, "'%s' is there already", n->out[i]->name);
        }
        if (n->out[i]) {
            n->out[i]->from = n;
        }
    }
}

/* --- the model --- */

/* An input's type and shape. A size that has a name is asked for by it: main.c. */
static void read_input(struct graph *g, const Onnx__ValueInfoProto *p)
{
    const Onnx__TypeProto *type = p->type;
    const Onnx__TensorShapeProto *shape;
    struct tensor *t = graph_tensor(g, NULL, p->name ? p->name : "");

    if (t->value) {
        return; /* an initializer, which older models list here as well */
    }
    if (!type || type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ||
        !type->tensor_type) {
        graph_die(g, "input '%s' is no tensor", t->name);
    }
    shape = type->tensor_type->shape;
    if (!shape || shape->n_dim > GRAPH_RANK) {
        graph_die(g, "input '%s' has %s dimensions", t->name, shape ? "too many" : "no");
    }
    t->type = graph_elem(type->tensor_type->elem_type);
    t->shape.n = (unsigned)shape->n_dim;
    for (unsigned d = 0; d < t->shape.n; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        bool sized =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
        bool named =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        t->shape.dim[d] =
            sized ? dim->dim_value : graph_size(g, t, d, named ? dim->dim_param : "");
    }
    if (g->n_inputs == GRAPH_OPERANDS) {
        graph_die(g, "more than %d inputs", GRAPH_OPERANDS);
    }
    g->input[g->n_inputs++] = t;
    t->input = true;
    tensor_check(g, t);
    t->known = true;
}

static void read_outputs(struct graph *g, const Onnx__GraphProto *p)
{
    if (p->n_output > GRAPH_OPERANDS) {
        graph_die(g, "more than %d outputs", GRAPH_OPERANDS);
    }
    for (size_t i = 0; i < p->n_output; i++) {
        const char *name = p->output[i]->name ? p->output[i]->name : "";
        g->output[g->n_outputs++] = graph_tensor(g, NULL, name);
    }
}

static int opset_of(const struct graph *g, const Onnx__ModelProto *m)
{
    for (size_t i = 0; i < m->n_opset_import; i++) {
        const Onnx__OperatorSetIdProto *o = m->opset_import[i];
        if (!o->domain || !o->domain[0] || strcmp(o->domain, "ai.onnx") == 0) {
            if (o->version < GRAPH_OPSET_MIN || o->version > GRAPH_OPSET_MAX) {
                graph_die(g, "opset %lld: %d to %d are known", (long long)o->version,
                          GRAPH_OPSET_MIN, GRAPH_OPSET_MAX);
            }
            return (int)o->version;
        }
    }
    if (m->n_opset_import == 1 && m->opset_import[0]->domain &&
        strcmp(m->opset_import[0]->domain, TRAINING) == 0) {
        return GRAPH_OPSET_MAX;
    }
    graph_die(g, "it names no opset of ONNX%s%s", m->n_opset_import ? ", but of " : "",
              m->n_opset_import ? m->opset_import[0]->domain : "");
}

static uint8_t *read_file(const struct graph *g, size_t *bytes)
{
    FILE *f = graph_open(g);
    uint8_t *data;
    long size;

    if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || size > FILE_MAX ||
        fseek(f, 0, SEEK_SET) != 0) {
        graph_die(g, "%s", errno == 0 ? "too large" : strerror(errno));
    }
    data = graph_alloc((size_t)size, 1);
    if (fread(data, 1, (size_t)size, f) != (size_t)size) {
        graph_die(g, "cannot be read");
    }
    (void)fclose(f);
    *bytes = (size_t)size;
    return data;
}

static void read_initializers(struct graph *g, const Onnx__GraphProto *p)
{
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = p->initializer[i]->name ? p->initializer[i]->name : "";
        struct tensor *t = tensor_of(g, name);
        if (t->known) {
            graph_die(g, "'%s' is there twice", name);
        }
        read_values(g, p->initializer[i], t);
    }
}

void graph_inline(struct graph *g, struct node *n, const struct attr *body)
{
    const Onnx__GraphProto *p = body->graph;
    struct node *behind = n->next, **last = g->last_node;
    struct scope *within =
        graph_alloc(1, sizeof(*within)); /* nodes of it may have more */

    if (p->n_output != n->n_out) {
        node_die(g, n, "%zu results of %u", p->n_output, n->n_out);
    }
    *within = (struct scope){p, n, n->name, body->within};
    for (unsigned i = n->n_out; i-- > 0;) {
        within->of = n->out[i] ? n->out[i]->name : within->of;
    }
    scope = within;
    n->next = NULL;
    g->last_node = &n->next;
    read_initializers(g, p);
    for (size_t i = 0; i < p->n_node; i++) {
        read_node(g, p->node[i], (unsigned)i);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        const char *name = p->output[i]->name ? p->output[i]->name : "";
        struct node *as;
        if (n->out[i] == NULL) {
            continue;
        }
        as = graph_node(g, "Identity", graph_text("%s.%u", n->name, i));
        as->n_in = as->n_out = 1;
        as->in[0] = tensor_of(g, name);
        as->out[0] = n->out[i];
        n->out[i]->from = as;
    }
    scope = NULL;
    *g->last_node = behind;
    g->last_node = behind ? last : g->last_node;
    n->n_in = n->n_out = 0;
    n->done = true;
}

struct graph *graph_read(const char *path)
{
    struct graph *g = graph_alloc(1, sizeof(*g));
    const Onnx__GraphProto *p;
    Onnx__ModelProto *m;
    uint8_t *data;
    size_t bytes;

    *g = (struct graph){.path = path, .last_tensor = &g->tensors, .last_node = &g->nodes};
    data = read_file(g, &bytes);
    m = onnx__model_proto__unpack(NULL, bytes, data);
    free(data);
    if (!m || !m->graph) {
        graph_die(g, "is no ONNX model");
    }
    p = m->graph;
    g->opset = opset_of(g, m);
    read_initializers(g, p);
    for (size_t i = 0; i < p->n_input; i++) {
        read_input(g, p->input[i]);
    }
    for (size_t i = 0; i < p->n_node; i++) {
        read_node(g, p->node[i], (unsigned)i);
    }
    read_outputs(g, p);
    if (!keeps_file) {
        onnx__model_proto__free_unpacked(m, NULL);
    }
    return g;
}

struct tensor *graph_read_tensor(const char *path)
{
    struct graph *g = graph_alloc(1, sizeof(*g));
    struct tensor *t = graph_alloc(1, sizeof(*t));
    Onnx__TensorProto *p;
    uint8_t *data;
    size_t bytes;

    g->path = path;
    data = read_file(g, &bytes);
    p = onnx__tensor_proto__unpack(NULL, bytes, data);
    free(data);
    if (!p) {
        graph_die(g, "is no tensor of ONNX");
    }
    t->name = graph_text("%s", p->name ? p->name : "");
    read_values(g, p, t);
    onnx__tensor_proto__free_unpacked(p, NULL);
    if (!t->value) {
        graph_die(g, "'%s' is %s", t->name, elem_text(t->type));
    }
    return t;
}
