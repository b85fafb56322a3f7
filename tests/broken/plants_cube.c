/* SPDX-License-Identifier: MIT
 *
 * Those of `plants` on the way through the Cube.
 */
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte_conv.h"
#include "tests/broken/plants.h"

static const struct mte_fractals two = {
    .type = TYPE_F16, .n_fractals = 2, .src_pitch = 1};
static const struct fixpipe_tile tile = {.type = TYPE_F32, .m = 16, .n = 16};

static void fill_l1(void)
{
    union cmd cmd;

    mte_gm_to_l1(&cmd, 0, gm, GM_BYTES);
    GO(PIPE_MTE2, &cmd);
    task_drain();
}

static void fill_l0(void)
{
    union cmd cmd;

    mte_fill(&cmd, NPU_MEM_L0A, 0, TYPE_F16, 0, FAR);
    GO(PIPE_MTE1, &cmd);
    mte_fill(&cmd, NPU_MEM_L0B, 0, TYPE_F16, 0, FAR);
    GO(PIPE_MTE1, &cmd);
    task_drain();
}

static struct cube_mmad product(uint32_t a, uint32_t b)
{
    return (struct cube_mmad){
        .type = TYPE_F16, .a = a, .b = b, .m = 16, .n = 16, .k = 32};
}

/* The last row of the map comes by a load of its own; with --sound the window ends above. */
void map_that_comes(void *arg)
{
    struct mte_conv conv = {
        .map_h = 4, .map_w = 8, .channels = 16, .filter_h = 1, .filter_w = 1};
    union cmd cmd;

    (void)arg;
    fill_l1();
    mte_gm_to_l1(&cmd, 3 * 8 * 32, gm, 8 * 32);
    GO(PIPE_MTE2, &cmd); /* one */
    mte_img2col_to_l0a(
        &cmd, 0, 0,
        &(struct mte_img2col){
            .type = TYPE_F16, .conv = &conv, .m_len = right ? 16 : 32, .k_len = 16});
    GO(PIPE_MTE1, &cmd); /* two */
}

/* L0A is halved, and the hart says that three halves are free. */
void two_buffers_three_units(void *arg)
{
    struct cube_mmad p;
    union cmd cmd;

    (void)arg;
    fill_l1();
    fill_l0();
    task_post(FREE, right ? 2 : 3);
    for (unsigned i = 0; i < 12; i++) {
        mte_l1_to_l0a_fractals(&cmd, i % 2 * 1024, i * 1024, &two);
        GO_SYNC(PIPE_MTE1, &cmd, FREE, FULL); /* one */
        p = product(i % 2 * 1024, 0);
        cube_mmad(&cmd, &p);
        GO_SYNC(PIPE_M, &cmd, FULL, FREE); /* two */
    }
    task_drain();
    task_wait(FREE, right ? 2 : 3);
}

/* The Cube hands tiles on by marks, and the second store does not look at them. */
void tile_without_a_mark(void *arg)
{
    struct fixpipe_tile out = tile;
    struct cube_mmad p;
    union cmd cmd;

    (void)arg;
    fill_l0();
    for (unsigned i = 0; i < 2; i++) {
        p = product(0, 0);
        p.c = i * 1024;
        p.unit = right || i == 0 ? UNIT_PASS : 0;
        cube_mmad(&cmd, &p);
        GO(PIPE_M, &cmd); /* one */
        out.unit = p.unit;
        fixpipe_to_gm(&cmd, gm + i * BYTES, p.c, &out);
        GO(PIPE_FIX, &cmd); /* two */
    }
}

/* 40 columns are three blocks of 16, not two and a half. */
void columns_round_up(void *arg)
{
    struct mte_nz nz = {.type = TYPE_F16, .n_rows = 16, .n_cols = 40};
    uint32_t l1 = tbuf_init(tpipe_open(), "a", A1, right ? 16 * 48 * 2 : 16 * 40 * 2);
    union cmd cmd;

    (void)arg;
    mte_gm_to_l1_nz(&cmd, l1, gm, &nz);
    GO(PIPE_MTE2, &cmd); /* two */
}

/* L0B is filled with zeros for the next product while this one reads it. */
void zeros_too_late(void *arg)
{
    struct cube_mmad p = product(0, 0);
    union cmd cmd;

    (void)arg;
    fill_l0();
    cube_mmad(&cmd, &p);
    GO_SYNC(PIPE_M, &cmd, NONE, FREE); /* two */
    mte_fill(&cmd, NPU_MEM_L0B, 0, TYPE_F16, 0, 1024);
    GO_SYNC(PIPE_MTE1, &cmd, right ? FREE : NONE, NONE); /* one */
    task_drain();
    task_wait(FREE, right ? 0 : 1);
}
