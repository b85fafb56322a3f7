/* SPDX-License-Identifier: MIT
 *
 * The shadow: of every byte who wrote it last and who has read it since. A cell stands for
 * 32 bytes, the block in which the engines move data; where its bytes differ it is split
 * into one for each byte, and whole again when they are alike. The memories of the cores
 * are flat, GM has pages, and both are there once something is touched.
 */
#ifndef TOOLS_EMU_CHECK_RACE_SHADOW_H
#define TOOLS_EMU_CHECK_RACE_SHADOW_H

#include "tools/emu/check/race/record.h"

enum { CELL_BYTES = 32, SHADOW_PAGE = 1 << 16 };
/* Somebody has been there since the shadow was cleared; an engine has. */
enum { SHADOW_USED = 1, SHADOW_ENGINE = 2 };

struct cell {
    uint32_t writers; /* the last, or several atomic ones; or CELL_SPLIT */
    uint32_t readers; /* since; or which of the split cells */
};

/* One access on its way over the shadow. */
struct toucher {
    const struct clock *clock; /* what it knows of */
    /* Clocks of those who know of this access, but need not know what it does. */
    struct clock *const *heirs;
    unsigned n_heirs;
    uint32_t name; /* its record */
    uint32_t lane;
    uint8_t kind;
    /* Called where it and record `other` are not ordered, with the first such byte. */
    void (*met)(struct toucher *t, uint32_t other, uint64_t addr);
    struct cell was, is; /* the last cell that it met */
};

struct shadow {
    struct arena arena;
    struct records records;
    enum npu_profile profile;
    uint64_t gm_base, pages;
    struct cell **page; /* of GM */
    uint8_t *used;      /* of a page of GM: SHADOW_ bits */
    struct cell *local[NPU_MAX_CORES][NPU_MEM_COUNT];
    bool local_used[NPU_MAX_CORES][NPU_MEM_COUNT];
    struct cell **split; /* blocks of SPLITS split cells */
    uint32_t n_splits, split_room, free_split;
};

void shadow_open(struct shadow *s, const struct check_host *host,
                 enum npu_profile profile, uint64_t gm_base, uint64_t gm_bytes);
void shadow_close(struct shadow *s);
void toucher_begin(struct toucher *t);
/* Passes over [first, first + bytes) of a memory; what lies outside of it is left out. */
void shadow_touch(struct shadow *s, struct toucher *t, unsigned core, unsigned mem,
                  uint64_t first, uint64_t bytes);
/* Whether an engine has touched the page of GM that has this byte. */
bool shadow_engine(const struct shadow *s, uint64_t addr);
/* Bytes of the memories that it stands for: of GM the pages in which something was touched,
 * of the others those in which something was. */
uint64_t shadow_touched(const struct shadow *s);
/* Forgets records that nobody needs, if there are many. */
bool shadow_sweep(struct shadow *s);
/* Forgets all: whatever comes is ordered behind it. */
void shadow_clear(struct shadow *s);

#endif
