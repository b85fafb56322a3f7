/* SPDX-License-Identifier: MIT
 *
 * Costs of commands; see cost.h. Where the operands of a command lie in it follows from
 * its format, as everywhere.
 */
#include "kernels/tile/cost/cost.h"

#include "hal/chip.h"
#include "hal/contract/cost.h"

enum { REPEAT_BYTES = 256, FIRST_VEC = OP_VADD, LAST_VEC = OP_VBI };

#define FORMAT(name) AS_##name,
enum format {
    AS_NOTHING,
#include "hal/contract/all.h"
};

#define VEC(NAME, opcode, types, flags, format, slope32, slope16, fixed, text)           \
    [(opcode)-FIRST_VEC] = AS_##format,
static const uint8_t formats[LAST_VEC - FIRST_VEC + 1] = {
#include "hal/contract/all.h"
};

void tile_costs_init(struct tile_costs *c)
{
    *c = (struct tile_costs){.bank_wait = chip_cost(COST_VEC_BANK_WAIT),
                             .row_least = chip_cost(COST_GM_ROW_BYTES),
                             .in_fixed = chip_cost(COST_GM_UB_FIXED),
                             .in_rate = chip_cost(COST_GM_UB_RATE),
                             .out_fixed = chip_cost(COST_UB_GM_FIXED),
                             .out_rate = chip_cost(COST_UB_GM_RATE),
                             .unaligned = chip_cost(COST_GM_UNALIGNED)};
}

uint64_t tile_repeats(const struct tile_costs *c, unsigned esize, unsigned repeat)
{
    return c->counter ? (c->count * esize + REPEAT_BYTES - 1) / REPEAT_BYTES : repeat;
}

/* An element command: what it reads and writes, and how often. */
struct element {
    struct vec_operand src[3], dst;
    unsigned n_src, repeat;
    bool one; /* repeat at the most */
};

#define OPERAND(format, name, size)                                                      \
    ((struct vec_operand){offsetof(struct cmd_##format, name), cmd->format.name,         \
                          (uint8_t)(size), cmd->format.name##_blk,                       \
                          cmd->format.name##_rep})

static unsigned bytes_of(unsigned type)
{
    return type_bits(type) / 8;
}

/* Commands that have the destination among their sources. */
static bool reads_dst(unsigned opcode)
{
    return opcode == OP_VAXPY || opcode == OP_VMADD || opcode == OP_VMADDRELU ||
           opcode == OP_VMLA;
}

static void unary(const union cmd *cmd, enum format format, unsigned esize,
                  struct element *e)
{
    bool wide = cmd->head.opcode == OP_VAXPY && (cmd->head.flags & VAXPY_WIDE);

    e->n_src = 1;
    if (format == AS_vec1) {
        e->dst = OPERAND(vec1, dst, esize);
        e->src[0] = OPERAND(vec1, src, esize);
        e->repeat = cmd->vec1.repeat;
    } else if (format == AS_vec1s) {
        e->dst = OPERAND(vec1s, dst, wide ? 4 : esize);
        e->src[0] = OPERAND(vec1s, src, esize);
        e->repeat = cmd->vec1s.repeat;
    } else {
        unsigned pair = cmd->head.type == TYPE_S4 || cmd->vec_conv.to == TYPE_S4;
        e->dst = OPERAND(vec_conv, dst, type_bits(cmd->vec_conv.to) << pair >> 3);
        e->src[0] = OPERAND(vec_conv, src, type_bits(cmd->head.type) << pair >> 3);
        e->repeat = cmd->vec_conv.repeat;
    }
}

static void binary(const union cmd *cmd, enum format format, unsigned esize,
                   struct element *e)
{
    bool wide = cmd->head.opcode == OP_VMLA && (cmd->head.flags & VMLA_WIDE);

    e->n_src = 2;
    if (format == AS_vec2) {
        bool half = cmd->head.opcode == OP_VADDDEQRELU;
        e->dst = OPERAND(vec2, dst, half ? 2 : wide ? 4 : esize);
        e->src[0] = OPERAND(vec2, src0, esize);
        e->src[1] = OPERAND(vec2, src1, esize);
        e->repeat = cmd->vec2.repeat;
    } else {
        e->dst = OPERAND(vec2c, dst, bytes_of(cmd->vec2c.to));
        e->src[0] = OPERAND(vec2c, src0, esize);
        e->src[1] = OPERAND(vec2c, src1, esize);
        e->repeat = cmd->vec2c.repeat;
    }
}

/* Bits of comparisons and selections are no operands here: they lie in no group. */
static void compare(const union cmd *cmd, enum format format, unsigned esize,
                    struct element *e)
{
    e->n_src = 1;
    e->dst.blk = 1;
    if (format == AS_vec_cmp) {
        e->n_src = 2;
        e->src[0] = OPERAND(vec_cmp, src0, esize);
        e->src[1] = OPERAND(vec_cmp, src1, esize);
        e->repeat = cmd->vec_cmp.repeat;
        e->one = cmd->head.flags & VCMP_CMPMASK;
    } else if (format == AS_vec_cmps) {
        e->src[0] = OPERAND(vec_cmps, src, esize);
        e->repeat = cmd->vec_cmps.repeat;
        e->one = cmd->head.flags & VCMPS_CMPMASK;
    } else if (format == AS_vec_sel) {
        e->n_src = 2;
        e->dst = OPERAND(vec_sel, dst, esize);
        e->src[0] = OPERAND(vec_sel, src0, esize);
        e->src[1] = OPERAND(vec_sel, src1, esize);
        e->repeat = cmd->vec_sel.repeat;
    } else {
        e->dst = OPERAND(vec_sels, dst, esize);
        e->src[0] = OPERAND(vec_sels, src, esize);
        e->repeat = cmd->vec_sels.repeat;
    }
}

static uint64_t element_work(const struct tile_costs *c, const struct element *e,
                             unsigned slope)
{
    unsigned wide = e->dst.esize > e->src[0].esize ? e->dst.esize : e->src[0].esize;
    struct vec_work w = {.repeats = tile_repeats(c, wide, e->repeat),
                         .per_repeat = REPEAT_BYTES / wide,
                         .slope = slope,
                         .bank_wait = c->bank_wait};

    w.repeats = e->one && w.repeats > 1 ? 1 : w.repeats;
    return cost_vec_repeats(&w, e->src, e->n_src, &e->dst).all;
}

/* Commands whose repeats cost the same wherever their operands lie: how many. */
static uint64_t plain_repeats(const struct tile_costs *c, const union cmd *cmd,
                              enum format format, unsigned esize)
{
    switch (format) {
    case AS_vec_reduce:
        return tile_repeats(c, esize, cmd->vec_reduce.repeat);
    case AS_vec_copy:
        return tile_repeats(c, esize, cmd->vec_copy.repeat);
    case AS_vec_fill:
        return tile_repeats(c, esize, cmd->vec_fill.repeat);
    case AS_vec_gather:
        return tile_repeats(c, esize, cmd->vec_gather.repeat);
    case AS_vec_brcb:
        return cmd->vec_brcb.repeat;
    case AS_vec_gatherb:
        return cmd->vec_gatherb.repeat;
    case AS_vec_transdata:
        return cmd->vec_transdata.repeat;
    default:
        return 0;
    }
}

static uint64_t vec_cost(const struct tile_costs *c, const union cmd *cmd,
                         enum format format)
{
    const struct cmd_info *info = cmd_find(cmd->head.opcode);
    unsigned esize = bytes_of(cmd->head.type);
    unsigned slope = type_bits(cmd->head.type) == 32 ? info->slope32 : info->slope16;
    struct element e = {0};

    switch (format) {
    case AS_vec1:
    case AS_vec1s:
    case AS_vec_conv:
        unary(cmd, format, esize, &e);
        break;
    case AS_vec2:
    case AS_vec2c:
        binary(cmd, format, esize, &e);
        break;
    case AS_vec_cmp:
    case AS_vec_cmps:
    case AS_vec_sel:
    case AS_vec_sels:
        compare(cmd, format, esize, &e);
        break;
    default:
        return info->fixed + slope * plain_repeats(c, cmd, format, esize);
    }
    if (reads_dst(cmd->head.opcode)) {
        e.src[e.n_src++] = e.dst;
    }
    return info->fixed + element_work(c, &e, slope);
}

/* Rows that lie side by side in GM are one. */
static uint64_t copy_in(const struct tile_costs *c, uint64_t n, uint32_t len,
                        uint32_t gap)
{
    uint64_t least = gap ? cost_gm_rows(n, len, c->row_least, c->in_rate)
                         : cost_gm_rows(n != 0, n * len, c->row_least, c->in_rate);

    return cost_cycles(c->in_fixed, n * len, c->in_rate, least);
}

uint64_t tile_unaligned(const struct tile_costs *c, const union cmd *cmd, uint64_t step)
{
    enum { TILES = 16 }; /* after which most begin in a line where others did */
    bool out = cmd->head.opcode == OP_COPY_UB_GM;
    uint32_t rows = out ? cmd->copy_out.n_blocks : cmd->copy_in.n_blocks;
    uint64_t bytes = out ? cmd->copy_out.len_bytes : cmd->copy_in.len_bytes;
    uint64_t gap = out ? cmd->copy_out.dst_gap : cmd->copy_in.src_gap;
    uint64_t pitch = bytes + gap, slow = 0;

    if (gap == 0) {
        bytes *= rows;
        rows = 1;
    }
    if (c->unaligned == 0 || (step | (rows > 1 ? pitch : 0)) % L2_LINE_BYTES == 0) {
        return 0;
    }
    for (unsigned t = 0; t < TILES; t++) {
        for (uint32_t r = 0; r < rows; r++) {
            slow += cost_gm_unaligned(t * step + r * pitch, bytes);
        }
    }
    return slow * c->unaligned / 100 / TILES / (out ? c->out_rate : c->in_rate);
}

uint64_t tile_cost(struct tile_costs *c, const union cmd *cmd)
{
    unsigned opcode = cmd->head.opcode;

    if (opcode >= FIRST_VEC && opcode <= LAST_VEC && formats[opcode - FIRST_VEC]) {
        return vec_cost(c, cmd, (enum format)formats[opcode - FIRST_VEC]);
    }
    switch (opcode) {
    case OP_SET_MASK:
        c->counter = cmd->head.flags & SET_MASK_COUNTER;
        c->count = cmd->set_mask.lo;
        return 1;
    case OP_NOP:
    case OP_SET_VA:
    case OP_SET_PAD_MTE2:
        return 1;
    case OP_COPY_GM_UB:
        return copy_in(c, cmd->copy_in.n_blocks, cmd->copy_in.len_bytes,
                       cmd->copy_in.src_gap);
    case OP_COPY_PAD_GM_UB:
        return copy_in(c, cmd->copy_pad.n_blocks, cmd->copy_pad.len_bytes,
                       cmd->copy_pad.src_gap);
    case OP_COPY_UB_GM:
        return cost_cycles(c->out_fixed,
                           (uint64_t)cmd->copy_out.n_blocks * cmd->copy_out.len_bytes,
                           c->out_rate, 0);
    default:
        return 0;
    }
}
