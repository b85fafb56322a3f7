/* SPDX-License-Identifier: MIT
 *
 * Words of tile programs; see lex.h. Reads through a cursor that never passes the end.
 */
#include "kernels/tile/text/lex.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const words[] = {"kernel", "loop",     "while", "carry",
                                    "end",    "schedule", "types"};
static const struct {
    const char *text;
    unsigned kind;
} signs[] = {{"->", LEX_ARROW}, {"+=", LEX_PLUS_EQ}, {"<=", LEX_LE},
             {">=", LEX_GE},    {"==", LEX_EQ},      {"!=", LEX_NE}};
static const uint8_t types[] = {TYPE_F32, TYPE_F16, TYPE_BF16, TYPE_S32,
                                TYPE_S16, TYPE_S8,  TYPE_U8};

/* --- errors --- */

bool parse_failed(const struct parser *p)
{
    return p->error.text[0] != '\0' || (p->k && tile_failed(p->k));
}

tile_value parse_fail(struct parser *p, const struct token *at, const char *format, ...)
{
    va_list args;

    if (!parse_failed(p)) {
        va_start(args, format);
        vsnprintf(p->error.text, sizeof(p->error.text), format, args);
        va_end(args);
        p->error.line = at->line;
        p->error.column = at->column;
    }
    return 0;
}

tile_value parse_expected(struct parser *p, const char *what)
{
    const struct token *t = &p->now;

    if (t->kind == LEX_BAD) {
        return parse_fail(p, t, "%s", t->text);
    }
    if (t->kind == LEX_NL || t->kind == LEX_END) {
        return parse_fail(p, t, "expected %s, got the end of the %s", what,
                          t->kind == LEX_NL ? "line" : "text");
    }
    return parse_fail(p, t, "expected %s, got '%s'", what, t->text);
}

bool parse_take(struct parser *p, unsigned kind, const char *what)
{
    if (p->now.kind != kind) {
        parse_expected(p, what);
        return false;
    }
    lex_next(p);
    return true;
}

void parse_here(struct parser *p, const struct token *at)
{
    if (!tile_failed(p->k)) {
        p->k->line = at->line;
        p->k->column = at->column;
    }
}

/* --- characters --- */

/* Bytes of the character at `at`, or 0: it is not UTF-8. */
static unsigned utf8(const char *at, const char *end)
{
    unsigned char c = (unsigned char)*at;
    unsigned n = c < 0x80                ? 1
                 : c >= 0xc2 && c < 0xe0 ? 2
                 : c >= 0xe0 && c < 0xf0 ? 3
                 : c >= 0xf0 && c < 0xf5 ? 4
                                         : 0;

    if (n == 0 || (size_t)(end - at) < n) {
        return 0;
    }
    for (unsigned i = 1; i < n; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    if (n > 2) { /* not too long, no half of a pair, not beyond the last */
        unsigned char second = (unsigned char)at[1];
        if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
            (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f)) {
            return 0;
        }
    }
    return n;
}

/* Steps over one character; false if there is none that may be in a text. */
static bool step(struct parser *p)
{
    unsigned n = p->at < p->end && *p->at != '\0' ? utf8(p->at, p->end) : 0;

    p->column += n != 0;
    if (n != 0 && *p->at == '\n') {
        p->line++;
        p->column = 1;
    }
    p->at += n;
    return n != 0;
}

static bool is_blank(const struct parser *p)
{
    return *p->at == ' ' || *p->at == '\t' || *p->at == '\r' ||
           (*p->at == '\n' && p->brackets != 0);
}

/* Blanks and comments; stops where a token begins or a character may not be. */
static void skip(struct parser *p)
{
    bool comment = false;

    while (p->at < p->end && (comment || is_blank(p) || *p->at == '#')) {
        comment = (comment || *p->at == '#') && *p->at != '\n';
        if ((*p->at == '\n' && p->brackets == 0) || !step(p)) {
            return;
        }
    }
}

/* --- tokens --- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static void bad(struct token *t, const char *text)
{
    t->kind = LEX_BAD;
    snprintf(t->text, sizeof(t->text), "%s", text);
}

/* What the token has between two places of the text. */
static void keep(struct token *t, const char *from, const char *to)
{
    size_t n = (size_t)(to - from);

    n = n < sizeof(t->text) ? n : sizeof(t->text) - 1;
    memcpy(t->text, from, n);
    t->text[n] = '\0';
}

static void name(struct parser *p)
{
    struct token *t = &p->now;
    const char *from = p->at;
    char text[8];

    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at))) {
        step(p);
    }
    keep(t, from, p->at);
    t->kind = LEX_NAME;
    if ((size_t)(p->at - from) >= sizeof(t->text)) {
        bad(t, "a name of over 31 characters");
        return;
    }
    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        t->kind = strcmp(words[i], t->text) == 0 ? LEX_KERNEL + i : t->kind;
    }
    for (unsigned i = 0; i < sizeof(types); i++) {
        if (strcmp(tile_type_text(types[i], text), t->text) == 0) {
            t->kind = LEX_TYPE;
            t->type = (enum type)types[i];
        }
    }
    if (strcmp(t->text, "bool") == 0) {
        t->kind = LEX_TYPE;
        t->type = TYPE_U8;
        t->boolean = true;
    }
    for (unsigned i = 0; i < p->open.n_vars && p->open.n_rows != 0; i++) {
        unsigned row = p->bound ? p->bound->row : 0;
        if (strcmp(p->open.var[i], t->text) == 0) {
            t->kind = LEX_TYPE;
            t->type = (enum type)p->open.row[row][i].type;
            t->boolean = p->open.row[row][i].boolean;
            t->var = (uint8_t)(i + 1);
        }
    }
    if (strcmp(t->text, "inf") == 0) {
        t->kind = LEX_INF;
        t->number = INFINITY;
    }
}

/* Digits behind those of a number; how many. */
static int digits(struct parser *p, double *number)
{
    int n = 0;

    for (; p->at < p->end && is_digit(*p->at); n++) {
        *number = *number * 10 + (*p->at - '0');
        step(p);
    }
    return n;
}

/* Times a power of ten: exact up to 1e22, off by some last places of a double beyond,
 * which a float does not show. */
static double scaled(double number, int exponent)
{
    double by = 1;

    for (int i = exponent < 0 ? -exponent : exponent; i != 0 && by < 1e300; i--) {
        by *= 10;
    }
    return exponent < 0 ? number / by : number * by;
}

/* 1, 1.5, 1e-5: letters behind it would be a name that begins with a digit. */
static void number(struct parser *p)
{
    struct token *t = &p->now;
    const char *from = p->at;
    double exponent = 0;
    int behind = 0, sign = 1;

    t->kind = LEX_INTEGER;
    digits(p, &t->number);
    if (p->at < p->end && *p->at == '.') {
        t->kind = LEX_FLOAT;
        step(p);
        behind = digits(p, &t->number);
    }
    if (p->at < p->end && (*p->at == 'e' || *p->at == 'E')) {
        t->kind = LEX_FLOAT;
        step(p);
        if (p->at < p->end && (*p->at == '+' || *p->at == '-')) {
            sign = *p->at == '-' ? -1 : 1;
            step(p);
        }
        if (digits(p, &exponent) == 0) {
            bad(t, "a number without its exponent");
            return;
        }
    }
    keep(t, from, p->at);
    exponent = exponent < 1000 ? exponent : 1000;
    t->number = scaled(t->number, sign * (int)exponent - behind);
    if ((size_t)(p->at - from) >= sizeof(t->text)) {
        bad(t, "a number of over 31 characters");
    } else if (p->at < p->end && is_letter(*p->at)) {
        bad(t, "a name begins with a letter");
    }
}

static void sign(struct parser *p)
{
    struct token *t = &p->now;
    const char *from = p->at;

    if (p->end - p->at >= 3 && memcmp(p->at, "...", 3) == 0) {
        step(p);
        step(p);
        step(p);
        keep(t, from, p->at);
        t->kind = LEX_PACK;
        return;
    }
    for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (p->end - p->at >= 2 && memcmp(signs[i].text, p->at, 2) == 0) {
            step(p);
            step(p);
            keep(t, from, p->at);
            t->kind = signs[i].kind;
            return;
        }
    }
    t->kind = (unsigned char)*p->at;
    step(p);
    keep(t, from, p->at);
    if (t->kind == '(' || t->kind == '[') {
        p->brackets++;
    } else if ((t->kind == ')' || t->kind == ']') && p->brackets != 0) {
        p->brackets--;
    }
}

void lex_next(struct parser *p)
{
    struct token *t = &p->now;

    skip(p);
    *t = (struct token){.line = (uint16_t)p->line, .column = (uint16_t)p->column};
    if (p->at == p->end) {
        t->kind = LEX_END;
    } else if (*p->at == '\n') {
        t->kind = LEX_NL;
        step(p);
    } else if (is_letter(*p->at)) {
        name(p);
    } else if (is_digit(*p->at)) {
        number(p);
    } else if (p->end - p->at >= 3 && memcmp(p->at, "...", 3) == 0) {
        sign(p);
    } else if (strchr("()[],:=+-*/@<>!?", *p->at) && *p->at != '\0') {
        sign(p);
    } else if (*p->at == '\0') {
        bad(t, "a NUL byte: this is no text");
    } else if (utf8(p->at, p->end) == 0) {
        snprintf(t->text, sizeof(t->text), "byte 0x%02x is not UTF-8",
                 (unsigned char)*p->at);
        t->kind = LEX_BAD;
    } else if ((unsigned char)*p->at > ' ' && (unsigned char)*p->at < 0x7f) {
        snprintf(t->text, sizeof(t->text), "'%c' means nothing", *p->at);
        t->kind = LEX_BAD;
    } else {
        bad(t, "a character that means nothing");
    }
}

unsigned lex_peek(const struct parser *p)
{
    struct parser ahead = *p;

    lex_next(&ahead);
    return ahead.now.kind;
}
