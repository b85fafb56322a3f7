/* SPDX-License-Identifier: MIT
 *
 * Places that indices name: rows of an array, (outer, n, inner) of them, one for each tuple
 * of `depth` indices:
 *
 *   at(o, k, i) = o * outer_step + sum of index[d] * axis[d].step + i * inner_step
 *
 * with the tuple of (o, k, i), or of k alone where `shared`. An index from -size to -1 counts
 * from the end.
 */
#ifndef KERNELS_INDEX_PLACES_H
#define KERNELS_INDEX_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum { PLACES_AXES = 8 };

struct places {
    const int32_t *index;
    uint32_t depth;
    struct {
        uint64_t size, step;
    } axis[PLACES_AXES];
    uint64_t outer, n, inner, outer_step, inner_step; /* steps in bytes */
    bool shared;                                      /* inner is 1 then */
};

static inline uint64_t places_count(const struct places *p)
{
    return p->outer * p->n * p->inner;
}

/* Indices that there are. */
static inline uint64_t places_indices(const struct places *p)
{
    return (p->shared ? p->n : places_count(p)) * p->depth;
}

/* Byte at which row r begins. All indices are in range. */
static inline uint64_t places_at(const struct places *p, uint64_t r)
{
    uint64_t rest = r / p->inner, o = rest / p->n;
    const int32_t *index = p->index + (p->shared ? rest % p->n : r) * p->depth;
    uint64_t at = o * p->outer_step + r % p->inner * p->inner_step;

    for (uint32_t d = 0; d < p->depth; d++) {
        int64_t i = index[d];
        at += (uint64_t)(i < 0 ? i + (int64_t)p->axis[d].size : i) * p->axis[d].step;
    }
    return at;
}

/* The number of the first index that is out of range, or how many there are. The hart looks
 * at each: with one index a row that takes 5 of its instructions. */
static inline uint64_t places_wrong(const struct places *p)
{
    uint64_t n = places_indices(p);

    for (uint32_t d = 0; d < p->depth; d++) {
        int64_t size = (int64_t)p->axis[d].size;
        for (uint64_t i = d; i < n; i += p->depth) {
            if (p->index[i] < -size || p->index[i] >= size) {
                n = i;
            }
        }
    }
    return n;
}

#endif
