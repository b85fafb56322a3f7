/* SPDX-License-Identifier: MIT
 *
 * The hart: loops that issue too slowly, launches, work that is shared unevenly.
 */
#include <stdio.h>
#include <string.h>

#include "tools/profile/remedy.h"

/* Commands that cost the hart nothing. */
void try_hart(struct trial *x)
{
    struct change change = {.percent = 100};
    uint64_t awake = 0, pushes = 0;
    struct remedy *r = trial_add(x, "hart", trial_saves(x, &change));

    for (uint32_t k = 0; k < x->o->pushes; k++) {
        if (x->o->push[k].inner) {
            awake += x->o->push[k].awake;
            pushes++;
        }
    }
    if (r && pushes) {
        snprintf(r->why, sizeof(r->why),
                 "the hart takes %.0f cycles to issue a command, longer than the pipes "
                 "take for "
                 "what it issues",
                 (double)awake / (double)pushes);
        snprintf(
            r->help, sizeof(r->help),
            "Record the loop (sched/sequence.h), or give each command more to do. make "
            "whatif SET=hart=0 runs it with a free hart.");
    }
}

/* All launches as one whose kernel stays: all but the first lose their price and what they
 * do before and behind their tasks. */
void try_launches(struct trial *x)
{
    const struct trace *t = x->t;
    uint64_t sum = 0, launches = 0, all = 0, back = 0;
    struct remedy *r;

    for (uint32_t i = 0; i < t->launches; i++) {
        const struct range *l = &t->launch[i];
        uint64_t own = 0;
        if (l->number == 0) {
            continue;
        }
        for (uint32_t k = 0; k < t->harts; k++) {
            const struct range *h = &t->hart[k];
            const char *name = trace_text(t, h->name);
            if (h->begin >= l->call && h->end <= l->back &&
                (strncmp(name, "launch ", 7) == 0 ||
                 strcmp(name, "price of a launch") == 0)) {
                own += h->end - h->begin;
            }
        }
        if (back && l->call > back) {
            own += l->call - back;
        }
        back = l->back;
        all += own;
        sum += launches++ ? own : 0;
    }
    if (launches > 1 && (r = trial_add(x, "launches", sum)) != NULL) {
        snprintf(r->why, sizeof(r->why),
                 "%ju launches cost %.0f cycles each, %.1f %% of the run",
                 (uintmax_t)launches, (double)all / (double)launches,
                 100 * (double)all / (double)x->all);
        snprintf(r->help, sizeof(r->help),
                 "One launch whose kernel stays (steps of sched/launch.h), or one that "
                 "does all.");
    }
}

/* When a core is ready, and what its busiest pipe works. */
struct share {
    uint64_t last, pipe[NPU_PIPES], work;
};

static unsigned find_shares(const struct trace *t, struct share *share, uint64_t *mean)
{
    uint64_t sum = 0;
    unsigned cores = 0;

    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        struct share *s = &share[c->core];
        s->last = c->end > s->last ? c->end : s->last;
        s->pipe[c->pipe] += c->end - c->begin - c->lost;
        s->work = s->pipe[c->pipe] > s->work ? s->pipe[c->pipe] : s->work;
    }
    for (unsigned c = 0; c < t->cores; c++) {
        cores += share[c].last != 0;
        sum += share[c].work;
    }
    *mean = cores ? sum / cores : 0;
    return cores;
}

/* The same work for each core that has any: each is ready so much earlier or later. The
 * hart lets them begin one after the other, as before. */
void try_shares(struct trial *x)
{
    struct share share[NPU_MAX_CORES] = {0};
    uint64_t mean, end = 0, then = 0;
    unsigned cores = find_shares(x->t, share, &mean), most = 0;
    struct remedy *r;

    for (unsigned c = 0; c < x->t->cores; c++) {
        const struct share *s = &share[c];
        uint64_t even = s->last ? s->last + mean - s->work : 0;
        then = even > then ? even : then;
        end = s->last > end ? s->last : end;
        most = s->work > share[most].work ? c : most;
    }
    if (cores > 1 && then < end &&
        (r = trial_add(x, "uneven shares", end - then)) != NULL) {
        snprintf(r->why, sizeof(r->why),
                 "the busiest pipe of core %u works %ju cycles, that of the %u cores on "
                 "average "
                 "%ju",
                 most, (uintmax_t)share[most].work, cores, (uintmax_t)mean);
        snprintf(r->help, sizeof(r->help),
                 "Give each core as much; less to those that begin late.");
    }
}
