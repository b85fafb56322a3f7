/* SPDX-License-Identifier: MIT
 *
 * A cut in pieces of the one dimension that is reduced; see cut.h. Reductions that depend
 * on no other give a partial result for each piece; what depends on nothing else than them
 * and has not the dimension is made where they are put together.
 */
#include "hal/chip.h"
#include "kernels/tile/cut/pieces.h"

#include <float.h>
#include <string.h>

#include "kernels/tile/ir/build.h"
#include "kernels/tile/ir/size.h"

enum { INNER = 256 /* columns beside which rows are reduced, about */ };

/* --- what is reduced --- */

static bool is_reduction(const struct pieces *p, tile_value v)
{
    return tile_op_info[node_of(p, v)->op].kind == KIND_REDUCE;
}

static bool is(const struct pieces *p, tile_value v, enum tile_op op)
{
    return node_of(p, v)->op == op;
}

/* (x - mean(x))^2: x, or 0. */
static tile_value squared_distance(const struct pieces *p, tile_value v)
{
    const struct tile_node *square = node_of(p, v), *apart, *mean;

    apart = node_of(p, square->operand[0]);
    mean = node_of(p, apart->operand[1]);
    return square->op == TILE_MUL && square->operand[0] == square->operand[1] &&
                   apart->op == TILE_SUB && apart->type == TYPE_F32 &&
                   mean->op == TILE_MEAN && mean->operand[0] == apart->operand[0] &&
                   !p->level[apart->operand[0]]
               ? apart->operand[0]
               : 0;
}

/* exp(x - max(x)) in F32 of an x that depends on no reduction. */
static bool is_scaled(const struct pieces *p, tile_value v)
{
    const struct tile_node *apart = node_of(p, node_of(p, v)->operand[0]);
    const struct tile_node *most = node_of(p, apart->operand[1]);

    return is(p, v, TILE_EXP) && node_of(p, v)->type == TYPE_F32 &&
           apart->op == TILE_SUB && most->op == TILE_MOST &&
           most->operand[0] == apart->operand[0] && !p->level[apart->operand[0]];
}

static enum joining joining_of(const struct pieces *p, tile_value v)
{
    const struct tile_node *n = node_of(p, v);
    bool sum = n->op == TILE_SUM || n->op == TILE_MEAN;

    if (p->level[n->operand[0]]) {
        return sum && squared_distance(p, n->operand[0]) ? AS_SPREAD
               : sum && is_scaled(p, n->operand[0])      ? AS_SCALED
                                                         : NOTHING;
    }
    switch (n->op) {
    case TILE_SUM:
    case TILE_MEAN:
    case TILE_COUNT:
        return AS_SUM;
    case TILE_MOST:
    case TILE_ANY:
        return AS_MOST;
    case TILE_LEAST:
        return AS_LEAST;
    case TILE_ARGMAX:
        return AS_PLACE;
    default:
        return AS_SPREAD;
    }
}

static void add_partial(struct pieces *p, tile_value v, enum joining how)
{
    struct partial *r = &p->partial[p->n_partials];
    tile_value x = node_of(p, v)->operand[0];

    if (p->n_partials == PARTIALS) {
        p->c.failed = true;
        return;
    }
    *r = (struct partial){.of = v, .how = how, .x = x};
    if (how == AS_SPREAD && !is(p, v, TILE_VAR)) {
        r->x = squared_distance(p, x);
    }
    if (how == AS_SCALED) {
        r->by = node_of(p, node_of(p, x)->operand[0])->operand[1];
        p->local[r->by] = true;
    }
    p->set[v] = true;
    p->n_partials++;
}

static void find_reductions(struct pieces *p)
{
    const struct tile_kernel *k = p->c.from;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        for (unsigned i = 0; i < 3; i++) {
            p->level[v] |= p->level[node_of(p, v)->operand[i]];
        }
        if (p->c.live[v] && is_reduction(p, v) && k->dim[node_of(p, v)->dim].size > 1) {
            enum joining how = joining_of(p, v);
            if (how != NOTHING) {
                add_partial(p, v, how);
            }
            p->level[v] = true;
        }
    }
}

/* What is made of them alone, and of what has not the dimension. */
static void find_done(struct pieces *p)
{
    for (tile_value v = 1; v <= p->c.from->n_nodes; v++) {
        const struct tile_node *n = node_of(p, v);
        bool done = p->level[v] && !(n->dims >> p->c.dim & 1) && !is_reduction(p, v);
        for (unsigned i = 0; i < 3 && done; i++) {
            tile_value x = n->operand[i];
            done = !p->level[x] || p->done[x];
        }
        p->done[v] = p->set[v] || done;
    }
}

/* --- partial results of a segment --- */

/* What is reduced, in a type that sums are made in. */
static tile_value reduced(struct draft *d, const struct partial *r)
{
    tile_value x = draft_node(d, r->x);

    if (d->k->node[x].type == TILE_MASK) {
        return tile_cast(d->k, x, TYPE_F32);
    }
    return r->how == AS_SUM || r->how == AS_SPREAD ? tile_cast(d->k, x, TYPE_F32) : x;
}

tile_value pieces_guarded(struct draft *d, tile_value most)
{
    return tile_map2(d->k, TILE_MAX, most, tile_number(d->k, -FLT_MAX));
}

static tile_value local_most(struct draft *d, tile_value v)
{
    tile_value x = draft_node(d, d->c->from->node[v].operand[0]);

    return pieces_guarded(d, tile_reduce(d->k, TILE_MOST, x, draft_within(d)));
}

/* Mean of a piece, and what the squares of the distances from it come to. */
static void spread_of(struct draft *d, tile_value x, tile_value *to)
{
    struct tile_kernel *k = d->k;
    tile_value apart;

    to[0] = tile_reduce(k, TILE_SUM, x, draft_within(d));
    to[0] = tile_map2(k, TILE_MUL, to[0], tile_number(k, 1.0 / d->segment->size));
    apart = tile_map2(k, TILE_SUB, x, to[0]);
    to[1] =
        tile_reduce(k, TILE_SUM, tile_map2(k, TILE_MUL, apart, apart), draft_within(d));
}

static void make_partial(struct draft *d, const struct partial *r, tile_value *to)
{
    static const uint8_t ops[] = {[AS_SUM] = TILE_SUM,
                                  [AS_MOST] = TILE_MOST,
                                  [AS_LEAST] = TILE_LEAST,
                                  [AS_PLACE] = TILE_MOST,
                                  [AS_SCALED] = TILE_SUM};
    tile_value x = reduced(d, r);

    to[1] = 0;
    if (r->how == AS_SPREAD) {
        spread_of(d, x, to);
        return;
    }
    to[0] = tile_reduce(d->k, (enum tile_op)ops[r->how], x, draft_within(d));
    if (r->how == AS_PLACE) {
        to[1] = tile_reduce(d->k, TILE_ARGMAX, x, draft_within(d));
    }
}

static unsigned results_of(const struct partial *r)
{
    return r->how == AS_PLACE || r->how == AS_SPREAD ? 2 : 1;
}

static void leave_partial(struct draft *d, struct pieces *p, struct partial *r)
{
    unsigned s = (unsigned)(d->segment - p->segment);
    tile_value to[2];

    make_partial(d, r, to);
    for (unsigned i = 0; i < results_of(r); i++) {
        struct tile_tensor t =
            draft_scratch(d, node_of(p, r->of)->dims, d->k->node[to[i]].type, d->segment);
        r->bytes[s][i] = cutting_room(&p->c, draft_bytes(d, &t));
        draft_result(d, t, "part", to[i], (struct origin){OF_SCRATCH, 0, r->bytes[s][i]});
    }
}

/* Leaves exp(x - by) of the piece where a result will be. */
static void park(struct draft *d, const struct pieces *p)
{
    const struct tile_tensor *of = &p->c.from->result[p->park].tensor;
    tile_value v = draft_node(d, p->parked->x);
    uint64_t elements;
    struct tile_tensor t = draft_view(d, of, &elements);

    draft_result(d, t, "parked", v,
                 (struct origin){OF_RESULT, (uint8_t)p->park, elements * 4});
}

static struct draft *begin_partials(struct pieces *p, unsigned s)
{
    struct draft *d = draft_begin(&p->c, "parts", &p->segment[s]);

    if (d) {
        d->stage.whole = true;
        d->made = p->local;
        d->make = local_most;
    }
    return d;
}

static void make_partials(struct pieces *p, unsigned s)
{
    struct draft *d = begin_partials(p, s);

    if (d && p->parked) {
        park(d, p);
    }
    for (unsigned i = 0; i < p->n_partials && d; i++) {
        if (d->k->n_results + results_of(&p->partial[i]) > TILE_RESULTS) {
            draft_end(d);
            d = begin_partials(p, s);
        }
        if (d) {
            leave_partial(d, p, &p->partial[i]);
        }
    }
    if (d) {
        draft_end(d);
    }
}

/* --- what is kept --- */

/* A result in whose place the value may lie until the result is made. */
static bool find_place(struct pieces *p, tile_value v)
{
    const struct tile_kernel *k = p->c.from;

    for (unsigned r = 0; r < k->n_results; r++) {
        if (k->result[r].tensor.type == TYPE_F32 && !p->done[k->result[r].value] &&
            k->node[k->result[r].value].dims == k->node[v].dims) {
            p->park = r;
            return true;
        }
    }
    return false;
}

/* Nobody uses the value but sums of it and quotients by what is done: p->scale then. */
static bool only_divided(struct pieces *p, tile_value x)
{
    p->n_scales = 0;
    for (tile_value v = 1; v <= p->c.from->n_nodes; v++) {
        if (!p->c.live[v]) {
            continue;
        }
        const struct tile_node *n = node_of(p, v);
        bool divided = n->op == TILE_OVER && n->operand[0] == x && p->done[n->operand[1]];
        if (is_reduction(p, v) && !p->done[v]) {
            return false;
        }
        if (divided && p->n_scales < SCALES) {
            p->scale[p->n_scales++].of = v;
        } else if (!p->set[v] &&
                   (n->operand[0] == x || n->operand[1] == x || n->operand[2] == x)) {
            return false;
        }
    }
    return p->n_scales != 0;
}

/* exp(x - by) need not be computed twice if there is room for what a piece has made. */
static void find_parked(struct pieces *p)
{
    for (unsigned i = 0; i < p->n_partials && !p->c.from->exact; i++) {
        const struct partial *r = &p->partial[i];
        if (r->how == AS_SCALED && find_place(p, r->x) && only_divided(p, r->x)) {
            p->parked = r;
            return;
        }
    }
    p->n_scales = 0;
}

/* --- the last stage --- */

static tile_value parked_times(struct draft *d, const struct scale *scale)
{
    const struct pieces *p = pieces_of(d);
    const struct tile_node *n = node_of(p, scale->of);
    unsigned s = (unsigned)(d->segment - p->segment);
    tile_dims dims = node_of(p, n->operand[1])->dims | node_of(p, p->parked->by)->dims;
    struct tile_tensor by = draft_scratch(d, dims, TYPE_F32, d->segment), x;
    uint64_t elements;

    x = draft_view(d, &p->c.from->result[p->park].tensor, &elements);
    return tile_map2(
        d->k, TILE_MUL,
        draft_input(d, x, "parked",
                    (struct origin){OF_RESULT, (uint8_t)p->park, elements * 4}),
        draft_input(d, by, "scale", (struct origin){OF_SCRATCH, 0, scale->bytes[s]}));
}

static tile_value take(struct draft *d, tile_value v)
{
    const struct pieces *p = pieces_of(d);

    for (unsigned i = 0; i < p->n_scales; i++) {
        if (p->scale[i].of == v) {
            return parked_times(d, &p->scale[i]);
        }
    }
    return draft_take(d, v);
}

static struct draft *make_rest(struct pieces *p, const struct segment *segment)
{
    struct draft *d = draft_begin(&p->c, "rest", segment);

    if (d) {
        d->made = p->rest;
        d->make = take;
        d->arg = p;
    }
    for (unsigned r = 0; r < p->c.from->n_results && d; r++) {
        if (!p->done[p->c.from->result[r].value]) {
            draft_program_result(d, r);
        }
    }
    return d;
}

/* --- all --- */

enum { LEAST_UNIT = 64, EQUAL_UNIT = 16 }; /* elements: of a repeat, of a block */

/* Equal pieces if they are not much smaller for that, else a last one with what is left.
 * Where it costs to begin between two lines of L2, all begin with one. */
static unsigned make_segments(struct segment *to, uint32_t n, uint32_t most)
{
    bool lines = chip_cost(COST_GM_UNALIGNED) && most > L2_LINE_BYTES;
    uint32_t unit = lines ? L2_LINE_BYTES / 4 : LEAST_UNIT;
    uint32_t equal = lines ? unit : EQUAL_UNIT, pieces = div_up(n, most), size;

    for (uint32_t q = pieces; q <= pieces + pieces / 3; q++) {
        if (n % q == 0 && n / q % equal == 0) {
            to[0] = (struct segment){0, q, n / q};
            return 1;
        }
    }
    size = (uint32_t)round_up(div_up(n, pieces), unit);
    size = size < most || most <= unit ? size : most - most % unit;
    to[0] = (struct segment){0, n / size, size};
    to[1] = (struct segment){(uint64_t)(n / size) * size, 1, n % size};
    return 1 + (n % size != 0);
}

static void reserve_scales(struct pieces *p, unsigned s)
{
    for (unsigned i = 0; i < p->n_scales; i++) {
        const struct tile_node *by = node_of(p, node_of(p, p->scale[i].of)->operand[1]);
        tile_dims dims = by->dims | node_of(p, p->parked->by)->dims;
        p->scale[i].bytes[s] =
            cutting_room(&p->c, tile_count(p->c.from, dims) * 4 * p->segment[s].pieces);
    }
}

uint32_t cut_longest_piece(const struct tile_kernel *k, unsigned dim)
{
    uint64_t inner = 1, most = chip_mem(NPU_MEM_UB) / 4 * 10 / 22;

    for (unsigned i = 0; i < k->n_params; i++) {
        const struct tile_tensor *t = &k->param[i];
        uint64_t n = 1;
        for (unsigned j = t->rank; j-- > 0 && tile_tensor_dims(t) >> dim & 1;) {
            if (t->dim[j] == dim) {
                inner = n > inner ? n : inner;
                break;
            }
            n *= k->dim[t->dim[j]].size;
        }
    }
    return (uint32_t)(most / (inner < INNER ? inner : INNER));
}

bool cut_in_pieces(struct cut *cut, const struct tile_kernel *k, uint32_t most,
                   struct tile_arena *arena)
{
    struct pieces *p = tile_alloc(arena, sizeof(*p));
    struct draft *rest[SEGMENTS] = {NULL};

    if (p == NULL || !cutting_begin(&p->c, cut, k, UINT32_MAX, arena)) {
        return false;
    }
    p->c.dim = (uint8_t)__builtin_ctz(cut_reduced(k));
    if (k->dim[p->c.dim].size <= most) {
        return false;
    }
    p->n_segments = make_segments(p->segment, k->dim[p->c.dim].size, most);
    find_reductions(p);
    find_done(p);
    find_parked(p);
    memcpy(p->rest, p->done, sizeof(p->rest));
    for (unsigned i = 0; i < p->n_scales; i++) {
        p->rest[p->scale[i].of] = true;
    }
    for (unsigned s = 0; s < (p->parked ? p->n_segments : 1) && !p->c.failed; s++) {
        reserve_scales(p, s);
        rest[s] = make_rest(p, p->parked ? &p->segment[s] : NULL);
    }
    for (unsigned s = 0; s < p->n_segments && !p->c.failed; s++) {
        make_partials(p, s);
    }
    if (!p->c.failed) {
        pieces_join(p);
    }
    for (unsigned s = 0; s < SEGMENTS && rest[s] && !p->c.failed; s++) {
        draft_end(rest[s]);
    }
    return !p->c.failed;
}
