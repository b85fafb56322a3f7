/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * QEMU's headers, and everything that differs between its versions: 7.2 (Debian 12) and
 * 10.0 (Debian 13). No other file here tests a version or includes one of QEMU's headers,
 * apart from NPU_TCG_OPS_H, which wants NEED_CPU_H above it.
 */
#ifndef TOOLS_EMU_QEMU_DEVICE_COMPAT_H
#define TOOLS_EMU_QEMU_DEVICE_COMPAT_H

#include "qemu/osdep.h"
#include "qemu/config-file.h"
#include "qemu/cutils.h"
#include "qemu/error-report.h"
#include "qemu/main-loop.h"
#include "qemu/option.h"
#include "qemu/qemu-plugin.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "qapi-commands-control.h"
#include "block/block.h"
#include "block/snapshot.h"
#include "chardev/char.h"
#include "exec/address-spaces.h"
#include "exec/cpu-common.h"
#include "exec/memory.h"
#include "exec/ramlist.h"
#include "hw/boards.h"
#include "hw/irq.h"
#include "hw/qdev-properties.h"
#include "hw/sysbus.h"
#include "hw/core/cpu.h"
#include "migration/qemu-file-types.h"
#include "migration/snapshot.h"
#include "migration/vmstate.h"

#if __has_include("system/system.h") /* QEMU 10: sysemu/ became system/ */
#include "system/cpu-timers.h"
#include "system/cpus.h"
#include "system/qtest.h"
#include "system/replay.h"
#include "system/runstate-action.h"
#include "system/runstate.h"
#include "system/system.h"
#define NPU_QEMU_10 1
#else
#include "sysemu/cpu-timers.h"
#include "sysemu/cpus.h"
#include "sysemu/qtest.h"
#include "sysemu/replay.h"
#include "sysemu/runstate-action.h"
#include "sysemu/runstate.h"
#include "sysemu/sysemu.h"
#define NPU_QEMU_10 0
#endif

#if NPU_QEMU_10
#define NPU_TCG_OPS_H         "accel/tcg/cpu-ops.h"
#define npu_set_reset(dc, fn) device_class_set_legacy_reset(dc, fn)
#define NPU_PROPERTY          const Property
#define NPU_PROPERTIES_END
/* A write of gdb's or of the monitor's; before 10 they did not get as far as a device. */
#define npu_from_debugger(attrs) ((attrs).debug)
#define npu_bql_lock() bql_lock()
#define npu_bql_unlock() bql_unlock()
#else
#define NPU_TCG_OPS_H         "hw/core/tcg-cpu-ops.h"
#define npu_set_reset(dc, fn) ((dc)->reset = (fn))
#define NPU_PROPERTY          Property
#define NPU_PROPERTIES_END , DEFINE_PROP_END_OF_LIST()
#define npu_from_debugger(attrs) false
#define npu_bql_lock() qemu_mutex_lock_iothread()
#define npu_bql_unlock() qemu_mutex_unlock_iothread()
#endif

/* The hart's registers, the first in its state; the exception of a semihosting call
 * (target/riscv/cpu.h, cpu_bits.h). */
#if NPU_QEMU_10
#define npu_gpr(cpu) ((uint64_t *)((char *)(cpu) + sizeof(CPUState)))
#define NPU_EXCP_SEMIHOST 0x3f
#else
#define npu_gpr(cpu) ((uint64_t *)(cpu)->env_ptr)
#define NPU_EXCP_SEMIHOST 0x10
#endif

/* The hart's mode, 3 is M; with 10.0's two stages of translation it is none of those
 * (target/riscv/cpu.h). */
#if NPU_QEMU_10
int riscv_env_mmu_index(void *env, bool ifetch);
#define npu_hart_mode(cpu) riscv_env_mmu_index(npu_gpr(cpu), true)
#else
int riscv_cpu_mmu_index(void *env, bool ifetch);
#define npu_hart_mode(cpu) riscv_cpu_mmu_index(npu_gpr(cpu), true)
#endif

/* Where the hart is that makes an access to a device: an instruction in the middle of a
 * block, which the return address of that access leads to. 10.0 tells only where in its
 * page that is. */
bool cpu_unwind_state_data(CPUState *cpu, uintptr_t host_pc, uint64_t *data);
static inline uint64_t npu_hart_pc(CPUState *cpu)
{
    uint64_t data[16], page = 4096, pc = CPU_GET_CLASS(cpu)->get_pc(cpu);

    if (!cpu_unwind_state_data(cpu, cpu->mem_io_pc, data)) {
        return 0;
    }
    return data[0] < page ? pc - pc % page + data[0] : data[0];
}

/* block/block_int-common.h: not 0 while a snapshot is being loaded, when the machine is
 * reset. */
extern unsigned int bdrv_drain_all_count;

/* migration/qemu-file.h: bytes that have been written, all of them to where the file is. */
#if NPU_QEMU_10
int qemu_fflush(QEMUFile *f);
uint64_t qemu_file_transferred(QEMUFile *f);
static inline uint64_t npu_file_bytes(QEMUFile *f)
{
    qemu_fflush(f);
    return qemu_file_transferred(f);
}
#else
int64_t qemu_file_total_transferred(QEMUFile *f);
#define npu_file_bytes(f) ((uint64_t)qemu_file_total_transferred(f))
#endif

/* zlib.h, of the library that QEMU itself has. */
unsigned long crc32(unsigned long sum, const uint8_t *data, unsigned bytes);

/* exec/gdbstub.h of 7.2 wants headers of the target. */
void gdb_set_stop_cpu(CPUState *cpu);

/* A debugger is to look at the hart; QEMU would crash if it has none, neither here nor to
 * come (-gdb). */
static inline void npu_show_hart(void)
{
    if (qemu_chr_find("gdb")) {
        gdb_set_stop_cpu(first_cpu);
    }
}

/* Bytes that QEMU gives an object of a type. 10.0 has no function for it: they are the
 * third word of its private TypeImpl, as npu.so's check of five known types confirms. */
static inline size_t npu_instance_size(const char *type)
{
#if NPU_QEMU_10
    return ((const size_t *)object_class_by_name(type)->type)[2];
#else
    return object_type_get_instance_size(type);
#endif
}

/* Refuses to run: one line, then the exit status that a run has for bad input. */
#define npu_die(...)               \
    do {                           \
        error_report(__VA_ARGS__); \
        exit(2);                   \
    } while (0)

/* For an exit handler that has found an output incomplete: the run ends with 2, as it does
 * for a result that cannot be written, unless it ends with worse. The C library goes on
 * with the handlers that are left, and takes the last status. */
static inline void npu_exit_worse(int status)
{
    if (status < 2) {
        exit(2);
    }
}

#endif
