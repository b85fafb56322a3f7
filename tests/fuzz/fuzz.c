/* SPDX-License-Identifier: MIT
 *
 * Guest software that writes rubbish: an input is a program of register accesses,
 * commands and steps of time, run against the model. Nothing it does may crash, hang,
 * touch a byte outside the machine's memories or leave a mapping open; the sanitizers
 * look at all but the last. libFuzzer finds inputs (make fuzz); fuzz_test.c has fixed ones.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tests/model/rig.h"

enum { CORES = 2 };

unsigned fuzz_completed[CMD_OPCODES];

struct input {
    const uint8_t *data;
    size_t left;
};

/* The next bytes as a number; zeros behind the end. */
static uint64_t take(struct input *in, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes && in->left; i++, in->left--) {
        value |= (uint64_t)*in->data++ << (8 * i);
    }
    return value;
}

/* Mostly a small number, or an address at which something is. */
static uint64_t likely_value(struct input *in, const struct cmd_info *info,
                             const struct cmd_arg *arg)
{
    const struct cmd_range *range = cmd_range(info, arg);
    bool in_gm = arg->size == 8 && range->max > UINT32_MAX;
    uint64_t value = take(in, 2);

    switch (take(in, 1) % 32) {
    case 0:
        return value << 48 | take(in, 6);
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
    case OP_SET_VA:
        for (uint16_t i = 0; i < 16 && cmd->set_va.block15 % 8 != 1; i++) {
            uint16_t block = (uint16_t)(cmd->set_va.block0 + i);
            memcpy(cmd->bytes + offsetof(struct cmd_set_va, block0) + 2 * i, &block, 2);
        }
        break;
    default:
        break;
    }
}

/* A command that is mostly right, so that its arithmetic is reached. */
static void shape_command(struct input *in, union cmd *cmd)
{
    static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) opcode,
#include "hal/contract/all.h"
    };
    const struct cmd_info *info =
        cmd_find(opcodes[take(in, 1) % (sizeof(opcodes) / sizeof(opcodes[0]))]);

    memset(cmd, 0, sizeof(*cmd));
    cmd->head.opcode = info->opcode;
    cmd->head.type = (uint8_t)(take(in, 1) % TYPE_COUNT);
    if (!(info->types >> cmd->head.type & 1) && take(in, 1) % 8) {
        cmd->head.type = (uint8_t)__builtin_ctz(info->types);
    }
    cmd->head.flags = (uint8_t)(take(in, 1) & info->flags);
    for (unsigned i = 0; i < info->n_args; i++) {
        const struct cmd_arg *arg = &info->args[i];
        uint64_t value = likely_value(in, info, arg);
        memcpy(cmd->bytes + arg->offset, &value, arg->size);
    }
    settle(cmd);
    cmd->head.post_sem[0] = (uint8_t)(take(in, 1) % SEM_COUNT);
    cmd->head.post_n[0] = (uint8_t)(take(in, 1) % 4);
    cmd->head.wait_sem[0] = (uint8_t)(take(in, 1) % SEM_COUNT);
    cmd->head.wait_n[0] = take(in, 1) % 16 == 0;
}

/* Pushes it, mostly to its own pipe, which has mostly been freed of an error first. */
static void push_shaped(struct rig *r, struct input *in, unsigned core)
{
    union cmd cmd;
    unsigned pipe;

    shape_command(in, &cmd);
    pipe = cmd_find(cmd.head.opcode)->pipe;
    if (pipe == 0 || take(in, 1) % 16 == 0) {
        pipe = (unsigned)take(in, 1) % NPU_PIPES;
    }
    if (pipe_name(pipe)[0] != '?' && rig_error(r, core, (enum pipe)pipe) &&
        take(in, 1) % 16) {
        rig_write(r, core, rig_pipe((enum pipe)pipe, PIPE_CTRL), PIPE_CTRL_RESET);
    }
    rig_push(r, core, (enum pipe)pipe, &cmd);
}

static void count(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (e->what == NPU_ENDS) {
        fuzz_completed[e->cmd->head.opcode] +=
            e->dst ? e->bytes_written != 0 : e->ops || e->bytes_read == 0;
    }
}

static void step(struct rig *r, struct input *in)
{
    unsigned core = (unsigned)take(in, 1) % CORES;
    union cmd cmd;

    switch (take(in, 1) % 8) {
    case 0:
        npu_write(&r->npu, r->now, take(in, 1) % 8 ? core : NPU_CHIP,
                  (uint32_t)take(in, 2), take(in, 8), 1u << take(in, 1) % 4);
        break;
    case 1:
        npu_read(&r->npu, r->now, take(in, 1) % 8 ? core : NPU_CHIP,
                 (uint32_t)take(in, 2), 1u << take(in, 1) % 4);
        break;
    case 2: /* 64 random bytes */
        for (unsigned i = 0; i < CMD_BYTES; i++) {
            cmd.bytes[i] = (uint8_t)take(in, 1);
        }
        rig_push(r, core, (enum pipe)(take(in, 1) % NPU_PIPES), &cmd);
        break;
    case 3:
        rig_to(r, r->now + take(in, 3));
        break;
    case 4:
        rig_write(r, core, rig_pipe((enum pipe)(take(in, 1) % NPU_PIPES), PIPE_CTRL), 1);
        break;
    default:
        push_shaped(r, in, core);
        break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct rig machine;
    struct input in = {data, size};

    if (machine.gm == NULL) {
        static struct npu_host watched;
        rig_open(&machine, CORES, PROFILE_a2);
        watched = *machine.npu.host;
        watched.event = count;
        machine.npu.host = &watched;
    }
    machine.config.seed = (uint32_t)(take(&in, 1) & 1) * (uint32_t)take(&in, 2);
    npu_init(&machine.npu, &machine.config);
    machine.now = 0;
    while (in.left) {
        step(&machine, &in);
    }
    rig_drain(&machine);
    if (machine.maps != 0 || !npu_restored(&machine.npu, &machine.config)) {
        abort();
    }
    return 0;
}
