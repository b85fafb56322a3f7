/* SPDX-License-Identifier: MIT
 *
 * Commands of the fixpipe. Each function only builds a command; addresses in L0C, UB, L1
 * and FB are byte offsets. A number that does not fit into its operand is an assert, what
 * the hardware refuses it reports. Ranges, layouts and numbers: hal/contract/fixpipe.md.
 *
 *     fixpipe_set_quant(&cmd, fixpipe_word(0.02f, 3, true));      and push it, then
 *     fixpipe_to_ub(&cmd, ub, l0c, &(struct fixpipe_tile){.type = TYPE_S32, .m = m,
 *                   .n = n, .quant = QUANT_REQ8, .relu = FIX_RELU_PLAIN});
 */
#ifndef HAL_FIXPIPE_H
#define HAL_FIXPIPE_H

#include <string.h>

#include "hal/pipe.h"

/* A tile of L0C on its way out: column blocks of 16, in them a row of 64 bytes behind the
 * other. It becomes rows, or with nz_rows fractals. */
struct fixpipe_tile {
    enum type type;       /* of L0C: F32 or S32 */
    uint32_t m, n;        /* rows, up to 8192; columns, up to 4095 */
    uint32_t block_rows;  /* in L0C; 0: m rounded up to 16, as the Cube has it */
    uint32_t pitch_elems; /* from a row to the next, in UB a multiple of 32 bytes; 0: n */
    uint32_t nz_rows;  /* not 0: Nz, rows of 32 bytes from a column block to the next */
    enum quant quant;  /* what elements become; 0: as they are */
    uint32_t fb_quant; /* V modes: the words in FB, 8 bytes a column */
    uint8_t relu;      /* FIX_RELU_; 0: none */
    uint32_t fb_relu;  /* FIX_RELU_CHANNEL: the slopes in FB, 4 bytes a column */
    uint8_t flags;     /* FIX_L0C_GM_SPLIT, _CLIP, _OFFSET_FIRST */
    /* Waits for the marks that UNIT_PASS of struct cube_mmad sets, unit by unit behind the
     * Cube. UNIT_PASS: the Cube may have L0C again; UNIT_KEEP: another command reads it
     * too; 0: no marks. */
    uint8_t unit;
};

static inline void fixpipe_out(union cmd *cmd, enum op op, uint64_t dst, uint32_t l0c,
                               const struct fixpipe_tile *t)
{
    cmd_init(cmd, op, t->type);
    cmd->head.flags = t->nz_rows ? t->flags | FIX_L0C_GM_NZ : t->flags;
    cmd->fix_gm.dst = dst;
    cmd->fix_gm.src = l0c;
    cmd->fix_gm.dst_pitch = t->nz_rows       ? t->nz_rows
                            : t->pitch_elems ? t->pitch_elems
                                             : t->n;
    CMD_SET(cmd->fix_gm.m, t->m);
    CMD_SET(cmd->fix_gm.n, t->n);
    CMD_SET(cmd->fix_gm.src_c0_stride,
            t->block_rows ? t->block_rows : (t->m + 15) / 16 * 16);
    cmd->fix_gm.quant = (uint8_t)t->quant;
    cmd->fix_gm.relu = t->relu;
    cmd->fix_gm.nd_num = 1;
    CMD_SET(cmd->fix_gm.fb_quant, t->fb_quant);
    CMD_SET(cmd->fix_gm.fb_relu, t->fb_relu);
    cmd->fix_gm.unit = t->unit;
}

/* The tile at l0c to GM, to UB, to L1. ub and l1 are multiples of 32. */
static inline void fixpipe_to_gm(union cmd *cmd, void *gm, uint32_t l0c,
                                 const struct fixpipe_tile *t)
{
    fixpipe_out(cmd, OP_FIX_L0C_GM, (uintptr_t)gm, l0c, t);
}

static inline void fixpipe_to_ub(union cmd *cmd, uint32_t ub, uint32_t l0c,
                                 const struct fixpipe_tile *t)
{
    fixpipe_out(cmd, OP_FIX_L0C_UB, ub, l0c, t);
}

static inline void fixpipe_to_l1(union cmd *cmd, uint32_t l1, uint32_t l0c,
                                 const struct fixpipe_tile *t)
{
    fixpipe_out(cmd, OP_FIX_L0C_L1, l1, l0c, t);
}

/* What the fixpipe's writes to GM behind it do, op is ATOMIC_*; as mte_set_atomic. */
static inline void fixpipe_set_atomic(union cmd *cmd, uint8_t op, enum type type)
{
    cmd_init(cmd, OP_SET_ATOMIC_FIX, type);
    cmd->set_atomic.op = op;
}

/* A quantisation word. The scale has 10 bits of fraction, as TF32 has: it is rounded to
 * the nearest, ties to even, beyond the largest to infinity, and NaN stays one. offset is
 * from -256 to 255. Source: hal/contract/fixpipe.md, "Numbers". */
static inline uint64_t fixpipe_word(float scale, int offset, bool is_signed)
{
    const int end = (int)field_get(QUANT_PRE_OFFSET, UINT64_MAX) / 2 + 1;
    const uint32_t unit = QUANT_PRE_M1 & -QUANT_PRE_M1;
    uint32_t bits;

    assert(offset >= -end);
    assert(offset < end);
    memcpy(&bits, &scale, sizeof(bits));
    if (scale != scale) {
        bits |= 1u << 22; /* quiet: what is cut off must not leave an infinity */
    } else {
        bits += unit / 2 - 1 + (bits / unit & 1);
    }
    return (bits & QUANT_PRE_M1) | field_put(QUANT_PRE_OFFSET, (uint64_t)offset) |
           field_put(QUANT_PRE_SIGN, is_signed);
}

/* The word that the scalar modes of the commands that follow use. */
static inline void fixpipe_set_quant(union cmd *cmd, uint64_t word)
{
    cmd_init(cmd, OP_SET_QUANT, TYPE_NONE);
    cmd->set_quant.word = word;
}

/* Slope of FIX_RELU_LEAKY and limit of the flag CLIP for the commands that follow. */
static inline void fixpipe_set_relu(union cmd *cmd, float slope, float limit)
{
    cmd_init(cmd, OP_SET_RELU, TYPE_NONE);
    memcpy(&cmd->set_relu.slope, &slope, sizeof(slope));
    memcpy(&cmd->set_relu.clip, &limit, sizeof(limit));
}

/* len_bytes (a multiple of 64) of L1 to FB: words, 8 bytes a column, or slopes, 4. */
static inline void fixpipe_l1_to_fb(union cmd *cmd, uint32_t fb, uint32_t l1,
                                    uint32_t len_bytes)
{
    cmd_init(cmd, OP_COPY_L1_FB, TYPE_NONE);
    cmd->l1_fb.dst = fb;
    cmd->l1_fb.src = l1;
    cmd->l1_fb.len_bytes = len_bytes;
    cmd->l1_fb.n_blocks = 1;
}

#endif
