/* SPDX-License-Identifier: MIT
 *
 * What the firmware tells whoever watches it about memory: the record whose address it
 * stores to CHIP_HINT. The machine itself does nothing with it. The record is read at the
 * store, so it may lie on the stack, and its name with it.
 */
#ifndef HAL_CONTRACT_HINT_H
#define HAL_CONTRACT_HINT_H

#include <stdint.h>

enum hint_kind {
    /* All of [addr, addr + bytes) is for blocks of the heap, and nothing else lies there. */
    HINT_HEAP = 1,
    /* The allocator is at work: until HINT_BLOCK or HINT_REST the hart's loads and stores
     * in the heap are its own. */
    HINT_WORK,
    /* It has handed out a block, addr 0: it could not; the end of its work. count: bits
     * HINT_COUNT_. What the bytes of a block are is undefined, unless they are zeros or
     * those of a block that is given back just before (realloc). */
    HINT_BLOCK,
    /* A block is given back, at addr; the allocator's work begins. */
    HINT_FREE,
    HINT_REST,
    /* Of a block, at addr, so many bytes are used: the rest is there for its alignment. With
     * a name, what it is. count: HINT_COUNT_KEPT, or 0. */
    HINT_USED,
    /* Those bytes have come from a file. */
    HINT_INPUT,
    /* From here on nobody holds any of the core's memories. */
    HINT_OPEN,
    /* `count` buffers of `bytes` bytes each, from addr in memory `mem` of the core, side by
     * side: of a queue, one for a pipe alone. What they hold is undefined. */
    HINT_QUEUE,
    HINT_BUFFER,
    /* A launch or an operator, called `name`, begins or ends: what it has allocated and not
     * given back when it ends is lost. They may be nested. */
    HINT_BEGIN,
    HINT_END,
    HINT_KINDS,
};

enum hint_count {
    HINT_COUNT_KEPT = 1,  /* who has it may keep it, as the C library its own */
    HINT_COUNT_ZEROS = 2, /* all bytes are 0 */
};

struct hint {
    uint8_t kind, mem, core, count;
    uint8_t producer, consumer; /* HINT_QUEUE: pipes, 0: the hart, which take these: */
    uint8_t free_sem, full_sem; /* the producer the first, the consumer the second */
    uint64_t addr, bytes;
    uint64_t name; /* address of a string, or 0 */
    uint64_t site; /* address of code: who wanted it, as a return address; or 0 */
};

#endif
