/* SPDX-License-Identifier: MIT
 *
 * Partial results put together; see pieces.h and cut.h.
 */
#include "kernels/tile/cut/pieces.h"

#include "kernels/tile/ir/build.h"

static const struct partial *partial_of(const struct pieces *p, tile_value v)
{
    const struct partial *r = p->partial;

    while (r->of != v) {
        r++;
    }
    return r;
}

/* Partial results as a parameter. */
static tile_value part(struct draft *d, const struct partial *r, unsigned s, unsigned i)
{
    const struct pieces *p = pieces_of(d);
    unsigned type = r->how == AS_PLACE && i ? TYPE_S32
                    : r->how == AS_MOST || r->how == AS_LEAST || r->how == AS_PLACE
                        ? node_of(p, r->x)->type
                        : TYPE_F32;
    struct tile_tensor t = draft_scratch(
        d, node_of(p, r->of)->dims, type == TILE_MASK ? TYPE_F32 : type, &p->segment[s]);
    struct origin from = {OF_SCRATCH, 0, r->bytes[s][i]};

    for (unsigned j = 0; j < d->k->n_params; j++) {
        if (d->stage.in[j].bytes == from.bytes && d->stage.in[j].of == from.of) {
            return tile_named(d->k, d->k->param[j].name);
        }
    }
    return draft_input(d, t, "part", from);
}

/* What the parts of all segments, put together in each, come to. */
static tile_value over_segments(struct draft *d, enum tile_op each, enum tile_op all,
                                const tile_value *of)
{
    const struct pieces *p = pieces_of(d);
    tile_value to = 0;

    for (unsigned s = 0; s < p->n_segments; s++) {
        tile_value x = tile_reduce(d->k, each, of[s], draft_pieces(d, &p->segment[s]));
        to = to ? tile_map2(d->k, all, to, x) : x;
    }
    return to;
}

static tile_value join(struct draft *d, const struct partial *r, enum tile_op each,
                       enum tile_op all)
{
    tile_value of[SEGMENTS];

    for (unsigned s = 0; s < pieces_of(d)->n_segments; s++) {
        of[s] = part(d, r, s, 0);
    }
    return over_segments(d, each, all, of);
}

/* The first place where a piece's greatest is the greatest of all, or no number. */
static tile_value join_places(struct draft *d, const struct partial *r)
{
    const struct pieces *p = pieces_of(d);
    struct tile_kernel *k = d->k;
    tile_value most = join(d, r, TILE_MOST, TILE_MAX), of[SEGMENTS];

    for (unsigned s = 0; s < p->n_segments; s++) {
        const struct segment *g = &p->segment[s];
        tile_value x = part(d, r, s, 0), at = tile_index(k, draft_pieces(d, g));
        tile_value here = tile_map2(k, TILE_OR, tile_map2(k, TILE_EQ, x, most),
                                    tile_map2(k, TILE_NE, x, x));
        at = tile_map2(k, TILE_MUL, at, tile_number(k, g->size));
        at = tile_map2(k, TILE_ADD, at, part(d, r, s, 1));
        at = tile_map2(k, TILE_ADD, at, tile_number(k, (double)g->start));
        of[s] = tile_map3(k, TILE_WHERE, here, at, tile_number(k, INT32_MAX));
    }
    return over_segments(d, TILE_LEAST, TILE_MIN, of);
}

/* Squares of the distances from the mean of all. */
static tile_value join_spread(struct draft *d, const struct partial *r)
{
    const struct pieces *p = pieces_of(d);
    double all = p->c.from->dim[p->c.dim].size;
    struct tile_kernel *k = d->k;
    tile_value of[SEGMENTS], mean;

    for (unsigned s = 0; s < p->n_segments; s++) {
        double share = p->segment[s].size / all;
        of[s] = tile_map2(k, TILE_MUL, part(d, r, s, 0), tile_number(k, share));
    }
    mean = over_segments(d, TILE_SUM, TILE_ADD, of);
    for (unsigned s = 0; s < p->n_segments; s++) {
        tile_value apart = tile_map2(k, TILE_SUB, part(d, r, s, 0), mean);
        apart = tile_map2(k, TILE_MUL, apart, apart);
        apart = tile_map2(k, TILE_MUL, apart, tile_number(k, p->segment[s].size));
        of[s] = tile_map2(k, TILE_ADD, part(d, r, s, 1), apart);
    }
    return over_segments(d, TILE_SUM, TILE_ADD, of);
}

/* What brings a piece's exp(x - its greatest) to exp(x - greatest). */
static tile_value scale_of(struct draft *d, const struct partial *by, unsigned s)
{
    tile_value most = draft_node(d, by->of);

    return tile_map1(
        d->k, TILE_EXP,
        tile_map2(d->k, TILE_SUB, pieces_guarded(d, part(d, by, s, 0)), most));
}

static tile_value join_scaled(struct draft *d, const struct partial *r)
{
    const struct pieces *p = pieces_of(d);
    const struct partial *by = partial_of(p, r->by);
    tile_value of[SEGMENTS];

    for (unsigned s = 0; s < p->n_segments; s++) {
        of[s] = tile_map2(d->k, TILE_MUL, part(d, r, s, 0), scale_of(d, by, s));
    }
    return over_segments(d, TILE_SUM, TILE_ADD, of);
}

static tile_value joined(struct draft *d, tile_value v)
{
    const struct pieces *p = pieces_of(d);
    const struct partial *r = partial_of(p, v);
    const struct tile_node *n = node_of(p, v);
    double all = p->c.from->dim[p->c.dim].size;
    tile_value to;

    switch (r->how) {
    case AS_MOST:
        to = join(d, r, TILE_MOST, TILE_MAX);
        return n->op == TILE_ANY ? tile_map2(d->k, TILE_NE, to, tile_number(d->k, 0))
                                 : to;
    case AS_LEAST:
        return join(d, r, TILE_LEAST, TILE_MIN);
    case AS_PLACE:
        return join_places(d, r);
    case AS_SPREAD:
        to = join_spread(d, r);
        break;
    case AS_SCALED:
        to = join_scaled(d, r);
        break;
    default:
        to = join(d, r, TILE_SUM, TILE_ADD);
        break;
    }
    if (n->op == TILE_MEAN || n->op == TILE_VAR) {
        to = d->k->exact ? tile_map2(d->k, TILE_DIV, to, tile_number(d->k, all))
                         : tile_map2(d->k, TILE_MUL, to, tile_number(d->k, 1 / all));
    }
    return tile_cast(d->k, to, (enum type)n->type);
}

/* Whether a stage that has results has no room for one more: of results, or of what the
 * next one may be made of. */
static bool full(const struct draft *d)
{
    const struct pieces *p = pieces_of(d);

    return draft_full(d) ||
           (d->k->n_results && 2 * p->n_partials * p->n_segments > TILE_PARAMS);
}

static struct draft *begin_join(struct pieces *p)
{
    struct draft *d = draft_begin(&p->c, "join", NULL);

    if (d) {
        d->made = p->set;
        d->make = joined;
        d->arg = p;
    }
    return d;
}

/* For each piece what makes a quotient of what it has parked. */
static void leave_scale(struct draft *d, const struct scale *scale, unsigned s)
{
    const struct pieces *p = pieces_of(d);
    const struct partial *by = partial_of(p, p->parked->by);
    tile_value divisor = node_of(p, scale->of)->operand[1];
    tile_dims dims = node_of(p, divisor)->dims | node_of(p, by->of)->dims;
    tile_value to = tile_map1(d->k, TILE_REC, draft_node(d, divisor));

    to = tile_map2(d->k, TILE_MUL, scale_of(d, by, s), to);
    draft_result(d, draft_scratch(d, dims, TYPE_F32, &p->segment[s]), "scale", to,
                 (struct origin){OF_SCRATCH, 0, scale->bytes[s]});
}

void pieces_join(struct pieces *p)
{
    const struct tile_kernel *k = p->c.from;
    struct draft *d = begin_join(p);

    for (unsigned i = 0; i < p->n_scales * p->n_segments && d; i++) {
        if (full(d)) {
            draft_end(d);
            d = begin_join(p);
        }
        if (d) {
            leave_scale(d, &p->scale[i / p->n_segments], i % p->n_segments);
        }
    }
    for (unsigned i = 0; i < p->c.n_given + k->n_results && d; i++) {
        unsigned r = i - p->c.n_given;
        if (i >= p->c.n_given && !p->done[k->result[r].value]) {
            continue;
        }
        if (full(d)) {
            draft_end(d);
            d = begin_join(p);
        }
        if (d && i < p->c.n_given) {
            draft_leave(d, p->c.given[i].of, p->c.given[i].bytes);
        } else if (d) {
            draft_program_result(d, r);
        }
    }
    if (d) {
        draft_end(d);
    }
}
