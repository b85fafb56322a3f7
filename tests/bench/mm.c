/* SPDX-License-Identifier: MIT
 *
 * Products by the Matmul object on all cores of the machine: cycles of the second launch
 * beside what the machine allows, as comma-separated values. Without arguments those whose
 * bars are known.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/host.h"
#include "kernels/cli/limit.h"
#include "kernels/matmul/matmul.h"
#include "sched/launch.h"
#include "sched/measure.h"

/* bar: cycles that it may take, 0: half as much again as its limit. */
struct product {
    uint32_t m, n, k, batch;
    unsigned cores;
    enum type in, out;
    uint32_t bar;
    bool any_order;
};

/* A product's operands: what is in them changes no cycle. */
static void *operand(uint64_t count, enum type type)
{
    return calloc(count * type_bits(type) / 8 + 64, 1);
}

/* The limit that is asked for: every pipe's rate, and what the first and the last command of
 * each must take besides. */
static double limit_of(const struct product *p)
{
    struct work w = {0};
    double fixed = chip_cost(COST_ND2NZ_FLOOR) + chip_cost(COST_L1_L0_FIXED) +
                   chip_cost(COST_MMAD_FIRST) + chip_cost(COST_L0C_GM_LEAST);
    struct tensor a = {.type = p->in, .count = (uint64_t)p->m * p->k * p->batch};
    struct tensor b = {.type = p->in, .count = (uint64_t)p->k * p->n * p->batch};
    struct tensor c = {.type = p->out, .count = (uint64_t)p->m * p->n * p->batch};

    work_in(&w, NPU_MEM_L1, &a);
    work_in(&w, NPU_MEM_L1, &b);
    work_matmul(&w, p->in, p->m, p->n, p->k);
    w.cycles[PIPE_M] *= p->batch;
    work_out(&w, NPU_MEM_L0C, &c);
    return work_limit(&w, 0).cycles + fixed;
}

/* Bytes that are scaled by columns to bytes: the object by itself. */
static struct mm scaled;
static void *scaled_c;

static void scaled_kernel(void *arg)
{
    struct mm mm = scaled;

    (void)arg;
    mm_iterate_all(&mm, scaled_c, false);
    mm_end(&mm);
}

static int run_scaled(const struct matmul *call, struct sched_report *text)
{
    struct launch l = {.name = "scaled", .kernel = scaled_kernel};
    uint64_t *words = operand(call->n, TYPE_S64);
    int err;

    mm_init(&scaled, &(struct mm_shape){call->m, call->n, call->k, 1}, NULL);
    mm_set_a(&scaled, call->a, TYPE_S8, MM_ND, false, 0);
    mm_set_b(&scaled, call->b, TYPE_S8, MM_ND, false, 0);
    mm_set_c(&scaled, call->out, 0);
    mm_set_scale(&scaled, 0, words);
    scaled_c = call->c;
    err = mm_plan(&scaled, 0, MM_AUTO, text->text);
    err = err ? err : mm_check(&scaled, text->text);
    err = err ? err : launch(&l, text);
    free(words);
    return err;
}

static int run(const struct matmul *call, struct sched_report *text)
{
    return call->out == TYPE_S8 ? run_scaled(call, text) : matmul(call, text);
}

static int plan_of(const struct matmul *call, struct mm *mm, char how[MM_TEXT])
{
    *mm = scaled;
    return call->out == TYPE_S8 ? 0 : matmul_plan(call, mm, how);
}

static int bench(const struct product *p)
{
    static struct sched_report text;
    struct launch_report r;
    struct matmul call = {.m = p->m,
                          .n = p->n,
                          .k = p->k,
                          .batch = p->batch,
                          .in = p->in,
                          .out = p->out,
                          .any_order = p->any_order,
                          .repeats = true};
    struct mm mm;
    char how[MM_TEXT];
    int err = 0;

    call.a = operand((uint64_t)p->batch * p->m * p->k, p->in);
    call.b = operand((uint64_t)p->batch * p->k * p->n, p->in);
    call.c = operand((uint64_t)p->batch * p->m * p->n, p->out);
    for (unsigned i = 0; i < 2 && !err; i++) {
        measure_start();
        err = run(&call, &text);
    }
    measure_read(&r);
    if (!err && plan_of(&call, &mm, how) == 0) {
        mm_explain(&mm, how);
        printf("%u,%lu,%lu,%lu,%lu,%s,%s,%llu,%.0f,%.0f,%llu,%llu,%llu,%s\n",
               chip_cores(), (unsigned long)p->batch, (unsigned long)p->m,
               (unsigned long)p->n, (unsigned long)p->k, type_name(p->in),
               type_name(p->out), (unsigned long long)r.span, limit_of(p),
               p->bar ? p->bar : 1.5 * limit_of(p),
               (unsigned long long)r.chip[PIPE_M].busy, (unsigned long long)r.call,
               (unsigned long long)mm.tiling.cycles, how);
    } else {
        fprintf(stderr, "benchmm: %s\n", text.text);
    }
    free((void *)(uintptr_t)call.a);
    free((void *)(uintptr_t)call.b);
    free(call.c);
    return err;
}

/* In the order of the table, with the cores that a bar is for. Bars of one core: the Cube is
 * busy 97 % of the time, 95 % with bytes; of 24: it reaches 85 % of its peak,
 * 90 % with a larger c. */
static const struct product products[] = {
    {1024, 1024, 1024, 1, 1, TYPE_F16, TYPE_F32, 275003, false},
    {1024, 1024, 1024, 1, 1, TYPE_S8, TYPE_S32, 140507, false},
    {1024, 1024, 1024, 1, 1, TYPE_S8, TYPE_S8, 140507, false},
    {2048, 2048, 2048, 1, 1, TYPE_F16, TYPE_F32, 2200022, false},
    {4096, 64, 1024, 1, 1, TYPE_F16, TYPE_F32, 75000, false},
    {64, 4096, 1024, 1, 1, TYPE_F16, TYPE_F32, 0, false},
    {1, 1024, 1024, 1, 1, TYPE_F16, TYPE_F32, 20000, false},
    {197, 197, 80, 16, 1, TYPE_F16, TYPE_F32, 27000, false},
    {129, 257, 513, 1, 1, TYPE_F16, TYPE_F32, 0, false},
    {12544, 64, 64, 1, 1, TYPE_F16, TYPE_F32, 0, false},
    {4096, 4096, 4096, 1, 24, TYPE_F16, TYPE_F32, 822413, false},
    {4096, 8192, 2048, 1, 24, TYPE_F16, TYPE_F32, 776723, false},
    {128, 256, 16384, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {256, 256, 65536, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {49, 512, 4608, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {35, 700, 2048, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {128, 256, 16384, 1, 24, TYPE_F16, TYPE_F32, 0, true},
    {49, 512, 4608, 1, 24, TYPE_F16, TYPE_F32, 0, true},
    {35, 700, 2048, 1, 24, TYPE_F16, TYPE_F32, 0, true},
    {1, 1024, 1024, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {16, 1760, 1760, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {1760, 128, 1760, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {1760, 128, 1760, 1, 24, TYPE_F16, TYPE_F32, 0, true},
    {4096, 4096, 64, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {1760, 7000, 1760, 1, 24, TYPE_F16, TYPE_F32, 0, false},
    {2048, 2048, 2048, 1, 24, TYPE_F16, TYPE_F32, 0, false},
};

/* What is tried on one number of cores after the other: tools/bench-matmul sweep. */
static const uint16_t swept[][3] = {
    {1, 64, 64},      {1, 256, 4096},    {1, 1000, 2048},   {1, 4096, 1024},
    {4, 1024, 1024},  {8, 3000, 700},    {16, 512, 512},    {16, 1760, 1760},
    {16, 16, 8192},   {20, 60, 3000},    {32, 32, 32},      {33, 2049, 257},
    {35, 700, 2048},  {49, 512, 4608},   {64, 64, 64},      {64, 64, 2048},
    {64, 4096, 1024}, {80, 80, 512},     {96, 1000, 300},   {100, 100, 100},
    {100, 1000, 100}, {128, 128, 128},   {128, 128, 4096},  {128, 256, 1024},
    {128, 512, 128},  {128, 768, 3072},  {129, 257, 513},   {150, 90, 1500},
    {196, 512, 1152}, {196, 1024, 256},  {197, 197, 80},    {200, 200, 1000},
    {200, 300, 700},  {256, 256, 256},   {256, 256, 2048},  {256, 1000, 512},
    {300, 300, 300},  {300, 500, 200},   {300, 600, 1400},  {333, 129, 517},
    {384, 384, 384},  {400, 100, 2000},  {500, 500, 1024},  {512, 512, 512},
    {512, 512, 64},   {600, 70, 900},    {700, 600, 500},   {768, 768, 768},
    {784, 128, 512},  {784, 256, 64},    {1000, 16, 1000},  {1000, 1000, 100},
    {1024, 64, 1024}, {1024, 1024, 128}, {1024, 1024, 512}, {1024, 1024, 1024},
    {1500, 40, 300},  {1760, 128, 1760}, {2048, 64, 256},   {3136, 64, 576},
    {4096, 64, 1024}, {4096, 512, 64},   {12544, 64, 64},   {2000, 1500, 300},
};

static int bench_swept(void)
{
    struct product p = {.batch = 1, .in = TYPE_F16, .out = TYPE_F32, .bar = 0};
    int err = 0;

    for (unsigned i = 0; i < sizeof(swept) / sizeof(swept[0]) && !err; i++) {
        p.m = swept[i][0];
        p.n = swept[i][1];
        p.k = swept[i][2];
        err = bench(&p);
    }
    return err ? RUN_FAULT : RUN_OK;
}

static void set_shape(struct product *p, char **numbers)
{
    p->m = (uint32_t)strtoul(numbers[0], NULL, 0);
    p->n = (uint32_t)strtoul(numbers[1], NULL, 0);
    p->k = (uint32_t)strtoul(numbers[2], NULL, 0);
}

static int bench_list(char **numbers, int n)
{
    struct product p = {.batch = 1, .in = TYPE_F16, .out = TYPE_F32, .bar = 0};
    int err = 0;

    for (int i = 0; i + 2 < n && !err; i += 3) {
        set_shape(&p, numbers + i);
        err = bench(&p);
    }
    return err ? RUN_FAULT : RUN_OK;
}

static int bench_mm(int argc, char **argv)
{
    struct product p = {.batch = 1, .in = TYPE_F16, .out = TYPE_F32, .bar = 0};

    printf(
        "cores,batch,m,n,k,in,out,cycles,limit,bar,cube,call to return,predicted,how\n");
    if (argc == 2 && strcmp(argv[1], "sweep") == 0) {
        return bench_swept();
    }
    if (argc > 4 && strcmp(argv[1], "list") == 0) {
        return bench_list(argv + 2, argc - 2);
    }
    if (argc >= 4) {
        set_shape(&p, argv + 1);
        p.batch = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 0) : 1;
        if (argc > 5 && strcmp(argv[5], "s8") == 0) {
            p.in = TYPE_S8;
            p.out = TYPE_S32;
        }
        p.any_order = argc > 5 && strcmp(argv[5], "any") == 0;
        return bench(&p) ? RUN_FAULT : RUN_OK;
    }
    for (unsigned i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
        if (products[i].cores == chip_cores() && bench(&products[i])) {
            return RUN_FAULT;
        }
    }
    return RUN_OK;
}

COMMAND(benchmm, "[sweep | list [M N K]... | M N K [BATCH [s8|any]]]",
        "cycles of products beside their limits", bench_mm);
