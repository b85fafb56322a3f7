/* SPDX-License-Identifier: MIT
 *
 * What limits a run: which pipe works nearly all the time, or why none does. Source of the
 * words in brackets: the verdicts of Ascend's msopprof.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/remedy.h"

uint64_t trial_saves(struct trial *x, const struct change *change)
{
    uint64_t end = order_replay(x->o, change) - x->t->begin;

    return end < x->all ? x->all - end : 0;
}

struct remedy *trial_add(struct trial *x, const char *kind, uint64_t cycles)
{
    struct advice *a = x->a;
    unsigned i = a->n;

    if (cycles < x->all / 100 + 1) {
        return NULL;
    }
    if (a->n == REMEDIES) { /* the least has to go */
        i--;
        if (a->remedy[i].cycles >= cycles) {
            return NULL;
        }
    } else {
        a->n++;
    }
    for (; i > 0 && a->remedy[i - 1].cycles < cycles; i--) {
        a->remedy[i] = a->remedy[i - 1];
    }
    a->remedy[i] = (struct remedy){.kind = kind, .cycles = cycles};
    return &a->remedy[i];
}

void trial_reset(struct trial *x)
{
    for (uint32_t i = 0; i < x->t->commands; i++) {
        x->cycles[i] = x->t->command[i].end - x->t->command[i].begin;
    }
    memset(x->drop, 0, x->t->edges * sizeof(x->drop[0]));
    memset(x->more, 0, x->t->texts.n * sizeof(x->more[0]));
}

uint32_t trial_cost(const struct trial *x, enum npu_cost cost)
{
    return npu_profile_cost(x->t->profile, x->t->timing, cost);
}

/* --- what limits --- */

struct share {
    uint64_t span, works[NPU_PIPES], lanes[NPU_PIPES], waits[NPU_PIPES];
};

/* From the first command of a launch to its last, all launches added up. */
static uint64_t span_of(const struct trace *t)
{
    uint64_t sum = 0, first = 0, last = 0;
    uint32_t l = 0;

    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        while (l < t->launches &&
               (t->launch[l].number == 0 || t->launch[l].back <= c->begin)) {
            l++;
            sum += last - first;
            first = last = 0;
        }
        first = last ? first : c->begin;
        last = c->end > last ? c->end : last;
    }
    return sum + last - first;
}

static unsigned busiest(const struct trial *x, struct share *share)
{
    const struct sums *s = x->s;
    unsigned best = 0;

    *share = (struct share){.span = span_of(x->t)};
    for (uint32_t l = 0; l < s->lanes.n; l++) {
        const struct lane_sum *sum = &s->lane[l];
        unsigned p = s->lanes.pipe[l];
        share->works[p] += sum->busy + sum->cause[CAUSE_SHARED] + sum->cause[CAUSE_L2] +
                           sum->cause[CAUSE_BANK];
        share->waits[p] += sum->cause[CAUSE_SEM];
        share->lanes[p]++;
    }
    for (unsigned p = 1; p < NPU_PIPES; p++) {
        if (share->lanes[p]) {
            share->works[p] /= share->lanes[p];
            share->waits[p] /= share->lanes[p];
        }
        best = share->works[p] > share->works[best] ? p : best;
    }
    return best;
}

/* Cycles that the run waits for the hart: without them it would end so much sooner. */
static uint64_t waits_for_hart(struct trial *x)
{
    return trial_saves(x, &(struct change){.percent = 100});
}

static bool computes(unsigned pipe)
{
    return pipe == PIPE_M || pipe == PIPE_V;
}

static void bound(struct trial *x)
{
    static char name[32];
    struct advice *a = x->a;
    struct share share;
    unsigned p = busiest(x, &share);
    double span = (double)(share.span ? share.span : 1), all = (double)x->all;
    double works = 100 * (double)share.works[p] / span;
    uint64_t hart = waits_for_hart(x);

    if (2 * share.span < x->all) {
        a->bound = "Launch bound";
        a->class = "latency bound";
    } else if (works >= 80) {
        snprintf(name, sizeof(name), "%s bound", p == PIPE_M ? "Cube" : pipe_name(p));
        a->bound = name;
        a->class = computes(p) ? "compute bound" : "memory bound";
    } else if (3 * hart > share.span) {
        a->bound = "Hart bound";
        a->class = "scalar bound";
    } else {
        a->bound = "Latency bound";
        a->class = share.waits[p] * 4 > share.span ? "pipeline caused"
                   : computes(p)                   ? "compute caused"
                                                   : "memory caused";
    }
    snprintf(a->reason, sizeof(a->reason),
             "From first to last command %.1f %% of the run; of that %s, the busiest "
             "pipe, works "
             "%.1f %% and waits %.1f %%; a hart that took no time would save %.1f %%.",
             100 * (double)share.span / all, pipe_name(p), works,
             100 * (double)share.waits[p] / span, 100 * (double)hart / span);
}

/* Commands by the texts that name them. */
static const struct cmd_info **infos(const struct trace *t)
{
    const struct cmd_info **info = calloc(t->texts.n + 1, sizeof(*info));
    bool *names = calloc(t->texts.n + 1, sizeof(*names));

    for (uint32_t i = 0; i < t->commands; i++) {
        names[t->command[i].name] = true;
    }
    for (uint32_t i = 0; i < t->texts.n; i++) {
        for (unsigned op = 0; names[i] && op < CMD_OPCODES && !info[i]; op++) {
            const struct cmd_info *c = cmd_find(op);
            info[i] = c && strcmp(c->name, trace_text(t, i)) == 0 ? c : NULL;
        }
    }
    free(names);
    return info;
}

void advice_make(struct advice *a, const struct trace *t, const struct sums *s,
                 struct order *o)
{
    struct trial x = {.a = a, .t = t, .s = s, .o = o, .all = t->end - t->begin};

    *a = (struct advice){0};
    x.cycles = calloc(t->commands + 1, sizeof(x.cycles[0]));
    x.drop = calloc(t->edges + 1, sizeof(x.drop[0]));
    x.more = calloc(t->texts.n + 1, sizeof(x.more[0]));
    x.info = infos(t);
    bound(&x);
    try_buffers(&x);
    try_waits(&x);
    try_atomics(&x);
    try_rows(&x);
    try_banks(&x);
    try_shared(&x);
    try_reuse(&x);
    try_tiles(&x);
    try_hart(&x);
    try_launches(&x);
    try_shares(&x);
    order_replay(o, NULL);
    free(x.cycles);
    free(x.drop);
    free(x.more);
    free(x.info);
}
