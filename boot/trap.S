/* SPDX-License-Identifier: MIT
 *
 * Trap entry: saves the whole state, calls C, restores it. Floating point is saved
 * too, so that a handler may be ordinary C. The scheduler sleeps with interrupts off,
 * so a trap is either a bug or somebody's handler.
 *
 * mscratch is the top of the trap stack outside of traps and 0 inside. A trap that
 * finds 0 there has hit the report itself: it gets a second, shorter report on a fresh
 * stack, and a third trap ends QEMU by the board's own register without any C.
 */
#define FRAME_X(n) ((n) * 8)        /* struct trap_frame in boot.h, checked in trap.c */
#define FRAME_PC 256
#define FRAME_STATUS 264
#define FRAME_CAUSE 272
#define FRAME_VALUE 280
#define FRAME_F(n) (288 + (n) * 8)  /* not in the C struct */
#define FRAME_FCSR 544
#define FRAME_BYTES 560
#define VIRT_FINISHER 0x100000      /* QEMU virt: a store here ends the run */
#define FINISHER_FAIL_3 0x33333     /* with exit status 3 */

/* x0 is constant and x2, sp, is handled apart. */
#define FOR_X .irp n, 1,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25, \
                      26,27,28,29,30,31
#define FOR_F .irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24, \
                      25,26,27,28,29,30,31

    .cfi_sections .debug_frame      /* for debuggers only; npu.ld drops .eh_frame */
    .section .text.trap, "ax", @progbits
    .balign 4                       /* mtvec in direct mode */
    .globl trap_entry
    .type trap_entry, @function
trap_entry:
    /* Where the debugger finds the interrupted code's registers once the frame is
     * filled, that is during the call; so `bt` in a report shows who trapped. */
    .cfi_startproc
    .cfi_signal_frame
    .cfi_return_column mepc
    .cfi_def_cfa sp, 0
    .cfi_offset mepc, FRAME_PC
    .cfi_offset sp, FRAME_X(2)
    FOR_X
    .cfi_offset x\n, FRAME_X(\n)
    .endr

    csrrw   sp, mscratch, sp        /* sp: trap stack; mscratch: interrupted sp */
    beqz    sp, trap_again
    addi    sp, sp, -FRAME_BYTES
    FOR_X
    sd      x\n, FRAME_X(\n)(sp)
    .endr
    FOR_F
    fsd     f\n, FRAME_F(\n)(sp)
    .endr
    csrrw   t0, mscratch, zero      /* t0: interrupted sp; from here on "in a trap" */
    csrr    t1, mepc
    csrr    t2, mstatus
    csrr    t3, mcause
    csrr    t4, mtval
    frcsr   t5
    sd      t0, FRAME_X(2)(sp)
    sd      t1, FRAME_PC(sp)
    sd      t2, FRAME_STATUS(sp)
    sd      t3, FRAME_CAUSE(sp)
    sd      t4, FRAME_VALUE(sp)
    sd      t5, FRAME_FCSR(sp)

    .option push
    .option norelax                 /* gp or tp may be what went wrong */
    la      gp, __global_pointer$
    .option pop
    la      tp, __tls_base
    mv      a0, sp
    call    trap_dispatch           /* void trap_dispatch(struct trap_frame *frame) */

    ld      t1, FRAME_PC(sp)
    ld      t2, FRAME_STATUS(sp)
    ld      t5, FRAME_FCSR(sp)
    csrw    mepc, t1
    csrw    mstatus, t2
    fscsr   t5
    FOR_F
    fld     f\n, FRAME_F(\n)(sp)
    .endr
    FOR_X
    ld      x\n, FRAME_X(\n)(sp)
    .endr
    addi    sp, sp, FRAME_BYTES
    csrw    mscratch, sp            /* out of the trap */
    ld      sp, (FRAME_X(2) - FRAME_BYTES)(sp)
    mret
    .cfi_endproc
    .size trap_entry, . - trap_entry

    .type trap_again, @function
trap_again:
    csrw    mscratch, zero
    la      t0, trap_dead
    csrw    mtvec, t0
    la      sp, __trap_stack_top
    csrr    a0, mcause
    csrr    a1, mepc
    csrr    a2, mtval
    call    trap_in_trap            /* _Noreturn void (cause, pc, value) */
    .size trap_again, . - trap_again

    .balign 4
    .globl trap_dead
    .type trap_dead, @function
trap_dead:                          /* _Noreturn void trap_dead(void); also a vector */
    li      t0, VIRT_FINISHER
    li      t1, FINISHER_FAIL_3
    sw      t1, 0(t0)
1:  j       1b                      /* QEMU needs a moment */
    .size trap_dead, . - trap_dead
