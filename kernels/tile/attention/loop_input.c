/* SPDX-License-Identifier: MIT
 *
 * Operands of a loop besides the factors of its products, such as a mask that is added to
 * scores: of keys, or of rows and keys; see loop.h. A tile of one comes to UB as it lies in
 * GM, a row behind the other, and the Vector transposes it, so that lanes are rows.
 */
#include "hal/chip.h"
#include "hal/contract/cost.h"
#include "hal/mte.h"
#include "hal/vector_move.h"
#include "kernels/tile/attention/loop.h"
#include "kernels/tile/ir/fold.h"

enum { FRACTAL = 16 /* elements each way that a command transposes in F16 */ };

/* --- the program --- */

static bool has(tile_dims dims, unsigned dim)
{
    return dims >> dim & 1;
}

/* Is element by element of operands that have the loop's dimension, so that it is as well
 * computed in the loop. */
static bool is_of_inputs(const struct tile_kernel *k, tile_value v, unsigned t)
{
    const struct tile_node *n = &k->node[v];
    unsigned kind = tile_op_info[n->op].kind;
    bool is = n->op != TILE_INPUT && has(n->dims, t) &&
              (kind == KIND_MAP || kind == KIND_SHIFT || kind == KIND_COMPARE ||
               kind == KIND_SELECT || kind == KIND_CAST);

    for (unsigned i = 0; i < tile_op_info[n->op].operands && is; i++) {
        const struct tile_node *x = &k->node[n->operand[i]];
        is = x->loop || x->op == TILE_INPUT || x->op == TILE_NUMBER || x->op == TILE_INDEX;
    }
    return is;
}

/* A cast of U8, which is F16 as soon as it is transposed, is what it is of. */
static tile_value behind_cast(const struct tile_kernel *k, tile_value v)
{
    const struct tile_node *n = &k->node[v], *x = &k->node[n->operand[0]];

    return n->op == TILE_CAST && n->type == TYPE_F16 && x->op == TILE_INPUT &&
                   k->param[x->index].type == TYPE_U8
               ? n->operand[0]
               : v;
}

/* A comparison with a number that F16 has needs no cast to F32. */
static void compare_in_half(struct tile_kernel *k, struct tile_node *n)
{
    const struct tile_node *x = &k->node[n->operand[0]], *y = &k->node[n->operand[1]];

    if (tile_op_info[n->op].kind == KIND_COMPARE && x->op == TILE_CAST &&
        x->type == TYPE_F32 && k->node[x->operand[0]].op == TILE_INPUT &&
        k->node[x->operand[0]].type == TYPE_F16 && y->op == TILE_NUMBER &&
        fold_round(y->number, TYPE_F16) == y->number) {
        n->operand[0] = x->operand[0];
    }
}

void loop_inputs_lower(struct tile_kernel *k)
{
    unsigned t = k->loop[1].dim;

    for (tile_value v = 1; v <= k->n_nodes; v++) {
        struct tile_node *n = &k->node[v];
        if (n->loop == 0 && is_of_inputs(k, v, t)) {
            n->loop = 1;
        }
        for (unsigned i = 0; i < tile_op_info[n->op].operands && n->loop; i++) {
            n->operand[i] = behind_cast(k, n->operand[i]);
        }
    }
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        struct tile_node *n = &k->node[v];
        if (n->op == TILE_INPUT && has(n->dims, t) && n->type == TYPE_U8) {
            n->type = TYPE_F16;
        } else if (behind_cast(k, v) != v) { /* which nobody reads any more */
            n->op = TILE_NUMBER;
            n->number = 0;
            n->dims = 0;
        }
        compare_in_half(k, n);
    }
}

int loop_input_find(struct loop_form *f, tile_value v, struct tile_error *error)
{
    const struct tile_node *n = &f->k->node[v];
    const struct tile_tensor *t = &f->k->param[n->index];
    tile_dims may = (tile_dims)(1u << f->s | 1u << f->t);

    for (unsigned i = 0; i < f->n_batch; i++) {
        may |= (tile_dims)(1u << f->batch[i]);
    }
    if (!has(n->dims, f->t) || (n->dims & ~may)) {
        return tile_error_set(error, n, ERR_SHAPE,
                              "%s: besides the factors of its products a loop takes what "
                              "is of %s, or of %s and %s",
                              t->name, f->k->dim[f->t].name, f->k->dim[f->s].name,
                              f->k->dim[f->t].name);
    }
    if (t->type != TYPE_F16 && t->type != TYPE_F32 && t->type != TYPE_U8) {
        return tile_error_set(error, n, ERR_TYPE, "%s: a loop takes f32, f16 and bool",
                              t->name);
    }
    if (f->k->dim[f->t].size > 1 && tile_dim_stride(f->k, t, f->t) != 1) {
        return tile_error_set(error, n, ERR_SHAPE,
                              "dimension %s of %s lies apart: it has to be the last one",
                              f->k->dim[f->t].name, t->name);
    }
    if (f->n_inputs == LOOP_INPUTS) {
        return tile_error_set(error, n, ERR_ARG,
                              "%s: more than %d operands besides factors", t->name,
                              LOOP_INPUTS);
    }
    f->input[f->n_inputs++] = v;
    return 0;
}

/* --- its room and its load --- */

static bool of_rows(const struct loop_form *f, unsigned i)
{
    return has(f->k->node[f->input[i]].dims, f->s);
}

static const struct tile_tensor *tensor(const struct loop_form *f, unsigned i)
{
    return &f->k->param[f->k->node[f->input[i]].index];
}

uint32_t loop_inputs_room(struct loop_room *r, const struct loop_form *f, uint32_t at)
{
    for (unsigned i = 0; i < f->n_inputs; i++) {
        uint32_t rows = of_rows(f, i) ? LOOP_LANES : 1;
        unsigned esize = esize_of(tensor(f, i)->type);
        r->in[i] = (uint32_t)round_up(at, BLOCK);
        r->in_pitch[i] = (uint32_t)round_up(r->tile * esize, BLOCK);
        at = r->in[i] + (uint32_t)round_up(rows * r->in_pitch[i], LOOP_LANES * 2);
        if (esize == 1) {
            r->in_wide[i] = (uint32_t)round_up(at, BLOCK);
            at = r->in_wide[i] +
                 (uint32_t)round_up(rows * r->in_pitch[i] * 2, LOOP_REPEAT);
        }
    }
    return at;
}

void loop_input_load(const struct loop_plan *p, unsigned i, uint64_t gm, uint32_t rows,
                     uint32_t keys, union cmd *cmd)
{
    const struct tile_tensor *t = tensor(&p->form, i);
    unsigned esize = esize_of(t->type);
    bool down = of_rows(&p->form, i) && rows > 1;

    mte_gm_to_ub_rows(
        cmd, p->room.in[i], (const void *)(uintptr_t)gm,
        &(struct mte_rows){
            .n_rows = down ? rows : 1,
            .row_bytes = keys * esize,
            .gm_pitch_bytes =
                down ? (uint32_t)tile_dim_stride(p->form.k, t, p->form.s) * esize : 0,
            .local_pitch_bytes = down ? p->room.in_pitch[i] : 0});
    cmd->head.tag = t->line;
    if (i == 0) {
        cmd_wait(cmd, LOOP_X_FREE, 1);
    }
    if (i + 1 == p->form.n_inputs) {
        cmd_post(cmd, LOOP_X_FULL, 1);
    }
}

uint64_t loop_inputs_cost(const struct loop_plan *p, uint32_t keys)
{
    uint64_t cycles = 0;

    for (unsigned i = 0; i < p->form.n_inputs; i++) {
        uint32_t rows = of_rows(&p->form, i) ? LOOP_LANES : 1;
        cycles += chip_cost(COST_GM_UB_FIXED) +
                  cost_gm_rows(rows, (uint64_t)keys * esize_of(tensor(&p->form, i)->type),
                               chip_cost(COST_GM_ROW_BYTES), chip_cost(COST_GM_UB_RATE));
    }
    return cycles;
}

/* --- as a plane --- */

/* All of its bytes to F16. */
static void widen(struct loop_emit *e, unsigned i)
{
    uint32_t bytes = (of_rows(e->f, i) ? LOOP_LANES : 1) * e->room->in_pitch[i];
    union cmd cmd;

    vector_convert_strided(
        &cmd, &(struct vec_convert){TYPE_U8, TYPE_F16, ROUND_RINT,
                                    vec_dense_of(e->room->in_wide[i], 16, 16),
                                    vec_dense_of(e->room->in[i], 8, 16),
                                    div_up(bytes, LANES)});
    loop_put(e, &cmd);
}

/* Lanes from `lane` on, FRACTAL of them, of all keys. */
static void transpose(struct loop_emit *e, uint32_t from, uint32_t pitch, unsigned esize,
                      uint32_t dst, unsigned lane)
{
    unsigned wide = esize == 4 ? 2 : 1, keys = FRACTAL / wide;
    uint16_t src[FRACTAL], to[FRACTAL];
    union cmd cmd;

    for (unsigned i = 0; i < FRACTAL; i++) {
        src[i] = (uint16_t)((from + (lane + i) * pitch) / BLOCK);
        to[i] = (uint16_t)((dst + i / wide * LOOP_LANES * esize + lane * esize) / BLOCK +
                           i % wide);
    }
    vector_addresses(&cmd, src, false);
    loop_put(e, &cmd);
    vector_addresses(&cmd, to, true);
    loop_put(e, &cmd);
    vector_transdata(&cmd,
                     &(struct vec_transdata){.type = esize == 4 ? TYPE_F32 : TYPE_F16,
                                             .repeat = div_up(e->rows, keys),
                                             .dst_rep = keys * LOOP_LANES * esize / BLOCK,
                                             .src_rep = 1});
    loop_put(e, &cmd);
}

void loop_input(struct loop_emit *e, tile_value v, uint32_t dst)
{
    unsigned i = 0, esize;
    uint32_t from, pitch, begin = e->to->n;

    while (e->f->input[i] != v) {
        i++;
    }
    from = e->room->in[i];
    pitch = e->room->in_pitch[i];
    esize = esize_of(tensor(e->f, i)->type);
    if (esize == 1) {
        widen(e, i);
        from = e->room->in_wide[i];
        pitch *= 2;
        esize = 2;
    }
    for (unsigned lane = 0; lane < LOOP_LANES; lane += FRACTAL) {
        /* of keys alone: the one row for all lanes */
        transpose(e, from, of_rows(e->f, i) ? pitch : 0, esize,
                  dst, lane);
    }
    e->in_first = e->in_first < 0 ? (int16_t)begin : e->in_first;
    e->in_last = (int16_t)(e->to->n - 1);
}

void loop_inputs_done(struct loop_emit *e)
{
    union cmd cmd;

    if (e->f->n_inputs == 0 || e->err) {
        return;
    }
    if (e->in_first < 0) { /* this tile looks at none */
        e->in_first = e->in_last = (int16_t)e->to->n;
        cmd_nop(&cmd);
        loop_put(e, &cmd);
    }
    if (!e->err) {
        cmd_wait(&e->to->cmd[e->in_first], LOOP_X_FULL, 1);
        cmd_post(&e->to->cmd[e->in_last], LOOP_X_FREE, 1);
    }
}
