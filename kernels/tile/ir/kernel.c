/* SPDX-License-Identifier: MIT
 *
 * Builders of what a kernel takes, gives, carries through loops and calls its values; see
 * ir.h.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/tile/ir/build.h"

/* --- parameters and results --- */

/* A tensor from its dimensions' names, blanks between them. */
static void set_tensor(struct tile_kernel *k, struct tile_tensor *t, const char *name,
                       enum type type, const char *dims)
{
    char one[TILE_NAME_BYTES];

    *t = (struct tile_tensor){.name = tile_copy_text(k, name),
                              .type = (uint8_t)type,
                              .line = k->line,
                              .column = k->column};
    while (!tile_failed(k) && *dims != '\0') {
        size_t n = strcspn(dims, " ");
        uint8_t dim;
        if (n >= sizeof(one)) {
            tile_fail(k, "a name has %zu characters at the most", sizeof(one) - 1);
            return;
        }
        memcpy(one, dims, n);
        one[n] = '\0';
        dims += n + (dims[n] == ' ');
        dim = tile_dim(k, one);
        if (dim == TILE_NO_DIM) {
            return;
        }
        if ((tile_tensor_dims(t) >> dim & 1) != 0) {
            tile_fail(k, "%s has dimension %s twice", name, one);
        } else if (t->rank == TILE_RANK) {
            tile_fail(k, "%s has more than %d dimensions", name, TILE_RANK);
        } else {
            t->dim[t->rank++] = dim;
        }
    }
}

tile_value tile_input(struct tile_kernel *k, const char *name, enum type type,
                      const char *dims)
{
    struct tile_node n = {.op = TILE_INPUT,
                          .type = (uint8_t)type,
                          .dim = TILE_NO_DIM,
                          .index = k->n_params};
    struct tile_tensor *t = &k->param[k->n_params];
    tile_value v;

    if (k->n_params == TILE_PARAMS) {
        return tile_fail(k, "more than %d tensors as parameters", TILE_PARAMS);
    }
    set_tensor(k, t, name, type, dims);
    n.dims = tile_tensor_dims(t);
    v = tile_failed(k) ? 0 : tile_add(k, n);
    if (v == 0 || !tile_add_name(k, name, 0, v)) {
        return 0;
    }
    k->n_params++;
    return v;
}

tile_value tile_size(struct tile_kernel *k, const tile_value *none, uint8_t dim)
{
    (void)none;
    return tile_add(k, (struct tile_node){.op = TILE_NUMBER,
                                          .type = TYPE_F32,
                                          .dim = dim,
                                          .number = k->dim[dim].size});
}

tile_value tile_scalar(struct tile_kernel *k, const char *name, double value, bool given)
{
    struct tile_node n = {
        .op = TILE_SCALAR, .type = TYPE_F32, .dim = TILE_NO_DIM, .index = k->n_scalars};
    tile_value v;

    if (k->n_scalars == TILE_SCALARS) {
        return tile_fail(k, "more than %d scalars", TILE_SCALARS);
    }
    v = tile_failed(k) ? 0 : tile_add(k, n);
    if (v == 0 || !tile_add_name(k, name, 0, v)) {
        return 0;
    }
    k->scalar[k->n_scalars++] = (struct tile_scalar){k->names[k->n_names - 1].text, value,
                                                     given, k->line, k->column};
    return v;
}

static struct tile_result *find_result(struct tile_kernel *k, const char *name)
{
    for (unsigned i = 0; i < k->n_results; i++) {
        if (strcmp(k->result[i].tensor.name, name) == 0) {
            return &k->result[i];
        }
    }
    return NULL;
}

void tile_result(struct tile_kernel *k, const char *name, enum type type,
                 const char *dims, bool adds)
{
    struct tile_result *r = &k->result[k->n_results];

    if (k->n_results == TILE_RESULTS) {
        tile_fail(k, "more than %d results", TILE_RESULTS);
    } else if (tile_named(k, name) != 0 || find_result(k, name) != NULL) {
        tile_fail(k, "'%s' is there already", name);
    } else {
        set_tensor(k, &r->tensor, name, type, dims);
        r->adds = adds;
        k->n_results += !tile_failed(k);
    }
}

/* --- names of values --- */

/* A value as what a result has: its dimensions, and its type or a wider one. */
static tile_value as_result(struct tile_kernel *k, const struct tile_result *r,
                            tile_value v)
{
    const struct tile_tensor *t = &r->tensor;
    unsigned from = k->node[v].type;
    char is[TILE_TEXT_BYTES / 3], want[TILE_TEXT_BYTES / 3], a[8], b[8];
    bool widens =
        from != TILE_MASK && from != TYPE_S32 && from != TYPE_S16 && t->type == TYPE_F32;

    if (k->node[v].dims != tile_tensor_dims(t)) {
        tile_dims_text(k, k->node[v].dims, is, sizeof(is));
        tile_dims_text(k, tile_tensor_dims(t), want, sizeof(want));
        return tile_fail(k, "%s has dimensions %s, but this value %s", t->name, want, is);
    }
    if (t->boolean) {
        v = from != TILE_MASK
                ? tile_fail(k, "%s is bool, but this value no condition", t->name)
                : tile_map3(k, TILE_WHERE, v, tile_number(k, 1), tile_number(k, 0));
        return tile_cast(k, v, TYPE_U8);
    }
    if (from != t->type && !widens) {
        return tile_fail(k, "%s is %s, but this value %s: %s(...) casts it", t->name,
                         tile_type_text(t->type, a), tile_type_text(from, b), a);
    }
    return tile_cast(k, v, (enum type)t->type);
}

void tile_assign(struct tile_kernel *k, const char *name, tile_value value)
{
    struct tile_result *r = find_result(k, name);
    tile_value named = tile_named(k, name);

    if (!tile_there(k, &value, 1)) {
        return;
    }
    if (k->in_loop && k->node[named].op == TILE_CARRY) {
        tile_carry_next(k, named, value);
        return;
    }
    if (r != NULL && k->in_loop) {
        tile_fail(k, "result %s is assigned behind the loop", name);
        return;
    }
    value = r ? as_result(k, r, value) : value;
    if (value != 0 && tile_add_name(k, name, k->in_loop, value) && r != NULL) {
        r->value = value;
    }
}

int tile_end(struct tile_kernel *k)
{
    tile_dims known = 0;

    for (unsigned i = 0; i < k->n_params; i++) {
        known |= tile_tensor_dims(&k->param[i]);
    }
    for (unsigned i = 0; i < k->n_results; i++) {
        const struct tile_tensor *t = &k->result[i].tensor;
        if (!tile_failed(k)) {
            k->line = t->line;
            k->column = t->column;
        }
        if (k->result[i].value == 0) {
            tile_fail(k, "result %s is never assigned", t->name);
        }
    }
    for (unsigned i = 0; i < k->n_convs; i++) {
        known |= (tile_dims)(1u << k->conv[i].place[0] | 1u << k->conv[i].place[1]);
    }
    for (unsigned d = 0; d < k->n_dims; d++) {
        if ((known >> d & 1) == 0 && k->dim[d].size == 0) {
            tile_fail(k, "no parameter has dimension %s", k->dim[d].name);
        }
    }
    if (k->n_results == 0) {
        tile_fail(k, "no result");
    }
    return tile_failed(k) ? ERR_ARG : 0;
}

/* --- loops --- */

void tile_loop_begin(struct tile_kernel *k, uint8_t dim)
{
    struct tile_loop *loop = &k->loop[k->n_loops + 1];

    if (tile_failed(k)) {
        return;
    }
    if (k->in_loop || k->n_convs) {
        tile_fail(k, k->in_loop ? "a loop in a loop" : "no loop in a program with conv");
    } else if (k->n_loops == TILE_LOOPS) {
        tile_fail(k, "more than %d loops", TILE_LOOPS);
    } else {
        *loop = (struct tile_loop){
            .dim = dim, .first = (uint8_t)k->n_carried, .line = k->line};
        k->in_loop = (uint8_t)++k->n_loops;
    }
}

void tile_loop_while(struct tile_kernel *k, tile_value condition)
{
    if (tile_there(k, &condition, 1) && k->node[condition].type != TILE_MASK) {
        tile_fail(k, "while wants a condition, such as %s < 5",
                  k->dim[k->loop[k->in_loop].dim].name);
    } else if (!tile_failed(k)) {
        k->loop[k->in_loop].condition = condition;
    }
}

tile_value tile_carry(struct tile_kernel *k, const char *name, double first,
                      tile_dims dims)
{
    struct tile_loop *loop = &k->loop[k->in_loop];
    struct tile_carry *c = &k->carry[k->n_carried];
    tile_value v = tile_number(k, first);

    if (v == 0 || loop->count == TILE_CARRIED) {
        return tile_fail(k, "a loop carries %d values at the most", TILE_CARRIED);
    }
    *c = (struct tile_carry){.loop = k->in_loop, .first = v};
    c->value = tile_add(k, (struct tile_node){.op = TILE_CARRY,
                                              .type = TYPE_F32,
                                              .dim = TILE_NO_DIM,
                                              .dims = dims,
                                              .operand = {v},
                                              .index = k->n_carried});
    if (c->value == 0 || !tile_add_name(k, name, k->in_loop, c->value)) {
        return 0;
    }
    c->name = k->names[k->n_names - 1].text;
    k->n_carried++;
    loop->count++;
    return c->value;
}

void tile_carry_next(struct tile_kernel *k, tile_value carry, tile_value next)
{
    struct tile_carry *c = &k->carry[k->node[carry].index];
    char is[TILE_TEXT_BYTES / 2], want[TILE_TEXT_BYTES / 2];

    if (!tile_there(k, (tile_value[]){carry, next}, 2)) {
        return;
    }
    tile_dims_text(k, k->node[next].dims, is, sizeof(is));
    tile_dims_text(k, k->node[carry].dims, want, sizeof(want));
    if (c->next != 0) {
        tile_fail(k, "'%s' gets its next value twice", c->name);
    } else if (k->node[next].dims != k->node[carry].dims) {
        tile_fail(k, "'%s' is carried as %s, but this is %s", c->name, want, is);
    } else {
        c->next = tile_join(k, TILE_ADD, &next, 0, 1) == TYPE_F32
                      ? next
                      : tile_fail(k, "'%s' is carried as f32", c->name);
        k->node[carry].operand[1] = c->next;
    }
}

void tile_loop_end(struct tile_kernel *k)
{
    const struct tile_loop *loop = &k->loop[k->in_loop];

    k->in_loop = 0;
    for (unsigned i = loop->first; i < loop->first + loop->count && !tile_failed(k);
         i++) {
        struct tile_carry *c = &k->carry[i];
        struct tile_node n = k->node[c->value];
        if (c->next == 0) {
            tile_fail(k, "the loop carries '%s', but gives it no next value", c->name);
            return;
        }
        n.op = TILE_LAST;
        n.operand[0] = c->value;
        n.operand[1] = 0;
        c->last = tile_add(k, n);
        tile_add_name(k, c->name, 0, c->last);
    }
}
