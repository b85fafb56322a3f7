/* SPDX-License-Identifier: MIT
 *
 * What a fault was, in words, and what a command writes in GM; see pipe.h. Apart from the
 * driver, since none of it has to be fast.
 */
#include <stdio.h>

#include "hal/mmio.h"
#include "hal/pipe.h"

/* Bytes from the first to behind the last that the fixpipe writes: rows of elements, or
 * column blocks of fractals, which are 16 columns wide or, of small types, 32 bytes. */
static uint64_t fixpipe_extent(const struct cmd_fix_gm *f)
{
    static const uint8_t to[] = {
#define QUANT(name, code, from, to, scale, text) [code] = TYPE_##to,
#include "hal/contract/all.h"
    };
    unsigned type = f->quant < sizeof(to) ? to[f->quant] : TYPE_NONE;
    uint64_t bits = type == TYPE_NONE ? 32 : type_bits(type);
    uint64_t columns = bits < 16 ? 256 / bits : 16;

    if (f->m == 0 || f->n == 0) {
        return 0;
    }
    if (f->head.flags & FIX_L0C_GM_NZ) {
        return (f->n - 1) / columns * 32 * f->dst_pitch + f->m * columns * bits / 8;
    }
    return (((f->nd_num ? f->nd_num - 1ull : 0) * f->dst_nd_stride +
             (f->m - 1ull) * f->dst_pitch + f->n) *
                bits +
            7) /
           8;
}

bool cmd_writes_gm(const union cmd *cmd, uint64_t *begin, uint64_t *end)
{
    const struct cmd_copy_out *c = &cmd->copy_out;

    *begin = *end = 0;
    if (cmd->head.opcode == OP_COPY_UB_GM || cmd->head.opcode == OP_COPY_L1_GM) {
        uint64_t gaps = c->n_blocks ? c->n_blocks - 1ull : 0;
        *begin = c->dst;
        *end = c->dst + (uint64_t)c->n_blocks * c->len_bytes + gaps * c->dst_gap;
    } else if (cmd->head.opcode == OP_FIX_L0C_GM) {
        *begin = cmd->fix_gm.dst;
        *end = *begin + fixpipe_extent(&cmd->fix_gm);
    }
    return *begin < *end;
}

static void read_fault(uintptr_t base, struct fault *f)
{
    uint64_t error = read64(base + PIPE_ERROR);

    f->code = (unsigned)field_get(PIPE_ERROR_CODE, error);
    f->field = (unsigned)field_get(PIPE_ERROR_FIELD, error);
    f->opcode = (unsigned)field_get(PIPE_ERROR_OPCODE, error);
    f->addr = read64(base + PIPE_ERROR_ADDR);
    f->value = read64(base + PIPE_ERROR_VALUE);
    f->tag = (uint32_t)read64(base + PIPE_ERROR_TAG);
    f->pc = read64(base + PIPE_ERROR_PC);
}

bool core_fault(unsigned core, struct fault *f)
{
    uint64_t access = read64(core_base(core) + CORE_FAULT);
    uint64_t status = read64(core_base(core) + CORE_STATUS);
    unsigned stopped = (unsigned)field_get(CORE_STATUS_FAULT, status);

    *f = (struct fault){.core = core, .pipe = NPU_PIPES};
    if (stopped) {
        f->pipe = (unsigned)__builtin_ctz(stopped);
        read_fault(pipe_base(core, (enum pipe)f->pipe), f);
    } else if (access) {
        f->code = (unsigned)field_get(CORE_FAULT_CODE, access);
        f->field = (unsigned)read64(core_base(core) + CORE_FAULT_ADDR);
        f->value = read64(core_base(core) + CORE_FAULT_VALUE);
    }
    return f->code != 0;
}

/* Name of the field of a command at a byte offset, and what it means if it has a text. */
static const char *field_name(const struct cmd_info *info, unsigned field,
                              const char **text)
{
    static const struct {
        const char *name;
        unsigned offset;
    } head[] = {
        {"opcode", offsetof(struct cmd_head, opcode)},
        {"type", offsetof(struct cmd_head, type)},
        {"flags", offsetof(struct cmd_head, flags)},
        {"wait_sem[0]", offsetof(struct cmd_head, wait_sem)},
        {"wait_sem[1]", offsetof(struct cmd_head, wait_sem) + 1},
        {"post_sem[0]", offsetof(struct cmd_head, post_sem)},
        {"post_sem[1]", offsetof(struct cmd_head, post_sem) + 1},
    };
    const struct cmd_arg *arg = info ? cmd_arg_at(info, field) : NULL;

    *text = arg ? cmd_arg_text(arg) : "";
    for (unsigned i = 0; i < sizeof(head) / sizeof(head[0]); i++) {
        if (head[i].offset == field) {
            return head[i].name;
        }
    }
    return arg ? arg->name : "reserved byte";
}

int fault_text(const struct fault *f, char *text, size_t size)
{
    const struct cmd_info *info = f->opcode ? cmd_find(f->opcode) : NULL;
    bool push = f->code == NPU_ERR_QUEUE_FULL || f->code == NPU_ERR_PUSH_ADDR;
    bool extent = f->code == NPU_ERR_BOUNDS || f->code == NPU_ERR_GM;
    unsigned long long addr = f->addr, value = f->value;
    const char *about, *field = field_name(info, f->field, &about);
    int n;

    if (f->pipe == NPU_PIPES && f->code == NPU_ERR_SEM_OVERFLOW && f->field < SEM_POST) {
        return snprintf(text, size,
                        "core %u: barrier unit %u posts semaphore %u\n  %s: %s", f->core,
                        (f->field - CHIP_BARRIER) / 8,
                        (unsigned)field_get(CHIP_BARRIER_TARGET, value),
                        npu_error_name(f->code), npu_error_text(f->code));
    }
    if (f->pipe == NPU_PIPES) {
        return snprintf(text, size,
                        "core %u: register access at offset 0x%x, value 0x%llx\n"
                        "  %s: %s",
                        f->core, f->field, value, npu_error_name(f->code),
                        npu_error_text(f->code));
    }
    if (push) {
        return snprintf(text, size, "core %u pipe %s: PUSH = 0x%llx\n  %s: %s", f->core,
                        pipe_name(f->pipe), value, npu_error_name(f->code),
                        npu_error_text(f->code));
    }
    n = snprintf(text, size,
                 extent ? "core %u pipe %s: %s.%s = 0x%llx, access ends at 0x%llx\n"
                        : "core %u pipe %s: %s.%s = %llu (0x%llx)\n",
                 f->core, pipe_name(f->pipe), info ? info->name : "command", field,
                 extent ? addr : value, value);
    if (n < 0 || (size_t)n >= size) {
        return n;
    }
    return n + snprintf(text + n, size - (size_t)n, "  %s: %s%s%s%s",
                        npu_error_name(f->code), npu_error_text(f->code),
                        about[0] ? " (" : "", about, about[0] ? ")" : "");
}
