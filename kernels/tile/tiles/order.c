/* SPDX-License-Identifier: MIT
 *
 * The order of a tile's commands and the semaphores between the pipes; see order.h. Each
 * pipe takes its commands as they were emitted. What crosses from pipe to pipe is a buffer:
 * FULL when its data have come, OUT when its results are made, FREE when it may be written
 * anew, each once a tile; edges with the same ends are one.
 */
#include <string.h>

#include "kernels/tile/tiles/order.h"
#include "kernels/tile/tiles/place.h"

static uint8_t new_sem(struct order *o, const char *label, const char *role)
{
    uint8_t sem = (uint8_t)o->n_sems++;

    o->label[sem] = label;
    o->role[sem] = role;
    return sem;
}

static uint8_t new_free(struct order *o, const char *label, unsigned copies)
{
    uint8_t sem = new_sem(o, label, "FREE");

    o->free_sems[o->n_free++] = sem;
    o->copies[sem] = (uint8_t)copies;
    return sem;
}

static void sync_at(struct order *o, unsigned command, uint8_t sem, bool post)
{
    o->sync[o->n_syncs++] = (struct sync){(uint16_t)command, sem, post};
}

/* Where a result is. */
static const struct buffer *made(const struct emit *e, unsigned result)
{
    return &e->buffer[e->form[e->p->result[result]].dense - 1];
}

/* What only the Vector reads, as one. */
static void free_by_vector(struct order *o, const struct emit *e)
{
    unsigned last = 0;
    uint8_t sem = 0;

    for (unsigned l = 0; l < o->n_loads; l++) {
        const struct buffer *b = &e->buffer[o->load[l] - 1];
        if (!b->store && !b->product) {
            sem =
                sem ? sem
                    : new_free(o, e->p->k->param[b->load - 1].name, way_copies(e->w, b));
            last = b->last > last ? b->last : last;
        }
    }
    for (unsigned l = 0; l < o->n_loads; l++) {
        if (!e->buffer[o->load[l] - 1].store && !e->buffer[o->load[l] - 1].product) {
            o->load_free[l] = sem;
            sem = 0; /* the first waits for all */
            sync_at(o, last, o->load_free[l], true);
            break;
        }
    }
}

static void add_store(struct order *o, const struct emit *e, unsigned result,
                      uint8_t buffer)
{
    const struct buffer *b = &e->buffer[buffer - 1];
    const char *name = e->p->k->result[result].tensor.name;
    unsigned s = o->n_stores++;

    o->store[s] = buffer;
    o->store_result[s] = (uint8_t)result;
    for (unsigned i = 0; i < s; i++) {
        if (o->store[i] == buffer) { /* a second result of the same value */
            o->store_free[s] = o->store_free[i];
            o->store_free[i] = 0;
            return;
        }
    }
    o->store_out[s] = new_sem(o, name, "FULL");
    o->store_free[s] = new_free(o, name, e->w->ring);
    sync_at(o, b->last, o->store_out[s], true);
    for (unsigned l = 0; l < o->n_loads; l++) {
        if (o->load[l] == buffer) {
            o->load_free[l] = o->store_free[s];
            return;
        }
    }
    sync_at(o, b->first, o->store_free[s], false);
}

/* Of the results that are not `done`, bit by bit, the one that is made first. */
static unsigned next_store(const struct emit *e, unsigned done)
{
    unsigned n = e->p->k->n_results, next = n;

    for (unsigned r = 0; r < n; r++) {
        if (!(done >> r & 1) && (next == n || made(e, r)->last < made(e, next)->last)) {
            next = r;
        }
    }
    return next;
}

/* Where loads wait for stores of the same tile, what is made first goes first. */
static void add_stores(struct order *o, const struct emit *e, bool alone)
{
    unsigned n = e->p->k->n_results, done = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned r = alone ? next_store(e, done) : i;
        uint8_t b = e->form[e->p->result[r]].dense;
        done |= 1u << r;
        if (!e->buffer[b - 1].always) {
            add_store(o, e, r, b);
        }
    }
}

static bool is_loaded(const struct buffer *b)
{
    return b->load && !b->always && !b->product;
}

/* Loads of buffers that a result takes over, or of the others: these need not wait for a
 * store, and what is made of them alone need not wait for those. Where they are there once
 * they wait for the Vector, and come last. */
static void add_loads(struct order *o, const struct emit *e, bool stored)
{
    unsigned first = UINT16_MAX, n = o->n_loads;
    uint8_t sem;

    for (uint8_t b = 1; b <= e->n_buffers; b++) {
        const struct buffer *f = &e->buffer[b - 1];
        if (is_loaded(f) && (f->store != 0) == stored) {
            o->load[o->n_loads++] = b;
            first = f->first < first ? f->first : first;
        }
    }
    if (o->n_loads > n) {
        sem = n ? new_sem(o, stored ? "results" : "operands", "FULL") : SEM_FULL;
        o->load_full[o->n_loads - 1] = sem;
        sync_at(o, first, sem, false);
    }
}

/* Of one tile at a time each load has semaphores of its own, if there are as many, so that it
 * comes as soon as its buffer is free, while the Vector is at others. */
static bool loads_alone(const struct emit *e)
{
    unsigned sems = SEM_FULL + 2 * e->p->k->n_results;

    if (e->w->ring > 1 || e->p->k->product) {
        return false;
    }
    for (unsigned b = 0; b < e->n_buffers; b++) {
        sems += is_loaded(&e->buffer[b]) ? e->buffer[b].store ? 1 : 2 : 0;
    }
    return sems <= PLAN_SEMS;
}

/* The one that is wanted no longer first. */
static void add_each_load(struct order *o, const struct emit *e)
{
    bool done[PLAN_BUFFERS + 1] = {false};
    uint8_t next;

    do {
        next = 0;
        for (uint8_t b = 1; b <= e->n_buffers; b++) {
            const struct buffer *f = &e->buffer[b - 1];
            if (is_loaded(f) && !done[b] &&
                (!next || f->last < e->buffer[next - 1].last)) {
                next = b;
            }
        }
        if (next) {
            const struct buffer *f = &e->buffer[next - 1];
            const char *name = e->p->k->param[f->load - 1].name;
            uint8_t full = o->n_loads ? new_sem(o, name, "FULL") : SEM_FULL;
            done[next] = true;
            o->load_full[o->n_loads] = full;
            sync_at(o, f->first, full, false);
            if (!f->store) {
                o->load_free[o->n_loads] = new_free(o, name, 1);
                sync_at(o, f->last, o->load_free[o->n_loads], true);
            }
            o->load[o->n_loads++] = next;
        }
    } while (next);
}

/* What comes out of L0C; nobody but FIX writes there, or, in its place, MTE3 reads. */
static void add_product(struct order *o, const struct emit *e)
{
    for (uint8_t b = 1; b <= e->n_buffers; b++) {
        const struct buffer *f = &e->buffer[b - 1];
        if (f->product) {
            o->load[o->n_loads] = b;
            o->load_full[o->n_loads] = new_sem(o, "product", "FULL");
            sync_at(o, f->first, o->load_full[o->n_loads], false);
            o->product = (uint8_t)++o->n_loads;
        }
    }
}

/* If no result takes its place: the Vector is done with it. */
static void free_product(struct order *o, const struct emit *e)
{
    unsigned l = o->product - 1u;
    const struct buffer *b;

    if (o->product && o->load_free[l] == 0) {
        b = &e->buffer[o->load[l] - 1];
        o->load_free[l] = new_free(o, "product", e->w->ring);
        sync_at(o, b->last, o->load_free[l], true);
    }
}

void order_make(struct order *o, const struct emit *e)
{
    bool alone = loads_alone(e);

    memset(o, 0, sizeof(*o));
    o->base = e->p->sems;
    o->n_sems = SEM_OTHERS;
    o->label[SEM_PRE] = o->label[SEM_MADE] = "constants";
    o->label[SEM_FULL] = "tile";
    o->role[SEM_PRE] = o->role[SEM_MADE] = o->role[SEM_FULL] = "FULL";
    if (alone) {
        add_each_load(o, e);
    } else {
        add_loads(o, e, e->w->single);
        add_loads(o, e, !e->w->single);
    }
    add_product(o, e);
    add_stores(o, e, alone);
    if (!alone) {
        free_by_vector(o, e);
    }
    free_product(o, e);
}

/* --- waits and posts in commands --- */

/* What is left of a side of a command's head, of which a NOP takes two. */
static unsigned nops_for(const struct order *o, unsigned command, bool post)
{
    unsigned n = 0;

    for (unsigned i = 0; i < o->n_syncs; i++) {
        n += o->sync[i].command == command && o->sync[i].post == post;
    }
    return n > 2 ? (n - 1) / 2 : 0;
}

/* Hands the waits, or the posts, of a command to itself and `nops` others from `cmd` on. */
static void sync_commands(const struct order *o, unsigned command, bool post,
                          union cmd *cmd)
{
    unsigned k = 0;

    for (unsigned i = 0; i < o->n_syncs; i++) {
        if (o->sync[i].command == command && o->sync[i].post == post) {
            if (post) {
                cmd_post(&cmd[k++ / 2], o->base + o->sync[i].sem, 1);
            } else {
                cmd_wait(&cmd[k++ / 2], o->base + o->sync[i].sem, 1);
            }
        }
    }
}

unsigned order_body(const struct order *o, const union cmd *body, unsigned n,
                    union cmd *to, unsigned room, uint16_t *moved)
{
    unsigned at = 0;

    for (unsigned i = 0; i < n; i++) {
        unsigned before = nops_for(o, i, false), behind = nops_for(o, i, true);
        if (to && at + before + 1 + behind <= room) {
            for (unsigned k = 0; k < before + 1 + behind; k++) {
                cmd_nop(&to[at + k]);
                to[at + k].head.tag = body[i].head.tag;
            }
            to[at + before] = body[i];
            sync_commands(o, i, false, &to[at]);
            sync_commands(o, i, true, &to[at + before]);
        }
        if (moved) {
            moved[i] = (uint16_t)(at + before);
        }
        at += before + 1 + behind;
    }
    return at;
}
