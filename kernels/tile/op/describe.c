/* SPDX-License-Identifier: MIT
 *
 * The description of a tile program; see tile_op.h. It is made of the program as it is
 * without operands: what it leaves open is in the shape rule, the types and options.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cli/line.h"
#include "kernels/tile/op/tile_op.h"

_Static_assert((int)TILE_PARAMS <= (int)OP_IN && (int)TILE_RESULTS <= (int)OP_OUT &&
                   (int)TILE_DIMS <= (int)IO_DIMS && TILE_RANK <= NPY_MAX_DIMS &&
                   (int)TILE_NAME_BYTES <= (int)IO_NAME &&
                   (int)TILE_ROWS <= (int)IO_ROWS &&
                   sizeof(struct tile_args) <= OP_ARGS_BYTES,
               "a program may have more than an operator");

/* Those that each has, and those of what it leaves open. */
static const struct option own[] = {
    TEXT(struct tile_args, kernel, NULL, "which kernel of the file"),
    FLAG(struct tile_args, explain, "tell the plan: layout, memory, limits, what lost"),
    FLAG(struct tile_args, interpret, "results by the interpreter, without engines"),
    CHOICE(struct tile_args, path, "ub|gm",
           "of sums to the Vector: from L0C, or through GM"),
    SIGNED(struct tile_args, axis, -1, -NPY_MAX_DIMS, NPY_MAX_DIMS - 1, "of the operand"),
    TEXT(struct tile_args, axes, NULL, "such as 0,2; all, if it is not given"),
    FLAG(struct tile_args, keepdims, "a result has those axes, of size 1"),
};
enum { OWN = sizeof(own) / sizeof(own[0]) };

/* --- tensors --- */

static bool is_dim(const struct tile_program *p, const struct tile_tensor *t, unsigned d,
                   const char *name)
{
    return d < t->rank && strcmp(p->k->dim[t->dim[d]].name, name) == 0;
}

/* Whether another parameter tells the size of `[..., n, ...]`: then it need not be last. */
static bool is_told(const struct tile_program *p, const struct tile_open_tensor *open)
{
    bool told = false;

    for (unsigned i = 0; i < p->open.n_params && open->behind; i++) {
        told = told || (!p->open.tensor[i].before && p->k->param[i].rank == 1);
    }
    return told;
}

/* `x[...,n]` */
static void describe_tensor(struct tile_program *p, const struct tile_tensor *t,
                            const struct tile_open_tensor *open)
{
    char *io = p->io + strlen(p->io);
    unsigned rank = is_told(p, open) ? 1 : t->rank; /* the first one is `...` */

    io += sprintf(io, "%s%s[%s", t->name, open->optional ? "?" : "",
                  open->rest ? "..." : "");
    for (unsigned d = 0; d < rank; d++) {
        io += sprintf(io, "%s%s", d ? "," : "", p->k->dim[t->dim[d]].name);
    }
    strcpy(io, "] ");
}

/* Its type in a row of types. */
static void describe_type(struct tile_program *p, unsigned row,
                          const struct tile_tensor *t,
                          const struct tile_open_tensor *open)
{
    char *types = p->types + strlen(p->types), text[8];
    unsigned type = t->type, var = open->var;
    bool boolean = t->boolean;

    if (var != TILE_NO_VAR) {
        type = p->open.row[row][var - 1].type;
        boolean = p->open.row[row][var - 1].boolean;
    }
    sprintf(types, "%s ", boolean ? "bool" : tile_type_text(type, text));
}

static void describe_tensors(struct tile_program *p)
{
    const struct tile_kernel *k = p->k;
    unsigned n = k->n_params + k->n_results, rows = p->open.n_rows ? p->open.n_rows : 1;

    p->io[0] = p->types[0] = '\0';
    for (unsigned row = 0; row < rows; row++) {
        for (unsigned i = 0; i < n; i++) {
            bool in = i < k->n_params;
            const struct tile_tensor *t =
                in ? &k->param[i] : &k->result[i - k->n_params].tensor;
            const struct tile_open_tensor *open =
                &p->open.tensor[in ? i : TILE_PARAMS + i - k->n_params];
            if (row == 0) {
                strcat(p->io, i == k->n_params ? "-> " : "");
                describe_tensor(p, t, open);
            }
            strcat(p->types, i == k->n_params ? "-> " : "");
            describe_type(p, row, t, open);
        }
        strcpy(p->types + strlen(p->types) - 1, row + 1 < rows ? "; " : "");
    }
    p->io[strlen(p->io) - 1] = '\0';
    for (unsigned i = 0; i < k->n_params; i++) {
        const struct tile_tensor *t = &k->param[i];
        p->named[i] = (uint8_t)(t->rank - is_dim(p, t, 0, "..."));
    }
}

/* --- options --- */

/* Whether the program has this one of those that are not its scalars. */
static bool has(const struct tile_program *p, const struct option *o)
{
    bool rest = false, product = false;

    for (unsigned i = 0; i < TILE_RESULTS; i++) {
        rest = rest || p->open.tensor[TILE_PARAMS + i].rest;
    }
    for (tile_value v = 1; v <= p->k->n_nodes; v++) {
        product = product || p->k->node[v].op == TILE_DOT;
    }
    return o->offset == offsetof(struct tile_args, kernel) ? !p->built_in
           : o->offset == offsetof(struct tile_args, path) ? product && p->k->n_loops == 0
           : o->offset == offsetof(struct tile_args, axis) ? p->open.axis
           : o->offset == offsetof(struct tile_args, axes) ? p->open.axes
           : o->offset == offsetof(struct tile_args, keepdims) ? rest
                                                               : true;
}

/* Whether a name is one of the command line's options. */
static bool is_option(const struct tile_program *p, const char *name, unsigned line,
                      unsigned column)
{
    struct tile_error error = {.line = (uint16_t)line, .column = (uint16_t)column};
    bool found = false;

    for (const struct option *o = line_options; o->name; o++) {
        found = found || strcmp(o->name, name) == 0;
    }
    for (unsigned i = 0; i < OWN; i++) {
        found = found || (strcmp(own[i].name, name) == 0 && has(p, &own[i]));
    }
    if (found) {
        snprintf(error.text, sizeof(error.text),
                 "'%s' is an option of the command line: another name", name);
        (void)tile_refuse(p, &error, ERR_ARG);
    }
    return found;
}

static struct option describe_scalar(const struct tile_scalar *s, unsigned i)
{
    return (struct option){
        .name = s->name,
        .kind = OPTION_FLOAT,
        .offset = offsetof(struct tile_args, scalar) + i * sizeof(float),
        .first = s->given ? s->value : NAN,
        .min = -INFINITY,
        .max = INFINITY,
        .help = "of the program",
    };
}

static int describe_options(struct tile_program *p)
{
    const struct tile_kernel *k = p->k;
    unsigned n = 0;

    for (unsigned d = 0; d < k->n_dims; d++) {
        if (is_option(p, k->dim[d].name, 0, 0)) {
            return ERR_ARG;
        }
    }
    for (unsigned i = 0; i < OWN; i++) {
        if (has(p, &own[i])) {
            p->options[n++] = own[i];
        }
    }
    for (unsigned i = 0; i < k->n_scalars; i++) {
        if (is_option(p, k->scalar[i].name, k->scalar[i].line, k->scalar[i].column)) {
            return ERR_ARG;
        }
        p->options[n++] = describe_scalar(&k->scalar[i], i);
    }
    p->options[n] = (struct option){0};
    return 0;
}

int tile_describe(struct tile_program *p, const char *text, size_t bytes,
                  const char *kernel)
{
    struct tile_error error;

    p->text = text;
    p->bytes = bytes;
    p->kernel = kernel;
    p->k = tile_parse_open(&p->arena, text, bytes, kernel, &p->open, NULL, &error);
    if (p->k == NULL) {
        return tile_refuse(p, &error, ERR_ARG);
    }
    p->described = p->arena.used;
    describe_tensors(p);
    p->op = (struct opdesc){.name = p->k->name,
                            .summary = "a tile program",
                            .io = p->io,
                            .broadcast = p->open.pack && !p->open.axis,
                            .shape = p->open.axes    ? tile_result_shape
                                     : p->k->n_convs ? tile_conv_shape
                                                     : NULL,
                            .types = p->types,
                            .options = p->options,
                            .run = tile_op_run,
                            .prepare = tile_prepare,
                            .ref = tile_reference,
                            .tolerance = OP_BOUND,
                            .work = tile_op_work};
    return describe_options(p);
}
