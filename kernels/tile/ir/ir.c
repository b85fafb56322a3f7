/* SPDX-License-Identifier: MIT
 *
 * The intermediate form of tile programs: memory, names, errors, what is read of a kernel;
 * see ir.h. build.c has the builders of values, lower.c what leads to the Vector.
 */
#include "kernels/tile/ir/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TILE_OP(NAME, name, operands, kind, types, text)                                 \
    [TILE_##NAME] = {name, operands, KIND_##kind, types, text},
#define T(name) (1u << TYPE_##name)
const struct tile_op_info tile_op_info[TILE_OP_COUNT] = {
#include "kernels/tile/ir/ops.def"
};
#undef TILE_OP
#undef T

/* --- memory and errors --- */

void *tile_alloc(struct tile_arena *arena, size_t bytes)
{
    size_t at = (arena->used + 15) & ~(size_t)15;

    if (at > arena->size || bytes > arena->size - at) {
        return NULL;
    }
    arena->used = at + bytes;
    return memset(arena->base + at, 0, bytes);
}

const char *tile_copy_text(struct tile_kernel *k, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = tile_alloc(k->arena, bytes);

    if (copy == NULL) {
        tile_fail(k, "the program is too large");
        return "";
    }
    return memcpy(copy, text, bytes);
}

tile_value tile_fail(struct tile_kernel *k, const char *format, ...)
{
    va_list args;

    if (!tile_failed(k)) {
        va_start(args, format);
        vsnprintf(k->error.text, sizeof(k->error.text), format, args);
        va_end(args);
        k->error.line = k->line;
        k->error.column = k->column;
    }
    return 0;
}

int tile_error_set(struct tile_error *error, const struct tile_node *at, int err,
                   const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error->text, sizeof(error->text), format, args);
    va_end(args);
    error->line = at ? at->line : 0;
    error->column = at ? at->column : 0;
    return err;
}

void tile_error_print(char *to, size_t size, const char *file,
                      const struct tile_error *error)
{
    if (error->line == 0) {
        snprintf(to, size, "%s: %s", file, error->text);
    } else if (error->column == 0) {
        snprintf(to, size, "%s:%u: %s", file, error->line, error->text);
    } else {
        snprintf(to, size, "%s:%u:%u: %s", file, error->line, error->column, error->text);
    }
}

struct tile_kernel *tile_begin(struct tile_arena *arena, const char *name)
{
    struct tile_kernel *k = tile_alloc(arena, sizeof(*k));

    if (k == NULL) {
        return NULL;
    }
    k->node = tile_alloc(arena, (TILE_NODES + 1) * sizeof(*k->node));
    k->names = tile_alloc(arena, TILE_NAMES * sizeof(*k->names));
    if (k->node == NULL || k->names == NULL) {
        return NULL;
    }
    k->arena = arena;
    k->arith = TYPE_F32;
    k->name = tile_copy_text(k, name);
    return k;
}

/* --- dimensions --- */

uint8_t tile_find_dim(const struct tile_kernel *k, const char *name)
{
    for (unsigned d = 0; d < k->n_dims; d++) {
        if (strcmp(k->dim[d].name, name) == 0) {
            return (uint8_t)d;
        }
    }
    return TILE_NO_DIM;
}

/* The size that digits name, or 0: they are beyond INT32_MAX or a name. */
static uint32_t digits(const char *text)
{
    uint64_t size = 0;

    while (*text >= '0' && *text <= '9' && size <= INT32_MAX) {
        size = size * 10 + (uint64_t)(*text++ - '0');
    }
    return *text == '\0' && size <= INT32_MAX ? (uint32_t)size : 0;
}

uint8_t tile_dim(struct tile_kernel *k, const char *name)
{
    uint8_t d = tile_find_dim(k, name);
    bool is_size = name[0] >= '0' && name[0] <= '9';

    if (d != TILE_NO_DIM || tile_failed(k)) {
        return d;
    }
    if (k->n_dims == TILE_DIMS) {
        tile_fail(k, "more than %d dimensions", TILE_DIMS);
    } else if (tile_named(k, name)) {
        tile_fail(k, "'%s' is a value and a dimension", name);
    } else if (is_size && digits(name) == 0) {
        tile_fail(k, "a dimension is of size 1 to %ld", (long)INT32_MAX);
    } else {
        k->dim[k->n_dims].name = tile_copy_text(k, name);
        k->dim[k->n_dims].size = digits(name);
        return (uint8_t)k->n_dims++;
    }
    return TILE_NO_DIM;
}

int tile_set_size(struct tile_kernel *k, uint8_t dim, uint64_t size)
{
    struct tile_dim *d = &k->dim[dim];

    if (size == 0 || size > INT32_MAX || (d->size != 0 && d->size != size)) {
        tile_fail(k, "%s is %lu, not %llu", d->name, (unsigned long)d->size,
                  (unsigned long long)size);
        return ERR_SHAPE;
    }
    d->size = (uint32_t)size;
    for (tile_value v = 1; v <= k->n_nodes; v++) { /* tile_size() */
        struct tile_node *n = &k->node[v];
        n->number = n->op == TILE_NUMBER && n->dim == dim ? (double)size : n->number;
    }
    return tile_conv_sizes(k) ? 0 : ERR_SHAPE;
}

int tile_set_shape(struct tile_kernel *k, const struct tile_tensor *t,
                   const uint32_t *size, unsigned rank)
{
    unsigned at = 0;

    for (unsigned d = 0; d < rank; d++) {
        if (size[d] != 1 &&
            (at == t->rank || tile_set_size(k, t->dim[at++], size[d]) != 0)) {
            return ERR_SHAPE;
        }
    }
    return at == t->rank ? 0 : ERR_SHAPE;
}

uint64_t tile_count(const struct tile_kernel *k, tile_dims dims)
{
    uint64_t count = 1;

    for (unsigned d = 0; d < k->n_dims; d++) {
        if ((dims >> d & 1) != 0 &&
            __builtin_mul_overflow(count, k->dim[d].size, &count)) {
            return UINT64_MAX;
        }
    }
    return count;
}

tile_dims tile_tensor_dims(const struct tile_tensor *t)
{
    tile_dims dims = 0;

    for (unsigned i = 0; i < t->rank; i++) {
        dims = (tile_dims)(dims | 1u << t->dim[i]);
    }
    return dims;
}

void tile_dims_text(const struct tile_kernel *k, tile_dims dims, char *to, size_t size)
{
    size_t at = (size_t)snprintf(to, size, "[");

    for (unsigned d = 0; d < k->n_dims && at < size; d++) {
        if ((dims >> d & 1) != 0) {
            at += (size_t)snprintf(to + at, size - at, "%s%s", at > 1 ? ", " : "",
                                   k->dim[d].name);
        }
    }
    if (at < size) {
        snprintf(to + at, size - at, "]");
    }
}

/* --- names --- */

/* The number of the name in k->names, or -1: names of a loop are seen in it alone. */
static int find_name(const struct tile_kernel *k, const char *name)
{
    for (unsigned i = 0; i < k->n_names; i++) {
        const struct tile_name *n = &k->names[i];
        if ((n->loop == 0 || n->loop == k->in_loop) && strcmp(n->text, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

tile_value tile_named(const struct tile_kernel *k, const char *name)
{
    int i = find_name(k, name);

    return i < 0 ? 0 : k->names[i].value;
}

bool tile_add_name(struct tile_kernel *k, const char *name, uint8_t loop,
                   tile_value value)
{
    int before = find_name(k, name);

    if (tile_failed(k)) {
        return false;
    }
    if (before >= 0) {
        tile_fail(k, "'%s' is there already, in line %u", name, k->names[before].line);
    } else if (tile_find_dim(k, name) != TILE_NO_DIM) {
        tile_fail(k, "'%s' is a dimension already", name);
    } else if (k->n_names == TILE_NAMES) {
        tile_fail(k, "more than %d names", TILE_NAMES);
    } else {
        k->names[k->n_names++] =
            (struct tile_name){tile_copy_text(k, name), value, k->line, loop};
        return true;
    }
    return false;
}

const char *tile_name_of(const struct tile_kernel *k, tile_value value)
{
    for (unsigned i = 0; i < k->n_names; i++) {
        if (k->names[i].value == value) {
            return k->names[i].text;
        }
    }
    for (unsigned v = value + 1u; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        if (n->operand[0] == value || n->operand[1] == value || n->operand[2] == value) {
            return tile_name_of(k, (tile_value)v);
        }
    }
    return tile_op_text(k->node[value].op);
}

const char *tile_op_text(unsigned op)
{
    static const struct {
        uint8_t op;
        const char *text;
    } signs[] = {
        {TILE_ADD, "+"},         {TILE_SUB, "-"},           {TILE_MUL, "*"},
        {TILE_DIV, "/"},         {TILE_EQ, "=="},           {TILE_NE, "!="},
        {TILE_LT, "<"},          {TILE_LE, "<="},           {TILE_GT, ">"},
        {TILE_GE, ">="},         {TILE_INPUT, "parameter"}, {TILE_SCALAR, "scalar"},
        {TILE_NUMBER, "number"}, {TILE_INDEX, "index"},     {TILE_CAST, "cast"},
        {TILE_CARRY, "carry"},   {TILE_LAST, "carry"}};

    for (unsigned i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
        if (signs[i].op == op) {
            return signs[i].text;
        }
    }
    return tile_op_info[op].name;
}

/* --- the schedule --- */

const struct tile_choice *tile_chosen(const struct tile_kernel *k,
                                      enum tile_choice_kind kind, uint8_t dim)
{
    for (unsigned i = 0; i < k->n_choices; i++) {
        if (k->choice[i].kind == kind &&
            (dim == TILE_NO_DIM || k->choice[i].dim == dim)) {
            return &k->choice[i];
        }
    }
    return NULL;
}

void tile_choose(struct tile_kernel *k, const struct tile_choice *choice)
{
    struct tile_choice *c = &k->choice[k->n_choices];
    bool by_dim = choice->kind == TILE_CHOICE_TILE,
         by_value = choice->kind == TILE_CHOICE_KEEP,
         many = choice->kind == TILE_CHOICE_LAYOUT;

    if (tile_failed(k)) {
        return;
    }
    for (unsigned i = 0; i < k->n_choices; i++) {
        const struct tile_choice *o = &k->choice[i];
        if (o->kind == choice->kind && !many && (!by_dim || o->dim == choice->dim) &&
            (!by_value || o->value == choice->value)) {
            tile_fail(k, "the schedule says this twice");
            return;
        }
    }
    if (k->n_choices == TILE_CHOICES) {
        tile_fail(k, "more than %d choices in a schedule", TILE_CHOICES);
        return;
    }
    *c = *choice;
    c->line = k->line;
    c->column = k->column;
    c->word = choice->word ? tile_copy_text(k, choice->word) : NULL;
    k->exact = k->exact || c->kind == TILE_CHOICE_EXACT;
    k->n_choices++;
}
