/* SPDX-License-Identifier: MIT
 *
 * Which tiling: sizes of tiles, of chunks and slices of k, and what stays in L1, are tried
 * and the cheapest (cost.h) is taken.
 */
#include <stdio.h>

#include "hal/contract/cost.h"
#include "kernels/mm/cost.h"
#include "kernels/mm/inside.h"

enum {
    SLOTS_MORE = 2 /* than two */,
    FRACTALS = 64 /* of a side of a tile, at most */,
    SPLIT_K = 1024,       /* k that is worth to be cut */
    SPLIT_AREA = 1 << 18, /* elements of c, at most */
    SPLIT_CORES = 24,     /* of the chip that is cut for */
    BARRIER = 100,        /* cycles until all cores have come so far */
    ADD = 20,        /* cycles that an addition of the Vector takes besides its repeats */
    ADD_LEAST = 128, /* elements of a core that adds, as parts.c has it */
    LANES = 64,
};

/* Bytes of a chunk of each operand in L1. */
static uint32_t chunk_bytes(const struct mm *mm, uint32_t side, uint32_t k)
{
    uint32_t unit = mm_unit(mm, true);

    return mm_up(side, unit) * mm_up(k, unit) * (type_bits(mm->a.type) / 8);
}

static uint32_t small_bytes(const struct mm *mm, uint32_t n)
{
    uint32_t bias = mm->bias ? mm_up(n * MM_BIAS_BYTES, 64) : 0;

    return 2 * (bias + mm_fb_bytes(mm, n));
}

/* Gives the slots what L1 has; false: too little. */
static bool share_l1(const struct mm_search *s, struct mm_candidate *c)
{
    const struct mm *mm = s->mm;
    uint32_t a = chunk_bytes(mm, c->t.m, c->t.a_whole ? s->k : c->t.k);
    uint32_t b = chunk_bytes(mm, c->t.n, c->t.k);
    uint32_t all = mm->l1_bytes ? mm->l1_bytes : s->r.l1_bytes - mm->l1_begin;
    uint32_t small = small_bytes(mm, c->t.n), needs;

    c->t.a_slots = (uint16_t)(c->t.a_stays ? c->chunks : c->t.a_whole ? 1 : 2);
    c->t.b_slots = (uint16_t)(c->t.b_stays ? c->chunks : 2);
    if (c->chunks > 255 && (c->t.a_stays || c->t.b_stays)) {
        return false;
    }
    needs = c->t.a_slots * a + c->t.b_slots * b + small;
    if (needs > all) {
        return false;
    }
    if (c->chunks == 1 && c->t.a_stays && needs + a <= all) {
        c->t.a_slots = 2; /* or each new panel would be waited for */
        needs += a;
    } else if (c->chunks == 1 && c->t.b_stays && needs + b <= all) {
        c->t.b_slots = 2;
        needs += b;
    }
    for (unsigned more = SLOTS_MORE; more; more--) { /* what streams */
        bool still = c->t.a_stays || c->t.a_whole;
        uint32_t bytes = (still ? 0 : a) + (c->t.b_stays ? 0 : b);
        if (needs + more * bytes <= all) {
            c->t.a_slots = (uint16_t)(c->t.a_slots + (still ? 0 : more));
            c->t.b_slots = (uint16_t)(c->t.b_slots + (c->t.b_stays ? 0 : more));
            break;
        }
    }
    return true;
}

/* What is more than two pieces of columns is recorded whole. */
static bool few(const struct mm_candidate *c, uint32_t slices)
{
    uint32_t pieces = mm_count(c->t.n, c->t.columns);

    return pieces <= 2 || (c->chunks == 1 && pieces * (2 * slices + 1) <= PIPE_DEPTH);
}

/* With k in so many chunks. */
static void try_chunk(struct mm_search *s, struct mm_candidate *c, uint32_t chunks)
{
    uint32_t unit = mm_unit_k(s->mm), most = c->t.slice, slices;

    c->t.k = mm_up(mm_count(s->k, chunks), unit);
    c->chunks = mm_count(s->k, c->t.k);
    slices = mm_count(c->t.k, most);
    c->t.slice = mm_up(mm_count(c->t.k, slices), unit);
    if (slices <= PIPE_DEPTH / 2 - 1 && few(c, slices) && share_l1(s, c)) {
        uint64_t cycles = mm_cost(s, c);
        if (!s->found || cycles < s->best) {
            s->found = true;
            s->best = cycles;
            s->tiling = c->t;
        }
    }
    c->t.slice = most;
}

/* Chunks whose rows in GM are some powers of two of bytes, or a little more: k in equal
 * pieces. */
static void try_chunks(struct mm_search *s, struct mm_candidate *c)
{
    uint32_t es = type_bits(s->mm->a.type) / 8, last = 0;

    for (uint32_t bytes = 2048; bytes >= 128; bytes /= 2) {
        uint32_t chunks = mm_count(s->k, bytes / es);
        if (chunks - 1 > last && chunks < 8) {
            try_chunk(s, c, chunks - 1);
        }
        if (chunks > last) {
            try_chunk(s, c, chunks);
        }
        last = chunks;
    }
}

/* Tiles of fm x fn units; false: L0 or L0C is too small. */
static bool size(const struct mm_search *s, struct mm_candidate *c, uint32_t fm,
                 uint32_t fn)
{
    const struct mm *mm = s->mm;
    uint32_t um = mm_unit_m(mm), un = mm_unit_n(mm), es = type_bits(mm->a.type) / 8;
    uint32_t unit = mm_unit_k(mm), a, b;

    c->t = (struct mm_tiling){.m = fm * um, .n = fn * un, .columns = fn * un};
    c->mt = mm_min(c->t.m, mm->shape.m);
    c->nt = mm_min(c->t.n, mm->shape.n);
    if (2 * c->t.m * c->t.n * MM_SUM_BYTES > s->r.l0c_bytes ||
        (mm->bias && c->t.n * MM_BIAS_BYTES > mm_bt_slot())) {
        c->t.columns = mm_count(fn, 2) * un;
    }
    if (c->t.m * c->t.n * MM_SUM_BYTES > s->r.l0c_bytes) { /* columns by turns */
        uint32_t most = s->r.l0c_bytes / 2 / (c->t.m * MM_SUM_BYTES) / un;
        c->t.columns = most ? mm_count(fn, mm_count(fn, most)) * un : 0;
    }
    if (c->t.columns == 0) {
        return false;
    }
    a = mm_l0a_slot() / (c->t.m * es) / unit * unit;
    b = mm_l0b_slot() / (mm_up(c->t.columns, 16) * es) / unit * unit;
    c->t.slice = mm_min(a, b);
    return (!mm->tile_bytes || c->t.m * c->t.n * MM_SUM_BYTES <= mm->tile_bytes) &&
           (mm_in_halves(&c->t) ? c->t.m * c->t.n : 2 * c->t.m * c->t.columns) *
                   MM_SUM_BYTES <=
               s->r.l0c_bytes &&
           (!mm->bias || c->t.columns * MM_BIAS_BYTES <= mm_bt_slot()) &&
           mm_fb_bytes(mm, c->t.columns) <= chip_mem(NPU_MEM_FB) && c->t.slice >= unit &&
           c->t.m <= 4080 && c->t.columns <= 4080;
}

/* Whether tiles of that size can be what was asked for. */
static bool allowed(const struct mm_search *s, const struct mm_candidate *c)
{
    return s->strategy == MM_SMALL  ? c->tiles == s->mm->shape.batch
           : s->strategy == MM_TALL ? c->rows == 1 || c->cols == 1
                                    : true;
}

/* Whether a tile's panel of a can come by one load. */
static bool may_be_whole(const struct mm_search *s, const struct mm_candidate *c)
{
    const struct mm_operand *a = &s->mm->a;
    uint32_t columns = a->transposed ? c->t.m : s->k;

    return mm_may_be_rows(s->mm, a) && columns <= MM_ROW_PIXELS * type_c0(a->type);
}

static void try_tile(struct mm_search *s, uint32_t fm, uint32_t fn)
{
    const struct mm_shape *shape = &s->mm->shape;
    struct mm_candidate c;
    uint64_t least;

    if (!size(s, &c, fm, fn)) {
        return;
    }
    c.rows = mm_pieces(shape->m, mm_unit_m(s->mm), c.t.m);
    c.cols = mm_pieces(shape->n, mm_unit_n(s->mm), c.t.n);
    c.tiles = c.rows * c.cols * shape->batch * s->parts;
    c.rounds = mm_count(c.tiles, s->cores);
    least = (uint64_t)c.rounds * mm_count(c.mt, 16) * mm_count(c.nt, 16) *
            mm_count(s->k, type_c0(s->mm->a.type));
    if (!allowed(s, &c) || (s->found && least >= s->best)) {
        return;
    }
    for (unsigned stays = 0; stays < 3; stays++) {
        c.t.a_stays = stays == 1;
        c.t.b_stays = stays == 2;
        if ((stays == 1 && (c.cols == 1 || s->strategy == MM_TALL) && c.rows > 1) ||
            (stays == 2 && c.rows == 1)) {
            continue;
        }
        c.t.rows = false;
        try_chunks(s, &c);
        c.t.rows = c.rounds == 1; /* in a longer stream their start is paid too often */
        if (c.t.rows) {
            try_chunks(s, &c);
        }
        c.t.a_whole = c.t.rows && stays == 0 && may_be_whole(s, &c);
        if (c.t.a_whole) {
            try_chunks(s, &c);
            c.t.a_whole = false;
        }
    }
}

/* The next smaller size than `than`, in units, that cuts so many of them into equal pieces. */
static uint32_t next_size(uint32_t units, uint32_t than)
{
    return than > 1 ? mm_count(units, mm_count(units, than - 1)) : 0;
}

static void search(struct mm_search *s)
{
    uint32_t um = mm_count(s->mm->shape.m, mm_unit_m(s->mm));
    uint32_t un = mm_count(s->mm->shape.n, mm_unit_n(s->mm));

    for (uint32_t fm = mm_min(um, FRACTALS); fm; fm = next_size(um, fm)) {
        for (uint32_t fn = mm_min(un, FRACTALS); fn; fn = next_size(un, fn)) {
            try_tile(s, fm, fn);
        }
    }
}

static struct mm_search plan_for(const struct mm *mm, unsigned cores,
                                 enum mm_strategy strategy, uint32_t parts)
{
    uint32_t unit = mm_unit_k(mm);
    struct mm_search s = {.mm = mm,
                          .r = mm_rates_of_the_chip(),
                          .cores = cores,
                          .strategy = strategy,
                          .parts = parts};

    s.k = mm_min(mm->shape.k, mm_count(mm_count(mm->shape.k, unit), parts) * unit);
    search(&s);
    s.tiling.parts = parts;
    return s;
}

/* What it takes to add the parts of c, on so many cores. */
static uint64_t cost_of_parts(const struct mm *mm, unsigned cores, uint32_t parts)
{
    uint32_t all = mm->shape.m * mm->shape.n;
    uint32_t adders = mm_min(cores, mm_count(all, ADD_LEAST)), share = all / adders;
    uint64_t bytes = (uint64_t)all * parts * MM_SUM_BYTES;
    uint64_t load =
        cost_gm_rows(parts, share * MM_SUM_BYTES, chip_cost(COST_GM_ROW_BYTES),
                     chip_cost(COST_GM_UB_RATE));
    uint64_t shared = bytes / chip_cost(COST_L2_READ_RATE);
    uint64_t adds = (uint64_t)share / LANES * (parts - 1) / 2 + ADD * parts;

    if (mm_in_any_order(mm)) {
        return 0; /* c is made zeros while the first loads are under way */
    }
    return BARRIER + chip_cost(COST_GM_UB_FIXED) + chip_cost(COST_UB_GM_FIXED) +
           (load > shared ? load : shared) + adds +
           share * MM_SUM_BYTES / chip_cost(COST_UB_GM_RATE) / 2;
}

/* Sums of parts can be added: they are c as it is. */
static bool may_split(const struct mm *mm)
{
    const struct mm_shape *s = &mm->shape;

    return s->batch == 1 && s->k >= SPLIT_K && !mm->scaled && !mm->act.relu &&
           !mm->act.clip && mm->c_type == mm_sum_type(mm) &&
           (mm->c_pitch == 0 || mm->c_pitch == s->n);
}

/* So many cores compute c in parts and add them. */
static uint64_t cost_in_parts(const struct mm *mm, unsigned cores, uint32_t parts)
{
    struct mm_search s = plan_for(mm, cores, MM_GENERAL, parts);

    return !s.found ? UINT64_MAX
                    : s.best + (parts > 1 ? cost_of_parts(mm, cores, parts) : 0);
}

/* In how many parts k is cheapest on a chip of SPLIT_CORES cores, where it gains a seventh and
 * costs a single core two thirds more at most. What the machine has does not matter, or results
 * would depend on it. */
static uint32_t best_parts(const struct mm *mm)
{
    static const uint8_t tried[] = {2, 3, 4, 6, 8, 12, MM_PARTS};
    uint64_t least, alone;
    uint32_t best = 1;

    if (!may_split(mm) || (uint64_t)mm->shape.m * mm->shape.n > SPLIT_AREA) {
        return 1;
    }
    least = cost_in_parts(mm, SPLIT_CORES, 1) * 6 / 7;
    alone = cost_in_parts(mm, 1, 1) * 5 / 3;
    for (unsigned i = 0; i < sizeof(tried); i++) {
        uint64_t cycles = cost_in_parts(mm, SPLIT_CORES, tried[i]);
        if (cycles < least && cost_in_parts(mm, 1, tried[i]) <= alone) {
            least = cycles;
            best = tried[i];
        }
    }
    return best;
}

/* What the tiling turned out to be. */
static enum mm_strategy name_of(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t rows = mm_pieces(mm->shape.m, mm_unit_m(mm), t->m);
    uint32_t cols = mm_pieces(mm->shape.n, mm_unit_n(mm), t->n);

    return mm->shape.batch > 1                                      ? MM_BATCH
           : rows * cols == 1                                       ? MM_SMALL
           : (t->b_stays && cols == 1) || (t->a_stays && rows == 1) ? MM_TALL
                                                                    : MM_GENERAL;
}

/* c as a column: a and b are each other, as columns. */
void mm_turn(struct mm *mm)
{
    struct mm_operand a = mm->a;
    uint32_t m = mm->shape.m;

    mm->a = mm->b;
    mm->b = a;
    mm->a.transposed = !mm->a.transposed;
    mm->b.transposed = !mm->b.transposed;
    mm->shape.m = mm->shape.n;
    mm->shape.n = m;
    mm->c_product = mm->c_product ? mm->c_product
                    : mm->c_pitch ? mm->c_pitch
                                  : mm->shape.m;
    mm->c_pitch = 1;
    mm->turned = true;
}

/* Whether c can be a column, and may. */
static bool may_turn(const struct mm *mm, enum mm_strategy strategy)
{
    return mm->shape.m == 1 && !mm->bias && !mm->scale_words && !mm->slopes &&
           (strategy == MM_AUTO || strategy == MM_GEMV);
}

static const char *cannot(const struct mm *mm, enum mm_strategy strategy)
{
    switch (strategy) {
    case MM_GEMV:
        return may_turn(mm, strategy) ? NULL
                                      : "wants m = 1, no bias and no scales of columns";
    case MM_SPLIT_K:
        return may_split(mm) ? NULL : "wants a long k and sums as they are";
    case MM_BATCH:
        return mm->shape.batch > 1 ? NULL : "wants a batch";
    default:
        return NULL;
    }
}

/* The best tiling of the object, or of it turned. */
static struct mm_search best_of(struct mm *mm, unsigned cores, enum mm_strategy strategy)
{
    struct mm_search s = {0}, t;
    uint32_t parts = strategy == MM_AUTO && mm->adds ? best_parts(mm) : 1;
    struct mm turned = *mm;

    if (strategy == MM_SPLIT_K) {
        parts = mm_max(2, best_parts(mm));
    }
    if (strategy != MM_GEMV) {
        s = plan_for(mm, cores, strategy, parts);
    }
    if (may_turn(mm, strategy)) {
        mm_turn(&turned);
        t = plan_for(&turned, cores, strategy, parts);
        if (t.found && (!s.found || t.best < s.best)) {
            *mm = turned;
            s = t;
        }
    }
    return s;
}

int mm_plan(struct mm *mm, unsigned cores, enum mm_strategy strategy, char why[MM_TEXT])
{
    const char *no = cannot(mm, strategy);
    struct mm_search s;

    why[0] = 0;
    if (no) {
        snprintf(why, MM_TEXT, "strategy %s %s", mm_strategy_name(strategy), no);
        return ERR_ARG;
    }
    s = best_of(mm, cores ? cores : chip_cores(), strategy);
    if (!s.found) {
        snprintf(why, MM_TEXT, "strategy %s: no tiling of %lu x %lu x %lu fits",
                 mm_strategy_name(strategy), (unsigned long)mm->shape.m,
                 (unsigned long)mm->shape.n, (unsigned long)mm->shape.k);
        return strategy == MM_AUTO ? ERR_LOCAL : ERR_ARG;
    }
    mm->tiling = s.tiling;
    mm->tiling.cycles = s.best;
    mm->tiling.strategy = mm->turned           ? MM_GEMV
                          : s.tiling.parts > 1 ? MM_SPLIT_K
                                               : name_of(mm);
    mm->tiled = true;
    return 0;
}
