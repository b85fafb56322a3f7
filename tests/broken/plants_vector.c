/* SPDX-License-Identifier: MIT
 *
 * Those of `plants` that go wrong between MTE2, the Vector and MTE3, or by their lengths.
 */
#include "hal/vector_gather.h"
#include "hal/vector_move.h"
#include "hal/vector_sort.h"
#include "tests/broken/plants.h"

/* The Vector works on the upper half of a repeat; with --sound the load is of the lower. */
void lanes_that_are_on(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    vector_mask(&cmd, ~0ull << 32, 0);
    GO(PIPE_V, &cmd);
    vector_add(&cmd, TYPE_F32, 0, FAR, FAR);
    cmd.vec2.repeat = 1;
    GO(PIPE_V, &cmd); /* one */
    mte_gm_to_ub(&cmd, 0, gm, right ? 128 : 160);
    GO(PIPE_MTE2, &cmd); /* two */
}

/* Which of the elements are read is in a table; with --sound none of what comes. */
void gathers_what_comes(void *arg)
{
    volatile uint32_t *offset = (volatile uint32_t *)(gm + FAR);
    union cmd cmd;

    (void)arg;
    fill_ub();
    for (uint32_t i = 0; i < 64; i++) {
        offset[i] = 4 * i;
    }
    offset[63] = right ? 2 * BYTES : BYTES + 4;
    mte_gm_to_ub(&cmd, FAR, gm + FAR, 256);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL);
    mte_gm_to_ub(&cmd, BYTES, gm, BYTES);
    GO(PIPE_MTE2, &cmd); /* one */
    work_on(256);
    vector_gather(&cmd, TYPE_F32, 2 * FAR, 0, FAR);
    GO_SYNC(PIPE_V, &cmd, FULL, NONE); /* two */
}

/* One element goes into a row that is on its way out; with --sound it waits. */
void scatters_into_what_leaves(void *arg)
{
    volatile uint32_t *offset = (volatile uint32_t *)(gm + FAR);
    union cmd cmd;

    (void)arg;
    offset[0] = BYTES - 4;
    fill_ub();
    mte_ub_to_gm(&cmd, gm, 0, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, NONE, FREE); /* two */
    work_on(4);
    vector_scatter(&cmd, TYPE_F32, 0, 2 * FAR, FAR);
    GO_SYNC(PIPE_V, &cmd, right ? FREE : NONE, NONE); /* one */
    task_wait(FREE, right ? 0 : 1);
}

/* 8-bit elements go to the upper half of a block; with --sound its lower half is stored. */
void half_of_a_block(void *arg)
{
    uint16_t to[16], from[16];
    union cmd cmd;

    (void)arg;
    for (uint16_t i = 0; i < 16; i++) {
        to[i] = i;
        from[i] = FAR / 32 + i;
    }
    fill_ub();
    vector_addresses(&cmd, to, true);
    GO(PIPE_V, &cmd);
    vector_addresses(&cmd, from, false);
    GO(PIPE_V, &cmd);
    vector_transdata(&cmd, &(struct vec_transdata){.type = TYPE_S8,
                                                   .repeat = 1,
                                                   .flags = VTRANSDATA_DST_HIGH});
    GO(PIPE_V, &cmd); /* one */
    mte_ub_to_gm(&cmd, gm, 0, right ? 16 : 20);
    GO(PIPE_MTE3, &cmd); /* two */
}

/* Two buffers in turn, and the turn of the reader is that of the next. */
void other_buffer(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    task_post(FREE, 2);
    for (unsigned i = 0; i < 8; i++) {
        mte_gm_to_ub(&cmd, i % 2 * BYTES, gm + i * BYTES, BYTES);
        GO_SYNC(PIPE_MTE2, &cmd, FREE, FULL); /* one */
        vector_binary(&cmd, OP_VADD, TYPE_F32, FAR, (right ? i : i + 1) % 2 * BYTES,
                      2 * FAR);
        GO_SYNC(PIPE_V, &cmd, FULL, FREE); /* two */
    }
    task_drain();
    task_wait(FREE, 2);
}

/* x and y have a unit each; the sum waits for one. */
void one_of_two_loads(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL);
    mte_gm_to_ub(&cmd, BYTES, gm + BYTES, BYTES);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL); /* one */
    vector_add(&cmd, TYPE_F32, FAR, 0, BYTES);
    cmd_wait(&cmd, FULL, right ? 2 : 1);
    GO(PIPE_V, &cmd); /* two */
    task_drain();
    task_wait(FULL, right ? 0 : 1);
}

/* The store waits for the load where it should wait for the sum. */
void unit_of_another_pipe(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    mte_gm_to_ub(&cmd, 0, gm, BYTES);
    cmd_post(&cmd, OTHER, 1);
    GO_SYNC(PIPE_MTE2, &cmd, NONE, FULL);
    vector_add(&cmd, TYPE_F32, FAR, 0, 0);
    GO_SYNC(PIPE_V, &cmd, FULL, DONE); /* one */
    mte_ub_to_gm(&cmd, gm + FAR, FAR, BYTES);
    GO_SYNC(PIPE_MTE3, &cmd, right ? DONE : OTHER, NONE); /* two */
    task_drain();
    task_wait(right ? OTHER : DONE, 1);
}

/* The hart says that two buffers are free, of one. */
void one_buffer_two_units(void *arg)
{
    union cmd cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    task_post(FREE, right ? 1 : 2);
    for (unsigned i = 0; i < 8; i++) {
        mte_gm_to_ub(&cmd, 0, gm + i * BYTES, BYTES);
        GO_SYNC(PIPE_MTE2, &cmd, FREE, FULL); /* one */
        vector_add(&cmd, TYPE_F32, FAR, 0, 2 * FAR);
        GO_SYNC(PIPE_V, &cmd, FULL, FREE); /* two */
    }
    task_drain();
    task_wait(FREE, right ? 1 : 2);
}

/* The NOP that posts is in front of the load instead of behind it. */
void posts_before_it_writes(void *arg)
{
    union cmd load, post, cmd;

    (void)arg;
    fill_ub();
    work_on(BYTES);
    mte_gm_to_ub(&load, 0, gm, BYTES);
    cmd_nop(&post);
    cmd_post(&post, FULL, 1);
    if (!right) {
        GO(PIPE_MTE2, &post);
    }
    GO(PIPE_MTE2, &load); /* one */
    if (right) {
        GO(PIPE_MTE2, &post);
    }
    vector_add(&cmd, TYPE_F32, FAR, 0, 2 * FAR);
    GO_SYNC(PIPE_V, &cmd, FULL, NONE); /* two */
}

/* A buffer is freed by the first of two commands that read it. */
void used_behind_its_free(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, 2, BYTES);
    uint32_t sum = tbuf_init(pipe, "sum", VECCALC, BYTES);
    union cmd cmd, more;

    (void)arg;
    work_on(BYTES);
    vector_fill(&cmd, OP_VDUP, TYPE_F32, sum, 0);
    GO(PIPE_V, &cmd);
    for (unsigned i = 0; i < 4; i++) {
        uint32_t x = tque_alloc(in);
        mte_gm_to_ub(&cmd, x, gm + i * BYTES, BYTES);
        tque_enque(in, x, &cmd);
        GO(PIPE_MTE2, &cmd); /* one */
        x = tque_deque(in);
        vector_unary(&cmd, OP_VABS, TYPE_F32, sum, x);
        vector_add(&more, TYPE_F32, sum, x, sum);
        tque_free(in, x, right ? &more : &cmd);
        GO(PIPE_V, &cmd);
        GO(PIPE_V, &more); /* two */
    }
}

/* Rows of 96 bytes with room for 128, of which the last does not lie in the buffer. */
void pitch_of_rows(void *arg)
{
    uint32_t in = tbuf_init(tpipe_open(), "in", VECIN, 8 * 96);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub_rows(&cmd, in, gm,
                      &(struct mte_rows){.n_rows = 8,
                                         .row_bytes = 96,
                                         .local_pitch_bytes = right ? 96 : 128});
    GO(PIPE_MTE2, &cmd); /* two */
}

/* Rows of 30 elements with 2 of padding are 128 bytes each, not 120. */
void padding_of_rows(void *arg)
{
    uint32_t in = tbuf_init(tpipe_open(), "in", VECIN, right ? 8 * 128 : 8 * 120);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub_padded(
        &cmd, in, gm,
        &(struct mte_padded){.type = TYPE_F32, .n_rows = 8, .n_cols = 30, .right = 2});
    GO(PIPE_MTE2, &cmd); /* two */
}

/* Up to and with the last row. */
void one_row_more(void *arg)
{
    uint32_t in = tbuf_init(tpipe_open(), "in", VECIN, 9 * 128);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub_rows(&cmd, in, gm + GM_BYTES - 8 * 256,
                      &(struct mte_rows){.n_rows = right ? 8 : 9,
                                         .row_bytes = 128,
                                         .gm_pitch_bytes = 256});
    GO(PIPE_MTE2, &cmd); /* two */
}

/* What was in the buffer when another one had it. */
void left_by_another(void *arg)
{
    uint32_t in = tbuf_init(tpipe_open(), "first", VECIN, BYTES);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, in, gm, BYTES);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    in = tbuf_init(tpipe_open(), "second", VECIN, BYTES);
    if (right) {
        mte_gm_to_ub(&cmd, in, gm, BYTES);
        GO(PIPE_MTE2, &cmd);
        task_drain();
    }
    mte_ub_to_gm(&cmd, gm, in, BYTES);
    GO(PIPE_MTE3, &cmd); /* one, two */
}

/* Two steps of interpolation and the weights of one. */
void weights_not_there(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = tbuf_init(pipe, "in", VECIN, BYTES);
    uint32_t offsets = tbuf_init(pipe, "offsets", VECIN, BYTES);
    uint32_t weights = tbuf_init(pipe, "weights", VECIN, 32);
    uint32_t out = tbuf_init(pipe, "out", VECOUT, BYTES);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, in, gm, BYTES);
    GO(PIPE_MTE2, &cmd);
    mte_gm_to_ub(&cmd, offsets, gm, BYTES);
    GO(PIPE_MTE2, &cmd);
    mte_gm_to_ub(&cmd, weights, gm, right ? 4 : 2);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    vector_mask(&cmd, ~0ull, ~0ull);
    GO(PIPE_V, &cmd);
    vector_interpolate(&cmd, &(struct vec_interpolate){.dst = out,
                                                       .src = in,
                                                       .offsets = offsets,
                                                       .weights = weights,
                                                       .steps = 2,
                                                       .n = 1});
    GO(PIPE_V, &cmd); /* one */
    task_drain();
    mte_ub_to_gm(&cmd, gm, out, 256);
    GO(PIPE_MTE3, &cmd); /* two */
}

/* The last row of a tile of 16 x 16 is missing when it is transposed. */
void fifteen_rows(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = tbuf_init(pipe, "in", VECIN, 512);
    uint32_t out = tbuf_init(pipe, "out", VECOUT, 512);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, in, gm, right ? 512 : 480);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    vector_transpose(&cmd, TYPE_F16, out, in);
    GO(PIPE_V, &cmd); /* one */
    task_drain();
    mte_ub_to_gm(&cmd, gm, out, 512);
    GO(PIPE_MTE3, &cmd); /* two */
}

/* The second of two lists has fewer pairs than are said. */
void one_list_is_longer(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = tbuf_init(pipe, "in", VECIN, 512);
    uint32_t out = tbuf_init(pipe, "out", VECOUT, 512);
    union cmd cmd;

    (void)arg;
    mte_gm_to_ub(&cmd, in, gm, 256 + 240);
    GO(PIPE_MTE2, &cmd);
    task_drain();
    vector_merge(&cmd, &(struct vec_merge){.type = TYPE_F32,
                                           .dst = out,
                                           .lists = 2,
                                           .src = {in, in + 256},
                                           .n = {32, right ? 30 : 32}});
    GO(PIPE_V, &cmd); /* one */
    task_drain();
    mte_ub_to_gm(&cmd, gm, out, right ? 496 : 512);
    GO(PIPE_MTE3, &cmd); /* two */
}
