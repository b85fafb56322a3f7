/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A call of the guest to the host, as the hook of its exception sees it: number in a0, a
 * parameter block at a1. Source: semihosting/arm-compat-semi.c and
 * target/riscv/cpu_helper.c of QEMU.
 */
#ifndef TOOLS_EMU_QEMU_CALL_H
#define TOOLS_EMU_QEMU_CALL_H

#define NEED_CPU_H    1 /* for the whole of TCGCPUOps */
#define CONFIG_TARGET "config-target.h"
#include "tools/emu/qemu/device.h"
#include NPU_TCG_OPS_H

#define EBREAK_BYTES 4
#define A0           10
#define A1           11

static inline uint64_t call_word(CPUState *cpu, uint64_t addr)
{
    uint64_t value = 0;

    cpu_memory_rw_debug(cpu, addr, &value, sizeof(value), false);
    return le64_to_cpu(value);
}

static inline char *call_text(CPUState *cpu, uint64_t addr, uint64_t len)
{
    char *text = g_malloc0(MIN(len, PATH_MAX) + 1);

    cpu_memory_rw_debug(cpu, addr, text, MIN(len, PATH_MAX), false);
    return text;
}

/* Answers a call in QEMU's place. */
static inline void call_return(CPUState *cpu, uint64_t result)
{
    CPUClass *cc = CPU_GET_CLASS(cpu);

    npu_gpr(cpu)[A0] = result;
    cc->set_pc(cpu, cc->get_pc(cpu) + EBREAK_BYTES);
}

/* Has fn called in the place of what handles exceptions now, which is returned. */
static inline const struct TCGCPUOps *call_hook(struct TCGCPUOps *ops,
                                                void (*fn)(CPUState *cpu))
{
    CPUClass *cc = CPU_GET_CLASS(first_cpu);
    const struct TCGCPUOps *before = cc->tcg_ops;

    *ops = *before;
    g_assert(ops->do_interrupt != NULL);
    ops->do_interrupt = fn;
    cc->tcg_ops = ops;
    return before;
}

#endif
