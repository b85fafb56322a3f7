/* SPDX-License-Identifier: MIT
 *
 * Reset to C. QEMU (-bios none) enters here in M-mode with interrupts off, the hart's
 * number in a0 and the device tree in a1; neither is used. One hart, no relocation:
 * the image is loaded where it runs.
 */
#define MSTATUS_FS_INITIAL (1 << 13)

    .cfi_sections .debug_frame      /* for debuggers only; npu.ld drops .eh_frame */
    .section .text.start, "ax", @progbits
    .globl _start
    .type _start, @function
_start:
    .cfi_startproc
    .cfi_undefined ra           /* the outermost frame: backtraces end here */

    .option push
    .option norelax             /* gp is not there yet */
    la      gp, __global_pointer$
    .option pop
    la      sp, __stack_top
    la      tp, __tls_base      /* the C library's errno lives here */

    /* Trap first, so that even the next lines end in a report instead of a hang.
     * mscratch holds the trap stack; 0 there means "already in a trap". */
    la      t0, __trap_stack_top
    csrw    mscratch, t0
    la      t0, trap_entry
    csrw    mtvec, t0
    csrw    mie, zero

    li      t0, MSTATUS_FS_INITIAL
    csrs    mstatus, t0
    fscsr   zero                /* round to nearest even, no flags */

    la      t0, __bss_start     /* t0: next, t1: end; both on 16 bytes (npu.ld) */
    la      t1, __bss_end
1:  bgeu    t0, t1, 2f
    sd      zero, 0(t0)
    sd      zero, 8(t0)
    addi    t0, t0, 16
    j       1b

2:  call    libc_init           /* void libc_init(void): stdio of both libraries */
    call    main                /* int main(void): the exit status of QEMU */
    call    exit                /* flushes stdio, then _exit in boot/libc.c */
    .cfi_endproc
    .size _start, . - _start
