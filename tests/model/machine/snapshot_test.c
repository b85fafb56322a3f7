/* SPDX-License-Identifier: MIT
 *
 * Snapshots of the model: a copy of state and memories goes on alike, and what is not
 * such a copy is refused.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/machine/state/state.h"

/* The state and the memories are all there is: a copy of them goes on alike. */
TEST(snapshot, snapshot)
{
    struct rig a, b;
    union cmd c = rig_copy_in(0, 0, 4096);

    rig_open(&a, 1, PROFILE_a2);
    rig_open(&b, 1, PROFILE_a2);
    for (unsigned i = 0; i < 4096; i++) {
        a.gm[i] = (uint8_t)(i * 13 + 1);
    }
    c.head.post_n[0] = 1;
    rig_push(&a, 0, PIPE_MTE2, &c);
    rig_push(&a, 0, PIPE_MTE2, &c);
    rig_to(&a, 100);
    memcpy(b.npu.s, a.npu.s, npu_state_size());
    memcpy(b.npu.l2, a.npu.l2, npu_l2_bytes(PROFILE_a2));
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        memcpy(b.npu.mem[0][m], a.npu.mem[0][m],
               npu_mem_size(PROFILE_a2, (enum npu_mem)m));
    }
    memcpy(b.gm, a.gm, RIG_GM_BYTES);
    b.now = a.now;
    ok(npu_restored(&b.npu, &b.config, b.now), "snapshot/is_accepted");
    rig_drain(&a);
    rig_drain(&b);
    ok(memcmp(a.npu.s, b.npu.s, npu_state_size()) == 0 &&
           memcmp(a.npu.mem[0][NPU_MEM_UB], b.npu.mem[0][NPU_MEM_UB], 196608) == 0,
       "snapshot/goes_on_to_the_same_state");
    ok(a.npu.s->magic >> 24 == 0x53414c4149u + CONTRACT_VERSION,
       "snapshot/says_of_which_contract_it_is");
    b.npu.s->magic -= 1u << 24;
    ok(!npu_restored(&b.npu, &b.config, b.now),
       "snapshot/of_another_contract_is_refused");
    b.npu.s->magic += 1u << 24;
    b.config.cores = 2;
    ok(!npu_restored(&b.npu, &b.config, b.now),
       "snapshot/of_another_configuration_is_refused");
    b.config.cores = 1;
    b.npu.s->core[0].pipe[PIPE_MTE2].state = PIPE_RUNNING;
    b.npu.s->core[0].pipe[PIPE_MTE2].count = 1;
    memset(b.npu.s->core[0].pipe[PIPE_MTE2].queue, 0xee, CMD_BYTES * PIPE_DEPTH);
    ok(!npu_restored(&b.npu, &b.config, b.now), "snapshot/that_is_damaged_is_refused");
    rig_close(&a);
    rig_close(&b);
}

/* --- what is refused, field by field --- */

enum { HELD_SEED = 7 };

/* Two cores: pipes that run (a transfer that shares, a command that does not), wait and
 * have stopped, and a barrier; with a seed also what is held. */
static struct rig *busy(uint32_t seed)
{
    static struct rig r;
    union cmd in = rig_copy_in(0, 0, 65536), v = rig_command(OP_NOP, TYPE_NONE);

    if (r.gm == NULL) {
        rig_open(&r, 2, PROFILE_a2);
    }
    r.config.seed = seed;
    rig_reset(&r);
    for (unsigned c = 0; c < 2; c++) {
        rig_push(&r, c, PIPE_MTE2, &in);
    }
    v.head.wait_n[0] = 1;
    rig_push(&r, 0, PIPE_V, &v);
    rig_push(&r, 1, PIPE_MTE3, &in);
    rig_write(&r, 0, SEM_ARM + 8 * 5, 1);
    npu_write(&r.npu, 0, NPU_CHIP, CHIP_BARRIER, field_put(CHIP_BARRIER_COUNT, 2), 8);
    rig_to(&r, 100);
    return &r;
}

#define MTE2 s->core[0].pipe[PIPE_MTE2]
#define VEC  s->core[0].pipe[PIPE_V]
#define MTE3 s->core[1].pipe[PIPE_MTE3]
#define CORE s->core[0]

/* name, what is changed */
#define DAMAGES(ROW)                                                                     \
    ROW(time_to_come, s->now = 101)                                                      \
    ROW(flow_next, s->flow_next++)                                                       \
    ROW(barrier_fields, s->barrier[1] = 1ull << 7)                                       \
    ROW(barrier_that_is_due, s->sem[0] = 2)                                              \
    ROW(state_4, MTE2.state = PIPE_STOPPED + 1)                                          \
    ROW(head_32, MTE2.head = PIPE_DEPTH)                                                 \
    ROW(count_33, MTE2.count = PIPE_DEPTH + 1)                                           \
    ROW(running_without_a_command, MTE2.count = 0)                                       \
    ROW(running_unchecked, MTE2.checked = 0)                                             \
    ROW(waiting_without_a_command, VEC.count = 0)                                        \
    ROW(empty_with_a_command, VEC.state = PIPE_EMPTY)                                    \
    ROW(checked_2, MTE2.checked = 2)                                                     \
    ROW(checked_without_a_command, MTE3.checked = 1; MTE3.count = 0)                     \
    ROW(for_units_2, VEC.for_units = 2)                                                  \
    ROW(for_units_of_one_that_runs, MTE2.for_units = 1)                                  \
    ROW(slots_256, MTE2.arm = PIPE_ARM_SLOTS + 1)                                        \
    ROW(ended_opcode, MTE2.ended = CMD_OPCODES - 1)                                      \
    ROW(count_of_elements, VEC.special[SPECIAL_MASK_COUNTER] = SET_MASK_COUNTER;         \
        VEC.special[SPECIAL_MASK_LO] = 1ull << 32; VEC.special[SPECIAL_MASK_HI] = 0)     \
    ROW(mask_of_another_pipe, MTE2.special[SPECIAL_MASK_LO] = 1)                         \
    ROW(upper_mask_of_a_count, VEC.special[SPECIAL_MASK_COUNTER] = SET_MASK_COUNTER;     \
        VEC.special[SPECIAL_MASK_LO] = 1)                                                \
    ROW(mask_counter_2, VEC.special[SPECIAL_MASK_COUNTER] = 2)                           \
    ROW(atomic_operation, MTE3.special[SPECIAL_ATOMIC] = 4 | TYPE_F32 << 8)              \
    ROW(atomic_type, MTE3.special[SPECIAL_ATOMIC] = 1 | TYPE_U8 << 8)                    \
    ROW(atomic_word, MTE3.special[SPECIAL_ATOMIC] = 1 << 16)                             \
    ROW(padding, MTE2.special[SPECIAL_PAD] = 1ull << 32)                                 \
    ROW(quantisation, CORE.pipe[PIPE_FIX].special[SPECIAL_QUANT] = 1ull << 47)           \
    ROW(relu_of_another_pipe, MTE2.special[SPECIAL_RELU] = 1)                            \
    ROW(compare_mask_of_another_pipe, MTE2.special[SPECIAL_CMPMASK_LO] = 1)              \
    ROW(kept, VEC.special[SPECIAL_KEPT] = 1u << 20)                                      \
    ROW(blocks_of_another_pipe, MTE2.special[SPECIAL_VA_SRC] = 1)                        \
    ROW(saturate_2, VEC.special[SPECIAL_SATURATE] = 2)                                   \
    ROW(deq_scale, VEC.special[SPECIAL_DEQ_SCALE] = 1u << 16)                            \
    ROW(deq_word, VEC.special[SPECIAL_DEQ_WORD] = 1ull << 47)                            \
    ROW(load3d_stride, CORE.pipe[PIPE_MTE1].special[SPECIAL_LOAD3D_STRIDE] = 1u << 16)   \
    ROW(load3d_times, CORE.pipe[PIPE_MTE1].special[SPECIAL_LOAD3D_TIMES] = 256)          \
    ROW(load3d_along_k, CORE.pipe[PIPE_MTE1].special[SPECIAL_LOAD3D_ALONG_K] = 2)        \
    ROW(load3d_boundary, CORE.pipe[PIPE_MTE1].special[SPECIAL_LOAD3D_BOUNDARY] = 1040)   \
    ROW(load3d_low_boundary, CORE.pipe[PIPE_MTE1].special[SPECIAL_LOAD3D_BOUNDARY] = 32) \
    ROW(load3d_high_boundary,                                                            \
        CORE.pipe[PIPE_MTE1].special[SPECIAL_LOAD3D_BOUNDARY] = 1u << 30)                \
    ROW(unused_special, VEC.special[SPECIALS - 1] = 1)                                   \
    ROW(since, MTE2.since = 101)                                                         \
    ROW(head_since, MTE2.head_since = 101)                                               \
    ROW(begin, MTE2.begin = 101)                                                         \
    ROW(end_now, MTE2.end = 100)                                                         \
    ROW(end_later, MTE2.end++)                                                           \
    ROW(end_of_one_that_waits, VEC.end = 101)                                            \
    ROW(nominal_before_begin, MTE2.nominal = MTE2.begin)                                 \
    ROW(nominal_far_away, MTE2.nominal = 1ull << 62)                                     \
    ROW(hold_without_a_seed, VEC.hold = 200)                                             \
    ROW(number_0, MTE2.serial = 0)                                                       \
    ROW(flow_of_one_that_waits, VEC.flow.pools = 1)                                      \
    ROW(flow_pools, MTE2.flow.pools ^= 3)                                                \
    ROW(flow_own_0, MTE2.flow.own = 0)                                                   \
    ROW(flow_own, MTE2.flow.own--)                                                       \
    ROW(flow_rate_0, MTE2.flow.rate = 0)                                                 \
    ROW(flow_rate, MTE2.flow.rate--)                                                     \
    ROW(flow_fixed, MTE2.flow.fixed += 1u << 20)                                         \
    ROW(flow_left, MTE2.flow.left = 1ull << 60)                                          \
    ROW(flow_nothing_left, MTE2.flow.left = 0; MTE2.end = CORE.next = 1ull << 60)        \
    ROW(flow_before_it_began, MTE2.flow.updated = MTE2.begin - 1)                        \
    ROW(flow_to_come, MTE2.flow.updated = 101)                                           \
    ROW(flow_of_a_nop,                                                                   \
        s->core[1].pipe[PIPE_MTE2].queue[0] = rig_command(OP_NOP, TYPE_NONE))            \
    ROW(fault_of_one_that_runs, MTE2.fault.code = NPU_ERR_GM)                            \
    ROW(fault_none, MTE3.fault.code = 0)                                                 \
    ROW(fault_code, MTE3.fault.code = NPU_ERR_COUNT)                                     \
    ROW(fault_field, MTE3.fault.field = CMD_BYTES)                                       \
    ROW(command, memset(MTE2.queue, 0xee, CMD_BYTES))                                    \
    ROW(armed_without_a_count, CORE.armed[1] = 1)                                        \
    ROW(count_without_armed, CORE.arm[7] = 1)                                            \
    ROW(taken_2, CORE.taken = 2)                                                         \
    ROW(irq_enable, CORE.irq_enable = CORE_IRQ_ENABLE_BITS + 1)                          \
    ROW(irq_level_2, CORE.irq_level = 2)                                                 \
    ROW(irq_level_of_nothing, CORE.irq_level = 1)                                        \
    ROW(irq_level_of_something, CORE.irq_enable = CORE_IRQ_STATUS_FAULT;                 \
        CORE.fault.code = NPU_ERR_ACCESS)                                                \
    ROW(access_fault, CORE.fault.code = NPU_ERR_COUNT)                                   \
    ROW(access_size, CORE.fault_size = 9)                                                \
    ROW(access_write, CORE.fault_write = 2)                                              \
    ROW(mark_beyond_l0c, CORE.unit_mark[ROW_UNIT_MARK - 1] = 1ull << 63)                 \
    ROW(unit_at, CORE.unit_at = 101)                                                     \
    ROW(first, CORE.pmu_first = 101)                                                     \
    ROW(last, CORE.pmu_last = 101)                                                       \
    ROW(line_due_without_a_seed, CORE.line_due = 200; CORE.next = 200)                   \
    ROW(next, CORE.next--)

#define ROW(name, damage)                                                                \
    static void name(struct npu_state *s)                                                \
    {                                                                                    \
        damage;                                                                          \
    }
DAMAGES(ROW)
#undef ROW

TEST(snapshot, damaged)
{
#define ROW(name, damage) {#name, name},
    static const struct {
        const char *name;
        void (*change)(struct npu_state *s);
    } damages[] = {DAMAGES(ROW)};
    struct rig *r;

    for (unsigned i = 0; i < LENGTH(damages); i++) {
        r = busy(0);
        bool whole = npu_restored(&r->npu, &r->config, r->now);
        damages[i].change(r->npu.s);
        ok(whole && !npu_restored(&r->npu, &r->config, r->now), "snapshot/refuses_%s",
           damages[i].name);
    }
}

/* Marks for whom the fixpipe waits count at the Cube's end at the latest. */
TEST(snapshot, units)
{
    union cmd mmad = rig_command(OP_MMAD, TYPE_F16), fix;
    struct npu_core *c = &rig.npu.s->core[0];

    mmad.mmad.m = mmad.mmad.n = mmad.mmad.k = 64;
    mmad.mmad.unit = UNIT_PASS;
    fix = rig_command(OP_FIX_L0C_UB, TYPE_F32);
    fix.fix_local.m = 16;
    fix.fix_local.n = 16;
    fix.fix_local.dst_pitch = 64;
    fix.fix_local.src_c0_stride = 64;
    fix.fix_local.nd_num = 1;
    fix.fix_local.unit = UNIT_KEEP;
    rig_push(&rig, 0, PIPE_M, &mmad);
    rig_push(&rig, 0, PIPE_FIX, &fix);
    ok(c->unit_at != 0 && npu_restored(&rig.npu, &rig.config, rig.now),
       "snapshot/of_a_fixpipe_that_follows");
    c->unit_at = c->pipe[PIPE_M].end + 1;
    ok(!npu_restored(&rig.npu, &rig.config, rig.now),
       "snapshot/refuses_to_look_too_late");
}

/* Until a line is held, or a command of M. */
static bool held(struct rig *r, bool line)
{
    const struct npu_core *core = &r->npu.s->core[1];
    union cmd c = rig_command(OP_NOP, TYPE_NONE);

    for (unsigned i = 0; i < 1000; i++) {
        if (line ? core->line_due != 0 : core->pipe[PIPE_M].hold != 0) {
            return npu_restored(&r->npu, &r->config, r->now);
        }
        if (line) {
            rig_write(r, 1, CORE_IRQ_ENABLE, 0);
            rig_write(r, 1, CORE_IRQ_ENABLE, CORE_IRQ_STATUS_FAULT);
        } else {
            rig_to(r, r->now + 10000);
            rig_push(r, 1, PIPE_M, &c);
        }
    }
    return false;
}

TEST(snapshot, held)
{
    static const struct {
        const char *name;
        bool line;
        uint64_t hold;
    } rows[] = {{"line_due_now", true, 0},
                {"line_due_too_late", true, 1u << 13},
                {"hold_now", false, 0},
                {"hold_too_long", false, 1u << 13}};

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        struct rig *r = busy(HELD_SEED);
        struct npu_core *c = &r->npu.s->core[1];
        bool whole = held(r, rows[i].line);
        *(rows[i].line ? &c->line_due : &c->pipe[PIPE_M].hold) = r->now + rows[i].hold;
        c->next = r->now + rows[i].hold;
        ok(whole && !npu_restored(&r->npu, &r->config, r->now), "snapshot/refuses_%s",
           rows[i].name);
    }
}

TEST(snapshot, count)
{
    struct npu_pipe *v = &rig.npu.s->core[0].pipe[PIPE_V];

    v->special[SPECIAL_MASK_COUNTER] = SET_MASK_COUNTER;
    v->special[SPECIAL_MASK_LO] = UINT32_MAX;
    v->special[SPECIAL_MASK_HI] = 0;
    ok(npu_restored(&rig.npu, &rig.config, rig.now),
       "snapshot/with_the_highest_count_is_accepted");
}
