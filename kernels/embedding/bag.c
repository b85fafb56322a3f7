/* SPDX-License-Identifier: MIT
 *
 * Bags of rows of a table; see embedding.h. The rows of a bag are gathered into a slot of
 * UB, added there, and leave as one row.
 */

#include "kernels/embedding/inside.h"
#include "sched/vector.h"

struct bag {
    const struct embedding_bag *p;
    struct tque *in, *out;
    uint32_t sum, wide;              /* in UB: of a bag; rows as fp32 */
    uint32_t column, columns, pitch; /* elements; bytes of a row in UB */
};

/* sum = the first rows, or sum op= rows, of a slot. */
static void combine(const struct bag *s, uint32_t slot, uint32_t n, bool first)
{
    const struct embedding_bag *p = s->p;
    enum op op = p->mode == BAG_MAX ? OP_VMAX : OP_VADD;
    uint32_t pitch = p->type == TYPE_F32 ? s->pitch : 2 * s->pitch, from = slot;
    union cmd cmd;

    if (p->type == TYPE_F16) {
        task_vector_count(n * s->pitch / 2);
        from = s->wide;
        vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, from, slot);
        task_vector(&cmd);
    }
    task_vector_count(s->columns);
    for (uint32_t i = 0; i < n; i++) {
        if (first && i == 0) {
            vector_copy(&cmd, TYPE_F32, s->sum, from);
        } else {
            vector_binary(&cmd, op, TYPE_F32, s->sum, s->sum, from + i * pitch);
        }
        task_vector(&cmd);
    }
    cmd_nop(&cmd);
    tque_free(s->in, slot, &cmd);
    task_vector(&cmd);
}

/* The next rows of a bag that take part, from *i on, to a slot: how many. */
static uint32_t gather(const struct bag *s, uint32_t *i, uint32_t end)
{
    const struct embedding_bag *p = s->p;
    uint32_t esize = type_bits(p->type) / 8, n = 0, slot = 0;
    uint32_t most = min_u32(EMBEDDING_BATCH, EMBEDDING_SLOT / 2 / s->pitch);
    union cmd cmds[EMBEDDING_BATCH];

    for (; *i < end && n < most; (*i)++) {
        int32_t row = embedding_row(&p->rows, *i);
        uint64_t at = (uint64_t)(row < 0 ? 0 : row) * p->width + s->column;
        if (row < 0) {
            continue;
        }
        slot = n == 0 ? tque_alloc(s->in) : slot;
        mte_gm_to_ub(&cmds[n], slot + n * s->pitch, (const char *)p->table + at * esize,
                     s->columns * esize);
        n++;
    }
    for (uint32_t k = 0; k < n; k++) {
        if (k == n - 1) {
            tque_enque(s->in, slot, &cmds[k]);
        }
        task_issue(PIPE_MTE2, &cmds[k]);
    }
    return n;
}

static void make_bag(const struct bag *s, uint32_t bag)
{
    const struct embedding_bag *p = s->p;
    uint32_t i = bag * p->each, end = i + p->each, all = 0, n, y;
    union cmd cmd;

    while ((n = gather(s, &i, end)) > 0) {
        combine(s, tque_deque(s->in), n, all == 0);
        all += n;
    }
    y = tque_alloc(s->out);
    task_vector_count(s->columns);
    if (all == 0) {
        vector_fill(&cmd, OP_VDUP, TYPE_F32, s->sum, 0);
        task_vector(&cmd);
    } else if (p->mode == BAG_MEAN) {
        vector_scalar(&cmd, OP_VMULS, TYPE_F32, s->sum, s->sum,
                      f32_bits(1.0f / (float)all));
        task_vector(&cmd);
    }
    if (p->type == TYPE_F32) {
        vector_copy(&cmd, TYPE_F32, y, s->sum);
    } else {
        vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_NONE, y, s->sum);
    }
    tque_enque(s->out, y, &cmd);
    task_vector(&cmd);
    y = tque_deque(s->out);
    mte_ub_to_gm(&cmd,
                 (char *)p->y +
                     ((uint64_t)bag * p->width + s->column) * type_bits(p->type) / 8,
                 y, s->columns * type_bits(p->type) / 8);
    tque_free(s->out, y, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

static void kernel(void *arg)
{
    struct bag s = {.p = arg};
    uint32_t bags = s.p->rows.n / s.p->each, row = EMBEDDING_PIECE * 4;
    uint32_t end = (uint32_t)share_begin(bags, 1, task_block() + 1, task_blocks());
    uint32_t begin = embedding_bags_by_table(
        s.p, (uint32_t)share_begin(bags, 1, task_block(), task_blocks()), end);
    struct tpipe *pipe;

    if (begin == end) {
        return;
    }
    pipe = tpipe_open();
    s.in = tque_init(pipe, "rows", VECIN, PIPE_MTE2, PIPE_V, 2, EMBEDDING_SLOT / 2);
    s.out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 2, row);
    s.sum = tbuf_init(pipe, "sum", VECCALC, row);
    s.wide = tbuf_init(pipe, "rows as f32", VECCALC, EMBEDDING_SLOT);
    for (; s.column < s.p->width; s.column += EMBEDDING_PIECE) {
        s.columns = min_u32(EMBEDDING_PIECE, s.p->width - s.column);
        s.pitch = up32(s.columns * type_bits(s.p->type) / 8);
        for (uint32_t i = begin; i < end; i++) {
            make_bag(&s, i);
        }
    }
}

int embedding_bag(const struct embedding_bag *p, struct sched_report *report)
{
    struct embedding_bag own = *p;
    struct launch l = {"embedding_bag", kernel, &own, .cores = p->cores};

    report->text[0] = 0;
    if (!p->table || !p->y || !p->rows.index || p->rows.n == 0 || p->rows.rows == 0 ||
        p->width == 0 || p->each == 0 || p->rows.n % p->each ||
        p->rows.rows > INT32_MAX) {
        return ERR_ARG;
    }
    if (p->type != TYPE_F16 && p->type != TYPE_F32) {
        return ERR_TYPE;
    }
    return embedding_wrong_told(&p->rows, report) ? ERR_ARG : launch(&l, report);
}
