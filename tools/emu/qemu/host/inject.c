/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * fail=N: the run's call number N to the host fails, with EIO or with nothing moved, and is
 * not made; a line on stderr says which one it was. For tests that let every call fail
 * once. The calls that cannot fail (exit, errno) are not counted.
 */
#include "tools/emu/qemu/device/call.h"
#include "hal/contract/host.h"

static struct {
    const struct TCGCPUOps *qemu;
    uint64_t left; /* calls until the one that fails, which is 1 */
    uint64_t n;
    bool failed; /* it was the last call */
} inject;

static bool counts(uint32_t op)
{
    return op != SYS_EXIT && op != SYS_EXIT_EXTENDED && op != SYS_ERRNO;
}

static void fail(CPUState *cpu, uint32_t op, uint64_t block)
{
    inject.failed = true;
    error_report("npu.so: fail=%" PRIu64 ": host call 0x%x fails", inject.n, op);
    switch (op) {
    case SYS_READ:
    case SYS_WRITE: /* what was not moved */
        call_return(cpu, call_word(cpu, block + 16));
        break;
    case NPU_HOST_INPUT:
    case NPU_HOST_OUTPUT:
    case NPU_HOST_OUTPUT_END:
        call_return(cpu, -EIO);
        break;
    default:
        call_return(cpu, -1);
    }
}

static void do_interrupt(CPUState *cpu)
{
    uint64_t *gpr = npu_gpr(cpu);
    uint32_t op = gpr[A0];
    bool call = cpu->exception_index == NPU_EXCP_SEMIHOST;

    if (call && op == SYS_ERRNO && inject.failed) {
        call_return(cpu, EIO);
        return;
    }
    if (call && counts(op)) {
        inject.failed = false;
        if (inject.left && --inject.left == 0) {
            fail(cpu, op, gpr[A1]);
            return;
        }
    }
    inject.qemu->do_interrupt(cpu);
}

void npu_fail_call(uint64_t n)
{
    static struct TCGCPUOps ops;

    inject.n = inject.left = n;
    inject.qemu = call_hook(&ops, do_interrupt);
}
