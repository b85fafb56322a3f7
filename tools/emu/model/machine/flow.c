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
#include "tools/emu/model/machine/event.h"

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

void flow_update(struct npu *n)
{
    struct npu_state *s = n->s;
    struct npu_pipe *active[NPU_MAX_CORES * NPU_PIPES];
    uint32_t want[NPU_MAX_CORES * NPU_PIPES], reads[NPU_MAX_CORES * NPU_PIPES];
    unsigned count = 0, n_reads = 0;
    bool shared = false, changed = false;

    want[0] = reads[0] = 0;

    for (unsigned c = 0; c < s->cores; c++) {
        for (unsigned i = 0; i < NPU_PIPES; i++) {
            struct npu_pipe *p = &s->core[c].pipe[i];
            if (flow_active(p)) {
                flow_progress(&p->flow, s->now);
            }
            if (flow_active(p)) {
                active[count++] = p;
            }
        }
    }
    for (unsigned i = 0; i < count; i++) {
        if (active[i]->flow.pools & POOL_READ) {
            reads[n_reads++] = active[i]->flow.own;
        }
    }
    uint32_t read_share =
        fair_share(reads, n_reads, (uint64_t)cost(s, COST_L2_READ_RATE) * 256);
    for (unsigned i = 0; i < count; i++) {
        uint32_t own = active[i]->flow.own;
        bool limited = (active[i]->flow.pools & POOL_READ) && own > read_share;
        want[i] = limited ? read_share : own;
    }
    uint32_t share = fair_share(want, count, (uint64_t)cost(s, COST_L2_RATE) * 256);
    s->flow_next = NPU_NEVER;
    for (unsigned i = 0; i < count; i++) {
        uint32_t rate = want[i] < share ? want[i] : share;
        shared |= rate != active[i]->flow.own;
        if (rate != active[i]->flow.rate) {
            flow_set_rate(active[i], rate, s->now);
            changed = true;
        }
    }
    for (unsigned c = 0; changed && c < s->cores; c++) {
        npu_update_next(&s->core[c]);
    }
    for (unsigned i = 0; shared && i < count; i++) {
        uint64_t done = active[i]->end - active[i]->flow.fixed;
        s->flow_next = done < s->flow_next ? done : s->flow_next;
    }
}

void flow_begin(struct npu *n, struct npu_pipe *p, const struct plan *plan,
                uint32_t fixed, uint32_t times)
{
    struct npu_state *s = n->s;
    uint64_t work = plan->work * times, at_least = plan->at_least * times;
    uint64_t cycles = cost_cycles(fixed, work, plan->rate, at_least);
    /* By short rows, by another engine on its way. */
    bool held = at_least > div_up(work, plan->rate);
    uint64_t rate = held ? div_up(work * 256, at_least) : plan->rate * 256ull;

    p->begin = s->now;
    p->end = p->nominal = s->now + cycles;
    p->flow = (struct npu_flow){0};
    if (plan->pools && work) {
        p->flow = (struct npu_flow){.pools = plan->pools,
                                    .own = (uint32_t)(rate ? rate : 1),
                                    .rate = (uint32_t)(rate ? rate : 1),
                                    .fixed = fixed,
                                    .left = work * 256,
                                    .updated = s->now};
        flow_update(n);
    }
}
