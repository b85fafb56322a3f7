/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The device that carries the NPU model into QEMU, as its own files see it.
 *
 * QEMU interface of type "salai-npu":
 *  + MMIO: the register page of the chip, then that of each core, at the addresses
 *    of hal/contract/mem.def
 *  + RAM: one region for each mapped memory of each core, "npu.coreN.NAME"
 *  + one interrupt line for each core, to the lines of the PLIC that `virt` leaves free
 *  + one timer of the virtual clock; an engine cycle is `cores` nanoseconds
 *
 * Invariant: whenever QEMU runs guest code, the timer stands at npu_next().
 */
#ifndef TOOLS_EMU_QEMU_DEVICE_H
#define TOOLS_EMU_QEMU_DEVICE_H

#include "tools/emu/qemu/compat.h"
#include "tools/emu/model/npu.h"

#define TYPE_SALAI_NPU "salai-npu"
OBJECT_DECLARE_SIMPLE_TYPE(SalaiNPU, SALAI_NPU)

/* A register page: what the MMIO callbacks get. */
typedef struct NPUPage {
    MemoryRegion mr;
    SalaiNPU *npu;
    unsigned core; /* or NPU_CHIP */
} NPUPage;

struct SalaiNPU {
    SysBusDevice parent_obj;

    struct npu model;
    struct npu_config config;
    MemoryRegion window; /* all of what follows */
    NPUPage chip;
    NPUPage core[NPU_MAX_CORES];
    MemoryRegion mem[NPU_MAX_CORES][NPU_MEM_COUNT]; /* those that are mapped */
    MemoryRegion stage;                             /* the others, of all cores */
    qemu_irq irq[NPU_MAX_CORES];
    MemoryRegion *gm; /* the machine's DRAM */
    uint8_t *gm_host;

    QEMUTimer *timer;
    int64_t armed; /* when the timer fires, INT64_MAX: never */

    /* What a snapshot carries besides the memories. */
    void *state; /* struct npu_state, state_bytes long */
    uint32_t state_bytes;
    uint32_t cores, profile, seed; /* the configuration, to be compared */
    bool restoring;
};

/* Registers the QOM type. */
void npu_register_type(void);
/* Makes the device and attaches it to the running `virt` machine. */
SalaiNPU *npu_create(unsigned cores, enum npu_profile profile, uint32_t seed);

/* time.c: engine cycle of the virtual clock now. */
uint64_t npu_now(const SalaiNPU *npu);
/* Puts the timer where the model wants it; after everything that changes the model. */
void npu_arm(SalaiNPU *npu);
void npu_time_init(SalaiNPU *npu);
/* sleep.c: how the clock moves while the hart sleeps, and that it stands still while a
 * debugger has stopped the hart. */
void npu_sleep_init(void);

/* memory.c: what the model does to guest memory. */
extern const struct npu_host npu_host_ops;
void npu_memory_init(SalaiNPU *npu);

/* trace.c: writes every command and what the hart does to a file. */
void npu_trace_open(SalaiNPU *npu, const char *path);

#endif
