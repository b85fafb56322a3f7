/* SPDX-License-Identifier: MIT
 *
 * What local memory is for; see hints.h.
 */
#include "tools/emu/check/race/hints.h"

static uint64_t bytes_of(const struct hint *hint)
{
    return hint->bytes * hint->count;
}

/* What overlaps a new one holds no longer. */
static void add(struct hints *h, const struct hint *new)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < h->n; i++) {
        const struct hint *old = &h->hint[i];
        if (old->mem != new->mem || old->core != new->core ||
            old->addr >= new->addr + bytes_of(new) ||
            new->addr >= old->addr + bytes_of(old)) {
            h->hint[kept++] = *old;
        }
    }
    if (kept < HINTS_MOST) {
        h->hint[kept++] = *new;
    }
    h->n = kept;
}

static void forget(struct hints *h, unsigned core)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < h->n; i++) {
        if (h->hint[i].core != core) {
            h->hint[kept++] = h->hint[i];
        }
    }
    h->n = kept;
}

void hints_hear(struct hints *h, const struct hint *hint)
{
    if (hint->kind == HINT_QUEUE || hint->kind == HINT_BUFFER) {
        add(h, hint);
    } else if (hint->kind == HINT_OPEN) {
        forget(h, hint->core);
    }
}

const struct hint *hints_find(const struct hints *h, unsigned core, unsigned mem,
                              uint64_t addr)
{
    for (unsigned i = 0; i < h->n; i++) {
        const struct hint *hint = &h->hint[i];
        if (hint->mem == mem && hint->core == core &&
            addr - hint->addr < bytes_of(hint)) {
            return hint;
        }
    }
    return NULL;
}
