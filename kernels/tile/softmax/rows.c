/* SPDX-License-Identifier: MIT
 *
 * Softmax along long rows: which programs are one, how rows are cut, and a plan of it in
 * words; see rows.h.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/lib/share.h"
#include "kernels/tile/softmax/spill.h"

enum {
    ROWS_UNIT = ROWS_SUMS * VEC_BLOCKS, /* elements of a chunk are a multiple of */
    SPARE_SLOTS = 3,                    /* in L1: loads ahead */
    FEW_CORES = 4, /* of more the hart takes longer to come round than a slot does */
};

/* --- which programs --- */

static const struct tile_node *source(const struct tile_kernel *k,
                                      const struct tile_node *n, unsigned i)
{
    return &k->node[n->operand[i]];
}

/* Rows side by side, the last dimension with more than one element being theirs. */
static bool has_rows(const struct tile_kernel *k, const struct tile_tensor *t,
                     unsigned dim)
{
    unsigned i = t->rank;

    while (i > 0 && t->dim[i - 1] != dim && k->dim[t->dim[i - 1]].size == 1) {
        i--;
    }
    return t->type == TYPE_F32 && t->apart == 0 && i > 0 && t->dim[i - 1] == dim;
}

/* The quotient that the one result is. */
static bool is_softmax(const struct tile_kernel *k, struct rows_plan *p)
{
    const struct tile_node *y = &k->node[k->result[0].value];
    const struct tile_node *e = source(k, y, 0), *sum = source(k, y, 1);
    const struct tile_node *apart = source(k, e, 0), *most = source(k, apart, 1);
    const struct tile_node *x = source(k, apart, 0);
    uint8_t order[TILE_DIMS];

    p->line[0] = most->line;
    p->line[1] = e->line;
    p->line[2] = sum->line;
    p->line[3] = y->line;
    p->n = sum->dim == TILE_NO_DIM ? 0 : k->dim[sum->dim].size;
    return y->op == TILE_OVER && sum->op == TILE_SUM && sum->operand[0] == y->operand[0] &&
           e->op == TILE_EXP && apart->op == TILE_SUB && most->op == TILE_MOST &&
           most->operand[0] == apart->operand[0] && most->dim == sum->dim &&
           x->op == TILE_INPUT && e->type == TYPE_F32 &&
           has_rows(k, &k->param[0], sum->dim) &&
           has_rows(k, &k->result[0].tensor, sum->dim) &&
           tile_dims_order(k, UINT32_MAX, order) >= 0;
}

/* What a schedule says of tiles is for a plan in tiles, and `exact` is a division. */
static bool may_be(const struct tile_kernel *k)
{
    bool free = !k->exact;

    for (unsigned i = 0; i < k->n_choices; i++) {
        free = free && (k->choice[i].kind == TILE_CHOICE_CORES ||
                        k->choice[i].kind == TILE_CHOICE_LAYOUT);
    }
    return free && k->n_params == 1 && k->n_results == 1 && !k->result[0].adds &&
           k->arith == TYPE_F32 && !k->product &&
           chip_cost(COST_TYPES_CUBE) >> TYPE_F32 & 1;
}

/* --- how rows are cut --- */

static void cut_long(struct rows_plan *p)
{
    uint32_t by = div_up(p->n, ROWS_MOST);

    while (p->n % (by * ROWS_UNIT) && p->n / by >= ROWS_LEAST) {
        by++;
    }
    p->per_row = p->group = by;
    p->chunk = p->n / by;
}

/* Rows that are chunks, some to a group, but so that there is enough for all cores. */
static void cut_short(struct rows_plan *p)
{
    p->per_row = 1;
    p->chunk = p->n;
    p->group = ROWS_GROUP;
    while (p->group > 1 && div_up(p->rows, p->stage.cores) < 2 * p->group) {
        p->group /= 2;
    }
}

static bool cut(struct rows_plan *p)
{
    uint32_t at, bytes, rows, l1 = chip_mem(NPU_MEM_L1);

    if (p->n < ROWS_MOST || p->n % ROWS_UNIT) {
        return false;
    }
    if (p->n == ROWS_MOST) {
        cut_short(p);
    } else {
        cut_long(p);
    }
    bytes = rows_bytes(p);
    rows = rows_of_group(p);
    p->lag = p->group + (p->stage.cores > FEW_CORES ? 1 : 2);
    p->slots = (l1 - ROWS_KNOWN * rows * PIPES_DIAGONAL_BYTES) / bytes & ~1u;
    at = 2 * ROWS_TURNS * bytes;
    p->part[0] = at;
    at += ROWS_TOGETHER * bytes / VEC_BLOCKS;
    p->part[1] = at;
    at += (uint32_t)round_up(p->group * bytes / (VEC_BLOCKS * VEC_BLOCKS), REPEAT_BYTES);
    p->sums = at;
    at += rows * ROWS_SUMS * BLOCK;
    p->sum = at;
    at += rows * REPEAT_BYTES;
    p->most = at;
    at += ROWS_KNOWN * REPEAT_BYTES;
    p->total = at;
    p->reciprocal = at + REPEAT_BYTES;
    return p->reciprocal + ROWS_KNOWN * REPEAT_BYTES <= chip_mem(NPU_MEM_UB) &&
           p->chunk <= ROWS_MOST && p->chunk >= ROWS_LEAST &&
           p->slots >= p->lag + SPARE_SLOTS && p->rows * p->per_row >= ROWS_WORTH;
}

unsigned rows_units(const struct rows_plan *p, unsigned sem)
{
    switch (sem) {
    case ROWS_A_FREE:
    case ROWS_B_FREE:
    case ROWS_SUM_FREE:
    case ROWS_Y_FREE:
        return ROWS_TURNS;
    case ROWS_ADDED_FREE:
    case ROWS_E_FREE:
        return 1;
    case ROWS_L1_FREE:
        return p->slots;
    case ROWS_UB_FREE:
        return rows_of_group(p);
    default:
        return 0;
    }
}

/* --- the plan --- */

static int make_cores(struct rows_plan *p, struct tile_arena *arena)
{
    uint64_t chunks = p->rows * p->per_row;

    p->core = tile_alloc(arena, p->stage.cores * sizeof(*p->core));
    for (unsigned c = 0; c < p->stage.cores && p->core; c++) {
        struct rows_core *core = &p->core[c];
        core->begin = (uint32_t)share_begin(chunks, p->per_row, c, p->stage.cores);
        core->chunks =
            (uint32_t)share_begin(chunks, p->per_row, c + 1, p->stage.cores) - core->begin;
        rows_build(p, core);
    }
    return p->core ? 0 : ERR_NOMEM;
}

bool rows_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
               struct tile_arena *arena)
{
    uint64_t began = hart_clock();
    size_t used = arena->used;
    struct rows_plan *p = tile_alloc(arena, sizeof(*p));

    if (p) {
        *p = (struct rows_plan){
            .stage = {.kind = &rows_kind, .k = k, .name = k->name, .cores = cores}};
        if (may_be(k) && is_softmax(k, p)) {
            p->rows = tile_count(k, tile_tensor_dims(&k->param[0])) / p->n;
            if ((cut(p) && make_cores(p, arena) == 0) || spill_plan(p, arena)) {
                plan_begin(&p->stage);
                p->stage.predicted = p->spill ? spill_predict(p) : rows_predict(p);
                p->stage.planning = hart_clock() - began;
                *plan = &p->stage;
                return true;
            }
        }
    }
    arena->used = used;
    return false;
}

static void rows_explain(const struct tile_plan *t, FILE *to)
{
    const struct rows_plan *p = rows_of(t);

    fprintf(to, "%s on %u core%s, planned in %llu instructions, through L1\n", t->name,
            t->cores, t->cores == 1 ? "" : "s", (unsigned long long)t->planning);
    if (p->spill) {
        fprintf(to, "chunk    %lu elements, %lu in L1, %lu a row; twice, e goes to GM\n",
                (unsigned long)p->spill->chunk, (unsigned long)p->spill->slots,
                (unsigned long)p->spill->per_row);
    } else {
        fprintf(to, "chunk    %lu elements, %lu in L1; row%s known by %lu\n",
                (unsigned long)p->chunk, (unsigned long)p->slots,
                rows_of_group(p) > 1 ? "s" : "", (unsigned long)p->group);
    }
    fprintf(to, "rewrite  line %u: a reciprocal for each row\n", p->line[3]);
    fprintf(to, "cube     line %u: %u sums of %lu numbers a %s; line %u: the product\n",
            p->line[2], p->spill ? SPILL_SUMS : ROWS_SUMS,
            (unsigned long)(p->spill ? p->spill->chunk / SPILL_SUMS : p->n / ROWS_SUMS),
            p->spill ? "chunk" : "row", p->line[3]);
    plan_explain_cycles(t, to);
}

const struct stage_kind rows_kind = {.explain = rows_explain};
