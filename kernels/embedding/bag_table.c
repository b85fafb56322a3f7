/* SPDX-License-Identifier: MIT
 *
 * Bags out of a table that passes by; see embedding.h. A row that is gathered from GM costs a
 * command of some hundreds of cycles, whatever its length. So where many rows are wanted of a
 * table that is not much larger than they are, all of it comes to L1 in a few large loads, chunk
 * after chunk, and MTE1 takes the rows of each to UB: row j of every bag side by side, so that a
 * command of the Vector adds one row to all bags of a pass, in order as ever. Chunks of which
 * nobody wants a row are passed over.
 */
#include "hal/chip.h"
#include "kernels/embedding/inside.h"
#include "sched/vector.h"

#include <string.h>

enum {
    PICKS = 1024, /* rows of a pass, at most */
    CHUNKS = 256, /* of a table */
    BATCH = 16,   /* rows that are issued at one time */
    SLOTS = 2,    /* of chunks in L1 */
    HART = 30,    /* instructions for a row, about, above those of a command */
};

/* A row: bytes of where it goes and where it is in its chunk; the chunk's next one. */
struct pick {
    struct pick *next;
    uint32_t to, from;
};

struct table {
    const struct embedding_bag *p;
    struct tque *chunk, *rows, *out;
    uint32_t sum, wide; /* in UB, of F16: sums of the bags, a row of each as fp32 */
    uint32_t row_bytes, shift, chunks,
        bags; /* a chunk is 1 << shift rows; bags of a pass */
    union cmd cmd[BATCH];
    struct pick pick[PICKS];
    struct pick *first[CHUNKS]; /* of each chunk's rows, or NULL */
};

/* --- whether --- */

/* Rows of a chunk and bags of a pass, as far as there is room; false: there is none. */
static bool lay_out(struct table *t, uint32_t bags)
{
    const struct embedding_bag *p = t->p;
    uint32_t half = p->type == TYPE_F16 ? 2 : 0, slot = chip_mem(NPU_MEM_L1) / SLOTS;
    uint64_t row = (uint64_t)p->width * type_bits(p->type) / 8;
    uint64_t bag = row * (p->each + 1 + 2 * half), most;

    if (row % MTE_BLOCK || p->width > EMBEDDING_PIECE || p->each > PICKS) {
        return false;
    }
    t->row_bytes = (uint32_t)row;
    t->shift = 31 - (unsigned)__builtin_clz(slot / t->row_bytes);
    t->shift = t->shift < 15 ? t->shift : 15;
    t->chunks = div_up_u32(p->rows.rows, 1u << t->shift);
    most = (chip_mem(NPU_MEM_UB) - 4 * MTE_BLOCK) / bag;
    t->bags =
        min_u32(min_u32(bags, PICKS / p->each), most < PICKS ? (uint32_t)most : PICKS);
    return t->bags > 0 && t->chunks <= CHUNKS;
}

/* All of the table, once a pass, beside a command a row; the hart issues for all cores. */
static bool is_faster(const struct table *t, uint32_t bags)
{
    const struct embedding_bag *p = t->p;
    uint64_t fixed = chip_cost(COST_GM_L1_FIXED), miss = chip_cost(COST_L2_MISS);
    uint64_t table = (uint64_t)p->rows.rows * t->row_bytes / chip_cost(COST_GM_L1_RATE);
    uint64_t passes = div_up_u32(bags, t->bags);
    uint64_t each = chip_cost(COST_GM_UB_FIXED) + miss +
                    max_u64(t->row_bytes, chip_cost(COST_GM_ROW_BYTES)) /
                        chip_cost(COST_GM_UB_RATE);

    return passes * (table + table * miss / fixed + t->chunks * (fixed + miss)) +
               (uint64_t)HART * p->rows.n <
           each * bags * p->each;
}

/* --- a pass --- */

/* The rows of some bags by chunks; false: one of them takes no part. What embedding_row
 * asks of each, for 2 cycles less: the hart's are what a table that passes by takes. */
static bool sort(struct table *t, uint32_t bag, uint32_t bags)
{
    const struct embedding_rows r = t->p->rows;
    const int32_t *index = r.index + (uint64_t)bag * t->p->each,
                  *end = index + (uint64_t)bags * t->p->each;
    const uint32_t mask = (1u << t->shift) - 1, shift = t->shift, bytes = t->row_bytes,
                   last = bytes * bags * t->p->each;
    const int32_t wrap = r.from_end ? (int32_t)r.rows : 0;
    struct pick **first = t->first, *pick = t->pick;
    uint32_t to = 0;

    memset(first, 0, t->chunks * sizeof(*first));
    for (; index < end; index++, pick++) {
        int32_t row = *index;
        row += row < 0 ? wrap : 0;
        if ((uint32_t)row >= r.rows || row == r.padding) {
            return false;
        }
        pick->to = to;
        pick->from = ((uint32_t)row & mask) * bytes;
        pick->next = first[(uint32_t)row >> shift];
        first[(uint32_t)row >> shift] = pick;
        to += bags * bytes;
        to = to < last ? to : to - last + bytes; /* the next bag */
    }
    return true;
}

static void load(const struct table *t, uint32_t c)
{
    uint32_t rows = 1u << t->shift, first = c << t->shift;
    uint32_t bytes = min_u32(rows, t->p->rows.rows - first) * t->row_bytes;
    uint32_t slot = tque_alloc(t->chunk);
    union cmd cmd;

    mte_gm_to_l1(&cmd, slot, (const char *)t->p->table + (uint64_t)first * t->row_bytes,
                 bytes);
    tque_enque(t->chunk, slot, &cmd);
    task_issue(PIPE_MTE2, &cmd);
}

/* The rows out of a chunk, which goes back with the last of them. */
static void take(struct table *t, uint32_t to, const struct pick *pick)
{
    uint32_t chunk = tque_deque(t->chunk);
    union cmd cmd;

    while (pick) {
        union cmd *at = t->cmd;
        for (; pick && at < t->cmd + BATCH; at++, pick = pick->next) {
            at->copy_local.src = chunk + pick->from;
            at->copy_local.dst = to + pick->to;
        }
        task_issue_many(PIPE_MTE1, t->cmd, (unsigned)(at - t->cmd));
    }
    cmd_nop(&cmd);
    tque_free(t->chunk, chunk, &cmd);
    task_issue(PIPE_MTE1, &cmd);
}

/* The first chunk from c on of which a row is wanted. */
static uint32_t wanted(const struct table *t, uint32_t c)
{
    while (c < t->chunks && !t->first[c]) {
        c++;
    }
    return c;
}

static void gather(struct table *t)
{
    uint32_t rows = tque_alloc(t->rows), next;
    union cmd cmd;

    load(t, wanted(t, 0));
    for (uint32_t c = wanted(t, 0); c < t->chunks; c = next) {
        next = wanted(t, c + 1);
        if (next < t->chunks) {
            load(t, next);
        }
        take(t, rows, t->first[c]);
    }
    cmd_nop(&cmd);
    tque_enque(t->rows, rows, &cmd);
    task_issue(PIPE_MTE1, &cmd);
}

/* Sums of all bags, or maxima, row by row: where they are. */
static uint32_t combine(const struct table *t, uint32_t rows, uint32_t bags)
{
    const struct embedding_bag *p = t->p;
    uint32_t bytes = bags * t->row_bytes, sum = rows;
    enum op op = p->mode == BAG_MAX ? OP_VMAX : OP_VADD;
    union cmd cmd;

    task_vector_count(bags * p->width);
    for (uint32_t j = 0; j < p->each; j++) {
        uint32_t from = rows + j * bytes;
        if (p->type == TYPE_F16) {
            sum = t->sum;
            vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, j ? t->wide : sum, from);
            task_vector(&cmd);
            from = t->wide;
        }
        if (j) {
            vector_binary(&cmd, op, TYPE_F32, sum, sum, from);
            task_vector(&cmd);
        }
    }
    if (p->mode == BAG_MEAN) {
        vector_scalar(&cmd, OP_VMULS, TYPE_F32, sum, sum,
                      f32_bits(1.0f / (float)p->each));
        task_vector(&cmd);
    }
    return sum;
}

static void leave(const struct table *t, uint32_t bag, uint32_t bags)
{
    uint32_t rows = tque_deque(t->rows), sum = combine(t, rows, bags);
    uint32_t y = tque_alloc(t->out);
    union cmd cmd;

    if (t->p->type == TYPE_F32) {
        vector_copy(&cmd, TYPE_F32, y, sum);
    } else {
        vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_NONE, y, sum);
    }
    tque_enque(t->out, y, &cmd);
    tque_free(t->rows, rows, &cmd);
    task_vector(&cmd);
    y = tque_deque(t->out);
    mte_ub_to_gm(&cmd, (char *)t->p->y + (uint64_t)bag * t->row_bytes, y,
                 bags * t->row_bytes);
    tque_free(t->out, y, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

/* --- a core --- */

static void open(struct table *t)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t bags = t->bags * t->row_bytes;

    t->chunk = tque_init(pipe, "table", TSCM, PIPE_MTE2, PIPE_MTE1, SLOTS,
                         t->row_bytes << t->shift);
    t->rows = tque_init(pipe, "rows", VECIN, PIPE_MTE1, PIPE_V, 1, bags * t->p->each);
    t->out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 1, bags);
    if (t->p->type == TYPE_F16) {
        t->sum = tbuf_init(pipe, "sums", VECCALC, 2 * bags);
        t->wide = tbuf_init(pipe, "rows as f32", VECCALC, 2 * bags);
    }
    for (unsigned i = 0; i < BATCH; i++) {
        mte_l1_to_ub(&t->cmd[i], 0, 0, t->row_bytes);
    }
}

uint32_t embedding_bags_by_table(const struct embedding_bag *p, uint32_t bag,
                                 uint32_t end)
{
    static struct table tables[NPU_MAX_CORES]; /* more than a stack holds */
    struct table *t = &tables[task_core()];

    t->p = p;
    if (bag == end || !lay_out(t, end - bag) || !is_faster(t, end - bag)) {
        return bag;
    }
    for (bool opened = false; bag < end; opened = true) {
        uint32_t bags = min_u32(t->bags, end - bag);
        if (!sort(t, bag, bags)) {
            break;
        }
        if (!opened) {
            open(t);
        }
        gather(t);
        leave(t, bag, bags);
        bag += bags;
    }
    return bag;
}
