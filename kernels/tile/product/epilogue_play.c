/* SPDX-License-Identifier: MIT
 *
 * A product and the Vector behind it, played; see product.h.
 *
 * One task issues everything. Of the Vector's commands of a tile it issues before the next
 * tile's products what the queue has room for, the rest behind them, so that neither waits
 * for the hart. Whatever a command waits for has been issued
 * before it, so that nothing can wait for ever.
 */
#include "hal/mte.h"
#include "kernels/tile/product/prologue.h"

static void begin_move(const struct tiles_plan *t, struct epilogue_move *m, bool store,
                       unsigned i)
{
    const struct product *x = t->product;
    const struct program *p = t->p;
    uint8_t b = (store ? t->order.store : t->order.load)[i];
    unsigned number = store ? t->order.store_result[i] : t->emit->buffer[b - 1].load - 1u;

    *m = (struct epilogue_move){.buffer = (uint8_t)(b - 1),
                                .adds = store && p->k->result[number].adds};
    m->tensor = store ? &p->k->result[number].tensor : &p->k->param[number];
    m->gm = (uintptr_t)(store ? x->out[number] : x->in[x->epilogue->in[number]]);
    m->col = program_stride(p, m->tensor, p->col) * esize_of(m->tensor->type);
    if (p->row < p->n_groups) {
        m->row = program_stride(p, m->tensor, p->row) * esize_of(m->tensor->type);
    }
}

/* To where the tile is in the outer dimensions. */
static void seek(const struct epilogue_at *y, struct epilogue_move *m)
{
    const struct product *x = y->t->product;
    const struct tile_kernel *k = y->t->p->k;

    m->outer = 0;
    for (unsigned i = 0; i < x->n_outer; i++) {
        m->outer += tile_dim_stride(k, m->tensor, x->epilogue->outer[i]) *
                    y->index[i] * esize_of(m->tensor->type);
    }
}

/* Of a store that adds to what is there; the pipe's others do not. */
static void set_adding(const struct epilogue_move *m, uint8_t op)
{
    union cmd cmd;

    if (m->adds) {
        mte_set_atomic(&cmd, op, (enum type)m->tensor->type);
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void move(const struct tiles_plan *t, struct epilogue_move *m,
                 const struct mm_piece *piece, unsigned position, bool store, unsigned i)
{
    uint32_t ub = t->emit->at[m->buffer][position];
    uint64_t gm = m->gm + m->outer + piece->m0 * m->row + piece->n0 * m->col;

    if (m->mt != piece->mt || m->nt != piece->nt) {
        loops_transfer(t->p, &(struct transfer){m->tensor, store, 0, ub}, piece->mt,
                       piece->nt, t->way.pitch, &m->cmd);
        plan_sync_transfer(&t->order, store ? LANE_STORE : LANE_LOAD, i, &m->cmd);
        m->mt = piece->mt;
        m->nt = piece->nt;
    }
    if (store) {
        m->cmd.copy_out.src = ub;
        m->cmd.copy_out.dst = gm;
    } else {
        m->cmd.copy_in.dst = ub;
        m->cmd.copy_in.src = gm;
    }
    set_adding(m, ATOMIC_ADD);
    task_issue(store ? PIPE_MTE3 : PIPE_MTE2, &m->cmd);
    set_adding(m, ATOMIC_NONE);
}

/* Where a piece begins in a group of the program. */
static uint32_t index_of(const struct epilogue_at *y, const struct mm_piece *piece,
                         unsigned group)
{
    const struct program *p = y->t->p;
    const struct product *x = y->t->product;
    uint32_t at = 0;

    if (group == p->col || group == p->row) {
        return group == p->col ? piece->n0 : piece->m0;
    }
    for (unsigned i = 0; i < x->n_outer; i++) {
        uint8_t dim = x->epilogue->outer[i];
        if (dim != TILE_NO_DIM && (p->group[group].dims >> dim & 1)) {
            at = at * x->outer[i].size + y->index[i];
        }
    }
    return at;
}

/* Of all loads and stores. */
void epilogue_seek(struct epilogue_at *y)
{
    for (unsigned l = 0; l < y->t->order.n_loads; l++) {
        seek(y, &y->core->load[l]);
    }
    for (unsigned s = 0; s < y->t->order.n_stores; s++) {
        seek(y, &y->core->store[s]);
    }
}

void epilogue_load(const struct epilogue_at *y, const struct mm_piece *piece,
                   unsigned position)
{
    for (unsigned l = 0; l < y->t->order.n_loads; l++) {
        if (l + 1 != y->t->order.product) {
            move(y->t, &y->core->load[l], piece, position, false, l);
        }
    }
}

void epilogue_vector(const struct epilogue_at *y, const struct mm_piece *piece,
                     unsigned position)
{
    const struct tiles_plan *t = y->t;
    const struct emit *e = t->emit;
    unsigned parts = epilogue_parts(t);
    struct sequence *s = y->core->part + position * parts;

    for (unsigned i = 0; i < parts; i++, s++) {
        for (unsigned x = 0, n = 0; x < e->n_index; x++) {
            if (t->moved[e->index[x].command] / EPILOGUE_PART == i) {
                s->patches[n++].base = index_of(y, piece, e->index[x].group);
            }
        }
        sequence_push(s, 0);
    }
}

void epilogue_compute(const struct epilogue_at *y, const struct mm_piece *piece,
                      unsigned position)
{
    epilogue_vector(y, piece, position);
    for (unsigned i = 0; i < y->t->order.n_stores; i++) {
        move(y->t, &y->core->store[i], piece, position, true, i);
    }
}

/* What is the same for all tiles. */
static void begin_core(const struct tiles_plan *t)
{
    const struct product *p = t->product;
    const struct emit *e = t->emit;
    const struct order *o = &t->order;
    unsigned base = o->base;
    bool loaded = false;
    union cmd cmd;

    for (unsigned i = 0; i < o->n_sems; i++) {
        sched_label(task_core(), base + i, o->label[i], o->role[i]);
    }
    for (unsigned i = 0; i < o->n_free; i++) {
        task_post(base + o->free_sems[i], o->copies[o->free_sems[i]]);
    }
    for (unsigned b = 0; b < e->n_buffers; b++) {
        if (e->buffer[b].always && e->buffer[b].load) {
            unsigned param = e->buffer[b].load - 1u;
            loops_transfer(
                t->p, &(struct transfer){&t->p->k->param[param], false, 0, e->at[b][0]},
                (uint32_t)t->p->rows, (uint32_t)t->p->cols, t->way.pitch, &cmd);
            cmd.copy_in.src = (uintptr_t)p->in[p->epilogue->in[param]];
            task_issue(PIPE_MTE2, &cmd);
            loaded = true;
        }
    }
    if (loaded) {
        cmd_nop(&cmd);
        cmd_post(&cmd, o->base + SEM_PRE, 1);
        task_issue(PIPE_MTE2, &cmd);
        cmd_nop(&cmd);
        cmd_wait(&cmd, o->base + SEM_PRE, 1);
        task_issue(PIPE_V, &cmd);
    }
    for (unsigned i = 0; i < e->pre.n; i++) {
        cmd = t->pre[i];
        task_issue(PIPE_V, &cmd);
    }
}

void epilogue_begin(struct epilogue_at *y, const struct tiles_plan *t,
                    struct epilogue_core *core)
{
    *y = (struct epilogue_at){.t = t, .core = core};
    for (unsigned l = 0; l < t->order.n_loads; l++) {
        begin_move(t, &core->load[l], false, l);
    }
    for (unsigned s = 0; s < t->order.n_stores; s++) {
        begin_move(t, &core->store[s], true, s);
    }
    begin_core(t);
}

void epilogue_end(const struct epilogue_at *y)
{
    const struct order *o = &y->t->order;

    for (unsigned i = 0; i < o->n_free; i++) {
        task_wait(o->base + o->free_sems[i], o->copies[o->free_sems[i]]);
    }
}

/* --- through the ring of the Matmul object --- */

/* Where a core is. */
struct playing {
    struct epilogue_at at;
    struct mm_piece piece[PLAN_RING];
    unsigned n, done;
};

static unsigned position_of(const struct playing *y, const struct mm_piece *piece)
{
    const struct mm_ring *ring = &y->at.t->product->mm.ring;

    return (piece->ub - ring->begin) / ring->bytes;
}

static bool has_room(unsigned commands)
{
    struct pipe_port *port = &task_ports[PIPE_V];

    return commands <= port->room || commands <= pipe_refresh(port);
}

/* The Vector's part of the tile that was begun: all of it, or what its queue takes at once. */
static void finish_tile(struct playing *y, bool all)
{
    for (; y->done < y->n && (all || has_room(y->at.t->n_body)); y->done++) {
        const struct mm_piece *piece = &y->piece[y->done];
        epilogue_compute(&y->at, piece, position_of(y, piece));
    }
}

void product_seek_batch(const struct product *p, uint32_t number, uint32_t *index)
{
    for (unsigned i = p->n_outer; i-- > p->n_outer - p->n_batch;) {
        index[i] = number % p->outer[i].size;
        number /= p->outer[i].size;
    }
}

/* Brings a tile to the ring, and what meets it there. */
static void begin_tile(struct playing *y, struct mm *mm)
{
    if (y->at.t->product->n_outer) {
        product_seek_batch(y->at.t->product, mm->now->product, y->at.index);
        epilogue_seek(&y->at);
    }
    mm_get_c(mm, MM_UB, 0, false);
    y->n = mm_ring_pieces(mm);
    y->done = 0;
    for (unsigned i = 0; i < y->n; i++) {
        mm_ring_piece(mm, i, &y->piece[i]);
        epilogue_load(&y->at, &y->piece[i], position_of(y, &y->piece[i]));
    }
}

void epilogue_play(const struct tiles_plan *t)
{
    struct prologue_at operand;
    struct playing y;
    struct mm mm;

    epilogue_begin(&y.at, t, &t->product->epilogue->core[task_block()]);
    if (t->product->prologue) {
        prologue_begin(&operand, t);
    }
    y.n = y.done = 0;
    for (uint32_t i = 0; i < product_times(t->product); i++) {
        product_object(t, i, &mm, y.at.index);
        if (t->product->prologue) {
            prologue_feed(&operand, &mm, y.at.index);
        }
        while (mm_iterate(&mm)) {
            finish_tile(&y, true);
            begin_tile(&y, &mm);
            finish_tile(&y, false);
        }
        finish_tile(&y, true);
        mm_end(&mm);
    }
    if (t->product->prologue) {
        prologue_end(&operand);
    }
    epilogue_end(&y.at);
}
