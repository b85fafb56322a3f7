/* SPDX-License-Identifier: MIT
 *
 * Every rule of hal/contract/error.def that the hart can break: the code and the field
 * that it is told by, that nothing else has changed, and that the core works again after
 * the pipe's reset. What the scheduler makes of it: tests/target/sched/fault_test.c.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/irq.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"
#include "tests/target/test.h"

enum { GUARD = 0xa5, ROOM = 4096, TAG = 77, SEM = 10 };

static uint8_t gm[ROOM] __attribute__((aligned(512)));
static uint8_t guard[ROOM];

static void set_guards(void)
{
    memset(guard, GUARD, ROOM);
    memset(chip_local(0, NPU_MEM_UB, 0), GUARD, ROOM);
    memset(chip_local(0, NPU_MEM_L1, 0), GUARD, ROOM);
    memset(gm, GUARD, ROOM);
}

static void check_guards(void)
{
    CHECK_BYTES(chip_local(0, NPU_MEM_UB, 0), guard, ROOM);
    CHECK_BYTES(chip_local(0, NPU_MEM_L1, 0), guard, ROOM);
    CHECK_BYTES(gm, guard, ROOM);
}

/* The pipe takes and runs commands. */
static void check_usable(enum pipe pipe)
{
    union cmd cmd;

    cmd_nop(&cmd);
    cmd_post(&cmd, SEM, 1);
    CHECK_OK(pipe_push(0, pipe, &cmd));
    for (unsigned i = 0; !pipe_idle(0, pipe); i++) {
        CHECK(i < 10000);
    }
    CHECK_OK(sem_try_take(0, SEM, 1));
}

/* Pushes a command that must stop the pipe; *f is what the core then tells. */
static void stop(enum pipe pipe, union cmd *cmd, struct fault *f)
{
    cmd->head.tag = TAG;
    cmd->head.pc = 0x80001234;
    CHECK(!core_fault(0, f));
    CHECK_OK(pipe_push(0, pipe, cmd));
    for (unsigned i = 0; !core_fault(0, f); i++) {
        CHECK(i < 10000);
    }
    CHECK_EQ(f->core, 0u);
    CHECK_EQ(f->pipe, pipe);
    CHECK_EQ(f->opcode, cmd->head.opcode);
    CHECK_EQ(f->tag, (unsigned)TAG);
    CHECK_EQ(f->pc, 0x80001234u);
}

/* The rule, and all that holds for every rule. */
static void check_rule(enum pipe pipe, union cmd *cmd, unsigned code, size_t field)
{
    struct fault f;

    set_guards();
    stop(pipe, cmd, &f);
    if (!test_failed()) {
        CHECK_STR(npu_error_name(f.code), npu_error_name(code));
        CHECK_EQ(f.field, field);
    }
    check_guards();
    check_usable(pipe == PIPE_V ? PIPE_M : PIPE_V); /* the others go on */
    pipe_reset(0, pipe);
    CHECK(!core_fault(0, &f));
    check_usable(pipe);
}

/* A copy into UB without fault; each test breaks one thing of it. */
static union cmd good_copy(void)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 0, gm, 64);
    return cmd;
}

TEST(fault, opcode)
{
    union cmd cmd = good_copy();

    cmd.head.opcode = 0xfff;
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_OPCODE, offsetof(struct cmd_head, opcode));
}

TEST(fault, opcode_of_another_pipe)
{
    union cmd cmd = good_copy();

    check_rule(PIPE_MTE3, &cmd, NPU_ERR_PIPE, offsetof(struct cmd_head, opcode));
}

TEST(fault, type)
{
    union cmd cmd;

    vector_add(&cmd, TYPE_S8, 0, 1024, 2048);
    check_rule(PIPE_V, &cmd, NPU_ERR_TYPE, offsetof(struct cmd_head, type));
}

TEST(fault, type_that_does_not_exist)
{
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = (enum type)200, .m = 1, .n = 1, .k = 1});
    check_rule(PIPE_M, &cmd, NPU_ERR_TYPE, offsetof(struct cmd_head, type));
}

TEST(fault, conversion_of_integers)
{
    union cmd cmd;

    fixpipe_to_gm(&cmd, gm, 0,
                  &(struct fixpipe_tile){
                      .type = TYPE_S32, .m = 16, .n = 16, .quant = QUANT_F322F16});
    check_rule(PIPE_FIX, &cmd, NPU_ERR_TYPE, offsetof(struct cmd_fix_gm, quant));
}

TEST(fault, flags)
{
    union cmd cmd = good_copy();

    cmd.head.flags = 1;
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_FLAGS, offsetof(struct cmd_head, flags));
}

TEST(fault, reserved_byte)
{
    union cmd cmd = good_copy();

    cmd.bytes[CMD_BYTES - 1] = 1;
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_RESERVED, CMD_BYTES - 1);
}

TEST(fault, wait_semaphore)
{
    union cmd cmd = good_copy();

    cmd_wait(&cmd, 1, 1);
    cmd_wait(&cmd, SEM_COUNT, 1);
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_SEM_INDEX,
               offsetof(struct cmd_head, wait_sem) + 1);
}

TEST(fault, post_semaphore)
{
    union cmd cmd = good_copy();

    cmd_post(&cmd, 255, 1);
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_SEM_INDEX, offsetof(struct cmd_head, post_sem));
}

TEST(fault, range)
{
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, 0, gm,
                    &(struct mte_nz){
                        .type = TYPE_F16, .n_rows = 16385, .n_cols = 1, .block_rows = 1});
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_RANGE, offsetof(struct cmd_nd2nz, n_rows));
}

/* A count has 32 bits; the rule is of one command, not of the tables. */
TEST(fault, range_of_a_vector_count)
{
    union cmd cmd;

    vector_count(&cmd, 1);
    cmd.set_mask.lo = 1ull << 32;
    check_rule(PIPE_V, &cmd, NPU_ERR_RANGE, offsetof(struct cmd_set_mask, lo));
}

TEST(fault, alignment_in_ub)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, 16, gm, 64);
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_ALIGN, offsetof(struct cmd_copy_in, dst));
}

TEST(fault, alignment_in_l0)
{
    union cmd cmd;

    mte_l1_to_l0b(&cmd, 256, 0,
                  &(struct mte_window){
                      .type = TYPE_F16, .n_rows = 16, .n_cols = 16, .block_rows = 16});
    check_rule(PIPE_MTE1, &cmd, NPU_ERR_ALIGN, offsetof(struct cmd_load2d, dst));
}

TEST(fault, source_beyond_ub)
{
    union cmd cmd;

    mte_ub_to_gm(&cmd, gm, chip_mem(NPU_MEM_UB) - 32, 33);
    check_rule(PIPE_MTE3, &cmd, NPU_ERR_BOUNDS, offsetof(struct cmd_copy_out, src));
}

TEST(fault, destination_beyond_l1)
{
    union cmd cmd;

    mte_gm_to_l1_nz(&cmd, chip_mem(NPU_MEM_L1) - 32, gm,
                    &(struct mte_nz){.type = TYPE_F16, .n_rows = 2, .n_cols = 16});
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_BOUNDS, offsetof(struct cmd_nd2nz, dst));
}

TEST(fault, operand_beyond_l0a)
{
    union cmd cmd;

    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_F16,
                                        .a = chip_mem(NPU_MEM_L0A) - 512,
                                        .m = 17,
                                        .n = 16,
                                        .k = 16});
    check_rule(PIPE_M, &cmd, NPU_ERR_BOUNDS, offsetof(struct cmd_mmad, a));
}

TEST(fault, vector_count_beyond_ub)
{
    union cmd cmd;

    vector_count(&cmd, chip_mem(NPU_MEM_UB) / 4 + 1);
    CHECK_OK(pipe_push(0, PIPE_V, &cmd));
    vector_add(&cmd, TYPE_F32, 0, 0, 0);
    check_rule(PIPE_V, &cmd, NPU_ERR_BOUNDS, offsetof(struct cmd_vec2, src0));
}

TEST(fault, source_below_dram)
{
    union cmd cmd = good_copy();

    cmd.copy_in.src = 0x1000;
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_GM, offsetof(struct cmd_copy_in, src));
}

TEST(fault, destination_beyond_dram)
{
    uint64_t end =
        read64(NPU_CHIP_BASE + CHIP_GM_BASE) + read64(NPU_CHIP_BASE + CHIP_GM_SIZE);
    union cmd cmd;

    mte_ub_to_gm(&cmd, (void *)(uintptr_t)(end - 63), 0, 64);
    check_rule(PIPE_MTE3, &cmd, NPU_ERR_GM, offsetof(struct cmd_copy_out, dst));
}

TEST(fault, destination_that_overlaps_itself)
{
    union cmd cmd;

    mte_gm_to_l1_nz(
        &cmd, 0, gm,
        &(struct mte_nz){.type = TYPE_F16, .n_rows = 16, .n_cols = 17, .block_rows = 15});
    check_rule(PIPE_MTE2, &cmd, NPU_ERR_OVERLAP, offsetof(struct cmd_nd2nz, dst));
}

/* Rows without a step between them are read again and again, more than L0C holds. */
TEST(fault, more_bytes_than_there_is_room)
{
    union cmd cmd = good_copy();

    cmd_init(&cmd, OP_FIX_L0C_GM, TYPE_F32);
    cmd.fix_gm.dst = (uintptr_t)gm;
    cmd.fix_gm.m = 1024;
    cmd.fix_gm.n = 4095;
    cmd.fix_gm.dst_pitch = 4095;
    cmd.fix_gm.nd_num = 1;
    check_rule(PIPE_FIX, &cmd, NPU_ERR_CAPACITY, offsetof(struct cmd_fix_gm, dst));
}

/* It has happened by the time it overflows: only the post is missing. */
TEST(fault, post_beyond_255)
{
    union cmd cmd;
    struct fault f;

    sem_post(0, 3, 250);
    cmd_nop(&cmd);
    cmd_post(&cmd, 4, 1);
    cmd_post(&cmd, 3, 6);
    stop(PIPE_V, &cmd, &f);
    CHECK_STR(npu_error_name(f.code), "SEM_OVERFLOW");
    CHECK_EQ(f.field, offsetof(struct cmd_head, post_sem) + 1);
    CHECK_EQ(f.value, 3u);
    CHECK_EQ(sem_value(0, 3), 250u);
    pipe_reset(0, PIPE_V);
    check_usable(PIPE_V);
    CHECK_OK(sem_try_take(0, 3, 250));
    CHECK_OK(sem_try_take(0, 4, 1));
}

/* What cannot be pushed stops the pipe as well. */
TEST(fault, address_of_a_push)
{
    char text[256];
    struct fault f;

    write64(pipe_base(0, PIPE_V) + PIPE_PUSH, 16);
    CHECK(core_fault(0, &f));
    CHECK_STR(npu_error_name(f.code), "PUSH_ADDR");
    CHECK(fault_text(&f, text, sizeof(text)) > 0);
    CHECK(strstr(text, "core 0 pipe V: PUSH = 0x10\n  PUSH_ADDR: ") != NULL);
    CHECK(!pipe_waits(0, PIPE_V));
    pipe_reset(0, PIPE_V);
    check_usable(PIPE_V);
}

/* As snprintf: what there is room for, and how much it would be. */
TEST(fault, text_without_room)
{
    struct fault f = {.pipe = PIPE_V, .code = NPU_ERR_TYPE, .opcode = OP_VADD};
    char text[8];

    CHECK(fault_text(&f, text, sizeof(text)) > (int)sizeof(text));
    CHECK_STR(text, "core 0 ");
    CHECK_STR(err_text(1), "unknown error number");
    CHECK_STR(err_text(ERR_SEQUENCE - 1), "unknown error number");
}

/* --- what a command writes to GM, for the report of a deadlock --- */

static uint64_t bytes_written(const union cmd *cmd)
{
    uint64_t begin, end;

    return cmd_writes_gm(cmd, &begin, &end) && begin == (uintptr_t)gm ? end - begin : 0;
}

TEST(fault, bytes_that_a_command_writes)
{
    struct fixpipe_tile t = {.type = TYPE_F32, .m = 20, .n = 30, .pitch_elems = 100};
    union cmd cmd;

    fixpipe_to_gm(&cmd, gm, 0, &t);
    CHECK_EQ(bytes_written(&cmd), (19 * 100 + 30) * 4u);
    cmd.head.flags = FIX_L0C_GM_NZ; /* one more column block, of 16 columns */
    CHECK_EQ(bytes_written(&cmd), 32u * cmd.fix_gm.dst_pitch + 20 * 16 * 4);
    cmd.fix_gm.quant = QUANT_QF322B8_PRE; /* 32 columns of a byte */
    CHECK_EQ(bytes_written(&cmd), 20 * 32u);
    cmd.fix_gm.quant = UINT8_MAX; /* refused before it writes */
    CHECK_EQ(bytes_written(&cmd), 32u * cmd.fix_gm.dst_pitch + 20 * 16 * 4);
    cmd.fix_gm.m = 0;
    CHECK_EQ(bytes_written(&cmd), 0u);
    cmd.fix_gm.m = 1;
    cmd.fix_gm.n = 0;
    CHECK_EQ(bytes_written(&cmd), 0u);
    mte_ub_to_gm(&cmd, gm, 0, 64);
    CHECK_EQ(bytes_written(&cmd), 64u);
    cmd_nop(&cmd);
    CHECK_EQ(bytes_written(&cmd), 0u);
}

/* --- the hart's accesses --- */

static void check_access(unsigned code, size_t offset, uint64_t value)
{
    struct fault f;

    CHECK(core_fault(0, &f));
    CHECK_STR(npu_error_name(f.code), npu_error_name(code));
    CHECK_EQ(f.pipe, (unsigned)NPU_PIPES);
    CHECK_EQ(f.field, offset);
    CHECK_EQ(f.value, value);
    write64(core_base(0) + CORE_CTRL, CORE_CTRL_CLEAR);
    CHECK(!core_fault(0, &f));
}

TEST(fault, access_where_no_register_is)
{
    CHECK_EQ(read64(core_base(0) + 0x7ff8), 0u);
    check_access(NPU_ERR_ACCESS, 0x7ff8, 0);
    write64(core_base(0) + 0x7ff8, 5);
    check_access(NPU_ERR_ACCESS, 0x7ff8, 5);
}

TEST(fault, access_of_two_bytes)
{
    CHECK_EQ(*(volatile uint16_t *)(core_base(0) + CORE_ID), 0u);
    check_access(NPU_ERR_ACCESS, CORE_ID, 0);
    *(volatile uint16_t *)(core_base(0) + SEM_POST) = 1;
    check_access(NPU_ERR_ACCESS, SEM_POST, 1);
    CHECK_EQ(sem_value(0, 0), 0u);
}

TEST(fault, write_to_a_read_only_register)
{
    write64(core_base(0) + CORE_ID, 9);
    check_access(NPU_ERR_READ_ONLY, CORE_ID, 9);
}

TEST(fault, hart_s_post_beyond_255)
{
    sem_post(0, SEM, 255);
    sem_post(0, SEM, 1);
    check_access(NPU_ERR_SEM_OVERFLOW, SEM_POST + 8 * SEM, 1);
    CHECK_OK(sem_try_take(0, SEM, 255));
}

/* The first of several is the one to look at. */
TEST(fault, first_bad_access_is_kept)
{
    write64(core_base(0) + CORE_ID, 1);
    write64(core_base(0) + CORE_CYCLE, 2);
    check_access(NPU_ERR_READ_ONLY, CORE_ID, 1);
}
