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

/* The first dimension of an operand, by the description's rule. */
static char first_dimension(const struct op_call *c, unsigned operand)
{
    const char *at = strchr(c->op->io, '[');

    while (operand--) {
        at = strchr(at + 1, '[');
    }
    return at[1];
}

/* What has no options, like demo, has arguments of 0: MATMUL_OWN, MM_AUTO, as it is. */
static struct matmul parameters(const struct op_call *c)
{
    const struct matmul_own *own = (const void *)c->args;
    bool at = first_dimension(c, 0) == 'k', bt = first_dimension(c, 1) != 'k';
    const uint64_t *a = c->in[0].shape, *b = c->in[1].shape;

    return (struct matmul){.tiling = (enum matmul_tiling)own->tiling,
                           .strategy = (enum mm_strategy)own->strategy,
                           .a = c->in[0].data,
                           .b = c->in[1].data,
                           .bias = c->in[2].data,
                           .c = c->out[0].data,
                           .a_transposed = at,
                           .b_transposed = bt,
                           .m = (uint32_t)a[at],
                           .k = (uint32_t)a[!at],
                           .n = (uint32_t)b[!bt],
                           .in = c->in[0].type,
                           .out = c->out[0].type,
                           .scale = own->scale,
                           .zero = own->zero,
                           .hf32 = own->hf32,
                           .act = activation(own),
                           .cores = c->cores};
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

    if (own->explain && p.tiling == MATMUL_OWN) {
        explain(&p);
    }
    return matmul(&p, report);
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
        want->bits[i] =
            matmul_ref(&p, (uint32_t)((first + i) / p.n), (uint32_t)((first + i) % p.n));
    }
}

void matmul_op_work(const struct op_call *c, struct work *w)
{
    struct matmul p = parameters(c);

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, &c->in[1]);
    work_matmul(w, p.in, p.m, p.n, p.k);
    work_out(w, NPU_MEM_L0C, &c->out[0]);
}

OPERATOR(matmul, .summary = "c = act(scale (a x b)) on the Cube",
         .io = "a[m,k] b[k,n] -> c[m,n]", .types = MATMUL_TYPES, .run = matmul_op_run,
         .options = OPTIONS(CHOICE(struct matmul_own, tiling, "own|published",
                                   "that of pto-isa's GEMM, to compare with a card"),
                            MATMUL_OPTIONS),
         .ref = matmul_op_ref, .check = 64, .work = matmul_op_work,
         .numpy = "matmul(a, b, None, options)",
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
