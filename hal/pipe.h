/* SPDX-License-Identifier: MIT
 *
 * The six pipes of a core: their queues, states and errors. Commands are built with the
 * functions of hal/mte.h, cube.h, vector.h and fixpipe.h, given their semaphores with
 * cmd_wait and cmd_post, and appended with pipe_push. Nothing here blocks.
 */
#ifndef HAL_PIPE_H
#define HAL_PIPE_H

#include <stdbool.h>
#include "hal/contract/contract.h"
#include "hal/err.h"

/* An empty command of an opcode; the rest is filled in by the caller. */
static inline void cmd_init(union cmd *cmd, enum op op, enum type type)
{
    *cmd = (union cmd){.head = {.opcode = (uint16_t)op, .type = (uint8_t)type}};
}

/* The command begins when `sem` holds `count` and takes them; at most two such. */
static inline void cmd_wait(union cmd *cmd, unsigned sem, unsigned count)
{
    unsigned slot = cmd->head.wait_n[0] != 0;

    cmd->head.wait_sem[slot] = (uint8_t)sem;
    cmd->head.wait_n[slot] = (uint8_t)count;
}

/* `sem` gets `count` more when the command's last byte is written; at most two such. */
static inline void cmd_post(union cmd *cmd, unsigned sem, unsigned count)
{
    unsigned slot = cmd->head.post_n[0] != 0;

    cmd->head.post_sem[slot] = (uint8_t)sem;
    cmd->head.post_n[slot] = (uint8_t)count;
}

/* Waits, takes a cycle, posts. */
static inline void cmd_nop(union cmd *cmd)
{
    cmd_init(cmd, OP_NOP, TYPE_NONE);
}

/* Appends a copy of *cmd; the buffer may be used again at once. ERR_BUSY, and nothing has
 * happened, if the queue is full. Any task. */
MUST_CHECK int pipe_push(unsigned core, enum pipe pipe, const union cmd *cmd);
/* The same for `count` commands that follow each other, all or none; 1 .. PIPE_DEPTH. */
MUST_CHECK int pipe_push_many(unsigned core, enum pipe pipe, const union cmd *cmds,
                              unsigned count);
/* Slots that are free now. */
unsigned pipe_free(unsigned core, enum pipe pipe);
/* Raises the core's interrupt while at least `slots` slots are free; 0: never. */
void pipe_arm(unsigned core, enum pipe pipe, unsigned slots);
/* Nothing is queued and nothing runs. */
bool pipe_idle(unsigned core, enum pipe pipe);
/* Drops queue, running command and error. Memories and semaphores stay. */
void pipe_reset(unsigned core, enum pipe pipe);
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
