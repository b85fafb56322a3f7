/* SPDX-License-Identifier: MIT
 *
 * The commands around the Vector in a step of a loop; see loop.h. The products are
 * transposed: the first is keys x rows of q, the second v's columns x rows of q, with the
 * keys, and v transposed, in L0A.
 */
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "kernels/tile/attention/loop.h"

static const struct tile_tensor *tensor(const struct loop_plan *p,
                                        enum loop_command which)
{
    const struct loop_form *f = &p->form;

    return &f->k->param[which == LOOP_LOAD_Q   ? f->q
                        : which == LOOP_LOAD_K ? f->key
                                               : f->v];
}

static void load(const struct loop_plan *p, enum loop_command which, uint32_t keys,
                 union cmd *cmd)
{
    const struct loop_form *f = &p->form;
    const struct tile_tensor *t = tensor(p, which);
    unsigned row = which == LOOP_LOAD_Q ? f->s : f->t;
    unsigned col = which == LOOP_LOAD_V ? f->e : f->d;
    uint64_t pitch = tile_dim_stride(f->k, t, row);
    uint32_t rows = which == LOOP_LOAD_Q ? LOOP_LANES : (uint32_t)round_up(keys, 16);

    mte_gm_to_l1_nz(cmd, 0, NULL,
                    &(struct mte_nz){.type = (enum type)t->type,
                                     .n_rows = keys,
                                     .n_cols = f->k->dim[col].size,
                                     .gm_pitch_elems = (uint32_t)pitch,
                                     .block_rows = rows});
}

static void to_l0(const struct loop_plan *p, enum loop_command which, uint32_t keys,
                  union cmd *cmd)
{
    const struct loop_form *f = &p->form;
    const struct loop_room *r = &p->room;
    struct mte_window w = {.type = (enum type)f->k->param[f->q].type};
    uint32_t d = f->k->dim[f->d].size, up = (uint32_t)round_up(keys, 16);

    if (which == LOOP_L0_Q) {
        w.n_rows = d;
        w.n_cols = w.block_rows = LOOP_LANES;
        w.transpose = true;
        mte_l1_to_l0b(cmd, 0, r->l1_q, &w);
    } else if (which == LOOP_L0_K) {
        w.n_rows = keys;
        w.n_cols = d;
        w.block_rows = up;
        mte_l1_to_l0a(cmd, 0, r->l1_k, &w);
    } else if (which == LOOP_L0_V) {
        w.type = (enum type)f->k->param[f->v].type;
        w.n_rows = r->width;
        w.n_cols = keys;
        w.block_rows = up;
        w.transpose = true;
        mte_l1_to_l0a(cmd, r->l0a_v, r->l1_v, &w);
    } else {
        w.type = (enum type)f->k->param[f->v].type;
        w.n_rows = w.block_rows = keys;
        w.n_cols = LOOP_LANES;
        mte_l1_to_l0b(cmd, r->l0b_p, r->l1_p, &w);
    }
}

static void product(const struct loop_plan *p, enum loop_command which, uint32_t keys,
                    union cmd *cmd)
{
    const struct loop_form *f = &p->form;
    const struct loop_room *r = &p->room;
    bool first = which == LOOP_MMAD_S;
    unsigned param = first ? f->q : f->v;

    cube_mmad(cmd, &(struct cube_mmad){.type = (enum type)f->k->param[param].type,
                                       .c = first ? 0 : r->l0c_v,
                                       .a = first ? 0 : r->l0a_v,
                                       .b = first ? 0 : r->l0b_p,
                                       .m = first ? keys : r->width + loop_sums(f),
                                       .n = LOOP_LANES,
                                       .k = first ? f->k->dim[f->d].size : keys,
                                       .from = CUBE_FROM_ZERO});
}

static void out(const struct loop_plan *p, enum loop_command which, uint32_t keys,
                union cmd *cmd)
{
    const struct loop_room *r = &p->room;
    bool first = which == LOOP_FIX_S;
    unsigned slot = 0;

    while (slot + 1 < r->n_slots &&
           r->slot[slot].kind != (first ? SLOT_SCORE : SLOT_VALUE)) {
        slot++;
    }
    fixpipe_to_ub(cmd, r->slot[slot].at, first ? 0 : r->l0c_v,
                  &(struct fixpipe_tile){
                      .type = TYPE_F32,
                      .m = first ? keys : r->width + loop_sums(&p->form),
                      .n = LOOP_LANES});
}

/* Behind v, whose columns are rows there. */
static void ones(const struct loop_plan *p, union cmd *cmd)
{
    enum type type = (enum type)p->form.k->param[p->form.v].type;

    if (p->form.ones) {
        mte_fill(cmd, NPU_MEM_L0A, p->room.l0a_v + p->room.v_bytes, type,
                 number_bits(type, 1), (uint32_t)round_up(p->room.tile, 16) * 32);
    } else {
        cmd_nop(cmd);
    }
}

static void copy_given(const struct loop_plan *p, uint32_t keys, union cmd *cmd)
{
    mte_ub_to_l1_rows(
        cmd, p->room.l1_p, p->room.given,
        &(struct mte_local_rows){.n_rows = loop_given_blocks(&p->form),
                                 .row_bytes = keys * BLOCK,
                                 .src_pitch_bytes = p->room.given_rows * BLOCK,
                                 .dst_pitch_bytes = keys * BLOCK});
}

/* What each waits for and posts; 0: nothing. */
static const struct {
    uint8_t wait[2], post[2];
} syncs[LOOP_FIXED_COMMANDS] = {
    [LOOP_LOAD_Q] = {{LOOP_Q_FREE}, {LOOP_Q_FULL}},
    [LOOP_LOAD_K] = {{LOOP_K_FREE}, {LOOP_K_FULL}},
    [LOOP_LOAD_V] = {{LOOP_V_FREE}, {LOOP_V_FULL}},
    [LOOP_L0_Q] = {{LOOP_Q_FULL, LOOP_L0K_FREE}, {LOOP_Q_FREE}},
    [LOOP_L0_K] = {{LOOP_K_FULL, LOOP_L0K_FREE}, {LOOP_K_FREE, LOOP_L0K_FULL}},
    [LOOP_L0_V] = {{LOOP_V_FULL, LOOP_L0V_FREE}, {LOOP_V_FREE}},
    [LOOP_L0_P] = {{LOOP_LP_FULL}, {LOOP_LP_FREE, LOOP_L0V_FULL}},
    [LOOP_MMAD_S] = {{LOOP_L0K_FULL, LOOP_CS_FREE}, {LOOP_L0K_FREE, LOOP_CS_FULL}},
    [LOOP_MMAD_O] = {{LOOP_L0V_FULL, LOOP_CO_FREE}, {LOOP_L0V_FREE, LOOP_CO_FULL}},
    [LOOP_FIX_S] = {{LOOP_CS_FULL, LOOP_S_FREE}, {LOOP_CS_FREE, LOOP_S_FULL}},
    [LOOP_FIX_O] = {{LOOP_CO_FULL, LOOP_O_FREE}, {LOOP_CO_FREE, LOOP_O_FULL}},
    [LOOP_COPY_P] = {{LOOP_P_FULL, LOOP_LP_FREE}, {LOOP_P_FREE, LOOP_LP_FULL}},
};

void loop_cube_command(const struct loop_plan *p, enum loop_command which, uint32_t keys,
                       union cmd *cmd)
{
    switch (which) {
    case LOOP_LOAD_Q:
    case LOOP_LOAD_K:
    case LOOP_LOAD_V:
        load(p, which, keys, cmd);
        break;
    case LOOP_MMAD_S:
    case LOOP_MMAD_O:
        product(p, which, keys, cmd);
        break;
    case LOOP_FIX_S:
    case LOOP_FIX_O:
        out(p, which, keys, cmd);
        break;
    case LOOP_ONES:
        ones(p, cmd);
        break;
    case LOOP_COPY_P:
        copy_given(p, keys, cmd);
        break;
    default:
        to_l0(p, which, keys, cmd);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (syncs[which].wait[i]) {
            cmd_wait(cmd, syncs[which].wait[i], 1);
        }
        if (syncs[which].post[i]) {
            cmd_post(cmd, syncs[which].post[i], 1);
        }
    }
    cmd->head.tag = p->form.k
                        ->node[which < LOOP_L0_V && which != LOOP_LOAD_V ? p->form.score
                               : p->form.value                           ? p->form.value
                                                                         : p->form.score]
                        .line;
}
