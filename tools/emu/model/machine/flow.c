/* SPDX-License-Identifier: MIT
 *
 * Bandwidth that pipes and cores share: every transfer to or from GM draws from HBM what
 * L2 does not have (l2.c), and from the chip's L2, reads from the read limit and all from
 * the total (profile.def: HBM_RATE, L2_*). Rates are max-min fair: whoever wants less than
 * an equal share gets it all, the others share the rest equally. A transfer draws while it
 * has work left; its fixed latency follows. What reads L1 is slower while GM is written to
 * it, and shares with nobody else. Integer arithmetic in 1/256 byte, so every host computes
 * the same.
 */
#include "tools/emu/model/machine/flow.h"

#include "hal/contract/cost.h"
#include "tools/emu/model/machine/state/defect.h"
#include "tools/emu/model/machine/event.h"
#include "tools/emu/model/machine/l2.h"
#include "tools/emu/model/machine/perturb.h"

static bool flow_active(const struct npu_pipe *p)
{
    return p->state == PIPE_RUNNING && (p->flow.pools & POOL_GM) && p->flow.left;
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

/* Integer part of a square root. */
static uint64_t root(uint64_t n)
{
    uint64_t result = 0;

    for (uint64_t bit = 1ull << 31; bit; bit >>= 1) {
        uint64_t with = result | bit;
        result = with * with <= n ? with : result;
    }
    return result;
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

/* Of its own rate, what HBM leaves each: it draws flow.hbm bytes for 256 of work. */
static void share_hbm(const struct npu_state *s, struct flow_rates *r)
{
    uint32_t draws[NPU_MAX_CORES * NPU_PIPES] = {0};
    unsigned count = 0;

    for (unsigned i = 0; i < r->count; i++) {
        const struct npu_flow *f = &r->active[i]->flow;
        uint64_t draw = (uint64_t)f->own * f->hbm / 256;
        r->rate[i] = f->own;
        if (draw) {
            draws[count++] = draw < UINT32_MAX ? (uint32_t)draw : UINT32_MAX;
        }
    }
    uint32_t share = fair_share(draws, count, (uint64_t)cost(s, COST_HBM_RATE) * 256);
    for (unsigned i = 0; count && i < r->count; i++) {
        const struct npu_flow *f = &r->active[i]->flow;
        uint64_t most = f->hbm ? (uint64_t)share * 256 / f->hbm : f->own;
        most = most ? most : 1;
        r->rate[i] = most < f->own ? (uint32_t)most : f->own;
    }
}

/* Reads, or writes: L2 answers later the more it is asked for, and what a transfer has
 * under way at a time stays the same; all that is asked for is `wanted`. */
static void meet(struct flow_rates *r, bool reads, uint64_t wanted, uint64_t peak)
{
    uint64_t of = 0, slow = peak; /* for a rate of `of`, peak / slow of its own is left */

    for (unsigned i = 0; i < r->count && peak; i++) {
        const struct npu_flow *f = &r->active[i]->flow;
        if (!(f->pools & POOL_READ) == reads) {
            continue;
        }
        if (r->rate[i] != of) {
            uint64_t others = wanted - r->rate[i];
            of = r->rate[i];
            slow = root(peak * peak + others * others);
        }
        uint64_t most = f->own * peak / slow;
        most = most ? most : 1;
        r->rate[i] = most < r->rate[i] ? (uint32_t)most : r->rate[i];
    }
}

static uint64_t sum_of(const struct flow_rates *r, bool writes_too)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < r->count; i++) {
        bool counts = writes_too || (r->active[i]->flow.pools & POOL_READ);
        sum += counts ? r->rate[i] : 0;
    }
    return sum;
}

static void flow_share(const struct npu_state *s, struct flow_rates *r)
{
    uint32_t reads[NPU_MAX_CORES * NPU_PIPES] = {0};
    uint64_t all = (uint64_t)cost(s, COST_L2_RATE) * 256;
    uint64_t peak = (uint64_t)cost(s, COST_L2_READ_PEAK) * 256;
    unsigned n_reads = 0;

    share_hbm(s, r);
    meet(r, true, sum_of(r, false), peak);
    for (unsigned i = 0; i < r->count; i++) {
        if (r->active[i]->flow.pools & POOL_READ) {
            reads[n_reads++] = r->rate[i];
        }
    }
    uint32_t read_share =
        fair_share(reads, n_reads, (uint64_t)cost(s, COST_L2_READ_RATE) * 256);
    for (unsigned i = 0; i < r->count; i++) {
        bool limited = (r->active[i]->flow.pools & POOL_READ) && r->rate[i] > read_share;
        r->rate[i] = limited ? read_share : r->rate[i];
    }
    meet(r, false, sum_of(r, true), peak ? all : 0);
    uint32_t share = fair_share(r->rate, r->count, all);
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

/* --- L1 of one core --- */

/* What reads L1 at its own rate gets there now. */
static uint32_t l1_rate(const struct npu *n, unsigned core, uint32_t own)
{
    const struct npu_pipe *in = &n->s->core[core].pipe[PIPE_MTE2];
    bool written = in->state == PIPE_RUNNING && (in->flow.pools & POOL_TO_L1);
    uint64_t slower = (uint64_t)own * 100 / (100 + cost(n->s, COST_L1_SHARED));

    return !written ? own : slower ? (uint32_t)slower : 1;
}

static bool reads_l1(const struct npu_pipe *p)
{
    return p->state == PIPE_RUNNING && (p->flow.pools & POOL_FROM_L1);
}

/* Behind a begin or an end of what writes L1. */
static void l1_update(struct npu *n, unsigned core)
{
    struct npu_pipe *out = &n->s->core[core].pipe[PIPE_MTE1];
    uint32_t rate;

    if (!reads_l1(out)) {
        return;
    }
    flow_progress(&out->flow, n->s->now);
    rate = l1_rate(n, core, out->flow.own);
    if (out->flow.left && rate != out->flow.rate) {
        flow_set_rate(out, rate, n->s->now);
        npu_update_next(&n->s->core[core]);
    }
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
    for (unsigned c = 0; c < n->s->cores; c++) {
        const struct npu_pipe *out = &n->s->core[c].pipe[PIPE_MTE1];
        same = same && (!reads_l1(out) || out->flow.left == 0 ||
                        out->flow.rate == l1_rate(n, c, out->flow.own));
    }
    return same && n->s->flow_next == flow_next(&r);
}

/* --- one transfer --- */

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

/* A line goes to one core after the other: whoever comes there behind others waits for
 * them in every line of the transfer, and so does what shares its way. */
static void same_line(const struct npu_state *s, struct demand *d,
                      const struct npu_flow *f)
{
    uint32_t more = f->same_line * cost(s, COST_GM_SAME_LINE);

    d->work += d->work * more / 1000;
    d->at_least += d->at_least * more / 1000;
}

/* Cycles of its work, all of it at hand, or as fast as it could go. */
static uint64_t least_cycles(const struct plan *plan, const struct demand *d)
{
    uint64_t bytes = div_up(d->work, plan->rate);

    return d->at_least > bytes ? d->at_least : bytes;
}

/* What comes from HBM adds to these: no more of it is under way at a time than of what comes
 * from L2, which takes the latency of GM to come. */
static uint64_t late_cycles(const struct npu_state *s, const struct plan *plan,
                            const struct npu_flow *f, uint64_t cycles)
{
    return f->late ? div_up(cycles * f->late * cost(s, COST_L2_MISS),
                            plan->work * plan->latency)
                   : 0;
}

/* Cycles of its work without anybody else. */
static uint64_t work_cycles(const struct npu_state *s, const struct plan *plan,
                            const struct demand *d, const struct npu_flow *f)
{
    uint64_t cycles = least_cycles(plan, d);

    return cycles + late_cycles(s, plan, f, cycles);
}

/* Its rate alone: below its own if short rows, or another engine on its way, hold it. */
static uint32_t rate_alone(const struct demand *d, uint32_t rate, uint64_t cycles)
{
    bool held = cycles > div_up(d->work, rate);
    uint64_t alone = held ? div_up(d->work * 256, cycles) : rate * 256ull;

    return (uint32_t)(alone ? alone : 1);
}

/* The line of GM in which a transfer begins; UINT64_MAX: in none. */
static uint64_t first_line(const struct plan *plan)
{
    const struct access *a =
        plan->n_src && plan->src[0].mem == NPU_MEM_GM ? &plan->src[0] : &plan->dst;

    return a->mem == NPU_MEM_GM ? a->base / L2_LINE_BYTES : UINT64_MAX;
}

/* How many other cores transfer what begins there. */
static uint8_t line_taken(const struct npu *n, unsigned core, uint64_t line)
{
    unsigned others = 0;

    for (unsigned c = 0; c < n->s->cores; c++) {
        bool taken = false;
        for (unsigned p = 0; c != core && p < NPU_PIPES; p++) {
            taken |=
                flow_active(&n->s->core[c].pipe[p]) && first_line(&n->plan[c][p]) == line;
        }
        others += taken;
    }
    return (uint8_t)others;
}

static void gm_begin(struct npu *n, unsigned core, unsigned pipe, struct npu_flow *f)
{
    const struct plan *plan = &n->plan[core][pipe];
    struct l2_found found = l2_begin(n, core, pipe);

    f->hits = found.hits;
    f->misses = found.misses;
    f->late = (uint32_t)found.late;
    f->hbm = (uint32_t)div_up(found.hbm * 256, plan->work);
    f->same_line =
        cost(n->s, COST_GM_SAME_LINE) ? line_taken(n, core, first_line(plan)) : 0;
}

void flow_begin(struct npu *n, unsigned core, unsigned pipe, uint32_t fixed,
                uint32_t times)
{
    struct npu_state *s = n->s;
    struct npu_pipe *p = &s->core[core].pipe[pipe];
    const struct plan *plan = &n->plan[core][pipe];
    struct demand d = demand_of(plan, times);
    uint64_t cycles;

    p->begin = s->now;
    p->flow = (struct npu_flow){0};
    if ((plan->pools & POOL_GM) && d.work) {
        gm_begin(n, core, pipe, &p->flow);
        same_line(s, &d, &p->flow);
    }
    fixed += p->flow.late ? cost(s, COST_L2_MISS) * times : 0;
    cycles = work_cycles(s, plan, &d, &p->flow);
    p->end = p->nominal = s->now + cost_cycles(fixed, d.work, plan->rate, cycles);
    if (plan->pools && d.work) {
        p->flow.pools = plan->pools;
        p->flow.own = p->flow.rate = rate_alone(&d, plan->rate, cycles);
        p->flow.fixed = fixed;
        p->flow.left = d.work * 256;
        p->flow.updated = s->now;
        if (plan->pools & POOL_GM) {
            flow_update(n);
        }
        l1_update(n, core);
    }
}

void flow_end(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_pipe *p = &n->s->core[core].pipe[pipe];

    if (p->state == PIPE_RUNNING) {
        l2_end(n, core, pipe);
    }
    p->flow.pools = 0;
    l1_update(n, core);
}

uint64_t flow_missed(const struct npu *n, unsigned core, unsigned pipe)
{
    const struct npu_flow *f = &n->s->core[core].pipe[pipe].flow;
    const struct plan *plan = &n->plan[core][pipe];
    uint32_t times = defect_slow(n->s, core, pipe);
    struct demand d = demand_of(plan, times);

    same_line(n->s, &d, f);
    return f->late ? (uint64_t)cost(n->s, COST_L2_MISS) * times +
                         late_cycles(n->s, plan, f, least_cycles(plan, &d))
                   : 0;
}

/* What it says of L2 can be of the plan. */
static bool found_plausible(const struct npu *n, const struct plan *plan,
                            const struct npu_flow *f)
{
    bool l2 = cost(n->s, COST_L2_BYTES) != 0;

    return f->same_line < (cost(n->s, COST_GM_SAME_LINE) ? n->s->cores : 1) &&
           f->late <= plan_bytes_read(plan) &&
           (l2 || (f->hits | f->misses | f->late | f->hbm) == 0) &&
           (!f->late || plan->latency);
}

bool flow_plausible(const struct npu *n, unsigned core, unsigned pipe, uint64_t waits)
{
    const struct npu_pipe *p = &n->s->core[core].pipe[pipe];
    const struct npu_flow *f = &p->flow;
    const struct plan *plan = &n->plan[core][pipe];
    uint32_t times = defect_slow(n->s, core, pipe);
    struct demand d = demand_of(plan, times);
    uint64_t fixed = (d.fixed > d.fixed_next ? d.fixed : d.fixed_next) + PERTURB_MOST +
                     (uint64_t)cost(n->s, COST_L2_MISS) * times;
    uint64_t cycles, longest;
    uint32_t alone;

    if (!found_plausible(n, plan, f)) {
        return false;
    }
    same_line(n->s, &d, f);
    cycles = work_cycles(n->s, plan, &d, f);
    longest = cost_cycles(fixed, d.work, plan->rate, cycles) + waits;
    alone = rate_alone(&d, plan->rate, cycles);

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
