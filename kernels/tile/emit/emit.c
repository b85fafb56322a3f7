/* SPDX-License-Identifier: MIT
 *
 * Buffers and commands while a program is emitted; see inside.h. What touches which buffer is
 * noted on the way: place.c gives memory by it, order.c semaphores.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "hal/vector_move.h"
#include "kernels/lib/f16.h"
#include "kernels/lib/share.h"
#include "kernels/tile/emit/inside.h"

void emit_fail(struct emit *e, int err, const char *format, ...)
{
    va_list args;

    if (e->err) {
        return;
    }
    e->err = err;
    va_start(args, format);
    vsnprintf(e->why, sizeof(e->why), format, args);
    va_end(args);
}

/* --- buffers --- */

uint8_t buffer_new(struct emit *e, uint64_t bytes)
{
    struct buffer *b = &e->buffer[e->n_buffers];

    if (e->n_buffers == PLAN_BUFFERS - 1) {
        emit_fail(e, ERR_NOMEM, "more than %d buffers", PLAN_BUFFERS - 1);
        return 1;
    }
    b->bytes = (uint32_t)round_up(bytes, REPEAT_BYTES);
    b->value = e->node;
    b->always = e->to == &e->pre;
    return (uint8_t)++e->n_buffers;
}

uint32_t buffer_at(struct emit *e, uint8_t buffer)
{
    struct buffer *b = &e->buffer[buffer - 1];

    e->pending[e->n_pending++] = buffer;
    return e->at[buffer - 1][(b->load || b->store) && !b->always ? e->position : 0];
}

uint32_t emit_elements(const struct emit *e, unsigned has)
{
    switch (has) {
    case FULL:
        return way_rows(e->w) * e->w->pitch;
    case HAS_ROW:
        return way_rows(e->w);
    case HAS_COL:
        return e->w->cols;
    default:
        return 1;
    }
}

uint32_t emit_bytes(const struct emit *e, unsigned has, unsigned type)
{
    uint64_t elements = round_up(emit_elements(e, has), LANES);
    /* A repeat that begins in the last row may end behind it. */
    uint64_t more = has == FULL && e->w->pitch % LANES ? REPEAT_BYTES : 0;

    return (uint32_t)round_up(type == TILE_MASK ? elements / 8
                                                : elements * esize_of(type) + more,
                              REPEAT_BYTES);
}

uint8_t buffer_of_class(struct emit *e, unsigned has, unsigned type)
{
    uint8_t b = buffer_new(e, emit_bytes(e, has, type));

    e->buffer[b - 1].full = has == FULL && type != TILE_MASK;
    return b;
}

bool emit_varies(const struct emit *e, const struct node *n)
{
    bool cut = e->w->cols < e->p->cols;

    return n->body || ((n->has & HAS_COL) && cut) || n->outer;
}

/* --- commands --- */

/* Where they are only counted so many, too: places in a stream have 16 bits. */
static void append(struct emit *e, union cmd *cmd)
{
    struct stream *s = e->to;

    cmd->head.tag = e->p->node[e->node].line;
    if (s->n < s->room) {
        s->cmd[s->n] = *cmd;
    } else if (s->cmd || s->n == UINT16_MAX) {
        emit_fail(e, ERR_NOMEM, "more than %u commands a tile",
                  s->cmd ? s->room : PLAN_COMMANDS);
        return;
    }
    s->n++;
}

void put(struct emit *e, union cmd *cmd)
{
    for (unsigned i = 0; i < e->n_pending && e->to == &e->body; i++) {
        struct buffer *b = &e->buffer[e->pending[i] - 1];
        b->first = b->touched ? b->first : (uint16_t)e->to->n;
        b->last = (uint16_t)e->to->n;
        b->touched = true;
    }
    e->n_pending = 0;
    append(e, cmd);
}

void mask_count(struct emit *e, uint64_t n)
{
    struct stream *s = e->to;
    union cmd cmd;

    if (s->mask == MASK_COUNT && s->lo == n) {
        return;
    }
    s->mask = MASK_COUNT;
    s->lo = n;
    vector_count(&cmd, (uint32_t)n);
    append(e, &cmd);
}

static void mask_bits(struct emit *e, uint64_t lo, uint64_t hi)
{
    struct stream *s = e->to;
    union cmd cmd;

    if (s->mask == MASK_BITS && s->lo == lo && s->hi == hi) {
        return;
    }
    s->mask = MASK_BITS;
    s->lo = lo;
    s->hi = hi;
    vector_mask(&cmd, lo, hi);
    append(e, &cmd);
}

void mask_pattern(struct emit *e, uint64_t lanes)
{
    mask_bits(e, lanes, lanes);
}

void mask_lanes(struct emit *e, unsigned lanes)
{
    mask_bits(e, lanes >= 64 ? UINT64_MAX : (1ull << lanes) - 1,
              lanes >= 128  ? UINT64_MAX
              : lanes <= 64 ? 0
                            : (1ull << (lanes - 64)) - 1);
}

uint8_t mask_repeats(struct emit *e, uint64_t repeats, unsigned lanes)
{
    if (repeats > UINT8_MAX) {
        mask_count(e, repeats * lanes);
    } else if (e->to->mask != MASK_COUNT || e->to->lo != repeats * lanes) {
        mask_bits(e, UINT64_MAX, UINT64_MAX);
    }
    return (uint8_t)repeats;
}

/* --- numbers --- */

uint32_t number_bits(unsigned type, double value)
{
    float f = (float)value;

    switch (type) {
    case TYPE_F32:
        return f32_bits(f);
    case TYPE_F16:
        return f32_to_f16(f);
    case TYPE_BF16: /* which the value is one of */
        return f32_bits(f) >> 16;
    case TYPE_S16:
        return (uint16_t)(int32_t)value;
    case TYPE_S8:
    case TYPE_U8:
        return (uint8_t)(int32_t)value;
    default:
        return (uint32_t)(int64_t)value;
    }
}

uint8_t constant_wide(struct emit *e, unsigned type, double value)
{
    uint32_t bits = number_bits(type, value);
    struct stream *to = e->to;
    struct constant *c = &e->constant[e->n_constants];
    union cmd cmd;

    for (unsigned i = 0; i < e->n_constants; i++) {
        if (e->constant[i].bits == bits && e->constant[i].type == type) {
            return e->constant[i].buffer;
        }
    }
    if (e->n_constants == PLAN_CONSTANTS) {
        emit_fail(e, ERR_NOMEM, "more than %d numbers in UB", PLAN_CONSTANTS);
        return 1;
    }
    e->to = &e->pre;
    c->bits = bits;
    c->type = (uint8_t)type;
    c->buffer = buffer_new(e, REPEAT_BYTES);
    vector_fill_strided(
        &cmd,
        &(struct vec_fill){.op = OP_VDUP,
                           .type = (enum type)type,
                           .dst = vec_dense(buffer_at(e, c->buffer)),
                           .bits = bits,
                           .repeat = mask_repeats(e, 1, REPEAT_BYTES / esize_of(type))});
    put(e, &cmd);
    e->to = to;
    e->n_constants++;
    return c->buffer;
}
