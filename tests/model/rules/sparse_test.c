/* SPDX-License-Identifier: MIT
 *
 * Rules of SPARSE_L1_L0B and MMAD_SPARSE: each broken one gives its code and field, and
 * the command has no effect.
 */
#include <string.h>

#include "tests/model/rig.h"
#include "tests/model/tap.h"

enum { L0 = 65536, L1 = 524288, NOISE = 0x5a };

static struct rig rig;

static uint8_t *mem(enum npu_mem m)
{
    return rig.npu.mem[0][m];
}

static void start(void)
{
    if (rig.gm) {
        rig_close(&rig);
    }
    rig_open(&rig, 1, PROFILE_a2);
    memset(mem(NPU_MEM_L0B), NOISE, L0);
    memset(mem(NPU_MEM_L0B_INDEX), NOISE, L0 / 4); /* 2 2 1 1 */
    memset(mem(NPU_MEM_L0C), NOISE, 131072);
}

struct rule {
    const char *name;
    enum type type;
    unsigned flags;
    unsigned offset, size;
    uint64_t value;
    unsigned code, field;
};

/* The command with one thing wrong. */
static uint64_t broken(union cmd c, const struct rule *rule)
{
    enum pipe pipe = (enum pipe)cmd_find(c.head.opcode)->pipe;

    c.head.type = (uint8_t)rule->type;
    c.head.flags = (uint8_t)rule->flags;
    memcpy(c.bytes + rule->offset, &rule->value, rule->size);
    rig_push(&rig, 0, pipe, &c);
    rig_drain(&rig);
    return rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR));
}

static bool gives(uint64_t error, const struct rule *rule)
{
    return field_get(PIPE_ERROR_CODE, error) == rule->code &&
           field_get(PIPE_ERROR_FIELD, error) == rule->field;
}

#define OF(format, field)                                                                \
    offsetof(struct cmd_##format, field), sizeof(((struct cmd_##format *)0)->field)

static void test_load(void)
{
    static const struct rule rules[] = {
        {"u8", TYPE_U8, 0, 0, 0, 0, NPU_ERR_TYPE, 2},
        {"transpose", TYPE_S8, 1, 0, 0, 0, NPU_ERR_FLAGS, 3},
        {"destination_between_fractals", TYPE_S8, 0, OF(sparse, dst), 256, NPU_ERR_ALIGN,
         24},
        {"unaligned_source", TYPE_S8, 0, OF(sparse, src), 16, NPU_ERR_ALIGN, 28},
        {"unaligned_index", TYPE_S8, 0, OF(sparse, index), 16, NPU_ERR_ALIGN, 32},
        {"end_of_l0b", TYPE_S8, 0, OF(sparse, dst), L0 - 512, NPU_ERR_BOUNDS, 24},
        {"end_of_source", TYPE_S8, 0, OF(sparse, src), L1 - 992, NPU_ERR_BOUNDS, 28},
        {"end_of_index", TYPE_S8, 0, OF(sparse, index), L1 - 224, NPU_ERR_BOUNDS, 32},
        {"start_beyond_l1", TYPE_S8, 0, OF(sparse, start), 1023, NPU_ERR_BOUNDS, 28},
        {"byte_behind_the_operands", TYPE_S8, 0, 39, 1, 1, NPU_ERR_RESERVED, 39},
    };

    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        union cmd c = rig_command(OP_SPARSE_L1_L0B, TYPE_S8);

        start();
        c.sparse.repeat = 2;
        ok(gives(broken(c, &rules[i]), &rules[i]) && mem(NPU_MEM_L0B)[0] == NOISE &&
               mem(NPU_MEM_L0B)[L0 - 512] == NOISE &&
               mem(NPU_MEM_L0B_INDEX)[0] == NOISE &&
               mem(NPU_MEM_L0B_INDEX)[L0 / 4 - 128] == NOISE,
           "sparse/load_refuses_%s", rules[i].name);
    }
}

static union cmd mmad(void)
{
    union cmd c = rig_command(OP_MMAD_SPARSE, TYPE_S8);

    c.mmad.m = 17;
    c.mmad.n = 18;
    c.mmad.k = 65; /* a has 2 x 3 fractals, b 2 x 2, with 34 rows */
    return c;
}

static void test_mmad(void)
{
    static const struct rule rules[] = {
        {"f16", TYPE_F16, 0, 0, 0, 0, NPU_ERR_TYPE, 2},
        {"s4", TYPE_S4, 0, 0, 0, 0, NPU_ERR_TYPE, 2},
        {"gemv", TYPE_S8, MMAD_GEMV, 0, 0, 0, NPU_ERR_FLAGS, 3},
        {"k_align", TYPE_S8, MMAD_K_ALIGN, 0, 0, 0, NPU_ERR_FLAGS, 3},
        {"init_and_bias", TYPE_S8, MMAD_SPARSE_INIT | MMAD_SPARSE_BIAS, 0, 0, 0,
         NPU_ERR_RANGE, 3},
        {"address_of_no_bias", TYPE_S8, 0, OF(mmad, bias), 64, NPU_ERR_RESERVED, 36},
        {"flag_1", TYPE_S8, 0, OF(mmad, unit), 1, NPU_ERR_RANGE, 46},
        {"m_4096", TYPE_S8, 0, OF(mmad, m), 4096, NPU_ERR_RANGE, 40},
        {"n_4096", TYPE_S8, 0, OF(mmad, n), 4096, NPU_ERR_RANGE, 42},
        {"k_4096", TYPE_S8, 0, OF(mmad, k), 4096, NPU_ERR_RANGE, 44},
        {"unaligned_c", TYPE_S8, 0, OF(mmad, dst), 512, NPU_ERR_ALIGN, 24},
        {"unaligned_a", TYPE_S8, 0, OF(mmad, a), 256, NPU_ERR_ALIGN, 28},
        {"unaligned_b", TYPE_S8, 0, OF(mmad, b), 256, NPU_ERR_ALIGN, 32},
        {"unaligned_bias", TYPE_S8, MMAD_SPARSE_BIAS, OF(mmad, bias), 32, NPU_ERR_ALIGN,
         36},
        {"end_of_c", TYPE_S8, 0, OF(mmad, dst), 131072 - 3072, NPU_ERR_BOUNDS, 24},
        {"end_of_a", TYPE_S8, 0, OF(mmad, a), L0 - 2560, NPU_ERR_BOUNDS, 28},
        {"end_of_b", TYPE_S8, 0, OF(mmad, b), L0 - 1536, NPU_ERR_BOUNDS, 32},
        {"end_of_bias", TYPE_S8, MMAD_SPARSE_BIAS, OF(mmad, bias), 960, NPU_ERR_BOUNDS,
         36},
    };

    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        start();
        ok(gives(broken(mmad(), &rules[i]), &rules[i]) && mem(NPU_MEM_L0C)[0] == NOISE &&
               mem(NPU_MEM_L0C)[131072 - 3072] == NOISE,
           "sparse/mmad_refuses_%s", rules[i].name);
    }
}

static const struct rule index_3 = {"index", TYPE_S8, 0, 0, 0, 0, NPU_ERR_INDEX, 32};
static const struct rule nothing = {"nothing", TYPE_S8, MMAD_SPARSE_INIT, 0, 0, 0, 0, 0};

/* Byte `at` of b, at 512 of L0B, has the index 3. */
static uint64_t with_3(unsigned at, const struct rule *rule)
{
    union cmd c = mmad();

    start();
    c.mmad.b = 512;
    mem(NPU_MEM_L0B_INDEX)[128 + at / 4] |= (uint8_t)(3 << at % 4 * 2);
    return broken(c, rule);
}

/* b has 34 rows and 18 columns in 2 x 2 fractals. */
static void test_index(void)
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

    for (unsigned i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
        good &= gives(with_3(in[i], &index_3), &index_3) &&
                rig_read(&rig, 0, rig_pipe(PIPE_M, PIPE_ERROR_ADDR)) == 512 + in[i] &&
                rig_read(&rig, 0, rig_pipe(PIPE_M, PIPE_ERROR_VALUE)) == 3 &&
                mem(NPU_MEM_L0C)[0] == NOISE;
    }
    ok(good, "sparse/mmad_refuses_an_index_of_3");
    good = true;
    for (unsigned i = 0; i < sizeof(out) / sizeof(out[0]); i++) {
        good &= gives(with_3(out[i], &nothing), &nothing) && mem(NPU_MEM_L0C)[0] != NOISE;
    }
    ok(good, "sparse/an_index_outside_of_b_does_not_matter");
}

/* It is found when the command begins: that has taken its semaphores, but posts nothing.
 */
static void test_semaphores(void)
{
    union cmd c = mmad();

    start();
    mem(NPU_MEM_L0B_INDEX)[0] |= 3;
    rig_write(&rig, 0, SEM_POST + 8 * 5, 3);
    c.head.wait_sem[0] = c.head.post_sem[0] = 5;
    c.head.wait_n[0] = 2;
    c.head.post_n[0] = 4;
    rig_push(&rig, 0, PIPE_M, &c);
    rig_drain(&rig);
    ok(rig_error(&rig, 0, PIPE_M) == NPU_ERR_INDEX &&
           rig_read(&rig, 0, SEM_VALUE + 8 * 5) == 1,
       "sparse/an_index_of_3_has_taken_its_semaphores");
}

int main(void)
{
    test_load();
    test_mmad();
    test_index();
    test_semaphores();
    rig_close(&rig);
    return tap_done();
}
