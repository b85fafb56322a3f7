/* SPDX-License-Identifier: MIT
 *
 * The element commands of the Vector: what a line of vector.def means for its operands,
 * and how repeats, masks and overlap lead to calls of the arithmetic (vec_kernel.h).
 * Each format has a function that describes a command as a struct shape; the rest is the
 * same for all. Source: hal/contract/vector.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/arith/simd.h"
#include "tools/emu/model/ops/vector/shape.h"
#include "tools/emu/model/arith/vecnum.h"

#define FIELD_OF(format, name) offsetof(struct cmd_##format, name)

static unsigned set_mask_plan(const struct op_ctx *c)
{
    c->plan->fixed = 1;
    if ((c->cmd->head.flags & SET_MASK_COUNTER) &&
        (c->cmd->set_mask.hi || c->cmd->set_mask.lo > UINT32_MAX)) {
        return op_fail(
            c, c->cmd->set_mask.hi ? FIELD_OF(set_mask, hi) : FIELD_OF(set_mask, lo),
            NPU_ERR_RANGE);
    }
    return 0;
}

static void set_mask_run(const struct op_ctx *c)
{
    c->special[SPECIAL_MASK_COUNTER] = c->cmd->head.flags & SET_MASK_COUNTER;
    c->special[SPECIAL_MASK_LO] = c->cmd->set_mask.lo;
    c->special[SPECIAL_MASK_HI] = c->cmd->set_mask.hi;
}

const struct operation op_SET_MASK = {.plan = set_mask_plan, .run = set_mask_run};

static unsigned set_cmpmask_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = 1;
    plan->ops = 1;
    plan->n_src = 1;
    plan->src[0] = access_rows(NPU_MEM_UB, FIELD_OF(set_cmpmask, src),
                               c->cmd->set_cmpmask.src, 16, 1, 16);
    return 0;
}

static void set_cmpmask_run(const struct op_ctx *c)
{
    memcpy(&c->special[SPECIAL_CMPMASK_LO], c->src[0], 16);
}

const struct operation op_SET_CMPMASK = {
    .plan = set_cmpmask_plan, .run = set_cmpmask_run, .flow = set_cmpmask_run};

static unsigned get_cmpmask_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;

    plan->fixed = 1;
    plan->dst = access_rows(NPU_MEM_UB, FIELD_OF(get_cmpmask, dst),
                            c->cmd->get_cmpmask.dst, 16, 1, 16);
    plan->has_dst = true;
    return 0;
}

static void get_cmpmask_run(const struct op_ctx *c)
{
    memcpy(c->stage, &c->special[SPECIAL_CMPMASK_LO], 16);
}

const struct operation op_GET_CMPMASK = {
    .plan = get_cmpmask_plan, .run = get_cmpmask_run, .flow = flow_move};

static unsigned set_deqscale_plan(const struct op_ctx *c)
{
    c->plan->fixed = 1;
    return c->cmd->head.type == TYPE_F16 && c->cmd->set_deqscale.word > UINT16_MAX
               ? op_fail(c, FIELD_OF(set_deqscale, word), NPU_ERR_RANGE)
               : 0;
}

static void set_deqscale_run(const struct op_ctx *c)
{
    bool half = c->cmd->head.type == TYPE_F16;

    c->special[half ? SPECIAL_DEQ_SCALE : SPECIAL_DEQ_WORD] = c->cmd->set_deqscale.word;
}

const struct operation op_SET_DEQSCALE = {.plan = set_deqscale_plan,
                                          .run = set_deqscale_run};

/* --- what a command is --- */

static const struct vec_path *vec_path(void)
{
#if defined(__x86_64__)
    enum simd level = simd_level();

    if (level >= SIMD_AVX512) {
        return &vec_avx512;
    }
    if (level >= SIMD_AVX2) {
        return &vec_avx2;
    }
#endif
    return &vec_plain;
}

#define OPERAND(format, name, cmd, size)                                                 \
    ((struct vec_operand){FIELD_OF(format, name), (cmd)->format.name, (uint8_t)(size),   \
                          (cmd)->format.name##_blk, (cmd)->format.name##_rep})
#define BITS(format, name, cmd)                                                          \
    ((struct vec_operand){FIELD_OF(format, name), (cmd)->format.name, 0, 1, 0})

static unsigned size_of(unsigned type)
{
    return type_bits(type) / 8;
}

/* The arithmetic; a command whose function takes one source more than it names also reads
 * its destination. */
static void shape_op(const union cmd *cmd, bool wide, struct shape *s)
{
    const struct vec_kernel *k =
        &vec_path()->op[wide][VEC_INDEX(cmd->head.opcode)][cmd->head.type];

    s->fn = k->fn;
    s->result = (uint8_t)(wide ? TYPE_F32 : cmd->head.type);
    s->bits = cmd->head.opcode == OP_VAND || cmd->head.opcode == OP_VOR ||
              cmd->head.opcode == OP_VXOR || cmd->head.opcode == OP_VNOT;
    if (k->n_src > s->n_src) {
        s->src[s->n_src++] = s->dst;
    }
}

/* Bits above the type's must be 0. Shifts go up to the number of bits. */
static unsigned shape_scalar(const struct op_ctx *c, size_t field, uint32_t scalar,
                             struct shape *s)
{
    const struct cmd_head *head = &c->cmd->head;
    bool shift = head->opcode == OP_VSHL || head->opcode == OP_VSHR;
    unsigned bits = type_bits(head->type);

    if (shift ? scalar > bits : bits < 32 && scalar >> bits) {
        return op_fail(c, field, NPU_ERR_RANGE);
    }
    s->imm.real =
        num_float(head->type == TYPE_F16 ? num_f16_to_f32((uint16_t)scalar) : scalar);
    s->imm.whole = head->type == TYPE_S16 && !shift ? (uint32_t)(int16_t)scalar : scalar;
    return 0;
}

static unsigned shape_vec1(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned esize = size_of(cmd->head.type);

    s->dst = OPERAND(vec1, dst, cmd, esize);
    s->src[0] = OPERAND(vec1, src, cmd, esize);
    s->n_src = 1;
    s->repeat = cmd->vec1.repeat;
    shape_op(cmd, false, s);
    return 0;
}

static unsigned shape_vec1s(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned esize = size_of(cmd->head.type);
    bool wide = cmd->head.opcode == OP_VAXPY && (cmd->head.flags & VAXPY_WIDE);

    if (wide && cmd->head.type != TYPE_F16) {
        return op_fail(c, offsetof(struct cmd_head, flags), NPU_ERR_FLAGS);
    }
    s->dst = OPERAND(vec1s, dst, cmd, wide ? 4 : esize);
    s->src[0] = OPERAND(vec1s, src, cmd, esize);
    s->n_src = 1;
    s->repeat = cmd->vec1s.repeat;
    shape_op(cmd, wide, s);
    return shape_scalar(c, FIELD_OF(vec1s, scalar), cmd->vec1s.scalar, s);
}

static unsigned shape_vec2(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned esize = size_of(cmd->head.type);
    bool wide = cmd->head.opcode == OP_VMLA && (cmd->head.flags & VMLA_WIDE);

    if (wide && cmd->head.type != TYPE_F16) {
        return op_fail(c, offsetof(struct cmd_head, flags), NPU_ERR_FLAGS);
    }
    s->dst = OPERAND(vec2, dst, cmd, wide ? 4 : esize);
    s->src[0] = OPERAND(vec2, src0, cmd, esize);
    s->src[1] = OPERAND(vec2, src1, cmd, esize);
    s->n_src = 2;
    s->repeat = cmd->vec2.repeat;
    shape_op(cmd, wide, s);
    if (cmd->head.opcode == OP_VADDDEQRELU) {
        s->dst.esize = 2;
        s->result = TYPE_F16;
    }
    return 0;
}

static unsigned shape_vec2c(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned type = cmd->head.type, to = cmd->vec2c.to;

    s->then = to == TYPE_S4 ? NULL : vec_path()->conv[type][to];
    s->imm.mode = ROUND_RINT;
    if (!s->then) {
        return op_fail(c, FIELD_OF(vec2c, to), NPU_ERR_TYPE);
    }
    s->dst = OPERAND(vec2c, dst, cmd, size_of(to));
    s->src[0] = OPERAND(vec2c, src0, cmd, size_of(type));
    s->src[1] = OPERAND(vec2c, src1, cmd, size_of(type));
    s->n_src = 2;
    s->repeat = cmd->vec2c.repeat;
    shape_op(cmd, false, s);
    s->result = (uint8_t)to;
    return 0;
}

static unsigned shape_vec_conv(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned to = cmd->vec_conv.to;

    s->fn = vec_path()->conv[cmd->head.type][to];
    s->imm.mode = cmd->vec_conv.round == ROUND_NONE ? ROUND_RINT : cmd->vec_conv.round;
    if (!s->fn) {
        return op_fail(c, FIELD_OF(vec_conv, to), NPU_ERR_TYPE);
    }
    s->pairs = cmd->head.type == TYPE_S4 || to == TYPE_S4;
    s->dst = OPERAND(vec_conv, dst, cmd, type_bits(to) << s->pairs >> 3);
    s->src[0] = OPERAND(vec_conv, src, cmd, type_bits(cmd->head.type) << s->pairs >> 3);
    s->n_src = 1;
    s->repeat = cmd->vec_conv.repeat;
    s->result = (uint8_t)to;
    return 0;
}

static unsigned shape_vec_cmp(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned esize = size_of(cmd->head.type);

    s->dst = BITS(vec_cmp, dst, cmd);
    s->src[0] = OPERAND(vec_cmp, src0, cmd, esize);
    s->src[1] = OPERAND(vec_cmp, src1, cmd, esize);
    s->n_src = 2;
    s->repeat = cmd->vec_cmp.repeat;
    s->to_cmpmask = cmd->head.flags & VCMP_CMPMASK;
    s->fn = vec_path()->compare[0][cmd->head.type];
    s->imm.mode = cmd->vec_cmp.cond;
    return 0;
}

static unsigned shape_vec_cmps(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;

    s->dst = BITS(vec_cmps, dst, cmd);
    s->src[0] = OPERAND(vec_cmps, src, cmd, size_of(cmd->head.type));
    s->n_src = 1;
    s->repeat = cmd->vec_cmps.repeat;
    s->to_cmpmask = cmd->head.flags & VCMPS_CMPMASK;
    s->fn = vec_path()->compare[1][cmd->head.type];
    s->imm.mode = cmd->vec_cmps.cond;
    return shape_scalar(c, FIELD_OF(vec_cmps, scalar), cmd->vec_cmps.scalar, s);
}

static unsigned shape_vec_sel(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned esize = size_of(cmd->head.type);

    s->from_cmpmask = cmd->head.flags & VSEL_CMPMASK;
    s->dst = OPERAND(vec_sel, dst, cmd, esize);
    s->src[0] = OPERAND(vec_sel, src0, cmd, esize);
    s->src[1] = OPERAND(vec_sel, src1, cmd, esize);
    s->src[2] = BITS(vec_sel, sel, cmd);
    s->n_src = 3;
    s->repeat = cmd->vec_sel.repeat;
    s->fn = vec_path()->select[0][cmd->head.type];
    return 0;
}

static unsigned shape_vec_sels(const struct op_ctx *c, struct shape *s)
{
    const union cmd *cmd = c->cmd;
    unsigned esize = size_of(cmd->head.type);

    s->from_cmpmask = cmd->head.flags & VSELS_CMPMASK;
    s->dst = OPERAND(vec_sels, dst, cmd, esize);
    s->src[0] = OPERAND(vec_sels, src, cmd, esize);
    s->src[1] = BITS(vec_sels, sel, cmd);
    s->n_src = 2;
    s->repeat = cmd->vec_sels.repeat;
    s->fn = vec_path()->select[1][cmd->head.type];
    return shape_scalar(c, FIELD_OF(vec_sels, scalar), cmd->vec_sels.scalar, s);
}

/* --- what all do --- */

/* Makes plan, run and store of a format, and the operation of every command that has it.
 */
#define FORMAT_OPERATION(format)                                                         \
    static unsigned format##_plan(const struct op_ctx *c)                                \
    {                                                                                    \
        struct shape s = {0};                                                            \
        unsigned code = shape_##format(c, &s);                                           \
        return code ? code : shape_plan(c, &s);                                          \
    }                                                                                    \
    static void format##_run(const struct op_ctx *c)                                     \
    {                                                                                    \
        struct shape s = {0};                                                            \
        shape_##format(c, &s);                                                           \
        shape_run(c, &s);                                                                \
    }                                                                                    \
    static void format##_store(const struct op_ctx *c)                                   \
    {                                                                                    \
        struct shape s = {0};                                                            \
        shape_##format(c, &s);                                                           \
        shape_store(c, &s);                                                              \
    }                                                                                    \
    static void format##_touch(const struct op_ctx *c, const struct touch *t)            \
    {                                                                                    \
        struct shape s = {0};                                                            \
        shape_##format(c, &s);                                                           \
        shape_touch(c, &s, t);                                                           \
    }                                                                                    \
    static void format##_flow(const struct op_ctx *c)                                    \
    {                                                                                    \
        struct shape s = {.flow = true};                                                 \
        shape_##format(c, &s);                                                           \
        shape_run(c, &s);                                                                \
        flow_store(c);                                                                   \
    }
FORMAT_OPERATION(vec1)
FORMAT_OPERATION(vec1s)
FORMAT_OPERATION(vec2)
FORMAT_OPERATION(vec2c)
FORMAT_OPERATION(vec_conv)
FORMAT_OPERATION(vec_cmp)
FORMAT_OPERATION(vec_cmps)
FORMAT_OPERATION(vec_sel)
FORMAT_OPERATION(vec_sels)

#define PARAM(name, value, text)
#define FIELD(name, lsb, width, text)
#define COST(name, a2, ascend910, ascend310, unit, source)
#define FORMAT(name)
#define ARG(format, ctype, field, min, max, multiple, text)
#define FORMAT_END(name)
#define CMD(NAME, pipe, opcode, types, flags, format, text)
#define CMD_FLAG(NAME, flag, bit, text)
#define VEC(NAME, opcode, types, flags, format, slope32, slope16, fixed, text)           \
    const struct operation op_##NAME = {.plan = format##_plan,                           \
                                        .run = format##_run,                             \
                                        .store = format##_store,                         \
                                        .touch = format##_touch,                         \
                                        .flow = format##_flow};
#include "hal/contract/vector.def"
