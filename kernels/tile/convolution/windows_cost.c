/* SPDX-License-Identifier: MIT
 *
 * The share of a core, played command by command on clocks of its pipes; see windows.h. The
 * order is that of kernels/conv: conv2d.c brings patches and filters, multiply.c does the rest.
 */
#include "hal/chip.h"
#include "hal/contract/cost.h"
#include "kernels/tile/convolution/windows.h"

enum {
    MOST_UNITS = 24, /* the others are like the second half of these */
    PATCHES = 2,
    KINDS = 3,
};

/* Instructions of the hart, about. */
enum {
    HART_BRING = 600, /* a unit's patch */
    HART_LOAD = 225,  /* one of a chunk */
    HART_BEGIN = 800,
    HART_UNIT = 600,
    HART_RECORD = 160, /* a slice of a piece, which is built; then placed */
    HART_PLACE = 24,
    HART_PIECE = 170,
    HART_SET = 120,
    HART_COMMAND = 8,
    HART_STORE = 200,   /* a piece */
    HART_VECTOR = 2000, /* what the Vector begins with */
    HART_MEET = 170,    /* a part's way in; what the Vector does to it, its way out */
    HART_MOVE = 130,
    HART_PART = 570,
    HART_RESIZE = 440,  /* one of other rows than the one before */
    APART_BEGIN = 5000, /* of each channel by itself: queues, the first patch */
};

/* A pipe: when what it has been given ends; when the last commands began, as many as wait in
 * its queue at one time. */
struct lane {
    uint64_t end, begun[PIPE_DEPTH];
    unsigned n;
};

struct walk {
    const struct windows_flow *f;
    struct lane in, load, cube, fix, v, out;
    uint64_t hart; /* where it is */
    uint64_t owed; /* what it does for the Vector when it has to wait */
    struct {
        uint32_t pieces, slices;
    } record[CONV_PARTS][KINDS];
    bool in_matrix; /* what MTE2 was at last is an ND2NZ */
    uint64_t patch_full[PATCHES], patch_free[PATCHES];
    uint64_t weights_full, weights_free[2], bias_full;
    uint64_t l0_free[CONV_L0_SLOTS];
    uint64_t c_free[CONV_SET_MMADS]; /* of the last so many pieces */
    uint64_t ring_free[PLAN_RING], met_free[PLAN_RING], out_free[PLAN_RING];
    unsigned loads, weights, l0, pieces, parts;
    uint32_t rows; /* of the last part */
};

/* A command that may begin at `ready`: `fixed` and work, or `next` directly behind another. */
static uint64_t issue(struct lane *l, uint64_t ready, uint64_t fixed, uint64_t next,
                      uint64_t work)
{
    bool behind = l->end && ready <= l->end;
    uint64_t begin = later(ready, l->end);

    l->begun[l->n++ % PIPE_DEPTH] = begin;
    l->end = begin + (behind ? next : fixed) + work;
    return l->end;
}

/* The hart has issued a command once the queue had room. */
static void by_hart(struct walk *w, const struct lane *l)
{
    uint64_t room = l->begun[l->n % PIPE_DEPTH], wait;

    w->hart += HART_COMMAND;
    wait = room > w->hart ? room - w->hart : 0;
    w->owed -= wait < w->owed ? wait : w->owed;
    w->hart += wait;
}

/* --- to L1 --- */

/* Rows of a matrix that becomes fractals. */
static uint64_t matrix(struct walk *w, uint64_t ready, uint64_t rows, uint64_t bytes)
{
    uint64_t work = cost_gm_rows(rows, bytes, chip_cost(COST_GM_ROW_BYTES),
                                 chip_cost(COST_ND2NZ_RATE));
    uint64_t fixed = chip_cost(COST_ND2NZ_FIXED);
    uint64_t floor = chip_cost(COST_ND2NZ_FLOOR) +
                     work * chip_cost(COST_ND2NZ_RATE) / chip_cost(COST_ND2NZ_FLOOR_RATE);
    bool behind = w->in_matrix;

    w->in_matrix = true;
    fixed = fixed + work < floor ? floor - work : fixed;
    return issue(&w->in, ready, fixed, behind ? chip_cost(COST_ND2NZ_NEXT) : fixed, work);
}

static uint64_t copy(struct walk *w, uint64_t ready, uint64_t rows, uint64_t bytes)
{
    uint64_t fixed = chip_cost(COST_GM_L1_FIXED);

    w->in_matrix = false;
    return issue(&w->in, ready, fixed, fixed,
                 cost_gm_rows(rows, bytes, chip_cost(COST_GM_ROW_BYTES),
                              chip_cost(COST_GM_L1_RATE)));
}

static void bring_patch(struct walk *w, const struct conv_unit *u,
                        struct conv_chunk chunk)
{
    const struct conv_plan *l = w->f->plan;
    uint64_t pixels = (uint64_t)u->map.map_h * u->map.map_w, es = l->in_bytes;
    bool whole = u->map.map_w == l->p.w && l->x_row == l->p.w * l->x_pixel;
    bool all = chunk.channels == l->x_pixel;
    uint64_t rows = all && whole ? 1 : all ? u->map.map_h : pixels;
    unsigned slot = w->loads++ % PATCHES;

    if (l->few) {
        w->patch_full[slot] = copy(w, w->patch_free[slot], 1, pixels * l->pixel);
        return;
    }
    for (uint32_t i = 0; i < u->images; i++) {
        w->patch_full[slot] =
            matrix(w, w->patch_free[slot], rows, pixels * chunk.channels * es / rows);
    }
}

static void bring_weights(struct walk *w, const struct conv_unit *u,
                          struct conv_chunk chunk)
{
    const struct conv_plan *l = w->f->plan;
    uint64_t es = l->in_bytes, ready = w->weights_free[w->weights++ % l->b_bufs];

    w->weights_full = l->p.in_rows ? matrix(w, ready, u->n_count,
                                            (uint64_t)l->p.kh * l->p.kw * l->in * es)
                                   : copy(w, ready, (uint64_t)chunk.blocks * l->taps,
                                          (uint64_t)up16(u->n_count) * MTE_BLOCK);
}

/* What a unit begins with, as far as it is not brought set by set. */
static void bring_unit(struct walk *w, uint32_t unit, uint32_t begin)
{
    const struct conv_plan *l = w->f->plan;
    bool first = conv_new_weights(l, begin, unit);
    struct conv_unit u;

    conv_unit(l, unit, &u);
    if (first && l->p.bias) {
        w->bias_full = copy(w, 0, 1, u.n_count * 4);
    }
    if (l->whole && conv_new_patch(l, begin, unit)) {
        bring_patch(w, &u, conv_all(l));
    }
    if (first && l->chunks == 1) {
        bring_weights(w, &u, conv_all(l));
    }
}

/* --- out of L0C --- */

static uint64_t to_gm(struct walk *w, uint64_t ready, const struct conv_unit *u,
                      const struct conv_piece *piece)
{
    const struct conv_plan *l = w->f->plan;
    uint32_t end = piece->m + piece->m_len,
             fixed = (uint32_t)chip_cost(COST_L0C_GM_FIXED);
    uint32_t out = (uint32_t)chip_cost(COST_L0C_GM_OUT_RATE);
    struct conv_run run;

    for (uint32_t m = piece->m; m < end; m += run.count) {
        uint64_t read, written;
        run = conv_run(l, u, piece, m, end);
        read = (uint64_t)run.count * u->n_count * 4 / chip_cost(COST_L0C_GM_RATE);
        written = out ? (uint64_t)run.count * u->n_count * l->out_bytes / out : 0;
        read = later(later(read, written), chip_cost(COST_L0C_GM_LEAST));
        issue(&w->fix, ready, fixed, 0, read);
    }
    return w->fix.end;
}

/* A part through the ring; UB's room for it is free when the Vector or its way out has ended. */
static void through_ring(struct walk *w, uint64_t ready, const struct conv_unit *u,
                         uint32_t rows)
{
    const struct windows_flow *f = w->f;
    unsigned at = w->parts++ % f->ring;
    uint64_t fixed = chip_cost(COST_L0C_UB_FIXED), out = chip_cost(COST_UB_GM_FIXED);

    w->owed += HART_PART + HART_COMMAND * f->commands;
    w->owed += w->rows == rows ? 0 : HART_RESIZE;
    w->rows = rows;
    if (f->in) {
        issue(&w->in, w->met_free[at], f->in, f->in, 0);
        w->in_matrix = false;
    }
    issue(&w->fix, later(ready, w->ring_free[at]), fixed, fixed,
          (uint64_t)rows * u->n_count * 4 / chip_cost(COST_L0C_UB_RATE));
    ready = later(later(w->fix.end, w->out_free[at]), f->in ? w->in.end : 0);
    issue(&w->v, later(ready, w->hart + w->owed), 0, 0, f->v);
    w->met_free[at] = w->v.end;
    out = f->out > out ? out + (f->out - out) * rows / f->rows : f->out;
    issue(&w->out, w->v.end, out, out, 0);
    w->out_free[at] = w->out.end;
    w->ring_free[at] = f->in_place ? w->out.end : w->v.end;
}

static void take(struct walk *w, uint64_t ready, const struct conv_unit *u,
                 const struct conv_piece *piece)
{
    const struct conv_plan *l = w->f->plan;
    struct windows_part part = {0};

    if (w->f->ring == 0) {
        to_gm(w, ready, u, piece);
    } else {
        while (windows_next(l, u, piece, w->f->rows, &part)) {
            through_ring(w, ready, u, part.at.mt);
        }
    }
    w->c_free[w->pieces++ % l->slots] = w->fix.end;
}

/* --- products --- */

/* The windows of a slice, its filters if they do not stay in L0B, its MMAD. */
static void multiply(struct walk *w, const struct conv_unit *u, uint32_t rows, uint32_t k,
                     bool weights, uint64_t patch, uint64_t c)
{
    uint64_t fixed = chip_cost(COST_L1_L0_FIXED), next = chip_cost(COST_L1_L0_NEXT);
    unsigned slot = w->l0++ % CONV_L0_SLOTS;
    uint64_t ready = later(patch, w->l0_free[slot]);

    by_hart(w, &w->load);
    by_hart(w, &w->cube);
    issue(&w->load, later(ready, w->hart), fixed, next,
          (uint64_t)up16(rows) * k * MTE_BLOCK / chip_cost(COST_L1_L0A_RATE));
    if (weights) {
        issue(&w->load, w->weights_full, fixed, next,
              (uint64_t)up16(u->n_count) * k * MTE_BLOCK / chip_cost(COST_L1_L0B_RATE));
    }
    issue(&w->cube, later(w->load.end, c), chip_cost(COST_MMAD_FIRST),
          chip_cost(COST_MMAD_NEXT),
          (uint64_t)up16(rows) / 16 * (up16(u->n_count) / 16) * k);
    w->l0_free[slot] = w->cube.end;
}

/* Commands of parts of a set are built, if there are none, and placed (multiply.c). */
static void build(struct walk *w, uint32_t pieces, uint32_t slices, unsigned kind)
{
    const struct conv_plan *l = w->f->plan;
    uint32_t most = CONV_SET_MMADS / pieces;

    for (uint32_t first = 0, part = 0; first < slices; first += most, part++) {
        uint32_t some = slices - first < most ? slices - first : most;
        unsigned at = part < CONV_PARTS ? part : CONV_PARTS - 1;
        bool same = w->record[at][kind].slices == some && part < CONV_PARTS;
        uint32_t is = same ? w->record[at][kind].pieces : 0;
        if (l->b_stays ? is < pieces : is != pieces) {
            w->hart += (uint64_t)HART_RECORD * some * (pieces - (l->b_stays ? is : 0));
            w->record[at][kind].pieces = pieces;
            w->record[at][kind].slices = some;
        }
        w->hart += HART_SET + pieces * (HART_PIECE + (uint64_t)some * HART_PLACE);
    }
}

/* A chunk of a set: slice by slice, each for all pieces, or piece by piece. */
static void multiply_chunk(struct walk *w, const struct conv_unit *u, uint64_t patch,
                           uint32_t set, uint32_t pieces, struct conv_chunk chunk,
                           bool last)
{
    const struct conv_plan *l = w->f->plan;
    uint32_t all = chunk.blocks * l->taps, slices = div_up(all, l->slice);
    uint64_t full[CONV_SET_MMADS];

    build(w, pieces, slices, chunk.first == 0 ? 0 : last ? 2 : 1);
    for (uint32_t i = 0; i < slices * pieces; i++) {
        uint32_t slice = l->b_stays ? i % slices : i / pieces;
        uint32_t n = l->b_stays ? i / slices : i % pieces, k = slice * l->slice;
        struct conv_piece piece = conv_piece(l, u, set + n);
        uint64_t c = slice == 0 ? w->c_free[(w->pieces + n) % l->slots] : 0;
        multiply(w, u, piece.m_len, all - k < l->slice ? all - k : l->slice,
                 !l->b_stays && n == 0, patch, c);
        full[n] = w->cube.end;
    }
    for (uint32_t n = 0; n < pieces && last; n++) {
        struct conv_piece piece = conv_piece(l, u, set + n);
        w->hart += HART_STORE;
        take(w, later(full[n], w->hart), u, &piece);
    }
}

/* Bias, and filters that stay in L0B, when nothing is read there. */
static void renew(struct walk *w, const struct conv_unit *u)
{
    const struct conv_plan *l = w->f->plan;
    uint64_t fixed = chip_cost(COST_L1_BT_FIXED), bytes = (uint64_t)up16(u->n_count) * 4;

    if (l->p.bias) {
        issue(&w->load, later(w->bias_full, w->cube.end), fixed, fixed,
              bytes / chip_cost(COST_L1_BT_RATE));
    }
    if (l->b_stays) {
        bytes = (uint64_t)l->chunk * l->taps * up16(u->n_count) * MTE_BLOCK;
        fixed = chip_cost(COST_L1_L0_FIXED);
        w->weights_free[0] =
            issue(&w->load, later(w->weights_full, w->cube.end), fixed,
                  chip_cost(COST_L1_L0_NEXT), bytes / chip_cost(COST_L1_L0B_RATE));
    }
}

static void unit(struct walk *w, uint32_t number, uint32_t begin, uint32_t end)
{
    const struct conv_plan *l = w->f->plan;
    bool first = conv_new_weights(l, begin, number), fresh = number == begin;
    uint32_t slot, pieces, set;
    struct conv_unit u;

    conv_unit(l, number, &u);
    pieces = conv_pieces(l, &u);
    w->hart += HART_UNIT;
    slot = (w->loads + PATCHES - 1) % PATCHES; /* its patch */
    if (first) {
        renew(w, &u);
    }
    if (l->chunks == 1 && number + 1 < end) { /* before what meets this one */
        bring_unit(w, number + 1, begin);
    }
    for (uint32_t i = 0; i < pieces; i += set, fresh = false) {
        set = pieces - i < l->set ? pieces - i : l->set;
        set = l->b_stays && fresh ? 1 : set;
        for (uint32_t c = 0; c < l->chunks; c++) {
            struct conv_chunk chunk = conv_chunk(l, c);
            if (l->chunks > 1) {
                w->hart += 2 * HART_LOAD;
                if (!l->whole) {
                    bring_patch(w, &u, chunk);
                    slot = (w->loads + PATCHES - 1) % PATCHES;
                }
                bring_weights(w, &u, chunk);
            }
            multiply_chunk(w, &u, w->patch_full[slot], i, set, chunk, c + 1 == l->chunks);
            if (l->chunks > 1) {
                w->weights_free[(w->weights + l->b_bufs - 1) % l->b_bufs] = w->load.end;
                w->patch_free[slot] = w->load.end;
            }
        }
    }
    w->patch_free[slot] = w->load.end;
    if (!l->b_stays && number + 1 < end && conv_new_weights(l, begin, number + 1)) {
        w->weights_free[0] = w->weights_free[1] = w->load.end;
    }
    if (l->chunks > 1 && number + 1 < end) {
        bring_unit(w, number + 1, begin);
    }
}

/* Patches of units, and what meets them, which is issued before all else. */
static uint64_t hart_of_bringing(const struct windows_flow *f, uint32_t units)
{
    const struct conv_plan *l = f->plan;
    uint64_t parts = f->ring ? (uint64_t)units * div_up(l->rows * l->cols, f->rows) : 0;

    return (f->ring ? (uint64_t)HART_VECTOR : 0) + (uint64_t)units * HART_BRING +
           parts * (uint64_t)(f->in ? HART_MEET + HART_MOVE : HART_MEET);
}

uint64_t windows_span(const struct windows_flow *f)
{
    unsigned core = f->core ? f->core : f->cores;
    uint32_t begin = (uint32_t)share_begin(f->plan->units, 1, core - 1, f->cores);
    uint32_t end = (uint32_t)share_begin(f->plan->units, 1, core, f->cores);
    uint32_t all = end - begin, some = all < MOST_UNITS ? all : MOST_UNITS;
    struct walk w = {.f = f};
    uint64_t half = 0, span;

    bring_unit(&w, begin, begin);
    w.hart = HART_BEGIN + hart_of_bringing(f, all < PIPE_DEPTH ? all : PIPE_DEPTH);
    for (uint32_t i = 0; i < some; i++) {
        half = i == MOST_UNITS / 2 ? later(w.fix.end, w.out.end) : half;
        unit(&w, begin + i, begin, end);
    }
    span = later(w.fix.end, w.out.end);
    return span + (span - half) * (all - some) / (MOST_UNITS - MOST_UNITS / 2);
}

/* What the Cube takes, or the way of x to L0A or of y out, of the core that has most. */
uint64_t windows_span_apart(const struct depthwise_plan *l, unsigned cores)
{
    const struct conv *p = l->p;
    uint64_t pixels = (uint64_t)p->n * conv_oh(p) * conv_ow(p),
             taps = (uint64_t)p->kh * p->kw;
    uint64_t blocks = div_up(p->c, DEPTHWISE_BLOCK), c = blocks * DEPTHWISE_BLOCK;
    uint64_t cube = div_up(pixels, DEPTHWISE_BLOCK) * blocks * taps;
    uint64_t windows = pixels * c * l->kh * p->kw * 2 / chip_cost(COST_L1_L0A_RATE);
    uint64_t out = pixels * c * 4 / chip_cost(COST_L0C_GM_RATE);

    return APART_BEGIN +
           later(later(cube, windows), out) * div_up(l->units, cores) / l->units;
}

/* Rows of filters in, fractals out, which overlap but for the first and the last. */
uint64_t windows_span_of_packing(const struct conv *p, unsigned cores)
{
    uint64_t taps = (uint64_t)p->kh * p->kw, bytes = conv_packed_bytes(p);
    uint64_t in = cost_gm_rows(taps * p->o, p->c / p->groups * type_bits(p->in) / 8,
                               chip_cost(COST_GM_ROW_BYTES), chip_cost(COST_ND2NZ_RATE));
    uint64_t out = bytes / chip_cost(COST_L1_GM_RATE), each = (p->o + 15) / 16;

    return chip_cost(COST_ND2NZ_FLOOR) + (in + out) / each + later(in, out) / cores;
}
