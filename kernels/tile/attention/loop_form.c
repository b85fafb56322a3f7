/* SPDX-License-Identifier: MIT
 *
 * What is what in a program with a loop: the products, their operands and dimensions, and
 * the part of a step that each operation belongs to; see loop.h. Programs of another form
 * are refused here, by name.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/attention/loop.h"

static bool has(tile_dims dims, unsigned dim)
{
    return dim != TILE_NO_DIM && (dims >> dim & 1);
}

static const struct tile_node *node(const struct loop_form *f, tile_value v)
{
    return &f->k->node[v];
}

static const char *dim_name(const struct loop_form *f, unsigned dim)
{
    return f->k->dim[dim].name;
}

/* --- products --- */

/* A parameter of a type that the Cube multiplies. */
static int check_factor(const struct loop_form *f, tile_value v, struct tile_error *error)
{
    const struct tile_node *n = node(f, v);

    if (n->op != TILE_INPUT) {
        return tile_error_set(
            error, n, ERR_ARG,
            "a product in a loop is of parameters, and of a cast of what "
            "the first one has given");
    }
    if ((n->type != TYPE_F16 && n->type != TYPE_BF16 && n->type != TYPE_F32) ||
        !chip_has_type(PIPE_M, (enum type)n->type)) {
        return tile_error_set(error, n, ERR_TYPE, "no product of %s in a loop",
                              type_name(n->type));
    }
    return 0;
}

/* Whether neighbours along a dimension lie side by side in a result. */
static bool lies_beside(const struct loop_form *f, unsigned dim)
{
    bool beside = false;

    for (unsigned r = 0; r < f->k->n_results && f->k->dim[dim].size > 1; r++) {
        const struct tile_tensor *t = &f->k->result[r].tensor;
        beside = beside || tile_dim_stride(f->k, t, dim) == 1;
    }
    return beside;
}

/* The largest of q's rows; or, where a result is of rows alone, the one that lies so in it. */
static uint8_t find_lanes(const struct loop_form *f, tile_dims rows)
{
    const struct tile_tensor *q = &f->k->param[f->q];
    uint8_t lanes = TILE_NO_DIM;

    for (unsigned i = 0; i < q->rank; i++) {
        uint8_t d = q->dim[i];
        bool larger = lanes == TILE_NO_DIM || f->k->dim[d].size >= f->k->dim[lanes].size;
        if (has(rows, d) && lies_beside(f, d)) {
            return d;
        }
        lanes = has(rows, d) && larger ? d : lanes;
    }
    return lanes;
}

/* The factors of the first product: the one with t is the keys. */
static int find_score(struct loop_form *f, struct tile_error *error)
{
    const struct tile_node *n = node(f, f->score);
    tile_value a = n->operand[0], b = n->operand[1];
    bool turned = has(node(f, a)->dims, f->t);
    tile_value q = turned ? b : a, key = turned ? a : b;
    const struct tile_choice *lanes = tile_chosen(f->k, TILE_CHOICE_LANES, TILE_NO_DIM);
    tile_dims rows;
    int err = check_factor(f, q, error);

    err = err ? err : check_factor(f, key, error);
    if (err) {
        return err;
    }
    f->q = (uint8_t)node(f, q)->index;
    f->key = (uint8_t)node(f, key)->index;
    f->d = n->dim;
    rows = (tile_dims)(node(f, q)->dims & ~node(f, key)->dims);
    if (!has(node(f, key)->dims, f->t) || has(node(f, q)->dims, f->t)) {
        return tile_error_set(error, n, ERR_SHAPE,
                              "one factor of the product has dimension %s, not %s",
                              dim_name(f, f->t), turned ? "both" : "none");
    }
    f->s = find_lanes(f, rows);
    if (lanes) {
        f->s = has(rows, lanes->dim) ? lanes->dim : TILE_NO_DIM;
    }
    if (f->s == TILE_NO_DIM) {
        return tile_error_set(error, n, ERR_SHAPE,
                              "no dimension of %s that %s has not is there for lanes",
                              f->k->param[f->q].name, f->k->param[f->key].name);
    }
    return 0;
}

/* Of rows and keys; of F32 it needs no cast. */
static bool may_be_given(const struct loop_form *f, tile_value v)
{
    const struct tile_node *p = node(f, v);
    bool made = p->type == TYPE_F32
                    ? loop_sources(p) > 0
                    : p->op == TILE_CAST && node(f, p->operand[0])->type == TYPE_F32;

    return made && p->loop && has(p->dims, f->s) && has(p->dims, f->t);
}

static int find_value(struct loop_form *f, struct tile_error *error)
{
    const struct tile_node *n = node(f, f->value);
    tile_value a = n->operand[0], b = n->operand[1];
    bool turned = node(f, a)->op == TILE_INPUT;
    tile_value p = turned ? b : a, v = turned ? a : b;
    tile_dims wide;
    int err = check_factor(f, v, error);

    if (err) {
        return err;
    }
    if (!may_be_given(f, p)) {
        return tile_error_set(
            error, n, ERR_ARG,
            "the product over %s is of a parameter and of a cast to its "
            "type of what the loop computes",
            dim_name(f, f->t));
    }
    wide = (tile_dims)(node(f, v)->dims & ~node(f, p)->dims);
    if (wide == 0 || (wide & (wide - 1))) {
        return tile_error_set(error, n, ERR_SHAPE,
                              "%s has one dimension besides those of "
                              "what it is multiplied with",
                              f->k->param[node(f, v)->index].name);
    }
    f->given = p;
    f->v = (uint8_t)node(f, v)->index;
    f->e = (uint8_t)__builtin_ctz(wide);
    return 0;
}

static int find_products(struct loop_form *f, struct tile_error *error)
{
    int err;

    for (tile_value v = 1; v <= f->k->n_nodes; v++) {
        const struct tile_node *n = node(f, v);
        if (n->op != TILE_DOT) {
            continue;
        }
        if (n->loop == 0) {
            return tile_error_set(error, n, ERR_ARG,
                                  "a product outside of the loop is not planned");
        }
        if (n->dim == f->t ? f->value : f->score) {
            return tile_error_set(error, n, ERR_ARG, "a second product over %s in a loop",
                                  n->dim == f->t ? dim_name(f, f->t)
                                                 : "another dimension");
        }
        *(n->dim == f->t ? &f->value : &f->score) = v;
    }
    if (f->score == 0) {
        struct tile_node at = {.line = f->loop->line};
        return tile_error_set(
            error, &at, ERR_ARG,
            "a loop without a product of two parameters is not planned: "
            "without the loop it would be");
    }
    err = find_score(f, error);
    f->e = TILE_NO_DIM;
    return err || f->value == 0 ? err : find_value(f, error);
}

/* --- dimensions --- */

static int check_last(const struct loop_form *f, const struct tile_tensor *t,
                      unsigned dim, struct tile_error *error)
{
    struct tile_node at = {.line = t->line, .column = t->column};

    if (f->k->dim[dim].size > 1 && tile_dim_stride(f->k, t, dim) != 1) {
        return tile_error_set(error, &at, ERR_SHAPE,
                              "dimension %s of %s lies apart: it has to be the last one",
                              dim_name(f, dim), t->name);
    }
    return 0;
}

static void find_batch(struct loop_form *f)
{
    const uint8_t of[] = {f->q, f->key, f->v};

    for (unsigned i = 0; i < 2u + (f->value != 0); i++) {
        const struct tile_tensor *t = &f->k->param[of[i]];
        for (unsigned r = 0; r < t->rank; r++) {
            unsigned d = t->dim[r], j = 0;
            while (j < f->n_batch && f->batch[j] != d) {
                j++;
            }
            if (d != f->s && d != f->t && d != (i < 2 ? f->d : f->e) && j == f->n_batch) {
                f->batch[f->n_batch++] = (uint8_t)d;
            }
        }
    }
    f->items = 1;
    for (unsigned i = 0; i < f->n_batch; i++) {
        f->items *= f->k->dim[f->batch[i]].size;
    }
    f->blocks = div_up(f->k->dim[f->s].size, LOOP_LANES);
    f->items *= f->blocks;
}

static int check_results(const struct loop_form *f, struct tile_error *error)
{
    tile_dims all = (tile_dims)(1u << f->s);
    int err = 0;

    for (unsigned i = 0; i < f->n_batch; i++) {
        all |= (tile_dims)(1u << f->batch[i]);
    }
    for (unsigned r = 0; r < f->k->n_results && !err; r++) {
        const struct tile_tensor *t = &f->k->result[r].tensor;
        struct tile_node at = {.line = t->line, .column = t->column};
        bool wide = has(tile_tensor_dims(t), f->e);
        tile_dims want = (tile_dims)(all | (wide ? 1u << f->e : 0));
        if (tile_tensor_dims(t) != want) {
            err = tile_error_set(error, &at, ERR_SHAPE,
                                 "%s has not the dimensions of the products", t->name);
        } else if (t->type != TYPE_F16 && t->type != TYPE_BF16 && t->type != TYPE_F32) {
            err = tile_error_set(error, &at, ERR_TYPE, "%s of a loop is not planned",
                                 type_name(t->type));
        } else {
            err = check_last(f, t, wide ? f->e : f->s, error);
        }
    }
    return err;
}

/* --- operations --- */

static bool is_operation(const struct loop_form *f, tile_value v)
{
    const struct tile_node *n = node(f, v);

    switch (tile_op_info[n->op].kind) {
    case KIND_MAP:
    case KIND_SHIFT:
    case KIND_COMPARE:
    case KIND_SELECT:
    case KIND_CAST:
        return true;
    case KIND_REDUCE:
        return (n->op == TILE_SUM || n->op == TILE_MOST || n->op == TILE_LEAST) &&
               n->type == TYPE_F32;
    default:
        return n->op == TILE_NUMBER || n->op == TILE_INDEX || n->op == TILE_DOT ||
               n->op == TILE_CARRY || n->op == TILE_LAST;
    }
}

/* What narrower types than F32 may be: the cast for the second product, and results. */
static bool may_be_narrow(const struct loop_form *f, tile_value v)
{
    bool may = v == f->given;

    for (unsigned r = 0; r < f->k->n_results; r++) {
        may = may || f->k->result[r].value == v;
    }
    return may;
}

static int check_operations(struct loop_form *f, struct tile_error *error)
{
    for (tile_value v = 1; v <= f->k->n_nodes; v++) {
        const struct tile_node *n = node(f, v);
        bool narrow = n->type != TILE_MASK && type_bits(n->type) != 32;
        const char *name = tile_op_info[n->op].name;
        if (n->op == TILE_INPUT) {
            bool factor =
                n->index == f->q || n->index == f->key || (f->value && n->index == f->v);
            int err = factor ? 0 : loop_input_find(f, v, error);
            if (err) {
                return err;
            }
            continue;
        }
        if (!is_operation(f, v)) {
            return tile_error_set(error, n, ERR_ARG, "%s is not planned in a loop",
                                  name ? name : "this");
        }
        if (narrow && n->op != TILE_NUMBER && !may_be_narrow(f, v)) {
            return tile_error_set(error, n, ERR_TYPE, "%s is not computed with in a loop",
                                  type_name(n->type));
        }
        if (has(n->dims, f->t) && has(n->dims, f->e) && n->op != TILE_INPUT) {
            return tile_error_set(error, n, ERR_SHAPE, "a value of %s and %s in a loop",
                                  dim_name(f, f->t), dim_name(f, f->e));
        }
        for (unsigned i = 0; i < 3 && n->loop; i++) {
            const struct tile_node *x = node(f, n->operand[i]);
            if (n->operand[i] && !x->loop && x->op != TILE_NUMBER &&
                x->op != TILE_INPUT) {
                return tile_error_set(error, x, ERR_ARG,
                                      "what is computed before the loop is used in it");
            }
        }
        if (has(n->dims, f->d) && f->d != f->e) {
            return tile_error_set(error, n, ERR_SHAPE, "a value of %s in a loop",
                                  dim_name(f, f->d));
        }
    }
    return 0;
}

/* --- parts --- */

void loop_mark(struct loop_form *f, tile_value v, enum loop_part part, bool early)
{
    const struct tile_node *n = node(f, v);
    bool leaf = n->op == TILE_CARRY || n->op == TILE_LAST || n->op == TILE_DOT;

    if (v == 0 || (f->part[v] == part && (!early || f->early[v]))) {
        return;
    }
    f->part[v] = (uint8_t)part;
    f->early[v] = f->early[v] || early;
    for (unsigned i = 0; i < 3 && !leaf; i++) {
        loop_mark(f, n->operand[i], part, early);
    }
}

/* Depends on the second product, or is as wide. */
static bool is_after(const struct loop_form *f, tile_value v, const bool *after)
{
    const struct tile_node *n = node(f, v);
    bool is = v == f->value || (n->op != TILE_LAST && has(n->dims, f->e));

    for (unsigned i = 0; i < 3 && n->op != TILE_CARRY && n->op != TILE_LAST; i++) {
        is = is || (n->operand[i] && n->operand[i] < v && after[n->operand[i]]);
    }
    return is && n->op != TILE_INPUT;
}

static int check_carried(const struct loop_form *f, struct tile_error *error)
{
    if (f->value && f->part[f->value] != PART_AFTER) {
        return tile_error_set(error, node(f, f->value), ERR_ARG,
                              "the product over %s depends on itself", dim_name(f, f->t));
    }
    for (unsigned i = 0; i < f->k->n_carried; i++) {
        const struct tile_carry *c = &f->k->carry[i];
        const struct tile_node *n = node(f, c->value);
        bool wide = has(n->dims, f->e);
        if (node(f, c->next)->op == TILE_CARRY || node(f, c->next)->op == TILE_NUMBER) {
            return tile_error_set(error, n, ERR_ARG, "the next '%s' is not computed",
                                  c->name);
        }
        if (has(n->dims, f->t) || (!wide && f->part[c->next] == PART_AFTER)) {
            return tile_error_set(error, n, ERR_ARG,
                                  "'%s' of rows alone depends on the second product",
                                  c->name);
        }
    }
    return 0;
}

/* Reads values of the keys, as reductions over them do. */
static bool of_keys(const struct loop_form *f, tile_value v)
{
    const struct tile_node *n = node(f, v);

    return has(n->dims, f->t) ||
           (tile_op_info[n->op].kind == KIND_REDUCE && n->dim == f->t);
}

static void find_parts(struct loop_form *f)
{
    bool after[TILE_NODES + 1] = {false};
    tile_value n = (tile_value)f->k->n_nodes;

    for (unsigned r = 0; r < f->k->n_results; r++) {
        loop_mark(f, f->k->result[r].value, PART_END, false);
    }
    for (tile_value v = 1; v <= n; v++) {
        after[v] = is_after(f, v, after);
    }
    for (tile_value v = n; v > 0; v--) {
        if (node(f, v)->loop && !after[v] && f->part[v] != PART_BEFORE) {
            f->part[v] = PART_BESIDE;
        } else if (node(f, v)->loop && after[v]) {
            f->part[v] = PART_AFTER;
        }
    }
    for (tile_value v = 1; v <= n; v++) {
        if (node(f, v)->loop && !after[v] && of_keys(f, v) &&
            node(f, v)->type != TILE_MASK) {
            loop_mark(f, v, PART_BEFORE, false);
        }
    }
    loop_mark(f, f->given, PART_BEFORE, true);
    for (tile_value v = 1; v <= n; v++) { /* carried values are no operations */
        f->part[v] = node(f, v)->op == TILE_CARRY ? PART_NONE : f->part[v];
    }
}

int loop_form_make(struct loop_form *f, const struct tile_kernel *k,
                   struct tile_error *error)
{
    int err;

    memset(f, 0, sizeof(*f));
    f->k = k;
    f->loop = &k->loop[1];
    f->t = f->loop->dim;
    if (k->n_loops != 1) {
        struct tile_node at = {.line = k->loop[2].line};
        return tile_error_set(error, &at, ERR_ARG, "a second loop is not planned");
    }
    err = find_products(f, error);
    if (err) {
        return err;
    }
    find_batch(f);
    err = check_last(f, &k->param[f->q], f->d, error);
    err = err ? err : check_last(f, &k->param[f->key], f->d, error);
    err = err || !f->value ? err : check_last(f, &k->param[f->v], f->e, error);
    err = err ? err : check_results(f, error);
    err = err ? err : check_operations(f, error);
    find_parts(f);
    return err ? err : check_carried(f, error);
}
