/* SPDX-License-Identifier: MIT
 *
 * The operator `builder`: builds a command with a number that its operand cannot hold.
 * The builder's assert ends the run; without it the command would be another one.
 */
#include <stdio.h>
#include <string.h>

#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/cli/op.h"

static union cmd cmd;

/* n is what the case says, not to be seen by the compiler. */
static void repeats(uint32_t n)
{
    vector_unary_strided(&cmd, &(struct vec_unary){.op = OP_VABS,
                                                   .type = TYPE_F32,
                                                   .dst = vec_dense(0),
                                                   .x = vec_dense(0),
                                                   .repeat = n});
}

static void stride(uint32_t n)
{
    vector_binary_strided(&cmd, &(struct vec_binary){.op = OP_VADD,
                                                     .type = TYPE_F32,
                                                     .dst = vec_dense(0),
                                                     .x = vec_dense(0),
                                                     .y = vec_repeats(0, n),
                                                     .repeat = 1});
}

static void broadcast(uint32_t n)
{
    vector_broadcast(&cmd, TYPE_F32, 1024, 0, n);
}

static void rows(uint32_t n)
{
    mte_gm_to_ub_rows(&cmd, 0, &cmd, &(struct mte_rows){.n_rows = n, .row_bytes = 32});
}

static void pitch(uint32_t n)
{
    mte_ub_to_gm_rows(
        &cmd, &cmd, 0,
        &(struct mte_rows){.n_rows = 2, .row_bytes = 64, .gm_pitch_bytes = n});
}

static void local_pitch(uint32_t n)
{
    mte_gm_to_l1_rows(
        &cmd, 0, &cmd,
        &(struct mte_rows){.n_rows = 2, .row_bytes = 64, .local_pitch_bytes = n});
}

static void columns(uint32_t n)
{
    mte_gm_to_l1_nz(&cmd, 0, &cmd,
                    &(struct mte_nz){.type = TYPE_F16, .n_rows = 1, .n_cols = n});
}

static void fill(uint32_t n)
{
    mte_fill(&cmd, NPU_MEM_L0A, 0, TYPE_F16, 0, n);
}

static void length(uint32_t n)
{
    mte_l1_to_ub(&cmd, 0, 0, n);
}

static void product(uint32_t n)
{
    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_F16, .m = 1, .n = 1, .k = n});
}

static void tile(uint32_t n)
{
    fixpipe_to_ub(&cmd, 0, 0, &(struct fixpipe_tile){.type = TYPE_F32, .m = n, .n = 16});
}

static void offset(uint32_t n)
{
    fixpipe_set_quant(&cmd, fixpipe_word(1, (int)n, true));
}

static const struct {
    const char *name;
    void (*build)(uint32_t n);
    uint32_t n; /* one more, or less, than what is good */
} cases[] = {
    {"repeats", repeats, 256},     {"stride", stride, 65536},
    {"broadcast", broadcast, 256}, {"rows", rows, 65536},
    {"pitch", pitch, 63},          {"local_pitch", local_pitch, 80},
    {"columns", columns, 65536},   {"fill", fill, 513},
    {"length", length, 33},        {"product", product, 65536},
    {"tile", tile, 65536},         {"offset", offset, 256},
};

static int run(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc == 2 && strcmp(argv[1], cases[i].name) == 0) {
            cases[i].build(cases[i].n);
            return RUN_OK;
        }
        if (argc == 1) {
            printf("%s\n", cases[i].name);
        }
    }
    return argc == 1 ? RUN_OK : RUN_INPUT;
}

COMMAND(builder, "[CASE]", "builds a command that cannot be, or lists the ways", run);
