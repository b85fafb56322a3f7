/* SPDX-License-Identifier: MIT
 *
 * matmul_sparse: c = act(scale (a x b' + bias)) with of each four numbers of a row of b the two of
 * the largest magnitude alone, the first of equal ones: what networks are pruned to. A b that has
 * no more than these stays as it is.
 *
 * Numbers  As matmul's of S8.
 * How      MMAD_SPARSE, half the Cube's time; before the first launch the hart packs b. A chip
 *          that has it not multiplies with all of what is left of b: the same bits.
 * Errors   ERR_ARG, ERR_TYPE, ERR_NOMEM: nothing was started.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "kernels/cli/limit.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/matmul_op.h"

enum { PACKED, PRUNED /* workspaces */ };

static struct matmul product(const struct op_call *c)
{
    const struct matmul_own *own = (const void *)c->args;
    bool sparse = chip_has_sparse();

    return (struct matmul){.a = c->in[0].data,
                           .b = c->work[sparse ? PACKED : PRUNED],
                           .b_transposed = true,
                           .sparse = sparse,
                           .bias = c->in[2].data,
                           .c = c->out[0].data,
                           .m = (uint32_t)c->in[0].shape[0],
                           .n = (uint32_t)c->in[1].shape[0],
                           .k = (uint32_t)c->in[0].shape[1],
                           .in = TYPE_S8,
                           .out = c->out[0].type,
                           .scale = own->scale,
                           .zero = own->zero,
                           .act.relu = own->activation ? FIX_RELU_PLAIN : FIX_RELU_NONE,
                           .cores = c->cores};
}

static int prepare(struct op_call *c)
{
    struct matmul p = product(c);

    c->work[PACKED] = data_alloc(c->op->name, TYPE_U8, mm_sparse_bytes(p.n, p.k));
    c->work[PRUNED] = data_alloc(c->op->name, TYPE_S8, (uint64_t)p.n * p.k);
    if (c->work[PACKED] == NULL || c->work[PRUNED] == NULL) {
        return ERR_NOMEM;
    }
    memcpy(c->work[PRUNED], c->in[1].data, (uint64_t)p.n * p.k);
    mm_sparse_pack(c->work[PRUNED], p.n, p.k, c->work[PACKED]);
    return 0;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct matmul p = product(c);

    report->text[0] = 0;
    return c->in[0].type != TYPE_S8 ? ERR_TYPE : matmul(&p, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    struct matmul p = product(c);

    (void)out;
    p.b = c->work[PRUNED];
    for (uint64_t i = first; i < first + n; i++) {
        want->bits[i - first] = matmul_ref(&p, (uint32_t)(i / p.n), (uint32_t)(i % p.n));
    }
}

static void work(const struct op_call *c, struct work *w)
{
    struct matmul p = product(c);
    struct tensor b = {.type = TYPE_U8, .count = mm_sparse_bytes(p.n, p.k)};

    work_in(w, NPU_MEM_L1, &c->in[0]);
    work_in(w, NPU_MEM_L1, p.sparse ? &b : &c->in[1]);
    work_matmul(w, TYPE_S8, p.m, p.n, p.sparse ? (p.k + 1) / 2 : p.k);
    work_out(w, NPU_MEM_L0C, &c->out[0]);
}

/* clang-format off */
OPERATOR(matmul_sparse,
         .summary = "c = act(scale (a x b' + bias)), of each four of a row of b the largest two",
         .io = "a[m,k] b[n,k] bias?[n] -> c[m,n]",
         .types = "s8 s8 s32 -> s32; s8 s8 s32 -> s8; s8 s8 s32 -> u8; s8 s8 s32 -> f16",
         .prepare = prepare, .run = run, .ref = ref, .check = 64, .work = work,
         .options = OPTIONS(
             FLOAT(struct matmul_own, scale, 1, -1e30, 1e30, "of s32 to f16, s8, u8"),
             SIGNED(struct matmul_own, zero, 0, -128, 255, "of s8, u8: what 0 becomes"),
             CHOICE(struct matmul_own, activation, "none|relu", "behind the scale")),
         .numpy = "matmul(a, (lambda q: np.where(np.argsort(np.argsort(-np.abs(q.astype(int)), "
                  "-1, 'stable'), -1) < 2, q, 0))(np.pad(b, ((0, 0), (0, -k % 4)))"
                  ".reshape(n, -1, 4)).reshape(n, -1)[:, :k].T, bias, options)",
         .cases = CASES("--m 1 --n 1 --k 1", "--m 33 --n 41 --k 70 --data bits",
                        "--m 20 --n 130 --k 300 --out s8 --scale 1e-3 --activation relu",
                        "--shapes 5x131,9x131 --out f16", "--m 130 --n 270 --k 200"));
/* clang-format on */
