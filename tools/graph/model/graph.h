/* SPDX-License-Identifier: MIT
 *
 * A model as a graph: tensors, and nodes that compute them of others. What ONNX says of an
 * operator is a rule: shapes and types of its results, their values in double precision
 * where all operands are known before a run, and the steps of a plan that compute them on
 * the machine.
 *
 * All memory lives as long as the process; what is wrong with a model ends it with one line
 * and exit status 2.
 */
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    GRAPH_RANK = 8,
    GRAPH_OPERANDS = 64, /* of a node, and results */
    GRAPH_FILES = 32,    /* inputs of a model, and outputs: kernels/graph/plan.h */
    GRAPH_BUCKETS = 1024,
    GRAPH_OPSET_MIN = 1,
    GRAPH_OPSET_MAX = 26,
};
#define GRAPH_ELEMENTS (INT64_C(1) << 31) /* of a tensor, at most */
/* Where whole numbers of a node are cut off: beyond all sizes and all that 32 bits have. */
#define GRAPH_WHOLE (GRAPH_ELEMENTS + 1)

/* Types of elements, by the names of ONNX: TensorProto.DataType. */
enum elem {
    ELEM_NONE,
    ELEM_F32,
    ELEM_F16,
    ELEM_BF16,
    ELEM_F64,
    ELEM_I64,
    ELEM_I32,
    ELEM_I16,
    ELEM_U16, /* these three have 32 bits and a sign on the machine */
    ELEM_U32,
    ELEM_U64,
    ELEM_I8,
    ELEM_U8,
    ELEM_BOOL,
    /* One a byte on the machine; of floats their bits: small.h. */
    ELEM_I4,
    ELEM_U4,
    ELEM_I2,
    ELEM_U2,
    ELEM_E4M3,
    ELEM_E4M3Z,
    ELEM_E5M2,
    ELEM_E5M2Z,
    ELEM_E2M1,
    ELEM_TEXT, /* from here on those that the machine has not */
    ELEM_COMPLEX,
    ELEM_COMPLEX128,
    ELEM_E8M0,
    ELEM_OTHER,
};

struct shape {
    unsigned n;
    int64_t dim[GRAPH_RANK];
};

struct node;
struct packed;
struct reader;
struct tensor;

/* A sequence: tensors in order, which are known before a run. */
struct list {
    unsigned n;
    struct tensor *const *at;
};

enum { PART_BYTES = 32 }; /* what is part of a tensor begins at a multiple */

struct tensor {
    const char *name;
    const struct node *within; /* graph_tensor() */
    enum elem type;
    struct shape shape;
    bool known;              /* type and shape hold */
    const struct list *list; /* it is a sequence, and has neither; or NULL */
    bool input;              /* of the graph */
    bool fixed;              /* an input whose value the plan was made for */
    struct tensor *given;    /* a value that it may be made for, or NULL */
    double *value;           /* known before a run; integers beyond 2^53 are rounded */
    struct packed *packed;   /* value is not there to be read: packed.h; or NULL */
    double *seen;            /* of a run, by calibrate.c */
    struct node *from;       /* that computes it; NULL: input or constant */
    struct tensor *alias;    /* the same bytes: a view */
    int64_t offset;          /* of a view: elements of `alias` in front of it */
    struct tensor *last;     /* it with channels last, (n, h, w, c): layout.c; or NULL */
    struct tensor *home; /* steps write it to its place in that one: Concat; or NULL */
    int64_t home_at;     /* elements of it in front */
    struct tensor *next, *in_bucket;
    struct tensor *half[2]; /* of a constant: what planes.c makes of it */
    unsigned id;            /* in the plan */
    struct tensor *count; /* a number: how many of dimension `counted` a run has found */
    uint8_t counted;
    const struct reader *reader; /* the first one of those that are number `readers` */
    unsigned readers;
    uint64_t touched; /* by a step, behind so many bytes: trial.h */
};

struct attr {
    const char *name;
    int64_t i;
    double f;
    const char *s; /* or NULL */
    size_t n_ints, n_floats, n_strings;
    const int64_t *ints;
    const double *floats;
    const char *const *strings;
    struct tensor *t;
    const void *graph, *within; /* in the file, and what it is in: graph_inline() */
    bool asked;                 /* by node_attr() */
};

struct rule;
struct graph;

struct node {
    const char *op, *name;
    const struct rule *rule;
    struct tensor *in[GRAPH_OPERANDS], *out[GRAPH_OPERANDS]; /* NULL: left out */
    unsigned n_in, n_out, n_attrs;
    struct attr *attr;
    struct node *next;
    bool done;           /* its results are known, or views: no step computes it */
    struct group *group; /* steps.h: that computes it */
    struct match *match; /* pattern.h: that it is part of */
    unsigned seen;       /* by a search */
    bool brought;        /* to its place, in front of what reads it: infer.c */
    int64_t turn;        /* of a Loop that is the rest of one: how many have been */
    bool planes;         /* its products of F32 are by F16: planes.c */
};

struct graph {
    const char *path;
    int opset;
    struct tensor *tensors, **last_tensor; /* in the order in which they were named */
    struct tensor *bucket[GRAPH_BUCKETS];  /* by their names */
    struct node *nodes, **last_node;       /* each behind what it reads */
    /* Behind outputs stand numbers that they are told by: all that a run has to leave. */
    struct tensor *input[GRAPH_FILES], *output[2 * GRAPH_FILES];
    unsigned n_inputs, n_outputs, n_left;
    size_t unrolled;        /* nodes that graphs within others have become: loop.c */
    struct reader *readers; /* group.c; NULL: they are to be looked for */
};

struct emit; /* steps.h */

struct rule {
    const char *op;
    /* Types and shapes of the results, or other nodes in its place, lower.h; values, if all
     * operands have theirs; steps. */
    void (*shape)(struct graph *g, struct node *n);
    void (*value)(struct graph *g, struct node *n);
    void (*emit)(struct emit *e, struct node *n);
    /* Bit i: the shape of the results depends on the values of operand i. */
    uint32_t wants;
    const void *own; /* of its family */
    bool alone;      /* its steps are no part of others */
    bool optional;   /* its first result may be left out */
    bool lists;      /* its operands may be sequences */
};

/* --- memory and errors: graph.c --- */

void *graph_alloc(size_t n, size_t size); /* zeros */
char *graph_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What a model has named goes to a terminal: nothing is left in it that cannot be printed. */
void graph_printable(char *text);
/* `model.onnx: text` */
_Noreturn void graph_die(const struct graph *g, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* `model.onnx: node 'name' (Op): text` */
_Noreturn void node_die(const struct graph *g, const struct node *n, const char *format,
                        ...) __attribute__((format(printf, 3, 4)));

/* What both call behind their line, which does not return; NULL: the process ends with status
 * 2. */
void graph_on_error(void (*then)(void));

/* --- the graph: graph.c --- */

/* The file g->path, which has to be a regular one: others may have no end. */
FILE *graph_open(const struct graph *g);

/* read.c: a model; a tensor in a file of its own. */
struct graph *graph_read(const char *path);
/* What a model's file that becomes shorter while it is read ends the program with, besides a line
 * and status 2: called in a signal's handler. */
void graph_at_loss(void (*end)(void));
struct tensor *graph_read_tensor(const char *path);
/* A graph within a node: how many it has. */
struct body {
    size_t inputs, outputs, nodes;
};
struct body graph_body(const struct attr *body);
/* What it reads, and gives where that is not NULL; what its names begin with. */
struct inlined {
    const char *name;
    struct tensor *const *in, *const *out;
    unsigned n_in, n_out;
};
/* Its nodes behind node n; returns the last one. */
struct node *graph_inline(struct graph *g, struct node *n, const struct attr *body,
                          const struct inlined *as);
/* npy.c: a tensor in a file of NumPy's; dies as they do. And such a file of a tensor. */
struct tensor *graph_read_npy(const char *path);
struct tensor *graph_read_npy_at(const char *path, uint64_t at); /* a part of a file */
void graph_write_npy(const struct tensor *t, FILE *to);
/* enum npy_type that a file has of a type: float32 for what NumPy has not. */
int graph_npy_type(enum elem type);
/* --size NAME=N of the command line; dies if nobody gave the size of this dimension. */
int64_t graph_size(const struct graph *g, const struct tensor *t, unsigned d,
                   const char *name);
/* All inputs are there: dies if a dimension was given a size that none of them has. */
void graph_sizes_heard(const struct graph *g);
/* The tensor of a name, among the model's, NULL, or those of what is in place of a node; it is made
 * unless it is there. */
struct tensor *graph_tensor(struct graph *g, const struct node *within, const char *name);
struct node *graph_node(struct graph *g, const char *op, const char *name);
/* --- reading nodes --- */

const struct attr *node_attr(const struct node *n, const char *name);
/* The same to be set, which nobody else has: zeros, unless it is there. It is asked for. */
struct attr *node_attr_put(struct node *n, const char *name);
/* Dies if a node has an attribute that nobody asked for: one of a later definition of its
 * operator, which would have changed what it computes. */
void node_heard(const struct graph *g, const struct node *n);
int64_t node_int(const struct node *n, const char *name, int64_t otherwise);
double node_float(const struct node *n, const char *name, double otherwise);
/* An axis from -rank to rank - 1 as 0 to rank - 1. */
unsigned node_axis(const struct graph *g, const struct node *n, int64_t axis,
                   unsigned rank);
/* Operand i, which has to be there; NULL where it may be left out. */
struct tensor *node_in(const struct graph *g, const struct node *n, unsigned i);
static inline struct tensor *node_maybe(const struct node *n, unsigned i)
{
    return i < n->n_in ? n->in[i] : NULL;
}
/* Operand i, which must be one number that is known; if it is left out, the attribute's. */
double node_number(const struct graph *g, const struct node *n, unsigned i);
double node_number_or(const struct graph *g, const struct node *n, unsigned i,
                      const char *attr, double otherwise);
/* Whole numbers of an attribute, or of operand i, whose values must be known: how many. */
unsigned node_ints(const struct graph *g, const struct node *n, const char *attr,
                   unsigned i, int64_t to[GRAPH_OPERANDS]);

/* --- shapes: shape.c --- */

int64_t shape_count(const struct shape *s);
bool shape_equal(const struct shape *a, const struct shape *b);
/* `[2, 3]` */
const char *shape_text(const struct shape *s);
/* Elements from an index to the next in each dimension. */
void shape_strides(const struct shape *s, int64_t stride[GRAPH_RANK]);
/* What NumPy broadcasts both to. */
struct shape shape_broadcast(const struct graph *g, const struct node *n,
                             const struct shape *a, const struct shape *b);
/* The next index of a shape in order; false behind the last. */
bool shape_step(const struct shape *s, int64_t at[GRAPH_RANK]);
/* Elements in front of an axis, and behind it: of (outer, axis, inner). */
void shape_around(const struct shape *s, unsigned axis, int64_t *outer, int64_t *inner);
/* Where an element of a broadcast lies in an operand of fewer or smaller dimensions. */
int64_t shape_at(const struct shape *of, const struct shape *broadcast,
                 const int64_t at[GRAPH_RANK]);

/* --- tensors --- */

/* Result i has this type and shape. */
void tensor_is(const struct graph *g, struct node *n, unsigned i, enum elem type,
               const struct shape *shape);
/* Dies if no machine holds a tensor of that shape. */
void tensor_check(const struct graph *g, const struct tensor *t);
int64_t tensor_count(const struct tensor *t);
/* On the machine. */
uint64_t tensor_bytes(const struct tensor *t);
double *tensor_values(struct tensor *t); /* zeros, to be filled in */
/* Dies if a known value is none that the machine has: whole numbers of 64 bits are of 32. */
void tensor_fits(const struct graph *g, const struct tensor *t);
/* `NODE.WHAT`: a tensor of the steps of one node, or a constant that a pass makes for it. */
struct tensor *tensor_new(const struct node *n, const char *what, enum elem type,
                          const struct shape *shape);
/* The same bytes in another shape. */
struct tensor *tensor_view(struct tensor *t, const struct shape *shape);
/* Those from an element on. */
struct tensor *tensor_part(struct tensor *t, int64_t from, const struct shape *shape);
/* The tensor whose bytes it has: itself, unless it is a view. */
struct tensor *tensor_root(struct tensor *t);
/* Elements of that in front of it. */
int64_t tensor_offset(const struct tensor *t);
/* Whether a step may begin with element `at` of it: with a multiple of PART_BYTES. */
bool tensor_has_part(const struct tensor *t, int64_t at);
/* t becomes the elements of `from` from that one on. */
void tensor_is_part(struct tensor *t, struct tensor *from, int64_t at);

/* --- types of elements: elem.c --- */

bool elem_is_float(enum elem type);
const char *elem_text(enum elem type);
/* What the machine has of it, and whether that is a whole number of 32 bits. */
enum elem elem_machine(enum elem type);
bool elem_is_wide(enum elem type);
/* One of less than a byte, or a float of 8 bits; whether it is one of those floats. */
bool elem_is_small(enum elem type);
bool elem_is_bits(enum elem type);
/* Bits of one in a model's file. */
unsigned elem_bits(enum elem type);
/* The least whole number of one of up to 32 bits; how many it has. */
int64_t elem_least(enum elem type);
static inline int64_t elem_numbers(enum elem type)
{
    return INT64_C(1) << elem_bits(type);
}
/* The type that files of NumPy's and the machine have for it: int8 for int4. */
enum elem elem_file(enum elem type);
/* The whole number that x is, towards 0; the nearest that there is, 0 for NaN. */
int64_t elem_whole(double x);
/* The nearest to it as far as GRAPH_WHOLE. */
static inline int64_t graph_whole(int64_t x)
{
    return x > GRAPH_WHOLE ? GRAPH_WHOLE : x < -GRAPH_WHOLE ? -GRAPH_WHOLE : x;
}
/* The greater one, the smaller one, the nearest of low to high, `high` if they cross; NaN if one
 * is, as on the machine. */
double elem_max(double x, double y);
double elem_min(double x, double y);
double elem_clip(double x, double low, double high);
/* x y; of whole numbers of 32 bits what these leave of it, which double precision may not. */
double elem_product(enum elem type, double x, double y);
/* The nearest value that the type has; integers wrap. */
double elem_round(enum elem type, double x);
/* An element as files hold it, little-endian: how many bytes; from them; into them. */
size_t elem_bytes(enum elem type);
double elem_get(enum elem type, const void *from);
void elem_put(enum elem type, double value, void *to);
/* The same of n of them. */
void elem_round_all(enum elem type, double *x, size_t n);
void elem_get_all(enum elem type, const void *from, size_t n, double *to);
void elem_put_all(enum elem type, const double *value, size_t n, void *to);

#endif
