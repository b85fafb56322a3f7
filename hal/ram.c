/* SPDX-License-Identifier: MIT
 *
 * The heap's two ends. The C library's malloc sits on top of it (boot/libc.c).
 */
#include "hal/ram.h"

#include "hal/hint.h"

extern char __text_start[], __heap_start[]; /* linker/npu.ld */

#define RAM_DEFAULT_BYTES (128u << 20) /* the default size of QEMU's virt machine */

uintptr_t ram_end = (uintptr_t)__text_start + RAM_DEFAULT_BYTES;
static uintptr_t heap_end = (uintptr_t)__heap_start;

void *ram_grow(ptrdiff_t n)
{
    uintptr_t old = heap_end;

    if (n >= 0 ? (size_t)n > ram_left() : (size_t)-n > old - (uintptr_t)__heap_start) {
        return NULL;
    }
    heap_end = old + (uintptr_t)n;
    hint_range(HINT_HEAP, __heap_start, ram_end - (uintptr_t)__heap_start);
    return (void *)old;
}

size_t ram_left(void)
{
    return ram_end > heap_end ? ram_end - heap_end : 0;
}
