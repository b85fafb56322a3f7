/* SPDX-License-Identifier: MIT
 *
 * head = x[:count], tail = x[-count:]     x (n); head and tail (min(count, n)): the example
 *                                         of an operator whose rule cannot say its shapes,
 *                                         and of one with two results
 *
 * Types    F32, bit by bit.
 * Ranges   n and count from 1 up; any address; results overlap nothing.
 * Uses     a queue of each core.
 */
#include "hal/mte.h"
#include "kernels/cli/limit.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"

struct ends {
    uint32_t count;
    const char *from[2];
    char *to[2];
    uint64_t bytes; /* of each result */
};

enum { TILE = 32 << 10 /* bytes */ };

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    const struct ends *p = (const void *)c->args;
    uint64_t n = c->in[0].shape[0];

    (void)number;
    out->shape[0] = p->count < n ? p->count : n;
    return 0;
}

static void kernel(void *arg)
{
    const struct ends *p = arg;
    uint64_t begin = share_begin(p->bytes, TILE, task_block(), task_blocks());
    uint64_t end = share_begin(p->bytes, TILE, task_block() + 1, task_blocks());
    struct tque *through =
        tque_init(tpipe_open(), "x", VECIN, PIPE_MTE2, PIPE_MTE3, 2, TILE);
    union cmd cmd;

    for (unsigned i = 0; i < 2; i++) {
        for (uint64_t at = begin; at < end; at += TILE) {
            uint32_t bytes = end - at < TILE ? (uint32_t)(end - at) : TILE, x;

            x = tque_alloc(through);
            mte_gm_to_ub(&cmd, x, p->from[i] + at, bytes);
            tque_enque(through, x, &cmd);
            task_issue(PIPE_MTE2, &cmd);

            x = tque_deque(through);
            mte_ub_to_gm(&cmd, p->to[i] + at, x, bytes);
            tque_free(through, x, &cmd);
            task_issue(PIPE_MTE3, &cmd);
        }
    }
}

static int run(const struct op_call *c, struct sched_report *report)
{
    struct ends p = *(const struct ends *)c->args;
    struct launch l = {"ends", kernel, &p, .cores = c->cores};
    const char *x = c->in[0].data;

    p.bytes = c->out[0].count * sizeof(float);
    p.from[0] = x;
    p.from[1] = x + c->in[0].count * sizeof(float) - p.bytes;
    p.to[0] = c->out[0].data;
    p.to[1] = c->out[1].data;
    report->text[0] = 0;
    return p.bytes == 0 || c->in[0].count == 0 ? ERR_ARG : launch(&l, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    uint64_t from = out ? c->in[0].count - c->out[1].count : 0;

    for (uint64_t i = 0; i < n; i++) {
        want->bits[i] = data_bits(c->in[0].data, TYPE_F32, from + first + i);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    for (unsigned i = 0; i < 2; i++) {
        work_in(w, NPU_MEM_UB, &c->out[i]);
        work_out(w, NPU_MEM_UB, &c->out[i]);
    }
}

OPERATOR(ends, .summary = "head = x[:count], tail = x[-count:]",
         .io = "x[n] -> head[k] tail[k]", .shape = shape, .types = "f32 -> f32 f32",
         .run = run, .ref = ref, .work = work,
         .options = OPTIONS(NUMBER(struct ends, count, 3, 1, INT32_MAX, "elements")),
         .numpy = "head = x[:count]\ntail = x[-count:]",
         .cases = CASES("--n 1", "--n 20 --count 7", "--n 20000 --count 9001",
                        "--n 9000 --count 90000 --data bits", "--n 70001 --count 65537"));
