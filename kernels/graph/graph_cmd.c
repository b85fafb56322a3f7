/* SPDX-License-Identifier: MIT
 *
 * The command `graph`: runs a model that tools/graph has made a plan of.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/host.h"
#include "kernels/cli/op.h"
#include "kernels/graph/file.h"
#include "kernels/graph/run.h"

#define USAGE                                                                            \
    "PLAN [IN.npy]... [-o [NAME=]OUT.npy]... [--steps] [--launches] "                    \
    "[--cold] [--dump] [--cores N]"

/* What a command line says. */
struct asked {
    const char *in[PLAN_FILES], *out[PLAN_FILES];
    unsigned n_in, n_out;
    bool steps;
};

static int refuse(const char *path, const char *why)
{
    fprintf(stderr, "graph: %s: %s\n", path, why);
    return RUN_INPUT;
}

/* --- the plan --- */

static int read_plan(struct graph_run *run)
{
    int fd = host_open(run->path, HOST_READ);
    int64_t bytes = fd < 0 ? -1 : host_size(fd);
    const char *why = NULL;

    if (bytes < 0) {
        return refuse(run->path, host_errno_text());
    }
    run->file = aligned_alloc(PLAN_ALIGN, ((size_t)bytes / PLAN_ALIGN + 1) * PLAN_ALIGN);
    why = !run->file                                     ? "no memory for it"
          : host_read(fd, run->file, (size_t)bytes) != 0 ? "cannot be read"
                                                         : NULL;
    why = host_close(fd) != 0 && !why ? host_errno_text() : why;
    why = why ? why : plan_open(&run->plan, run->file, (uint64_t)bytes);
    if (!why && run->plan.head->profile != chip_profile()) {
        why = "is a plan for another profile: make it again";
    }
    return why ? refuse(run->path, why) : RUN_OK;
}

/* --- files --- */

static bool same_shape(const struct plan_tensor *t, const struct npy *npy)
{
    bool same = t->rank == npy->ndim;

    for (unsigned d = 0; same && d < t->rank; d++) {
        same = t->size[d] == npy->shape[d];
    }
    return same;
}

static void print_shape(const struct plan_tensor *t)
{
    for (unsigned d = 0; d < t->rank; d++) {
        fprintf(stderr, " %lu", (unsigned long)t->size[d]);
    }
    fprintf(stderr, t->rank ? "" : " one");
}

/* Input i is of another type, or of another shape in all sizes of the plan from *plan on. */
static int refuse_input(struct plan *plan, unsigned i, const char *path)
{
    const struct plan_tensor *t = &plan->tensor[plan->head->input[i]];

    fprintf(stderr, "graph: %s: input %s is %s of", path, plan_text(plan, t->name),
            npy_type_name((enum npy_type)t->file));
    print_shape(t);
    while (plan_next(plan)) {
        fprintf(stderr, ", or");
        print_shape(&plan->tensor[plan->head->input[i]]);
    }
    fprintf(stderr, "\n");
    return RUN_INPUT;
}

/* What a file holds as input i. */
static int take_input(const struct graph_run *run, unsigned i, const char *path,
                      struct npy *npy)
{
    const struct plan_tensor *t = &run->plan.tensor[run->plan.head->input[i]];
    const char *name = plan_text(&run->plan, t->name);
    char *to = graph_at(run, run->plan.head->input[i]);
    uint64_t n = plan_count(t), at;

    if (!file_lengthen(t, npy)) {
        return refuse(path, "no memory for it");
    }
    if (!file_narrow(t, npy->data, &at)) {
        fprintf(stderr, "graph: %s: element %llu does not fit int32\n", path,
                (unsigned long long)at);
        return RUN_INPUT;
    }
    if (t->place == PLAN_CONSTANT && memcmp(to, npy->data, n * file_element(t)) != 0) {
        fprintf(stderr, "graph: %s: the plan was made for another value of %s\n", path,
                name);
        return RUN_INPUT;
    }
    if (t->place == PLAN_ARENA) {
        memcpy(to, npy->data, n * file_element(t));
    }
    return RUN_OK;
}

/* How many of the inputs are what the plan wants, from the first on. */
static unsigned agree(const struct plan *plan, const struct npy *npy, unsigned n)
{
    unsigned i = 0;

    while (i < n && i < plan->head->n_inputs) {
        const struct plan_tensor *t = &plan->tensor[plan->head->input[i]];
        if (npy[i].type != t->file || !same_shape(t, &npy[i])) {
            break;
        }
        i++;
    }
    return i;
}

static int no_arena(const struct graph_run *run, size_t bytes)
{
    fprintf(stderr, "graph: %s: no memory for %zu bytes that it computes: MEM=\n",
            run->path, bytes);
    return RUN_INPUT;
}

/* The size of the plan that is that of the inputs, and memory for it. */
static int choose_size(struct graph_run *run, const struct asked *asked,
                       const struct npy *npy)
{
    struct plan plan = run->plan;
    unsigned best = 0;

    do {
        unsigned i = agree(&plan, npy, asked->n_in);
        if (i == asked->n_in && i == plan.head->n_inputs) {
            size_t arena = plan.head->arena;
            run->plan = plan;
            run->arena = aligned_alloc(PLAN_ALIGN, arena ? arena : PLAN_ALIGN);
            return run->arena ? RUN_OK : no_arena(run, arena);
        }
        best = i > best ? i : best;
    } while (plan_next(&plan));
    return refuse_input(&run->plan, best, asked->in[best]);
}

/* The end of a line: names of tensors. */
static int say_names(const struct graph_run *run, const uint32_t *tensor, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct plan_tensor *t = &run->plan.tensor[tensor[i]];
        fprintf(stderr, " %s", plan_text(&run->plan, t->name));
    }
    fprintf(stderr, "\n");
    return RUN_INPUT;
}

static int count_inputs(const struct graph_run *run, const struct asked *asked)
{
    unsigned want = run->plan.head->n_inputs;

    if (asked->n_in == want) {
        return RUN_OK;
    }
    fprintf(stderr, "graph: %s: want %u inputs:", run->path, want);
    return say_names(run, run->plan.head->input, want);
}

static int read_inputs(struct graph_run *run, const struct asked *asked)
{
    struct npy npy[PLAN_FILES];
    char why[NPY_WHY_BYTES];
    int status = count_inputs(run, asked);
    unsigned n = 0;

    while (n < asked->n_in && status == RUN_OK) {
        if (npy_read(asked->in[n], &npy[n], why) != 0) {
            fprintf(stderr, "graph: %s\n", why);
            status = RUN_INPUT;
        } else {
            n++;
        }
    }
    status = status == RUN_OK ? choose_size(run, asked, npy) : status;
    for (unsigned i = 0; i < asked->n_in && status == RUN_OK; i++) {
        status = take_input(run, i, asked->in[i], &npy[i]);
    }
    while (n-- > 0) {
        free(npy[n].data);
    }
    return status;
}

/* Which tensor `NAME=PATH` or a PATH is of, and its path; NULL: none. */
static const uint32_t *output_of(const struct graph_run *run, const char *word,
                                 const char **path)
{
    const struct plan_header *head = run->plan.head;

    for (unsigned i = 0; i < head->n_outputs; i++) {
        const char *name = plan_text(&run->plan, run->plan.tensor[head->output[i]].name);
        size_t len = strlen(name);
        if (strncmp(word, name, len) == 0 && word[len] == '=') {
            *path = word + len + 1;
            return &head->output[i];
        }
    }
    *path = word;
    return head->n_outputs == 1 ? &head->output[0] : NULL;
}

/* An output as a file has it; its data, which are to be freed, or NULL. */
static struct npy npy_of(const struct graph_run *run, uint32_t number)
{
    const struct plan_tensor *t = &run->plan.tensor[number];
    struct npy npy = {.type = (enum npy_type)t->file, .ndim = t->rank};

    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        npy.shape[d] = d < t->rank ? t->size[d] : 1;
    }
    npy.data = malloc(plan_count(t) * npy_type_bytes(npy.type) + 1);
    if (npy.data) {
        file_widen(t, graph_at(run, number), npy.data, npy_type_bytes(npy.type));
    }
    return npy;
}

/* Of output i what a run has found. */
static void cut(const struct graph_run *run, unsigned i, struct npy *npy)
{
    const struct plan_header *head = run->plan.head;
    int32_t found;

    if (head->found[i]) {
        memcpy(&found, graph_at(run, head->found[i] - 1), sizeof(found));
        file_cut(npy, head->axis[i], found);
    }
}

static int write_outputs(const struct graph_run *run, const struct asked *asked)
{
    const char *path[PLAN_FILES];
    struct npy npy[PLAN_FILES];
    char why[NPY_WHY_BYTES];
    int status = RUN_OK;
    unsigned n = 0;

    for (; n < asked->n_out && status == RUN_OK; n++) {
        const uint32_t *out = output_of(run, asked->out[n], &path[n]);
        npy[n] = npy_of(run, *out);
        if (npy[n].data) {
            cut(run, (unsigned)(out - run->plan.head->output), &npy[n]);
        }
        status = npy[n].data ? RUN_OK : refuse(path[n], "no memory to write it");
    }
    if (status == RUN_OK && npy_write_all(n, path, npy, why) != 0) {
        fprintf(stderr, "graph: %s\n", why);
        status = RUN_INPUT;
    }
    while (n-- > 0) {
        free(npy[n].data);
    }
    return status;
}

/* --- all tensors, for debuggers --- */

/* One behind the other, each as a file of NumPy's; a line of its first byte, its bytes and its
 * name on stdout. */
static struct {
    const char *path;
    int fd;
    uint64_t bytes;
} dump;

static enum run_status dump_step(const struct graph_run *run, const struct plan_step *s)
{
    char header[256];

    for (unsigned i = 0; i < s->n_out; i++) {
        struct npy npy = npy_of(run, s->out[i]);
        int n = npy_format_header(&npy, header, sizeof(header)), err;
        if (!npy.data || n < 0) {
            return refuse(dump.path, "no memory to write it");
        }
        err = host_write(dump.fd, header, (size_t)n);
        err = err ? err : host_write(dump.fd, npy.data, npy.bytes);
        free(npy.data);
        if (err) {
            return refuse(dump.path, host_errno_text());
        }
        printf("%llu %llu %s\n", (unsigned long long)dump.bytes,
               (unsigned long long)(npy.bytes + (size_t)n),
               plan_text(&run->plan, run->plan.tensor[s->out[i]].name));
        dump.bytes += npy.bytes + (size_t)n;
    }
    return RUN_OK;
}

/* The one output of a command line with --dump is not one of the model's. */
static int dump_begin(struct asked *asked)
{
    if (asked->n_out != 1) {
        return refuse("--dump", "want -o FILE, for the tensors of all steps");
    }
    dump.path = asked->out[--asked->n_out];
    dump.fd = host_create(dump.path);
    return dump.fd < 0 ? refuse(dump.path, host_errno_text()) : RUN_OK;
}

static int dump_end(int status)
{
    if (dump.path && dump.fd >= 0 && host_create_end(dump.fd, status == RUN_OK) != 0) {
        return refuse(dump.path, host_errno_text());
    }
    return status;
}

/* Whether each output that is asked for is one, and can be put where it shall go, before a run
 * that may be long. */
static int look_at_outputs(const struct graph_run *run, const struct asked *asked)
{
    for (unsigned i = 0; i < asked->n_out; i++) {
        const char *path;
        int fd;
        if (!output_of(run, asked->out[i], &path)) {
            fprintf(stderr, "graph: %s: which output? -o NAME=PATH of", asked->out[i]);
            return say_names(run, run->plan.head->output, run->plan.head->n_outputs);
        }
        fd = host_create(path);
        if (fd < 0 || host_create_end(fd, false) != 0) {
            return refuse(path, host_errno_text());
        }
    }
    return RUN_OK;
}

/* --- the run --- */

static void print_steps(const struct graph_run *run)
{
    for (uint32_t i = 0; i < run->plan.head->n_steps; i++) {
        const struct plan_step *s = &run->plan.step[i];
        printf("  %-24s %-12s %12llu cycles\n", plan_text(&run->plan, s->nodes),
               s->op ? plan_text(&run->plan, s->op) : "program",
               (unsigned long long)run->job[i].cycles);
    }
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static enum run_status compute(struct graph_run *run, bool steps)
{
    unsigned long n = run->plan.head->n_steps;
    enum run_status status = graph_prepare(run);

    status = status == RUN_OK ? graph_compute(run) : status;
    if (status != RUN_OK) {
        return status;
    }
    if (steps) {
        print_steps(run);
    }
    printf(
        "graph: %lu step%s in %u launch%s, %llu cycles, %llu KiB for what is computed\n",
        n, plural(n), run->launches, run->launches == 1 ? "" : "es",
        (unsigned long long)run->cycles,
        (unsigned long long)run->plan.head->arena / 1024);
    return RUN_OK;
}

static int run_graph(struct graph_run *run, struct asked *asked)
{
    int status = read_plan(run);

    status = status == RUN_OK ? read_inputs(run, asked) : status;
    if (status == RUN_OK && run->ended) {
        status = dump_begin(asked);
    }
    status = status == RUN_OK ? look_at_outputs(run, asked) : status;
    status = status == RUN_OK ? (int)compute(run, asked->steps) : status;
    status = status == RUN_OK ? write_outputs(run, asked) : status;
    status = dump_end(status);
    graph_free(run);
    free(run->file);
    free(run->arena);
    return status;
}

static int graph(int argc, char **argv)
{
    struct graph_run run = {0};
    struct asked asked = {0};

    for (int i = 1; i < argc; i++) {
        bool value = i + 1 < argc;
        if (strcmp(argv[i], "-o") == 0 && value && asked.n_out < PLAN_FILES) {
            asked.out[asked.n_out++] = argv[++i];
        } else if (strcmp(argv[i], "--steps") == 0) {
            asked.steps = true;
        } else if (strcmp(argv[i], "--launches") == 0) {
            run.separate = true;
        } else if (strcmp(argv[i], "--cold") == 0) {
            run.cold = true;
        } else if (strcmp(argv[i], "--dump") == 0) {
            run.separate = true;
            run.ended = dump_step;
        } else if (strcmp(argv[i], "--cores") == 0 && value) {
            unsigned long cores = strtoul(argv[++i], NULL, 10);
            if (cores < 1 || cores > chip_cores()) {
                return refuse(argv[i], "there are not so many cores");
            }
            run.cores = (unsigned)cores;
        } else if (argv[i][0] == '-' || asked.n_in == PLAN_FILES) {
            return refuse(argv[i], "want " USAGE);
        } else if (!run.path) {
            run.path = argv[i];
        } else {
            asked.in[asked.n_in++] = argv[i];
        }
    }
    if (!run.path) {
        fprintf(stderr, "graph: want " USAGE "\n");
        return RUN_INPUT;
    }
    return run_graph(&run, &asked);
}

COMMAND(graph, USAGE, "runs a plan that tools/graph has made of a model", graph);
