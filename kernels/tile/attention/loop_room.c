/* SPDX-License-Identifier: MIT
 *
 * Where a tile lies in the memories of the core; see loop.h. In UB the order of the large
 * buffers decides which banks meet: who searches tries several.
 */
#include <stdio.h>

#include "hal/chip.h"
#include "kernels/tile/attention/loop.h"

enum { LEAST_COLUMNS = 8 << 10 };

static void add_slot(struct loop_room *r, uint32_t *at, uint32_t rows, unsigned kind,
                     unsigned carry)
{
    uint32_t phase = kind == SLOT_VALUE ? LOOP_REPEAT : 0;

    *at = (uint32_t)round_up(*at, LOOP_TWICE) + phase;
    r->slot[r->n_slots++] = (struct loop_slot){
        .at = *at, .rows = rows, .kind = kind, .carry = (uint8_t)carry};
    if (rows >= r->width &&
        rows < round_up(r->width, 16)) { /* a result is read in squares */
        rows = (uint32_t)round_up(r->width, 16);
    }
    *at += rows * LOOP_REPEAT;
}

static void add_carried(struct loop_room *r, const struct loop_form *f, uint32_t *at)
{
    for (unsigned i = 0; i < f->k->n_carried; i++) {
        if (loop_class(f, f->k->carry[i].value) == LOOP_WIDTH && !loop_stays(f, i)) {
            add_slot(r, at, r->width, SLOT_CARRY, i);
        }
    }
}

static const struct loop_slot *carried_of(const struct loop_room *r)
{
    unsigned i = 0;

    while (i < r->n_slots && r->slot[i].kind != SLOT_CARRY) {
        i++;
    }
    return &r->slot[i];
}

/* F16 takes half of what is carried as F32, and its rows the other half. */
static bool fits_in_carried(const struct loop_room *r, const struct loop_form *f)
{
    const struct tile_result *result = &f->k->result[0];

    return f->k->n_results == 1 && loop_class(f, result->value) == LOOP_WIDTH &&
           type_bits(result->tensor.type) == 16 && r->width % 16 == 0 &&
           carried_of(r) < &r->slot[r->n_slots];
}

static uint32_t lay_out_ub(struct loop_room *r, const struct loop_form *f,
                           const struct loop_order *o)
{
    uint32_t wide = r->width > r->tile && o->wide ? r->width : r->tile, at = 0;
    uint32_t half = (r->tile + 1) / 2;

    r->n_slots = 0;
    if (f->n_inputs) { /* whole squares are transposed */
        wide = (uint32_t)round_up(wide, 16);
        half = (uint32_t)round_up(r->tile, 16) / 2;
    }
    for (unsigned i = 0; i < LOOP_LARGE; i++) {
        if (o->of[i] == LOOP_SCORE) {
            add_slot(r, &at, r->tile, SLOT_SCORE, 0);
        } else if (o->of[i] == LOOP_VALUE && f->value) {
            add_slot(r, &at, r->width + loop_sums(f), SLOT_VALUE, 0);
        } else if (o->of[i] == LOOP_CARRIED) {
            add_carried(r, f, &at);
        } else if (o->of[i] == LOOP_BETWEEN) {
            add_slot(r, &at, wide, SLOT_SPARE, 0);
        } else if (o->of[i] == LOOP_HALF) {
            add_slot(r, &at, half, SLOT_SPARE, 0);
        }
    }
    for (unsigned i = 0; i < o->more; i++) {
        add_slot(r, &at, wide, SLOT_SPARE, 0);
    }
    r->given = (uint32_t)round_up(at, LOOP_REPEAT);
    r->given_rows = r->tile + 1; /* blocks of a repeat lie in other groups each */
    at = r->given + (f->value ? loop_given_blocks(f) * r->given_rows * BLOCK : 0);
    r->out_in_carried = !o->wide && fits_in_carried(r, f);
    for (unsigned i = 0; i < f->k->n_results; i++) {
        const struct tile_tensor *t = &f->k->result[i].tensor;
        bool is_wide = loop_class(f, f->k->result[i].value) == LOOP_WIDTH;
        r->out[i] = (uint32_t)round_up(at, LOOP_REPEAT);
        r->out_pitch[i] = (uint32_t)round_up(r->width, 16) * esize_of(t->type);
        at = r->out[i] + (is_wide ? LOOP_LANES * r->out_pitch[i] : LOOP_REPEAT);
    }
    if (r->out_in_carried) {
        at = r->out[0];
        r->out[0] = carried_of(r)->at + r->width * LOOP_REPEAT / 2;
    }
    at = loop_inputs_room(r, f, at);
    r->columns = (uint32_t)round_up(at, LOOP_TWICE);
    r->ub_bytes = chip_mem(NPU_MEM_UB);
    return r->columns + LEAST_COLUMNS;
}

static bool too_much(char *why, const char *memory, uint32_t tile, uint32_t wanted,
                     uint32_t has)
{
    if (wanted > has) {
        snprintf(why, TILE_TEXT_BYTES, "%lu keys want %lu KiB of %s, which has %lu",
                 (unsigned long)tile, (unsigned long)(wanted + 1023) / 1024, memory,
                 (unsigned long)has / 1024);
    }
    return wanted > has;
}

bool loop_room_make(struct loop_room *r, const struct loop_form *f, uint32_t tile,
                    const struct loop_order *order, char why[TILE_TEXT_BYTES])
{
    const struct tile_kernel *k = f->k;
    uint32_t up = (uint32_t)round_up(tile, 16), d = k->dim[f->d].size, ub;
    uint32_t wide = f->value ? k->dim[f->e].size : 0;
    uint32_t esize = esize_of(k->param[f->q].type);
    uint32_t v_esize = f->value ? esize_of(k->param[f->v].type) : esize;
    uint32_t rows = LOOP_LANES * v_esize;

    *r = (struct loop_room){.tile = tile, .width = wide};
    d = (uint32_t)round_up(d, 16);
    wide = (uint32_t)round_up(wide, 16);
    ub = lay_out_ub(r, f, order);
    r->q_bytes = d * LOOP_LANES * esize;
    r->k_bytes = up * d * esize;
    r->v_bytes = up * wide * v_esize;
    r->l0a_v = (uint32_t)round_up(r->k_bytes, 512);
    r->l0b_p = (uint32_t)round_up(r->q_bytes, 512);
    r->l0c_v = (uint32_t)round_up(up * LOOP_REPEAT, 1024);
    r->ring = LOOP_RING;
    r->l1_q = 0;
    r->l1_p = 2 * r->q_bytes;
    r->l1_k = r->l1_p + up * rows;
    while (r->ring > 2 &&
           r->l1_k + r->ring * (r->k_bytes + r->v_bytes) > chip_mem(NPU_MEM_L1)) {
        r->ring--;
    }
    r->l1_v = r->l1_k + r->ring * r->k_bytes;
    return !too_much(why, "UB", tile, ub, r->ub_bytes) &&
           !too_much(why, "L1", tile, r->l1_v + r->ring * r->v_bytes,
                     chip_mem(NPU_MEM_L1)) &&
           !too_much(why, "L0A", tile, r->l0a_v + r->v_bytes + (f->ones ? up * 32 : 0),
                     chip_mem(NPU_MEM_L0A)) &&
           !too_much(why, "L0B", tile, r->l0b_p + up * rows, chip_mem(NPU_MEM_L0B)) &&
           !too_much(why, "L0C", tile, r->l0c_v + (wide + (f->ones ? 16 : 0)) * LOOP_REPEAT,
                     chip_mem(NPU_MEM_L0C));
}
