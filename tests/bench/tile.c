/* SPDX-License-Identifier: MIT
 *
 * Tile programs: what they take and what was predicted, as comma-separated values. Each is
 * planned and launched twice; cycles are those of the second launch.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/host.h"
#include "hal/pmu.h"
#include "kernels/cli/data.h"
#include "kernels/cli/op.h"
#include "kernels/tile/op/tile_op.h"
#include "kernels/tile/text/text.h"
#include "sched/measure.h"

enum { ARENA_BYTES = 4 << 20 };

static const char vadd[] = "kernel vadd(x: f32[n], y: f32[n]) -> z: f32[n]\n z = x + y\n";
static const char vadd_f16[] =
    "kernel vadd_f16(x: f16[n], y: f16[n]) -> z: f16[n]\n z = f16(x + y)\n";
static const char chain[] = "kernel chain8(x: f32[n]) -> y: f32[n]\n"
                            " y = abs(neg(abs(neg(abs(neg(abs(neg(x))))))))\n";
static const char silu_mul[] =
    "kernel silu_mul(x: f32[n], u: f32[n]) -> y: f32[n]\n y = silu(x) * u\n";
static const char silu_arith[] =
    "kernel silu_mul_f16a(x: f16[n], u: f16[n]) -> y: f16[n]\n"
    " y = silu(x) * u\nschedule arith f16\n";
static const char softmax[] = "kernel softmax(x: f32[m, n]) -> y: f32[m, n]\n"
                              " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\n";
static const char softmax_f16[] = "kernel softmax_f16(x: f16[m, n]) -> y: f16[m, n]\n"
                                  " e = exp(x - max(x, n))\n y = f16(e * rec(sum(e, n)))\n";
static const char softmax_arith[] =
    "kernel softmax_f16a(x: f16[m, n]) -> y: f16[m, n]\n"
    " e = exp(x - max(x, n))\n y = e * rec(sum(e, n))\nschedule arith f16\n";
static const char layernorm[] =
    "kernel layernorm(x: f32[m, n], g: f32[n], b: f32[n], eps = 1e-5) -> y: f32[m, n]\n"
    " d = x - mean(x, n)\n y = d * rsqrt(mean(d * d, n) + eps) * g + b\n";

#define ATTENTION(name, head, score)                                                     \
    "kernel " name                                                                       \
    "(q: f16[m, 128], k: f16[n, 128], v: f16[n, 128]) -> o: f16[m, 128]\n"               \
    " loop n " head "carry most = -inf[m], l = 0[m], acc = 0[m, 128]\n"                  \
    "  x = " score "\n  top = max(most, max(x, n))\n  p = exp(x - top)\n"                \
    "  r = exp(most - top)\n  l = l * r + sum(p, n)\n"                                   \
    "  acc = acc * r + dot(f16(p), v, n)\n  most = top\n end\n o = f16(acc * rec(l))\n"
#define SCORE "dot(q, k, 128) * 0.08838834764"
static const char attention[] = ATTENTION("attention", "", SCORE);
static const char causal[] =
    ATTENTION("causal", "while n <= m ", "where(n <= m, " SCORE ", -inf)");

static const char matmul[] =
    "kernel matmul(a: f16[m, k], b: f16[k, n]) -> c: f16[m, n]\n c = f16(a @ b)\n";
static const char silu_linear[] =
    "kernel silu_linear(x: f16[m, k], w: f16[k, n]) -> y: f16[m, n]\n"
    " y = f16(f16(silu(x)) @ w)\n";
static const char linear_gelu[] =
    "kernel linear_gelu(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> out: f16[m, n]\n"
    " out = f16(gelu(a @ b + bias))\n";
static const char mla_prolog[] =
    "kernel mla_prolog(a: f16[m, k], b: f16[k, n], bias: f16[n], eps = 1e-5) ->"
    " out: f16[m, n]\n x = a @ b + bias\n"
    " out = f16(gelu((x - mean(x, n)) * rsqrt(var(x, n) + eps)))\n";

static const char conv[] = "kernel conv(x: s8[1, m, n, c], w: s8[o, r, s, c]) ->"
                           " y: s32[1, m, n, o]\n y = conv(x, w, pad 1)\n";
static const char conv_scaled[] =
    "kernel conv_scaled(x: s8[1, m, n, c], w: s8[o, r, s, c], bias: s32[o], scale: "
    "f32[o])"
    " -> y: s8[1, m, n, o]\n y = s8(f32(conv(x, w, pad 1) + bias) * scale)\n";
static const char conv_silu[] =
    "kernel conv_silu(x: f16[1, m, n, c], w: f16[o, r, s, c], bias: f32[o],"
    " z: f16[1, m, n, o]) -> y: f16[1, m, n, o]\n"
    " y = f16(silu(conv(x, w, pad 1) + bias) + z)\n";

enum { TAPS = 3 /* of r, of s */ };

/* k is the size of what is none of m, n, r, s. */
static const struct sized {
    const char *text;
    uint32_t m, n, k;
} programs[] = {
    {vadd, 1, 1 << 22, 0},
    {vadd_f16, 1, 1 << 22, 0},
    {chain, 1, 1 << 22, 0},
    {silu_mul, 1, 1 << 22, 0},
    {silu_arith, 1, 1 << 22, 0},
    {softmax, 256, 1024, 0},
    {softmax, 2048, 1024, 0},
    {softmax, 1024, 512, 0},
    {softmax, 2048, 256, 0},
    {softmax, 4096, 64, 0},
    {softmax, 513, 1003, 0},
    {softmax_f16, 256, 1024, 0},
    {softmax_arith, 256, 1024, 0},
    {softmax, 64, 8192, 0},
    {softmax, 8, 65536, 0},
    {softmax, 1, 1000000, 0},
    {layernorm, 2048, 1024, 0},
    {layernorm, 2048, 128, 0},
    {layernorm, 16, 65536, 0},
    {attention, 4096, 4096, 0},
    {causal, 4096, 4096, 0},
    {matmul, 1024, 1024, 1024},
    {linear_gelu, 1024, 1024, 1024},
    {linear_gelu, 4096, 1024, 1024},
    {silu_linear, 1024, 1024, 1024},
    {silu_linear, 512, 2048, 512},
    {mla_prolog, 1024, 1024, 1024},
    {mla_prolog, 4096, 1024, 1024},
    {conv, 56, 56, 64},
    {conv_scaled, 56, 56, 64},
    {conv_silu, 56, 56, 64},
    {conv, 28, 28, 256},
};

struct bench {
    struct tile_arena arena;
    struct tile_kernel *k;
    struct tile_plan *plan;
    struct tile_call call;
    uint64_t planning;
    struct work work;
};

/* Of a dimension by its name: r and s are a filter's, what is neither m nor n is k. */
static uint32_t size_of(const struct sized *p, char name)
{
    switch (name) {
    case 'm':
        return p->m;
    case 'n':
        return p->n;
    case 'r':
    case 's':
        return TAPS;
    default:
        return p->k;
    }
}

static int prepare(struct bench *b, const struct sized *p)
{
    struct tile_error error = {0};
    uint64_t began;
    int err = 0;

    b->k = tile_parse(&b->arena, p->text, strlen(p->text), NULL, &error);
    for (unsigned d = 0; b->k && d < b->k->n_dims && !err; d++) {
        uint32_t size = size_of(p, b->k->dim[d].name[0]);
        err = b->k->dim[d].size ? 0 : tile_set_size(b->k, (uint8_t)d, size);
    }
    began = hart_clock();
    err = b->k && !err ? tile_plan(&b->plan, b->k, 0, &b->arena, &error) : ERR_FORMAT;
    b->planning = hart_clock() - began;
    if (err) {
        fprintf(stderr, "bench-tile: %s\n", error.text);
        return err;
    }
    tile_work(tile_lower(b->k, &b->arena), &b->work);
    for (unsigned i = 0; i < b->k->n_params; i++) {
        const struct tile_tensor *t = &b->k->param[i];
        b->call.in[i] = data_make("bench-tile", (enum type)t->type,
                                  tile_count(b->k, tile_tensor_dims(t)), i + 1);
    }
    for (unsigned i = 0; i < b->k->n_results; i++) {
        const struct tile_tensor *t = &b->k->result[i].tensor;
        b->call.out[i] = data_alloc("bench-tile", (enum type)t->type,
                                    tile_count(b->k, tile_tensor_dims(t)));
    }
    return 0;
}

static int launch_twice(struct bench *b, struct launch_report *report)
{
    static struct sched_report text;

    for (unsigned i = 0; i < 2; i++) {
        int err;
        measure_start();
        err = tile_run(b->plan, &b->call, &text);
        if (err) {
            fprintf(stderr, "bench-tile: %s\n", text.text);
            return err;
        }
    }
    measure_read(report);
    return 0;
}

static void print(const struct bench *b, const struct sized *size,
                  const struct launch_report *r)
{
    struct tile_cycles p = tile_predicted(b->plan);

    printf("%s,%lu,%lu,%lu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%llu,%.0f\n",
           b->k->name, (unsigned long)size->m, (unsigned long)size->n,
           (unsigned long)size->k, (unsigned long long)r->span,
           (unsigned long long)p.span, (unsigned long long)r->chip[PIPE_V].busy,
           (unsigned long long)p.v, (unsigned long long)r->chip[PIPE_MTE2].busy,
           (unsigned long long)p.mte2, (unsigned long long)r->chip[PIPE_MTE3].busy,
           (unsigned long long)p.mte3, (unsigned long long)r->call,
           (unsigned long long)b->planning, work_limit(&b->work, 1).cycles);
}

static int bench_tile(int argc, char **argv)
{
    printf("program,m,n,k,cycles,predicted,v,v predicted,mte2,mte2 predicted,mte3,"
           "mte3 predicted,call to return,planning,limit\n");
    for (unsigned i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        struct bench b = {0};
        struct launch_report report;
        if (argc > 1 && !strstr(programs[i].text, argv[1])) {
            continue;
        }
        b.arena = (struct tile_arena){malloc(ARENA_BYTES), ARENA_BYTES, 0};
        if (prepare(&b, &programs[i]) || launch_twice(&b, &report)) {
            return RUN_FAULT;
        }
        print(&b, &programs[i], &report);
        for (unsigned t = 0; t < b.k->n_params; t++) {
            free((void *)(uintptr_t)b.call.in[t]);
        }
        for (unsigned t = 0; t < b.k->n_results; t++) {
            free(b.call.out[t]);
        }
        free(b.arena.base);
    }
    return RUN_OK;
}

COMMAND(benchtile, "[NAME]", "cycles of tile programs beside those predicted",
        bench_tile);
