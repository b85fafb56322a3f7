/* SPDX-License-Identifier: MIT
 *
 * Parts of k: how many of them are worth it, see cost.h, and the zeros with which those begin
 * that are added to c as they come: each block makes its share of c that, and waits for the
 * others before a tile of its own leaves.
 */
#include "hal/mte.h"
#include "hal/vector.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "kernels/mm/cost.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"
#include "sched/launch.h"

enum {
    SPLIT_K = 1024,       /* k that is worth to be cut */
    SPLIT_AREA = 1 << 18, /* elements of c, at most */
    FEW_ROUNDS = 16,      /* that may be more than others of fewer cores */
    DOUBT = 24,           /* of costs of two ways to cut: so much of them, */
    BEGIN = 24,           /* and so many cycles */
    LARGE_AREA = 1 << 25, /* elements of a large c, at the least, */
    LARGE = 32,           /* and tiles for each core */
    UNIT = 64,            /* elements that a share is a multiple of */
    LEAST = 128,          /* of a share: 512 bytes, as a line of GM has */
    ZEROS = 4096,         /* elements that are stored by one command */
};

/* Sums of parts can be added: they are c as it is, and its zeros, if they are wanted, lie side
 * by side. */
bool mm_may_split(const struct mm *mm)
{
    const struct mm_shape *s = &mm->shape;

    return s->batch == 1 && s->k >= SPLIT_K && !mm->scaled && !mm->act.relu &&
           !mm->act.clip && !mm->ring.slots && mm->c_type == mm_sum_type(mm) &&
           (mm->c_pitch == 0 || mm->c_pitch == s->n || mm_chained(mm, 2));
}

/* So many cores compute c in parts in less than `limit` cycles. */
static bool in_parts(const struct mm *mm, unsigned cores, uint32_t parts, uint64_t limit,
                     struct mm_search *s)
{
    *s = mm_search_for(mm, cores, MM_GENERAL, parts, limit,
                       cores == 1 && parts > 1 ? MM_ANY : MM_CHEAPEST);
    return s->found;
}

static uint32_t tiles_of(const struct mm *mm, const struct mm_tiling *t)
{
    return mm_pieces(mm->shape.m, mm_unit_m(mm), t->m) *
           mm_pieces(mm->shape.n, mm_unit_n(mm), t->n);
}

/* In less than that is worth parts: where some cores have no tile without them, or where
 * loads of all of a large c share L2, whose panels of a part can stay in L1. */
static uint64_t worth(const struct mm *mm, const struct mm_search *whole)
{
    uint32_t tiles = tiles_of(mm, &whole->tiling);

    return tiles < MM_SPLIT_CORES           ? whole->best * 10 / 11
           : tiles > MM_SPLIT_CORES * LARGE ? whole->best * 19 / 20
                                            : whole->best / 2;
}

/* In how many parts k is cheapest on a chip of MM_SPLIT_CORES cores, where that is worth it and
 * costs a single core a quarter more at most: *best is how. What the machine has does not
 * matter, or results would depend on it. */
uint32_t mm_best_parts(const struct mm *mm, struct mm_search *best)
{
    static const uint8_t tried[] = {MM_PARTS, 12, 8, 6, 4, 3, 2};
    uint64_t limit, alone = 0, area = (uint64_t)mm->shape.m * mm->shape.n;
    uint64_t least = UINT64_MAX;
    struct mm_search s, one;

    best->found = false;
    if (!mm_may_split(mm) || (area > SPLIT_AREA && area < LARGE_AREA) ||
        !in_parts(mm, MM_SPLIT_CORES, 1, UINT64_MAX, best)) {
        return 1;
    }
    limit = worth(mm, best);
    for (unsigned i = 0; i < sizeof(tried); i++) {
        if (!in_parts(mm, MM_SPLIT_CORES, tried[i], limit, &s)) {
            continue;
        }
        if (alone == 0) {
            alone = in_parts(mm, 1, 1, UINT64_MAX, &one) ? one.best * 5 / 4 + 1 : 1;
        }
        if (in_parts(mm, 1, tried[i], alone, &one)) {
            least = s.best < least ? s.best : least;
            limit = least + least / (2 * DOUBT) + 1; /* of like ones the fewest parts */
            *best = s;
        }
    }
    return best->parts;
}

static bool fewer_take(const struct mm *mm, unsigned cores, uint64_t limit,
                       struct mm_search *s)
{
    struct mm_search t =
        mm_search_for(mm, cores, s->strategy, s->parts, limit, MM_CHEAPEST);

    if (t.found) {
        *s = t;
        s->tiling.shares = cores;
    }
    return t.found;
}

bool mm_fits_more(const struct mm *mm, unsigned cores, struct mm_search *s)
{
    uint32_t tiles = s->found ? tiles_of(mm, &s->tiling) * s->parts : 0;
    bool few = s->parts > 1 && tiles <= 2 * MM_SPLIT_CORES;

    if (cores > MM_SPLIT_CORES && few) {
        s->tiling.shares = MM_SPLIT_CORES;
    }
    return s->found && (cores == MM_SPLIT_CORES || (cores > MM_SPLIT_CORES && few));
}

/* Whether the Cube's share of so many cores alone takes longer. */
static bool hopeless(const struct mm *mm, unsigned cores, uint64_t limit)
{
    const struct mm_shape *x = &mm->shape;
    uint64_t fractals = (uint64_t)mm_count(x->m, 16) * mm_count(x->n, 16) * x->batch;
    uint64_t cycles = fractals * (x->k / mm_k_step(mm)) * mm_cube_cycles(mm);

    return cycles / cores > limit;
}

/* More cores are taken where they gain more than costs may be wrong by; and parts that go round
 * more than once may be as soon done by fewer cores, which they fit better: what takes a
 * sixteenth more is as soon. */
void mm_try_fewer(const struct mm *mm, unsigned cores, struct mm_search *s)
{
    static const uint8_t fewer[] = {1, 2, 3, 4, 6, 8, 12, 16, MM_SPLIT_CORES};
    uint32_t rounds =
        s->found ? mm_count(tiles_of(mm, &s->tiling) * s->parts, cores) : FEW_ROUNDS + 1;
    uint64_t limit = s->best + BEGIN + s->best / (s->parts > 1 ? 16 : DOUBT);

    if (rounds > FEW_ROUNDS || s->tiling.shares || (s->parts > 1 && rounds == 1)) {
        return;
    }
    for (unsigned i = 0; i < sizeof(fewer) && fewer[i] < cores; i++) {
        if (!hopeless(mm, fewer[i], limit) && fewer_take(mm, fewer[i], limit, s)) {
            return;
        }
    }
}

/* The block's share of the elements. */
static void take_share(uint32_t all, uint32_t *at, uint32_t *end)
{
    unsigned block = task_block(), blocks = mm_min(task_blocks(), mm_count(all, LEAST));

    *at = *end = 0;
    if (block < blocks) {
        *at = (uint32_t)share_begin(all, UNIT, block, blocks);
        *end = (uint32_t)share_begin(all, UNIT, block + 1, blocks);
    }
}

void mm_clear(struct mm *mm, void *c)
{
    uint32_t at, end, n;
    union cmd cmd;

    take_share(mm->shape.m * mm->shape.n, &at, &end);
    n = mm_min(end - at, ZEROS);
    if (n) {
        vector_count(&cmd, n);
        mm_push(mm, PIPE_V, &cmd, 1, MM_NO_BASE);
        vector_fill(&cmd, OP_VDUP, TYPE_S32, mm->ub_begin, 0);
        cmd_post(&cmd, mm->sem + MM_ZEROS_FULL, 1);
        mm_push(mm, PIPE_V, &cmd, 1, MM_NO_BASE);
    }
    for (uint32_t i = at; i < end; i += ZEROS) {
        mte_ub_to_gm(&cmd, (char *)c + (uint64_t)i * MM_SUM_BYTES, mm->ub_begin,
                     mm_min(ZEROS, end - i) * MM_SUM_BYTES);
        if (i == at) {
            cmd_wait(&cmd, mm->sem + MM_ZEROS_FULL, 1);
        }
        mm_push(mm, PIPE_MTE3, &cmd, 1, MM_BASE_C);
    }
    cmd_nop(&cmd);
    cmd_post(&cmd, LAUNCH_ARRIVE, 1);
    mm_push(mm, PIPE_MTE3, &cmd, 1, MM_NO_BASE);
    cmd_nop(&cmd);
    cmd_wait(&cmd, LAUNCH_GO, 1);
    mm_push(mm, PIPE_FIX, &cmd, 1, MM_NO_BASE);
}
