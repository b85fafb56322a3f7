/* SPDX-License-Identifier: MIT
 *
 * Queues of commands and what runs of them.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_PIPE_H
#define TOOLS_EMU_MODEL_MACHINE_PIPE_H

#include "tools/emu/model/machine/state/state.h"

/* Where the results of a pipe's running command are kept. */
enum npu_mem pipe_stage(unsigned pipe);
void pipe_reset(struct npu *n, unsigned core, unsigned pipe, uint64_t now);
/* value: address and number of further commands, see PIPE_PUSH. */
void pipe_push(struct npu *n, unsigned core, unsigned pipe, uint64_t value);
/* A command has left its queue. */
void pipe_refill(struct npu *n, unsigned core, unsigned pipe);
/* With an error, of the head or, NULL, of a push. */
void pipe_stop(struct npu *n, unsigned core, unsigned pipe, const struct npu_fault *fault,
               const struct cmd_head *head);
/* Makes the plan of a snapshot's head that has passed its checks; false if it does not. */
bool pipe_planned(struct npu *n, unsigned core, unsigned pipe);
/* The head as its operation sees it. */
struct op_ctx pipe_context(struct npu *n, unsigned core, unsigned pipe,
                           struct npu_fault *fault);
/* Begins the head if it may. */
void pipe_start(struct npu *n, unsigned core, unsigned pipe);
/* Ends the running command; true if it posted to a semaphore of the chip. */
bool pipe_finish(struct npu *n, unsigned core, unsigned pipe);
/* A counter (enum pmu_index) at cycle now. */
uint64_t pipe_counter(const struct npu_pipe *p, enum pmu_index counter, uint64_t now);

#endif
