/* SPDX-License-Identifier: MIT
 *
 * Sums along lines of elements side by side; see cumsum.h. To each element of a tile the one
 * that lies 1 before it is added, then 2, 4, 8 .. before it: what lies less than a block before
 * is gathered, with zeros in front of the tile, what lies blocks before is added where it lies.
 * The sum of the tiles before is added to all of them.
 */
#include "hal/mte.h"
#include "hal/vector_gather.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/scan/inside.h"
#include "sched/vector.h"

enum {
    TILE = 2048, /* elements */
    WORDS = TILE * SCAN_WIDE,
    PER_BLOCK = SCAN_BLOCK / SCAN_WIDE,
};

struct lines {
    struct scan_room r;
    uint32_t count;    /* 0, 1, 2, .. */
    uint32_t offsets;  /* of what is gathered */
    uint32_t gathered; /* that */
    uint32_t sums[2];  /* behind a block of zeros each */
};

/* gathered[i] = element first + step * i of what is behind the zeros at `from`; -1 .. -8 are 0. */
static void gather(const struct lines *l, uint32_t to, uint32_t from, int32_t first,
                   int32_t step)
{
    union cmd cmd;

    vector_scalar(&cmd, OP_VMULS, TYPE_S32, l->offsets, l->count,
                  (uint32_t)(step * SCAN_WIDE));
    task_vector(&cmd);
    vector_scalar(&cmd, OP_VADDS, TYPE_S32, l->offsets, l->offsets,
                  (uint32_t)(first * SCAN_WIDE + SCAN_BLOCK));
    task_vector(&cmd);
    vector_gather(&cmd, l->r.sum, to, from - SCAN_BLOCK, l->offsets);
    task_vector(&cmd);
}

static void add(const struct lines *l, uint32_t to, uint32_t a, uint32_t b)
{
    union cmd cmd;

    vector_add(&cmd, l->r.sum, to, a, b);
    task_vector(&cmd);
}

/* n elements at sums[0] to their sums: where these are. */
static uint32_t sum_tile(const struct lines *l, uint32_t n)
{
    unsigned in = 0;
    union cmd cmd;

    for (uint32_t s = 1; s < n; s *= 2, in = !in) {
        uint32_t from = l->sums[in], to = l->sums[!in], apart = s * SCAN_WIDE;
        if (s < PER_BLOCK) {
            gather(l, l->gathered, from, -(int32_t)s, 1);
            add(l, to, from, l->gathered);
            continue;
        }
        task_vector_count(s);
        vector_copy(&cmd, TYPE_S32, to, from);
        task_vector(&cmd);
        task_vector_count(n - s);
        add(l, to + apart, from + apart, from);
        task_vector_count(n);
    }
    return l->sums[in];
}

/* What is carried is in all lanes of a block: to it comes the last of n sums. */
static void carry(const struct lines *l, uint32_t sums, uint32_t n)
{
    task_vector_count(PER_BLOCK);
    gather(l, l->gathered, sums, (int32_t)n - 1, 0);
    add(l, l->r.carry, l->r.carry, l->gathered);
}

static void scan_part(struct lines *l, uint64_t first, uint32_t n)
{
    struct scan_room *r = &l->r;
    const struct cumsum *c = r->c;
    uint32_t in = tque_alloc(r->in), out, x, y, sums, from;
    union cmd cmd;

    mte_gm_to_ub(&cmd, in + SCAN_BLOCK, (const char *)c->x + first * r->esize,
                 n * r->esize);
    tque_enque(r->in, in, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    x = scan_take(r, n + SCAN_BLOCK / r->esize, &in) +
        (r->esize == SCAN_WIDE ? SCAN_BLOCK : SCAN_BLOCK / r->esize * SCAN_WIDE);
    y = scan_room_for(r, &out);
    task_vector_count(n);
    if (c->reverse) {
        gather(l, l->sums[0], x, (int32_t)n - 1, -1);
    } else {
        vector_copy(&cmd, TYPE_S32, l->sums[0], x);
        task_vector(&cmd);
    }
    sums = sum_tile(l, n);
    from = sums;
    if (c->reverse || c->exclusive) { /* then those before each */
        from = l->gathered;
        gather(l, from, sums, (c->reverse ? (int32_t)n - 1 : 0) - c->exclusive,
               c->reverse ? -1 : 1);
    }
    vector_binary_strided(&cmd, &(struct vec_binary){.op = OP_VADD,
                                                     .type = r->sum,
                                                     .dst = vec_dense(y),
                                                     .x = vec_dense(from),
                                                     .y = vec_same_block(r->carry)});
    task_vector(&cmd);
    carry(l, sums, n);
    scan_done(r, n, in, out);
    out = tque_deque(r->out);
    mte_ub_to_gm(&cmd, (char *)c->y + first * r->esize, out, n * r->esize);
    tque_free(r->out, out, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

static void scan_line(struct lines *l, uint64_t line)
{
    const struct cumsum *c = l->r.c;
    uint32_t n;
    union cmd cmd;

    task_vector_count(PER_BLOCK);
    vector_fill(&cmd, OP_VDUP, TYPE_S32, l->r.carry, 0);
    task_vector(&cmd);
    for (uint32_t at = 0; at < c->n; at += n) {
        n = min_u32(TILE, c->n - at);
        scan_part(l, line * c->n + (c->reverse ? c->n - at - n : at), n);
    }
}

void scan_lines(void *arg)
{
    const struct cumsum *c = arg;
    uint64_t line = share_begin(c->outer, 1, task_block(), task_blocks());
    uint64_t end = share_begin(c->outer, 1, task_block() + 1, task_blocks());
    struct tpipe *pipe = tpipe_open();
    struct lines l = {.r = {.c = c, .esize = type_bits(c->type) / 8}};
    uint32_t bytes = WORDS + SCAN_BLOCK;
    union cmd cmd;

    l.r.sum = c->type == TYPE_S32 ? TYPE_S32 : TYPE_F32;
    l.r.in = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, bytes);
    l.r.out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 2, WORDS);
    l.r.x = tbuf_init(pipe, "wide x", VECCALC, WORDS + 2 * SCAN_BLOCK);
    l.r.y = tbuf_init(pipe, "wide y", VECCALC, WORDS);
    l.r.carry = tbuf_init(pipe, "carry", VECCALC, SCAN_BLOCK);
    l.count = tbuf_init(pipe, "count", VECCALC, WORDS);
    l.offsets = tbuf_init(pipe, "offsets", VECCALC, WORDS);
    l.gathered = tbuf_init(pipe, "gathered", VECCALC, WORDS);
    task_vector_count(TILE);
    vector_fill(&cmd, OP_VCI, TYPE_S32, l.count, 0);
    task_vector(&cmd);
    task_vector_count(PER_BLOCK);
    for (unsigned i = 0; i < 2; i++) {
        uint32_t zeros = tbuf_init(pipe, "sums", VECCALC, bytes);
        l.sums[i] = zeros + SCAN_BLOCK;
        vector_fill(&cmd, OP_VDUP, TYPE_S32, zeros, 0);
        task_vector(&cmd);
        vector_fill(&cmd, OP_VDUP, TYPE_S32, l.r.in->begin + i * bytes, 0);
        task_vector(&cmd);
    }
    task_drain(); /* zeros are there before anything is behind them */
    for (; line < end; line++) {
        scan_line(&l, line);
    }
}
