/* SPDX-License-Identifier: MIT
 *
 * Random commands; see touch.h. Operands are taken from the tables by their names; what
 * has to fit together is settled opcode by opcode. What is still illegal is refused by the
 * model, and not counted by the test.
 */
#include "tests/model/machine/touch.h"

#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"

static uint32_t below(uint32_t n)
{
    return rnd() % n;
}

static bool one_in(uint32_t n)
{
    return below(n) == 0;
}

static bool named(const char *name, const char *begin)
{
    return strncmp(name, begin, strlen(begin)) == 0;
}

static bool ends(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);

    return n >= m && strcmp(name + n - m, end) == 0;
}

/* An address: destinations in the upper half, mostly, so that they keep apart. */
static uint64_t address(const struct cmd_arg *arg, const struct cmd_range *range)
{
    bool upper = named(arg->name, "dst") != one_in(8);
    uint64_t at = below(TOUCH_WINDOW / 4) + (upper ? TOUCH_WINDOW / 2 : 0);

    at = range->max <= UINT16_MAX || range->multiple >= 512 ? at / 4 : at;
    return at / range->multiple * range->multiple;
}

static bool is_address(const struct cmd_arg *arg, const struct cmd_range *range)
{
    return arg->size >= 4 && range->max >= UINT32_MAX - 1ull &&
           !named(arg->name, "value") &&
           (named(arg->name, "dst") || named(arg->name, "src") ||
            named(arg->name, "offsets") || named(arg->name, "weights") ||
            named(arg->name, "words") || named(arg->name, "bits") ||
            named(arg->name, "sel") || named(arg->name, "index") ||
            arg->name[1] == '\0') &&
           !ends(arg->name, "_gap") && !ends(arg->name, "_pitch") &&
           !ends(arg->name, "_stride") && !ends(arg->name, "_rep");
}

/* What an operand may well be. */
static uint64_t likely(const struct cmd_arg *arg, const struct cmd_range *range)
{
    uint64_t value = below(9);

    if (is_address(arg, range)) {
        return address(arg, range) + (range->max > UINT32_MAX ? RIG_GM_BASE : 0);
    }
    if (ends(arg->name, "_blk")) {
        return one_in(2) ? 1 : below(4);
    }
    if (ends(arg->name, "_rep")) {
        return one_in(2) ? 8 : below(12);
    }
    if (named(arg->name, "repeat")) {
        return below(5);
    }
    if (ends(arg->name, "gap") || named(arg->name, "start") ||
        strcmp(arg->name, "src_stride") == 0) {
        return below(4);
    }
    if (named(arg->name, "len_bytes")) {
        value = below(200);
    } else if (range->max < 32) {
        value = below((uint32_t)range->max + 1);
    } else if (range->max > 255 && one_in(2)) {
        value = below(48);
    }
    value = value / range->multiple * range->multiple;
    return value < range->min ? range->min : value;
}

/* --- what has to fit together --- */

static void settle_load3d(struct cmd_load3d *a)
{
    unsigned c0 = type_c0(a->head.type), part = c0 == 64 ? 8 : 4;

    a->map_h = (uint16_t)(2 + below(7));
    a->map_w = (uint16_t)(2 + below(7));
    a->channels = (uint16_t)(below(3) * c0 + (one_in(2) ? part << below(2) : 0));
    a->channels = a->channels ? a->channels : (uint16_t)c0;
    a->filter_h = (uint16_t)(1 + below(3));
    a->filter_w = (uint16_t)(1 + below(3));
    a->stride_h = (uint8_t)(1 + below(2));
    a->stride_w = (uint8_t)(1 + below(2));
    a->dilation_h = (uint8_t)(1 + below(2));
    a->dilation_w = (uint8_t)(1 + below(2));
    a->pad_left = (uint8_t)below(3);
    a->pad_right = (uint8_t)below(3);
    a->pad_top = (uint8_t)below(3);
    a->pad_bottom = (uint8_t)below(3);
    a->m_start = (uint16_t)below(4);
    a->m_len = (uint16_t)(1 + below(40));
    a->k_start = (uint16_t)(below(3) * c0);
    a->k_len = (uint16_t)((1 + below(3)) * c0);
    a->dst = 512 * below(4);
}

static void settle_mmad(struct cmd_mmad *a)
{
    a->m = (uint16_t)(a->head.flags & MMAD_GEMV ? 1 : 1 + below(40));
    a->n = (uint16_t)(1 + below(40));
    a->k = (uint16_t)(1 + below(100));
    a->unit = UNIT_NONE;
    a->a = 512 * below(4);
    a->b = 512 * below(4);
    a->dst = 1024 * below(4);
    a->bias = a->head.flags & MMAD_BIAS ? 64 * below(4) : 0;
    if (a->head.opcode == OP_MMAD && a->head.type != TYPE_F32) {
        a->head.flags &= (uint8_t) ~(MMAD_HF32 | MMAD_HF32_ZERO | MMAD_K_ALIGN);
    }
    if (!(a->head.flags & MMAD_HF32)) {
        a->head.flags &= (uint8_t)~MMAD_HF32_ZERO;
    }
}

/* Modes to which the type can be converted, and widths that they take. */
static void settle_fix(union cmd *cmd)
{
    static const uint8_t from_f32[] = {QUANT_NONE, QUANT_F322F16, QUANT_F322BF16};
    struct cmd_fix_gm *a = &cmd->fix_gm;
    unsigned unit = a->head.flags & FIX_L0C_GM_NZ ? 16 : 8;

    a->unit = UNIT_NONE;
    a->m = (uint16_t)(1 + below(40));
    a->n = (uint16_t)(one_in(8) && unit == 8 ? 1 + below(40) : unit * (1 + below(5)));
    a->src_c0_stride = (uint16_t)(one_in(2) ? (a->m + 15u) / 16 * 16 : a->m + below(4));
    a->nd_num = (uint16_t)(a->head.flags & FIX_L0C_GM_NZ ? 1 : 1 + below(2));
    a->src_nd_stride = (uint16_t)(1 + below(6));
    a->dst_pitch = a->n + 32 * below(2);
    a->dst_pitch -= one_in(2) ? 0 : a->dst_pitch % 32;
    a->dst_nd_stride = (uint16_t)(a->m * a->dst_pitch + 32 * below(2));
    if (a->head.type == TYPE_F32 && one_in(3)) {
        a->quant = from_f32[below(LENGTH(from_f32))];
    }
    if (one_in(2)) {
        a->head.flags &= FIX_L0C_GM_NZ;
        a->relu = 0;
    }
    a->fb_quant = 64 * (uint16_t)below(4);
    a->fb_relu = 64 * (uint16_t)below(4);
    a->src = 64 * below(32);
}

static void settle_merge(struct cmd_vec_merge *a)
{
    static const uint8_t valid[] = {3, 7, 15, 15};
    unsigned bytes = a->head.flags & VMRGSORT_PROPOSALS ? type_bits(a->head.type) : 8;

    a->valid = valid[below(LENGTH(valid))];
    a->repeat = 1;
    a->n0 = (uint16_t)below(12);
    a->n1 = (uint16_t)below(12);
    a->n2 = (uint16_t)below(12);
    a->n3 = (uint16_t)below(12);
    a->src0 -= a->src0 % bytes;
    a->src1 -= a->src1 % bytes;
    a->src2 -= a->src2 % bytes;
    a->src3 -= a->src3 % bytes;
    if (a->valid == 15 && !(a->head.flags & VMRGSORT_SUSPEND) && one_in(2)) {
        a->repeat = (uint8_t)(1 + below(3));
        a->n1 = a->n2 = a->n3 = a->n0;
        a->src1 = a->src0 + bytes * a->n0;
        a->src2 = a->src1 + bytes * a->n0;
        a->src3 = a->src2 + bytes * a->n0;
    }
}

static void settle_squeeze(struct cmd_vec_squeeze *a)
{
    a->pattern = one_in(2) ? 0 : (uint8_t)below(8);
    a->bits = a->pattern ? 0 : a->bits;
    a->bits_rep = (uint8_t)below(3);
}

static void settle_mte(union cmd *cmd)
{
    unsigned esize = type_bits(cmd->head.type) / 8, pair = cmd->head.type == TYPE_S4;

    switch (cmd->head.opcode) {
    case OP_COPY_PAD_GM_UB:
    case OP_COPY_PAD_GM_L1:
        cmd->copy_pad.len_bytes -= cmd->copy_pad.len_bytes % esize;
        break;
    case OP_ND2NZ_GM_L1:
        cmd->nd2nz.n_cols &= (uint16_t)~pair;
        cmd->nd2nz.n_rows %= 20;
        cmd->nd2nz.n_mats %= 3;
        cmd->nd2nz.src_pitch = (cmd->nd2nz.n_cols + below(8)) & ~pair;
        cmd->nd2nz.src_nd_stride = below(400) & ~pair;
        cmd->nd2nz.dst_row_stride = (uint16_t)(1 + below(2));
        cmd->nd2nz.dst_c0_stride =
            (uint16_t)(cmd->nd2nz.n_rows * cmd->nd2nz.dst_row_stride + below(2));
        cmd->nd2nz.dst_nd_stride = type_c0(cmd->head.type) * (40 + below(8));
        break;
    case OP_LOAD2D_L0A:
    case OP_LOAD2D_L0B:
        cmd->load2d.n_rows = (uint16_t)((2 + below(40)) & ~pair);
        cmd->load2d.n_cols = (uint16_t)((2 + below(40)) & ~pair);
        cmd->load2d.src_c0_stride = (uint16_t)(cmd->load2d.n_rows + below(4));
        break;
    case OP_FRACTALS_L1_L0A:
    case OP_FRACTALS_L1_L0B:
        cmd->head.flags = type_bits(cmd->head.type) == 16 ? cmd->head.flags : 0;
        break;
    case OP_INIT_L0A:
    case OP_INIT_L0B:
    case OP_INIT_L1:
        cmd->init.dst = 512 * below(8);
        cmd->init.repeat %= 4;
        cmd->init.len %= 4;
        break;
    case OP_COPY_L1_BT:
        cmd->copy_bt.dst = 64 * below(4);
        cmd->copy_bt.n_blocks %= 3;
        cmd->copy_bt.len %= 3;
        break;
    case OP_COPY_L1_FB:
        cmd->l1_fb.dst = 64 * below(4);
        cmd->l1_fb.n_blocks %= 4;
        cmd->l1_fb.len_bytes = 64 * below(4);
        break;
    case OP_COPY_L1_UB:
    case OP_COPY_UB_L1:
        cmd->copy_local.n_blocks %= 9;
        cmd->copy_local.len %= 9;
        break;
    default:
        break;
    }
}

/* A number of the type, as a scalar. */
static uint32_t scalar_of(const union cmd *cmd)
{
    unsigned bits = type_bits(cmd->head.type);

    if (cmd->head.opcode == OP_VSHL || cmd->head.opcode == OP_VSHR) {
        return below(bits + 1);
    }
    return bits == 16 ? rnd() & 0xffff : rnd();
}

static void settle_vector(union cmd *cmd)
{
    unsigned half = type_bits(cmd->head.type) == 16;

    switch (cmd->head.opcode) {
    case OP_SET_DEQSCALE:
        cmd->set_deqscale.word &= 0xffff;
        break;
    case OP_VDUP:
    case OP_VCI:
        cmd->vec_fill.value = half ? rnd() & 0xffff : rnd();
        break;
    case OP_VCMPS:
        cmd->vec_cmps.scalar = scalar_of(cmd);
        break;
    case OP_VSELS:
        cmd->vec_sels.scalar = scalar_of(cmd);
        break;
    case OP_VDINTLV:
        cmd->vec_intlv.count &= ~1u;
        break;
    case OP_VDEQ:
        cmd->vec_deq.words = cmd->head.flags & VDEQ_VECTOR ? cmd->vec_deq.words : 0;
        break;
    case OP_VMRGSORT:
        settle_merge(&cmd->vec_merge);
        break;
    case OP_VREDUCEV2:
        settle_squeeze(&cmd->vec_squeeze);
        break;
    case OP_VTRANSDATA:
        cmd->head.flags = type_bits(cmd->head.type) == 8 ? cmd->head.flags : 0;
        cmd->vec_transdata.dst_rep = (uint16_t)(16 + below(4));
        cmd->vec_transdata.src_rep = (uint16_t)(16 + below(4));
        break;
    case OP_VBI:
        cmd->vec_bi.v_offset = (uint16_t)(128 + 16 * below(4));
        cmd->vec_bi.h_repeat = (uint8_t)below(4);
        cmd->vec_bi.v_repeat = (uint8_t)below(4);
        cmd->vec_bi.dst_blk = 1;
        break;
    case OP_VCMAX:
    case OP_VCMIN:
        cmd->head.flags = one_in(2) ? (uint8_t)(1 << below(3)) : 0;
        cmd->vec_reduce.dst -= cmd->vec_reduce.dst % 32;
        break;
    default:
        if (cmd->head.opcode >= OP_VADDS && cmd->head.opcode <= OP_VAXPY) {
            cmd->vec1s.scalar = scalar_of(cmd);
            cmd->head.flags = half ? cmd->head.flags : 0;
        } else if (cmd->head.opcode == OP_VMLA) {
            cmd->head.flags = half ? cmd->head.flags : 0;
        } else if (cmd->head.opcode >= OP_VCADD && cmd->head.opcode <= OP_VCPADD) {
            cmd->vec_reduce.dst -= cmd->vec_reduce.dst % 32;
        }
        break;
    }
}

static void settle(union cmd *cmd)
{
    switch (cmd->head.opcode) {
    case OP_LOAD3D_L0A:
    case OP_LOAD3D_L0B:
        settle_load3d(&cmd->load3d);
        break;
    case OP_MMAD:
    case OP_MMAD_SPARSE:
        settle_mmad(&cmd->mmad);
        break;
    case OP_FIX_L0C_GM:
    case OP_FIX_L0C_UB:
    case OP_FIX_L0C_L1:
        settle_fix(cmd);
        break;
    default:
        settle_mte(cmd);
        settle_vector(cmd);
        break;
    }
}

/* --- registers --- */

static union cmd *add(struct touch_program *p, enum op op, enum type type)
{
    union cmd *set = &p->set[p->n_set++];

    *set = rig_command(op, type);
    return set;
}

static void set_mask(struct touch_program *p)
{
    union cmd *set = add(p, OP_SET_MASK, TYPE_NONE);

    set->set_mask.lo = set->set_mask.hi = UINT64_MAX;
    switch (below(6)) {
    case 0:
    case 1:
        set->head.flags = SET_MASK_COUNTER;
        set->set_mask.lo = below(500) & ~1u;
        set->set_mask.hi = 0;
        break;
    case 2:
        set->set_mask.lo >>= below(64);
        set->set_mask.hi >>= below(64);
        break;
    case 3:
    case 4: /* pairs, for S4 */
        set->set_mask.lo = ((uint64_t)rnd() << 32 | rnd()) & 0x5555555555555555u;
        set->set_mask.hi = ((uint64_t)rnd() << 32 | rnd()) & 0x5555555555555555u;
        set->set_mask.lo |= set->set_mask.lo << 1;
        set->set_mask.hi |= set->set_mask.hi << 1;
        break;
    default:
        break;
    }
}

/* 16 blocks that keep apart, in some order. */
static void set_blocks(struct touch_program *p, unsigned flags)
{
    union cmd *set = add(p, OP_SET_VA, TYPE_NONE);
    unsigned first = flags ? TOUCH_WINDOW / 64 : below(8), odd = 1 + 2 * below(8);

    set->head.flags = (uint8_t)flags;
    for (unsigned i = 0; i < 16; i++) {
        uint16_t block = (uint16_t)(first + i * odd % 16);
        memcpy(set->bytes + offsetof(struct cmd_set_va, block0) + 2 * i, &block, 2);
    }
}

static void set_registers(struct touch_program *p)
{
    static const uint8_t atomics[] = {TYPE_F32, TYPE_F16, TYPE_S32, TYPE_S8};
    const union cmd *cmd = &p->cmd;
    bool load3d = cmd->head.opcode == OP_LOAD3D_L0A || cmd->head.opcode == OP_LOAD3D_L0B;
    union cmd *set;

    switch (cmd_find(cmd->head.opcode)->pipe) {
    case PIPE_V:
        set_mask(p);
        if (cmd->head.opcode == OP_VTRANSDATA) {
            set_blocks(p, 0);
            set_blocks(p, SET_VA_DST);
        }
        break;
    case PIPE_MTE1:
        if (load3d && one_in(2)) {
            set = add(p, OP_SET_LOAD3D_REPEAT, TYPE_NONE);
            set->set_load3d_repeat.times = (uint8_t)(1 + below(3));
            set->set_load3d_repeat.stride = (uint16_t)below(3);
            set->set_load3d_repeat.mode = (uint8_t)below(2);
        }
        if (load3d && one_in(3)) {
            set = add(p, OP_SET_LOAD3D_BOUNDARY, TYPE_NONE);
            set->set_load3d_boundary.bytes = LOAD3D_BOUNDARY_MIN + 32 * below(200);
        }
        break;
    case PIPE_MTE3:
    case PIPE_FIX:
        if (one_in(2)) {
            bool fix = cmd_find(cmd->head.opcode)->pipe == PIPE_FIX;
            set = add(p, fix ? OP_SET_ATOMIC_FIX : OP_SET_ATOMIC_MTE3,
                      (enum type)atomics[below(LENGTH(atomics))]);
            set->set_atomic.op = (uint8_t)below(4);
        }
        break;
    default:
        break;
    }
    if (one_in(4)) {
        add(p, OP_SET_CTRL, TYPE_NONE)->head.flags = SET_CTRL_SATURATE;
    }
}

struct touch_program touch_program(const struct cmd_info *info)
{
    struct touch_program p = {.n_set = 0};
    unsigned n_types = (unsigned)__builtin_popcount(info->types), nth = below(n_types);
    uint32_t types = info->types;

    while (nth--) {
        types &= types - 1;
    }
    p.cmd = rig_command((enum op)info->opcode, (enum type)__builtin_ctz(types));
    p.cmd.head.flags = (uint8_t)(one_in(2) ? rnd() & info->flags : 0);
    for (unsigned i = 0; i < info->n_args; i++) {
        uint64_t value = likely(&info->args[i], cmd_range(info, &info->args[i]));
        memcpy(p.cmd.bytes + info->args[i].offset, &value, info->args[i].size);
    }
    settle(&p.cmd);
    set_registers(&p);
    return p;
}

/* --- data --- */

static void put_offsets(uint8_t *at, unsigned n, uint32_t base, unsigned unit)
{
    uint32_t room =
        base < TOUCH_WINDOW / 2 ? TOUCH_WINDOW / 2 - base : TOUCH_WINDOW - base;

    for (unsigned i = 0; i < n; i++) {
        uint32_t offset = below(room / unit) * unit;
        memcpy(at + 4 * i, &offset, 4);
    }
}

void touch_data(const union cmd *cmd, uint8_t *ub, uint8_t *l0b_index)
{
    unsigned esize = type_bits(cmd->head.type) / 8;

    switch (cmd->head.opcode) {
    case OP_VGATHER:
        put_offsets(ub + cmd->vec_gather.offsets, 512, cmd->vec_gather.src, esize);
        break;
    case OP_VGATHERB:
        put_offsets(ub + cmd->vec_gatherb.offsets, 64, cmd->vec_gatherb.src, 32);
        break;
    case OP_VSCATTER:
        put_offsets(ub + cmd->vec_scatter.offsets, 512, cmd->vec_scatter.dst, esize);
        break;
    case OP_VBI:
        put_offsets(ub + cmd->vec_bi.offsets, 128, cmd->vec_bi.src, 32);
        break;
    case OP_MMAD_SPARSE:
        for (unsigned i = 0; i < TOUCH_WINDOW / 4; i++) { /* no index is 3 */
            l0b_index[i] &= (uint8_t) ~((l0b_index[i] & 0x55) << 1);
        }
        break;
    default:
        break;
    }
}
