/* SPDX-License-Identifier: MIT
 *
 * Masks, one bit an element: how they are made, combined, spread and used; see inside.h.
 */
#include "hal/vector.h"
#include "kernels/tile/emit/inside.h"

uint8_t compare_of(unsigned op)
{
    return op == TILE_EQ   ? CMP_EQ
           : op == TILE_NE ? CMP_NE
           : op == TILE_LT ? CMP_LT
           : op == TILE_LE ? CMP_LE
           : op == TILE_GT ? CMP_GT
                           : CMP_GE;
}

/* Masks are worked on 16 bits at a time. */
void emit_bits(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node];
    unsigned lanes = REPEAT_BYTES / 2;
    uint32_t words = div_up(emit_elements(e, n->has), 16);
    uint16_t y = n->in[1] ? n->in[1] : n->in[0];
    struct vec_at at[3];
    union cmd cmd;
    uint8_t dst, repeat;

    prepare(e, n->in[0], n->has);
    prepare(e, y, n->has);
    dst = result_buffer(e, node, n->in[0], n->in[1]);
    at[0] = vec_dense(buffer_at(e, dst));
    at[1] = operand(e, n->in[0], n->has);
    at[2] = operand(e, y, n->has);
    repeat = mask_repeats(e, div_up(words, lanes), lanes);
    if (n->op == TILE_NOT) {
        vector_unary_strided(
            &cmd, &(struct vec_unary){OP_VNOT, TYPE_S16, at[0], at[1], repeat});
    } else {
        vector_binary_strided(&cmd, &(struct vec_binary){.op = binary_op(n->op),
                                                         .type = TYPE_S16,
                                                         .dst = at[0],
                                                         .x = at[1],
                                                         .y = at[2],
                                                         .repeat = repeat});
    }
    put(e, &cmd);
}

void emit_compare(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node], *y = &e->p->node[n->in[1]];
    enum type type = (enum type)e->p->node[n->in[0]].type;
    bool number = y->op == TILE_NUMBER && e->p->node[n->in[0]].has == n->has;
    struct vec_at a, b = {0};
    uint32_t dst;
    uint8_t repeat;
    union cmd cmd;

    prepare(e, n->in[0], n->has);
    if (!number) {
        prepare(e, n->in[1], n->has);
    }
    dst = buffer_at(e, result_buffer(e, node, 0, 0));
    a = operand(e, n->in[0], n->has);
    b = number ? b : operand(e, n->in[1], n->has);
    repeat = all(e, n->has, esize_of(type));
    if (number) {
        vector_compare_scalar(
            &cmd, &(struct vec_compare_scalar){.type = type,
                                               .cond = compare_of(n->op),
                                               .dst = dst,
                                               .x = a,
                                               .scalar = number_bits(type, y->number),
                                               .repeat = repeat});
    } else {
        vector_compare_strided(&cmd, &(struct vec_compare){.type = type,
                                                           .cond = compare_of(n->op),
                                                           .dst = dst,
                                                           .x = a,
                                                           .y = b,
                                                           .repeat = repeat});
    }
    put(e, &cmd);
}

void emit_where(struct emit *e, uint16_t node)
{
    const struct node *n = &e->p->node[node], *z = &e->p->node[n->in[2]];
    enum type type = (enum type)n->type;
    bool number = z->op == TILE_NUMBER;
    struct vec_at dst, x, y = {0}, bits;
    uint8_t repeat;
    union cmd cmd;

    for (unsigned i = 0; i < 2u + !number; i++) {
        prepare(e, n->in[i], n->has);
    }
    dst = vec_dense(buffer_at(e, result_buffer(e, node, n->in[1], n->in[2])));
    bits = operand(e, n->in[0], n->has);
    x = operand(e, n->in[1], n->has);
    y = number ? y : operand(e, n->in[2], n->has);
    repeat = all(e, n->has, esize_of(type));
    if (number) {
        vector_select_scalar(
            &cmd, &(struct vec_select_scalar){.type = type,
                                              .dst = dst,
                                              .x = x,
                                              .scalar = number_bits(type, z->number),
                                              .bits = bits.addr,
                                              .repeat = repeat});
    } else {
        vector_select_strided(&cmd, &(struct vec_select){.type = type,
                                                         .dst = dst,
                                                         .x = x,
                                                         .y = y,
                                                         .bits = bits.addr,
                                                         .repeat = repeat});
    }
    put(e, &cmd);
}

/* A mask by way of numbers: 1 where it holds. */
uint8_t mask_full(struct emit *e, uint16_t x)
{
    const struct node *n = &e->p->node[x];
    uint8_t ones = constant_wide(e, TYPE_F32, 1), full, bits;
    uint8_t dense = buffer_of_class(e, n->has, TYPE_F32);
    unsigned lanes = REPEAT_BYTES / 4;
    union cmd cmd;

    vector_select_scalar(
        &cmd,
        &(struct vec_select_scalar){
            .type = TYPE_F32,
            .dst = vec_dense(buffer_at(e, dense)),
            .x = vec_same_repeat(buffer_at(e, ones)),
            .bits = buffer_at(e, e->form[x].dense),
            .repeat = mask_repeats(e, div_up(emit_elements(e, n->has), lanes), lanes)});
    put(e, &cmd);
    full = spread_full(e, dense, TYPE_F32, n->has);
    bits = buffer_of_class(e, FULL, TILE_MASK);
    vector_compare_scalar(
        &cmd,
        &(struct vec_compare_scalar){
            .type = TYPE_F32,
            .cond = CMP_NE,
            .dst = buffer_at(e, bits),
            .x = vec_dense(buffer_at(e, full)),
            .repeat = mask_repeats(e, div_up(emit_elements(e, FULL), lanes), lanes)});
    put(e, &cmd);
    return bits;
}
