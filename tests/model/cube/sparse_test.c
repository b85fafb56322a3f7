/* SPDX-License-Identifier: MIT
 *
 * MMAD_SPARSE as a command, on every host path, against plain loops over the formula of
 * cube.md, and against the product with the whole b.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/arith/simd.h"

enum { L0 = 65536, INDEX = 16384, C_BYTES = 131072, BT = 1024, NOISE = 0x5a };
enum { C_AT = 2048, BT_AT = 64 };

static uint32_t a_at = 512, b_at = 1024; /* in L0A, L0B */
static uint32_t want[C_BYTES / 4];

/* A fresh chip with noise in its memories. */
static void start(void)
{
    fresh();
    noise(mem(NPU_MEM_L0A), L0);
    noise(mem(NPU_MEM_L0B), L0);
    noise(mem(NPU_MEM_L0B_INDEX), INDEX);
    memset(mem(NPU_MEM_L0C), NOISE, C_BYTES);
    memset(mem(NPU_MEM_BT), NOISE, BT);
}

/* --- MMAD_SPARSE --- */

struct job {
    unsigned m, n, k, flags;
};

static int8_t a_of[1 << 16], b_of[1 << 16], all_b[1 << 17]; /* by rows */
static uint8_t which[1 << 16];                              /* 0 to 2, as b_of */

static unsigned rows_of(const struct job *j)
{
    return 2 * up(j->k, 4);
}

static size_t c_at(const struct job *j, unsigned r, unsigned c)
{
    return C_AT + (size_t)(c / 16 * up(j->m, 16) + r / 16) * 1024 + r % 16 * 64 +
           c % 16 * 4;
}

static void set_index(size_t byte_of_b, unsigned value)
{
    uint8_t *to = &mem(NPU_MEM_L0B_INDEX)[byte_of_b / 4];
    unsigned shift = byte_of_b % 4 * 2;

    *to = (uint8_t)((*to & ~(3u << shift)) | value << shift);
}

/* a_of, b_of and which to where the page says that they are, the start to L0C or BT. */
static void lay_out(const struct job *j)
{
    for (unsigned r = 0; r < j->m; r++) {
        for (unsigned x = 0; x < j->k; x++) {
            size_t at = (size_t)(r / 16 * up(j->k, 32) + x / 32) * 512 + r % 16 * 32;

            mem(NPU_MEM_L0A)[a_at + at + x % 32] = (uint8_t)a_of[r * j->k + x];
        }
    }
    for (unsigned x = 0; x < rows_of(j); x++) {
        for (unsigned c = 0; c < j->n; c++) {
            size_t at = b_at + (size_t)(x / 32 * up(j->n, 16) + c / 16) * 512 +
                        c % 16 * 32 + x % 32;

            mem(NPU_MEM_L0B)[at] = (uint8_t)b_of[x * j->n + c];
            set_index(at, which[x * j->n + c]);
        }
    }
    for (unsigned i = 0; i < j->m * j->n; i++) {
        uint32_t word = rnd();

        memcpy(mem(NPU_MEM_L0C) + c_at(j, i / j->n, i % j->n), &word, 4);
    }
    for (unsigned i = BT_AT; j->flags & MMAD_SPARSE_BIAS && i < BT; i++) {
        mem(NPU_MEM_BT)[i] = (uint8_t)rnd();
    }
}

static uint32_t first_value(const struct job *j, unsigned r, unsigned c)
{
    uint32_t word = 0;

    if (j->flags & MMAD_SPARSE_BIAS) {
        memcpy(&word, mem(NPU_MEM_BT) + BT_AT + c * 4, 4);
    } else if (!(j->flags & MMAD_SPARSE_INIT)) {
        memcpy(&word, mem(NPU_MEM_L0C) + c_at(j, r, c), 4);
    }
    return word;
}

static int a_or_0(const struct job *j, unsigned r, unsigned x)
{
    return x < j->k ? a_of[r * j->k + x] : 0;
}

/* The formula; whole: the product with all_b, which has k rows. */
static uint32_t sum(const struct job *j, unsigned r, unsigned c, bool whole)
{
    uint32_t s = first_value(j, r, c);

    for (unsigned x = 0; whole && x < j->k; x++) {
        s += (uint32_t)(a_of[r * j->k + x] * all_b[x * j->n + c]);
    }
    for (unsigned p = 0; !whole && p < rows_of(j) / 2; p++) {
        unsigned at = 2 * p * j->n + c;
        s += (uint32_t)(b_of[at] * a_or_0(j, r, 4 * p + which[at]));
        at += j->n;
        s += (uint32_t)(b_of[at] * a_or_0(j, r, 4 * p + 1 + which[at]));
    }
    return s;
}

static union cmd mmad(const struct job *j)
{
    union cmd c = rig_command(OP_MMAD_SPARSE, TYPE_S8);

    c.head.flags = (uint8_t)j->flags;
    c.mmad.dst = C_AT;
    c.mmad.a = a_at;
    c.mmad.b = b_at;
    c.mmad.bias = j->flags & MMAD_SPARSE_BIAS ? BT_AT : 0;
    c.mmad.m = (uint16_t)j->m;
    c.mmad.n = (uint16_t)j->n;
    c.mmad.k = (uint16_t)j->k;
    return c;
}

/* Runs it and compares all of L0C. */
static bool check(const struct job *j, bool whole)
{
    bool fresh = j->flags & (MMAD_SPARSE_INIT | MMAD_SPARSE_BIAS);
    unsigned error;

    start();
    lay_out(j);
    memcpy(want, mem(NPU_MEM_L0C), C_BYTES);
    for (unsigned r = 0; r < up(j->m, 16) * 16; r++) {
        for (unsigned c = 0; c < up(j->n, 16) * 16; c++) {
            uint32_t *to = &want[c_at(j, r, c) / 4];

            *to = r < j->m && c < j->n ? sum(j, r, c, whole) : fresh ? 0 : *to;
        }
    }
    error = run(mmad(j));
    for (unsigned i = 0; i < C_BYTES / 4; i++) {
        uint32_t got;

        memcpy(&got, mem(NPU_MEM_L0C) + i * 4, 4);
        if (got != want[i] || error) {
            test_note("%ux%ux%u flags %u error %u: word %u is %08x, want %08x", j->m,
                      j->n, j->k, j->flags, error, i, got, want[i]);
            return false;
        }
    }
    return true;
}

/* Any numbers and any indices, also such that both of a pair name the same position. */
static void any_operands(const struct job *j, bool extreme)
{
    for (unsigned i = 0; i < j->m * j->k; i++) {
        a_of[i] = (int8_t)(extreme ? (rnd() & 1 ? -128 : 127) : (int)rnd());
    }
    for (unsigned i = 0; i < rows_of(j) * j->n; i++) {
        b_of[i] = (int8_t)(extreme ? (rnd() & 1 ? -128 : 127) : (int)rnd());
        which[i] = (uint8_t)(rnd() % 3);
    }
}

/* all_b with up to 2 of each 4 rows not 0, and from it what asc-devkit's table says. */
static void pruned_operands(const struct job *j)
{
    any_operands(j, false);
    memset(all_b, 0, sizeof(all_b));
    for (unsigned p = 0; p < rows_of(j) / 2; p++) {
        for (unsigned c = 0; c < j->n; c++) {
            unsigned at = 2 * p * j->n + c, kept = rnd() % 3, found[2], n = 0;

            for (unsigned i = 0; i < kept; i++) {
                all_b[(4 * p + rnd() % 4) * j->n + c] = (int8_t)(rnd() | 1);
            }
            for (unsigned q = 0; q < 4; q++) {
                if (all_b[(4 * p + q) * j->n + c]) {
                    found[n++] = q;
                }
            }
            b_of[at] = b_of[at + j->n] = 0;
            which[at] = which[at + j->n] = 0;
            if (n == 1 && found[0] == 3) { /* 0 and 2 */
                b_of[at + j->n] = all_b[(4 * p + 3) * j->n + c];
                which[at + j->n] = 2;
            } else if (n) {
                b_of[at] = all_b[(4 * p + found[0]) * j->n + c];
                which[at] = (uint8_t)found[0];
            }
            if (n == 2) {
                b_of[at + j->n] = all_b[(4 * p + found[1]) * j->n + c];
                which[at + j->n] = (uint8_t)(found[1] - 1);
            }
        }
    }
}

static void test_products(const char *path)
{
    static const struct job jobs[] = {
        {128, 128, 64, 0}, {16, 16, 64, 1}, {1, 1, 1, 0},     {1, 17, 4, 1},
        {17, 33, 65, 0},   {33, 18, 70, 1}, {5, 40, 31, 0},   {20, 20, 191, 1},
        {3, 16, 127, 0},   {6, 31, 258, 1}, {16, 7, 2047, 0},
    };
    struct job j = {18, 40, 99, MMAD_SPARSE_BIAS};
    bool any = true, extreme = true, pruned = true;

    for (unsigned i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
        any_operands(&jobs[i], false);
        any &= check(&jobs[i], false);
        any_operands(&jobs[i], true);
        extreme &= check(&jobs[i], false);
        pruned_operands(&jobs[i]);
        pruned &= check(&jobs[i], true);
    }
    ok(any, "sparse/any_operands_%s", path);
    ok(extreme, "sparse/extreme_operands_%s", path);
    ok(pruned, "sparse/product_with_the_whole_b_%s", path);
    any_operands(&j, false);
    ok(check(&j, false), "sparse/from_bias_%s", path);
}

TEST(sparse, products)
{
    for (enum simd level = SIMD_PLAIN, best = simd_level(); level <= best; level++) {
        simd_limit(level);
        test_products(simd_name(level));
    }
}

TEST(sparse, longest)
{
    const struct job j = {16, 32, 4095, 0};

    a_at = b_at = 0; /* all of L0A and L0B */
    any_operands(&j, false);
    ok(check(&j, false), "sparse/longest_k");
    a_at = 512;
    b_at = 1024;
}

/* asc-devkit's example of the order in a byte: the numbers 1 2 0 1 0 2 1 0 are the bytes
 * 1 0 2 1 and 0 1 2 0, read from the high bits. a is the identity, so c is the whole b.
 */
TEST(sparse, order)
{
    static const int32_t column[16] = {0, 1, 0, 2, 3, 0, 4, 0, 5, 0, 0, 6, 0, 15, 0, 0};
    const struct job j = {16, 1, 16, MMAD_SPARSE_INIT};
    int32_t got[16];

    start();
    memset(mem(NPU_MEM_L0A) + a_at, 0, 512);
    for (unsigned i = 0; i < 16; i++) {
        mem(NPU_MEM_L0A)[a_at + i * 32 + i] = 1;
        mem(NPU_MEM_L0B)[b_at + i] = (uint8_t)(i + 1);
    }
    mem(NPU_MEM_L0B_INDEX)[b_at / 4] = 1 << 6 | 0 << 4 | 2 << 2 | 1;
    mem(NPU_MEM_L0B_INDEX)[b_at / 4 + 1] = 0 << 6 | 1 << 4 | 2 << 2 | 0;
    run(mmad(&j));
    for (unsigned i = 0; i < 16; i++) {
        memcpy(&got[i], mem(NPU_MEM_L0C) + c_at(&j, i, 0), 4);
    }
    ok(memcmp(got, column, sizeof(got)) == 0, "sparse/order_of_the_published_example");
}

static uint64_t pmu(unsigned counter)
{
    return rig_read(&rig, 0, rig_pipe(PIPE_M, counter));
}

/* 62 is MMAD_FIRST; then a cycle for 16 x 16 x 32 of what L0B holds. */
TEST(sparse, costs)
{
    static const struct {
        struct job job;
        unsigned cycles, ops, reads;
    } t[] = {
        {{128, 128, 64, MMAD_SPARSE_INIT}, 64, 128 * 128 * 32, 8192 + 4096 + 1024},
        {{17, 33, 64, MMAD_SPARSE_INIT}, 6, 17 * 33 * 32, 2048 + 1536 + 384},
        {{17, 33, 65, 0}, 12, 17 * 33 * 34, 3072 + 3072 + 768 + 6144},
        {{0, 33, 65, 0}, 0, 0, 0},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        const struct job *j = &t[i].job;
        uint64_t begin;

        start();
        memset(mem(NPU_MEM_L0B_INDEX), 0, INDEX);
        rig_to(&rig, 1000);
        begin = rig.now;
        ok(run(mmad(j)) == 0 && rig.now - begin == (j->m ? 62 + t[i].cycles : 1) &&
               pmu(PMU_OPS) == t[i].ops && pmu(PMU_BYTES_READ) == t[i].reads &&
               pmu(PMU_COMMANDS) == 1,
           "sparse/cost_of_%ux%ux%u", j->m, j->n, j->k);
    }
}

/* --- unit flags --- */

static unsigned marks(void)
{
    unsigned n = 0;

    for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
        n += (unsigned)__builtin_popcountll(rig_read(&rig, 0, UNIT_MARK + 8 * w));
    }
    return n;
}

TEST(sparse, units)
{
    const struct job j = {16, 16, 64, MMAD_SPARSE_INIT};
    union cmd c = mmad(&j), fix = rig_command(OP_FIX_L0C_GM, TYPE_S32);
    bool good = true;

    any_operands(&j, false);
    start();
    lay_out(&j);
    c.mmad.unit = UNIT_PASS;
    fix.fix_gm.dst = RIG_GM_BASE;
    fix.fix_gm.src = C_AT;
    fix.fix_gm.m = fix.fix_gm.n = fix.fix_gm.src_c0_stride = 16;
    fix.fix_gm.nd_num = 1;
    fix.fix_gm.dst_pitch = 16;
    fix.fix_gm.unit = UNIT_PASS;
    rig_push(&rig, 0, PIPE_FIX, &fix);
    good = run(c) == 0 && rig_error(&rig, 0, PIPE_FIX) == 0 && marks() == 0;
    for (unsigned i = 0; i < 256; i++) {
        uint32_t s = sum(&j, i / 16, i % 16, false);
        good &= memcmp(rig.gm + 4 * i, &s, 4) == 0;
    }
    ok(good, "sparse/the_fixpipe_follows_by_unit_flags");
    set_index(b_at + 5, 3);
    ok(run(c) == NPU_ERR_INDEX && marks() == 0, "sparse/a_wrong_index_passes_no_units");
}
