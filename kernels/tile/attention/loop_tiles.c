/* SPDX-License-Identifier: MIT
 *
 * Which tiles of keys a block of rows has, and which of a loop's conditions hold in all of one,
 * in none or sometimes; see loop.h.
 */
#include <string.h>

#include "kernels/tile/attention/loop.h"

static struct loop_window window(const struct loop_plan *p, uint32_t block,
                                 uint32_t first, uint32_t last)
{
    uint32_t rows = p->form.k->dim[p->form.s].size;
    uint32_t keys = p->form.k->dim[p->form.t].size;
    struct loop_window w = {.t0 = first * p->room.tile, .s0 = block * LOOP_LANES};

    w.t1 = last == p->tiles - 1 ? keys - 1 : (last + 1) * p->room.tile - 1;
    w.s1 = rows - w.s0 < LOOP_LANES ? rows - 1 : w.s0 + LOOP_LANES - 1;
    return w;
}

/* Conditions that choose between values, as many as fit in a key. */
void loop_masks(struct loop_plan *p)
{
    const struct loop_form *f = &p->form;

    p->n_masks = 0;
    for (tile_value v = 1; v <= f->k->n_nodes; v++) {
        tile_value mask = f->k->node[v].operand[0];
        unsigned i = 0;
        while (i < p->n_masks && p->mask[i] != mask) {
            i++;
        }
        if (f->k->node[v].op == TILE_WHERE && f->part[v] == PART_BEFORE &&
            i == p->n_masks && i < LOOP_MASKS) {
            p->mask[p->n_masks++] = mask;
        }
    }
}

/* Where they hold in a tile: two bits each. */
static uint32_t find_states(const struct loop_plan *p, const struct loop_window *w)
{
    uint32_t states = 0;

    for (unsigned i = 0; i < p->n_masks; i++) {
        states |= (uint32_t)loop_holds(&p->form, p->mask[i], w) << 2 * i;
    }
    return states;
}

static bool some_hold_sometimes(const struct loop_plan *p, uint32_t states)
{
    bool some = false;

    for (unsigned i = 0; i < p->n_masks; i++) {
        some = some || (states >> 2 * i & 3) == LOOP_SOMETIMES;
    }
    return some;
}

/* The number of the variant, which may be new; of what is beyond the last, one where all
 * conditions hold sometimes. */
static unsigned variant_of(struct loop_plan *p, uint32_t rows, uint32_t states)
{
    unsigned i = 0;

    while (i < p->n_variants &&
           (p->variant[i].rows != rows || p->variant[i].states != states)) {
        i++;
    }
    if (i == p->n_variants && i >= LOOP_VARIANTS - 2 && states) {
        return variant_of(p, rows, 0);
    }
    if (i == p->n_variants) {
        struct loop_variant *v = &p->variant[p->n_variants++];
        v->rows = rows;
        v->states = states;
        memset(v->state, LOOP_SOMETIMES, sizeof(v->state));
        for (unsigned m = 0; m < p->n_masks; m++) {
            v->state[p->mask[m]] = states >> 2 * m & 3;
        }
    }
    return i;
}

static void note_tile(struct loop_plan *p, uint32_t block, uint32_t tile, uint32_t states)
{
    struct loop_window w = window(p, block, tile, tile);
    unsigned v = variant_of(p, w.t1 - w.t0 + 1, states);

    p->which[(uint64_t)block * p->tiles + tile] = (uint8_t)(v + 1);
    p->variant_steps[v]++;
    p->steps++;
}

/* Tiles first to last of a block, all at once if conditions hold in all of them or in none, else
 * one half after the other. */
static void find_stretch(struct loop_plan *p, uint32_t block, uint32_t first,
                         uint32_t last)
{
    struct loop_window w = window(p, block, first, last);
    tile_value condition = p->form.loop->condition;
    enum loop_state in = condition ? loop_holds(&p->form, condition, &w) : LOOP_ALWAYS;
    uint32_t states = find_states(p, &w), middle = first + (last - first) / 2;

    if (first != last && (in == LOOP_SOMETIMES || some_hold_sometimes(p, states))) {
        find_stretch(p, block, first, middle);
        find_stretch(p, block, middle + 1, last);
        return;
    }
    for (uint32_t j = first; j <= last && in != LOOP_NEVER; j++) {
        note_tile(p, block, j, states);
    }
}

void loop_tiles(struct loop_plan *p)
{
    uint32_t keys = p->form.k->dim[p->form.t].size, last;

    p->tiles = div_up(keys, p->room.tile);
    p->tail = keys - (p->tiles - 1) * p->room.tile;
    p->n_variants = 0;
    p->steps = 0;
    last = p->tiles - 1;
    memset(p->variant_steps, 0, sizeof(p->variant_steps));
    memset(p->which, 0, (uint64_t)p->form.blocks * p->tiles);
    for (uint32_t b = 0; b < p->form.blocks; b++) {
        uint64_t before = p->steps;
        p->before[b] = before;
        find_stretch(p, b, 0, last);
        if (p->steps == before) { /* one at the least */
            struct loop_window w = window(p, b, last, last);
            note_tile(p, b, last, find_states(p, &w));
        }
    }
    p->before[p->form.blocks] = p->steps;
}
