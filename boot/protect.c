/* SPDX-License-Identifier: MIT
 *
 * Physical memory protection, against our own bugs. Without it a store through a bad
 * pointer would change code, and a main stack that grows too far would eat the trap
 * handler, whose next trap would then loop for ever. Locked entries bind M-mode too;
 * everything that no entry matches stays open. The engines' DMA is not bound by it.
 * Source: RISC-V Privileged Architecture 1.12, section 3.7.
 */
#include "boot/boot.h"

extern char __text_start[], __rodata_start[], __data_start[]; /* linker/npu.ld */
extern char __stack_guard[];

enum { PMP_R = 1, PMP_X = 4, PMP_TOR = 1 << 3, PMP_NAPOT = 3 << 3, PMP_LOCK = 1 << 7 };

#define NAPOT_4K 0x1ff /* pmpaddr: so many ones below the address make 4 KiB */

void protect_init(void)
{
    /* One byte an entry. TOR: from the address of the entry before to its own. */
    const uint64_t guard = PMP_LOCK | PMP_NAPOT;
    const uint64_t code = PMP_LOCK | PMP_TOR | PMP_R | PMP_X;
    const uint64_t constants = PMP_LOCK | PMP_TOR | PMP_R;

    __asm__ volatile(
        "csrw pmpaddr0, %0\n\t"
        "csrw pmpaddr1, %1\n\t"
        "csrw pmpaddr2, %2\n\t"
        "csrw pmpaddr3, %3\n\t"
        "csrw pmpcfg0, %4"
        :
        : "r"((uintptr_t)__stack_guard >> 2 | NAPOT_4K),
          "r"((uintptr_t)__text_start >> 2), "r"((uintptr_t)__rodata_start >> 2),
          "r"((uintptr_t)__data_start >> 2), "r"(guard | code << 16 | constants << 24)
        : "memory");
}
