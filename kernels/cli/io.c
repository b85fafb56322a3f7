/* SPDX-License-Identifier: MIT
 *
 * Shape rules and types of operators; see io.h.
 */
#include "kernels/cli/io.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cli/data.h"

/* --- reading a description --- */

static void skip_blanks(const char **at)
{
    while (**at == ' ') {
        (*at)++;
    }
}

static bool take(const char **at, const char *what)
{
    skip_blanks(at);
    if (strncmp(*at, what, strlen(what)) != 0) {
        return false;
    }
    *at += strlen(what);
    return true;
}

static bool take_name(const char **at, char *name)
{
    size_t n = 0;

    skip_blanks(at);
    while (isalnum((unsigned char)**at) || **at == '_') {
        if (n == IO_NAME - 1) {
            return false;
        }
        name[n++] = *(*at)++;
    }
    name[n] = '\0';
    return n != 0;
}

/* The number of a dimension, new or not. */
static bool take_dim(const char **at, struct io *io, uint8_t *number)
{
    char name[IO_NAME] = "...";
    unsigned i = 0;

    if (!take(at, "...") && !take_name(at, name)) {
        return false;
    }
    while (i < io->n_dims && strcmp(io->dim[i], name) != 0) {
        i++;
    }
    if (i == IO_DIMS) {
        return false;
    }
    if (i == io->n_dims) {
        memcpy(io->dim[io->n_dims++], name, sizeof(name));
    }
    io->pack = name[0] == '.' ? i : io->pack;
    *number = (uint8_t)i;
    return true;
}

static bool take_operand(const char **at, struct io *io, struct io_operand *o)
{
    if (!take_name(at, o->name)) {
        return false;
    }
    o->optional = take(at, "?");
    if (!take(at, "[")) {
        return false;
    }
    while (!take(at, "]")) {
        unsigned i = o->n_dims++;
        if (i == NPY_MAX_DIMS || !take_dim(at, io, &o->dim[i]) ||
            (i != 0 && o->dim[i] == io->pack)) { /* it is the first, if any */
            return false;
        }
        take(at, ",");
    }
    return true;
}

enum type io_type(const char *name, size_t len)
{
    for (unsigned t = TYPE_NONE + 1; t < TYPE_COUNT; t++) {
        const char *known = type_name(t);
        size_t i = 0;
        while (i < len && name[i] == (char)tolower((unsigned char)known[i])) {
            i++;
        }
        if (i == len && known[i] == '\0') {
            return (enum type)t;
        }
    }
    return TYPE_NONE;
}

static bool take_row(const char **at, struct io *io, uint8_t *row)
{
    for (unsigned i = 0; i < io->n_in + io->n_out; i++) {
        char name[IO_NAME];
        if ((i == io->n_in) != take(at, "->") || !take_name(at, name)) {
            return false;
        }
        row[i] = (uint8_t)io_type(name, strlen(name));
        if (row[i] == TYPE_NONE) {
            return false;
        }
    }
    return true;
}

/* Made-up data wants an option for `...` too: it is of one dimension then, --n if that is
 * no other. */
static void name_pack(struct io *io)
{
    const char *name = "n";

    for (unsigned i = 0; i < io->n_dims; i++) {
        name = strcmp(io->dim[i], "n") == 0 ? "batch" : name;
    }
    if (io->pack != IO_DIMS) {
        strcpy(io->dim[io->pack], name);
    }
}

bool io_parse(const struct opdesc *op, struct io *io)
{
    const char *at = op->io;

    *io = (struct io){.pack = IO_DIMS};
    while (!take(&at, "->")) {
        if (io->n_in == OP_IN || !take_operand(&at, io, &io->operand[io->n_in++])) {
            return false;
        }
    }
    do {
        unsigned i = io->n_in + io->n_out;
        if (io->n_out++ == OP_OUT || !take_operand(&at, io, &io->operand[i])) {
            return false;
        }
        skip_blanks(&at);
    } while (*at != '\0');
    at = op->types;
    do {
        if (io->n_rows == IO_ROWS || !take_row(&at, io, io->type[io->n_rows++])) {
            return false;
        }
    } while (take(&at, ";"));
    name_pack(io);
    return *at == '\0';
}

/* --- types --- */

io_rows io_rows_with(const struct io *io, io_rows rows, unsigned i, enum type type)
{
    for (unsigned row = 0; row < io->n_rows; row++) {
        rows &= ~((io_rows)(io->type[row][i] != type) << row);
    }
    return rows;
}

void io_print_types(FILE *to, const struct io *io, io_rows rows, unsigned i, bool people)
{
    uint32_t told = 0;

    for (unsigned row = 0; row < io->n_rows; row++) {
        unsigned type = io->type[row][i];
        if ((rows >> row & 1) == 0 || (told >> type & 1) != 0) {
            continue;
        }
        fputs(told ? " or " : "", to);
        told |= 1u << type;
        if (people) {
            fputs(npy_type_name(data_npy_type((enum type)type)), to);
            continue;
        }
        for (const char *c = type_name(type); *c != '\0'; c++) {
            fputc(tolower((unsigned char)*c), to);
        }
    }
}

/* --- shapes --- */

void io_print_shape(FILE *to, unsigned ndim, const uint64_t *shape)
{
    fputc('(', to);
    for (unsigned i = 0; i < ndim; i++) {
        fprintf(to, "%s%llu", i ? ", " : "", (unsigned long long)shape[i]);
    }
    fputs(ndim == 1 ? ",)" : ")", to);
}

/* `b.npy: b is (5, 7)`, and the rest follows. */
static int refuse(const char *who, const struct io *io, unsigned i,
                  const struct tensor *t)
{
    fprintf(stderr, "%s: %s: %s is ", who, t->path, io->operand[i].name);
    io_print_shape(stderr, t->ndim, t->shape);
    return ERR_SHAPE;
}

static int note_pack(const char *who, const struct io *io, struct io_sizes *s, unsigned i,
                     const struct tensor *t, unsigned n)
{
    if (s->pack_known &&
        (s->pack_ndim != n || memcmp(s->pack, t->shape, n * sizeof(*s->pack)) != 0)) {
        refuse(who, io, i, t);
        fputs(", but ", stderr);
        fputs(io->n_dims > 1 ? "... is " : "the shape is ", stderr);
        io_print_shape(stderr, s->pack_ndim, s->pack);
        fprintf(stderr, " by %s\n", s->by[io->pack]);
        return ERR_SHAPE;
    }
    if (!s->pack_known) {
        memcpy(s->pack, t->shape, n * sizeof(*s->pack));
        s->pack_ndim = n;
        s->pack_known = true;
        s->by[io->pack] = t->path;
    }
    return 0;
}

static int note_dim(const char *who, const struct io *io, struct io_sizes *s, unsigned i,
                    const struct tensor *t, unsigned dim, uint64_t size)
{
    if (size > INT32_MAX) {
        refuse(who, io, i, t);
        fprintf(stderr, ": %s is larger than %ld\n", io->dim[dim], (long)INT32_MAX);
        return ERR_SHAPE;
    }
    if (s->size[dim] != 0 && s->size[dim] != size) {
        refuse(who, io, i, t);
        fprintf(stderr, ", but %s is %llu by %s\n", io->dim[dim],
                (unsigned long long)s->size[dim], s->by[dim]);
        return ERR_SHAPE;
    }
    s->size[dim] = size;
    s->by[dim] = s->by[dim] ? s->by[dim] : t->path;
    return 0;
}

int io_note(const char *who, const struct io *io, struct io_sizes *s, unsigned i,
            const struct tensor *t)
{
    const struct io_operand *o = &io->operand[i];
    bool packed = o->n_dims != 0 && o->dim[0] == io->pack;
    unsigned named = o->n_dims - packed;

    if (packed ? t->ndim < named : t->ndim != named) {
        refuse(who, io, i, t);
        fprintf(stderr, ", want (");
        for (unsigned d = 0; d < o->n_dims; d++) {
            fprintf(stderr, "%s%s", d ? ", " : "",
                    o->dim[d] == io->pack ? "..." : io->dim[o->dim[d]]);
        }
        fputs(o->n_dims == 1 && !packed ? ",)\n" : ")\n", stderr);
        return ERR_SHAPE;
    }
    if (t->count == 0) {
        refuse(who, io, i, t);
        fprintf(stderr, ", which is no elements\n");
        return ERR_SHAPE;
    }
    for (unsigned d = 0; d < named; d++) {
        int err =
            note_dim(who, io, s, i, t, o->dim[d + packed], t->shape[t->ndim - named + d]);
        if (err) {
            return err;
        }
    }
    return packed ? note_pack(who, io, s, i, t, t->ndim - named) : 0;
}

void io_shape(const struct io *io, const struct io_sizes *s, unsigned i, struct tensor *t)
{
    const struct io_operand *o = &io->operand[i];

    t->ndim = 0;
    t->count = 1;
    for (unsigned d = 0; d < o->n_dims; d++) {
        unsigned n = o->dim[d] == io->pack ? s->pack_ndim : 1;
        const uint64_t *size = o->dim[d] == io->pack ? s->pack : &s->size[o->dim[d]];
        for (unsigned j = 0; j < n; j++) {
            t->shape[t->ndim++] = size[j];
            if (__builtin_mul_overflow(t->count, size[j], &t->count)) {
                t->count = UINT64_MAX; /* nobody has memory for it */
                return;
            }
        }
    }
}
