/* SPDX-License-Identifier: MIT
 *
 * Those kernels of `unwritten` that go wrong in the memories of a core.
 */
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/vector_gather.h"
#include "hal/vector_move.h"
#include "hal/vector_reduce.h"
#include "hal/vector_sort.h"
#include "tests/broken/init.h"

/* --- the Vector --- */

void tail_not_loaded(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    union cmd cmd;

    (void)arg;
    load(in, sound ? BYTES : BYTES - 64);
    count(ELEMENTS);
    vector_add(&cmd, TYPE_F32, out, in, in);
    GO(PIPE_V, &cmd); /* from */
    mte_ub_to_gm(&cmd, z, out, BYTES);
    GO(PIPE_MTE3, &cmd); /* used */
}

/* Elements where bytes are wanted. */
void wrong_length(void *arg)
{
    uint32_t in = buffer(tpipe_open(), "in", VECIN);
    union cmd cmd;

    (void)arg;
    load(in, sound ? BYTES : ELEMENTS);
    mte_ub_to_gm(&cmd, z, in, BYTES);
    GO(PIPE_MTE3, &cmd); /* from, used */
}

void mask_too_wide(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    union cmd cmd;

    (void)arg;
    load(in, 48 * 4);
    vector_mask(&cmd, sound ? (1ull << 48) - 1 : ~0ull, 0);
    GO(PIPE_V, &cmd);
    vector_reduce(&cmd, OP_VCADD, TYPE_F32, out, in);
    cmd.vec_reduce.repeat = 1;
    GO(PIPE_V, &cmd); /* from */
    mte_ub_to_gm(&cmd, z, out, 4);
    GO(PIPE_MTE3, &cmd); /* used */
}

/* The last block of eight has padding. */
void maximum_of_padding(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    union cmd cmd;

    (void)arg;
    if (sound) {
        count(64);
        vector_fill(&cmd, OP_VDUP, TYPE_F32, in, 0xff800000);
        GO(PIPE_V, &cmd);
    }
    load(in, 60 * 4);
    vector_mask(&cmd, ~0ull, 0);
    GO(PIPE_V, &cmd);
    vector_reduce(&cmd, OP_VCGMAX, TYPE_F32, out, in);
    cmd.vec_reduce.repeat = 1;
    GO(PIPE_V, &cmd); /* from */
    mte_ub_to_gm(&cmd, z, out, 32);
    GO(PIPE_MTE3, &cmd); /* used */
}

void sort_tail(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    uint32_t index = buffer(pipe, "index", VECIN);
    union cmd cmd;

    (void)arg;
    count(ELEMENTS);
    load(in, sound ? 128 : 96);
    load(index, 128);
    vector_sort32(&cmd, TYPE_F32, out, in, index, 1);
    GO(PIPE_V, &cmd); /* from */
    mte_ub_to_gm(&cmd, z, out, 256);
    GO(PIPE_MTE3, &cmd); /* used */
}

void scalar_not_there(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "scalar", VECCALC), out = buffer(pipe, "out", VECOUT);
    union cmd cmd;

    (void)arg;
    count(ELEMENTS);
    load(in, sound ? 32 : 28);
    vector_broadcast(&cmd, TYPE_F32, out, in, 1);
    GO(PIPE_V, &cmd); /* from */
    mte_ub_to_gm(&cmd, z, out, 256);
    GO(PIPE_MTE3, &cmd); /* used */
}

/* The offsets are NaN, which leads out of UB: the command is refused. */
void offsets_not_there(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "table", VECIN), out = buffer(pipe, "out", VECOUT);
    uint32_t offsets = buffer(pipe, "offsets", VECCALC);
    union cmd cmd;

    (void)arg;
    load(in, BYTES);
    load(offsets, sound ? 256 : 128);
    vector_mask(&cmd, ~0ull, 0);
    GO(PIPE_V, &cmd);
    vector_gather(&cmd, TYPE_F32, out, in, offsets);
    cmd.vec_gather.repeat = 1;
    task_issue(PIPE_V, &cmd); /* from, used */
}

/* Which elements stay: bits in what no buffer has, 0 by chance. */
void pattern_not_there(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    uint32_t bits = out + 32 * BYTES;
    union cmd cmd;

    (void)arg;
    load(in, BYTES);
    if (sound) {
        load(bits, 32);
    }
    count(ELEMENTS);
    vector_compact(&cmd, TYPE_F32, out, in, bits);
    GO(PIPE_V, &cmd); /* from, used */
}

/* x where it is less than another, of which the end is missing: by bits in UB, and by the
 * compare mask register. */
static void select_by(bool cmpmask, uint32_t in, uint32_t out, uint32_t bits)
{
    union cmd cmd;

    vector_select_strided(&cmd,
                          &(struct vec_select){.type = TYPE_F32,
                                               .dst = vec_dense(out),
                                               .x = vec_dense(in),
                                               .y = vec_dense(in),
                                               .bits = bits,
                                               .repeat = 1,
                                               .flags = cmpmask ? VSEL_CMPMASK : 0});
    GO(PIPE_V, &cmd);
}

void bits_of_a_tail(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    uint32_t other = buffer(pipe, "other", VECIN), bits = buffer(pipe, "bits", VECCALC);
    union cmd cmd;

    (void)arg;
    load(in, 256);
    load(other, sound ? 256 : 224);
    count(64);
    vector_compare(&cmd, TYPE_F32, CMP_LT, bits, in, other);
    GO(PIPE_V, &cmd); /* from */
    select_by(false, in, out, bits);
    mte_ub_to_gm(&cmd, z, out, 256);
    GO(PIPE_MTE3, &cmd); /* used */
}

/* 17 elements are there: the bits of a byte are not alike, and stay so when bits of two
 * comparisons come together. */
void bits_of_both(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    uint32_t other = buffer(pipe, "other", VECIN), bits = buffer(pipe, "bits", VECCALC);
    union cmd cmd;

    (void)arg;
    load(in, 256);
    load(other, 17 * 4);
    count(64);
    vector_compare(&cmd, TYPE_F32, CMP_LT, bits, in, other);
    GO(PIPE_V, &cmd); /* from */
    count(4);
    vector_binary(&cmd, OP_VOR, TYPE_S16, bits, bits, bits);
    GO(PIPE_V, &cmd);
    count(64);
    select_by(false, in, out, bits);
    mte_ub_to_gm(&cmd, z, out, sound ? 17 * 4 : 18 * 4);
    GO(PIPE_MTE3, &cmd); /* used */
}

void mask_of_a_tail(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    uint32_t other = buffer(pipe, "other", VECIN);
    union cmd cmd;

    (void)arg;
    load(in, 256);
    load(other, sound ? 256 : 224);
    vector_mask(&cmd, ~0ull, 0);
    GO(PIPE_V, &cmd);
    vector_compare_strided(&cmd, &(struct vec_compare){.type = TYPE_F32,
                                                       .cond = CMP_LT,
                                                       .x = vec_dense(in),
                                                       .y = vec_dense(other),
                                                       .repeat = 1,
                                                       .flags = VCMP_CMPMASK});
    GO(PIPE_V, &cmd); /* from */
    select_by(true, in, out, 0);
    mte_ub_to_gm(&cmd, z, out, 256);
    GO(PIPE_MTE3, &cmd); /* used */
}

/* The second half goes where the first one is. */
void half_twice(void *arg)
{
    struct tpipe *pipe = tpipe_open();
    uint32_t in = buffer(pipe, "in", VECIN), out = buffer(pipe, "out", VECOUT);
    union cmd cmd;

    (void)arg;
    load(in, BYTES / 2);
    load(sound ? in + BYTES / 2 : in, BYTES / 2);
    count(ELEMENTS);
    vector_copy(&cmd, TYPE_S32, out, in);
    GO(PIPE_V, &cmd); /* from */
    mte_ub_to_l1(&cmd, 0, out, BYTES);
    GO(PIPE_MTE3, &cmd);
    mte_l1_to_gm(&cmd, z, 0, BYTES);
    GO(PIPE_MTE3, &cmd); /* used */
}

/* --- the Cube --- */

static struct cube_mmad product(struct tpipe *pipe, uint32_t *l1)
{
    struct cube_mmad p = {.type = TYPE_F16,
                          .a = buffer(pipe, "a", A2),
                          .b = buffer(pipe, "b", B2),
                          .c = buffer(pipe, "c", CO1),
                          .m = 16,
                          .n = 16,
                          .k = 32};
    union cmd cmd;

    *l1 = buffer(pipe, "l1", A1);
    mte_gm_to_l1(&cmd, *l1, x, 2 * BYTES);
    GO(PIPE_MTE2, &cmd);
    return p;
}

static void load_ab(const struct cube_mmad *p, uint32_t l1, unsigned of_a)
{
    struct mte_fractals f = {.type = TYPE_F16, .n_fractals = of_a, .src_pitch = 1};
    union cmd cmd;

    mte_l1_to_l0a_fractals(&cmd, p->a, l1, &f);
    GO(PIPE_MTE1, &cmd);
    f.n_fractals = 2;
    mte_l1_to_l0b_fractals(&cmd, p->b, l1, &f);
    GO(PIPE_MTE1, &cmd);
}

static const struct fixpipe_tile tile = {.type = TYPE_F32, .m = 16, .n = 16};

void k_beyond_what_is_loaded(void *arg)
{
    uint32_t l1;
    struct cube_mmad p = product(tpipe_open(), &l1);
    union cmd cmd;

    (void)arg;
    load_ab(&p, l1, sound ? 2 : 1);
    cube_mmad(&cmd, &p);
    GO(PIPE_M, &cmd); /* from */
    fixpipe_to_gm(&cmd, z, p.c, &tile);
    GO(PIPE_FIX, &cmd); /* used */
}

void sum_without_a_start(void *arg)
{
    uint32_t l1;
    struct cube_mmad p = product(tpipe_open(), &l1);
    union cmd cmd;

    (void)arg;
    load_ab(&p, l1, 2);
    p.from = sound ? CUBE_FROM_ZERO : CUBE_FROM_C;
    cube_mmad(&cmd, &p);
    GO(PIPE_M, &cmd); /* from */
    fixpipe_to_gm(&cmd, z, p.c, &tile);
    GO(PIPE_FIX, &cmd); /* used */
}

void bias_not_there(void *arg)
{
    uint32_t l1;
    struct tpipe *pipe = tpipe_open();
    struct cube_mmad p = product(pipe, &l1);
    union cmd cmd;

    (void)arg;
    load_ab(&p, l1, 2);
    p.from = CUBE_FROM_BIAS;
    p.bias = tbuf_init(pipe, "bias", C2, 64);
    if (sound) {
        mte_l1_to_bt(&cmd, p.bias, l1, TYPE_F32, 16);
        GO(PIPE_MTE1, &cmd);
    }
    cube_mmad(&cmd, &p);
    GO(PIPE_M, &cmd); /* from */
    fixpipe_to_gm(&cmd, z, p.c, &tile);
    GO(PIPE_FIX, &cmd); /* used */
}

/* The scales of half of the columns. */
void scale_not_there(void *arg)
{
    uint32_t l1, scales;
    struct tpipe *pipe = tpipe_open();
    struct cube_mmad p = product(pipe, &l1);
    struct fixpipe_tile scaled = tile;
    union cmd cmd;

    (void)arg;
    load_ab(&p, l1, 2);
    cube_mmad(&cmd, &p);
    GO(PIPE_M, &cmd);
    scales = tbuf_init(pipe, "scales", C2PIPE2GM, 128);
    fixpipe_l1_to_fb(&cmd, scales, l1, sound ? 128 : 64);
    GO(PIPE_FIX, &cmd);
    scaled.quant = QUANT_VQF322B8_PRE;
    scaled.fb_quant = scales;
    fixpipe_to_gm(&cmd, z, p.c, &scaled);
    GO(PIPE_FIX, &cmd); /* from, used */
}

/* The tile has 16 rows, the matrix 10. */
void more_rows_than_there_are(void *arg)
{
    uint32_t l1, l1_a;
    struct tpipe *pipe = tpipe_open();
    struct cube_mmad p = product(pipe, &l1);
    struct mte_nz nz = {.type = TYPE_F16, .n_rows = 10, .n_cols = 32, .block_rows = 16};
    union cmd cmd;

    (void)arg;
    l1_a = buffer(pipe, "l1 of a", A1);
    mte_gm_to_l1_nz(&cmd, l1_a, x, &nz);
    GO(PIPE_MTE2, &cmd);
    load_ab(&p, l1, 2);
    mte_l1_to_l0a(&cmd, p.a, l1_a,
                  &(struct mte_window){
                      .type = TYPE_F16, .n_rows = 16, .n_cols = 32, .block_rows = 16});
    GO(PIPE_MTE1, &cmd); /* from */
    p.m = sound ? 10 : 16;
    cube_mmad(&cmd, &p);
    GO(PIPE_M, &cmd);
    fixpipe_to_gm(&cmd, z, p.c,
                  &(struct fixpipe_tile){.type = TYPE_F32, .m = p.m, .n = 16});
    GO(PIPE_FIX, &cmd); /* used */
}
