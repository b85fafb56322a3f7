/* SPDX-License-Identifier: MIT
 *
 * Traps in C: registered handlers, and the report that ends the run for all others. The
 * report goes to standard error in one piece; QEMU then exits with RUN_FAULT. A trap
 * within the report is met by trap.S, so a broken heap or stack cannot make it loop.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include "boot/boot.h"
#include "hal/console.h"
#include "hal/err.h"
#include "hal/host.h"
#include "sched/sched.h"

#define INTERRUPT        ((uint64_t)1 << 63)
#define CAUSE_BREAKPOINT 3
#define SEMIHOSTING_MARK 0x01f01013u /* slli zero, zero, 0x1f: before the ebreak */
#define VIRT_UART        0x10000000u
#define N_HANDLERS       4

static_assert(offsetof(struct trap_frame, pc) == 256, "FRAME_PC in trap.S");
static_assert(offsetof(struct trap_frame, value) == 280, "FRAME_VALUE in trap.S");
static_assert(sizeof(struct trap_frame) == 288, "FRAME_F in trap.S");

extern char __text_start[], __text_end[];    /* linker/npu.ld */
extern char __stack_bottom[], __stack_top[]; /* linker/npu.ld */

_Noreturn void trap_dead(void);
void trap_dispatch(struct trap_frame *frame);
_Noreturn void trap_in_trap(uint64_t cause, uint64_t pc, uint64_t value);

static struct {
    uint64_t cause;
    trap_handler_fn *handler;
} handlers[N_HANDLERS];

int trap_register(uint64_t cause, trap_handler_fn *handler)
{
    int slot = N_HANDLERS;

    for (int i = N_HANDLERS; i-- > 0;) {
        if (handlers[i].handler != NULL && handlers[i].cause == cause) {
            slot = i;
            break;
        }
        if (handlers[i].handler == NULL) {
            slot = i;
        }
    }
    if (slot == N_HANDLERS) {
        return ERR_BUSY;
    }
    handlers[slot].cause = cause;
    handlers[slot].handler = handler;
    return 0;
}

static const char *cause_name(uint64_t cause)
{
    static const char *const exceptions[] = {
        "instruction address misaligned",
        "instruction access fault",
        "illegal instruction",
        "breakpoint",
        "load address misaligned",
        "load access fault",
        "store address misaligned",
        "store access fault",
    };

    switch (cause) {
    case INTERRUPT | 3:
        return "software interrupt without a handler";
    case INTERRUPT | 7:
        return "timer interrupt without a handler";
    case INTERRUPT | 11:
        return "external interrupt without a handler";
    case 11:
        return "ecall, which nothing here answers";
    default:
        return cause < sizeof(exceptions) / sizeof(exceptions[0]) ? exceptions[cause]
                                                                  : "unknown cause";
    }
}

/* Without semihosting there is no console and no exit status. Say so on the UART, the
 * only thing that is sure to be there. */
static void check_semihosting(uint64_t cause, uint64_t pc)
{
    static const char text[] = "salai: no semihosting: start QEMU with "
                               "-semihosting-config enable=on,target=native\r\n";

    if (cause == CAUSE_BREAKPOINT && pc > (uintptr_t)__text_start &&
        pc < (uintptr_t)__text_end && *(const uint32_t *)(pc - 4) == SEMIHOSTING_MARK) {
        for (size_t i = 0; i + 1 < sizeof(text); i++) {
            *(volatile uint8_t *)VIRT_UART = (uint8_t)text[i];
        }
        trap_dead();
    }
}

/* From here on a trap means that the C library is in the middle of something. */
static _Noreturn void finish(void)
{
    console_flush();
    __asm__ volatile("csrw mtvec, %0" ::"r"(trap_dead));
    fflush(stdout); /* the begun line, if it can be had */
    console_flush();
    host_exit(RUN_FAULT);
}

static void put(const char *text)
{
    console_write(CONSOLE_ERR, text, strlen(text));
}

static void put_task(void)
{
    const char *task = sched_running();

    put("  task   ");
    put(task != NULL ? task : "none, main stack");
    put("\n");
}

static const char *stack_note(uint64_t sp)
{
    uintptr_t bottom = (uintptr_t)__stack_bottom;

    if (sched_running() != NULL || (sp >= bottom && sp <= (uintptr_t)__stack_top)) {
        return "";
    }
    return sp < bottom && sp > bottom - 65536 ? ", main stack has overflowed (memory.ld)"
                                              : ", outside of the main stack";
}

/* In a debugger: `bt` goes on to the code that trapped, `p *frame` has its registers. */
static _Noreturn void trap_report(const struct trap_frame *frame)
{
    static char text[512];

    put("\n");
    snprintf(text, sizeof(text),
             "salai: trap: %s (mcause 0x%llx)\n"
             "  pc     0x%016llx\n"
             "  mtval  0x%016llx\n"
             "  ra     0x%016llx\n"
             "  sp     0x%016llx%s\n",
             cause_name(frame->cause), (unsigned long long)frame->cause,
             (unsigned long long)frame->pc, (unsigned long long)frame->value,
             (unsigned long long)frame->x[1], (unsigned long long)frame->x[2],
             stack_note(frame->x[2]));
    put(text);
    put_task();
    /* ra - 2: a line of the call, not the one behind it. */
    snprintf(text, sizeof(text),
             "  source riscv64-unknown-elf-addr2line -fpie %s 0x%llx 0x%llx\n",
             host_program(), (unsigned long long)frame->pc,
             (unsigned long long)frame->x[1] - 2);
    put(text);
    finish();
}

void trap_dispatch(struct trap_frame *frame)
{
    for (int i = 0; i < N_HANDLERS; i++) {
        if (handlers[i].handler != NULL && handlers[i].cause == frame->cause) {
            handlers[i].handler(frame);
            return;
        }
    }
    check_semihosting(frame->cause, frame->pc);
    trap_report(frame);
}

static void put_hex(uint64_t value)
{
    char text[] = "0x0000000000000000";

    for (int i = 17; i > 1; i--, value >>= 4) {
        text[i] = "0123456789abcdef"[value & 15];
    }
    put(text);
}

/* The report has trapped, so not even snprintf can be trusted. */
void trap_in_trap(uint64_t cause, uint64_t pc, uint64_t value)
{
    check_semihosting(cause, pc);
    put("\nsalai: trap within a trap: ");
    put(cause_name(cause));
    put(", pc ");
    put_hex(pc);
    put(", mtval ");
    put_hex(value);
    put("\n");
    console_flush();
    host_exit(RUN_FAULT);
}

void trap_panic(const char *what)
{
    const char *task = sched_running();

    put("\nsalai: ");
    put(what);
    put(task != NULL ? ", task " : "");
    put(task != NULL ? task : "");
    put("\n");
    finish();
}
