/* SPDX-License-Identifier: MIT
 *
 * What the Vector makes of whole sums; see finish.h.
 */
#include "kernels/mm/finish.h"

#include <math.h>
#include <stdlib.h>

#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/mm/inside.h"

enum {
    SLOTS = 4,          /* of pieces of sums, which become results where they are */
    SLOT_BYTES = 30720, /* 48 rows of 128 bytes' sums */
    MOST_ROWS = 128,    /* of a piece: whole blocks of numbers */
    MOST_SIDE = 2048,   /* rows, columns of a tile */
    IN_SLOTS = 2,       /* of rows and scales for a tile */
    LANES = 64,
    LIST = 60, /* commands of a piece: 16 for rows, or 33 for columns, and the rest */
    LISTS = 3, /* of each slot: two heights, a narrower one */
    FAR = 1000 /* from 0, what is beyond all results */
};

/* In UB. */
enum {
    OTHER = SLOTS * SLOT_BYTES,               /* where numbers go from a slot, and back */
    ROWS = OTHER + SLOT_BYTES,                /* slots */
    SCALES = ROWS + IN_SLOTS * MOST_SIDE * 4, /* likewise */
    BLOCKS = SCALES + IN_SLOTS * MOST_SIDE * 4, /* 32 bytes for each row of a piece */
};

/* Of the core. Slots are full of sums, results; those of what comes for a tile. */
enum { RING_FREE = 16, RING_FULL, DONE, IN_FREE, IN_FULL };

static void begin(struct mm *mm)
{
    mm_set_c(mm, TYPE_S32, 0);
    mm->scaled = false;
    mm->act = (struct mm_activation){.relu = FIX_RELU_NONE};
    mm->adds = false;
    mm->in_order = true;
    mm_set_ring(mm, &(struct mm_ring){.bytes = SLOT_BYTES,
                                      .slots = SLOTS,
                                      .free = RING_FREE,
                                      .full = RING_FULL});
}

/* Rows of results are whole blocks in UB, in an odd number, so that rows one below the other lie
 * in other groups of it. */
static void set_ring(struct mm *mm, enum type out)
{
    struct mm_ring *r = &mm->ring;

    uint32_t even = MTE_BLOCK * 8 / type_bits(out),
             unit = mm_count(mm->tiling.columns, even);

    r->pitch_bytes = (unit | 1) * even * sizeof(int32_t);
    r->rows = mm_min(MOST_ROWS, SLOT_BYTES / r->pitch_bytes);
    r->rows = mm_count(mm->tiling.m, mm_count(mm->tiling.m, r->rows)); /* even pieces */
    if (mm_up(r->rows, VEC_BLOCKS) * r->pitch_bytes <= SLOT_BYTES) {
        r->rows = mm_up(r->rows, VEC_BLOCKS);
    } else if (r->rows > VEC_BLOCKS) {
        r->rows -= r->rows % VEC_BLOCKS;
    }
}

/* Tiles of more pieces than a queue takes are too large: there are some where k is small. */
int mm_finish_plan(struct mm *mm, enum type out, unsigned cores,
                   enum mm_strategy strategy, char why[MM_TEXT])
{
    int err = mm_check(mm, why);

    while (!err) {
        begin(mm);
        err = mm_plan(mm, cores, strategy, why);
        if (err) {
            return err;
        }
        set_ring(mm, out);
        if (mm_ring_most(mm) <= PIPE_DEPTH) {
            return mm_check(mm, why);
        }
        mm->tile_bytes = mm->tiling.m * mm->tiling.n * MM_SUM_BYTES / 2;
    }
    return err;
}

/* Commands for a piece of that size in a slot. What they differ by is put in: addresses in GM,
 * of the sums of rows, where these have become blocks, of scales. */
struct list {
    uint32_t mt, nt, n;
    uint32_t broadcast, add, multiply; /* the first of that kind */
    union cmd store, cmd[LIST];
};

/* Of a core: pieces of the tile that was begun, of which `done` are issued; `tiles` have been
 * begun, `pieces` before this one's. */
struct core {
    const struct mm_finish *f;
    uint32_t columns; /* of c */
    uint64_t product; /* elements of c in front of the tile's one of a batch, */
    uint64_t rows;    /* and rows */
    uint32_t n, done, tiles, pieces, next;
    struct mm_piece piece[PIPE_DEPTH];
    struct list list[SLOTS][LISTS];
};

/* A piece whose commands are recorded. */
struct at {
    const struct mm_finish *f;
    const struct mm_piece *p;
    struct list *l;
};

static union cmd *more(const struct at *at)
{
    assert(at->l->n < LIST);
    return &at->l->cmd[at->l->n++];
}

static struct vec_at rows_at(const struct at *at, uint32_t x)
{
    return vec_repeats(x, at->p->pitch_bytes / MTE_BLOCK);
}

static void count(const struct at *at, uint32_t n)
{
    vector_count(more(at), n);
}

static void scalar(const struct at *at, enum op op, enum type type, uint32_t x,
                   uint32_t with)
{
    vector_scalar(more(at), op, type, x, x, with);
}

static void convert(const struct at *at, enum type from, enum type to, uint32_t dst,
                    uint32_t x)
{
    vector_convert(more(at), from, to, ROUND_RINT, dst, x);
}

static void relu(const struct at *at, enum type type, uint32_t x)
{
    vector_unary(more(at), OP_VRELU, type, x, x);
}

/* Of so many rows a block each, for there may be no room for more. */
static void mask_rows(const struct at *at, uint32_t rows)
{
    vector_mask(more(at), UINT64_MAX >> (LANES - LANES / VEC_BLOCKS * rows), 0);
}

/* Sums of rows, each to a block of its own, twice, and to the sums: of 8 rows a block each, then
 * their next blocks, for a block for all of a row would take 8 cycles. */
static void add_rows(const struct at *at)
{
    uint16_t pitch = (uint16_t)(at->p->pitch_bytes / MTE_BLOCK);
    uint32_t blocks = mm_count(at->p->nt, VEC_BLOCKS);

    at->l->broadcast = at->l->n;
    vector_broadcast(more(at), TYPE_S32, BLOCKS, ROWS,
                     mm_count(at->p->mt + VEC_BLOCKS - 1, VEC_BLOCKS));
    count(at, mm_up(at->p->mt + VEC_BLOCKS - 1, VEC_BLOCKS) * MTE_BLOCK / 4);
    vector_add(more(at), TYPE_S32, BLOCKS, BLOCKS, BLOCKS);
    mask_rows(at, mm_min(VEC_BLOCKS, at->p->mt));
    at->l->add = at->l->n;
    for (uint32_t row = 0; row < at->p->mt; row += VEC_BLOCKS) {
        struct vec_at x = {at->p->ub + row * at->p->pitch_bytes, pitch, 1};
        if (row && at->p->mt - row < VEC_BLOCKS) {
            mask_rows(at, at->p->mt - row);
        }
        vector_binary_strided(more(at),
                              &(struct vec_binary){.op = OP_VADD,
                                                   .type = TYPE_S32,
                                                   .dst = x,
                                                   .x = x,
                                                   .y = {BLOCKS + row * MTE_BLOCK, 1, 0},
                                                   .repeat = blocks});
    }
}

static uint32_t lanes_at(const struct mm_piece *p, uint32_t n)
{
    return mm_min(LANES, p->nt - n);
}

/* By the scales of columns, 64 at a time. */
static void scale_columns(const struct at *at)
{
    uint32_t lanes = lanes_at(at->p, 0);

    vector_mask(more(at), UINT64_MAX >> (LANES - lanes), 0);
    at->l->multiply = at->l->n;
    for (uint32_t n = 0; n < at->p->nt; n += LANES) {
        if (lanes_at(at->p, n) < lanes) {
            vector_mask(more(at), UINT64_MAX >> (LANES - lanes_at(at->p, n)), 0);
        }
        vector_binary_strided(more(at),
                              &(struct vec_binary){.op = OP_VMUL,
                                                   .type = TYPE_F32,
                                                   .dst = rows_at(at, OTHER + n * 4),
                                                   .x = rows_at(at, OTHER + n * 4),
                                                   .y = vec_same_repeat(SCALES + n * 4),
                                                   .repeat = at->p->mt});
    }
}

/* Scaled, activated, in OTHER. */
static void scale(const struct at *at, uint32_t all)
{
    const struct mm_finish *f = at->f;

    convert(at, TYPE_S32, TYPE_F32, OTHER, at->p->ub);
    if (f->scales) {
        scale_columns(at);
        count(at, all);
    } else {
        uint64_t word = fixpipe_word(f->scale, 0, true);
        scalar(at, OP_VMULS, TYPE_F32, OTHER, (uint32_t)word & QUANT_PRE_M1);
    }
    if (f->act.relu == FIX_RELU_LEAKY) {
        scalar(at, OP_VLRELU, TYPE_F32, OTHER, f32_bits(f->act.slope));
    } else if (f->act.relu == FIX_RELU_PLAIN) {
        relu(at, TYPE_F32, OTHER);
    }
    if (f->act.clip) {
        scalar(at, OP_VMINS, TYPE_F32, OTHER, f32_bits(f->act.limit));
    }
}

/* Bytes, by way of S16 and F16. */
static void narrow(const struct at *at)
{
    const struct mm_finish *f = at->f;
    uint32_t x = at->p->ub;

    if (f->scales) {
        scalar(at, OP_VMINS, TYPE_F32, OTHER, f32_bits(FAR));
        scalar(at, OP_VMAXS, TYPE_F32, OTHER, f32_bits(-FAR));
    } else {
        scalar(at, OP_VADDS, TYPE_F32, OTHER, f32_bits((float)f->zero));
    }
    convert(at, TYPE_F32, TYPE_S16, x, OTHER);
    if (f->scales) {
        scalar(at, OP_VADDS, TYPE_S16, x, (uint16_t)f->zero);
    }
    convert(at, TYPE_S16, TYPE_F16, OTHER, x);
    convert(at, TYPE_F16, f->out, x, OTHER);
}

static void record(const struct at *at)
{
    const struct mm_finish *f = at->f;
    uint32_t all = at->p->mt * at->p->pitch_bytes / 4;

    cmd_nop(more(at));
    cmd_wait(at->l->cmd, RING_FULL, 1);
    if (f->rows) {
        add_rows(at);
    }
    count(at, all);
    if (f->out != TYPE_S32) {
        scale(at, all);
    } else if (f->act.relu) {
        relu(at, TYPE_S32, at->p->ub);
    }
    if (f->out == TYPE_F16) {
        convert(at, TYPE_F32, TYPE_F16, at->p->ub, OTHER);
    } else if (f->out != TYPE_S32) {
        narrow(at);
    }
    cmd_nop(more(at));
    cmd_post(&at->l->cmd[at->l->n - 1], DONE, 1);
}

static void record_store(const struct core *core, const struct at *at)
{
    uint32_t bytes = type_bits(core->f->out) / 8;
    const struct mm_piece *p = at->p;

    mte_ub_to_gm_rows(&at->l->store, core->f->c, p->ub,
                      &(struct mte_rows){.n_rows = p->mt,
                                         .row_bytes = p->nt * bytes,
                                         .gm_pitch_bytes = core->columns * bytes,
                                         .local_pitch_bytes =
                                             p->pitch_bytes / sizeof(int32_t) * bytes});
    cmd_wait(&at->l->store, DONE, 1);
    cmd_post(&at->l->store, RING_FREE, 1);
}

/* Of the next piece. */
static struct list *list_of(struct core *core)
{
    const struct mm_piece *p = &core->piece[core->done];
    struct list *lists = core->list[(core->pieces + core->done) % SLOTS];
    struct at at = {.f = core->f, .p = p, .l = lists};

    for (; at.l < lists + LISTS && at.l->n; at.l++) {
        if (at.l->mt == p->mt && at.l->nt == p->nt) {
            return at.l;
        }
    }
    if (at.l == lists + LISTS) {
        at.l -= 1 + core->next++ % LISTS;
    }
    at.l->n = 0;
    at.l->mt = p->mt;
    at.l->nt = p->nt;
    record(&at);
    record_store(core, &at);
    return at.l;
}

/* Loads for the tile; what the Vector waits for before its first piece, what it tells behind
 * the last. */
static void load(const struct core *core, const struct mm_cursor *at)
{
    const struct mm_finish *f = core->f;
    uint32_t to = core->tiles % IN_SLOTS * MOST_SIDE * 4;
    union cmd cmd;

    if (f->rows) {
        mte_gm_to_ub(&cmd, ROWS + to, f->rows + core->rows + at->m0,
                     at->mt * sizeof(int32_t));
        cmd_wait(&cmd, IN_FREE, 1);
        if (!f->scales) {
            cmd_post(&cmd, IN_FULL, 1);
        }
        task_issue(PIPE_MTE2, &cmd);
    }
    if (f->scales) {
        mte_gm_to_ub(&cmd, SCALES + to, f->scales + at->n0, at->nt * sizeof(float));
        if (!f->rows) {
            cmd_wait(&cmd, IN_FREE, 1);
        }
        cmd_post(&cmd, IN_FULL, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
    cmd_nop(&cmd);
    cmd_wait(&cmd, IN_FULL, 1);
    task_issue(PIPE_V, &cmd);
}

static void put_in(const struct core *core, struct list *l, const struct mm_piece *p)
{
    uint32_t from = core->tiles % IN_SLOTS * MOST_SIDE * 4;
    uint32_t row = p->m0 - core->piece[0].m0, column = p->n0 - core->piece[0].n0;
    uint64_t at = core->product + (uint64_t)p->m0 * core->columns + p->n0;
    union cmd *c = l->cmd + l->multiply;

    if (core->f->rows) { /* rows of less than a block go one piece after the other */
        l->cmd[l->broadcast].vec_brcb.src = ROWS + from + row / VEC_BLOCKS * MTE_BLOCK;
        l->cmd[l->add].vec2.src1 = BLOCKS + row % VEC_BLOCKS * MTE_BLOCK;
    }
    for (uint32_t n = 0; core->f->scales && n < p->nt; n += LANES, c++) {
        c += lanes_at(p, n) < lanes_at(p, 0);
        c->vec2.src1 = SCALES + from + (column + n) * 4;
    }
    l->store.copy_out.dst = (uintptr_t)core->f->c + at * (type_bits(core->f->out) / 8);
}

static void finish_piece(struct core *core)
{
    struct list *l = list_of(core);
    union cmd cmd;

    put_in(core, l, &core->piece[core->done]);
    for (uint32_t i = 0; i < l->n; i += PIPE_DEPTH) {
        task_issue_many(PIPE_V, l->cmd + i, mm_min(PIPE_DEPTH, l->n - i));
    }
    task_issue_many(PIPE_MTE3, &l->store, 1);
    if (++core->done == core->n) {
        cmd_nop(&cmd);
        cmd_post(&cmd, IN_FREE, 1);
        task_issue(PIPE_V, &cmd);
    }
}

/* Issues the Vector's part of the tile that was begun: all of it, or so many pieces that FIX
 * has slots for the others, and what the queue takes at once. So the next tile's products wait
 * for nothing that is issued behind them. */
static void finish_tile(struct core *core, bool all)
{
    struct pipe_port *port = &task_ports[PIPE_V];

    while (core->done < core->n && (all || core->n - core->done > SLOTS ||
                                    pipe_refresh(port) >= PIPE_DEPTH / 2)) {
        finish_piece(core);
    }
}

void mm_finish_run(const struct mm *planned, const struct mm_finish *f)
{
    struct core *core = calloc(1, sizeof(*core));
    struct mm mm = *planned;

    if (core == NULL) {
        task_fail(ERR_NOMEM, SCHED_HERE, "no memory for commands of the Vector");
    }
    core->f = f;
    core->columns = mm.shape.n;
    task_post(RING_FREE, SLOTS);
    task_post(IN_FREE, IN_SLOTS);
    while (mm_iterate(&mm)) {
        finish_tile(core, true);
        mm_get_c(&mm, MM_UB, 0, false);
        core->tiles++;
        core->pieces += core->n;
        core->done = 0;
        core->rows = (uint64_t)mm.now->product * mm.shape.m;
        core->product = core->rows * core->columns;
        core->n = mm_ring_all(&mm, core->piece);
        load(core, mm.now);
        finish_tile(core, false);
    }
    finish_tile(core, true);
    mm_end(&mm);
    task_wait(RING_FREE, SLOTS);
    task_wait(IN_FREE, IN_SLOTS);
    free(core);
}

uint32_t mm_finish_ref(uint32_t sum, float scale, int32_t zero, bool relu, enum type out)
{
    float least = out == TYPE_S8 ? -128 : 0, most = least + 255;
    float x = nearbyintf((float)(int32_t)sum * scale);

    x = (relu && x < 0 ? 0 : x) + (float)zero;
    return (uint8_t)(int)(x < least ? least : x > most ? most : x);
}
