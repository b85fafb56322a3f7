/* SPDX-License-Identifier: MIT
 *
 * Cast, CastLike, BitCast: other types of elements. Whole numbers wrap; floats that are too large
 * for a whole number are the nearest there is, 0 of NaN, as the machine has it.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/rules/elementwise/elementwise.h"
#include "tools/graph/rules/elementwise/small.h"

static void cast_shape(struct graph *g, struct node *n)
{
    enum elem to = strcmp(n->op, "CastLike") == 0 ? node_in(g, n, 1)->type
                                                  : dtype_of(node_int(n, "to", 0));

    (void)node_int(n, "saturate", 1);
    tensor_is(g, n, 0, to, &node_in(g, n, 0)->shape);
}

/* Before opset 25 ONNX's own results of floats that are too large were the nearest there is. */
static bool nearest(const struct graph *g, enum elem from, enum elem to)
{
    return g->opset < 25 && elem_is_float(from) && elem_is_small(to) && !elem_is_bits(to);
}

/* Of a float that a whole number cannot be, as on the machine, the nearest there is, 0 of NaN. */
static double nearest_whole(enum elem type, double x)
{
    if (elem_is_float(type) || elem_is_small(type) || type == ELEM_BOOL) {
        return x;
    }
    return type == ELEM_I64 || type == ELEM_U64
               ? (double)elem_whole(type == ELEM_U64 ? elem_max(x, 0) : x)
               : elem_clip(isnan(x) ? 0 : trunc(x), (double)elem_least(type),
                           (double)(elem_least(type) + elem_numbers(type) - 1));
}

static void cast_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    enum elem from = n->in[0]->type, type = n->out[0]->type;
    bool saturate = node_int(n, "saturate", 1) != 0;

    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        double x = n->in[0]->value[i]; /* rounded to the type behind this */
        if (nearest(g, from, type)) {
            x = elem_clip(x, (double)elem_least(type),
                          (double)(elem_least(type) + elem_numbers(type) - 1));
        }
        x = elem_is_bits(from) ? small_value(from, x) : x;
        x = elem_is_float(from) ? nearest_whole(type, x) : x;
        to[i] = elem_is_bits(type) ? small_bits(type, x, saturate) : x;
    }
}

/* What a cast to few bits leaves of a whole number. */
static const char *few_bits(struct program *p, enum elem type, const char *x)
{
    int size = (int)elem_numbers(type), first = (int)-elem_least(type);

    x = program_line(p, graph_text("f32(%s) + %d", x, first));
    return graph_text("%s - floor(%s / %d) * %d - %d", x, x, size, size, first);
}

/* Of a whole number, or of what is cut off to one, what its type has bits for. */
static const char *kept_bits(struct program *p, enum elem from, enum elem to,
                             const char *x)
{
    bool is_whole = !elem_is_float(from) && !elem_is_bits(from) && from != ELEM_BOOL;

    if (elem_is_float(to) || to == ELEM_BOOL) {
        return x;
    }
    if (elem_is_small(to)) {
        int64_t least = elem_least(to);
        return nearest(p->e->g, from, to)
                   ? graph_text("clip(%s, %lld, %lld)", x, (long long)least,
                                (long long)(least + elem_numbers(to) - 1))
                   : few_bits(p, to, x);
    }
    if (elem_is_float(from) && (to == ELEM_U16 || to == ELEM_U32 || to == ELEM_U64)) {
        return graph_text("clip(%s, 0, %s)", x, to == ELEM_U16 ? "65535" : "inf");
    }
    if (to == ELEM_U16) {
        return elementwise_lower_half(p, x);
    }
    if (!is_whole || elem_bits(to) > 16) {
        return x;
    }
    return few_bits(p, to, elem_is_wide(from) ? elementwise_lower_half(p, x) : x);
}

static void cast_emit(struct emit *e, struct node *n)
{
    struct program p = program_begin(e, n);
    const char *x = program_in(&p, n->in[0], program_axes);
    bool mask = n->in[0]->type == ELEM_BOOL, to_mask = n->out[0]->type == ELEM_BOOL;
    enum elem from = n->in[0]->type;

    if (elem_is_bits(from)) {
        x = small_decode(&p, from, x);
    }
    if (elem_is_bits(n->out[0]->type)) {
        x = mask ? graph_text("where(%s, 1.0, 0.0)", x) : x;
        x = small_encode(&p, n->out[0]->type, x, node_int(n, "saturate", 1) != 0);
        program_out(&p, n->out[0], program_axes, x, false);
        return;
    }
    if (mask && !to_mask) {
        x = graph_text("where(%s, 1, 0)", x);
    } else if (to_mask && !mask) {
        x = graph_text("%s != 0", x);
    } else if (elem_is_wide(from) || from == ELEM_I16) {
        x = n->out[0]->type == ELEM_F32 ? graph_text("f32(%s)", x) : x;
    } else if ((elem_is_float(from) || elem_is_bits(from)) &&
               elementwise_is_whole(n->out[0])) {
        x = graph_text("trunc(%s)", x);
    }
    x = kept_bits(&p, from, n->out[0]->type, x);
    program_out(&p, n->out[0], program_axes, x, to_mask);
}

/* --- BitCast: the same bits as another type of as many, in files and on the machine --- */

static bool has_bits(enum elem type)
{
    return type < ELEM_BOOL && type != ELEM_F64 &&
           elem_bytes(elem_machine(type)) == elem_bytes(type);
}

static void bitcast_shape(struct graph *g, struct node *n)
{
    const struct tensor *x = node_in(g, n, 0);
    enum elem to = dtype_of(node_int(n, "to", 0));

    if (!has_bits(x->type) || !has_bits(to) || elem_bytes(x->type) != elem_bytes(to)) {
        node_die(g, n, "of %s to %s", elem_text(x->type), elem_text(to));
    }
    tensor_is(g, n, 0, to, &x->shape);
}

static void bitcast_values(struct graph *g, struct node *n)
{
    double *to = tensor_values(n->out[0]);
    uint64_t bits;

    (void)g;
    for (int64_t i = 0; i < tensor_count(n->out[0]); i++) {
        elem_put(n->in[0]->type, n->in[0]->value[i], &bits);
        to[i] = elem_get(n->out[0]->type, &bits);
    }
}

/* A copy: a view in the same program would be the number, not its bits. */
static void bitcast_emit(struct emit *e, struct node *n)
{
    struct tensor *bits = tensor_view(n->in[0], &n->in[0]->shape);
    struct copy c;

    bits->type = n->out[0]->type;
    copy_begin(&c, e, n, n->out[0]);
    copy_dim(&c, tensor_count(bits), 1, 1);
    copy_add(&c, bits, 0, 0);
}

const struct rule rules_cast[] = {
    {.op = "BitCast",
     .shape = bitcast_shape,
     .value = bitcast_values,
     .emit = bitcast_emit},
    {.op = "Cast", .shape = cast_shape, .value = cast_values, .emit = cast_emit},
    {.op = "CastLike", .shape = cast_shape, .value = cast_values, .emit = cast_emit},
    {0},
};
