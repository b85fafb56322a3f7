/* SPDX-License-Identifier: MIT
 *
 * The Cube in plain C, for any host. The other paths give the same bits.
 *
 * fp16: the product of two fp16 numbers has 22 bits and fits fp32 exactly, so a
 * multiplication and an addition in fp32 round once, contracted or not.
 */
#include <stdbool.h>
#include "tools/emu/model/cube_path.h"
#include "tools/emu/model/num.h"

static void pack_a_f16(void *dst, const void *src, size_t fractals)
{
    const uint8_t *s = src;
    float *d = dst;

    for (size_t i = 0; i < fractals * 256; i++) {
        uint16_t h;

        memcpy(&h, s + i * 2, 2);
        d[i] = num_float(num_f16_to_f32(h));
    }
}

static void pack_b_f16(void *dst, int32_t *fix, const void *src, unsigned nb, unsigned k)
{
    const uint8_t *s = src;
    float *d;

    (void)fix;
    for (unsigned i = 0; i < nb; i++) {
        d = (float *)dst + (size_t)i * ((k + 15) / 16) * 256;
        for (unsigned x = 0; x < k; x++) {
            const uint8_t *f = s + ((size_t)(x / 16) * nb + i) * 512 + x % 16 * 2;

            for (unsigned c = 0; c < 16; c++) {
                uint16_t h;

                memcpy(&h, f + c * 32, 2);
                *d++ = num_float(num_f16_to_f32(h));
            }
        }
    }
}

/* One row of 16 columns. */
static void row_f16(float *out, const float *in, const float *a, const float *b,
                    unsigned k)
{
    float acc[16] = {0};

    if (in) {
        memcpy(acc, in, sizeof(acc));
    }
    for (unsigned x = 0; x < k; x++) {
        float v = a[(size_t)(x / 16) * 256 + x % 16];

        for (unsigned c = 0; c < 16; c++) {
            acc[c] += v * b[(size_t)x * 16 + c];
        }
    }
    for (unsigned c = 0; c < 16; c++) {
        acc[c] = num_float(num_canon(num_bits(acc[c])));
    }
    memcpy(out, acc, sizeof(acc));
}

static void run_f16(const struct cube_job *job)
{
    const float *in = job->in, *a = job->a, *b = job->b;
    float *out = job->out;

    for (unsigned i = 0; i < job->nb; i++) {
        for (unsigned r = 0; r < job->m; r++) {
            size_t at = ((size_t)i * job->mb * 16 + r) * 16;

            row_f16(out + at, in ? in + at : NULL,
                    a + (size_t)(r / 16) * job->kb * 256 + r % 16 * 16,
                    b + (size_t)i * job->kb * 256, job->k);
        }
    }
}

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

static void row_s8(int32_t *out, const int32_t *in, const int16_t *a, const int16_t *b,
                   unsigned k)
{
    uint32_t acc[16] = {0}; /* unsigned: the sum wraps around */

    if (in) {
        memcpy(acc, in, sizeof(acc));
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

    for (unsigned i = 0; i < job->nb; i++) {
        for (unsigned r = 0; r < job->m; r++) {
            size_t at = ((size_t)i * job->mb * 16 + r) * 16;

            row_s8(out + at, in ? in + at : NULL,
                   a + (size_t)(r / 16) * job->kb * 512 + r % 16 * 32,
                   b + (size_t)i * job->kb * 512, job->k);
        }
    }
}

const struct cube_path cube_plain_f16 = {pack_a_f16, pack_b_f16, run_f16};
const struct cube_path cube_plain_s8 = {pack_a_s8, pack_b_s8, run_s8};
