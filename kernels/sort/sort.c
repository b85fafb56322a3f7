/* SPDX-License-Identifier: MIT
 *
 * Sorting lines in UB; see sort.h.
 */
#include "kernels/sort/sort.h"

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector_gather.h"
#include "hal/vector_move.h"
#include "hal/vector_sort.h"
#include "kernels/lib/share.h"
#include "kernels/sort/inside.h"
#include "sched/launch.h"
#include "sched/vector.h"

enum {
    WORDS = SORT_CHUNK * 4,       /* bytes */
    LOWEST_F32 = (int)0xff800000, /* -infinity */
    LOWEST_F16 = 0xfc00,
};

static uint32_t up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

void sort_numbers(const struct sort_room *r, uint32_t to, uint32_t n, int32_t first,
                  int32_t step)
{
    union cmd cmd;

    task_vector_count(n);
    vector_scalar(&cmd, OP_VMULS, TYPE_S32, to, r->count, (uint32_t)step);
    task_vector(&cmd);
    vector_scalar(&cmd, OP_VADDS, TYPE_S32, to, to, (uint32_t)first);
    task_vector(&cmd);
}

/* --- sorting --- */

/* The lists of `length` pairs among n at `from` become a quarter as many at `to`. */
static void merge_pass(enum type type, uint32_t to, uint32_t from, uint32_t n,
                       uint32_t length)
{
    uint32_t all = SORT_LISTS * length, full = n / all, rest = n % all, at = full * all;
    struct vec_merge m = {.type = type, .dst = to + at * SORT_PAIR};
    union cmd cmd;

    if (full) {
        vector_merge4(&cmd, type, to, from, length);
        CMD_SET(cmd.vec_merge.repeat, full);
        task_vector(&cmd);
    }
    if (rest == 0) {
        return;
    }
    for (; m.lists == 0 || rest; m.lists++) {
        m.src[m.lists] = from + at * SORT_PAIR;
        m.n[m.lists] = min_u32(rest, length);
        at += m.n[m.lists];
        rest -= m.n[m.lists];
    }
    if (m.lists == 1) { /* and nothing */
        m.src[m.lists++] = m.src[0];
    }
    vector_merge(&cmd, &m);
    task_vector(&cmd);
}

uint32_t sort_keys(const struct sort_room *r, uint32_t n, uint32_t line)
{
    enum type type = r->s->type;
    unsigned in = 0;
    union cmd cmd;

    vector_sort32(&cmd, type, r->pairs[0], r->keys, r->number, n / SORT_GROUP);
    task_vector(&cmd);
    for (uint32_t length = SORT_GROUP; length < line; length *= SORT_LISTS, in = !in) {
        bool even = line % (SORT_LISTS * length) == 0; /* lines need not be told apart */
        for (uint32_t at = 0; at < n; at += even ? n : line) {
            merge_pass(type, r->pairs[!in] + at * SORT_PAIR,
                       r->pairs[in] + at * SORT_PAIR, even ? n : line, length);
        }
    }
    return r->pairs[in];
}

static void bring(const struct sort_room *r, uint64_t first, uint32_t n)
{
    uint32_t in = tque_alloc(r->in);
    union cmd cmd;

    mte_gm_to_ub(&cmd, in, (const char *)r->s->x + first * r->esize, n * r->esize);
    tque_enque(r->in, in, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* Keys of n elements, pads among them, by the offsets that there are. */
static void take_keys(const struct sort_room *r, uint32_t n)
{
    uint32_t in = tque_deque(r->in);
    union cmd cmd;

    task_vector_count(n);
    vector_gather(&cmd, r->s->type, r->keys, in, r->from);
    tque_free(r->in, in, &cmd);
    task_vector(&cmd);
}

/* Offsets of n elements that are pads; then of some that are not. */
static void all_pads(const struct sort_room *r, uint32_t n)
{
    union cmd cmd;

    task_vector_count(n);
    vector_fill(&cmd, OP_VDUP, TYPE_S32, r->from, SORT_CHUNK * r->esize);
    task_vector(&cmd);
}

uint32_t sort_part(const struct sort_room *r, uint64_t line, uint32_t first, uint32_t m)
{
    const struct sort *s = r->s;
    uint32_t n = up(m, SORT_GROUP), at = s->smallest ? s->n - first - m : first;
    int32_t end = (int32_t)m - 1, step = (int32_t)r->esize;

    bring(r, line * s->n + at, m);
    all_pads(r, n);
    sort_numbers(r, r->from, m, s->smallest ? end * step : 0, s->smallest ? -step : step);
    sort_numbers(r, r->number, n, (int32_t)at + (s->smallest ? end : 0),
                 s->smallest ? -1 : 1);
    take_keys(r, n);
    return sort_keys(r, n, n);
}

/* --- results --- */

/* From buffers to rows of n elements, `pitch` apart in UB and k in GM. */
static void store(const struct sort_room *r, uint64_t first, uint32_t lines, uint32_t n,
                  uint32_t pitch)
{
    const struct sort *s = r->s;
    struct mte_rows rows = {.n_rows = lines,
                            .row_bytes = n * r->esize,
                            .gm_pitch_bytes = lines > 1 ? s->k * r->esize : 0,
                            .local_pitch_bytes = pitch * r->esize};
    uint32_t out = tque_deque(r->values);
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, (char *)s->values + first * r->esize, out, &rows);
    tque_free(r->values, out, &cmd);
    task_issue(PIPE_MTE3, &cmd);
    rows.row_bytes = n * 4;
    rows.gm_pitch_bytes = lines > 1 ? s->k * 4 : 0;
    rows.local_pitch_bytes = pitch * 4;
    out = tque_deque(r->index);
    mte_ub_to_gm_rows(&cmd, s->index + first, out, &rows);
    tque_free(r->index, out, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

/* n results by the offsets that r->to has; it changes. */
static void take(const struct sort_room *r, uint32_t n, uint32_t pairs)
{
    uint32_t out = tque_alloc(r->values);
    union cmd cmd;

    task_vector_count(n);
    vector_gather(&cmd, r->s->type, out, pairs, r->to);
    tque_enque(r->values, out, &cmd);
    task_vector(&cmd);
    out = tque_alloc(r->index);
    vector_scalar(&cmd, OP_VADDS, TYPE_S32, r->keys, r->to, 4); /* behind the value */
    task_vector(&cmd);
    vector_gather(&cmd, TYPE_S32, out, pairs, r->keys);
    tque_enque(r->index, out, &cmd);
    task_vector(&cmd);
}

void sort_give(const struct sort_room *r, uint64_t line, uint32_t first, uint32_t n,
               uint32_t pairs)
{
    int32_t base = (int32_t)(pairs % SORT_BLOCK); /* where they begin in one */

    sort_numbers(r, r->to, n, r->s->smallest ? base + (int32_t)(n - 1) * SORT_PAIR : base,
                 r->s->smallest ? -SORT_PAIR : SORT_PAIR);
    take(r, n, pairs - pairs % SORT_BLOCK);
    store(r, line * r->s->k + first, 1, n, up(n, 16));
}

/* --- lines --- */

/* Lines that go together, and how their elements lie. */
struct batch {
    uint32_t lines, line, out; /* a line's keys, its results, with their pads */
};

/* At most so many. */
static struct batch batch_of(const struct sort *s, uint64_t most)
{
    struct batch b = {.line = up(s->n, SORT_GROUP), .out = up(s->k, 16)};

    b.lines = SORT_CHUNK / b.line;
    b.lines = most < b.lines ? (uint32_t)most : b.lines;
    return b;
}

/* to[i] = from[i] + step for n whole numbers. */
static void shifted(uint32_t to, uint32_t from, uint32_t n, uint32_t step)
{
    union cmd cmd;

    task_vector_count(n);
    vector_scalar(&cmd, OP_VADDS, TYPE_S32, to, from, step);
    task_vector(&cmd);
}

/* Offsets and numbers for all of a batch: those of a line, then of twice as many, .. */
static void plan_batch(const struct sort_room *r, const struct batch *b)
{
    const struct sort *s = r->s;
    int32_t sign = s->smallest ? -1 : 1, step = (int32_t)r->esize;
    int32_t last = s->smallest ? (int32_t)s->n - 1 : 0;
    union cmd cmd;

    all_pads(r, b->line);
    task_vector_count(b->out);
    vector_fill(&cmd, OP_VDUP, TYPE_S32, r->to, 0);
    task_vector(&cmd);
    sort_numbers(r, r->from, s->n, last * step, sign * step);
    sort_numbers(r, r->number, b->line, last, sign);
    sort_numbers(r, r->to, s->k, last * SORT_PAIR, sign * SORT_PAIR);
    for (uint32_t n = 1, more; n < b->lines; n += more) {
        uint32_t keys = n * b->line * 4, results = n * b->out * 4;
        more = min_u32(n, b->lines - n);
        shifted(r->from + keys, r->from, more * b->line, n * s->n * r->esize);
        shifted(r->number + keys, r->number, more * b->line, 0);
        shifted(r->to + results, r->to, more * b->out, n * b->line * SORT_PAIR);
    }
    task_vector_count(b->lines * b->line); /* pads are pads again */
    vector_scalar(&cmd, OP_VMINS, TYPE_S32, r->from, r->from, SORT_CHUNK * r->esize);
    task_vector(&cmd);
}

static void sort_batches(const struct sort_room *r, uint64_t line, uint64_t end)
{
    const struct batch b = batch_of(r->s, end - line);
    uint32_t lines, pairs;

    plan_batch(r, &b);
    for (; line < end; line += lines) {
        lines = end - line < b.lines ? (uint32_t)(end - line) : b.lines;
        bring(r, line * r->s->n, lines * r->s->n);
        take_keys(r, lines * b.line);
        pairs = sort_keys(r, lines * b.line, b.line);
        take(r, lines * b.out, pairs);
        store(r, line * r->s->k, lines, r->s->k, b.out);
    }
}

/* The best so far and each further part become the best so far. */
static void sort_best(const struct sort_room *r, uint64_t line)
{
    const struct sort *s = r->s;
    uint32_t best = r->best[1], kept = 0, part, turn = 0;
    union cmd cmd;

    for (uint32_t at = 0; at < s->n; at += part, turn++) {
        uint32_t to = r->best[turn % 2], all, pairs;
        part = min_u32(SORT_CHUNK, s->n - at);
        pairs = sort_part(r, line, at, part);
        vector_merge(&cmd, &(struct vec_merge){.type = s->type,
                                               .dst = to,
                                               .lists = 2,
                                               .src = {best, pairs},
                                               .n = {kept, part}});
        task_vector(&cmd);
        all = kept + part;
        kept = min_u32(s->k, all);
        best = to + (s->smallest ? (all - kept) * SORT_PAIR : 0);
    }
    sort_give(r, line, 0, s->k, best);
}

/* --- the launch --- */

static struct sort_room open_room(const struct sort *s)
{
    struct tpipe *pipe = tpipe_open();
    struct sort_room r = {.s = s, .esize = type_bits(s->type) / 8};
    uint32_t bytes = WORDS + SORT_BLOCK;
    union cmd cmd;

    r.in = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, bytes);
    r.values = tque_init(pipe, "values", VECOUT, PIPE_V, PIPE_MTE3, 1, WORDS);
    r.index = tque_init(pipe, "index", VECOUT, PIPE_V, PIPE_MTE3, 1, WORDS);
    r.count = tbuf_init(pipe, "count", VECCALC, WORDS);
    r.from = tbuf_init(pipe, "from", VECCALC, WORDS);
    r.number = tbuf_init(pipe, "number", VECCALC, WORDS);
    r.to = tbuf_init(pipe, "to", VECCALC, WORDS);
    r.keys = tbuf_init(pipe, "keys", VECCALC, WORDS);
    for (unsigned i = 0; i < 2; i++) {
        r.pairs[i] = tbuf_init(pipe, "pairs", VECCALC, SORT_CHUNK * SORT_PAIR);
    }
    for (unsigned i = 0; i < 2 && s->n > SORT_CHUNK; i++) {
        r.best[i] =
            tbuf_init(pipe, "best", VECCALC, (SORT_CHUNK + SORT_BEST) * SORT_PAIR);
    }
    task_vector_count(SORT_CHUNK);
    vector_fill(&cmd, OP_VCI, TYPE_S32, r.count, 0);
    task_vector(&cmd);
    task_vector_count(SORT_BLOCK / r.esize);
    for (unsigned i = 0; i < 2; i++) {
        vector_fill(&cmd, OP_VDUP, s->type,
                    r.in->begin + i * bytes + SORT_CHUNK * r.esize,
                    s->type == TYPE_F16 ? LOWEST_F16 : (uint32_t)LOWEST_F32);
        task_vector(&cmd);
    }
    task_drain(); /* the pads are there before anything is beside them */
    return r;
}

static void kernel(void *arg)
{
    const struct sort *s = arg;
    uint32_t tile =
        s->n <= SORT_CHUNK ? batch_of(s, s->lines / task_blocks() + 1).lines : 1;
    uint64_t line = share_begin(s->lines, tile, task_block(), task_blocks());
    uint64_t end = share_begin(s->lines, tile, task_block() + 1, task_blocks());
    struct sort_room r;

    if (line == end) {
        return;
    }
    r = open_room(s);
    if (s->n <= SORT_CHUNK) {
        sort_batches(&r, line, end);
    }
    for (; s->n > SORT_CHUNK && line < end; line++) {
        if (s->k <= SORT_BEST) {
            sort_best(&r, line);
        } else {
            sort_by_runs(&r, line);
        }
    }
}

uint64_t sort_runs(const struct sort *s)
{
    unsigned cores = s->cores ? s->cores : chip_cores();

    return s->n > SORT_CHUNK && s->k > SORT_BEST ? (uint64_t)cores * 2 * SORT_PAIR * s->n
                                                 : 0;
}

int sort(const char *name, const struct sort *s, struct sched_report *report)
{
    struct sort own = *s;
    struct launch l = {name, kernel, &own, .cores = s->cores};

    report->text[0] = 0;
    if (!s->x || !s->values || !s->index || s->lines == 0 || s->k == 0 || s->k > s->n ||
        s->n >> 28 || (s->type != TYPE_F32 && s->type != TYPE_F16) ||
        (sort_runs(s) && !s->runs)) {
        return ERR_ARG;
    }
    return launch(&l, report);
}
