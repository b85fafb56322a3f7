/* SPDX-License-Identifier: MIT
 *
 * Who has touched something: records of accesses, shared by all cells of the shadow that
 * an access has touched, and sets of them where several have. A cell names either by a
 * word. Records that no cell names any more are found from time to time and used again.
 */
#ifndef TOOLS_EMU_CHECK_RACE_RECORD_H
#define TOOLS_EMU_CHECK_RACE_RECORD_H

#include <stdbool.h>
#include "tools/emu/check/race/clock.h"

/* How something was touched. From ACCESS_ATOMIC on: an atomic update, of a kind that
 * commutes with itself alone; with ACCESS_INEXACT, sums of floats, the bytes tell in which
 * order they came. */
enum { ACCESS_READ, ACCESS_WRITE, ACCESS_ATOMIC, ACCESS_INEXACT = 0x80 };

/* Who did it, for a report; opcode 0: the hart. */
struct race_site {
    uint64_t pc, caller; /* caller: of a function of the scheduler that pushed; or 0 */
    uint64_t task;       /* what the hart said it did: address of a string, or 0 */
    uint32_t tag;
    uint32_t pushed; /* number of the push, of all cores */
    uint16_t opcode;
};

struct record {
    struct race_site site;
    uint32_t lane, serial;
    uint64_t cycle;       /* in which the command ended */
    uint64_t base, bytes; /* of the operand, from its first to its last byte */
    uint8_t kind;
    uint8_t field; /* offset of the operand in the command */
    bool marked;   /* some cell names it */
};

/* 0: nobody; a record; with NAME_SET a set. The bit above is the shadow's. */
#define NAME_SET  (1u << 30)
#define NAME_BITS 30

struct set {
    uint32_t hash, n, first; /* first: in pool[] */
    uint32_t next;           /* of the same hash, or of those not used */
    bool marked;
};

struct records {
    const struct check_host *host;
    struct record *record; /* [0] is nobody */
    uint32_t n, room, free, live, limit;
    struct set *set;
    uint32_t n_sets, set_room, free_set;
    uint32_t *pool, pool_used, pool_room;
    uint32_t *bucket;
};

void records_open(struct records *r, const struct check_host *host);
void records_close(struct records *r);
/* A copy of *record; its name. */
uint32_t record_add(struct records *r, const struct record *record);

static inline const struct record *record_at(const struct records *r, uint32_t name)
{
    return &r->record[name];
}

/* The records of a name, 0 to RACE_LANES of them. */
static inline uint32_t records_of(const struct records *r, const uint32_t *name,
                                  const uint32_t **all)
{
    if (*name & NAME_SET) {
        const struct set *set = &r->set[*name & ~NAME_SET];
        *all = r->pool + set->first;
        return set->n;
    }
    *all = name;
    return *name != 0;
}

/* The name of n different records; the same for the same ones in the same order. */
uint32_t records_name(struct records *r, const uint32_t *all, uint32_t n);

/* Whether it is time to look for what nobody names: then records_unmark(), mark each
 * name, records_sweep(). */
bool records_full(const struct records *r);
void records_unmark(struct records *r);
void records_mark(struct records *r, uint32_t name);
void records_sweep(struct records *r);
/* No cell names any. */
void records_clear(struct records *r);

#endif
