/* SPDX-License-Identifier: MIT
 *
 * Mmad: chooses the path, packs the operands, runs the kernel, and gives the
 * elements outside of m x n their value.
 *
 * Invariant: the bits of a result do not depend on the path.
 */
#include "tools/emu/model/cube.h"
#include <stdalign.h>
#include "tools/emu/model/cube_path.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/simd.h"

#define FRACTAL 512u

static alignas(64) uint8_t pack_a[CUBE_PACK_BYTES];
static alignas(64) uint8_t pack_b[CUBE_PACK_BYTES];
static alignas(64) int32_t column_fix[CUBE_MAX_COLS];

static const struct cube_path *f16_path(void)
{
#if defined(__x86_64__)
    enum simd level = simd_level();

    if (level >= SIMD_AVX512) {
        return &cube_avx512_f16;
    }
    if (level >= SIMD_AVX2) {
        return &cube_avx2_f16;
    }
#endif
    return &cube_plain_f16;
}

static const struct cube_path *s8_path(void)
{
#if defined(__x86_64__)
    enum simd level = simd_level();

    if (level >= SIMD_AVX512_VNNI) {
        return &cube_vnni_s8;
    }
    if (level >= SIMD_AVX512) {
        return &cube_avx512_s8;
    }
    if (level >= SIMD_AVX2) {
        return &cube_avx2_s8;
    }
#endif
    return &cube_plain_s8;
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

static void mmad(const struct cube_path *path, struct cube_job *job, unsigned n,
                 const void *a, const void *b)
{
    unsigned fp;

    if ((size_t)job->mb * job->kb * FRACTAL > CUBE_L0_BYTES ||
        (size_t)job->nb * job->kb * FRACTAL > CUBE_L0_BYTES) {
        __builtin_trap(); /* the command check is broken; scratch would overflow */
    }
    fp = simd_fp_enter();
    if (job->m && n) {
        path->pack_a(pack_a, a, (size_t)job->mb * job->kb);
        path->pack_b(pack_b, column_fix, b, job->nb, job->k);
        path->run(job);
    }
    simd_fp_leave(fp);
    keep_outside(job, n);
}

static struct cube_job new_job(void *out, const void *in, unsigned m, unsigned n,
                               unsigned k, unsigned k0)
{
    struct cube_job job = {out, in, pack_a, pack_b, column_fix, 0, 0, 0, m, k};

    job.mb = (m + 15) / 16;
    job.nb = (n + 15) / 16;
    job.kb = (k + k0 - 1) / k0;
    return job;
}

void cube_f16(float *out, const float *in, const void *a, const void *b, unsigned m,
              unsigned n, unsigned k)
{
    struct cube_job job = new_job(out, in, m, n, k, 16);

    mmad(f16_path(), &job, n, a, b);
}

void cube_s8(int32_t *out, const int32_t *in, const void *a, const void *b, unsigned m,
             unsigned n, unsigned k)
{
    struct cube_job job = new_job(out, in, m, n, k, 32);

    mmad(s8_path(), &job, n, a, b);
}
