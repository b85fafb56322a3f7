/* SPDX-License-Identifier: MIT
 *
 * A segment on its way, and what the commands of it wait for and post with a change: for
 * sim.c.
 */
#ifndef TOOLS_EMU_CHECK_CURE_EDIT_H
#define TOOLS_EMU_CHECK_CURE_EDIT_H

#include "tools/emu/check/cure/sim.h"

enum { BARRIERS = ROW_CHIP_BARRIER, MOVES = 3, OWNERS = NPU_MAX_CORES + 1 };

struct sim {
    const struct segment *s;
    const struct sim_edit *edit;
    struct race *race;
    const struct instance *instance[INSTANCES_MOST];
    uint32_t n_instances;
    uint32_t step;              /* of the hart */
    uint32_t barrier[BARRIERS]; /* the step that each barrier unit looks at */
    unsigned value[OWNERS][SEM_CORE];
    uint64_t mark[NPU_MAX_CORES][ROW_UNIT_MARK];
    struct {
        uint32_t cmd[PIPE_DEPTH];
        unsigned head, count;
    } queue[NPU_MAX_CORES][NPU_PIPES];
    unsigned queued[NPU_MAX_CORES]; /* commands of a core */
    /* Of the edit's semaphore: units that are left out still, that the hart takes fewer. */
    unsigned fewer[OWNERS], less[OWNERS];
    unsigned taken[OWNERS], by_hart[OWNERS];
    unsigned arrive;        /* cores whose commands post to the edit's barrier */
    uint32_t go;            /* cores whose commands wait for it, a bit each */
    uint32_t left, ordered; /* commands; instances */
    bool overflow;
};

/* Whose semaphore that is which a core has by a number. */
static inline unsigned owner_of(unsigned core, unsigned sem)
{
    return sem < SEM_CORE ? core : NPU_CHIP;
}

static inline unsigned *value_of(struct sim *m, unsigned core, unsigned sem)
{
    return &m->value[owner_of(core, sem)][sem % SEM_CORE];
}

struct moves {
    uint8_t sem[MOVES];
    unsigned n[MOVES];
};

/* Of command `number` of its pipe, from 1 on in the segment. */
struct moves edit_posts(const struct sim *m, const struct tape_cmd *c, uint32_t number);
struct moves edit_takes(const struct sim *m, const struct tape_cmd *c, uint32_t number);
/* Whether an instance's side, `serial` in lane `of`, is command `number` of a pipe. */
bool edit_is_side(const struct sim *m, unsigned lane, uint32_t number, unsigned of,
                  uint32_t serial);
/* The serial of a lane's last command before the segment. */
uint32_t edit_base(const struct segment *s, unsigned lane);

#endif
