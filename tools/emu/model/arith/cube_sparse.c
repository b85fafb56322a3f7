/* SPDX-License-Identifier: MIT
 *
 * The operand of a sparse Mmad with all of its k: of each 4 rows of b a column holds 2
 * elements, and its index says at which of the 4 they stand; the others are 0.
 *
 * A byte of the index is of 4 elements side by side, two pairs. Of a pair the first
 * number counts from position 0 and the second from position 1, so both can name the same
 * one. Source: hal/contract/cube.md, "Sparse".
 */
#include "hal/contract/contract.h"
#include "tools/emu/model/arith/cube_path.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/simd.h"

#define FRACTAL 512u

static bool sparse_fractal(bool rest, uint8_t *low, uint8_t *high, const uint8_t *b,
                           const uint8_t *index)
{
    bool twice = false;

    memset(low, 0, FRACTAL);
    memset(high, 0, FRACTAL);
    for (unsigned i = 0; i < FRACTAL / 2;
         i++) { /* 16 pairs of a column, 8 of each half */
        uint8_t *to = (i % 16 < 8 ? low : high) + i / 16 * 32 + i % 8 * 4;
        unsigned at = index[i / 2] >> i % 2 * 4 & 15;
        unsigned first = at % 4, second = at / 4 + 1;

        if (first == second) {
            to[first] = b[2 * i + rest];
            twice |= b[2 * i + 1] != 0;
        } else if (!rest) {
            to[first] = b[2 * i];
            to[second % 4] = b[2 * i + 1];
        }
    }
    return twice;
}

bool cube_sparse_widen(bool rest, uint8_t *wide, const uint8_t *b, const uint8_t *index,
                       unsigned nb, unsigned kb)
{
    bool (*fractal)(bool, uint8_t *, uint8_t *, const uint8_t *, const uint8_t *) =
        sparse_fractal;
    bool twice = false;

#if defined(__x86_64__)
    fractal = simd_level() >= SIMD_AVX2 ? cube_sparse_fractal_avx2 : fractal;
#endif
    for (size_t i = 0; i < kb; i++) {
        for (size_t j = 0; j < nb; j++, b += FRACTAL, index += SPARSE_INDEX_BYTES) {
            uint8_t *to = wide + (2 * i * nb + j) * FRACTAL;

            twice |= fractal(rest, to, to + nb * FRACTAL, b, index);
        }
    }
    return twice;
}
