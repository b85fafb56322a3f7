/* SPDX-License-Identifier: MIT
 *
 * Gates of recurrent layers on the Vector; see inside.h.
 */

#include "hal/vector.h"
#include "kernels/lib/share.h"
#include "kernels/recurrent/inside.h"

static void count(struct recurrent_cell *s, uint32_t elements)
{
    union cmd cmd;

    vector_count(&cmd, elements);
    recurrent_add(s, LANE_V, &cmd);
}

static void unary(struct recurrent_cell *s, enum op op, uint32_t dst, uint32_t x)
{
    union cmd cmd;

    vector_unary(&cmd, op, TYPE_F32, dst, x);
    recurrent_add(s, LANE_V, &cmd);
}

static void scalar(struct recurrent_cell *s, enum op op, uint32_t x, float with)
{
    union cmd cmd;

    vector_scalar(&cmd, op, TYPE_F32, x, x, f32_bits(with));
    recurrent_add(s, LANE_V, &cmd);
}

static void binary(struct recurrent_cell *s, enum op op, uint32_t dst, uint32_t x,
                   uint32_t y)
{
    union cmd cmd;

    vector_binary(&cmd, op, TYPE_F32, dst, x, y);
    recurrent_add(s, LANE_V, &cmd);
}

static void sigmoid(struct recurrent_cell *s, uint32_t x)
{
    scalar(s, OP_VMULS, x, -1);
    unary(s, OP_VEXP, x, x);
    scalar(s, OP_VADDS, x, 1);
    unary(s, OP_VREC, x, x);
}

/* c and h, by i f o g at `x`: where h is. */
static uint32_t lstm(struct recurrent_cell *s, uint32_t x, uint32_t n, uint32_t c)
{
    uint32_t f = x + n * 4, o = f + n * 4, g = o + n * 4, t = s->temp;

    count(s, 3 * n);
    sigmoid(s, x);
    count(s, n);
    unary(s, OP_VTANH, g, g);
    binary(s, OP_VMUL, t, x, g);
    binary(s, OP_VMUL, c, c, f);
    binary(s, OP_VADD, c, c, t);
    unary(s, OP_VTANH, t, c);
    binary(s, OP_VMUL, t, t, o);
    return t;
}

/* h, by u z and the two parts of n at `x`. */
static uint32_t gru(struct recurrent_cell *s, uint32_t x, uint32_t n, uint32_t h)
{
    uint32_t z = x + n * 4, wx = z + n * 4, rh = wx + n * 4, t = s->temp;

    count(s, 2 * n);
    sigmoid(s, x);
    count(s, n);
    binary(s, OP_VMUL, rh, rh, x);
    binary(s, OP_VADD, wx, wx, rh);
    unary(s, OP_VTANH, wx, wx);
    binary(s, OP_VSUB, t, h, wx);
    binary(s, OP_VMUL, t, t, z);
    binary(s, OP_VADD, h, wx, t);
    return h;
}

uint32_t recurrent_state(struct recurrent_cell *s, uint32_t sums, uint32_t n,
                         uint32_t state)
{
    return s->p->gru ? gru(s, sums, n, state) : lstm(s, sums, n, state);
}
