/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A call of the guest to the host, as the hook of its exception sees it: number in a0, a
 * parameter block at a1. Source: semihosting/arm-compat-semi.c and
 * target/riscv/cpu_helper.c of QEMU.
 */
#ifndef TOOLS_EMU_QEMU_DEVICE_CALL_H
#define TOOLS_EMU_QEMU_DEVICE_CALL_H

#define NEED_CPU_H    1 /* for the whole of TCGCPUOps */
#define CONFIG_TARGET "config-target.h"
#include "tools/emu/qemu/device/device.h"
#include NPU_TCG_OPS_H

#define EBREAK_BYTES 4
#define CALL_PAGE    4096ull
#define A0           10
#define A1           11

/* QEMU's own calls; the firmware's are in hal/contract/host.h. */
enum {
    SYS_OPEN = 0x01,
    SYS_CLOSE = 0x02,
    SYS_WRITEC = 0x03,
    SYS_WRITE0 = 0x04,
    SYS_WRITE = 0x05,
    SYS_READ = 0x06,
    SYS_READC = 0x07,
    SYS_ISERROR = 0x08,
    SYS_ISTTY = 0x09,
    SYS_SEEK = 0x0a,
    SYS_FLEN = 0x0c,
    SYS_TMPNAM = 0x0d,
    SYS_REMOVE = 0x0e,
    SYS_CLOCK = 0x10,
    SYS_TIME = 0x11,
    SYS_SYSTEM = 0x12,
    SYS_ERRNO = 0x13,
    SYS_GET_CMDLINE = 0x15,
    SYS_HEAPINFO = 0x16,
    SYS_EXIT = 0x18,
    SYS_EXIT_EXTENDED = 0x20,
    SYS_ELAPSED = 0x30,
    SYS_TICKFREQ = 0x31,
};

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

/* Whether all of it is memory. What is not, a clock's register say, may read otherwise the
 * next time: QEMU would do what nobody has looked at. */
static inline bool call_in_memory(CPUState *cpu, uint64_t addr, uint64_t len)
{
    for (uint64_t at = addr, end = addr + len; at < end;
         at = ROUND_UP(at + 1, CALL_PAGE)) {
        hwaddr page = cpu_get_phys_page_debug(cpu, at & -CALL_PAGE);
        MemoryRegionSection found;
        bool memory;

        if (page == (hwaddr)-1) {
            return false;
        }
        found = memory_region_find(get_system_memory(), page + at % CALL_PAGE, 1);
        memory = found.mr && memory_region_is_ram(found.mr);
        memory_region_unref(found.mr);
        if (!memory) {
            return false;
        }
    }
    return addr + len >= addr;
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
