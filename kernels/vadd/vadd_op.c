/* SPDX-License-Identifier: MIT
 *
 * What vadd is: its definition and its description.
 */
#include "kernels/cli/data.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/op.h"
#include "kernels/vadd/vadd.h"

static int run(const struct op_call *c, struct sched_report *report)
{
    struct vadd p = *(const struct vadd *)c->args;

    p.x = c->in[0].data;
    p.y = c->in[1].data;
    p.z = c->out[0].data;
    p.n = c->out[0].count;
    p.type = c->out[0].type;
    p.cores = c->cores;
    return vadd(&p, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    enum type type = c->out[out].type;

    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = data_round(data_number(c->in[0].data, type, first + i) +
                                       data_number(c->in[1].data, type, first + i),
                                   type);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_in(w, NPU_MEM_UB, &c->in[1]);
    work_vector(w, OP_VADD, c->out[0].type, c->out[0].count);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(vadd, .summary = "z = x + y on the Vector", .io = "x[...] y[...] -> z[...]",
         .types = "f32 f32 -> f32; f16 f16 -> f16",
         .options = OPTIONS(NUMBER(struct vadd, buffers, 2, 1, 2, "of each queue")),
         .run = run, .ref = ref, .check = 1024, .work = work, .numpy = "x + y",
         .cases = CASES("--n 1", "--n 7", "--n 8", "--n 9", "--n 63", "--n 64", "--n 65",
                        "--n 1 --type f16", "--n 15 --type f16", "--n 17 --type f16",
                        "--n 129 --type f16", "--n 8191 --buffers 1", "--n 8192",
                        "--n 8193", "--n 16383 --type f16", "--n 16384 --type f16",
                        "--n 16385 --type f16", "--n 24577", "--n 49153 --type f16",
                        "--n 5000 --data special", "--n 5000 --type f16 --data special",
                        "--n 70001 --data bits", "--n 70001 --type f16 --data bits",
                        "--n 100000", "--n 50001 --type f16"));
