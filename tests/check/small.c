/* SPDX-License-Identifier: MIT */
#include "tools/emu/check/race/race.h"

#include "tests/check/small.h"
#include "tests/test.h"

struct rig small;
const struct race_config small_config = {.cores = CORES,
                                         .profile = PROFILE_a2,
                                         .gm_base = RIG_GM_BASE,
                                         .gm_bytes = RIG_GM_BYTES};
static struct npu_host hearing;

void small_begin(void (*hear)(void *ctx, const struct npu_event *e))
{
    if (!small.gm) {
        rig_open(&small, CORES, PROFILE_a2);
    }
    rig_reset(&small);
    hearing = *small.npu.host;
    hearing.event = hear;
    small.npu.host = &hearing;
    rig_write(&small, NPU_CHIP, CHIP_TRACE, RIG_GM_BASE);
}

/* --- the hart --- */

void small_push(unsigned core, union cmd c, unsigned wait, unsigned takes, unsigned post)
{
    if (wait) {
        c.head.wait_sem[0] = (uint8_t)wait;
        c.head.wait_n[0] = (uint8_t)takes;
    }
    if (post) {
        c.head.post_sem[0] = (uint8_t)post;
        c.head.post_n[0] = 1;
    }
    rig_push(&small, core, pipe_of(&c), &c);
}

union cmd at_line(union cmd c, unsigned line)
{
    c.head.pc = line;
    return c;
}

void small_take(unsigned core, unsigned sem, unsigned count)
{
    rig_drain(&small);
    rig_write(&small, core, SEM_TAKE + 8 * sem, count);
    CHECK_EQ(rig_read(&small, core, SEM_TAKEN), 1u);
}

void small_look(unsigned core, enum pipe pipe)
{
    rig_drain(&small);
    CHECK_EQ(rig_read(&small, core, rig_pipe(pipe, PIPE_LEFT)), 0u);
}

/* --- commands --- */

union cmd load(uint32_t ub)
{
    return rig_copy_in(ub, 0, BYTES);
}

union cmd store(uint64_t gm)
{
    union cmd c = rig_command(OP_COPY_UB_GM, TYPE_NONE);

    c.copy_out.dst = RIG_GM_BASE + gm;
    c.copy_out.len_bytes = BYTES;
    c.copy_out.n_blocks = 1;
    return c;
}

union cmd use(uint32_t ub)
{
    union cmd c = rig_command(OP_VABS, TYPE_F32);

    c.vec1.src = ub;
    c.vec1.dst = ELSEWHERE;
    c.vec1.src_blk = c.vec1.dst_blk = 1;
    c.vec1.src_rep = c.vec1.dst_rep = 8;
    c.vec1.repeat = 1;
    return c;
}
