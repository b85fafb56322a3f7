/* SPDX-License-Identifier: MIT
 *
 * The critical path of a launch: from its return back to its call, at each point to what the
 * one behind it has waited for. One step follows the other without a gap, so their cycles are
 * those from call to return, exactly.
 *
 * The hart is one: a command that it has pushed goes back to all that the hart has done
 * since it last slept, and a sleep to the command whose end has woken it.
 */
#ifndef TOOLS_EMU_TRACE_PATH_H
#define TOOLS_EMU_TRACE_PATH_H

#include "tools/emu/trace/follow.h"

enum step_kind {
    STEP_PRICE,   /* of the launch */
    STEP_HART,    /* it works; `name` is what it does */
    STEP_WAKE,    /* it comes back from a sleep */
    STEP_SCALAR,  /* the scalar unit of a core is not yet at a push of the hart's */
    STEP_COMMAND, /* runs */
    STEP_DELAY,   /* of a command, by a seed or a defect */
};

/* What has led to the step that follows. */
enum step_via {
    VIA_RETURN, /* it is the last one */
    VIA_PUSH,
    VIA_ORDER, /* the queue's */
    VIA_SEM,   /* `sem` */
    VIA_UNITS,
    VIA_LINE, /* an interrupt line */
    VIA_HART, /* the hart goes on */
};

struct step {
    uint64_t from, to;
    enum step_kind kind;
    enum step_via via;
    unsigned sem, barrier; /* VIA_SEM; through a barrier unit, plus 1 */
    unsigned core, pipe, opcode;
    uint64_t number;  /* of the command */
    unsigned name;    /* of what the hart does: see follow_name() */
    const void *line; /* of the command, as path_ended() has had it */
};

struct path;
typedef void path_told(void *ctx, const struct step *step);

struct path *path_new(void);
void path_free(struct path *p);
/* A command has ended; `line` is the caller's, and comes back in steps. */
void path_ended(struct path *p, const struct npu_event *e, const struct followed *c,
                const void *line);
/* The hart has done something until now; *does says what and since when; sleeps: nothing. */
void path_hart(struct path *p, const struct hart_does *does, uint64_t now, bool sleeps);
/* Tells the steps of a launch that has ended, from its call on; then all is forgotten. */
void path_tell(struct path *p, const struct launched *l, path_told *told, void *ctx);

#endif
