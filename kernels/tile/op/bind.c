/* SPDX-License-Identifier: MIT
 *
 * What a program leaves open, from the operands of a call; see tile_op.h. The dimensions of
 * `...` count from the last one on, as NumPy broadcasts them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/lib/ascii.h"
#include "kernels/tile/op/tile_op.h"

static struct tile_program *program_of(const struct op_call *call)
{
    return (struct tile_program *)(uintptr_t)call->op; /* its first member */
}

static const struct tile_args *args_of(const struct op_call *call)
{
    return (const struct tile_args *)call->args;
}

unsigned tile_operands(const struct op_call *call, const struct tensor **in)
{
    unsigned n = 0;

    for (unsigned i = 0; i < TILE_PARAMS; i++) {
        if (call->in[i].data) {
            in[n++] = &call->in[i];
        }
    }
    return n;
}

/* --- axes --- */

/* An axis, from -ndim on; or a line on stderr. */
static bool find_axis(const struct op_call *call, long axis, unsigned ndim, unsigned *at)
{
    if (axis < -(long)ndim || axis >= (long)ndim) {
        fprintf(stderr, "%s: no axis %ld: there are %u dimensions\n", call->op->name,
                axis, ndim);
        return false;
    }
    *at = (unsigned)(axis < 0 ? axis + (long)ndim : axis);
    return true;
}

/* Which of so many dimensions --axes names; ERR_ARG after one line on stderr. */
static int find_axes(const struct op_call *call, unsigned ndim, bool *named)
{
    const char *text = args_of(call)->axes, *at = text;

    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        named[d] = text == NULL;
    }
    while (at) {
        char *end;
        long axis = strtol(at, &end, 10);
        unsigned d;
        if (end == at || (*end != '\0' && *end != ',') || *at == ' ' || *at == '+') {
            fprintf(stderr, "%s: --axes %s: want numbers with commas between\n",
                    call->op->name, text);
            return ERR_ARG;
        }
        if (!find_axis(call, axis, ndim, &d)) {
            return ERR_ARG;
        }
        if (named[d]) {
            fprintf(stderr, "%s: --axes %s: axis %u twice\n", call->op->name, text, d);
            return ERR_ARG;
        }
        named[d] = true;
        at = *end == ',' ? end + 1 : NULL;
    }
    return 0;
}

int tile_result_shape(const struct op_call *call, unsigned number, struct tensor *out)
{
    const struct tile_program *p = program_of(call);
    bool keep = args_of(call)->keepdims, reduced[NPY_MAX_DIMS];
    unsigned ndim = out->ndim;
    int err = find_axes(call, ndim, reduced);

    if (err || !p->open.tensor[TILE_PARAMS + number].rest) {
        return err;
    }
    out->ndim = 0;
    for (unsigned d = 0; d < ndim; d++) {
        if (!reduced[d] || keep) {
            out->shape[out->ndim++] = reduced[d] ? 1 : out->shape[d];
        }
    }
    return 0;
}

/* --- what windows make --- */

int tile_conv_shape(const struct op_call *call, unsigned number, struct tensor *out)
{
    struct tile_program *p = program_of(call);
    struct tile_kernel *k = malloc(sizeof(*k));
    int err = k ? 0 : ERR_NOMEM;

    if (k) {
        *k = *p->k; /* whose sizes are open */
    }
    for (unsigned i = 0; !err && i < k->n_params; i++) {
        for (unsigned d = 0; d < k->param[i].rank && d < call->in[i].ndim && !err; d++) {
            err = tile_set_size(k, k->param[i].dim[d], call->in[i].shape[d]);
        }
    }
    if (!err) {
        const struct tile_tensor *t = &k->result[number].tensor;
        out->ndim = t->rank;
        for (unsigned d = 0; d < t->rank; d++) {
            out->shape[d] = k->dim[t->dim[d]].size;
        }
    } else if (k) {
        tile_refuse(p, &k->error, err);
    }
    free(k);
    return err;
}

/* --- dimensions of `...` --- */

/* What is known of the operands of a call. */
struct shapes {
    struct tile_program *p;
    const struct op_call *call;
    unsigned ndim; /* of what they are broadcast to */
    unsigned axis; /* of n in [..., n, ...] */
    bool reduced[NPY_MAX_DIMS];
};

static bool has_pack(const struct shapes *s, unsigned i)
{
    return s->p->open.tensor[i].before && s->call->in[i].data;
}

/* Size of dimension d of `...` in an operand, which may have fewer: then 1. */
static uint64_t size_in(const struct shapes *s, unsigned i, unsigned d)
{
    const struct tensor *t = &s->call->in[i];
    unsigned less = s->ndim - (t->ndim - s->p->named[i]);

    if (d < less) {
        return 1;
    }
    return t->shape[d - less + (s->p->open.axis && d >= s->axis)];
}

/* One more dimension, or more of the last one. */
static void add_dim(const struct shapes *s, uint64_t size, uint16_t params, bool reduced,
                    bool behind)
{
    struct tile_binding *b = &s->p->binding;

    if (b->n != 0 && b->dim[b->n - 1].params == params &&
        b->dim[b->n - 1].reduced == reduced && b->dim[b->n - 1].behind == behind &&
        b->dim[b->n - 1].size * size <= INT32_MAX) {
        b->dim[b->n - 1].size *= size;
        return;
    }
    b->dim[b->n].size = size;
    b->dim[b->n].params = params;
    b->dim[b->n].reduced = reduced;
    b->dim[b->n].behind = behind;
    snprintf(b->dim[b->n].name, sizeof(b->dim[b->n].name), ".%u", b->n);
    b->n++;
}

static void find_dims(const struct shapes *s)
{
    struct tile_binding *b = &s->p->binding;
    bool reduces = false, names = false;
    uint16_t all = 0;

    b->n = 0;
    for (unsigned i = 0; i < TILE_PARAMS; i++) {
        all = (uint16_t)(all | has_pack(s, i) << i);
        names = names || s->p->named[i] != 0;
    }
    for (unsigned d = 0; d < s->ndim; d++) {
        uint64_t size = 1;
        uint16_t params = 0;
        for (unsigned i = 0; i < TILE_PARAMS; i++) {
            uint64_t own = has_pack(s, i) ? size_in(s, i, d) : 1;
            params = (uint16_t)(params | (own != 1) << i);
            size = own != 1 ? own : size;
        }
        if (size != 1) {
            bool reduced = s->p->open.axes && s->reduced[d];
            add_dim(s, size, params, reduced, s->p->open.axis && d >= s->axis);
            reduces = reduces || reduced;
        }
    }
    if ((s->p->open.axes && !reduces) || (b->n == 0 && !names)) {
        add_dim(s, 1, all, s->p->open.axes, false);
    }
}

/* Names of the dimensions that have all that is asked for, blanks between them. */
static const char *names(struct tile_binding *b, unsigned *used, uint16_t params,
                         bool before, bool behind, bool reduced, bool rest)
{
    char *text = b->text[(*used)++];

    text[0] = '\0';
    for (unsigned d = 0; d < b->n; d++) {
        if ((b->dim[d].params & params) != 0 && (b->dim[d].behind ? behind : before) &&
            (b->dim[d].reduced ? reduced : rest)) {
            strcat(text, text[0] != '\0' ? " " : "");
            strcat(text, b->dim[d].name);
        }
    }
    return text;
}

static void name_dims(const struct shapes *s)
{
    struct tile_binding *b = &s->p->binding;
    unsigned used = 0;

    for (unsigned i = 0; i < TILE_PARAMS; i++) {
        uint16_t param = (uint16_t)(1u << i);
        b->bound.absent[i] = s->call->in[i].data == NULL;
        b->bound.before[i] = names(b, &used, param, true, false, true, true);
        b->bound.behind[i] = names(b, &used, param, false, true, true, true);
    }
    b->bound.all_before = names(b, &used, UINT16_MAX, true, false, true, true);
    b->bound.all_behind = names(b, &used, UINT16_MAX, false, true, true, true);
    b->bound.axes = names(b, &used, UINT16_MAX, true, true, true, false);
    b->bound.rest = names(b, &used, UINT16_MAX, true, true, false, true);
    b->bound.sizes = b->sizes;
    for (unsigned d = 0; d < b->n; d++) {
        b->sizes[d] = b->dim[d].size;
    }
}

/* --- types --- */

/* The first row with the types of operands and results. */
static unsigned find_row(const struct tile_program *p, const struct op_call *call)
{
    const struct tile_open *open = &p->open;

    for (unsigned row = 0; row < open->n_rows; row++) {
        bool same = true;
        for (unsigned i = 0; i < TILE_PARAMS + TILE_RESULTS; i++) {
            const struct tensor *t =
                i < TILE_PARAMS ? &call->in[i] : &call->out[i - TILE_PARAMS];
            unsigned var = open->tensor[i].var;
            same = same && (var == TILE_NO_VAR || t->data == NULL ||
                            (open->row[row][var - 1].type == t->type &&
                             open->row[row][var - 1].boolean == t->boolean));
        }
        if (same) {
            return row;
        }
    }
    return 0;
}

/* --- the whole --- */

static uint64_t size_of(const struct tile_binding *b, const char *name)
{
    unsigned d = 0;

    while (strcmp(b->dim[d].name, name) != 0) {
        d++;
    }
    return b->dim[d].size;
}

/* Sizes of the dimensions of parameter j, which is operand i. */
static int set_sizes(const struct shapes *s, unsigned j, unsigned i)
{
    struct tile_kernel *k = s->p->k;
    const struct tensor *t = &s->call->in[i];
    unsigned at = has_pack(s, i) && s->p->open.axis ? s->axis : t->ndim - s->p->named[i];

    for (unsigned d = 0; d < k->param[j].rank; d++) {
        uint8_t dim = k->param[j].dim[d];
        const char *name = k->dim[dim].name;
        uint64_t size = name[0] == '.' ? size_of(&s->p->binding, name) : t->shape[at++];
        if (tile_set_size(k, dim, size) != 0) {
            return tile_refuse(s->p, &k->error, ERR_SHAPE);
        }
    }
    return 0;
}

/* How many dimensions there are, and which are meant. */
static int find_shapes(struct shapes *s)
{
    for (unsigned i = 0; i < TILE_PARAMS; i++) {
        unsigned ndim = s->call->in[i].ndim - s->p->named[i];
        s->ndim = has_pack(s, i) && ndim > s->ndim ? ndim : s->ndim;
    }
    if (s->p->open.axis &&
        !find_axis(s->call, args_of(s->call)->axis, s->ndim + 1, &s->axis)) {
        return ERR_ARG;
    }
    return s->p->open.axes ? find_axes(s->call, s->ndim, s->reduced) : 0;
}

int tile_bind(struct tile_program *p, const struct op_call *call)
{
    struct shapes s = {.p = p, .call = call};
    struct tile_error error;
    int err = find_shapes(&s);

    if (err) {
        return err;
    }
    find_dims(&s);
    name_dims(&s);
    p->binding.bound.row = find_row(p, call);
    p->arena.used = p->described;
    p->k = tile_parse_open(&p->arena, p->text, p->bytes, p->kernel, &p->open,
                           &p->binding.bound, &error);
    if (p->k == NULL) {
        return tile_refuse(p, &error, ERR_ARG);
    }
    p->k->file = p->path;
    p->op.cost = 0;
    for (unsigned i = 0, j = 0; i < p->open.n_params && !err; i++) {
        err = call->in[i].data ? set_sizes(&s, j++, i) : 0;
    }
    return err;
}
