/* SPDX-License-Identifier: MIT
 *
 * Mmad: chooses the path, packs the operands, runs the kernel, and gives the
 * elements outside of m x n their value.
 *
 * Invariant: the bits of a result do not depend on the path.
 */
#include "tools/emu/model/arith/cube.h"
#include <stdalign.h>
#include "tools/emu/model/arith/cube_path.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/arith/simd.h"

#define FRACTAL  512u
#define TOGETHER 2    /* blocks of columns that a kernel does at once */
#define WORTH    2048 /* m * k: less is done before another thread has heard of it */

#define SCRATCH static _Thread_local alignas(64)

SCRATCH uint8_t pack_a[CUBE_PACK_BYTES];
SCRATCH uint8_t pack_b[CUBE_PACK_BYTES];
SCRATCH uint8_t row_a[CUBE_L0_BYTES]; /* a plain row as fractals */
SCRATCH uint8_t wide_a[2 * CUBE_L0_BYTES], wide_b[2 * CUBE_L0_BYTES];
SCRATCH int32_t column_fix[CUBE_MAX_COLS], column_bias[CUBE_MAX_COLS];

static const struct cube_path *find_path(enum cube_type type)
{
    static const struct cube_path *const paths[CUBE_TYPES][SIMD_COUNT] = {
#if defined(__x86_64__)
        [CUBE_F16] = {&cube_plain_f16, &cube_avx2_f16, &cube_avx512_f16,
                      &cube_avx512_f16},
        [CUBE_BF16] = {&cube_plain_bf16, &cube_avx2_bf16, &cube_avx512_bf16,
                       &cube_avx512_bf16},
        [CUBE_F32] = {&cube_plain_f32, &cube_avx2_f32, &cube_avx512_f32,
                      &cube_avx512_f32},
        [CUBE_S8] = {&cube_plain_s8, &cube_avx2_s8, &cube_avx512_s8, &cube_vnni_s8},
#else
        [CUBE_F16] = {&cube_plain_f16},
        [CUBE_BF16] = {&cube_plain_bf16},
        [CUBE_F32] = {&cube_plain_f32},
        [CUBE_S8] = {&cube_plain_s8},
#endif
    };

    type = type == CUBE_S4 ? CUBE_S8 : type == CUBE_HF32 ? CUBE_F32 : type;
    return paths[type][simd_level()];
}

/* Elements [first, last) of one row of a fractal keep the value of `in`. */
static void keep(uint32_t *out, const uint32_t *in, size_t at, unsigned first,
                 unsigned last)
{
    size_t bytes = (last - first) * sizeof(*out);

    if (in) {
        memcpy(out + at + first, in + at + first, bytes);
    } else {
        memset(out + at + first, 0, bytes);
    }
}

static void keep_outside(const struct cube_job *job, unsigned n)
{
    uint32_t *out = job->out;
    const uint32_t *in = job->in;

    for (unsigned i = 0; i < job->nb; i++) {
        for (unsigned r = job->m; r < job->mb * 16; r++) {
            keep(out, in, ((size_t)i * job->mb * 16 + r) * 16, 0, 16);
        }
    }
    for (unsigned r = 0; n % 16 && r < job->m; r++) {
        keep(out, in, ((size_t)(job->nb - 1) * job->mb * 16 + r) * 16, n % 16, 16);
    }
}

/* Row 0 of fractals from a plain row; what the other rows hold does not matter. */
static const uint8_t *row_fractals(const uint8_t *row, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += 32) {
        memcpy(row_a + at / 32 * FRACTAL, row + at, bytes - at < 32 ? bytes - at : 32);
    }
    return row_a;
}

/* A fractal of int4 becomes two of int8, each with half of the k. */
static void widen_s4(uint8_t *first, uint8_t *second, const uint8_t *src)
{
    for (unsigned r = 0; r < 16; r++) {
        for (unsigned i = 0; i < 16; i++) {
            uint8_t x = src[r * 32 + i], y = src[r * 32 + 16 + i];

            first[r * 32 + 2 * i] = (uint8_t)(((x & 15) ^ 8) - 8);
            first[r * 32 + 2 * i + 1] = (uint8_t)((x >> 4 ^ 8) - 8);
            second[r * 32 + 2 * i] = (uint8_t)(((y & 15) ^ 8) - 8);
            second[r * 32 + 2 * i + 1] = (uint8_t)((y >> 4 ^ 8) - 8);
        }
    }
}

static void widen_all_s4(const uint8_t *a, size_t a_fractals, const uint8_t *b,
                         unsigned nb, unsigned kb)
{
    for (size_t i = 0; i < a_fractals; i++) {
        uint8_t *to = wide_a + i * 2 * FRACTAL;

        widen_s4(to, to + FRACTAL, a + i * FRACTAL);
    }
    for (size_t i = 0; i < kb; i++) {
        for (size_t j = 0; j < nb; j++) {
            uint8_t *to = wide_b + (2 * i * nb + j) * FRACTAL;

            widen_s4(to, to + nb * FRACTAL, b + (i * nb + j) * FRACTAL);
        }
    }
}

static void round_hf32(uint8_t *to, const uint8_t *from, size_t fractals, bool down)
{
    for (size_t i = 0; i < fractals * FRACTAL; i += 4) {
        uint32_t x;

        memcpy(&x, from + i, 4);
        x = num_f32_to_hf32(x, down);
        memcpy(to + i, &x, 4);
    }
}

/* A product, to be shared by blocks of columns. */
struct shared {
    const struct cube_path *path;
    const struct cube_job *job;
};

static void part(const void *of, unsigned i)
{
    const struct shared *s = of;
    struct cube_job job = *s->job;
    unsigned fp = simd_fp_enter();

    job.first = TOGETHER * i;
    job.end = job.nb - job.first < TOGETHER ? job.nb : job.first + TOGETHER;
    s->path->run(&job);
    simd_fp_leave(fp);
}

static void multiply(const struct cube_path *path, const struct cube_job *job,
                     const struct share *share)
{
    const struct shared of = {path, job};

    if (share && job->nb > TOGETHER && job->m * job->k >= WORTH) {
        share->call(share->ctx, (job->nb + TOGETHER - 1) / TOGETHER, part, &of);
    } else {
        path->run(job);
    }
}

static void compute(const struct cube_path *path, const struct cube_job *job,
                    const struct share *share, unsigned a_kb, const uint8_t *a,
                    const uint8_t *b)
{
    for (size_t i = 0; i < job->mb; i++) {
        path->pack_a(pack_a + i * job->kb * path->a_bytes, a + i * a_kb * FRACTAL,
                     job->kb);
    }
    path->pack_b(pack_b, column_fix, b, job->nb, job->k);
    multiply(path, job, share);
}

/* b of 2 of each 4 rows: the product with all of its rows. Where two elements of b name
 * the same position their sum may be too long for a byte, so the second is added after.
 */
static void compute_sparse(const struct cube_path *path, struct cube_job *job,
                           const struct share *share, unsigned a_kb, const uint8_t *a,
                           const uint8_t *b, const uint8_t *index)
{
    unsigned kb = (job->k + 63) / 64;
    bool rest = cube_sparse_widen(false, wide_b, b, index, job->nb, kb);

    compute(path, job, share, a_kb, a, wide_b);
    if (rest) {
        struct cube_job more = *job;

        more.in = job->out;
        cube_sparse_widen(true, wide_b, b, index, job->nb, kb);
        compute(path, &more, share, a_kb, a, wide_b);
    }
}

void cube_run(const struct cube_op *op, void *out, const void *in, const void *a,
              const void *b)
{
    static const uint8_t k0_of[] = {16, 16, 8, 8, 32, 64};
    unsigned k0 = k0_of[op->type];
    unsigned mb = (op->m + 15) / 16, nb = (op->n + 15) / 16, kb = (op->k + k0 - 1) / k0;
    unsigned a_kb = op->row ? kb : op->a_kb, b_kb = op->index ? (op->k + 63) / 64 : kb;
    struct cube_job job = {out, in, NULL, pack_a, pack_b, column_fix, mb,
                           nb,  kb, 0,    nb,     op->m,  op->k};
    unsigned fp;

    if (a_kb < kb || (size_t)mb * a_kb * FRACTAL > CUBE_L0_BYTES ||
        (size_t)nb * b_kb * FRACTAL > CUBE_L0_BYTES || nb * 16 > CUBE_MAX_COLS) {
        __builtin_trap(); /* the command check is broken; scratch would overflow */
    }
    if (op->row) {
        a = row_fractals(a, ((size_t)op->k * 32 + k0 - 1) / k0);
    }
    if (op->bias) {
        memcpy(column_bias, op->bias, op->n * sizeof(column_bias[0]));
        job.bias = column_bias;
    }
    if (op->type == CUBE_S4) {
        widen_all_s4(a, (size_t)mb * a_kb, b, nb, kb);
        a = wide_a;
        b = wide_b;
        a_kb *= 2;
        job.kb = (op->k + 31) / 32;
    }
    if (op->type == CUBE_HF32) {
        round_hf32(wide_a, a, (size_t)mb * a_kb, op->ties_down);
        round_hf32(wide_b, b, (size_t)nb * kb, op->ties_down);
        a = wide_a;
        b = wide_b;
    }
    fp = simd_fp_enter();
    if (op->m && op->n && op->index) {
        compute_sparse(find_path(CUBE_S8), &job, op->share, a_kb, a, b, op->index);
    } else if (op->m && op->n) {
        compute(find_path(op->type), &job, op->share, a_kb, a, b);
    }
    simd_fp_leave(fp);
    keep_outside(&job, op->n);
}
