/* SPDX-License-Identifier: MIT
 *
 * What mla_prolog is: its description, in one launch and in three.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/text.h"
#include "kernels/lib/f16.h"
#include "kernels/mla_prolog/mla_prolog.h"
#include "kernels/mla_prolog/tiles.h"

enum { WORDS = 24 /* of a passage */ };

static struct mla_prolog parameters(const struct op_call *c)
{
    return (struct mla_prolog){.a = c->in[0].data,
                               .b = c->in[1].data,
                               .bias = c->in[2].data,
                               .out = c->out[0].data,
                               .m = (uint32_t)c->in[0].shape[0],
                               .k = (uint32_t)c->in[0].shape[1],
                               .n = (uint32_t)c->in[1].shape[1],
                               .cores = c->cores,
                               .x = c->work[0],
                               .y = c->work[1]};
}

/* --- operands --- */

/* a: the passages of texts as rows; b: the same as columns; bias: how varied each is,
 * different pairs of words a word. */
static int read_texts(struct op_call *c, const char *const *paths, unsigned n)
{
    struct text_rows t;
    int err = text_operands(c, paths, n, WORDS, &t);
    uint16_t *bias = err ? NULL : data_alloc(c->op->name, TYPE_F16, t.n);

    if (bias == NULL) {
        return err ? err : ERR_NOMEM;
    }
    for (unsigned j = 0; j < t.n; j++) {
        unsigned pairs = 0;
        for (unsigned k = 0; k < TEXT_FEATURES; k++) {
            pairs += t.rows[(size_t)j * TEXT_FEATURES + k] != 0;
        }
        bias[j] = f32_to_f16((float)pairs / WORDS);
    }
    c->in[2] = (struct tensor){.type = TYPE_F16,
                               .ndim = 1,
                               .shape = {t.n},
                               .count = t.n,
                               .data = bias,
                               .path = "texts"};
    printf("%u passages of %d words from %u texts, each as %d numbers\n", t.n, WORDS,
           t.n_texts, TEXT_FEATURES);
    return 0;
}

/* Tiles have lanes of rows that are not there: they are brought and stored like the others,
 * with what a product never writes. */
static void clear_lanes(const struct mla_prolog *p, float *x)
{
    uint32_t rows = p->m % LANES;
    uint64_t bytes = rows ? p->n * (uint64_t)ROW : 0;

    memset((char *)(x + mla_work_elements(p)) - bytes, 0, bytes);
}

static int prepare(struct op_call *c)
{
    struct mla_prolog p = parameters(c);

    for (unsigned i = 0; i < 2; i++) {
        c->work[i] = data_alloc(c->op->name, TYPE_F32, mla_work_elements(&p));
        if (c->work[i] == NULL) {
            return ERR_NOMEM;
        }
    }
    clear_lanes(&p, c->work[0]);
    return 0;
}

/* --- launches --- */

static int run_fused(const struct op_call *c, struct sched_report *report)
{
    struct mla_prolog p = parameters(c);

    return mla_fused(&p, report);
}

static int run_product(const struct op_call *c, struct sched_report *report)
{
    struct mla_prolog p = parameters(c);

    return mla_product(&p, report);
}

static int run_layernorm(const struct op_call *c, struct sched_report *report)
{
    struct mla_prolog p = parameters(c);

    return mla_layernorm(&p, report);
}

static int run_gelu(const struct op_call *c, struct sched_report *report)
{
    struct mla_prolog p = parameters(c);

    return mla_gelu(&p, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct mla_prolog p = parameters(c);

    (void)out;
    mla_ref_row(&p, (uint32_t)(first / n), want->value, want->bound);
}

/* --- what they come to: each command of the Vector is a pass over x --- */

static struct tensor between(const struct op_call *c)
{
    return (struct tensor){.type = TYPE_F32, .count = c->out[0].count};
}

static void passes(struct work *w, const struct op_call *c, const enum op *ops,
                   unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        work_vector(w, ops[i], TYPE_F32, c->out[0].count);
    }
}

static void product_alone(const struct op_call *c, struct work *w)
{
    struct mla_prolog p = parameters(c);

    for (unsigned i = 0; i < 3; i++) {
        work_in(w, NPU_MEM_L1, &c->in[i]);
    }
    work_matmul(w, TYPE_F16, p.m, p.n, p.k);
}

/* x - shift and its sum, the square and its sum; minus the mean, times the scale. */
static const enum op layernorm[] = {OP_VSUB, OP_VADD, OP_VMUL, OP_VADD, OP_VSUB, OP_VMUL};
/* times sqrt(1/2), erf, plus 1, times y / 2, to fp16. */
static const enum op gelu[] = {OP_VMULS, OP_VERF, OP_VADDS, OP_VMUL, OP_VCONV};

static void work_product(const struct op_call *c, struct work *w)
{
    struct tensor x = between(c);

    product_alone(c, w);
    work_out(w, NPU_MEM_L0C, &x);
}

static void work_layernorm(const struct op_call *c, struct work *w)
{
    struct tensor x = between(c);

    work_in(w, NPU_MEM_UB, &x);
    passes(w, c, layernorm, sizeof(layernorm) / sizeof(layernorm[0]));
    work_out(w, NPU_MEM_UB, &x);
}

static void work_gelu(const struct op_call *c, struct work *w)
{
    struct tensor y = between(c);

    work_in(w, NPU_MEM_UB, &y);
    passes(w, c, gelu, sizeof(gelu) / sizeof(gelu[0]));
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

static void work_fused(const struct op_call *c, struct work *w)
{
    product_alone(c, w);
    passes(w, c, layernorm, sizeof(layernorm) / sizeof(layernorm[0]));
    passes(w, c, gelu, sizeof(gelu) / sizeof(gelu[0]));
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

static uint64_t spilled(const struct op_call *c)
{
    struct mla_prolog p = parameters(c);

    return mla_spilled_bytes(&p);
}

static uint64_t all_of_x(const struct op_call *c)
{
    return c->out[0].count * sizeof(float);
}

OPERATOR(mla_prolog, .summary = "out = gelu(layernorm(a x b + bias))",
         .io = "a[m,k] b[k,n] bias[n] -> out[m,n]", .types = "f16 f16 f16 -> f16",
         .run = run_fused, .prepare = prepare, .ref = ref, .tolerance = OP_BOUND,
         .whole_rows = true, .check = 4, .work = work_fused, .text = read_texts,
         .pieces = PIECES({"fused", run_fused, work_fused, true, spilled, spilled},
                          {"product", run_product, work_product, true, all_of_x, NULL},
                          {"layernorm", run_layernorm, work_layernorm, false, NULL, NULL},
                          {"gelu", run_gelu, work_gelu, false, NULL, NULL}),
         .numpy = "x = a @ b + bias\n"
                  "size = (abs(a) @ abs(b) + abs(bias)).max(axis=1, keepdims=True)\n"
                  "sigma = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)\n"
                  "y = (x - x.mean(axis=1, keepdims=True)) / sigma\n"
                  "out = y / 2 * (1 + erf(y / np.sqrt(2)))\n"
                  "E = 2 * (4 * np.sqrt(k) + 16) * size / sigma + 64\n"
                  "bound = ulp(out) / 2 + np.maximum(1, abs(y)) * E * 2.0**-24",
         .cases = CASES("--m 1 --n 1 --k 1", "--m 3 --n 3 --k 16", "--m 17 --n 15 --k 33",
                        "--m 65 --n 129 --k 40", "--m 75 --n 333 --k 147",
                        "--m 130 --n 70 --k 300", "--m 150 --n 700 --k 400",
                        "--m 200 --n 1200 --k 70"));
