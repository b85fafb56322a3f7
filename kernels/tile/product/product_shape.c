/* SPDX-License-Identifier: MIT
 *
 * A DOT as a product of the Matmul object: which dimensions are rows, columns and batch, how
 * the operands lie, and what of the rest of an expression the fixpipe does; see product.h.
 */
#include "hal/fixpipe.h"
#include "kernels/tile/product/product.h"

/* Dimensions that follow each other without a gap, in c and in an operand. */
struct run {
    tile_dims dims;
    uint32_t size; /* 1: there are none */
    uint64_t c, x; /* elements between neighbours of its last one; 0: there is none */
};

/* Dimensions of a tensor that have more than one element. */
static tile_dims long_dims(const struct tile_kernel *k, const struct tile_tensor *t)
{
    tile_dims dims = 0;

    for (unsigned i = 0; i < t->rank; i++) {
        dims |= (tile_dims)((k->dim[t->dim[i]].size > 1) << t->dim[i]);
    }
    return dims;
}

/* The last dimensions of a set, in c's order, that are one in both tensors. */
static struct run find_run(const struct tile_kernel *k, tile_dims set,
                           const struct tile_tensor *c, const struct tile_tensor *x)
{
    struct run run = {.size = 1};

    for (unsigned i = c->rank; i-- > 0;) {
        unsigned d = c->dim[i];
        uint64_t in_c = tile_dim_stride(k, c, d), in_x = tile_dim_stride(k, x, d);
        if (!(set >> d & 1)) {
            continue;
        }
        if (run.dims == 0) {
            run.c = in_c;
            run.x = in_x;
        } else if (in_c != run.c * run.size || in_x != run.x * run.size) {
            break;
        }
        run.dims |= (tile_dims)(1u << d);
        run.size *= k->dim[d].size;
    }
    return run;
}

/* The others, from the outermost to the innermost of c. */
static void find_outer(struct product *p, const struct tile_kernel *k,
                       const struct tile_tensor *c)
{
    const struct tile_tensor *a = &k->param[p->a], *b = &k->param[p->b];
    tile_dims set = long_dims(k, c) & (tile_dims) ~(p->rows | p->columns);

    for (unsigned i = 0; i < c->rank; i++) {
        unsigned d = c->dim[i];
        if (set >> d & 1) {
            p->outer[p->n_outer++] = (struct product_outer){
                .dim = (uint8_t)d,
                .size = k->dim[d].size,
                .a = tile_dim_stride(k, a, d),
                .b = tile_dim_stride(k, b, d),
                .c = tile_dim_stride(k, c, d),
            };
        }
    }
}

/* As many of them as are one dimension in all three tensors: how many elements. */
static uint32_t find_batch(struct product *p)
{
    uint32_t size = 1;

    for (unsigned i = p->n_outer; i-- > 0; p->n_batch++) {
        const struct product_outer *o = &p->outer[i], *last = &p->outer[p->n_outer - 1];
        if (i + 1 < p->n_outer && (o->a != last->a * size || o->b != last->b * size ||
                                   o->c != last->c * size)) {
            break;
        }
        size *= o->size;
    }
    return size;
}

/* Whether an operand lies in GM as rows: elements between neighbours within a row, and from
 * a row to the next, 0 where there is one. */
static bool lies_as(uint64_t inner, uint64_t outer, uint32_t inner_size, uint32_t *pitch)
{
    if (inner > 1 || outer > UINT32_MAX) {
        return false;
    }
    *pitch = outer ? (uint32_t)outer : inner_size;
    return true;
}

static int across(const struct tile_kernel *k, const struct product *p, unsigned param,
                  struct tile_error *error)
{
    return tile_error_set(
        error, p->dot, ERR_SHAPE,
        "product: neither %s nor what the result has of %s lies side by "
        "side in it",
        k->dim[p->dot->dim].name, k->param[param].name);
}

static int set_operands(struct product *p, const struct tile_kernel *k,
                        const struct run *rows, const struct run *columns,
                        struct tile_error *error)
{
    const struct tile_tensor *a = &k->param[p->a], *b = &k->param[p->b];
    uint32_t size = k->dim[p->dot->dim].size, pitch;
    uint64_t in_a = size > 1 ? tile_dim_stride(k, a, p->dot->dim) : 0;
    uint64_t in_b = size > 1 ? tile_dim_stride(k, b, p->dot->dim) : 0;
    /* Never read: the object only looks whether it was set. */
    const void *gm = p;
    bool turned;

    turned = !lies_as(in_a, rows->x, size, &pitch);
    if (turned && !lies_as(rows->x, in_a, rows->size, &pitch)) {
        return across(k, p, p->a, error);
    }
    mm_set_a(&p->mm, gm, (enum type)a->type, MM_ND, turned, pitch);
    turned = !lies_as(columns->x, in_b, columns->size, &pitch);
    if (turned && !lies_as(in_b, columns->x, size, &pitch)) {
        return across(k, p, p->b, error);
    }
    mm_set_b(&p->mm, gm, (enum type)b->type, MM_ND, turned, pitch);
    return 0;
}

/* Sizes, operands and the batch, once rows and columns are known. */
static int set_object(struct product *p, const struct tile_kernel *k,
                      const struct tile_tensor *c, const struct run *rows,
                      const struct run *columns, struct tile_error *error)
{
    uint64_t pitch = rows->c ? rows->c : columns->size;
    const struct product_outer *last;
    int err;

    p->rows = rows->dims;
    p->columns = columns->dims;
    find_outer(p, k, c);
    mm_init(&p->mm,
            &(struct mm_shape){.m = rows->size,
                               .n = columns->size,
                               .k = k->dim[p->dot->dim].size,
                               .batch = find_batch(p)},
            NULL);
    err = set_operands(p, k, rows, columns, error);
    if (err || pitch > UINT32_MAX) {
        return err ? err : across(k, p, p->a, error);
    }
    mm_set_c(&p->mm, (enum type)p->dot->type, (uint32_t)pitch);
    if (p->n_batch) {
        last = &p->outer[p->n_outer - 1];
        p->mm.a.product = last->a;
        p->mm.b.product = last->b;
        p->mm.c_product = last->c;
    }
    return 0;
}

int product_shape(struct product *p, const struct tile_kernel *k,
                  const struct tile_tensor *c, struct tile_error *error)
{
    uint8_t first = (uint8_t)k->node[p->dot->operand[0]].index;
    uint8_t second = (uint8_t)k->node[p->dot->operand[1]].index;
    tile_dims of_c = long_dims(k, c);
    tile_dims in_a = of_c & long_dims(k, &k->param[first]);
    tile_dims in_b = of_c & long_dims(k, &k->param[second]);
    struct run rows, columns;

    p->a = first;
    p->b = second;
    for (unsigned i = c->rank; i-- > 0;) {
        if (of_c >> c->dim[i] & 1) { /* c's columns are of a: it is b' x a' */
            bool swap = (in_a & ~in_b) >> c->dim[i] & 1;
            p->a = swap ? second : first;
            p->b = swap ? first : second;
            break;
        }
    }
    if (p->a != first) {
        tile_dims other = in_a;
        in_a = in_b;
        in_b = other;
    }
    rows = find_run(k, in_a & (tile_dims)~in_b, c, &k->param[p->a]);
    columns = find_run(k, in_b & (tile_dims)~in_a, c, &k->param[p->b]);
    if (columns.c != 1) { /* one column after the other */
        columns = (struct run){.size = 1};
    }
    return set_object(p, k, c, &rows, &columns, error);
}

/* --- the fixpipe --- */

/* A row that is added to the product: the sum begins with it. Its parameter's number + 1. On
 * its way to BT a half becomes a float; the object's is one already. */
static uint8_t bias_of(const struct product *p, const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];
    bool halves = p->block && n->op == TILE_CAST && n->type == p->dot->type;

    if (halves) {
        n = &k->node[n->operand[0]];
        halves = n->type == TYPE_F16 || n->type == TYPE_BF16;
    }
    return n->op == TILE_INPUT && (halves || n->type == p->dot->type) && p->columns &&
                   long_dims(k, &k->param[n->index]) == p->columns && !k->exact
               ? (uint8_t)(n->index + 1)
               : 0;
}

/* `x`, or of two operands the one that `other` is not. */
static tile_value beside(const struct tile_node *n, tile_value other)
{
    return n->operand[0] == other ? n->operand[1] : n->operand[0];
}

bool product_is_sum(struct product *p, const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v];

    if (n == p->dot) {
        return true;
    }
    for (unsigned i = 0; i < 2 && n->op == TILE_ADD; i++) {
        p->bias = &k->node[n->operand[i]] == p->dot
                      ? bias_of(p, k, beside(n, n->operand[i]))
                      : 0;
        if (p->bias) {
            return true;
        }
    }
    return false;
}

/* A number in the program, or one that it was given. */
static bool is_number(const struct tile_kernel *k, tile_value v, float *number)
{
    const struct tile_node *n = &k->node[v];
    const struct tile_scalar *s = &k->scalar[n->op == TILE_SCALAR ? n->index : 0];

    *number = (float)(n->op == TILE_SCALAR ? s->value : n->number);
    return n->op == TILE_NUMBER || (n->op == TILE_SCALAR && s->given);
}

bool product_by_fixpipe(struct product *p, const struct tile_kernel *k)
{
    tile_value v = k->result[0].value;
    const struct tile_node *n = &k->node[v];
    struct mm_activation act = {0};
    enum type type = (enum type)n->type;

    if (n->op == TILE_CAST && (type == TYPE_F16 || type == TYPE_BF16) &&
        k->node[n->operand[0]].type == TYPE_F32) {
        v = n->operand[0];
        n = &k->node[v];
    }
    if (n->op == TILE_RELU) {
        act.relu = FIX_RELU_PLAIN;
        v = n->operand[0];
    } else if (n->op == TILE_PRELU && is_number(k, n->operand[1], &act.slope)) {
        act.relu = FIX_RELU_LEAKY;
        v = n->operand[0];
    }
    if (k->n_results != 1 || !product_is_sum(p, k, v) ||
        (act.relu == FIX_RELU_LEAKY && p->dot->type == TYPE_S32)) {
        return false;
    }
    p->mm.c_type = type;
    mm_set_activation(&p->mm, &act);
    return true;
}
