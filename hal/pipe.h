/* SPDX-License-Identifier: MIT
 *
 * The six pipes of a core: their queues, states and errors. Commands are built with the
 * functions of hal/mte.h, cube.h, vector.h and fixpipe.h, given their semaphores with
 * cmd_wait and cmd_post, and appended with pipe_push. Nothing here blocks.
 */
#ifndef HAL_PIPE_H
#define HAL_PIPE_H

#include <assert.h>
#include <stdbool.h>
#include "hal/err.h"
#include "hal/mmio.h"

/* The hart's end of a queue: its register; how many slots are free at the least, so that
 * PIPE_FREE is read only when that runs out; and, for sched/, what the next command that is
 * issued there has to wait for: sem[0], sem[1], n[0], n[1], a byte each as in CMD_SYNC. */
struct pipe_port {
    volatile uint64_t *push;
    uint32_t room, owed;
};
extern struct pipe_port pipe_ports[NPU_MAX_CORES][NPU_PIPES];
/* Reads how many slots are free. */
static inline uint32_t pipe_refresh(struct pipe_port *port)
{
    port->room = (uint32_t)port->push[PIPE_FREE / 8];
    return port->room;
}

/* Nothing is known of a core's room, which depends on what was pushed, and nothing is owed. */
void pipe_forget(unsigned core);

/* Appends a command where there is room. */
static inline void pipe_store(struct pipe_port *port, const union cmd *cmd)
{
    port->room--;
    fence_push();
    *port->push = (uintptr_t)cmd;
}

/* The same for `count` commands that follow each other, 1 to PIPE_DEPTH. */
static inline void pipe_store_many(struct pipe_port *port, const union cmd *cmds,
                                   uint32_t count)
{
    port->room -= count;
    fence_push();
    *port->push = (uintptr_t)cmds | field_put(PIPE_PUSH_MORE, count - 1);
}

/* An empty command of an opcode; the rest is filled in by the caller. */
static inline void cmd_init(union cmd *cmd, enum op op, enum type type)
{
    *cmd = (union cmd){.head = {.opcode = (uint16_t)op, .type = (uint8_t)type}};
}

/* For builders: field = value, both unsigned. What the field cannot hold is a mistake of
 * ours: or else 256 repeats would become none. */
#define CMD_FITS(value, field) (((value) & ~(uint64_t)(__typeof__(field))-1) == 0)
#define CMD_SET(field, value)                                                            \
    do {                                                                                 \
        assert(CMD_FITS(value, field));                                                  \
        (field) = (__typeof__(field))(value);                                            \
    } while (0)

/* The command begins when `sem` holds `count` and takes them; at most two such. */
static inline void cmd_wait(union cmd *cmd, unsigned sem, unsigned count)
{
    unsigned slot = cmd->head.wait_n[0] != 0;

    assert(count <= SEM_MAX && cmd->head.wait_n[1] == 0);
    cmd->head.wait_sem[slot] = (uint8_t)sem;
    cmd->head.wait_n[slot] = (uint8_t)count;
}

/* `sem` gets `count` more when the command's last byte is written; at most two such. */
static inline void cmd_post(union cmd *cmd, unsigned sem, unsigned count)
{
    unsigned slot = cmd->head.post_n[0] != 0;

    assert(count <= SEM_MAX && cmd->head.post_n[1] == 0);
    cmd->head.post_sem[slot] = (uint8_t)sem;
    cmd->head.post_n[slot] = (uint8_t)count;
}

/* The word of a command that holds what it waits for and posts. */
#define CMD_SYNC (offsetof(struct cmd_head, wait_sem) / 8)

/* Takes all of that back: for a command that is built once and pushed many times. */
static inline void cmd_no_sync(union cmd *cmd)
{
    cmd->words[CMD_SYNC] = 0;
}

/* Waits, takes a cycle, posts. */
static inline void cmd_nop(union cmd *cmd)
{
    cmd_init(cmd, OP_NOP, TYPE_NONE);
}

/* Results of the floating types of the pipe's commands from here on (M, V, FIX):
 * saturated, or as IEEE 754 has them, which is so after a reset. */
static inline void cmd_saturate(union cmd *cmd, bool saturate)
{
    cmd_init(cmd, OP_SET_CTRL, TYPE_NONE);
    cmd->head.flags = saturate ? SET_CTRL_SATURATE : 0;
}

/* Appends a copy of *cmd; the buffer may be used again at once. ERR_BUSY, and nothing has
 * happened, if the queue is full. Any task. */
MUST_CHECK static inline int pipe_push(unsigned core, enum pipe pipe,
                                       const union cmd *cmd)
{
    struct pipe_port *port = &pipe_ports[core][pipe];

    if (port->room == 0 && pipe_refresh(port) == 0) {
        return ERR_BUSY;
    }
    pipe_store(port, cmd);
    return 0;
}
/* The same for `count` commands that follow each other, all or none; 1 .. PIPE_DEPTH. */
MUST_CHECK int pipe_push_many(unsigned core, enum pipe pipe, const union cmd *cmds,
                              unsigned count);
/* Slots that are free now. */
unsigned pipe_free(unsigned core, enum pipe pipe);
/* Raises the core's interrupt while at least `slots` slots are free; 0: never. */
void pipe_arm(unsigned core, enum pipe pipe, unsigned slots);
/* Nothing is queued and nothing runs. */
bool pipe_idle(unsigned core, enum pipe pipe);
/* The same of every pipe of the core. */
static inline bool core_idle(unsigned core)
{
    uint64_t left = 0;

#define PIPE(NAME, name, number, stage, text)                                            \
    left |= read64(pipe_base(core, PIPE_##NAME) + PIPE_LEFT);
#include "hal/contract/all.h"
    return left == 0;
}
/* Its head waits: for a semaphore or for units of L0C. */
bool pipe_waits(unsigned core, enum pipe pipe);
/* Head of command i of the queue: 0 is the head of the queue, PIPE_DEPTH - 1 the command
 * that ended last, PIPE_DEPTH - 2 the one before it; opcode 0 where there was none. */
struct cmd_head pipe_queued(unsigned core, enum pipe pipe, unsigned i);
/* All of it. */
union cmd pipe_command(unsigned core, enum pipe pipe, unsigned i);
/* Where in GM a command writes, gaps between its rows included; false: nowhere. */
bool cmd_writes_gm(const union cmd *cmd, uint64_t *begin, uint64_t *end);
/* Cycle since which the head runs or waits; 0: nothing is queued. */
uint64_t pipe_since(unsigned core, enum pipe pipe);
/* Its head waits for marks in L0C (UNIT_KEEP, UNIT_PASS), not for a semaphore. */
bool pipe_waits_for_units(unsigned core, enum pipe pipe);
/* Some pipe of the core has commands; some command runs, so something will still end. */
bool core_busy(unsigned core);
bool core_in_flight(unsigned core);
/* Drops queue, running command and error. Memories and semaphores stay. */
void pipe_reset(unsigned core, enum pipe pipe);
/* Prepares the driver for the first n cores; before anything else here. */
void pipe_init(unsigned n);
/* Resets every pipe, semaphore and error of the core, and the counters. */
void core_reset(unsigned core);

/* Why a pipe, or the register interface of its core, has stopped. */
struct fault {
    unsigned core;
    unsigned pipe;   /* NPU_PIPES: an access of the hart to a register */
    unsigned code;   /* enum npu_error */
    unsigned opcode; /* of the command; 0 if there was none */
    unsigned field;  /* its offset in the command, or in the register page */
    uint64_t addr;   /* of the bad operand, in its memory */
    uint64_t value;  /* of the field, or the end of the access */
    uint32_t tag;
    uint64_t pc; /* who issued it */
};
/* True if anything on the core has stopped; *fault then tells the first found. */
bool core_fault(unsigned core, struct fault *fault);
/* The fault in words, two lines; returns what snprintf does. */
int fault_text(const struct fault *fault, char *text, size_t size);

#endif
