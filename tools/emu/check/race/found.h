/* SPDX-License-Identifier: MIT
 *
 * What the race check has found, once for each pair of places in the program and memory.
 */
#ifndef TOOLS_EMU_CHECK_RACE_FOUND_H
#define TOOLS_EMU_CHECK_RACE_FOUND_H

#include "tools/emu/check/race/hints.h"
#include "tools/emu/check/race/race.h"
#include "tools/emu/check/race/tape.h"

struct finding {
    struct record a, b; /* of the first such pair */
    unsigned core, mem;
    uint64_t addr; /* its first byte */
    bool inexact;
    struct hint buffer_a, buffer_b; /* in which the operands begin; kind 0: unknown */
    uint64_t count;                 /* pairs of commands */
    uint32_t last_a, last_b;        /* serials of the last of them */
    uint32_t next;                  /* with the same hash, plus 1 */
};

/* Two commands of a finding that nothing orders. */
struct instance {
    uint32_t finding, segment; /* segment: of the tape */
    uint32_t serial_a, serial_b;
    uint16_t lane_a, lane_b;
};

enum {
    FINDINGS_MOST = 4096,
    MIXED_MOST = 64,
    FINDING_BUCKETS = 256,
    INSTANCES_MOST = 256, /* that are kept of a finding */
};

/* What a byte of GM is part of, as a hint of a block; false: not known. */
typedef bool findings_block(uint64_t addr, struct hint *hint);

struct findings {
    const struct check_host *host;
    findings_block *block; /* or NULL */
    struct finding *finding;
    uint32_t n, room;
    uint32_t bucket[FINDING_BUCKETS]; /* index plus 1 */
    uint64_t lost;                    /* pairs beyond FINDINGS_MOST places */
    struct race_mixed mixed[MIXED_MOST];
    unsigned n_mixed;
    struct instance *instance;
    uint32_t n_instances, instance_room;
    struct tape tape;
    struct hints hints;
};

void findings_open(struct findings *f, const struct check_host *host);
void findings_close(struct findings *f);
/* For struct race_report; ctx: the findings. */
void findings_add(void *ctx, const struct race_pair *pair);
void findings_mixed(void *ctx, const struct race_mixed *mixed);

#endif
