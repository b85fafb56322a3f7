/* SPDX-License-Identifier: MIT
 *
 * Random products by matmul(), of all that it makes of operands and sums before and behind the
 * Matmul object: U8 on either side, F32 where the Cube has none, scales of columns as ONNX has
 * them, a b of which half is 0; against the definition, bit for bit, on any number of cores.
 * What lies around c must stay as it was.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/host.h"
#include "kernels/cli/op.h"
#include "kernels/matmul/matmul.h"
#include "tests/target/kernels/random.h"
#include "tests/target/test.h"

enum {
    MACS = 100000 /* of a product, by the hart */,
    GUARD = 64,
    FILL = 0xa5,
    SIDE = 1200
};

static void *pruned; /* b, of which another is packed; or NULL */

/* Small ones as often as large ones. */
static uint32_t some(void)
{
    return 1 + below(1u << (2 + below(9))) % SIDE;
}

/* Bytes of any value; floats of both signs around 1; whole sums. */
static void *numbers(enum type type, uint64_t n)
{
    unsigned bytes = type_bits(type) / 8;
    char *to = malloc(n * bytes + 1);

    for (uint64_t i = 0; i < n; i++) {
        uint32_t x = below(1 << 24) ^ below(1 << 24) << 8;
        x = type == TYPE_F32 ? (x & 0x83ffffff) + 0x3e000000 : x;
        memcpy(to + i * bytes, &x, bytes);
    }
    return to;
}

static void set_types(struct matmul *p)
{
    static const enum type whole[] = {TYPE_S8, TYPE_U8};
    static const enum type outs[] = {TYPE_S32, TYPE_F16, TYPE_S8, TYPE_U8};

    if (below(4) == 0) {
        p->in = p->in_b = p->out = TYPE_F32;
        p->batch = 1 + below(2) * below(4);
        return;
    }
    p->in = whole[below(2)];
    p->in_b = whole[below(2)];
    p->batch = 1 + below(2) * below(4);
    p->out = outs[below(4)];
    p->scale = (below(2) ? 1e-3f : -2e-4f) * (float)(1 + below(9));
    p->zero = (int32_t)below(100) - (p->out == TYPE_U8 ? 0 : 50);
    p->act.relu = below(2) ? FIX_RELU_PLAIN : FIX_RELU_NONE;
    if (p->out != TYPE_S32 && below(3) == 0) {
        p->act = (struct mm_activation){FIX_RELU_LEAKY, true, 0.125f, 30.0f};
    }
    if ((p->out == TYPE_S8 || p->out == TYPE_U8) && below(2)) {
        float *scales = malloc(SIDE * sizeof(float));
        for (uint32_t i = 0; i < SIDE; i++) {
            scales[i] = p->scale * (float)(1 + i % 13);
        }
        p->scales = scales;
        p->act =
            (struct mm_activation){.relu = below(2) ? FIX_RELU_PLAIN : FIX_RELU_NONE};
    }
}

static struct matmul make(void)
{
    struct matmul p = {.m = some(),
                       .n = some(),
                       .k = some(),
                       .batch = 1,
                       .a_transposed = below(2),
                       .b_transposed = below(2),
                       .cores = 1 + below(chip_cores())};

    set_types(&p);
    while ((uint64_t)p.m * p.n * p.k * p.batch > MACS) {
        p.batch = 1;
        p.m = p.m > p.n ? p.m / 2 : p.m;
        p.n = p.n >= p.m ? (p.n + 1) / 2 : p.n;
        p.k = p.k > 16 ? p.k / 2 : p.k;
    }
    p.a = numbers(p.in, (uint64_t)p.batch * p.m * p.k);
    p.b = numbers(p.in_b, (uint64_t)p.batch * p.k * p.n);
    p.bias = below(2) ? numbers(p.in == TYPE_F32 ? TYPE_F32 : TYPE_S32, p.n) : NULL;
    p.work = malloc(mm_made_bytes(matmul_asked(&p)) + 1);
    pruned = NULL;
    if (p.in == TYPE_S8 && p.in_b == TYPE_S8 && p.batch == 1 && p.scales == NULL &&
        chip_has_sparse()) {
        pruned = (void *)(uintptr_t)p.b;
        p.b = malloc(mm_sparse_bytes(p.n, p.k));
        mm_sparse_pack(pruned, p.n, p.k, (void *)(uintptr_t)p.b);
        p.b_transposed = p.sparse = true;
    }
    return p;
}

static void drop(const struct matmul *p)
{
    const void *all[] = {
        p->a, p->b, pruned, p->bias, p->scales, p->work, (char *)p->c - GUARD};

    for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        free((void *)(uintptr_t)all[i]);
    }
}

/* The first wrong element, or `all`. */
static uint64_t differs(const struct matmul *p, uint64_t all)
{
    unsigned bytes = type_bits(p->out) / 8, in = type_bits(p->in) / 8;
    uint64_t of_one = (uint64_t)p->m * p->n;

    for (uint64_t i = 0; i < all; i++) {
        uint64_t number = i / of_one, at = i % of_one;
        struct matmul one = *p;
        uint32_t want;
        one.a = (const char *)p->a + number * p->m * p->k * in;
        one.b = pruned ? pruned : (const char *)p->b + number * p->k * p->n * in;
        want = matmul_ref(&one, (uint32_t)(at / p->n), (uint32_t)(at % p->n));
        if (memcmp(&want, (const char *)p->c + i * bytes, bytes) != 0) {
            return i;
        }
    }
    return all;
}

static bool is_guarded(const struct matmul *p, uint64_t bytes)
{
    const uint8_t *before = (const uint8_t *)p->c - GUARD;
    const uint8_t *behind = (const uint8_t *)p->c + bytes;

    for (unsigned i = 0; i < GUARD; i++) {
        if (before[i] != FILL || behind[i] != FILL) {
            return false;
        }
    }
    return true;
}

/* One random product; false: it is wrong, which has been told. */
static bool run(void)
{
    static struct sched_report report;
    struct matmul p = make();
    uint64_t all = (uint64_t)p.batch * p.m * p.n, bytes = all * type_bits(p.out) / 8, at;
    char why[MM_TEXT];
    struct mm mm;
    int err;

    p.c = (char *)malloc(bytes + 2 * GUARD) + GUARD;
    memset((char *)p.c - GUARD, FILL, bytes + 2 * GUARD);
    err = matmul(&p, &report);
    err = err ? err : matmul_plan(&p, &mm, why);
    p.parts = err ? 0 : mm.parts;
    at = err ? 0 : differs(&p, all);
    if (err || at < all || !is_guarded(&p, bytes)) {
        printf("# %lu x (%lu x %lu x %lu) %s%s x %s%s%s to %s%s%s, %u cores: %s, element "
               "%llu\n",
               (unsigned long)p.batch, (unsigned long)p.m, (unsigned long)p.n,
               (unsigned long)p.k, type_name(p.in), p.a_transposed ? "'" : "",
               type_name(p.in_b), p.b_transposed ? "'" : "", pruned ? " sparse" : "",
               type_name(p.out), p.bias ? " bias" : "", p.scales ? " scales" : "",
               p.cores, err ? report.text : "wrong", (unsigned long long)at);
        drop(&p);
        return false;
    }
    drop(&p);
    return true;
}

static int matmul_random(int argc, char **argv)
{
    return random_products(argc, argv, 500, run);
}

COMMAND(matmulrandom, "[COUNT [SEED]]",
        "random products of operands that are made, against their definition",
        matmul_random);

TEST_SHAPES(matmul, random_products_of_what_is_made)
{
    seed = 9;
    for (unsigned i = 0; i < 12; i++) {
        CHECK(run());
    }
}
