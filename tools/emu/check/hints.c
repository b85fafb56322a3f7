/* SPDX-License-Identifier: MIT
 *
 * What memory is for; see hints.h.
 */
#include "tools/emu/check/hints.h"

static bool same_memory(const struct npu_hint *hint, unsigned core, unsigned mem)
{
    return hint->mem == mem && (mem == NPU_MEM_GM || hint->core == core);
}

void hints_add(struct hints *h, const struct npu_hint *hint)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < h->n; i++) {
        const struct npu_hint *old = &h->hint[i];
        bool apart =
            old->base >= hint->base + hint->bytes || hint->base >= old->base + old->bytes;
        if (apart || !same_memory(old, hint->core, hint->mem)) {
            h->hint[kept++] = *old;
        }
    }
    if (kept < HINTS_MOST && hint->bytes) {
        h->hint[kept++] = *hint;
    }
    h->n = kept;
}

const struct npu_hint *hints_find(const struct hints *h, unsigned core, unsigned mem,
                                  uint64_t addr)
{
    for (unsigned i = 0; i < h->n; i++) {
        const struct npu_hint *hint = &h->hint[i];
        if (same_memory(hint, core, mem) && addr - hint->base < hint->bytes) {
            return hint;
        }
    }
    return NULL;
}
