/* SPDX-License-Identifier: MIT
 *
 * The search for the fastest way to cut a program into tiles; see search.h. From coarse to fine:
 * how many rows and how far apart, what else can be chosen, where buffers lie.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/tiles/bulk.h"
#include "kernels/tile/tiles/search.h"

enum {
    LONG_ROW = 4096,
    FAR_BEYOND = 4 /* times UB: no way takes so much less than another */
};

static void keep(struct search *s, const struct candidate *c)
{
    unsigned i = s->n_best;

    while (i > 0 && c->cycles.span < s->best[i - 1].cycles.span) {
        i--;
    }
    if (s->n_best == KEPT) {
        tell_lost(s, i < KEPT ? &s->best[KEPT - 1] : c);
    }
    if (i == KEPT) {
        return;
    }
    s->n_best += s->n_best < KEPT;
    memmove(&s->best[i + 1], &s->best[i], (s->n_best - 1 - i) * sizeof(s->best[0]));
    s->best[i] = *c;
}

/* Those that come nearest to fit are told. */
static void note_unfit(struct search *s, const struct candidate *c)
{
    unsigned i = s->n_unfit;

    if (c->err != ERR_LOCAL || c->most <= chip_mem(NPU_MEM_UB)) {
        return;
    }
    while (i > 0 && c->most < s->unfit[i - 1].most) {
        i--;
    }
    if (i == PLAN_UNFIT) {
        return;
    }
    s->n_unfit += s->n_unfit < PLAN_UNFIT;
    memmove(&s->unfit[i + 1], &s->unfit[i], (s->n_unfit - 1 - i) * sizeof(*c));
    s->unfit[i] = *c;
}

/* What the program makes no difference of is the same in all ways. */
static struct way usual_way(const struct search *s, const struct way *w)
{
    struct way usual = *w;

    usual.spread = s->with_columns ? usual.spread : SPREAD_ALL;
    usual.far |= !s->with_columns && !s->with_rows;
    return usual;
}

/* A way that was not looked at yet; false: it cannot be done. */
static bool consider(struct search *s, const struct way *way)
{
    struct candidate c = {.way = usual_way(s, way), .placing = {.banks = true}};
    const struct way *w = &c.way;
    bool fits;

    for (unsigned i = 0; i < s->n_ways; i++) {
        if (s->tried[i].cols == w->cols && memcmp(&s->tried[i], w, sizeof(*w)) == 0) {
            return true;
        }
    }
    if (s->n_ways < sizeof(s->tried) / sizeof(s->tried[0])) {
        s->tried[s->n_ways++] = *w;
    }
    fits = evaluate(s, &c, true);
    if (!fits && c.err == ERR_LOCAL) {
        c.placing.banks = false;
        fits = evaluate(s, &c, false);
    }
    if (fits) {
        keep(s, &c);
    } else {
        note_unfit(s, &c);
    }
    if (!fits && (s->none.err == 0 || (c.err == ERR_LOCAL && c.most < s->none.most))) {
        s->none = c;
    }
    return fits;
}

/* Bytes of UB that a way takes, by the simplest placing. */
static uint32_t wants(struct search *s, const struct way *w)
{
    uint32_t most = 0;

    use_way(s, w);
    if (!s->e.err) {
        (void)place(&s->e, &(struct placing){0}, &most);
    }
    return s->e.err ? UINT32_MAX : most;
}

/* The most rows, or columns, that fit, from what two sizes take. */
static uint32_t most_that_fits(struct search *s, struct way w, bool columns,
                               uint32_t step)
{
    uint32_t ub = chip_mem(NPU_MEM_UB), *n = columns ? &w.cols : &w.rows;
    uint32_t one, two;
    uint64_t per_step;

    *n = step;
    w.pitch = columns ? step : w.pitch;
    one = wants(s, &w);
    *n = 2 * step;
    w.pitch = columns ? 2 * step : w.pitch;
    two = wants(s, &w);
    if (one > ub || two <= one) {
        return one > ub ? 0 : step;
    }
    per_step = two - one;
    *n = (uint32_t)((ub - one) / per_step + 1) * step;
    one += (uint32_t)(*n / step * per_step); /* the next larger one */
    *n += step;
    if (!columns && *n <= s->p->rows) {
        note_unfit(s, &(struct candidate){.way = w, .most = one, .err = ERR_LOCAL});
    }
    return *n - step;
}

/* Elements between rows: whole blocks of every type that is loaded or stored. */
uint32_t search_block(const struct program *p)
{
    uint32_t elements = BLOCK / 4;

    for (unsigned i = 1; i <= p->n; i++) {
        const struct node *n = &p->node[i];
        if (n->has == FULL && n->type != TILE_MASK && n->last) {
            uint32_t of = BLOCK / esize_of(n->type);
            elements = of > elements ? of : elements;
        }
    }
    return elements;
}

/* The size after one: of the most that fits first a little less, so that buffers may lie apart
 * by groups and banks, which is worth more than fewer starts of commands. */
static uint32_t below(uint32_t size, uint32_t most)
{
    return size == most ? most - most / 32 : (size > most / 4 * 3 ? most : size) / 4 * 3;
}

static void consider_flat(struct search *s, struct way w)
{
    uint32_t most, even;

    if (s->wanted.cols) {
        w.cols = s->wanted.cols;
        w.pitch = (uint32_t)round_up(w.cols, LANES);
        consider(s, &w);
        return;
    }
    most = most_that_fits(s, w, true, 1024);
    if (most == 0) {
        w.cols = w.pitch = 1024;
        consider(s, &w);
        return;
    }
    for (uint32_t size = most; size >= 1024; size = below(size, most)) {
        w.cols = size & ~(uint32_t)(LANES * 4 - 1);
        if (w.cols >= s->p->cols) {
            w.cols = (uint32_t)s->p->cols;
        }
        even = div_up(s->p->cols, w.cols); /* so that no tile is nearly empty */
        if (s->cores > 1 && even < s->cores * 2) {
            even = (uint32_t)round_up(even, s->cores);
        }
        if (even > 1) {
            w.cols = (uint32_t)round_up(div_up(s->p->cols, even), LANES * 4);
        }
        w.pitch = (uint32_t)round_up(w.cols, LANES * 4);
        consider(s, &w);
        if (size < most / 3) {
            break;
        }
    }
}

/* Numbers of rows with one distance between them. */
static void consider_rows(struct search *s, struct way w)
{
    uint64_t rows = div_up(s->p->rows, s->cores);
    uint32_t eights, most;

    if (s->wanted.rows) {
        w.rows = s->wanted.rows;
        consider(s, &w);
        return;
    }
    w.rows = 1;
    most = s->p->rows == 1 ? 1 : most_that_fits(s, w, false, rows >= 8 ? 8 : 1);
    if (most == 0 && rows >= 8) {
        most = most_that_fits(s, w, false, 1);
        most = most < 8 ? most : 7;
    }
    most = most < rows ? most : (uint32_t)rows;
    if (most < 8) {
        for (w.rows = most ? most : 1; w.rows; w.rows /= 2) {
            consider(s, &w);
        }
        return;
    }
    eights = most / 8;
    for (uint32_t n = eights < 31 ? eights : 31; n; n = n > 4 ? n * 2 / 3 : n - 1) {
        w.rows = n * 8;
        consider(s, &w);
    }
    if (most == rows && rows % 8) {
        w.rows = most;
        consider(s, &w);
    }
}

/* Whether something is computed in F16 of a value and one of rows or columns. */
static bool works_in_f16(const struct program *p)
{
    for (unsigned i = 1; i <= p->n; i++) {
        const struct node *n = &p->node[i];
        if (n->type == TYPE_F16 && n->has == FULL && n->last &&
            tile_op_info[n->op].operands == 2 &&
            p->node[n->in[0]].has != p->node[n->in[1]].has) {
            return true;
        }
    }
    return false;
}

static void consider_pitches(struct search *s, struct way w)
{
    uint32_t least = search_block(s->p), per_block;
    uint32_t dense = (uint32_t)round_up(w.cols, least), other = dense;

    w.pitch = dense;
    consider_rows(s, w);
    if (s->p->rows < 8) {
        return;
    }
    least = works_in_f16(s->p) ? BLOCK / 2 : least;
    per_block = works_in_f16(s->p) ? BLOCK / 2 : BLOCK / 4;
    while (other / per_block % 4 != 2 && other < dense + 4 * LANES) {
        other += least; /* until 8 rows are in even groups */
    }
    if (other != dense) {
        w.pitch = other;
        consider_rows(s, w);
    }
}

/* Where no tile has to have all columns: parts of long rows, so that there are more tiles
 * at one time. */
static void consider_columns(struct search *s, struct way w)
{
    uint32_t rows = s->wanted.rows ? s->wanted.rows : 1;

    for (unsigned parts = 2; parts <= 3; parts++) {
        w.rows = rows;
        w.cols = (uint32_t)round_up(div_up(s->p->cols, parts), LANES);
        w.pitch = w.cols;
        w.ring = s->wanted.ring ? s->wanted.ring : 3;
        consider(s, &w);
    }
}

/* What else can be chosen. */
static void consider_others(struct search *s)
{
    struct way best[2] = {s->best[0].way, s->best[s->n_best > 1].way};

    for (unsigned i = 0; i < 2; i++) {
        for (unsigned what = 0; what < 5; what++) {
            struct way w = best[i];
            w.far ^= what == 0 || what == 4;
            w.apart ^= what == 1;
            w.ring = (uint8_t)(w.ring + (what == 2));
            w.spread = what == 3 ? !w.spread : what == 4 ? SPREAD_FIRST : w.spread;
            if (!(what >= 3 && s->p->row == s->p->n_groups) &&
                !(what == 4 && (i || best[i].spread || s->with_columns == 1)) &&
                !(what == 2 && (i || s->wanted.ring || w.ring > PLAN_RING))) {
                consider(s, &w);
            }
        }
    }
}

bool search_mixes(struct search *s)
{
    for (unsigned i = 1; i <= s->p->n; i++) {
        const struct node *n = &s->p->node[i];
        for (unsigned o = 0; o < 2 && n->last && n->has == FULL; o++) {
            s->with_columns += s->p->node[n->in[o]].has == HAS_COL;
            s->with_rows |= s->p->node[n->in[o]].has == HAS_ROW;
        }
    }
    return s->with_columns || s->with_rows;
}

static bool is_by_mte2(const struct search *s)
{
    return s->n_best && s->best[0].cycles.mte2 > s->best[0].cycles.v;
}

/* Whether the Vector hardly ever waits: more tiles at one time would save nothing. */
static bool is_by_vector(const struct search *s)
{
    return s->n_best && s->best[0].cycles.v > s->best[0].cycles.span / 32 * 31;
}

/* Whether no pipe is busy for nearly as long as it all takes. */
static bool all_wait(const struct search *s)
{
    const struct tile_cycles *c = &s->best[0].cycles;

    return later(c->v, later(c->mte2, c->mte3)) < c->span / 8 * 7;
}

/* Elements that lie side by side: more buffers, or what is read alone but once, which leaves
 * room for larger tiles; larger loads where these take longest. */
static void consider_elements(struct search *s, struct way w)
{
    consider_flat(s, w);
    if (!is_by_vector(s)) {
        w.ring = s->wanted.ring ? s->wanted.ring : 3;
        consider_flat(s, w);
    }
    w.ring = s->wanted.ring ? s->wanted.ring : 2;
    w.single = s->p->k->n_params > 1;
    if (w.single || is_by_mte2(s)) {
        consider_flat(s, w);
        if (is_by_mte2(s) && s->best[0].cycles.span > BULK_WORTH) {
            w.bulk = BULK_MOST;
            consider_flat(s, w);
            w.single = false;
            consider_flat(s, w);
            if (!s->wanted.ring && all_wait(s)) {
                w.ring = 3;
                consider_flat(s, w);
            }
        }
    }
}

/* Where two tiles hold nearly 8 rows each, one at a time that does, of which each buffer is stored
 * and loaded as soon as the Vector is done with it: order.c. */
static void consider_one_by_one(struct search *s, struct way w)
{
    if (s->n_best && s->best[0].way.rows >= VEC_BLOCKS / 2 && s->p->rows >= VEC_BLOCKS &&
        s->p->k->n_results > 1 && !s->wanted.ring && !is_by_mte2(s)) {
        w.ring = 1;
        consider_pitches(s, w);
    }
}

/* Rows of which UB holds a part alone: 8, or where they meet columns alone, which is a command for
 * each, fewer and longer ones. */
static void consider_parts(struct search *s, struct way w)
{
    uint32_t rows = s->p->rows < 8 ? (uint32_t)s->p->rows : 8;
    bool fewer = s->with_columns && !s->with_rows && !s->wanted.rows;

    w.rows = s->wanted.rows ? s->wanted.rows : rows;
    do {
        w.cols = most_that_fits(s, w, true, LANES);
        w.cols = w.cols ? w.cols : LANES;
        w.pitch = w.cols;
        while (!consider(s, &w) && w.cols > LANES) { /* it was an estimate */
            w.cols = (uint32_t)round_up(w.cols / 4 * 3, LANES);
            w.pitch = w.cols;
        }
        w.rows /= 2;
    } while (fewer && w.rows > 1);
}

/* Where UB has no room for columns that are there for each row: it may have, if what the Vector
 * alone reads is there once. */
static void consider_spread(struct search *s)
{
    struct way w = s->best[0].way;

    if (s->n_best && s->p->reduces && s->with_columns && w.spread != SPREAD_ALL &&
        w.ring > 1 && w.rows >= VEC_BLOCKS && !is_by_mte2(s)) {
        w.spread = SPREAD_ALL;
        w.far = w.single = true;
        consider(s, &w);
        w.far = false;
        consider(s, &w);
    }
}

static void search(struct search *s)
{
    bool flat = s->p->row == s->p->n_groups && !s->p->reduces;
    struct way w = {.ring = 2, .far = true, .spread = true, .rows = 1};

    (void)search_mixes(s);
    w.ring = s->wanted.ring ? s->wanted.ring : w.ring;
    if (s->p->reduces_rows) {
        s->wanted.rows = (uint32_t)s->p->rows;
    }
    if (flat) {
        consider_elements(s, w);
    } else {
        w.cols = s->wanted.cols ? s->wanted.cols : (uint32_t)s->p->cols;
        consider_pitches(s, w);
        if (s->p->reduces && s->n_best == 0 &&
            s->none.most / FAR_BEYOND > chip_mem(NPU_MEM_UB)) {
            return;
        }
        if (s->n_best == 0 || s->best[0].way.rows < VEC_BLOCKS) {
            w.spread = w.far = false; /* takes less memory: there may be more rows */
            consider_pitches(s, w);
            consider_one_by_one(s, w);
        }
        if (!s->p->reduces && !s->wanted.cols && s->p->cols > LONG_ROW) {
            consider_columns(s, w);
        }
        if (s->n_best == 0 && !s->p->reduces && !s->wanted.cols) {
            consider_parts(s, w);
        }
        consider_spread(s);
    }
    if (!flat && is_by_mte2(s) && s->best[0].cycles.span > BULK_WORTH) {
        w = s->best[0].way;
        w.bulk = BULK_MOST;
        consider(s, &w);
    }
    if (s->n_best && !s->quick) {
        consider_others(s);
        for (unsigned i = 0; i < s->n_best && i < 2; i++) {
            place_better(s, &s->best[i], i);
        }
        if (s->n_best > 1 && s->best[1].cycles.span < s->best[0].cycles.span) {
            struct candidate first = s->best[0];
            s->best[0] = s->best[1];
            s->best[1] = first;
        }
    }
}

/* Sums are made in the same order for any number of cores: as one core would. */
void search_for_cores(struct search *s)
{
    unsigned cores = s->cores;
    struct candidate alone;

    if (!s->p->reduces || cores == 1) {
        search(s);
        return;
    }
    s->cores = 1;
    search(s);
    if (s->n_best == 0) {
        return;
    }
    alone = s->best[0];
    s->cores = cores;
    use_way(s, &alone.way);
    s->signature = s->e.signature;
    s->n_best = s->n_ways = s->n_lost = 0;
    search(s);
    if (s->n_best == 0) { /* then they share the tiles of one core */
        s->best[0] = alone;
        s->n_best = 1;
    }
}
