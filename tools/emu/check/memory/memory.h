/* SPDX-License-Identifier: MIT
 *
 * The memory check: accesses of engines and hart that no allocation holds.
 *
 * It is told by the firmware's hints (hal/contract/hint.h) what is allocated: blocks of the
 * heap, buffers of a core's memories. An access has to stay inside of the allocation that
 * holds its base, the operand of its command; what lies outside of the heap, or in a core's
 * memory well behind all buffers, may be laid out by hand and is not looked at. A block that
 * was given back is remembered until another takes its place, so an access to it is known
 * as that. Nothing moves: there are no red zones but what the allocator keeps for itself.
 */
#ifndef TOOLS_EMU_CHECK_MEMORY_MEMORY_H
#define TOOLS_EMU_CHECK_MEMORY_MEMORY_H

#include "hal/contract/hint.h"
#include "tools/emu/check/race/race.h"
#include "tools/emu/model/npu.h"

enum memory_class {
    MEMORY_BEYOND,  /* begins in an allocation and leaves it */
    MEMORY_FREED,   /* begins in what was given back */
    MEMORY_NOWHERE, /* begins in what was never handed out */
    MEMORY_TWICE,   /* free() of what was given back already */
    MEMORY_NOT_ONE, /* free() of what is no block */
    MEMORY_LEAK,    /* not given back when its launch or operator ended */
    MEMORY_SKEWED,  /* an access of the hart's that is not aligned */
    MEMORY_CLASSES,
};

enum { CALL_BYTES = 2 /* of the shortest call */ };

struct allocation {
    uint64_t addr, bytes;
    uint64_t name;        /* address of a string in GM, or 0 */
    uint64_t site, freed; /* in the calls that wanted it, gave it back; or 0 */
    uint32_t serial;      /* in which order they came */
    uint8_t kind;         /* enum hint_kind; 0: none */
    bool gone;
};

/* Once for each class, place in the program, place of the allocation and memory. */
struct memory_finding {
    enum memory_class what;
    /* Who did it; of leaks, who allocated. */
    struct record access;
    unsigned core, mem;
    uint64_t addr; /* the first byte that is wrong */
    /* What it left, or what lies before it; of kind 0 if there is none. */
    struct allocation of;
    uint64_t scope; /* MEMORY_LEAK: name of what has ended */
    uint64_t count;
};

struct memory;

struct memory *memory_new(const struct check_host *host,
                          const struct race_config *config);
void memory_free(struct memory *m);
size_t memory_bytes(const struct memory *m);
/* What was found, and how much there was no room for. */
const struct memory_finding *memory_findings(const struct memory *m, uint32_t *n,
                                             uint64_t *lost);

void memory_hint(struct memory *m, uint64_t cycle, const struct hint *h);
/* The allocation that has a byte, also one that was given back; false: none has. */
bool memory_holds(struct memory *m, unsigned core, unsigned mem, uint64_t addr,
                  struct allocation *held);
/* Bytes [first, first + bytes) of an access whose operand has its base at who->base. */
void memory_touch(struct memory *m, const struct record *who, unsigned core, unsigned mem,
                  uint64_t first, uint64_t bytes);
void memory_hart(struct memory *m, const struct race_hart_access *a);
/* Whether nothing can be wrong with such an access to GM, as is nearly always so. */
bool memory_passes(struct memory *m, uint64_t first, uint64_t bytes);
/* What commands do. Hints are left out. */
void memory_event(struct memory *m, const struct npu_event *e);

#endif
