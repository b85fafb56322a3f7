/* SPDX-License-Identifier: MIT
 *
 * The rules that the lines of the contract state themselves, for every command: pipes,
 * types, flags, semaphores, ranges, multiples, bytes that must be 0. Each is broken by
 * one at its edge, with nothing else wrong before it, and kept at its edge. What a rule
 * between operands says is for the tests of the engines.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"

static const char *where; /* of what is tried, for a note */

static enum pipe pipe_for(const struct cmd_info *info)
{
    return info->pipe ? (enum pipe)info->pipe : PIPE_V;
}

/* The command with every operand at its least; rules between operands may be broken. */
static union cmd least(const struct cmd_info *info)
{
    union cmd c =
        rig_command((enum op)info->opcode, (enum type)__builtin_ctz(info->types));

    for (unsigned i = 0; i < info->n_args; i++) {
        const struct cmd_arg *a = &info->args[i];
        const struct cmd_range *r = cmd_range(info, a);
        uint64_t value = (r->min + r->multiple - 1u) / r->multiple * r->multiple;
        memcpy(c.bytes + a->offset, &value, a->size);
    }
    c.head.tag = 77;
    return c;
}

static uint64_t push(enum pipe pipe, const union cmd *c)
{
    rig_write(&rig, 0, rig_pipe(pipe, PIPE_CTRL), PIPE_CTRL_RESET);
    rig_push(&rig, 0, pipe, c);
    rig_drain(&rig);
    return rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR));
}

/* Whether the command is refused: code, field, the value of the field, its address. */
static bool told(enum pipe pipe, const union cmd *c, unsigned code, unsigned field,
                 uint64_t value, uint64_t addr)
{
    uint64_t error = push(pipe, c);
    bool good = rig_stopped(&rig, pipe, code, field) &&
                field_get(PIPE_ERROR_OPCODE, error) == c->head.opcode &&
                rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR_VALUE)) == value &&
                rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR_ADDR)) == addr &&
                rig_read(&rig, 0, rig_pipe(pipe, PIPE_ERROR_TAG)) == 77;

    if (!good) {
        test_note("%s, byte %u = %llu: want %s, have %s of byte %u", where, field,
                  (unsigned long long)value, npu_error_name(code),
                  npu_error_name((unsigned)field_get(PIPE_ERROR_CODE, error)),
                  (unsigned)field_get(PIPE_ERROR_FIELD, error));
    }
    return good;
}

/* Whether it is not refused for that. */
static bool passes(enum pipe pipe, const union cmd *c, unsigned code, unsigned field)
{
    uint64_t error = push(pipe, c);
    bool good = field_get(PIPE_ERROR_CODE, error) != code ||
                field_get(PIPE_ERROR_FIELD, error) != field;

    if (!good) {
        test_note("%s, byte %u: %s", where, field, npu_error_name(code));
    }
    return good;
}

static bool head_of_another(const struct cmd_info *info)
{
    bool good = true;

    for (unsigned p = 1; p < NPU_PIPES && info->pipe; p++) {
        union cmd c = least(info);
        if (p != 6 && p != info->pipe) {
            good &= told((enum pipe)p, &c, NPU_ERR_PIPE, 0, c.head.opcode, 0);
        }
    }
    for (unsigned t = 0; t < 256; t += t < 40 ? 1 : 43) {
        union cmd c = least(info);
        c.head.type = (uint8_t)t;
        if (t >= TYPE_COUNT || !(info->types >> t & 1)) {
            good &= told(pipe_for(info), &c, NPU_ERR_TYPE, 2, t, 0);
        }
    }
    for (unsigned bit = 0; bit < 8; bit++) {
        union cmd c = least(info);
        c.head.flags = (uint8_t)(1u << bit);
        if (!(info->flags >> bit & 1)) {
            good &= told(pipe_for(info), &c, NPU_ERR_FLAGS, 3, 1u << bit, 0);
        }
    }
    return good;
}

static bool semaphores(const struct cmd_info *info)
{
    const unsigned at[] = {
        offsetof(struct cmd_head, wait_sem), offsetof(struct cmd_head, wait_sem) + 1,
        offsetof(struct cmd_head, post_sem), offsetof(struct cmd_head, post_sem) + 1};
    bool good = true;

    for (unsigned i = 0; i < 4; i++) {
        union cmd c = least(info);
        c.bytes[at[i]] = SEM_COUNT;
        good &= told(pipe_for(info), &c, NPU_ERR_SEM_INDEX, at[i], SEM_COUNT, 0);
        c.bytes[at[i]] = SEM_COUNT - 1;
        good &= passes(pipe_for(info), &c, NPU_ERR_SEM_INDEX, at[i]);
    }
    return good;
}

static union cmd with(const struct cmd_info *info, const struct cmd_arg *a,
                      uint64_t value)
{
    union cmd c = least(info);

    memcpy(c.bytes + a->offset, &value, a->size);
    return c;
}

static bool operand(const struct cmd_info *info, const struct cmd_arg *a)
{
    const struct cmd_range *r = cmd_range(info, a);
    uint64_t widest = a->size == 8 ? UINT64_MAX : (1ull << (8 * a->size)) - 1;
    uint64_t odd = r->min / r->multiple * r->multiple + r->multiple / 2;
    bool good = true;
    union cmd c;

    if (r->max < widest) {
        c = with(info, a, r->max + 1);
        good &= told(pipe_for(info), &c, NPU_ERR_RANGE, a->offset, r->max + 1, 0);
    }
    if (r->min > 0) {
        c = with(info, a, r->min - 1);
        good &= told(pipe_for(info), &c, NPU_ERR_RANGE, a->offset, r->min - 1, 0);
    }
    if (r->multiple > 1) {
        c = with(info, a, odd);
        good &= told(pipe_for(info), &c, NPU_ERR_ALIGN, a->offset, odd, odd);
    }
    return good;
}

/* Greatest values that a rule between operands refuses as RANGE too; its engine's tests
 * have them. */
static bool other_rule(const struct cmd_info *info, const struct cmd_arg *a)
{
    switch (info->opcode) {
    case OP_COPY_PAD_GM_UB:
    case OP_COPY_PAD_GM_L1:
        return a->offset == offsetof(struct cmd_copy_pad, left) ||
               a->offset == offsetof(struct cmd_copy_pad, right);
    case OP_LOAD3D_L0A:
    case OP_LOAD3D_L0B:
        return a->size != 4;
    case OP_SET_LOAD3D_BOUNDARY:
        return true;
    case OP_FIX_L0C_GM:
    case OP_FIX_L0C_UB:
    case OP_FIX_L0C_L1:
        return a->offset == offsetof(struct cmd_fix_gm, m);
    case OP_VSHL:
    case OP_VSHR:
        return a->offset == offsetof(struct cmd_vec1s, scalar);
    case OP_VMRGSORT:
        return a->offset == offsetof(struct cmd_vec_merge, repeat);
    default:
        return false;
    }
}

static bool edges(const struct cmd_info *info, const struct cmd_arg *a)
{
    const struct cmd_range *r = cmd_range(info, a);
    union cmd low = least(info);
    union cmd high = with(info, a, r->max / r->multiple * r->multiple);

    return other_rule(info, a) ||
           (passes(pipe_for(info), &low, NPU_ERR_RANGE, a->offset) &&
            passes(pipe_for(info), &high, NPU_ERR_RANGE, a->offset));
}

static bool reserved(const struct cmd_info *info)
{
    bool good = true;

    for (unsigned i = cmd_length(info); i < CMD_BYTES; i++) {
        union cmd c = least(info);
        c.bytes[i] = 9;
        good &= told(pipe_for(info), &c, NPU_ERR_RESERVED, i, 9, 0);
    }
    return good;
}

/* Refused commands first: all memories must stay as they were. */
TEST(limits, refused)
{
    bool head = true, sems = true, args = true, rest = true, same = true;
    uint8_t *was[NPU_MEM_COUNT];

    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        uint32_t size = npu_mem_size(PROFILE_a2, (enum npu_mem)m);
        memset(mem((enum npu_mem)m), 0x5a, size);
        was[m] = malloc(size);
        memcpy(was[m], mem((enum npu_mem)m), size);
    }
    for (unsigned op = 0; op < CMD_OPCODES; op++) {
        const struct cmd_info *info = cmd_find(op);
        if (!info) {
            continue;
        }
        where = info->name;
        head &= head_of_another(info);
        rest &= reserved(info);
        for (unsigned i = 0; i < info->n_args; i++) {
            args &= operand(info, &info->args[i]);
        }
    }
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        uint32_t size = npu_mem_size(PROFILE_a2, (enum npu_mem)m);
        same &= memcmp(was[m], mem((enum npu_mem)m), size) == 0;
        free(was[m]);
    }
    for (unsigned op = 0; op < CMD_OPCODES; op++) {
        sems &= !cmd_find(op) || semaphores(cmd_find(op));
    }
    ok(head, "limits/pipe_type_and_flags_of_every_command");
    ok(sems, "limits/semaphores_of_every_command");
    ok(args, "limits/one_beyond_the_range_of_every_operand");
    ok(rest, "limits/bytes_behind_the_operands_of_every_command");
    ok(same, "limits/what_is_refused_changes_no_byte");
}

TEST(limits, edges)
{
    bool good = true;

    for (unsigned op = 0; op < CMD_OPCODES; op++) {
        const struct cmd_info *info = cmd_find(op);
        for (unsigned i = 0; info && i < info->n_args; i++) {
            where = info->name;
            good &= edges(info, &info->args[i]);
        }
    }
    ok(good, "limits/ends_of_the_range_of_every_operand");
}

/* What only sets a register takes a cycle. */
TEST(limits, sets)
{
    bool good = true;

    for (unsigned op = 0; op < CMD_OPCODES; op++) {
        const struct cmd_info *info = cmd_find(op);
        if (info && (!strncmp(info->name, "SET_", 4) || op == OP_NOP)) {
            union cmd c = least(info);
            uint64_t begin = rig.now;
            good &= push(pipe_for(info), &c) == 0 && rig.now == begin + 1;
        }
    }
    ok(good, "limits/registers_are_set_in_a_cycle");
}
