/* SPDX-License-Identifier: MIT
 *
 * The commands of each core of a loop, as sequences; see loop.h. Commands of the Vector are
 * shared by cores but for those that are patched.
 */
#include <string.h>

#include "hal/mte.h"
#include "kernels/tile/attention/loop_twice.h"

static const struct {
    uint8_t pipe, n, of[2];
} groups[GROUPS] = {
    [GROUP_LOAD_Q] = {PIPE_MTE2, 1, {LOOP_LOAD_Q}},
    [GROUP_LOAD] = {PIPE_MTE2, 2, {LOOP_LOAD_K, LOOP_LOAD_V}},
    [GROUP_L0_FIRST] = {PIPE_MTE1, 2, {LOOP_L0_Q, LOOP_L0_K}},
    [GROUP_L0] = {PIPE_MTE1, 1, {LOOP_L0_K}},
    [GROUP_MMAD_S] = {PIPE_M, 1, {LOOP_MMAD_S}},
    [GROUP_FIX_S] = {PIPE_FIX, 1, {LOOP_FIX_S}},
    [GROUP_COPY_P] = {PIPE_MTE3, 1, {LOOP_COPY_P}},
    [GROUP_L0_P] = {PIPE_MTE1, 2, {LOOP_L0_V, LOOP_L0_P}},
    [GROUP_MMAD_O] = {PIPE_M, 1, {LOOP_MMAD_O}},
    [GROUP_FIX_O] = {PIPE_FIX, 1, {LOOP_FIX_O}},
    [GROUP_ONES] = {PIPE_MTE1, 1, {LOOP_ONES}},
};

/* Parts one behind the other, of which one may have patches. */
static bool make_pieces(struct pieces_of *to,
                        const struct loop_part_commands *const *part, unsigned parts,
                        unsigned patched, struct tile_arena *arena)
{
    unsigned n = 0, begin = 0;

    for (unsigned i = 0; i < parts; i++) {
        begin = i == patched ? n : begin;
        n += part[i]->n;
    }
    *to = (struct pieces_of){
        .part = part[patched], .begin = begin, .n = div_up(n, LOOP_CHUNK)};
    to->cmd = (union cmd *)(uintptr_t)part[0]->cmd;
    to->seq = tile_alloc(arena, (to->n + 1) * sizeof(*to->seq));
    if (parts > 1 || part[0]->n_patches) {
        to->cmd = tile_alloc(arena, (n + 1) * sizeof(*to->cmd));
    }
    if (to->cmd == NULL || to->seq == NULL) {
        return false;
    }
    for (unsigned i = 0, at = 0; i < parts && to->cmd != part[0]->cmd; i++) {
        memcpy(&to->cmd[at], part[i]->cmd, part[i]->n * sizeof(*to->cmd));
        at += part[i]->n;
    }
    for (unsigned i = 0; i < to->n; i++) {
        unsigned from = n * i / to->n, end = n * (i + 1) / to->n;
        to->seq[i] = (struct sequence){.name = "compute",
                                       .pipe = PIPE_V,
                                       .cmds = to->cmd + from,
                                       .n = (uint16_t)(end - from)};
    }
    return true;
}

static uint32_t keys_of(const struct loop_plan *p, unsigned tail)
{
    return tail ? p->tail : p->room.tile;
}

static void make_groups(const struct loop_plan *p, struct loop_core *core)
{
    uint32_t rows = p->form.k->dim[p->form.s].size;

    for (unsigned g = 0; g < GROUPS; g++) {
        for (unsigned tail = 0; tail < 2; tail++) {
            struct played *to = &core->group[g][tail];
            uint32_t keys = keys_of(p, tail);
            unsigned n = groups[g].n;
            if (g == GROUP_LOAD_Q) {
                keys = tail ? rows - (p->form.blocks - 1) * LOOP_LANES : LOOP_LANES;
            }
            n = g == GROUP_LOAD && p->form.value == 0 ? 1 : n;
            to->seq = (struct sequence){.name = "product",
                                        .pipe = (enum pipe)groups[g].pipe,
                                        .cmds = to->cmd,
                                        .n = (uint16_t)n};
            for (unsigned i = 0; i < n && (g < GROUP_COPY_P || p->form.value); i++) {
                loop_cube_command(p, (enum loop_command)groups[g].of[i], keys,
                                  &to->cmd[i]);
            }
            if (g == GROUP_L0_FIRST) { /* q has waited already */
                to->cmd[1].head.wait_n[1] = to->cmd[1].head.wait_sem[1] = 0;
            }
        }
    }
}

static struct offsets offsets_of(const struct loop_form *f, const struct tile_tensor *t)
{
    struct offsets o = {.block = LOOP_LANES * tile_dim_stride(f->k, t, f->s) *
                                 esize_of(t->type)};

    for (unsigned i = 0; i < f->n_batch; i++) {
        o.batch[i] = tile_dim_stride(f->k, t, f->batch[i]) * esize_of(t->type);
    }
    return o;
}

static uint64_t tile_bytes(const struct loop_plan *p, const struct tile_tensor *t)
{
    return tile_dim_stride(p->form.k, t, p->form.t) * p->room.tile * esize_of(t->type);
}

/* Results of a block of rows, of which the last may have fewer than there are lanes, without
 * addresses in GM: a store each, between two that begin and end adding to what is there. */
static void make_stores(const struct loop_plan *p, struct loop_core *core, bool last)
{
    const struct tile_kernel *k = p->form.k;
    uint32_t left = k->dim[p->form.s].size - (p->form.blocks - 1) * LOOP_LANES;
    uint32_t rows = last ? left : LOOP_LANES;
    union cmd *store = core->stores[last];

    if (p->twice) {
        mte_ub_to_gm_rows(store++, NULL, p->twice->fine,
                          &(struct mte_rows){.n_rows = 1, .row_bytes = sizeof(*core->fine)});
    }
    for (unsigned i = 0; i < k->n_results; i++) {
        const struct tile_tensor *t = &k->result[i].tensor;
        unsigned esize = esize_of(t->type);
        bool adds = k->result[i].adds;
        bool wide = loop_class(&p->form, k->result[i].value) == LOOP_WIDTH;
        struct mte_rows to = {.n_rows = wide ? rows : 1,
                              .row_bytes = (wide ? p->room.width : rows) * esize};
        to.gm_pitch_bytes =
            wide ? (uint32_t)tile_dim_stride(k, t, p->form.s) * esize : to.row_bytes;
        to.local_pitch_bytes =
            wide ? p->room.out_pitch[i] : (uint32_t)round_up(to.row_bytes, BLOCK);
        if (adds) {
            mte_set_atomic(store++, ATOMIC_ADD, (enum type)t->type);
        }
        core->store_at[i] = (uint8_t)(store - core->stores[last]);
        mte_ub_to_gm_rows(store, NULL, p->room.out[i], &to);
        store++->head.tag = t->line;
        if (i + 1 == k->n_results) {
            cmd_post(store - 1, LOOP_OUT_FREE, 1);
        }
        if (adds) {
            mte_set_atomic(store++, ATOMIC_NONE, (enum type)t->type);
        }
    }
    cmd_wait(&core->stores[last][0], LOOP_OUT_FULL, 1);
    core->store[last] = (struct sequence){.name = "store",
                                          .pipe = PIPE_MTE3,
                                          .cmds = core->stores[last],
                                          .n = (uint16_t)(store - core->stores[last])};
}

static int make_core(const struct loop_plan *p, struct loop_core *core,
                     struct tile_arena *arena)
{
    const struct tile_tensor *param = p->form.k->param;
    bool made = true;

    make_groups(p, core);
    for (unsigned i = 0; i < LOOP_PARTS; i++) {
        const struct loop_part_commands *of[] = {p->part[i]};
        made = made && make_pieces(&core->part[i], of, 1, 0, arena);
    }
    for (unsigned i = 0; i < p->n_variants; i++) {
        const struct loop_part_commands *of[] = {
            p->variant[i].before, p->part[PART_AFTER], p->part[PART_BESIDE]};
        const struct loop_part_commands *once[] = {p->part[LOOP_SAVES],
                                                   p->variant[i].before};
        if (p->twice) {
            const struct loop_part_commands *look[] = {p->twice->look_part[i]};
            made = made && make_pieces(&core->step[i], look, 1, 0, arena);
        } else if (p->form.once) {
            made = made && make_pieces(&core->step[i], once, 2, 1, arena);
        } else {
            made = made && make_pieces(&core->step[i], of, 3, 0, arena);
        }
        made = made && make_pieces(&core->before[i], of, 1, 0, arena);
    }
    if (p->twice) {
        core->fine = tile_alloc(arena, TWICE_ITEMS * sizeof(*core->fine));
        made = made && core->fine;
    }
    make_stores(p, core, false);
    make_stores(p, core, true);
    core->q = offsets_of(&p->form, &param[p->form.q]);
    core->key = offsets_of(&p->form, &param[p->form.key]);
    core->v = offsets_of(&p->form, &param[p->form.v]);
    for (unsigned i = 0; i < p->form.n_inputs; i++) {
        const struct tile_tensor *t = &param[p->form.k->node[p->form.input[i]].index];
        core->x[i] = offsets_of(&p->form, t);
        core->next_x[i] = tile_bytes(p, t);
    }
    core->input = (struct sequence){.name = "operands",
                                    .pipe = PIPE_MTE2,
                                    .cmds = core->inputs,
                                    .n = (uint16_t)p->form.n_inputs};
    core->next_key = tile_bytes(p, &param[p->form.key]);
    core->next_v = tile_bytes(p, &param[p->form.v]);
    for (unsigned r = 0; r < p->form.k->n_results; r++) {
        core->out[r] = offsets_of(&p->form, &p->form.k->result[r].tensor);
    }
    return made ? 0 : ERR_NOMEM;
}

int loop_cores(struct loop_plan *p, struct tile_arena *arena)
{
    int err = 0;

    p->core = tile_alloc(arena, p->stage.cores * sizeof(*p->core));
    for (unsigned c = 0; c < p->stage.cores && p->core && !err; c++) {
        loop_share(p, c, &p->core[c].begin, &p->core[c].end);
        err = make_core(p, &p->core[c], arena);
    }
    return p->core ? err : ERR_NOMEM;
}
