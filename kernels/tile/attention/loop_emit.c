/* SPDX-License-Identifier: MIT
 *
 * Nodes of a part as commands of the Vector; see loop.h. A plane goes where its command is
 * the fastest: to a buffer that is free, or over an operand that nobody wants any more.
 */
#include <string.h>

#include "kernels/tile/attention/loop.h"

static unsigned bytes_of(const struct loop_emit *e, tile_value v)
{
    return type_bits(e->f->k->node[v].type) / 8;
}

/* The slot is that of an operand which nobody reads behind this node. */
static bool dies_here(const struct loop_emit *e, tile_value v, unsigned slot)
{
    const struct tile_node *n = &e->f->k->node[v];
    tile_value held = e->holds[slot];
    unsigned reads = 0;

    for (unsigned i = 0; i < loop_sources(n); i++) {
        reads += loop_source(e, n, i) == held;
    }
    return held && reads == e->uses[held] && bytes_of(e, held) >= bytes_of(e, v);
}

/* The carried value that a node is the next one of, 1 + its number; 0: none. */
static unsigned carry_of(const struct loop_emit *e, tile_value v)
{
    for (unsigned i = 0; i < e->f->k->n_carried; i++) {
        if (e->f->k->carry[i].next == v) {
            return i + 1;
        }
    }
    return 0;
}

static bool may_go(const struct loop_emit *e, tile_value v, unsigned slot)
{
    const struct loop_slot *s = &e->room->slot[slot];
    uint32_t rows = loop_repeats(e, loop_class(e->f, v));
    bool input = e->f->k->node[v].op == TILE_INPUT;

    if (input) { /* in squares, and F16 takes half of a repeat */
        rows = (uint32_t)round_up(rows, 16) * bytes_of(e, v) / 4;
    }
    if (s->rows < rows) {
        return false;
    }
    if (s->kind == SLOT_CARRY && e->part == PART_AFTER &&
        carry_of(e, v) == s->carry + 1u) {
        return e->holds[slot] == 0 || dies_here(e, v, slot);
    }
    if (s->kind == SLOT_SCORE && e->leave) {
        return false;
    }
    return (s->kind == SLOT_SPARE && e->holds[slot] == 0) || dies_here(e, v, slot);
}

/* Is made of no other. */
static bool is_leaf(const struct loop_emit *e, tile_value v)
{
    return e->f->k->node[v].op == TILE_INDEX || e->f->k->node[v].op == TILE_INPUT;
}

/* The place where the node is made in the fewest cycles; that of the carried value it
 * becomes wins. */
static unsigned pick(struct loop_emit *e, tile_value v)
{
    uint64_t least = UINT64_MAX, was = e->cycles;
    unsigned best = LOOP_SLOTS;

    for (unsigned i = 0; i < e->room->n_slots; i++) {
        bool carried = e->room->slot[i].kind == SLOT_CARRY && carry_of(e, v) != 0;
        uint64_t cost;
        if (!may_go(e, v, i)) {
            continue;
        }
        e->dry = true;
        if (!is_leaf(e, v)) {
            loop_make(e, v, e->room->slot[i].at);
        }
        e->dry = false;
        /* As fast as elsewhere it rather stays where it is. */
        cost = carried ? 0 : 2 * (e->cycles - was) + (e->holds[i] == 0);
        e->cycles = was;
        if (cost < least) {
            least = cost;
            best = i;
        }
    }
    if (best == LOOP_SLOTS) {
        loop_fail(e, v, ERR_LOCAL, "UB has no room for one more value of a tile");
        return 0;
    }
    return best;
}

/* An operand has been read; who is read no more leaves its buffer. */
static void done_with(struct loop_emit *e, const struct tile_node *n)
{
    for (unsigned i = 0; i < loop_sources(n); i++) {
        tile_value x = loop_source(e, n, i);
        if (x && --e->uses[x] == 0 && e->slot[x] && e->holds[e->slot[x] - 1] == x) {
            e->holds[e->slot[x] - 1] = 0;
        }
    }
}

static void emit_plane(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];
    unsigned slot;

    if (v == e->f->given) {
        e->given_at = e->to->n;
        loop_make(e, v, e->room->given);
        return;
    }
    slot = pick(e, v);
    if (e->err) {
        return;
    }
    if (n->op == TILE_INPUT) {
        loop_input(e, v, e->room->slot[slot].at);
    } else if (n->op == TILE_INDEX) {
        loop_index(e, v, e->room->slot[slot].at);
    } else {
        loop_make(e, v, e->room->slot[slot].at);
    }
    e->slot[v] = (uint8_t)(slot + 1);
}

/* A carried column that nobody reads behind this node may become its next value here. */
static void take_over(struct loop_emit *e, tile_value v)
{
    unsigned carry = carry_of(e, v);
    const struct tile_node *n = &e->f->k->node[v];
    unsigned reads = 0;

    for (unsigned i = 0; i < loop_sources(n) && carry; i++) {
        reads += loop_source(e, n, i) == e->f->k->carry[carry - 1].value;
    }
    if (carry && e->part == PART_BESIDE && e->column[v] == 0 &&
        reads == e->uses[e->f->k->carry[carry - 1].value]) {
        e->column[v] = e->carried[carry - 1];
    }
}

/* x * rec(row) as a product of planes and columns. */
static void emit_quotient(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];
    struct loop_op o = {.how = DO_UNARY, .op = OP_VREC, .type = TYPE_F32};
    uint32_t at = loop_bytes(e, LOOP_TWICE);
    unsigned slot;

    o.dst = vec_dense(at);
    o.x = vec_dense(loop_column_of(e, loop_source(e, n, 1)));
    loop_rows(e, &o, 2);
    slot = pick(e, v);
    o = (struct loop_op){.how = DO_BINARY,
                         .op = OP_VMUL,
                         .type = TYPE_F32,
                         .dst = vec_dense(e->room->slot[slot].at),
                         .x = loop_at(e, loop_source(e, n, 0)),
                         .y = vec_dense(at)};
    loop_with_column(e, o, true, loop_repeats(e, loop_class(e->f, v)));
    e->slot[v] = (uint8_t)(slot + 1);
}

static void emit_one(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];
    bool reduces = tile_op_info[n->op].kind == KIND_REDUCE;

    e->line = n->line;
    if (n->type == TILE_MASK) {
        loop_mask(e, v);
    } else if (reduces) {
        loop_sum(e, v);
    } else if (loop_is_plane(e, v) && loop_is_quotient(e, v) && v != e->f->given) {
        emit_quotient(e, v);
    } else if (loop_is_plane(e, v)) {
        emit_plane(e, v);
    } else if (n->op == TILE_INDEX) {
        loop_index(e, v, loop_column_of(e, v));
    } else {
        take_over(e, v);
        loop_make(e, v, loop_column_of(e, v));
    }
}

void loop_note_use(struct loop_emit *e, unsigned slot, unsigned from)
{
    if (slot && e->to->n > from) {
        e->first[slot - 1] = e->first[slot - 1] < 0 ? (int16_t)from : e->first[slot - 1];
        e->last[slot - 1] = (int16_t)(e->to->n - 1);
    }
}

/* --- all of a part --- */

static bool is_of_part(const struct loop_emit *e, tile_value v)
{
    return v && e->f->part[v] == e->part && loop_sources(&e->f->k->node[v]) > 0;
}

/* Counts how often nodes are read. */
static void demand(struct loop_emit *e, tile_value v, bool *needed)
{
    const struct tile_node *n = &e->f->k->node[v];

    e->uses[v]++;
    if (needed[v]) {
        return;
    }
    needed[v] = e->f->part[v] == e->part && (loop_sources(n) > 0 || is_leaf(e, v));
    for (unsigned i = 0; i < loop_sources(n) && is_of_part(e, v); i++) {
        demand(e, loop_source(e, n, i), needed);
    }
}

static void emit_and_free(struct loop_emit *e, tile_value v)
{
    const struct tile_node *n = &e->f->k->node[v];
    unsigned from = e->to->n, slot;

    if (!e->done[v]) {
        emit_one(e, v);
    }
    for (unsigned i = 0; i < loop_sources(n); i++) {
        loop_note_use(e, e->slot[loop_source(e, n, i)], from);
    }
    done_with(e, n);
    slot = e->slot[v];
    loop_note_use(e, slot, from);
    if (slot) {
        e->holds[slot - 1] = v;
    }
}

void loop_nodes(struct loop_emit *e, const tile_value *seed, unsigned n)
{
    bool needed[TILE_NODES + 1] = {false};

    memset(e->uses, 0, sizeof(e->uses));
    memset(e->done, 0, sizeof(e->done));
    for (unsigned i = 0; i < n; i++) {
        demand(e, loop_real(e, seed[i]), needed);
    }
    for (unsigned late = 0; late < 2; late++) {
        for (tile_value v = 1; v <= e->f->k->n_nodes && !e->err; v++) {
            if (needed[v] && e->f->early[v] == !late) {
                emit_and_free(e, v);
            }
        }
    }
}
