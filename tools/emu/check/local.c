/* SPDX-License-Identifier: MIT
 *
 * Undefined bytes of a core's memory; see local.h.
 */
#include "tools/emu/check/local.h"

#include "tools/emu/model/mem.h"

enum { WORD = sizeof(uint64_t), ALIGN = 64 };

void local_open(struct undefined_local *l, struct arena *arena, uint32_t bytes)
{
    uint32_t blocks = bytes / UNDEFINED_BLOCK + 1;

    l->bytes = bytes;
    l->byte = arena_alloc(arena, bytes + (uint32_t)ALIGN);
    l->byte += -(uintptr_t)l->byte % ALIGN;
    l->mark = arena_alloc(arena, blocks);
    l->origin = arena_alloc(arena, blocks * sizeof(*l->origin));
    memset(l->byte, 0xff, bytes);
    memset(l->mark, 1, blocks);
}

/* The part of [first, first + bytes) that the memory has. */
static uint64_t clipped(const struct undefined_local *l, uint64_t first, uint64_t bytes)
{
    return first >= l->bytes ? 0 : bytes < l->bytes - first ? bytes : l->bytes - first;
}

bool local_marked(const struct undefined_local *l, uint64_t first, uint64_t bytes)
{
    uint64_t block = first / UNDEFINED_BLOCK, end;

    bytes = clipped(l, first, bytes);
    if (bytes == 0) {
        return false;
    }
    end = (first + bytes - 1) / UNDEFINED_BLOCK + 1;
    for (; block + WORD <= end; block += WORD) {
        uint64_t marks;
        memcpy(&marks, l->mark + block, WORD);
        if (marks) {
            return true;
        }
    }
    for (; block < end; block++) {
        if (l->mark[block]) {
            return true;
        }
    }
    return false;
}

uint64_t local_zeros(const uint8_t *p, uint64_t bytes)
{
    uint64_t i = 0, word;

    for (; i + WORD <= bytes; i += WORD) {
        memcpy(&word, p + i, WORD);
        if (word) {
            break;
        }
    }
    while (i < bytes && p[i] == 0) {
        i++;
    }
    return i;
}

/* Bytes of a range that lie in the block of its first. */
static uint64_t of_block(uint64_t at, uint64_t end)
{
    uint64_t n = UNDEFINED_BLOCK - at % UNDEFINED_BLOCK;

    return n < end - at ? n : end - at;
}

uint64_t local_find(struct undefined_local *l, uint64_t first, uint64_t bytes)
{
    uint64_t end = first + clipped(l, first, bytes);

    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t block = at / UNDEFINED_BLOCK, defined;
        n = of_block(at, end);
        if (l->mark[block]) {
            defined = local_zeros(l->byte + at, n);
            if (defined < n) {
                return at + defined - first;
            }
            l->mark[block] = n != UNDEFINED_BLOCK;
        }
    }
    return bytes;
}

void local_set(struct undefined_local *l, uint64_t first, uint64_t bytes, bool undefined)
{
    uint64_t end = first + clipped(l, first, bytes);

    if (first == end || (!undefined && !local_marked(l, first, end - first))) {
        return;
    }
    memset(l->byte + first, undefined ? 0xff : 0, end - first);
    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t block = at / UNDEFINED_BLOCK;
        n = of_block(at, end);
        if (undefined) {
            l->mark[block] = 1;
            l->origin[block] = 0;
        } else if (n == UNDEFINED_BLOCK) {
            l->mark[block] = 0;
        }
    }
}

void local_flowed(struct undefined_local *l, uint64_t first, uint64_t bytes,
                  uint32_t origin)
{
    uint64_t end = first + clipped(l, first, bytes);

    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t block = at / UNDEFINED_BLOCK;
        n = of_block(at, end);
        if (local_zeros(l->byte + at, n) < n) {
            l->mark[block] = 1;
            l->origin[block] = origin;
        } else if (n == UNDEFINED_BLOCK) {
            l->mark[block] = 0;
        }
    }
}
