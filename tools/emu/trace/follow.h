/* SPDX-License-Identifier: MIT
 *
 * The stream of events (npu.h), followed: for every command since when it was there, what it
 * waited for and who let it begin; what the hart did meanwhile; where launches begin and
 * end. Whoever writes a trace, sums a run up or looks for its critical path asks here.
 *
 * Invariant: units leave a semaphore in the order in which they came to it, so each unit
 * has one who posted it. What was there before the first event is known of nobody.
 */
#ifndef TOOLS_EMU_TRACE_FOLLOW_H
#define TOOLS_EMU_TRACE_FOLLOW_H

#include "tools/emu/model/npu.h"

/* Who did something: command `number` of a pipe; the hart (NPU_BY_HART); nobody that is
 * known, number 0 of a pipe. barrier: through that barrier unit, plus 1. */
struct by {
    uint8_t core, who, barrier;
    uint64_t number;
    uint64_t at; /* cycle */
};

/* What let a command begin. */
enum cause {
    CAUSE_PUSH,   /* the hart has pushed it */
    CAUSE_SCALAR, /* its core's scalar unit has come to the push */
    CAUSE_ORDER,  /* the command before it in its queue has ended */
    CAUSE_SEM,
    CAUSE_UNITS, /* of L0C: another engine has marked them, or taken the marks */
};

struct waited {
    unsigned sem;
    uint64_t cycles; /* behind the time when it was the head and known */
    struct by by;    /* who posted the last unit that it took, and when */
};

/* A command, from its push to its end. */
struct followed {
    uint64_t number, issued;
    unsigned task; /* who has pushed it: number of a name, see follow_name() */
    unsigned n_waited;
    struct waited waited[2];
    /* Of what other engines have done to units of L0C, when it begins. */
    struct by units;
    /* Known when it ends: cycles that the pipe stood still before it, by what for. */
    uint64_t empty, sem, marks, delay;
    enum cause cause;
    struct by
        by; /* whom it goes back to and when, which is before the begin if a seed or a
                   * defect has held it up besides */
};

/* The hart, from one name to the next. */
struct hart_does {
    unsigned name;
    uint64_t since;
    struct by woken; /* by: if it slept, by the end of which command; number 0: none */
};

/* A launch; cycles. */
struct launched {
    unsigned number, name; /* number: from 1 on */
    uint64_t call, price, back;
};

struct follow;
/* All of it is the caller's to give back. Ends the program if there is no memory. */
struct follow *follow_new(unsigned cores);
void follow_free(struct follow *f);
/* Something happens; of NPU_NAMES, NPU_HINTS those with names are told below instead. */
void follow_event(struct follow *f, const struct npu_event *e);
/* The number of a name: 0 is "". The same text has the same number. */
unsigned follow_name(struct follow *f, const char *text);
const char *follow_text(const struct follow *f, unsigned name);
/* The hart does something else from now on. */
void follow_hart(struct follow *f, uint64_t now, unsigned name);
const struct hart_does *follow_does(const struct follow *f);
/* A launch or an operator begins. It ends: true, if it was a launch, of which *l tells. */
void follow_begins(struct follow *f, unsigned name);
bool follow_ends(struct follow *f, struct launched *l);
/* The command that ends, while its NPU_ENDS is heard. */
const struct followed *follow_ended(const struct follow *f);
/* Commands that a queue holds; the cycle from which the running one does something, or
 * NPU_NEVER; units that a semaphore holds. */
unsigned follow_depth(const struct follow *f, unsigned core, unsigned pipe);
uint64_t follow_running(const struct follow *f, unsigned core, unsigned pipe);
unsigned follow_units(const struct follow *f, unsigned core, unsigned sem);

#endif
