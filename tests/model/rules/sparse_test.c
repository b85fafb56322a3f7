/* SPDX-License-Identifier: MIT
 *
 * Rules of SPARSE_L1_L0B and MMAD_SPARSE: each broken one gives its code and field, and
 * the command has no effect.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rules/rule.h"
#include "tests/test.h"

enum { L0 = 65536, L1 = 524288, NOISE = 0x5a };

static void start(void)
{
    fresh();
    memset(mem(NPU_MEM_L0B), NOISE, L0);
    memset(mem(NPU_MEM_L0B_INDEX), NOISE, L0 / 4); /* 2 2 1 1 */
    memset(mem(NPU_MEM_L0C), NOISE, 131072);
}

/* Of mmad(): a has 2 x 3 fractals, b 2 x 2, with 34 rows. */
/* clang-format off */
static const struct rule load_rules[] = {
    {"u8", OP_SPARSE_L1_L0B, WRONG(head, type, TYPE_U8, TYPE)},
    {"transpose", OP_SPARSE_L1_L0B, WRONG(head, flags, 1, FLAGS)},
    {"destination_between_fractals", OP_SPARSE_L1_L0B, WRONG(sparse, dst, 256, ALIGN)},
    {"unaligned_source", OP_SPARSE_L1_L0B, WRONG(sparse, src, 16, ALIGN)},
    {"unaligned_index", OP_SPARSE_L1_L0B, WRONG(sparse, index, 16, ALIGN)},
    {"end_of_l0b", OP_SPARSE_L1_L0B, WRONG(sparse, dst, L0 - 512, BOUNDS)},
    {"end_of_source", OP_SPARSE_L1_L0B, WRONG(sparse, src, L1 - 992, BOUNDS)},
    {"end_of_index", OP_SPARSE_L1_L0B, WRONG(sparse, index, L1 - 224, BOUNDS)},
    {"start_beyond_l1", OP_SPARSE_L1_L0B, TELLS(sparse, start, 1023, BOUNDS, sparse, src)},
    {"byte_behind_the_operands", OP_SPARSE_L1_L0B, BEHIND(39)},
};

static const struct rule mmad_rules[] = {
    {"f16", OP_MMAD_SPARSE, WRONG(head, type, TYPE_F16, TYPE)},
    {"s4", OP_MMAD_SPARSE, WRONG(head, type, TYPE_S4, TYPE)},
    {"gemv", OP_MMAD_SPARSE, WRONG(head, flags, MMAD_GEMV, FLAGS)},
    {"k_align", OP_MMAD_SPARSE, WRONG(head, flags, MMAD_K_ALIGN, FLAGS)},
    {"init_and_bias", OP_MMAD_SPARSE,
     WRONG(head, flags, MMAD_SPARSE_INIT | MMAD_SPARSE_BIAS, RANGE)},
    {"address_of_no_bias", OP_MMAD_SPARSE, WRONG(mmad, bias, 64, RESERVED)},
    {"flag_1", OP_MMAD_SPARSE, WRONG(mmad, unit, 1, RANGE)},
    {"m_4096", OP_MMAD_SPARSE, WRONG(mmad, m, 4096, RANGE)},
    {"n_4096", OP_MMAD_SPARSE, WRONG(mmad, n, 4096, RANGE)},
    {"k_4096", OP_MMAD_SPARSE, WRONG(mmad, k, 4096, RANGE)},
    {"unaligned_c", OP_MMAD_SPARSE, WRONG(mmad, dst, 512, ALIGN)},
    {"unaligned_a", OP_MMAD_SPARSE, WRONG(mmad, a, 256, ALIGN)},
    {"unaligned_b", OP_MMAD_SPARSE, WRONG(mmad, b, 256, ALIGN)},
    {"unaligned_bias", OP_MMAD_SPARSE, WRONG(mmad, bias, 32, ALIGN), .flags = MMAD_SPARSE_BIAS},
    {"end_of_c", OP_MMAD_SPARSE, WRONG(mmad, dst, 131072 - 3072, BOUNDS)},
    {"end_of_a", OP_MMAD_SPARSE, WRONG(mmad, a, L0 - 2560, BOUNDS)},
    {"end_of_b", OP_MMAD_SPARSE, WRONG(mmad, b, L0 - 1536, BOUNDS)},
    {"end_of_bias", OP_MMAD_SPARSE, WRONG(mmad, bias, 960, BOUNDS), .flags = MMAD_SPARSE_BIAS},
};
/* clang-format on */

static union cmd load(const struct rule *rule)
{
    union cmd c = rig_command(rule->op, TYPE_S8);

    c.sparse.repeat = 2;
    return c;
}

static union cmd mmad(const struct rule *rule)
{
    union cmd c = rig_command(OP_MMAD_SPARSE, TYPE_S8);

    c.head.flags = rule == NULL ? 0 : (uint8_t)rule->flags;
    c.mmad.m = 17;
    c.mmad.n = 18;
    c.mmad.k = 65;
    return c;
}

TEST(sparse, rules)
{
    check_rules("sparse/load_refuses_", load_rules, LENGTH(load_rules), load, NULL);
    check_rules("sparse/mmad_refuses_", mmad_rules, LENGTH(mmad_rules), mmad, NULL);
}

/* Byte `at` of b, at 512 of L0B, has the index 3. */
static union cmd with_3(unsigned at)
{
    union cmd c = mmad(NULL);

    start();
    c.mmad.b = 512;
    mem(NPU_MEM_L0B_INDEX)[128 + at / 4] |= (uint8_t)(3 << at % 4 * 2);
    return c;
}

/* b has 34 rows and 18 columns in 2 x 2 fractals. */
TEST(sparse, index)
{
    static const unsigned in[] = {
        0,                    /* row 0, column 0 */
        15 * 32 + 31,         /* 31, 15 */
        512 + 1 * 32 + 2,     /* 2, 17 */
        2 * 512 + 3 * 32 + 1, /* 33, 3 */
        3 * 512 + 1 * 32,     /* 32, 17 */
    };
    static const unsigned out[] = {
        512 + 2 * 32,           /* column 18 */
        2 * 512 + 2,            /* row 34 */
        3 * 512 + 15 * 32 + 31, /* both */
    };
    bool good = true;
    union cmd c;

    for (unsigned i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        good &= refused(with_3(in[i]), NPU_ERR_INDEX, offsetof(struct cmd_mmad, b)) &&
                rig_read(&rig, 0, rig_pipe(PIPE_M, PIPE_ERROR_ADDR)) == 512 + in[i] &&
                rig_read(&rig, 0, rig_pipe(PIPE_M, PIPE_ERROR_VALUE)) == 3 &&
                mem(NPU_MEM_L0C)[0] == NOISE;
    }
    ok(good, "sparse/mmad_refuses_an_index_of_3");
    good = true;
    for (unsigned i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
        c = with_3(out[i]);
        c.head.flags = MMAD_SPARSE_INIT;
        good &= run(c) == 0 && mem(NPU_MEM_L0C)[0] != NOISE;
    }
    ok(good, "sparse/an_index_outside_of_b_does_not_matter");
}

/* It is found when the command begins: that has taken its semaphores, but posts nothing.
 */
TEST(sparse, semaphores)
{
    union cmd c = mmad(NULL);

    start();
    mem(NPU_MEM_L0B_INDEX)[0] |= 3;
    rig_write(&rig, 0, SEM_POST + 8 * 5, 3);
    c.head.wait_sem[0] = c.head.post_sem[0] = 5;
    c.head.wait_n[0] = 2;
    c.head.post_n[0] = 4;
    ok(run(c) == NPU_ERR_INDEX && rig_read(&rig, 0, SEM_VALUE + 8 * 5) == 1,
       "sparse/an_index_of_3_has_taken_its_semaphores");
}
