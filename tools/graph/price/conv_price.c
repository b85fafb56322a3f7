/* SPDX-License-Identifier: MIT
 *
 * See conv_price.h.
 */
#include "tools/graph/price/conv_price.h"

#include "hal/chip.h"
#include "kernels/lib/share.h"
#include "kernels/tile/convolution/windows.h"

enum {
    CUBE = 16, /* elements of F16 each way that are multiplied in a cycle */
    HIDDEN = 3
};

bool conv_price_takes(const struct conv *p)
{
    struct depthwise_plan each;
    struct conv_plan plan;
    char why[CONV_TEXT];

    if (conv_check(p, why)) {
        return false;
    }
    return !(conv_is_depthwise(p) ? depthwise_plan(p, &each) : conv_make_plan(p, &plan));
}

/* Weights pass once a run, and so are not in L2: they come as much later as HBM answers later, of
 * which the most is hidden behind products (a part of HIDDEN is not, fitted). */
static uint64_t cold(const struct conv *p)
{
    uint64_t miss = chip_cost(COST_L2_MISS), bytes = conv_packed_bytes(p);

    return miss + bytes * miss / chip_cost(COST_GM_L1_FIXED) /
                      chip_cost(COST_GM_L1_RATE) / HIDDEN;
}

uint64_t conv_price(const struct conv *p)
{
    struct depthwise_plan each;
    struct conv_plan plan;

    if (conv_is_depthwise(p)) {
        return depthwise_plan(p, &each) ? 0 : windows_span_apart(&each, 1) + cold(p);
    }
    return conv_price_cut(p, p->cut, 1, &plan);
}

/* The core that has most to multiply, from 1 on. */
static unsigned busiest(const struct conv_plan *l, unsigned cores)
{
    uint64_t most = 0;
    unsigned found = cores;

    for (unsigned i = 0; i < cores; i++) {
        uint32_t end = (uint32_t)share_begin(l->units, 1, i + 1, cores);
        uint64_t sum = 0;
        for (uint32_t u = (uint32_t)share_begin(l->units, 1, i, cores); u < end; u++) {
            struct conv_unit unit;
            conv_unit(l, u, &unit);
            sum += (uint64_t)unit.images * unit.rows * unit.cols * up16(unit.n_count);
        }
        found = sum > most ? i + 1 : found;
        most = sum > most ? sum : most;
    }
    return found;
}

uint64_t conv_price_cut(const struct conv *p, const char *cut, unsigned cores,
                        struct conv_plan *plan)
{
    struct conv with = *p;

    with.cut = cut;
    with.cores = cores;
    if (conv_is_depthwise(p) || conv_make_plan(&with, plan)) {
        return 0;
    }
    cores = plan->shares ? min_u32(plan->shares, cores) : cores;
    return windows_span(&(struct windows_flow){
               .plan = plan, .cores = cores, .core = busiest(plan, cores)}) +
           cold(p);
}

uint64_t conv_price_least(const struct conv *p)
{
    bool each = conv_is_depthwise(p);
    uint64_t groups = each ? div_up_u32(p->c, DEPTHWISE_BLOCK) : p->groups;
    uint64_t in = each ? 1 : div_up_u32(p->c / p->groups * p->kh * p->kw, CUBE),
             out = each ? 1 : div_up_u32(p->o / p->groups, CUBE);
    uint64_t pixels = (uint64_t)p->n * conv_oh(p) * conv_ow(p);

    return (pixels + CUBE - 1) / CUBE * groups * out * (each ? p->kh * p->kw : in);
}
