/* SPDX-License-Identifier: MIT
 *
 * Operators: what they take and what the machine allows, as comma-separated values; and
 * what several at once take in one launch, in a launch each (`pieces`, what is between them
 * f16 in GM) and in a launch for each node that an exporter writes (`nodes`, f32). Cycles
 * are those of the second launch, from call to return.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/cli/check.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/line.h"
#include "sched/measure.h"

enum { STEPS = 16, WORDS = 24, TEXT = 160, SAMPLES = 64 };

static const struct row {
    const char *what, *form, *step[STEPS];
} rows[] = {
#define ONE(what, line)                                                                  \
    {                                                                                    \
        what, "op",                                                                      \
        {                                                                                \
            line                                                                         \
        }                                                                                \
    }
    ONE("add", "add --n 16777216"),
    ONE("add of rows", "add --shapes 8192x1024,1024"),
    ONE("exp", "exp --n 16777216"),
    ONE("gelu", "gelu --n 8388608"),
    ONE("silu", "silu --n 8388608"),
    ONE("silu f16", "silu --n 8388608 --type f16"),
    ONE("where", "where --n 4194304"),
    ONE("less", "less --n 4194304"),
    ONE("cast", "cast --n 8388608 --out f16"),
    ONE("quantise", "quantise --n 4194304"),
    ONE("sum of rows", "sum --shapes 8192x1024 --axes 1"),
    ONE("sum of columns", "sum --shapes 8192x1024 --axes 0"),
    ONE("sum of all", "sum --n 8388608"),
    ONE("argmax", "argmax --shapes 4096x1024 --axes 1"),
    ONE("softmax", "softmax --m 256 --n 1024"),
    ONE("softmax", "softmax --m 8192 --n 1024"),
    ONE("softmax of columns", "softmax --shapes 1024x1024 --axis 0"),
    ONE("log_softmax", "log_softmax --m 8192 --n 1024"),
    ONE("cross_entropy", "cross_entropy --m 4096 --n 1024"),
    ONE("layernorm", "layernorm --m 256 --n 1024"),
    ONE("layernorm", "layernorm --m 8192 --n 1024"),
    ONE("rms_norm", "rms_norm --m 8192 --n 1024"),
    ONE("batchnorm", "batchnorm --shapes 8x256x56x56,256,256,256,256"),
    ONE("rope", "rope --h 32 --s 2048 --d 64"),
    ONE("adamw", "adamw --m 1024 --n 1024"),
#undef ONE
    {"layernorm gelu f16", "fused", {"layernorm_gelu --m 2048 --n 1024 --type f16"}},
    {"layernorm gelu f16",
     "pieces",
     {"layernorm --shapes 2048x1024,1024,1024 --type f16",
      "gelu --shapes 2048x1024 --type f16"}},
    {"layernorm gelu f32", "fused", {"layernorm_gelu --m 2048 --n 1024"}},
    {"layernorm gelu f32",
     "nodes",
     {"mean --shapes 2048x1024 --axes 1 --keepdims", "sub --shapes 2048x1024,2048x1",
      "mul --shapes 2048x1024,2048x1024", "mean --shapes 2048x1024 --axes 1 --keepdims",
      "add --shapes 2048x1,1", "sqrt --shapes 2048x1", "div --shapes 2048x1024,2048x1",
      "mul --shapes 2048x1024,1024", "add --shapes 2048x1024,1024",
      "div --shapes 2048x1024,1", "erf --shapes 2048x1024", "add --shapes 2048x1024,1",
      "mul --shapes 2048x1024,2048x1024", "mul --shapes 2048x1024,1"}},
    {"silu mul f16", "fused", {"silu_mul --shapes 2048x1024,2048x1024 --type f16"}},
    {"silu mul f16",
     "pieces",
     {"silu --shapes 2048x1024 --type f16",
      "mul --shapes 2048x1024,2048x1024 --type f16"}},
    {"softmax f32", "fused", {"softmax --m 2048 --n 1024"}},
    {"softmax f32",
     "nodes",
     {"max --shapes 2048x1024 --axes 1 --keepdims", "sub --shapes 2048x1024,2048x1",
      "exp --shapes 2048x1024", "sum --shapes 2048x1024 --axes 1 --keepdims",
      "div --shapes 2048x1024,2048x1"}},
    {"matmul add tanh f16", "fused", {"linear_tanh --m 256 --n 1024 --k 512 --out f16"}},
    {"matmul add tanh f16",
     "pieces",
     {"matmul --m 256 --n 1024 --k 512 --out f16",
      "add --shapes 256x1024,1024 --type f16", "tanh --shapes 256x1024 --type f16"}},
    {"matmul add tanh f32", "fused", {"linear_tanh --m 256 --n 1024 --k 512"}},
    {"matmul add tanh f32",
     "nodes",
     {"matmul --m 256 --n 1024 --k 512", "add --shapes 256x1024,1024",
      "tanh --shapes 256x1024"}},
    {"matmul add relu f16", "fused", {"linear_relu --m 1024 --n 1024 --k 256 --out f16"}},
    {"matmul add relu f16",
     "pieces",
     {"matmul --m 1024 --n 1024 --k 256 --out f16",
      "add --shapes 1024x1024,1024 --type f16", "relu --shapes 1024x1024 --type f16"}},
    {"matmul add relu f32", "fused", {"linear_relu --m 1024 --n 1024 --k 256"}},
    {"matmul add relu f32",
     "nodes",
     {"matmul --m 1024 --n 1024 --k 256", "add --shapes 1024x1024,1024",
      "relu --shapes 1024x1024"}},
#define CONV(what, x, w, o, y, window)                                                   \
    {what, "fused", {"conv2d --shapes " x "," w "," o " --activation relu " window}},    \
        {what,                                                                           \
         "pieces",                                                                       \
         {"conv2d --shapes " x "," w "," o " " window,                                   \
          "batchnorm --type f16 --axis 3 --shapes " y "," o "," o "," o "," o,           \
          "relu --type f16 --shapes " y}},                                               \
    {                                                                                    \
        what, "nodes",                                                                   \
        {                                                                                \
            "conv2d --out f32 --shapes " x "," w "," o " " window,                       \
                "batchnorm --axis 3 --shapes " y "," o "," o "," o "," o,                \
                "relu --shapes " y                                                       \
        }                                                                                \
    }
    CONV("conv bn relu 1x1", "8x56x56x64", "64x1x1x64", "64", "8x56x56x64", ""),
    CONV("conv bn relu 3x3", "8x56x56x64", "64x3x3x64", "64", "8x56x56x64", "--pad 1"),
#undef CONV
#define FOCUS "1x320x320x32"
    {"focus conv bn silu",
     "fused",
     {"conv2d_act --shapes 1x640x640x4,32x6x6x4,32 --stride 2 --pad 2 --activation "
      "silu"}},
    {"focus conv bn silu",
     "pieces",
     {"space_to_depth --type f16 --shapes 1x640x640x4 --block 2",
      "conv2d --shapes 1x320x320x16,32x3x3x16,32 --pad 1",
      "batchnorm --type f16 --axis 3 --shapes " FOCUS ",32,32,32,32",
      "silu --type f16 --shapes " FOCUS}},
#undef FOCUS
#define MLA(m, n, k)                                                                     \
    {"matmul layernorm gelu f16",                                                        \
     "fused",                                                                            \
     {"mla_prolog --no-separate --m " #m " --n " #n " --k " #k}},                        \
    {                                                                                    \
        "matmul layernorm gelu f16", "pieces",                                           \
        {                                                                                \
            "matmul --out f16 --m " #m " --n " #n " --k " #k,                            \
                "add --type f16 --shapes " #m "x" #n "," #n,                             \
                "layernorm --type f16 --shapes " #m "x" #n "," #n "," #n,                \
                "gelu --type f16 --shapes " #m "x" #n                                    \
        }                                                                                \
    }
    MLA(128, 128, 128),
    MLA(256, 1024, 1024),
    MLA(1024, 1024, 1024),
#undef MLA
};

/* What the steps of a row came to. */
struct sum {
    unsigned launches;
    uint64_t call, span;
    double limit, least, error; /* cycles; bytes of operands and results; of its bound */
    uint64_t bytes;             /* to and from GM */
};

/* A step being run. */
static struct {
    char text[TEXT];
    char *word[WORDS];
    struct line line;
    struct op_call call;
} now;

static int cut(const char *step)
{
    int n = 0;

    snprintf(now.text, sizeof(now.text), "%s", step);
    for (char *w = strtok(now.text, " "); w && n < WORDS - 1; w = strtok(NULL, " ")) {
        now.word[n++] = w;
    }
    now.word[n] = NULL;
    return n;
}

/* MTE2 reads nothing but GM; results leave by MTE3 or, where nothing does, by FIX. */
static uint64_t gm_bytes(const struct launch_report *r)
{
    uint64_t out = r->chip[PIPE_MTE3].bytes_written;

    return r->chip[PIPE_MTE2].bytes_read + (out ? out : r->chip[PIPE_FIX].bytes_written);
}

static int measure(const struct opdesc *op, struct sum *sum)
{
    static struct sched_report text;
    struct work work = {0};
    struct launch_report r;
    int err = 0;

    for (unsigned i = 0; i < 2 && !err; i++) {
        measure_start();
        err = op->run(&now.call, &text);
    }
    if (err) {
        fprintf(stderr, "bench-ops: %s: %s\n", op->name, text.text);
        return RUN_FAULT;
    }
    measure_read(&r);
    op->work(&now.call, &work);
    sum->launches++;
    sum->call += r.call;
    sum->span += r.span;
    sum->limit += work_limit(&work, 0).cycles;
    sum->least += work.gm_read + work.gm_written;
    sum->bytes += gm_bytes(&r);
    return RUN_OK;
}

static int check(struct sum *sum)
{
    struct checked checked = {0};
    int err = 0;

    for (unsigned i = 0; i < now.line.io.n_out && !err; i++) {
        err = check_result(now.line.op->name, &now.call, i, now.call.out[i].data,
                           now.line.op->whole_rows ? 1 : SAMPLES, &checked);
    }
    sum->error = checked.worst > sum->error ? checked.worst : sum->error;
    return err ? RUN_CHECK : RUN_OK;
}

static int run_step(const char *step, struct sum *sum)
{
    int n = cut(step), status = RUN_INPUT;
    const struct opdesc *op = op_find(now.word[0]);

    if (op == NULL) {
        fprintf(stderr, "bench-ops: no operator '%s'\n", now.word[0]);
        return RUN_INPUT;
    }
    op = op_open(op);
    if (line_parse(op, n, now.word, &now.line, &now.call) == 0) {
        status = (int)line_call(&now.line, &now.call);
        status = status == RUN_OK ? measure(op, sum) : status;
        status = status == RUN_OK ? check(sum) : status;
    }
    line_free(&now.call);
    return status;
}

/* argv[1], if it is there: a part of what a row is called. */
static int bench_ops(int argc, char **argv)
{
    printf("what,form,shape,launches,cycles,span,limit,bytes,least bytes,error\n");
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        const char *shape = strchr(row->step[0], ' ') + 1;
        struct sum sum = {0};
        if (argc > 1 && strstr(row->what, argv[1]) == NULL) {
            continue;
        }
        for (unsigned s = 0; s < STEPS && row->step[s]; s++) {
            int status = run_step(row->step[s], &sum);
            if (status != RUN_OK) {
                return status;
            }
        }
        printf("%s,%s,\"%s\",%u,%llu,%llu,%.0f,%llu,%.0f,%.3f\n", row->what, row->form,
               shape, sum.launches, (unsigned long long)sum.call,
               (unsigned long long)sum.span, sum.limit, (unsigned long long)sum.bytes,
               sum.least, sum.error);
    }
    return RUN_OK;
}

COMMAND(benchops, "[WHAT]", "cycles of operators beside what the machine allows",
        bench_ops);
