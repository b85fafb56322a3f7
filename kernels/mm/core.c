/* SPDX-License-Identifier: MIT
 *
 * What a core takes for its tiles; see cost.h. Loads, products and ways out follow each other as
 * they do in its queues: a load waits for a slot of L1, products for their loads and a slot of
 * L0C; cores that load at one time share L2's rate.
 */
#include "kernels/lib/share.h"
#include "kernels/mm/cost.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/room.h"

/* Instructions of the hart for a block to begin, with a script of all that it does, for a tile,
 * to add that to others, a load, the products of a chunk; to record those. */
enum {
    HART_BLOCK = 800,
    HART_SCRIPT = 264,
    HART_TILE = 500,
    HART_ADD = 1000,
    HART_LOAD = 280,
    HART_PRODUCTS = 180,
    HART_RECORD = 450,
};

enum {
    FOLLOWED = 3,        /* tiles of a core, of more the others take as long as these */
    WAITS = 4,           /* of parts that go round the cores, a quarter more */
    SLACK = 64,          /* of loads: what they are to have left */
    SLACK_IN_ORDER = 16, /* where fewer are ahead of products */
    LATE = 3,            /* of a hart that has no rest, a third more */
    SLOTS = 16,          /* of L1 that are looked at; of more there are always enough */
};

/* Until all cores that have a tile have begun, one after the other; parts of k are the less
 * the later (walk.h). */
uint64_t mm_begin_of(const struct mm_search *s, const struct mm_candidate *c, bool script)
{
    uint64_t each = s->parts > 2 ? 0 : script ? HART_SCRIPT : HART_BLOCK;

    return each * (mm_min(c->tiles, s->cores) - 1) / s->cores;
}

/* Until the last of the parts that are added one behind the other is ready: so many of them
 * are there at one time, and they are cut so that their mean is not late. */
uint64_t mm_chain_of(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t at_once = mm_min(s->parts, mm_count(s->cores, c->tiles / s->parts));

    return mm_chained(s->mm, s->parts) ? (uint64_t)(at_once - 1) * s->r.least / 2 : 0;
}

/* What is worked out is a little too much: the mean of 64 shapes on 1 to 32 cores
 * (tools/bench-matmul sweep). */
uint64_t mm_as_measured(const struct mm_search *s, const struct mm_candidate *c,
                        uint64_t cycles)
{
    if (c->rounds > 1) {
        return cycles;
    }
    if (s->parts > 1) {
        return cycles - cycles / 42;
    }
    return cycles - cycles / (s->mm->turned ? 12 : 25);
}

/* Whether the commands of a core's share are few enough to be kept (script.h). */
static bool is_script(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t slices = mm_count(c->t.k, c->t.slice);
    uint32_t pieces = mm_count(c->nt, c->t.columns);
    uint32_t products = c->rounds * c->chunks * pieces * slices;

    return (c->rounds == 1 ||
            (s->mm->adds &&
             c->rounds * (pieces + (s->parts > 1 ? 2 : 0)) <= PIPE_DEPTH)) &&
           2 * c->chunks * c->rounds <= MM_SCRIPT_LOADS &&
           2 * products + products / slices <= MM_SCRIPT_FEEDS &&
           products <= MM_SCRIPT_PRODUCTS;
}

static struct mm_load more_load(struct mm_load l, struct mm_load of, uint32_t times)
{
    l.alone += times * (of.alone + of.next);
    l.shared += times * (of.shared + of.next);
    return l;
}

/* Until the first of a tile's chunks has been loaded, the last but one, the last, by cores of
 * which the last begins so much later. */
struct loaded {
    uint64_t first, before, last, start;
};

static uint64_t until(struct mm_load l, uint64_t begins)
{
    return max_u64(l.alone, l.shared > begins ? l.shared - begins : 0);
}

static struct loaded loads_of(const struct mm_search *s, const struct mm_candidate *c,
                              uint64_t begins)
{
    uint32_t kt = mm_min(c->t.k, s->k), last = s->k - (c->chunks - 1) * c->t.k;
    uint32_t cores = mm_min(c->tiles, s->cores);
    bool whole = c->t.a_whole;
    struct mm_load a = mm_load_of(s, c, &s->mm->a, whole ? s->k : kt, cores), l = a;
    struct mm_load b = mm_load_of(s, c, &s->mm->b, kt, cores);
    struct loaded all = {.start = a.start};

    l = more_load(l, b, 1);
    all.first = until(l, begins);
    l = more_load(more_load(l, a, whole || c->chunks < 2 ? 0 : c->chunks - 2), b,
                  c->chunks < 2 ? 0 : c->chunks - 2);
    all.before = all.last = until(l, begins);
    if (c->chunks > 1) {
        l = more_load(l, mm_load_of(s, c, &s->mm->b, last, cores), 1);
        a = mm_load_of(s, c, &s->mm->a, last, cores);
        all.last = until(more_load(l, a, !whole), begins);
    }
    return all;
}

/* Whether a room (room.h) holds the products of all slots in turn, the first ones of a tile, the
 * last ones and those between them. */
static bool fits_room(const struct mm_candidate *c, uint32_t pieces)
{
    uint32_t keys = mm_keys_of(c);
    uint32_t commands = 3 * mm_count(c->t.k, c->t.slice) + 1;

    return keys < MM_ROOM_SLOTS / 2 &&
           keys * mm_min(pieces, 2) * commands * sizeof(union cmd) <=
               MM_ROOM_BLOCKS * MM_BLOCK_BYTES;
}

/* What the hart takes for so many tiles: it issues, and records again what its room does not
 * hold. */
static uint64_t hart_of(const struct mm_search *s, const struct mm_candidate *c,
                        uint32_t rounds)
{
    uint32_t pieces = mm_count(c->nt, c->t.columns), products = c->chunks * pieces;
    uint32_t as = c->t.a_stays ? mm_count(rounds, c->cols) : rounds;
    uint32_t bs = c->t.b_stays ? mm_count(rounds, c->rows) : rounds;
    uint32_t each = HART_PRODUCTS + (fits_room(c, pieces) ? 0 : HART_RECORD);

    return (uint64_t)rounds *
               (HART_TILE + (s->parts > 1 ? HART_ADD : 0u) + products * each) +
           (uint64_t)(as + bs) * c->chunks * HART_LOAD;
}

/* The hart is late for some cores that wait for it, the more the busier it is. */
static uint64_t with_hart(const struct mm_search *s, uint64_t cycles, uint64_t hart)
{
    uint64_t most = max_u64(cycles, hart);

    return most + (s->cores > 1 ? hart * hart / most / LATE : 0);
}

/* Cycles of a core that has one tile: its products follow the loads, the first ones the first,
 * or the last ones the last. */
static uint64_t cost_tile(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t kt = mm_min(c->t.k, s->k), last = s->k - (c->chunks - 1) * c->t.k;
    bool script = is_script(s, c);
    uint64_t begins = mm_begin_of(s, c, script), out, outs = mm_outs_of(s, c, &out);
    uint64_t behind, cycles, end;
    struct loaded at = loads_of(s, c, begins);

    end = mm_products_of(s, c, last, 0, &behind);
    cycles = at.first;
    if (c->chunks > 1) {
        uint64_t ignored, full = mm_products_of(s, c, kt, kt, &ignored);
        cycles = max_u64(cycles + (c->chunks - 2) * full, at.before);
        cycles += mm_products_of(s, c, kt, last, &ignored);
    }
    cycles = max_u64(cycles, at.last) + mm_first_feed(s, c) + end + at.start;
    cycles += max_u64(out, outs > behind ? outs - behind : 0);
    cycles = script ? cycles : with_hart(s, cycles, hart_of(s, c, 1));
    return begins + cycles + mm_chain_of(s, c);
}

/* A stream of tiles: what the chunks of a tile take, the last one's besides, and until when what
 * is busy. */
struct stream {
    struct mm_load a[2], b[2];
    uint64_t products[3], behind, outs, out; /* of a chunk, before the last, the last */
    uint64_t feed, slice; /* until the first begins; of the last slice */
    uint64_t a_free[SLOTS], b_free[SLOTS];
    uint64_t loads, busy, cube, fix, left, c_free[2];
    uint32_t a_at, b_at;
};

/* Loads of a and b follow each other at once, of other cores at other times: what one of them
 * has left of L2 the other one takes. */
static void share(struct mm_load *a, struct mm_load *b)
{
    uint64_t alone = a->alone + b->alone, l2 = max_u64(a->l2 + b->l2, alone);

    if (alone) {
        a->shared = l2 * a->alone / alone;
        b->shared = l2 * b->alone / alone;
    }
}

/* What chunks take, those before the last and the last. */
static void stream_chunks(struct stream *x, const struct mm_search *s,
                          const struct mm_candidate *c, uint32_t kt, uint32_t last)
{
    uint32_t cores = mm_min(c->tiles, s->cores);
    bool apart = !c->t.a_stays && !c->t.b_stays;
    uint64_t ignored;

    x->a[1] = x->a[0] = mm_load_of(s, c, &s->mm->a, kt, cores);
    x->b[1] = x->b[0] = mm_load_of(s, c, &s->mm->b, kt, cores);
    x->products[2] = mm_products_of(s, c, last, kt, &x->behind);
    x->products[1] = x->products[0] = x->products[2];
    if (last < kt) {
        x->a[1] = mm_load_of(s, c, &s->mm->a, last, cores);
        x->b[1] = mm_load_of(s, c, &s->mm->b, last, cores);
        x->products[0] = mm_products_of(s, c, kt, kt, &ignored);
        x->products[1] = mm_products_of(s, c, kt, last, &ignored);
    }
    if (apart) {
        share(&x->a[0], &x->b[0]);
        share(&x->a[1], &x->b[1]);
    }
}

/* A load to a slot that is free then. */
static void follow_load(struct stream *x, const struct mm_load *l, uint64_t free)
{
    x->loads = free > x->loads || x->loads == 0 ? free + l->start : x->loads + l->next;
    x->loads += l->shared;
    x->busy += l->next + l->shared;
}

/* A tile's way out behind its products: two slots of L0C that tiles have in turn, or pieces of
 * columns. */
static void follow_out(struct stream *x, const struct mm_candidate *c, uint32_t tile)
{
    if (c->t.columns >= c->nt) {
        x->fix = max_u64(x->fix, x->cube) + x->outs;
        x->c_free[tile % 2] = x->fix;
        return;
    }
    x->left = max_u64(x->fix, x->cube - x->behind) + x->outs - x->out;
    x->fix = max_u64(x->left, x->cube) + x->out;
}

/* A tile of the core's, with the loads that it needs. */
static void follow_tile(struct stream *x, const struct mm_candidate *c, uint32_t tile)
{
    bool a = !c->t.a_stays || tile % c->cols == 0, halves = c->t.columns < c->nt;
    bool b = !c->t.b_stays || tile % c->rows == 0;
    uint32_t a_slots = c->t.a_slots, b_slots = c->t.b_slots;
    uint64_t free = halves ? x->left : x->c_free[tile % 2];

    for (uint32_t i = 0; i < c->chunks; i++) {
        bool last = i + 1 == c->chunks;
        uint32_t as = (x->a_at + i) % a_slots, bs = (x->b_at + i) % b_slots;
        uint64_t products = x->products[last ? 2 : i + 2 == c->chunks ? 1 : 0];
        if (a) {
            follow_load(x, &x->a[last], as < SLOTS ? x->a_free[as] : 0);
        }
        if (b) {
            follow_load(x, &x->b[last], bs < SLOTS ? x->b_free[bs] : 0);
        }
        if ((a || b) && x->loads + x->feed > x->cube) {
            x->cube = x->loads + x->feed;
        }
        x->cube = max_u64(x->cube, i ? 0 : free) + products;
        if (halves && i == 0 && x->fix > x->cube - products / 2) {
            x->cube = x->fix + products / 2;
        }
        if (as < SLOTS) {
            x->a_free[as] = x->cube - x->slice;
        }
        if (bs < SLOTS) {
            x->b_free[bs] = x->cube - x->slice;
        }
    }
    follow_out(x, c, tile);
    x->a_at += !c->t.a_stays || (tile + 1) % c->cols == 0 ? c->chunks : 0;
    x->b_at += !c->t.b_stays || (tile + 1) % c->rows == 0 ? c->chunks : 0;
}

/* Whether parts of a tile are of several cores (walk.c), which wait for each other. */
static bool waits(const struct mm_search *s, const struct mm_candidate *c)
{
    uint32_t tiles = c->tiles / s->parts;

    return mm_chained(s->mm, s->parts) && s->cores > 1 && tiles % s->cores &&
           tiles < MM_EVEN * s->cores;
}

/* That takes so much at the least, by what streams alone: what is too much is not followed. */
static uint64_t least_of_stream(const struct stream *x, const struct mm_candidate *c,
                                uint32_t slack)
{
    uint64_t cube = (c->chunks - 1) * x->products[0] + x->products[2];
    uint64_t a = c->t.a_stays ? 0
                              : (c->chunks - 1) * (x->a[0].shared + x->a[0].next) +
                                    x->a[1].shared + x->a[1].next;
    uint64_t b = c->t.b_stays ? 0
                              : (c->chunks - 1) * (x->b[0].shared + x->b[0].next) +
                                    x->b[1].shared + x->b[1].next;

    cube = c->rounds * cube + x->a[0].shared + x->b[0].shared;
    return max_u64(cube, c->rounds * (a + b)) + c->rounds * (a + b) / slack;
}

/* What new panels of what stays take longer than tiles that have theirs, `each`, if the tiles that
 * were followed share one: their loads wait for slots of the one before. */
static uint64_t turns_of(struct stream *x, const struct mm_candidate *c, uint64_t each)
{
    uint32_t line = c->t.a_stays ? c->cols : c->t.b_stays ? c->rows : c->rounds;
    uint64_t begin = x->fix, free = x->c_free[0];

    if (line <= FOLLOWED || line >= c->rounds) {
        return 0;
    }
    x->c_free[0] = x->c_free[1]; /* what comes next has an odd number */
    x->c_free[1] = free;
    x->a_at += c->t.a_stays ? c->chunks : 0;
    x->b_at += c->t.b_stays ? c->chunks : 0;
    for (uint32_t i = 0; i < 2; i++) {
        follow_tile(x, c, 2 * line + i);
    }
    return (c->rounds - 1) / line * (max_u64(x->fix - begin, 2 * each) - 2 * each);
}
_Static_assert(FOLLOWED % 2 == 1, "turns_of()");

/* Cycles of a core that has some tiles: of the first ones, and of the others by the last of
 * these. */
static uint64_t cost_stream(const struct mm_search *s, const struct mm_candidate *c)
{
    bool script = is_script(s, c);
    struct stream x = {.loads = 0};
    uint32_t kt = mm_min(c->t.k, s->k), last = s->k - (c->chunks - 1) * c->t.k;
    uint32_t n = mm_min(c->rounds, FOLLOWED), pieces = mm_count(c->nt, c->t.columns);
    uint32_t slack = s->mm->in_order ? SLACK_IN_ORDER : SLACK;
    uint64_t half = 0, cycles;

    stream_chunks(&x, s, c, kt, last);
    cycles = least_of_stream(&x, c, slack);
    if (cycles + mm_first_of(c) >= s->best) {
        return cycles;
    }
    x.feed = mm_first_feed(s, c);
    x.slice = x.products[2] / (pieces * mm_count(last, c->t.slice));
    x.outs = mm_outs_of(s, c, &x.out);
    for (uint32_t i = 0; i < n; i++) {
        follow_tile(&x, c, i);
        half = i + 1 == n / 2 ? x.fix : half;
    }
    cycles = x.fix + (c->rounds - n) * (x.fix - half) / (n - n / 2);
    cycles += x.busy / n * c->rounds / slack;
    if (cycles >= s->best) {
        return cycles;
    }
    cycles += turns_of(&x, c, (x.fix - half) / (n - n / 2));
    cycles += waits(s, c) ? cycles / WAITS : 0;
    cycles = script ? cycles : with_hart(s, cycles, hart_of(s, c, c->rounds));
    return mm_begin_of(s, c, script) + cycles + mm_chain_of(s, c);
}

uint64_t mm_cost(const struct mm_search *s, struct mm_candidate *c)
{
    return mm_as_measured(s, c, c->rounds == 1 ? cost_tile(s, c) : cost_stream(s, c));
}
