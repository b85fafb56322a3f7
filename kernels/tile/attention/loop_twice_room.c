/* SPDX-License-Identifier: MIT
 *
 * Where a running softmax lies in the memories of the core; see loop_twice.h. In UB planes that
 * one command reads lie in different halves of the bank groups, and what it writes in another
 * bank than what it reads, or in the same half: so there is one order, and none to search for.
 */
#include "hal/chip.h"
#include "kernels/tile/attention/loop_twice.h"

static uint32_t plane(uint32_t *at, uint32_t rows, uint32_t phase)
{
    uint32_t begin = (uint32_t)round_up(*at, LOOP_TWICE) + phase;

    *at = begin + rows * LOOP_REPEAT;
    return begin;
}

static void add_slot(struct loop_room *r, uint32_t at, uint32_t rows, unsigned kind)
{
    r->slot[r->n_slots++] = (struct loop_slot){.at = at, .rows = rows, .kind = kind};
}

/* Bytes from one result to the next where rows are as wide as v, and how many it takes. */
static uint32_t result_bytes(struct loop_room *r, const struct loop_form *f, unsigned i)
{
    const struct tile_tensor *t = &f->k->result[i].tensor;

    r->out_pitch[i] = (uint32_t)round_up(r->width, 16) * esize_of(t->type);
    return loop_class(f, f->k->result[i].value) == LOOP_WIDTH
               ? LOOP_LANES * r->out_pitch[i]
               : LOOP_REPEAT;
}

/* A result in F16 takes half of the sums, and its rows the other half. */
static bool fits_in_value(const struct loop_room *r, const struct loop_form *f)
{
    return f->k->n_results == 1 && r->width % 16 == 0 &&
           loop_class(f, f->k->result[0].value) == LOOP_WIDTH &&
           type_bits(f->k->result[0].tensor.type) == 16;
}

static void lay_out_ub(struct loop_plan *p, struct loop_twice *t, unsigned more)
{
    struct loop_room *r = &p->room, *look = &t->look_room, *out = &t->out_room;
    uint32_t at = 0, value, end, between, sums = t->ones ? LOOP_SUMS : 0;

    r->given_rows = r->tile + 1;
    r->given = 0;
    at = 4 * r->given_rows * BLOCK;
    t->sum_plane = t->ones ? 0 : plane(&at, r->tile, LOOP_REPEAT);
    t->top_plane = plane(&at, r->tile, LOOP_REPEAT);
    value = plane(&at, r->width + sums, 0);
    t->sums = value + r->width * LOOP_REPEAT;
    add_slot(r, plane(&at, r->tile, 0), r->tile, SLOT_SCORE);
    for (unsigned i = 0; i <= more; i++) {
        between = plane(&at, r->tile, 0);
        add_slot(r, between, r->tile, SLOT_SPARE);
        add_slot(look, between, r->tile, SLOT_SPARE);
        add_slot(out, between, r->tile, SLOT_SPARE);
    }
    add_slot(look, plane(&at, r->tile, 0), r->tile, SLOT_SCORE);
    add_slot(out, value, r->width, SLOT_VALUE);
    r->out_in_carried = fits_in_value(r, &p->form);
    for (unsigned i = 0; i < p->form.k->n_results; i++) {
        uint32_t bytes = result_bytes(r, &p->form, i);
        r->out[i] = (uint32_t)round_up(at, LOOP_REPEAT);
        end = r->out[i] + bytes;
        at = r->out_in_carried ? at : end;
    }
    r->out[0] = r->out_in_carried ? value + r->width * LOOP_REPEAT / 2 : r->out[0];
    r->columns = (uint32_t)round_up(at, LOOP_TWICE);
}

/* The others besides UB; false: one does not hold it. */
static bool lay_out_rest(struct loop_plan *p, struct loop_twice *t)
{
    struct loop_room *r = &p->room;
    const struct tile_kernel *k = p->form.k;
    uint32_t up = (uint32_t)round_up(r->tile, 16), rows = LOOP_LANES * 2;
    uint32_t d = (uint32_t)round_up(k->dim[p->form.d].size, 16);
    uint32_t ones = t->ones ? up * 32 : 0;
    uint32_t wide = (uint32_t)round_up(r->width, 16), ring_bytes;

    r->q_bytes = (uint32_t)round_up(d * rows, 512);
    r->k_bytes = (uint32_t)round_up(up * d * 2, 512);
    r->v_bytes = up * wide * 2;
    ring_bytes = r->k_bytes + r->v_bytes;
    r->l0a_v = r->k_bytes;
    t->l0a_ones = r->l0a_v + r->v_bytes;
    r->l0b_p = 2 * r->q_bytes;
    t->l0c_look = (uint32_t)round_up(up * LOOP_REPEAT, 1024);
    t->l0c_value = r->l0c_v = 2 * t->l0c_look;
    r->l1_p = TWICE_QUERIES * r->q_bytes;
    t->l1_bias = r->l1_p + up * rows;
    r->l1_k = t->l1_bias + LOOP_REPEAT;
    r->ring = TWICE_RING;
    while (r->ring > TWICE_LAG + 1 && r->l1_k + r->ring * ring_bytes > chip_mem(NPU_MEM_L1)) {
        r->ring -= 2;
    }
    r->l1_v = r->l1_k + r->ring * r->k_bytes;
    return r->l1_k + r->ring * ring_bytes <= chip_mem(NPU_MEM_L1) &&
           t->l0a_ones + ones <= chip_mem(NPU_MEM_L0A) &&
           r->l0b_p + 2 * up * rows <= chip_mem(NPU_MEM_L0B) &&
           t->l0c_value + (wide + (t->ones ? 16 : 0)) * LOOP_REPEAT <=
               chip_mem(NPU_MEM_L0C);
}

bool twice_room(struct loop_plan *p, uint32_t tile, unsigned more)
{
    struct loop_twice *t = p->twice;
    uint32_t width = p->form.k->dim[p->form.e].size;

    p->room = (struct loop_room){
        .tile = tile, .width = width, .ub_bytes = chip_mem(NPU_MEM_UB)};
    t->look_room = t->out_room = p->room;
    lay_out_ub(p, t, more);
    for (unsigned i = 0; i < 2; i++) { /* what all parts need */
        struct loop_room *r = i ? &t->look_room : &t->out_room;
        r->columns = p->room.columns;
        for (unsigned j = 0; j < p->form.k->n_results; j++) {
            r->out[j] = p->room.out[j];
            r->out_pitch[j] = p->room.out_pitch[j];
        }
    }
    return p->room.columns < p->room.ub_bytes && lay_out_rest(p, t);
}
