/* SPDX-License-Identifier: MIT
 *
 * The two passes of a core over rows that L1 does not hold; see spill.h. Whatever a command
 * waits for has been pushed before it, so nobody can wait for ever.
 */
#include <float.h>
#include <math.h>

#include "kernels/lib/share.h"
#include "kernels/tile/softmax/spill.h"

enum {
    ESIZE = sizeof(float),
    EIGHT = VEC_BLOCKS,
    AHEAD = 2, /* chunks whose greatest is looked for before e of one */
};

/* A core's chunks, in whose numbers the first is 0. */
struct walk {
    const struct rows_plan *p;
    const struct spill_plan *s;
    struct spill_core *core;
    struct pipes *sink;
    uint32_t elems; /* of the chunk for whose size commands are */
    /* Of the second pass: the row whose sums are known, its first chunk as one of these;
     * 1 / of them together; of each of its chunks exp(m(c) - m). */
    uint64_t row;
    uint32_t first;
    float reciprocal;
    const volatile float *apart;
    unsigned diagonals, unloaded;
    uint64_t by_fix, by_mte3; /* cycles of what has gone out */
};

static union cmd *cmds(const struct walk *w, enum spill_push which)
{
    return w->core->seq[which].cmds;
}

static void push(const struct walk *w, enum spill_push which)
{
    const struct sequence *s = &w->core->seq[which];

    pipes_store(w->sink, s, s->cmds, s->n);
}

static inline struct spill_chunk chunk_of(const struct walk *w, uint32_t c)
{
    return spill_chunk(w->p, w->core->begin + c);
}

static uint32_t ub_of(const struct walk *w, uint32_t c)
{
    return c % SPILL_BUFFERS * spill_bytes(w->s);
}

/* Elements of a chunk's piece, and where in the chunk. */
static uint32_t piece(const struct spill_chunk *c, unsigned i)
{
    return i ? c->elems - c->first : c->first;
}
static uint32_t padded(const struct spill_chunk *c, unsigned i)
{
    return i ? c->padded - c->first : c->first;
}
static uint32_t piece_at(const struct spill_chunk *c, unsigned i)
{
    return i ? c->first * ESIZE : 0;
}

/* --- the first pass --- */

static void load(const struct walk *w, uint32_t c)
{
    union cmd *cmd = cmds(w, SPILL_LOAD);
    struct spill_chunk chunk;

    if (c >= w->core->chunks) {
        return;
    }
    chunk = chunk_of(w, c);
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        cmd->copy_in.src = (uintptr_t)w->p->x + chunk.at * ESIZE + piece_at(&chunk, i);
        cmd->copy_in.dst = ub_of(w, c) + piece_at(&chunk, i);
        cmd->copy_in.len_bytes = piece(&chunk, i) * ESIZE;
        push(w, SPILL_LOAD);
    }
}

/* Of 512 elements each, for the hart. What is no element is -inf. */
static void greatest(const struct walk *w, uint32_t c)
{
    union cmd *cmd = cmds(w, SPILL_PAD);
    struct spill_chunk chunk;

    if (c >= w->core->chunks) {
        return;
    }
    chunk = chunk_of(w, c);
    if (chunk.padded > chunk.elems) {
        cmd[0].set_mask.lo = chunk.padded - chunk.elems;
        cmd[1].vec_fill.dst = ub_of(w, c) + chunk.elems * ESIZE;
        push(w, SPILL_PAD);
    }
    cmd = cmds(w, SPILL_GREATEST);
    cmd[0].head.wait_n[0] = chunk.padded > chunk.elems ? 0 : SPILL_PIECES;
    cmd[0].set_mask.lo = chunk.padded;
    cmd[1].vec_reduce.src = ub_of(w, c);
    cmd[2].set_mask.lo = chunk.padded / EIGHT;
    cmd[4].set_mask.lo = chunk.padded / (EIGHT * EIGHT);
    cmd[5].vec_reduce.dst = spill_most(w->s, c);
    push(w, SPILL_GREATEST);
}

static const volatile float *in_ub(uint32_t at)
{
    return chip_local(task_core(), NPU_MEM_UB, at);
}

/* NaN if one is. Where all are -inf a number, so that x - m is -inf and e 0. */
static float greatest_of(const volatile float *of, unsigned n)
{
    float most = -FLT_MAX;

    for (const volatile float *end = of + n; of != end; of++) {
        float x = *of;
        if (!(x <= most)) {
            most = x;
            if (isnan(x)) {
                break;
            }
        }
    }
    return most;
}

static void make_e(const struct walk *w, uint32_t c, const struct spill_chunk *chunk)
{
    unsigned n = div_up(chunk->padded, EIGHT * EIGHT * EIGHT);
    union cmd *cmd = cmds(w, SPILL_EXP);
    uint32_t ub = ub_of(w, c);
    float most = 0;

    pipes_wait(w->sink, SPILL_MAX, n);
    if (w->sink == NULL) {
        most = greatest_of(in_ub(spill_most(w->s, c)), n);
        *spill_top(w->p, 0, w->core->begin + c) = most;
    }
    cmd[0].set_mask.lo = chunk->padded;
    cmd[1].vec1s.dst = cmd[1].vec1s.src = ub;
    cmd[1].vec1s.scalar = f32_bits(-most);
    cmd[2].vec1.dst = cmd[2].vec1.src = ub;
    push(w, SPILL_EXP);
}

/* What in commands of pieces depends on their sizes: most chunks' are the same. Where others
 * have their first piece, a row's last chunk has more than that, so it frees all at once. */
static void set_sizes(struct walk *w, const struct spill_chunk *chunk)
{
    union cmd *keep = cmds(w, SPILL_KEEP), *fill = cmds(w, SPILL_FILL),
              *mmad = cmds(w, SPILL_MMAD), *fix = cmds(w, SPILL_FIX),
              *fill_e = cmds(w, SPILL_FILL_E), *mmad_e = cmds(w, SPILL_MMAD_E);

    if (w->elems == chunk->elems) {
        return;
    }
    w->elems = chunk->elems;
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        uint16_t rows = (uint16_t)(piece(chunk, i) / PIPES_DIAGONAL);
        uint32_t all = padded(chunk, i);
        bool whole = chunk->elems == w->s->chunk;
        uint8_t frees = (uint8_t)(whole ? 1 : i * SPILL_PIECES);
        keep[i].head.post_n[1] = frees;
        fill[2 * i + 1].head.post_n[1] = fill_e[i].head.post_n[1] = frees;
        keep[i].copy_local.len = (uint16_t)(all * ESIZE / BLOCK);
        fill[2 * i].fractals.repeat = (uint8_t)(all / SPILL_UNIT);
        mmad[2 * i].mmad.k = (uint16_t)(all / SPILL_SUMS);
        mmad[2 * i + 1].mmad.m = rows;
        for (unsigned d = 0; d < SPILL_DIAGONALS; d++) {
            mmad_e[d * SPILL_PIECES + i].mmad.m = rows;
        }
        fill[2 * i + 1].load2d.n_rows = fill_e[i].load2d.n_rows = rows;
        fill[2 * i + 1].load2d.src_c0_stride = fill_e[i].load2d.src_c0_stride = rows;
        fix[i].fix_gm.m = rows;
        fix[i].fix_gm.dst_pitch = rows;
        fix[i].fix_gm.src_c0_stride = (uint16_t)round_up(rows, PIPES_DIAGONAL);
    }
}

static void fix_pieces(const struct walk *w, const struct spill_chunk *chunk)
{
    union cmd *cmd = cmds(w, SPILL_FIX);

    cmd[0].fix_gm.dst = (uintptr_t)w->p->y + chunk->at * ESIZE;
    cmd[1].fix_gm.dst = cmd[0].fix_gm.dst + chunk->first * ESIZE;
    push(w, SPILL_FIX);
}

/* What L1 still has at the end is kept. The last chunk gives its place in UB, for numbers,
 * and in L0A, for e, to the second pass, which it lets begin. */
static void set_ends(const struct walk *w, uint32_t c)
{
    bool kept = c + w->s->slots >= w->core->chunks, last = c == w->core->chunks - 1;
    union cmd *sum = cmds(w, SPILL_FIX_SUM);

    if (c && !kept) {
        return;
    }
    for (unsigned i = 0; i < SPILL_PIECES; i++) {
        cmds(w, SPILL_FILL)[2 * i + 1].head.post_sem[1] =
            kept ? SPILL_KEPT : SPILL_L1_FREE;
        cmds(w, SPILL_KEEP)[i].head.post_sem[1] = last ? 0 : SPILL_X_FREE;
        if (last) {
            cmds(w, SPILL_KEEP)[i].head.post_n[1] = 0;
        }
    }
    cmds(w, SPILL_MMAD)[2].head.post_sem[0] = last ? SPILL_E_FREE : SPILL_ADDED_FREE;
    sum->head.post_sem[1] = last ? SPILL_DONE : 0;
    sum->head.post_n[1] = last ? 1 : 0;
}

/* e to L1, from there to be summed and to GM. */
static void keep_e(const struct walk *w, uint32_t c, const struct spill_chunk *chunk)
{
    union cmd *keep = cmds(w, SPILL_KEEP), *fill = cmds(w, SPILL_FILL),
              *mmad = cmds(w, SPILL_MMAD), *sum = cmds(w, SPILL_FIX_SUM);
    uint32_t at = c % SPILL_PIECES * SPILL_SUMS * PIPES_DIAGONAL * ESIZE;
    uint32_t l1 = spill_l1(w->s, c);

    for (unsigned i = 0; i < SPILL_PIECES; i++, l1 += piece_at(chunk, 1)) {
        keep[i].copy_local.src = ub_of(w, c) + piece_at(chunk, i);
        keep[i].copy_local.dst = l1;
        fill[2 * i].fractals.src = fill[2 * i + 1].load2d.src = l1;
        mmad[2 * i].mmad.dst = at;
    }
    push(w, SPILL_KEEP);
    push(w, SPILL_FILL);
    push(w, SPILL_MMAD);
    fix_pieces(w, chunk);
    sum->fix_gm.src = at;
    sum->fix_gm.dst = (uintptr_t)spill_sums(w->p, 0, w->core->begin + c);
    push(w, SPILL_FIX_SUM);
}

/* One of those in turn, or that of ones. */
static void load_diagonal(const struct walk *w, unsigned i, uint32_t bits)
{
    const struct sequence *s = &w->core->seq[SPILL_LOAD_DIAGONAL];

    pipes_wait(w->sink, SPILL_DIAGONAL_FREE, 0);
    pipes_diagonal(w->sink, s->cmds[i].fractals.src, &bits, 1);
    pipes_store(w->sink, s, &s->cmds[i], 1);
}

void spill_first(const struct rows_plan *p, struct spill_core *core, struct pipes *sink)
{
    struct walk walk = {.p = p, .s = p->spill, .core = core, .sink = sink}, *w = &walk;

    load(w, 0);
    push(w, SPILL_SET_ZERO);
    for (uint32_t c = 1; c < SPILL_BUFFERS; c++) {
        load(w, c);
    }
    for (uint32_t c = 0; c < AHEAD; c++) {
        greatest(w, c);
    }
    pipes_wait(sink, SPILL_ZEROS, 0);
    push(w, SPILL_ONES);
    load_diagonal(w, SPILL_DIAGONALS, f32_bits(1));
    for (uint32_t c = 0; c < core->chunks; c++) {
        struct spill_chunk chunk = chunk_of(w, c);
        set_sizes(w, &chunk);
        set_ends(w, c);
        make_e(w, c, &chunk);
        keep_e(w, c, &chunk);
        load(w, c + SPILL_BUFFERS);
        greatest(w, c + AHEAD);
    }
}

/* --- the second pass --- */

/* A chunk on its way out, and which way that is. */
struct leaving {
    uint32_t c;
    struct spill_chunk chunk;
    bool scaled; /* by the Vector */
};

/* n numbers of each chunk of a row, one behind the other. */
static void load_numbers(const struct walk *w, uint64_t row)
{
    union cmd *cmd = cmds(w, SPILL_LOAD_SUMS);

    cmd->copy_in.src = (uintptr_t)spill_sums(w->p, row, 0);
    cmd->head.wait_sem[0] = w->row == UINT64_MAX ? SPILL_DONE : 0;
    cmd->head.wait_n[0] = w->row == UINT64_MAX;
    push(w, SPILL_LOAD_SUMS);
}

/* What the chunks of a row have come to, which are on their way to UB. */
static void know(struct walk *w, uint64_t row)
{
    const struct spill_plan *s = w->s;
    float most = 0;

    if (w->sink) {
        pipes_write(w->sink, s->per_row);
    } else {
        most = greatest_of(spill_top(w->p, row, 0), s->per_row);
    }
    cmds(w, SPILL_ADD)[1].vec1s.scalar = f32_bits(-most);
    push(w, SPILL_ADD);
    pipes_wait_soon(w->sink, SPILL_KNOWN);
    if (w->sink == NULL) {
        w->reciprocal = *in_ub(s->total);
        w->apart = in_ub(s->apart);
    }
    w->row = row;
    w->first = (uint32_t)(row * s->per_row - w->core->begin);
}

/* By what e of a chunk becomes y. */
static uint32_t factor(const struct walk *w, uint32_t c)
{
    return w->sink ? 0 : f32_bits(w->apart[c - w->first] * w->reciprocal);
}

/* e of n chunks back to L1, with one command if they lie side by side there, too. */
static void load_e(const struct walk *w, uint32_t c, uint32_t n)
{
    struct spill_chunk first = chunk_of(w, c), last = chunk_of(w, c + n - 1);
    union cmd *cmd = cmds(w, SPILL_LOAD_E);

    if (n > 1 && last.at - first.at != (uint64_t)(n - 1) * w->s->chunk) {
        while (n--) { /* a row ends */
            load_e(w, c + n, 1);
        }
        return;
    }
    cmd->copy_in.src = (uintptr_t)w->p->y + first.at * ESIZE;
    cmd->copy_in.dst = spill_l1(w->s, c);
    cmd->copy_in.len_bytes = (uint32_t)(last.at + last.elems - first.at) * ESIZE;
    cmd_no_sync(cmd);
    cmd_wait(cmd, SPILL_L1_FREE, n * SPILL_PIECES);
    cmd_post(cmd, SPILL_KEPT, n * SPILL_PIECES);
    push(w, SPILL_LOAD_E);
}

/* Whether the next one is the Vector's: its way has come less far. */
static bool is_scaled(const struct walk *w)
{
    return w->by_mte3 + w->s->by_mte3 <= w->by_fix + w->s->by_fix;
}

/* Out of L1, whose place is for what comes later. */
static struct leaving take_out(struct walk *w, uint32_t c)
{
    struct leaving l = {c, chunk_of(w, c), is_scaled(w)};
    union cmd *unload = cmds(w, SPILL_UNLOAD), *fill = cmds(w, SPILL_FILL_E);
    uint32_t slots = w->s->slots;

    if (l.scaled) {
        unload->copy_local.src = spill_l1(w->s, c);
        unload->copy_local.dst = w->unloaded % SPILL_SCALED * spill_bytes(w->s);
        unload->copy_local.len = (uint16_t)(l.chunk.elems * ESIZE / BLOCK);
        push(w, SPILL_UNLOAD);
        w->by_mte3 += w->s->by_mte3;
    } else {
        set_sizes(w, &l.chunk);
        fill[0].load2d.src = spill_l1(w->s, c);
        fill[1].load2d.src = fill[0].load2d.src + l.chunk.first * ESIZE;
        push(w, SPILL_FILL_E);
        w->by_fix += w->s->by_fix;
    }
    if (c >= slots && c % SPILL_TOGETHER == 0) {
        load_e(w, c - slots, min_u32(SPILL_TOGETHER, w->core->chunks - c));
    }
    return l;
}

/* To GM, times its number. */
static void give_out(struct walk *w, const struct leaving *l)
{
    union cmd *scale = cmds(w, SPILL_SCALE), *store = cmds(w, SPILL_STORE);
    uint32_t by = factor(w, l->c), elems = l->chunk.elems;

    if (l->scaled) {
        scale[0].set_mask.lo = elems;
        scale[1].vec1s.dst = w->unloaded++ % SPILL_SCALED * spill_bytes(w->s);
        scale[1].vec1s.src = scale[1].vec1s.dst;
        scale[1].vec1s.scalar = by;
        push(w, SPILL_SCALE);
        store->copy_out.src = scale[1].vec1s.dst;
        store->copy_out.dst = (uintptr_t)w->p->y + l->chunk.at * ESIZE;
        store->copy_out.len_bytes = elems * ESIZE;
        push(w, SPILL_STORE);
    } else {
        const struct sequence *mmad = &w->core->seq[SPILL_MMAD_E];
        unsigned diagonal = w->diagonals++ % SPILL_DIAGONALS;
        load_diagonal(w, diagonal, by);
        pipes_store(w->sink, mmad, mmad->cmds + diagonal * mmad->n, mmad->n);
        fix_pieces(w, &l->chunk);
    }
}

static uint64_t row_of(const struct walk *w, uint32_t c)
{
    return (w->core->begin + c) / w->s->per_row;
}

/* While a row's numbers are not known two chunks leave L1, if each goes a way of its own. */
void spill_second(const struct rows_plan *p, struct spill_core *core, struct pipes *sink)
{
    struct walk walk = {
        .p = p, .s = p->spill, .core = core, .sink = sink, .row = UINT64_MAX};
    struct walk *w = &walk;

    for (uint32_t c = core->chunks; c-- > 0;) {
        struct leaving out[2];
        unsigned n = 1;
        uint64_t row = row_of(w, c);
        if (row != w->row) {
            load_numbers(w, row);
        }
        out[0] = take_out(w, c);
        if (row != w->row) {
            if (c && row_of(w, c - 1) == row && is_scaled(w) != out[0].scaled) {
                out[n++] = take_out(w, --c);
            }
            know(w, row);
        }
        for (unsigned i = 0; i < n; i++) {
            give_out(w, &out[i]);
        }
    }
}
