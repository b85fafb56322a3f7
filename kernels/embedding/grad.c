/* SPDX-License-Identifier: MIT
 *
 * The gradient of an embedding: which form, and its launch; see embedding.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "kernels/embedding/inside.h"

enum {
    CUBE_ROWS = EMBEDDING_SQUARE, /* of a tile: with as many columns half of L0C */
    CUBE_TOKENS = EMBEDDING_SQUARE,
    CUBE_COLUMNS = EMBEDDING_SQUARE,
    FRACTAL = 16,
    /* Instructions of the hart, measured: of an index in each form, of a product. */
    HART_SORT = 22,
    HART_ATOMIC = 66,
    HART_SORTED = 190,
    HART_CUBE = 18,
    HART_PRODUCT = 560,
    HART_TILE = 700, /* that has indices */
    HART_EMPTY = 100,
    HART_STORE = 450,  /* of a tile of products */
    CUBE_START = 4000, /* cycles until slots of ones are 0 */
};

uint32_t embedding_wrong(const struct embedding_rows *r)
{
    const int32_t *index = r->index, *end = index + (r->skip ? 0 : r->n);
    const int32_t wrap = r->from_end ? (int32_t)r->rows : 0, padding = r->padding;
    const uint32_t rows = r->rows;

    for (; index < end; index++) {
        int32_t row = *index;
        row += row < 0 ? wrap : 0;
        if ((uint32_t)row >= rows && (padding < 0 || row != padding)) {
            return (uint32_t)(index - r->index);
        }
    }
    return r->n;
}

bool embedding_wrong_told(const struct embedding_rows *r, struct sched_report *report)
{
    uint32_t wrong = embedding_wrong(r);

    if (wrong < r->n) {
        snprintf(report->text, sizeof(report->text), "index %lu is %ld, want 0 to %lu",
                 (unsigned long)wrong, (long)r->index[wrong], (unsigned long)r->rows - 1);
    }
    return wrong < r->n;
}

/* --- tiles --- */

uint32_t embedding_tile_rows(const struct embedding_grad *p, enum embedding_form form)
{
    uint32_t piece = min_u32(p->width, EMBEDDING_PIECE), rows;

    if (form == EMBEDDING_CUBE) {
        return CUBE_ROWS;
    }
    rows = EMBEDDING_SLOT / up32(piece * 4);
    rows = rows >= 8 ? rows / 8 * 8 : rows; /* they end at whole blocks */
    return rows < p->rows.rows ? rows : p->rows.rows;
}

/* A stable sort of indices by their tiles. */
static int sort(const struct embedding_grad *p, struct embedding_tiles *t)
{
    uint32_t *next, row = t->rows;

    t->n = (p->rows.rows + row - 1) / row;
    t->start = calloc((size_t)t->n + 2 + p->rows.n, sizeof(*t->start));
    if (t->start == NULL) {
        return ERR_NOMEM;
    }
    t->token = t->start + t->n + 2;
    next = t->start + 1; /* becomes where each tile begins, then where it ends */
    for (uint32_t i = 0; i < p->rows.n; i++) {
        int32_t at = embedding_row(&p->rows, i);
        if (at >= 0) {
            next[(uint32_t)at / row + 1]++;
        }
    }
    for (uint32_t i = 0; i < t->n; i++) {
        next[i + 1] += next[i];
    }
    for (uint32_t i = 0; i < p->rows.n; i++) {
        int32_t at = embedding_row(&p->rows, i);
        if (at >= 0) {
            t->token[next[(uint32_t)at / row]++] = i;
        }
    }
    return 0;
}

/* --- the choice --- */

/* Of a transfer of rows; short rows cost as much as longer ones. */
static uint64_t moved(enum npu_cost fixed, enum npu_cost rate, uint64_t row,
                      uint64_t rows)
{
    uint64_t least = chip_cost(COST_GM_ROW_BYTES);

    return chip_cost(fixed) +
           (row < least && rows > 1 ? least : row) * rows / chip_cost(rate);
}

/* All of dw from UB, in buffers. */
static uint64_t stored(uint64_t bytes)
{
    uint64_t slots = (bytes + EMBEDDING_SLOT - 1) / EMBEDDING_SLOT;

    return slots * chip_cost(COST_UB_GM_FIXED) + bytes / chip_cost(COST_UB_GM_RATE);
}

/* Tiles that have indices, if these are anywhere. */
static double met(double tiles, double tokens)
{
    return tiles <= 1 ? tiles : tiles * (1 - exp(tokens * log1p(-1 / tiles)));
}

static uint64_t cycles_of_cube(const struct embedding_grad *p)
{
    uint64_t columns = (p->width + CUBE_COLUMNS - 1) / CUBE_COLUMNS;
    uint64_t wide = (min_u32(p->width, CUBE_COLUMNS) + FRACTAL - 1) / FRACTAL;
    uint64_t high = (min_u32(p->rows.rows, CUBE_ROWS) + FRACTAL - 1) / FRACTAL;
    uint64_t tokens = min_u32(p->rows.n, CUBE_TOKENS);
    double tiles = (double)((p->rows.rows + CUBE_ROWS - 1) / CUBE_ROWS);
    double chunks = (double)((p->rows.n + CUBE_TOKENS - 1) / CUBE_TOKENS);
    double products = chunks * met(tiles, (double)tokens) * (double)columns;
    uint64_t cube =
        high * wide * (tokens + FRACTAL - 1) / FRACTAL + chip_cost(COST_MMAD_FIRST);
    uint64_t in =
        tokens * wide * 32 / chip_cost(COST_ND2NZ_RATE) + chip_cost(COST_ND2NZ_FIXED);
    uint64_t l0 = tokens * wide * 32 / chip_cost(COST_L1_L0B_RATE) +
                  high * FRACTAL * tokens * 2 / chip_cost(COST_L1_L0A_RATE);
    uint64_t out = (uint64_t)p->rows.rows * p->width * 4 / chip_cost(COST_UB_GM_RATE);
    double each = (double)max_u64(max_u64(cube, in), l0);
    double hart =
        products * HART_PRODUCT + met(tiles, p->rows.n) * (double)columns * HART_STORE;
    uint64_t engines = max_u64((uint64_t)(products * each), out);

    return max_u64(engines, (uint64_t)hart) + CUBE_START +
           p->rows.n * (HART_SORT + HART_CUBE * columns);
}

/* Of tiles in UB. */
static uint64_t hart_of_tiles(const struct embedding_grad *p)
{
    uint32_t rows = embedding_tile_rows(p, EMBEDDING_SORTED);
    double tiles = (double)((p->rows.rows + rows - 1) / rows);

    return (uint64_t)(met(tiles, p->rows.n) * HART_TILE + tiles * HART_EMPTY) +
           p->rows.n * HART_SORTED;
}

uint64_t embedding_grad_cycles(const struct embedding_grad *p, enum embedding_form form)
{
    uint64_t dw = (uint64_t)p->rows.rows * p->width * 4, n = p->rows.n;
    uint64_t esize = type_bits(p->type) / 8, row = p->width * 4;
    uint64_t in, out, v;

    switch (form) {
    case EMBEDDING_ATOMIC:
        out = moved(COST_UB_GM_FIXED, COST_UB_GM_RATE, row, 1);
        return stored(dw) + n * max_u64(out, HART_ATOMIC);
    case EMBEDDING_SORTED:
        in = moved(COST_GM_UB_FIXED, COST_GM_UB_RATE, p->width * esize, 1);
        v = 24 + (row + 255) / 256 * (p->type == TYPE_F16 ? 2 : 1);
        return max_u64(max_u64(stored(dw), n * max_u64(in, v)), hart_of_tiles(p)) +
               n * HART_SORT;
    case EMBEDDING_CUBE:
        return p->type == TYPE_F16 ? cycles_of_cube(p) : 0;
    default:
        return 0;
    }
}

enum embedding_form embedding_grad_form(const struct embedding_grad *p)
{
    enum embedding_form best = EMBEDDING_ATOMIC;
    uint64_t least = UINT64_MAX;

    for (unsigned i = EMBEDDING_ATOMIC; i < EMBEDDING_FORMS; i++) {
        uint64_t cycles = embedding_grad_cycles(p, (enum embedding_form)i);
        if (cycles && cycles < least) {
            least = cycles;
            best = (enum embedding_form)i;
        }
    }
    return best;
}

/* --- the launch --- */

static const struct form {
    const char *name;
    void (*kernel)(void *arg);
    bool sorted;
} forms[EMBEDDING_FORMS] = {
    [EMBEDDING_ATOMIC] = {"embedding_grad_atomic", embedding_atomic, false},
    [EMBEDDING_SORTED] = {"embedding_grad_sorted", embedding_sorted, true},
    [EMBEDDING_CUBE] = {"embedding_grad_cube", embedding_cube, true},
};

int embedding_grad(const struct embedding_grad *p, struct sched_report *report)
{
    enum embedding_form as = p->form ? p->form : embedding_grad_form(p);
    struct embedding_run run = {.p = p};
    struct launch l = {forms[as].name, forms[as].kernel, &run, .cores = p->cores};
    int err = 0;

    report->text[0] = 0;
    if (!p->dx || !p->dw || !p->rows.index || p->rows.n == 0 || p->rows.rows == 0 ||
        p->width == 0 || p->rows.rows > INT32_MAX) {
        return ERR_ARG;
    }
    if ((p->type != TYPE_F16 && p->type != TYPE_F32) ||
        embedding_grad_cycles(p, as) == 0) {
        return ERR_TYPE;
    }
    if (embedding_wrong_told(&p->rows, report)) {
        return ERR_ARG;
    }
    run.tiles.rows = embedding_tile_rows(p, as);
    run.tiles.n = (p->rows.rows + run.tiles.rows - 1) / run.tiles.rows;
    if (forms[as].sorted) {
        err = sort(p, &run.tiles);
    }
    err = err ? err : launch(&l, report);
    free(run.tiles.start);
    return err;
}
