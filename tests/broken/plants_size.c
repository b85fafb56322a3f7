/* SPDX-License-Identifier: MIT
 *
 * Those of `plants` whose buffers are too small for what commands make of them, or hold less
 * than is used.
 */
#include <stdlib.h>

#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte_conv.h"
#include "hal/vector_gather.h"
#include "hal/vector_move.h"
#include "hal/vector_reduce.h"
#include "tests/broken/plants.h"

/* A buffer of the Unified Buffer that holds zeros. */
static uint32_t zeros(struct tpipe *pipe, const char *name, uint32_t bytes)
{
    uint32_t at = tbuf_init(pipe, name, VECIN, bytes);
    union cmd cmd;

    mte_gm_to_ub(&cmd, at, gm, bytes);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    return at;
}

/* Offsets 0, 4, ... 252, the last one `last`. */
static uint32_t table(struct tpipe *pipe, uint32_t last)
{
    volatile uint32_t *offset = (volatile uint32_t *)gm;

    for (uint32_t i = 0; i < 64; i++) {
        offset[i] = 4 * i;
    }
    offset[63] = last;
    return zeros(pipe, "table", 256);
}

/* --- too small --- */

/* The last offset is that of what lies behind the last element. */
void gathers_behind_the_end(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t offsets = table(pipe, right ? 252 : 256), in = zeros(pipe, "in", 256);
    uint32_t out = tbuf_init(pipe, "out", VECOUT, BYTES);
    union cmd cmd;

    (void)arg;
    (void)zeros(pipe, "behind", 256);
    work_on(256);
    vector_gather(&cmd, TYPE_F32, out, in, offsets);
    GO(PIPE_V, &cmd); /* two */
}

void scatters_behind_the_end(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t offsets = table(pipe, right ? 252 : 256), in = zeros(pipe, "in", 256);
    uint32_t out = tbuf_init(pipe, "out", VECOUT, 256);
    union cmd cmd;

    (void)arg;
    (void)zeros(pipe, "behind", 256);
    work_on(256);
    vector_scatter(&cmd, TYPE_F32, out, in, offsets);
    GO(PIPE_V, &cmd); /* two */
}

/* Sums of 4 repeats, each with the distance of a block, in one block. */
void sums_far_apart(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = zeros(pipe, "in", BYTES), out = tbuf_init(pipe, "sums", VECCALC, 32);
    union cmd cmd;

    (void)arg;
    vector_mask(&cmd, ~0ull, 0);
    GO(PIPE_V, &cmd);
    vector_reduce_strided(&cmd, &(struct vec_reduce){.op = OP_VCADD,
                                                     .type = TYPE_F32,
                                                     .dst = out,
                                                     .dst_rep = right ? 1 : 8,
                                                     .x = vec_dense(in),
                                                     .repeat = 4});
    GO(PIPE_V, &cmd); /* two */
}

/* 8 elements become 8 blocks, not one. */
void blocks_of_one_element(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = zeros(pipe, "in", 32);
    uint32_t out = tbuf_init(pipe, "rows", VECCALC, right ? 256 : 32);
    union cmd cmd;

    (void)arg;
    vector_broadcast(&cmd, TYPE_F32, out, in, 1);
    GO(PIPE_V, &cmd); /* two */
}

/* Numbers of 16 bits become such of 32 in a buffer of as many bytes. */
void twice_as_wide(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = zeros(pipe, "half", BYTES);
    uint32_t out = tbuf_init(pipe, "single", VECCALC, right ? 2 * BYTES : BYTES);
    union cmd cmd;

    (void)arg;
    vector_count(&cmd, BYTES / 2);
    GO(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_NONE, out, in);
    GO(PIPE_V, &cmd); /* two */
}

/* Elements of 32 bits come by a length of such of 16. */
void length_in_elements(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = tbuf_init(pipe, "in", VECIN, BYTES);
    uint32_t sum = tbuf_init(pipe, "sum", VECOUT, BYTES);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, in, gm, right ? BYTES : BYTES / 2);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    work_on(BYTES);
    vector_unary(&cmd, OP_VABS, TYPE_F32, sum, in);
    GO(PIPE_V, &cmd); /* one */
    task_drain();
    mte_ub_to_gm(&cmd, gm, sum, BYTES);
    GO(PIPE_MTE3, &cmd); /* two */
}

/* A product of 16 x 32 in a buffer for one of 16 x 16. */
void tile_of_two_fractals(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t a = tbuf_init(pipe, "a", A2, BYTES), b = tbuf_init(pipe, "b", B2, 2 * BYTES);
    uint32_t c = tbuf_init(pipe, "c", CO1, right ? 2 * BYTES : BYTES);
    union cmd cmd;

    (void)arg;
    mte_fill(&cmd, NPU_MEM_L0A, a, TYPE_F16, 0, BYTES);
    GO(PIPE_MTE1, &cmd);
    mte_fill(&cmd, NPU_MEM_L0B, b, TYPE_F16, 0, 2 * BYTES);
    GO(PIPE_MTE1, &cmd);
    task_drain();
    cube_mmad(&cmd,
              &(struct cube_mmad){
                  .type = TYPE_F16, .a = a, .b = b, .c = c, .m = 16, .n = 32, .k = 32});
    GO(PIPE_M, &cmd); /* two */
}

/* 16 rows leave where the result has 10. */
void rows_of_the_fractal(void *arg)
{
    float *result = calloc(10 * 16, sizeof(float));
    union cmd cmd;

    (void)arg;
    mte_fill(&cmd, NPU_MEM_L0A, 0, TYPE_F16, 0, BYTES);
    GO(PIPE_MTE1, &cmd);
    mte_fill(&cmd, NPU_MEM_L0B, 0, TYPE_F16, 0, BYTES);
    GO(PIPE_MTE1, &cmd);
    task_drain();
    cube_mmad(&cmd, &(struct cube_mmad){.type = TYPE_F16, .m = 16, .n = 16, .k = 32});
    GO(PIPE_M, &cmd);
    task_drain();
    fixpipe_to_gm(&cmd, result, 0,
                  &(struct fixpipe_tile){
                      .type = TYPE_F32, .m = right ? 10 : 16, .n = 16, .block_rows = 16});
    GO(PIPE_FIX, &cmd); /* two */
    task_drain();
    free(result);
}

/* The map has 4 rows, and the buffer 3. */
void map_in_a_smaller_buffer(void *arg)
{
    struct mte_conv conv = {
        .map_h = 4, .map_w = 8, .channels = 16, .filter_h = 1, .filter_w = 1};
    struct tpipe *pipe = tpipe_open();
    uint32_t map = tbuf_init(pipe, "map", A1, right ? 4 * 8 * 32 : 3 * 8 * 32);
    uint32_t next = tbuf_init(pipe, "next", A1, BYTES);
    union cmd cmd;

    (void)arg;
    mte_gm_to_l1(&cmd, map, gm, next + BYTES - map);
    cmd.copy_in.len_bytes = right ? 4 * 8 * 32 : 3 * 8 * 32;
    GO(PIPE_MTE2, &cmd);
    mte_gm_to_l1(&cmd, next, gm, BYTES);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    mte_img2col_to_l0a(
        &cmd, 0, map,
        &(struct mte_img2col){.type = TYPE_F16, .conv = &conv, .m_len = 32, .k_len = 16});
    GO(PIPE_MTE1, &cmd); /* two */
}

/* --- holds less --- */

/* What is added to has never been set. */
void sum_of_nothing(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = zeros(pipe, "in", BYTES), sum = tbuf_init(pipe, "sum", VECCALC, BYTES);
    union cmd cmd;

    (void)arg;
    work_on(BYTES);
    if (right) {
        vector_fill(&cmd, OP_VDUP, TYPE_F32, sum, 0);
        GO(PIPE_V, &cmd);
    }
    vector_binary(&cmd, OP_VMLA, TYPE_F32, sum, in, in);
    GO(PIPE_V, &cmd); /* one */
    task_drain();
    mte_ub_to_gm(&cmd, gm, sum, BYTES);
    GO(PIPE_MTE3, &cmd); /* two */
}

/* One sum is there, and a block goes out. */
void one_of_eight(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = zeros(pipe, "in", 256), sum = tbuf_init(pipe, "sum", VECCALC, 32);
    union cmd cmd;

    (void)arg;
    vector_mask(&cmd, ~0ull, 0);
    GO(PIPE_V, &cmd);
    vector_reduce(&cmd, OP_VCADD, TYPE_F32, sum, in);
    cmd.vec_reduce.repeat = 1;
    GO(PIPE_V, &cmd);
    task_drain();
    mte_ub_to_gm(&cmd, gm, sum, right ? 4 : 32);
    GO(PIPE_MTE3, &cmd); /* one, two */
}

/* Cores add to a result that has never been set, and the hart looks at it. */
void adds_to_malloc(void *arg)
{
    volatile int32_t *sums = right ? calloc(64, 4) : malloc(64 * 4);
    uint32_t in = zeros(tpipe_open(), "in", 256);
    union cmd cmd;

    (void)arg;
    mte_set_atomic(&cmd, ATOMIC_ADD, TYPE_S32);
    GO(PIPE_MTE3, &cmd);
    mte_ub_to_gm(&cmd, (void *)(uintptr_t)sums, in, 256);
    GO(PIPE_MTE3, &cmd); /* one, two */
    mte_set_atomic(&cmd, ATOMIC_NONE, TYPE_NONE);
    GO(PIPE_MTE3, &cmd);
    task_drain();
    (void)sums[4];
    free((void *)(uintptr_t)sums);
}

/* All but the last row has been stored. */
void loads_what_nobody_stored(void *arg)
{
    volatile float *result = malloc(BYTES);
    uint32_t in = zeros(tpipe_open(), "in", BYTES);
    union cmd cmd;

    (void)arg;
    mte_ub_to_gm(&cmd, (void *)(uintptr_t)result, in, right ? BYTES : BYTES - 64);
    GO(PIPE_MTE3, &cmd);
    task_drain();
    (void)result[BYTES / 4 - 1]; /* one, two */
    free((void *)(uintptr_t)result);
}
