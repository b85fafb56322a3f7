/* SPDX-License-Identifier: MIT
 *
 * Stages that are products: planned by the Matmul object, launched as part of the plan; see
 * product.h.
 */
#include "kernels/mm/inside.h"
#include "kernels/tile/product/block.h"
#include "kernels/tile/product/prologue.h"

#include <stdio.h>
#include <string.h>

/* --- planning --- */

void product_lines(struct program *p, const struct tile_kernel *k)
{
    p->k = k;
    for (tile_value v = 1; v <= k->n_nodes && v <= PLAN_NODES; v++) {
        p->node[v].line = k->node[v].line;
        p->n = v;
    }
}

uint32_t product_times(const struct product *p)
{
    uint32_t n = 1;

    for (unsigned i = 0; i < p->n_outer - p->n_batch; i++) {
        n *= p->outer[i].size;
    }
    return n;
}

enum { RECORDS = 1300 /* instructions of the hart for a share that is not kept yet */ };

/* A row of c may also be computed as a column; k may be cut where c has few tiles, if its parts
 * can be added in their order, so that bits are the same for any number of cores. */
static int choose_tiling(struct product *p, unsigned cores, char why[MM_TEXT])
{
    struct mm whole = p->mm;
    int err = mm_check(&p->mm, why);

    if (p->said) {
        err = err ? err : mm_plan_as(&p->mm, p->said, cores, why);
        if (!err && p->mm.parts > 1 && !mm_chained(&p->mm, p->mm.parts)) {
            snprintf(why, MM_TEXT, "tiling: parts of k are for sums of F32");
            err = ERR_ARG;
        }
        return err;
    }
    p->mm.adds = product_times(p) == 1 && !p->k->result[0].adds;
    err = err ? err : mm_plan(&p->mm, cores, MM_AUTO, why);
    err = err ? err : mm_check(&p->mm, why);
    if (!err && p->mm.parts > 1 && !mm_chained(&p->mm, p->mm.parts)) {
        p->mm = whole;
        err = mm_plan(&p->mm, cores, MM_AUTO, why);
        err = err ? err : mm_check(&p->mm, why);
    }
    return err;
}

/* By the fixpipe alone. */
static int plan_alone(struct tiles_plan *t, unsigned cores, struct tile_error *error)
{
    struct product *p = t->product;
    char why[MM_TEXT];
    int err;

    mm_set_bias(&p->mm, p->bias ? p : NULL);
    err = choose_tiling(p, cores, why);
    if (err) {
        return tile_error_set(error, p->dot, err, "product: %s", why);
    }
    product_lines(t->p, p->k);
    t->stage.cores = cores < p->mm.tiles ? cores : p->mm.tiles;
    t->stage.predicted.span = p->mm.tiling.cycles * product_times(p) + RECORDS;
    return 0;
}

/* The same, of an operand that the Vector makes. */
static int plan_with_operand(struct tiles_plan *t, unsigned cores,
                             struct tile_arena *arena)
{
    struct product *p = t->product;

    p->mm.sem = PLAN_SEMS;
    mm_set_bias(&p->mm, p->bias ? p : NULL);
    product_lines(t->p, p->k);
    return prologue_finish(t, true, cores, arena);
}

/* With the Vector behind the product: the one takes two banks of UB, the other the third. */
static int plan_both(struct tiles_plan *t, unsigned cores, struct tile_arena *arena,
                     struct tile_error *error)
{
    struct product *p = t->product;
    uint32_t rest = chip_mem(NPU_MEM_UB) - 2 * UB_BANK_SPAN;
    int err;

    if (p->prologue) {
        t->p->ub_bytes = p->prologue->t->p->ub_begin = 2 * UB_BANK_SPAN;
        p->prologue->t->p->ub_bytes = rest;
    }
    err = epilogue_plan(t, cores, arena, error);
    return err || p->prologue == NULL ? err : prologue_finish(t, false, cores, arena);
}

const struct tile_tensor *product_whole_result(const struct product *p)
{
    const struct tile_kernel *k = p->k;
    unsigned r = 0;

    while (r < k->n_results && tile_tensor_dims(&k->result[r].tensor) != p->dot->dims) {
        r++;
    }
    return r < k->n_results ? &k->result[r].tensor : NULL;
}

struct tiles_plan *product_stage(const struct stage_kind *kind,
                                 const struct tile_kernel *k, struct tile_arena *arena)
{
    struct tiles_plan *t = tile_alloc(arena, sizeof(*t));
    struct product *p = tile_alloc(arena, sizeof(*p));

    if (t == NULL || p == NULL || (t->p = tile_alloc(arena, sizeof(*t->p))) == NULL) {
        return NULL;
    }
    p->k = k;
    t->product = p;
    t->stage.kind = kind;
    t->stage.k = k;
    t->stage.name = k->name;
    plan_begin(&t->stage);
    return t;
}

int product_plan(struct tile_plan **plan, const struct tile_kernel *k,
                 const struct product_how *how, struct tile_arena *arena,
                 struct tile_error *error)
{
    const struct product_operand *by = how->by;
    unsigned cores = how->cores;
    struct tiles_plan *t = product_stage(&product_kind, k, arena);
    const struct tile_tensor *c;
    struct product *p;
    int err;

    if (t == NULL) {
        return ERR_NOMEM;
    }
    *plan = &t->stage;
    p = t->product;
    p->dot = &k->node[cut_first_product(k)];
    p->said = how->tiling;
    c = product_whole_result(p);
    err = c ? product_shape(p, k, c, error) : ERR_LOCAL;
    if (err) {
        return cut_reduced(k) ? ERR_LOCAL : err;
    }
    err = by ? prologue_make(p, by->k, by->param, arena, error) : 0;
    t->stage.operand = p->prologue && p->prologue->t ? &p->prologue->t->stage : NULL;
    if (err || cut_reduced(k)) {
        return err || by || p->said ? ERR_LOCAL : block_plan(t, cores, arena, error);
    }
    return !product_by_fixpipe(p, k) ? plan_both(t, cores, arena, error)
           : by                      ? plan_with_operand(t, cores, arena)
                                     : plan_alone(t, cores, error);
}

/* --- running --- */

void product_bind_tensors(struct product *p, const struct tile_call *call)
{
    memcpy(p->in, call->in, sizeof(p->in));
    memcpy(p->out, call->out, sizeof(p->out));
}

static int product_bind(const struct tile_plan *t, const struct tile_call *call,
                        struct sched_report *report)
{
    (void)report;
    product_bind_tensors(tiles_of(t)->product, call);
    return 0;
}

static const void *at(const void *gm, uint64_t elements, unsigned type)
{
    return (const char *)gm + elements * esize_of(type);
}

void product_object(const struct tiles_plan *t, uint32_t number, struct mm *mm,
                    uint32_t *index)
{
    const struct product *p = t->product;
    uint64_t a = 0, b = 0;

    for (unsigned i = p->n_outer - p->n_batch; i-- > 0; number /= p->outer[i].size) {
        index[i] = number % p->outer[i].size;
        a += index[i] * p->outer[i].a;
        b += index[i] * p->outer[i].b;
    }
    *mm = p->mm;
    mm->a.gm =
        mm->turned ? at(p->in[p->b], b, mm->a.type) : at(p->in[p->a], a, mm->a.type);
    mm->b.gm =
        mm->turned ? at(p->in[p->a], a, mm->a.type) : at(p->in[p->b], b, mm->a.type);
    mm->bias = p->bias ? p->in[p->bias - 1] : NULL;
    mm->share = task_block();
    mm->shares = t->stage.cores;
}

/* One after the other of those that are no batch. */
static void play_alone(const struct tiles_plan *t, uint32_t number,
                       struct prologue_at *operand)
{
    const struct product *p = t->product;
    uint32_t index[TILE_DIMS];
    uint64_t c = 0;
    struct mm mm;

    product_object(t, number, &mm, index);
    for (unsigned i = 0; i < p->n_outer - p->n_batch; i++) {
        c += index[i] * p->outer[i].c;
    }
    if (p->prologue) {
        prologue_feed(operand, &mm, index);
    }
    mm_iterate_all(&mm, (void *)(uintptr_t)at(p->out[0], c, mm.c_type),
                   p->k->result[0].adds);
    mm_end(&mm);
}

static void product_play(const struct tile_plan *plan)
{
    const struct tiles_plan *t = tiles_of(plan);
    struct prologue_at operand;

    if (task_block() >= plan->cores) {
        return;
    }
    task_tag(t->product->dot->line);
    if (t->product->block) {
        block_play(t);
    } else if (t->product->epilogue) {
        epilogue_play(t);
    }
    if (t->product->prologue && !t->product->epilogue) {
        prologue_begin(&operand, t);
    }
    for (uint32_t i = 0; i < product_times(t->product) && !t->product->epilogue; i++) {
        play_alone(t, i, &operand);
    }
    if (t->product->prologue && !t->product->epilogue) {
        prologue_end(&operand);
    }
    task_tag(0);
}

/* --- in words --- */

/* How a product is cut whose rows wait in L1. */
static void tell_block(const struct product *p, FILE *to)
{
    const struct block_shape *s = &p->block->s;

    fprintf(
        to,
        "\nblocks   %lu of %lu rows, in tiles of %lu columns; k by %lu in L1 (%lu + %u "
        "slots%s), by %lu in L0\n",
        (unsigned long)(p->block->blocks * product_times(p)), (unsigned long)s->rows,
        (unsigned long)s->columns, (unsigned long)s->chunk, (unsigned long)s->a_slots,
        s->b_slots, s->a_stays ? ", a stays" : "", (unsigned long)s->slice);
    fprintf(to,
            "l1       0x%05lx %lu cells of %lu rows x %lu columns: sums until their rows "
            "are whole\n",
            (unsigned long)s->cells_at, (unsigned long)s->cells,
            (unsigned long)s->cell_rows, (unsigned long)s->columns);
    fprintf(to, "pieces   of %lu rows in UB\n", (unsigned long)p->block->piece);
}

/* Sizes, the tiling, what goes by BT. */
static void tell_cube(const struct product *p, FILE *to)
{
    const struct tile_kernel *k = p->k;
    char text[MM_TEXT];

    fprintf(to, "cube     %s x %s by %s: %lu x %lu x %lu", k->param[p->a].name,
            k->param[p->b].name, k->dim[p->dot->dim].name, (unsigned long)p->mm.shape.m,
            (unsigned long)p->mm.shape.n, (unsigned long)p->mm.shape.k);
    fprintf(to, p->mm.shape.batch > 1 ? ", %lu of them" : "",
            (unsigned long)p->mm.shape.batch);
    fprintf(to, product_times(p) > 1 ? ", %lu times" : "",
            (unsigned long)product_times(p));
    if (p->block) {
        tell_block(p, to);
    } else {
        mm_explain(&p->mm, text);
        fprintf(to, "\ncube     %s\n", text);
    }
}

void product_explain_sums(const struct tiles_plan *t, FILE *to)
{
    const struct product *p = t->product;

    if (p->bias) {
        fprintf(to, "bt       %s: the sums begin with it\n",
                p->k->param[p->bias - 1].name);
    }
    if (p->epilogue == NULL) {
        fprintf(to, "fixpipe  %s%s to %s\n",
                p->mm.act.relu == FIX_RELU_PLAIN   ? "relu, "
                : p->mm.act.relu == FIX_RELU_LEAKY ? "leaky relu, "
                                                   : "",
                type_name(p->mm.c_type), p->k->result[0].tensor.name);
        plan_explain_added(p->k, to);
        return;
    }
    plan_explain_tiles(t, to);
}

static void product_explain(const struct tile_plan *plan, FILE *to)
{
    const struct tiles_plan *t = tiles_of(plan);

    fprintf(to, "%s on %u core%s\n", plan->name, plan->cores, plan->cores == 1 ? "" : "s");
    tell_cube(t->product, to);
    if (t->product->prologue) {
        prologue_explain(t->product, to);
    }
    product_explain_sums(t, to);
}

bool product_stores_again(const struct tile_plan *t)
{
    (void)t;
    return true;
}

const struct stage_kind product_kind = {.stores_again = product_stores_again,
                                        .explain = product_explain};
const struct stage_run product_run = {
    .kind = &product_kind, .bind = product_bind, .play = product_play};
