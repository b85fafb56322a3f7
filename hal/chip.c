/* SPDX-License-Identifier: MIT
 *
 * The capability block; see chip.h. Its values are read once: they never change.
 */
#include "hal/chip.h"
#include "hal/mmio.h"
#include "hal/ram.h"

static struct {
    unsigned cores, shared;
    enum npu_profile profile;
    enum npu_timing timing;
    uint32_t cost[COST_COUNT];
} chip;

int chip_init(void)
{
    uint64_t id = read64(NPU_CHIP_BASE + CHIP_ID);

    if (field_get(CHIP_ID_WORD, id) != CHIP_ID_MAGIC ||
        field_get(CHIP_ID_VERSION, id) != CONTRACT_VERSION) {
        return ERR_ABSENT;
    }
    chip.cores = (unsigned)read64(NPU_CHIP_BASE + CHIP_CORES);
    chip.shared = (unsigned)read64(NPU_CHIP_BASE + CHIP_SHARE);
    chip.profile = (enum npu_profile)read64(NPU_CHIP_BASE + CHIP_PROFILE);
    chip.timing = (enum npu_timing)read64(NPU_CHIP_BASE + CHIP_TIMING);
    for (unsigned i = 0; i < COST_COUNT; i++) {
        chip.cost[i] = (uint32_t)read64(NPU_CHIP_BASE + CHIP_COST + 8 * i);
    }
    ram_end = (uintptr_t)(read64(NPU_CHIP_BASE + CHIP_GM_BASE) +
                          read64(NPU_CHIP_BASE + CHIP_GM_SIZE));
    return 0;
}

unsigned chip_cores(void)
{
    return chip.cores;
}

enum npu_profile chip_profile(void)
{
    return chip.profile;
}

enum npu_timing chip_timing(void)
{
    return chip.timing;
}

uint32_t chip_cost(enum npu_cost cost)
{
    return chip.cost[cost];
}

uint32_t chip_mem(enum npu_mem mem)
{
    return chip.cost[npu_mem_cost(mem)];
}

void chip_share(unsigned cores, bool launch)
{
    write64(NPU_CHIP_BASE + CHIP_SHARE,
            field_put(CHIP_SHARE_CORES, cores) | field_put(CHIP_SHARE_LAUNCH, launch));
    chip.shared = (unsigned)read64(NPU_CHIP_BASE + CHIP_SHARE);
}

unsigned chip_shared(void)
{
    return chip.shared;
}

void chip_reset(void)
{
    write64(NPU_CHIP_BASE + CHIP_CTRL, CHIP_CTRL_RESET);
}

void chip_l2_empty(void)
{
    write64(NPU_CHIP_BASE + CHIP_CTRL, CHIP_CTRL_L2);
}

uint32_t chip_busy(void)
{
    return (uint32_t)read64(NPU_CHIP_BASE + CHIP_BUSY);
}

uint32_t chip_running(void)
{
    return (uint32_t)read64(NPU_CHIP_BASE + CHIP_RUNNING);
}

uint32_t chip_wanted(void)
{
    return (uint32_t)read64(NPU_CHIP_BASE + CHIP_WANTED);
}

uint64_t chip_cycle(void)
{
    return read64(NPU_CHIP_BASE + CHIP_CYCLE);
}

/*
 * The hart's cycle counter is its clock, chip.shared of whose cycles are one of the engines'. The
 * jump skips as many of the 32 nops as the engines' cycle is old already, so that what
 * follows them is executed when a cycle begins: between the read and the first nop there
 * are ALIGN_BEHIND instructions, the read among them.
 */
#define ALIGN_BEHIND 6
#define ALIGN_NOPS   NPU_MAX_CORES

void chip_align(void)
{
    uint64_t age, skip;

    __asm__ volatile(".option push\n\t"
                     ".option norvc\n\t"
                     "la      %1, 1f\n\t"
                     "slli    %0, %2, 2\n\t"
                     "sub     %1, %1, %0\n\t"
                     "csrr    %0, mcycle\n\t"
                     "addi    %0, %0, %3\n\t"
                     "remu    %0, %0, %2\n\t"
                     "slli    %0, %0, 2\n\t"
                     "add     %1, %1, %0\n\t"
                     "jr      %1\n\t"
                     ".rept   %4\n\t"
                     "nop\n\t"
                     ".endr\n\t"
                     "1:\n\t"
                     ".option pop"
                     : "=&r"(age), "=&r"(skip)
                     : "r"((uint64_t)chip.shared), "i"(ALIGN_BEHIND), "i"(ALIGN_NOPS)
                     : "memory");
}

void *chip_local(unsigned core, enum npu_mem mem, uint32_t offset)
{
    return (void *)(core_base(core) + npu_mem_offset(mem) + offset);
}
