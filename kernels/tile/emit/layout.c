/* SPDX-License-Identifier: MIT
 *
 * Nodes as commands; see inside.h. Where operands and result lie alike a node is one command
 * over all of them. Where one operand is the same along rows or columns there are several
 * ways, which read the tile by blocks of 8 rows, by rows or by columns, and the one that
 * takes the fewest cycles is taken.
 */
#include <string.h>

#include "hal/vector_move.h"
#include "hal/vector_reduce.h"
#include "kernels/tile/emit/inside.h"

/* --- which command --- */

enum op unary_op(unsigned op)
{
    switch (op) {
    case TILE_NEG:
        return OP_VNEG;
    case TILE_ABS:
        return OP_VABS;
    case TILE_RELU:
        return OP_VRELU;
    case TILE_EXP:
        return OP_VEXP;
    case TILE_LN:
        return OP_VLN;
    case TILE_SQRT:
        return OP_VSQRT;
    case TILE_RSQRT:
        return OP_VRSQRT;
    case TILE_REC:
        return OP_VREC;
    case TILE_TANH:
        return OP_VTANH;
    case TILE_ERF:
        return OP_VERF;
    case TILE_NOT:
        return OP_VNOT;
    default:
        return 0;
    }
}

enum op binary_op(unsigned op)
{
    switch (op) {
    case TILE_ADD:
        return OP_VADD;
    case TILE_SUB:
        return OP_VSUB;
    case TILE_MUL:
        return OP_VMUL;
    case TILE_DIV:
    case TILE_OVER:
        return OP_VDIV;
    case TILE_MAX:
        return OP_VMAX;
    case TILE_MIN:
        return OP_VMIN;
    case TILE_PRELU:
        return OP_VPRELU;
    case TILE_AND:
        return OP_VAND;
    default:
        return OP_VOR;
    }
}

unsigned number_op(unsigned op)
{
    switch (op) {
    case TILE_ADD:
        return OP_VADDS;
    case TILE_MUL:
        return OP_VMULS;
    case TILE_MAX:
        return OP_VMAXS;
    case TILE_MIN:
        return OP_VMINS;
    case TILE_PRELU:
        return OP_VLRELU;
    case TILE_SHL:
        return OP_VSHL;
    case TILE_SHR:
        return OP_VSHR;
    default:
        return 0;
    }
}

uint8_t rounding_of(unsigned op)
{
    return op == TILE_FLOOR   ? ROUND_FLOOR
           : op == TILE_CEIL  ? ROUND_CEIL
           : op == TILE_TRUNC ? ROUND_TRUNC
                              : ROUND_RINT;
}

/* --- where results go --- */

/* The value's last use is this node, so its buffer may take the result. */
static bool dies(const struct emit *e, uint16_t x)
{
    const struct node *n = &e->p->node[x];

    return x && n->last == e->node && n->op != TILE_NUMBER && e->form[x].dense &&
           e->buffer[e->form[x].dense - 1].value == x &&
           !e->buffer[e->form[x].dense - 1].always;
}

/* A buffer of a parameter whose value nobody wants any more, not one of x and y. Of one tile at a
 * time none: the next one's parameter is loaded there meanwhile. */
static uint8_t dead_parameter(const struct emit *e, uint32_t bytes, uint16_t x,
                              uint16_t y)
{
    if (e->w->ring == 1) {
        return 0;
    }
    for (uint8_t b = 1; b <= e->n_buffers; b++) {
        const struct buffer *o = &e->buffer[b - 1];
        uint16_t last = e->p->node[o->value].last;
        if (o->load && !o->store && !o->always && o->bytes >= bytes && o->value != x &&
            o->value != y && last < e->node) {
            return b;
        }
    }
    return 0;
}

static uint8_t take(struct emit *e, uint8_t b, uint16_t node)
{
    e->buffer[b - 1].value = node;
    return b;
}

/* 1 + the result that is made of a node; 0: none. */
static uint8_t result_of(const struct emit *e, uint16_t node)
{
    for (unsigned r = 0; r < e->p->k->n_results; r++) {
        if (e->p->result[r] == node) {
            return (uint8_t)(r + 1);
        }
    }
    return 0;
}

/* What a result needs of its buffer, once it is made. */
static void note_result(struct emit *e, uint16_t node, uint8_t b)
{
    uint8_t r = result_of(e, node);

    if (r) {
        e->buffer[b - 1].store = r;
    }
}

uint8_t result_buffer(struct emit *e, uint16_t node, uint16_t x, uint16_t y)
{
    const struct node *n = &e->p->node[node];
    uint32_t bytes = emit_bytes(e, n->has, n->type);
    bool result = result_of(e, node) && !e->invariant;
    uint8_t b = 0;

    for (unsigned i = 0; i < 2; i++) {
        uint16_t o = i ? y : x;
        uint8_t dense =
            o ? e->form[o].dense : 0; /* 0: it is there in other forms alone */
        const struct buffer *of = &e->buffer[dense ? dense - 1 : 0];
        if (!b && dense && dies(e, o) && of->bytes >= bytes && of->bytes < 3 * bytes &&
            !(result && (e->w->apart || !of->load))) {
            b = take(e, e->form[o].dense, node);
        }
    }
    if (!b && n->has == FULL && n->type != TILE_MASK && !e->w->apart) {
        b = dead_parameter(e, bytes, x, y);
        b = b ? take(e, b, node) : 0;
    }
    if (!b) {
        b = buffer_of_class(e, n->has, n->type);
        e->buffer[b - 1].value = node;
    }
    note_result(e, node, b);
    e->form[node].dense = b;
    return b;
}

/* --- one command over all --- */

uint8_t all(struct emit *e, unsigned has, unsigned esize)
{
    unsigned lanes = REPEAT_BYTES / esize;

    return mask_repeats(e, div_up(emit_elements(e, has), lanes), lanes);
}

void prepare(struct emit *e, uint16_t x, unsigned has)
{
    const struct node *n = &e->p->node[x];

    if (n->has == has && n->op != TILE_NUMBER) {
        return;
    }
    if (n->has == 0 && n->type != TILE_MASK) {
        form_wide(e, x);
    } else {
        form_full(e, x);
    }
}

struct vec_at operand(struct emit *e, uint16_t x, unsigned has)
{
    const struct node *n = &e->p->node[x];

    if (n->has == has && n->op != TILE_NUMBER) {
        return vec_dense(buffer_at(e, e->form[x].dense));
    }
    if (n->has == 0 && n->type != TILE_MASK) {
        return vec_same_repeat(buffer_at(e, form_wide(e, x)));
    }
    return vec_dense(buffer_at(e, form_full(e, x)));
}

static void emit_cast(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node], *x = &e->p->node[n->in[0]];
    unsigned from = type_bits(x->type), to = type_bits(n->type);
    unsigned wide = from > to ? from : to;
    bool number = x->op == TILE_NUMBER;
    uint8_t constant = number ? constant_wide(e, x->type, x->number) : 0;
    uint8_t dst = result_buffer(e, node, to <= from ? n->in[0] : 0, 0);
    struct vec_at at =
        number ? vec_same_repeat(buffer_at(e, constant))
               : vec_dense_of(buffer_at(e, e->form[n->in[0]].dense), from, wide);
    union cmd cmd;

    vector_convert_strided(
        &cmd, &(struct vec_convert){.from = (enum type)x->type,
                                    .to = (enum type)n->type,
                                    .round = rounding_of(n->op),
                                    .dst = vec_dense_of(buffer_at(e, dst), to, wide),
                                    .x = at,
                                    .repeat = all(e, n->has, wide / 8)});
    put(e, &cmd);
}

static void emit_unary(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    struct vec_at dst, x;
    union cmd cmd;

    prepare(e, n->in[0], n->has);
    dst = vec_dense(buffer_at(e, result_buffer(e, node, n->in[0], 0)));
    x = operand(e, n->in[0], n->has);
    vector_unary_strided(&cmd,
                         &(struct vec_unary){unary_op(n->op), (enum type)n->type, dst, x,
                                             all(e, n->has, esize_of(n->type))});
    put(e, &cmd);
}

static void emit_number(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node], *y = &e->p->node[n->in[1]];
    bool shift = tile_op_info[n->op].kind == KIND_SHIFT;
    struct vec_at dst, x;
    union cmd cmd;

    prepare(e, n->in[0], n->has);
    dst = vec_dense(buffer_at(e, result_buffer(e, node, n->in[0], 0)));
    x = operand(e, n->in[0], n->has);
    vector_scalar_strided(
        &cmd, &(struct vec_scalar){.op = (enum op)number_op(n->op),
                                   .type = (enum type)n->type,
                                   .dst = dst,
                                   .x = x,
                                   .scalar = shift ? (uint32_t)y->number
                                                   : number_bits(n->type, y->number),
                                   .repeat = all(e, n->has, esize_of(n->type))});
    put(e, &cmd);
}

static void emit_binary(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    struct vec_at dst, x, y;
    union cmd cmd;

    prepare(e, n->in[0], n->has);
    prepare(e, n->in[1], n->has);
    dst = vec_dense(buffer_at(e, result_buffer(e, node, n->in[0], n->in[1])));
    x = operand(e, n->in[0], n->has);
    y = operand(e, n->in[1], n->has);
    vector_binary_strided(
        &cmd, &(struct vec_binary){.op = binary_op(n->op),
                                   .type = (enum type)n->type,
                                   .dst = dst,
                                   .x = x,
                                   .y = y,
                                   .repeat = all(e, n->has, esize_of(n->type))});
    put(e, &cmd);
}

/* In x's place; elsewhere x is copied first. */
static void emit_axpy(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    uint8_t from = e->form[n->in[0]].dense, to = result_buffer(e, node, n->in[0], 0);
    uint8_t repeat = all(e, n->has, esize_of(n->type));
    struct vec_at dst = vec_dense(buffer_at(e, to));
    union cmd cmd;

    if (to != from) {
        vector_copy_strided(&cmd, &(struct vec_copy){.type = (enum type)n->type,
                                                     .dst = dst,
                                                     .x = vec_dense(buffer_at(e, from)),
                                                     .repeat = repeat});
        put(e, &cmd);
        buffer_at(e, to);
    }
    vector_scalar_strided(&cmd,
                          &(struct vec_scalar){.op = OP_VAXPY,
                                               .type = (enum type)n->type,
                                               .dst = dst,
                                               .x = operand(e, n->in[1], n->has),
                                               .scalar = number_bits(n->type, n->number),
                                               .repeat = repeat});
    put(e, &cmd);
}

/* A number as large as a result; of bytes two at a time. */
static void emit_fill(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    uint8_t dst = result_buffer(e, node, 0, 0);
    unsigned esize = esize_of(n->type), lanes = REPEAT_BYTES / esize;
    uint32_t repeats = div_up(emit_elements(e, n->has), lanes);
    uint32_t bits = number_bits(n->type, n->number);
    union cmd cmd;

    vector_fill_strided(
        &cmd, &(struct vec_fill){
                  .op = OP_VDUP,
                  .type = esize == 1 ? TYPE_S16 : (enum type)n->type,
                  .dst = vec_dense(buffer_at(e, dst)),
                  .bits = esize == 1 ? bits * 0x101 : bits,
                  .repeat = mask_repeats(e, repeats, lanes < LANES ? lanes : LANES)});
    put(e, &cmd);
}

/* Numbers from 0 on; what a tile begins with is patched. */
static void emit_index(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    uint8_t dst = result_buffer(e, node, 0, 0);
    union cmd cmd;

    vector_fill_strided(&cmd, &(struct vec_fill){.op = n->has ? OP_VCI : OP_VDUP,
                                                 .type = TYPE_S32,
                                                 .dst = vec_dense(buffer_at(e, dst)),
                                                 .repeat = all(e, n->has, 4)});
    if (!e->invariant && e->n_index == PLAN_INDICES) {
        emit_fail(e, ERR_NOMEM, "more than %d indices", PLAN_INDICES);
    } else if (!e->invariant) {
        e->index[e->n_index++] = (struct index_patch){(uint16_t)e->to->n, n->group};
    }
    put(e, &cmd);
}

/* --- all --- */

/* Rows that lie each in a block of its own: the greatest of the first element alone. */
static uint8_t bring_together(struct emit *e, const struct node *n, uint8_t blocks)
{
    unsigned per_block = BLOCK / esize_of(n->type);
    uint64_t first = per_block == 8 ? 0x0101010101010101 : 0x0001000100010001;
    uint8_t dense = buffer_of_class(e, n->has, n->type);
    union cmd cmd;

    mask_pattern(e, first);
    vector_reduce_strided(
        &cmd, &(struct vec_reduce){.op = OP_VCGMAX,
                                   .type = (enum type)n->type,
                                   .dst = buffer_at(e, dense),
                                   .dst_rep = 1,
                                   .x = vec_dense(buffer_at(e, blocks)),
                                   .repeat = div_up(way_rows(e->w), VEC_BLOCKS)});
    put(e, &cmd);
    return dense;
}

static void emit_input(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    bool across = program_is_across(e->p, &e->p->k->param[n->index]);
    struct stream *was = e->to;
    uint8_t b;

    if (across && way_rows(e->w) > UINT8_MAX * VEC_BLOCKS) {
        emit_fail(e, ERR_LOCAL, "%lu rows across", (unsigned long)e->w->rows);
    }
    e->to = e->invariant ? &e->pre : &e->body;
    b = across ? buffer_new(e, (uint64_t)round_up(way_rows(e->w), VEC_BLOCKS) * BLOCK)
               : buffer_of_class(e, n->has, n->type);
    e->buffer[b - 1].load = (uint8_t)(n->index + 1);
    e->buffer[b - 1].product = e->buffer[b - 1].load == e->p->k->product;
    e->buffer[b - 1].ring = e->buffer[b - 1].product && !e->p->reduces;
    e->form[node].dense = across && !e->err ? bring_together(e, n, b) : b;
    note_result(e, node, e->form[node].dense);
    e->to = was;
}

void emit_node(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    const struct node *y = &e->p->node[n->in[1]];
    enum tile_kind kind = (enum tile_kind)tile_op_info[n->op].kind;

    if (n->op == TILE_INPUT) {
        emit_input(e, node);
    } else if (n->op == TILE_NUMBER) {
        emit_fill(e, node);
    } else if (n->op == TILE_INDEX) {
        emit_index(e, node);
    } else if (n->op == TILE_CAST || rounding_of(n->op) != ROUND_RINT ||
               n->op == TILE_ROUND) {
        emit_cast(e, node);
    } else if (kind == KIND_REDUCE) {
        emit_reduce(e, node);
    } else if (kind == KIND_COMPARE) {
        emit_compare(e, node);
    } else if (n->op == TILE_WHERE) {
        emit_where(e, node);
    } else if (n->type == TILE_MASK) {
        emit_bits(e, node);
    } else if (n->op == TILE_AXPY) {
        emit_axpy(e, node);
    } else if (tile_op_info[n->op].operands == 1) {
        emit_unary(e, node);
    } else if (y->op == TILE_NUMBER && number_op(n->op)) {
        emit_number(e, node);
    } else if (!emit_mixed(e, node)) {
        emit_binary(e, node);
    }
}

/* Results that nothing makes: a parameter that is handed through. */
static void touch_results(struct emit *e)
{
    union cmd cmd;

    e->to = &e->body;
    for (uint8_t b = 1; b <= e->n_buffers; b++) {
        const struct buffer *o = &e->buffer[b - 1];
        if (o->store && !o->always && !o->touched) {
            buffer_at(e, b);
            cmd_nop(&cmd);
            put(e, &cmd);
        }
    }
}

static void begin(struct emit *e, unsigned position)
{
    memset(e->buffer, 0, sizeof(e->buffer[0]) * e->n_buffers);
    memset(e->form, 0, sizeof(e->form[0]) * (e->p->n + 1));
    e->n_buffers = e->n_pending = e->n_constants = e->n_index = 0;
    e->position = position;
    e->pre.n = e->body.n = 0;
    e->pre.mask = e->body.mask = MASK_UNKNOWN;
    e->err = 0;
    e->signature = 1;
    e->spread = 0;
}

void emit_program(struct emit *e, unsigned position)
{
    const struct program *p = e->p;

    begin(e, position);
    for (uint16_t i = 1; i <= p->n && !e->err; i++) {
        if (p->node[i].last && (p->node[i].op != TILE_NUMBER || p->node[i].index)) {
            e->node = i;
            e->invariant = !emit_varies(e, &p->node[i]);
            e->to = e->invariant ? &e->pre : &e->body;
            emit_node(e, i);
        }
    }
    touch_results(e);
}
