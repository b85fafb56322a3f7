/* SPDX-License-Identifier: MIT
 *
 * Gates of recurrent layers on the Vector; see gates.h.
 */
#include "kernels/recurrent/gates.h"

#include <string.h>

#include "hal/vector.h"
#include "sched/sched.h"

static uint32_t bits(float x)
{
    uint32_t word;

    memcpy(&word, &x, sizeof(word));
    return word;
}

static void unary(enum op op, uint32_t dst, uint32_t x)
{
    union cmd cmd;

    vector_unary(&cmd, op, TYPE_F32, dst, x);
    task_issue(PIPE_V, &cmd);
}

static void scalar(enum op op, uint32_t x, float with)
{
    union cmd cmd;

    vector_scalar(&cmd, op, TYPE_F32, x, x, bits(with));
    task_issue(PIPE_V, &cmd);
}

static void binary(enum op op, uint32_t dst, uint32_t x, uint32_t y)
{
    union cmd cmd;

    vector_binary(&cmd, op, TYPE_F32, dst, x, y);
    task_issue(PIPE_V, &cmd);
}

static void count(uint32_t n)
{
    union cmd cmd;

    vector_count(&cmd, n);
    task_issue(PIPE_V, &cmd);
}

static void sigmoid(uint32_t x)
{
    scalar(OP_VMULS, x, -1);
    unary(OP_VEXP, x, x);
    scalar(OP_VADDS, x, 1);
    unary(OP_VREC, x, x);
}

/* c and h, by i f o g at `x`: where h is. */
static uint32_t lstm(uint32_t x, uint32_t n, uint32_t c, uint32_t t)
{
    uint32_t f = x + n * 4, o = f + n * 4, g = o + n * 4;

    count(3 * n);
    sigmoid(x);
    count(n);
    unary(OP_VTANH, g, g);
    binary(OP_VMUL, t, x, g);
    binary(OP_VMUL, c, c, f);
    binary(OP_VADD, c, c, t);
    unary(OP_VTANH, t, c);
    binary(OP_VMUL, t, t, o);
    return t;
}

/* h, by u z and the two parts of n at `x`. */
static uint32_t gru(uint32_t x, uint32_t n, uint32_t h, uint32_t t)
{
    uint32_t z = x + n * 4, wx = z + n * 4, rh = wx + n * 4;

    count(2 * n);
    sigmoid(x);
    count(n);
    binary(OP_VMUL, rh, rh, x);
    binary(OP_VADD, wx, wx, rh);
    unary(OP_VTANH, wx, wx);
    binary(OP_VSUB, t, h, wx);
    binary(OP_VMUL, t, t, z);
    binary(OP_VADD, h, wx, t);
    return h;
}

uint32_t recurrent_state(bool is_gru, uint32_t sums, uint32_t n, uint32_t state,
                         uint32_t temp)
{
    return is_gru ? gru(sums, n, state, temp) : lstm(sums, n, state, temp);
}
