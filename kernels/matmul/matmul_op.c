/* SPDX-License-Identifier: MIT
 *
 * What matmul is: its description. The definition is in matmul_ref.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hal/fixpipe.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_op.h"

static struct mm_activation activation(const struct matmul_own *own)
{
    static const uint8_t relu[] = {FIX_RELU_NONE, FIX_RELU_PLAIN, FIX_RELU_LEAKY};

    return (struct mm_activation){.relu = relu[own->activation],
                                  .clip = own->limit != 0 && !isinf(own->limit),
                                  .slope = own->slope,
                                  .limit = own->limit};
}

/* The dimension that an operand's rows are counted by, the last but one of the rule. */
static char rows_by(const struct op_call *c, unsigned operand)
{
    const char *end = strchr(c->op->io, ']');

    while (operand--) {
        end = strchr(end + 1, ']');
    }
    return end[-3];
}

/* Whether operands are bytes of two S4 each, the lower k in the low half: a[m,p]. */
static bool is_pairs(const struct op_call *c)
{
    return strchr(c->op->io, ']')[-1] == 'p';
}

static enum type pairs_type(const struct op_call *c)
{
    return c->in[0].type == TYPE_U8 && c->in[1].type == TYPE_U8 ? TYPE_S4 : TYPE_NONE;
}

/* What has no options, like demo, has arguments of 0: MATMUL_OWN, MM_AUTO, as it is. */
static struct matmul parameters(const struct op_call *c)
{
    const struct matmul_own *own = (const void *)c->args;
    bool at = rows_by(c, 0) == 'k', bt = rows_by(c, 1) != 'k', pairs = is_pairs(c);
    unsigned outer = c->in[0].ndim - 2;
    const uint64_t *a = &c->in[0].shape[outer], *b = &c->in[1].shape[outer];

    return (struct matmul){.tiling = (enum matmul_tiling)own->tiling,
                           .strategy = (enum mm_strategy)own->strategy,
                           .a = c->in[0].data,
                           .b = c->in[1].data,
                           .bias = c->in[2].data,
                           .c = c->out[0].data,
                           .a_transposed = at,
                           .b_transposed = bt,
                           .m = (uint32_t)a[at],
                           .k = (uint32_t)a[!at] * (pairs ? 2 : 1),
                           .n = (uint32_t)b[!bt],
                           .in = pairs ? pairs_type(c) : c->in[0].type,
                           .in_b = pairs ? pairs_type(c) : c->in[1].type,
                           .out = c->out[0].type,
                           .scale = own->scale,
                           .zero = own->zero,
                           .hf32 = own->hf32,
                           .act = activation(own),
                           .batch = outer ? (uint32_t)c->in[0].shape[0] : 1,
                           .work = c->work[0],
                           .cores = c->cores};
}

int matmul_op_prepare(struct op_call *c)
{
    struct matmul p = parameters(c);
    uint64_t bytes = mm_made_bytes(matmul_asked(&p));
    char why[MM_TEXT];

    if (mm_made_planes(p.in, p.hf32) && !(mm_made_holds(p.a, c->in[0].count, 'a', why) &&
                                          mm_made_holds(p.b, c->in[1].count, 'b', why))) {
        fprintf(stderr, "%s: %s\n", c->op->name, why);
        return ERR_ARG;
    }
    c->work[0] = bytes ? data_alloc(c->op->name, TYPE_U8, bytes) : NULL;
    return bytes && c->work[0] == NULL ? ERR_NOMEM : 0;
}

/* How it is done, once for all repetitions. */
static void explain(const struct matmul *p)
{
    static char told[MM_TEXT];
    char text[MM_TEXT];
    struct mm mm;

    if (matmul_plan(p, &mm, text) != 0) {
        return; /* the run will tell */
    }
    mm_explain(&mm, text);
    if (strcmp(text, told) != 0) {
        strcpy(told, text);
        printf("matmul: %s\n", text);
    }
}

int matmul_op_run(const struct op_call *c, struct sched_report *report)
{
    const struct matmul_own *own = (const void *)c->args;
    struct matmul p = parameters(c);

    if (p.batch == 0) {
        return ERR_ARG; /* to matmul() that is one */
    }
    if (own->explain && p.tiling == MATMUL_OWN) {
        explain(&p);
    }
    return matmul(&p, report);
}

/* One of a batch. */
static struct matmul product_of(const struct matmul *p, uint64_t number)
{
    unsigned bytes = type_bits(p->in) / 8;
    struct matmul one = *p;

    one.a = (const char *)p->a + number * p->m * p->k * bytes;
    one.b = (const char *)p->b + number * p->k * p->n * bytes;
    return one;
}

void matmul_op_ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                   struct op_want *want)
{
    struct matmul p = parameters(c);
    char why[MM_TEXT];
    struct mm mm;

    (void)out;
    if (p.tiling == MATMUL_OWN && matmul_plan(&p, &mm, why) == 0) {
        p.parts = mm.parts;
    }
    for (uint64_t i = 0; i < n; i++) {
        uint64_t row = (first + i) / p.n;
        struct matmul one = product_of(&p, row / p.m);
        want->bits[i] =
            matmul_ref(&one, (uint32_t)(row % p.m), (uint32_t)((first + i) % p.n));
    }
}

void matmul_op_work(const struct op_call *c, struct work *w)
{
    struct matmul p = parameters(c);

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, &c->in[1]);
    for (uint32_t i = 0; i < p.batch; i++) {
        work_matmul(w, p.in, p.m, p.n, p.k);
    }
    work_out(w, NPU_MEM_L0C, &c->out[0]);
}

OPERATOR(matmul, .summary = "c = act(scale (a x b)) on the Cube",
         .io = "a[m,k] b[k,n] -> c[m,n]", .types = MATMUL_TYPES "; " MATMUL_U8,
         .run = matmul_op_run,
         .options = OPTIONS(CHOICE(struct matmul_own, tiling, "own|published",
                                   "that of pto-isa's GEMM, to compare with a card"),
                            MATMUL_OPTIONS),
         .ref = matmul_op_ref, .check = 64, .work = matmul_op_work,
         .numpy = "matmul(a, b, None, options)", .prepare = matmul_op_prepare,
         .cases = CASES(
             "--m 1 --n 1 --k 1", "--m 7 --n 5 --k 13", "--m 7 --n 5 --k 13 --out f16",
             "--m 7 --n 5 --k 13 --type s8", "--m 37 --n 41 --k 3 --data special",
             "--m 37 --n 41 --k 3 --data special --out f16",
             "--m 40 --n 300 --k 2 --data bits --out f16", "--m 130 --n 129 --k 257",
             "--m 130 --n 300 --k 300 --tiling published",
             "--m 257 --n 33 --k 70 --tiling published --type s8",
             "--m 130 --n 129 --k 257 --out f16",
             "--m 130 --n 129 --k 257 --type s8 --data bits", "--m 1 --n 33 --k 515",
             "--m 261 --n 1 --k 3", "--m 17 --n 19 --k 2049 --out f16",
             "--m 33 --n 70 --k 40 --type s8 --out s8 --scale 2e-3 --zero -5",
             "--m 33 --n 70 --k 40 --type s8 --out u8 --scale 1e-3 --activation leaky "
             "--slope -0.5 --limit 90.5 --zero 7",
             "--m 2 --n 2 --k 131073 --type s8 --data lowest", "--m 200 --n 300 --k 700",
             "--m 300 --n 130 --k 500 --type s8"));
