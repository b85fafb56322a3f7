/* SPDX-License-Identifier: MIT
 *
 * Shape rules and types of operators; see io.h.
 */
#include "kernels/cli/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/lib/ascii.h"

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
    while (is_letter(**at) || is_digit(**at) || **at == '_') {
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
    o->any = take(at, "*");
    io->any = io->any || o->any;
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

unsigned io_type(const char *name)
{
    for (unsigned t = TYPE_NONE + 1; t < TYPE_COUNT; t++) {
        const char *known = type_name(t);
        size_t i = 0;
        while (name[i] != '\0' && name[i] == lower(known[i])) {
            i++;
        }
        if ((name[i] == '\0' || name[i] == ',') && known[i] == '\0') {
            return t;
        }
    }
    return strcmp(name, "bool") == 0 ? (unsigned)IO_BOOL : TYPE_NONE;
}

static bool take_row(const char **at, struct io *io, uint8_t *row)
{
    for (unsigned i = 0; i < io->n_in + io->n_out; i++) {
        char name[IO_NAME];
        if ((i == io->n_in) != take(at, "->") || !take_name(at, name)) {
            return false;
        }
        row[i] = (uint8_t)io_type(name);
        if (row[i] == TYPE_NONE) {
            return false;
        }
    }
    return true;
}

/* Made-up data wants an option for `...` too: it is of one dimension then, --n or --m if
 * that is no other. */
static void name_pack(struct io *io)
{
    bool n = false, m = false;
    const char *name;

    for (unsigned i = 0; i < io->n_dims; i++) {
        n = n || strcmp(io->dim[i], "n") == 0;
        m = m || strcmp(io->dim[i], "m") == 0;
    }
    name = !n ? "n" : !m ? "m" : "batch";
    if (io->pack != IO_DIMS) {
        strcpy(io->dim[io->pack], name);
    }
}

bool io_parse(const struct opdesc *op, struct io *io)
{
    const char *at = op->io;

    *io = (struct io){.pack = IO_DIMS, .broadcast = op->broadcast};
    while (!take(&at, "->")) {
        if (io->n_in == OP_IN || !take_operand(&at, io, &io->operand[io->n_in++])) {
            return false;
        }
    }
    io->n_known = io->n_dims;
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
    return *at == '\0' && ((io->n_dims == io->n_known && !io->any) || op->shape);
}

/* --- types --- */

io_rows io_rows_with(const struct io *io, io_rows rows, unsigned i, unsigned type)
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
        const char *name = type == IO_BOOL ? "bool"
                           : people        ? npy_type_name(data_npy_type((enum type)type))
                                           : type_name(type);
        if ((rows >> row & 1) == 0 || (told >> type & 1) != 0) {
            continue;
        }
        fputs(told ? " or " : "", to);
        told |= 1u << type;
        for (; *name != '\0'; name++) {
            fputc(lower(*name), to);
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

/* An operand whose sizes are noted. */
struct note {
    const char *who;
    const struct io *io;
    struct io_sizes *s;
    unsigned i;
    const struct tensor *t;
};

/* `b.npy: b is (5, 7)`, and the rest follows. */
static int refuse(const struct note *n)
{
    fprintf(stderr, "%s: %s: %s is ", n->who, n->t->path, n->io->operand[n->i].name);
    io_print_shape(stderr, n->t->ndim, n->t->shape);
    return ERR_SHAPE;
}

/* What `...` is so far and the first `ndim` dimensions, one beside the other from the last
 * on, where a 1 becomes what the other is; false: they do not fit. */
static bool broadcast(struct io_sizes *s, const uint64_t *shape, unsigned ndim)
{
    unsigned more = ndim > s->pack_ndim ? ndim - s->pack_ndim : 0;
    uint64_t *pack = s->pack;

    memmove(pack + more, pack, s->pack_ndim * sizeof(*pack));
    memcpy(pack, shape, more * sizeof(*pack));
    s->pack_ndim += more;
    for (unsigned i = more, less = s->pack_ndim - ndim; i < ndim; i++) {
        uint64_t *both = &pack[less + i];
        if (*both != shape[i] && *both != 1 && shape[i] != 1) {
            return false;
        }
        *both = *both == 1 ? shape[i] : *both;
    }
    return true;
}

/* The first `ndim` dimensions are what `...` stands for. */
static int note_pack(const struct note *n, unsigned ndim)
{
    struct io_sizes *s = n->s;
    const struct tensor *t = n->t;
    struct io_sizes before = *s;

    if (s->pack_known && !n->io->broadcast
            ? s->pack_ndim != ndim ||
                  memcmp(s->pack, t->shape, ndim * sizeof(*s->pack)) != 0
            : !broadcast(s, t->shape, ndim)) {
        refuse(n);
        fputs(", but ", stderr);
        fputs(n->io->n_known > 1 ? "... is " : "the shape is ", stderr);
        io_print_shape(stderr, before.pack_ndim, before.pack);
        fprintf(stderr, " by %s\n", s->by[n->io->pack]);
        return ERR_SHAPE;
    }
    s->pack_known = true;
    s->by[n->io->pack] = t->path;
    return 0;
}

uint32_t io_fixed(const struct io *io, unsigned dim)
{
    uint32_t size = 0;

    for (const char *c = io->dim[dim]; is_digit(*c); c++) {
        size = size * 10 + (uint32_t)(*c - '0');
    }
    return size;
}

static int note_dim(const struct note *n, unsigned dim, uint64_t size)
{
    struct io_sizes *s = n->s;

    if (size > INT32_MAX) {
        refuse(n);
        fprintf(stderr, ": %s is larger than %ld\n", n->io->dim[dim], (long)INT32_MAX);
        return ERR_SHAPE;
    }
    if (io_fixed(n->io, dim) != 0 && io_fixed(n->io, dim) != size) {
        refuse(n);
        fprintf(stderr, ", want %s for %llu\n", n->io->dim[dim],
                (unsigned long long)size);
        return ERR_SHAPE;
    }
    if (s->size[dim] != 0 && s->size[dim] != size) {
        refuse(n);
        fprintf(stderr, ", but %s is %llu by %s\n", n->io->dim[dim],
                (unsigned long long)s->size[dim], s->by[dim]);
        return ERR_SHAPE;
    }
    s->size[dim] = size;
    s->by[dim] = s->by[dim] ? s->by[dim] : n->t->path;
    return 0;
}

int io_note(const char *who, const struct io *io, struct io_sizes *s, unsigned i,
            const struct tensor *t)
{
    const struct note n = {who, io, s, i, t};
    const struct io_operand *o = &io->operand[i];
    bool packed = o->n_dims != 0 && o->dim[0] == io->pack;
    unsigned named = o->n_dims - packed;

    if (!o->any && (packed ? t->ndim < named : t->ndim != named)) {
        refuse(&n);
        fprintf(stderr, ", want (");
        for (unsigned d = 0; d < o->n_dims; d++) {
            fprintf(stderr, "%s%s", d ? ", " : "",
                    o->dim[d] == io->pack ? "..." : io->dim[o->dim[d]]);
        }
        fputs(o->n_dims == 1 && !packed ? ",)\n" : ")\n", stderr);
        return ERR_SHAPE;
    }
    if (t->count == 0) {
        refuse(&n);
        fprintf(stderr, ", which is no elements\n");
        return ERR_SHAPE;
    }
    for (unsigned d = 0; d < named; d++) {
        int err = note_dim(&n, o->dim[d + packed], t->shape[t->ndim - named + d]);
        if (err) {
            return err;
        }
    }
    return packed ? note_pack(&n, t->ndim - named) : 0;
}

static int too_many_dims(const char *who, const char *name, unsigned ndim)
{
    fprintf(stderr, "%s: %s would have %u dimensions; %d are the most\n", who, name, ndim,
            NPY_MAX_DIMS);
    return ERR_SHAPE;
}

int io_count(const char *who, const struct io *io, unsigned i, struct tensor *t)
{
    if (t->ndim > NPY_MAX_DIMS) {
        return too_many_dims(who, io->operand[i].name, t->ndim);
    }
    t->count = 1;
    for (unsigned d = 0; d < t->ndim; d++) {
        if (t->shape[d] == 0) {
            fprintf(stderr, "%s: %s would be ", who, io->operand[i].name);
            io_print_shape(stderr, t->ndim, t->shape);
            fputs(", which is no elements\n", stderr);
            return ERR_SHAPE;
        }
        if (__builtin_mul_overflow(t->count, t->shape[d], &t->count)) {
            t->count = UINT64_MAX; /* nobody has memory for it */
            break;
        }
    }
    return 0;
}

int io_shape(const char *who, const struct io *io, const struct io_sizes *s, unsigned i,
             struct tensor *t)
{
    const struct io_operand *o = &io->operand[i];
    bool packed = o->n_dims != 0 && o->dim[0] == io->pack;
    unsigned ndim = o->n_dims - packed + (packed ? s->pack_ndim : 0);

    if (ndim > NPY_MAX_DIMS) {
        return too_many_dims(who, o->name, ndim);
    }
    t->ndim = 0;
    for (unsigned d = 0; d < o->n_dims; d++) {
        unsigned n = o->dim[d] == io->pack ? s->pack_ndim : 1;
        const uint64_t *size = o->dim[d] == io->pack ? s->pack : &s->size[o->dim[d]];
        for (unsigned j = 0; j < n; j++) {
            t->shape[t->ndim++] = size[j];
        }
    }
    return 0;
}

int io_take_shapes(const char *who, const struct io *io, const char *text,
                   struct tensor *t, struct io_sizes *sizes)
{
    const char *at = text;
    unsigned n = 0;
    int err = 0;

    do {
        for (; is_digit(*at) && t[n].ndim < NPY_MAX_DIMS; at += *at == 'x') {
            t[n].shape[t[n].ndim++] = strtoull(at, (char **)(uintptr_t)&at, 10);
        }
        t[n].path = "--shapes";
        err = io_count(who, io, n, &t[n]);
        err = err ? err : io_note(who, io, sizes, n, &t[n]);
        n++;
    } while (!err && n < io->n_in && *at == ',' && at++);
    return err                                                         ? err
           : *at == '\0' && (n == io->n_in || io->operand[n].optional) ? 0
                                                                       : ERR_FORMAT;
}
