/* SPDX-License-Identifier: MIT
 *
 * Pipe driver; see pipe.h.
 */
#include "hal/pipe.h"

#include <stdio.h>

#include "hal/mmio.h"

struct pipe_port pipe_ports[NPU_MAX_CORES][NPU_PIPES];

void pipe_init(unsigned n)
{
    for (unsigned core = 0; core < n; core++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            pipe_ports[core][p].push =
                (volatile uint64_t *)(pipe_base(core, (enum pipe)p) + PIPE_PUSH);
        }
    }
}

uint64_t pipe_refresh(struct pipe_port *port)
{
    port->room = port->push[PIPE_FREE / 8];
    return port->room;
}

int pipe_push_many(unsigned core, enum pipe pipe, const union cmd *cmds, unsigned count)
{
    struct pipe_port *port = &pipe_ports[core][pipe];

    if (port->room < count && pipe_refresh(port) < count) {
        return ERR_BUSY;
    }
    port->room -= count;
    fence_push();
    *port->push = (uintptr_t)cmds | field_put(PIPE_PUSH_MORE, count - 1);
    return 0;
}

unsigned pipe_free(unsigned core, enum pipe pipe)
{
    return (unsigned)read64(pipe_base(core, pipe) + PIPE_FREE);
}

void pipe_arm(unsigned core, enum pipe pipe, unsigned slots)
{
    write64(pipe_base(core, pipe) + PIPE_ARM, slots);
}

bool pipe_idle(unsigned core, enum pipe pipe)
{
    uint64_t status = read64(pipe_base(core, pipe) + PIPE_STATUS);

    return field_get(PIPE_STATUS_STATE, status) == PIPE_EMPTY;
}

bool core_in_flight(unsigned core)
{
    return (read64(core_base(core) + CORE_STATUS) & CORE_STATUS_RUNNING) != 0;
}

void pipe_reset(unsigned core, enum pipe pipe)
{
    write64(pipe_base(core, pipe) + PIPE_CTRL, PIPE_CTRL_RESET);
    pipe_ports[core][pipe].room = 0;
}

void core_reset(unsigned core)
{
    write64(core_base(core) + CORE_CTRL, CORE_CTRL_RESET | CORE_CTRL_PMU);
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        pipe_ports[core][p].room = 0;
    }
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

int fault_text(const struct fault *f, char *text, size_t size)
{
    const struct cmd_info *info = f->opcode ? cmd_find(f->opcode) : NULL;
    const struct cmd_arg *arg = info ? cmd_arg_at(info, f->field) : NULL;
    char field[24];

    if (f->pipe == NPU_PIPES) {
        return snprintf(text, size,
                        "core %u: register access at offset 0x%x, value 0x%llx\n"
                        "  %s: %s",
                        f->core, f->field, (unsigned long long)f->value,
                        npu_error_name(f->code), npu_error_text(f->code));
    }
    snprintf(field, sizeof(field), "byte %u", f->field);
    return snprintf(text, size,
                    "core %u pipe %s: %s.%s = %llu (0x%llx), address 0x%llx, tag %u\n"
                    "  %s: %s%s%s%s",
                    f->core, pipe_name(f->pipe), info ? info->name : "command",
                    arg ? arg->name : field, (unsigned long long)f->value,
                    (unsigned long long)f->value, (unsigned long long)f->addr,
                    (unsigned)f->tag, npu_error_name(f->code), npu_error_text(f->code),
                    arg ? " (" : "", arg ? arg->text : "", arg ? ")" : "");
}
