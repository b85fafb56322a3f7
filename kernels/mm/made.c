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

/* Of U8: the object that adds up columns; the plan of the last call. */
static struct mm sums;

bool mm_made_planes(enum type in, bool hf32)
{
    return in == TYPE_F32 && !hf32 && !chip_has_type(PIPE_M, TYPE_F32);
}

bool mm_is_made(const struct mm_made *p)
{
    return p->in == TYPE_U8 || mm_made_planes(p->in, p->hf32);
}

static uint64_t batch_of(const struct mm_made *p)
{
    return p->batch ? p->batch : 1;
}

static uint64_t up(uint64_t bytes)
{
    return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

/* Bytes of a as it is made. */
static uint64_t a_bytes(const struct mm_made *p)
{
    uint64_t count = batch_of(p) * p->m * p->k;

    return up(p->in == TYPE_U8 ? count : count * MM_PLANES * sizeof(uint16_t));
}

/* Of U8, behind a: the row, then the bias with the sums. */
static uint64_t row_bytes(const struct mm_made *p)
{
    return up(p->k);
}

uint64_t mm_made_bytes(const struct mm_made *p)
{
    uint64_t b = batch_of(p) * p->k * p->n * MM_PLANES * sizeof(uint16_t);

    return !mm_is_made(p)     ? 0
           : p->in == TYPE_U8 ? a_bytes(p) + row_bytes(p) + p->n * sizeof(int32_t)
                              : a_bytes(p) + b;
}

static char *behind_a(const struct mm_made *p)
{
    return (char *)p->work + a_bytes(p);
}

struct mm_made mm_made(const struct mm_made *p)
{
    struct mm_made made = *p;

    if (mm_is_made(p)) {
        made.a = p->work;
    }
    if (mm_made_planes(p->in, p->hf32)) {
        made.b = behind_a(p);
        made.in = TYPE_F16;
        made.k = MM_PLANES * p->k;
    } else if (p->in == TYPE_U8) {
        made.bias = behind_a(p) + row_bytes(p);
        made.in = TYPE_S8;
    }
    return made;
}

const char *mm_cannot_be_made(const struct mm_made *p)
{
    return p->in == TYPE_U8 && batch_of(p) > 1
               ? "U8 x S8 is one product: each of a batch has its own sums"
           : p->work == NULL ? "no workspace for operands that are made"
                             : NULL;
}

int mm_plan_made(const struct mm_made *p, unsigned cores, char why[MM_TEXT])
{
    int err;

    if (p->in != TYPE_U8) {
        return 0;
    }
    mm_init(&sums, &(struct mm_shape){1, p->n, p->k, 1}, NULL);
    mm_set_a(&sums, behind_a(p), TYPE_S8, MM_ND, false, 0);
    mm_set_b(&sums, p->b, TYPE_S8, MM_ND, p->b_transposed, 0);
    err = mm_plan(&sums, cores, MM_GENERAL, why);
    return err ? err : mm_check(&sums, why);
}

/* The block's share of 128 x (column sums of b), to the bias. */
static void add_columns(const struct mm_made *p)
{
    for (unsigned i = 0; i < 2; i++) {
        struct mm mm = sums;
        mm.a.gm = behind_a(p);
        mm.b.gm = p->b;
        mm_iterate_all(&mm, behind_a(p) + row_bytes(p), true);
        mm_end(&mm);
    }
}

/* What the hart says of them, once. */
static void begin_columns(const struct mm_made *p)
{
    char *bias = behind_a(p) + row_bytes(p);

    memset(behind_a(p), HALF_OFFSET, p->k);
    if (p->bias) {
        memcpy(bias, p->bias, p->n * sizeof(int32_t));
    } else {
        memset(bias, 0, p->n * sizeof(int32_t));
    }
}

void mm_make(const struct mm_made *p)
{
    bool planes = mm_made_planes(p->in, p->hf32);
    uint64_t m = p->m, n = p->n, k = p->k, batch = batch_of(p);
    const struct mm_planes operands[] = {
        {p->in, p->a, p->work, batch * (p->a_transposed ? 1 : m),
         p->a_transposed ? k * m : k, false},
        {p->in, p->b, behind_a(p), batch * (p->b_transposed ? n : 1),
         p->b_transposed ? k : k * n, true},
    };

    mm_planes_make(operands, planes ? 2 : 1);
    if (!planes) {
        if (task_block() == 0) {
            begin_columns(p);
        }
        task_barrier();
        add_columns(p);
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

    return type == TYPE_U8   ? (uint8_t)byte
           : type == TYPE_S8 ? byte
           : i % 2           ? byte >> 4
                             : ((byte & 15) ^ 8) - 8;
}
