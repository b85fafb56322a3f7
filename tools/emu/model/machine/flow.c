/* SPDX-License-Identifier: MIT
 *
 * Bandwidth that pipes and cores share: every transfer to or from GM draws from the
 * chip's L2, reads from the read limit and all from the total (profile.def: L2_*).
 * Rates are max-min fair: whoever wants less than an equal share gets it all, the
 * others share the rest equally. A transfer draws while it has work left; its fixed
 * latency follows. Integer arithmetic in 1/256 byte, so every host computes the same.
 */
#include "tools/emu/model/machine/flow.h"

#include "hal/contract/cost.h"
#include "tools/emu/model/machine/defect.h"
#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/perturb.h"

static bool flow_active(const struct npu_pipe *p)
{
    return p->state == PIPE_RUNNING && p->flow.pools && p->flow.left;
}

/* Largest share such that the sum over min(rate, share) fits into the limit. */
static uint32_t fair_share(const uint32_t *rates, unsigned count, uint64_t limit)
{
    uint64_t sum = 0, low = 0, high = UINT32_MAX;

    for (unsigned i = 0; i < count; i++) {
        sum += rates[i];
    }
    if (sum <= limit) {
        return UINT32_MAX;
    }
    while (low < high) {
        uint64_t mid = (low + high + 1) / 2;
        sum = 0;
        for (unsigned i = 0; i < count; i++) {
            sum += rates[i] < mid ? rates[i] : mid;
        }
        if (sum <= limit) {
            low = mid;
        } else {
            high = mid - 1;
        }
    }
    return low ? (uint32_t)low : 1;
}

static void flow_progress(struct npu_flow *f, uint64_t now)
{
    uint64_t done = (now - f->updated) * f->rate;

    f->left = done < f->left ? f->left - done : 0;
    f->updated = now;
}

static void flow_set_rate(struct npu_pipe *p, uint32_t rate, uint64_t now)
{
    p->flow.rate = rate;
    p->end = now + div_up(p->flow.left, rate) + p->flow.fixed;
}

/* Rates of the active transfers, each in what the read limit and the total leave it. */
struct flow_rates {
    struct npu_pipe *active[NPU_MAX_CORES * NPU_PIPES];
    uint32_t rate[NPU_MAX_CORES * NPU_PIPES];
    unsigned count;
    bool shared; /* one of them has less than alone */
};

static void flow_share(const struct npu_state *s, struct flow_rates *r)
{
    uint32_t reads[NPU_MAX_CORES * NPU_PIPES] = {0};
    unsigned n_reads = 0;

    for (unsigned i = 0; i < r->count; i++) {
        if (r->active[i]->flow.pools & POOL_READ) {
            reads[n_reads++] = r->active[i]->flow.own;
        }
    }
    uint32_t read_share =
        fair_share(reads, n_reads, (uint64_t)cost(s, COST_L2_READ_RATE) * 256);
    for (unsigned i = 0; i < r->count; i++) {
        uint32_t own = r->active[i]->flow.own;
        bool limited = (r->active[i]->flow.pools & POOL_READ) && own > read_share;
        r->rate[i] = limited ? read_share : own;
    }
    uint32_t share = fair_share(r->rate, r->count, (uint64_t)cost(s, COST_L2_RATE) * 256);
    r->shared = false;
    for (unsigned i = 0; i < r->count; i++) {
        r->rate[i] = r->rate[i] < share ? r->rate[i] : share;
        r->shared |= r->rate[i] != r->active[i]->flow.own;
    }
}

/* The first end of an active transfer's work, if one's end changes the others' rates. */
static uint64_t flow_next(const struct flow_rates *r)
{
    uint64_t next = NPU_NEVER;

    for (unsigned i = 0; r->shared && i < r->count; i++) {
        uint64_t done = r->active[i]->end - r->active[i]->flow.fixed;
        next = done < next ? done : next;
    }
    return next;
}

static void flow_gather(const struct npu *n, struct flow_rates *r)
{
    r->count = 0;
    for (unsigned c = 0; c < n->s->cores; c++) {
        for (unsigned i = 0; i < NPU_PIPES; i++) {
            struct npu_pipe *p = &n->s->core[c].pipe[i];
            if (flow_active(p)) {
                r->active[r->count++] = p;
            }
        }
    }
}

void flow_update(struct npu *n)
{
    struct npu_state *s = n->s;
    struct flow_rates r;
    bool changed = false;
    unsigned left = 0;

    flow_gather(n, &r);
    for (unsigned i = 0; i < r.count; i++) {
        flow_progress(&r.active[i]->flow, s->now);
        r.active[left] = r.active[i];
        left += r.active[i]->flow.left != 0;
    }
    r.count = left;
    flow_share(s, &r);
    for (unsigned i = 0; i < r.count; i++) {
        if (r.rate[i] != r.active[i]->flow.rate) {
            flow_set_rate(r.active[i], r.rate[i], s->now);
            changed = true;
        }
    }
    for (unsigned c = 0; changed && c < s->cores; c++) {
        npu_update_next(&s->core[c]);
    }
    s->flow_next = flow_next(&r);
}

bool flow_valid(const struct npu *n)
{
    struct flow_rates r;
    bool same = true;

    flow_gather(n, &r);
    flow_share(n->s, &r);
    for (unsigned i = 0; i < r.count; i++) {
        same = same && r.rate[i] == r.active[i]->flow.rate;
    }
    return same && n->s->flow_next == flow_next(&r);
}

/* What a command asks for: its plan, or as slow as its pipe is. */
struct demand {
    uint64_t fixed, fixed_next, work, at_least;
};

static struct demand demand_of(const struct plan *plan, uint32_t times)
{
    return (struct demand){(uint64_t)plan->fixed * times,
                           (uint64_t)plan->fixed_next * times, plan->work * times,
                           plan->at_least * times};
}

/* Its rate alone: below its own if short rows, or another engine on its way, hold it. */
static uint32_t rate_alone(const struct demand *d, uint32_t rate)
{
    bool held = d->at_least > div_up(d->work, rate);
    uint64_t alone = held ? div_up(d->work * 256, d->at_least) : rate * 256ull;

    return (uint32_t)(alone ? alone : 1);
}

void flow_begin(struct npu *n, struct npu_pipe *p, const struct plan *plan,
                uint32_t fixed, uint32_t times)
{
    struct npu_state *s = n->s;
    struct demand d = demand_of(plan, times);
    uint32_t rate = rate_alone(&d, plan->rate);

    p->begin = s->now;
    p->end = p->nominal = s->now + cost_cycles(fixed, d.work, plan->rate, d.at_least);
    p->flow = (struct npu_flow){0};
    if (plan->pools && d.work) {
        p->flow = (struct npu_flow){.pools = plan->pools,
                                    .own = rate,
                                    .rate = rate,
                                    .fixed = fixed,
                                    .left = d.work * 256,
                                    .updated = s->now};
        flow_update(n);
    }
}

bool flow_plausible(const struct npu *n, unsigned core, unsigned pipe, uint64_t waits)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const struct npu_flow *f = &p->flow;
    const struct plan *plan = &n->plan[core][pipe];
    struct demand d = demand_of(plan, defect_slow(n->s, core, pipe));
    uint64_t fixed = (d.fixed > d.fixed_next ? d.fixed : d.fixed_next) + PERTURB_MOST;
    uint64_t longest = cost_cycles(fixed, d.work, plan->rate, d.at_least) + waits;
    uint32_t alone = rate_alone(&d, plan->rate);

    if (p->nominal <= p->begin || p->nominal - p->begin > longest) {
        return false;
    }
    if (!plan->pools || !d.work) {
        return f->pools == 0 && p->end == p->nominal;
    }
    if (f->pools != plan->pools || f->own == 0 || f->own > alone ||
        (waits == 0 && f->own != alone) || f->rate == 0 || f->rate > f->own ||
        f->fixed > fixed || f->left > d.work * 256 || f->updated < p->begin ||
        f->updated > n->s->now) {
        return false;
    }
    return f->left ? p->end == p->nominal ||
                         p->end == f->updated + div_up(f->left, f->rate) + f->fixed
                   : p->end - n->s->now <= longest;
}
