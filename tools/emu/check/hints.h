/* SPDX-License-Identifier: MIT
 *
 * What memory is for, as far as the hart has told.
 */
#ifndef TOOLS_EMU_CHECK_HINTS_H
#define TOOLS_EMU_CHECK_HINTS_H

#include "hal/contract/contract.h"
#include "hal/contract/hint.h"

enum { HINTS_MOST = 2048 };

struct hints {
    struct npu_hint hint[HINTS_MOST];
    unsigned n;
};

/* From now on; what it overlaps is forgotten. */
void hints_add(struct hints *h, const struct npu_hint *hint);
/* What a byte is part of, or NULL. */
const struct npu_hint *hints_find(const struct hints *h, unsigned core, unsigned mem,
                                  uint64_t addr);

#endif
