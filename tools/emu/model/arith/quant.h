/* SPDX-License-Identifier: MIT
 *
 * The fixpipe's arithmetic: columns of 32-bit results to what a quantisation mode makes
 * of them. Source: hal/contract/fixpipe.md, "Numbers".
 */
#ifndef TOOLS_EMU_MODEL_ARITH_QUANT_H
#define TOOLS_EMU_MODEL_ARITH_QUANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/contract/contract.h"

#define QUANT_COLUMNS 16 /* of a block of L0C */

/* Where a mode takes its quantisation word from. */
enum quant_scale { QUANT_BY_NONE, QUANT_BY_SCALAR, QUANT_BY_CHANNEL };

struct quant_mode {
    uint32_t from; /* bit n: takes type n */
    uint8_t to;    /* enum type, NONE: as it was */
    uint8_t scale; /* enum quant_scale */
};

extern const struct quant_mode quant_modes[QUANT_COUNT];

struct quant_job {
    uint8_t quant; /* enum quant */
    uint8_t from;  /* F32 or S32 */
    uint8_t relu;  /* FIX_RELU_ */
    bool clip;
    bool offset_first; /* relu and clip see the number with its offset */
    uint64_t word;     /* quantisation word of a SCALAR mode */
    uint32_t slope, limit;
    const uint8_t *words, *slopes; /* those of column 0, 8 and 4 bytes each */
};

static inline unsigned quant_bits(unsigned quant)
{
    return quant == QUANT_NONE ? 32 : type_bits(quant_modes[quant].to);
}

/* Columns of a block of L0C; any alignment. */
struct quant_block {
    uint8_t *dst;       /* packed in a row */
    size_t dst_pitch;   /* bytes from row to row */
    const uint8_t *src; /* rows are 64 bytes apart */
    size_t rows;
    unsigned column, n; /* number of the first one; up to 16, for S4 an even number */
};

/* The caller has called simd_fp_enter(). */
void quant_columns(const struct quant_job *q, const struct quant_block *b);

#endif
