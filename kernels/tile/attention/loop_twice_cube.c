/* SPDX-License-Identifier: MIT
 *
 * The commands of a running softmax around the Vector, which all cores share; see
 * loop_twice.h.
 */
#include "hal/chip.h"
#include "hal/cube.h"
#include "hal/fixpipe.h"
#include "hal/mte.h"
#include "kernels/tile/attention/loop_twice.h"

/* Where a part of the Vector finds its score. */
static uint32_t score_at(const struct loop_room *r)
{
    unsigned i = 0;

    while (r->slot[i].kind != SLOT_SCORE) {
        i++;
    }
    return r->slot[i].at;
}

static void no_syncs(union cmd *cmd)
{
    for (unsigned i = 0; i < 2; i++) {
        cmd->head.wait_sem[i] = cmd->head.wait_n[i] = 0;
        cmd->head.post_sem[i] = cmd->head.post_n[i] = 0;
    }
}

static void sync(union cmd *cmd, unsigned wait, unsigned wait2, unsigned post,
                 unsigned post2)
{
    const unsigned waits[] = {wait, wait2}, posts[] = {post, post2};

    no_syncs(cmd);
    for (unsigned i = 0; i < 2; i++) {
        if (waits[i]) {
            cmd_wait(cmd, waits[i], 1);
        }
        if (posts[i]) {
            cmd_post(cmd, posts[i], 1);
        }
    }
}

static void load(const struct loop_plan *p, enum twice_command which, uint32_t keys,
                 unsigned variant, union cmd *cmd)
{
    const struct loop_room *r = &p->room;
    const struct loop_form *f = &p->form;

    switch (which) {
    case TWICE_L0_Q:
        loop_cube_command(p, LOOP_L0_Q, keys, cmd);
        cmd->load2d.src = r->l1_q + variant % TWICE_QUERIES * r->q_bytes;
        cmd->load2d.dst = variant % 2 * r->q_bytes;
        sync(cmd, LOOP_Q_FULL, TWICE_ITEM_FREE, LOOP_Q_FREE, 0);
        break;
    case TWICE_L0_K:
        loop_cube_command(p, LOOP_L0_K, keys, cmd);
        cmd->load2d.src = r->l1_k + variant % TWICE_BIAS * r->k_bytes;
        sync(cmd, LOOP_K_FULL, LOOP_L0K_FREE, LOOP_K_FREE,
             variant & TWICE_BIAS ? 0 : LOOP_L0K_FULL);
        break;
    case TWICE_L0_V:
        loop_cube_command(p, LOOP_L0_V, keys, cmd);
        cmd->load2d.src = r->l1_v + variant % TWICE_RING * r->v_bytes;
        cmd->load2d.dst =
            p->twice->l0a_ones - (uint32_t)(round_up(r->width, 16) * round_up(keys, 16)) * 2;
        sync(cmd, LOOP_V_FULL, LOOP_L0V_FREE, LOOP_V_FREE, LOOP_L0V_FULL);
        break;
    case TWICE_ONES:
        mte_fill(cmd, NPU_MEM_L0A, p->twice->l0a_ones, f->k->param[f->v].type,
                 number_bits(f->k->param[f->v].type, 1),
                 (uint32_t)round_up(r->tile, 16) * 32);
        break;
    case TWICE_L0_P:
        loop_cube_command(p, LOOP_L0_P, keys, cmd);
        cmd->load2d.dst = r->l0b_p + variant % 2 * (uint32_t)round_up(r->tile, 16) * 128;
        sync(cmd, LOOP_LP_FULL, 0, LOOP_LP_FREE, 0);
        break;
    default:
        mte_l1_to_bt(cmd, 0, p->twice->l1_bias, TYPE_F32, LOOP_LANES);
        sync(cmd, TWICE_BIAS_FULL, TWICE_ITEM_FREE, TWICE_BIAS_FREE, LOOP_L0K_FULL);
    }
}

static void product(const struct loop_plan *p, enum twice_command which, uint32_t keys,
                    unsigned variant, union cmd *cmd)
{
    const struct loop_twice *t = p->twice;
    bool first = variant & TWICE_FIRST;
    unsigned full = variant & TWICE_BEHIND ? 0 : LOOP_L0K_FULL;
    unsigned empty = variant & TWICE_THEN ? 0 : LOOP_L0K_FREE;

    if (which == TWICE_MMAD_DONE) {
        cmd_nop(cmd);
        cmd_post(cmd, TWICE_ITEM_FREE, 2);
        return;
    }
    loop_cube_command(p, which == TWICE_MMAD_VALUE ? LOOP_MMAD_O : LOOP_MMAD_S, keys,
                      cmd);
    if (which == TWICE_MMAD_VALUE) {
        cmd->mmad.a = t->l0a_ones -
                      (uint32_t)(round_up(p->room.width, 16) * round_up(keys, 16)) * 2;
        cmd->mmad.b += variant & TWICE_ODD ? (uint32_t)round_up(p->room.tile, 16) * 128 : 0;
        cmd->mmad.m = (uint16_t)(p->room.width + (t->ones ? LOOP_SUMS : 0));
        cube_set_from(cmd, first ? CUBE_FROM_ZERO : CUBE_FROM_C);
        sync(cmd, LOOP_L0V_FULL, first ? LOOP_CO_FREE : 0, LOOP_L0V_FREE,
             variant & TWICE_LAST ? LOOP_CO_FULL : 0);
        return;
    }
    cmd->mmad.b = variant % 2 * p->room.q_bytes;
    if (which == TWICE_MMAD_WORK) {
        cube_set_from(cmd, CUBE_FROM_BIAS);
        sync(cmd, full, LOOP_CS_FREE, LOOP_CS_FULL, empty);
    } else {
        cmd->mmad.dst = t->l0c_look;
        sync(cmd, full, TWICE_CL_FREE, TWICE_CL_FULL, empty);
    }
}

static void out(const struct loop_plan *p, enum twice_command which, uint32_t keys,
                union cmd *cmd)
{
    const struct loop_twice *t = p->twice;
    bool value = which == TWICE_FIX_VALUE, look = which == TWICE_FIX_LOOK;
    uint32_t wide = p->room.width + (t->ones ? LOOP_SUMS : 0);
    struct fixpipe_tile tile = {
        .type = TYPE_F32, .m = value ? wide : keys, .n = LOOP_LANES};

    if (value) {
        fixpipe_to_ub(cmd, t->out_room.slot[t->out_room.n_slots - 1].at, t->l0c_value,
                      &tile);
        sync(cmd, LOOP_CO_FULL, LOOP_OUT_FREE, LOOP_CO_FREE, LOOP_O_FULL);
    } else if (look) {
        fixpipe_to_ub(cmd, score_at(&t->look_room), t->l0c_look, &tile);
        sync(cmd, TWICE_CL_FULL, TWICE_LS_FREE, TWICE_CL_FREE, TWICE_LS_FULL);
    } else {
        fixpipe_to_ub(cmd, score_at(&p->room), 0, &tile);
        sync(cmd, LOOP_CS_FULL, LOOP_S_FREE, LOOP_CS_FREE, LOOP_S_FULL);
    }
}

static void command(const struct loop_plan *p, enum twice_command which, uint32_t keys,
                    unsigned variant, union cmd *cmd)
{
    const struct loop_twice *t = p->twice;
    enum pipe pipe = twice_pipe(which);

    if (which == TWICE_COPY_P) {
        loop_cube_command(p, LOOP_COPY_P, keys, cmd);
    } else if (which == TWICE_COPY_BIAS) {
        mte_ub_to_l1(cmd, t->l1_bias, t->negative, LOOP_REPEAT);
        sync(cmd, TWICE_NEG_FULL, TWICE_BIAS_FREE, TWICE_NEG_FREE, TWICE_BIAS_FULL);
    } else if (which == TWICE_CLEAR) {
        mte_fill(cmd, NPU_MEM_L1, p->room.l1_q, TYPE_F16, 0,
                 TWICE_QUERIES * p->room.q_bytes);
    } else if (pipe == PIPE_MTE1) {
        load(p, which, keys, variant, cmd);
    } else if (pipe == PIPE_M) {
        product(p, which, keys, variant, cmd);
    } else {
        out(p, which, keys, cmd);
    }
    cmd->head.tag =
        t->work.k->node[which == TWICE_MMAD_VALUE ? p->form.value : p->form.score].line;
}

void twice_commands(struct loop_plan *p)
{
    for (unsigned which = 0; which < TWICE_COMMANDS; which++) {
        for (unsigned tail = 0; tail < TWICE_TAILS; tail++) {
            for (unsigned v = 0; v < TWICE_VARIANTS; v++) {
                command(p, (enum twice_command)which, tail ? p->tail : p->room.tile, v,
                        &p->twice->cmd[which][tail][v]);
            }
        }
    }
}

/* The same commands as pushed together in a run of turns. */
void twice_runs(const struct loop_plan *p)
{
    struct loop_twice *t = p->twice;

    for (unsigned k = 0; k < p->room.ring; k++) {
        for (unsigned v = 0; v < p->room.ring; v++) {
            union cmd *to = t->run_l0[k][v];
            to[0] = t->cmd[TWICE_L0_K][0][k];
            to[1] = t->cmd[TWICE_L0_V][0][v];
            to[2] = t->cmd[TWICE_L0_P][0][(v + 1) % 2];
        }
    }
    for (unsigned i = 0; i < 8; i++) {
        unsigned parity = i / 4, odd = i / 2 % 2, first = i % 2;
        unsigned variant = (odd ? TWICE_ODD : 0) | (first ? TWICE_FIRST : 0);
        const union cmd *value = &t->cmd[TWICE_MMAD_VALUE][0][variant];
        union cmd *m = t->run_m[TWICE_LOOKS_AND_WORKS][parity][odd][first];
        m[0] = t->cmd[TWICE_MMAD_WORK][0][parity | TWICE_THEN];
        m[1] = t->cmd[TWICE_MMAD_LOOK][0][(parity ^ 1) | TWICE_BEHIND];
        m[2] = *value;
        m = t->run_m[TWICE_WORKS][parity][odd][first];
        m[0] = t->cmd[TWICE_MMAD_WORK][0][parity];
        m[1] = *value;
        t->run_m[TWICE_LOOKS][parity][odd][first][0] = t->cmd[TWICE_MMAD_LOOK][0][parity];
    }
    t->run_fix[TWICE_LOOKS_AND_WORKS][0] = t->cmd[TWICE_FIX_WORK][0][0];
    t->run_fix[TWICE_LOOKS_AND_WORKS][1] = t->cmd[TWICE_FIX_LOOK][0][0];
    t->run_fix[TWICE_WORKS][0] = t->cmd[TWICE_FIX_WORK][0][0];
    t->run_fix[TWICE_LOOKS][0] = t->cmd[TWICE_FIX_LOOK][0][0];
}
