/* SPDX-License-Identifier: MIT
 *
 * Convolutions by the operator of the firmware, kernels/conv: it reads each element of x once,
 * where columns in memory hold it as often as there are elements of a window. It has channels
 * last, so x is turned before and y behind it, weights before a run.
 */
#include "tools/graph/window.h"

#include <string.h>

/* What kernels/conv takes: LOAD3D's strides, dilations and pads. */
enum { STRIDE_MAX = 63, DILATION_MAX = 255, PAD_MAX = 255 };

bool conv2d_takes(const struct node *n, const struct window *w)
{
    const struct tensor *bias = node_maybe(n, 2);
    bool good = n->in[0]->type == ELEM_F16 && n->in[1]->value && w->rank == 2 &&
                window_elements(w) > 1 && (!bias || bias->value);

    for (unsigned d = 0; good && d < w->rank; d++) {
        int64_t pads = w->before[d] > w->behind[d] ? w->before[d] : w->behind[d];
        good = w->stride[d] <= STRIDE_MAX && w->dilation[d] <= DILATION_MAX &&
               pads <= PAD_MAX && pads <= (w->kernel[d] - 1) * w->dilation[d];
    }
    return good;
}

/* (a, b, ..) as (a, .., b). */
static struct shape last(const struct shape *s)
{
    struct shape to = *s;

    memmove(to.dim + 1, to.dim + 2, (s->n - 2) * sizeof(to.dim[0]));
    to.dim[s->n - 1] = s->dim[1];
    return to;
}

/* Brings one of them to the other, in a step: dimension 1 of `plain` is the last of `turned`. */
static void turn(struct emit *e, struct node *n, struct tensor *plain,
                 struct tensor *turned, bool back)
{
    const struct shape *s = &plain->shape;
    int64_t outer, inner;
    struct copy c;

    shape_around(s, 1, &outer, &inner);
    copy_begin(&c, e, n, back ? plain : turned);
    copy_dim(&c, outer, s->dim[1] * inner, s->dim[1] * inner);
    if (back) {
        copy_dim(&c, s->dim[1], 1, inner);
        copy_dim(&c, inner, s->dim[1], 1);
    } else {
        copy_dim(&c, inner, 1, s->dim[1]);
        copy_dim(&c, s->dim[1], inner, 1);
    }
    copy_add(&c, back ? turned : plain, 0, 0);
}

/* Weights (o, i, kh, kw) as (o, kh, kw, i), known. */
static struct tensor *turned_weights(const struct node *n, const struct tensor *w)
{
    struct shape s = last(&w->shape);
    struct tensor *t = copy_tensor(n, "weights", w->type, &s);
    int64_t outer, inner, channels = w->shape.dim[1];
    double *to = tensor_values(t);

    shape_around(&w->shape, 1, &outer, &inner);
    for (int64_t i = 0; i < tensor_count(w); i++) {
        int64_t o = i / (channels * inner), c = i / inner % channels, k = i % inner;
        to[(o * inner + k) * channels + c] = w->value[i];
    }
    return t;
}

void conv2d_emit(struct emit *e, struct node *n, const struct window *w, int64_t groups)
{
    struct tensor *x = n->in[0], *y = n->out[0], *bias = node_maybe(n, 2), *x_last,
                  *y_last;
    struct shape of_x = last(&x->shape), of_y = last(&y->shape);
    struct group *s;

    x_last = copy_tensor(n, "x", x->type, &of_x);
    y_last = copy_tensor(n, "y", y->type, &of_y);
    turn(e, n, x, x_last, false);
    s = operator_begin(
        e, n, "conv2d",
        graph_text("--stride %lld --stride-w %lld --dilation %lld --dilation-w %lld "
                   "--groups %lld --pad %lld --pad-left %lld --pad-bottom %lld "
                   "--pad-right %lld",
                   (long long)w->stride[0], (long long)w->stride[1],
                   (long long)w->dilation[0], (long long)w->dilation[1],
                   (long long)groups, (long long)w->before[0], (long long)w->before[1],
                   (long long)w->behind[0], (long long)w->behind[1]));
    operator_in(e, s, x_last);
    operator_in(e, s, turned_weights(n, n->in[1]));
    if (bias) { /* its sums begin with it */
        struct tensor *first = copy_tensor(n, "bias", ELEM_F32, &bias->shape);
        first->value = bias->value;
        operator_in(e, s, first);
    }
    operator_out(s, y_last);
    turn(e, n, y, y_last, true);
}
