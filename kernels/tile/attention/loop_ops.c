/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector over repeats of lanes; see loop.h. What can be done in several ways
 * is costed in each of them, by the contract's costs, and done in the cheapest.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hal/vector_move.h"
#include "kernels/tile/attention/loop.h"

enum { AT_ONCE = 128 /* repeats of one command, of more than it can have */ };

void loop_fail(struct loop_emit *e, tile_value at, int err, const char *format, ...)
{
    const struct tile_node *n = &e->f->k->node[at];
    va_list args;

    if (e->err) {
        return;
    }
    e->err = err;
    e->why_line = n->line;
    e->why_column = n->column;
    va_start(args, format);
    vsnprintf(e->why, sizeof(e->why), format, args);
    va_end(args);
}

void loop_put(struct loop_emit *e, union cmd *cmd)
{
    e->cycles += tile_cost(&e->costs, cmd);
    if (e->dry) {
        return;
    }
    cmd->head.tag = e->line;
    if (e->to->n == LOOP_COMMANDS) {
        loop_fail(e, 0, ERR_NOMEM, "more than %d commands a tile", LOOP_COMMANDS);
        return;
    }
    e->to->cmd[e->to->n++] = *cmd;
}

static void build(union cmd *cmd, const struct loop_op *o, uint32_t n)
{
    switch (o->how) {
    case DO_UNARY:
        vector_unary_strided(cmd, &(struct vec_unary){o->op, o->type, o->dst, o->x, n});
        break;
    case DO_SCALAR:
        vector_scalar_strided(
            cmd, &(struct vec_scalar){o->op, o->type, o->dst, o->x, o->number, n, 0});
        break;
    case DO_BINARY:
        vector_binary_strided(
            cmd, &(struct vec_binary){o->op, o->type, o->dst, o->x, o->y, n, 0});
        break;
    case DO_CONVERT:
        vector_convert_strided(
            cmd, &(struct vec_convert){o->type, o->to, o->detail, o->dst, o->x, n});
        break;
    case DO_COMPARE:
        vector_compare_strided(
            cmd, &(struct vec_compare){o->type, o->detail, o->bits, o->x, o->y, n, 0});
        break;
    case DO_COMPARE_SCALAR:
        vector_compare_scalar(cmd,
                              &(struct vec_compare_scalar){o->type, o->detail, o->bits,
                                                           o->x, o->number, n, 0});
        break;
    case DO_SELECT:
        vector_select_strided(
            cmd, &(struct vec_select){o->type, o->dst, o->x, o->y, o->bits, n, 0});
        break;
    case DO_SELECT_SCALAR:
        vector_select_scalar(cmd, &(struct vec_select_scalar){o->type, o->dst, o->x,
                                                              o->number, o->bits, n, 0});
        break;
    default:
        vector_fill_strided(cmd,
                            &(struct vec_fill){o->op, o->type, o->dst, o->number, n});
    }
}

static struct vec_at further(struct vec_at at, uint32_t repeats)
{
    at.addr += repeats * at.rep * BLOCK;
    return at;
}

void loop_rows(struct loop_emit *e, const struct loop_op *op, uint32_t n)
{
    uint32_t most = n > UINT8_MAX ? AT_ONCE : n;

    for (uint32_t r = 0; r < n; r += most) {
        struct loop_op o = *op;
        union cmd cmd;
        o.dst = further(op->dst, r);
        o.x = further(op->x, r);
        o.y = further(op->y, r);
        o.bits += r * LOOP_LANES / 8;
        o.number += op->op == OP_VCI ? r * LOOP_LANES : 0;
        build(&cmd, &o, n - r < most ? n - r : most);
        loop_put(e, &cmd);
    }
}

/* What the commands would take. */
static uint64_t cost_of(struct loop_emit *e, const struct loop_op *op, uint32_t n)
{
    uint64_t was = e->cycles, cost;
    bool dry = e->dry;

    e->dry = true;
    loop_rows(e, op, n);
    cost = e->cycles - was;
    e->cycles = was;
    e->dry = dry;
    return cost;
}

/* Every second repeat from the first or the second one on, with that copy of the column
 * which lies better. */
static struct loop_op every_second(struct loop_emit *e, struct loop_op op, bool second,
                                   uint32_t from, uint32_t n)
{
    struct vec_at *column = second ? &op.y : &op.x, *plane = second ? &op.x : &op.y;
    struct loop_op best = op;
    uint64_t least = UINT64_MAX;
    uint32_t at = column->addr;

    op.dst.addr += from * LOOP_REPEAT;
    op.dst.rep = plane->rep = 2 * VEC_BLOCKS;
    plane->addr += from * LOOP_REPEAT;
    for (unsigned copy = 0; copy < 2; copy++) {
        uint64_t cost;
        *column = vec_same_repeat(at + copy * LOOP_REPEAT);
        cost = cost_of(e, &op, n);
        if (cost < least) {
            least = cost;
            best = op;
        }
    }
    return best;
}

void loop_with_column(struct loop_emit *e, struct loop_op op, bool second, uint32_t n)
{
    struct loop_op once = op, even, odd;
    uint64_t apart;

    *(second ? &once.y : &once.x) = vec_same_repeat(second ? op.y.addr : op.x.addr);
    even = every_second(e, op, second, 0, (n + 1) / 2);
    odd = every_second(e, op, second, 1, n / 2);
    apart = cost_of(e, &even, (n + 1) / 2) + cost_of(e, &odd, n / 2);
    if (n < 2 || cost_of(e, &once, n) <= apart) {
        loop_rows(e, &once, n);
    } else {
        loop_rows(e, &even, (n + 1) / 2);
        loop_rows(e, &odd, n / 2);
    }
}

/* --- reductions --- */

enum { TREE = 16 /* repeats that are worth one more level of a tree */ };

static struct loop_op pair(enum op op, struct vec_at dst, struct vec_at x,
                           struct vec_at y)
{
    return (struct loop_op){
        .how = DO_BINARY, .op = op, .type = TYPE_F32, .dst = dst, .x = x, .y = y};
}

/* Repeats two by two, to the place where that is fastest; how many there are then. */
static uint32_t halve(struct loop_emit *e, enum op op, uint32_t *x, uint32_t n,
                      const struct loop_spare *spare, unsigned n_spare)
{
    uint64_t least = UINT64_MAX;
    uint32_t half = n / 2, to = 0;
    struct loop_op best = {0};

    for (unsigned i = 0; i < n_spare; i++) {
        struct loop_op o =
            pair(op, vec_dense(spare[i].at), vec_repeats(*x, 2 * VEC_BLOCKS),
                 vec_repeats(*x + LOOP_REPEAT, 2 * VEC_BLOCKS));
        uint64_t cost = spare[i].rows < half ? UINT64_MAX : cost_of(e, &o, half);
        if (cost < least) {
            least = cost;
            best = o;
            to = spare[i].at;
        }
    }
    if (least == UINT64_MAX) {
        return 0;
    }
    loop_rows(e, &best, half);
    *x = to;
    return half;
}

/* n repeats at x to one, one after the other: into the first of them, or elsewhere where
 * they may not be written; where that is. */
static uint32_t gather_up(struct loop_emit *e, enum op op, uint32_t x, uint32_t n,
                          bool scratch)
{
    uint32_t sum = x;
    struct loop_op o;

    if (n < 2) {
        return x;
    }
    if (!scratch) {
        sum = loop_bytes(e, LOOP_REPEAT);
        o = pair(op, vec_dense(sum), vec_dense(x), vec_dense(x + LOOP_REPEAT));
        loop_rows(e, &o, 1);
        x += LOOP_REPEAT;
        n--;
    }
    if (n > 1) {
        o = pair(op, vec_same_repeat(sum), vec_same_repeat(sum),
                 vec_dense(x + LOOP_REPEAT));
        loop_rows(e, &o, n - 1);
    }
    return sum;
}

void loop_reduce(struct loop_emit *e, const struct loop_reduction *r)
{
    uint32_t left[8] = {0}, n_left = 0, x = r->x, n = r->n, sum;
    bool scratch = false;
    struct loop_op o;

    if (r->with) {
        left[n_left++] = r->with;
    }
    if (r->more) {
        left[n_left++] = r->more;
    }
    while (n > TREE) {
        uint32_t end = x + (n - 1) * LOOP_REPEAT;
        uint32_t half = halve(e, r->op, &x, n, r->spare, r->n_spare);
        if (half == 0) {
            break;
        }
        if (n % 2) { /* it stays: later levels end before it */
            left[n_left++] = end;
        }
        scratch = true;
        n = half;
    }
    if (n_left == 0 && n > 1) { /* the last one makes both copies of the result */
        left[n_left++] = x + --n * LOOP_REPEAT;
    }
    sum = gather_up(e, r->op, x, n, scratch);
    for (uint32_t i = 1; i < n_left; i++) {
        uint32_t to = loop_bytes(e, LOOP_REPEAT);
        o = pair(r->op, vec_dense(to), vec_dense(sum), vec_dense(left[i]));
        loop_rows(e, &o, 1);
        sum = to;
    }
    o = pair(r->op, vec_dense(r->column), vec_same_repeat(sum), vec_same_repeat(left[0]));
    if (n_left == 0) {
        o = (struct loop_op){.how = DO_SCALAR,
                             .op = OP_VMULS,
                             .type = TYPE_F32,
                             .dst = vec_dense(r->column),
                             .x = vec_same_repeat(sum),
                             .number = number_bits(TYPE_F32, 1)};
    }
    loop_rows(e, &o, 2);
}

/* A repeat of what is given from the one of that number on, each `step`th. */
static struct vec_at given_at(const struct loop_emit *e, uint32_t repeat, uint16_t step)
{
    return (struct vec_at){e->room->given + repeat * BLOCK, (uint16_t)e->room->given_rows,
                           step};
}

void loop_reduce_given(struct loop_emit *e, struct loop_reduction *r, uint32_t more)
{
    struct loop_op one = {.how = DO_SCALAR,
                          .op = OP_VMULS,
                          .type = TYPE_F32,
                          .dst = vec_dense(more),
                          .x = given_at(e, r->n - 1, 1),
                          .number = number_bits(TYPE_F32, 1)};
    uint32_t half = r->n / 2;
    unsigned i = 0;

    while (i < r->n_spare && r->spare[i].rows < half) {
        i++;
    }
    if (i == r->n_spare) {
        loop_fail(e, 0, ERR_LOCAL, "UB has no room for a sum");
        return;
    }
    r->more = r->n % 2 ? more : 0;
    r->x = r->spare[i].at;
    if (r->more) {
        loop_rows(e, &one, 1);
    }
    if (half) {
        struct loop_op o =
            pair(r->op, vec_dense(r->x), given_at(e, 0, 2), given_at(e, 1, 2));
        loop_rows(e, &o, half);
    } else { /* the one that there is */
        r->x = more;
        r->more = 0;
    }
    r->n = half ? half : 1;
}

/* --- out --- */

void loop_transpose(struct loop_emit *e, unsigned esize, uint32_t to, uint32_t pitch,
                    uint32_t x, uint32_t n)
{
    unsigned lanes = BLOCK / esize, row = LOOP_LANES * esize;
    unsigned wide = esize == 4 ? 2 : 1; /* blocks that 16 elements of a row are */

    for (unsigned lane = 0; lane < LOOP_LANES; lane += lanes) {
        uint16_t src[16], dst[16];
        union cmd cmd;
        for (unsigned i = 0; i < 16; i++) {
            src[i] = (uint16_t)((x + i * row + lane * esize) / BLOCK);
            dst[i] =
                (uint16_t)((to + (lane + i / wide) * pitch + i % wide * BLOCK) / BLOCK);
        }
        vector_addresses(&cmd, src, false);
        loop_put(e, &cmd);
        vector_addresses(&cmd, dst, true);
        loop_put(e, &cmd);
        vector_transdata(&cmd,
                         &(struct vec_transdata){.type = esize == 4 ? TYPE_F32 : TYPE_F16,
                                                 .repeat = (n + 15) / 16,
                                                 .dst_rep = wide,
                                                 .src_rep = 16 * row / BLOCK});
        loop_put(e, &cmd);
    }
}

/* --- what is there once --- */

static void check_room(struct loop_emit *e)
{
    if (e->next > e->low) {
        loop_fail(e, 0, ERR_LOCAL, "columns want %lu KiB of UB more",
                  (unsigned long)(e->next - e->low + 1023) / 1024);
    }
}

uint32_t loop_keep(struct loop_emit *e, uint32_t bytes)
{
    uint32_t at = e->next;

    e->next += (uint32_t)round_up(bytes, LOOP_REPEAT);
    check_room(e);
    return at;
}

uint32_t loop_bytes(struct loop_emit *e, uint32_t bytes)
{
    e->low -= (uint32_t)round_up(bytes, LOOP_REPEAT);
    check_room(e);
    return e->err ? 0 : e->low;
}

uint32_t loop_number(struct loop_emit *e, unsigned type, double value)
{
    unsigned i = 0;

    while (i < e->n_numbers &&
           (e->number[i].type != type || e->number[i].value != value)) {
        i++;
    }
    if (i == PLAN_CONSTANTS) {
        loop_fail(e, 0, ERR_NOMEM, "more than %d numbers in UB", PLAN_CONSTANTS);
        return 0;
    }
    if (i == e->n_numbers) {
        e->number[i].type = (uint8_t)type;
        e->number[i].value = value;
        e->number[i].at = loop_keep(e, LOOP_TWICE);
        e->n_numbers++;
    }
    return e->number[i].at;
}
