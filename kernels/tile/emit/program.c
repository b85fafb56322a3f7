/* SPDX-License-Identifier: MIT
 *
 * From a kernel to a program over rows and columns; see program.h. Dimensions are put in an
 * order that all tensors share, those that are always together become one, the last one is
 * the columns, the one before it the rows. Nodes that the Vector has no command for are
 * taken apart here, as far as tile_lower() leaves any.
 */
#include "kernels/tile/emit/program.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"

/* --- nodes --- */

/* What the nodes of a kernel have become. */
struct making {
    struct program *p;
    struct tile_error *error;
    const struct tile_node *from;
    uint16_t to[TILE_NODES + 1];
    uint16_t of;
    int err;
};

/* A node, or the one that is the same. */
static uint16_t add(struct making *m, const struct node *node)
{
    struct program *p = m->p;
    struct node n = *node;

    n.line = m->from->line;
    n.of = m->of;
    n.body = n.has & HAS_ROW;
    for (unsigned i = 0; i < 3; i++) {
        n.body |= n.in[i] && p->node[n.in[i]].body;
    }
    for (uint16_t i = 1; i <= p->n; i++) {
        const struct node *o = &p->node[i];
        if (o->op == n.op && o->type == n.type && o->has == n.has &&
            o->outer == n.outer && o->index == n.index && o->group == n.group &&
            o->number == n.number && memcmp(o->in, n.in, sizeof(n.in)) == 0) {
            return i;
        }
    }
    if (p->n == PLAN_NODES) {
        m->err = tile_error_set(m->error, m->from, ERR_NOMEM, "more than %d operations",
                                PLAN_NODES);
        return 1;
    }
    p->node[++p->n] = n;
    return (uint16_t)p->n;
}

static uint16_t number(struct making *m, enum type type, double value)
{
    return add(m,
               &(struct node){.op = TILE_NUMBER, .type = (uint8_t)type, .number = value});
}

static uint16_t map_as(struct making *m, enum tile_op op, unsigned type, uint16_t x,
                       uint16_t y)
{
    const struct node *a = &m->p->node[x], *b = &m->p->node[y ? y : x];

    return add(m, &(struct node){.op = (uint8_t)op,
                                 .type = (uint8_t)type,
                                 .has = a->has | b->has,
                                 .outer = a->outer | b->outer,
                                 .in = {x, y}});
}

static uint16_t map(struct making *m, enum tile_op op, uint16_t x, uint16_t y)
{
    return map_as(m, op, m->p->node[x].type, x, y);
}

static uint16_t cast(struct making *m, uint16_t x, enum type type)
{
    const struct node *a = &m->p->node[x];

    return add(m, &(struct node){.op = TILE_CAST,
                                 .type = (uint8_t)type,
                                 .has = a->has,
                                 .outer = a->outer,
                                 .in = {x}});
}

static uint16_t select3(struct making *m, uint16_t mask, uint16_t x, uint16_t y)
{
    const struct node *c = &m->p->node[mask], *a = &m->p->node[x], *b = &m->p->node[y];

    return add(m, &(struct node){.op = TILE_WHERE,
                                 .type = a->type,
                                 .has = a->has | b->has | c->has,
                                 .outer = a->outer | b->outer | c->outer,
                                 .in = {mask, x, y}});
}

/* Along the columns, or the rows; all of them are in a tile then. */
static uint16_t reduce_along(struct making *m, enum tile_op op, uint16_t x,
                             unsigned group)
{
    const struct node *a = &m->p->node[x];
    bool rows = group == m->p->row;

    m->p->reduces |= !rows;
    m->p->reduces_rows |= rows;
    return add(m, &(struct node){.op = (uint8_t)op,
                                 .type = a->type,
                                 .has = a->has & (rows ? HAS_COL : HAS_ROW),
                                 .outer = a->outer,
                                 .group = (uint8_t)group,
                                 .in = {x}});
}

/* Upper and lower halves, which F32 holds: the greatest lower half is wanted of those
 * whose upper half is the greatest. */
static uint16_t reduce_s32(struct making *m, enum tile_op op, uint16_t x, unsigned group)
{
    uint16_t high = map(m, TILE_SHR, x, number(m, TYPE_S32, 16));
    uint16_t low =
        map(m, TILE_SUB, x, map(m, TILE_MUL, high, number(m, TYPE_S32, 65536)));
    uint16_t none = number(m, TYPE_F32, op == TILE_MOST ? -1 : 65536), best, equal;

    high = cast(m, high, TYPE_F32);
    best = reduce_along(m, op, high, group);
    equal = map_as(m, TILE_EQ, TILE_MASK, high, best);
    low = reduce_along(m, op, select3(m, equal, cast(m, low, TYPE_F32), none), group);
    best = map(m, TILE_MUL, cast(m, best, TYPE_S32), number(m, TYPE_S32, 65536));
    return map(m, TILE_ADD, best, cast(m, low, TYPE_S32));
}

/* Columns up to which sums of F16 are begun in F16, a repeat's lanes each. */
enum { SUM_F16 = 8192 };

static uint16_t reduce(struct making *m, enum tile_op op, uint16_t x)
{
    enum type type = (enum type)m->p->node[x].type;
    unsigned group = m->p->n_groups;

    for (unsigned g = 0; g < m->p->n_groups; g++) {
        if (m->p->group[g].dims >> m->from->dim & 1) {
            group = g;
        }
    }
    if (group == m->p->n_groups) { /* of one element */
        return x;
    }
    if (group != m->p->col && group != m->p->row) {
        m->err = tile_error_set(
            m->error, m->from, ERR_SHAPE, "%s over '%s': an outer dimension",
            tile_op_info[m->from->op].name, m->p->k->dim[m->from->dim].name);
        return x;
    }
    if (group == m->p->row && m->p->node[x].has == FULL) {
        return type == TYPE_F16
                   ? cast(m, reduce_along(m, op, cast(m, x, TYPE_F32), group), type)
                   : reduce_along(m, op, x, group);
    }
    if (type == TYPE_S32) {
        return reduce_s32(m, op, x, group);
    }
    if (type == TYPE_F16 && group == m->p->col && m->p->node[x].has == FULL &&
        m->p->cols > LANES && (op != TILE_SUM || m->p->cols <= SUM_F16)) {
        return reduce_along(m, op, x, group); /* its last steps are in F32 */
    }
    return type == TYPE_F32
               ? reduce_along(m, op, x, group)
               : cast(m, reduce_along(m, op, cast(m, x, TYPE_F32), group), type);
}

__attribute__((format(printf, 2, 3))) static void note(struct making *m,
                                                       const char *format, ...)
{
    struct program *p = m->p;
    va_list args;

    if (p->n_notes < PLAN_NOTES) {
        va_start(args, format);
        vsnprintf(p->note[p->n_notes++], sizeof(p->note[0]), format, args);
        va_end(args);
    }
}

/* mean((x - mean(x))^2): the difference is in UB anyway, so that a second pass over it is
 * as fast as sums of two kinds. */
static uint16_t variance(struct making *m, uint16_t x)
{
    double n = m->p->k->dim[m->from->dim].size;
    enum type type = (enum type)m->p->node[x].type;
    uint16_t mean = map(m, TILE_MUL, reduce(m, TILE_SUM, x), number(m, type, 1 / n));
    uint16_t apart = map(m, TILE_SUB, x, mean);
    uint16_t sum = reduce(m, TILE_SUM, map(m, TILE_MUL, apart, apart));

    return map(m, TILE_MUL, sum, number(m, type, 1 / n));
}

/* x * rec(y): a reciprocal for each y alone. */
static uint16_t over(struct making *m, uint16_t x, uint16_t y)
{
    if (m->p->k->exact) {
        return map(m, TILE_DIV, x, y);
    }
    note(m, "line %u: a reciprocal for each row", m->from->line);
    return map(m, TILE_MUL, x, map(m, TILE_REC, y, 0));
}

/* A program without rows has one, which all columns are of. */
static uint8_t has_of(const struct program *p, tile_dims dims)
{
    bool col = p->col < p->n_groups && (p->group[p->col].dims & dims);
    bool row = p->row < p->n_groups ? p->group[p->row].dims & dims : col;

    return p->n_groups ? (uint8_t)(row * HAS_ROW | col * HAS_COL) : FULL;
}

static uint16_t place_index(struct making *m, unsigned dim)
{
    for (unsigned g = 0; g < m->p->n_groups; g++) {
        if (m->p->group[g].dims >> dim & 1) {
            struct node n = {.op = TILE_INDEX, .type = TYPE_S32, .group = (uint8_t)g};
            n.has = has_of(m->p, m->p->group[g].dims);
            n.outer = n.has ? 0 : (uint8_t)(1u << g);
            return add(m, &n);
        }
    }
    return number(m, TYPE_S32, 0);
}

/* By a comparison with a number: one with itself reads each group twice. */
static uint16_t is_nan(struct making *m, uint16_t x)
{
    uint16_t infinity = number(m, (enum type)m->p->node[x].type, INFINITY);

    return map(m, TILE_NOT, map_as(m, TILE_LE, TILE_MASK, x, infinity), 0);
}

/* The least place where x is its greatest, or where it is no number if there is one. */
static uint16_t argmax(struct making *m, uint16_t x)
{
    uint16_t most, equal, place, least;

    if (m->p->k->dim[m->from->dim].size == 1) { /* 0, of all that x is of besides */
        return add(m, &(struct node){.op = TILE_NUMBER,
                                     .type = TYPE_S32,
                                     .index = 1,
                                     .has = m->p->node[x].has,
                                     .outer = m->p->node[x].outer});
    }
    if (m->p->k->dim[m->from->dim].size > 1 << 24) {
        m->err =
            tile_error_set(m->error, m->from, ERR_SHAPE, "argmax over more than 2^24");
        return x;
    }
    most = reduce(m, TILE_MOST, x);
    equal = map(m, TILE_OR, map_as(m, TILE_EQ, TILE_MASK, x, most), is_nan(m, x));
    place = cast(m, place_index(m, m->from->dim), TYPE_F32);
    least = reduce(m, TILE_LEAST, select3(m, equal, place, number(m, TYPE_F32, 1 << 24)));
    return cast(m, least, TYPE_S32);
}

static uint16_t input(struct making *m)
{
    const struct tile_node *t = m->from;
    struct node n = {.op = TILE_INPUT,
                     .type = t->type,
                     .index = (uint8_t)t->index,
                     .has = has_of(m->p, t->dims)};

    for (unsigned g = 0; g < m->p->n_groups; g++) {
        if ((m->p->group[g].dims & t->dims) && g != m->p->col && g != m->p->row) {
            n.outer = (uint8_t)(n.outer | 1u << g);
        }
    }
    return add(m, &n);
}

/* A number that is a result: as large as that. */
static uint16_t fill(struct making *m, const struct node *x, const struct tile_tensor *t)
{
    tile_dims dims = tile_tensor_dims(t);
    struct node n = {.op = TILE_NUMBER, .type = x->type, .index = 1, .number = x->number};

    n.has = has_of(m->p, dims);
    for (unsigned g = 0; g < m->p->n_groups; g++) {
        if ((m->p->group[g].dims & dims) && g != m->p->col && g != m->p->row) {
            n.outer = (uint8_t)(n.outer | 1u << g);
        }
    }
    return add(m, &n);
}

/* Elements of a row lie side by side, those of rows alone too, unless they are floats of a
 * parameter, which can be brought together. */
static int check_tensors(const struct program *p, struct tile_error *error)
{
    const struct tile_kernel *k = p->k;

    for (unsigned i = 0; i < k->n_params + k->n_results; i++) {
        const struct tile_tensor *t = tile_tensor_at(k, i);
        bool floats = t->type == TYPE_F32 || t->type == TYPE_F16;
        if (program_is_across(p, t) && (i >= k->n_params || !floats)) {
            return tile_error_set(error, NULL, ERR_SHAPE,
                                  "%s lies across what is reduced", t->name);
        }
    }
    return 0;
}

static uint16_t translate(struct making *m)
{
    const struct tile_node *t = m->from;
    uint16_t x = m->to[t->operand[0]], y = m->to[t->operand[1]];

    switch (t->op) {
    case TILE_INPUT:
        return input(m);
    case TILE_NUMBER:
        return number(m, (enum type)t->type, t->number);
    case TILE_INDEX:
        return place_index(m, t->dim);
    case TILE_CAST:
        return cast(m, x, (enum type)t->type);
    case TILE_WHERE:
        return select3(m, x, y, m->to[t->operand[2]]);
    case TILE_OVER:
        return over(m, x, y);
    case TILE_VAR:
        return variance(m, x);
    case TILE_ARGMAX:
        return argmax(m, x);
    case TILE_SUM:
    case TILE_MOST:
    case TILE_LEAST:
        return reduce(m, (enum tile_op)t->op, x);
    default:
        break;
    }
    if (tile_op_info[t->op].kind == KIND_COMPARE) {
        return map_as(m, (enum tile_op)t->op, TILE_MASK, x, y);
    }
    if (tile_op_info[t->op].kind == KIND_MAP || tile_op_info[t->op].kind == KIND_SHIFT) {
        return map(m, (enum tile_op)t->op, x, y);
    }
    m->err =
        tile_error_set(m->error, t, ERR_ARG, "%s is not for the Vector alone",
                       tile_op_info[t->op].name ? tile_op_info[t->op].name : "a loop");
    return x;
}

/* What the Vector of this chip works on. */
static int check_types(const struct program *p, struct tile_error *error)
{
    for (unsigned i = 1; i <= p->n; i++) {
        const struct node *n = &p->node[i];
        struct tile_node at = {.line = n->line};
        if (n->op != TILE_INPUT && n->type != TILE_MASK &&
            !chip_has_type(PIPE_V, (enum type)n->type)) {
            return tile_error_set(error, &at, ERR_TYPE, "this chip has no Vector for %s",
                                  type_name(n->type));
        }
        if (n->op == TILE_CAST &&
            !chip_has_type(PIPE_V, (enum type)p->node[n->in[0]].type)) {
            return tile_error_set(error, &at, ERR_TYPE, "this chip has no Vector for %s",
                                  type_name(p->node[n->in[0]].type));
        }
    }
    return 0;
}

/* Who uses a node last, what nobody uses having 0. */
static void find_last(struct program *p)
{
    for (unsigned r = 0; r < p->k->n_results; r++) {
        p->node[p->result[r]].last = PLAN_NODES;
    }
    for (unsigned i = p->n; i > 0; i--) {
        for (unsigned j = 0; j < 3 && p->node[i].last; j++) {
            struct node *x = &p->node[p->node[i].in[j]];
            x->last = x->last ? x->last : (uint16_t)i;
        }
    }
}

/* --- x + y c --- */

static unsigned uses(const struct program *p, uint16_t x)
{
    unsigned n = p->node[x].last == PLAN_NODES;

    for (unsigned i = x + 1u; i <= p->n; i++) {
        for (unsigned j = 0; j < 3 && p->node[i].last; j++) {
            n += p->node[i].in[j] == x;
        }
    }
    return n;
}

static bool is_tile(const struct node *n)
{
    return n->has == FULL && n->type == TYPE_F32 && n->op != TILE_NUMBER;
}

/* Whether operand j of a sum is y c that nothing else wants, and the other one, which nothing
 * wants later either, has a buffer that the sum may take. */
static bool can_add(const struct program *p, uint16_t sum, unsigned j)
{
    const struct node *n = &p->node[sum], *y = &p->node[n->in[j]];
    const struct node *x = &p->node[n->in[1 - j]];

    return (n->op == TILE_ADD || (n->op == TILE_SUB && j == 1)) && is_tile(n) &&
           is_tile(x) && x->last == sum && is_tile(y) && y->op == TILE_MUL &&
           p->node[y->in[1]].op == TILE_NUMBER && is_tile(&p->node[y->in[0]]) &&
           y->in[0] != n->in[1 - j] && uses(p, n->in[j]) == 1;
}

/* One command instead of two for x + y c: of two such operands it is that whose y is wanted
 * later, for the other one may be multiplied in its place. */
static void join_products(struct program *p)
{
    for (uint16_t i = 1; i <= p->n && !p->k->exact; i++) {
        struct node *n = &p->node[i];
        bool first = can_add(p, i, 0), second = can_add(p, i, 1);
        unsigned j =
            first && (!second || p->node[p->node[n->in[0]].in[0]].last > n->in[0]) ? 0
                                                                                   : 1;
        const struct node *y = &p->node[n->in[j]];
        if (first || second) {
            double c = p->node[y->in[1]].number;
            n->number = n->op == TILE_SUB ? -c : c;
            n->op = TILE_AXPY;
            n->in[0] = n->in[1 - j];
            n->in[1] = y->in[0];
        }
    }
    for (unsigned i = 1; i <= p->n; i++) {
        p->node[i].last = 0;
    }
    find_last(p);
}

/* The machine has no atomics of U8. */
static int check_added(const struct tile_kernel *k, struct tile_error *error)
{
    for (unsigned r = 0; r < k->n_results; r++) {
        const struct tile_tensor *t = &k->result[r].tensor;
        struct tile_node at = {.line = t->line, .column = t->column};
        if (k->result[r].adds && t->type == TYPE_U8) {
            return tile_error_set(error, &at, ERR_TYPE, "'+=' of %s: not of u8", t->name);
        }
    }
    return 0;
}

int program_make(struct program *p, const struct tile_kernel *k, struct tile_arena *arena,
                 struct tile_error *error)
{
    struct tile_kernel *lowered = tile_lower(k, arena);
    uint32_t ub_begin = p->ub_begin, ub_bytes = p->ub_bytes;
    uint8_t sems = p->sems;
    static struct making m;
    int err;

    memset(p, 0, sizeof(*p));
    p->ub_begin = ub_begin;
    p->ub_bytes = ub_bytes;
    p->sems = sems;
    if (lowered == NULL || lowered->error.text[0] != '\0') {
        *error = lowered ? lowered->error : (struct tile_error){0};
        return lowered ? ERR_ARG : ERR_NOMEM;
    }
    p->k = lowered;
    err = program_groups(p, error);
    m = (struct making){.p = p, .error = error};
    for (unsigned i = 1; i <= lowered->n_nodes && !err; i++) {
        m.from = &lowered->node[i];
        m.of = (uint16_t)i;
        m.to[i] = translate(&m);
        err = m.err;
    }
    err = err ? err : check_tensors(p, error);
    err = err ? err : check_added(lowered, error);
    for (unsigned r = 0; r < lowered->n_results && !err; r++) {
        const struct node *x = &p->node[m.to[lowered->result[r].value]];
        p->result[r] = x->op == TILE_NUMBER ? fill(&m, x, &lowered->result[r].tensor)
                                            : m.to[lowered->result[r].value];
    }
    if (!err) {
        find_last(p);
        join_products(p);
        err = check_types(p, error);
    }
    return err;
}
