/* SPDX-License-Identifier: MIT
 *
 * Stages of a program that is cut, node by node; see draft.h.
 */
#include "kernels/tile/cut/draft.h"

#include <stdio.h>
#include <string.h>

#include "kernels/tile/ir/build.h"
#include "kernels/tile/ir/size.h"

enum { SCRATCH_ALIGN = 512 };

bool cutting_begin(struct cutting *c, struct cut *cut, const struct tile_kernel *k,
                   uint32_t tensors, struct tile_arena *arena)
{
    int n;

    *cut = (struct cut){0};
    *c = (struct cutting){.cut = cut, .from = k, .arena = arena, .dim = TILE_NO_DIM};
    n = tile_dims_order(k, tensors, c->order);
    c->n_order = n < 0 ? 0 : (unsigned)n;
    for (unsigned i = 0; i < k->n_dims; i++) { /* those of one element: anywhere */
        if (k->dim[i].size == 1) {
            c->order[c->n_order++] = (uint8_t)i;
        }
    }
    cut_live(k, c->live);
    return n >= 0 && k->n_loops == 0;
}

uint64_t cutting_room(struct cutting *c, uint64_t bytes)
{
    uint64_t at = c->cut->scratch;

    c->cut->scratch += round_up(bytes, SCRATCH_ALIGN);
    return at;
}

/* --- a stage --- */

struct draft *draft_begin(struct cutting *c, const char *what,
                          const struct segment *segment)
{
    struct draft *d = tile_alloc(c->arena, sizeof(*d));
    char name[TILE_NAME_BYTES + 16];

    snprintf(name, sizeof(name), "%s.%.31s", what, c->from->name);
    if (d) {
        d->k = tile_begin(c->arena, name);
    }
    if (d == NULL || d->k == NULL) {
        c->failed = true;
        return NULL;
    }
    d->c = c;
    d->segment = segment;
    d->stage.k = d->k;
    d->k->is_stage = true;
    d->k->file = c->from->file;
    d->k->arith = c->from->arith;
    d->k->exact = c->from->exact;
    d->k->n_scalars = c->from->n_scalars;
    memcpy(d->k->scalar, c->from->scalar, sizeof(d->k->scalar));
    return d;
}

void draft_end(struct draft *d)
{
    struct cutting *c = d->c;

    if (tile_failed(d->k) || (d->k->n_results && c->cut->n == CUT_STAGES)) {
        c->failed = true;
    } else if (d->k->n_results) {
        c->cut->stage[c->cut->n++] = d->stage;
    }
}

/* --- dimensions --- */

static uint8_t new_dim(struct draft *d, const char *what, const char *name, uint32_t size)
{
    char text[2 * TILE_NAME_BYTES];
    uint8_t dim;

    snprintf(text, sizeof(text), "%s%s", what, name);
    dim = tile_dim(d->k, text);
    if (dim != TILE_NO_DIM && tile_set_size(d->k, dim, size) != 0) {
        dim = TILE_NO_DIM;
    }
    return dim == TILE_NO_DIM ? 0 : dim;
}

static bool is_cut(const struct draft *d, unsigned dim)
{
    return d->segment && dim == d->c->dim;
}

static uint8_t same_dim(struct draft *d, unsigned dim)
{
    const struct tile_dim *from = &d->c->from->dim[dim];

    return new_dim(d, "", from->name, from->size);
}

uint8_t draft_within(struct draft *d)
{
    return d->segment
               ? new_dim(d, "part.", d->c->from->dim[d->c->dim].name, d->segment->size)
               : same_dim(d, d->c->dim);
}

uint8_t draft_pieces(struct draft *d, const struct segment *s)
{
    return new_dim(d, s->start ? "rest." : "parts.", d->c->from->dim[d->c->dim].name,
                   s->pieces);
}

static tile_dims map_dims(struct draft *d, tile_dims dims)
{
    tile_dims to = 0;

    for (unsigned i = 0; i < d->c->from->n_dims; i++) {
        if (dims >> i & 1 && is_cut(d, i)) {
            to |= (tile_dims)(1u << draft_within(d));
            to |= (tile_dims)(1u << draft_pieces(d, d->segment));
        } else if (dims >> i & 1) {
            to |= (tile_dims)(1u << same_dim(d, i));
        }
    }
    return to;
}

static void add_dim(struct draft *d, struct tile_tensor *t, uint8_t dim)
{
    if (t->rank == TILE_RANK) {
        tile_fail(d->k, "more than %d dimensions", TILE_RANK);
    } else {
        t->dim[t->rank++] = dim;
    }
}

struct tile_tensor draft_view(struct draft *d, const struct tile_tensor *t,
                              uint64_t *elements)
{
    struct tile_tensor to = {.type = t->type,
                             .row = t->row,
                             .apart = t->apart,
                             .line = t->line,
                             .column = t->column};
    const struct tile_dim *dim = d->c->from->dim;

    *elements = 0;
    for (unsigned i = 0; i < t->rank; i++) {
        uint64_t inner = 1;
        if (!is_cut(d, t->dim[i])) {
            add_dim(d, &to, same_dim(d, t->dim[i]));
            continue;
        }
        for (unsigned j = i + 1; j < t->rank; j++) {
            inner *= dim[t->dim[j]].size;
        }
        *elements = d->segment->start * inner;
        if (t->apart) {
            tile_fail(d->k, "%s is a part already", t->name);
        }
        to.row = to.rank;
        to.apart = dim[t->dim[i]].size * inner;
        add_dim(d, &to, draft_pieces(d, d->segment));
        add_dim(d, &to, draft_within(d));
    }
    return to;
}

struct tile_tensor draft_scratch(struct draft *d, tile_dims dims, unsigned type,
                                 const struct segment *pieces)
{
    struct tile_tensor t = {.type = (uint8_t)type};

    for (unsigned i = 0; i < d->c->n_order; i++) {
        unsigned o = d->c->order[i];
        if (o == d->c->dim && pieces) {
            add_dim(d, &t, draft_pieces(d, pieces));
        } else if (dims >> o & 1) {
            add_dim(d, &t, same_dim(d, o));
        }
    }
    return t;
}

uint64_t draft_bytes(const struct draft *d, const struct tile_tensor *t)
{
    return tile_count(d->k, tile_tensor_dims(t)) * esize_of(t->type);
}

/* --- tensors --- */

/* A name that nothing in the stage has yet. */
static const char *free_name(struct draft *d, const char *name)
{
    char text[TILE_NAME_BYTES + 8];
    unsigned n = 0;

    snprintf(text, sizeof(text), "%s", name);
    while (tile_named(d->k, text) || tile_find_dim(d->k, text) != TILE_NO_DIM) {
        snprintf(text, sizeof(text), "%.28s.%u", name, ++n);
    }
    return tile_copy_text(d->k, text);
}

tile_value draft_input(struct draft *d, struct tile_tensor t, const char *name,
                       struct origin origin)
{
    struct tile_kernel *k = d->k;
    tile_value v;

    if (k->n_params == TILE_PARAMS) {
        return tile_fail(k, "more than %d tensors as parameters", TILE_PARAMS);
    }
    v = tile_add(k, (struct tile_node){.op = TILE_INPUT,
                                       .type = t.type,
                                       .dim = TILE_NO_DIM,
                                       .dims = tile_tensor_dims(&t),
                                       .index = k->n_params});
    t.name = free_name(d, name);
    if (v == 0 || !tile_add_name(k, t.name, 0, v)) {
        return 0;
    }
    d->stage.in[k->n_params] = origin;
    k->param[k->n_params++] = t;
    return v;
}

void draft_result(struct draft *d, struct tile_tensor t, const char *name,
                  tile_value value, struct origin origin)
{
    struct tile_kernel *k = d->k;

    if (draft_full(d)) {
        tile_fail(k, "more than %d results", TILE_RESULTS);
        return;
    }
    t.name = tile_copy_text(k, name);
    d->stage.out[k->n_results] = origin;
    k->result[k->n_results++] = (struct tile_result){
        .tensor = t, .scratch = origin.of == OF_SCRATCH, .value = value};
}

bool draft_full(const struct draft *d)
{
    return d->k->n_results == TILE_RESULTS;
}

/* --- values that a stage leaves for another --- */

/* A mask as numbers. */
static struct tile_tensor given_tensor(struct draft *d, tile_value v)
{
    const struct tile_node *n = &d->c->from->node[v];

    return draft_scratch(d, n->dims, n->type == TILE_MASK ? TYPE_F32 : n->type, NULL);
}

uint64_t cutting_given(struct cutting *c, tile_value v)
{
    const struct tile_node *n = &c->from->node[v];
    uint64_t bytes = tile_count(c->from, n->dims) * 4;

    for (unsigned i = 0; i < c->n_given; i++) {
        if (c->given[i].of == v) {
            return c->given[i].bytes;
        }
    }
    if (c->n_given == GIVEN) {
        c->failed = true;
        return 0;
    }
    c->given[c->n_given] = (struct given){v, cutting_room(c, bytes)};
    return c->given[c->n_given++].bytes;
}

tile_value draft_take(struct draft *d, tile_value v)
{
    struct origin at = {OF_SCRATCH, 0, cutting_given(d->c, v)};
    tile_value to = draft_input(d, given_tensor(d, v), tile_name_of(d->c->from, v), at);

    return d->c->from->node[v].type == TILE_MASK
               ? tile_map2(d->k, TILE_NE, to, tile_number(d->k, 0))
               : to;
}

void draft_leave(struct draft *d, tile_value v, uint64_t bytes)
{
    tile_value to = draft_node(d, v);

    if (d->c->from->node[v].type == TILE_MASK) {
        to = tile_cast(d->k, to, TYPE_F32);
    }
    draft_result(d, given_tensor(d, v), tile_name_of(d->c->from, v), to,
                 (struct origin){OF_SCRATCH, 0, bytes});
}

void draft_program_result(struct draft *d, unsigned r)
{
    const struct tile_result *result = &d->c->from->result[r];
    tile_value v = draft_node(d, result->value);
    uint64_t elements;
    struct tile_tensor t = draft_view(d, &result->tensor, &elements);

    draft_result(d, t, result->tensor.name, v,
                 (struct origin){OF_RESULT, (uint8_t)r, elements * esize_of(t.type)});
    if (!tile_failed(d->k)) {
        d->k->result[d->k->n_results - 1].adds = result->adds;
    }
}

/* --- nodes --- */

/* Where an element lies in a dimension that is cut. */
static tile_value cut_index(struct draft *d)
{
    struct tile_kernel *k = d->k;
    tile_value piece = tile_index(k, draft_pieces(d, d->segment));
    tile_value at = tile_map2(k, TILE_MUL, piece, tile_number(k, d->segment->size));

    at = tile_map2(k, TILE_ADD, at, tile_index(k, draft_within(d)));
    return d->segment->start
               ? tile_map2(k, TILE_ADD, at, tile_number(k, (double)d->segment->start))
               : at;
}

static tile_value copy_input(struct draft *d, const struct tile_node *n)
{
    const struct tile_tensor *t = &d->c->from->param[n->index];
    uint64_t elements;
    struct tile_tensor to = draft_view(d, t, &elements);

    return draft_input(
        d, to, t->name,
        (struct origin){OF_PARAM, (uint8_t)n->index, elements * esize_of(t->type)});
}

/* Its number in the stage. */
static uint32_t copy_conv(struct draft *d, uint32_t conv)
{
    struct tile_conv *c = &d->k->conv[d->k->n_convs];

    *c = d->c->from->conv[conv];
    c->image = same_dim(d, c->image);
    c->channels = same_dim(d, c->channels);
    c->out = same_dim(d, c->out);
    c->inner = same_dim(d, c->inner);
    for (unsigned i = 0; i < TILE_SIDES; i++) {
        c->map[i] = same_dim(d, c->map[i]);
        c->filter[i] = same_dim(d, c->filter[i]);
        c->place[i] = same_dim(d, c->place[i]);
    }
    return d->k->n_convs++;
}

static tile_value copy_node(struct draft *d, tile_value v)
{
    struct tile_node n = d->c->from->node[v];

    d->k->line = n.line;
    d->k->column = n.column;
    if (n.op == TILE_INPUT) {
        return copy_input(d, &n);
    }
    if (n.op == TILE_INDEX && is_cut(d, n.dim)) {
        return cut_index(d);
    }
    n.dim = n.op == TILE_NUMBER ? TILE_NO_DIM : n.dim; /* a size that is known */
    if (n.dim != TILE_NO_DIM && is_cut(d, n.dim)) {
        return tile_fail(d->k, "nothing but the parts of this is reduced");
    }
    n.dims = map_dims(d, n.dims);
    n.dim = n.dim == TILE_NO_DIM ? n.dim : same_dim(d, n.dim);
    for (unsigned i = 0; i < 3; i++) {
        n.operand[i] = d->to[n.operand[i]];
    }
    n.index = n.op == TILE_CONV ? copy_conv(d, n.index) : n.index;
    return tile_add(d->k, n);
}

static void copy_name(struct draft *d, tile_value v)
{
    const struct tile_kernel *from = d->c->from;

    for (unsigned i = 0; i < from->n_names; i++) {
        if (from->names[i].value == v && !tile_named(d->k, from->names[i].text)) {
            (void)tile_add_name(d->k, from->names[i].text, 0, d->to[v]);
        }
    }
}

tile_value draft_node(struct draft *d, tile_value v)
{
    const struct tile_node *node = d->c->from->node;
    bool want[TILE_NODES + 1] = {false};

    want[v] = true;
    for (unsigned u = v; u; u--) {
        for (unsigned i = 0; i < 3 && want[u] && !d->to[u] && !d->made[u]; i++) {
            want[node[u].operand[i]] = true;
        }
    }
    for (tile_value u = 1; u <= v && !tile_failed(d->k); u++) {
        if (want[u] && !d->to[u]) {
            d->to[u] = d->made[u] ? d->make(d, u) : copy_node(d, u);
            copy_name(d, u);
        }
    }
    return d->to[v];
}
