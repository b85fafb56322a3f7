/* SPDX-License-Identifier: MIT
 *
 * Which way elements are moved; see inside.h.
 */
#include "kernels/lib/share.h"
#include "kernels/move/inside.h"

enum {
    SQUARE = 16,  /* rows that VTRANSDATA takes */
    RUN = 512,    /* bytes of a row of x, for the full rate */
    LEAST_B = 64, /* rows of a tile that is transposed, if there are so many */
};

/* Dimensions of 1 are none; what lies side by side in both arrays is one. */
static void put_together(const struct move *m, struct move_job *j)
{
    for (uint32_t d = 0; d < m->ndim; d++) {
        uint64_t x_step = m->x ? m->dim[d].x_step : m->dim[d].y_step;
        struct move_axis next = {m->dim[d].size, x_step * m->esize,
                                 m->dim[d].y_step * m->esize};
        struct move_axis *last = j->n ? &j->other[j->n - 1] : NULL;
        if (next.size == 1) {
            continue;
        }
        if (last && last->x == next.x * next.size && last->y == next.y * next.size) {
            *last = (struct move_axis){last->size * next.size, next.x, next.y};
        } else {
            j->other[j->n++] = next;
        }
    }
}

/* Takes a dimension out of the others. */
static struct move_axis take(struct move_job *j, uint32_t d)
{
    struct move_axis axis = j->other[d];

    j->n--;
    for (; d < j->n; d++) {
        j->other[d] = j->other[d + 1];
    }
    return axis;
}

/* The dimension in which elements lie side by side in x, or in y; n: none. */
static uint32_t side_by_side(const struct move_job *j, bool y)
{
    uint32_t d = 0;

    while (d < j->n && (y ? j->other[d].y : j->other[d].x) != j->esize) {
        d++;
    }
    return d;
}

/* Rows of one command: the longest dimension whose rows do not overlap in x. */
static void take_rows(struct move_job *j, uint64_t run)
{
    uint32_t best = j->n;

    for (uint32_t d = 0; d < j->n; d++) {
        if (j->other[d].x >= run && j->other[d].x - run <= UINT32_MAX &&
            j->other[d].y >= run && j->other[d].y - run <= UINT32_MAX &&
            (best == j->n || j->other[d].size > j->other[best].size)) {
            best = d;
        }
    }
    if (best < j->n) {
        j->b = take(j, best);
    }
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static void cut_runs(struct move_job *j)
{
    uint32_t slot = j->x ? MOVE_SLOT : MOVE_PATTERN;

    j->ta = least(j->a.size, slot / j->esize);
    j->tb = least(j->b.size, MOVE_MOST_ROWS);
    j->tb = least(j->tb, slot / (move_blocks(j->ta, j->esize) * MOVE_BLOCK));
}

/* Rows whose elements are interleaved: whole blocks of each, so that results are one run. */
static void cut_planes(struct move_job *j)
{
    uint32_t most = MOVE_SLOT / ((uint32_t)j->b.size * MOVE_BLOCK) * MOVE_BLOCK;

    j->ta = least(j->a.size, most / j->esize);
    j->tb = (uint32_t)j->b.size;
}

/* Of what is transposed: rows of x as long as is fast, then as many as there is room for, of
 * which the others become as many rows. */
static void cut_squares(struct move_job *j)
{
    uint32_t per_block = MOVE_BLOCK / j->esize,
             step = per_block > SQUARE ? per_block : SQUARE;
    uint32_t most_b;

    j->ta = least(j->a.size, RUN / j->esize);
    most_b = MOVE_SLOT / (move_blocks(j->ta, j->esize) * MOVE_BLOCK) / step * step;
    j->tb = least((j->b.size + step - 1) / step * step, most_b);
    if (j->tb >= j->b.size && j->tb < most_b) { /* few: longer ones of them */
        j->ta = least(j->a.size, MOVE_SLOT / (j->tb * j->esize) / per_block * per_block);
    }
    while (j->tb < LEAST_B && j->tb < j->b.size && j->ta > per_block) {
        j->ta /= 2;
        j->tb = least(2 * j->tb, MOVE_MOST_ROWS);
    }
    j->tb = least(j->tb, MOVE_MOST_ROWS / step * step);
    while (move_blocks(j->tb, j->esize) * MOVE_BLOCK * move_blocks(j->ta, j->esize) *
               per_block >
           MOVE_SLOT) {
        j->tb -= step;
    }
}

void move_plan(const struct move *m, bool alone, struct move_job *j)
{
    uint32_t in_x, in_y;

    *j = (struct move_job){.x = m->x, .y = m->y, .esize = m->esize};
    j->a = j->b = (struct move_axis){1, m->esize, m->esize};
    put_together(m, j);
    in_x = side_by_side(j, false);
    in_y = side_by_side(j, true);
    if (in_x < j->n && in_x == in_y) {
        j->a = take(j, in_x);
    } else if (alone && in_x < j->n && in_y < j->n && m->esize <= 4 &&
               j->other[in_y].x > m->esize && j->other[in_y].x <= UINT32_MAX &&
               j->other[in_x].y <= UINT32_MAX) {
        j->transposes = true;
        j->a = j->other[in_x];
        j->b = j->other[in_y];
        (void)take(j, in_x > in_y ? in_x : in_y);
        (void)take(j, in_x > in_y ? in_y : in_x);
    }
    j->interleaves = j->transposes && (j->b.size & (j->b.size - 1)) == 0 &&
                     j->b.size <= MOVE_PLANES && j->a.y == j->b.size * j->esize;
    if (j->interleaves) {
        cut_planes(j);
    } else if (j->transposes) {
        cut_squares(j);
    } else {
        take_rows(j, j->a.size * m->esize);
        cut_runs(j);
    }
    j->tiles_a = (j->a.size + j->ta - 1) / j->ta;
    j->tiles_b = (j->b.size + j->tb - 1) / j->tb;
    j->units = j->tiles_a * j->tiles_b;
    for (uint32_t d = 0; d < j->n; d++) {
        j->units *= j->other[d].size;
    }
}

struct move_tile move_tile(const struct move_job *j, uint64_t unit)
{
    uint64_t a = unit % j->tiles_a * j->ta, b = unit / j->tiles_a % j->tiles_b * j->tb;
    uint64_t i = unit / j->tiles_a / j->tiles_b;
    struct move_tile t = {j->x + a * j->a.x + b * j->b.x, j->y + a * j->a.y + b * j->b.y,
                          least(j->a.size - a, j->ta), least(j->b.size - b, j->tb)};

    for (uint32_t d = j->n; d-- > 0; i /= j->other[d].size) {
        t.x += i % j->other[d].size * j->other[d].x;
        t.y += i % j->other[d].size * j->other[d].y;
    }
    return t;
}

struct mte_rows move_rows_in(const struct move_job *j, const struct move_tile *t)
{
    return (struct mte_rows){.n_rows = t->b,
                             .row_bytes = t->a * j->esize,
                             .gm_pitch_bytes = t->b > 1 ? (uint32_t)j->b.x : 0};
}

struct mte_rows move_rows_out(const struct move_job *j, const struct move_tile *t)
{
    struct mte_rows rows = {.n_rows = t->b,
                            .row_bytes = t->a * j->esize,
                            .gm_pitch_bytes = t->b > 1 ? (uint32_t)j->b.y : 0};

    if (j->interleaves) {
        rows.gm_pitch_bytes = rows.row_bytes;
    } else if (j->transposes) {
        rows.n_rows = t->a;
        rows.row_bytes = t->b * j->esize;
        rows.gm_pitch_bytes = t->a > 1 ? (uint32_t)j->a.y : 0;
        rows.local_pitch_bytes = move_blocks(j->tb, j->esize) * MOVE_BLOCK;
    }
    return rows;
}
