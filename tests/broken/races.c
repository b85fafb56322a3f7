/* SPDX-License-Identifier: MIT
 *
 * The operator `races`: for every two pipes that can race on a memory two kernels of two
 * commands each, in which the second lacks its wait; and the same for what the hart stores
 * and loads. --sound adds the waits. --list prints what a checker has to say of each:
 * NAME MEMORY FIRST.OPERAND SECOND.OPERAND.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/task.h"

enum { FULL, DONE };
/* In each memory the actors meet at 0, what else they read is FAR from there, and what
 * else they write twice as far. */
enum { BYTES = 1024, FAR = 16384 };

static char *gm;

/* One access: `build` makes a command of `pipe` which does it to the first bytes of a
 * memory and touches nothing else of it. */
#define ACTOR(name, at, pipe_name, op, argument, call)                                   \
    static void build_##name(union cmd *cmd)                                             \
    {                                                                                    \
        call;                                                                            \
    }                                                                                    \
    static const struct actor name = {PIPE_##pipe_name, at, #op "." argument,            \
                                      build_##name};
struct actor {
    enum pipe pipe;
    const char *memory, *access;
    void (*build)(union cmd *cmd);
};

static const struct mte_fractals fractals = {.n_fractals = 2, .src_pitch = 1};
static const struct mte_fractals of_f16 = {
    .type = TYPE_F16, .n_fractals = 2, .src_pitch = 1};
static const struct fixpipe_tile tile = {.type = TYPE_F32, .m = 16, .n = 16};

static void multiply(union cmd *cmd, uint32_t c, uint32_t a, uint32_t b)
{
    cube_mmad(cmd,
              &(struct cube_mmad){
                  .type = TYPE_F16, .c = c, .a = a, .b = b, .m = 16, .n = 16, .k = 16});
}

static void biased(union cmd *cmd)
{
    cube_mmad(cmd, &(struct cube_mmad){.type = TYPE_F16,
                                       .c = 2 * FAR,
                                       .a = FAR,
                                       .b = FAR,
                                       .m = 16,
                                       .n = 16,
                                       .k = 16,
                                       .from = CUBE_FROM_BIAS});
}

/* Of L0B what goes with an index meets as well: it has the fractals beside them. */
static void multiply_sparse(union cmd *cmd)
{
    cube_mmad_sparse(
        cmd,
        &(struct cube_mmad){
            .type = TYPE_S8, .c = 2 * FAR, .a = FAR, .b = 0, .m = 16, .n = 16, .k = 128});
}

/* clang-format off */
ACTOR(mte2_to_ub, "ub", MTE2, COPY_GM_UB, "dst", mte_gm_to_ub(cmd, 0, gm + FAR, BYTES))
ACTOR(v_from_ub, "ub", V, VADD, "src0", vector_add(cmd, TYPE_F32, 2 * FAR, 0, FAR))
ACTOR(v_to_ub, "ub", V, VADD, "dst", vector_add(cmd, TYPE_F32, 0, FAR, FAR))
ACTOR(mte3_from_ub, "ub", MTE3, COPY_UB_GM, "src", mte_ub_to_gm(cmd, gm + 2 * FAR, 0, BYTES))
ACTOR(fix_to_ub, "ub", FIX, FIX_L0C_UB, "dst", fixpipe_to_ub(cmd, 0, FAR, &tile))
ACTOR(mte1_to_ub, "ub", MTE1, COPY_L1_UB, "dst", mte_l1_to_ub(cmd, 0, FAR, BYTES))
ACTOR(mte2_to_l1, "l1", MTE2, COPY_GM_L1, "dst", mte_gm_to_l1(cmd, 0, gm + FAR, BYTES))
ACTOR(mte1_from_l1, "l1", MTE1, COPY_L1_UB, "src", mte_l1_to_ub(cmd, 2 * FAR, 0, BYTES))
ACTOR(mte3_from_l1, "l1", MTE3, COPY_L1_GM, "src", mte_l1_to_gm(cmd, gm + 2 * FAR, 0, BYTES))
ACTOR(mte3_to_l1, "l1", MTE3, COPY_UB_L1, "dst", mte_ub_to_l1(cmd, 0, FAR, BYTES))
ACTOR(fix_to_l1, "l1", FIX, FIX_L0C_L1, "dst", fixpipe_to_l1(cmd, 0, FAR, &tile))
ACTOR(fix_from_l1, "l1", FIX, COPY_L1_FB, "src", fixpipe_l1_to_fb(cmd, 0, 0, BYTES))
ACTOR(mte1_to_l0a, "l0a", MTE1, FRACTALS_L1_L0A, "dst",
      mte_l1_to_l0a_fractals(cmd, 0, FAR, &of_f16))
ACTOR(mte2_to_l0a, "l0a", MTE2, FRACTALS_GM_L0A, "dst",
      mte_gm_to_l0a_fractals(cmd, 0, gm + FAR, &fractals))
ACTOR(m_from_l0a, "l0a", M, MMAD, "a", multiply(cmd, 2 * FAR, 0, FAR))
ACTOR(mte1_to_l0b, "l0b", MTE1, FRACTALS_L1_L0B, "dst",
      mte_l1_to_l0b_fractals(cmd, 0, FAR, &of_f16))
ACTOR(mte2_to_l0b, "l0b", MTE2, FRACTALS_GM_L0B, "dst",
      mte_gm_to_l0b_fractals(cmd, 0, gm + FAR, &fractals))
ACTOR(m_from_l0b, "l0b", M, MMAD, "b", multiply(cmd, 2 * FAR, FAR, 0))
ACTOR(mte1_to_l0b_index, "l0b_index", MTE1, SPARSE_L1_L0B, "dst",
      mte_l1_to_l0b_sparse(cmd, 0, FAR, FAR, 2))
ACTOR(m_from_l0b_index, "l0b_index", M, MMAD_SPARSE, "b", multiply_sparse(cmd))
ACTOR(m_to_l0c, "l0c", M, MMAD, "dst", multiply(cmd, 0, FAR, FAR))
ACTOR(fix_from_l0c, "l0c", FIX, FIX_L0C_GM, "src", fixpipe_to_gm(cmd, gm + 2 * FAR, 0, &tile))
ACTOR(mte1_to_bt, "bt", MTE1, COPY_L1_BT, "dst", mte_l1_to_bt(cmd, 0, FAR, TYPE_F32, 64))
ACTOR(m_from_bt, "bt", M, MMAD, "bias", biased(cmd))
ACTOR(mte2_from_gm, "GM", MTE2, COPY_GM_UB, "src", mte_gm_to_ub(cmd, 2 * FAR, gm, BYTES))
ACTOR(mte3_to_gm, "GM", MTE3, COPY_UB_GM, "dst", mte_ub_to_gm(cmd, gm, FAR, BYTES))
ACTOR(fix_to_gm, "GM", FIX, FIX_L0C_GM, "dst", fixpipe_to_gm(cmd, gm, FAR, &tile))
/* clang-format on */

static bool sound;

/* The Vector's mask is for BYTES of F32. */
static void begin(void)
{
    union cmd cmd;

    vector_count(&cmd, BYTES / 4);
    task_issue(PIPE_V, &cmd);
}

static void prepare(union cmd *cmd, const struct actor *actor, unsigned wait)
{
    actor->build(cmd);
    if (wait) {
        cmd_wait(cmd, FULL, wait);
    }
    cmd_post(cmd, FULL, 1);
    cmd_post(cmd, DONE, 1);
}

/* The first one's unit is the second one's; both's are done with in the end. */
static void end(void)
{
    task_wait(DONE, 2);
    task_wait(FULL, sound ? 1 : 2);
}

#define PAIR(x, y)                                                                       \
    static void x##__##y(void *arg)                                                      \
    {                                                                                    \
        union cmd first, second;                                                         \
        (void)arg;                                                                       \
        begin();                                                                         \
        prepare(&first, &(x), 0);                                                        \
        prepare(&second, &(y), sound);                                                   \
        task_issue((x).pipe, &first);                                                    \
        task_issue((y).pipe, &second);                                                   \
        end();                                                                           \
    }
#include "tests/broken/races.def"
#undef PAIR

/* --- the hart beside an engine --- */

static void store_while_mte2_reads(void *arg)
{
    union cmd cmd;

    (void)arg;
    prepare(&cmd, &mte2_from_gm, 0);
    task_issue(mte2_from_gm.pipe, &cmd);
    if (sound) {
        task_wait(DONE, 1);
    }
    memset(gm, 1, BYTES);
    task_wait(DONE, sound ? 0 : 1);
    task_wait(FULL, 1);
}

static void load_while_mte3_writes(void *arg)
{
    volatile char *from = gm;
    union cmd cmd;

    (void)arg;
    prepare(&cmd, &mte3_to_gm, 0);
    task_issue(mte3_to_gm.pipe, &cmd);
    if (sound) {
        task_wait(DONE, 1);
    }
    (void)from[BYTES - 1];
    task_wait(DONE, sound ? 0 : 1);
    task_wait(FULL, 1);
}

static void store_while_v_reads(void *arg)
{
    volatile char *ub = chip_local(task_core(), NPU_MEM_UB, 0);
    union cmd cmd;

    (void)arg;
    begin();
    prepare(&cmd, &v_from_ub, 0);
    task_issue(v_from_ub.pipe, &cmd);
    if (sound) {
        task_wait(DONE, 1);
    }
    ub[8] = 1;
    task_wait(DONE, sound ? 0 : 1);
    task_wait(FULL, 1);
}

static const struct {
    const char *name;
    const struct actor *first, *second;
    const char *hart; /* instead of the second */
    void (*kernel)(void *arg);
} kernels[] = {
#define PAIR(x, y) {#x "__" #y, &(x), &(y), NULL, x##__##y},
#include "tests/broken/races.def"
    {"store_while_mte2_reads", &mte2_from_gm, NULL, "write", store_while_mte2_reads},
    {"load_while_mte3_writes", &mte3_to_gm, NULL, "read", load_while_mte3_writes},
    {"store_while_v_reads", &v_from_ub, NULL, "write", store_while_v_reads},
};

static int launch_each(void)
{
    struct sched_report report;
    int err = 0;

    for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]) && !err; i++) {
        err = task_create(kernels[i].name, 0, kernels[i].kernel, NULL);
        err = err ? err : sched_run(&report);
    }
    return err ? report_error("races", err, &report) : RUN_OK;
}

static int run(int argc, char **argv)
{
    int status = RUN_OK;

    sound = argc > 1 && strcmp(argv[1], "--sound") == 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
            printf("%s %s %s %s\n", kernels[i].name, kernels[i].first->memory,
                   kernels[i].first->access,
                   kernels[i].second ? kernels[i].second->access : kernels[i].hart);
        }
        return RUN_OK;
    }
    gm = aligned_alloc(FAR, 3 * FAR);
    status = gm ? launch_each() : RUN_INPUT;
    free(gm);
    return status;
}

COMMAND(races, "[--sound | --list]", "kernels that lack a wait, for every two pipes",
        run);
