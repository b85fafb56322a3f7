/* SPDX-License-Identifier: MIT
 *
 * Calls of the firmware to the host beyond those of QEMU's semihosting, which can neither
 * ask what a file is nor create one that was not there. Their numbers are of the range
 * that semihosting leaves to applications; npu.so answers them. Each returns a negative
 * number of Linux's errno on failure.
 */
#ifndef HAL_CONTRACT_HOST_H
#define HAL_CONTRACT_HOST_H

enum npu_host_call {
    /* {path, -, length}, as SYS_OPEN: opens a regular file for reading; whatever could
     * block or has no size is refused with ENXIO. Returns a handle. */
    NPU_HOST_INPUT = 0x100,
    /* {path, -, length}: creates a file that will take the place of `path`, in the same
     * folder and with the mode of the file there. What is there is left as it is, and is
     * refused if it is no regular file (ENXIO) or may not be written (EACCES). A symbolic
     * link stays and what it points to is replaced. Two at a time to one place: EBUSY.
     * Returns a handle. */
    NPU_HOST_OUTPUT = 0x101,
    /* {handle, keep}: closes such a file. keep 1: it takes its place; 0: it goes away, as
     * it does when QEMU ends. */
    NPU_HOST_OUTPUT_END = 0x102,
};

#endif
