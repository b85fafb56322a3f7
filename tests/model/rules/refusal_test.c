/* SPDX-License-Identifier: MIT
 *
 * Commands that break a rule: the right code and field, and no effect.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

/* Each line: a good copy with one thing wrong, and the code and field it must give. */
TEST(refusal, rules)
{
    static const struct {
        const char *name;
        unsigned offset, size;
        uint64_t value;
        unsigned code;
    } rules[] = {
        {"unknown_opcode", 0, 2, 0xfff, NPU_ERR_OPCODE},
        {"opcode_of_another_pipe", 0, 2, OP_VADD, NPU_ERR_PIPE},
        {"type_that_it_does_not_take", 2, 1, TYPE_F16, NPU_ERR_TYPE},
        {"flag_that_it_does_not_have", 3, 1, 1, NPU_ERR_FLAGS},
        {"wait_semaphore_128", 16, 1, 128, NPU_ERR_SEM_INDEX},
        {"post_semaphore_200", 20, 1, 200, NPU_ERR_SEM_INDEX},
        {"length_above_its_range", offsetof(struct cmd_copy_in, len_bytes), 4, 2097152,
         NPU_ERR_RANGE},
        {"blocks_above_their_range", offsetof(struct cmd_copy_in, n_blocks), 2, 4096,
         NPU_ERR_RANGE},
        {"unaligned_destination", offsetof(struct cmd_copy_in, dst), 4, 16,
         NPU_ERR_ALIGN},
        {"end_beyond_ub", offsetof(struct cmd_copy_in, dst), 4, 196608 - 32,
         NPU_ERR_BOUNDS},
        {"source_outside_dram", offsetof(struct cmd_copy_in, src), 8, 0x08080000,
         NPU_ERR_GM},
        {"byte_that_must_be_zero", 63, 1, 9, NPU_ERR_RESERVED},
        {"first_byte_behind_the_operands", offsetof(struct cmd_copy_in, dst_gap) + 2, 1,
         1, NPU_ERR_RESERVED},
    };
    struct rig r;

    for (unsigned i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        union cmd c = rig_copy_in(0, 0, 64);
        uint64_t error;
        rig_open(&r, 1, PROFILE_a2);
        memset(r.gm, 0x55, 128);
        memcpy(c.bytes + rules[i].offset, &rules[i].value, rules[i].size);
        c.head.tag = 77;
        c.head.pc = 0x80001234;
        rig_push(&r, 0, PIPE_MTE2, &c);
        rig_drain(&r);
        error = rig_read(&r, 0, rig_pipe(PIPE_MTE2, PIPE_ERROR));
        ok(field_get(PIPE_ERROR_CODE, error) == rules[i].code &&
               field_get(PIPE_ERROR_FIELD, error) == rules[i].offset &&
               rig_read(&r, 0, rig_pipe(PIPE_MTE2, PIPE_ERROR_TAG)) == 77 &&
               rig_read(&r, 0, rig_pipe(PIPE_MTE2, PIPE_ERROR_PC)) == 0x80001234 &&
               r.npu.mem[0][NPU_MEM_UB][0] == 0,
           "refusal/%s", rules[i].name);
        rig_close(&r);
    }
}

TEST(refusal, end_of_dram)
{
    struct rig r;
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);

    rig_open(&r, 1, PROFILE_a2);
    c.copy_out.dst = RIG_GM_BASE + RIG_GM_BYTES - 32;
    c.copy_out.len_bytes = 32;
    c.copy_out.n_blocks = 2;
    rig_push(&r, 0, PIPE_MTE3, &c);
    ok(rig_error(&r, 0, PIPE_MTE3) == NPU_ERR_GM, "refusal/end_beyond_dram");
    rig_close(&r);
}

/* Rows of a matrix that lie on one another in L1: where it is, too. */
TEST(refusal, overlap)
{
    struct rig r;
    union cmd c = rig_command(OP_ND2NZ_GM_L1, TYPE_F16);

    rig_open(&r, 1, PROFILE_a2);
    c.nd2nz = (struct cmd_nd2nz){c.head, RIG_GM_BASE, 4096, 16, 0, 0, 2, 16, 1, 4, 0};
    rig_push(&r, 0, PIPE_MTE2, &c);
    ok(rig_error(&r, 0, PIPE_MTE2) == NPU_ERR_OVERLAP &&
           rig_read(&r, 0, rig_pipe(PIPE_MTE2, PIPE_ERROR_ADDR)) == 4096 &&
           rig_read(&r, 0, rig_pipe(PIPE_MTE2, PIPE_ERROR_VALUE)) == 4096,
       "refusal/overlap_tells_the_address");
    rig_close(&r);
}

TEST(refusal, post_overflow)
{
    struct rig r;
    union cmd c = rig_command(OP_NOP, TYPE_NONE);

    rig_open(&r, 1, PROFILE_a2);
    rig_write(&r, 0, SEM_POST, SEM_MAX);
    c.head.post_n[0] = 1;
    rig_push(&r, 0, PIPE_V, &c);
    rig_drain(&r);
    ok(rig_error(&r, 0, PIPE_V) == NPU_ERR_SEM_OVERFLOW, "pipe/post_beyond_the_maximum");
    rig_write(&r, 0, CORE_CTRL, CORE_CTRL_RESET);
    ok(rig_error(&r, 0, PIPE_V) == 0 && rig_read(&r, 0, SEM_VALUE) == 0,
       "core/reset_clears_errors_and_semaphores");
    rig_close(&r);
}

/* What the first generation does not have. */
TEST(refusal, chips)
{
    static const struct {
        const char *name;
        enum pipe pipe;
        enum op op;
        enum type type;
        size_t field;
        unsigned value;
        bool old; /* the first generation has it */
    } t[] = {
        {"cube_bf16", PIPE_M, OP_MMAD, TYPE_BF16, offsetof(struct cmd_head, type), 0,
         false},
        {"cube_f32", PIPE_M, OP_MMAD, TYPE_F32, offsetof(struct cmd_head, type), 0,
         false},
        {"cube_s4", PIPE_M, OP_MMAD, TYPE_S4, offsetof(struct cmd_head, type), 0, false},
        {"cube_f16", PIPE_M, OP_MMAD, TYPE_F16, 0, 0, true},
        {"cube_s8", PIPE_M, OP_MMAD, TYPE_S8, 0, 0, true},
        {"cube_sparse", PIPE_M, OP_MMAD_SPARSE, TYPE_S8, 0, 0, false},
        {"load_sparse", PIPE_MTE1, OP_SPARSE_L1_L0B, TYPE_S8, 0, 0, false},
        {"vector_bf16", PIPE_V, OP_VCOPY, TYPE_BF16, offsetof(struct cmd_head, type), 0,
         false},
        {"cast_to_bf16", PIPE_V, OP_VCONV, TYPE_F32, offsetof(struct cmd_vec_conv, to),
         TYPE_BF16, false},
        {"cast_to_s4", PIPE_V, OP_VCONV, TYPE_F16, offsetof(struct cmd_vec_conv, to),
         TYPE_S4, false},
        {"cast_to_f16", PIPE_V, OP_VCONV, TYPE_F32, offsetof(struct cmd_vec_conv, to),
         TYPE_F16, true},
        {"fused_cast_to_bf16", PIPE_V, OP_VADDRELUCONV, TYPE_F32,
         offsetof(struct cmd_vec2c, to), TYPE_BF16, false},
        {"moves_of_bf16", PIPE_MTE1, OP_LOAD2D_L0A, TYPE_BF16, 0, 0, true},
        {"fixpipe_to_bf16", PIPE_FIX, OP_FIX_L0C_UB, TYPE_F32,
         offsetof(struct cmd_fix_gm, quant), QUANT_F322BF16, false},
        {"fixpipe_to_s4", PIPE_FIX, OP_FIX_L0C_UB, TYPE_S32,
         offsetof(struct cmd_fix_gm, quant), QUANT_REQ4, false},
        {"fixpipe_to_f16", PIPE_FIX, OP_FIX_L0C_UB, TYPE_F32,
         offsetof(struct cmd_fix_gm, quant), QUANT_F322F16, true},
    };

    for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
        bool good = true;
        for (unsigned profile = 0; profile < PROFILE_COUNT; profile++) {
            union cmd c = rig_command(t[i].op, t[i].type);
            bool has = t[i].old || profile == PROFILE_a2;
            uint64_t error;
            struct rig r;
            rig_open(&r, 1, (enum npu_profile)profile);
            if (t[i].field > offsetof(struct cmd_head, type)) {
                c.bytes[t[i].field] = (uint8_t)t[i].value;
            }
            rig_push(&r, 0, t[i].pipe, &c);
            error = rig_read(&r, 0, rig_pipe(t[i].pipe, PIPE_ERROR));
            good &= field_get(PIPE_ERROR_CODE, error) == (has ? 0 : NPU_ERR_CHIP) &&
                    (has || field_get(PIPE_ERROR_FIELD, error) == t[i].field);
            rig_close(&r);
        }
        ok(good, "refusal/%s_of_each_chip", t[i].name);
    }
}
