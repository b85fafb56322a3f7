/* SPDX-License-Identifier: MIT
 *
 * Channels last: each pixel of x becomes `high` x `wide` equal ones,
 *
 *   y[n, p, q, c] = x[n, p / high, q / wide, c]
 *
 * which is resizing to the nearest by whole factors. Types of 1, 2, 4 and 8 bytes.
 */
#include "kernels/cli/limit.h"
#include "kernels/move/list.h"

struct own {
    uint32_t high, wide;
};

static const struct own *own_of(const struct op_call *c)
{
    return (const void *)c->args;
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    out->shape[1] = c->in[0].shape[1] * own_of(c)->high;
    out->shape[2] = c->in[0].shape[2] * own_of(c)->wide;
    return 0;
}

/* n and h, high, w, wide, c. */
static int run(const struct op_call *c, struct sched_report *report)
{
    const uint64_t *s = c->in[0].shape, *y = c->out[0].shape;
    uint64_t high = own_of(c)->high, wide = own_of(c)->wide, row = s[2] * s[3];
    struct move m = list_move(c);
    int err = list_check(c);

    if (err || y[1] != s[1] * high || y[2] != s[2] * wide || y[0] != s[0] ||
        y[3] != s[3]) {
        return err ? err : ERR_ARG;
    }
    m.ndim = 5;
    m.dim[0] = (struct move_dim){s[0] * s[1], row, high * wide * row};
    m.dim[1] = (struct move_dim){high, 0, wide * row};
    m.dim[2] = (struct move_dim){s[2], s[3], wide * s[3]};
    m.dim[3] = (struct move_dim){wide, 0, s[3]};
    m.dim[4] = (struct move_dim){s[3], 1, 1};
    return move("resize_nearest", &m, 1, c->cores, report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct tensor *x = &c->in[0];
    uint64_t at[NPY_MAX_DIMS];

    for (uint64_t i = 0; i < n; i++) {
        list_index(&c->out[out], first + i, at);
        want->bits[i] =
            data_bits(x->data, x->type,
                      ((at[0] * x->shape[1] + at[1] / own_of(c)->high) * x->shape[2] +
                       at[2] / own_of(c)->wide) *
                              x->shape[3] +
                          at[3]);
    }
}

OPERATOR(resize_nearest, .summary = "each pixel as often as wanted each way",
         .io = "x[n,h,w,c] -> y[n,p,q,c]", .shape = shape, .types = LIST_TYPES,
         .run = run, .ref = ref, .check = 4096, .work = list_work,
         .options = OPTIONS(NUMBER(struct own, high, 2, 1, 4096, "factor of rows"),
                            NUMBER(struct own, wide, 2, 1, 4096, "factor of columns")),
         .numpy = "x.repeat(high, 1).repeat(wide, 2)",
         .cases = CASES("--n 1 --h 1 --w 1 --c 1",
                        "--n 2 --h 3 --w 5 --c 20 --high 3 --wide 1 --type f16",
                        "--n 1 --h 4 --w 30 --c 3 --wide 3 --type u8",
                        "--n 2 --h 4 --w 9 --c 70 --type f16"));
