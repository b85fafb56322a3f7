/* SPDX-License-Identifier: MIT
 *
 * A model's file into a graph. The format is read by code that protoc-c makes of ONNX's own
 * description; what it leaves is checked here, since any file may be given.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/model/values.h"

#define FILE_MAX (INT64_C(1) << 31)
enum { MAP_MIN = 1 << 20 };
#define TRAINING "ai.onnx.preview.training" /* the domain of optimisers */

/* --- nodes --- */

static const char *read_string(const ProtobufCBinaryData *s)
{
    return graph_text("%.*s", (int)(s->len < 64 ? s->len : 64), (const char *)s->data);
}

/* A graph within a node, which is being read. Others may have the names that it gives. */
struct scope {
    const Onnx__GraphProto *p;
    const struct node *key; /* of its tensors: it may be read more than once */
    const char *of;         /* what their names begin with */
    const struct scope *outer;
};
static const struct scope *scope; /* NULL: it is the model's */

/* Values of graphs that may be read again, from which they have gone. */
static struct kept {
    const Onnx__TensorProto *p;
    struct tensor *t;
    const struct kept *next;
} * kept;

static void keep(const Onnx__TensorProto *p, struct tensor *t)
{
    struct kept *k = scope ? graph_alloc(1, sizeof(*k)) : NULL;

    if (k) {
        *k = (struct kept){p, t, kept};
        kept = k;
    }
}

static struct tensor *had(const Onnx__TensorProto *p)
{
    const struct kept *k = scope ? kept : NULL;

    while (k && k->p != p) {
        k = k->next;
    }
    return k ? k->t : NULL;
}

static bool keeps_file; /* its message: graphs within are read when they are wanted */

static bool gives(const Onnx__GraphProto *p, const char *name)
{
    bool given = false;

    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *have = p->initializer[i]->name;
        given = given || (have && strcmp(have, name) == 0);
    }
    for (size_t i = 0; i < p->n_input; i++) {
        const char *have = p->input[i]->name;
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
            return graph_tensor(g, s->key, graph_text("%s/%s", s->of, name));
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
        a->t = had(p->t);
    }
    if (p->t && !a->t) {
        a->t = graph_alloc(1, sizeof(*a->t));
        a->t->name = a->name;
        values_read(g, p->t, a->t);
        keep(p->t, a->t);
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
    const char *of = scope ? graph_text("%s/", scope->of) : "";
    struct node *n =
        graph_node(g, graph_text("%s", op),
                   p->name && p->name[0] ? graph_text("%s%s", of, p->name)
                                         : graph_text("%s%s_%u", of, op, number));

    if (p->domain && p->domain[0] && strcmp(p->domain, "ai.onnx") != 0 &&
        strcmp(p->domain, TRAINING) != 0) {
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

/* float32 outside of a model that has float16: under the same name, by a node that casts. */
static struct tensor *outside(struct graph *g, struct tensor *within, bool input)
{
    struct tensor *t = graph_alloc(1, sizeof(*t));
    struct node *n = graph_node(g, "Cast", graph_text("%s.cast", within->name));

    *t = (struct tensor){.name = within->name, .type = ELEM_F32};
    edit_operand(n, input ? t : within);
    edit_result(n, input ? within : t);
    node_attr_put(n, "to")->i = input ? DTYPE_TO_F16 : DTYPE_TO_F32;
    if (input) {
        t->shape = within->shape;
        t->known = true;
        within->known = false;
    }
    return t;
}

/* The type of an input or output as that of a tensor; NULL: it is none. */
static const Onnx__TypeProto__Tensor *tensor_type(const Onnx__ValueInfoProto *p)
{
    const Onnx__TypeProto *type = p->type;

    return type && type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
               ? type->tensor_type
               : NULL;
}

/* An input's type and shape. A size that has a name is asked for by it: main.c. */
static void read_input(struct graph *g, const Onnx__ValueInfoProto *p)
{
    const Onnx__TypeProto__Tensor *type = tensor_type(p);
    const Onnx__TensorShapeProto *shape;
    struct tensor *t = graph_tensor(g, NULL, p->name ? p->name : "");

    if (t->value) {
        return; /* an initializer, which older models list here as well */
    }
    for (unsigned i = 0; i < g->n_inputs; i++) {
        if (strcmp(g->input[i]->name, t->name) == 0) {
            graph_die(g, "input '%s' is there twice", t->name);
        }
    }
    if (!type) {
        graph_die(g, "input '%s' is no tensor", t->name);
    }
    shape = type->shape;
    if (!shape || shape->n_dim > GRAPH_RANK) {
        graph_die(g, "input '%s' has %s dimensions", t->name, shape ? "too many" : "no");
    }
    t->type = dtype_outside(dtype_of_onnx(type->elem_type));
    t->shape.n = (unsigned)shape->n_dim;
    for (unsigned d = 0; d < t->shape.n; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = shape->dim[d];
        bool sized = /* -1: converters of other formats write it where nothing is known */
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value >= 0;
        bool named =
            dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
        t->shape.dim[d] =
            sized ? dim->dim_value : graph_size(g, t, d, named ? dim->dim_param : "");
    }
    if (g->n_inputs == GRAPH_FILES) {
        graph_die(g, "more than %d inputs", GRAPH_FILES);
    }
    tensor_check(g, t);
    t->known = true;
    t = dtype_within(t->type) == t->type ? t : outside(g, t, true);
    g->input[g->n_inputs++] = t;
    t->input = true;
}

static void read_outputs(struct graph *g, const Onnx__GraphProto *p)
{
    if (p->n_output > GRAPH_FILES) {
        graph_die(g, "more than %d outputs", GRAPH_FILES);
    }
    for (size_t i = 0; i < p->n_output; i++) {
        const char *name = p->output[i]->name ? p->output[i]->name : "";
        const Onnx__TypeProto__Tensor *type = tensor_type(p->output[i]);
        struct tensor *t = graph_tensor(g, NULL, name);
        bool wide = type && dtype_outside(dtype_of_onnx(type->elem_type)) == ELEM_F32;
        g->output[g->n_outputs++] =
            wide && dtype_within(ELEM_F32) != ELEM_F32 ? outside(g, t, false) : t;
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

/* A model's file: large ones are mapped, and stay so. */
struct file {
    uint8_t *data;
    size_t bytes;
    bool mapped;
};

/* A mapped file that becomes shorter has no bytes where it is read. */
static char shorter[128];
static void (*at_loss)(void);

void graph_at_loss(void (*end)(void))
{
    at_loss = end;
}

static void on_shorter(int number)
{
    ssize_t told = write(STDERR_FILENO, shorter, strlen(shorter));

    (void)number, (void)told;
    if (at_loss) {
        at_loss();
    }
    _exit(2);
}

static void tell_shorter(const struct graph *g)
{
    const char *path = strlen(g->path) < 64 ? g->path : "the model";

    snprintf(shorter, sizeof(shorter),
             "graph: %s: has become shorter while it was read\n", path);
    (void)signal(SIGBUS, on_shorter);
}

static struct file read_file(const struct graph *g)
{
    FILE *f = graph_open(g);
    struct file file = {.data = NULL};
    void *data;
    long size;

    if (fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) < 0 || size > FILE_MAX ||
        fseek(f, 0, SEEK_SET) != 0) {
        graph_die(g, "%s", errno == 0 ? "too large" : strerror(errno));
    }
    file.bytes = (size_t)size;
    file.mapped = size >= MAP_MIN;
    if (file.mapped) {
        data = mmap(NULL, file.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(f), 0);
        file.data = data;
        tell_shorter(g);
    } else {
        file.data = graph_alloc(file.bytes, 1);
    }
    if (file.mapped ? data == MAP_FAILED
                    : fread(file.data, 1, file.bytes, f) != file.bytes) {
        graph_die(g, "cannot be read");
    }
    (void)fclose(f);
    return file;
}

static void let_go(const struct file *file)
{
    if (file->mapped) {
        (void)munmap(file->data, file->bytes);
    } else {
        free(file->data);
    }
}

/* Those of the model's own: cut number `at` of its file comes next. */
struct cuts {
    const struct stripped *of;
    size_t at;
    bool mapped;
};

/* cuts NULL: of a graph within. */
static void read_initializers(struct graph *g, const Onnx__GraphProto *p,
                              struct cuts *cuts)
{
    struct tensor *first;

    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = p->initializer[i]->name ? p->initializer[i]->name : "";
        struct tensor *t = tensor_of(g, name);
        if (t->known) {
            graph_die(g, "'%s' is there twice", name);
        }
        first = had(p->initializer[i]);
        if (first) {
            t->alias = first;
            t->type = first->type;
            t->shape = first->shape;
            t->value = first->value;
            t->known = true;
            continue;
        }
        if (cuts) {
            const struct stripped *of = cuts->of;
            bool cut = cuts->at < of->n_cuts && of->cut[cuts->at].number == i;
            values_read_packed(g, p->initializer[i], t, cut ? &of->cut[cuts->at] : NULL,
                               cuts->mapped);
            cuts->at += cut;
        } else {
            values_read(g, p->initializer[i], t);
        }
        keep(p->initializer[i], t);
    }
}

struct body graph_body(const struct attr *body)
{
    const Onnx__GraphProto *p = body->graph;

    return (struct body){p->n_input, p->n_output, p->n_node};
}

/* `to` is `from` by another name: in front of the nodes that follow, or behind those before. */
static void same(struct graph *g, const char *name, struct tensor *from,
                 struct tensor *to)
{
    struct node *n = graph_node(g, "Identity", name);

    edit_operand(n, from);
    edit_result(n, to);
}

struct node *graph_inline(struct graph *g, struct node *n, const struct attr *body,
                          const struct inlined *as)
{
    const Onnx__GraphProto *p = body->graph;
    struct node *behind = n->next, **end = g->last_node, *last = n;
    struct scope *within =
        graph_alloc(1, sizeof(*within)); /* nodes of it may have more */

    if (p->n_output != as->n_out || p->n_input != as->n_in) {
        node_die(g, n, "a graph of %zu operands and %zu results, want %u and %u",
                 p->n_input, p->n_output, as->n_in, as->n_out);
    }
    *within =
        (struct scope){p, graph_alloc(1, sizeof(struct node)), as->name, body->within};
    scope = within;
    n->next = NULL;
    g->last_node = &n->next;
    read_initializers(g, p, NULL);
    for (unsigned i = 0; i < as->n_in; i++) {
        const char *name = p->input[i]->name ? p->input[i]->name : "";
        same(g, graph_text("%s/%s", as->name, name), as->in[i], tensor_of(g, name));
    }
    for (size_t i = 0; i < p->n_node; i++) {
        read_node(g, p->node[i], (unsigned)i);
    }
    for (unsigned i = 0; i < as->n_out; i++) {
        const char *name = p->output[i]->name ? p->output[i]->name : "";
        if (as->out[i]) {
            same(g, graph_text("%s.%u", as->name, i), tensor_of(g, name), as->out[i]);
        }
    }
    scope = NULL;
    while (last->next) {
        last = last->next;
    }
    last->next = behind;
    g->last_node = behind ? end : g->last_node;
    return last;
}

struct graph *graph_read(const char *path)
{
    struct graph *g = graph_alloc(1, sizeof(*g));
    const Onnx__GraphProto *p;
    Onnx__ModelProto *m;
    struct file file;
    struct stripped slim;
    struct cuts cuts;

    *g = (struct graph){.path = path, .last_tensor = &g->tensors, .last_node = &g->nodes};
    file = read_file(g);
    if (!slim_is_flat(&onnx__model_proto__descriptor, file.data, file.bytes)) {
        graph_die(g, "graphs lie in each other too deep: messages of at most %d levels",
                  SLIM_DEPTH);
    }
    slim = strip_of(file.data, file.bytes);
    m = slim.data ? onnx__model_proto__unpack(NULL, slim.bytes, slim.data)
                  : onnx__model_proto__unpack(NULL, file.bytes, file.data);
    cuts = (struct cuts){.of = &slim, .mapped = file.mapped};
    free(slim.data);
    if (slim.n_cuts == 0) {
        let_go(&file);
    }
    if (!m || !m->graph) {
        graph_die(g, "is no ONNX model");
    }
    p = m->graph;
    g->opset = opset_of(g, m);
    read_initializers(g, p, &cuts);
    for (size_t i = 0; i < p->n_input; i++) {
        read_input(g, p->input[i]);
    }
    graph_sizes_heard(g);
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
    struct file file;

    g->path = path;
    file = read_file(g);
    p = onnx__tensor_proto__unpack(NULL, file.bytes, file.data);
    let_go(&file);
    if (!p) {
        graph_die(g, "is no tensor of ONNX");
    }
    t->name = graph_text("%s", p->name ? p->name : "");
    values_read(g, p, t);
    onnx__tensor_proto__free_unpacked(p, NULL);
    if (!t->value) {
        graph_die(g, "'%s' is %s", t->name, elem_text(t->type));
    }
    return t;
}
