/* SPDX-License-Identifier: MIT
 *
 * Normalisation over near channels as steps of a launch; see lrn.h.
 */
#include "kernels/lrn/lrn.h"

#include <stdio.h>

#include "kernels/tile/text/text.h"

enum { TEXT = 512, ALIGN = 512 };

static const char squares[] = "kernel squares(x: %s[n, c, p]) -> y: f32[n, c, p]\n"
                              "    y = f32(x) * f32(x)\n";

/* Planes of another image, or of none, are in a window and do not count. */
static const char divide[] =
    "kernel divide(x: %s[n, c, p], w: f32[n, c, k, p]) -> y: %s[n, c, p]\n"
    "    s = sum(where(and(c + k >= %lu, c + k < %lu), w, 0), k)\n"
    "    y = %s(x * exp(log((%.9g) + (%.9g) * s) * (%.9g)))\n";

static uint32_t before(const struct lrn *p)
{
    return (p->size - 1) / 2;
}

static int check(const struct lrn *p, struct tile_error *error)
{
    uint64_t windows = (uint64_t)p->n * p->c * p->pixels;

    if (p->type != TYPE_F32 && p->type != TYPE_F16) {
        return tile_error_set(error, NULL, ERR_TYPE, "x is neither f32 nor f16");
    }
    if (windows == 0 || p->size == 0) {
        return tile_error_set(error, NULL, ERR_ARG, "a size of 0");
    }
    if (windows > INT32_MAX / p->size || p->c > INT32_MAX - p->size) {
        return tile_error_set(error, NULL, ERR_SHAPE,
                              "windows of 2^31 elements and more");
    }
    if (!(p->alpha - p->alpha == 0 && p->beta - p->beta == 0 && p->bias > 0)) {
        return tile_error_set(error, NULL, ERR_ARG,
                              "alpha or beta no number, or bias not above 0");
    }
    return 0;
}

/* The program of step i for the sizes of p. */
static int program(struct tile_kernel **k, const struct lrn *p, unsigned i,
                   struct tile_arena *arena, struct tile_error *error)
{
    const char *type = p->type == TYPE_F16 ? "f16" : "f32";
    const struct tile_size sizes[] = {
        {"n", p->n}, {"c", p->c}, {"p", p->pixels}, {"k", p->size}};
    char text[TEXT];
    int err;

    if (i == 0) {
        snprintf(text, sizeof(text), squares, type);
    } else {
        snprintf(text, sizeof(text), divide, type, type, (unsigned long)before(p),
                 (unsigned long)before(p) + p->c, type, (double)p->bias,
                 (double)p->alpha / p->size, -(double)p->beta);
    }
    err = tile_parse_sized(k, text, sizes, 3 + i, arena, error);
    if (!err && i == 1) { /* from a window to the next it is one plane */
        (*k)->param[1].row = 2;
        (*k)->param[1].apart = p->pixels;
    }
    return err;
}

int lrn_plan(struct tile_chain *plan, const struct lrn *p, struct tile_arena *arena,
             struct tile_error *error)
{
    int err = check(p, error);

    plan->n = 0;
    for (unsigned i = 0; i < LRN_STEPS && !err; i++) {
        struct tile_kernel *k;
        err = program(&k, p, i, arena, error);
        err = err ? err : tile_chain_add(plan, k, p->cores, arena, error);
    }
    return err;
}

/* --- the launch --- */

/* Squares, and zeros before the first plane and behind the last one. */
static uint64_t square_bytes(const struct lrn *p)
{
    uint64_t bytes = ((uint64_t)p->n * p->c + p->size - 1) * p->pixels * sizeof(float);

    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

uint64_t lrn_room(const struct tile_chain *plan, const struct lrn *p)
{
    return square_bytes(p) + tile_chain_scratch(plan);
}

int lrn(const struct tile_chain *plan, const struct lrn *p, void *room,
        struct sched_report *report)
{
    char *first = (char *)room + (uint64_t)before(p) * p->pixels * sizeof(float);
    const struct tile_call call[LRN_STEPS] = {{.in = {p->x}, .out = {first}},
                                              {.in = {p->x, room}, .out = {p->y}}};
    struct tile_error error;
    int err = check(p, &error);

    report->text[0] = 0;
    return err ? err
               : tile_chain_run(plan, "lrn", p->cores, call,
                                (char *)room + square_bytes(p), report);
}
