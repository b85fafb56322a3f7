/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of a command as a job that may be done later, by another thread of the
 * host; see npu_host.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_LATER_H
#define TOOLS_EMU_MODEL_MACHINE_LATER_H

#include "tools/emu/model/machine/pipe.h"

/* Begin: op->run(), now or later. What it decides has been decided when this returns. */
void later_run(struct npu *n, unsigned core, unsigned pipe, struct op_ctx *c);
/* End: the results go to c->to, of local memory, and the second ones to `also`. */
void later_store(struct npu *n, unsigned core, unsigned pipe, const struct op_ctx *c,
                 uint8_t *also);
/* Until the results of the pipe's command are there. */
void later_wait(const struct npu *n, unsigned core, unsigned pipe);
/* Stores at once. */
void later_store_now(const struct op_ctx *c, uint8_t *also);

#endif
