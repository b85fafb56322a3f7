/* SPDX-License-Identifier: MIT
 *
 * Planning a loop: how many keys a tile has and where it lies; see loop.h. Each candidate is
 * emitted and costed; the one that takes the Vector the fewest cycles is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/pmu.h"
#include "kernels/tile/attention/loop_twice.h"

/* A search: the form is known, the rest is a candidate's. */
struct search {
    struct loop_plan *p;
    struct loop_emit e;
    struct loop_order best_order;
    uint32_t best_tile, tile; /* that p->which is of */
    uint64_t best;
    char why[TILE_TEXT_BYTES];
    int err, failed; /* of all; the emission of the last one */
};

/* --- candidates --- */

/* The variant that most tiles are. */
static unsigned main_variant(const struct loop_plan *p)
{
    unsigned most = 0;

    for (unsigned i = 1; i < p->n_variants; i++) {
        most = p->variant_steps[i] > p->variant_steps[most] ? i : most;
    }
    return most;
}

/* All commands, or of most tiles alone, which tell orders in UB apart. */
static void emit(struct search *s, bool all)
{
    struct loop_plan *p = s->p;
    struct loop_emit *e = &s->e;
    unsigned most = main_variant(p);

    memset(e, 0, sizeof(*e));
    e->f = &p->form;
    e->room = &p->room;
    e->next = p->room.columns;
    e->low = p->room.ub_bytes;
    loop_emit_columns(e, p->part[LOOP_COLUMNS]);
    loop_emit_saves(e, p->part[LOOP_SAVES]);
    for (unsigned i = 0; i < p->n_variants && !e->err; i++) {
        if (all || i == most) {
            loop_emit_before(e, &p->variant[i], p->variant[i].before);
        }
    }
    loop_emit_beside(e, p->part[PART_BESIDE]);
    loop_emit_after(e, p->part[PART_AFTER]);
    if (all) {
        loop_emit_end(e, p->part[PART_END]);
        loop_emit_planes(e, p->part[LOOP_PLANES]);
        loop_emit_once(e, p->part[LOOP_ONCE]);
    }
}

/* Cycles of a batch: of the Vector, or of MTE2 where that takes longer. */
static uint64_t cost_of(const struct loop_plan *p)
{
    uint64_t step = p->part[PART_AFTER]->cycles + p->part[PART_BESIDE]->cycles;
    uint64_t item = p->part[LOOP_SAVES]->cycles + p->part[LOOP_COLUMNS]->cycles +
                    p->part[LOOP_PLANES]->cycles + p->part[PART_END]->cycles;
    uint64_t cycles = p->form.blocks * item;

    for (unsigned i = 0; i < p->n_variants; i++) {
        uint64_t v = p->variant[i].before->cycles + step;
        struct loop_costs c = loop_costs(p, p->variant[i].rows);
        uint64_t loads = c.load[0] + c.load[1] + c.input;
        cycles += p->variant_steps[i] * (v > loads ? v : loads);
    }
    return cycles;
}

/* `again`: the tile is that of the one before. */
static void try(struct search *s, uint32_t tile, const struct loop_order *order,
                bool again)
{
    char why[TILE_TEXT_BYTES];
    uint64_t cycles;

    if (!loop_room_make(&s->p->room, &s->p->form, tile, order, why)) {
        if (s->best == UINT64_MAX) {
            memcpy(s->why, why, sizeof(why));
            s->err = ERR_LOCAL;
        }
        return;
    }
    if ((uint64_t)s->p->form.blocks * div_up(s->p->form.k->dim[s->p->form.t].size, tile) >
        LOOP_STEPS) {
        snprintf(s->why, sizeof(s->why), "more than %d tiles of one product", LOOP_STEPS);
        s->err = ERR_SHAPE;
        return;
    }
    s->p->n_tried++;
    if (!again) {
        s->tile = tile;
        loop_tiles(s->p);
    }
    emit(s, !again);
    if (s->e.err) {
        s->failed = s->e.err;
        if (s->best == UINT64_MAX) {
            memcpy(s->why, s->e.why, sizeof(s->why));
            s->err = s->e.err;
        }
        return;
    }
    cycles = cost_of(s->p);
    if (cycles < s->best) {
        s->best = cycles;
        s->best_tile = tile;
        s->best_order = *order;
    }
}

/* A tile in both ways to cut UB, with as few buffers between as will do. */
static void try_tile(struct search *s, uint32_t tile)
{
    struct loop_order o = {
        .of = {LOOP_BETWEEN, LOOP_VALUE, LOOP_SCORE, LOOP_CARRIED, LOOP_HALF}};

    for (unsigned wide = 0; wide < 2; wide++) {
        o.wide = !wide;
        o.more = 0;
        do {
            s->failed = 0;
            try(s, tile, &o, false);
        } while (s->failed == ERR_LOCAL && o.more++ < LOOP_MORE);
    }
}

/* Better orders: any two buffers of the best one so far changed, as long as that helps. */
static void improve(struct search *s)
{
    uint64_t was;

    try(s, s->best_tile, &s->best_order, false);
    do {
        struct loop_order from = s->best_order;
        was = s->best;
        for (unsigned i = 0; i < LOOP_LARGE; i++) {
            for (unsigned j = i + 1; j < LOOP_LARGE; j++) {
                struct loop_order o = from;
                o.of[i] = from.of[j];
                o.of[j] = from.of[i];
                try(s, s->best_tile, &o, true);
            }
        }
    } while (s->best < was);
}

/* A tile that is less than half of the best one has twice as many steps. */
static bool worse(const struct search *s, uint32_t tile)
{
    return s->best != UINT64_MAX && 2 * tile < s->best_tile;
}

/* The best one again. */
static int settle(struct search *s)
{
    if (!loop_room_make(&s->p->room, &s->p->form, s->best_tile, &s->best_order, s->why)) {
        return ERR_LOCAL; /* it did before */
    }
    emit(s, true);
    return s->e.err;
}

static int search(struct search *s, struct tile_error *error)
{
    static const uint8_t tiles[] = {LOOP_ROWS_MOST, 192, 160, 128, 112, 96, 64, 32, 16};
    const struct loop_form *f = &s->p->form;
    const struct tile_choice *c = tile_chosen(f->k, TILE_CHOICE_TILE, f->t);
    uint32_t keys = f->k->dim[f->t].size;

    s->best = UINT64_MAX;
    if (c) {
        try_tile(s, c->number < keys ? c->number : keys);
    } else {
        if (keys <= LOOP_ROWS_MOST) {
            try_tile(s, keys);
        }
        for (unsigned i = 0; i < sizeof(tiles) && !worse(s, tiles[i]); i++) {
            if (tiles[i] < keys) {
                try_tile(s, tiles[i]);
            }
        }
    }
    if (s->best != UINT64_MAX) {
        improve(s);
    }
    if (s->best == UINT64_MAX) {
        *error = (struct tile_error){.line = c ? c->line : s->e.why_line,
                                     .column = c ? c->column : s->e.why_column};
        snprintf(error->text, sizeof(error->text), "%s", s->why);
        return s->err;
    }
    return settle(s);
}

/* --- the schedule --- */

static int refuse(struct tile_error *error, const struct tile_choice *c,
                  const char *format, const char *name)
{
    struct tile_node at = {.line = c->line, .column = c->column};

    return tile_error_set(error, &at, ERR_ARG, format, name);
}

static int check_schedule(const struct loop_form *f, struct tile_error *error)
{
    int err = 0;

    for (unsigned i = 0; i < f->k->n_choices && !err; i++) {
        const struct tile_choice *c = &f->k->choice[i];
        switch (c->kind) {
        case TILE_CHOICE_TILE:
            if (c->dim == f->s && c->number != LOOP_LANES) {
                err = refuse(error, c, "tile %s: the lanes of a tile are 64",
                             f->k->dim[c->dim].name);
            } else if (c->dim == f->t && (c->number == 0 || c->number > LOOP_ROWS_MOST)) {
                err = refuse(error, c, "tile %s: a tile has 1 to 240 of it",
                             f->k->dim[c->dim].name);
            } else if (c->dim != f->s && c->dim != f->t) {
                err = refuse(error, c, "tile %s: it is no loop of its own",
                             f->k->dim[c->dim].name);
            }
            break;
        case TILE_CHOICE_CORES:
            if (c->number == 0 || c->number > chip_cores()) {
                err = refuse(error, c, "cores: the chip has fewer%s", "");
            }
            break;
        case TILE_CHOICE_LANES:
        case TILE_CHOICE_EXACT:
            break;
        default:
            err = refuse(error, c, "a loop has no such choice%s", "");
        }
    }
    return err;
}

/* --- the plan --- */

static int make_memory(struct loop_plan *p, struct tile_arena *arena)
{
    const struct tile_choice *c = tile_chosen(p->form.k, TILE_CHOICE_TILE, p->form.t);
    uint32_t least = c && c->number < 16 ? c->number : 16;
    uint64_t most =
        (uint64_t)p->form.blocks * div_up(p->form.k->dim[p->form.t].size, least);

    most = most < LOOP_STEPS ? most : LOOP_STEPS;
    p->which = tile_alloc(arena, most);
    p->before = tile_alloc(arena, (p->form.blocks + 1) * sizeof(*p->before));
    for (unsigned i = 0; i < LOOP_PARTS; i++) {
        p->part[i] = tile_alloc(arena, sizeof(*p->part[i]));
        if (p->part[i] == NULL) {
            return ERR_NOMEM;
        }
    }
    for (unsigned i = 0; i < LOOP_VARIANTS; i++) {
        p->variant[i].before = tile_alloc(arena, sizeof(*p->variant[i].before));
        if (p->variant[i].before == NULL) {
            return ERR_NOMEM;
        }
    }
    return p->which && p->before ? 0 : ERR_NOMEM;
}

/* As a running softmax, in the largest tile that fits; false: it is none, or too short. */
static bool plan_twice(struct loop_plan *p, struct search *s, struct tile_arena *arena)
{
    const struct tile_choice *c = tile_chosen(p->form.k, TILE_CHOICE_TILE, p->form.t);
    uint32_t keys = p->form.k->dim[p->form.t].size;
    bool made = false;

    p->twice = tile_alloc(arena, sizeof(*p->twice));
    if (p->twice == NULL || !twice_form(p->twice, &p->form, arena)) {
        return false;
    }
    for (unsigned i = 0; i < LOOP_VARIANTS; i++) {
        p->twice->look_part[i] = tile_alloc(arena, sizeof(**p->twice->look_part));
        if (p->twice->look_part[i] == NULL) {
            return false;
        }
    }
    for (uint32_t tile = c ? c->number : LOOP_ROWS_MOST; tile && !made;
         tile = c ? 0 : tile - 16) {
        for (unsigned more = 0; more <= TWICE_MORE && !made; more++) {
            if (!twice_room(p, tile, more)) {
                break;
            }
            if (keys <= tile) {
                return false;
            }
            p->n_tried++;
            p->twice->looks_at_all = !p->twice->guess || keys <= TWICE_LEAST * tile;
            loop_tiles(p);
            twice_emit(p, &s->e);
            made = s->e.err == 0;
        }
    }
    if (made) {
        twice_commands(p);
    }
    return made;
}

/* With all keys in one tile; false: there are too many, or UB does not hold them. */
static bool plan_once(struct loop_plan *p, struct search *s, struct tile_arena *arena)
{
    const struct loop_form was = p->form;
    uint32_t keys = was.k->dim[was.t].size;
    struct tile_error error;
    struct tile_kernel *k;
    bool wide = true;

    if (keys > LOOP_ROWS_MOST || tile_chosen(was.k, TILE_CHOICE_TILE, was.t) ||
        !loop_once(&k, was.k, arena) || loop_form_make(&p->form, k, &error) != 0) {
        p->form = was;
        return false;
    }
    p->form.once = true;
    loop_find_sum(&p->form);
    for (unsigned i = 0; i < k->n_carried && wide; i++) {
        wide = loop_class(&p->form, k->carry[i].value) != LOOP_WIDTH ||
               loop_stays(&p->form, i);
    }
    loop_masks(p);
    s->best = UINT64_MAX;
    if (wide) {
        try_tile(s, keys);
    }
    if (s->best != UINT64_MAX) {
        improve(s);
        if (settle(s) == 0) {
            return true;
        }
    }
    p->form = was;
    loop_masks(p);
    return false;
}

static int plan_loop(struct loop_plan *p, struct search *s, unsigned cores,
                     struct tile_arena *arena, struct tile_error *error)
{
    int err = check_schedule(&p->form, error);

    err = err ? err : make_memory(p, arena);
    loop_masks(p);
    s->p = p;
    if (!err && !plan_once(p, s, arena) && !plan_twice(p, s, arena)) {
        p->twice = NULL;
        err = search(s, error);
    }
    p->stage.cores = cores < p->form.items ? cores : (unsigned)p->form.items;
    return err ? err : loop_cores(p, arena);
}

int loop_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
              struct tile_arena *arena, struct tile_error *error)
{
    uint64_t began = hart_clock();
    struct loop_plan *l = tile_alloc(arena, sizeof(*l));
    struct tile_kernel *lowered = l ? tile_lower(k, arena) : NULL;
    struct search *s = plan_heap(calloc(1, sizeof(*s)));
    int err = ERR_NOMEM;

    *plan = l ? &l->stage : NULL;
    if (s && lowered && lowered->error.text[0]) {
        *error = lowered->error;
        err = ERR_ARG;
    } else if (s && lowered) {
        loop_inputs_lower(lowered);
        err = loop_form_make(&l->form, lowered, error);
        err = err ? err : plan_loop(l, s, cores, arena, error);
        l->stage.kind = &loop_kind;
        l->stage.k = lowered;
        l->stage.name = k->name;
        plan_begin(&l->stage);
        if (!err) {
            l->stage.predicted = l->twice ? twice_predict(l) : loop_predict(l);
        }
        l->stage.planning = hart_clock() - began;
    }
    free(s);
    if (err == ERR_NOMEM && error->text[0] == '\0') {
        snprintf(error->text, sizeof(error->text), "no memory for a plan");
    }
    return err;
}

const struct stage_kind loop_kind = {.explain = loop_explain};
