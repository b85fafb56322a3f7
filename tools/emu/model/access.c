/* SPDX-License-Identifier: MIT
 *
 * Which bytes an access touches; see access.h.
 */
#include "tools/emu/model/access.h"

bool access_each(const struct access *a, access_range *f, void *ctx)
{
    if (access_bytes(a) == 0) {
        return true;
    }
    for (uint32_t k = 0; k < a->n[2]; k++) {
        for (uint32_t j = 0; j < a->n[1]; j++) {
            uint64_t at = a->base + k * a->stride[2] + j * a->stride[1];
            for (uint32_t i = 0; i < a->n[0]; i++, at += a->stride[0]) {
                if (!f(ctx, at, a->row_bytes)) {
                    return false;
                }
            }
        }
    }
    return true;
}

/* Whether rows of levels 0 .. level - 1 at `base` meet [first, last]. Only those steps
 * of a level are looked at whose extent does. */
static bool level_touches(const struct access *a, unsigned level, uint64_t base,
                          uint64_t first, uint64_t last)
{
    uint64_t extent = a->row_bytes, stride, from = 0, to;

    if (level == 0) {
        return base <= last && first < base + extent;
    }
    level--;
    for (unsigned i = 0; i < level; i++) {
        extent += (a->n[i] - 1) * a->stride[i];
    }
    stride = a->stride[level];
    to = a->n[level] - 1;
    if (base > last) {
        return false;
    }
    if (stride) {
        from = first >= base + extent ? (first - base - extent) / stride + 1 : 0;
        to = (last - base) / stride < to ? (last - base) / stride : to;
    }
    for (uint64_t i = from; i <= to; i++) {
        if (level_touches(a, level, base + i * stride, first, last)) {
            return true;
        }
    }
    return false;
}

bool npu_touches(const struct access *a, unsigned mem, uint64_t first, uint64_t bytes)
{
    return a->mem == mem && bytes && access_bytes(a) &&
           level_touches(a, ACCESS_LEVELS, a->base, first, first + bytes - 1);
}

bool access_overlaps_itself(const struct access *a)
{
    uint64_t inner = a->row_bytes;
    unsigned done = 0;

    for (unsigned round = 0; round < ACCESS_LEVELS; round++) {
        unsigned level = ACCESS_LEVELS;
        for (unsigned i = 0; i < ACCESS_LEVELS; i++) {
            if (!(done & (1u << i)) && a->n[i] > 1 &&
                (level == ACCESS_LEVELS || a->stride[i] < a->stride[level])) {
                level = i;
            }
        }
        if (level == ACCESS_LEVELS) {
            return false;
        }
        if (a->stride[level] < inner) {
            return true;
        }
        inner += (a->n[level] - 1) * a->stride[level];
        done |= 1u << level;
    }
    return false;
}

/* The levels as few as they can be; a row runs on into the next where it can. */
static void merge_rows(struct access *a)
{
    unsigned used = 0;

    for (unsigned level = 0; level < ACCESS_LEVELS; level++) {
        uint32_t n = a->n[level];
        uint64_t stride = a->stride[level];

        if (n == 1) {
            continue;
        }
        if (used == 0 && stride == a->row_bytes &&
            (uint64_t)a->row_bytes * n <= UINT32_MAX) {
            a->row_bytes *= n;
        } else {
            a->n[used] = n;
            a->stride[used++] = stride;
        }
    }
    for (; used < ACCESS_LEVELS; used++) {
        a->n[used] = 1;
        a->stride[used] = 0;
    }
}

void touch_access(const struct touch *t, struct access a, enum touch_kind kind)
{
    if (access_bytes(&a)) {
        merge_rows(&a);
        t->told(t->opaque, &a, kind);
    }
}
