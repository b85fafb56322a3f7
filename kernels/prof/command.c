/* SPDX-License-Identifier: MIT
 *
 * An operator launched again and again, measured by a schedule:
 *
 *     salai profile --warmup 100 --active 500 vadd --n 100000
 *
 * Each launch has other data, at another place: made-up operands and results lie in blocks that
 * are a little larger, and begin somewhere in them; --still: all are alike. So are operands of an
 * operator with workspaces, which may hold what it has made of them (weights in another layout).
 * The last result is compared with the reference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/check.h"
#include "kernels/cli/line.h"
#include "kernels/cli/report.h"
#include "kernels/prof/prof.h"

enum { PLACES = 64, STEP_BYTES = 512, STEPS_MOST = 100000, SAMPLES = 256 };
enum { PRINT_TABLE, PRINT_STEPS, PRINT_SUMMARY };

struct settings {
    uint32_t skip_first, wait, warmup, active, repeat, print;
    bool still;
};
static const struct option options[] = {
    NUMBER(struct settings, skip_first, 0, 0, STEPS_MOST, "launches at first"),
    NUMBER(struct settings, wait, 0, 0, STEPS_MOST,
           "launches of a round that do not count"),
    NUMBER(struct settings, warmup, 10, 0, STEPS_MOST, "those behind them, likewise"),
    NUMBER(struct settings, active, 100, 1, STEPS_MOST, "that are recorded"),
    NUMBER(struct settings, repeat, 1, 1, STEPS_MOST, "rounds"),
    CHOICE(struct settings, print, "table|steps|summary", "the last two as CSV"),
    FLAG(struct settings, still, "the same data at the same place each time"),
    {0},
};

/* Where operands and results are, each in its block. */
struct blocks {
    void *in[OP_IN], *out[OP_OUT];
    uint32_t random;
};

struct notes {
    const struct settings *set;
    const char *what; /* the operator with its arguments */
    unsigned cores, n;
    uint64_t *call;
    double metric[PROF_METRICS]; /* sums */
};

/* --- data --- */

static bool larger(const char *who, const struct line *line, struct tensor *t,
                   void **block, unsigned number)
{
    uint64_t more = (uint64_t)PLACES * STEP_BYTES * 8 / type_bits(t->type);

    if (t->data == NULL || t->path) {
        return true;
    }
    free(t->data);
    t->data = *block = data_alloc(who, t->type, t->count + more);
    if (*block && number) {
        data_fill((enum data_kind)line->data, *block, t->type, t->count + more, number);
    }
    return *block != NULL;
}

static bool make_blocks(const struct line *line, struct op_call *call, struct blocks *b)
{
    bool good = true, still = line->op->text || call->work[0];

    *b = (struct blocks){.random = 1};
    for (unsigned i = 0; i < line->io.n_in && !still; i++) {
        good = good && larger(line->op->name, line, &call->in[i], &b->in[i], i + 1);
    }
    for (unsigned i = 0; i < line->io.n_out; i++) {
        good = good && larger(line->op->name, line, &call->out[i], &b->out[i], 0);
    }
    return good;
}

static void *somewhere(struct blocks *b, void *block)
{
    b->random = b->random * 1664525 + 1013904223; /* Numerical Recipes */
    return (char *)block + (b->random >> 16) % PLACES * STEP_BYTES;
}

static void move(struct op_call *call, struct blocks *b)
{
    for (unsigned i = 0; i < OP_IN; i++) {
        call->in[i].data = b->in[i] ? somewhere(b, b->in[i]) : call->in[i].data;
    }
    for (unsigned i = 0; i < OP_OUT; i++) {
        call->out[i].data = b->out[i] ? somewhere(b, b->out[i]) : call->out[i].data;
    }
}

/* As line_free() wants them. */
static void move_back(struct op_call *call, const struct blocks *b)
{
    for (unsigned i = 0; i < OP_IN; i++) {
        call->in[i].data = b->in[i] ? b->in[i] : call->in[i].data;
    }
    for (unsigned i = 0; i < OP_OUT; i++) {
        call->out[i].data = b->out[i] ? b->out[i] : call->out[i].data;
    }
}

/* --- what is told --- */

static void print_head(const struct notes *n)
{
    if (n->set->print == PRINT_STEPS) {
        printf("cores,operator,step,call to return");
        for (unsigned i = 0; i < PROF_METRICS; i++) {
            printf(",%s", prof_metric_name((enum prof_metric)i));
        }
        printf("\n");
    } else if (n->set->print == PRINT_SUMMARY) {
        printf("cores,operator,launches,p50 cycles,p90 cycles,p99 cycles,mean cycles,"
               "deviation,least cycles,most cycles,dropped,per second\n");
    }
}

static void record(void *arg, unsigned step, const struct launch_report *measured)
{
    struct notes *n = arg;

    n->call[n->n++] = measured->call;
    for (unsigned i = 0; i < PROF_METRICS; i++) {
        n->metric[i] += prof_metric_value((enum prof_metric)i, measured);
    }
    if (n->set->print == PRINT_STEPS) {
        printf("%u,\"%s\",%u,%llu", n->cores, n->what, step,
               (unsigned long long)measured->call);
        for (unsigned i = 0; i < PROF_METRICS; i++) {
            printf(",%.6g", prof_metric_value((enum prof_metric)i, measured));
        }
        printf("\n");
    }
}

static void print_stats(const struct notes *n, const struct prof_stats *s)
{
    double per_second = 1e3 * chip_cost(COST_CLOCK_KHZ) / s->mean;
    unsigned long long p50 = s->p50, p90 = s->p90, p99 = s->p99, least = s->least,
                       most = s->most;

    if (n->set->print == PRINT_SUMMARY) {
        printf("%u,\"%s\",%u,%llu,%llu,%llu,%.1f,%.1f,%llu,%llu,%u,%.0f\n", n->cores,
               n->what, n->n, p50, p90, p99, s->mean, s->deviation, least, most,
               s->dropped, per_second);
        return;
    }
    printf("%s: %u launches on %u core%s, cycles call to return\n", n->what, n->n,
           n->cores, n->cores == 1 ? "" : "s");
    printf("  p50 %llu, p90 %llu, p99 %llu, mean %.1f, deviation %.1f, %llu to %llu; "
           "%u beyond 1.5 IQR left out\n",
           p50, p90, p99, s->mean, s->deviation, least, most, s->dropped);
    printf("  %.0f a second, one behind the other\n", per_second);
    for (unsigned i = 0; i < PROF_METRICS; i++) {
        double mean = n->metric[i] / n->n;
        if (mean != 0) {
            printf("  %-26s %12.4f\n", prof_metric_name((enum prof_metric)i), mean);
        }
    }
}

/* --- the run --- */

static int launches(const struct line *line, struct op_call *call, struct blocks *b,
                    struct prof *p)
{
    static struct sched_report report; /* too large for a stack */
    const struct prof_schedule *s = &p->schedule;
    unsigned all = s->skip_first + (s->wait + s->warmup + s->active) * s->repeat;

    prof_begin(p);
    for (unsigned i = 0; i < all; i++) {
        const struct notes *n = p->arg;
        if (!n->set->still) {
            move(call, b);
        }
        int err = op_launch(call, line->op->run, &report);
        if (err) {
            return report_error(line->op->name, err, &report);
        }
        prof_step(p);
    }
    return RUN_OK;
}

/* A reference may know operands from before the first launch, where they have moved since. */
static int last_is_right(const struct line *line, struct op_call *call)
{
    struct checked checked = {0};
    int err = line->op->prepare && !call->work[0] ? line->op->prepare(call) : 0;

    for (unsigned i = 0; line->op->ref && i < line->io.n_out && !err; i++) {
        err = check_result(line->op->name, call, i, call->out[i].data, SAMPLES, &checked);
    }
    return err == ERR_MISMATCH ? RUN_CHECK : err ? RUN_INPUT : RUN_OK;
}

static int run_line(const struct settings *set, const struct line *line,
                    struct op_call *call, const char *what)
{
    struct notes notes = {
        .set = set, .what = what, .cores = call->cores ? call->cores : chip_cores()};
    struct prof p = {
        .schedule = {set->skip_first, set->wait, set->warmup, set->active, set->repeat},
        .recorded = record,
        .arg = &notes};
    struct blocks blocks = {.random = 0};
    struct prof_stats stats;
    int status = (int)line_call(line, call);

    if (status == RUN_OK && !make_blocks(line, call, &blocks)) {
        status = RUN_INPUT;
    }
    notes.call = calloc((size_t)set->active * set->repeat, sizeof(notes.call[0]));
    if (status == RUN_OK && notes.call == NULL) {
        fprintf(stderr, "profile: no memory for so many launches\n");
        status = RUN_INPUT;
    }
    if (status == RUN_OK) {
        print_head(&notes);
        status = launches(line, call, &blocks, &p);
    }
    if (status == RUN_OK && set->print != PRINT_STEPS) {
        prof_stats(&stats, notes.call, notes.n);
        print_stats(&notes, &stats);
    }
    status = status == RUN_OK ? last_is_right(line, call) : status;
    move_back(call, &blocks);
    free(notes.call);
    return status;
}

/* The operator with its arguments, as one text. */
static char *joined(int argc, char **argv)
{
    size_t bytes = 1;
    char *text;

    for (int i = 0; i < argc; i++) {
        bytes += strlen(argv[i]) + 1;
    }
    text = calloc(bytes, 1);
    for (int i = 0; text && i < argc; i++) {
        strcat(strcat(text, i ? " " : ""), argv[i]);
    }
    return text;
}

/* Words before the operator's name; 0: they are wrong, which has been told. */
static int parse(struct settings *set, int argc, char **argv)
{
    int i = 1;

    option_defaults(options, set);
    while (i < argc && argv[i][0] == '-') {
        const struct option *o = options;
        while (o->name && (argv[i][1] != '-' || !option_is(o, argv[i] + 2))) {
            o++;
        }
        if (!o->name || (o->kind != OPTION_FLAG && i + 1 == argc)) {
            fprintf(stderr, "profile: %s: %s\n", argv[i],
                    o->name ? "wants a value" : "no such option");
            return 0;
        }
        if (option_set("profile", o, set, argv[i + 1])) {
            return 0;
        }
        i += o->kind == OPTION_FLAG ? 1 : 2;
    }
    if ((uint64_t)set->active * set->repeat > STEPS_MOST) {
        fprintf(stderr, "profile: more than %u launches to record\n", STEPS_MOST);
        return 0;
    }
    return i;
}

static int profile(int argc, char **argv)
{
    const struct opdesc *op;
    struct settings set;
    struct line line;
    struct op_call call;
    int at = parse(&set, argc, argv), status = RUN_INPUT;

    if (at == 0) {
        return RUN_INPUT;
    }
    op = at < argc ? op_find(argv[at]) : NULL;
    op = op ? op_open(op) : NULL;
    if (op == NULL || op->run == NULL) {
        fprintf(stderr, "profile: %s: no operator that can be launched again and again\n",
                at < argc ? argv[at] : "nothing");
        return RUN_INPUT;
    }
    char *what = joined(argc - at, argv + at);
    if (what && line_parse(op, argc - at, argv + at, &line, &call) == 0) {
        status = run_line(&set, &line, &call, what);
        line_free(&call);
    }
    free(what);
    return status;
}

COMMAND(profile,
        "[--warmup 10] [--active 100] [--print table|steps|summary] OPERATOR ...",
        "launches an operator again and again: percentiles, msopprof's metrics", profile);
