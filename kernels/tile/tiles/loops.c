/* SPDX-License-Identifier: MIT
 *
 * Loops over the tiles of a program, what of them a core has, and the commands that bring
 * a tile to UB and away; see loops.h.
 */
#include "hal/mte.h"
#include "kernels/lib/share.h"
#include "kernels/tile/tiles/loops.h"

static bool add(struct loops *l, unsigned group, uint64_t size, uint32_t tile)
{
    uint64_t count = (size + tile - 1) / tile;

    if (count <= 1 && l->n) {
        return true;
    }
    if (l->n == PLAN_LOOPS || count > UINT32_MAX) {
        return false;
    }
    l->loop[l->n++] = (struct loop){.group = (uint8_t)group,
                                    .count = (uint32_t)count,
                                    .tile = tile,
                                    .tail = (uint32_t)(size % tile)};
    return true;
}

static uint64_t tensor_stride(const struct program *p, const struct tile_tensor *t,
                              unsigned group)
{
    return group < p->n_groups ? program_stride(p, t, group) * esize_of(t->type) : 0;
}

/* Whether a result that tiles store has not the loop's dimensions: each of these stores it. */
static bool is_stored_again(const struct program *p, unsigned r, const struct loop *loop)
{
    const struct node *n = &p->node[p->result[r]];

    return loop->count > 1 && (n->body || n->outer) &&
           tensor_stride(p, &p->k->result[r].tensor, loop->group) == 0;
}

static bool all_results_have(const struct program *p, const struct loop *loop)
{
    for (unsigned r = 0; r < p->k->n_results; r++) {
        if (is_stored_again(p, r, loop)) {
            return false;
        }
    }
    return true;
}

bool loops_store_again(const struct loops *l)
{
    for (unsigned i = 0; i < l->n; i++) {
        if (!all_results_have(l->p, &l->loop[i])) {
            return true;
        }
    }
    return false;
}

static void deal(struct loops *l)
{
    const struct program *p = l->p;
    const struct loop *dealt;

    l->dealt = l->n;
    for (unsigned i = 0; i < l->n; i++) {
        if (all_results_have(p, &l->loop[i]) &&
            (l->dealt == l->n || l->loop[i].count > l->loop[l->dealt].count)) {
            l->dealt = i;
        }
    }
    if (l->dealt == l->n) { /* one core has it all */
        l->unit = l->loop[0].count;
        l->dealt = 0;
        return;
    }
    l->unit = 1;
    dealt = &l->loop[l->dealt];
    for (unsigned r = 0; r < p->k->n_results; r++) {
        const struct tile_tensor *t = &p->k->result[r].tensor;
        uint64_t bytes = tensor_stride(p, t, dealt->group) * dealt->tile;
        while (!p->k->result[r].scratch && bytes * l->unit % BLOCK) {
            l->unit *= 2;
        }
    }
}

/* What is added to what is there has to be stored once. */
static bool adds_again(const struct loops *l)
{
    for (unsigned r = 0; r < l->p->k->n_results; r++) {
        for (unsigned i = 0; i < l->n && l->p->k->result[r].adds; i++) {
            if (is_stored_again(l->p, r, &l->loop[i])) {
                return true;
            }
        }
    }
    return false;
}

const char *loops_make(struct loops *l, const struct program *p, const struct way *w)
{
    bool fits;

    *l = (struct loops){.p = p, .w = w};
    fits = add(l, p->row, p->rows, w->rows) && add(l, p->col, p->cols, w->cols);
    for (unsigned g = p->n_groups; g-- > 0 && fits;) {
        if (g != p->row && g != p->col) {
            fits = add(l, g, p->group[g].size, 1);
        }
    }
    if (fits) {
        deal(l);
    }
    return !fits           ? "more loops than a sequence nests"
           : adds_again(l) ? "a result of '+=' would be added more than once"
                           : NULL;
}

struct share loops_share(const struct loops *l, unsigned core, unsigned cores)
{
    uint32_t count = l->loop[l->dealt].count, first;
    struct share s = {0};

    for (unsigned i = 0; i < l->n; i++) {
        s.count[i] = l->loop[i].count;
    }
    first = (uint32_t)share_begin(count, l->unit, core, cores);
    s.first[l->dealt] = first;
    s.count[l->dealt] = (uint32_t)share_begin(count, l->unit, core + 1, cores) - first;
    return s;
}

uint64_t loops_stride(const struct loops *l, unsigned i, const struct tile_tensor *t)
{
    return tensor_stride(l->p, t, l->loop[i].group) * l->loop[i].tile;
}

uint64_t loops_tiles(const struct loops *l, const struct share *share, unsigned variant,
                     struct share *rounds)
{
    unsigned tails = 0;
    uint64_t tiles = 1;

    for (unsigned i = 0; i < l->n; i++) {
        const struct loop *o = &l->loop[i];
        unsigned bit = o->group == l->p->row ? 1 : o->group == l->p->col ? 2 : 0;
        uint32_t whole = o->count - (o->tail != 0);
        uint32_t first = share->first[i], end = first + share->count[i];
        bool tail = variant & bit;
        uint32_t count = tail            ? o->tail && first <= whole && whole < end
                         : end < whole   ? end - first
                         : first < whole ? whole - first
                                         : 0;
        tails |= bit;
        tiles *= count;
        if (rounds) {
            rounds->first[i] = tail ? whole : first;
            rounds->count[i] = count;
        }
    }
    return variant & ~tails ? 0 : tiles;
}

/* Elements of a group in a tile, the last one of the loop over it or another. */
static uint32_t extent(const struct loops *l, unsigned group, uint32_t tile, bool tail)
{
    uint64_t size = group == l->p->row ? l->p->rows : l->p->cols;

    for (unsigned i = 0; i < l->n; i++) {
        if (l->loop[i].group == group && tail) {
            return l->loop[i].tail;
        }
    }
    return size < tile ? (uint32_t)size : tile;
}

void loops_transfer(const struct program *p, const struct transfer *x, uint32_t rows,
                    uint32_t cols, uint32_t pitch, union cmd *cmd)
{
    const struct tile_tensor *t = x->tensor;
    uint32_t esize = esize_of(t->type);
    uint64_t down = tensor_stride(p, t, p->row), along = tensor_stride(p, t, p->col);
    struct mte_rows r = {.n_rows = 1, .row_bytes = esize};

    if (along) {
        r.row_bytes = cols * esize;
    }
    if (along && down) {
        r.n_rows = rows;
        r.gm_pitch_bytes = rows > 1 ? (uint32_t)down : 0;
        r.local_pitch_bytes = pitch * esize;
    } else if (down > esize) { /* each in a block of its own */
        r.n_rows = rows;
        r.gm_pitch_bytes = rows > 1 ? (uint32_t)down : 0;
        r.local_pitch_bytes = BLOCK;
    } else if (down) {
        r.row_bytes = rows * esize;
    }
    if (r.n_rows > 1 && r.row_bytes == r.gm_pitch_bytes &&
        r.row_bytes == r.local_pitch_bytes) {
        r.row_bytes *= r.n_rows;
        r.n_rows = 1;
        r.gm_pitch_bytes = r.local_pitch_bytes = 0;
    }
    if (x->store) {
        mte_ub_to_gm_rows(cmd, NULL, x->ub, &r);
    } else {
        mte_gm_to_ub_rows(cmd, x->ub, NULL, &r);
    }
}

void loops_command(const struct loops *l, const struct transfer *x, union cmd *cmd)
{
    loops_transfer(l->p, x, extent(l, l->p->row, l->w->rows, x->variant & 1),
                   extent(l, l->p->col, l->w->cols, x->variant & 2), l->w->pitch, cmd);
}
