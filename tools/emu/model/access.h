/* SPDX-License-Identifier: MIT
 *
 * Rows of bytes in a memory. The plan of a command has one for each operand, by which
 * rules, costs and the PMU go: where it begins and ends and how much is moved. Which bytes
 * a command does touch, no more and no fewer, npu_touch() tells (npu.h), in accesses too:
 * watches, `npu who` and checkers go by that. Whoever needs to know which bytes an access
 * has asks the functions here and does not look at rows and strides.
 */
#ifndef TOOLS_EMU_MODEL_ACCESS_H
#define TOOLS_EMU_MODEL_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "hal/contract/contract.h"

/* One side of a data movement: n[2] x n[1] x n[0] rows of row_bytes each. */
#define ACCESS_LEVELS 3
struct access {
    uint8_t mem;   /* enum npu_mem or NPU_MEM_GM */
    uint8_t field; /* offset in the command of the operand that gives `base` */
    uint32_t row_bytes;
    uint32_t n[ACCESS_LEVELS];
    uint64_t base, stride[ACCESS_LEVELS];
};

/* Rows at one stride; merged into one where they lie side by side. */
static inline struct access access_rows(unsigned mem, size_t field, uint64_t base,
                                        uint64_t row_bytes, uint32_t n, uint64_t stride)
{
    bool dense = row_bytes == stride && row_bytes * n <= UINT32_MAX;

    return (struct access){.mem = (uint8_t)mem,
                           .field = (uint8_t)field,
                           .row_bytes = (uint32_t)(dense ? row_bytes * n : row_bytes),
                           .n = {dense ? n != 0 : n, 1, 1},
                           .base = base,
                           .stride = {stride, 0, 0}};
}

static inline uint64_t access_bytes(const struct access *a)
{
    return (uint64_t)a->row_bytes * a->n[0] * a->n[1] * a->n[2];
}

/* Bytes from the first to behind the last that the access touches. */
static inline uint64_t access_extent(const struct access *a)
{
    uint64_t extent = a->row_bytes;

    if (access_bytes(a) == 0) {
        return 0;
    }
    for (unsigned i = 0; i < ACCESS_LEVELS; i++) {
        extent += (a->n[i] - 1) * a->stride[i];
    }
    return extent;
}

/* No byte in common, each taken from its first to its last. */
static inline bool access_apart(const struct access *a, const struct access *b)
{
    return access_extent(a) == 0 || access_extent(b) == 0 ||
           a->base + access_extent(a) <= b->base || b->base + access_extent(b) <= a->base;
}

/* Calls f for every range that the access touches, row by row in the order of the packed
 * data; a byte that it touches twice is in two of them. Ends early, and is false, when f
 * returns false. */
typedef bool access_range(void *ctx, uint64_t first, uint64_t bytes);
bool access_each(const struct access *a, access_range *f, void *ctx);

/* Whether the access touches one of `bytes` bytes at `first` of memory `mem`. */
bool npu_touches(const struct access *a, unsigned mem, uint64_t first, uint64_t bytes);

/* What a command does with the bytes of an access: it reads them when it begins, and writes
 * them, or combines them with what is there, when it ends. */
enum touch_kind { TOUCH_READS, TOUCH_WRITES, TOUCH_COMBINES };

/* Who is told; the access has bytes, and rows that lie side by side are one. */
typedef void touch_told(void *opaque, const struct access *a, enum touch_kind kind);
struct touch {
    touch_told *told;
    void *opaque;
};
void touch_access(const struct touch *t, struct access a, enum touch_kind kind);

/* Whether a row of it runs into another. Each level, from the smallest stride up, has to
 * step over all that lies within it. */
bool access_overlaps_itself(const struct access *a);

#endif
