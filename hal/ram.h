/* SPDX-License-Identifier: MIT
 *
 * Where the heap may grow: from the end of the image to ram_end.
 */
#ifndef HAL_RAM_H
#define HAL_RAM_H

#include <stddef.h>
#include <stdint.h>

/* First byte behind usable DRAM. 128 MiB until the driver of the capability block sets
 * it, which it must do before memory above that is wanted; it may only grow. */
extern uintptr_t ram_end;

/* Moves the end of the heap by n bytes (sbrk). Returns the old end, or NULL and no
 * change when that would pass ram_end or the start of the heap. Any task; not traps. */
void *ram_grow(ptrdiff_t n);

/* Bytes between the end of the heap and ram_end. */
size_t ram_left(void);

#endif
