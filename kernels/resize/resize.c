/* SPDX-License-Identifier: MIT
 *
 * Linear interpolation as two products; see resize.h.
 */
#include "kernels/resize/resize.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/lib/f16.h"
#include "kernels/tile/text.h"

enum { TEXT = 256, ALIGN = 512 };

static const char along_columns[] =
    "kernel columns(x: %s[m, w, c], b: %s[q, w]) -> y: %s[m, q, c]\n"
    "    y = %s(%s b, w))\n";
static const char along_rows[] =
    "kernel rows(x: %s[n, h, r], a: %s[p, h]) -> y: %s[n, p, r]\n"
    "    y = %s(%s a, h))\n";

double resize_weight(bool corners, uint32_t of_x, uint32_t of_y, uint32_t from,
                     uint32_t to)
{
    double last = of_x - 1.0, at = (to + 0.5) * of_x / of_y - 0.5;

    if (corners) {
        at = of_y > 1 ? to * last / (of_y - 1.0) : 0;
    }
    return fmax(0, 1 - fabs(fmin(fmax(at, 0), last) - from));
}

static uint64_t elements(const struct resize *p, uint32_t rows, uint32_t columns)
{
    return (uint64_t)p->n * rows * p->c * columns;
}

static int check(const struct resize *p, struct tile_error *error)
{
    if (p->type != TYPE_F32 && p->type != TYPE_F16) {
        return program_refuse(error, NULL, ERR_TYPE, "x is neither f32 nor f16");
    }
    if (elements(p, p->h, p->w) == 0 || p->rows == 0 || p->columns == 0) {
        return program_refuse(error, NULL, ERR_ARG, "a size of 0");
    }
    if (elements(p, p->h, p->w) > INT32_MAX ||
        elements(p, p->h, p->columns) > INT32_MAX ||
        elements(p, p->rows, p->columns) > INT32_MAX) {
        return program_refuse(error, NULL, ERR_SHAPE, "2^31 elements and more");
    }
    return 0;
}

static struct tile_kernel *program(const struct resize *p, unsigned step,
                                   struct tile_arena *arena, struct tile_error *error)
{
    const char *type = p->type == TYPE_F16 ? "f16" : "f32";
    const struct {
        const char *name;
        uint32_t size;
    } dims[RESIZE_STEPS][4] = {
        {{"m", p->n * p->h}, {"w", p->w}, {"c", p->c}, {"q", p->columns}},
        {{"n", p->n}, {"h", p->h}, {"r", p->columns * p->c}, {"p", p->rows}}};
    struct tile_kernel *k;
    char text[TEXT];

    snprintf(text, sizeof(text), step == 0 ? along_columns : along_rows, type, type, type,
             type, chip_has_type(PIPE_M, p->type) ? "dot(x," : "sum(x *");
    k = tile_parse(arena, text, strlen(text), NULL, error);
    for (unsigned d = 0; k && d < 4; d++) {
        if (tile_set_size(k, tile_find_dim(k, dims[step][d].name), dims[step][d].size)) {
            *error = k->error;
            return NULL;
        }
    }
    return k;
}

int resize_plan(struct tile_chain *plan, const struct resize *p, struct tile_arena *arena,
                struct tile_error *error)
{
    int err = check(p, error);

    plan->n = 0;
    for (unsigned i = 0; i < RESIZE_STEPS && !err; i++) {
        struct tile_kernel *k = program(p, i, arena, error);
        err = k ? tile_chain_add(plan, k, p->cores, arena, error) : ERR_SHAPE;
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
    return err ? err
               : tile_chain_run(plan, "resize", p->cores, call, r + at.scratch, report);
}
