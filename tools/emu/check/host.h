/* SPDX-License-Identifier: MIT
 *
 * What the checks want of whoever carries them: memory. And memory that is given back all
 * at once: what is asked of an arena lives as long as the arena.
 */
#ifndef TOOLS_EMU_CHECK_HOST_H
#define TOOLS_EMU_CHECK_HOST_H

#include <stddef.h>
#include <stdint.h>

struct check_host {
    /* `bytes` bytes of zeros; does not return without them. */
    void *(*alloc)(void *ctx, size_t bytes);
    void (*free)(void *ctx, void *p, size_t bytes);
    void *ctx;
};

struct arena {
    const struct check_host *host;
    struct arena_block *blocks;
    size_t left; /* bytes at the end of the newest block */
    size_t used; /* bytes that the host has given */
};

void *arena_alloc(struct arena *a, size_t bytes);
void arena_free(struct arena *a);

/* An array that grows, which moves it; the new elements are zeros. */
void *host_grow(const struct check_host *host, void *old, size_t old_bytes,
                size_t new_bytes);

#endif
