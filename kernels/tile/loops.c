/* SPDX-License-Identifier: MIT
 *
 * Loops over the tiles of a program, what of them a core has, and the commands that bring
 * a tile to UB and away; see plan.h.
 */
#include "hal/mte.h"
#include "kernels/lib/share.h"
#include "kernels/tile/plan.h"

static bool add(struct loop *loop, unsigned *n, unsigned group, uint64_t size,
                uint32_t tile)
{
    uint64_t count = (size + tile - 1) / tile;

    if (count <= 1 && *n) {
        return true;
    }
    if (*n == PLAN_LOOPS || count > UINT32_MAX) {
        return false;
    }
    loop[(*n)++] = (struct loop){.group = (uint8_t)group,
                                 .count = (uint32_t)count,
                                 .tile = tile,
                                 .tail = (uint32_t)(size % tile)};
    return true;
}

bool loops_make(const struct program *p, const struct way *w, struct loop *loop,
                unsigned *n)
{
    bool fits;

    *n = 0;
    fits =
        add(loop, n, p->row, p->rows, w->rows) && add(loop, n, p->col, p->cols, w->cols);
    for (unsigned g = p->n_groups; g-- > 0 && fits;) {
        if (g != p->row && g != p->col) {
            fits = add(loop, n, g, p->group[g].size, 1);
        }
    }
    return fits;
}

static uint64_t tensor_stride(const struct program *p, const struct tile_tensor *t,
                              unsigned group)
{
    return group < p->n_groups ? program_stride(p, t, group) * esize_of(t->type) : 0;
}

/* Whether every result that tiles store has the loop's dimensions; else each of its tiles
 * stores some result anew. */
static bool all_results_have(const struct program *p, const struct loop *loop)
{
    for (unsigned r = 0; r < p->k->n_results; r++) {
        const struct node *n = &p->node[p->result[r]];
        if (loop->count > 1 && (n->body || n->outer) &&
            tensor_stride(p, &p->k->result[r].tensor, loop->group) == 0) {
            return false;
        }
    }
    return true;
}

bool loops_store_again(const struct program *p, const struct loop *loop, unsigned n)
{
    for (unsigned l = 0; l < n; l++) {
        if (!all_results_have(p, &loop[l])) {
            return true;
        }
    }
    return false;
}

unsigned loops_dealt(const struct program *p, const struct loop *loop, unsigned n,
                     uint32_t *unit)
{
    unsigned dealt = n;

    for (unsigned l = 0; l < n; l++) {
        if (all_results_have(p, &loop[l]) &&
            (dealt == n || loop[l].count > loop[dealt].count)) {
            dealt = l;
        }
    }
    if (dealt == n) { /* one core has it all */
        *unit = loop[0].count;
        return 0;
    }
    *unit = 1;
    for (unsigned r = 0; r < p->k->n_results; r++) {
        const struct tile_tensor *t = &p->k->result[r].tensor;
        uint64_t bytes = tensor_stride(p, t, loop[dealt].group) * loop[dealt].tile;
        while (!p->k->result[r].scratch && bytes * *unit % BLOCK) {
            *unit *= 2;
        }
    }
    return dealt;
}

struct share loops_share(const struct loop *loop, unsigned n, unsigned dealt,
                         uint32_t unit, unsigned core, unsigned cores)
{
    struct share s = {0};

    for (unsigned l = 0; l < n; l++) {
        s.count[l] = loop[l].count;
    }
    s.first[dealt] = (uint32_t)share_begin(loop[dealt].count, unit, core, cores);
    s.count[dealt] =
        (uint32_t)share_begin(loop[dealt].count, unit, core + 1, cores) - s.first[dealt];
    return s;
}

uint64_t loops_stride(const struct program *p, const struct loop *loop,
                      const struct tile_tensor *t)
{
    return tensor_stride(p, t, loop->group) * loop->tile;
}

uint64_t loops_tiles(const struct program *p, const struct loop *loop, unsigned n,
                     const struct share *share, unsigned variant, struct share *rounds)
{
    unsigned tails = 0;
    uint64_t tiles = 1;

    for (unsigned l = 0; l < n; l++) {
        unsigned bit = loop[l].group == p->row ? 1 : loop[l].group == p->col ? 2 : 0;
        uint32_t whole = loop[l].count - (loop[l].tail != 0);
        uint32_t first = share->first[l], end = first + share->count[l];
        bool tail = variant & bit;
        uint32_t count = tail            ? loop[l].tail && first <= whole && whole < end
                         : end < whole   ? end - first
                         : first < whole ? whole - first
                                         : 0;
        tails |= bit;
        tiles *= count;
        if (rounds) {
            rounds->first[l] = tail ? whole : first;
            rounds->count[l] = count;
        }
    }
    return variant & ~tails ? 0 : tiles;
}

/* Elements of a group in a tile of the variant. */
static uint32_t extent(const struct loop *loop, unsigned n, unsigned group, uint64_t size,
                       uint32_t tile, bool tail)
{
    for (unsigned l = 0; l < n; l++) {
        if (loop[l].group == group && tail) {
            return loop[l].tail;
        }
    }
    return size < tile ? (uint32_t)size : tile;
}

void loops_command(const struct program *p, const struct way *w, const struct loop *loop,
                   unsigned n, const struct tile_tensor *t, bool store, unsigned variant,
                   uint32_t ub, union cmd *cmd)
{
    uint32_t rows = extent(loop, n, p->row, p->rows, w->rows, variant & 1);
    uint32_t cols = extent(loop, n, p->col, p->cols, w->cols, variant & 2);
    uint32_t esize = esize_of(t->type);
    uint64_t down = tensor_stride(p, t, p->row), along = tensor_stride(p, t, p->col);
    struct mte_rows r = {.n_rows = 1, .row_bytes = esize};

    if (along) {
        r.row_bytes = cols * esize;
    }
    if (along && down) {
        r.n_rows = rows;
        r.gm_pitch_bytes = rows > 1 ? (uint32_t)down : 0;
        r.local_pitch_bytes = w->pitch * esize;
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
    if (store) {
        mte_ub_to_gm_rows(cmd, NULL, ub, &r);
    } else {
        mte_gm_to_ub_rows(cmd, ub, NULL, &r);
    }
}
