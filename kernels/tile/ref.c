/* SPDX-License-Identifier: MIT
 *
 * The interpreter of tile programs; see ref.h.
 *
 * Values are computed in scopes. The scope of a result has its element's indices; the
 * scope of a reduction adds one, which runs over its dimension. What a scope computes is a
 * list of nodes in their order: of a result's all that does not depend on a dimension of
 * a reduction within, of a reduction's what depends on its own dimension and on none of
 * those within. A loop over tiles is one step over all of its dimension.
 */
#include "kernels/tile/ref.h"

#include <math.h>
#include <string.h>

struct scope {
    uint16_t *node;
    unsigned count;
    double cost;
};

struct tile_ref {
    const struct tile_kernel *k;
    const void *in[TILE_PARAMS];
    struct scope result[TILE_RESULTS];
    struct scope *inner;       /* of each node that is a reduction or DOT */
    uint64_t *at;              /* which element kept[] of such a node is of, plus 1 */
    struct tile_number *kept;  /* the last value of such a node */
    struct tile_number *value; /* of each node in the scope that is computed */
    struct tile_number *saved; /* values of enclosing scopes that a reduction disturbs */
    unsigned n_saved;
    uint32_t index[TILE_DIMS];
};

static bool reduces(const struct tile_node *n)
{
    unsigned kind = tile_op_info[n->op].kind;

    return kind == KIND_REDUCE || kind == KIND_DOT;
}

/* --- scopes --- */

/* Operands as the interpreter sees them: a carried value is its first one, behind the
 * loop the next one. A GATHER reads its parameters itself. */
static unsigned operands(const struct tile_kernel *k, const struct tile_node *n,
                         tile_value *to)
{
    unsigned count = tile_op_info[n->op].operands;

    if (n->op == TILE_LAST) {
        to[0] = k->carry[k->node[n->operand[0]].index].next;
        return 1;
    }
    if (n->op == TILE_GATHER) {
        return 0;
    }
    memcpy(to, n->operand, sizeof(n->operand));
    return n->op == TILE_CARRY ? 1 : count;
}

/* A walk from the nodes that a scope is for to those it needs. */
struct walk {
    const struct tile_kernel *k;
    uint8_t dim; /* the scope's, or TILE_NO_DIM */
    bool *in;    /* the scope */
    bool *seen;
    tile_dims *bound; /* dimensions of reductions within, by whatever way it was seen */
};

/* Notes that a node is needed under so many more dimensions of reductions. */
static bool visit(struct walk *w, tile_value v, tile_dims bound)
{
    if (w->dim != TILE_NO_DIM && (w->k->node[v].dims >> w->dim & 1) == 0) {
        return false; /* an enclosing scope has it */
    }
    if (w->seen[v] && (w->bound[v] & ~bound) == 0) {
        return false;
    }
    w->bound[v] = w->seen[v] ? (tile_dims)(w->bound[v] & bound) : bound;
    w->seen[v] = true;
    w->in[v] = (w->k->node[v].dims & w->bound[v]) == 0;
    return true;
}

/* From the last node down, since operands come first. */
static void walk_down(struct walk *w, tile_value from)
{
    for (unsigned v = from; v != 0; v--) {
        const struct tile_node *n = &w->k->node[v];
        tile_dims bound = w->bound[v];
        tile_value x[3];
        unsigned count = w->seen[v] ? operands(w->k, n, x) : 0;
        if (reduces(n)) {
            bound = (tile_dims)(bound | 1u << n->dim);
        }
        for (unsigned i = 0; i < count; i++) {
            visit(w, x[i], bound);
        }
    }
}

/* The list of a scope for n nodes, the last of which is the highest. */
static bool make_scope(struct tile_ref *ref, struct tile_arena *arena, struct scope *s,
                       uint8_t dim, const tile_value *nodes, unsigned n)
{
    const struct tile_kernel *k = ref->k;
    bool in[TILE_NODES + 1] = {false}, seen[TILE_NODES + 1] = {false};
    tile_dims bound[TILE_NODES + 1] = {0};
    struct walk w = {k, dim, in, seen, bound};
    tile_value last = 0;

    for (unsigned i = 0; i < n; i++) {
        visit(&w, nodes[i], 0);
        last = nodes[i] > last ? nodes[i] : last;
    }
    walk_down(&w, last);
    for (unsigned v = 1; v <= last; v++) {
        s->count += in[v];
    }
    s->node = tile_alloc(arena, s->count * sizeof(*s->node));
    s->count = 0;
    for (unsigned v = 1; v <= last && s->node; v++) {
        if (in[v]) {
            s->node[s->count++] = (uint16_t)v;
            s->cost += 1 + (reduces(&k->node[v])
                                ? k->dim[k->node[v].dim].size * ref->inner[v].cost
                                : 0);
        }
    }
    return s->node != NULL;
}

struct tile_ref *tile_ref_begin(const struct tile_kernel *k, const void *const *in,
                                struct tile_arena *arena)
{
    struct tile_ref *ref = tile_alloc(arena, sizeof(*ref));
    unsigned nodes = k->n_nodes + 1, saved = 0;

    if (ref == NULL) {
        return NULL;
    }
    ref->k = k;
    memcpy(ref->in, in, k->n_params * sizeof(*in));
    ref->inner = tile_alloc(arena, nodes * sizeof(*ref->inner));
    ref->at = tile_alloc(arena, nodes * sizeof(*ref->at));
    ref->kept = tile_alloc(arena, nodes * sizeof(*ref->kept));
    ref->value = tile_alloc(arena, nodes * sizeof(*ref->value));
    if (!ref->inner || !ref->at || !ref->kept || !ref->value) {
        return NULL;
    }
    for (unsigned v = 1; v < nodes; v++) {
        const struct tile_node *n = &k->node[v];
        if (reduces(n) && !make_scope(ref, arena, &ref->inner[v], n->dim, n->operand,
                                      tile_op_info[n->op].operands)) {
            return NULL;
        }
        saved += ref->inner[v].count;
    }
    for (unsigned i = 0; i < k->n_results; i++) {
        if (!make_scope(ref, arena, &ref->result[i], TILE_NO_DIM, &k->result[i].value,
                        1)) {
            return NULL;
        }
    }
    ref->saved = tile_alloc(arena, saved * sizeof(*ref->saved));
    return ref->saved ? ref : NULL;
}

double tile_ref_cost(const struct tile_ref *ref, unsigned result)
{
    return ref->result[result].cost;
}

/* --- leaves --- */

static double half(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023;
    double x = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);

    return (bits & 0x8000) != 0 ? -x : x;
}

static double load(const void *data, enum type type, uint64_t i)
{
    uint32_t bits;
    float x;

    switch (type) {
    case TYPE_F32:
        return ((const float *)data)[i];
    case TYPE_F16:
        return half(((const uint16_t *)data)[i]);
    case TYPE_BF16:
        bits = (uint32_t)((const uint16_t *)data)[i] << 16;
        memcpy(&x, &bits, sizeof(x));
        return x;
    case TYPE_S32:
        return ((const int32_t *)data)[i];
    case TYPE_S16:
        return ((const int16_t *)data)[i];
    case TYPE_S8:
        return ((const int8_t *)data)[i];
    default: /* U8 */
        return ((const uint8_t *)data)[i];
    }
}

/* Element of a parameter at the indices of the scope. */
static double input(const struct tile_ref *ref, unsigned param)
{
    const struct tile_tensor *t = &ref->k->param[param];
    uint64_t at = 0;

    for (unsigned i = 0; i < t->rank; i++) {
        at = at * ref->k->dim[t->dim[i]].size + ref->index[t->dim[i]];
    }
    return load(ref->in[param], (enum type)t->type, at);
}

static double gather(struct tile_ref *ref, const struct tile_node *n)
{
    uint32_t *index = &ref->index[n->dim], before = *index;
    double at = input(ref, ref->k->node[n->operand[1]].index), x = NAN;

    if (at >= 0 && at < ref->k->dim[n->dim].size) {
        *index = (uint32_t)at;
        x = input(ref, ref->k->node[n->operand[0]].index);
    }
    *index = before;
    return x;
}

/* --- reductions --- */

/* What is gathered over a dimension. */
struct sums {
    uint32_t count;
    struct tile_number sum, best; /* of values; the greatest of them, or of -values */
    double size, first, squares;  /* of magnitudes; the first value; of (x - first)^2 */
    double nearest;               /* the greatest that another than best may be */
    uint32_t where;
    bool nan, holds; /* a mask holds for certain */
};

static void take(struct sums *s, struct tile_number x, bool least, uint32_t i)
{
    double way = least ? -x.value : x.value, from;

    if (i == 0) {
        s->first = x.value;
        s->best.value = s->nearest = -INFINITY;
    }
    from = x.value - s->first;
    s->sum.value += x.value;
    s->sum.bound += x.bound;
    s->size += fabs(x.value);
    s->squares += from * from;
    s->nan = s->nan || isnan(x.value);
    s->holds = s->holds || (x.value != 0 && x.bound == 0);
    s->best.bound = fmax(s->best.bound, x.bound);
    if (i == 0 || way > s->best.value) {
        s->nearest = fmax(s->nearest, s->best.value);
        s->best.value = way;
        s->where = i;
    } else if (way < s->best.value || x.bound != 0) {
        s->nearest = fmax(s->nearest, way);
    }
    s->count++;
}

static struct tile_number sum_of(const struct sums *s, enum type type)
{
    struct tile_number x = s->sum;
    double n = s->count, lost = 8 + log2(n) + sqrt(n) / 2;
    struct tile_number size = tile_ref_settle((struct tile_number){s->size, 0}, type, 1);

    if (isfinite(x.value)) { /* partial sums beyond the type depend on the order */
        x.bound = isinf(size.value) || isinf(size.bound) ? INFINITY
                                                         : x.bound + lost * size.bound;
    }
    return tile_ref_settle(x, type, 1);
}

static struct tile_number variance(const struct sums *s, enum type type)
{
    double n = s->count, lost = 8 + log2(n) + sqrt(n) / 2;
    double way = s->sum.value / n - s->first, square = s->squares / n;
    struct tile_number x = {square - way * way, 0}, unit = {square + way * way, 0};
    double apart = s->best.bound;

    unit = tile_ref_settle(unit, type, 2);
    x.value = x.value < 0 ? 0 : x.value;
    x.bound = lost * unit.bound + 4 * apart * (sqrt(x.value) + apart);
    return tile_ref_settle(x, type, 1);
}

/* The value of reduction n from what was gathered. */
static struct tile_number reduced(const struct tile_node *n, const struct sums *s)
{
    struct tile_number x;
    double twice = 2 * s->best.bound;

    switch ((enum tile_op)n->op) {
    case TILE_DOT:
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

static struct tile_number compute(struct tile_ref *ref, tile_value v);

static void run(struct tile_ref *ref, const struct scope *s)
{
    for (unsigned i = 0; i < s->count; i++) {
        ref->value[s->node[i]] = compute(ref, s->node[i]);
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

static struct tile_number reduce(struct tile_ref *ref, tile_value v)
{
    const struct tile_node *n = &ref->k->node[v];
    const struct scope *s = &ref->inner[v];
    struct tile_number *saved = ref->saved + ref->n_saved;
    uint32_t *i = &ref->index[n->dim], before = *i;
    uint64_t at = element(ref, n) + 1;
    struct sums sums = {0};

    if (ref->at[v] == at) { /* as for the element before */
        return ref->kept[v];
    }
    for (unsigned j = 0; j < s->count; j++) {
        saved[j] = ref->value[s->node[j]];
    }
    ref->n_saved += s->count;
    for (*i = 0; *i < ref->k->dim[n->dim].size; ++*i) {
        struct tile_number x;
        run(ref, s);
        x = ref->value[n->operand[0]];
        if (n->op == TILE_DOT) {
            struct tile_node product = {.op = TILE_MUL, .type = n->type};
            x = tile_ref_op(
                &product, (struct tile_number[]){x, ref->value[n->operand[1]]}, TYPE_F32);
        }
        take(&sums, x, n->op == TILE_LEAST, *i);
    }
    *i = before;
    ref->n_saved -= s->count;
    for (unsigned j = 0; j < s->count; j++) {
        ref->value[s->node[j]] = saved[j];
    }
    ref->at[v] = at;
    ref->kept[v] = reduced(n, &sums);
    return ref->kept[v];
}

/* --- nodes --- */

/* What the program names, as its type holds it. */
static struct tile_number number(double x, enum type type)
{
    return type == TYPE_F16
               ? tile_ref_settle((struct tile_number){x, 0}, TYPE_F16, 1)
               : (struct tile_number){type == TYPE_F32 ? (double)(float)x : x, 0};
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
        if (dot->op == TILE_DOT && dot->type == TYPE_F32 &&
            k->node[of[1 - i]].op == TILE_INPUT) {
            lost += k->dim[dot->dim].size * tile_ref_settle(size, TYPE_F32, 1).bound;
        }
    }
    return lost;
}

static struct tile_number compute(struct tile_ref *ref, tile_value v)
{
    const struct tile_kernel *k = ref->k;
    const struct tile_node *n = &k->node[v];
    struct tile_number x[3], y;
    tile_value of[3];
    unsigned count;

    switch ((enum tile_op)n->op) {
    case TILE_INPUT:
        return (struct tile_number){input(ref, n->index), 0};
    case TILE_SCALAR:
        return number(k->scalar[n->index].value, (enum type)n->type);
    case TILE_NUMBER:
        return number(n->number, (enum type)n->type);
    case TILE_INDEX:
        return (struct tile_number){ref->index[n->dim], 0};
    case TILE_GATHER:
        return (struct tile_number){gather(ref, n), 0};
    case TILE_CARRY:
    case TILE_LAST:
        operands(k, n, of);
        return ref->value[of[0]];
    default:
        break;
    }
    if (reduces(n)) {
        return reduce(ref, v);
    }
    count = operands(k, n, of);
    for (unsigned i = 0; i < count; i++) {
        x[i] = ref->value[of[i]];
    }
    y = tile_ref_op(n, x, (enum type)k->node[of[0]].type);
    y.bound += lost_in_product(k, n, of, x);
    return y;
}

struct tile_number tile_ref_at(struct tile_ref *ref, unsigned result, uint64_t at)
{
    const struct tile_tensor *t = &ref->k->result[result].tensor;

    for (unsigned i = t->rank; i-- > 0;) {
        uint32_t size = ref->k->dim[t->dim[i]].size;
        ref->index[t->dim[i]] = (uint32_t)(at % size);
        at /= size;
    }
    run(ref, &ref->result[result]);
    return ref->value[ref->k->result[result].value];
}
