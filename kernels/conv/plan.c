/* SPDX-License-Identifier: MIT
 *
 * Cutting a convolution; see plan.h. No bit of a result depends on it.
 */
#include "kernels/conv/plan.h"

#include <math.h>
#include <stdio.h>

#include "hal/chip.h"
#include "kernels/conv/depthwise.h"
#include "kernels/conv/inside.h"
#include "kernels/lib/share.h"

enum {
    FEW_K = 512,         /* columns of windows of few channels */
    SMALL = 1024,        /* bytes of L1 for biases */
    WORDS = 1024,        /* for scales of columns */
    FEW_ROWS = 48 << 10, /* bytes of L1 under a row of y of few channels, at most */
    LOAD_K = 4095,       /* of LOAD2D */

    MOST_PADS = 255, /* of LOAD3D, and so on */
    MOST_STRIDE = 63,
    MOST_MAP = 32767,
    MOST_FILTER = 511,
};

static uint32_t padded(uint32_t map, int32_t before, int32_t after)
{
    return (uint32_t)((int64_t)map + before + after);
}

uint32_t conv_oh(const struct conv *p)
{
    return (padded(p->h, p->pad_top, p->pad_bottom) - conv_extent(p->kh, p->dilation_h)) /
               p->stride_h +
           1;
}

uint32_t conv_ow(const struct conv *p)
{
    return (padded(p->w, p->pad_left, p->pad_right) - conv_extent(p->kw, p->dilation_w)) /
               p->stride_w +
           1;
}

/* --- what is wrong --- */

/* One side of the map: its size, filter and so on. */
struct side {
    const char *size, *filter;
    uint32_t map, taps, stride, dilation, before, after;
};

static int check_side(const struct side *s, char why[CONV_TEXT])
{
    uint64_t reach = (uint64_t)(s->taps - 1) * s->dilation + 1;

    if (s->map > MOST_MAP || s->taps > MOST_FILTER) {
        snprintf(why, CONV_TEXT, "%s is %lu, %s %lu; the machine takes up to %d and %d",
                 s->size, (unsigned long)s->map, s->filter, (unsigned long)s->taps,
                 MOST_MAP, MOST_FILTER);
        return ERR_SHAPE;
    }
    if (s->stride == 0 || s->stride > MOST_STRIDE || s->dilation == 0 ||
        s->dilation > MOST_PADS || s->before > MOST_PADS || s->after > MOST_PADS) {
        snprintf(why, CONV_TEXT,
                 "along %s: stride %lu (1 to %d), dilation %lu (1 to %d), pads %lu, %lu "
                 "(0 to %d)",
                 s->size, (unsigned long)s->stride, MOST_STRIDE,
                 (unsigned long)s->dilation, MOST_PADS, (unsigned long)s->before,
                 (unsigned long)s->after, MOST_PADS);
        return ERR_ARG;
    }
    if (s->before >= reach || s->after >= reach) {
        snprintf(why, CONV_TEXT,
                 "along %s: pads %lu, %lu leave windows without x: the "
                 "filter's extent is %lu",
                 s->size, (unsigned long)s->before, (unsigned long)s->after,
                 (unsigned long)reach);
        return ERR_ARG;
    }
    if (reach > (uint64_t)s->map + s->before + s->after) {
        snprintf(why, CONV_TEXT,
                 "along %s: the filter's extent of %lu is more than %lu "
                 "with its pads",
                 s->size, (unsigned long)reach,
                 (unsigned long)(s->map + s->before + s->after));
        return ERR_SHAPE;
    }
    return 0;
}

/* What contradicts itself in what is to be done to sums, or NULL. */
static const char *contradiction(const struct conv *p)
{
    if (p->in == TYPE_S8 && (p->act > CONV_LEAKY || p->add)) {
        return "the Vector goes on with sums of f16 alone";
    }
    if (p->out == TYPE_S32 && (p->act == CONV_LEAKY || p->limit > 0 || p->scales)) {
        return "sums of s32 take no scale, slope or limit";
    }
    if (p->exact && (p->out != TYPE_S8 || p->act == CONV_LEAKY || p->limit > 0)) {
        return "exact is of s8 to s8, without slope or limit";
    }
    if (p->limit < 0 || p->limit != p->limit || p->slope != p->slope) {
        return "a limit below 0, or NaN";
    }
    if (p->in == TYPE_F16 && p->scales) {
        return "scales of channels are those of s8";
    }
    if (conv_has_tail(p) && p->c % DEPTHWISE_BLOCK && conv_is_depthwise(p)) {
        return "of each channel by itself, the Vector goes on with whole blocks of 16";
    }
    return NULL;
}

/* What is to be done to sums: types, activation, scales. */
static int check_epilogue(const struct conv *p, char why[CONV_TEXT])
{
    const char *wrong = contradiction(p);

    for (uint32_t i = 0; i < p->o && p->scales && !wrong; i++) {
        double scale = fabs((double)p->scale * (double)p->scales[i]);
        wrong = !(scale < INFINITY)           ? "a scale that is no number"
                : p->exact && scale >= 0x1p16 ? "an exact scale of 65536 or more"
                                              : NULL;
    }
    if (wrong) {
        snprintf(why, CONV_TEXT, "%s", wrong);
    }
    return wrong ? ERR_ARG : 0;
}

int conv_check(const struct conv *p, char why[CONV_TEXT])
{
    struct side high = {"h",
                        "kh",
                        p->h,
                        p->kh,
                        p->stride_h,
                        p->dilation_h,
                        (uint32_t)p->pad_top,
                        (uint32_t)p->pad_bottom};
    struct side wide = {"w",
                        "kw",
                        p->w,
                        p->kw,
                        p->stride_w,
                        p->dilation_w,
                        (uint32_t)p->pad_left,
                        (uint32_t)p->pad_right};
    bool f16 = p->in == TYPE_F16 && (p->out == TYPE_F16 || p->out == TYPE_F32);
    bool s8 = p->in == TYPE_S8 &&
              (p->out == TYPE_S32 || p->out == TYPE_S8 || p->out == TYPE_F16);
    struct conv_plan plan;
    int err;

    if (!f16 && !s8) {
        snprintf(why, CONV_TEXT, "no convolution of %s to %s", type_name(p->in),
                 type_name(p->out));
        return ERR_TYPE;
    }
    if (p->n == 0 || p->h == 0 || p->w == 0 || p->c == 0 || p->o == 0 || p->kh == 0 ||
        p->kw == 0) {
        snprintf(why, CONV_TEXT, "a size of 0");
        return ERR_ARG;
    }
    if (p->groups == 0 || p->c % p->groups || p->o % p->groups) {
        snprintf(why, CONV_TEXT, "%lu groups of %lu channels in, %lu out",
                 (unsigned long)p->groups, (unsigned long)p->c, (unsigned long)p->o);
        return ERR_SHAPE;
    }
    err = check_epilogue(p, why);
    err = err || p->part ? err : check_side(&high, why);
    err = err || p->part ? err : check_side(&wide, why);
    if (err) {
        return err;
    }
    if (conv_is_depthwise(p)) {
        snprintf(why, CONV_TEXT, "a cut where each channel is by itself");
        return p->cut ? ERR_ARG : 0;
    }
    err = conv_make_plan(p, &plan);
    if (err == ERR_LOCAL) {
        snprintf(why, CONV_TEXT,
                 "a filter of %lu x %lu is too large for the smallest tile",
                 (unsigned long)p->kh, (unsigned long)p->kw);
    } else if (err) {
        snprintf(why, CONV_TEXT, "%s: %.60s",
                 err == ERR_ARG ? "no cut"
                                : "a cut of more than its sizes or local memories allow",
                 p->cut);
    }
    return err;
}

/* --- sizes --- */

bool conv_is_few(const struct conv *p)
{
    uint32_t esize = type_bits(p->in) / 8, c = p->c, k = p->kh * p->kw * c;
    uint64_t rows = (uint64_t)conv_extent(p->kh, p->dilation_h) * p->w * c * esize;

    return !p->part && p->groups == 1 && p->kh * p->kw > 1 &&
           (c == 4 || c == 8 || c * esize == 16) && k <= FEW_K && rows <= FEW_ROWS;
}

uint64_t conv_patch_bytes(const struct conv_plan *l, uint32_t rows, uint32_t cols,
                          uint32_t blocks)
{
    const struct conv *p = &l->p;
    uint64_t high =
        (uint64_t)(rows - 1) * p->stride_h + conv_extent(p->kh, p->dilation_h);
    uint64_t wide =
        (uint64_t)(cols - 1) * p->stride_w + conv_extent(p->kw, p->dilation_w);

    high = high < p->h ? high : p->h;
    wide = wide < p->w ? wide : p->w;
    wide = l->few ? p->w : wide;
    return (high * wide * blocks * l->pixel + MTE_BLOCK - 1) / MTE_BLOCK * MTE_BLOCK;
}

uint64_t conv_weight_bytes(const struct conv_plan *l, uint32_t blocks)
{
    return (uint64_t)blocks * l->taps * MTE_BLOCK * l->nt;
}

/* Output channels of a unit and, if the weights of all input channels fit into half of L1, or
 * a little more where no others follow, one chunk, else as many as fit twice. */
static int cut_channels(struct conv_plan *l, uint32_t l1)
{
    uint32_t most;

    l->n_blocks = div_up_u32(l->out, CONV_COLUMNS);
    l->nt = up16(div_up_u32(l->out, l->n_blocks));
    while (2 * conv_weight_bytes(l, 1) > l1 / 2 && l->nt > 16) {
        l->nt = up16(l->nt / 2);
    }
    l->n_blocks = div_up_u32(l->out, l->nt);
    l->chunk = l->blocks;
    most = l->n_blocks * l->p.groups == 1 ? l1 / 8 * 5 : l1 / 2;
    if (conv_weight_bytes(l, l->blocks) > most) {
        l->chunk = (uint32_t)(l1 / 4 / conv_weight_bytes(l, 1));
    }
    while (l->chunk > 1 && conv_patch_bytes(l, 1, 1, l->chunk) > l1 / 4) {
        l->chunk /= 2;
    }
    if (l->chunk == 0 || conv_patch_bytes(l, 1, 1, l->chunk) > l1 / 4) {
        return ERR_LOCAL;
    }
    l->chunks = div_up_u32(l->blocks, l->chunk);
    l->chunk = div_up_u32(l->blocks, l->chunks);
    l->chunks = div_up_u32(l->blocks, l->chunk);
    l->b_bytes = (uint32_t)conv_weight_bytes(l, l->chunk);
    l->b_bufs = 2 * l->b_bytes <= l1 / 2 ? 2 : 1;
    return 0;
}

/* Blocks of k that one load brings to L0A, and to L0B unless all of it stays there. */
bool conv_cut_slices(struct conv_plan *l, uint32_t slice)
{
    uint32_t all = l->chunk * l->taps;
    uint32_t most = chip_mem(NPU_MEM_L0A) / 2 / (l->piece * MTE_BLOCK);

    l->b_stays =
        l->chunks == 1 && l->b_bytes <= chip_mem(NPU_MEM_L0B) && all * l->c0 <= LOAD_K;
    if (!l->b_stays) {
        most = min_u32(most, chip_mem(NPU_MEM_L0B) / 2 / (l->nt * MTE_BLOCK));
    }
    most = min_u32(most, LOAD_K / l->c0);
    most = slice ? min_u32(most, slice) : most;
    if (most == 0) {
        return false;
    }
    l->slice = div_up_u32(all, div_up_u32(all, most));
    if (l->b_stays) { /* pieces share nothing: as many as make the hart's work worth it */
        uint32_t set = CONV_SET_MMADS / div_up_u32(all, l->slice);
        l->set = set ? set : 1;
    }
    return true;
}

/* Windows of a pixel reach across nothing: images are one, and others than they see are not
 * brought. */
static void see_pixels(struct conv_plan *l)
{
    struct conv *p = &l->p;
    uint64_t row = (uint64_t)p->w * p->c;

    l->x_pixel = p->c;
    l->x_row = (uint32_t)row;
    l->x_image = p->h * row;
    if (p->kh * p->kw > 1 || p->part) {
        return;
    }
    if (p->stride_h == 1 && p->stride_w == 1) {
        p->h *= p->n;
        p->n = 1;
    } else if (row * p->stride_h <= UINT32_MAX) {
        l->x_pixel *= p->stride_w;
        l->x_row *= p->stride_h;
        p->h = conv_oh(p);
        p->w = conv_ow(p);
        p->stride_h = p->stride_w = 1;
    }
}

int conv_make_plan(const struct conv *p, struct conv_plan *l)
{
    uint32_t l1 = chip_mem(NPU_MEM_L1) - SMALL - (p->words ? WORDS : 0);
    unsigned cores = p->cores ? p->cores : chip_cores();
    int err;

    *l = (struct conv_plan){.p = *p, .c0 = type_c0(p->in)};
    l->taps = p->kh * p->kw;
    l->in = p->c / p->groups;
    l->out = p->o / p->groups;
    l->blocks = div_up_u32(l->in, l->c0);
    l->few = conv_is_few(p);
    l->in_bytes = type_bits(p->in) / 8;
    l->out_bytes = type_bits(p->out) / 8;
    l->pixel = l->few ? l->in * type_bits(p->in) / 8 : MTE_BLOCK;
    if (l->few) {
        l->taps = div_up_u32(p->kh * p->kw * l->in, l->c0);
        l->missing = l->taps * l->c0 - p->kh * p->kw * l->in;
    }
    l->tail = conv_has_tail(p);
    see_pixels(l);
    l->oh = conv_oh(&l->p);
    l->ow = conv_ow(&l->p);
    l->to = p->part ? p->part->to : (struct conv_places){l->oh, l->ow, 0, 0, 1, 1};
    l->map = (struct mte_conv){.filter_h = (uint16_t)p->kh,
                               .filter_w = (uint16_t)p->kw,
                               .stride_h = (uint8_t)l->p.stride_h,
                               .stride_w = (uint8_t)l->p.stride_w,
                               .dilation_h = (uint8_t)p->dilation_h,
                               .dilation_w = (uint8_t)p->dilation_w};
    if (cut_channels(l, l1)) {
        return ERR_LOCAL;
    }
    conv_cut_patch(l, (l1 - l->b_bufs * l->b_bytes) / 2 / MTE_BLOCK * MTE_BLOCK, cores);
    if (!conv_cut_slices(l, 0)) {
        return ERR_LOCAL;
    }
    err = p->cut ? conv_recut(l, l1) : 0;
    l->units = p->groups * l->n_blocks * l->deep * l->down * l->across;
    return err;
}
