/* SPDX-License-Identifier: MIT
 *
 * The operator `unwritten`: kernels that use what nobody has written. Each has a name, which
 * is also that of its launch; --sound corrects all of them, --list prints what the init check
 * has to say: NAME USE MEMORY COMMAND.OPERAND, and FROM-MEMORY FROM-COMMAND.OPERAND of the
 * command that comes upon the undefined bytes first. `used` and `from` in comments are the
 * lines that it has to name.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/host.h"
#include "kernels/cli/op.h"
#include "kernels/cli/report.h"
#include "sched/launch.h"
#include "tests/broken/init.h"

char *x, *z;
bool sound;
static bool again; /* the second launch of a kernel */

uint32_t buffer(struct tpipe *pipe, const char *name, enum tposition position)
{
    return tbuf_init(pipe, name, position, 2 * BYTES);
}

void count(uint32_t n)
{
    union cmd cmd;

    vector_count(&cmd, n);
    GO(PIPE_V, &cmd);
}

void load(uint32_t ub, uint32_t bytes)
{
    union cmd cmd;

    mte_gm_to_ub(&cmd, ub, x, bytes);
    GO(PIPE_MTE2, &cmd);
}

/* --- memory that somebody had before, and GM --- */

/* The first launch leaves x in UB, the second one has not loaded it. */
static void left_by_another_task(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    union cmd cmd;

    (void)arg;
    if (!again || sound) {
        load(in, BYTES);
    }
    mte_ub_to_gm(&cmd, z, in, BYTES);
    GO(PIPE_MTE3, &cmd); /* from, used */
}

/* z is written in part and loaded whole, and what comes of it goes behind it. */
static void half_of_a_workspace(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    union cmd cmd;

    (void)arg;
    load(in, BYTES);
    mte_ub_to_gm(&cmd, z, in, sound ? BYTES : BYTES / 2);
    GO(PIPE_MTE3, &cmd);
    mte_gm_to_ub(&cmd, in, z, BYTES);
    GO(PIPE_MTE2, &cmd); /* from */
    mte_ub_to_gm(&cmd, z + BYTES, in, BYTES);
    GO(PIPE_MTE3, &cmd); /* used */
}

static void sum_in_no_zeros(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    union cmd cmd;

    (void)arg;
    load(in, BYTES);
    if (sound) {
        memset(z, 0, BYTES);
    }
    mte_set_atomic(&cmd, ATOMIC_ADD, TYPE_F32);
    GO(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, z, in, BYTES);
    GO(PIPE_MTE3, &cmd); /* from, used */
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    GO(PIPE_MTE3, &cmd);
}

static void block_made_longer(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    char *block = malloc(BYTES), *longer;
    union cmd cmd;

    (void)arg;
    memset(block, 0, BYTES);
    longer = realloc(block, 2 * BYTES);
    if (sound) {
        memset(longer + BYTES, 0, BYTES);
    }
    mte_gm_to_ub(&cmd, in, longer, 2 * BYTES);
    GO(PIPE_MTE2, &cmd); /* from */
    mte_ub_to_gm(&cmd, z, in, 2 * BYTES);
    GO(PIPE_MTE3, &cmd); /* used */
    free(longer);
}

static void rows_missing(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    const volatile float *rows = (const void *)z;
    union cmd cmd;

    (void)arg;
    load(in, BYTES);
    mte_ub_to_gm(&cmd, z, in, sound ? BYTES : BYTES - 128);
    GO(PIPE_MTE3, &cmd);
    (void)rows[ELEMENTS - 1]; /* from, used */
}

static void rows_missing_in_a_file(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    int file = host_open("/dev/null", HOST_WRITE);
    union cmd cmd;

    (void)arg;
    load(in, BYTES);
    mte_ub_to_gm(&cmd, z, in, sound ? BYTES : BYTES - 128);
    GO(PIPE_MTE3, &cmd);
    (void)!host_write(file, z, BYTES); /* from, used */
    (void)!host_close(file);
}

static void window_of_nothing(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    const volatile float *ub = chip_local(task_core(), NPU_MEM_UB, in);

    (void)arg;
    if (sound) {
        load(in, 32);
    }
    (void)ub[1]; /* from, used */
}

static const struct {
    const char *name;
    void (*kernel)(void *arg);
    const char *want;
} kernels[] = {
#define KERNEL(name, want)                                                               \
    {                                                                                    \
#name, name, want                                                                \
    }
    KERNEL(tail_not_loaded, "store GM COPY_UB_GM.dst ub VADD.src0"),
    KERNEL(wrong_length, "store GM COPY_UB_GM.dst ub COPY_UB_GM.src"),
    KERNEL(mask_too_wide, "store GM COPY_UB_GM.dst ub VCADD.src"),
    KERNEL(maximum_of_padding, "store GM COPY_UB_GM.dst ub VCGMAX.src"),
    KERNEL(sort_tail, "store GM COPY_UB_GM.dst ub VSORT32.src"),
    KERNEL(scalar_not_there, "store GM COPY_UB_GM.dst ub VBRCB.src"),
    KERNEL(offsets_not_there, "guide ub VGATHER.offsets ub VGATHER.offsets"),
    KERNEL(pattern_not_there, "guide ub VREDUCEV2.bits ub VREDUCEV2.bits"),
    KERNEL(bits_of_a_tail, "store GM COPY_UB_GM.dst ub VCMP.src1"),
    KERNEL(bits_of_both, "store GM COPY_UB_GM.dst ub VCMP.src1"),
    KERNEL(mask_of_a_tail, "store GM COPY_UB_GM.dst ub VCMP.src1"),
    KERNEL(half_twice, "store GM COPY_L1_GM.dst ub VCOPY.src"),
    KERNEL(k_beyond_what_is_loaded, "store GM FIX_L0C_GM.dst l0a MMAD.a"),
    KERNEL(sum_without_a_start, "store GM FIX_L0C_GM.dst l0c MMAD.dst"),
    KERNEL(bias_not_there, "store GM FIX_L0C_GM.dst bt MMAD.bias"),
    KERNEL(scale_not_there, "store GM FIX_L0C_GM.dst fb FIX_L0C_GM.fb_quant"),
    KERNEL(more_rows_than_there_are, "store GM FIX_L0C_GM.dst l1 LOAD2D_L0A.src"),
    KERNEL(left_by_another_task, "store GM COPY_UB_GM.dst ub COPY_UB_GM.src"),
    KERNEL(half_of_a_workspace, "store GM COPY_UB_GM.dst GM COPY_GM_UB.src"),
    KERNEL(sum_in_no_zeros, "store GM COPY_UB_GM.dst GM COPY_UB_GM.dst"),
    KERNEL(block_made_longer, "store GM COPY_UB_GM.dst GM COPY_GM_UB.src"),
    KERNEL(rows_missing, "load GM read GM read"),
    KERNEL(rows_missing_in_a_file, "output GM read GM read"),
    KERNEL(window_of_nothing, "load ub read ub read"),
};

static int run_one(unsigned i)
{
    struct launch l = {.name = kernels[i].name, .kernel = kernels[i].kernel, .cores = 1};
    struct sched_report report;
    int err = 0;

    z = malloc(GM_BYTES);
    for (again = false; z && !err; again = true) {
        err = launch(&l, &report);
        if (again) {
            break;
        }
    }
    free(z);
    return err && kernels[i].kernel != offsets_not_there
               ? report_error(kernels[i].name, err, &report)
               : RUN_OK;
}

static int run(int argc, char **argv)
{
    int status = RUN_OK;

    sound = argc > 1 && strcmp(argv[1], "--sound") == 0;
    if (argc > 1 && strcmp(argv[1], "--list") == 0) {
        for (unsigned i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
            printf("%s %s\n", kernels[i].name, kernels[i].want);
        }
        return RUN_OK;
    }
    x = calloc(1, GM_BYTES);
    for (unsigned i = 0; x && i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        int one = run_one(i);
        status = one > status ? one : status;
    }
    free(x);
    return x ? status : RUN_INPUT;
}

COMMAND(unwritten, "[--sound | --list]", "kernels that use what nobody has written", run);
