/* SPDX-License-Identifier: MIT
 *
 * The Cube in plain C, for any host. The other paths give the same bits.
 *
 * fp16: the product of two fp16 numbers has 22 bits and fits fp32 exactly, so a
 * multiplication and an addition in fp32 round once, contracted or not. The products of
 * the other types may leave fp32's range or precision: they take num_fma.
 */
#include <stdbool.h>
#include "tools/emu/model/arith/cube_path.h"
#include "tools/emu/model/arith/num.h"

#define INLINE static inline __attribute__((always_inline))

static uint32_t load_f16(const uint8_t *p)
{
    uint16_t h;

    memcpy(&h, p, 2);
    return num_f16_to_f32(h);
}

static uint32_t load_bf16(const uint8_t *p)
{
    uint16_t h;

    memcpy(&h, p, 2);
    return num_bf16_to_f32(h);
}

static uint32_t load_f32(const uint8_t *p)
{
    uint32_t u;

    memcpy(&u, p, 4);
    return u;
}

typedef uint32_t load_fn(const uint8_t *p);

/* k0: elements in 32 bytes. */
INLINE void pack_a(float *dst, const uint8_t *src, size_t fractals, unsigned k0,
                   load_fn *load)
{
    for (size_t i = 0; i < fractals * 16 * k0; i++) {
        dst[i] = num_float(load(src + i * (32 / k0)));
    }
}

INLINE void pack_b(float *dst, const uint8_t *src, unsigned nb, unsigned k, unsigned k0,
                   load_fn *load)
{
    for (unsigned i = 0; i < nb; i++) {
        float *d = dst + (size_t)i * ((k + k0 - 1) / k0) * k0 * 16;

        for (unsigned x = 0; x < k; x++) {
            const uint8_t *f =
                src + ((size_t)(x / k0) * nb + i) * 512 + x % k0 * (32 / k0);

            for (unsigned c = 0; c < 16; c++) {
                *d++ = num_float(load(f + c * 32));
            }
        }
    }
}

/* One row of 16 columns. */
struct row {
    float *out;
    const float *start; /* NULL: zeros */
    const float *a, *b;
    unsigned k;
};

INLINE void row(const struct row *r, unsigned k0, bool exact)
{
    float acc[16] = {0};

    if (r->start) {
        memcpy(acc, r->start, sizeof(acc));
    }
    for (unsigned x = 0; x < r->k; x++) {
        float v = r->a[(size_t)(x / k0) * 16 * k0 + x % k0];

        for (unsigned c = 0; c < 16; c++) {
            float w = r->b[(size_t)x * 16 + c];

            acc[c] = exact ? acc[c] + v * w : num_fma(v, w, acc[c]);
        }
    }
    for (unsigned c = 0; c < 16; c++) {
        acc[c] = num_float(num_canon(num_bits(acc[c])));
    }
    memcpy(r->out, acc, sizeof(acc));
}

INLINE void run(const struct cube_job *job, unsigned k0, bool exact)
{
    const float *in = job->in, *a = job->a, *b = job->b;
    float *out = job->out;

    for (unsigned i = job->first; i < job->end; i++) {
        const float *bias = job->bias ? (const float *)job->bias + i * 16u : NULL;

        for (unsigned r = 0; r < job->m; r++) {
            size_t at = ((size_t)i * job->mb * 16 + r) * 16;

            row(&(struct row){.out = out + at,
                              .start = in ? in + at : bias,
                              .a = a + (size_t)(r / 16) * job->kb * 16 * k0 + r % 16 * k0,
                              .b = b + (size_t)i * job->kb * 16 * k0,
                              .k = job->k},
                k0, exact);
        }
    }
}

/* The path of a floating-point type. */
#define FLOAT_PATH(type, k0, exact)                                                      \
    static void pack_a_##type(void *dst, const void *src, size_t fractals)               \
    {                                                                                    \
        pack_a(dst, src, fractals, k0, load_##type);                                     \
    }                                                                                    \
    static void pack_b_##type(void *dst, int32_t *fix, const void *src, unsigned nb,     \
                              unsigned k)                                                \
    {                                                                                    \
        (void)fix;                                                                       \
        pack_b(dst, src, nb, k, k0, load_##type);                                        \
    }                                                                                    \
    static void run_##type(const struct cube_job *job)                                   \
    {                                                                                    \
        run(job, k0, exact);                                                             \
    }                                                                                    \
    const struct cube_path cube_plain_##type = {16 * (k0)*4, pack_a_##type,              \
                                                pack_b_##type, run_##type};

FLOAT_PATH(f16, 16, true)
FLOAT_PATH(bf16, 16, false)
FLOAT_PATH(f32, 8, false)

static void pack_a_s8(void *dst, const void *src, size_t fractals)
{
    const int8_t *s = src;
    int16_t *d = dst;

    for (size_t i = 0; i < fractals * 512; i++) {
        d[i] = s[i];
    }
}

static void pack_b_s8(void *dst, int32_t *fix, const void *src, unsigned nb, unsigned k)
{
    const int8_t *s = src;
    int16_t *d;

    (void)fix;
    for (unsigned i = 0; i < nb; i++) {
        d = (int16_t *)dst + (size_t)i * ((k + 31) / 32) * 512;
        for (unsigned x = 0; x < k; x++) {
            const int8_t *f = s + ((size_t)(x / 32) * nb + i) * 512 + x % 32;

            for (unsigned c = 0; c < 16; c++) {
                *d++ = f[c * 32];
            }
        }
    }
}

static void row_s8(int32_t *out, const int32_t *start, const int16_t *a, const int16_t *b,
                   unsigned k)
{
    uint32_t acc[16] = {0}; /* unsigned: the sum wraps around */

    if (start) {
        memcpy(acc, start, sizeof(acc));
    }
    for (unsigned x = 0; x < k; x++) {
        int v = a[(size_t)(x / 32) * 512 + x % 32];

        for (unsigned c = 0; c < 16; c++) {
            acc[c] += (uint32_t)(v * b[(size_t)x * 16 + c]);
        }
    }
    memcpy(out, acc, sizeof(acc));
}

static void run_s8(const struct cube_job *job)
{
    const int32_t *in = job->in;
    const int16_t *a = job->a, *b = job->b;
    int32_t *out = job->out;

    for (unsigned i = job->first; i < job->end; i++) {
        const int32_t *bias = job->bias ? (const int32_t *)job->bias + i * 16u : NULL;

        for (unsigned r = 0; r < job->m; r++) {
            size_t at = ((size_t)i * job->mb * 16 + r) * 16;
            const int32_t *start = in ? in + at : bias;

            row_s8(out + at, start, a + (size_t)(r / 16) * job->kb * 512 + r % 16 * 32,
                   b + (size_t)i * job->kb * 512, job->k);
        }
    }
}

const struct cube_path cube_plain_s8 = {1024, pack_a_s8, pack_b_s8, run_s8};
