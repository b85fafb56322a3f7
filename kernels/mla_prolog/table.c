/* SPDX-License-Identifier: MIT
 *
 * The table of `mla_prolog`; see table.h. Pipes run at the same time, so a launch takes
 * at least as long as its busiest pipe: that is its limit. Bytes of GM are what MTE2 has
 * read, MTE3 written, and FIX written of x.
 */
#include "kernels/mla_prolog/table.h"

#include <stdio.h>

#include "hal/chip.h"
#include "hal/pmu.h"

static const enum pipe order[] = {PIPE_MTE2, PIPE_MTE1, PIPE_M,
                                  PIPE_FIX,  PIPE_V,    PIPE_MTE3};
enum { PIPES = sizeof(order) / sizeof(order[0]) };

static uint64_t largest(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void table_start(void)
{
    for (unsigned core = 0; core < chip_cores(); core++) {
        pmu_start(core);
    }
}

void table_add(struct table *t, const char *name, uint64_t x_bytes)
{
    struct table_launch *l = &t->launch[t->n++];

    *l = (struct table_launch){.name = name, .gm_out = x_bytes};
    for (unsigned core = 0; core < chip_cores(); core++) {
        l->cycles = largest(l->cycles, pmu_span(core));
        for (unsigned i = 0; i < PIPES; i++) {
            l->busy[i] = largest(l->busy[i], pmu_read(core, order[i], PMU_BUSY));
        }
        l->gm_in += pmu_read(core, PIPE_MTE2, PMU_BYTES_READ);
        l->gm_out += pmu_read(core, PIPE_MTE3, PMU_BYTES_WRITTEN);
    }
}

static unsigned limit(const struct table_launch *l)
{
    unsigned most = 0;

    for (unsigned i = 1; i < PIPES; i++) {
        most = l->busy[i] > l->busy[most] ? i : most;
    }
    return most;
}

/* A row of numbers and, behind those of the separate launches, their sum. */
static void print_row(const struct table *t, const char *name,
                      uint64_t (*value)(const struct table_launch *l))
{
    uint64_t sum = 0;

    printf("  %-18s", name);
    for (unsigned i = 0; i < t->n; i++) {
        uint64_t v = value(&t->launch[i]);
        sum += i ? v : 0;
        printf(" %11llu", (unsigned long long)v);
    }
    if (t->n > 1) {
        printf(" %11llu", (unsigned long long)sum);
    }
    printf("\n");
}

static uint64_t cycles_of(const struct table_launch *l)
{
    return l->cycles;
}

static uint64_t limit_of(const struct table_launch *l)
{
    return l->busy[limit(l)];
}

static uint64_t in_of(const struct table_launch *l)
{
    return l->gm_in / 1024;
}

static uint64_t out_of(const struct table_launch *l)
{
    return l->gm_out / 1024;
}

static struct table_launch sum_of(const struct table *t)
{
    struct table_launch sum = {0};

    for (unsigned i = 1; i < t->n; i++) {
        const struct table_launch *l = &t->launch[i];
        sum.cycles += l->cycles;
        sum.gm_in += l->gm_in;
        sum.gm_out += l->gm_out;
        for (unsigned j = 0; j < PIPES; j++) {
            sum.busy[j] += l->busy[j];
        }
    }
    return sum;
}

static void print_busy(const struct table *t, unsigned pipe)
{
    struct table_launch sum = sum_of(t);

    printf("  %-4s busy, %%      ", pipe_name(order[pipe]));
    for (unsigned i = 0; i < t->n; i++) {
        const struct table_launch *l = &t->launch[i];
        printf(" %11.1f", 100.0 * (double)l->busy[pipe] / (double)l->cycles);
    }
    if (t->n > 1) {
        printf(" %11.1f", 100.0 * (double)sum.busy[pipe] / (double)sum.cycles);
    }
    printf("\n");
}

static double less(uint64_t a, uint64_t than)
{
    return 100.0 * (1 - (double)a / (double)than);
}

static void print_comparison(const struct table *t, const struct mla_prolog *p)
{
    const struct table_launch *f = &t->launch[0];
    struct table_launch sum = sum_of(t);
    uint64_t beyond = f->gm_out + mla_spilled_bytes(p), limits = 0;
    uint64_t all = sum.gm_in + sum.gm_out, sum_beyond = all - t->launch[1].gm_in;

    for (unsigned i = 1; i < t->n; i++) {
        limits += limit_of(&t->launch[i]);
    }
    printf("fused: 1 launch for %u, %.1f %% fewer cycles (%.1f %% if each reached its "
           "limit),\n  %.1f %% fewer bytes of GM; beyond reading a, b and bias %llu KiB "
           "for %llu, %.1f %% fewer\n",
           t->n - 1, less(f->cycles, sum.cycles), less(limit_of(f), limits),
           less(f->gm_in + f->gm_out, all), (unsigned long long)(beyond / 1024),
           (unsigned long long)(sum_beyond / 1024), less(beyond, sum_beyond));
}

void table_print(const struct table *t, const struct mla_prolog *p)
{
    printf("  profile %-10s", npu_profile_name(chip_profile()));
    for (unsigned i = 0; i < t->n; i++) {
        printf(" %11s", t->launch[i].name);
    }
    printf("%s\n", t->n > 1 ? "    separate" : "");
    print_row(t, "cycles", cycles_of);
    for (unsigned i = 0; i < PIPES; i++) {
        print_busy(t, i);
    }
    printf("  limit             ");
    for (unsigned i = 0; i < t->n; i++) {
        printf(" %11s", pipe_name(order[limit(&t->launch[i])]));
    }
    printf("\n");
    print_row(t, "its busy cycles", limit_of);
    print_row(t, "KiB from GM", in_of);
    print_row(t, "KiB to GM", out_of);
    if (t->n > 1) {
        print_comparison(t, p);
    }
}
