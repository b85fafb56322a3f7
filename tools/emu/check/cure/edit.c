/* SPDX-License-Identifier: MIT
 *
 * What a command waits for and posts with a change; see sim.h.
 */
#include "tools/emu/check/cure/edit.h"

#include "tools/emu/check/race/agent.h"

uint32_t edit_base(const struct segment *s, unsigned lane)
{
    return s
        ->base[lane % NPU_PIPES == LANE_RESULTS ? lane - LANE_RESULTS + PIPE_M : lane];
}

bool edit_is_side(const struct sim *m, unsigned lane, uint32_t number, unsigned of,
                  uint32_t serial)
{
    bool results = lane % NPU_PIPES == PIPE_M && of == lane - PIPE_M + LANE_RESULTS;

    return (of == lane || results) && serial - edit_base(m->s, of) == number;
}

/* The number of the last command of the edit's other pipe that is in an instance with
 * command `number` of a pipe; 0: it is in none. */
static uint32_t partner(const struct sim *m, unsigned lane, uint32_t number)
{
    uint32_t last = 0;

    for (uint32_t i = 0; i < m->n_instances; i++) {
        const struct instance *x = m->instance[i];
        uint32_t other = 0;
        if (edit_is_side(m, lane, number, x->lane_a, x->serial_a)) {
            other = x->serial_b - edit_base(m->s, x->lane_b);
        } else if (edit_is_side(m, lane, number, x->lane_b, x->serial_b)) {
            other = x->serial_a - edit_base(m->s, x->lane_a);
        }
        last = other > last ? other : last;
    }
    return last;
}

/* Whether the edit adds to command `number` of its pipe. */
static bool is_meant(const struct sim *m, const struct tape_cmd *c, uint32_t number,
                     const uint64_t *places, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (places[i] == tape_place(c)) {
            return !m->edit->some || partner(m, lane_of(c->core, c->pipe), number);
        }
    }
    return false;
}

struct moves edit_posts(const struct sim *m, const struct tape_cmd *c, uint32_t number)
{
    const struct sim_edit *e = m->edit;
    struct moves moves = {{c->post_sem[0], c->post_sem[1], (uint8_t)e->sem},
                          {c->post_n[0], c->post_n[1], 0}};

    for (unsigned i = 0; i < 2 && c->pipe == e->pipe_post; i++) {
        if (moves.sem[i] == e->sem && moves.n[i]) {
            moves.n[i] = e->move_post ? 0 : e->one_post ? 1 : moves.n[i];
        }
    }
    moves.n[2] =
        c->pipe == e->pipe_post && is_meant(m, c, number, e->post_at, e->n_post_at);
    return moves;
}

/* Units of the edit's semaphore that its first pipe has posted when the first post at or
 * behind its command `number` has come. */
static unsigned posted_with(const struct sim *m, unsigned core, uint32_t number)
{
    unsigned n = 0;
    uint32_t k = 0;

    for (uint32_t i = 0; i < m->s->n_cmds; i++) {
        const struct tape_cmd *c = &m->s->cmd[i];
        if (c->core == core && c->pipe == m->edit->pipe_post) {
            struct moves moves = edit_posts(m, c, ++k);
            unsigned was = n;
            for (unsigned p = 0; p < MOVES; p++) {
                n += moves.sem[p] == m->edit->sem ? moves.n[p] : 0;
            }
            if (k >= number && n > was) {
                break;
            }
        }
    }
    return n;
}

/* What a command wants beside what is on the tape. */
static unsigned added(const struct sim *m, const struct tape_cmd *c, uint32_t number)
{
    const struct sim_edit *e = m->edit;
    unsigned want, owner;

    if (c->pipe != e->pipe_take || !is_meant(m, c, number, e->take_at, e->n_take_at)) {
        return 0;
    }
    if (!e->some) {
        return 1;
    }
    owner = owner_of(c->core, e->sem);
    want = m->by_hart[owner] +
           posted_with(m, c->core, partner(m, lane_of(c->core, c->pipe), number));
    return want > m->taken[owner] ? want - m->taken[owner] : 0;
}

struct moves edit_takes(const struct sim *m, const struct tape_cmd *c, uint32_t number)
{
    const struct sim_edit *e = m->edit;
    uint8_t sem = (uint8_t)(e->barrier ? e->go : e->sem);
    struct moves moves = {{c->wait_sem[0], c->wait_sem[1], sem},
                          {c->wait_n[0], c->wait_n[1], 0}};

    for (unsigned i = 0; i < 2 && e->move_take && c->pipe == e->pipe_take; i++) {
        moves.n[i] = moves.sem[i] == e->sem ? 0 : moves.n[i];
    }
    moves.n[2] = added(m, c, number);
    return moves;
}
