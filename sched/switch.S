/* SPDX-License-Identifier: MIT
 *
 * Context switch between tasks: saves what a C function may expect to survive a call,
 * and nothing else, since every switch is a call.
 */

/* void task_switch(struct context *from, const struct context *to);
 *
 * struct context (sched/sched.c): ra, sp, s0 to s11, fs0 to fs11, 8 bytes each. */
        .globl  task_switch
        .type   task_switch, @function
task_switch:
        sd      ra, 0(a0)
        sd      sp, 8(a0)
        .set    i, 0
        .irp    r, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        sd      \r, 16 + 8 * i(a0)
        .set    i, i + 1
        .endr
        .irp    r, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
        fsd     \r, 16 + 8 * i(a0)
        .set    i, i + 1
        .endr

        ld      ra, 0(a1)               /* where the other task called us, or its entry */
        ld      sp, 8(a1)
        .set    i, 0
        .irp    r, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        ld      \r, 16 + 8 * i(a1)
        .set    i, i + 1
        .endr
        .irp    r, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
        fld     \r, 16 + 8 * i(a1)
        .set    i, i + 1
        .endr
        ret
        .size   task_switch, . - task_switch
