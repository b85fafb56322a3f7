/* SPDX-License-Identifier: MIT
 *
 * `conv(x, w, to p q, stride 2, pad 1, dilation 2, groups 4)`; see text.h.
 */
#include <string.h>

#include "kernels/tile/text/lex.h"

enum option { TO, STRIDE, PAD, DILATION, GROUPS, OPTIONS };
static const char *const options[OPTIONS] = {"to", "stride", "pad", "dilation", "groups"};

enum { PADS = 4, MOST = 65535, MOST_OF_A_SIDE = 255 };

/* Up to so many numbers, of `most` at most: how many; 0 on error. */
static unsigned numbers(struct parser *p, unsigned room, uint16_t *number, unsigned most)
{
    unsigned n = 0;

    for (; n < room && p->now.kind == LEX_INTEGER; n++) {
        if (p->now.number > most) {
            return parse_fail(p, &p->now, "a number up to %u", most);
        }
        number[n] = (uint16_t)p->now.number;
        lex_next(p);
    }
    return n ? n : parse_expected(p, "a number");
}

static bool parse_places(struct parser *p, struct tile_conv *c)
{
    for (unsigned i = 0; i < TILE_SIDES; i++) {
        struct token t = p->now;
        if (!parse_take(p, LEX_NAME, "a name for rows, and one for columns")) {
            return false;
        }
        parse_here(p, &t);
        c->place[i] = tile_dim(p->k, t.text);
    }
    return !parse_failed(p);
}

static bool parse_sides(struct parser *p, uint8_t side[TILE_SIDES])
{
    uint16_t number[TILE_SIDES];
    unsigned n = numbers(p, TILE_SIDES, number, MOST_OF_A_SIDE);

    for (unsigned i = 0; i < TILE_SIDES && n; i++) {
        side[i] = (uint8_t)number[n == 1 ? 0 : i];
    }
    return n != 0;
}

static bool parse_pads(struct parser *p, struct tile_conv *c)
{
    uint16_t number[PADS];
    unsigned n = numbers(p, PADS, number, MOST_OF_A_SIDE);

    if (n == 3) {
        return parse_expected(p, "one, two or four pads");
    }
    for (unsigned i = 0; i < TILE_SIDES && n; i++) {
        c->before[i] = (uint8_t)number[n == 1 ? 0 : i];
        c->behind[i] = (uint8_t)number[n == PADS ? TILE_SIDES + i : n == 1 ? 0 : i];
    }
    return n != 0;
}

/* The option that a word names; OPTIONS: none. */
static enum option option_of(const struct token *t)
{
    enum option o = TO;

    while (o < OPTIONS && (t->kind != LEX_NAME || strcmp(t->text, options[o]) != 0)) {
        o++;
    }
    return o;
}

static bool parse_option(struct parser *p, struct tile_conv *c, unsigned *seen)
{
    struct token t = p->now;
    enum option o = option_of(&t);

    if (o == OPTIONS) {
        return parse_expected(p, "to, stride, pad, dilation or groups");
    }
    if (*seen >> o & 1) {
        return parse_fail(p, &t, "conv has '%s' twice", t.text);
    }
    *seen |= 1u << o;
    lex_next(p);
    switch (o) {
    case TO:
        return parse_places(p, c);
    case STRIDE:
        return parse_sides(p, c->stride);
    case DILATION:
        return parse_sides(p, c->dilation);
    case PAD:
        return parse_pads(p, c);
    default:
        return numbers(p, 1, &c->groups, MOST) != 0;
    }
}

tile_value parse_conv(struct parser *p, const struct token *name)
{
    struct tile_conv c = {.place = {TILE_NO_DIM, TILE_NO_DIM},
                          .stride = {1, 1},
                          .dilation = {1, 1},
                          .groups = 1};
    unsigned seen = 0;
    tile_value x, w;

    lex_next(p); /* ( */
    x = parse_expr(p);
    if (parse_failed(p) || !parse_take(p, ',', "',' and filters")) {
        return 0;
    }
    w = parse_expr(p);
    while (!parse_failed(p) && p->now.kind == ',') {
        lex_next(p);
        parse_option(p, &c, &seen);
    }
    if (parse_failed(p) || !parse_take(p, ')', "',' or ')'")) {
        return 0;
    }
    parse_here(p, name);
    return tile_conv(p->k, x, w, &c);
}
