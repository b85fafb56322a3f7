/* SPDX-License-Identifier: MIT
 *
 * Operators: what they take and what the machine allows, as comma-separated values; and
 * what several at once take in one launch, in a launch each (`pieces`, what is between them
 * f16 in GM) and in a launch for each node that an exporter writes (`nodes`, f32). Cycles
 * are those of the second launch, from call to return.
 *
 * `gm` is a fused operator whose sums go through GM to the Vector, in one launch all the same:
 * what the way from L0C to UB is worth.
 *
 * Claimed are figures of popular articles on Ascend, which name no shapes: how often as fast a
 * fused operator is, and how many bytes of GM fewer in percent.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/check.h"
#include "kernels/cli/limit.h"
#include "kernels/cli/line.h"
#include "sched/measure.h"

enum { STEPS = 16, WORDS = 24, TEXT = 160, SAMPLES = 16 };

#define DEPTHWISE(x, c, pad)                                                             \
    "conv2d --groups " c " --pad " #pad " --shapes " x "," c "x3x3x1," c
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
#define ADAMW(m) "adamw --m " #m " --n 1024 --unscale 0.5 --limit 1 --c1 2 --c2 4"
    ONE("adamw", ADAMW(1024)),
    ONE("adamw", ADAMW(4096)),
#undef ADAMW
    ONE("depthwise 3x3", DEPTHWISE("1x224x224x32", "32", 1)),
    ONE("depthwise 3x3", DEPTHWISE("16x56x56x256", "256", 1)),
    ONE("depthwise 3x3", DEPTHWISE("32x28x28x512", "512", 1)),
    ONE("depthwise 3x3", DEPTHWISE("64x14x14x1024", "1024", 1)),
    ONE("conv_transpose 4x4", "conv_transpose --shapes 1x128x128x64,64x4x4x64,64 "
                              "--stride 2 --pad 1"),
    ONE("lstm", "lstm --shapes 64x64x64,256x64,256x64,256"),
    ONE("embedding", "embedding --shapes 50000x128,8192"),
    ONE("embedding_grad", "embedding_grad --shapes 1024x128,1024 --rows 1000"),
    ONE("top_k", "top_k --shapes 64x4096 --k 64"),
    ONE("cumsum", "cumsum --shapes 1024x4096 --axis 1"),
#undef ONE
#define PROJECTED(s, t, x, c)                                                            \
    {"cross attention",                                                                  \
     "fused",                                                                            \
     {"cross_attention --heads 16 --shapes " x "," c ",1280x1280,1024x2560,3840"}},      \
    {                                                                                    \
        "cross attention", "pieces",                                                     \
        {                                                                                \
            "linear --out f16 --m " #s " --n 1280 --k 1280",                             \
                "linear --out f16 --m " #t " --n 2560 --k 1024",                         \
                "attention --h 16 --s " #s " --t " #t " --d 80 --scale 0.1"              \
        }                                                                                \
    }
    {"attention", "fused", {"attention --h 1 --s 4096 --t 4096 --d 128 --scale 0.088"}},
    {"attention",
     "pieces",
     {"matmul --m 4096 --n 4096 --k 128 --out f16",
      "softmax --m 4096 --n 4096 --type f16",
      "matmul --m 4096 --n 128 --k 4096 --out f16"}},
    PROJECTED(197, 77, "1x197x1280", "1x77x1024"),
    PROJECTED(197, 256, "1x197x1280", "1x256x1024"),
#undef PROJECTED
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
    {"conv bn relu of ResNet-50", "fused", {NULL}},
    {"conv bn relu of ResNet-50", "pieces", {NULL}},
    {"conv bn relu of ResNet-50", "nodes", {NULL}},
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

/* ResNet-50 for an image of 224 x 224: each of its convolutions is followed by a batch
 * normalisation and a relu. x is h x h x c; `times` are alike. */
static const struct layer {
    unsigned times, h, c, o, filter, stride;
} resnet50[] = {
    {1, 224, 4, 64, 7, 2},    {1, 56, 64, 64, 1, 1},    {2, 56, 256, 64, 1, 1},
    {3, 56, 64, 64, 3, 1},    {4, 56, 64, 256, 1, 1},   {1, 56, 256, 128, 1, 1},
    {1, 56, 128, 128, 3, 2},  {4, 28, 128, 512, 1, 1},  {1, 56, 256, 512, 1, 2},
    {3, 28, 512, 128, 1, 1},  {3, 28, 128, 128, 3, 1},  {1, 28, 512, 256, 1, 1},
    {1, 28, 256, 256, 3, 2},  {6, 14, 256, 1024, 1, 1}, {1, 28, 512, 1024, 1, 2},
    {5, 14, 1024, 256, 1, 1}, {5, 14, 256, 256, 3, 1},  {1, 14, 1024, 512, 1, 1},
    {1, 14, 512, 512, 3, 2},  {3, 7, 512, 2048, 1, 1},  {1, 14, 1024, 2048, 1, 2},
    {2, 7, 2048, 512, 1, 1},  {2, 7, 512, 512, 3, 1},
};
enum { LAYERS = sizeof(resnet50) / sizeof(resnet50[0]) };

static const struct claim {
    const char *what; /* how the name of a row begins */
    double gain, bytes;
} claims[] = {
    {"conv bn relu", 2.1, -28},
    {"layernorm gelu", 1.8, -35},
    {"focus conv", 2.5, -32},
    {"matmul add", 1.6, -25},
    {"matmul layernorm gelu", 1.56, -60},
};

/* What the steps of a row came to. */
struct sum {
    unsigned launches;
    uint64_t call, span;
    double limit, least, error; /* cycles; bytes of operands and results; of its bound */
    uint64_t bytes;             /* to and from GM */
    uint64_t macs;
    /* What a launch is priced at, what the pipe is busy that is it most: cycles; and which
     * pipes these are, a bit each. */
    uint64_t price, busy;
    unsigned pipes;
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

static enum pipe busiest(const struct launch_report *r)
{
    enum pipe most = PIPE_MTE2;

    for (unsigned i = 0; i < NPU_PIPES; i++) {
        most = r->chip[i].busy > r->chip[most].busy ? (enum pipe)i : most;
    }
    return most;
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
    sum->price += r.price;
    sum->busy += r.chip[busiest(&r)].busy;
    sum->pipes |= 1u << busiest(&r);
    sum->least += work.gm_read + work.gm_written;
    sum->bytes += gm_bytes(&r);
    sum->macs += work.macs;
    return RUN_OK;
}

/* Of an operator whose reference takes long as few as it says. */
static uint32_t samples_of(const struct opdesc *op)
{
    return op->whole_rows ? 1 : op->check && op->check < SAMPLES ? op->check : SAMPLES;
}

static int check(struct sum *sum)
{
    struct checked checked = {0};
    int err = 0;

    for (unsigned i = 0; i < now.line.io.n_out && !err; i++) {
        err = check_result(now.line.op->name, &now.call, i, now.call.out[i].data,
                           samples_of(now.line.op), &checked);
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

/* --- networks --- */

/* Step i of a layer in a form: the convolution, or what follows it; false: there is none. */
static bool layer_step(const struct layer *l, const char *form, unsigned i, char *text)
{
    bool fused = strcmp(form, "fused") == 0, wide = strcmp(form, "nodes") == 0;
    unsigned pad = l->filter / 2, y = (l->h + 2 * pad - l->filter) / l->stride + 1;
    const char *type = wide ? "f32" : "f16";

    if (i == 0) {
        snprintf(text, TEXT,
                 "conv2d --shapes 1x%ux%ux%u,%ux%ux%ux%u,%u --stride %u --pad %u "
                 "--activation %s --out %s",
                 l->h, l->h, l->c, l->o, l->filter, l->filter, l->c, l->o, l->stride, pad,
                 fused ? "relu" : "none", type);
    } else if (i == 1) {
        snprintf(text, TEXT,
                 "batchnorm --axis 3 --type %s --shapes 1x%ux%ux%u,%u,%u,%u,%u", type, y,
                 y, l->o, l->o, l->o, l->o, l->o);
    } else {
        snprintf(text, TEXT, "relu --type %s --shapes 1x%ux%ux%u", type, y, y, l->o);
    }
    return i < (fused ? 1 : 3);
}

static void add_times(struct sum *to, const struct sum *from, unsigned times)
{
    to->launches += times * from->launches;
    to->call += times * from->call;
    to->span += times * from->span;
    to->limit += times * from->limit;
    to->least += times * from->least;
    to->bytes += times * from->bytes;
    to->macs += times * from->macs;
    to->price += times * from->price;
    to->busy += times * from->busy;
    to->pipes |= from->pipes;
    to->error = from->error > to->error ? from->error : to->error;
}

static int run_network(const char *form, struct sum *sum)
{
    char text[TEXT];

    for (unsigned i = 0; i < LAYERS; i++) {
        struct sum layer = {0};
        for (unsigned s = 0; layer_step(&resnet50[i], form, s, text); s++) {
            int status = run_step(text, &layer);
            if (status != RUN_OK) {
                return status;
            }
        }
        add_times(sum, &layer, resnet50[i].times);
    }
    return RUN_OK;
}

static int run_row(const struct row *row, const char *form, struct sum *sum)
{
    char text[TEXT];
    int status = RUN_OK;

    if (row->step[0] == NULL) {
        return run_network(form, sum);
    }
    for (unsigned s = 0; s < STEPS && row->step[s] && status == RUN_OK; s++) {
        snprintf(text, sizeof(text), "%s%s", row->step[s],
                 strcmp(form, "gm") == 0 ? " --path gm" : "");
        status = run_step(text, sum);
    }
    return status;
}

/* Whether it is one operator that can do without the way from L0C to the Vector. */
static bool has_path(const struct row *row)
{
    const struct option *o = NULL;

    if (strcmp(row->form, "fused") == 0 && row->step[0]) {
        cut(row->step[0]);
        o = op_open(op_find(now.word[0]))->options;
    }
    while (o && o->name && strcmp(o->name, "path") != 0) {
        o++;
    }
    return o && o->name;
}

/* Behind a comma: the one pipe, or `pipes`. */
static void print_pipe(unsigned pipes)
{
    bool one = (pipes & (pipes - 1)) == 0;

    printf(",%s", one ? pipe_name((enum pipe)__builtin_ctz(pipes)) : "pipes");
}

/* Of a fused one, behind two commas. */
static void print_claim(const struct row *row)
{
    for (unsigned i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        if (strncmp(row->what, claims[i].what, strlen(claims[i].what)) == 0) {
            printf(",%.2f,%.0f\n", claims[i].gain, claims[i].bytes);
            return;
        }
    }
    printf(",,\n");
}

static int print_row(const struct row *row, const char *form)
{
    const char *first = row->step[0];
    struct sum sum = {0};
    int status = run_row(row, form, &sum);

    if (status != RUN_OK) {
        return status;
    }
    printf("%s,%s,\"%s\",%u,%llu,%llu,%.0f,%llu,%.0f,%.3f,%llu,%u,%llu,%llu", row->what,
           form, first ? strchr(first, ' ') + 1 : "53 convolutions, 224 x 224",
           sum.launches, (unsigned long long)sum.call, (unsigned long long)sum.span,
           sum.limit, (unsigned long long)sum.bytes, sum.least, sum.error,
           (unsigned long long)sum.macs, (unsigned)chip_cost(COST_CLOCK_KHZ),
           (unsigned long long)sum.price, (unsigned long long)sum.busy);
    print_pipe(sum.pipes);
    print_claim(row);
    return RUN_OK;
}

/* argv[1], if it is there: a part of what a row is called. */
static int bench_ops(int argc, char **argv)
{
    printf("what,form,shape,launches,cycles,span,limit,bytes,least bytes,error,"
           "multiply-adds,kHz,launch cycles,busy,pipe,claimed gain,claimed bytes %%\n");
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct row *row = &rows[i];
        int status;
        if (argc > 1 && strstr(row->what, argv[1]) == NULL) {
            continue;
        }
        status = print_row(row, row->form);
        if (status == RUN_OK && has_path(row)) {
            status = print_row(row, "gm");
        }
        if (status != RUN_OK) {
            return status;
        }
    }
    return RUN_OK;
}

COMMAND(benchops, "[WHAT]", "cycles of operators beside what the machine allows",
        bench_ops);
