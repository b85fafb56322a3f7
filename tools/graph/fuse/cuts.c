/* SPDX-License-Identifier: MIT
 *
 * Ways to cut a convolution of the firmware (kernels/conv/plan.h); see tune.h. All output channels
 * of a unit, chunks, rows and columns of patches are asked for what they take, and of the best of
 * those what else may be said; the firmware's own plan says what fits.
 */
#include <string.h>

#include "kernels/lib/share.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/price/conv_price.h"

enum {
    CUTS = 1024,     /* that are kept, the fastest */
    CHUNKS = 8,      /* of input channels */
    PARTS = 4,       /* of a row of y */
    NEAR = 24,       /* of the best, about which more is looked at */
    PIECE = 256,     /* rows, at most */
    SLICES = 4,      /* shorter loads */
    MOST_IMAGES = 64 /* of a patch */
};

struct cut {
    const char *words;
    uint64_t cycles;
};

struct cuts {
    const struct conv *p;
    unsigned cores, n;
    const char *usual;
    struct cut cut[CUTS];
};

/* The fastest in front, of equal ones the first; what does not fit, or is another one, is none. */
static void consider(struct cuts *t, const struct conv_cut *c)
{
    char words[CONV_TEXT];
    struct conv_plan plan;
    struct cut cut;
    unsigned i;

    conv_cut_text(c, words);
    cut.cycles = conv_price_cut(t->p, words, t->cores, &plan);
    if (!cut.cycles || (t->n == CUTS && cut.cycles >= t->cut[CUTS - 1].cycles)) {
        return;
    }
    conv_cut_words(&plan, words);
    if (strcmp(words, t->usual) == 0) {
        return;
    }
    for (i = 0; i < t->n; i++) {
        if (t->cut[i].cycles == cut.cycles && strcmp(t->cut[i].words, words) == 0) {
            return;
        }
    }
    cut.words = graph_text("%s", words);
    for (i = t->n < CUTS ? t->n++ : CUTS - 1; i > 0 && cut.cycles < t->cut[i - 1].cycles;
         i--) {
        t->cut[i] = t->cut[i - 1];
    }
    t->cut[i] = cut;
}

static void consider_patches(struct cuts *t, const struct conv_plan *l, struct conv_cut c)
{
    for (uint32_t parts = 1; parts <= PARTS; parts++) {
        c.cols = div_up_u32(l->ow, parts);
        for (c.rows = 1; c.rows <= l->oh; c.rows++) {
            consider(t, &c);
        }
    }
}

/* Blocks of output channels as even as can be, and chunks. */
static void consider_sizes(struct cuts *t, const struct conv_plan *l)
{
    uint32_t least = div_up_u32(l->out, CONV_COLUMNS);

    for (uint32_t n = least; n < least + PARTS && n <= up16(l->out) / 16; n++) {
        for (uint32_t chunks = 1; chunks <= min_u32(CHUNKS, l->blocks); chunks++) {
            struct conv_cut c = {.n = up16(div_up_u32(l->out, n)),
                                 .k = div_up_u32(l->blocks, chunks) * l->c0};
            consider_patches(t, l, c);
        }
    }
}

/* One with another number otherwise. */
static void consider_near(struct cuts *t, const struct conv_cut *of)
{
    struct conv_cut c = *of;

    for (c.m = 16; c.m <= PIECE; c.m += 16) {
        c.slice = 0;
        consider(t, &c);
        c.by_patch = !c.by_patch;
        consider(t, &c);
        c.by_patch = of->by_patch;
    }
    c = *of;
    c.bufs = 3 - of->bufs;
    consider(t, &c);
    c = *of;
    c.by_patch = !of->by_patch;
    consider(t, &c);
    c = *of;
    for (unsigned i = 1; i <= SLICES && i < of->slice; i++) {
        c.slice = of->slice - i;
        consider(t, &c);
    }
    c = *of;
    for (c.images = 1; c.images <= min_u32(t->p->n, MOST_IMAGES); c.images *= 2) {
        consider(t, &c);
    }
    c = *of;
    for (c.cores = t->cores / 2; c.cores > 0; c.cores /= 2) {
        consider(t, &c);
    }
}

struct step *tune_cut_tries(const struct step *s, const struct conv *p, unsigned most,
                            unsigned cores)
{
    struct cuts *t = graph_alloc(1, sizeof(*t));
    struct conv_cut near[NEAR + 1];
    struct step *first, **last = &first;
    char usual[CONV_TEXT];
    struct conv_plan plan;
    unsigned n = 1;

    if (!conv_price_cut(p, NULL, cores, &plan)) {
        return NULL;
    }
    conv_cut_words(&plan, usual);
    *t = (struct cuts){.p = p, .cores = cores, .usual = usual};
    if (!conv_read_cut(usual, &near[0])) {
        return NULL;
    }
    consider_sizes(t, &plan);
    for (unsigned i = 0; i < t->n && n <= NEAR; i++) {
        n += conv_read_cut(t->cut[i].words, &near[n]);
    }
    for (unsigned i = 0; i < n; i++) {
        consider_near(t, &near[i]);
    }
    *last = tune_candidate(s, s->plain, "again");
    for (unsigned i = 0; i < t->n && i < most; i++) {
        last = &(*last)->next;
        *last = tune_candidate(s, graph_text("%s --cut %s", s->plain, t->cut[i].words),
                               t->cut[i].words);
    }
    return first;
}
