/* SPDX-License-Identifier: MIT
 *
 * What a plan of a loop takes, from the contract's costs, and what it is in words; see
 * loop.h. The prediction plays the steps of the core that has most of them, pipe by pipe,
 * in the order in which they are pushed.
 */
#include <string.h>

#include "hal/chip.h"
#include "hal/contract/cost.h"
#include "kernels/tile/attention/loop_twice.h"

enum {
    FRACTAL = 16,
    /* Cycles of the hart, about, for an item besides its steps, for one, for its inputs; for
     * an item that is one step. */
    HART_ITEM = 1005,
    HART_STEP = 665,
    HART_INPUTS = 380,
    HART_ONCE = 1237
};

static uint64_t up16(uint64_t n)
{
    return round_up(n, FRACTAL);
}

static void load_costs(const struct loop_plan *p, unsigned param, unsigned row,
                       unsigned col, uint32_t keys, uint64_t *next, uint64_t *alone)
{
    const struct tile_tensor *t = &p->form.k->param[param];
    uint64_t bytes = (uint64_t)p->form.k->dim[col].size * esize_of(t->type);
    bool whole = tile_dim_stride(p->form.k, t, row) == p->form.k->dim[col].size;
    uint32_t rate = chip_cost(COST_ND2NZ_RATE), least = chip_cost(COST_GM_ROW_BYTES);
    uint64_t rows = whole ? cost_gm_rows(1, bytes * keys, least, rate)
                          : cost_gm_rows(keys, bytes, least, rate);
    uint64_t floor =
        chip_cost(COST_ND2NZ_FLOOR) + rows * rate / chip_cost(COST_ND2NZ_FLOOR_RATE);

    *next = rows + chip_cost(COST_ND2NZ_NEXT);
    *alone = rows + chip_cost(COST_ND2NZ_FIXED);
    *alone = *alone > floor ? *alone : floor;
}

/* Of an item's results. */
static uint64_t store_cycles(const struct loop_plan *p)
{
    return chip_cost(COST_UB_GM_FIXED) + (uint64_t)LOOP_LANES * p->room.width *
                                             esize_of(p->form.k->result[0].tensor.type) /
                                             chip_cost(COST_UB_GM_RATE);
}

/* Of so many rows times elements that they are long, and all lanes: fractals of F32 are half as
 * long, and take two cycles. */
static uint64_t mmad_cycles(uint64_t elements, uint64_t esize)
{
    uint64_t fractals = elements / (FRACTAL * FRACTAL) * (LOOP_LANES / FRACTAL);

    return esize == 4 ? 4 * fractals : fractals;
}

struct loop_costs loop_costs(const struct loop_plan *p, uint32_t keys)
{
    const struct loop_form *f = &p->form;
    uint64_t esize = esize_of(f->k->param[f->q].type);
    uint64_t v_esize = f->value ? esize_of(f->k->param[f->v].type) : esize;
    uint64_t d = up16(f->k->dim[f->d].size), wide = up16(p->room.width), k = up16(keys);
    uint64_t sums = p->twice && p->twice->ones ? LOOP_SUMS : loop_sums(f);
    uint64_t fixed = chip_cost(COST_L1_L0_FIXED), out = chip_cost(COST_L0C_UB_FIXED);
    uint64_t a = chip_cost(COST_L1_L0A_RATE), b = chip_cost(COST_L1_L0B_RATE);
    struct loop_costs c = {0};

    load_costs(p, f->q, f->s, f->d, LOOP_LANES, &c.query, &c.query_floor);
    load_costs(p, f->key, f->t, f->d, keys, &c.load[0], &c.floor[0]);
    if (f->value) {
        load_costs(p, f->v, f->t, f->e, keys, &c.load[1], &c.floor[1]);
    }
    c.input = loop_inputs_cost(p, keys);
    c.l0_q = fixed + d * LOOP_LANES * esize / b;
    c.l0_k = fixed + k * d * esize / a;
    c.l0_v = fixed + k * wide * v_esize / a;
    c.l0_p = fixed + k * LOOP_LANES * v_esize / b;
    c.mmad_s = mmad_cycles(k * d, esize);
    c.mmad_o = mmad_cycles(k * up16(wide + sums), v_esize);
    c.fix_s = out + (uint64_t)keys * LOOP_REPEAT / chip_cost(COST_L0C_UB_RATE);
    c.fix_o = out + (p->room.width + sums) * LOOP_REPEAT / chip_cost(COST_L0C_UB_RATE);
    c.copy_p = fixed + (uint64_t)keys * LOOP_LANES * v_esize / chip_cost(COST_L1_UB_RATE);
    c.store = store_cycles(p);
    return c;
}

/* --- prediction --- */

/* When pipes are free, and when what one hands to another is there. */
struct pipes {
    const struct loop_plan *p;
    uint64_t mte2, mte1, m, fix, v, mte3;
    uint64_t loaded[LOOP_RING][2], used[LOOP_RING][2]; /* keys, values in L1 */
    uint64_t s_full, s_free, cs_free, l0k_free, o_full, o_free, co_free, l0v_free;
    uint64_t p_free, lp_free, out_free, in_full, in_free;
    uint64_t busy_v, busy_in, busy_out;
    uint64_t hart; /* has pushed all so far */
};

static void play_loads(struct pipes *s, const struct loop_costs *c, uint64_t number,
                       bool first)
{
    unsigned slot = (unsigned)(number % s->p->room.ring);

    if (first) {
        uint64_t takes = number ? c->query : c->query_floor;
        s->mte2 += takes;
        s->busy_in += takes;
    }

    for (unsigned i = 0; i < 1u + (s->p->form.value != 0); i++) {
        uint64_t at = later(s->mte2, s->used[slot][i]);
        bool behind = at == s->mte2 && (i || c->input == 0); /* another such load */
        uint64_t takes = behind ? c->load[i] : c->floor[i];
        s->mte2 = at + takes;
        s->busy_in += takes;
        s->loaded[slot][i] = s->mte2;
    }
}

static void play_score(struct pipes *s, const struct loop_costs *c, uint64_t number)
{
    unsigned slot = (unsigned)(number % s->p->room.ring);
    uint64_t at = later(later(s->mte1, s->loaded[slot][0]), s->l0k_free);

    s->mte1 = s->used[slot][0] = at + c->l0_k;
    at = later(later(s->m, s->mte1), s->cs_free);
    s->m = at + chip_cost(at == s->m ? COST_MMAD_NEXT : COST_MMAD_FIRST) + c->mmad_s;
    s->l0k_free = s->m;
    at = later(later(s->fix, s->m), s->s_free);
    s->fix = s->cs_free = s->s_full = at + c->fix_s;
    if (c->input) {
        s->mte2 = s->in_full = later(s->mte2, s->in_free) + c->input;
        s->busy_in += c->input;
    }
}

static void play_copy(struct pipes *s, const struct loop_costs *c, uint64_t given)
{
    s->mte3 = s->p_free = later(later(s->mte3, given), s->lp_free) + c->copy_p;
    s->busy_out += c->copy_p;
}

static void play_value(struct pipes *s, const struct loop_costs *c, uint64_t number)
{
    unsigned slot = (unsigned)(number % s->p->room.ring);
    uint64_t at = later(later(s->mte1, s->loaded[slot][1]), s->l0v_free);

    s->mte1 = s->used[slot][1] = at + c->l0_v;
    s->mte1 = s->lp_free = later(s->mte1, s->p_free) + c->l0_p;
    at = later(later(s->m, s->mte1), s->co_free);
    s->m = at + chip_cost(at == s->m ? COST_MMAD_NEXT : COST_MMAD_FIRST) + c->mmad_o;
    s->l0v_free = s->m;
    at = later(later(s->fix, s->m), s->o_free);
    s->fix = s->co_free = s->o_full = at + c->fix_o;
}

static void on_vector(struct pipes *s, const struct loop_part_commands *part)
{
    s->v += part->cycles;
    s->busy_v += part->cycles;
}

/* What a step leaves until the next one has begun. */
static void play_after(struct pipes *s, bool last)
{
    uint64_t out = store_cycles(s->p);

    if (s->p->form.value) {
        s->v = later(s->v, s->o_full);
        on_vector(s, s->p->part[PART_AFTER]);
        s->o_free = s->v;
    }
    if (last) {
        s->v = s->p->room.out_in_carried ? s->v : later(s->v, s->out_free);
        on_vector(s, s->p->part[PART_END]);
        s->o_free = s->p->form.once ? s->v : s->o_free;
        s->mte3 = later(s->mte3, s->v) + out;
        s->busy_out += out;
        s->out_free = s->mte3;
    }
}

/* The items of the core that has most steps. */
void loop_longest(const struct loop_plan *p, uint64_t *begin, uint64_t *end)
{
    uint64_t most = 0;

    for (unsigned c = 0; c < p->stage.cores; c++) {
        uint64_t from, to, steps;
        loop_share(p, c, &from, &to);
        steps = to / p->form.blocks * p->steps + p->before[to % p->form.blocks] -
                from / p->form.blocks * p->steps - p->before[from % p->form.blocks];
        if (steps > most) {
            most = steps;
            *begin = from;
            *end = to;
        }
    }
}

static void play_next_score(struct pipes *s, struct loop_cursor *c)
{
    struct loop_costs costs;

    if (!c->done) {
        costs = loop_costs(s->p, loop_variant(s->p, c)->rows);
        play_score(s, &costs, c->number);
        loop_next(s->p, c);
    }
}

/* A step, with the first product of the next one. */
static void play_step(struct pipes *s, const struct loop_cursor *now,
                      struct loop_cursor *score, bool last_before)
{
    const struct loop_variant *variant = loop_variant(s->p, now);
    const struct loop_part_commands *before = variant->before;
    struct loop_costs c = loop_costs(s->p, variant->rows);
    uint64_t given;

    s->v = later(s->v, s->hart);
    s->hart += s->p->form.once ? HART_ONCE
               : now->first    ? HART_ITEM + HART_STEP
                               : HART_STEP;
    s->hart += c.input ? HART_INPUTS : 0;
    if (now->first && now->number) {
        on_vector(s, s->p->part[LOOP_SAVES]);
    }
    if (now->first) {
        on_vector(s, s->p->part[LOOP_COLUMNS]);
    }
    s->v = later(later(s->v, s->in_full), s->s_full);
    s->in_free = s->v + before->in_free_at;
    s->s_free = s->v + before->free_at;
    given = later(s->v + before->given_at, s->p_free);
    s->v = given - before->given_at;
    on_vector(s, before);
    play_next_score(s, score);
    if (s->p->form.value) {
        play_copy(s, &c, given + before->given_cycles);
    }
    if (now->number) {
        play_after(s, last_before);
    }
    if (s->p->form.value) {
        play_value(s, &c, now->number);
    }
    if (now->first) {
        s->v = s->p->room.out_in_carried ? later(s->v, s->out_free) : s->v;
        on_vector(s, s->p->part[LOOP_PLANES]);
    }
    on_vector(s, s->p->part[PART_BESIDE]);
}

struct tile_cycles loop_predict(const struct loop_plan *p)
{
    struct pipes s = {.p = p};
    struct loop_cursor load, score, now;
    uint64_t begin = 0, end = 0;
    bool last = false;

    loop_longest(p, &begin, &end);
    load = score = now = loop_begin(p, begin, end);
    for (; !now.done; last = now.last, loop_next(p, &now)) {
        for (; !load.done && load.number < now.number + p->room.ring;
             loop_next(p, &load)) {
            struct loop_costs c = loop_costs(p, loop_variant(p, &load)->rows);
            play_loads(&s, &c, load.number, load.first);
        }
        if (now.number == 0) {
            play_next_score(&s, &score);
        }
        play_step(&s, &now, &score, last);
    }
    on_vector(&s, p->part[LOOP_SAVES]);
    play_after(&s, true);
    return (struct tile_cycles){later(s.v, s.mte3), s.busy_v, s.busy_in, s.busy_out};
}

/* --- in words --- */

void loop_explain(const struct tile_plan *t, FILE *to)
{
    const struct loop_plan *p = loop_of(t);
    const struct tile_kernel *k = p->form.k;
    uint64_t around = 0;

    fprintf(to, "%s on %u core%s, planned in %llu instructions, %u candidates\n", t->name,
            t->cores, t->cores == 1 ? "" : "s", (unsigned long long)t->planning,
            p->n_tried);
    fprintf(to, "loop     %s in tiles of %lu", k->dim[p->form.t].name,
            (unsigned long)p->room.tile);
    if (p->tail != p->room.tile) {
        fprintf(to, ", the last %lu", (unsigned long)p->tail);
    }
    fprintf(to, "; lanes %s; %llu blocks of %d, %llu steps\n", k->dim[p->form.s].name,
            (unsigned long long)p->form.items, LOOP_LANES,
            (unsigned long long)(p->form.items / p->form.blocks * p->steps));
    if (p->form.once) {
        fprintf(to, "rewrite  all keys are one tile: nothing is carried\n");
    }
    if (p->twice) {
        fprintf(to, "rewrite  the maximum of %s keys first, in a pass of its own\n",
                p->twice->looks_at_all ? "all" : "the first");
    }
    for (unsigned i = 0; i < p->n_variants; i++) {
        const struct loop_part_commands *before = p->variant[i].before;
        const struct loop_part_commands *with[] = {p->part[PART_AFTER],
                                                   p->part[PART_BESIDE]};
        unsigned n = before->n;
        uint64_t cycles = before->cycles;
        for (unsigned j = 0; j < 2; j++) {
            n += with[j]->n;
            cycles += with[j]->cycles;
        }
        if (p->twice) {
            n += p->twice->look_part[i]->n;
            cycles += p->twice->look_part[i]->cycles;
        }
        fprintf(to, "tile     %lu x %lu: %u commands, %llu cycles\n",
                (unsigned long)p->variant_steps[i], (unsigned long)p->variant[i].rows, n,
                (unsigned long long)cycles);
    }
    for (unsigned i = 0; i < LOOP_PARTS; i++) {
        bool once = i != PART_AFTER && i != PART_BESIDE && i != LOOP_ONCE;
        around += once ? p->part[i]->cycles : 0;
    }
    fprintf(to, "around   %llu cycles where an item begins and ends\n",
            (unsigned long long)around);
    for (unsigned i = 0; i < p->room.n_slots; i++) {
        static const char *const kinds[] = {"between", "first product", "second product",
                                            "carried"};
        const struct loop_slot *s = &p->room.slot[i];
        fprintf(to, "ub       0x%05lx %6lu bytes, %s%s%s\n", (unsigned long)s->at,
                (unsigned long)s->rows * LOOP_REPEAT, kinds[s->kind],
                s->kind == SLOT_CARRY ? " " : "",
                s->kind == SLOT_CARRY ? k->carry[s->carry].name : "");
    }
    plan_explain_added(k, to);
    fprintf(to, "cycles   %llu predicted; V %llu, MTE2 %llu, MTE3 %llu\n",
            (unsigned long long)t->predicted.span, (unsigned long long)t->predicted.v,
            (unsigned long long)t->predicted.mte2, (unsigned long long)t->predicted.mte3);
}
