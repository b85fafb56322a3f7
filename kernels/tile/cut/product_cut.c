/* SPDX-License-Identifier: MIT
 *
 * A program with products as stages: each product is one, in the order in which they depend
 * on each other. Before it comes what its operands are computed by, if they are; with it
 * goes what is computed of it element by element, or of its rows, so far as nothing but
 * parameters and earlier values meet it there; behind them all comes the rest.
 */
#include "kernels/tile/cut/draft.h"
#include "kernels/tile/ir/size.h"

/* Values and results while products are cut off. */
struct products {
    struct cutting c;
    bool made[TILE_NODES + 1]; /* lie in GM */
    bool in[TILE_NODES + 1];   /* of the product's own stage */
    bool done[TILE_RESULTS];
};

static tile_value take(struct draft *d, tile_value v)
{
    return draft_take(d, v);
}

static bool is_product(const struct tile_kernel *k, tile_value v)
{
    return k->node[v].op == TILE_DOT || k->node[v].op == TILE_CONV;
}

tile_value cut_first_product(const struct tile_kernel *k)
{
    bool live[TILE_NODES + 1] = {false};

    cut_live(k, live);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (live[v] && is_product(k, v)) {
            return v;
        }
    }
    return 0;
}

/* Tensors that the Vector meets: all but parameters that are operands of products alone. */
static uint32_t on_the_vector(const struct tile_kernel *k, const bool *live)
{
    uint32_t tensors = UINT32_MAX << k->n_params;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        for (unsigned i = 0; i < 3 && live[v] && !is_product(k, v); i++) {
            const struct tile_node *x = &k->node[k->node[v].operand[i]];
            tensors |= x->op == TILE_INPUT ? 1u << x->index : 0;
        }
    }
    return tensors;
}

/* --- what goes with a product --- */

/* Whether a stage can make a value of parameters and of what was made: no reduction, no
 * product and no row by index is needed. */
static void find_free(const struct products *p, bool *is_free)
{
    const struct tile_kernel *k = p->c.from;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        unsigned kind = tile_op_info[n->op].kind;
        bool is = kind != KIND_REDUCE && kind != KIND_GATHER && kind != KIND_DOT &&
                  kind != KIND_CONV;
        for (unsigned i = 0; i < 3; i++) {
            is = is && (n->operand[i] == 0 || is_free[n->operand[i]]);
        }
        is_free[v] = p->made[v] || is;
    }
}

/* One of the dimensions that the product's rows are reduced over. */
static uint8_t reduced_of(const struct products *p, tile_value product)
{
    const struct tile_kernel *k = p->c.from;

    for (tile_value v = product + 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        if (p->c.live[v] && tile_op_info[n->op].kind == KIND_REDUCE &&
            (k->node[n->operand[0]].dims & ~k->node[product].dims) == 0 &&
            (k->node[product].dims >> n->dim & 1)) {
            return n->dim;
        }
    }
    return TILE_NO_DIM;
}

static bool is_elementwise(unsigned kind)
{
    return kind == KIND_MAP || kind == KIND_SHIFT || kind == KIND_COMPARE ||
           kind == KIND_SELECT || kind == KIND_CAST;
}

/* Marks the product and what is computed of it: elementwise, in all of its dimensions; and, of
 * whole rows, also without the one that they are reduced over. */
static void find_epilogue(struct products *p, tile_value product, enum cut_fuse fuse)
{
    const struct tile_kernel *k = p->c.from;
    bool is_free[TILE_NODES + 1] = {false};
    tile_dims dims = k->node[product].dims, row = dims;
    uint8_t reduced = fuse == FUSE_ROWS ? reduced_of(p, product) : TILE_NO_DIM;

    if (reduced != TILE_NO_DIM) {
        row = (tile_dims)(dims & ~(1u << reduced));
    }
    find_free(p, is_free);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        unsigned kind = tile_op_info[n->op].kind;
        bool of_it = false, fits = fuse && p->c.live[v];
        for (unsigned i = 0; i < 3 && n->operand[i]; i++) {
            tile_value o = n->operand[i];
            of_it |= p->in[o];
            fits &= p->in[o] || (is_free[o] && !(k->node[o].dims & ~dims));
        }
        fits &= (is_elementwise(kind) && (n->dims == dims || n->dims == row)) ||
                (kind == KIND_REDUCE && n->dim == reduced);
        p->in[v] = v == product || (fits && of_it);
    }
}

/* Something behind the stage needs a value of it. */
static bool is_needed(const struct products *p, tile_value v)
{
    const struct tile_kernel *k = p->c.from;
    bool needed = false;

    for (tile_value u = v; u <= k->n_nodes; u++) {
        for (unsigned i = 0; i < 3 && p->c.live[u] && !p->in[u]; i++) {
            needed |= k->node[u].operand[i] == v;
        }
    }
    return needed;
}

/* Tensors that the stage would take and give; false: more than a program may. */
static bool has_room(const struct products *p)
{
    const struct tile_kernel *k = p->c.from;
    bool want[TILE_NODES + 1] = {false};
    unsigned in = 0, out = 0;

    for (tile_value v = (tile_value)k->n_nodes; v; v--) {
        bool here = (p->in[v] || want[v]) && !p->made[v];
        in += want[v] && (p->made[v] || k->node[v].op == TILE_INPUT);
        for (unsigned i = 0; i < 3 && here; i++) {
            want[k->node[v].operand[i]] = true;
        }
        out += p->in[v] && is_needed(p, v);
    }
    for (unsigned r = 0; r < k->n_results; r++) {
        out += p->in[k->result[r].value];
    }
    return in <= TILE_PARAMS && out <= TILE_RESULTS;
}

/* --- stages --- */

static struct draft *begin(struct products *p, const char *what)
{
    struct draft *d = draft_begin(&p->c, what, NULL);

    if (d) {
        d->made = p->made;
        d->make = take;
    }
    return d;
}

/* What an operand is computed by, unless it is there. */
static void make_operand(struct products *p, tile_value v)
{
    struct draft *d;

    if (p->c.from->node[v].op == TILE_INPUT || p->made[v]) {
        return;
    }
    d = begin(p, "operand");
    if (d) {
        draft_leave(d, v, cutting_given(&p->c, v));
        draft_end(d);
    }
    p->made[v] = true;
}

/* A stage of the product alone whose value is wanted more than once: L0C gives it once. */
static bool is_shared(const struct products *p, tile_value product)
{
    const struct tile_kernel *k = p->c.from;
    unsigned wanted = is_needed(p, product);

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (p->in[v] && v != product) {
            return false;
        }
    }
    for (unsigned r = 0; r < k->n_results; r++) {
        wanted += k->result[r].value == product;
    }
    return wanted > 1;
}

static void make_product(struct products *p, tile_value v, enum cut_fuse fuse)
{
    const struct tile_kernel *k = p->c.from;
    struct draft *d;
    bool shared;

    make_operand(p, k->node[v].operand[0]);
    make_operand(p, k->node[v].operand[1]);
    find_epilogue(p, v, fuse);
    while (fuse && !has_room(p)) {
        find_epilogue(p, v, --fuse);
    }
    shared = is_shared(p, v);
    d = begin(p, "product");
    if (d == NULL) {
        return;
    }
    d->stage.product = true;
    for (unsigned r = 0; r < k->n_results; r++) {
        if (p->in[k->result[r].value] && !shared) {
            draft_program_result(d, r);
            p->done[r] = true;
        }
    }
    for (tile_value u = v; u <= k->n_nodes; u++) {
        if (p->in[u] && (shared || is_needed(p, u))) {
            draft_leave(d, u, cutting_given(&p->c, u));
        }
    }
    draft_end(d);
    for (tile_value u = v; u <= k->n_nodes; u++) {
        p->made[u] |= p->in[u];
        p->in[u] = false;
    }
}

static void make_rest(struct products *p)
{
    struct draft *d = NULL;

    for (unsigned r = 0; r < p->c.from->n_results; r++) {
        if (!p->done[r]) {
            d = d ? d : begin(p, "rest");
            if (d == NULL) {
                return;
            }
            draft_program_result(d, r);
        }
    }
    if (d) {
        draft_end(d);
    }
}

static struct products *products_begin(struct cut *cut, const struct tile_kernel *k,
                                       struct tile_arena *arena)
{
    struct products *p = tile_alloc(arena, sizeof(*p));
    bool live[TILE_NODES + 1] = {false};

    cut_live(k, live);
    return p && cutting_begin(&p->c, cut, k, on_the_vector(k, live), arena) ? p : NULL;
}

bool cut_behind(struct cut *cut, const struct tile_kernel *k, tile_value v,
                struct tile_arena *arena)
{
    struct products *p = products_begin(cut, k, arena);

    if (p == NULL) {
        return false;
    }
    p->made[v] = true;
    make_rest(p);
    return !p->c.failed && cut->n == 1;
}

bool cut_products(struct cut *cut, const struct tile_kernel *k, enum cut_fuse fuse,
                  struct tile_arena *arena)
{
    struct products *p = products_begin(cut, k, arena);

    if (p == NULL) {
        return false;
    }
    for (tile_value v = 1; v <= k->n_nodes && !p->c.failed; v++) {
        if (p->c.live[v] && is_product(k, v)) {
            make_product(p, v, fuse);
        }
    }
    make_rest(p);
    return !p->c.failed;
}
