/* SPDX-License-Identifier: MIT
 *
 * What the commands of the DMA engines, the Cube and the fixpipe do, on small data and
 * odd sizes, on the chip's last core. Local memories are looked at by the hart through
 * chip_local(); whatever lies around a destination must stay as it was.
 */
#include <math.h>
#include <string.h>

#include "hal/sem.h"
#include "kernels/lib/f16.h"
#include "tests/target/engine.h"

enum { GUARD = 0xa5, ROOM = 4096 };

static uint8_t in[ROOM] __attribute__((aligned(512)));
static uint8_t out[ROOM] __attribute__((aligned(512)));
static uint8_t want[ROOM];

/* Bytes that differ from their neighbours and from the guard. */
static void fill_in(unsigned seed)
{
    for (unsigned i = 0; i < ROOM; i++) {
        seed = seed * 1664525u + 1013904223u;
        in[i] = (uint8_t)(seed >> 24 == GUARD ? 0 : seed >> 24);
    }
}

static uint8_t *guarded(enum npu_mem mem)
{
    return memset(chip_local(core(), mem, 0), GUARD, ROOM);
}

/* --- block copies --- */

static const unsigned lengths[] = {1, 2, 31, 32, 33, 63, 65, 255, 512, 1001};
enum { N_LENGTHS = sizeof(lengths) / sizeof(lengths[0]) };

TEST(mte, copies_any_length_from_any_address_to_ub)
{
    union cmd cmd;

    fill_in(1);
    for (unsigned i = 0; i < N_LENGTHS; i++) {
        uint8_t *ub = guarded(NPU_MEM_UB);

        mte_gm_to_ub(&cmd, 96, in + 7 * i + 1, lengths[i]);
        run_on(PIPE_MTE2, &cmd);
        memset(want, GUARD, ROOM);
        memcpy(want + 96, in + 7 * i + 1, lengths[i]);
        CHECK_BYTES(ub, want, ROOM);
    }
}

TEST(mte, copies_any_length_from_ub_to_any_address)
{
    uint8_t *ub = chip_local(core(), NPU_MEM_UB, 0);
    union cmd cmd;

    fill_in(2);
    memcpy(ub, in, ROOM); /* the hart's stores are what the engine reads */
    for (unsigned i = 0; i < N_LENGTHS; i++) {
        memset(out, GUARD, ROOM);
        mte_ub_to_gm(&cmd, out + 5 * i + 3, 64, lengths[i]);
        run_on(PIPE_MTE3, &cmd);
        memset(want, GUARD, ROOM);
        memcpy(want + 5 * i + 3, in + 64, lengths[i]);
        CHECK_BYTES(out, want, ROOM);
    }
}

TEST(mte, copies_to_the_last_byte_of_ub)
{
    uint32_t at = chip_mem(NPU_MEM_UB) - 64;
    union cmd cmd;

    fill_in(3);
    mte_gm_to_ub(&cmd, at, in + 1, 64);
    run_on(PIPE_MTE2, &cmd);
    CHECK_BYTES(chip_local(core(), NPU_MEM_UB, at), in + 1, 64);
}

TEST(mte, nothing_to_copy_posts_all_the_same)
{
    uint8_t *ub = guarded(NPU_MEM_UB);
    union cmd cmd;

    memset(want, GUARD, ROOM);
    mte_gm_to_ub(&cmd, 0, in, 0);
    cmd_post(&cmd, 1, 1);
    run_on(PIPE_MTE2, &cmd);
    CHECK_OK(sem_try_take(core(), 1, 1));
    CHECK_BYTES(ub, want, ROOM);
}

TEST(mte, gaps_are_stepped_over)
{
    uint8_t *ub = guarded(NPU_MEM_UB);
    union cmd cmd;

    fill_in(4);
    mte_gm_to_ub_rows(
        &cmd, 32, in + 1, /* 40 bytes take two units of UB */
        &(struct mte_rows){
            .n_rows = 3, .row_bytes = 40, .gm_pitch_bytes = 49, .local_pitch_bytes = 96});
    run_on(PIPE_MTE2, &cmd);
    memset(want, GUARD, ROOM);
    for (unsigned i = 0; i < 3; i++) {
        memcpy(want + 32 + 96 * i, in + 1 + 49 * i, 40);
    }
    CHECK_BYTES(ub, want, ROOM);
}

/* A source is read when its command begins, so what the hart stores later is not. */
TEST(mte, source_is_read_at_the_begin)
{
    enum { BYTES = 8 * ROOM }; /* that take longer than the hart does to look */
    static uint8_t from[BYTES];
    union cmd cmd;

    memset(from, 0x11, BYTES);
    mte_gm_to_ub(&cmd, 0, from, BYTES);
    CHECK_OK(pipe_push(core(), PIPE_MTE2, &cmd));
    while (read64(pipe_base(core(), PIPE_MTE2) + PIPE_UNTIL) == 0) {
        CHECK(!pipe_idle(core(), PIPE_MTE2));
    }
    memset(from, 0x22, BYTES);
    wait_for(PIPE_MTE2);
    CHECK_EQ(*(uint8_t *)chip_local(core(), NPU_MEM_UB, BYTES - 1), 0x11);
}

/* --- ND to NZ --- */

/* The layout by its definition: element (r, c) of a 5 x n matrix, rows 45 elements apart,
 * in column blocks of c0, 7 rows of 32 bytes apart; the last block is filled with 0. */
static void check_nd2nz(enum type type, unsigned n)
{
    unsigned esize = type_bits(type) / 8, c0 = type_c0(type);
    uint8_t *l1 = guarded(NPU_MEM_L1);
    union cmd cmd;

    fill_in(n);
    mte_gm_to_l1_nz(&cmd, 64, in + 3,
                    &(struct mte_nz){.type = type,
                                     .n_rows = 5,
                                     .n_cols = n,
                                     .gm_pitch_elems = 45,
                                     .block_rows = 7});
    run_on(PIPE_MTE2, &cmd);
    memset(want, GUARD, ROOM);
    for (unsigned r = 0; r < 5; r++) {
        for (unsigned c = 0; c < (n + c0 - 1) / c0 * c0; c++) {
            uint8_t *to = want + 64 + c / c0 * 7 * 32 + r * 32 + c % c0 * esize;

            memset(to, 0, esize);
            if (c < n) {
                memcpy(to, in + 3 + (r * 45 + c) * esize, esize);
            }
        }
    }
    CHECK_BYTES(l1, want, ROOM);
}

TEST(mte, nz_of_2_byte_elements)
{
    check_nd2nz(TYPE_F16, 1);
    check_nd2nz(TYPE_F16, 16);
    check_nd2nz(TYPE_BF16, 37);
}

TEST(mte, nz_of_1_byte_elements)
{
    check_nd2nz(TYPE_S8, 31);
    check_nd2nz(TYPE_U8, 33);
}

TEST(mte, nz_of_4_byte_elements)
{
    check_nd2nz(TYPE_F32, 9);
    check_nd2nz(TYPE_S32, 24);
}

/* --- Cube and fixpipe --- */

enum { M = 5, K = 19, N = 23, PITCH = 29 };

static struct product product(enum type type, const void *a, const void *b)
{
    return (struct product){.type = type,
                            .a = a,
                            .b = b,
                            .m = M,
                            .n = N,
                            .k = K,
                            .a_at = 512,
                            .b_at = 1536,
                            .c_at = 1024};
}

/* Rows of c PITCH elements apart. */
static void fetch(const struct product *p, enum quant quant)
{
    struct fixpipe_tile tile = product_tile(p, quant);
    union cmd cmd;

    memset(out, GUARD, ROOM);
    memset(want, GUARD, ROOM);
    tile.pitch_elems = PITCH;
    fixpipe_to_gm(&cmd, out + 6, p->c_at, &tile);
    run_on(PIPE_FIX, &cmd);
}

/* Element i of c where fetch() must have put it. */
static void set_want(unsigned i, const void *value, unsigned esize)
{
    memcpy(want + 6 + (i / N * PITCH + i % N) * esize, value, esize);
}

static uint16_t ha[M * K], hb[K * N];

static struct product make_halves(void)
{
    for (unsigned i = 0; i < M * K; i++) {
        ha[i] = f32_to_f16((float)(i * 37 % 101) / 7 - 6);
    }
    for (unsigned i = 0; i < K * N; i++) {
        hb[i] = f32_to_f16((float)(i * 53 % 97) / 9 - 5);
    }
    return product(TYPE_F16, ha, hb);
}

static float dot(unsigned r, unsigned c, float sum)
{
    for (unsigned k = 0; k < K; k++) {
        sum = fmaf(f16_to_f32(ha[r * K + k]), f16_to_f32(hb[k * N + c]), sum);
    }
    return sum;
}

TEST(cube, multiplies_halves)
{
    struct product p = make_halves();

    run_product(&p);
    fetch(&p, QUANT_NONE);
    for (unsigned i = 0; i < M * N; i++) {
        float sum = dot(i / N, i % N, 0);
        set_want(i, &sum, 4);
    }
    CHECK_BYTES(out, want, ROOM);
}

TEST(cube, adds_to_what_l0c_holds)
{
    struct product p = make_halves();

    run_product(&p);
    p.from = CUBE_FROM_C;
    run_mmad(&p);
    fetch(&p, QUANT_NONE);
    for (unsigned i = 0; i < M * N; i++) {
        float sum = dot(i / N, i % N, dot(i / N, i % N, 0));
        set_want(i, &sum, 4);
    }
    CHECK_BYTES(out, want, ROOM);
}

TEST(cube, multiplies_bytes)
{
    struct product p = product(TYPE_S8, in, in + ROOM / 2);

    fill_in(5);
    in[0] = in[1] = in[ROOM / 2] = in[ROOM / 2 + N] = 0x80; /* -128 x -128, twice */
    run_product(&p);
    fetch(&p, QUANT_NONE);
    for (unsigned i = 0; i < M * N; i++) {
        int32_t sum = 0;
        for (unsigned k = 0; k < K; k++) {
            sum += (int8_t)in[i / N * K + k] * (int8_t)in[ROOM / 2 + k * N + i % N];
        }
        set_want(i, &sum, 4);
    }
    CHECK_BYTES(out, want, ROOM);
}

TEST(fixpipe, rounds_to_half)
{
    struct product p = make_halves();

    run_product(&p);
    fetch(&p, QUANT_F322F16);
    for (unsigned i = 0; i < M * N; i++) {
        uint16_t h = f32_to_f16(dot(i / N, i % N, 0));
        set_want(i, &h, 2);
    }
    CHECK_BYTES(out, want, ROOM);
}

TEST(fixpipe, rounds_to_bfloat16)
{
    struct product p = make_halves();

    if (!chip_has_type(PIPE_FIX, TYPE_BF16)) {
        test_skip("no bfloat16 on this chip");
        return;
    }
    run_product(&p);
    fetch(&p, QUANT_F322BF16);
    for (unsigned i = 0; i < M * N; i++) {
        float sum = dot(i / N, i % N, 0);
        uint32_t bits;
        memcpy(&bits, &sum, 4);
        bits += 0x7fff + (bits >> 16 & 1); /* to nearest, ties to even */
        set_want(i, (uint8_t *)&bits + 2, 2);
    }
    CHECK_BYTES(out, want, ROOM);
}

/* The hart lays b out in L1 itself; a is the identity, so c is b. */
TEST(cube, hart_s_stores_to_l1_are_its_operands)
{
    static const struct mte_window window = {
        .type = TYPE_F16, .n_rows = 16, .n_cols = 16, .block_rows = 16};
    static const struct product p = {.type = TYPE_F16, .m = 16, .n = 16, .k = 16};
    uint16_t *l1 = chip_local(core(), NPU_MEM_L1, 0);
    uint16_t one = f32_to_f16(1);
    union cmd cmd;

    memset(l1, 0, 1024);
    for (unsigned i = 0; i < 16; i++) {
        l1[i * 16 + i] = one;
        for (unsigned j = 0; j < 16; j++) {
            l1[256 + i * 16 + j] = f32_to_f16((float)(i * 16 + j));
        }
    }
    mte_l1_to_l0a(&cmd, 0, 0, &window);
    run_on(PIPE_MTE1, &cmd);
    mte_l1_to_l0b(&cmd, 0, 512, &window);
    run_on(PIPE_MTE1, &cmd);
    run_mmad(&p);
    run_fetch(&p, out, QUANT_F322F16);
    CHECK_BYTES(out, l1 + 256, 512);
}
