/* SPDX-License-Identifier: MIT
 *
 * Vector addition; see vadd.h. UB holds two tiles of x, and one of y and of z: MTE2, the
 * slowest, fills the next x while the Vector adds the last one, has used y before the next
 * y's turn comes, and MTE3 has emptied z by then. The larger the tiles, the fewer commands.
 *
 * Tiles of x need no queue: y follows x in MTE2's queue, so y is full when both are; and
 * the load of a y, which waits for the Vector, is behind the Vector's last use of the x
 * that is loaded next.
 */
#include "kernels/vadd/vadd.h"

#include <stdio.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector.h"
#include "kernels/cli/limit.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"
#include "sched/tque.h"

enum { TILE = 48 << 10 /* bytes */, MAX_BUFFERS = 2 /* of x */ };

/* What one core does: bytes [begin, end) of the vectors. */
struct share {
    const struct vadd *p;
    uint64_t begin, end;
    uint32_t x, buffers; /* its tiles */
    struct tque *y, *z;
};

static uint32_t tile_bytes(const struct share *s, uint64_t at)
{
    return (uint32_t)(s->end - at < TILE ? s->end - at : TILE);
}

static uint32_t x_tile(const struct share *s, unsigned i)
{
    return s->x + i % s->buffers * TILE;
}

/* A copy for each hint, so that there being one costs those without it no instruction. */
__attribute__((always_inline)) static inline void copy_in(const struct share *s,
                                                          bool past)
{
    unsigned i = 0;
    union cmd cmd;

    for (uint64_t at = s->begin; at < s->end; at += TILE, i++) {
        uint32_t y = 0;
        if (s->buffers == 1) {
            y = tque_alloc(s->y); /* the x before is used until y is free */
        }
        mte_gm_to_ub(&cmd, x_tile(s, i), (const char *)s->p->x + at, tile_bytes(s, at));
        if (past) {
            mte_past_l2(&cmd);
        }
        task_issue(PIPE_MTE2, &cmd);
        if (s->buffers != 1) {
            y = tque_alloc(s->y);
        }
        mte_gm_to_ub(&cmd, y, (const char *)s->p->y + at, tile_bytes(s, at));
        if (past) {
            mte_past_l2(&cmd);
        }
        tque_enque(s->y, y, &cmd);
        task_issue(PIPE_MTE2, &cmd);
    }
}

static void in_by_l2(void *arg)
{
    copy_in(arg, false);
}

static void in_past_l2(void *arg)
{
    copy_in(arg, true);
}

static void compute(void *arg)
{
    const struct share *s = arg;
    uint32_t esize = type_bits(s->p->type) / 8, counted = 0;
    unsigned i = 0;
    union cmd cmd;

    for (uint64_t at = s->begin; at < s->end; at += TILE, i++) {
        uint32_t y, z;
        if (tile_bytes(s, at) != counted) {
            counted = tile_bytes(s, at);
            vector_count(&cmd, counted / esize);
            task_issue(PIPE_V, &cmd);
        }
        y = tque_deque(s->y);
        z = tque_alloc(s->z);
        vector_add(&cmd, s->p->type, z, x_tile(s, i), y);
        tque_free(s->y, y, &cmd);
        tque_enque(s->z, z, &cmd);
        task_issue(PIPE_V, &cmd);
    }
}

__attribute__((always_inline)) static inline void copy_out(const struct share *s,
                                                           bool past)
{
    union cmd cmd;

    for (uint64_t at = s->begin; at < s->end; at += TILE) {
        uint32_t z = tque_deque(s->z);
        mte_ub_to_gm(&cmd, (char *)s->p->z + at, z, tile_bytes(s, at));
        if (past) {
            mte_past_l2(&cmd);
        }
        tque_free(s->z, z, &cmd);
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void out_by_l2(void *arg)
{
    copy_out(arg, false);
}

static void out_past_l2(void *arg)
{
    copy_out(arg, true);
}

static void kernel(void *arg)
{
    const struct vadd *p = arg;
    uint64_t bytes = p->n * (type_bits(p->type) / 8);
    struct share s = {.p = p,
                      .begin = share_begin(bytes, TILE, task_block(), task_blocks()),
                      .end = share_begin(bytes, TILE, task_block() + 1, task_blocks()),
                      .buffers = p->buffers ? p->buffers : MAX_BUFFERS};
    struct tpipe *pipe = tpipe_open();

    s.x = tbuf_init(pipe, "tiles of x", VECIN, s.buffers * TILE);
    s.y = tque_init(pipe, "x and y", VECIN, PIPE_MTE2, PIPE_V, 1, TILE);
    s.z = tque_init(pipe, "z", VECOUT, PIPE_V, PIPE_MTE3, 1, TILE);
    task_spawn("vadd copy-in", p->past_l2 ? in_past_l2 : in_by_l2, &s);
    task_spawn("vadd compute", compute, &s);
    task_spawn("vadd copy-out", p->past_l2 ? out_past_l2 : out_by_l2, &s);
    task_join_all();
}

int vadd(const struct vadd *p, struct sched_report *report)
{
    struct launch l = {"vadd", kernel, (void *)(uintptr_t)p, .cores = p->cores};

    report->text[0] = 0;
    if (p->n == 0 || p->buffers > MAX_BUFFERS) {
        return ERR_ARG;
    }
    if (p->type != TYPE_F32 && p->type != TYPE_F16) {
        return ERR_TYPE;
    }
    return launch(&l, report);
}

/* Not every chip has the hint. */
static int prepare(struct op_call *c)
{
    const struct vadd *o = (const void *)c->args;

    if (o->past_l2 && !chip_cost(COST_L2_HINTS)) {
        fprintf(stderr, "vadd: --past-l2: profile %s has no hints for L2\n",
                npu_profile_name(chip_profile()));
        return ERR_ABSENT;
    }
    return 0;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    const struct tensor *x = &c->in[0], *y = &c->in[1], *z = &c->out[0];
    const struct vadd *o = (const void *)c->args;

    return vadd(&(struct vadd){x->data, y->data, z->data, z->count, z->type, c->cores,
                               o->buffers, o->past_l2},
                report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    for (uint64_t i = 0; i < n; i++) {
        double sum = tensor_number(&c->in[0], first + i);
        sum += tensor_number(&c->in[1], first + i);
        want->bits[i] = data_round(sum, c->out[out].type);
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
         .types = "f32 f32 -> f32; f16 f16 -> f16", .run = run, .ref = ref, .work = work,
         .options = OPTIONS(NUMBER(struct vadd, buffers, 2, 1, 2, "of x"),
                            FLAG(struct vadd, past_l2, "nothing stays in L2")),
         .prepare = prepare, .in_place = true, .check = 1024, .numpy = "x + y",
         .cases = CASES("--n 1", "--n 63", "--n 65", "--n 129 --type f16", "--n 12289",
                        "--n 12287 --buffers 1", "--n 5000 --data special", "--n 24576",
                        "--n 5000 --type f16 --data special", "--n 24577 --data bits",
                        "--n 100000", "--n 50001 --type f16"));
