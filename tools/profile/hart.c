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

/* The same work for each core that has any. The hart lets them begin one after the other, so
 * the last one that begins is then the last one that ends. */
void try_shares(struct trial *x)
{
    const struct trace *t = x->t;
    uint64_t first[NPU_MAX_CORES] = {0}, last[NPU_MAX_CORES] = {0}, sum = 0, begin = 0,
             end = 0;
    unsigned cores = 0, longest = 0;
    struct remedy *r;

    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        first[c->core] = last[c->core] ? first[c->core] : c->begin;
        last[c->core] = c->end > last[c->core] ? c->end : last[c->core];
    }
    for (unsigned c = 0; c < t->cores; c++) {
        if (last[c]) {
            cores++;
            sum += last[c] - first[c];
            begin = first[c] > begin ? first[c] : begin;
            longest = last[c] > end ? c : longest;
            end = last[c] > end ? last[c] : end;
        }
    }
    if (cores > 1 && begin + sum / cores < end &&
        (r = trial_add(x, "uneven shares", end - begin - sum / cores)) != NULL) {
        snprintf(r->why, sizeof(r->why),
                 "core %u works %ju cycles from its first to its last command, the %u "
                 "cores on "
                 "average %ju",
                 longest, (uintmax_t)(end - first[longest]), cores,
                 (uintmax_t)(sum / cores));
        snprintf(r->help, sizeof(r->help),
                 "Give each core as much; less to those that begin late.");
    }
}
