/* SPDX-License-Identifier: MIT
 *
 * Which bytes the lanes of a Vector command touch; see vector.h. Lanes that lie side by
 * side in a repeat are a row, and the same row of all repeats one access.
 */
#include "tools/emu/model/ops/vector/vector.h"

static uint64_t low_bits(uint64_t n)
{
    return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

struct vec_lane_set vec_lane_set(const struct op_ctx *c, unsigned per_repeat,
                                 uint64_t repeats, uint64_t count)
{
    const uint64_t *mask = &c->special[SPECIAL_MASK_LO];
    struct vec_lane_set l = {.per_repeat = per_repeat, .repeats = repeats};
    uint64_t all[2] = {low_bits(per_repeat),
                       per_repeat > 64 ? low_bits(per_repeat - 64) : 0};

    if (!c->special[SPECIAL_MASK_COUNTER]) {
        l.on[0] = mask[0] & all[0];
        l.on[1] = mask[1] & all[1];
        return l;
    }
    memcpy(l.on, all, sizeof(all));
    l.repeats = count / per_repeat;
    count %= per_repeat;
    l.tail[0] = low_bits(count);
    l.tail[1] = count > 64 ? low_bits(count - 64) : 0;
    return l;
}

struct vec_lane_set vec_lanes_of(const struct op_ctx *c, unsigned esize, unsigned repeat)
{
    return vec_lane_set(c, 256 / esize, repeat, c->special[SPECIAL_MASK_LO]);
}

struct vec_lane_set vec_lane_bytes(const struct vec_lane_set *l)
{
    struct vec_lane_set bytes = {.per_repeat = l->per_repeat / 8, .repeats = l->repeats};

    for (unsigned i = 0; i < bytes.per_repeat; i++) {
        bytes.on[0] |= (uint64_t)((l->on[i / 8] >> i % 8 * 8 & 0xff) != 0) << i;
        bytes.tail[0] |= (uint64_t)((l->tail[i / 8] >> i % 8 * 8 & 0xff) != 0) << i;
    }
    return bytes;
}

static bool lane(const uint64_t on[2], unsigned i)
{
    return on[i / 64] >> i % 64 & 1;
}

/* The lanes that are on, the same in all repeats but for the tail. */
static void touch_lanes(const struct touch *t, enum touch_kind kind,
                        const struct vec_elements *e, const struct vec_lane_set *l)
{
    bool dense = e->blk == (uint64_t)e->per_block * e->esize;
    unsigned end;

    for (unsigned i = 0; l->repeats && i < l->per_repeat; i = end) {
        unsigned block = i / e->per_block;
        unsigned stop = dense ? l->per_repeat : (block + 1) * e->per_block;
        for (end = i + 1; end < stop && lane(l->on, end) == lane(l->on, i); end++) {
        }
        if (lane(l->on, i)) {
            uint64_t at = e->base + block * e->blk + i % e->per_block * e->esize;
            struct access a =
                access_rows(NPU_MEM_UB, e->field, at, (end - i) * e->esize, 1, 0);
            a.n[1] = (uint32_t)l->repeats;
            a.stride[1] = e->rep;
            touch_access(t, a, kind);
        }
    }
}

void vec_touch(const struct touch *t, enum touch_kind kind, const struct vec_elements *e,
               const struct vec_lane_set *l)
{
    unsigned blocks = (unsigned)div_up(l->per_repeat, e->per_block);
    uint64_t n = l->per_repeat;
    bool all = l->on[0] == low_bits(n) && (n <= 64 || l->on[1] == low_bits(n - 64));

    if (all && l->repeats && n % e->per_block == 0) {
        struct access a = access_rows(NPU_MEM_UB, e->field, e->base,
                                      e->per_block * e->esize, blocks, e->blk);
        a.n[1] = (uint32_t)l->repeats;
        a.stride[1] = e->rep;
        touch_access(t, a, kind);
    } else {
        touch_lanes(t, kind, e, l);
    }
    if (l->tail[0]) {
        struct vec_elements behind = *e;
        struct vec_lane_set tail = {
            .per_repeat = l->per_repeat, .repeats = 1, .on = {l->tail[0], l->tail[1]}};
        behind.base += l->repeats * e->rep;
        touch_lanes(t, kind, &behind, &tail);
    }
}

struct vec_elements vec_elements(size_t field, uint32_t base, unsigned esize,
                                 unsigned blk, unsigned rep)
{
    return (struct vec_elements){field,      base,        esize,
                                 32 / esize, 32ull * blk, 32ull * rep};
}

void vec_touch_row(const struct touch *t, enum touch_kind kind, size_t field,
                   uint64_t base, uint64_t bytes)
{
    touch_access(t, access_rows(NPU_MEM_UB, field, base, bytes, 1, 0), kind);
}
