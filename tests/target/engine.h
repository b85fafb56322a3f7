/* SPDX-License-Identifier: MIT
 *
 * Tests of single engines run them on the chip's last core, one command after another.
 */
#ifndef TESTS_TARGET_ENGINE_H
#define TESTS_TARGET_ENGINE_H

#include "hal/chip.h"
#include "hal/pipe.h"
#include "tests/target/test.h"

static inline unsigned core(void)
{
    return chip_cores() - 1;
}

/* Pushes a command and waits until the pipe is empty. */
static inline void run_on(enum pipe pipe, const union cmd *cmd)
{
    CHECK_OK(pipe_push(core(), pipe, cmd));
    for (unsigned i = 0; !pipe_idle(core(), pipe); i++) {
        CHECK(i < 10000);
    }
}

#endif
