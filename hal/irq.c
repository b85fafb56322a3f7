/* SPDX-License-Identifier: MIT
 *
 * PLIC and wfi; see irq.h. The lines are levels computed from the state of the core, so
 * they fall when their cause is gone. Addresses are those of QEMU's virt machine
 * (hw/riscv/virt.c).
 */
#include "hal/irq.h"
#include "hal/chip.h"
#include "hal/mmio.h"

#define PLIC_BASE           0x0c000000u
#define PLIC_PRIORITY(line) (PLIC_BASE + 4 * (line))
#define PLIC_ENABLE(word)   (PLIC_BASE + 0x2000 + 4 * (word)) /* context 0: hart 0, M */
#define PLIC_THRESHOLD      (PLIC_BASE + 0x200000)
#define PLIC_CLAIM          (PLIC_BASE + 0x200004)
#define USUAL                                                                            \
    (CORE_IRQ_STATUS_FAULT | CORE_IRQ_STATUS_SEM | CORE_IRQ_STATUS_QUEUE |               \
     CORE_IRQ_STATUS_ALARM)
#define MIE_MEIE (1u << 11)

static uint64_t sleeps;
static uint8_t enable[NPU_MAX_CORES]; /* CORE_IRQ_ENABLE */
static uint32_t idle_armed;           /* cores whose enable has IDLE */

static void write32(uintptr_t addr, uint32_t value)
{
    *(volatile uint32_t *)addr = value;
}

static uint32_t read32(uintptr_t addr)
{
    return *(volatile uint32_t *)addr;
}

static void write_enable(unsigned core)
{
    write64(core_base(core) + CORE_IRQ_ENABLE, enable[core]);
}

void irq_init(unsigned n)
{
    uint32_t lines[2] = {0, 0};

    for (unsigned core = 0; core < n; core++) {
        unsigned line = npu_irq_line(core);
        write32(PLIC_PRIORITY(line), 1);
        lines[line / 32] |= 1u << (line % 32);
        enable[core] = USUAL;
        write_enable(core);
    }
    write32(PLIC_ENABLE(0), lines[0]);
    write32(PLIC_ENABLE(1), lines[1]);
    write32(PLIC_THRESHOLD, 0);
    __asm__ volatile("csrs mie, %0" ::"r"(MIE_MEIE));
}

void irq_arm_idle(uint32_t cores)
{
    uint32_t changed = cores ^ idle_armed;

    for (; changed; changed &= changed - 1) {
        unsigned core = (unsigned)__builtin_ctz(changed);
        enable[core] ^= CORE_IRQ_STATUS_IDLE;
        write_enable(core);
    }
    idle_armed = cores;
}

void irq_arm_fault(unsigned core, bool on)
{
    enable[core] &= (uint8_t)~CORE_IRQ_STATUS_FAULT;
    enable[core] |= on ? CORE_IRQ_STATUS_FAULT : 0;
    write_enable(core);
}

void irq_alarm(unsigned core, uint64_t cycle)
{
    write64(core_base(core) + CORE_ALARM, cycle);
}

bool irq_fault(unsigned core)
{
    return read64(core_base(core) + CORE_IRQ_STATUS) & CORE_IRQ_STATUS_FAULT;
}

/*
 * The wfi is the last instruction of its page. QEMU 7.2 goes on translating behind a wfi
 * and counts the whole block when the wfi ends it, but only one instruction when a step,
 * a breakpoint in the page or a timer cuts the block short: the clock would depend on
 * the debugger, and replay would hang. A block ends with its page.
 */
void idle(void);
__asm__(".pushsection .idle, \"ax\", @progbits\n\t"
        ".type idle, @function\n"
        "idle:\n\t"
        "wfi\n\t"
        "ret\n\t"
        ".size idle, . - idle\n\t"
        ".popsection");

void irq_forget(void)
{
    uint32_t line;

    while ((line = read32(PLIC_CLAIM)) != 0) {
        write32(PLIC_CLAIM, line);
    }
}

/* The PLIC latches a line when it rises and only a claim empties the latch; a line that
 * stays up is not latched again. So empty it, then look, then sleep: what rises after
 * the look is latched and ends the sleep. */
bool irq_wait(void)
{
    irq_forget();
    if (chip_wanted()) {
        return false;
    }
    sleeps++;
    idle();
    fence_pull();
    return true;
}

uint64_t irq_sleeps(void)
{
    return sleeps;
}
