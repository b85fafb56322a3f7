/* SPDX-License-Identifier: MIT
 *
 * Gradients of an embedding row by row: added in GM, or in tiles of UB; see embedding.h.
 * Each core has tiles of dw of its own and is alone in what it writes.
 */
#include "kernels/embedding/inside.h"
#include "sched/vector.h"

/* A piece of the columns, and what a core has of dw. */
struct part {
    const struct embedding_run *run;
    const struct embedding_grad *p;
    uint32_t begin, end;      /* rows of dw */
    uint32_t column, columns; /* elements */
    uint32_t in_pitch, pitch,
        batch; /* bytes of a row of dx, of dw in UB; rows of a slot */
    struct tque *in, *wide, *out;
    uint32_t zeros, scratch;
};

static const char *dx_at(const struct part *s, uint32_t token)
{
    uint64_t at = (uint64_t)token * s->p->width + s->column;

    return (const char *)s->p->dx + at * type_bits(s->p->type) / 8;
}

static float *dw_at(const struct part *s, uint32_t row)
{
    return s->p->dw + (uint64_t)row * s->p->width + s->column;
}

static void begin(struct part *s, const struct embedding_run *run)
{
    const struct embedding_grad *p = run->p;
    uint32_t tile = run->tiles.rows, all = p->rows.rows;

    *s = (struct part){.run = run, .p = p};
    s->begin = (uint32_t)share_begin(all, tile, task_block(), task_blocks());
    s->end = (uint32_t)share_begin(all, tile, task_block() + 1, task_blocks());
}

static void set_columns(struct part *s, uint32_t column)
{
    s->column = column;
    s->columns = min_u32(EMBEDDING_PIECE, s->p->width - column);
    s->in_pitch = up32(s->columns * type_bits(s->p->type) / 8);
    s->pitch = s->p->type == TYPE_F32 ? s->in_pitch : 2 * s->in_pitch;
    s->batch = min_u32(EMBEDDING_BATCH, EMBEDDING_SLOT / s->pitch);
}

/* Rows [first, first + n) of dw from UB, where all of them are, or one again and again. */
static struct mte_rows rows_of_dw(const struct part *s, uint32_t n)
{
    if (s->columns == s->p->width && s->columns * 4 == s->pitch) {
        return (struct mte_rows){.n_rows = 1, .row_bytes = n * s->pitch};
    }
    return (struct mte_rows){.n_rows = n,
                             .row_bytes = s->columns * 4,
                             .gm_pitch_bytes = s->p->width * 4,
                             .local_pitch_bytes = s->pitch};
}

static void store_zeros(const struct part *s, uint32_t row, uint32_t n)
{
    struct mte_rows rows = rows_of_dw(s, n);
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, dw_at(s, row), s->zeros, &rows);
    task_issue(PIPE_MTE3, &cmd);
}

/* A slot of zeros, which MTE3 waits for. */
static void make_zeros(struct part *s, struct tpipe *pipe)
{
    struct tque *que =
        tque_init(pipe, "zeros", VECOUT, PIPE_V, PIPE_MTE3, 1, EMBEDDING_SLOT);
    union cmd cmd;

    task_vector_count(EMBEDDING_SLOT / 4);
    s->zeros = tque_alloc(que);
    vector_fill(&cmd, OP_VDUP, TYPE_F32, s->zeros, 0);
    tque_enque(que, s->zeros, &cmd);
    task_vector(&cmd);
    (void)tque_deque(que);
    cmd_nop(&cmd);
    tque_free(que, s->zeros, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

/* --- atomic --- */

/* Rows of dx in a slot as fp32. */
static void widen(const struct part *s, uint32_t n)
{
    uint32_t from = tque_deque(s->in), to = tque_alloc(s->wide);
    union cmd cmd;

    task_vector_count(n * s->pitch / 4);
    vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, to, from);
    tque_free(s->in, from, &cmd);
    tque_enque(s->wide, to, &cmd);
    task_vector(&cmd);
}

/* Rows [first, first + n) of dx, of which `to` says where each goes, or -1. */
static void add_in_gm(const struct part *s, uint32_t first, uint32_t n, const int32_t *to)
{
    uint32_t slot = tque_alloc(s->in), esize = type_bits(s->p->type) / 8, last = 0;
    struct tque *from = s->p->type == TYPE_F32 ? s->in : s->wide;
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, slot, dx_at(s, first),
                      &(struct mte_rows){.n_rows = n,
                                         .row_bytes = s->columns * esize,
                                         .gm_pitch_bytes = s->p->width * esize,
                                         .local_pitch_bytes = s->in_pitch});
    tque_enque(s->in, slot, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    if (s->p->type == TYPE_F16) {
        widen(s, n);
    }
    slot = tque_deque(from);
    for (uint32_t i = 0; i < n; i++) {
        last = to[i] >= 0 ? i : last;
    }
    for (uint32_t i = 0; i <= last; i++) {
        if (to[i] < 0) {
            continue;
        }
        mte_ub_to_gm(&cmd, dw_at(s, (uint32_t)to[i]), slot + i * s->pitch,
                     s->columns * 4);
        if (i == last) {
            tque_free(from, slot, &cmd);
        }
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void add_all(const struct part *s)
{
    const struct embedding_rows *rows = &s->p->rows;
    int32_t to[EMBEDDING_BATCH];
    uint32_t n;

    for (uint32_t first = 0; first < rows->n; first += n) {
        uint32_t mine = 0;
        n = min_u32(s->batch, rows->n - first);
        for (uint32_t i = 0; i < n; i++) {
            int32_t row = embedding_row(rows, first + i);
            bool is = row >= (int32_t)s->begin && row < (int32_t)s->end;
            to[i] = is ? row : -1;
            mine += is;
        }
        if (mine) {
            add_in_gm(s, first, n, to);
        }
    }
}

static void set_atomic(uint8_t op)
{
    union cmd cmd;

    mte_set_atomic(&cmd, op, op == ATOMIC_NONE ? TYPE_NONE : TYPE_F32);
    task_issue(PIPE_MTE3, &cmd);
}

void embedding_atomic(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct part s;
    bool f32;

    begin(&s, arg);
    f32 = s.p->type == TYPE_F32;
    make_zeros(&s, pipe);
    s.in = tque_init(pipe, "dx", VECIN, PIPE_MTE2, f32 ? PIPE_MTE3 : PIPE_V, 2,
                     EMBEDDING_SLOT);
    if (!f32) {
        s.wide =
            tque_init(pipe, "dx as f32", VECOUT, PIPE_V, PIPE_MTE3, 2, EMBEDDING_SLOT);
    }
    for (uint32_t at = 0; at < s.p->width; at += EMBEDDING_PIECE) {
        set_columns(&s, at);
        for (uint32_t row = s.begin; row < s.end; row += s.run->tiles.rows) {
            store_zeros(&s, row, min_u32(s.run->tiles.rows, s.end - row));
        }
        set_atomic(ATOMIC_ADD);
        add_all(&s);
        set_atomic(ATOMIC_NONE);
    }
}

/* --- sorted --- */

/* So many tokens, gathered and added to their rows of the tile at y. */
static void add_in_ub(const struct part *s, uint32_t y, uint32_t tile_row,
                      const uint32_t *token, uint32_t n)
{
    uint32_t slot = tque_alloc(s->in), bytes = s->columns * type_bits(s->p->type) / 8;
    bool f32 = s->p->type == TYPE_F32;
    uint32_t from;
    union cmd cmds[EMBEDDING_BATCH], cmd;

    for (uint32_t i = 0; i < n; i++) {
        mte_gm_to_ub(&cmds[i], slot + i * s->in_pitch, dx_at(s, token[i]), bytes);
    }
    tque_enque(s->in, slot, &cmds[n - 1]);
    for (uint32_t i = 0; i < n; i++) {
        task_issue(PIPE_MTE2, &cmds[i]);
    }
    slot = tque_deque(s->in);
    if (!f32) {
        task_vector_count(n * s->pitch / 4);
        vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, s->scratch, slot);
        tque_free(s->in, slot, &cmd);
        task_vector(&cmd);
    }
    from = f32 ? slot : s->scratch;
    task_vector_count(s->columns);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t row = (uint32_t)s->p->rows.index[token[i]] - tile_row;
        uint32_t to = y + row * s->pitch;
        vector_add(&cmds[i], TYPE_F32, to, to, from + i * s->pitch);
    }
    if (f32) {
        tque_free(s->in, slot, &cmds[n - 1]);
    }
    task_issue_many(PIPE_V, cmds, n);
}

static void make_tile(const struct part *s, uint32_t tile)
{
    const struct embedding_tiles *t = &s->run->tiles;
    uint32_t row = tile * t->rows, rows = min_u32(t->rows, s->p->rows.rows - row), n;
    struct mte_rows out = rows_of_dw(s, rows);
    uint32_t y;
    union cmd cmd;

    if (t->start[tile] == t->start[tile + 1]) {
        store_zeros(s, row, rows);
        return;
    }
    y = tque_alloc(s->out);
    task_vector_count(rows * s->pitch / 4);
    vector_fill(&cmd, OP_VDUP, TYPE_F32, y, 0);
    task_vector(&cmd);
    for (uint32_t i = t->start[tile]; i < t->start[tile + 1]; i += n) {
        n = min_u32(s->batch, t->start[tile + 1] - i);
        add_in_ub(s, y, row, t->token + i, n);
    }
    cmd_nop(&cmd);
    tque_enque(s->out, y, &cmd);
    task_vector(&cmd);
    y = tque_deque(s->out);
    mte_ub_to_gm_rows(&cmd, dw_at(s, row), y, &out);
    tque_free(s->out, y, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

void embedding_sorted(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct part s;

    begin(&s, arg);
    make_zeros(&s, pipe);
    s.out = tque_init(pipe, "dw", VECOUT, PIPE_V, PIPE_MTE3, 2, EMBEDDING_SLOT);
    if (s.p->type == TYPE_F32) {
        s.in = tque_init(pipe, "dx", VECIN, PIPE_MTE2, PIPE_V, 2, EMBEDDING_SLOT);
    } else {
        s.in = tque_init(pipe, "dx", VECIN, PIPE_MTE2, PIPE_V, 2, EMBEDDING_SLOT / 2);
        s.scratch = tbuf_init(pipe, "dx as f32", VECCALC, EMBEDDING_SLOT);
    }
    for (uint32_t at = 0; at < s.p->width; at += EMBEDDING_PIECE) {
        set_columns(&s, at);
        for (uint32_t row = s.begin; row < s.end; row += s.run->tiles.rows) {
            make_tile(&s, row / s.run->tiles.rows);
        }
    }
}
