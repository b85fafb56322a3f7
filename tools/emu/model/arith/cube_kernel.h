/* SPDX-License-Identifier: MIT
 *
 * Private to cube_avx*.c: the kernel over packed operands, included once per kind of
 * step. A tile of ROWS rows by two vectors stays in registers over the whole of k, so
 * each element sees its k in ascending order.
 *
 * Before including, define:
 *   KERNEL(name)          gives the functions their names
 *   TARGET, INLINE        attributes of a function, and of one to be inlined
 *   VEC, V_LANES          vector of 32-bit lanes: 16 (two blocks) or 8 (half a block)
 *   V_LOAD V_STORE V_ZERO V_SPLAT(pointer to 4 bytes)
 *   V_STEP(acc, a, b)     one step of every lane
 *   V_DONE(acc)           last touch before the store
 *   STEPS                 steps per fractal of k; a row of packed A has STEPS words
 *   FIX                   1 if job->fix is added (V_ADD), else 0
 *   TAIL                  1 if steps beyond job->k must not happen, 0 if harmless
 * Those that differ between kinds of step are undefined again at the end.
 */

INLINE VEC KERNEL(start)(const struct cube_job *job, size_t at, size_t column)
{
    VEC acc = V_ZERO;

    if (job->in) {
        acc = V_LOAD((const uint32_t *)job->in + at);
    } else if (job->bias) {
        acc = V_LOAD((const uint32_t *)job->bias + column);
    }
#if FIX
    acc = V_ADD(acc, V_LOAD(job->fix + column));
#endif
    return acc;
}

/* at: index of the tile's first element in C; a, b: its operands. Vector v stands
 * at + v * out_step and b + v * b_step. `rows` and `vecs` are constants. */
INLINE void KERNEL(tile)(const struct cube_job *job, size_t at, size_t column,
                         const uint32_t *a, const uint32_t *b, size_t out_step,
                         size_t b_step, const unsigned rows, const unsigned vecs)
{
    uint32_t *out = (uint32_t *)job->out + at;
    const uint32_t *next = job->in ? (const uint32_t *)job->in + at + rows * 16u : NULL;
    VEC acc[8][2];

    SIMD_UNROLL
    for (unsigned r = 0; r < rows; r++) {
        SIMD_UNROLL
        for (unsigned v = 0; v < vecs; v++) {
            acc[r][v] =
                KERNEL(start)(job, at + v * out_step + r * 16u, column + v * V_LANES);
            __builtin_prefetch(out + v * out_step + r * 16u, 1);
            if (next) {
                __builtin_prefetch(next + v * out_step + r * 16u);
            }
        }
    }
    for (unsigned j = 0; j < job->kb; j++) {
        unsigned steps = STEPS;

        if (TAIL && j == job->kb - 1) {
            steps = job->k - j * STEPS;
        }
        for (unsigned s = 0; s < steps; s++) {
            VEC b0 = V_LOAD(b), b1 = b0;

            if (vecs == 2) {
                b1 = V_LOAD(b + b_step);
            }
            SIMD_UNROLL
            for (unsigned r = 0; r < rows; r++) {
                VEC x = V_SPLAT(a + r * STEPS + s);

                acc[r][0] = V_STEP(acc[r][0], x, b0);
                if (vecs == 2) {
                    acc[r][1] = V_STEP(acc[r][1], x, b1);
                }
            }
            b += 16;
        }
        a += 16 * STEPS;
    }
    SIMD_UNROLL
    for (unsigned r = 0; r < rows; r++) {
        SIMD_UNROLL
        for (unsigned v = 0; v < vecs; v++) {
            V_STORE(out + v * out_step + r * 16u, V_DONE(acc[r][v]));
        }
    }
}

/* The row blocks of one column of tiles. */
INLINE void KERNEL(column)(const struct cube_job *job, unsigned i, const unsigned vecs)
{
    const uint32_t *b = (const uint32_t *)job->b + (size_t)i * job->kb * STEPS * 16;
    size_t out_step = V_LANES == 16 ? (size_t)job->mb * 256 : 8;
    size_t b_step = V_LANES == 16 ? (size_t)job->kb * STEPS * 16 : 8;

    for (unsigned r = 0; r < job->m;) {
        size_t at = ((size_t)i * job->mb * 16 + r) * 16;
        const uint32_t *a =
            (const uint32_t *)job->a + ((size_t)(r / 16) * job->kb * 16 + r % 16) * STEPS;

        if (V_LANES == 16) { /* 16 of 32 registers hold the tile */
            KERNEL(tile)(job, at, i * 16u, a, b, out_step, b_step, 8, vecs);
            r += 8;
        } else if (r % 16 < 12) { /* 12 of 16 registers */
            KERNEL(tile)(job, at, i * 16u, a, b, out_step, b_step, 6, vecs);
            r += 6;
        } else {
            KERNEL(tile)(job, at, i * 16u, a, b, out_step, b_step, 4, vecs);
            r += 4;
        }
    }
}

TARGET static void KERNEL(run)(const struct cube_job *job)
{
    unsigned i = job->first;

    if (V_LANES == 16) {
        for (; i + 2 <= job->end; i += 2) {
            KERNEL(column)(job, i, 2);
        }
        if (i < job->end) {
            KERNEL(column)(job, i, 1);
        }
    } else {
        for (; i < job->end; i++) {
            KERNEL(column)(job, i, 2);
        }
    }
}

#undef KERNEL
#undef V_STEP
#undef V_DONE
#undef STEPS
#undef FIX
#undef TAIL
