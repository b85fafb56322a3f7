/* SPDX-License-Identifier: MIT
 *
 * Convolutions in the intermediate form: what they take, and what follows from its sizes; see
 * ir.h.
 */
#include "kernels/tile/ir/build.h"

enum { MOST_STRIDE = 63, MOST_DILATION = 255 /* of LOAD3D */ };

/* --- sizes --- */

/* Places of a window along a side, 0: not known yet; UINT32_MAX: none fits. */
static uint32_t places(const struct tile_kernel *k, const struct tile_conv *c,
                       unsigned side)
{
    uint64_t map = k->dim[c->map[side]].size, filter = k->dim[c->filter[side]].size;
    uint64_t reach = (filter - 1) * c->dilation[side] + 1;
    uint64_t all = map + c->before[side] + c->behind[side];

    return map == 0 || filter == 0 ? 0
           : reach > all           ? UINT32_MAX
                                   : (uint32_t)((all - reach) / c->stride[side] + 1);
}

static bool set_places(struct tile_kernel *k, const struct tile_conv *c, unsigned side)
{
    struct tile_dim *d = &k->dim[c->place[side]];
    uint32_t n = places(k, c, side);

    if (n == UINT32_MAX) {
        return tile_fail(
            k, "conv: %s, with what is between its taps, is more than %s and pads",
            k->dim[c->filter[side]].name, k->dim[c->map[side]].name);
    }
    d->size = d->size == 0 ? n : d->size;
    if (n == 0 || n == d->size) {
        return true;
    }
    return c->place[side] == c->map[side]
               ? tile_fail(k,
                           "conv makes %lu of %s, which is %lu: `to` names what it makes",
                           (unsigned long)n, d->name, (unsigned long)d->size)
               : tile_fail(k, "conv makes %lu of %s, but %s is %lu", (unsigned long)n,
                           k->dim[c->map[side]].name, d->name, (unsigned long)d->size);
}

static bool check_groups(struct tile_kernel *k, const struct tile_conv *c)
{
    uint32_t channels = k->dim[c->channels].size, out = k->dim[c->out].size;
    uint32_t inner = k->dim[c->inner].size;

    if ((channels && channels % c->groups) || (out && out % c->groups) ||
        (channels && inner && channels / c->groups != inner)) {
        return tile_fail(k, "conv: %u groups of %s %lu and %s %lu, filters of %s %lu",
                         c->groups, k->dim[c->channels].name, (unsigned long)channels,
                         k->dim[c->out].name, (unsigned long)out, k->dim[c->inner].name,
                         (unsigned long)inner);
    }
    return true;
}

bool tile_conv_sizes(struct tile_kernel *k)
{
    bool good = true;

    for (unsigned i = 0; i < k->n_convs && good; i++) {
        const struct tile_conv *c = &k->conv[i];
        if (!tile_failed(k)) {
            k->line = c->line;
            k->column = c->column;
        }
        good = set_places(k, c, TILE_ROWS_OF) && set_places(k, c, TILE_COLUMNS_OF) &&
               check_groups(k, c);
    }
    return good;
}

uint64_t tile_conv_terms(const struct tile_kernel *k, const struct tile_conv *c)
{
    return (uint64_t)k->dim[c->filter[TILE_ROWS_OF]].size *
           k->dim[c->filter[TILE_COLUMNS_OF]].size * k->dim[c->inner].size;
}

/* --- the node --- */

static bool check_window(struct tile_kernel *k, const struct tile_conv *c)
{
    for (unsigned i = 0; i < TILE_SIDES; i++) {
        if (c->stride[i] == 0 || c->stride[i] > MOST_STRIDE) {
            return tile_fail(k, "conv: a stride is 1 to %d", MOST_STRIDE);
        }
        if (c->dilation[i] == 0) {
            return tile_fail(k, "conv: a dilation is 1 to %d", MOST_DILATION);
        }
    }
    return c->groups != 0 || tile_fail(k, "conv: groups are 1 or more");
}

/* A node's dimensions in their order, if it has four: those of a parameter, or of windows. */
static bool has_order(const struct tile_kernel *k, const struct tile_node *n,
                      struct tile_tensor *t)
{
    const struct tile_conv *c = &k->conv[n->index];

    if (n->op == TILE_INPUT && k->param[n->index].rank == 4) {
        *t = k->param[n->index];
        return true;
    }
    *t = (struct tile_tensor){.rank = 4};
    if (n->op == TILE_CONV) {
        t->dim[0] = c->image;
        t->dim[1] = c->place[0];
        t->dim[2] = c->place[1];
        t->dim[3] = c->out;
    }
    return n->op == TILE_CONV;
}

/* An operand as a tensor: its dimensions are in the order of something with all of them that
 * it is computed of, element by element. False: it is none of what conv takes. */
static bool tensor_of(const struct tile_kernel *k, tile_value v, struct tile_tensor *t)
{
    bool of[TILE_NODES + 1] = {[0] = false}, found = false, each = true;
    struct tile_tensor here;

    of[v] = true;
    for (tile_value u = v; u; u--) {
        const struct tile_node *n = &k->node[u];
        unsigned kind = tile_op_info[n->op].kind;
        if (!of[u]) {
            continue;
        }
        if (!found && n->dims == k->node[v].dims && has_order(k, n, &here)) {
            *t = here;
            found = true;
        }
        each = each && kind != KIND_REDUCE && kind != KIND_GATHER && kind != KIND_DOT;
        for (unsigned i = 0; i < 3 && n->op != TILE_CONV; i++) {
            of[n->operand[i]] = true;
        }
    }
    t->name = found ? tile_name_of(k, v) : NULL;
    return found && each;
}

static bool check_operands(struct tile_kernel *k, tile_value x, tile_value w,
                           struct tile_tensor *of_x, struct tile_tensor *of_w)
{
    unsigned a = k->node[x].type, b = k->node[w].type;
    char text[8], other[8];

    if (!tensor_of(k, x, of_x) || !tensor_of(k, w, of_w)) {
        return tile_fail(k, "conv takes x[image, row, column, channel] and w[out, row, "
                            "column, channel], parameters or computed of such element "
                            "by element");
    }
    if (a != b || (a != TYPE_F16 && a != TYPE_S8)) {
        return tile_fail(k, "conv of %s and %s: both are f16 or s8",
                         tile_type_text(a, text), tile_type_text(b, other));
    }
    return true;
}

/* Dimensions of the operands and of the value. */
static bool set_dims(struct tile_kernel *k, struct tile_conv *c,
                     const struct tile_tensor *x, const struct tile_tensor *w)
{
    tile_dims both = tile_tensor_dims(x) & tile_tensor_dims(w);

    c->image = x->dim[0];
    c->channels = x->dim[3];
    c->out = w->dim[0];
    c->inner = w->dim[3];
    for (unsigned i = 0; i < TILE_SIDES; i++) {
        c->map[i] = x->dim[1 + i];
        c->filter[i] = w->dim[1 + i];
        c->place[i] = c->place[i] == TILE_NO_DIM ? c->map[i] : c->place[i];
    }
    if (c->groups == 1 && c->inner != c->channels) {
        return tile_fail(k, "conv: the last dimension of %s is %s, that of %s is %s",
                         x->name, k->dim[c->channels].name, w->name,
                         k->dim[c->inner].name);
    }
    if (both != (c->groups == 1 ? 1u << c->channels : 0)) {
        return tile_fail(k, "conv: %s and %s have %s in common", x->name, w->name,
                         c->groups == 1 ? "more than their last dimension"
                                        : "a dimension");
    }
    both = (tile_dims)(1u << c->image | 1u << c->channels | tile_tensor_dims(w));
    if ((both >> c->place[0] & 1) || (both >> c->place[1] & 1) ||
        c->place[0] == c->place[1] || c->place[0] == c->map[1] ||
        c->place[1] == c->map[0]) {
        return tile_fail(k, "conv to %s %s: rows and columns are called otherwise",
                         k->dim[c->place[0]].name, k->dim[c->place[1]].name);
    }
    return true;
}

tile_value tile_conv(struct tile_kernel *k, tile_value x, tile_value w,
                     const struct tile_conv *conv)
{
    struct tile_node n = {.op = TILE_CONV, .dim = TILE_NO_DIM, .operand = {x, w}};
    struct tile_conv c = *conv;
    struct tile_tensor of_x, of_w;

    if (!tile_there(k, n.operand, 2) || !check_window(k, &c) ||
        !check_operands(k, x, w, &of_x, &of_w) || !set_dims(k, &c, &of_x, &of_w)) {
        return 0;
    }
    if (k->n_loops || k->n_convs == TILE_CONVS) {
        return tile_fail(
            k, k->n_loops ? "no conv in a program with a loop" : "more than %d of conv",
            TILE_CONVS);
    }
    c.line = k->line;
    c.column = k->column;
    n.type = k->node[x].type == TYPE_S8 ? TYPE_S32 : TYPE_F32;
    n.dims =
        (tile_dims)(1u << c.image | 1u << c.place[0] | 1u << c.place[1] | 1u << c.out);
    n.index = k->n_convs;
    k->conv[k->n_convs++] = c;
    return tile_conv_sizes(k) ? tile_add(k, n) : 0;
}
