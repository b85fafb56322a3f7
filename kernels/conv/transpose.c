/* SPDX-License-Identifier: MIT
 *
 * Transposed convolution as convolutions side by side; see transpose.h.
 */
#include "kernels/conv/transpose.h"

#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "kernels/conv/inside.h"
#include "sched/launch.h"

enum { MOST = 255 /* of LOAD3D's pads and dilations */, MOST_STRIDE = 63 };

/* --- parts --- */

/* One side of the whole, and what a part has of it. */
struct side {
    const char *size;
    uint32_t map, taps, stride, dilation, more;
    int32_t before, after;
};
struct half {
    uint32_t first, step, taps, dilation, places; /* places: of y */
    int32_t before, after;
};

static struct side rows_of(const struct conv_transpose *t)
{
    const struct conv *p = &t->p;

    return (struct side){"h",           p->h,      p->kh,      p->stride_h,
                         p->dilation_h, t->more_h, p->pad_top, p->pad_bottom};
}

static struct side columns_of(const struct conv_transpose *t)
{
    const struct conv *p = &t->p;

    return (struct side){"w",           p->w,      p->kw,       p->stride_w,
                         p->dilation_w, t->more_w, p->pad_left, p->pad_right};
}

static int64_t places_of(const struct side *s)
{
    return (int64_t)(s->map - 1) * s->stride + (int64_t)(s->taps - 1) * s->dilation + 1 +
           s->more - s->before - s->after;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
    return b ? divisor(b, a % b) : a;
}

/* Places a, a + stride, .. of y. Their taps are every (stride / g)-th from the first for which
 * the formula's division leaves nothing; from one to the next x goes back by dilation / g. */
static struct half half_of(const struct side *s, uint32_t a)
{
    uint32_t g = divisor(s->stride, s->dilation), step = s->stride / g, first = 0;
    uint32_t places = ((uint32_t)places_of(s) - a + s->stride - 1) / s->stride;
    struct half h = {.step = step, .dilation = s->dilation / g, .places = places};
    int64_t at = (int64_t)a + s->before;

    while (first < step && (at - (int64_t)first * s->dilation) % s->stride != 0) {
        first++;
    }
    if (first < step && first < s->taps) {
        h.first = first;
        h.taps = (s->taps - 1 - first) / step + 1;
        int32_t reach = (int32_t)((h.taps - 1) * h.dilation);
        h.before = reach - (int32_t)((at - (int64_t)first * s->dilation) / s->stride);
        h.after = (int32_t)(places - s->map) + reach - h.before;
    } else {
        h.after = (int32_t)(places - s->map);
    }
    return h;
}

uint32_t conv_transpose_oh(const struct conv_transpose *t)
{
    struct side s = rows_of(t);

    return (uint32_t)places_of(&s);
}

uint32_t conv_transpose_ow(const struct conv_transpose *t)
{
    struct side s = columns_of(t);

    return (uint32_t)places_of(&s);
}

/* Of a side of y that is shorter than a stride there are fewer. */
static uint32_t parts_across(const struct conv_transpose *t)
{
    return min_u32(t->p.stride_w, conv_transpose_ow(t));
}

uint32_t conv_transpose_parts(const struct conv_transpose *t)
{
    return min_u32(t->p.stride_h, conv_transpose_oh(t)) * parts_across(t);
}

void conv_transpose_part(const struct conv_transpose *t, uint32_t i, struct conv *p,
                         struct conv_part *part)
{
    struct side rows = rows_of(t), columns = columns_of(t);
    uint32_t row = i / parts_across(t), col = i % parts_across(t);
    struct half high = half_of(&rows, row), wide = half_of(&columns, col);

    *part = (struct conv_part){.to = {(uint32_t)places_of(&rows),
                                      (uint32_t)places_of(&columns), row, col,
                                      t->p.stride_h, t->p.stride_w},
                               .taps = t->p.kh * t->p.kw,
                               .kw = t->p.kw,
                               .row = high.first,
                               .col = wide.first,
                               .row_step = high.step,
                               .col_step = wide.step,
                               .empty = high.taps == 0 || wide.taps == 0};
    *p = t->p;
    p->part = part;
    p->kh = high.taps ? high.taps : 1;
    p->kw = wide.taps ? wide.taps : 1;
    p->stride_h = p->stride_w = 1;
    p->dilation_h = high.dilation;
    p->dilation_w = wide.dilation;
    p->pad_top = high.before;
    p->pad_bottom = high.after;
    p->pad_left = wide.before;
    p->pad_right = wide.after;
}

/* --- what is wrong --- */

static int check_side(const struct side *s, char why[CONV_TEXT])
{
    if (s->stride == 0 || s->stride > MOST_STRIDE || s->dilation == 0 ||
        s->dilation > MOST || s->before < 0 || s->before > MOST || s->after < 0 ||
        s->after > MOST) {
        snprintf(why, CONV_TEXT,
                 "along %s: stride %lu (1 to %d), dilation %lu (1 to %d), pads %ld, %ld "
                 "(0 to %d)",
                 s->size, (unsigned long)s->stride, MOST_STRIDE,
                 (unsigned long)s->dilation, MOST, (long)s->before, (long)s->after, MOST);
        return ERR_ARG;
    }
    if (s->more >= s->stride && s->more >= s->dilation) {
        snprintf(why, CONV_TEXT,
                 "along %s: an output padding of %lu, not below the stride, %lu, or the "
                 "dilation, %lu",
                 s->size, (unsigned long)s->more, (unsigned long)s->stride,
                 (unsigned long)s->dilation);
        return ERR_ARG;
    }
    if (places_of(s) < 1 || places_of(s) > INT32_MAX) {
        snprintf(why, CONV_TEXT, "along %s: y would have %lld", s->size,
                 (long long)places_of(s));
        return ERR_SHAPE;
    }
    return 0;
}

static int check_part(const struct conv *p, char why[CONV_TEXT])
{
    if (p->pad_top > MOST || p->pad_bottom > MOST || p->pad_left > MOST ||
        p->pad_right > MOST) {
        snprintf(why, CONV_TEXT, "windows reach more than %d beyond x", MOST);
        return ERR_ARG;
    }
    return conv_check(p, why);
}

int conv_transpose_check(const struct conv_transpose *t, char why[CONV_TEXT])
{
    struct side rows = rows_of(t), columns = columns_of(t);
    struct conv p = t->p;
    struct conv_part part;
    int err = 0;

    if (p.act > CONV_LEAKY || p.add || p.scales) {
        snprintf(why, CONV_TEXT, "no transposed convolution with what the Vector adds");
        return ERR_ARG;
    }
    if (p.n == 0 || p.h == 0 || p.w == 0 || p.c == 0 || p.o == 0 || p.kh == 0 ||
        p.kw == 0) {
        snprintf(why, CONV_TEXT, "a size of 0");
        return ERR_ARG;
    }
    err = check_side(&rows, why);
    err = err ? err : check_side(&columns, why);
    for (uint32_t i = 0; !err && i < conv_transpose_parts(t); i++) {
        conv_transpose_part(t, i, &p, &part);
        err = check_part(&p, why);
    }
    return err;
}

/* --- launches --- */

uint64_t conv_transpose_packed_bytes(const struct conv_transpose *t)
{
    uint64_t bytes = 0;
    struct conv_part part;
    struct conv p;

    for (uint32_t i = 0; i < conv_transpose_parts(t); i++) {
        conv_transpose_part(t, i, &p, &part);
        bytes += conv_packed_bytes(&p);
    }
    return bytes;
}

int conv_transpose_pack(const struct conv_transpose *t, const void *weight, void *packed,
                        struct sched_report *report)
{
    char why[CONV_TEXT], *to = packed;
    int err = conv_transpose_check(t, why);
    struct conv_part part;
    struct conv p;

    for (uint32_t i = 0; !err && i < conv_transpose_parts(t); i++) {
        conv_transpose_part(t, i, &p, &part);
        err = conv_pack(&p, weight, to, report);
        to += conv_packed_bytes(&p);
    }
    return err;
}

/* What the blocks of a launch share. */
struct run {
    uint32_t parts;
    struct conv_plan *plan;
    struct conv_part *part; /* of each plan */
    struct conv_room *rooms;
};

static void kernel(void *arg)
{
    const struct run *run = arg;

    for (uint32_t i = 0; i < run->parts; i++) {
        conv_block(&run->plan[i], task_blocks(), &run->rooms[task_block()], NULL);
    }
}

static int make_plans(const struct conv_transpose *t, const struct run *run)
{
    const char *weight = t->p.weight;
    struct conv p;
    int err = 0;

    for (uint32_t i = 0; !err && i < run->parts; i++) {
        conv_transpose_part(t, i, &p, &run->part[i]);
        p.weight = weight;
        weight += conv_packed_bytes(&p);
        err = conv_make_plan(&p, &run->plan[i]);
    }
    return err;
}

int conv_transpose(const struct conv_transpose *t, struct sched_report *report)
{
    unsigned cores = t->p.cores ? t->p.cores : chip_cores();
    struct run run = {0};
    struct launch l = {"conv_transpose", kernel, &run, .cores = t->p.cores};
    char why[CONV_TEXT];
    int err = conv_transpose_check(t, why);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    run.parts = conv_transpose_parts(t);
    run.plan = malloc(run.parts * sizeof(*run.plan));
    run.part = malloc(run.parts * sizeof(*run.part));
    run.rooms = malloc(cores * sizeof(*run.rooms));
    err = run.plan && run.part && run.rooms ? make_plans(t, &run) : ERR_NOMEM;
    err = err ? err : launch(&l, report);
    free(run.rooms);
    free(run.part);
    free(run.plan);
    return err;
}
