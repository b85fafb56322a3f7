/* SPDX-License-Identifier: MIT
 *
 * Guest software that writes rubbish: an input is a program of register accesses,
 * commands and steps of time, run against the model. Nothing it does may crash, hang,
 * touch a byte outside the machine's memories or leave a mapping open; the sanitizers
 * look at all but the last.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

unsigned fuzz_completed[CMD_OPCODES];

uint64_t fuzz_take(struct fuzz_input *in, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes && in->left; i++, in->left--) {
        value |= (uint64_t)*in->data++ << (8 * i);
    }
    return value;
}

void fuzz_skip(struct fuzz_input *in, size_t bytes)
{
    size_t n = bytes < in->left ? bytes : in->left;

    in->data += n;
    in->left -= n;
}

/* Mostly a small number, or an address at which something is. */
static uint64_t likely_value(struct fuzz_input *in, const struct cmd_info *info,
                             const struct cmd_arg *arg)
{
    const struct cmd_range *range = cmd_range(info, arg);
    bool in_gm = arg->size == 8 && range->max > UINT32_MAX;
    uint64_t value = fuzz_take(in, 2);

    switch (fuzz_take(in, 1) % 32) {
    case 0:
        return value << 48 | fuzz_take(in, 6);
    case 1:
        return range->max;
    case 2:
        return value * range->multiple;
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
        return in_gm ? RIG_GM_BASE : range->min;
    case 9:
    case 10:
    case 11:
    case 12:
    case 13:
        return in_gm ? RIG_GM_BASE : range->multiple;
    default:
        break;
    }
    if (in_gm) {
        return RIG_GM_BASE + value * 8;
    }
    if (range->max < 32) { /* a number of a list */
        return value % (range->max + 1);
    }
    return arg->size >= 4 ? value % 64 * range->multiple : value % 32 * range->multiple;
}

/* Sixteen blocks side by side. */
static void set_blocks(union cmd *cmd, unsigned first)
{
    for (unsigned i = 0; i < 16; i++) {
        uint16_t block = (uint16_t)(first + i);
        memcpy(cmd->bytes + offsetof(struct cmd_set_va, block0) + 2 * i, &block, 2);
    }
}

/* Mostly makes those operands fit together that must. */
static void settle(union cmd *cmd)
{
    struct cmd_load3d *a = &cmd->load3d;
    unsigned c0 = type_c0(cmd->head.type);

    switch (cmd->head.opcode) {
    case OP_LOAD3D_L0A:
    case OP_LOAD3D_L0B:
        if (a->pad_bottom % 8 == 1) {
            break;
        }
        a->map_h = (uint16_t)(a->map_h % 32 + 8);
        a->map_w = (uint16_t)(a->map_w % 32 + 8);
        a->channels = (uint16_t)(a->channels % 3 * c0 + (c0 / 2 << a->map_h % 2));
        a->filter_h = (uint16_t)(a->filter_h % 4 + 1);
        a->filter_w = (uint16_t)(a->filter_w % 4 + 1);
        a->dilation_h = a->dilation_w = 1;
        a->m_start %= 8;
        a->k_start = (uint16_t)(a->k_start % 2 * c0);
        a->k_len = (uint16_t)((a->k_len % 2 + 1) * c0);
        break;
    case OP_FIX_L0C_UB:
    case OP_FIX_L0C_L1:
        cmd->fix_local.dst_pitch -= cmd->fix_local.dst_pitch % 32;
        break;
    case OP_VGATHER: /* few elements, whose offsets lie apart from what it writes */
        if (cmd->vec_gather.repeat % 8 != 1) {
            cmd->vec_gather.repeat %= 2;
            cmd->vec_gather.dst_rep = 8;
            cmd->vec_gather.offsets += 1u << 16;
        }
        break;
    case OP_VBI: /* likewise, with its weights */
        if (cmd->vec_bi.h_repeat % 8 != 1) {
            cmd->vec_bi.h_repeat %= 4;
            cmd->vec_bi.v_repeat %= 2;
            cmd->vec_bi.dst_blk = 1;
            cmd->vec_bi.offsets += 1u << 16;
            cmd->vec_bi.weights += 1u << 17;
        }
        break;
    case OP_SET_VA:
        if (cmd->set_va.block15 % 8 != 1) {
            set_blocks(cmd, cmd->set_va.block0);
        }
        break;
    case OP_VTRANSDATA:
        cmd->vec_transdata.repeat %= 4;
        break;
    default:
        break;
    }
}

/* A command that is mostly right, so that its arithmetic is reached. */
static void shape_command(struct fuzz_input *in, union cmd *cmd)
{
    static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) opcode,
#include "hal/contract/all.h"
    };
    const struct cmd_info *info =
        cmd_find(opcodes[fuzz_take(in, 1) % (sizeof(opcodes) / sizeof(opcodes[0]))]);

    memset(cmd, 0, sizeof(*cmd));
    cmd->head.opcode = info->opcode;
    cmd->head.type = (uint8_t)(fuzz_take(in, 1) % TYPE_COUNT);
    if (!(info->types >> cmd->head.type & 1) && fuzz_take(in, 1) % 8) {
        cmd->head.type = (uint8_t)__builtin_ctz(info->types);
    }
    cmd->head.flags = (uint8_t)(fuzz_take(in, 1) & info->flags);
    for (unsigned i = 0; i < info->n_args; i++) {
        const struct cmd_arg *arg = &info->args[i];
        uint64_t value = likely_value(in, info, arg);
        memcpy(cmd->bytes + arg->offset, &value, arg->size);
    }
    settle(cmd);
    cmd->head.post_sem[0] = (uint8_t)(fuzz_take(in, 1) % SEM_COUNT);
    cmd->head.post_n[0] = (uint8_t)(fuzz_take(in, 1) % 4);
    cmd->head.wait_sem[0] = (uint8_t)(fuzz_take(in, 1) % SEM_COUNT);
    cmd->head.wait_n[0] = fuzz_take(in, 1) % 16 == 0;
}

/* Pushes it, mostly to its own pipe, which has mostly been freed of an error first. */
static void push_shaped(struct rig *r, struct fuzz_input *in, unsigned core)
{
    union cmd cmd;
    unsigned pipe;

    shape_command(in, &cmd);
    pipe = cmd_find(cmd.head.opcode)->pipe;
    if (pipe == 0 || fuzz_take(in, 1) % 16 == 0) {
        pipe = (unsigned)fuzz_take(in, 1) % NPU_PIPES;
    }
    if (pipe_name(pipe)[0] != '?' && rig_error(r, core, (enum pipe)pipe) &&
        fuzz_take(in, 1) % 16) {
        rig_write(r, core, rig_pipe((enum pipe)pipe, PIPE_CTRL), PIPE_CTRL_RESET);
    }
    if (cmd.head.opcode == OP_VTRANSDATA && cmd.vec_transdata.src_rep % 8 != 1) {
        for (unsigned dst = 0; dst < 2; dst++) { /* from blocks that are not where it goes */
            union cmd set = rig_command(OP_SET_VA, TYPE_NONE);
            set.head.flags = (uint8_t)(dst * SET_VA_DST);
            set_blocks(&set, dst * 2048);
            rig_push(r, core, (enum pipe)pipe, &set);
        }
    }
    rig_push(r, core, (enum pipe)pipe, &cmd);
}

/* A barrier unit that can be reached by posts, and one of them. */
static void barrier(struct rig *r, struct fuzz_input *in)
{
    uint64_t bits = fuzz_take(in, 8), watch = fuzz_take(in, 1) % 4;
    uint64_t reg = field_put(CHIP_BARRIER_WATCH, watch) |
                   field_put(CHIP_BARRIER_COUNT, bits % 4) |
                   field_put(CHIP_BARRIER_TARGET, bits >> 8 & 7) |
                   field_put(CHIP_BARRIER_CORES, bits >> 32);

    npu_write(&r->npu, r->now, NPU_CHIP, CHIP_BARRIER + 8 * (uint32_t)(bits >> 16 & 15),
              reg, 8);
    rig_write(r, 0, SEM_POST + 8 * (SEM_CORE + (uint32_t)watch), bits >> 24 & 7);
}

/* The same command on many cores at once, so that they share what there is to share. */
static void push_to_all(struct rig *r, struct fuzz_input *in)
{
    uint32_t cores = (uint32_t)fuzz_take(in, 4);
    union cmd cmd;
    unsigned pipe;

    shape_command(in, &cmd);
    pipe = cmd_find(cmd.head.opcode)->pipe;
    pipe = pipe ? pipe : PIPE_MTE2;
    for (unsigned c = 0; c < r->config.cores; c++) {
        if (cores >> c & 1) {
            rig_push(r, c, (enum pipe)pipe, &cmd);
        }
    }
}

/* The Cube and the fixpipe behind it on the same units of L0C. */
static void push_units(struct rig *r, struct fuzz_input *in, unsigned core)
{
    union cmd mmad = rig_command(OP_MMAD, TYPE_F16);
    union cmd fix = rig_command(OP_FIX_L0C_GM, TYPE_F32);
    uint64_t bits = fuzz_take(in, 4);

    mmad.mmad.m = fix.fix_gm.m = (uint16_t)(bits % 64 + 1);
    mmad.mmad.n = fix.fix_gm.n = (uint16_t)(bits >> 6 & 63) + 1;
    mmad.mmad.k = (uint16_t)(bits >> 12 & 255) + 1;
    mmad.mmad.unit = bits >> 20 & 7 ? UNIT_PASS : UNIT_KEEP;
    fix.fix_gm.unit = bits >> 23 & 7 ? UNIT_PASS : bits >> 26 & 3;
    fix.fix_gm.src = mmad.mmad.dst = (uint32_t)(bits >> 28 & 1) * 2048;
    fix.fix_gm.src_c0_stride = (uint16_t)((fix.fix_gm.m + 15u) / 16 * 16);
    fix.fix_gm.dst = RIG_GM_BASE + 4096;
    fix.fix_gm.dst_pitch = fix.fix_gm.n;
    fix.fix_gm.nd_num = 1;
    if (bits >> 30 & 1) {
        fix.head.opcode = bits >> 31 ? OP_FIX_L0C_L1 : OP_FIX_L0C_UB;
        fix.fix_local.dst = 0;
        fix.fix_local.dst_pitch = 64;
    }
    rig_push(r, core, PIPE_M, &mmad);
    if (bits >> 29 & 1) {
        rig_to(r, r->now + (bits >> 20 & 255));
    }
    rig_push(r, core, PIPE_FIX, &fix);
}

static void count(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (e->what == NPU_ENDS) {
        fuzz_completed[e->cmd->head.opcode] +=
            e->dst ? e->bytes_written != 0 : e->ops || e->bytes_read == 0;
    }
}

/* An access anywhere: to read, to write, or as a debugger looks. */
static void access_register(struct rig *r, struct fuzz_input *in, unsigned core)
{
    unsigned page = fuzz_take(in, 1) % 8 ? core : NPU_CHIP;
    uint32_t offset = (uint32_t)fuzz_take(in, 2);
    unsigned how = (unsigned)fuzz_take(in, 1), size = 1u << how % 4;

    switch (how >> 4 & 3) {
    case 0:
        npu_read(&r->npu, r->now, page, offset, size);
        break;
    case 1:
        npu_peek(&r->npu, r->now, page, offset, size);
        break;
    default:
        npu_write(&r->npu, r->now, page, offset, fuzz_take(in, 8), size);
        break;
    }
}

void fuzz_step(struct rig *r, struct fuzz_input *in)
{
    unsigned core = (unsigned)fuzz_take(in, 1) % r->config.cores;
    union cmd cmd;

    switch (fuzz_take(in, 1) % 16) {
    case 0:
    case 1:
        access_register(r, in, core);
        break;
    case 2: /* 64 random bytes */
        for (unsigned i = 0; i < CMD_BYTES; i++) {
            cmd.bytes[i] = (uint8_t)fuzz_take(in, 1);
        }
        rig_push(r, core, (enum pipe)(fuzz_take(in, 1) % NPU_PIPES), &cmd);
        break;
    case 3:
        rig_to(r, r->now + fuzz_take(in, 3));
        break;
    case 4:
        rig_to(r, r->now + fuzz_take(in, 1));
        break;
    case 5:
        rig_write(r, core, rig_pipe((enum pipe)(fuzz_take(in, 1) % NPU_PIPES), PIPE_CTRL),
                  1);
        break;
    case 6:
        barrier(r, in);
        break;
    case 7:
        push_to_all(r, in);
        break;
    case 8:
        push_units(r, in, core);
        break;
    default:
        push_shaped(r, in, core);
        break;
    }
}

/* The larger ones, behind the first FAST, cost more time, and come less often. */
enum { FAST = 6, SLOW_ONE_IN = 16 };

static const struct {
    uint8_t cores, profile;
} chips[] = {
    {1, PROFILE_a2},         {2, PROFILE_a2},  {1, PROFILE_ascend910},
    {2, PROFILE_ascend310},  {3, PROFILE_a2},  {2, PROFILE_ascend910},
    {16, PROFILE_ascend910}, {32, PROFILE_a2}, {16, PROFILE_ascend310},
    {32, PROFILE_ascend310},
};

struct rig *fuzz_chip(struct fuzz_input *in)
{
    static struct rig rigs[LENGTH(chips)];
    static struct npu_host watched;
    unsigned which = (unsigned)fuzz_take(in, 1);
    unsigned chip = which % SLOW_ONE_IN
                        ? which % FAST
                        : FAST + which / SLOW_ONE_IN % (LENGTH(chips) - FAST);
    struct rig *r = &rigs[chip];

    if (r->gm == NULL) {
        rig_open(r, chips[chip].cores, (enum npu_profile)chips[chip].profile);
        watched = *r->npu.host;
        watched.event = count;
        r->npu.host = &watched;
    }
    which = (unsigned)fuzz_take(in, 1);
    r->config.timing = which & 2 ? TIMING_v1 : TIMING_v2;
    r->config.seed = (uint32_t)(which & 1) * (uint32_t)fuzz_take(in, 2);
    npu_init(&r->npu, &r->config);
    memset(r->irq, 0, sizeof(r->irq));
    r->now = 0;
    return r;
}

int fuzz_program_input(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct rig *r = fuzz_chip(&in);

    while (in.left) {
        fuzz_step(r, &in);
    }
    rig_drain(r);
    if (r->maps != 0 || fuzz_look(r) || !npu_restored(&r->npu, &r->config, r->now)) {
        abort();
    }
    return 0;
}
