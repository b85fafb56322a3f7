/* SPDX-License-Identifier: MIT
 *
 * Snapshots of the model: a copy of state and memories goes on alike, and what is not
 * such a copy is refused.
 */
#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/machine/state.h"

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
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        memcpy(b.npu.mem[0][m], a.npu.mem[0][m],
               npu_mem_size(PROFILE_a2, (enum npu_mem)m));
    }
    memcpy(b.gm, a.gm, RIG_GM_BYTES);
    ok(npu_restored(&b.npu, &b.config), "snapshot/is_accepted");
    b.now = 100;
    rig_drain(&a);
    rig_drain(&b);
    ok(memcmp(a.npu.s, b.npu.s, npu_state_size()) == 0 &&
           memcmp(a.npu.mem[0][NPU_MEM_UB], b.npu.mem[0][NPU_MEM_UB], 196608) == 0,
       "snapshot/goes_on_to_the_same_state");
    ok(a.npu.s->magic >> 24 == 0x53414c4149u + CONTRACT_VERSION,
       "snapshot/says_of_which_contract_it_is");
    b.npu.s->magic -= 1u << 24;
    ok(!npu_restored(&b.npu, &b.config), "snapshot/of_another_contract_is_refused");
    b.npu.s->magic += 1u << 24;
    b.config.cores = 2;
    ok(!npu_restored(&b.npu, &b.config), "snapshot/of_another_configuration_is_refused");
    b.config.cores = 1;
    b.npu.s->core[0].pipe[PIPE_MTE2].state = PIPE_RUNNING;
    b.npu.s->core[0].pipe[PIPE_MTE2].count = 1;
    memset(b.npu.s->core[0].pipe[PIPE_MTE2].queue, 0xee, CMD_BYTES * PIPE_DEPTH);
    ok(!npu_restored(&b.npu, &b.config), "snapshot/that_is_damaged_is_refused");
    rig_close(&a);
    rig_close(&b);
}

/* A count that no SET_MASK can set would wrap around where bytes are worked out. */
TEST(snapshot, count)
{
    union cmd c = rig_command(OP_VSCATTER, TYPE_F32);
    struct npu_pipe *v;
    struct rig r;

    rig_open(&r, 1, PROFILE_a2);
    c.vec_scatter.offsets = 65536;
    c.vec_scatter.repeat = 1;
    c.head.wait_n[0] = 1; /* it waits for ever */
    rig_push(&r, 0, PIPE_V, &c);
    v = &r.npu.s->core[0].pipe[PIPE_V];
    v->special[SPECIAL_MASK_COUNTER] = SET_MASK_COUNTER;
    v->special[SPECIAL_MASK_LO] = UINT32_MAX;
    v->checked = 0;
    ok(npu_restored(&r.npu, &r.config), "snapshot/with_the_highest_count_is_accepted");
    v->special[SPECIAL_MASK_LO] = (1ull << 62) + 64;
    ok(!npu_restored(&r.npu, &r.config), "snapshot/with_a_higher_count_is_refused");
    rig_close(&r);
}
