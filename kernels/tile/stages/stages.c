/* SPDX-License-Identifier: MIT
 *
 * A program as one plan, or, where no tile holds it, as several; see tile.h and cut.h.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/mm/cost.h"
#include "kernels/tile/attention/attention.h"
#include "kernels/tile/convolution/windows.h"
#include "kernels/tile/gather/gather.h"
#include "kernels/tile/product/prologue.h"
#include "kernels/tile/softmax/softmax.h"
#include "kernels/tile/tile.h"
#include "kernels/tile/tiles/script.h"
#include "kernels/tile/tiles/tiles.h"

enum {
    DEPTH = 4, /* stages of stages */
    LEAST_PIECE = 64,
    SMALL = 1 << 15, /* elements */
    LONG_K = 1024,   /* that may be cut in parts, of a c of so many elements */
    SMALL_C = 1 << 18,
};

/* What all stages are planned with. */
struct guide {
    unsigned cores;
    struct tile_arena *arena;
    struct tile_error *error;
    struct script script;
};

static int plan_stages(struct guide *g, struct tile_plan **first,
                       const struct tile_kernel *k, unsigned depth);

/* Where a tensor of a stage of a stage lies. */
static void inherit(struct origin *o, const struct stage *outer, uint64_t scratch)
{
    const struct origin *of =
        o->of == OF_PARAM ? &outer->in[o->index] : &outer->out[o->index];
    uint64_t bytes = o->bytes;

    if (o->of == OF_SCRATCH) {
        o->bytes += scratch;
        return;
    }
    *o = *of;
    o->bytes += bytes;
}

static int too_few(struct guide *g)
{
    snprintf(g->error->text, sizeof(g->error->text),
             "the schedule has too few layouts for this plan");
    return ERR_ARG;
}

/* A stage that puts together what others have left. */
static bool is_small(const struct tile_kernel *k)
{
    uint64_t most = 0;

    for (unsigned i = 0; i < k->n_params + k->n_results; i++) {
        uint64_t n = tile_count(k, tile_tensor_dims(tile_tensor_at(k, i)));
        most = n > most ? n : most;
    }
    return k->is_stage && most <= SMALL;
}

/* One program in tiles; told to the script. */
static int plan_leaf(struct guide *g, struct tile_plan **plan,
                     const struct tile_kernel *k, const struct tile_choice *by,
                     uint32_t *wanted)
{
    struct planning how = {g->cores, is_small(k), by};
    int err = plan_tiles(plan, k, &how, g->arena, g->error, wanted);

    if (!err) {
        script_add_way(&g->script, &tiles_of(*plan)->way, &tiles_of(*plan)->placing);
    }
    return err;
}

/* A stage that has to be one plan. */
static int plan_whole(struct guide *g, struct tile_plan **plan,
                      const struct tile_kernel *k, uint32_t *wanted)
{
    const struct tile_choice *by = NULL;

    if (g->script.follows) {
        by = script_next(&g->script);
        if (by == NULL) {
            return too_few(g);
        }
    }
    return plan_leaf(g, plan, k, by, wanted);
}

static int plan_product(struct guide *g, struct tile_plan **first,
                        const struct tile_kernel *k, unsigned depth);

/* Where a plan's tensors lie, as those of its stage. */
static void inherit_all(struct tile_plan *t, const struct stage *s, uint64_t scratch)
{
    for (unsigned j = 0; j < t->k->n_params; j++) {
        inherit(&t->in[j], s, scratch);
    }
    for (unsigned j = 0; j < t->k->n_results; j++) {
        inherit(&t->out[j], s, scratch);
    }
}

/* A product with what the stage before computes of an operand, if that is faster. */
static bool join_operand(struct guide *g, struct tile_plan **before,
                         const struct tile_plan *product, const struct cut *cut,
                         unsigned i)
{
    size_t used = g->arena->used;
    struct tile_plan *t = operand_join(product, cut, i, tile_predicted(*before).span,
                                       g->script.k, g->cores, g->arena);

    if (t == NULL) {
        g->arena->used = used;
        return false;
    }
    inherit_all(t, &cut->stage[i], 0);
    inherit_all(t->operand, &cut->stage[i - 1], 0);
    *before = t;
    return true;
}

/* All stages, one behind the other; *wanted: bytes of UB that one of pieces wants. */
static int plan_cut(struct guide *g, struct tile_plan **first, const struct cut *cut,
                    unsigned depth, uint32_t *wanted)
{
    struct tile_plan **end = first, **begin = first, **before;
    uint64_t scratch = cut->scratch, own;
    unsigned n = 0;
    int err = 0;

    *first = NULL;
    for (unsigned i = 0; i < cut->n && !err; i++) {
        const struct stage *s = &cut->stage[i];
        before = begin;
        begin = end;
        err = s->gather    ? gather_plan(end, s->k, g->cores, g->arena, g->error)
              : s->product ? plan_product(g, end, s->k, depth)
              : s->whole   ? plan_whole(g, end, s->k, wanted)
                           : plan_stages(g, end, s->k, depth + 1);
        own = err ? 0 : (*end)->scratch;
        for (struct tile_plan *t = err ? NULL : *end; t; t = t->next) {
            inherit_all(t, s, scratch);
            end = &t->next;
            t->scratch = 0;
            err = ++n > PLAN_STAGES ? ERR_NOMEM : err;
        }
        scratch += own;
        if (!err && s->product && i && join_operand(g, before, *begin, cut, i)) {
            begin = before;
            end = &(*begin)->next;
        }
    }
    if (!err) {
        (*first)->scratch = scratch;
    }
    return err;
}

static int cut_and_plan(struct guide *g, struct tile_plan **first,
                        const struct tile_kernel *k, uint32_t pieces, unsigned depth,
                        uint32_t *wanted)
{
    struct cut *cut = tile_alloc(g->arena, sizeof(*cut));
    bool done = cut && (pieces ? cut_in_pieces(cut, k, pieces, g->arena)
                               : cut_by_reductions(cut, k, g->arena));

    if (!done) {
        return ERR_LOCAL;
    }
    if (pieces) {
        script_add(&g->script, "y%lu", (unsigned long)pieces);
    } else {
        script_add(&g->script, "x");
    }
    return plan_cut(g, first, cut, depth, wanted);
}

static int search_pieces(struct guide *g, struct tile_plan **first,
                         const struct tile_kernel *k, unsigned depth)
{
    const struct script_at script = g->script.at;
    size_t used = g->arena->used;
    uint32_t most = cut_longest_piece(k, (unsigned)__builtin_ctz(cut_reduced(k)));
    int err = ERR_LOCAL;

    while (err && most >= LEAST_PIECE) {
        uint32_t ub = chip_mem(NPU_MEM_UB), wanted = 0;
        g->arena->used = used;
        g->script.at = script;
        err = cut_and_plan(g, first, k, most, depth, &wanted);
        wanted = wanted > ub ? wanted : ub;
        most = (uint32_t)((uint64_t)most * ub / wanted) * 15 / 16;
    }
    return err;
}

static const char *keep_text(struct tile_arena *arena, const char *text)
{
    char *copy = tile_alloc(arena, strlen(text) + 1);

    return copy ? strcpy(copy, text) : NULL;
}

/* By the next word of the schedule. */
static int follow(struct guide *g, struct tile_plan **first, const struct tile_kernel *k,
                  unsigned depth)
{
    const struct tile_choice *c = script_next(&g->script);
    uint32_t pieces = c ? script_read_pieces(c->word) : 0, wanted;
    int err;

    if (c == NULL) {
        return too_few(g);
    }
    if (strcmp(c->word, ROWS_WORD) == 0 && rows_plan(first, k, g->cores, g->arena)) {
        return 0;
    }
    if (pieces == 0 && strcmp(c->word, "x") != 0) {
        return plan_leaf(g, first, k, c, NULL);
    }
    err = depth < DEPTH && cut_reduced(k)
              ? cut_and_plan(g, first, k, pieces, depth, &wanted)
              : ERR_LOCAL;
    if (err && g->error->text[0] == '\0') {
        *g->error = (struct tile_error){.line = c->line, .column = c->column};
        snprintf(g->error->text, sizeof(g->error->text),
                 "layout %s: there is nothing to cut", c->word);
    }
    return err;
}

/* What a schedule says of tiles is of the whole program. */
static bool may_cut(const struct tile_kernel *k, int err, unsigned depth)
{
    return err != ERR_TYPE && depth < DEPTH && cut_reduced(k) &&
           !tile_chosen(k, TILE_CHOICE_TILE, TILE_NO_DIM) &&
           !tile_chosen(k, TILE_CHOICE_BUFFERS, TILE_NO_DIM);
}

static bool has_gather(const struct tile_kernel *k)
{
    bool has = false;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        has = has || k->node[v].op == TILE_GATHER;
    }
    return has;
}

/* Rows by index are copied before all else. */
static int plan_gathers(struct guide *g, struct tile_plan **first,
                        const struct tile_kernel *k, unsigned depth)
{
    struct cut *cut = tile_alloc(g->arena, sizeof(*cut));
    int err = cut && cut_gathers(cut, k, g->arena) ? plan_cut(g, first, cut, depth, NULL)
                                                   : ERR_ARG;

    if (err && g->error->text[0] == '\0') {
        snprintf(g->error->text, sizeof(g->error->text),
                 "%s gathers from too many tensors", k->name);
    }
    return err;
}

static int plan_products(struct guide *g, struct tile_plan **first,
                         const struct tile_kernel *k, enum cut_fuse fuse, unsigned depth)
{
    struct cut *cut = tile_alloc(g->arena, sizeof(*cut));
    int err = cut && cut_products(cut, k, fuse, g->arena)
                  ? plan_cut(g, first, cut, depth, NULL)
                  : ERR_ARG;

    if (err && g->error->text[0] == '\0') {
        err =
            tile_error_set(g->error, &k->node[cut_first_product(k)], err,
                           "a product of tensors whose dimensions have no common order");
    }
    return err;
}

/* A long k, and a c of which cores would have little. */
static bool may_part(const struct tile_kernel *k)
{
    const struct tile_node *n = &k->node[cut_first_product(k)];

    return n->op == TILE_DOT && k->dim[n->dim].size >= LONG_K &&
           tile_count(k, n->dims) <= SMALL_C;
}

/* Whether sums of parts of k, which go through GM to what is computed of them, are clearly
 * faster than the product with that: on the chip that k is cut for, as all see it. */
static bool prefers_parts(const struct guide *g, const struct tile_kernel *k,
                          unsigned depth)
{
    struct tile_error error = {0};
    struct guide all = *g;
    size_t used = g->arena->used;
    struct tile_plan *t;
    bool are = false;

    all.cores = MM_SPLIT_CORES;
    all.error = &error;
    if (product_plan(&t, k, &(struct product_how){.cores = all.cores}, all.arena,
                     &error) == 0) {
        uint64_t whole = t->predicted.span;
        are = plan_products(&all, &t, k, FUSE_NOTHING, depth + 1) == 0 && product_of(t) &&
              product_of(t)->mm.parts > 1 && tile_predicted(t).span * 5 / 4 < whole;
    }
    g->arena->used = used;
    return are;
}

/* By the Matmul object, or by windows. */
static int plan_one_product(struct guide *g, struct tile_plan **first,
                            const struct tile_kernel *k, const struct mm_tiling *said)
{
    return k->node[cut_first_product(k)].op == TILE_CONV
               ? windows_plan(first, k, said, g->cores, g->arena, g->error)
               : product_plan(first, k,
                              &(struct product_how){.cores = g->cores, .tiling = said},
                              g->arena, g->error);
}

/* A product with what is computed of it, or behind each other. */
static int plan_product(struct guide *g, struct tile_plan **first,
                        const struct tile_kernel *k, unsigned depth)
{
    bool bare = k->n_results == 1 && k->result[0].value == cut_first_product(k);
    size_t used = g->arena->used;
    const struct script_at script = g->script.at;
    struct mm_tiling said;
    bool is_said = script_next_tiling(&g->script, &said);
    int err;

    if (!bare && depth < DEPTH &&
        (is_said ? said.parts > 1 : may_part(k) && prefers_parts(g, k, depth))) {
        g->script.at = script;
        err = plan_products(g, first, k, FUSE_NOTHING, depth + 1);
        if (!err) {
            (*first)->why =
                "k is cut, so that more cores have parts; their sums go by GM";
        }
        return err;
    }
    err = plan_one_product(g, first, k, is_said ? &said : NULL);
    if (!err && product_of(*first) && product_has_word(product_of(*first))) {
        script_add_tiling(&g->script, &product_of(*first)->mm.tiling, is_said);
    }
    if (err != ERR_LOCAL || depth == DEPTH || bare) {
        return err;
    }
    g->script.at = script;
    g->arena->used = used;
    *g->error = (struct tile_error){0};
    return plan_products(g, first, k, cut_reduced(k) ? FUSE_ELEMENTS : FUSE_NOTHING,
                         depth + 1);
}

/* Whether the Vector has work, and not the fixpipe alone. */
static bool needs_vector(const struct tile_plan *plan)
{
    return tile_predicted(plan).v > 0;
}

static void begin_again(struct guide *g, size_t used, struct script_at script)
{
    g->arena->used = used;
    g->script.at = script;
    *g->error = (struct tile_error){0};
}

static int plan_stages(struct guide *g, struct tile_plan **first,
                       const struct tile_kernel *k, unsigned depth)
{
    size_t used = g->arena->used;
    tile_dims reduced = cut_reduced(k);
    const struct script_at script = g->script.at;
    struct tile_error error;
    int err, cut;

    if (k->n_loops == 0 && cut_first_product(k)) {
        err = plan_products(g, first, k, FUSE_ROWS, depth);
        if (!err && k->by_gm && needs_vector(*first)) {
            begin_again(g, used, script);
            return plan_products(g, first, k, FUSE_NOTHING, depth);
        }
        if (err && cut_reduced(k)) { /* what products leave may lie better without */
            begin_again(g, used, script);
            err = plan_products(g, first, k, FUSE_ELEMENTS, depth);
        }
        return err;
    }
    if (has_gather(k)) {
        return plan_gathers(g, first, k, depth);
    }
    if (g->script.follows) {
        return follow(g, first, k, depth);
    }
    if (rows_plan(first, k, g->cores, g->arena)) {
        script_add(&g->script, ROWS_WORD);
        return 0;
    }
    err = plan_leaf(g, first, k, NULL, NULL);
    if (err == 0 || !may_cut(k, err, depth)) {
        return err;
    }
    error = *g->error;
    g->arena->used = used;
    cut = reduced & (reduced - 1) ? cut_and_plan(g, first, k, 0, depth, NULL)
                                  : search_pieces(g, first, k, depth);
    if (cut) {
        *g->error = error;
        g->script.at = script;
        return err;
    }
    (*first)->why = keep_text(g->arena, error.text);
    return 0;
}

int tile_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
              struct tile_arena *arena, struct tile_error *error)
{
    const struct tile_choice *c = tile_chosen(k, TILE_CHOICE_CORES, TILE_NO_DIM);
    uint64_t began = hart_clock();
    struct guide g = {.arena = arena, .error = error};
    int err;

    g.cores = cores ? cores : c ? c->number : chip_cores();
    script_begin(&g.script, k);
    *plan = NULL;
    plan_fed(0, error); /* what went before is of another */
    *error = (struct tile_error){0};
    if (k->n_loops) {
        return plan_fed(loop_plan(plan, k, g.cores, arena, error), error);
    }
    err = plan_check_schedule(k, error);
    err = plan_fed(err ? err : plan_stages(&g, plan, k, 0), error);
    c = !err && g.script.follows ? script_next(&g.script) : NULL;
    if (c) {
        *error = (struct tile_error){.line = c->line, .column = c->column};
        snprintf(error->text, sizeof(error->text), "layout %s: the plan is complete",
                 c->word);
        err = ERR_ARG;
    }
    err = err ? err : operand_check(*plan, k, error);
    if (!err) {
        (*plan)->schedule = script_text(&g.script, false, arena);
        (*plan)->whole = script_text(&g.script, true, arena);
        (*plan)->planning = hart_clock() - began;
    }
    return err;
}

struct tile_cycles tile_predicted(const struct tile_plan *plan)
{
    struct tile_cycles sum = plan->predicted;
    const struct tile_plan *before = plan;

    for (; (plan = plan->next) != NULL; before = plan) {
        sum.span +=
            plan->predicted.span + PLAN_STEP_CYCLES + plan_look_cycles(before, plan);
        sum.v += plan->predicted.v;
        sum.mte2 += plan->predicted.mte2;
        sum.mte3 += plan->predicted.mte3;
    }
    return sum;
}
