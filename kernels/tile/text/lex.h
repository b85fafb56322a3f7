/* SPDX-License-Identifier: MIT
 *
 * Words of tile programs, and what the parts of the parser share; see text.h.
 */
#ifndef KERNELS_TILE_TEXT_LEX_H
#define KERNELS_TILE_TEXT_LEX_H

#include "kernels/tile/ir/build.h"
#include "kernels/tile/text/text.h"

/* Kinds of tokens. Signs of one character are that character. */
enum {
    LEX_END = 256, /* of the text */
    LEX_BAD,       /* what no token begins with: text says what it is */
    LEX_NL,
    LEX_NAME,
    LEX_TYPE,
    LEX_INTEGER,
    LEX_FLOAT,
    LEX_INF,
    LEX_ARROW,
    LEX_PLUS_EQ,
    LEX_LE,
    LEX_GE,
    LEX_EQ,
    LEX_NE,
    LEX_PACK, /* ... */
    /* Words with a meaning of their own, in the order of lex_words. */
    LEX_KERNEL,
    LEX_LOOP,
    LEX_WHILE,
    LEX_CARRY,
    LEX_LOOP_END,
    LEX_SCHEDULE,
    LEX_TYPES,
};

struct token {
    unsigned kind;
    uint16_t line, column;
    char text[TILE_NAME_BYTES]; /* as it was written; cut if longer */
    enum type type;             /* LEX_TYPE */
    bool boolean;               /* the same: bool, of which an element is a U8 */
    uint8_t var;                /* the same: a variable, from 1; 0: a type's own name */
    double number;              /* LEX_INTEGER, LEX_FLOAT, LEX_INF */
};

struct parser {
    const char *at, *end;
    unsigned line, column; /* of *at */
    unsigned brackets;     /* open ones: newlines are blanks */
    struct token now;
    unsigned depth; /* of expressions in expressions */
    struct tile_kernel *k;
    struct tile_open open;          /* what the kernel leaves open so far */
    const struct tile_bound *bound; /* and what it is; or NULL */
    struct tile_error error;
};

/* The next token into p->now. */
void lex_next(struct parser *p);
/* The kind of the token behind p->now, which stays. */
unsigned lex_peek(const struct parser *p);

/* Notes an error at the token, unless there is one. Returns 0. */
tile_value parse_fail(struct parser *p, const struct token *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* `expected WHAT, got 'x'` */
tile_value parse_expected(struct parser *p, const char *what);
bool parse_failed(const struct parser *p);
/* Takes a token of that kind, which text calls `what`. */
bool parse_take(struct parser *p, unsigned kind, const char *what);
/* Nodes that are built from now on are of this token. */
void parse_here(struct parser *p, const struct token *at);

/* kernels/tile/text/text.c: an end that a statement has. */
bool parse_end_of_line(struct parser *p);
/* kernels/tile/text/signature.c: a line of types, if there is one; parameters and results; a name
 * for something new; `[m, 16]`, which may be absent, as names with blanks between. */
void parse_types(struct parser *p);
void parse_signature(struct parser *p);
bool parse_new_name(struct parser *p, struct token *name, const char *what);
bool parse_dims(struct parser *p, char *to, size_t size);
/* Which dimensions the word `axes` means, where a kernel has `...`; 0: another word. */
tile_dims parse_axes(struct parser *p);
/* What the name `place` means there; 0: it is another name. */
tile_value parse_place(struct parser *p, const char *name);

/* kernels/tile/text/expr.c: an expression; a number with its sign. */
tile_value parse_expr(struct parser *p);
bool parse_number(struct parser *p, double *number);
/* kernels/tile/text/conv_text.c: behind the name, of which errors are, what is in brackets. */
tile_value parse_conv(struct parser *p, const struct token *name);
/* The nearest name to one that is unknown, of values and dimensions (or, function: of
 * functions), as `; did you mean 'x'?`, or "". */
const char *parse_nearest(const struct parser *p, const char *name, bool function,
                          char text[64]);

#endif
