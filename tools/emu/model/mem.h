/* SPDX-License-Identifier: MIT
 *
 * The three functions of the C library that the model may use.
 *
 * Declared here when freestanding: the bare RISC-V toolchain comes without
 * <string.h>, and -ffreestanding would make a call of every copy of four bytes.
 */
#ifndef TOOLS_EMU_MODEL_MEM_H
#define TOOLS_EMU_MODEL_MEM_H

#if __STDC_HOSTED__
#include <string.h>
#else
#include <stddef.h>

void *memcpy(void *restrict dst, const void *restrict src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int c, size_t n);

#define memcpy(dst, src, n)  __builtin_memcpy(dst, src, n)
#define memmove(dst, src, n) __builtin_memmove(dst, src, n)
#define memset(dst, c, n)    __builtin_memset(dst, c, n)
#endif

#endif
