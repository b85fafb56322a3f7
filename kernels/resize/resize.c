/* SPDX-License-Identifier: MIT
 *
 * Linear interpolation as two products; see resize.h.
 */
#include "kernels/resize/resize.h"

#include <math.h>
#include <stdio.h>

#include "hal/chip.h"
#include "kernels/lib/f16.h"
#include "kernels/tile/text/text.h"

enum { TEXT = 256, ALIGN = 512 };

static const char along_columns[] =
    "kernel columns(x: %s[m, w, c], b: %s[q, w]) -> y: %s[m, q, c]\n"
    "    y = %s(%s b, w))\n";
static const char along_rows[] =
    "kernel rows(x: %s[n, h, r], a: %s[p, h]) -> y: %s[n, p, r]\n"
    "    y = %s(%s a, h))\n";

/* Where element `to` lies among those of x. */
static double place(bool corners, uint32_t of_x, uint32_t of_y, uint32_t to)
{
    double last = of_x - 1.0, at = (to + 0.5) * of_x / of_y - 0.5;

    if (corners) {
        at = of_y > 1 ? to * last / (of_y - 1.0) : 0;
    }
    return fmin(fmax(at, 0), last);
}

double resize_weight(bool corners, uint32_t of_x, uint32_t of_y, uint32_t from,
                     uint32_t to)
{
    return fmax(0, 1 - fabs(place(corners, of_x, of_y, to) - from));
}

uint32_t resize_first(bool corners, uint32_t of_x, uint32_t of_y, uint32_t to)
{
    return (uint32_t)place(corners, of_x, of_y, to);
}

static uint64_t elements(const struct resize *p, uint32_t rows, uint32_t columns)
{
    return (uint64_t)p->n * rows * p->c * columns;
}

static int check(const struct resize *p, struct tile_error *error)
{
    if (p->type != TYPE_F32 && p->type != TYPE_F16) {
        return tile_error_set(error, NULL, ERR_TYPE, "x is neither f32 nor f16");
    }
    if (elements(p, p->h, p->w) == 0 || p->rows == 0 || p->columns == 0) {
        return tile_error_set(error, NULL, ERR_ARG, "a size of 0");
    }
    if (elements(p, p->h, p->w) > INT32_MAX ||
        elements(p, p->h, p->columns) > INT32_MAX ||
        elements(p, p->rows, p->columns) > INT32_MAX) {
        return tile_error_set(error, NULL, ERR_SHAPE, "2^31 elements and more");
    }
    return 0;
}

static int program(struct tile_kernel **k, const struct resize *p, unsigned step,
                   struct tile_arena *arena, struct tile_error *error)
{
    const char *type = p->type == TYPE_F16 ? "f16" : "f32";
    const struct tile_size sizes[RESIZE_STEPS][4] = {
        {{"m", p->n * p->h}, {"w", p->w}, {"c", p->c}, {"q", p->columns}},
        {{"n", p->n}, {"h", p->h}, {"r", p->columns * p->c}, {"p", p->rows}}};
    char text[TEXT];

    snprintf(text, sizeof(text), step == 0 ? along_columns : along_rows, type, type, type,
             type, chip_has_type(PIPE_M, p->type) ? "dot(x," : "sum(x *");
    return tile_parse_sized(k, text, sizes[step], 4, arena, error);
}

int resize_plan(struct tile_chain *plan, const struct resize *p, struct tile_arena *arena,
                struct tile_error *error)
{
    int err = check(p, error);

    plan->n = 0;
    for (unsigned i = 0; i < RESIZE_STEPS && !err; i++) {
        struct tile_kernel *k;
        err = program(&k, p, i, arena, error);
        err = err ? err : tile_chain_add(plan, k, p->cores, arena, error);
    }
    return err;
}

/* --- the launch --- */

/* Where in the room it begins: b, a, what lies between, what the steps want. */
struct places {
    uint64_t b, a, between, scratch;
};

static struct places places_of(const struct resize *p)
{
    uint64_t bytes = type_bits(p->type) / 8, up = ALIGN - 1;
    struct places at = {0};

    at.a = at.b + (((uint64_t)p->columns * p->w * bytes + up) & ~up);
    at.between = at.a + (((uint64_t)p->rows * p->h * bytes + up) & ~up);
    at.scratch = at.between + ((elements(p, p->h, p->columns) * bytes + up) & ~up);
    return at;
}

uint64_t resize_room(const struct tile_chain *plan, const struct resize *p)
{
    return places_of(p).scratch + tile_chain_scratch(plan);
}

static void weigh(const struct resize *p, void *to, uint32_t of_x, uint32_t of_y)
{
    for (uint32_t i = 0; i < of_y; i++) {
        for (uint32_t j = 0; j < of_x; j++) {
            float x = (float)resize_weight(p->corners, of_x, of_y, j, i);
            uint64_t at = (uint64_t)i * of_x + j;
            if (p->type == TYPE_F16) {
                ((uint16_t *)to)[at] = f32_to_f16(x);
            } else {
                ((float *)to)[at] = x;
            }
        }
    }
}

void resize_weights(const struct resize *p, void *room)
{
    struct places at = places_of(p);

    weigh(p, (char *)room + at.b, p->w, p->columns);
    weigh(p, (char *)room + at.a, p->h, p->rows);
}

/* --- channels that zeros have spoilt --- */

static float number(const struct resize *p, const void *of, uint64_t i)
{
    return p->type == TYPE_F16 ? f16_to_f32(((const uint16_t *)of)[i])
                               : ((const float *)of)[i];
}

static void put(const struct resize *p, uint64_t i, float x)
{
    if (p->type == TYPE_F16) {
        ((uint16_t *)p->y)[i] = f32_to_f16(x);
    } else {
        ((float *)p->y)[i] = x != x ? NAN : x;
    }
}

/* Of two numbers, the second of which may not be there, and their weights. */
static float two(const struct resize *p, const float x[2], const float weight[2])
{
    float sum = weight[0] != 0 ? x[0] * weight[0] : 0;

    sum = weight[1] != 0 ? fmaf(x[1], weight[1], sum) : sum;
    return p->type == TYPE_F16 ? f16_to_f32(f32_to_f16(sum)) : sum;
}

/* Weights of element `to` by the table that weigh() has made; the first that has one. */
static uint32_t taps(const struct resize *p, const void *table, uint32_t of_x,
                     uint32_t of_y, uint32_t to, float weight[2])
{
    uint32_t first = resize_first(p->corners, of_x, of_y, to);
    uint64_t at = (uint64_t)to * of_x + first;

    weight[0] = number(p, table, at);
    weight[1] = first + 1 < of_x ? number(p, table, at + 1) : 0;
    return first;
}

static void again(const struct resize *p, const char *room, uint32_t image, uint32_t c)
{
    struct places at = places_of(p);

    for (uint32_t r = 0; r < p->rows; r++) {
        float a[2], b[2], line[2] = {0}, x[2] = {0};
        uint32_t h = taps(p, room + at.a, p->h, p->rows, r, a);
        for (uint32_t q = 0; q < p->columns; q++) {
            uint32_t w = taps(p, room + at.b, p->w, p->columns, q, b);
            for (uint32_t i = 0; i < 2 && h + i < p->h; i++) {
                uint64_t from = (((uint64_t)image * p->h + h + i) * p->w + w) * p->c + c;
                x[0] = number(p, p->x, from);
                x[1] = w + 1 < p->w ? number(p, p->x, from + p->c) : 0;
                line[i] = two(p, x, b);
            }
            put(p, (((uint64_t)image * p->rows + r) * p->columns + q) * p->c + c,
                two(p, line, a));
        }
    }
}

static void mend(const struct resize *p, const char *room)
{
    uint64_t image = (uint64_t)p->rows * p->columns * p->c;

    for (uint32_t n = 0; n < p->n; n++) {
        for (uint32_t c = 0; c < p->c; c++) {
            if (isnan(number(p, p->y, n * image + c))) {
                again(p, room, n, c);
            }
        }
    }
}

int resize(const struct tile_chain *plan, const struct resize *p, void *room,
           struct sched_report *report)
{
    struct places at = places_of(p);
    char *r = room;
    const struct tile_call call[RESIZE_STEPS] = {
        {.in = {p->x, r + at.b}, .out = {r + at.between}},
        {.in = {r + at.between, r + at.a}, .out = {p->y}}};
    struct tile_error error;
    int err = check(p, &error);

    report->text[0] = 0;
    err = err ? err
              : tile_chain_run(plan, "resize", p->cores, call, r + at.scratch, report);
    if (!err) {
        mend(p, room);
    }
    return err;
}
