/* SPDX-License-Identifier: MIT
 *
 * Undefined bytes of a core's memory; see local.h.
 */
#include "tools/emu/check/memory/local.h"

#include "tools/emu/model/mem.h"

enum { WORD = sizeof(uint64_t), ALL = 0xff };

void local_open(struct undefined_local *l, struct arena *arena, uint8_t *byte,
                uint32_t bytes)
{
    uint32_t blocks = bytes / UNDEFINED_BLOCK + 1;

    l->bytes = bytes;
    l->byte = byte;
    l->mark = arena_alloc(arena, blocks);
    l->origin = arena_alloc(arena, (bytes / ORIGIN_BLOCK + 1) * sizeof(*l->origin));
    l->page = arena_alloc(arena, bytes / LOCAL_PAGE + 1);
    memset(l->mark, LOCAL_UNDEFINED, blocks);
}

size_t local_bytes(const struct undefined_local *l)
{
    size_t bytes = 0;

    for (uint32_t i = 0; l->page && i <= l->bytes / LOCAL_PAGE; i++) {
        bytes += l->page[i] ? LOCAL_PAGE : 0;
    }
    return bytes;
}

/* The part of [first, first + bytes) that the memory has. */
static uint64_t clipped(const struct undefined_local *l, uint64_t first, uint64_t bytes)
{
    return first >= l->bytes ? 0 : bytes < l->bytes - first ? bytes : l->bytes - first;
}

/* The first block from `block` on, before `end`, that is not all defined; end: none. */
static uint64_t next_marked(const struct undefined_local *l, uint64_t block, uint64_t end)
{
    for (; block + WORD <= end; block += WORD) {
        uint64_t marks;
        memcpy(&marks, l->mark + block, WORD);
        if (marks) {
            break;
        }
    }
    while (block < end && l->mark[block] == LOCAL_DEFINED) {
        block++;
    }
    return block;
}

bool local_marked(const struct undefined_local *l, uint64_t first, uint64_t bytes)
{
    uint64_t end;

    bytes = clipped(l, first, bytes);
    if (bytes == 0) {
        return false;
    }
    end = (first + bytes - 1) / UNDEFINED_BLOCK + 1;
    return next_marked(l, first / UNDEFINED_BLOCK, end) < end;
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
    uint64_t blocks = (end + UNDEFINED_BLOCK - 1) / UNDEFINED_BLOCK;

    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t block = next_marked(l, at / UNDEFINED_BLOCK, blocks), defined;
        if (block != at / UNDEFINED_BLOCK) {
            at = block * UNDEFINED_BLOCK;
            n = 0;
            continue;
        }
        n = of_block(at, end);
        defined = l->mark[block] == LOCAL_UNDEFINED ? 0 : local_zeros(l->byte + at, n);
        if (defined < n) {
            return at + defined - first;
        }
        l->mark[block] = n == UNDEFINED_BLOCK ? LOCAL_DEFINED : LOCAL_TOLD;
    }
    return bytes;
}

/* Writes the shadow of a block of which some is to be told. */
static void tell(struct undefined_local *l, uint64_t block)
{
    uint64_t at = block * UNDEFINED_BLOCK;

    if (l->mark[block] == LOCAL_UNDEFINED) {
        memset(l->byte + at, ALL, of_block(at, l->bytes));
    }
    l->mark[block] = LOCAL_TOLD;
    l->page[at / LOCAL_PAGE] = true;
}

static void set_all(struct undefined_local *l, uint64_t block, uint8_t mark)
{
    if (l->mark[block] == LOCAL_TOLD) {
        memset(l->byte + block * UNDEFINED_BLOCK, 0,
               of_block(block * UNDEFINED_BLOCK, l->bytes));
    }
    l->mark[block] = mark;
}

void local_set(struct undefined_local *l, uint64_t first, uint64_t bytes, bool undefined)
{
    uint64_t end = first + clipped(l, first, bytes);
    uint8_t mark = undefined ? LOCAL_UNDEFINED : LOCAL_DEFINED;

    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t block = at / UNDEFINED_BLOCK;
        n = of_block(at, end);
        if (undefined) {
            l->origin[at / ORIGIN_BLOCK] = 0;
        }
        if (n == UNDEFINED_BLOCK) {
            set_all(l, block, mark);
        } else if (l->mark[block] != mark) {
            tell(l, block);
            memset(l->byte + at, undefined ? ALL : 0, n);
        }
    }
}

void local_tell(struct undefined_local *l, uint64_t first, uint64_t bytes)
{
    uint64_t end = first + clipped(l, first, bytes);

    for (uint64_t at = first; at < end; at += of_block(at, end)) {
        if (l->mark[at / UNDEFINED_BLOCK] == LOCAL_UNDEFINED) {
            tell(l, at / UNDEFINED_BLOCK);
        }
    }
}

void local_flowed(struct undefined_local *l, uint64_t first, uint64_t bytes,
                  uint32_t origin)
{
    uint64_t end = first + clipped(l, first, bytes);

    for (uint64_t at = first, n; at < end; at += n) {
        n = of_block(at, end);
        l->page[at / LOCAL_PAGE] = true;
        if (local_zeros(l->byte + at, n) < n) {
            tell(l, at / UNDEFINED_BLOCK);
            l->origin[at / ORIGIN_BLOCK] = origin;
        } else if (n == UNDEFINED_BLOCK) {
            l->mark[at / UNDEFINED_BLOCK] = LOCAL_DEFINED;
        }
    }
}
