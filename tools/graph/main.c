/* SPDX-License-Identifier: MIT
 *
 * graph COMMAND ...: models on their way to the machine.
 *
 *     graph compile MODEL.onnx PLAN [--size NAME=N,..]... [--in X.npy]... [--no-fusion]
 *           [--no-PASS]... [--rule cycles|bytes] [--threshold PERCENT] [--explain FILE]
 *           [--json FILE] [--before SVG] [--after SVG] [--profile NAME] [--tuned FILE]
 *           [--tries N] [--cores N] [--keys FILE] [--ariths] [--f64 narrow] [--f32 half]
 *                                          a plan that the firmware of a chip runs; with its
 *                                          inputs, where shapes depend on what they hold; what
 *                                          became one step, and why, in files; tuned, or to be
 *                                          measured: tune.h; --ariths: calibrate.h; --f64 narrow:
 *                                          float64 is float32; --f32 half: and that float16
 *     graph calibrate MODEL.onnx FILE FOLDER --sample X.npy,..... [--tolerance X] [as above]
 *                                          the arithmetic that programs need: calibrate.h; runs
 *                                          of sample i in FOLDER/fused.i and FOLDER/plain.i
 *     graph inspect MODEL.onnx [as above]  whether it can run and what is worth changing; status
 *                                          1 if it cannot
 *     graph differ FUSED PLAIN TOLERANCE   two runs beside each other: tools/graph/debug
 *     graph make NAME FOLDER               a model with made-up weights, FOLDER/NAME.onnx, and its
 *                                          inputs, FOLDER/x0.npy ..
 *     graph measured STEPS FILE            what a run has told of steps, into such a file
 *     graph names MODEL.onnx               its outputs, a line each
 *     graph npy TENSOR.pb FILE.npy         a tensor of ONNX as NumPy's
 *
 * Exit status 2 and one line on stderr for whatever cannot be done; nothing is written then.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/fuse/fuse.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/model/dtype.h"
#include "tools/graph/model/sizes.h"
#include "tools/graph/passes/infer.h"
#include "tools/graph/passes/pass.h"
#include "tools/graph/plan/write.h"
#include "tools/graph/price/trial.h"
#include "tools/graph/report/calibrate.h"
#include "tools/graph/report/differ.h"
#include "tools/graph/report/explain.h"
#include "tools/graph/report/inspect.h"
#include "tools/graph/report/svg.h"
#include "tools/graph/zoo/builder.h"
#include "tools/graph/zoo/make.h"
#include "tools/output.h"

enum { SAMPLES = 32, WORDS = 4 };

static const char *given[GRAPH_FILES];
static unsigned n_given;
static bool fuse = true;
static struct rule_of_joining rule = {"cycles", 30};
static const char *tuned[2]; /* tools/graph/tune's, tools/graph/calibrate's */
static const char *sample[SAMPLES];
static double tolerance = -1; /* none was given */
static unsigned n_samples, tries, cores = 1;

/* Files beside the plan; those that were asked for. */
static struct {
    const char *option;
    void (*write)(const struct emit *e, FILE *to);
    const char *path;
} files[] = {{"--explain", explain_text, NULL},
             {"--json", explain_json, NULL},
             {"--before", svg_nodes, NULL},
             {"--after", svg_steps, NULL},
             {"--keys", tune_keys, NULL}};
enum { FILES = sizeof(files) / sizeof(files[0]) };

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: graph compile MODEL.onnx PLAN [--size NAME=N,N,..|A..B:STEP]...\n"
            "           [--in X.npy]...\n"
            "           [--no-fusion] [--no-PASS]...\n"
            "           [--rule cycles|bytes] [--threshold PERCENT]\n"
            "           [--explain FILE] [--json FILE] [--before SVG] [--after SVG]\n"
            "           [--profile NAME] [--tuned FILE] [--keys FILE] [--tries N]\n"
            "           [--cores N] [--ariths] [--f64 narrow] [--f32 half]\n"
            "       graph calibrate MODEL.onnx FILE FOLDER --sample X.npy,...\n"
            "           [--tolerance X] [as above]\n"
            "       graph inspect MODEL.onnx [as above]\n"
            "       graph make NAME FOLDER\n"
            "       graph differ FUSED PLAIN TOLERANCE\n"
            "       graph measured STEPS FILE\n"
            "       graph names MODEL.onnx\n"
            "       graph npy TENSOR.pb FILE.npy\n");
    exit(2);
}

static void take_rule(const char *name)
{
    if (strcmp(name, "cycles") != 0 && strcmp(name, "bytes") != 0) {
        fprintf(stderr, "graph: --rule %s: cycles or bytes\n", name);
        exit(2);
    }
    rule.name = name;
}

static void take_threshold(const char *percent)
{
    char *end;

    rule.threshold = strtod(percent, &end);
    if (*end || end == percent || !(rule.threshold >= 0 && rule.threshold <= 100)) {
        fprintf(stderr, "graph: --threshold %s: percent, 0 to 100\n", percent);
        exit(2);
    }
}

/* --no-fusion, or a pass. */
static void leave_out(const char *option)
{
    if (strcmp(option, "--no-fusion") == 0) {
        fuse = false;
        (void)pass_off("bags");
        (void)pass_off("tails");
        (void)pass_off("patterns");
    } else if (!pass_off(option + strlen("--no-"))) {
        fprintf(stderr, "graph: %s: no such pass: fusion%s\n", option, pass_names());
        exit(2);
    }
}

/* NAME=N, of a whole number. */
static unsigned whole(const char *option, const char *text)
{
    char *end;
    unsigned long n = strtoul(text, &end, 10);

    if (*end || end == text || n < 1 || n > 1 << 20) {
        fprintf(stderr, "graph: %s %s: want a number from 1\n", option, text);
        exit(2);
    }
    return (unsigned)n;
}

static void take_input(const char *path)
{
    if (n_given == GRAPH_FILES) {
        usage();
    }
    given[n_given++] = path;
    sizes_inputs(given, n_given);
}

static void take_profile(const char *name)
{
    int profile = npu_profile_find(name);

    if (profile < 0) {
        fprintf(stderr, "graph: --profile %s: no such profile\n", name);
        exit(2);
    }
    trial_chip((enum npu_profile)profile);
}

static FILE *begin(const char *path)
{
    FILE *f = output_begin(path);

    if (!f) {
        fprintf(stderr, "graph: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    return f;
}

static void end(FILE *f, const char *path)
{
    if (!output_end(f)) {
        fprintf(stderr, "graph: %s: could not be written completely\n", path);
        exit(2);
    }
}

/* A file of float32 as bfloat16, for which NumPy has no type; of int8 as int4. */
static void round_given(const struct tensor *t)
{
    if (elem_is_small(t->type) && t->given->type == elem_file(t->type)) {
        elem_round_all(t->type, t->given->value, (size_t)tensor_count(t->given));
        t->given->type = t->type;
    }
    if (t->type == ELEM_BF16 && t->given->type == ELEM_F32) {
        for (int64_t i = 0; i < tensor_count(t->given); i++) {
            t->given->value[i] = elem_round(ELEM_BF16, t->given->value[i]);
        }
        t->given->type = ELEM_BF16;
    }
}

/* Values of the inputs, in order: a plan is made for one where shapes depend on it. */
static void give(struct graph *g)
{
    for (unsigned i = 0; i < n_given; i++) {
        struct tensor *t = i < g->n_inputs ? g->input[i] : NULL;
        if (!t) {
            graph_die(g, "%s: it has %u inputs", given[i], g->n_inputs);
        }
        t->given = graph_read_npy(given[i]);
        dtype_override(t->given);
        round_given(t);
        if (sizes_count() > 1 && !shape_equal(&t->given->shape, &t->shape)) {
            t->given = NULL; /* it is of another size */
            continue;
        }
        if (!shape_equal(&t->given->shape, &t->shape) || t->given->type != t->type) {
            graph_die(g, "%s: it is %s %s, input '%s' %s %s", given[i],
                      elem_text(t->given->type), shape_text(&t->given->shape), t->name,
                      elem_text(t->type), shape_text(&t->shape));
        }
    }
}

static void begin_all(void)
{
    for (unsigned i = 0; i < 2 && tuned[i]; i++) {
        tune_read(tuned[i]);
    }
    tune_try(tries, cores);
}

static struct emit *steps_of(struct graph *g)
{
    give(g);
    infer_graph(g);
    pass_graph(g);
    return fuse_graph(g, fuse ? &rule : NULL);
}

static jmp_buf next_size;

static void to_next_size(void)
{
    longjmp(next_size, 1);
}

/* Puts the chosen sizes into the plan. */
static struct emit *add_size(const char *model, struct plan_file *file)
{
    struct graph *g = graph_read(model);
    struct emit *e;

    g->path = sizes_path(model);
    e = steps_of(g);
    write_size(file, e);
    return e;
}

/* The same of one of several; NULL: it cannot be, which a line on stderr has said. */
static struct emit *try_size(const char *model, struct plan_file *file)
{
    struct emit *e;

    if (setjmp(next_size)) {
        graph_on_error(NULL);
        return NULL;
    }
    graph_on_error(to_next_size);
    e = add_size(model, file);
    graph_on_error(NULL);
    return e;
}

/* A plan of all sizes that can be; what else is told is of the first. */
static void compile(const char *model, const char *path)
{
    struct plan_file *file = plan_file_begin();
    struct emit *first = NULL, *e;
    FILE *f;

    begin_all();
    for (unsigned i = 0; i < sizes_count(); i++) {
        sizes_choose(i);
        e = sizes_count() > 1 ? try_size(model, file) : add_size(model, file);
        first = first ? first : e;
    }
    if (!first) {
        exit(2);
    }
    f = begin(path);
    plan_file_write(file, first->g, f);
    end(f, path);
    for (unsigned i = 0; i < FILES; i++) {
        if (files[i].path) {
            f = begin(files[i].path);
            files[i].write(first, f);
            end(f, files[i].path);
        }
    }
}

static void take_tolerance(const char *text)
{
    char *end;

    tolerance = strtod(text, &end);
    if (*end || end == text || !(tolerance >= 0 && tolerance <= 1)) {
        fprintf(stderr, "graph: tolerance %s: 0 to 1 of the largest element, as 1e-4\n",
                text);
        exit(2);
    }
}

static void take_sample(const char *paths)
{
    if (n_samples == SAMPLES) {
        usage();
    }
    sample[n_samples++] = paths;
}

static void decide_ariths(const char *model, const char *path, const char *folder)
{
    struct emit *fused, *plain;
    FILE *f;

    begin_all();
    fuse_ariths(true);
    fused = steps_of(graph_read(model));
    fuse_ariths(false);
    leave_out("--no-fusion");
    plain = steps_of(graph_read(model));
    f = begin(path);
    calibrate(fused, plain, folder, sample, n_samples, tolerance, f);
    end(f, path);
}

static void make(const char *name, const char *folder)
{
    struct builder *b = make_model(name);
    const char *path = graph_text("%s/%s.onnx", folder, name);
    const struct tensor *t;
    FILE *f;

    if (!b) {
        fprintf(stderr, "graph: make %s: no such model:", name);
        make_names(stderr);
        fprintf(stderr, "\n");
        exit(2);
    }
    f = begin(path);
    builder_write(b, f);
    end(f, path);
    for (unsigned i = 0; (t = builder_input_value(b, i)) != NULL; i++) {
        path = graph_text("%s/%s.npy", folder, t->name);
        f = begin(path);
        graph_write_npy(t, f);
        end(f, path);
    }
}

static int inspect(const char *model)
{
    struct graph *g = graph_read(model);
    struct inspection *i;

    if (!inspect_support(g, &i)) {
        return 1;
    }
    begin_all();
    inspect_plan(i, steps_of(g));
    return 0;
}

static void npy(const char *from, const char *path)
{
    const struct tensor *t = graph_read_tensor(from);
    FILE *f = begin(path);

    graph_write_npy(t, f);
    end(f, path);
}

/* The outputs, a line each. */
static void names(const char *model)
{
    const struct graph *g = (sizes_any(), graph_read(model));

    for (unsigned i = 0; i < g->n_outputs; i++) {
        puts(g->output[i]->name);
    }
}

/* The file that an option names; NULL: it is none of these. */
static const char **file_of(const char *option)
{
    for (unsigned i = 0; i < FILES; i++) {
        if (strcmp(files[i].option, option) == 0) {
            return &files[i].path;
        }
    }
    return NULL;
}

static void take_tuned(const char *path)
{
    if (tuned[1]) {
        usage();
    }
    tuned[tuned[0] != NULL] = path; /* read when the profile is known */
}

static void take_f64(const char *how)
{
    if (strcmp(how, "narrow") != 0) {
        fprintf(stderr, "graph: --f64 %s: narrow\n", how);
        exit(2);
    }
    dtype_narrow();
}

static void take_f32(const char *how)
{
    if (strcmp(how, "half") != 0) {
        fprintf(stderr, "graph: --f32 %s: half\n", how);
        exit(2);
    }
    dtype_half();
}

static void take_tries(const char *n)
{
    tries = whole("--tries", n);
}

static void take_cores(const char *n)
{
    cores = whole("--cores", n);
}

/* Options with a value. */
static const struct {
    const char *name;
    void (*take)(const char *value);
} options[] = {{"--size", sizes_take},    {"--profile", take_profile},
               {"--rule", take_rule},     {"--threshold", take_threshold},
               {"--tuned", take_tuned},   {"--tries", take_tries},
               {"--cores", take_cores},   {"--in", take_input},
               {"--sample", take_sample}, {"--tolerance", take_tolerance},
               {"--f64", take_f64},       {"--f32", take_f32}};

/* False: it is none of these. */
static bool take(const char *name, const char *value)
{
    for (unsigned i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        if (strcmp(options[i].name, name) == 0) {
            options[i].take(value);
            return true;
        }
    }
    if (file_of(name)) {
        *file_of(name) = value;
        return true;
    }
    return false;
}

int main(int argc, char **argv)
{
    const char *word[WORDS] = {0};
    unsigned n = 0;

    graph_at_loss(output_lost);
    for (int i = 1; i < argc; i++) {
        if (i + 1 < argc && take(argv[i], argv[i + 1])) {
            i++;
        } else if (strncmp(argv[i], "--no-", 5) == 0) {
            leave_out(argv[i]);
        } else if (strcmp(argv[i], "--ariths") == 0) {
            fuse_ariths(true);
        } else if (argv[i][0] == '-' || n == WORDS) {
            usage();
        } else {
            word[n++] = argv[i];
        }
    }
    if (n == 3 && strcmp(word[0], "compile") == 0) {
        compile(word[1], word[2]);
    } else if (n == 2 && strcmp(word[0], "inspect") == 0) {
        return inspect(word[1]);
    } else if (n == 4 && strcmp(word[0], "differ") == 0) {
        take_tolerance(word[3]);
        return differ(word[1], word[2], tolerance);
    } else if (n == 4 && n_samples && strcmp(word[0], "calibrate") == 0) {
        decide_ariths(word[1], word[2], word[3]);
    } else if (n == 3 && strcmp(word[0], "make") == 0) {
        make(word[1], word[2]);
    } else if (n == 3 && strcmp(word[0], "measured") == 0) {
        explain_measured(word[1], word[2]);
    } else if (n == 2 && strcmp(word[0], "names") == 0) {
        names(word[1]);
    } else if (n == 3 && strcmp(word[0], "npy") == 0) {
        npy(word[1], word[2]);
    } else {
        usage();
    }
    return 0;
}
