/* SPDX-License-Identifier: MIT
 *
 * The sync check: what is left over of semaphores and of what SET_ commands have set.
 *
 * It is told what happens and when a launch or an operator begins and ends (HINT_BEGIN,
 * HINT_END). A unit that stays in a semaphore and a wait that nobody has served are two
 * ends of one mistake: a post and a wait that are no pair. The program is wrong at one of
 * the two places that used the semaphore last, so both are told.
 */
#ifndef TOOLS_EMU_CHECK_RACE_SYNC_H
#define TOOLS_EMU_CHECK_RACE_SYNC_H

#include "hal/contract/hint.h"
#include "tools/emu/check/race/race.h"
#include "tools/emu/model/npu.h"

enum sync_class {
    SYNC_LEFT,    /* a semaphore holds more at the end than at the beginning */
    SYNC_STUCK,   /* a command waits and nothing runs that could post */
    SYNC_SETTING, /* mask, atomic mode or saturation of a launch show in a later one */
    SYNC_CLASSES,
};

enum sync_setting { SETTING_MASK, SETTING_ATOMIC, SETTING_SATURATE, SETTINGS };

/* Once for each class, semaphore or setting, core and place. */
struct sync_finding {
    enum sync_class what;
    /* SYNC_LEFT, SYNC_STUCK: who posted last, who took last or waits; SYNC_SETTING: the
     * command that set it, and the one that works with it. */
    struct record post, take;
    /* SYNC_LEFT, if the hart took: where a task began to wait for that; pc 0: nowhere. */
    struct record wanted;
    struct hint queue; /* that has the semaphore, or kind 0 */
    bool posted, taken;
    unsigned core, sem; /* core NPU_CHIP: a semaphore of the chip; sem: or setting */
    unsigned value, want;
    uint64_t scope; /* name of what has ended, or 0 */
    uint64_t count;
};

struct sync;

struct sync *sync_new(const struct check_host *host, unsigned cores);
void sync_free(struct sync *s);
size_t sync_bytes(const struct sync *s);
const struct sync_finding *sync_findings(const struct sync *s, uint32_t *n,
                                         uint64_t *lost);
void sync_event(struct sync *s, const struct npu_event *e);
void sync_hint(struct sync *s, const struct hint *h);

#endif
