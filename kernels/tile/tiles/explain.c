/* SPDX-License-Identifier: MIT
 *
 * What a plan is, in words; see tiles.h.
 */
#include "hal/chip.h"
#include "kernels/tile/tiles/bulk.h"

static void tell_way(FILE *to, const struct way *w)
{
    fprintf(to, "%lu x %lu, pitch %lu, %u buffers%s%s%s%s", (unsigned long)w->rows,
            (unsigned long)w->cols, (unsigned long)w->pitch, w->ring,
            w->apart ? ", results apart" : "", w->far ? "" : ", rows in place",
            w->spread == SPREAD_ALL     ? ""
            : w->spread == SPREAD_FIRST ? ", columns spread once"
                                        : ", columns not spread",
            w->single ? ", operands once" : "");
    if (w->bulk == 1 || w->bulk == BULK_MOST) {
        fprintf(to, ", loads through L1");
    } else if (w->bulk) {
        fprintf(to, ", loads of %u tiles through L1", w->bulk);
    }
}

static const char *loop_name(const struct tiles_plan *t, unsigned l)
{
    unsigned g = t->loops.loop[l].group;

    for (unsigned d = 0; d < t->p->k->n_dims && g < t->p->n_groups; d++) {
        if (t->p->group[g].dims >> d & 1) {
            return t->p->k->dim[d].name;
        }
    }
    return "all";
}

static void tell_loops(const struct tiles_plan *t, FILE *to)
{
    for (unsigned l = t->loops.n; l-- > 0;) {
        fprintf(to, "loop     %s: %lu of %lu", loop_name(t, l),
                (unsigned long)t->loops.loop[l].count,
                (unsigned long)t->loops.loop[l].tile);
        if (t->loops.loop[l].tail) {
            fprintf(to, ", the last of %lu", (unsigned long)t->loops.loop[l].tail);
        }
        fprintf(to, "%s\n",
                l == t->loops.dealt && t->stage.cores > 1 ? ", shared by the cores" : "");
    }
}

static void tell_buffer(const struct tiles_plan *t, FILE *to, unsigned b)
{
    const struct buffer *o = &t->emit->buffer[b];
    unsigned copies = way_copies(&t->way, o);
    uint16_t of = t->p->node[o->value].of;

    fprintf(to, "ub       %-12s %6lu bytes at", of ? tile_name_of(t->p->k, of) : "",
            (unsigned long)o->bytes);
    for (unsigned c = 0; c < copies; c++) {
        fprintf(to, " 0x%05lx", (unsigned long)t->emit->at[b][c]);
    }
    fprintf(to, "%s%s%s\n", o->load ? ", loaded" : "", o->store ? ", stored" : "",
            o->always ? ", once" : "");
}

static void tell_semaphores(const struct tiles_plan *t, FILE *to)
{
    for (unsigned i = SEM_FULL; i < t->order.n_sems; i++) {
        fprintf(to, "sem      %u: %s %s\n", t->order.base + i, t->order.label[i],
                t->order.role[i]);
    }
}

/* What the prediction is of: the contract, "L2 and HBM". */
static void tell_assumption(const struct tiles_plan *t, FILE *to)
{
    uint32_t miss = chip_cost(COST_L2_MISS);
    uint32_t hit = chip_cost(t->way.bulk ? COST_GM_L1_FIXED : COST_GM_UB_FIXED);

    if (miss) {
        fprintf(to,
                "assumes  that L2 holds what is loaded; what it does not, as at a first "
                "launch, takes MTE2 %lu %% of that\n",
                (unsigned long)(100 + 100 * miss / hit));
    }
}

/* Ways that were not taken: by how much they are slower, or what they lack. */
static void tell_others(const struct tiles_plan *t, FILE *to)
{
    uint32_t ub = chip_mem(NPU_MEM_UB);

    for (unsigned i = 0; i < t->n_lost; i++) {
        fprintf(to, "lost     ");
        tell_way(to, &t->lost[i].way);
        fprintf(to, ": %+lld cycles\n",
                (long long)(t->lost[i].cycles.span - t->stage.predicted.span));
    }
    for (unsigned i = 0; i < t->n_unfit; i++) {
        const struct candidate *c = &t->unfit[i];
        fprintf(to, "no room  ");
        tell_way(to, &c->way);
        fprintf(to, ": %lu rows of %lu want %lu KiB more\n", (unsigned long)c->way.rows,
                (unsigned long)c->way.cols, (unsigned long)(c->most - ub + 1023) / 1024);
    }
}

void plan_explain_memory(const struct tiles_plan *t, FILE *to)
{
    for (unsigned i = 0; i < t->p->n_notes; i++) {
        fprintf(to, "rewrite  %s\n", t->p->note[i]);
    }
    for (unsigned b = 0; b < t->emit->n_buffers; b++) {
        tell_buffer(t, to, b);
    }
    tell_semaphores(t, to);
}

void plan_explain_tiles(const struct tiles_plan *t, FILE *to)
{
    plan_explain_memory(t, to);
    plan_explain_added(t->p->k, to);
    plan_explain_cycles(&t->stage, to);
    tell_assumption(t, to);
    tell_others(t, to);
}

void tiles_explain(const struct tile_plan *plan, FILE *to)
{
    const struct tiles_plan *t = tiles_of(plan);

    fprintf(to, "%s on %u core%s, planned in %llu instructions, %u candidates\n", plan->name,
            plan->cores, plan->cores == 1 ? "" : "s", (unsigned long long)plan->planning,
            t->n_tried);
    fprintf(to, "tile     ");
    tell_way(to, &t->way);
    fprintf(to, "; %u loads, %u commands, %u stores\n", t->order.n_loads, t->n_body,
            t->order.n_stores);
    tell_loops(t, to);
    plan_explain_tiles(t, to);
}
