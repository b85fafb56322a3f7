/* SPDX-License-Identifier: MIT
 *
 * Kernels, statements and schedules of tile programs; see text.h. Each function takes one
 * rule of the grammar; what follows an error is not looked at.
 */
#include "kernels/tile/text/text.h"

#include <stdio.h>
#include <string.h>

#include "kernels/tile/text/lex.h"

/* --- statements --- */

bool parse_end_of_line(struct parser *p)
{
    if (p->now.kind == LEX_END || parse_failed(p)) {
        return !parse_failed(p);
    }
    return parse_take(p, LEX_NL, "an operator or the end of the line");
}

static void assignment(struct parser *p)
{
    struct token name = p->now;
    tile_value v;

    lex_next(p);
    if (!parse_take(p, '=', "'='")) {
        return;
    }
    v = parse_expr(p);
    parse_here(p, &name);
    tile_assign(p->k, name.text, v);
}

/* The dimensions of a carried value. */
static tile_dims set_of(struct parser *p)
{
    char names[TILE_RANK * TILE_NAME_BYTES], *rest = NULL;
    tile_dims set = 0;

    if (!parse_dims(p, names, sizeof(names))) {
        return 0;
    }
    for (char *name = strtok_r(names, " ", &rest); name;
         name = strtok_r(NULL, " ", &rest)) {
        set = (tile_dims)(set | 1u << tile_find_dim(p->k, name));
    }
    return set;
}

static void carried(struct parser *p)
{
    struct token name;
    double first;

    lex_next(p); /* carry or , */
    if (parse_new_name(p, &name, "a name that is carried") && parse_take(p, '=', "'='") &&
        parse_number(p, &first)) {
        tile_dims set = set_of(p);
        parse_here(p, &name);
        tile_carry(p->k, name.text, first, set);
    }
}

static void lines(struct parser *p);

static void loop(struct parser *p)
{
    struct token at = p->now, name;
    uint8_t dim;
    char near[64];

    lex_next(p);
    if (!parse_new_name(p, &name, "the dimension of the loop")) {
        return;
    }
    dim = tile_find_dim(p->k, name.text);
    if (dim == TILE_NO_DIM) {
        parse_fail(p, &name, "no dimension '%s'%s", name.text,
                   parse_nearest(p, name.text, false, near));
        return;
    }
    parse_here(p, &at);
    tile_loop_begin(p->k, dim);
    if (p->now.kind == LEX_WHILE) {
        struct token condition;
        tile_value v;
        lex_next(p);
        condition = p->now;
        v = parse_expr(p);
        parse_here(p, &condition);
        tile_loop_while(p->k, v);
    }
    if (p->now.kind != LEX_CARRY) {
        parse_expected(p, "'carry' and what the loop carries");
        return;
    }
    do {
        carried(p);
    } while (p->now.kind == ',' && !parse_failed(p));
    if (parse_end_of_line(p)) {
        lines(p);
    }
    parse_here(p, &p->now);
    if (parse_take(p, LEX_LOOP_END, "a statement or 'end'")) {
        tile_loop_end(p->k);
    }
}

/* Statements up to what none begins with. */
static void lines(struct parser *p)
{
    while (!parse_failed(p) && (p->now.kind == LEX_NAME || p->now.kind == LEX_LOOP ||
                                p->now.kind == LEX_NL)) {
        if (p->now.kind == LEX_NAME) {
            assignment(p);
        } else if (p->now.kind == LEX_LOOP) {
            loop(p);
        }
        if (!parse_end_of_line(p)) {
            return;
        }
    }
}

/* --- the schedule --- */

static bool whole(struct parser *p, uint32_t *number)
{
    double value = p->now.number;

    if (p->now.kind == LEX_INTEGER && (value < 1 || value > INT32_MAX)) {
        parse_fail(p, &p->now, "expected a number from 1 to %ld", (long)INT32_MAX);
        return false;
    }
    *number = (uint32_t)value;
    return parse_take(p, LEX_INTEGER, "a whole number");
}

static bool dimension(struct parser *p, uint8_t *dim)
{
    struct token name;
    char near[64];

    if (!parse_new_name(p, &name, "a dimension")) {
        return false;
    }
    *dim = tile_find_dim(p->k, name.text);
    if (*dim == TILE_NO_DIM) {
        parse_fail(p, &name, "no dimension '%s'%s", name.text,
                   parse_nearest(p, name.text, false, near));
    }
    return *dim != TILE_NO_DIM;
}

/* NAME in ub, l1 or gm. */
static bool keep(struct parser *p, struct tile_choice *c)
{
    static const char *const places[] = {"ub", "l1", "gm"};
    struct token name, in;
    char near[64];

    if (!parse_new_name(p, &name, "a value's name")) {
        return false;
    }
    c->value = tile_named(p->k, name.text);
    if (c->value == 0) {
        parse_fail(p, &name, "no value '%s'%s", name.text,
                   parse_nearest(p, name.text, false, near));
        return false;
    }
    in = p->now;
    if (!parse_take(p, LEX_NAME, "'in'") || strcmp(in.text, "in") != 0) {
        parse_fail(p, &in, "expected 'in', got '%s'", in.text);
        return false;
    }
    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (p->now.kind == LEX_NAME && strcmp(places[i], p->now.text) == 0) {
            c->place = (uint8_t)i;
            lex_next(p);
            return true;
        }
    }
    parse_expected(p, "'ub', 'l1' or 'gm'");
    return false;
}

static void choice(struct parser *p)
{
    static const char *const words[] = {
        [TILE_CHOICE_TILE] = "tile",       [TILE_CHOICE_LANES] = "lanes",
        [TILE_CHOICE_BUFFERS] = "buffers", [TILE_CHOICE_CORES] = "cores",
        [TILE_CHOICE_KEEP] = "keep",       [TILE_CHOICE_STRATEGY] = "strategy",
        [TILE_CHOICE_LAYOUT] = "layout",   [TILE_CHOICE_EXACT] = "exact",
        [TILE_CHOICE_ARITH] = "arith",
    };
    struct tile_choice c = {.dim = TILE_NO_DIM};
    struct token word, name = {0};
    bool good = true;

    lex_next(p); /* schedule or , */
    word = p->now;
    while (c.kind < TILE_CHOICE_ARITH && strcmp(words[c.kind], word.text) != 0) {
        c.kind++;
    }
    if (word.kind != LEX_NAME || strcmp(words[c.kind], word.text) != 0) {
        parse_expected(p, "tile, lanes, buffers, cores, keep, strategy, layout, "
                          "exact or arith");
        return;
    }
    lex_next(p);
    switch ((enum tile_choice_kind)c.kind) {
    case TILE_CHOICE_TILE:
        good = dimension(p, &c.dim) && whole(p, &c.number);
        break;
    case TILE_CHOICE_LANES:
        good = dimension(p, &c.dim);
        break;
    case TILE_CHOICE_BUFFERS:
    case TILE_CHOICE_CORES:
        good = whole(p, &c.number);
        break;
    case TILE_CHOICE_KEEP:
        good = keep(p, &c);
        break;
    case TILE_CHOICE_LAYOUT:
        good = parse_new_name(p, &name, "a word of --explain's schedule");
        break;
    case TILE_CHOICE_STRATEGY:
        good = parse_new_name(p, &name, "a strategy's name");
        break;
    case TILE_CHOICE_ARITH:
        good = p->now.type == TYPE_F16 || p->now.type == TYPE_F32;
        c.number = p->now.type;
        good = good ? parse_take(p, LEX_TYPE, "f16") : parse_expected(p, "f16 or f32");
        break;
    case TILE_CHOICE_EXACT:
        break;
    }
    if (good) {
        c.word = name.text[0] ? name.text : NULL;
        parse_here(p, &word);
        tile_choose(p->k, &c);
    }
}

/* The type of arithmetic is known before the first operation is: the schedule, which is
 * the last line, is looked for in advance. */
static enum type arith_of(const struct parser *p)
{
    struct parser ahead = *p;
    bool schedule = false;

    while (ahead.now.kind != LEX_END && ahead.now.kind != LEX_BAD &&
           ahead.now.kind != LEX_KERNEL && ahead.now.kind != LEX_TYPES) {
        bool arith = schedule && strcmp(ahead.now.text, "arith") == 0;
        schedule = schedule || ahead.now.kind == LEX_SCHEDULE;
        lex_next(&ahead);
        if (arith && ahead.now.type == TYPE_F16) {
            return TYPE_F16;
        }
    }
    return TYPE_F32;
}

/* --- kernels --- */

static void kernel(struct parser *p, struct tile_arena *arena)
{
    struct token at = p->now, name;

    p->k = NULL;
    p->open = (struct tile_open){0};
    parse_types(p);
    if (parse_failed(p) || !parse_take(p, LEX_KERNEL, "'kernel'") ||
        !parse_new_name(p, &name, "a kernel's name")) {
        return;
    }
    p->k = tile_begin(arena, name.text);
    if (p->k == NULL) {
        parse_fail(p, &at, "no memory for a kernel");
        return;
    }
    p->k->arith = arith_of(p);
    parse_signature(p);
    if (!parse_failed(p)) {
        lines(p);
    }
    if (!parse_failed(p) && p->now.kind == LEX_SCHEDULE) {
        do {
            choice(p);
        } while (p->now.kind == ',' && !parse_failed(p));
        parse_end_of_line(p);
    }
    while (!parse_failed(p) && p->now.kind == LEX_NL) {
        lex_next(p);
    }
    if (!parse_failed(p) && p->now.kind != LEX_KERNEL && p->now.kind != LEX_TYPES &&
        p->now.kind != LEX_END) {
        parse_expected(p, "a statement, a schedule or a kernel");
    }
    parse_here(p, &at);
    if (parse_failed(p) || tile_end(p->k) != 0) {
        p->error = p->error.text[0] != '\0' ? p->error : p->k->error;
    }
}

struct tile_kernel *tile_parse_open(struct tile_arena *arena, const char *text,
                                    size_t bytes, const char *name,
                                    struct tile_open *open,
                                    const struct tile_bound *bound,
                                    struct tile_error *error)
{
    struct parser p = {
        .at = text, .end = text + bytes, .line = 1, .column = 1, .bound = bound};
    struct tile_kernel *found = NULL;
    size_t used = arena->used;

    if (bytes > TILE_TEXT_MAX) {
        parse_fail(&p, &p.now, "a program has %d bytes at the most", TILE_TEXT_MAX);
    } else {
        lex_next(&p);
    }
    while (!parse_failed(&p) && p.now.kind == LEX_NL) {
        lex_next(&p);
    }
    do {
        struct token at = p.now;
        arena->used = used;
        if (!parse_failed(&p)) {
            kernel(&p, arena);
        }
        if (!parse_failed(&p) && (name == NULL || strcmp(p.k->name, name) == 0)) {
            if (found) {
                parse_fail(&p, &at, "a second kernel: say which one");
            }
            found = p.k;
            *open = p.open;
            used = arena->used;
        }
    } while (!parse_failed(&p) && p.now.kind != LEX_END);
    if (found == NULL && !parse_failed(&p)) {
        p.now = (struct token){0};
        parse_fail(&p, &p.now, "no kernel '%s'", name);
    }
    *error = p.error;
    return p.error.text[0] == '\0' ? found : NULL;
}

struct tile_kernel *tile_parse(struct tile_arena *arena, const char *text, size_t bytes,
                               const char *name, struct tile_error *error)
{
    struct tile_open open;

    return tile_parse_open(arena, text, bytes, name, &open, NULL, error);
}

int tile_parse_sized(struct tile_kernel **kernel, const char *text,
                     const struct tile_size *sizes, unsigned n, struct tile_arena *arena,
                     struct tile_error *error)
{
    struct tile_kernel *k = tile_parse(arena, text, strlen(text), NULL, error);
    int err = k ? 0 : ERR_NOMEM;

    for (unsigned i = 0; i < n && !err; i++) {
        err = tile_set_size(k, tile_find_dim(k, sizes[i].dim), sizes[i].size);
    }
    if (k && err) {
        *error = k->error;
    }
    *kernel = k;
    return err;
}
