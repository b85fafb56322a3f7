/* SPDX-License-Identifier: MIT
 *
 * Gather, scatter, compaction and sort of the Vector against plain loops, with all of UB
 * compared.
 */
#include <math.h>
#include <string.h>

#include "tests/model/vector/rig.h"

/* --- gather and scatter --- */

/* Masked lanes have offsets that would be an error. */
static bool gathers(enum op op, enum type type, bool counter)
{
    unsigned esize = type_bits(type) / 8, all = 256 / esize, n = counter ? 333 : 3 * all;
    uint64_t mask = 0xf0f0f0f0deadbeefu;
    union cmd c = rig_command(op, type);
    bool scatter = op == OP_VSCATTER;

    start();
    set_mask(counter ? n : mask, counter ? 0 : ~mask, counter);
    c.vec_gather.dst = scatter ? DST + 64 : DST;
    c.vec_gather.src = scatter ? DST - 8192 : SRC + 64;
    c.vec_gather.offsets = SRC1;
    c.vec_gather.dst_rep = 10; /* src_rep of VSCATTER stands in the same place */
    c.vec_gather.repeat = 3;
    for (unsigned i = 0; i < n; i++) {
        bool is_on =
            counter || (i % all < 64 ? mask >> (i % 64) & 1 : ~mask >> (i % 64) & 1);
        element_put(ub() + SRC1, i, 32, is_on ? rnd() % 2000 * esize : 0xfffffff1);
    }
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < n; i++) {
        unsigned row = i / all * 320 + i % all * esize,
                 offset = element_get(ub() + SRC1, i, 32);
        if (offset != 0xfffffff1) {
            memcpy(want + (scatter ? DST + 64 + offset : DST + row),
                   ub() + (scatter ? DST - 8192 + row : SRC + 64 + offset), esize);
        }
    }
    return gives(c);
}

static bool gathers_blocks(void)
{
    union cmd c = rig_command(OP_VGATHERB, TYPE_S16);

    start();
    c.vec_gatherb.dst = DST;
    c.vec_gatherb.src = SRC + 32;
    c.vec_gatherb.offsets = SRC1;
    c.vec_gatherb.dst_blk = 2;
    c.vec_gatherb.dst_rep = 17;
    c.vec_gatherb.repeat = 2;
    for (unsigned i = 0; i < 16; i++) {
        element_put(ub() + SRC1, i, 32, rnd() % 1000 * 32);
    }
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 16; i++) {
        memcpy(want + DST + i / 8 * 544 + i % 8 * 64,
               ub() + SRC + 32 + element_get(ub() + SRC1, i, 32), 32);
    }
    return gives(c);
}

/* The last offset of a command leads astray: its own error, and no byte written. */
TEST(vector_gather, offsets)
{
    static const struct {
        const char *name;
        enum op op;
        uint32_t offset, code;
    } cases[] = {
        {"last_element_of_ub", OP_VGATHER, UB - 4 - 64, 0},
        {"gather_beyond_ub", OP_VGATHER, UB - 64, NPU_ERR_OFFSET},
        {"gather_far_beyond", OP_VGATHER, 0xfffffffc, NPU_ERR_OFFSET},
        {"gather_between_elements", OP_VGATHER, 6, NPU_ERR_OFFSET},
        {"last_block_of_ub", OP_VGATHERB, UB - 32 - 64, 0},
        {"block_beyond_ub", OP_VGATHERB, UB - 64, NPU_ERR_OFFSET},
        {"block_between_blocks", OP_VGATHERB, 16, NPU_ERR_OFFSET},
        {"scatter_beyond_ub", OP_VSCATTER, UB - DST, NPU_ERR_OFFSET},
        {"scatter_to_the_last_element", OP_VSCATTER, UB - DST - 4, 0},
        {"scatter_between_elements", OP_VSCATTER, 2, NPU_ERR_OFFSET},
    };

    for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        union cmd c = rig_command(cases[i].op, TYPE_S32);
        unsigned n = cases[i].op == OP_VGATHERB ? 8 : 64;
        uint64_t error;

        start();
        c.vec_gather.dst = DST;
        c.vec_gather.src = 64;
        c.vec_gather.offsets = SRC1;
        if (n == 8) {
            c.vec_gatherb.dst_blk = 1;
            c.vec_gatherb.repeat = 1;
        } else {
            c.vec_gather.repeat = 1;
        }
        for (unsigned j = 0; j < n; j++) {
            element_put(ub() + SRC1, j, 32, j + 1 < n ? 32 * j : cases[i].offset);
        }
        memcpy(want, ub(), UB);
        run(c);
        error = rig_read(&rig, 0, rig_pipe(PIPE_V, PIPE_ERROR));
        ok(field_get(PIPE_ERROR_CODE, error) == cases[i].code &&
               (cases[i].code == 0 ||
                (memcmp(want, ub(), UB) == 0 &&
                 field_get(PIPE_ERROR_FIELD, error) ==
                     offsetof(struct cmd_vec_gather, offsets) &&
                 rig_read(&rig, 0, rig_pipe(PIPE_V, PIPE_ERROR_VALUE)) ==
                     cases[i].offset)),
           "vector_gather/offset_%s", cases[i].name);
    }
}

/* --- compaction --- */

static bool squeezes(enum type type, unsigned pattern, uint32_t count)
{
    unsigned esize = type_bits(type) / 8, n = count ? count : 256 / esize, kept = 0;
    union cmd c = rig_command(OP_VREDUCEV2, type),
              get = rig_command(OP_GET_COUNT, TYPE_NONE);
    bool good;

    start();
    set_mask(count ? count : UINT64_MAX, 0, count != 0);
    c.vec_squeeze.dst = DST;
    c.vec_squeeze.src = SRC;
    c.vec_squeeze.bits = pattern ? 0 : SRC1;
    c.vec_squeeze.src_blk = 2;
    c.vec_squeeze.src_rep = 100;
    c.vec_squeeze.bits_rep = 3;
    c.vec_squeeze.repeat = 4;
    c.vec_squeeze.pattern = (uint8_t)pattern;
    memcpy(want, ub(), UB);
    for (unsigned r = 0; r < 4; r++) {
        for (unsigned e = 0; e < n; e++) {
            static const char *const patterns[8] = {NULL,   "10",   "01",   "1000",
                                                    "0100", "0010", "0001", "1"};
            const char *p = patterns[pattern];
            bool keep =
                p ? p[e % strlen(p)] == '1' : ub()[SRC1 + r * 96 + e / 8] >> (e % 8) & 1;
            if (keep) {
                memcpy(want + DST + kept++ * esize,
                       ub() + SRC + r * 3200 + e / (32 / esize) * 64 +
                           e % (32 / esize) * esize,
                       esize);
            }
        }
    }
    good = gives(c);
    get.get_count.dst = UB - 32;
    run(get);
    good &= element_get(ub() + UB - 32, 0, 32) == kept &&
            element_get(ub() + UB - 28, 0, 32) == 0 &&
            element_get(ub() + UB - 4, 0, 32) == 0;
    return good;
}

/* How many bits are set is only known when the command runs. */
TEST(vector_gather, squeeze_at_the_end_of_ub)
{
    union cmd c = rig_command(OP_VREDUCEV2, TYPE_F32);

    start();
    c.vec_squeeze.dst = UB - 32;
    c.vec_squeeze.bits = SRC1;
    c.vec_squeeze.src_blk = 1;
    c.vec_squeeze.repeat = 1;
    element_put(ub() + SRC1, 0, 32, 0xff);
    element_put(ub() + SRC1, 1, 32, 0);
    memcpy(want, ub(), UB);
    memcpy(want + UB - 32, ub(), 32);
    ok(gives(c), "vector_gather/compaction_fills_ub_to_the_end");
    element_put(ub() + SRC1, 1, 32, 1);
    memcpy(want, ub(), UB);
    ok(run(c) == NPU_ERR_BOUNDS && memcmp(want, ub(), UB) == 0,
       "vector_gather/compaction_beyond_ub_is_refused");
}

/* --- sort --- */

static bool before(float a, float b)
{
    return isnan(a) ? !isnan(b) : a > b;
}

/* Stable: bubbles. `entries` are of 8 bytes. */
static void sort(uint8_t *entries, unsigned n, unsigned esize)
{
    for (unsigned i = 0; i < n; i++) {
        for (unsigned j = 0; j + 1 < n - i; j++) {
            uint8_t *p = entries + 8 * j, swap[8];
            if (before(value_at(p + 8, esize), value_at(p, esize))) {
                memcpy(swap, p, 8);
                memcpy(p, p + 8, 8);
                memcpy(p + 8, swap, 8);
            }
        }
    }
}

/* Few different values, so that equal ones and the special ones meet. */
static void fill_values(unsigned first, unsigned n, unsigned esize, unsigned step)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1, 2, 3, -5, -6};

    for (unsigned i = 0; i < n; i++) {
        float v = odd[rnd() % 10];
        _Float16 h = (_Float16)v;
        memcpy(ub() + first + i * step, esize == 4 ? (void *)&v : (void *)&h, esize);
    }
}

static bool sorts(enum type type, unsigned repeat)
{
    unsigned esize = type_bits(type) / 8;
    union cmd c = rig_command(OP_VSORT32, type);

    start();
    fill_values(SRC, 32 * repeat, esize, esize);
    c.vec_sort.dst = DST;
    c.vec_sort.src = SRC;
    c.vec_sort.index = SRC1;
    c.vec_sort.repeat = (uint8_t)repeat;
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 32 * repeat; i++) {
        memset(want + DST + 8 * i, 0, 4);
        memcpy(want + DST + 8 * i, ub() + SRC + esize * i, esize);
        memcpy(want + DST + 8 * i + 4, ub() + SRC1 + 4 * i, 4);
    }
    for (unsigned r = 0; r < repeat; r++) {
        sort(want + DST + 256 * r, 32, esize);
    }
    return gives(c);
}

/* Lists at SRC, side by side. */
static bool merges(enum type type, const uint16_t n[4], unsigned n_lists, unsigned repeat)
{
    unsigned esize = type_bits(type) / 8, total = 0;
    union cmd c = rig_command(OP_VMRGSORT, type),
              get = rig_command(OP_GET_COUNT, TYPE_NONE);
    uint32_t *src = &c.vec_merge.src0;
    bool good;

    start();
    for (unsigned i = 0; i < n_lists; i++) {
        memcpy(src + i, &(uint32_t){SRC + 8 * total}, 4);
        memcpy(&c.vec_merge.n0 + i, &n[i], 2);
        total += n[i];
    }
    fill_values(SRC, total * repeat, esize, 8);
    for (unsigned r = 0; r < repeat; r++) {
        for (unsigned i = 0, first = 0; i < n_lists; first += n[i++]) {
            sort(ub() + SRC + 8 * (r * total + first), n[i], esize);
        }
    }
    c.vec_merge.dst = DST;
    c.vec_merge.valid = (uint8_t)((1 << n_lists) - 1);
    c.vec_merge.repeat = (uint8_t)repeat;
    memcpy(want, ub(), UB);
    memcpy(want + DST, ub() + SRC, 8 * total * repeat);
    for (unsigned r = 0; r < repeat; r++) {
        sort(want + DST + 8 * r * total, total, esize);
    }
    good = gives(c);
    get.get_count.dst = UB - 32;
    run(get);
    for (unsigned i = 0; i < n_lists; i++) {
        good &= element_get(ub() + UB - 28, i, 32) == n[i];
    }
    return good;
}

/* 9 7 5 and 8 6: 5 is still there when the second list is used up. */
TEST(vector_sort, suspend)
{
    static const float lists[5] = {9, 7, 5, 8, 6};
    union cmd c = rig_command(OP_VMRGSORT, TYPE_F32),
              get = rig_command(OP_GET_COUNT, TYPE_NONE);
    float last;

    start();
    for (unsigned i = 0; i < 5; i++) {
        memcpy(ub() + 8 * i, &lists[i], 4);
    }
    c.head.flags = VMRGSORT_SUSPEND;
    c.vec_merge.dst = DST;
    c.vec_merge.src1 = 24;
    c.vec_merge.n0 = 3;
    c.vec_merge.n1 = 2;
    c.vec_merge.valid = 3;
    c.vec_merge.repeat = 1;
    memcpy(want, ub() + DST + 32, 8);
    run(c);
    get.get_count.dst = UB - 32;
    run(get);
    memcpy(&last, ub() + DST + 24, 4);
    ok(last == 6 && memcmp(ub() + DST + 32, want, 8) == 0 &&
           element_get(ub() + UB - 28, 0, 32) == 2 &&
           element_get(ub() + UB - 24, 0, 32) == 2,
       "vector_sort/merge_stops_at_the_end_of_a_list");
    c.vec_merge.n1 = 0;
    c.vec_merge.dst = DST + 64;
    memcpy(want, ub() + DST + 64, 32);
    run(c);
    run(get);
    ok(memcmp(ub() + DST + 64, want, 32) == 0 &&
           element_get(ub() + UB - 28, 0, 32) == 0 &&
           element_get(ub() + UB - 24, 0, 32) == 0,
       "vector_sort/merge_with_an_empty_list_takes_nothing");
}

TEST(vector_gather, commands)
{
    bool good = true;

    ok(gathers(OP_VGATHER, TYPE_F32, false) && gathers(OP_VGATHER, TYPE_F16, false) &&
           gathers(OP_VGATHER, TYPE_S32, true) && gathers(OP_VGATHER, TYPE_S16, true),
       "vector_gather/VGATHER");
    ok(gathers(OP_VSCATTER, TYPE_F32, false) && gathers(OP_VSCATTER, TYPE_F16, false) &&
           gathers(OP_VSCATTER, TYPE_S32, true) && gathers(OP_VSCATTER, TYPE_S16, true),
       "vector_gather/VSCATTER");
    ok(gathers_blocks(), "vector_gather/VGATHERB");
    for (unsigned p = 0; p < 8; p++) {
        good &= squeezes(TYPE_F32, p, 0) && squeezes(TYPE_S16, p, 0) &&
                squeezes(TYPE_F16, p, 217) && squeezes(TYPE_S32, p, 5);
    }
    ok(good, "vector_gather/VREDUCEV2");
}

TEST(vector_sort, commands)
{
    ok(sorts(TYPE_F32, 7) && sorts(TYPE_F16, 9), "vector_sort/VSORT32");
    ok(merges(TYPE_F32, (uint16_t[4]){32, 32, 32, 32}, 4, 3) &&
           merges(TYPE_F16, (uint16_t[4]){5, 0, 90}, 3, 1) &&
           merges(TYPE_F32, (uint16_t[4]){1, 77}, 2, 1),
       "vector_sort/VMRGSORT");
}
