/* SPDX-License-Identifier: MIT
 *
 * What the interpreter reads of parameters: an element, one by index, windows; see ref_scope.h.
 */
#include <math.h>

#include "kernels/tile/ref/ref_scope.h"

static double half(uint16_t bits)
{
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    uint64_t wide = (uint64_t)(exponent + 1023 - 15) << 52 | (uint64_t)fraction << 42;
    double x;

    memcpy(&x, &wide, sizeof(x));
    if (exponent == 31) {
        x = fraction != 0 ? NAN : INFINITY;
    } else if (exponent == 0) {
        x = fraction * 0x1p-24;
    }
    return (bits & 0x8000) != 0 ? -x : x;
}

static inline double load(const void *data, enum type type, uint64_t i)
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

double tile_ref_load(const void *data, enum type type, uint64_t i)
{
    return load(data, type, i);
}

double tile_ref_input(const struct tile_ref *ref, unsigned param, uint64_t at)
{
    return load(ref->in[param], (enum type)ref->k->param[param].type, at);
}

uint64_t tile_ref_place(const struct tile_ref *ref, unsigned param)
{
    const struct tile_tensor *t = &ref->k->param[param];
    uint64_t at = 0;

    for (unsigned i = 0; i < t->rank; i++) {
        at = at * ref->k->dim[t->dim[i]].size + ref->index[t->dim[i]];
    }
    return at;
}

static double read(const struct tile_ref *ref, unsigned param)
{
    return tile_ref_input(ref, param, tile_ref_place(ref, param));
}

double tile_ref_gather(struct tile_ref *ref, const struct tile_node *n)
{
    uint32_t *index = &ref->index[n->dim], before = *index;
    double at = read(ref, ref->k->node[n->operand[1]].index), x = NAN;

    if (at >= 0 && at < ref->k->dim[n->dim].size) {
        *index = (uint32_t)at;
        x = read(ref, ref->k->node[n->operand[0]].index);
    }
    *index = before;
    return x;
}

/* --- sums of products --- */

void tile_ref_find(struct tile_ref *ref, struct place *place, unsigned param, uint8_t dim)
{
    place->type = (enum type)ref->k->param[param].type;
    place->data = ref->in[param];
    place->at = tile_ref_place(ref, param);
    place->by = 0;
    if (dim != TILE_NO_DIM) {
        ref->index[dim]++;
        place->by = tile_ref_place(ref, param) - place->at;
        ref->index[dim]--;
    }
}

void tile_ref_products(const struct place *x, const struct place *y, uint32_t n,
                       double *sum, double *size)
{
    uint64_t i = x->at, j = y->at;

    for (; n-- != 0; i += x->by, j += y->by) {
        double term = load(x->data, x->type, i) * load(y->data, y->type, j);
        *sum += term;
        *size += fabs(term);
    }
}

/* --- windows --- */

/* The element of x that a tap is over; false: it is beyond x. */
static bool find_tap(struct tile_ref *ref, const struct tile_conv *c,
                     const uint32_t place[TILE_SIDES])
{
    bool there = true;

    for (unsigned i = 0; i < TILE_SIDES; i++) {
        int64_t at = (int64_t)place[i] * c->stride[i] +
                     (int64_t)ref->index[c->filter[i]] * c->dilation[i] - c->before[i];
        there = there && at >= 0 && at < (int64_t)ref->k->dim[c->map[i]].size;
        ref->index[c->map[i]] = there ? (uint32_t)at : 0;
    }
    return there;
}

void tile_ref_taps(struct tile_ref *ref, const struct tile_node *n, tile_ref_tap *take,
                   void *arg)
{
    const struct tile_kernel *k = ref->k;
    const struct tile_conv *c = &k->conv[n->index];
    uint32_t at[TILE_SIDES], before[TILE_DIMS];
    uint32_t group = ref->index[c->out] / (k->dim[c->out].size / c->groups);
    uint32_t rows = k->dim[c->filter[TILE_ROWS_OF]].size;
    uint32_t columns = k->dim[c->filter[TILE_COLUMNS_OF]].size;

    memcpy(before, ref->index, sizeof(before));
    for (unsigned i = 0; i < TILE_SIDES; i++) {
        at[i] = ref->index[c->place[i]];
    }
    for (uint32_t tap = 0; tap < rows * columns; tap++) {
        ref->index[c->filter[TILE_ROWS_OF]] = tap / columns;
        ref->index[c->filter[TILE_COLUMNS_OF]] = tap % columns;
        ref->index[c->channels] = group * k->dim[c->inner].size;
        take(ref, n, find_tap(ref, c, at), arg);
    }
    memcpy(ref->index, before, sizeof(before));
}

/* Of two parameters. */
struct window_sum {
    double sum, *size;
};

static void add_tap(struct tile_ref *ref, const struct tile_node *n, bool there,
                    void *arg)
{
    const struct tile_kernel *k = ref->k;
    const struct tile_conv *c = &k->conv[n->index];
    struct window_sum *s = arg;
    struct place x, w;

    if (there) {
        tile_ref_find(ref, &x, k->node[n->operand[0]].index, c->channels);
        ref->index[c->inner] = 0;
        tile_ref_find(ref, &w, k->node[n->operand[1]].index, c->inner);
        tile_ref_products(&x, &w, k->dim[c->inner].size, &s->sum, s->size);
    }
}

double tile_ref_conv(struct tile_ref *ref, const struct tile_node *n, double *size)
{
    struct window_sum s = {0, size};

    *size = 0;
    tile_ref_taps(ref, n, add_tap, &s);
    return s.sum;
}
