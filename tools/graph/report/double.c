/* SPDX-License-Identifier: MIT
 *
 * See double.h. Node by node, each as an array of its dimensions in their order.
 */
#include "tools/graph/report/double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/ref/ref.h"

enum { OPERANDS = 3 };
#define MOST (UINT64_C(1) << 27) /* elements of a value */

/* --- all indices of some dimensions --- */

struct walk {
    unsigned n;
    uint32_t size[TILE_DIMS], at[TILE_DIMS];
    int64_t step[OPERANDS][TILE_DIMS], place[OPERANDS];
};

/* The last dimension runs first; one of no dimensions has one index. */
static void walk_begin(struct walk *w, const struct doubles *d, tile_dims dims,
                       const tile_value *of, unsigned n)
{
    memset(w, 0, sizeof(*w));
    for (unsigned i = 0; i < d->k->n_dims; i++) {
        if (!(dims >> i & 1)) {
            continue;
        }
        w->size[w->n] = d->k->dim[i].size;
        for (unsigned k = 0; k < n; k++) {
            w->step[k][w->n] = d->value[of[k]].step[i];
        }
        w->n++;
    }
}

static bool walk_step(struct walk *w)
{
    for (unsigned i = w->n; i-- > 0;) {
        bool more = ++w->at[i] < w->size[i];
        for (unsigned k = 0; k < OPERANDS; k++) {
            w->place[k] += more ? w->step[k][i] : -w->step[k][i] * (w->size[i] - 1);
        }
        if (more) {
            return true;
        }
        w->at[i] = 0;
    }
    return false;
}

/* --- nodes --- */

/* An array for a node's value; its steps. */
static double *room(struct doubles *d, tile_value v)
{
    struct double_value *to = &d->value[v];
    int64_t step = 1;

    for (unsigned i = d->k->n_dims; i-- > 0;) {
        if (d->k->node[v].dims >> i & 1) {
            to->step[i] = step;
            step *= d->k->dim[i].size;
        }
    }
    to->own = graph_alloc((size_t)step, sizeof(double));
    to->at = to->own;
    return to->own;
}

static void input(struct doubles *d, tile_value v, const double *from)
{
    const struct tile_tensor *t = &d->k->param[d->k->node[v].index];
    int64_t step = 1;

    for (unsigned i = t->rank; i-- > 0;) {
        d->value[v].step[t->dim[i]] = step;
        step *= d->k->dim[t->dim[i]].size;
    }
    d->value[v].at = from;
}

static void leaf(struct doubles *d, tile_value v)
{
    const struct tile_node *n = &d->k->node[v];
    double *to = room(d, v);

    if (n->op == TILE_NUMBER) {
        *to = n->type == TYPE_F32   ? (double)(float)n->number
              : n->type == TYPE_F16 ? elem_round(ELEM_F16, n->number)
                                    : n->number;
        return;
    }
    for (uint32_t i = 0; i < d->k->dim[n->dim].size; i++) {
        to[i] = i;
    }
}

static bool is_float(unsigned type)
{
    return type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16;
}

static void map(struct doubles *d, tile_value v, bool casts)
{
    const struct tile_node *n = &d->k->node[v];
    unsigned count = tile_op_info[n->op].operands;
    enum type from = (enum type)d->k->node[n->operand[0]].type;
    bool same = n->op == TILE_CAST && is_float(from) && is_float(n->type) && !casts;
    double *to = room(d, v);
    struct walk w;

    walk_begin(&w, d, n->dims, n->operand, count);
    do {
        struct tile_number x[OPERANDS] = {0};
        for (unsigned i = 0; i < count; i++) {
            x[i].value = d->value[n->operand[i]].at[w.place[i]];
        }
        *to++ = same ? x[0].value : tile_ref_op(n, x, from).value;
    } while (walk_step(&w));
}

/* --- reductions --- */

static double variance(const double *x, int64_t step, uint32_t n)
{
    double mean = 0, sum = 0;

    for (uint32_t i = 0; i < n; i++) {
        mean += x[i * step] / n;
    }
    for (uint32_t i = 0; i < n; i++) {
        sum += (x[i * step] - mean) * (x[i * step] - mean);
    }
    return sum / n;
}

/* Where the greatest is, of -x the least; the first of equal ones, or of NaN. */
static uint32_t greatest(const double *x, int64_t step, uint32_t n, double sign)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < n && !isnan(x[at * step]); i++) {
        double y = x[i * step];
        at = isnan(y) || sign * y > sign * x[at * step] ? i : at;
    }
    return at;
}

static double reduced(enum tile_op op, const double *x, int64_t step, uint32_t n)
{
    double sum = 0;

    switch (op) {
    case TILE_VAR:
        return variance(x, step, n);
    case TILE_MOST:
    case TILE_LEAST:
        return x[greatest(x, step, n, op == TILE_MOST ? 1 : -1) * step];
    case TILE_ARGMAX:
        return greatest(x, step, n, 1);
    default:
        for (uint32_t i = 0; i < n; i++) {
            sum += x[i * step];
        }
        return op == TILE_MEAN ? sum / n : op == TILE_ANY ? sum != 0 : sum;
    }
}

static void reduce(struct doubles *d, tile_value v)
{
    const struct tile_node *n = &d->k->node[v];
    const struct double_value *x = &d->value[n->operand[0]];
    double *to = room(d, v);
    struct walk w;

    walk_begin(&w, d, n->dims, n->operand, 1);
    do {
        *to++ = reduced((enum tile_op)n->op, x->at + w.place[0], x->step[n->dim],
                        d->k->dim[n->dim].size);
    } while (walk_step(&w));
}

/* --- products --- */

/* sums[i] += x * y[i], each rounded to F32. */
static void add_rounded(double *restrict sums, double x, const double *restrict y,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] = (double)(float)(sums[i] + x * y[i]);
    }
}

static void add(double *restrict sums, double x, const double *restrict y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        sums[i] += x * y[i];
    }
}

/* An operand's rows of n elements that lie `by` apart, one for each index of dimension k, side
 * by side: copied, unless they lie so. `kept` is what to free. */
static const double *rows_of(const struct doubles *d, const struct double_value *y,
                             int64_t at, uint8_t k, int64_t n, int64_t by, double **kept)
{
    int64_t rows = d->k->dim[k].size;

    *kept = NULL;
    if (by == 1 && y->step[k] == n) {
        return y->at + at;
    }
    *kept = graph_alloc((size_t)(rows * n), sizeof(double));
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t i = 0; i < n; i++) {
            (*kept)[r * n + i] = y->at[at + r * y->step[k] + i * by];
        }
    }
    return *kept;
}

/* The last dimension that only the second operand has; TILE_NO_DIM: there is none. */
static uint8_t columns_of(const struct doubles *d, const struct tile_node *n)
{
    const struct tile_node *node = d->k->node;
    uint8_t found = TILE_NO_DIM;

    for (uint8_t i = 0; i < d->k->n_dims; i++) {
        bool only = (node[n->operand[1]].dims & ~node[n->operand[0]].dims) >> i & 1;
        found = only ? i : found;
    }
    return found;
}

/* Of the first operand element by element, of the second row by row. */
static void dot(struct doubles *d, tile_value v, bool round)
{
    const struct tile_node *n = &d->k->node[v];
    const struct double_value *x = &d->value[n->operand[0]],
                              *y = &d->value[n->operand[1]];
    uint8_t inner = columns_of(d, n);
    bool row = inner != TILE_NO_DIM;
    int64_t columns = row ? d->k->dim[inner].size : 1, last = -1;
    double *to = room(d, v), *sums = graph_alloc((size_t)columns, sizeof(*sums));
    double *kept = NULL;
    const double *rows = NULL;
    struct walk w;

    walk_begin(&w, d, (tile_dims)(row ? n->dims & ~(1u << inner) : n->dims),
               (tile_value[]){n->operand[0], n->operand[1], v}, 3);
    do {
        if (w.place[1] != last) {
            last = w.place[1];
            free(kept);
            rows = rows_of(d, y, last, n->dim, columns, row ? y->step[inner] : 0, &kept);
        }
        memset(sums, 0, (size_t)columns * sizeof(*sums));
        for (uint32_t i = 0; i < d->k->dim[n->dim].size; i++) {
            (round ? add_rounded : add)(sums, x->at[w.place[0] + i * x->step[n->dim]],
                                        rows + i * columns, columns);
        }
        for (int64_t i = 0; i < columns; i++) {
            to[w.place[2] + (row ? i * d->value[v].step[inner] : 0)] = sums[i];
        }
    } while (walk_step(&w));
    free(kept);
    free(sums);
}

/* --- all --- */

static unsigned operands_of(const struct tile_node *n)
{
    unsigned kind = tile_op_info[n->op].kind;

    return kind == KIND_LEAF ? 0 : tile_op_info[n->op].operands;
}

/* False: of an operation that is not here. */
static bool compute(struct doubles *d, tile_value v, bool rounds)
{
    switch (tile_op_info[d->k->node[v].op].kind) {
    case KIND_LEAF:
        if (d->k->node[v].op == TILE_SCALAR) {
            return false;
        }
        leaf(d, v);
        return true;
    case KIND_MAP:
    case KIND_SHIFT:
    case KIND_COMPARE:
    case KIND_SELECT:
    case KIND_CAST:
        map(d, v, rounds);
        return true;
    case KIND_REDUCE:
        reduce(d, v);
        return true;
    case KIND_DOT:
        dot(d, v, rounds && is_float(d->k->node[v].type));
        return true;
    default:
        return false;
    }
}

/* Whether a value is another one where some are rounded. */
static bool differs(const struct doubles *d, tile_value v, const enum elem *round)
{
    const struct tile_node *n = &d->k->node[v];
    bool differs = round[v] != ELEM_NONE || n->op == TILE_CAST || n->op == TILE_DOT;

    for (unsigned i = 0; i < operands_of(n); i++) {
        differs = differs || d->value[n->operand[i]].rounded;
    }
    return differs;
}

const char *double_compute(struct doubles *d, const struct tile_kernel *k,
                           const double *const *in, const enum elem *round,
                           const struct doubles *exact)
{
    memset(d, 0, sizeof(*d));
    d->k = k;
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        if (n->op == TILE_INPUT) {
            input(d, v, in[n->index]);
        } else if (tile_count(k, n->dims) > MOST) {
            return graph_text("%s has too many elements", tile_name_of(k, v));
        } else if (round && !differs(d, v, round)) {
            d->value[v] = exact->value[v];
            d->value[v].own = NULL;
        } else if (!compute(d, v, round != NULL)) {
            return graph_text("'%s' is not known here", tile_op_text(n->op));
        } else if (round) {
            d->value[v].rounded = true;
            if (round[v] != ELEM_NONE) {
                elem_round_all(round[v], d->value[v].own, (size_t)tile_count(k, n->dims));
            }
        }
    }
    return NULL;
}

double *double_result(const struct doubles *d, unsigned i)
{
    const struct tile_result *r = &d->k->result[i];
    const struct double_value *from = &d->value[r->value];
    int64_t step[TILE_RANK] = {0}, count = 1, at = 0;
    uint32_t index[TILE_RANK] = {0};
    double *to;

    for (unsigned k = 0; k < r->tensor.rank; k++) {
        count *= d->k->dim[r->tensor.dim[k]].size;
        step[k] = from->step[r->tensor.dim[k]];
    }
    to = graph_alloc((size_t)count, sizeof(*to));
    for (int64_t e = 0; e < count; e++) {
        to[e] = from->at[at];
        for (unsigned k = r->tensor.rank; k-- > 0;) {
            at += step[k];
            if (++index[k] < d->k->dim[r->tensor.dim[k]].size) {
                break;
            }
            at -= step[k] * index[k];
            index[k] = 0;
        }
    }
    return to;
}

void double_free(struct doubles *d)
{
    for (unsigned v = 0; v <= TILE_NODES; v++) {
        free(d->value[v].own);
    }
}
