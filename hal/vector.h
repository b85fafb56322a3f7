/* SPDX-License-Identifier: MIT
 *
 * Commands of the Vector that work element by element. Each function only builds a
 * command. A command works on repeats of 8 blocks of 32 bytes; the mask says which of
 * their elements take part: so many (vector_count) or these (vector_mask). What is
 * elementwise has two builders: a plain one, of operands without gaps, for vector_count;
 * and _strided with a struct that says where each operand's blocks lie and how many
 * repeats there are. After vector_count repeats need not be said.
 *
 * A number that does not fit into its operand is an assert, what the hardware refuses it
 * reports. Operands, types and numbers of each command: its row of hal/contract/vector.md.
 */
#ifndef HAL_VECTOR_H
#define HAL_VECTOR_H

#include <string.h>

#include "hal/pipe.h"

/* --- operands --- */

/* Where in UB. Strides count blocks of 32 bytes; 0 reads the same again. */
struct vec_at {
    uint32_t addr; /* bytes, a multiple of 32 */
    uint16_t blk;  /* from a block of a repeat to the next */
    uint16_t rep;  /* from a repeat to the next */
};

enum vec_blocks { VEC_BLOCKS = 8 /* of a repeat */ };

/* Block after block without gaps. */
static inline struct vec_at vec_dense(uint32_t addr)
{
    return (struct vec_at){addr, 1, VEC_BLOCKS};
}

/* Repeats `rep` blocks apart, each without gaps. */
static inline struct vec_at vec_repeats(uint32_t addr, uint32_t rep)
{
    struct vec_at at = {addr, 1, 0};

    CMD_SET(at.rep, rep);
    return at;
}

/* The same 256 bytes in every repeat: a row constant of whole repeats. */
static inline struct vec_at vec_same_repeat(uint32_t addr)
{
    return (struct vec_at){addr, 1, 0};
}

/* The same 32 bytes in every block. */
static inline struct vec_at vec_same_block(uint32_t addr)
{
    return (struct vec_at){addr, 0, 0};
}

/* Without gaps where the other operand, of `wide` bits an element, fills its repeats:
 * what a conversion has on its narrow side. */
static inline struct vec_at vec_dense_of(uint32_t addr, unsigned bits, unsigned wide)
{
    return (struct vec_at){addr, 1, (uint16_t)(VEC_BLOCKS * bits / wide)};
}

/* For builders: an operand of a command's format, with its strides. */
#define VEC_SET(format, operand, at)                                                     \
    do {                                                                                 \
        CMD_SET((format).operand##_blk, (at).blk | (at).rep); /* both */                 \
        (format).operand = (at).addr;                                                    \
        (format).operand##_blk = (__typeof__((format).operand##_blk))(at).blk;           \
        (format).operand##_rep = (__typeof__((format).operand##_rep))(at).rep;           \
    } while (0)

/* --- masks and other registers: they hold for the commands behind --- */

/* The commands that follow work on the first n elements (counter mode). */
static inline void vector_count(union cmd *cmd, uint32_t n)
{
    cmd_init(cmd, OP_SET_MASK, TYPE_NONE);
    cmd->head.flags = SET_MASK_COUNTER;
    cmd->set_mask.lo = n;
}

/* The commands that follow work on those elements of each repeat whose bit is 1, and on as
 * many repeats as they say; bits 64 to 127 are those of 16-bit elements. */
static inline void vector_mask(union cmd *cmd, uint64_t lo, uint64_t hi)
{
    cmd_init(cmd, OP_SET_MASK, TYPE_NONE);
    cmd->set_mask.lo = lo;
    cmd->set_mask.hi = hi;
}

/* The compare mask register = 16 bytes at `ub`, and back. */
static inline void vector_set_cmpmask(union cmd *cmd, uint32_t ub)
{
    cmd_init(cmd, OP_SET_CMPMASK, TYPE_NONE);
    cmd->set_cmpmask.src = ub;
}

static inline void vector_get_cmpmask(union cmd *cmd, uint32_t ub)
{
    cmd_init(cmd, OP_GET_CMPMASK, TYPE_NONE);
    cmd->get_cmpmask.dst = ub;
}

/* What VADDDEQRELU and conversions from S32 to F16 multiply with: the bits of an fp16. 1
 * after a reset. */
static inline void vector_deq_scale(union cmd *cmd, uint16_t half)
{
    cmd_init(cmd, OP_SET_DEQSCALE, TYPE_F16);
    cmd->set_deqscale.word = half;
}

/* A word of VDEQ: result = x * scale + offset, offset from -256 to 255, as S8 or U8. */
static inline uint64_t vector_deq_word(float scale, int offset, bool is_signed)
{
    const int end = (int)field_get(DEQ_OFFSET, UINT64_MAX) / 2 + 1;
    uint32_t bits;

    assert(offset >= -end);
    assert(offset < end);
    memcpy(&bits, &scale, sizeof(bits));
    return bits | field_put(DEQ_OFFSET, (uint64_t)offset) |
           field_put(DEQ_SIGN, is_signed);
}

/* The word of the vector_quantise that follow. */
static inline void vector_set_deq(union cmd *cmd, uint64_t word)
{
    cmd_init(cmd, OP_SET_DEQSCALE, TYPE_F32);
    cmd->set_deqscale.word = word;
}

/* --- arithmetic --- */

/* dst = op(x): VABS VNEG VNOT VRELU VEXP VLN VSQRT VRSQRT VREC VTANH VERF. */
struct vec_unary {
    enum op op;
    enum type type;
    struct vec_at dst, x;
    uint32_t repeat; /* up to 255 */
};

static inline void vector_unary_strided(union cmd *cmd, const struct vec_unary *v)
{
    cmd_init(cmd, v->op, v->type);
    VEC_SET(cmd->vec1, dst, v->dst);
    VEC_SET(cmd->vec1, src, v->x);
    CMD_SET(cmd->vec1.repeat, v->repeat);
}

static inline void vector_unary(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                uint32_t x)
{
    vector_unary_strided(
        cmd, &(struct vec_unary){
                 .op = op, .type = type, .dst = vec_dense(dst), .x = vec_dense(x)});
}

/* dst = x op scalar: VADDS VMULS VMAXS VMINS VLRELU VSHL VSHR VAXPY. */
struct vec_scalar {
    enum op op;
    enum type type;
    struct vec_at dst, x;
    uint32_t scalar; /* bits of a number of the type, 0 above them */
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VSHL_LOGICAL, VSHR_LOGICAL, VSHR_ROUND, VAXPY_WIDE */
};

static inline void vector_scalar_strided(union cmd *cmd, const struct vec_scalar *v)
{
    cmd_init(cmd, v->op, v->type);
    cmd->head.flags = v->flags;
    VEC_SET(cmd->vec1s, dst, v->dst);
    VEC_SET(cmd->vec1s, src, v->x);
    cmd->vec1s.scalar = v->scalar;
    CMD_SET(cmd->vec1s.repeat, v->repeat);
}

static inline void vector_scalar(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                 uint32_t x, uint32_t scalar)
{
    vector_scalar_strided(cmd, &(struct vec_scalar){.op = op,
                                                    .type = type,
                                                    .dst = vec_dense(dst),
                                                    .x = vec_dense(x),
                                                    .scalar = scalar});
}

/* dst = x op y: VADD VSUB VMUL VDIV VMAX VMIN VAND VOR VXOR VADDRELU VSUBRELU VMADD
 * VMADDRELU VMLA VPRELU; VADDDEQRELU, whose type is S32 and whose results are F16. */
struct vec_binary {
    enum op op;
    enum type type;
    struct vec_at dst, x, y;
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VMLA_WIDE */
};

static inline void vector_binary_strided(union cmd *cmd, const struct vec_binary *v)
{
    cmd_init(cmd, v->op, v->type);
    cmd->head.flags = v->flags;
    VEC_SET(cmd->vec2, dst, v->dst);
    VEC_SET(cmd->vec2, src0, v->x);
    VEC_SET(cmd->vec2, src1, v->y);
    CMD_SET(cmd->vec2.repeat, v->repeat);
}

static inline void vector_binary(union cmd *cmd, enum op op, enum type type, uint32_t dst,
                                 uint32_t x, uint32_t y)
{
    unsigned bits = op == OP_VADDDEQRELU ? 16 : 32; /* of a result where x has 32 */

    vector_binary_strided(cmd, &(struct vec_binary){.op = op,
                                                    .type = type,
                                                    .dst = vec_dense_of(dst, bits, 32),
                                                    .x = vec_dense(x),
                                                    .y = vec_dense(y)});
}

static inline void vector_add(union cmd *cmd, enum type type, uint32_t dst, uint32_t x,
                              uint32_t y)
{
    vector_binary(cmd, OP_VADD, type, dst, x, y);
}

/* --- conversions --- */

/* dst = x as `to`. Of S4 two are in a byte, and the count is even. */
struct vec_convert {
    enum type from, to;
    uint8_t round; /* ROUND_ */
    struct vec_at dst, x;
    uint32_t repeat; /* up to 255, of the wider type */
};

static inline void vector_convert_strided(union cmd *cmd, const struct vec_convert *v)
{
    cmd_init(cmd, OP_VCONV, v->from);
    VEC_SET(cmd->vec_conv, dst, v->dst);
    VEC_SET(cmd->vec_conv, src, v->x);
    cmd->vec_conv.to = (uint8_t)v->to;
    cmd->vec_conv.round = v->round;
    CMD_SET(cmd->vec_conv.repeat, v->repeat);
}

static inline void vector_convert(union cmd *cmd, enum type from, enum type to,
                                  uint8_t round, uint32_t dst, uint32_t x)
{
    unsigned wide = type_bits(from) > type_bits(to) ? type_bits(from) : type_bits(to);

    vector_convert_strided(
        cmd, &(struct vec_convert){.from = from,
                                   .to = to,
                                   .round = round,
                                   .dst = vec_dense_of(dst, type_bits(to), wide),
                                   .x = vec_dense_of(x, type_bits(from), wide)});
}

/* Each block of 16 S16 to half a block of S8 or U8, by the word of vector_set_deq: to the
 * lower half, or the upper. */
struct vec_quantise {
    struct vec_at dst, x;
    uint32_t repeat; /* up to 255 */
    uint32_t words;  /* VDEQ_VECTOR: 16 words in UB, one for each element of a block */
    uint8_t flags;   /* VDEQ_HIGH: the upper half; VDEQ_VECTOR */
};

static inline void vector_quantise(union cmd *cmd, const struct vec_quantise *v)
{
    cmd_init(cmd, OP_VDEQ, TYPE_S16);
    cmd->head.flags = v->flags;
    VEC_SET(cmd->vec_deq, dst, v->dst);
    VEC_SET(cmd->vec_deq, src, v->x);
    cmd->vec_deq.words = v->words;
    CMD_SET(cmd->vec_deq.repeat, v->repeat);
}

/* dst = x op y as another type, to nearest, ties to even: VADDRELUCONV VSUBRELUCONV
 * VMULCONV. */
struct vec_binary_convert {
    enum op op;
    enum type from, to;
    struct vec_at dst, x, y;
    uint32_t repeat; /* up to 255, of the wider type */
};

static inline void vector_binary_convert(union cmd *cmd,
                                         const struct vec_binary_convert *v)
{
    cmd_init(cmd, v->op, v->from);
    VEC_SET(cmd->vec2c, dst, v->dst);
    VEC_SET(cmd->vec2c, src0, v->x);
    VEC_SET(cmd->vec2c, src1, v->y);
    cmd->vec2c.to = (uint8_t)v->to;
    CMD_SET(cmd->vec2c.repeat, v->repeat);
}

/* --- comparison and selection --- */

/* Bits at dst, from bit 0 up: where x cond y. */
struct vec_compare {
    enum type type;
    uint8_t cond; /* CMP_ */
    uint32_t dst;
    struct vec_at x, y;
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VCMP_CMPMASK: to the compare mask register, one repeat */
};

static inline void vector_compare_strided(union cmd *cmd, const struct vec_compare *v)
{
    cmd_init(cmd, OP_VCMP, v->type);
    cmd->head.flags = v->flags;
    cmd->vec_cmp.dst = v->dst;
    VEC_SET(cmd->vec_cmp, src0, v->x);
    VEC_SET(cmd->vec_cmp, src1, v->y);
    cmd->vec_cmp.cond = v->cond;
    CMD_SET(cmd->vec_cmp.repeat, v->repeat);
}

static inline void vector_compare(union cmd *cmd, enum type type, uint8_t cond,
                                  uint32_t dst, uint32_t x, uint32_t y)
{
    vector_compare_strided(cmd, &(struct vec_compare){.type = type,
                                                      .cond = cond,
                                                      .dst = dst,
                                                      .x = vec_dense(x),
                                                      .y = vec_dense(y)});
}

/* The same with a number's bits instead of y. */
struct vec_compare_scalar {
    enum type type;
    uint8_t cond; /* CMP_ */
    uint32_t dst;
    struct vec_at x;
    uint32_t scalar;
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VCMPS_CMPMASK */
};

static inline void vector_compare_scalar(union cmd *cmd,
                                         const struct vec_compare_scalar *v)
{
    cmd_init(cmd, OP_VCMPS, v->type);
    cmd->head.flags = v->flags;
    cmd->vec_cmps.dst = v->dst;
    VEC_SET(cmd->vec_cmps, src, v->x);
    cmd->vec_cmps.scalar = v->scalar;
    cmd->vec_cmps.cond = v->cond;
    CMD_SET(cmd->vec_cmps.repeat, v->repeat);
}

/* dst = x where the bit is 1, else y. */
struct vec_select {
    enum type type;
    struct vec_at dst, x, y;
    uint32_t bits;   /* in UB, from bit 0 up */
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VSEL_CMPMASK: the bits of the compare mask register */
};

static inline void vector_select_strided(union cmd *cmd, const struct vec_select *v)
{
    cmd_init(cmd, OP_VSEL, v->type);
    cmd->head.flags = v->flags;
    VEC_SET(cmd->vec_sel, dst, v->dst);
    VEC_SET(cmd->vec_sel, src0, v->x);
    VEC_SET(cmd->vec_sel, src1, v->y);
    cmd->vec_sel.sel = v->bits;
    CMD_SET(cmd->vec_sel.repeat, v->repeat);
}

static inline void vector_select(union cmd *cmd, enum type type, uint32_t dst, uint32_t x,
                                 uint32_t y, uint32_t bits)
{
    vector_select_strided(cmd, &(struct vec_select){.type = type,
                                                    .dst = vec_dense(dst),
                                                    .x = vec_dense(x),
                                                    .y = vec_dense(y),
                                                    .bits = bits});
}

/* The same with a number's bits instead of y. */
struct vec_select_scalar {
    enum type type;
    struct vec_at dst, x;
    uint32_t scalar;
    uint32_t bits;   /* in UB, from bit 0 up */
    uint32_t repeat; /* up to 255 */
    uint8_t flags;   /* VSELS_CMPMASK */
};

static inline void vector_select_scalar(union cmd *cmd, const struct vec_select_scalar *v)
{
    cmd_init(cmd, OP_VSELS, v->type);
    cmd->head.flags = v->flags;
    VEC_SET(cmd->vec_sels, dst, v->dst);
    VEC_SET(cmd->vec_sels, src, v->x);
    cmd->vec_sels.sel = v->bits;
    cmd->vec_sels.scalar = v->scalar;
    CMD_SET(cmd->vec_sels.repeat, v->repeat);
}

#endif
