/* SPDX-License-Identifier: MIT
 *
 * Words that say how a convolution is cut; see plan.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "kernels/conv/inside.h"
#include "kernels/conv/plan.h"
#include "kernels/lib/share.h"

enum { MOST_ROWS = 256, MOST_SLOTS = 8 };

/* The number behind a letter, above 0; what there is without it. */
static bool number(const char **at, char letter, uint32_t *to)
{
    char *end;
    unsigned long n;

    if (**at != letter) {
        return true;
    }
    if ((*at)[1] < '1' || (*at)[1] > '9') {
        return false;
    }
    n = strtoul(*at + 1, &end, 10);
    *at = end;
    *to = (uint32_t)n;
    return n <= UINT16_MAX;
}

bool conv_read_cut(const char *words, struct conv_cut *c)
{
    const char *at = words;
    bool good;

    *c = (struct conv_cut){0};
    good = number(&at, 'n', &c->n) && number(&at, 'k', &c->k) &&
           number(&at, 'r', &c->rows) && number(&at, 'c', &c->cols) &&
           number(&at, 'm', &c->m) && number(&at, 'i', &c->images) &&
           number(&at, 'l', &c->slice) && number(&at, 'b', &c->bufs) &&
           number(&at, 'x', &c->cores);
    c->by_patch = *at == 'p';
    at += c->by_patch;
    return good && at != words && *at == '\0';
}

static int put(char *to, int n, char letter, uint32_t number)
{
    return number ? n + snprintf(to + n, CONV_TEXT - (size_t)n, "%c%lu", letter,
                                 (unsigned long)number)
                  : n;
}

void conv_cut_text(const struct conv_cut *c, char words[CONV_TEXT])
{
    int n = put(words, 0, 'n', c->n);

    n = put(words, n, 'k', c->k);
    n = put(words, n, 'r', c->rows);
    n = put(words, n, 'c', c->cols);
    n = put(words, n, 'm', c->m);
    n = put(words, n, 'i', c->images);
    n = put(words, n, 'l', c->slice);
    n = put(words, n, 'b', c->bufs);
    n = put(words, n, 'x', c->cores);
    snprintf(words + n, CONV_TEXT - (size_t)n, "%s", c->by_patch ? "p" : "");
}

void conv_cut_words(const struct conv_plan *l, char words[CONV_TEXT])
{
    conv_cut_text(&(struct conv_cut){.n = l->nt,
                                     .k = l->chunk * l->c0,
                                     .rows = l->rows,
                                     .cols = l->cols,
                                     .m = l->piece,
                                     .images = l->images,
                                     .slice = l->slice,
                                     .bufs = l->b_bufs,
                                     .cores = l->shares,
                                     .by_patch = l->by_patch},
                  words);
}

static uint32_t said(uint32_t word, uint32_t else_is)
{
    return word ? word : else_is;
}

/* Whether sizes are within those of the convolution and of commands. */
static bool within(const struct conv_plan *l, const struct conv_cut *c)
{
    return l->nt % 16 == 0 && l->nt <= min_u32(CONV_COLUMNS, up16(l->out)) &&
           l->chunk > 0 && l->chunk <= l->blocks && l->rows <= l->oh &&
           l->cols <= l->ow && c->m % 16 == 0 && c->m <= MOST_ROWS && c->bufs <= 2 &&
           c->images <= l->p.n && (!l->few || l->cols == l->ow) &&
           l->rows * l->cols <= UINT16_MAX;
}

int conv_recut(struct conv_plan *l, uint32_t l1)
{
    uint64_t patch, weights;
    struct conv_cut c;

    if (!conv_read_cut(l->p.cut, &c) || (c.k && c.k % l->c0)) {
        return ERR_ARG;
    }
    l->nt = said(c.n, l->nt);
    l->n_blocks = div_up_u32(l->out, l->nt);
    l->chunk = min_u32(said(c.k / l->c0, l->chunk), l->blocks);
    l->chunks = div_up_u32(l->blocks, l->chunk);
    l->rows = said(c.rows, l->rows);
    l->cols = said(c.cols, l->cols);
    if (!within(l, &c)) {
        return ERR_SHAPE;
    }
    l->down = div_up_u32(l->oh, l->rows);
    l->across = div_up_u32(l->ow, l->cols);
    l->images = said(c.images, 1);
    l->deep = div_up_u32(l->p.n, l->images);
    l->piece = said(c.m, conv_even_piece(l));
    l->slots = min_u32(chip_mem(NPU_MEM_L0C) / (l->piece * l->nt * 4), MOST_SLOTS);
    l->set = l->chunks > 1 ? l->slots : l->slots / 2;
    l->shares = c.cores;
    l->by_patch = c.by_patch && l->n_blocks > 1 && l->deep * l->down * l->across > 1;
    weights = conv_weight_bytes(l, l->chunk);
    l->b_bufs = said(c.bufs, 2 * weights <= l1 / 2 ? 2 : 1);
    l->b_bufs = l->p.groups * l->n_blocks * l->chunks == 1 ? 1 : l->b_bufs;
    patch = conv_patch_bytes(l, l->rows, l->cols, l->blocks) * l->images;
    l->whole = l->chunks == 1 || 2 * patch + l->b_bufs * weights <= l1;
    if (!l->whole) {
        patch = conv_patch_bytes(l, l->rows, l->cols, l->chunk) * l->images;
    }
    if (l->slots < 2 || 2 * patch + l->b_bufs * weights > l1 ||
        (l->images > 1 && (l->down > 1 || l->across > 1 || l->few))) {
        return ERR_SHAPE;
    }
    l->a_bytes = (uint32_t)patch;
    l->b_bytes = (uint32_t)weights;
    return conv_cut_slices(l, c.slice) ? 0 : ERR_SHAPE;
}
