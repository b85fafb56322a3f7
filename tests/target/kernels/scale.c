/* SPDX-License-Identifier: MIT
 *
 * y[i] = alpha * x[i] + beta      x, y (n); alpha and beta numbers: the example of an
 *                                 operator in kernels/cli/README.md
 *
 * Types    F32. Each step rounds once, to nearest even.
 * Ranges   n from 1 up; any address; y may be x.
 * Uses     two queues of each core.
 */
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/limit.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"

struct scale {
    const char *x;
    char *y;
    uint64_t bytes;
    float alpha, beta;
    unsigned cores; /* 0: all of the chip */
};

enum { TILE = 32 << 10 /* bytes */ };

static uint32_t bits(float number)
{
    return (uint32_t)data_round((double)number, TYPE_F32);
}

/* Each block, on a core of its own, does its share in tiles. One loop issues to three
 * pipes; the queues let each run ahead as far as there are buffers. */
static void kernel(void *arg)
{
    const struct scale *p = arg;
    uint64_t at = share_begin(p->bytes, TILE, task_block(), task_blocks());
    uint64_t end = share_begin(p->bytes, TILE, task_block() + 1, task_blocks());
    struct tpipe *pipe = tpipe_open();
    struct tque *in = tque_init(pipe, "x", VECIN, PIPE_MTE2, PIPE_V, 2, TILE);
    struct tque *out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, 2, TILE);
    union cmd cmd;

    for (; at < end; at += TILE) {
        uint32_t bytes = end - at < TILE ? (uint32_t)(end - at) : TILE, x, y;

        x = tque_alloc(in);
        mte_gm_to_ub(&cmd, x, p->x + at, bytes);
        tque_enque(in, x, &cmd);
        task_issue(PIPE_MTE2, &cmd);

        x = tque_deque(in);
        y = tque_alloc(out);
        vector_count(&cmd, bytes / sizeof(float));
        task_issue(PIPE_V, &cmd);
        vector_scalar(&cmd, OP_VMULS, TYPE_F32, y, x, bits(p->alpha));
        tque_free(in, x, &cmd);
        task_issue(PIPE_V, &cmd);
        vector_scalar(&cmd, OP_VADDS, TYPE_F32, y, y, bits(p->beta));
        tque_enque(out, y, &cmd);
        task_issue(PIPE_V, &cmd);

        y = tque_deque(out);
        mte_ub_to_gm(&cmd, p->y + at, y, bytes);
        tque_free(out, y, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct scale p = *(const struct scale *)c->args;
    struct launch l = {"scale", kernel, &p, .cores = c->cores};

    p.x = c->in[0].data;
    p.y = c->out[0].data;
    p.bytes = c->out[0].count * sizeof(float);
    report->text[0] = 0;
    return p.bytes == 0 ? ERR_ARG : launch(&l, report);
}

/* Shares nothing with the kernel: two roundings, as the definition has them. */
static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct scale *p = (const void *)c->args;

    (void)out;
    for (uint64_t i = 0; i < n; i++) {
        float product = p->alpha * (float)tensor_number(&c->in[0], first + i);
        want->bits[i] = data_round((double)product + (double)p->beta, TYPE_F32);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_vector(w, OP_VMULS, TYPE_F32, c->out[0].count);
    work_vector(w, OP_VADDS, TYPE_F32, c->out[0].count);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(scale, .summary = "y = alpha * x + beta on the Vector", .io = "x[...] -> y[...]",
         .types = "f32 -> f32", .run = run, .ref = ref, .work = work, .in_place = true,
         .options = OPTIONS(FLOAT(struct scale, alpha, 1, -1e6, 1e6, "factor"),
                            FLOAT(struct scale, beta, 0, -1e6, 1e6, "added")),
         .numpy = "x * np.float32(alpha) + np.float32(beta)",
         .cases = CASES("--n 1 --alpha -0.5", "--n 8191 --alpha 1e-5 --beta 3",
                        "--n 9 --beta 1", "--n 5000 --data special --alpha 2.5",
                        "--n 8193 --alpha 1e-5 --beta -1.5", "--n 20000 --alpha 3"));
