/* SPDX-License-Identifier: MIT
 *
 * Reductions, moves, gather and sort of the Vector: every command against a plain loop
 * over elements, with masks in both modes, strides and all of UB compared, so that a byte
 * too many shows too. The rules stand in tests/model/rules.
 */
#include <math.h>
#include <string.h>

#include "tests/model/vector/rig.h"

/* The mask of a test: bits or a count, and how many repeats follow from it. */
struct mask {
    bool counter;
    uint64_t lo, hi;
};

static const struct mask masks[] = {
    {false, UINT64_MAX, UINT64_MAX},
    {false, 0x9249249249249249u, 0x00ff00000000ffffu},
    {true, 333, 0},
    {false, 1ull << 37, 0},
};
#define MASKS (sizeof(masks) / sizeof(masks[0]))

static unsigned repeats(const struct mask *m, unsigned esize, unsigned repeat)
{
    return m->counter ? (unsigned)((m->lo * esize + 255) / 256) : repeat;
}

static bool on(const struct mask *m, unsigned esize, unsigned r, unsigned e)
{
    return m->counter ? r * (256 / esize) + e < m->lo
                      : (e < 64 ? m->lo >> e : m->hi >> (e - 64)) & 1;
}

static unsigned at(unsigned base, unsigned r, unsigned e, unsigned esize, unsigned blk,
                   unsigned rep)
{
    return base + r * 32 * rep + e / (32 / esize) * 32 * blk + e % (32 / esize) * esize;
}

/* --- reductions --- */

struct lane {
    bool any;
    float v;
};

static void put_value(uint8_t *to, float v, unsigned esize)
{
    uint32_t nan = esize == 4 ? 0x7fc00000 : 0x7e00;
    _Float16 h = (_Float16)v;

    memcpy(to, isnan(v) ? (void *)&nan : esize == 4 ? (void *)&v : (void *)&h, esize);
}

/* Half of the lanes, then the other half, then both: the tree of neighbours. */
static struct lane sum(const struct lane *v, unsigned n, unsigned esize)
{
    struct lane a, b;

    if (n == 1) {
        return *v;
    }
    a = sum(v, n / 2, esize);
    b = sum(v + n / 2, n / 2, esize);
    if (!a.any || !b.any) {
        return a.any ? a : b;
    }
    a.v += b.v;
    a.v = esize == 2 ? (float)(_Float16)a.v : a.v;
    return a;
}

static bool beats(float a, float b, bool min)
{
    if (isnan(b)) {
        return false;
    }
    if (isnan(a) || (a == 0 && b == 0)) {
        return isnan(a) || (signbit(a) != signbit(b) && (signbit(a) != 0) == min);
    }
    return min ? a < b : a > b;
}

static unsigned extreme(struct lane *v, unsigned n, bool min)
{
    unsigned best = 0;
    bool any = false;

    for (unsigned i = 0; i < n; i++) {
        if (v[i].any && (!any || beats(v[i].v, v[best].v, min))) {
            best = i;
            any = true;
        }
    }
    if (!any) {
        v[0].v = min ? INFINITY : -INFINITY;
    }
    return best;
}

/* Numbers that a sum can round, and now and then what is special. */
static void fill_values(unsigned first, unsigned bytes, unsigned esize, bool special)
{
    static const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 0.0f, 1e-7f, 65504.0f};

    for (unsigned i = 0; i < bytes; i += esize) {
        float v = ((float)(rnd() % 20001) - 10000) / 37.0f;
        if (special && rnd() % 16 == 0) {
            v = odd[rnd() % 7];
        } else if (special && rnd() % 4 == 0) {
            v = -INFINITY;
        }
        put_value(ub() + first + i, v, esize);
    }
}

static void reduce_one(const union cmd *c, const struct mask *m, unsigned esize,
                       unsigned r)
{
    const struct cmd_vec_reduce *a = &c->vec_reduce;
    bool max = a->head.opcode == OP_VCMAX || a->head.opcode == OP_VCGMAX;
    bool min = a->head.opcode == OP_VCMIN || a->head.opcode == OP_VCGMIN;
    bool indexed = a->head.opcode == OP_VCMAX || a->head.opcode == OP_VCMIN;
    unsigned all = 256 / esize, group = all;
    struct lane v[128];
    uint8_t out[256], *to = out;

    if (a->head.opcode >= OP_VCGADD) {
        group = a->head.opcode == OP_VCPADD ? 2 : 32 / esize;
    }
    for (unsigned e = 0; e < all; e++) {
        unsigned from = at(a->src, r, e, esize, a->src_blk, a->src_rep);
        v[e].any = on(m, esize, r, e);
        v[e].v = v[e].any ? value_at(ub() + from, esize) : 0;
    }
    for (unsigned g = 0; g < all; g += group) {
        unsigned best = max || min ? extreme(v + g, group, min) : 0;
        unsigned width = a->head.flags == VCMAX_INDEX_ONLY ? 4 : esize;
        if (indexed && a->head.flags & (VCMAX_INDEX_FIRST | VCMAX_INDEX_ONLY)) {
            memcpy(to, &best, width);
            to += width;
        }
        if (!indexed || a->head.flags != VCMAX_INDEX_ONLY) {
            put_value(to, max || min ? v[g + best].v : sum(v + g, group, esize).v, esize);
            to += esize;
        }
        if (indexed && a->head.flags == 0) {
            memcpy(to, &best, esize);
            to += esize;
        }
    }
    memcpy(want + a->dst + r * a->dst_rep * (to - out), out, (size_t)(to - out));
}

static bool reduces(enum op op, enum type type, unsigned flags, unsigned variant)
{
    const struct mask *m = &masks[variant % MASKS];
    unsigned esize = type_bits(type) / 8, n = variant < 8 ? 5 : 21;
    bool gaps = variant & 4;
    union cmd c = rig_command(op, type);

    start();
    if (variant < 8) { /* else the noise: all numbers, subnormals too */
        fill_values(SRC, 65536, esize, variant & 1);
    }
    c.head.flags = (uint8_t)flags;
    c.vec_reduce.dst = DST;
    c.vec_reduce.src = SRC + 64;
    c.vec_reduce.repeat = (uint8_t)n;
    c.vec_reduce.dst_rep = (uint16_t)(1 + variant / 2 % 3);
    c.vec_reduce.src_blk = gaps ? 3 : 1;
    c.vec_reduce.src_rep = gaps ? 2 : 8;
    if (variant == 7) { /* in place */
        c.vec_reduce.src_blk = c.vec_reduce.dst_rep = 1;
        c.vec_reduce.src_rep = 8;
        c.vec_reduce.dst = c.vec_reduce.src;
    }
    memcpy(want, ub(), UB);
    set_mask(m->lo, m->hi, m->counter);
    for (unsigned r = 0; r < repeats(m, esize, n); r++) {
        reduce_one(&c, m, esize, r);
    }
    return gives(c);
}

TEST(vector_reduce, reductions)
{
    static const enum op ops[] = {OP_VCADD,  OP_VCMAX,  OP_VCMIN, OP_VCGADD,
                                  OP_VCGMAX, OP_VCGMIN, OP_VCPADD};

    for (unsigned i = 0; i < 7; i++) {
        bool good = true;
        for (unsigned variant = 0; variant < 16; variant++) {
            good &= reduces(ops[i], TYPE_F32, 0, variant);
            good &= reduces(ops[i], TYPE_F16, 0, variant);
        }
        ok(good, "vector_reduce/%s", cmd_find(ops[i])->name);
    }
    for (unsigned flags = 1; flags < 8; flags *= 2) {
        ok(reduces(OP_VCMAX, TYPE_F32, flags, 0) &&
               reduces(OP_VCMIN, TYPE_F16, flags, 5) &&
               reduces(OP_VCMAX, TYPE_F16, flags, 2),
           "vector_reduce/order_of_the_index_%u", flags);
    }
}

/* What Ascend's page adds: 60000 + 60000 overflows before -30000 + 100 comes. */
TEST(vector_reduce, sum_rounds_each_step)
{
    static const float v[4] = {60000, 60000, -30000, 100};
    union cmd c = rig_command(OP_VCADD, TYPE_F16);

    start();
    for (unsigned i = 0; i < 4; i++) {
        put_value(ub() + 2 * i, v[i], 2);
    }
    c.vec_reduce.dst = DST;
    c.vec_reduce.src_blk = 1;
    c.vec_reduce.src_rep = 8;
    set_mask(4, 0, true);
    run(c);
    ok(value_at(ub() + DST, 2) == INFINITY,
       "vector_reduce/fp16_sum_overflows_on_the_way");
}

/* --- moves --- */

static bool copies(enum type type, unsigned variant)
{
    const struct mask *m = &masks[variant % MASKS];
    unsigned esize = type_bits(type) / 8;
    union cmd c = rig_command(OP_VCOPY, type);

    start();
    c.vec_copy.dst = DST;
    c.vec_copy.src = SRC + 32;
    c.vec_copy.repeat = 3;
    c.vec_copy.dst_blk = variant < 4 ? 1 : 2;
    c.vec_copy.dst_rep = variant < 4 ? 8 : 16;
    c.vec_copy.src_blk = variant < 4 ? 1 : 0;
    c.vec_copy.src_rep = variant < 4 ? 8 : 300;
    memcpy(want, ub(), UB);
    set_mask(m->lo, m->hi, m->counter);
    for (unsigned r = 0; r < repeats(m, esize, 3); r++) {
        for (unsigned e = 0; e < 256 / esize; e++) {
            if (on(m, esize, r, e)) {
                memcpy(
                    want + at(DST, r, e, esize, c.vec_copy.dst_blk, c.vec_copy.dst_rep),
                    ub() +
                        at(SRC + 32, r, e, esize, c.vec_copy.src_blk, c.vec_copy.src_rep),
                    esize);
            }
        }
    }
    return gives(c);
}

/* VCI where numbered, else VDUP. */
static bool fills(enum type type, bool numbered, unsigned variant)
{
    const struct mask *m = &masks[variant % MASKS];
    unsigned esize = type_bits(type) / 8, blk = variant < 4 ? 1 : 2;
    union cmd c = rig_command(numbered ? OP_VCI : OP_VDUP, type);
    float first = type == TYPE_F32 ? 0.7f : 0x1p-14f; /* 2049 + 2^-14 is no tie */
    bool real = type == TYPE_F32 || type == TYPE_F16;

    start();
    c.vec_fill.dst = DST;
    c.vec_fill.repeat = 20;
    c.vec_fill.dst_blk = (uint16_t)blk;
    c.vec_fill.dst_rep = (uint16_t)(8 * blk);
    c.vec_fill.value = esize == 2 ? 0xfff0 : 0xfffffff0;
    if (real) {
        c.vec_fill.value = 0;
        put_value((uint8_t *)&c.vec_fill.value, first, esize);
    }
    memcpy(want, ub(), UB);
    set_mask(m->lo, m->hi, m->counter);
    for (unsigned r = 0; r < repeats(m, esize, 20); r++) {
        for (unsigned e = 0; e < 256 / esize; e++) {
            unsigned index = numbered ? r * (256 / esize) + e : 0;
            uint32_t bits = c.vec_fill.value + index;
            uint8_t *to = want + at(DST, r, e, esize, blk, 8 * blk);
            if (on(m, esize, r, e) && real) {
                double exact =
                    (double)value_at((uint8_t *)&c.vec_fill.value, esize) + index;
                _Float16 h = (_Float16)exact;
                put_value(to, esize == 2 ? (float)h : (float)exact, esize);
            } else if (on(m, esize, r, e)) {
                memcpy(to, &bits, esize);
            }
        }
    }
    return gives(c);
}

static bool broadcasts(enum type type, unsigned blk)
{
    unsigned esize = type_bits(type) / 8;
    union cmd c = rig_command(OP_VBRCB, type);

    start();
    c.vec_brcb.dst = DST;
    c.vec_brcb.src = SRC + 32;
    c.vec_brcb.repeat = 5;
    c.vec_brcb.dst_blk = (uint16_t)blk;
    c.vec_brcb.dst_rep = (uint16_t)(8 * blk);
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 5 * 8; i++) {
        for (unsigned j = 0; j < 32; j += esize) {
            memcpy(want + DST + i * blk * 32 + j, ub() + SRC + 32 + i * esize, esize);
        }
    }
    return gives(c);
}

static bool transposes(unsigned dst)
{
    union cmd c = rig_command(OP_VTRANSPOSE, TYPE_S16);

    start();
    c.vec_transpose.dst = dst;
    c.vec_transpose.src = SRC;
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 256; i++) {
        memcpy(want + dst + 2 * i, ub() + SRC + 32 * (i % 16) + 2 * (i / 16), 2);
    }
    return gives(c);
}

static void set_va(bool dst, const uint16_t blocks[16])
{
    union cmd c = rig_command(OP_SET_VA, TYPE_NONE);

    c.head.flags = dst;
    memcpy(&c.bytes[sizeof(struct cmd_head)], blocks, 32);
    run(c);
}

static bool transdata(enum type type, unsigned flags, unsigned repeat)
{
    unsigned esize = type_bits(type) / 8, columns = esize == 4 ? 8 : 16;
    union cmd c = rig_command(OP_VTRANSDATA, type);
    uint16_t to[16], from[16];

    start();
    for (unsigned i = 0; i < 16; i++) {
        to[i] = (uint16_t)(DST / 32 + (i * 7 % 16) * 5);
        from[i] = (uint16_t)(rnd() % 1000);
    }
    c.head.flags = (uint8_t)flags;
    c.vec_transdata.repeat = (uint8_t)repeat;
    c.vec_transdata.dst_rep = 80;
    c.vec_transdata.src_rep = 1;
    set_va(true, to);
    set_va(false, from);
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < repeat * columns * 16; i++) {
        unsigned r = i / (columns * 16), column = i / 16 % columns, row = i % 16;
        unsigned byte = (column * 16 + row) * esize, half = esize == 1 ? 16 : 32;
        memcpy(want + 32 * (to[byte / half] + r * 80) + byte % half +
                   (flags & VTRANSDATA_DST_HIGH ? 16 : 0),
               ub() + 32 * (from[row] + r) + column * esize +
                   (flags & VTRANSDATA_SRC_HIGH ? 16 : 0),
               esize);
    }
    return gives(c);
}

static bool interleaves(enum op op, enum type type, unsigned count, bool in_place)
{
    unsigned esize = type_bits(type) / 8, bytes = count * esize;
    union cmd c = rig_command(op, type);
    uint32_t dst[2] = {in_place ? SRC : DST + 32768, in_place ? SRC1 : DST};

    start();
    c.vec_intlv.dst0 = dst[0];
    c.vec_intlv.dst1 = dst[1];
    c.vec_intlv.src0 = SRC;
    c.vec_intlv.src1 = SRC1;
    c.vec_intlv.count = count;
    memcpy(want, ub(), UB);
    for (unsigned i = 0; i < 2 * count; i++) { /* of the mixed sequence */
        unsigned half = i % 2 * bytes + i / 2 * esize, whole = i * esize;
        unsigned from = op == OP_VINTLV ? half : whole,
                 to = op == OP_VINTLV ? whole : half;
        memcpy(want + dst[to >= bytes] + to % bytes,
               ub() + (from >= bytes ? SRC1 : SRC) + from % bytes, esize);
    }
    return gives(c);
}

TEST(vector_move, moves)
{
    bool copy = true, dup = true, ci = true;

    for (unsigned variant = 0; variant < 8; variant++) {
        copy &= copies(TYPE_S32, variant) && copies(TYPE_BF16, variant);
        dup &= fills(TYPE_F32, false, variant) && fills(TYPE_S16, false, variant);
        ci &= fills(TYPE_F32, true, variant) && fills(TYPE_F16, true, variant) &&
              fills(TYPE_S32, true, variant) && fills(TYPE_S16, true, variant);
    }
    ok(copy, "vector_move/VCOPY");
    ok(dup, "vector_move/VDUP");
    ok(ci, "vector_move/VCI");
    ok(broadcasts(TYPE_F32, 1) && broadcasts(TYPE_F16, 3), "vector_move/VBRCB");
    ok(transposes(DST) && transposes(SRC), "vector_move/VTRANSPOSE");
    ok(transdata(TYPE_S16, 0, 1) && transdata(TYPE_F32, 0, 3) &&
           transdata(TYPE_U8, 0, 2) && transdata(TYPE_S8, 1, 2) &&
           transdata(TYPE_U8, 2, 1) && transdata(TYPE_U8, 3, 40),
       "vector_move/VTRANSDATA");
    ok(interleaves(OP_VINTLV, TYPE_F32, 100, false) &&
           interleaves(OP_VINTLV, TYPE_S8, 77, true),
       "vector_move/VINTLV");
    ok(interleaves(OP_VDINTLV, TYPE_F16, 100, true) &&
           interleaves(OP_VDINTLV, TYPE_F32, 1002, false),
       "vector_move/VDINTLV");
}

/* 5 elements in the last block of UB: the address sanitizer sees what is read behind. */
TEST(vector_move, end_of_ub)
{
    static const enum op ops[] = {OP_VCOPY, OP_VCADD, OP_VCMAX};

    for (unsigned i = 0; i < 3; i++) {
        union cmd c = rig_command(ops[i], TYPE_F32);
        start();
        set_mask(5, 0, true);
        if (ops[i] != OP_VCOPY) {
            c.vec_reduce.src = UB - 32;
            c.vec_reduce.src_blk = 1;
            c.vec_reduce.src_rep = 8;
        } else {
            c.vec_copy.src = UB - 32;
            c.vec_copy.dst_blk = c.vec_copy.src_blk = 1;
            c.vec_copy.dst_rep = c.vec_copy.src_rep = 8;
        }
        ok(run(c) == 0, "vector_move/%s_reads_nothing_behind_ub", cmd_find(ops[i])->name);
    }
}

/* 2048 + i in halves: odd sums are ties, and go to a multiple of 4. */
TEST(vector_reduce, index_of_halves)
{
    union cmd c = rig_command(OP_VCI, TYPE_F16);
    bool good = true;
    struct rig r;

    rig_open(&r, 1, PROFILE_a2);
    c.vec_fill = (struct cmd_vec_fill){c.head, 0, 0x6800, 1, 8, 1};
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    for (unsigned i = 0; i < 128; i++) {
        unsigned even = i % 2 == 0 ? i : i % 4 == 1 ? i - 1 : i + 1;
        uint16_t got;
        memcpy(&got, r.npu.mem[0][NPU_MEM_UB] + 2 * i, 2);
        good &= got == 0x6800 + even / 2;
    }
    ok(good, "vector_move/VCI_of_halves_rounds_ties_to_even");
    rig_close(&r);
}
