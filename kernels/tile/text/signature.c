/* SPDX-License-Identifier: MIT
 *
 * What a kernel takes and gives, and what of that it leaves open; see text.h.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/tile/text/lex.h"

bool parse_new_name(struct parser *p, struct token *name, const char *what)
{
    *name = p->now;
    return parse_take(p, LEX_NAME, what);
}

/* --- types --- */

/* The types of one row. */
static void row(struct parser *p)
{
    struct tile_open *open = &p->open;

    if (open->n_rows == TILE_ROWS) {
        parse_fail(p, &p->now, "more than %d rows of types", TILE_ROWS);
        return;
    }
    for (unsigned i = 0; i < open->n_vars && !parse_failed(p); i++) {
        open->row[open->n_rows][i].type = (uint8_t)p->now.type;
        open->row[open->n_rows][i].boolean = p->now.boolean;
        parse_take(p, LEX_TYPE, "a type of each variable");
    }
    open->n_rows++;
}

void parse_types(struct parser *p)
{
    struct tile_open *open = &p->open;

    if (p->now.kind != LEX_TYPES) {
        return;
    }
    lex_next(p);
    for (; p->now.kind == LEX_NAME && !parse_failed(p); lex_next(p)) {
        if (open->n_vars == TILE_VARS) {
            parse_fail(p, &p->now, "more than %d variables", TILE_VARS);
            return;
        }
        strcpy(open->var[open->n_vars++], p->now.text);
    }
    if (open->n_vars == 0 || p->now.kind != ':') {
        parse_expected(p, open->n_vars ? "':' and types" : "a variable for types");
        return;
    }
    do {
        lex_next(p);
        while (p->now.kind == LEX_NL) {
            lex_next(p);
        }
        row(p);
    } while (p->now.kind == ',' && !parse_failed(p));
    parse_end_of_line(p);
    while (!parse_failed(p) && p->now.kind == LEX_NL) {
        lex_next(p);
    }
}

/* --- dimensions --- */

/* Names, blanks between them. */
struct names {
    char *to;
    size_t size;
};

static bool add_names(struct parser *p, const struct names *names, const char *more)
{
    size_t at = strlen(names->to), n = strlen(more);

    if (at + n + 2 > names->size) {
        parse_fail(p, &p->now, "more than %d dimensions", TILE_RANK);
        return false;
    }
    snprintf(names->to + at, names->size - at, "%s%s", at && n ? " " : "", more);
    return true;
}

/* `...`, first or, behind one name, last. */
static bool pack(struct parser *p, const struct names *names, struct tile_open_tensor *t)
{
    const struct tile_bound *bound = p->bound;
    unsigned i = (unsigned)(t - p->open.tensor);
    bool first = names->to[0] == '\0' && !t->before, in = i < TILE_PARAMS;

    if (!first && (!t->before || t->behind)) {
        parse_fail(p, &p->now, "'...' comes first, or last as well");
        return false;
    }
    p->open.pack = true;
    t->before = true;
    t->behind = !first;
    p->open.axis = p->open.axis || !first;
    return add_names(p, names,
                     !bound  ? (first ? "..." : "")
                     : first ? (in ? bound->before[i] : bound->all_before)
                             : (in ? bound->behind[i] : bound->all_behind));
}

static bool one_dim(struct parser *p, const struct names *names,
                    struct tile_open_tensor *t)
{
    if (p->now.kind == LEX_PACK && t) {
        return pack(p, names, t);
    }
    if (t && strcmp(p->now.text, "rest") == 0 && t >= &p->open.tensor[TILE_PARAMS]) {
        t->rest = true;
        return add_names(p, names, p->bound ? p->bound->rest : "");
    }
    if (p->now.kind != LEX_NAME && p->now.kind != LEX_INTEGER) {
        parse_expected(p, "a dimension, a name or a number");
        return false;
    }
    return add_names(p, names, p->now.text) && tile_dim(p->k, p->now.text) != TILE_NO_DIM;
}

/* `[m, 16]`, which may be absent. t: of a tensor, or NULL. */
static bool dims_of(struct parser *p, const struct names *names,
                    struct tile_open_tensor *t)
{
    names->to[0] = '\0';
    if (p->now.kind != '[') {
        return true;
    }
    do {
        lex_next(p);
        parse_here(p, &p->now);
        if (!one_dim(p, names, t)) {
            return false;
        }
        lex_next(p);
    } while (p->now.kind == ',');
    return parse_take(p, ']', "',' or ']'");
}

bool parse_dims(struct parser *p, char *to, size_t size)
{
    return dims_of(p, &(struct names){to, size}, NULL);
}

tile_dims parse_axes(struct parser *p)
{
    const char *at = p->bound ? p->bound->axes : "...";
    char name[TILE_NAME_BYTES];
    tile_dims set = 0;

    if (!p->open.pack || strcmp(p->now.text, "axes") != 0) {
        return 0;
    }
    p->open.axes = true;
    for (size_t n; *at != '\0'; at += n + (at[n] == ' ')) {
        n = strcspn(at, " ");
        snprintf(name, sizeof(name), "%.*s", (int)n, at);
        set = (tile_dims)(set | 1u << tile_find_dim(p->k, name));
    }
    return set;
}

/* Index of the first of these names, times the sizes of those behind it, and so on. */
static tile_value place_in(struct parser *p, const char *names, const uint64_t *sizes)
{
    char name[TILE_NAME_BYTES];
    tile_value v = 0;

    for (unsigned i = 0; *names != '\0'; i++) {
        size_t n = strcspn(names, " ");
        tile_value at;
        snprintf(name, sizeof(name), "%.*s", (int)n, names);
        at = tile_index(p->k, tile_find_dim(p->k, name));
        if (v != 0) { /* modulo 2^32, as numbers of S32 are */
            v = tile_map2(p->k, TILE_MUL, v,
                          tile_number(p->k, (double)(int32_t)sizes[i]));
            at = tile_map2(p->k, TILE_ADD, v, at);
        }
        v = at;
        names += n + (names[n] == ' ');
    }
    return v;
}

tile_value parse_place(struct parser *p, const char *name)
{
    if (!p->open.pack || p->open.axis || strcmp(name, "place") != 0) {
        return 0;
    }
    return place_in(p, p->bound ? p->bound->all_before : "...",
                    p->bound ? p->bound->sizes : NULL);
}

/* --- tensors --- */

/* A parameter or a result as it is written. */
struct written {
    struct token name, type;
    char names[TILE_RANK * TILE_NAME_BYTES];
};

/* TYPE [dims] behind a colon. */
static bool tensor(struct parser *p, struct written *w, struct tile_open_tensor *t)
{
    if (!parse_take(p, ':', "':' and a type")) {
        return false;
    }
    w->type = p->now;
    t->var = p->now.var;
    return parse_take(p, LEX_TYPE, "a type: f32, f16, bf16, s32, s16, s8 or u8") &&
           dims_of(p, &(struct names){w->names, sizeof(w->names)}, t);
}

/* A parameter that is there; a bool one is a condition. */
static void input(struct parser *p, const struct written *w)
{
    tile_value v;

    parse_here(p, &w->name);
    v = tile_input(p->k, w->name.text, w->type.type, w->names);
    if (v != 0 && w->type.boolean) {
        p->k->param[p->k->n_params - 1].boolean = true;
        p->k->names[p->k->n_names - 1].value =
            tile_map2(p->k, TILE_NE, v, tile_number(p->k, 0));
    }
}

/* One that may be left out is a number then. */
static void optional(struct parser *p, const struct written *w, unsigned i)
{
    double value;

    if (!parse_take(p, '=', "'=' and what stands for it") || !parse_number(p, &value)) {
        return;
    }
    if (!p->bound || !p->bound->absent[i]) {
        input(p, w);
        return;
    }
    parse_here(p, &w->name);
    tile_assign(p->k, w->name.text, tile_number(p->k, value));
}

static void tensor_param(struct parser *p, struct written *w)
{
    unsigned i = p->open.n_params;
    struct tile_open_tensor *t = &p->open.tensor[i];

    if (i == TILE_PARAMS) {
        parse_fail(p, &w->name, "more than %d tensors as parameters", TILE_PARAMS);
        return;
    }
    p->open.n_params++;
    t->optional = p->now.kind == '?';
    if (t->optional) {
        lex_next(p);
    }
    if (tensor(p, w, t)) {
        if (t->optional) {
            optional(p, w, i);
        } else {
            input(p, w);
        }
    }
}

static void param(struct parser *p)
{
    struct written w;
    double value = 0;
    bool given;

    if (!parse_new_name(p, &w.name, "a parameter's name")) {
        return;
    }
    if (p->now.kind == ':' || p->now.kind == '?') {
        tensor_param(p, &w);
        return;
    }
    given = p->now.kind == '=';
    if (given) {
        lex_next(p);
        given = parse_number(p, &value);
    }
    parse_here(p, &w.name);
    tile_scalar(p->k, w.name.text, value, given);
}

static void result(struct parser *p)
{
    struct written w;
    bool adds;

    if (p->k->n_results == TILE_RESULTS) {
        parse_fail(p, &p->now, "more than %d results", TILE_RESULTS);
    }
    if (parse_failed(p) || !parse_new_name(p, &w.name, "a result's name") ||
        !tensor(p, &w, &p->open.tensor[TILE_PARAMS + p->k->n_results])) {
        return;
    }
    adds = p->now.kind == LEX_PLUS_EQ;
    if (adds) {
        lex_next(p);
    }
    parse_here(p, &w.name);
    tile_result(p->k, w.name.text, w.type.type, w.names, adds);
    if (!parse_failed(p)) {
        p->k->result[p->k->n_results - 1].tensor.boolean = w.type.boolean;
    }
}

static void list(struct parser *p, void (*one)(struct parser *p))
{
    one(p);
    while (p->now.kind == ',' && !parse_failed(p)) {
        lex_next(p);
        one(p);
    }
}

void parse_signature(struct parser *p)
{
    if (!parse_take(p, '(', "'(' and the parameters")) {
        return;
    }
    if (p->now.kind != ')') {
        list(p, param);
    }
    if (!parse_failed(p) && parse_take(p, ')', "',' or ')'") &&
        parse_take(p, LEX_ARROW, "'->' and the results")) {
        list(p, result);
        if (!parse_failed(p) && p->now.kind != LEX_END) {
            parse_take(p, LEX_NL, "',' or the end of the line");
        }
    }
}
