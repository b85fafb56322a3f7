/* SPDX-License-Identifier: MIT
 *
 * A plan as sequences, and its launch; see tiles.h. A core has one task, which plays three
 * lanes: loads, the Vector's commands, stores. Only addresses in GM are patched, and what
 * indices begin with.
 */
#include <stdio.h>
#include <string.h>

#include "hal/mte.h"
#include "kernels/tile/tiles/bulk.h"
#include "sched/launch.h"

enum { /* About, of the hart: to look at a command, and at a patch, of the next stage. */
    LOOK_COMMAND = 5,
    LOOK_PATCH = 75
};

/* --- building --- */

static const struct tile_tensor *tensor_of(const struct tiles_plan *t, unsigned lane,
                                           unsigned i)
{
    const struct order *o = &t->order;

    return lane == LANE_STORE ? &t->p->k->result[o->store_result[i]].tensor
                              : &t->p->k->param[t->emit->buffer[o->load[i] - 1].load - 1];
}

bool part_room(struct sequence *s, enum pipe pipe, unsigned n, unsigned positions,
               unsigned patches, struct tile_arena *arena)
{
    *s = (struct sequence){.name = pipe == PIPE_V      ? "compute"
                                   : pipe == PIPE_MTE2 ? "load"
                                   : pipe == PIPE_MTE1 ? "move"
                                                       : "store",
                           .pipe = pipe,
                           .n = (uint16_t)n,
                           .positions = (uint16_t)positions,
                           .n_patches = (uint16_t)patches};
    s->cmds = tile_alloc(arena, (n * positions + 1) * sizeof(*s->cmds));
    s->patches = tile_alloc(arena, (patches + 1) * sizeof(*s->patches));
    return s->cmds && s->patches;
}

void plan_sync_transfer(const struct order *o, unsigned lane, unsigned i, union cmd *cmd)
{
    if (lane == LANE_STORE && o->store_out[i]) {
        cmd_wait(cmd, o->base + o->store_out[i], 1);
    }
    if (lane == LANE_STORE && o->store_free[i]) {
        cmd_post(cmd, o->base + o->store_free[i], 1);
    }
    if (lane == LANE_LOAD && o->load_free[i]) {
        cmd_wait(cmd, o->base + o->load_free[i], 1);
    }
    if (lane == LANE_LOAD && o->load_full[i]) {
        cmd_post(cmd, o->base + o->load_full[i], 1);
    }
}

/* Whether what a store writes is added to what is there. */
static bool adds(const struct tiles_plan *t, unsigned lane, unsigned i)
{
    return lane == LANE_STORE && t->p->k->result[t->order.store_result[i]].adds;
}

/* Commands of a round: of a store that adds one more on each side. */
static unsigned count_commands(const struct tiles_plan *t, unsigned lane, unsigned n)
{
    unsigned all = n;

    for (unsigned i = 0; i < n; i++) {
        all += adds(t, lane, i) ? 2 : 0;
    }
    return all;
}

/* Makes room for the commands around the next one, which is number `at`: where that is. */
static unsigned around(struct sequence *s, unsigned at, const struct tile_tensor *tensor)
{
    mte_set_atomic(&s->cmds[at], ATOMIC_ADD, (enum type)tensor->type);
    mte_set_atomic(&s->cmds[at + 2], ATOMIC_NONE, (enum type)tensor->type);
    return at + 1;
}

/* Loads or stores of a variant, of each position of the ring. */
static int make_transfers(struct tiles_plan *t, struct part *part, unsigned lane,
                          unsigned variant, struct tile_arena *arena)
{
    const struct order *o = &t->order;
    struct sequence *s = &part->tile[lane][variant];
    unsigned n = lane == LANE_STORE ? o->n_stores : o->n_loads, all = n * t->way.ring;

    if (!part_room(s, lane == LANE_STORE ? PIPE_MTE3 : PIPE_MTE2,
                   count_commands(t, lane, n), t->way.ring, all, arena)) {
        return ERR_NOMEM;
    }
    for (unsigned i = 0, c = 0; i < all; i++, c++) {
        const struct tile_tensor *tensor = tensor_of(t, lane, i % n);
        uint8_t b = (lane == LANE_STORE ? o->store : o->load)[i % n];
        bool added = adds(t, lane, i % n);
        c = added ? around(s, c, tensor) : c;
        loops_command(&t->loops,
                      &(struct transfer){tensor, lane == LANE_STORE, (uint8_t)variant,
                                         t->emit->at[b - 1][i / n]},
                      &s->cmds[c]);
        s->cmds[c].head.tag = tensor->line;
        plan_sync_transfer(o, lane, i % n, &s->cmds[c]);
        s->patches[i].cmd = (uint16_t)c;
        s->patches[i].field =
            lane == LANE_STORE ? SEQ_FIELD(copy_out.dst) : SEQ_FIELD(copy_in.src);
        for (unsigned l = 0; l < t->loops.n; l++) {
            s->patches[i].stride[l] = (int64_t)loops_stride(&t->loops, l, tensor);
        }
        c += added;
    }
    return 0;
}

/* The Vector's commands: of a core the same for all variants but for where they begin. */
static int make_body(struct tiles_plan *t, struct part *part, unsigned variant,
                     struct tile_arena *arena)
{
    const struct emit *e = t->emit;
    struct sequence *s = &part->tile[LANE_VECTOR][variant];
    unsigned all = e->n_index * t->way.ring, n = t->n_body;

    if (!part_room(s, PIPE_V, n, t->way.ring, all, arena)) {
        return ERR_NOMEM;
    }
    memcpy(s->cmds, t->body, n * t->way.ring * sizeof(*s->cmds));
    for (unsigned i = 0; i < all; i++) {
        const struct index_patch *x = &e->index[i % e->n_index];
        s->patches[i].cmd = (uint16_t)(i / e->n_index * n + t->moved[x->command]);
        s->patches[i].field = SEQ_FIELD(vec_fill.value);
        for (unsigned l = 0; l < t->loops.n; l++) {
            const struct loop *loop = &t->loops.loop[l];
            s->patches[i].stride[l] = loop->group == x->group ? loop->tile : 0;
        }
    }
    return 0;
}

/* What is loaded once, what is made of it, and results that are the same for all tiles,
 * which the first core stores. */
static int make_once(struct tiles_plan *t, struct part *part, struct tile_arena *arena)
{
    const struct emit *e = t->emit;
    struct sequence *in = &part->once[LANE_LOAD], *v = &part->once[LANE_VECTOR];
    struct sequence *out = &part->once[LANE_STORE];

    if (!part_room(in, PIPE_MTE2, TILE_PARAMS, 1, 0, arena) ||
        !part_room(v, PIPE_V, e->pre.n + 2, 1, 0, arena) ||
        !part_room(out, PIPE_MTE3, 3 * TILE_RESULTS, 1, 0, arena)) {
        return ERR_NOMEM;
    }
    in->n = out->n = v->n = 0;
    for (unsigned b = 0; b < e->n_buffers; b++) {
        if (e->buffer[b].always && e->buffer[b].load) {
            const struct tile_tensor *tensor = &t->p->k->param[e->buffer[b].load - 1];
            part->once_param[in->n] = (uint8_t)(e->buffer[b].load - 1);
            loops_command(&t->loops, &(struct transfer){tensor, false, 0, e->at[b][0]},
                          &in->cmds[in->n]);
            in->cmds[in->n++].head.tag = tensor->line;
        }
    }
    if (in->n) {
        cmd_post(&in->cmds[in->n - 1], SEM_PRE, 1);
        cmd_nop(&v->cmds[v->n]);
        cmd_wait(&v->cmds[v->n++], SEM_PRE, 1);
    }
    memcpy(&v->cmds[v->n], t->pre, e->pre.n * sizeof(*t->pre));
    v->n = (uint16_t)(v->n + e->pre.n);
    for (unsigned r = 0; r < t->p->k->n_results && part == t->part; r++) {
        uint8_t b = e->form[t->p->result[r]].dense;
        if (e->buffer[b - 1].always) {
            const struct tile_result *result = &t->p->k->result[r];
            unsigned at = result->adds ? around(out, out->n, &result->tensor) : out->n;
            part->once_result[at] = (uint8_t)r;
            loops_command(&t->loops,
                          &(struct transfer){&result->tensor, true, 0, e->at[b - 1][0]},
                          &out->cmds[at]);
            out->n = (uint16_t)(at + 1 + result->adds);
        }
    }
    if (out->n) {
        cmd_nop(&v->cmds[v->n]);
        cmd_post(&v->cmds[v->n++], SEM_MADE, 1);
        cmd_wait(&out->cmds[0], SEM_MADE, 1);
    }
    return 0;
}

void part_leg(struct part *part, unsigned lane, struct sequence *s,
              const struct share *rounds, uint64_t first)
{
    unsigned i = part->n_legs[lane];

    if (s->n == 0) {
        return;
    }
    part->leg[lane][i] = (struct seq_leg){.seq = s};
    part->leg[lane][i].first = (uint16_t)(first % s->positions);
    for (unsigned l = 0; l < PLAN_LOOPS && rounds; l++) {
        part->leg[lane][i].rounds[l] = rounds->count[l];
    }
    part->lane[lane] =
        (struct seq_lane){.legs = part->leg[lane], .n_legs = ++part->n_legs[lane]};
}

static int make_part(struct tiles_plan *t, struct part *part, struct tile_arena *arena)
{
    uint64_t number = 0;
    int err = make_once(t, part, arena);

    for (unsigned lane = 0; lane < PLAN_LANES && !err; lane++) {
        part_leg(part, lane, &part->once[lane], NULL, 0);
    }
    if (t->way.bulk) {
        err = err ? err : bulk_loads(t, part, arena);
    }
    for (unsigned variant = 0; variant < VARIANTS && !err; variant++) {
        struct share rounds = {0};
        uint64_t tiles = loops_tiles(&t->loops, &part->share, variant, &rounds);
        if (tiles == 0) {
            continue;
        }
        err = t->way.bulk ? bulk_moves(t, part, variant, arena)
                          : make_transfers(t, part, LANE_LOAD, variant, arena);
        err = err ? err : make_body(t, part, variant, arena);
        err = err ? err : make_transfers(t, part, LANE_STORE, variant, arena);
        for (unsigned lane = 0; lane < PLAN_LANES && !err; lane++) {
            if (lane != LANE_LOAD || !t->way.bulk) {
                part_leg(part, lane, &part->tile[lane][variant], &rounds, number);
            }
        }
        number += tiles;
    }
    return err;
}

int plan_parts(struct tiles_plan *t, struct tile_arena *arena)
{
    uint32_t most = div_up(t->loops.loop[t->loops.dealt].count, t->loops.unit);
    int err = 0;

    t->stage.cores = t->stage.cores < most ? t->stage.cores : most;
    t->part = tile_alloc(arena, t->stage.cores * sizeof(*t->part));
    if (t->part == NULL) {
        return ERR_NOMEM;
    }
    for (unsigned c = 0; c < t->stage.cores && !err; c++) {
        t->part[c].share = loops_share(&t->loops, c, t->stage.cores);
        err = make_part(t, &t->part[c], arena);
    }
    return err;
}

/* --- running --- */

static void rebase(const struct tiles_plan *t, struct sequence *s,
                   const struct share *rounds, unsigned i, uint64_t base)
{
    struct seq_patch *patch = &s->patches[i];

    for (unsigned l = 0; l < t->loops.n; l++) {
        base += (uint64_t)patch->stride[l] * rounds->first[l];
    }
    patch->base = base;
}

/* Addresses of this call. */
static void bind(const struct tiles_plan *t, const struct tile_call *call,
                 struct part *part)
{
    for (unsigned i = 0; i < part->once[LANE_LOAD].n; i++) {
        part->once[LANE_LOAD].cmds[i].copy_in.src =
            (uintptr_t)call->in[part->once_param[i]];
    }
    for (unsigned i = 0; i < part->once[LANE_STORE].n; i++) {
        union cmd *cmd = &part->once[LANE_STORE].cmds[i];
        if (cmd->head.opcode == OP_COPY_UB_GM) {
            cmd->copy_out.dst = (uintptr_t)call->out[part->once_result[i]];
        }
    }
    for (unsigned lane = 0; lane < PLAN_LANES; lane++) {
        part->lane[lane].prepared = false; /* if the last launch failed */
    }
    if (t->way.bulk) {
        bulk_bind(t, call, part);
    }
    for (unsigned variant = 0; variant < VARIANTS; variant++) {
        struct share rounds;
        struct sequence *in = &part->tile[LANE_LOAD][variant];
        struct sequence *v = &part->tile[LANE_VECTOR][variant];
        struct sequence *out = &part->tile[LANE_STORE][variant];
        (void)loops_tiles(&t->loops, &part->share, variant, &rounds);
        for (unsigned i = 0; i < in->n_patches && !t->way.bulk; i++) {
            uint8_t b = t->order.load[i % in->n];
            rebase(t, in, &rounds, i,
                   (uintptr_t)call->in[t->emit->buffer[b - 1].load - 1]);
        }
        for (unsigned i = 0; i < v->n_patches; i++) {
            rebase(t, v, &rounds, i, 0);
        }
        for (unsigned i = 0; i < out->n_patches; i++) {
            rebase(t, out, &rounds, i,
                   (uintptr_t)call->out[t->order.store_result[i % t->order.n_stores]]);
        }
    }
}

/* Looks at the commands before the launch, or it would wait for that. */
static int check(struct part *part, char *text, size_t size)
{
    int err = 0;

    for (unsigned lane = 0; lane < PLAN_LANES; lane++) {
        for (unsigned i = 0; i < part->n_legs[lane] && !err; i++) {
            struct sequence *s = part->leg[lane][i].seq;
            err = s->checked == s->cmds ? 0 : sequence_check(s, text, size);
        }
    }
    return err;
}

static int tiles_bind(const struct tile_plan *plan, const struct tile_call *call,
                      struct sched_report *report)
{
    const struct tiles_plan *t = tiles_of(plan);
    int err = 0;

    for (unsigned c = 0; c < plan->cores && !err; c++) {
        bind(t, call, &t->part[c]);
        err = check(&t->part[c], report->text, sizeof(report->text));
    }
    return err;
}

/* What the task's block plays of a plan; NULL: nothing. */
static struct part *part_of(const struct tile_plan *t)
{
    return task_block() < t->cores ? &tiles_of(t)->part[task_block()] : NULL;
}

static void tiles_prepare(const struct tile_plan *t)
{
    struct part *part = part_of(t);

    if (part) {
        sequence_prepare(part->lane, PLAN_LANES);
    }
}

static void tiles_play(const struct tile_plan *t)
{
    const struct order *o = &tiles_of(t)->order;
    struct part *part = part_of(t);

    if (part == NULL) {
        return;
    }
    for (unsigned i = 0; i < o->n_sems; i++) {
        sched_label(task_core(), i, o->label[i], o->role[i]);
    }
    for (unsigned i = 0; i < o->n_free; i++) {
        task_post(o->free_sems[i], o->copies[o->free_sems[i]]);
    }
    sequence_play(part->lane, PLAN_LANES);
}

static void tiles_finish(const struct tile_plan *t)
{
    const struct order *o = &tiles_of(t)->order;

    if (part_of(t) == NULL) {
        return;
    }
    task_drain(); /* or what is taken here would be what a command waits for */
    for (unsigned i = 0; i < o->n_free; i++) {
        task_wait(o->free_sems[i], o->copies[o->free_sems[i]]);
    }
}

static uint64_t tiles_prepare_cycles(const struct tile_plan *plan)
{
    const struct tiles_plan *t = tiles_of(plan);
    uint64_t all =
        LOOK_COMMAND * t->n_body + LOOK_PATCH * (t->order.n_loads + t->order.n_stores);

    return all * t->way.ring * t->part[0].n_legs[LANE_STORE];
}

static bool tiles_stores_again(const struct tile_plan *t)
{
    return loops_store_again(&tiles_of(t)->loops);
}

const struct stage_kind tiles_kind = {.prepare_cycles = tiles_prepare_cycles,
                                      .stores_again = tiles_stores_again,
                                      .explain = tiles_explain};
const struct stage_run tiles_run = {.kind = &tiles_kind,
                                    .bind = tiles_bind,
                                    .prepare = tiles_prepare,
                                    .play = tiles_play,
                                    .finish = tiles_finish};
