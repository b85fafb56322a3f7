/* SPDX-License-Identifier: MIT
 *
 * What was to be done, on record: the commands with what they wait for and post, and the
 * hart's steps between them, without the bytes. After a run in which something was found,
 * cure.c goes through it again with a wait more.
 *
 * A segment begins with a push when nothing is queued and the hart knows of all that has
 * been, as the scalar unit of every core, so nothing before it can race with what comes. One
 * in which nothing is found is forgotten.
 */
#ifndef TOOLS_EMU_CHECK_RACE_TAPE_H
#define TOOLS_EMU_CHECK_RACE_TAPE_H

#include "tools/emu/check/race/race.h"
#include "tools/emu/model/npu.h"

struct tape_cmd {
    uint64_t pc, caller; /* where it comes from, as in struct race_site */
    uint32_t units; /* which of L0C it waits for: index in units[], plus 1; 0: none */
    uint16_t opcode;
    uint8_t unit; /* UNIT_* */
    uint8_t core, pipe;
    uint8_t wait_sem[2], wait_n[2], post_sem[2], post_n[2];
};

enum tape_what { TAPE_PUSH, TAPE_TAKE, TAPE_POST, TAPE_DRAIN, TAPE_TASK };
enum { TAPE_HART = 0xff }; /* else the number of a barrier unit */

struct tape_step {
    uint8_t what;
    uint8_t by;         /* TAPE_TAKE, TAPE_POST: TAPE_HART or a barrier unit */
    uint8_t core, pipe; /* by core NPU_CHIP: TAPE_DRAIN of all */
    uint8_t sem, count;
    uint32_t arg; /* TAPE_PUSH: index of the command; TAPE_TASK: 0: no run */
};

struct segment {
    struct tape_cmd *cmd;
    struct tape_step *step;
    uint64_t (*units)[ROW_UNIT_MARK];
    uint32_t n_cmds, cmd_room, n_steps, step_room, n_units, unit_room;
    uint8_t value[NPU_MAX_CORES + 1][SEM_CORE]; /* of semaphores when it begins */
    uint32_t base[NPU_MAX_CORES * NPU_PIPES];   /* serials of lanes, of the race check */
    bool task;                                  /* in a run */
    bool kept;                                  /* something was found in it */
    bool broken;                                /* not all of it is there */
};

struct tape {
    const struct check_host *host;
    struct segment *segment; /* the last one is being written */
    uint32_t n, room;
    uint8_t value[NPU_MAX_CORES + 1][SEM_CORE];
    bool task;
    struct {
        uint32_t cmd[PIPE_DEPTH];
        unsigned head, count;
    } queue[NPU_MAX_CORES][NPU_PIPES];
    size_t bytes;
};

void tape_open(struct tape *t, const struct check_host *host);
void tape_close(struct tape *t);
/* What happens, told before the race check hears of it. */
void tape_event(struct tape *t, const struct race *r, const struct npu_event *e);
/* Something is found now; the number of the segment. */
uint32_t tape_keep(struct tape *t);

static inline uint64_t tape_place(const struct tape_cmd *c)
{
    return race_place(c->pc, c->caller, c->opcode);
}

#endif
