/* SPDX-License-Identifier: MIT
 *
 * The commands of one node, to a place that is given; see loop.h.
 */
#include <string.h>

#include "hal/vector_move.h"
#include "kernels/tile/attention/loop.h"

enum loop_class loop_class(const struct loop_form *f, tile_value v)
{
    const struct tile_node *n = &f->k->node[v];
    bool dot = n->op == TILE_DOT;

    if (n->op == TILE_NUMBER) {
        return LOOP_NUMBER;
    }
    if (dot) {
        return v == f->score ? LOOP_KEYS : LOOP_WIDTH;
    }
    return n->dims >> f->t & 1                          ? LOOP_KEYS
           : f->e != TILE_NO_DIM && n->dims >> f->e & 1 ? LOOP_WIDTH
                                                        : LOOP_COLUMN;
}

tile_value loop_real(const struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];

    while (e->variant && n->op == TILE_WHERE && v != e->f->given &&
           e->variant->state[n->operand[0]] != LOOP_SOMETIMES) {
        bool always = e->variant->state[n->operand[0]] == LOOP_ALWAYS;
        tile_value is = n->operand[always ? 1 : 2];
        if (e->f->k->node[is].op == TILE_NUMBER) {
            break; /* which is no plane */
        }
        v = is;
        n = &e->f->k->node[v];
    }
    return v;
}

bool loop_is_quotient(const struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];

    return n->op == TILE_OVER && !e->f->k->exact &&
           loop_class(e->f, loop_real(e, n->operand[1])) == LOOP_COLUMN;
}

uint32_t loop_repeats(const struct loop_emit *e, enum loop_class class)
{
    return class == LOOP_KEYS ? e->rows : class == LOOP_WIDTH ? e->room->width : 2;
}

tile_value loop_source(const struct loop_emit *e, const struct tile_node *n, unsigned i)
{
    return loop_real(e, n->operand[i]);
}

unsigned loop_sources(const struct tile_node *n)
{
    bool loop = n->op == TILE_CARRY || n->op == TILE_LAST || n->op == TILE_DOT;

    return loop ? 0 : tile_op_info[n->op].operands;
}

uint32_t loop_column_of(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];

    if (n->op == TILE_NUMBER) {
        return loop_number(e, n->type, n->number);
    }
    if (n->op == TILE_CARRY && e->part != PART_AFTER) {
        return e->carried[n->index];
    }
    if (n->op == TILE_LAST) {
        return e->saved[n->index];
    }
    if (e->part == PART_AFTER && e->kept[v]) {
        return e->kept[v];
    }
    if (e->column[v] == 0) {
        e->column[v] = loop_keep(e, LOOP_TWICE);
    }
    return e->column[v];
}

/* Where a value is read from. */
struct vec_at loop_at(struct loop_emit *e, tile_value v)
{
    if (v == e->f->given) {
        return (struct vec_at){e->room->given, (uint16_t)e->room->given_rows, 1};
    }
    if (e->slot[v]) {
        unsigned bits = type_bits(e->f->k->node[v].type);
        return vec_dense_of(e->room->slot[e->slot[v] - 1].at, bits, 32);
    }
    return vec_dense(loop_column_of(e, v));
}

/* --- which command --- */

static bool is_number(const struct loop_emit *e, tile_value v)
{
    return e->f->k->node[v].op == TILE_NUMBER;
}

static uint32_t bits_of(const struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];

    return number_bits(n->type, n->number);
}

/* The operation on the operands as they lie; false: it is none of one command over all. */
static bool describe(struct loop_emit *e, tile_value v, struct loop_op *o)
{
    const struct tile_node *n = &e->f->k->node[v];
    tile_value x = loop_source(e, n, 0), y = loop_source(e, n, 1),
               z = loop_source(e, n, 2);

    *o = (struct loop_op){.type = (enum type)n->type, .bits = e->mask[v]};
    if (n->op == TILE_WHERE) {
        o->how = is_number(e, z) ? DO_SELECT_SCALAR : DO_SELECT;
        o->bits = e->mask[x];
        o->x = loop_at(e, y);
        o->y = is_number(e, z) ? (struct vec_at){0} : loop_at(e, z);
        o->number = is_number(e, z) ? bits_of(e, z) : 0;
        return true;
    }
    o->x = loop_at(e, x);
    if (tile_op_info[n->op].kind == KIND_COMPARE) {
        o->type = (enum type)e->f->k->node[x].type;
        o->detail = compare_of(n->op);
        o->how = is_number(e, y) ? DO_COMPARE_SCALAR : DO_COMPARE;
    } else if (n->op == TILE_CAST || rounding_of(n->op) != ROUND_RINT ||
               n->op == TILE_ROUND) {
        o->how = DO_CONVERT;
        o->type = (enum type)e->f->k->node[x].type;
        o->to = (enum type)n->type;
        o->detail = rounding_of(n->op);
        return true;
    } else if (tile_op_info[n->op].operands == 1) {
        o->how = DO_UNARY;
        o->op = unary_op(n->op);
        return true;
    } else if (is_number(e, y) && number_op(n->op)) {
        o->how = DO_SCALAR;
        o->op = (enum op)number_op(n->op);
        o->number = tile_op_info[n->op].kind == KIND_SHIFT
                        ? (uint32_t)e->f->k->node[y].number
                        : bits_of(e, y);
        return true;
    } else {
        o->how = DO_BINARY;
        o->op = binary_op(n->op);
    }
    if (o->how == DO_COMPARE_SCALAR) {
        o->number = number_bits(o->type, e->f->k->node[y].number);
    } else {
        o->y = loop_at(e, y);
    }
    return true;
}

bool loop_is_plane(const struct loop_emit *e, tile_value v)
{
    enum loop_class class = v ? loop_class(e->f, v) : LOOP_NUMBER;

    return class == LOOP_KEYS || class == LOOP_WIDTH;
}

/* A column, or a number in a column's form, as an operand of a plane is one repeat. */
static void same(const struct loop_emit *e, tile_value v, struct vec_at *at)
{
    if (v && !loop_is_plane(e, v)) {
        *at = vec_same_repeat(at->addr);
    }
}

/* The commands of a node, to `dst`; or what they take. */
void loop_make(struct loop_emit *e, tile_value v, uint32_t dst)
{
    const struct tile_node *n = &e->f->k->node[v];
    enum loop_class class = loop_class(e->f, v);
    bool where = n->op == TILE_WHERE, plane = loop_is_plane(e, v);
    tile_value x = loop_source(e, n, where ? 1 : 0), y = loop_source(e, n, where ? 2 : 1);
    uint32_t count = loop_repeats(e, class);
    struct loop_op o;

    describe(e, v, &o);
    o.dst = vec_dense_of(dst, type_bits(n->type ? n->type : TYPE_F32), 32);
    if (v == e->f->given) {
        o.dst = (struct vec_at){dst, (uint16_t)e->room->given_rows, 1};
    }
    if (plane && o.how == DO_BINARY && loop_is_plane(e, x) != loop_is_plane(e, y)) {
        loop_with_column(e, o, loop_is_plane(e, x), count);
        return;
    }
    if (plane) {
        same(e, x, &o.x);
        same(e, y, &o.y);
    }
    loop_rows(e, &o, count);
}

/* --- indices, masks, reductions --- */

static void patch(struct loop_emit *e, uint8_t of, uint32_t factor)
{
    if (e->to->n_patches == LOOP_PATCHES) {
        loop_fail(e, 0, ERR_NOMEM, "more than %d indices", LOOP_PATCHES);
        return;
    }
    e->to->patch[e->to->n_patches++] =
        (struct loop_patch){(uint16_t)e->to->n, of, factor};
}

static uint8_t batch_of(const struct loop_form *f, unsigned dim)
{
    unsigned i = 0;

    while (f->batch[i] != dim) {
        i++;
    }
    return (uint8_t)(2 + i);
}

/* Numbers that count up with the lanes, shifted down to the repeat that they are in. */
void loop_index(struct loop_emit *e, tile_value v, uint32_t dst)
{
    const struct tile_node *n = &e->f->k->node[v];
    enum loop_class class = loop_class(e->f, v);
    struct loop_op o = {
        .how = DO_FILL, .op = OP_VCI, .type = TYPE_S32, .dst = vec_dense(dst)};

    if (class == LOOP_COLUMN) {
        bool lanes = n->dim == e->f->s;
        o.op = lanes ? OP_VCI : OP_VDUP;
        for (unsigned copy = 0; copy < 2; copy++) {
            patch(e, lanes ? 1 : batch_of(e->f, n->dim), 1);
            o.dst.addr = dst + copy * LOOP_REPEAT;
            loop_rows(e, &o, 1);
        }
        return;
    }
    if (class == LOOP_KEYS) {
        patch(e, 0, LOOP_LANES);
    }
    loop_rows(e, &o, loop_repeats(e, class));
    o = (struct loop_op){.how = DO_SCALAR,
                         .op = OP_VSHR,
                         .type = TYPE_S32,
                         .dst = vec_dense(dst),
                         .x = vec_dense(dst),
                         .number = (uint32_t)__builtin_ctz(LOOP_LANES)};
    loop_rows(e, &o, loop_repeats(e, class));
}

/* Masks of rows alone are there for as many repeats as a plane has. */
static uint32_t mask_repeats_of(const struct loop_emit *e, tile_value v)
{
    enum loop_class class = loop_class(e->f, v);
    uint32_t most = e->rows > e->room->width ? e->rows : e->room->width;

    return class == LOOP_COLUMN ? most : loop_repeats(e, class);
}

void loop_mask(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];
    uint32_t count = mask_repeats_of(e, v);
    tile_value x = loop_source(e, n, 0), y = loop_source(e, n, 1);
    struct loop_op o;
    union cmd cmd;

    e->mask[v] = loop_bytes(e, count * LOOP_LANES / 8);
    if (tile_op_info[n->op].kind == KIND_COMPARE) {
        describe(e, v, &o);
        same(e, x, &o.x);
        same(e, y, &o.y);
        if (o.type == TYPE_F16) { /* side by side, as the bits are */
            o.x = vec_dense(o.x.addr);
            count = div_up(count, 2);
        }
        loop_rows(e, &o, count);
        return;
    }
    o = (struct loop_op){.how = n->op == TILE_NOT ? DO_UNARY : DO_BINARY,
                         .op = n->op == TILE_NOT ? OP_VNOT : binary_op(n->op),
                         .type = TYPE_S16,
                         .dst = vec_dense(e->mask[v]),
                         .x = vec_dense(e->mask[x]),
                         .y = vec_dense(n->op == TILE_NOT ? 0 : e->mask[y])};
    vector_count(&cmd, count * LOOP_LANES / 16);
    loop_put(e, &cmd);
    loop_rows(e, &o, 1);
    vector_mask(&cmd, UINT64_MAX, UINT64_MAX);
    loop_put(e, &cmd);
}

/* Buffers that hold nothing. */
static unsigned spares(const struct loop_emit *e, struct loop_spare *to)
{
    unsigned n = 0;

    for (unsigned i = 0; i < e->room->n_slots; i++) {
        const struct loop_slot *s = &e->room->slot[i];
        if (s->kind == SLOT_SPARE && e->holds[i] == 0) {
            to[n++] = (struct loop_spare){s->at, s->rows};
        }
    }
    return n;
}

/* The one node that reads a reduction and does the same with it and a column that is there
 * already: max(m, max(x, t)). 0: there is none. */
static tile_value together(const struct loop_emit *e, tile_value v, tile_value *other)
{
    const struct tile_kernel *k = e->f->k;
    unsigned op = k->node[v].op == TILE_SUM    ? TILE_ADD
                  : k->node[v].op == TILE_MOST ? TILE_MAX
                                               : TILE_MIN;
    tile_value reader = 0;

    for (tile_value u = v + 1; u <= k->n_nodes; u++) {
        const struct tile_node *n = &k->node[u];
        if (n->operand[0] == v || n->operand[1] == v || n->operand[2] == v) {
            reader = reader ? TILE_NODES : u;
        }
    }
    if (reader == 0 || reader == TILE_NODES || k->node[reader].op != op ||
        e->f->part[reader] != e->part) {
        return 0;
    }
    *other = k->node[reader].operand[k->node[reader].operand[0] == v];
    return *other < v && k->node[*other].op == TILE_CARRY ? reader : 0;
}

void loop_sum(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];
    tile_value x = loop_source(e, n, 0), other = 0, reader = together(e, v, &other);
    const struct loop_slot *slot = e->slot[x] ? &e->room->slot[e->slot[x] - 1u] : NULL;
    struct loop_reduction r = {
        .op = n->op == TILE_SUM    ? OP_VADD
              : n->op == TILE_MOST ? OP_VMAX
                                   : OP_VMIN,
        .x = slot ? slot->at : 0,
        .n = loop_repeats(e, loop_class(e->f, x)),
        .with = reader ? loop_column_of(e, other) : 0,
        .column = loop_column_of(e, reader ? reader : v),
    };

    r.n_spare = spares(e, r.spare);
    if (slot == NULL) {
        r.more = loop_bytes(e, LOOP_REPEAT);
        loop_reduce_given(e, &r, r.more);
    } else if (e->uses[x] == 1 && slot->kind == SLOT_SPARE) {
        r.spare[r.n_spare++] = (struct loop_spare){slot->at, r.n};
    }
    loop_reduce(e, &r);
    e->done[reader] = reader != 0;
}
