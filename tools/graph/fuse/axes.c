/* SPDX-License-Identifier: MIT
 *
 * See axes.h.
 */
#include "tools/graph/fuse/axes.h"

#include <string.h>

uint8_t axes_add(struct axes *x, int64_t size)
{
    if (x->n == AXES) {
        return AXES;
    }
    x->size[x->n] = size;
    return (uint8_t)x->n++;
}

bool axes_put(struct axes_list *l, uint8_t id)
{
    if (l->n == AXES || id == AXES) {
        return false;
    }
    l->id[l->n++] = id;
    return true;
}

/* `inner` elements of an axis become one behind it, wherever it is. */
static bool split(struct axes *x, uint8_t id, int64_t inner)
{
    uint8_t behind = axes_add(x, inner);
    bool good = behind != AXES;

    for (unsigned i = 0; i < x->n_lists && good; i++) {
        struct axes_list *l = x->list[i];
        unsigned at = 0;
        while (at < l->n && l->id[at] != id) {
            at++;
        }
        if (at == l->n) {
            continue;
        }
        good = l->n < AXES;
        if (good) {
            memmove(l->id + at + 2, l->id + at + 1, l->n - at - 1);
            l->id[at + 1] = behind;
            l->n++;
        }
    }
    if (good) {
        x->size[id] /= inner;
    }
    return good;
}

bool axes_fit(struct axes *x, const struct axes_list *l, const struct shape *s)
{
    unsigned at = 0;

    for (unsigned d = 0; d < s->n; d++) {
        for (int64_t rest = s->dim[d]; rest > 1; at++) {
            int64_t size = at < l->n ? x->size[l->id[at]] : 0;
            if (size == 0 || (size <= rest ? rest % size : size % rest)) {
                return false;
            }
            if (size > rest && !split(x, l->id[at], size / rest)) {
                return false;
            }
            rest = size > rest ? 1 : rest / size;
        }
    }
    return at == l->n;
}

unsigned axes_part(const struct axes *x, const struct axes_list *l, const struct shape *s,
                   unsigned d, unsigned *first)
{
    unsigned at = 0;

    for (unsigned i = 0; i <= d; i++) {
        *first = at;
        for (int64_t rest = s->dim[i]; rest > 1; at++) {
            rest /= x->size[l->id[at]];
        }
    }
    return at - *first;
}

void axes_turn(const struct axes *x, struct axes_list *l, const struct shape *s,
               const unsigned *order)
{
    struct axes_list to = {0};

    for (unsigned d = 0; d < s->n; d++) {
        for (unsigned i = 0; i < s->n; i++) {
            unsigned first = 0, n = order[i] == d ? axes_part(x, l, s, i, &first) : 0;
            memcpy(to.id + to.n, l->id + first, n);
            to.n += n;
        }
    }
    *l = to;
}
