/* SPDX-License-Identifier: MIT
 *
 * Rows by index; see rows.h. Rows come to a buffer of UB and leave it together: those that are
 * gathered one by one, those that are scattered in as few commands as their order allows.
 */
#include "kernels/index/rows.h"

#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"
#include "sched/vector.h"

enum {
    SLOT = 32 << 10, /* bytes of a buffer */
    BUFFERS = 2,
    ROWS = 64, /* of a buffer, at most */
    BLOCK = 32,
};

/* How rows lie in buffers, and what of them is a core's. */
struct part {
    const struct rows *r;
    uint32_t piece; /* bytes of a row that fit */
    uint32_t pitch, batch;
    uint64_t begin, end;
};

static struct part part_of(const struct rows *r, uint64_t rows)
{
    struct part p = {.r = r};
    uint32_t unit = 1;

    p.piece = r->row_bytes < SLOT ? (uint32_t)r->row_bytes : SLOT;
    p.pitch = (p.piece + BLOCK - 1) / BLOCK * BLOCK;
    p.batch = min_u32(ROWS, r->row_bytes > SLOT ? 1 : SLOT / p.pitch);
    while (r->row_bytes * unit % BLOCK) { /* no two cores write to one block */
        unit *= 2;
    }
    p.begin = share_begin(rows, unit, task_block(), task_blocks());
    p.end = share_begin(rows, unit, task_block() + 1, task_blocks());
    return p;
}

/* So many rows, `bytes` of each. */
static struct mte_rows rows_of(const struct part *p, uint32_t n, uint32_t bytes)
{
    return (struct mte_rows){.n_rows = n,
                             .row_bytes = bytes,
                             .gm_pitch_bytes = n > 1 ? (uint32_t)p->r->row_bytes : 0,
                             .local_pitch_bytes = p->pitch};
}

static uint32_t piece_at(const struct part *p, uint64_t at)
{
    uint64_t rest = p->r->row_bytes - at;

    return rest < p->piece ? (uint32_t)rest : p->piece;
}

/* --- gather --- */

static void gather_rows(const struct part *p, struct tque *que, uint64_t first,
                        uint32_t n)
{
    const struct rows *r = p->r;

    for (uint64_t at = 0; at < r->row_bytes; at += p->piece) {
        uint32_t bytes = piece_at(p, at), slot = tque_alloc(que);
        struct mte_rows out = rows_of(p, n, bytes);
        union cmd cmd;
        for (uint32_t i = 0; i < n; i++) {
            mte_gm_to_ub(&cmd, slot + i * p->pitch,
                         (const char *)r->x + places_at(&r->places, first + i) + at,
                         bytes);
            if (i == n - 1) {
                tque_enque(que, slot, &cmd);
            }
            task_issue(PIPE_MTE2, &cmd);
        }
        slot = tque_deque(que);
        mte_ub_to_gm_rows(&cmd, (char *)r->y + first * r->row_bytes + at, slot, &out);
        tque_free(que, slot, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void gather(void *arg)
{
    const struct rows *r = arg;
    struct part p = part_of(r, places_count(&r->places));
    struct tque *que =
        tque_init(tpipe_open(), "rows", VECIN, PIPE_MTE2, PIPE_MTE3, BUFFERS, SLOT);
    uint32_t n;

    for (uint64_t at = p.begin; at < p.end; at += n) {
        n = p.end - at < p.batch ? (uint32_t)(p.end - at) : p.batch;
        gather_rows(&p, que, at, n);
    }
}

/* --- scatter --- */

/* What y is first. */
static void copy_base(const struct part *p, struct tque *que)
{
    const struct rows *r = p->r;
    uint64_t end = p->end * r->row_bytes;

    for (uint64_t at = p->begin * r->row_bytes; at < end; at += SLOT) {
        uint32_t bytes = end - at < SLOT ? (uint32_t)(end - at) : SLOT;
        uint32_t slot = tque_alloc(que);
        union cmd cmd;
        mte_gm_to_ub(&cmd, slot, (const char *)r->base + at, bytes);
        tque_enque(que, slot, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        slot = tque_deque(que);
        mte_ub_to_gm(&cmd, (char *)r->y + at, slot, bytes);
        tque_free(que, slot, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

/* The places of rows from `first` on that are this core's, up to the first that is not. */
static uint32_t places_mine(const struct part *p, uint64_t first, uint64_t at[ROWS])
{
    const struct rows *r = p->r;
    uint64_t n = places_count(&r->places);
    uint32_t i = 0;

    for (; i < p->batch && first + i < n; i++) {
        at[i] = places_at(&r->places, first + i);
        if (at[i] < p->begin * r->row_bytes || at[i] >= p->end * r->row_bytes) {
            break;
        }
    }
    return i;
}

static void scatter_rows(const struct part *p, struct tque *que, uint64_t first,
                         const uint64_t *to, uint32_t n)
{
    const struct rows *r = p->r;

    for (uint64_t at = 0; at < r->row_bytes; at += p->piece) {
        uint32_t bytes = piece_at(p, at), slot = tque_alloc(que);
        struct mte_rows in = rows_of(p, n, bytes);
        union cmd cmd;
        mte_gm_to_ub_rows(&cmd, slot, (const char *)r->x + first * r->row_bytes + at,
                          &in);
        tque_enque(que, slot, &cmd);
        task_issue(PIPE_MTE2, &cmd);
        slot = tque_deque(que);
        for (uint32_t i = 0; i < n; i++) {
            mte_ub_to_gm(&cmd, (char *)r->y + to[i] + at, slot + i * p->pitch, bytes);
            if (i == n - 1) {
                tque_free(que, slot, &cmd);
            }
            task_issue(PIPE_MTE3, &cmd);
        }
    }
}

/* One row: what is there comes, too, when it has been stored. */
static void multiply_row(const struct part *p, struct tque *in, struct tque *out,
                         uint64_t row, uint64_t to)
{
    const struct rows *r = p->r;

    for (uint64_t at = 0; at < r->row_bytes; at += p->piece) {
        const char *from[] = {(const char *)r->x + row * r->row_bytes + at,
                              (char *)r->y + to + at};
        uint32_t bytes = piece_at(p, at), x[2], y;
        union cmd cmd;
        task_drain();
        for (unsigned i = 0; i < 2; i++) {
            x[i] = tque_alloc(in);
            mte_gm_to_ub(&cmd, x[i], from[i], bytes);
            tque_enque(in, x[i], &cmd);
            task_issue(PIPE_MTE2, &cmd);
        }
        task_vector_count(bytes * 8 / type_bits(r->type));
        x[0] = tque_deque(in);
        x[1] = tque_deque(in);
        y = tque_alloc(out);
        vector_binary(&cmd, OP_VMUL, r->type, y, x[1], x[0]);
        tque_free(in, x[0], &cmd);
        tque_free(in, x[1], &cmd);
        tque_enque(out, y, &cmd);
        task_vector(&cmd);
        y = tque_deque(out);
        mte_ub_to_gm(&cmd, (char *)r->y + to + at, y, bytes);
        tque_free(out, y, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void set_atomic(enum rows_op op, enum type type)
{
    static const uint8_t modes[] = {
        [ROWS_ADD] = ATOMIC_ADD, [ROWS_MAX] = ATOMIC_MAX, [ROWS_MIN] = ATOMIC_MIN};
    union cmd cmd;

    mte_set_atomic(&cmd, op < sizeof(modes) ? modes[op] : ATOMIC_NONE, type);
    task_issue(PIPE_MTE3, &cmd);
}

static void scatter(void *arg)
{
    const struct rows *r = arg;
    struct part p = part_of(r, r->y_rows);
    struct tpipe *pipe = tpipe_open();
    bool product = r->op == ROWS_MUL;
    struct tque *que = tque_init(pipe, "y", VECIN, PIPE_MTE2, PIPE_MTE3, BUFFERS, SLOT);
    struct tque *in = NULL, *out = NULL;
    uint64_t to[ROWS], all = places_count(&r->places);

    if (product) {
        in = tque_init(pipe, "factors", VECIN, PIPE_MTE2, PIPE_V, 2, SLOT);
        out = tque_init(pipe, "product", VECOUT, PIPE_V, PIPE_MTE3, 1, SLOT);
    }
    copy_base(&p, que);
    set_atomic(r->op, r->op == ROWS_SET ? TYPE_NONE : r->type);
    for (uint64_t row = 0; row < all;) {
        uint32_t n = places_mine(&p, row, to);
        if (product) {
            for (uint32_t i = 0; i < n; i++) {
                multiply_row(&p, in, out, row + i, to[i]);
            }
        } else if (n) {
            scatter_rows(&p, que, row, to, n);
        }
        row += n < p.batch ? n + 1 : n; /* the one behind them is not mine */
    }
    set_atomic(ROWS_SET, TYPE_NONE);
}

/* --- launches --- */

static int run(const char *name, void (*kernel)(void *), const struct rows *r,
               struct sched_report *report)
{
    struct rows own = *r;
    struct launch l = {name, kernel, &own, .cores = r->cores};

    report->text[0] = 0;
    if (!r->x || !r->y || r->row_bytes == 0 || places_count(&r->places) == 0 ||
        r->places.depth > PLACES_AXES) {
        return ERR_ARG;
    }
    return launch(&l, report);
}

int rows_gather(const char *name, const struct rows *r, struct sched_report *report)
{
    return run(name, gather, r, report);
}

bool rows_can(enum rows_op op, enum type type)
{
    const unsigned wide =
        1u << TYPE_F32 | 1u << TYPE_F16 | 1u << TYPE_S32 | 1u << TYPE_S16;

    return op == ROWS_SET || (wide | (op != ROWS_MUL ? 1u << TYPE_S8 : 0)) >> type & 1;
}

int rows_scatter(const char *name, const struct rows *r, struct sched_report *report)
{
    report->text[0] = 0;
    if (r->y_rows == 0 || !r->base || !rows_can(r->op, r->type)) {
        return ERR_ARG;
    }
    return run(name, scatter, r, report);
}
