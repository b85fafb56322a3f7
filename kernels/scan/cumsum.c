/* SPDX-License-Identifier: MIT
 *
 * Sums of rows; see cumsum.h. Rows of some lanes come to UB together, each is added to the one
 * before it, and the last one is carried to those that come next.
 */
#include "kernels/scan/cumsum.h"

#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/scan/inside.h"
#include "sched/launch.h"
#include "sched/vector.h"

enum {
    SLOT = 16 << 10, /* bytes of a buffer of wide elements */
    LANES = 1024,    /* of a row, at most */
    ROWS = 128,      /* of a buffer, at most */
};

uint32_t scan_take(struct scan_room *r, uint32_t elements, uint32_t *in)
{
    union cmd cmd;

    *in = tque_deque(r->in);
    if (r->esize == SCAN_WIDE) {
        return *in;
    }
    task_vector_count(elements);
    vector_convert(&cmd, r->c->type, r->sum, ROUND_NONE, r->x, *in);
    task_vector(&cmd);
    return r->x;
}

uint32_t scan_room_for(struct scan_room *r, uint32_t *out)
{
    *out = tque_alloc(r->out);
    return r->esize == SCAN_WIDE ? *out : r->y;
}

void scan_done(struct scan_room *r, uint32_t elements, uint32_t in, uint32_t out)
{
    union cmd cmd;

    if (r->esize == SCAN_WIDE) {
        cmd_nop(&cmd);
    } else {
        task_vector_count(elements);
        vector_convert(&cmd, r->sum, r->c->type, ROUND_RINT, out, r->y);
    }
    tque_free(r->in, in, &cmd);
    tque_enque(r->out, out, &cmd);
    task_vector(&cmd);
}

/* --- rows --- */

/* Lanes of a unit, rows of a buffer. */
struct tile {
    uint64_t o, lane;
    uint32_t lanes, pitch; /* elements */
    uint32_t rows;
};

static struct tile tile_of(const struct cumsum *c, uint64_t unit, uint32_t esize)
{
    uint64_t across = (c->inner + LANES - 1) / LANES;
    struct tile t = {.o = unit / across, .lane = unit % across * LANES};
    uint32_t block = SCAN_BLOCK / esize;

    t.lanes = c->inner - t.lane < LANES ? (uint32_t)(c->inner - t.lane) : LANES;
    t.pitch = (t.lanes + block - 1) / block * block;
    t.rows = min_u32(ROWS, SLOT / SCAN_WIDE / t.pitch);
    return t;
}

/* n rows of which the first in order of x is `row`. */
static struct mte_rows rows_of(const struct scan_room *r, const struct tile *t,
                               uint32_t n)
{
    return (struct mte_rows){
        .n_rows = n,
        .row_bytes = t->lanes * r->esize,
        .gm_pitch_bytes = n > 1 ? (uint32_t)r->c->inner * r->esize : 0,
        .local_pitch_bytes = t->pitch * r->esize,
    };
}

static uint64_t byte_of(const struct scan_room *r, const struct tile *t, uint32_t row)
{
    return ((t->o * r->c->n + row) * r->c->inner + t->lane) * r->esize;
}

static void add(enum type type, uint32_t to, uint32_t a, uint32_t b)
{
    union cmd cmd;

    vector_add(&cmd, type, to, a, b);
    task_vector(&cmd);
}

static void copy(uint32_t to, uint32_t from)
{
    union cmd cmd;

    vector_copy(&cmd, TYPE_S32, to, from);
    task_vector(&cmd);
}

/* n rows at x to their sums at y, with what is carried. */
static void sum_rows(const struct scan_room *r, const struct tile *t, uint32_t x,
                     uint32_t y, uint32_t n)
{
    uint32_t row = t->pitch * SCAN_WIDE, last = r->carry;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = (r->c->reverse ? n - 1 - i : i) * row;
        if (r->c->exclusive) {
            copy(y + at, last);
            add(r->sum, r->carry, last, x + at);
            last = r->carry;
        } else {
            add(r->sum, y + at, last, x + at);
            last = y + at;
        }
    }
    if (last != r->carry) {
        copy(r->carry, last);
    }
}

static void scan_tile(struct scan_room *r, const struct tile *t)
{
    const struct cumsum *c = r->c;
    uint32_t n, in, out, x, y;
    union cmd cmd;

    task_vector_count(t->pitch);
    vector_fill(&cmd, OP_VDUP, TYPE_S32, r->carry, 0);
    task_vector(&cmd);
    for (uint32_t at = 0; at < c->n; at += n) {
        n = min_u32(t->rows, c->n - at);
        uint32_t first = c->reverse ? c->n - at - n : at;
        struct mte_rows rows = rows_of(r, t, n);
        in = tque_alloc(r->in);
        mte_gm_to_ub_rows(&cmd, in, (const char *)c->x + byte_of(r, t, first), &rows);
        tque_enque(r->in, in, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        x = scan_take(r, n * t->pitch, &in);
        y = scan_room_for(r, &out);
        task_vector_count(t->pitch);
        sum_rows(r, t, x, y, n);
        scan_done(r, n * t->pitch, in, out);
        out = tque_deque(r->out);
        mte_ub_to_gm_rows(&cmd, (char *)c->y + byte_of(r, t, first), out, &rows);
        tque_free(r->out, out, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

/* Lanes that no row covers are 0 from the beginning. */
static void clear(const struct tque *que, uint32_t bytes)
{
    union cmd cmd;

    task_vector_count(bytes / SCAN_WIDE);
    for (uint32_t i = 0; i < que->n; i++) {
        vector_fill(&cmd, OP_VDUP, TYPE_S32, que->begin + i * que->bytes, 0);
        task_vector(&cmd);
    }
    task_drain();
}

static void scan_rows(void *arg)
{
    const struct cumsum *c = arg;
    uint64_t units = c->outer * ((c->inner + LANES - 1) / LANES);
    uint64_t unit = share_begin(units, 1, task_block(), task_blocks());
    uint64_t end = share_begin(units, 1, task_block() + 1, task_blocks());
    struct tpipe *pipe = tpipe_open();
    struct scan_room r = {.c = c, .esize = type_bits(c->type) / 8};

    r.sum = c->type == TYPE_S32 ? TYPE_S32 : TYPE_F32;
    r.in = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, SLOT);
    r.out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 2, SLOT);
    r.carry = tbuf_init(pipe, "carry", VECCALC, LANES * SCAN_WIDE);
    if (r.esize != SCAN_WIDE) {
        r.x = tbuf_init(pipe, "wide x", VECCALC, SLOT);
        r.y = tbuf_init(pipe, "wide y", VECCALC, SLOT);
    }
    clear(r.in, SLOT);
    for (; unit < end; unit++) {
        struct tile t = tile_of(c, unit, r.esize);
        scan_tile(&r, &t);
    }
}

int cumsum(const char *name, const struct cumsum *c, struct sched_report *report)
{
    struct cumsum own = *c;
    struct launch l = {name, c->inner == 1 ? scan_lines : scan_rows, &own,
                       .cores = c->cores};

    report->text[0] = 0;
    if (!c->x || !c->y || c->outer == 0 || c->n == 0 || c->inner == 0 || c->n >> 31 ||
        c->inner >> 28 ||
        (c->type != TYPE_F32 && c->type != TYPE_F16 && c->type != TYPE_S32)) {
        return ERR_ARG;
    }
    return launch(&l, report);
}
