/* SPDX-License-Identifier: MIT
 *
 * What local memory is for, as far as the hart has told (CHIP_HINT).
 */
#ifndef TOOLS_EMU_CHECK_RACE_HINTS_H
#define TOOLS_EMU_CHECK_RACE_HINTS_H

#include "hal/contract/contract.h"

enum { HINTS_MOST = 2048 };

struct hints {
    struct hint hint[HINTS_MOST]; /* of kind HINT_QUEUE or HINT_BUFFER */
    unsigned n;
};

void hints_hear(struct hints *h, const struct hint *hint);
/* What a byte is part of, or NULL. */
const struct hint *hints_find(const struct hints *h, unsigned core, unsigned mem,
                              uint64_t addr);

#endif
