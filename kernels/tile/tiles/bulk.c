/* SPDX-License-Identifier: MIT
 *
 * Loads of several tiles at a time, by way of L1; see bulk.h.
 */
#include "kernels/tile/tiles/bulk.h"

#include "hal/chip.h"
#include "hal/contract/cost.h"
#include "hal/mte.h"

/* What there is to bring: the loop that has several tiles, of which the last one may be of
 * another variant; of each load the bytes of a tile and of that one, and of what lies in front
 * of it in L1. */
struct bulk {
    unsigned n, loop, tail;
    const struct tile_tensor *tensor[TILE_PARAMS];
    uint32_t tile[TILE_PARAMS], last[TILE_PARAMS], before[TILE_PARAMS + 1];
};

/* The bytes of a tile, if they lie side by side in GM and come as whole blocks to each row in
 * UB; else 0. *cmd: the copy that brings it there. */
static uint32_t tile_bytes(const struct loops *l, const struct tile_tensor *tensor,
                           unsigned variant, uint32_t ub, union cmd *cmd)
{
    const struct cmd_copy_in *c = &cmd->copy_in;

    loops_command(l, &(struct transfer){tensor, false, (uint8_t)variant, ub}, cmd);
    return cmd->head.opcode != OP_COPY_GM_UB ||
                   (c->n_blocks > 1 && (c->src_gap || c->len_bytes % BLOCK))
               ? 0
               : c->n_blocks * c->len_bytes;
}

/* The last loop that has several tiles, and how many loops have. */
static unsigned find_loop(const struct loops *l, unsigned *loops)
{
    unsigned last = 0;

    *loops = 0;
    for (unsigned i = 0; i < l->n; i++) {
        *loops += l->loop[i].count > 1;
        last = l->loop[i].count > 1 ? i : last;
    }
    return last;
}

static const struct tile_tensor *tensor_of(const struct emit *e, const struct order *o,
                                           unsigned load)
{
    return &e->p->k->param[e->buffer[o->load[load] - 1].load - 1];
}

/* False: tiles do not lie so. */
static bool look(struct bulk *b, const struct loops *l, const struct emit *e,
                 const struct order *o)
{
    unsigned loops;
    bool fits = true;

    *b = (struct bulk){.n = o->n_loads, .loop = find_loop(l, &loops)};
    b->tail = l->loop[b->loop].group == l->p->row ? 1 : 2;
    for (unsigned i = 0; i < b->n; i++) {
        union cmd cmd;
        b->tensor[i] = tensor_of(e, o, i);
        b->tile[i] = tile_bytes(l, b->tensor[i], 0, 0, &cmd);
        b->last[i] = tile_bytes(l, b->tensor[i], b->tail, 0, &cmd);
        b->before[i + 1] = b->before[i] + b->tile[i];
        fits = fits && b->tile[i] && b->tile[i] % L2_LINE_BYTES == 0 &&
               b->tile[i] == loops_stride(l, b->loop, b->tensor[i]);
    }
    return fits && loops == 1 && b->n;
}

const char *bulk_begin(struct order *o, const struct loops *l, const struct emit *e,
                       struct way *w)
{
    /* Divisors of the period of simulate.c, so that a half of L1 is the same in each. */
    static const uint8_t tiles[] = {12, 6, 4, 3, 2, 1};
    unsigned most = 0, i = 0;
    struct bulk b;

    if (o->product || e->p->ub_bytes || o->n_sems + 2 > PLAN_SEMS || !look(&b, l, e, o)) {
        return "tiles come to UB one by one";
    }
    while (most < sizeof(tiles) &&
           tiles[most] * b.before[b.n] * BULK_SLOTS > chip_mem(NPU_MEM_L1)) {
        most++;
    }
    w->bulk = w->bulk == BULK_MOST && most < sizeof(tiles) ? tiles[most] : w->bulk;
    for (i = most; i < sizeof(tiles) && tiles[i] != w->bulk; i++) {
    }
    if (i == sizeof(tiles)) {
        return "L1 does not hold as many tiles twice";
    }
    o->bulk_full = (uint8_t)o->n_sems++;
    o->bulk_free = (uint8_t)o->n_sems++;
    o->label[o->bulk_full] = o->label[o->bulk_free] = "tiles in L1";
    o->role[o->bulk_full] = "FULL";
    o->role[o->bulk_free] = "FREE";
    o->free_sems[o->n_free++] = o->bulk_free;
    o->copies[o->bulk_free] = (uint8_t)(BULK_SLOTS * w->bulk);
    return NULL;
}

/* --- cycles --- */

static uint64_t load_cycles(uint64_t bytes)
{
    uint32_t rate = chip_cost(COST_GM_L1_RATE);

    return bytes == 0
               ? 0
               : cost_cycles(chip_cost(COST_GM_L1_FIXED), bytes, rate,
                             cost_gm_rows(1, bytes, chip_cost(COST_GM_ROW_BYTES), rate));
}

static uint64_t move_cycles(uint64_t bytes)
{
    return cost_cycles(chip_cost(COST_L1_L0_FIXED), round_up(bytes, BLOCK),
                       chip_cost(COST_L1_UB_RATE), 0);
}

void bulk_cycles(struct bulk_cycles *c, const struct emit *e, const struct order *o,
                 const struct loops *l, const struct share *share)
{
    uint64_t tiles, tails;
    struct bulk b;

    (void)look(&b, l, e, o);
    tiles = loops_tiles(l, share, 0, NULL);
    tails = loops_tiles(l, share, b.tail, NULL);
    *c = (struct bulk_cycles){.tiles = e->w->bulk, .whole = tiles / e->w->bulk};
    for (unsigned i = 0; i < b.n; i++) {
        c->load += load_cycles((uint64_t)b.tile[i] * c->tiles);
        c->rest += load_cycles(b.tile[i] * (tiles % c->tiles) + tails * b.last[i]);
        c->move[0][i] = move_cycles(b.tile[i]);
        c->move[b.tail][i] = move_cycles(b.last[i]);
    }
}

/* --- sequences --- */

/* Loads of so many tiles, the last one perhaps a tail, by turns into both halves of L1, or one
 * into a half. False: no memory. */
static bool make_loads(struct sequence *s, const struct tiles_plan *t,
                       const struct bulk *b, unsigned half, unsigned halves,
                       uint32_t tiles, uint32_t tails, struct tile_arena *arena)
{
    const struct order *o = &t->order;
    unsigned n = b->n * halves;

    if (!part_room(s, PIPE_MTE2, b->n, halves, n, arena)) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        unsigned load = i % b->n, slot = (half + i / b->n) % BULK_SLOTS;
        union cmd *cmd = &s->cmds[i];
        mte_gm_to_l1(cmd, (slot * b->before[b->n] + b->before[load]) * t->way.bulk, NULL,
                     b->tile[load] * tiles + b->last[load] * tails);
        cmd->head.tag = b->tensor[load]->line;
        if (load == 0) {
            cmd_wait(cmd, o->bulk_free, tiles + tails);
        }
        if (load + 1 == b->n) {
            cmd_post(cmd, o->bulk_full, tiles + tails);
        }
        s->patches[i] =
            (struct seq_patch){.cmd = (uint16_t)i, .field = SEQ_FIELD(copy_in.src)};
        s->patches[i].stride[b->loop] = (int64_t)b->tile[load] * tiles;
    }
    return true;
}

int bulk_loads(struct tiles_plan *t, struct part *part, struct tile_arena *arena)
{
    struct sequence *s = part->tile[LANE_LOAD];
    uint32_t bulk = t->way.bulk, whole, tiles, tails;
    struct share rounds = {0};
    struct bulk b;

    (void)look(&b, &t->loops, t->emit, &t->order);
    tiles = (uint32_t)loops_tiles(&t->loops, &part->share, 0, NULL);
    tails = (uint32_t)loops_tiles(&t->loops, &part->share, b.tail, NULL);
    whole = tiles / bulk;
    if (whole) {
        rounds.count[b.loop] = whole;
        if (!make_loads(&s[0], t, &b, 0, BULK_SLOTS, bulk, 0, arena)) {
            return ERR_NOMEM;
        }
        part_leg(part, LANE_LOAD, &s[0], &rounds, 0);
    }
    if (tiles % bulk + tails) {
        if (!make_loads(&s[1], t, &b, whole, 1, tiles % bulk, tails, arena)) {
            return ERR_NOMEM;
        }
        part_leg(part, LANE_LOAD, &s[1], NULL, 0);
    }
    return 0;
}

int bulk_moves(struct tiles_plan *t, struct part *part, unsigned variant,
               struct tile_arena *arena)
{
    const struct order *o = &t->order;
    struct sequence *s = &part->tile[LANE_MOVE][variant];
    unsigned bulk = t->way.bulk, ring = t->way.ring, positions = BULK_SLOTS * bulk;
    struct bulk b;

    (void)look(&b, &t->loops, t->emit, o);
    while (positions % ring) {
        positions += BULK_SLOTS * bulk;
    }
    if (!part_room(s, PIPE_MTE1, b.n, positions, 0, arena)) {
        return ERR_NOMEM;
    }
    for (unsigned i = 0; i < b.n * positions; i++) {
        unsigned load = i % b.n, tile = i / b.n;
        uint32_t slot = tile / bulk % BULK_SLOTS * b.before[b.n] + b.before[load];
        union cmd *cmd = &s->cmds[i], copy;
        (void)tile_bytes(&t->loops, b.tensor[load], variant,
                         t->emit->at[o->load[load] - 1][tile % ring], &copy);
        mte_l1_to_ub(cmd, copy.copy_in.dst, slot * bulk + tile % bulk * b.tile[load],
                     (uint32_t)round_up(copy.copy_in.len_bytes, BLOCK));
        cmd->copy_local.n_blocks = copy.copy_in.n_blocks;
        cmd->copy_local.dst_gap = copy.copy_in.dst_gap;
        cmd->head.tag = b.tensor[load]->line;
        plan_sync_transfer(o, LANE_LOAD, load, cmd);
        if (load == 0) {
            cmd_wait(cmd, o->bulk_full, 1);
        }
        if (load + 1 == b.n) {
            cmd_post(cmd, o->bulk_free, 1);
        }
    }
    return 0;
}

/* From what the plan has: a launch is not to look at tiles again. */
void bulk_bind(const struct tiles_plan *t, const struct tile_call *call, struct part *part)
{
    unsigned n = t->order.n_loads, loops, loop = find_loop(&t->loops, &loops);
    uint64_t tiles = loops_tiles(&t->loops, &part->share, 0, NULL);
    uint64_t first = part->share.first[loop];

    for (unsigned which = 0; which < 2; which++) {
        struct sequence *s = &part->tile[LANE_LOAD][which];
        for (unsigned i = 0; i < s->n_patches; i++) {
            const struct tile_tensor *tensor = tensor_of(t->emit, &t->order, i % n);
            s->patches[i].base = (uintptr_t)call->in[tensor - t->emit->p->k->param] +
                                 first * loops_stride(&t->loops, loop, tensor);
        }
        first += tiles - tiles % t->way.bulk; /* the last load's, behind whole ones */
    }
}
