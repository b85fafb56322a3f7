/* SPDX-License-Identifier: MIT
 *
 * graph COMMAND ...: models on their way to the machine.
 *
 *     graph compile MODEL.onnx PLAN [--size NAME=N]... [--in X.npy]... [--no-fusion]
 *           [--no-PASS]... [--rule cycles|bytes] [--threshold PERCENT] [--explain FILE]
 *           [--json FILE] [--profile NAME]
 *                                          a plan that the firmware of a chip runs; with its
 *                                          inputs, where shapes depend on what they hold; what
 *                                          became one step, and why, in files
 *     graph measured STEPS FILE            what a run has told of steps, into such a file
 *     graph names MODEL.onnx               its outputs, a line each
 *     graph npy TENSOR.pb FILE.npy         a tensor of ONNX as NumPy's
 *
 * Exit status 2 and one line on stderr for whatever cannot be done; nothing is written then.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/graph/pass.h"
#include "tools/graph/trial.h"
#include "tools/graph/write.h"
#include "tools/output.h"

enum { SIZES = 32 };

static struct {
    const char *name;
    size_t length;
    int64_t size;
} sizes[SIZES];
static unsigned n_sizes;
static const char *given[GRAPH_OPERANDS];
static unsigned n_given;
static bool fuse = true;
static struct rule_of_joining rule = {"cycles", 30};
static const char *explain, *json;

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: graph compile MODEL.onnx PLAN [--size NAME=N]... [--in X.npy]...\n"
            "           [--no-fusion] [--no-norms] [--no-common] [--no-dead]\n"
            "           [--rule cycles|bytes] [--threshold PERCENT]\n"
            "           [--explain FILE] [--json FILE] [--profile NAME]\n"
            "       graph measured STEPS FILE\n"
            "       graph names MODEL.onnx\n"
            "       graph npy TENSOR.pb FILE.npy\n");
    exit(2);
}

int64_t graph_size(const struct graph *g, const struct tensor *t, unsigned d,
                   const char *name)
{
    const char *number = graph_text("%s.%u", t->name, d); /* for one without a name */

    for (unsigned i = 0; i < n_sizes; i++) {
        const char *of =
            strncmp(sizes[i].name, number, sizes[i].length) == 0 ? number : name;
        if (strlen(of) == sizes[i].length &&
            strncmp(sizes[i].name, of, strlen(of)) == 0) {
            return sizes[i].size;
        }
    }
    graph_die(g, "dimension %u of input '%s' has no size: --size %s=N", d, t->name,
              name[0] ? name : number);
}

static void take_size(const char *word)
{
    const char *sign = strrchr(word, '=');
    char *end;

    if (!sign || n_sizes == SIZES) {
        usage();
    }
    sizes[n_sizes].name = word;
    sizes[n_sizes].length = (size_t)(sign - word);
    sizes[n_sizes].size = strtoll(sign + 1, &end, 10);
    if (*end || end == sign + 1 || sizes[n_sizes++].size < 1) {
        usage();
    }
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
    } else if (!pass_off(option + strlen("--no-"))) {
        usage();
    }
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

/* Values of the inputs, in order: a plan is made for one where shapes depend on it. */
static void give(struct graph *g)
{
    for (unsigned i = 0; i < n_given; i++) {
        struct tensor *t = i < g->n_inputs ? g->input[i] : NULL;
        if (!t) {
            graph_die(g, "%s: it has %u inputs", given[i], g->n_inputs);
        }
        t->given = graph_read_npy(given[i]);
        if (!shape_equal(&t->given->shape, &t->shape) || t->given->type != t->type) {
            graph_die(g, "%s: input '%s' is %s %s", given[i], t->name, elem_text(t->type),
                      shape_text(&t->shape));
        }
    }
}

static void compile(const char *model, const char *path)
{
    struct graph *g = graph_read(model);
    struct emit *e;
    FILE *f;

    give(g);
    graph_infer(g);
    pass_graph(g);
    e = emit_graph(g, fuse ? &rule : NULL);
    f = begin(path);
    write_plan(e, f);
    end(f, path);
    if (explain) {
        f = begin(explain);
        explain_text(e, f);
        end(f, explain);
    }
    if (json) {
        f = begin(json);
        explain_json(e, f);
        end(f, json);
    }
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
    const struct graph *g = graph_read(model);

    for (unsigned i = 0; i < g->n_outputs; i++) {
        printf("%s\n", g->output[i]->name);
    }
}

int main(int argc, char **argv)
{
    const char *word[3] = {0};
    unsigned n = 0;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--size") == 0 && i + 1 < argc) {
            take_size(argv[++i]);
        } else if (strcmp(argv[i], "--in") == 0 && i + 1 < argc &&
                   n_given < GRAPH_OPERANDS) {
            given[n_given++] = argv[++i];
        } else if (strcmp(argv[i], "--profile") == 0 && i + 1 < argc) {
            take_profile(argv[++i]);
        } else if (strcmp(argv[i], "--explain") == 0 && i + 1 < argc) {
            explain = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json = argv[++i];
        } else if (strcmp(argv[i], "--rule") == 0 && i + 1 < argc) {
            take_rule(argv[++i]);
        } else if (strcmp(argv[i], "--threshold") == 0 && i + 1 < argc) {
            take_threshold(argv[++i]);
        } else if (strncmp(argv[i], "--no-", 5) == 0) {
            leave_out(argv[i]);
        } else if (argv[i][0] == '-' || n == 3) {
            usage();
        } else {
            word[n++] = argv[i];
        }
    }
    if (n == 3 && strcmp(word[0], "compile") == 0) {
        compile(word[1], word[2]);
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
