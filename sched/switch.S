/* SPDX-License-Identifier: MIT
 *
 * Context switch between tasks: saves what a C function may expect to survive a call,
 * and nothing else, since every switch is a call. The hart tells in mstatus.FS whether a
 * floating-point register has been written since the last switch; tasks that never do
 * that, which are most, do not pay for them. fcsr, the rounding mode and the flags, is the
 * hart's: all tasks share it.
 */
#define FS       0x6000 /* of mstatus; both bits: dirty */
#define FS_CLEAN 0x4000
#define HAS_FS   (16 + 8 * 24)

/* void task_switch(struct context *from, struct context *to);
 *
 * struct context (sched/task.h): ra, sp, s0 to s11, fs0 to fs11, 8 bytes each, has_fs. */
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
        li      t1, FS
        csrr    t0, mstatus
        and     t0, t0, t1
        beq     t0, t1, save_fs
saved:  ld      t2, HAS_FS(a1)
        bnez    t2, load_fs
loaded: ld      ra, 0(a1)               /* where the other task called us, or its entry */
        ld      sp, 8(a1)
        .set    i, 0
        .irp    r, s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11
        ld      \r, 16 + 8 * i(a1)
        .set    i, i + 1
        .endr
        ret

        /* Written since the last switch: keep them, and see the next write. */
save_fs:
        .set    i, 12
        .irp    r, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
        fsd     \r, 16 + 8 * i(a0)
        .set    i, i + 1
        .endr
        sd      t0, HAS_FS(a0)
        li      t0, FS - FS_CLEAN
        csrc    mstatus, t0
        j       saved

load_fs:
        .set    i, 12
        .irp    r, fs0, fs1, fs2, fs3, fs4, fs5, fs6, fs7, fs8, fs9, fs10, fs11
        fld     \r, 16 + 8 * i(a1)
        .set    i, i + 1
        .endr
        li      t0, FS - FS_CLEAN
        csrc    mstatus, t0
        j       loaded
        .size   task_switch, . - task_switch
