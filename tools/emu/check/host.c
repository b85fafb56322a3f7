/* SPDX-License-Identifier: MIT
 *
 * Memory of the checks; see host.h.
 */
#include "tools/emu/check/host.h"

#include "tools/emu/model/mem.h"

enum { BLOCK = 1 << 18, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t bytes;
};

void *arena_alloc(struct arena *a, size_t bytes)
{
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > a->left) {
        size_t all = ALIGN + (bytes > BLOCK ? bytes : BLOCK);
        struct arena_block *block = a->host->alloc(a->host->ctx, all);
        *block = (struct arena_block){a->blocks, all};
        a->blocks = block;
        a->left = all - ALIGN;
        a->used += all;
    }
    a->left -= bytes;
    return (char *)a->blocks + ALIGN + a->left;
}

void arena_free(struct arena *a)
{
    while (a->blocks) {
        struct arena_block *block = a->blocks;
        a->blocks = block->next;
        a->host->free(a->host->ctx, block, block->bytes);
    }
    a->left = 0;
}

void *host_grow(const struct check_host *host, void *old, size_t old_bytes,
                size_t new_bytes)
{
    void *new = host->alloc(host->ctx, new_bytes);

    if (old) {
        memcpy(new, old, old_bytes);
        host->free(host->ctx, old, old_bytes);
    }
    return new;
}
