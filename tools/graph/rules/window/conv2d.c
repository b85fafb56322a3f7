/* SPDX-License-Identifier: MIT
 *
 * Windows by operators of the firmware, kernels/conv and kernels/pool: they read each element of
 * x once, where columns in memory hold it as often as there are elements of a window. They have
 * channels last: layout.c gives them what they read so, weights are turned before a run. What
 * becomes of the sums of a convolution before anybody else reads them, they do themselves: the pass
 * in tails.c.
 */
#include "tools/graph/rules/window/conv_lower.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/pool/plan.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/price/conv_price.h"

/* What kernels/conv takes: LOAD3D's strides, dilations and pads. */
enum { STRIDE_MAX = 63, DILATION_MAX = 255, PAD_MAX = 255 };
enum { LAST_RANK = 4 }; /* (n, h, w, c) */

/* What is common to windows of both. */
static bool fits(const struct window *w)
{
    bool good = w->rank == 2;

    for (unsigned d = 0; good && d < w->rank; d++) {
        int64_t pads = w->before[d] > w->behind[d] ? w->before[d] : w->behind[d];
        good = w->stride[d] <= STRIDE_MAX && w->dilation[d] <= DILATION_MAX &&
               pads <= PAD_MAX && pads <= (w->kernel[d] - 1) * w->dilation[d];
    }
    return good;
}

/* As the firmware has it, but for what it does to sums. */
static struct conv conv_of(const struct node *n, const struct window *w)
{
    const struct shape *weight = &n->in[1]->shape;

    return (struct conv){.x = n,
                         .weight = n,
                         .bias = node_maybe(n, 2) ? n : NULL,
                         .y = (void *)(uintptr_t)n,
                         .n = (uint32_t)w->n,
                         .h = (uint32_t)w->size[0],
                         .w = (uint32_t)w->size[1],
                         .c = (uint32_t)w->c,
                         .o = (uint32_t)weight->dim[0],
                         .kh = (uint32_t)w->kernel[0],
                         .kw = (uint32_t)w->kernel[1],
                         .stride_h = (uint32_t)w->stride[0],
                         .stride_w = (uint32_t)w->stride[1],
                         .dilation_h = (uint32_t)w->dilation[0],
                         .dilation_w = (uint32_t)w->dilation[1],
                         .groups = (uint32_t)node_int(n, "group", 1),
                         .pad_top = (int32_t)w->before[0],
                         .pad_left = (int32_t)w->before[1],
                         .pad_bottom = (int32_t)w->behind[0],
                         .pad_right = (int32_t)w->behind[1],
                         .in = TYPE_F16,
                         .out = TYPE_F16,
                         .cores = 1};
}

bool conv2d_takes(const struct node *n, const struct window *w)
{
    const struct tensor *bias = node_maybe(n, 2);
    bool good = n->in[0]->type == ELEM_F16 && n->in[1]->value && (!bias || bias->value) &&
                fits(w);
    struct conv p;

    if (!good) {
        return false;
    }
    p = conv_of(n, w);
    return conv_price_takes(&p);
}

int64_t conv2d_channels(const struct node *n, const struct window *w)
{
    enum { MOST = 8 }; /* of those that L1 has side by side, 4 or 8 */
    struct conv p = conv_of(n, w);
    int64_t best = w->c;
    uint64_t least;

    if (w->c >= MOST || p.groups > 1) {
        return best;
    }
    least = conv_price(&p);
    for (p.c = w->c < MOST / 2 ? MOST / 2 : MOST; p.c <= MOST; p.c *= 2) {
        uint64_t cycles = conv_price_takes(&p) ? conv_price(&p) : least;
        if (cycles < least) {
            least = cycles;
            best = p.c;
        }
    }
    return best;
}

bool conv2d_pool_takes(const struct node *n, const struct window *w)
{
    return n->in[0]->type == ELEM_F16 && (n->n_out < 2 || !n->out[1]) && fits(w) &&
           w->dilation[0] == w->dilation[1] &&
           (w->kernel[1] - 1) * w->dilation[1] < POOL_PIXELS;
}

void conv2d_last(const struct tensor *t, struct tensor *last)
{
    struct shape s = {.n = LAST_RANK, .dim = {1, 1, 1, 1}};
    size_t inner, channels, each;
    double *from, *to;

    memcpy(s.dim + LAST_RANK - t->shape.n, t->shape.dim, t->shape.n * sizeof(s.dim[0]));
    channels = (size_t)s.dim[1];
    inner = (size_t)(s.dim[2] * s.dim[3]);
    each = channels * inner;
    last->type = t->type;
    last->shape = (struct shape){LAST_RANK, {s.dim[0], s.dim[2], s.dim[3], s.dim[1]}};
    last->known = true;
    packed_buffer(last, last->type);
    from = graph_alloc(2 * each, sizeof(*from));
    to = from + each;
    for (size_t i = 0; i < (size_t)s.dim[0]; i++) {
        packed_read(t, i * each, each, from);
        for (size_t k = 0; k < inner; k++) {
            for (size_t c = 0; c < channels; c++) {
                to[k * channels + c] = from[c * inner + k];
            }
        }
        packed_write(last, i * each, each, to);
    }
    free(from);
}

/* Of a node whose operand has channels last; kernel as window_of() has it. */
static struct window window_of_last(const struct graph *g, const struct node *n,
                                    const int64_t *kernel)
{
    const struct shape *s = &n->in[0]->shape;
    struct shape plain = {4, {s->dim[0], s->dim[3], s->dim[1], s->dim[2]}};

    return window_of(g, n, &plain, kernel);
}

/* How an operator has windows; a pool has one dilation for both. */
static const char *window_text(const struct window *w)
{
    return graph_text(
        "--stride %lld --stride-w %lld --dilation %lld --pad %lld --pad-left %lld "
        "--pad-bottom %lld --pad-right %lld",
        (long long)w->stride[0], (long long)w->stride[1], (long long)w->dilation[0],
        (long long)w->before[0], (long long)w->before[1], (long long)w->behind[0],
        (long long)w->behind[1]);
}

/* --- convolutions --- */

/* Weights (o, i, kh, kw) as (o, kh, kw, i). */
static struct tensor *turned_weights(const struct node *n, const struct tensor *w)
{
    struct tensor *t = tensor_new(n, "weights", w->type, &w->shape);

    conv2d_last(w, t);
    return t;
}

void conv_lower_operator(const struct conv_lowering *c)
{
    const struct window *w = &c->window;
    struct node *n = c->n;
    const struct attr *act = node_attr(n, "act");
    double limit = node_float(n, "limit", 0);
    struct conv *p = graph_alloc(1, sizeof(*p));
    const char *text = graph_text("%s --dilation-w %lld --groups %lld", window_text(w),
                                  (long long)w->dilation[1], (long long)c->groups);
    struct group *s;

    *p = conv_of(n, w);
    if (act) {
        text = graph_text("%s --activation %s --slope %.9g", text, act->s,
                          node_float(n, "slope", 0));
    }
    if (limit > 0) {
        text = graph_text("%s --limit %.9g", text, limit);
    }
    s = operator_begin(c->e, n, "conv2d", text);
    s->shares = true;
    s->cycles = CONV_STEP + conv_price(p);
    s->least = conv_price_least(p);
    s->conv = p;
    operator_in(c->e, s, c->x);
    operator_in(c->e, s, turned_weights(n, c->weight));
    if (c->bias) { /* its sums begin with it */
        struct tensor *first = tensor_new(n, "bias", ELEM_F32, &c->bias->shape);
        first->value = c->bias->value;
        operator_in(c->e, s, first);
    }
    operator_out(s, n->out[0]);
}

static void emit_conv2d(struct emit *e, struct node *n)
{
    conv_lower(&(struct conv_lowering){
        .e = e,
        .n = n,
        .window = window_of_last(e->g, n, n->in[1]->shape.dim + 2),
        .x = n->in[0],
        .weight = n->in[1],
        .bias = node_maybe(n, 2),
        .groups = node_int(n, "group", 1),
        .channels_last = true});
}

const struct rule rule_conv2d = {.op = "conv2d", .emit = emit_conv2d, .alone = true};

/* --- pools --- */

/* What a pool takes on cores that stay, and the hart for each command, which is what mostly limits
 * it; fitted to 13 shapes. */
enum { POOL_STEP = 4000, POOL_COMMAND = 137 };

static uint64_t pool_price(const struct node *n, const struct window *w)
{
    const struct shape *x = &n->in[0]->shape; /* channels last */
    struct pool p = {.n = (uint32_t)x->dim[0],
                     .h = (uint32_t)x->dim[1],
                     .w = (uint32_t)x->dim[2],
                     .c = (uint32_t)x->dim[3],
                     .kh = (uint32_t)w->kernel[0],
                     .kw = (uint32_t)w->kernel[1],
                     .stride_h = (uint32_t)w->stride[0],
                     .stride_w = (uint32_t)w->stride[1],
                     .dilation_h = (uint32_t)w->dilation[0],
                     .dilation_w = (uint32_t)w->dilation[1],
                     .pad_top = (uint32_t)w->before[0],
                     .pad_left = (uint32_t)w->before[1],
                     .pad_bottom = (uint32_t)w->behind[0],
                     .pad_right = (uint32_t)w->behind[1],
                     .type = TYPE_F16,
                     .cores = 1};
    struct pool_plan plan = pool_plan(&p);

    return POOL_STEP + POOL_COMMAND * pool_commands(&plan);
}

static void emit_max_pool(struct emit *e, struct node *n)
{
    struct window w = window_of_last(e->g, n, NULL);
    struct group *s;

    for (unsigned d = 0; d < 2; d++) { /* as far as the last window goes: ceil_mode */
        int64_t end =
            (w.out[d] - 1) * w.stride[d] + (w.kernel[d] - 1) * w.dilation[d] + 1;
        int64_t behind = end - w.size[d] - w.before[d];
        w.behind[d] = behind > w.behind[d] ? behind : w.behind[d];
    }
    s = operator_begin(e, n, "max_pool",
                       graph_text("--kernel %lld --kernel-w %lld %s",
                                  (long long)w.kernel[0], (long long)w.kernel[1],
                                  window_text(&w)));
    s->shares = true;
    s->cycles = pool_price(n, &w);
    operator_in(e, s, n->in[0]);
    operator_out(s, n->out[0]);
}

const struct rule rule_max_pool = {
    .op = "max_pool", .emit = emit_max_pool, .alone = true};
