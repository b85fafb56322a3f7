/* SPDX-License-Identifier: MIT
 *
 * The init check: what is used and was never written.
 *
 * Undefined are a block of the heap and a buffer of a core's memory when they are handed
 * out (hal/contract/hint.h), and a core's memory until something is written there. Bytes
 * that a command computes from undefined ones are undefined as well, which npu_flow() works
 * out exactly; the hart's are not followed. To compute is no mistake: whole fractals and
 * whole repeats have lanes that nobody looks at. A mistake is where such bytes leave the
 * chip or decide something: a command writes them to GM, the hart loads them, or writes
 * them to a file, or they say which others are meant (npu_guides()). What was told once
 * counts as defined from there on, so that one mistake is one finding.
 *
 * A load of the hart's of which a byte is defined is not told: string functions load whole
 * words. Nor is what the C library has of the heap for itself.
 */
#ifndef TOOLS_EMU_CHECK_MEMORY_INIT_H
#define TOOLS_EMU_CHECK_MEMORY_INIT_H

#include "tools/emu/check/memory/memory.h"

enum init_use {
    INIT_STORED, /* by a command, to GM */
    INIT_LOADED, /* by the hart */
    INIT_GUIDES, /* as an offset, an index or a mask */
    INIT_OUTPUT, /* by the host, to a file or the console */
    INIT_USES,
};

/* Where undefined bytes were: in what was handed out, which nobody has written. */
struct init_source {
    struct record access; /* the first command that read them there; else the use */
    unsigned core, mem;
    uint64_t addr;
    struct allocation of; /* that has the byte; kind 0: none */
};

/* Once for each use, its place in the program and memory, and where the bytes were. */
struct init_finding {
    enum init_use use;
    struct record access;
    unsigned core, mem;
    uint64_t addr;  /* the first byte that is undefined; */
    uint64_t bytes; /* so many of the access are */
    struct init_source from;
    uint64_t count;
};

struct init;

/* memory: knows what is allocated; it hears of a hint after this check does. */
struct init *init_new(const struct check_host *host, const struct race_config *config,
                      struct memory *memory);
void init_free(struct init *i);
size_t init_bytes(const struct init *i);
const struct init_finding *init_findings(const struct init *i, uint32_t *n,
                                         uint64_t *lost);

void init_hint(struct init *i, const struct hint *h);
void init_event(struct init *i, const struct npu_event *e);
/* Whether an access of the hart's changes or finds anything: the rest need not come. */
bool init_hart_matters(const struct init *i, unsigned mem, uint64_t first,
                       uint64_t bytes);
/* loads: those are looked at as well. */
void init_hart(struct init *i, const struct race_hart_access *a, bool loads);
/* The host reads a range of GM; a: who has asked for it. */
void init_output(struct init *i, const struct race_hart_access *a);

/* For tests: whether a byte is undefined. */
bool init_undefined(struct init *i, unsigned core, unsigned mem, uint64_t addr);

#endif
