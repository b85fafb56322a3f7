/* SPDX-License-Identifier: MIT
 *
 * Operands that the Cube does not take as they are; see made.h.
 */
#include "kernels/mm/made.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/lib/f16.h"
#include "kernels/mm/planes.h"
#include "sched/launch.h"

enum { ALIGN = 512, HALF_OFFSET = 64 /* added twice */ };

/* Of U8: the objects that add up columns of b, rows of a; the plans of the last call. */
static struct mm columns, rows;

bool mm_made_planes(enum type in, bool hf32)
{
    return in == TYPE_F32 && !hf32 && !chip_has_type(PIPE_M, TYPE_F32);
}

bool mm_is_made(const struct mm_made *p)
{
    return p->in == TYPE_U8 || p->in_b == TYPE_U8 || mm_made_planes(p->in, p->hf32);
}

static uint64_t batch_of(const struct mm_made *p)
{
    return p->batch ? p->batch : 1;
}

/* Where in the workspace what is made lies: a and b, a row of 64s, the bias with the sums of
 * columns, the sums of rows. */
struct rooms {
    uint64_t a, b, halves, bias, rows, end;
};

static uint64_t behind(uint64_t at, bool is, uint64_t bytes)
{
    return at + (is ? (bytes + ALIGN - 1) / ALIGN * ALIGN : 0);
}

static struct rooms rooms_of(const struct mm_made *p)
{
    bool planes = mm_made_planes(p->in, p->hf32), a = p->in == TYPE_U8,
         b = p->in_b == TYPE_U8;
    uint64_t k = batch_of(p) * p->k * (planes ? MM_PLANES * sizeof(uint16_t) : 1);
    struct rooms r = {.a = 0};

    r.b = behind(r.a, planes || a, k * p->m);
    r.halves = behind(r.b, planes || b, k * p->n);
    r.bias = behind(r.halves, a || b, p->k);
    r.rows = behind(r.bias, a, batch_of(p) * p->n * sizeof(int32_t));
    r.end = behind(r.rows, b, batch_of(p) * p->m * sizeof(int32_t));
    return r;
}

uint64_t mm_made_bytes(const struct mm_made *p)
{
    return rooms_of(p).end;
}

static void *in_work(const struct mm_made *p, uint64_t at)
{
    return (char *)p->work + at;
}

struct mm_made mm_made(const struct mm_made *p)
{
    bool planes = mm_made_planes(p->in, p->hf32);
    struct rooms r = rooms_of(p);
    struct mm_made made = *p;

    if (planes || p->in == TYPE_U8) {
        made.a = in_work(p, r.a);
        made.in = planes ? TYPE_F16 : TYPE_S8;
        made.bias = planes ? p->bias : in_work(p, r.bias);
        made.bias_product = planes ? 0 : p->n;
    }
    if (planes || p->in_b == TYPE_U8) {
        made.b = in_work(p, r.b);
        made.in_b = planes ? TYPE_F16 : TYPE_S8;
        made.rows = planes ? NULL : in_work(p, r.rows);
    }
    made.k = planes ? MM_PLANES * p->k : p->k;
    return made;
}

const int32_t *mm_made_rows(const struct mm_made *p)
{
    return mm_made(p).rows;
}

bool mm_made_takes(enum type a, enum type b)
{
    bool bytes = (a == TYPE_S8 || a == TYPE_U8) && (b == TYPE_S8 || b == TYPE_U8);
    bool alike = a == TYPE_F16 || a == TYPE_BF16 || a == TYPE_F32 || a == TYPE_S4;

    return bytes || (alike && a == b);
}

const char *mm_cannot_be_made(const struct mm_made *p)
{
    if (!mm_is_made(p)) {
        return NULL;
    }
    if (p->sparse) {
        return "a sparse b is of S8 x S8";
    }
    return p->work ? NULL : "no workspace for operands that are made";
}

/* Sums of bytes of n columns of b, which may lie there as rows, for each of the batch. */
static int plan_sums(struct mm *mm, const struct mm_made *p, const void *b, bool as_rows,
                     uint32_t n, unsigned cores, char why[MM_TEXT])
{
    int err;

    mm_init(mm, &(struct mm_shape){1, n, p->k, (uint32_t)batch_of(p)}, NULL);
    mm_set_a(mm, in_work(p, rooms_of(p).halves), TYPE_S8, MM_ND, false, 0);
    mm->a.product = 0; /* all have the same */
    mm_set_b(mm, b, TYPE_S8, MM_ND, as_rows, 0);
    err = mm_plan(mm, cores, MM_GENERAL, why);
    return err ? err : mm_check(mm, why);
}

int mm_plan_made(const struct mm_made *p, unsigned cores, char why[MM_TEXT])
{
    struct mm_made made = mm_made(p);
    int err = 0;

    if (p->in == TYPE_U8) {
        err = plan_sums(&columns, p, made.b, p->b_transposed, p->n, cores, why);
    }
    if (!err && p->in_b == TYPE_U8) {
        err = plan_sums(&rows, p, made.a, !p->a_transposed, p->m, cores, why);
    }
    return err;
}

/* The block's share of sums of these columns. */
static void add_up(const struct mm *planned, const void *halves, const void *b, void *to,
                   bool atomic)
{
    struct mm mm = *planned;

    mm.a.gm = halves;
    mm.b.gm = b;
    mm_iterate_all(&mm, to, atomic);
    mm_end(&mm);
}

/* What the hart says of them, once. */
static void begin_sums(const struct mm_made *p, const struct rooms *r)
{
    const uint32_t *from = p->bias;
    uint32_t *bias = in_work(p, r->bias);
    uint32_t both = p->in_b == TYPE_U8 ? 4 * HALF_OFFSET * HALF_OFFSET * p->k : 0;

    memset(in_work(p, r->halves), HALF_OFFSET, p->k);
    for (uint64_t i = 0; p->in == TYPE_U8 && i < batch_of(p) * p->n; i++) {
        bias[i] = (from ? from[i % p->n] : 0) + both;
    }
}

static void make_sums(const struct mm_made *p)
{
    struct rooms r = rooms_of(p);
    struct mm_made made = mm_made(p);

    if (task_block() == 0) {
        begin_sums(p, &r);
    }
    task_barrier();
    for (unsigned i = 0; p->in == TYPE_U8 && i < 2; i++) {
        add_up(&columns, in_work(p, r.halves), made.b, in_work(p, r.bias), true);
    }
    if (p->in_b == TYPE_U8) {
        add_up(&rows, in_work(p, r.halves), made.a, in_work(p, r.rows), false);
    }
}

static void by_lines(struct mm_planes *o, uint64_t lines)
{
    o->length /= lines;
    o->lines = lines;
}

void mm_make(const struct mm_made *p)
{
    bool planes = mm_made_planes(p->in, p->hf32);
    uint64_t m = p->m, n = p->n, k = p->k, batch = batch_of(p);
    struct rooms r = rooms_of(p);
    struct mm_planes of_a = {p->in, p->a, in_work(p, r.a), 1, batch * m * k, false};
    struct mm_planes of_b = {p->in_b, p->b, in_work(p, r.b), 1, batch * k * n, true};
    bool a = planes || p->in == TYPE_U8, b = planes || p->in_b == TYPE_U8;

    if (planes) {
        by_lines(&of_a, p->a_transposed ? batch : batch * m);
        by_lines(&of_b, p->b_transposed ? batch * n : batch);
    }
    mm_planes_make((const struct mm_planes[]){a ? of_a : of_b, of_b}, (unsigned)(a + b));
    if (!planes) {
        make_sums(p);
    }
    task_barrier();
}

bool mm_made_holds(const float *x, uint64_t count, char name, char why[MM_TEXT])
{
    uint64_t i = 0;

    while (i < count && !(fabsf(x[i]) > MM_PLANES_MOST)) {
        i++;
    }
    if (i < count) {
        snprintf(
            why, MM_TEXT,
            "%g at %llu of %c: this chip's Cube has no F32, and F16, which it has, ends "
            "at %d",
            (double)x[i], (unsigned long long)i, name, MM_PLANES_MOST);
    }
    return i == count;
}

static float number(float x, unsigned plane, bool b)
{
    float hi = f16_to_f32(f32_to_f16(x));
    bool low = plane == (b ? 1 : 2);

    return plane == 0 ? hi
                      : f16_to_f32(f32_to_f16(low ? ldexpf(x - hi, MM_PLANES_SHIFT)
                                                  : ldexpf(hi, -MM_PLANES_SHIFT)));
}

float mm_made_sum(const struct mm_made *p, uint32_t row, uint32_t column, uint32_t first,
                  uint32_t end, float sum)
{
    const float *a = p->a, *b = p->b;

    for (uint32_t i = first; i < end; i++) {
        uint64_t k = i % p->k, plane = i / p->k;
        float x = a[p->a_transposed ? k * p->m + row : row * (uint64_t)p->k + k];
        float y = b[p->b_transposed ? column * (uint64_t)p->k + k : k * p->n + column];
        sum = fmaf(number(x, (unsigned)plane, false), number(y, (unsigned)plane, true),
                   sum);
    }
    return sum;
}

int mm_made_whole(enum type type, const void *x, uint64_t i)
{
    int byte = ((const int8_t *)x)[type == TYPE_S4 ? i / 2 : i];

    switch (type) {
    case TYPE_U8:
        return (uint8_t)byte;
    case TYPE_S8:
        return byte;
    default: /* two S4 in a byte, the lower one first */
        return i % 2 ? byte >> 4 : ((byte & 15) ^ 8) - 8;
    }
}
