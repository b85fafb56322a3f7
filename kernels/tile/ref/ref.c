/* SPDX-License-Identifier: MIT
 *
 * The interpreter of tile programs; see ref.h, and ref_scope.h for what it goes through.
 */
#include <math.h>

#include "kernels/tile/ir/build.h"
#include "kernels/tile/ref/ref_scope.h"

/* --- reductions --- */

/* What is gathered over a dimension. */
struct sums {
    uint32_t count;
    double lost;                  /* half units of the sum of magnitudes */
    struct tile_number sum, best; /* of values; the greatest of them, or of -values */
    double size, first, squares;  /* of magnitudes; the first value; of (x - first)^2 */
    double nearest;               /* the greatest that another than best may be */
    uint32_t where;
    bool nan, holds; /* a mask holds for certain */
};

/* The greater one; a, if b is NaN. fmax() asks about signals of NaN at length. */
static double greater(double a, double b)
{
    return b > a ? b : a;
}

/* Whether it is near the greatest so far. */
static void contend(struct sums *s, struct tile_number x, bool least, uint32_t i)
{
    double way = least ? -x.value : x.value;

    if (i == 0) {
        s->best.value = s->nearest = -INFINITY;
    }
    s->nan = s->nan || isnan(x.value);
    if (i == 0 || way > s->best.value) {
        s->nearest = greater(s->nearest, s->best.value);
        s->best.value = way;
        s->where = i;
    } else if (way < s->best.value || x.bound != 0) {
        s->nearest = greater(s->nearest, way);
    }
}

/* What operation `op` wants to know of value i. */
static void take(struct sums *s, struct tile_number x, enum tile_op op, uint32_t i)
{
    double from;

    s->count++;
    switch (op) {
    case TILE_MOST:
    case TILE_LEAST:
    case TILE_ARGMAX:
        s->best.bound = greater(s->best.bound, x.bound);
        contend(s, x, op == TILE_LEAST, i);
        return;
    case TILE_VAR:
        s->first = i == 0 ? x.value : s->first;
        from = x.value - s->first;
        s->squares += from * from;
        s->best.bound = greater(s->best.bound, x.bound);
        break;
    default:
        s->holds = s->holds || (x.value != 0 && x.bound == 0);
        break;
    }
    s->sum.value += x.value;
    s->sum.bound += x.bound;
    s->size += fabs(x.value);
}

static struct tile_number sum_of(const struct sums *s, enum type type)
{
    struct tile_number x = s->sum;
    struct tile_number size = tile_ref_settle((struct tile_number){s->size, 0}, type, 1);

    if (isfinite(x.value)) { /* partial sums beyond the type depend on the order */
        x.bound = isinf(size.value) || isinf(size.bound) ? INFINITY
                                                         : x.bound + s->lost * size.bound;
    }
    return tile_ref_settle(x, type, 1);
}

static struct tile_number variance(const struct sums *s, enum type type)
{
    double n = s->count;
    double way = s->sum.value / n - s->first, square = s->squares / n;
    struct tile_number x = {square - way * way, 0}, unit = {square + way * way, 0};
    double apart = s->best.bound, off = sum_of(s, type).bound / n; /* the mean */

    unit = tile_ref_settle(unit, type, 2);
    x.value = x.value < 0 ? 0 : x.value;
    x.bound = s->lost * unit.bound + 4 * apart * (sqrt(x.value) + apart) + off * off;
    return tile_ref_settle(x, type, 1);
}

/* The value of reduction n from what was gathered. */
static struct tile_number reduced(const struct tile_node *n, const struct sums *s)
{
    struct tile_number x;
    double twice = 2 * s->best.bound;

    switch ((enum tile_op)n->op) {
    case TILE_DOT:
    case TILE_CONV:
    case TILE_SUM:
        if (n->type == TYPE_S32) { /* the low bits */
            return (struct tile_number){(double)(int32_t)(uint64_t)(int64_t)s->sum.value,
                                        s->sum.bound};
        }
        return sum_of(s, (enum type)n->type);
    case TILE_MEAN:
        x = sum_of(s, (enum type)n->type);
        x.value /= s->count;
        x.bound /= s->count;
        return tile_ref_settle(x, (enum type)n->type, 2);
    case TILE_VAR:
        return variance(s, (enum type)n->type);
    case TILE_MOST:
    case TILE_LEAST:
        x = s->best;
        x.value = s->nan ? NAN : n->op == TILE_LEAST ? -x.value : x.value;
        return x;
    case TILE_ARGMAX: /* NaN and near ties: anywhere */
        return (struct tile_number){
            s->where,
            s->nan || (twice != 0 && s->nearest + twice >= s->best.value) ? INFINITY : 0};
    case TILE_ANY:
        return (struct tile_number){s->sum.value != 0, s->sum.bound != 0 && !s->holds};
    default: /* COUNT */
        return s->sum;
    }
}

/* --- scopes --- */

static struct tile_number compute(struct tile_ref *ref, tile_value v);
static struct tile_number plain(const struct tile_ref *ref, const struct place *p);

/* Finds what a scope reads, where the index of dimension `dim` (or none) is 0. */
static void enter(struct tile_ref *ref, struct scope *s, uint8_t dim)
{
    for (unsigned i = 0; i < s->count; i++) {
        struct place *place = &s->place[i];
        if (place->reads) {
            tile_ref_find(ref, place, ref->k->node[place->node].index, dim);
        }
    }
}

/* Computes what is in a scope, which has been entered, at its own index. */
static void run(struct tile_ref *ref, const struct scope *s, uint32_t index)
{
    for (unsigned i = 0; i < s->count; i++) {
        const struct place *place = &s->place[i];
        struct tile_number *to = &ref->value[place->node];
        if (place->plain) {
            *to = plain(ref, place);
        } else if (place->reads) {
            to->value =
                tile_ref_load(place->data, place->type, place->at + index * place->by);
            to->bound = 0;
        } else {
            *to = compute(ref, place->node);
        }
    }
}

/* Which element of its value a node is asked for. */
static uint64_t element(const struct tile_ref *ref, const struct tile_node *n)
{
    uint64_t at = 0;

    for (unsigned d = 0; d < ref->k->n_dims; d++) {
        if ((n->dims >> d & 1) != 0) {
            at = at * ref->k->dim[d].size + ref->index[d];
        }
    }
    return at;
}

/* A product of two parameters, all that there is in its scope, without what is done for
 * values of any other kind; false: one may be beyond the type, so that it has to be. */
static bool add_products(const struct tile_ref *ref, const struct tile_node *n,
                         const struct scope *s, struct sums *sums)
{
    const struct place *x = &s->place[0], *y = &s->place[s->count - 1];
    struct tile_number each = {0, 0}, all;
    uint32_t count = ref->k->dim[n->dim].size;

    if (n->op != TILE_DOT || s->count > 2 || !x->reads || !y->reads) {
        return false;
    }
    tile_ref_products(x, y, count, &sums->sum.value, &sums->size);
    if (!(sums->size <= 0x1p127)) {
        *sums = (struct sums){.lost = s->lost};
        return false;
    }
    if (n->type == TYPE_F32) {
        all = tile_ref_settle((struct tile_number){sums->size, 0}, TYPE_F32, 2);
        each = tile_ref_settle(each, TYPE_F32, 2);
        sums->sum.bound = all.bound + (count - 1) * each.bound;
    }
    sums->count = count;
    return true;
}

static struct tile_number reduce(struct tile_ref *ref, tile_value v)
{
    const struct tile_node *n = &ref->k->node[v];
    struct scope *s = &ref->inner[v];
    struct tile_number *saved = ref->saved + ref->n_saved;
    uint32_t *i = &ref->index[n->dim], before = *i;
    uint64_t at = element(ref, n) + 1;
    struct sums sums = {.lost = s->lost};

    if (ref->at[v] == at) { /* as for the element before */
        return ref->kept[v];
    }
    for (unsigned j = 0; j < s->count; j++) {
        saved[j] = ref->value[s->place[j].node];
    }
    ref->n_saved += s->count;
    *i = 0;
    enter(ref, s, n->dim);
    for (bool done = add_products(ref, n, s, &sums);
         !done && *i < ref->k->dim[n->dim].size; ++*i) {
        struct tile_number x;
        run(ref, s, *i);
        x = ref->value[n->operand[0]];
        if (n->op == TILE_DOT) {
            struct tile_node product = {.op = TILE_MUL, .type = n->type};
            x = tile_ref_op(
                &product, (struct tile_number[]){x, ref->value[n->operand[1]]}, TYPE_F32);
        }
        take(&sums, x, (enum tile_op)n->op, *i);
    }
    *i = before;
    ref->n_saved -= s->count;
    for (unsigned j = 0; j < s->count; j++) {
        ref->value[s->place[j].node] = saved[j];
    }
    ref->at[v] = at;
    ref->kept[v] = reduced(n, &sums);
    return ref->kept[v];
}

/* --- nodes --- */

/* Products that are summed up for an element; 0: it is none of such. */
static uint64_t terms(const struct tile_kernel *k, const struct tile_node *n)
{
    return n->op == TILE_DOT    ? k->dim[n->dim].size
           : n->op == TILE_CONV ? tile_conv_terms(k, &k->conv[n->index])
                                : 0;
}

/* A parameter that is added to a product may be the first term of its sum, so that each step
 * rounds to the digits of both, unless the program is exact. */
static double lost_in_product(const struct tile_kernel *k, const struct tile_node *n,
                              const tile_value *of, const struct tile_number *x)
{
    double lost = 0;

    for (unsigned i = 0; i < 2 && n->op == TILE_ADD && !k->exact; i++) {
        const struct tile_node *dot = &k->node[of[i]];
        struct tile_number size = {fabs(x[1 - i].value), 0};
        uint64_t n_terms = terms(k, dot);
        if (n_terms && dot->type == TYPE_F32 && k->node[of[1 - i]].op == TILE_INPUT) {
            lost += (double)n_terms * tile_ref_settle(size, TYPE_F32, 1).bound;
        }
    }
    return lost;
}

static struct tile_number plain(const struct tile_ref *ref, const struct place *p)
{
    const struct tile_node *n = &ref->k->node[p->node];
    struct tile_number x[3], y;

    for (unsigned i = 0; i < p->n_of; i++) {
        x[i] = ref->value[p->of[i]];
    }
    y = tile_ref_op(n, x, p->type);
    if (p->adds) {
        y.bound += lost_in_product(ref->k, n, p->of, x);
    }
    return y;
}

/* A value at the indices, which is computed element by element, in no scope. */
static struct tile_number at_indices(struct tile_ref *ref, tile_value v)
{
    const struct tile_node *n = &ref->k->node[v];
    struct tile_number x[3], y;

    if (n->op == TILE_INPUT) {
        return (struct tile_number){
            tile_ref_input(ref, n->index, tile_ref_place(ref, n->index)), 0};
    }
    if (tile_op_info[n->op].operands == 0 || n->op == TILE_CONV) {
        return compute(ref, v);
    }
    for (unsigned i = 0; i < tile_op_info[n->op].operands; i++) {
        x[i] = at_indices(ref, n->operand[i]);
    }
    y = tile_ref_op(n, x, (enum type)ref->k->node[n->operand[0]].type);
    y.bound += lost_in_product(ref->k, n, n->operand, x);
    return y;
}

/* What one tap, all of its channels, adds to a sum of windows. */
static void take_tap(struct tile_ref *ref, const struct tile_node *n, bool there,
                     void *arg)
{
    const struct tile_kernel *k = ref->k;
    const struct tile_conv *c = &k->conv[n->index];
    const struct tile_node product = {.op = TILE_MUL, .type = n->type};
    uint32_t first = ref->index[c->channels];

    for (uint32_t i = 0; there && i < k->dim[c->inner].size; i++) {
        struct tile_number x[2];
        ref->index[c->inner] = i;
        ref->index[c->channels] = first + i;
        x[0] = at_indices(ref, n->operand[0]);
        x[1] = at_indices(ref, n->operand[1]);
        take(arg, tile_ref_op(&product, x, TYPE_F32), TILE_CONV, i);
    }
}

static struct tile_number conv(struct tile_ref *ref, tile_value v)
{
    const struct tile_node *node = ref->k->node, *n = &node[v];
    struct sums s = {.lost = ref->inner[v].lost};

    if (node[n->operand[0]].op == TILE_INPUT && node[n->operand[1]].op == TILE_INPUT) {
        s.sum.value = tile_ref_conv(ref, n, &s.size);
    } else {
        tile_ref_taps(ref, n, take_tap, &s);
    }
    s.count = (uint32_t)tile_conv_terms(ref->k, &ref->k->conv[n->index]);
    return reduced(n, &s);
}

/* Any node but a parameter, and what plain() computes. */
static struct tile_number compute(struct tile_ref *ref, tile_value v)
{
    const struct tile_node *n = &ref->k->node[v];
    tile_value of[3];

    switch ((enum tile_op)n->op) {
    case TILE_SCALAR:
    case TILE_NUMBER:
        return ref->value[v];
    case TILE_INDEX:
        return (struct tile_number){ref->index[n->dim], 0};
    case TILE_GATHER:
        return (struct tile_number){tile_ref_gather(ref, n), 0};
    case TILE_CONV:
        return conv(ref, v);
    case TILE_CARRY:
    case TILE_LAST:
        operands(ref->k, n, of);
        return ref->value[of[0]];
    default:
        return reduce(ref, v);
    }
}

struct tile_number tile_ref_at(struct tile_ref *ref, unsigned result, uint64_t at)
{
    const struct tile_tensor *t = &ref->k->result[result].tensor;

    for (unsigned i = t->rank; i-- > 0;) {
        uint32_t size = ref->k->dim[t->dim[i]].size;
        ref->index[t->dim[i]] = (uint32_t)(at % size);
        at /= size;
    }
    enter(ref, &ref->result[result], TILE_NO_DIM);
    run(ref, &ref->result[result], 0);
    return ref->value[ref->k->result[result].value];
}
