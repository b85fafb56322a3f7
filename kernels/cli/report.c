/* SPDX-License-Identifier: MIT
 *
 * Reports of a run; see report.h.
 */
#include "kernels/cli/report.h"

#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/host.h"
#include "kernels/lib/ascii.h"

enum { WIDTH = 96, PCS = 6 };

static const enum pipe order[] = {PIPE_MTE2, PIPE_MTE1, PIPE_M,
                                  PIPE_V,    PIPE_FIX,  PIPE_MTE3};

typedef unsigned long long number; /* as printf has it */

static double percent(uint64_t part, uint64_t of)
{
    return of ? 100.0 * (double)part / (double)of : 0;
}

/* `span` is that of all cores that `pipes` sums up. */
static void print_pipes(const struct pipe_use *pipes, uint64_t span)
{
    printf("  pipe         busy  of span   waited sem    bandwidth  queue empty  commands"
           "    KiB in   KiB out\n");
    for (unsigned i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        const struct pipe_use *use = &pipes[order[i]];
        if (use->commands) {
            printf("  %-4s %12llu %6.1f %% %12llu %12llu %10.1f %% %9llu %9.1f %9.1f\n",
                   pipe_name(order[i]), (number)use->busy, percent(use->busy, span),
                   (number)use->sem, (number)use->bandwidth, percent(use->empty, span),
                   (number)use->commands, (double)use->bytes_read / 1024,
                   (double)use->bytes_written / 1024);
        }
    }
}

/* How much of what passed between GM and the cores L2 had, and whether it had what was
 * read: none of what is new to it, all of what has just been there. */
static void print_l2(const struct pipe_use *pipes)
{
    uint64_t hits = 0, misses = 0;

    for (unsigned i = 0; i < NPU_PIPES; i++) {
        hits += pipes[i].hits;
        misses += pipes[i].misses;
    }
    if (hits + misses) {
        printf("; L2: %.1f %% hits, %s", percent(hits, hits + misses),
               pipes[PIPE_MTE2].misses == 0 ? "warm"
               : pipes[PIPE_MTE2].hits == 0 ? "cold"
                                            : "mixed");
    }
}

static void print_core(const struct launch_report *r, const struct core_use *use,
                       const char *what)
{
    printf("core %u%s: %llu cycles from its first command to its last\n", use->core, what,
           (number)(use->last - use->first));
    print_pipes(use->pipe, r->span);
}

static void print_cores(const struct launch_report *r, enum report_detail detail)
{
    struct core_use use;

    if (r->cores < 2) {
        return;
    }
    if (detail == REPORT_SHORT) {
        print_core(r, &r->slowest, ", the slowest");
        print_core(r, &r->fastest, ", the fastest");
        return;
    }
    for (unsigned core = 0; core < chip_cores(); core++) {
        if (measure_core(r, core, &use)) {
            print_core(r, &use, "");
        }
    }
}

static void print_launches(const struct launch_report *r)
{
    if (r->launches == 1) {
        printf("  launch %u", r->number);
    } else {
        printf("  launches %u to %u", r->number - r->launches + 1, r->number);
    }
    printf(
        ": %llu cycles call to return, %llu to the first command, %llu from the last\n",
        (number)r->call, (number)r->before, (number)r->after);
    if (r->price) {
        printf("  a launch costs %llu cycles of these = %.1f us\n", (number)r->price,
               (double)r->price / chip_cost(COST_CLOCK_KHZ) * 1e3);
    }
}

/* Who had the hart, in percent of the time from call to return, the largest first. */
static void print_hart(const struct launch_report *r)
{
    uint64_t all = r->call * r->shared;
    struct hart_use left[MEASURE_USERS];
    int column =
        printf("  hart: awake %.1f %% of that, %.1f %% of the span;",
               percent(r->awake, all), percent(r->awake_in_span, r->span * r->shared));

    memcpy(left, r->user, sizeof(left));
    for (unsigned n = r->n_users; n > 0; n--) {
        unsigned most = 0;
        char text[64];
        int length;
        for (unsigned i = 1; i < r->n_users; i++) {
            most = left[i].spent > left[most].spent ? i : most;
        }
        length = snprintf(text, sizeof(text), " %s %.1f %%%s", left[most].name,
                          percent(left[most].spent, all), n > 1 ? "," : "");
        if (column + length > WIDTH) {
            column = printf("\n       ") - 1;
        }
        column += printf("%s", text);
        left[most].spent = 0;
    }
    /* A sleep after which nobody can run is as good as busy waiting. */
    printf("\n  hart %12llu switches between tasks, %llu sleeps, %llu of them in vain",
           (number)r->stats.switches, (number)r->stats.sleeps, (number)r->stats.in_vain);
    print_l2(r->chip);
    printf("\n");
}

/* On the line of the limit: a line of its own would say no more. */
static const char *hart_error(void)
{
    return chip_timing() == TIMING_v1 ? "" : "; error: not known";
}

/* Whether most of what is read is not in L2. */
static bool from_hbm(const struct launch_report *r)
{
    return r->chip[PIPE_MTE2].misses > r->chip[PIPE_MTE2].hits;
}

static void print_limit(const struct launch_report *r)
{
    const struct pipe_use *use = &r->chip[r->limit_pipe];
    const char *pipe = pipe_name(r->limit_pipe);
    uint64_t all = r->span * r->cores;

    switch (r->limit) {
    case LIMIT_NOTHING:
        printf("  limit: none, there was no command\n");
        break;
    case LIMIT_PIPE:
        printf("  limit: %s, busy %.1f %% of the span\n", pipe, percent(use->busy, all));
        break;
    case LIMIT_RATE:
        printf("  limit: bandwidth of %s that is shared: %s was busy %.1f %% of the span "
               "and lost %.1f %%\n",
               from_hbm(r) ? "HBM" : "L2", pipe, percent(use->busy, all),
               percent(use->bandwidth, all));
        break;
    case LIMIT_HART:
        printf("  limit: the hart: %s's queue was empty %.1f %% of the span while it "
               "issued%s\n",
               pipe, percent(use->empty, all), hart_error());
        break;
    case LIMIT_SETUP:
        printf("  limit: the hart: more cycles before the first command than from it to "
               "the last%s\n",
               hart_error());
        break;
    case LIMIT_START:
        printf("  limit: the hart, which begins the cores one after another\n");
        break;
    case LIMIT_SHARES:
        printf("  limit: the cores' shares: the fastest ends long before the slowest\n");
        break;
    case LIMIT_WAITS:
        printf("  limit: no pipe alone: %s was busy %.1f %% of the span, waited %.1f %%, "
               "had "
               "nothing queued %.1f %%\n",
               pipe, percent(use->busy, all), percent(use->sem, all),
               percent(use->empty, all));
        break;
    }
}

const char *report_timing(void)
{
    return chip_timing() == TIMING_v1 ? ", TIMING=v1" : "";
}

/* What the cycles of a launch were held against: those of the pipe that works most or, where
 * a product is not limited by one, of products. */
static enum npu_path path_of(const struct launch_report *r)
{
#define PIPE(NAME, name, number, stage, text) [number] = PATH_##NAME,
    static const uint8_t paths[NPU_PIPES] = {
#include "hal/contract/all.h"
    };
    bool one = r->limit != LIMIT_RATE && r->limit != LIMIT_WAITS;
    enum npu_path path = (enum npu_path)paths[r->limit_pipe];

    if (!one && r->chip[PIPE_M].commands) {
        return PATH_WHOLE;
    }
    return path == PATH_MTE2 && from_hbm(r) ? PATH_HBM : path;
}

static bool hart_limits(const struct launch_report *r)
{
    return r->limit == LIMIT_HART || r->limit == LIMIT_SETUP;
}

void report_accuracy(const struct launch_report *r)
{
    const struct npu_accuracy *a = npu_accuracy(path_of(r));
    bool hart = hart_limits(r);

    if (r->limit == LIMIT_NOTHING || chip_timing() == TIMING_v1) {
        return; /* what v1 leaves out has no bound */
    }
    if (hart || chip_profile() != PROFILE_a2) {
        printf("  error: not known, no card was measured for %s\n",
               hart ? "the hart's part" : npu_profile_name(chip_profile()));
    } else if (a->predicted) {
        printf("  error: %s: %u predicted row%s, the middle one within %u %%, all within "
               "%u %%\n",
               a->text, a->predicted, a->predicted == 1 ? "" : "s", a->median, a->worst);
    } else {
        printf("  error: %s: no predicted row, %u fitted ones within %u %%\n", a->text,
               a->fitted, a->fits_worst);
    }
}

void report_launch(const struct launch_report *r, unsigned n_cores, uint64_t macs,
                   enum report_detail detail)
{
    double ghz = chip_cost(COST_CLOCK_KHZ) / 1e6;

    if (n_cores == 1 && r->cores == 1) {
        printf("core %u", r->slowest.core);
    } else {
        printf("%u of %u cores", r->cores, n_cores);
    }
    printf(", profile %s: %llu cycles = %.1f us at %.2f GHz",
           npu_profile_name(chip_profile()), (number)r->span, (double)r->span / ghz / 1e3,
           ghz);
    if (macs && r->span) {
        printf(", %.0f multiply-adds a cycle", (double)macs / (double)r->span);
    }
    printf("%s\n", report_timing());
    if (r->launches) {
        print_launches(r);
    }
    print_pipes(r->chip, r->span * r->cores);
    print_cores(r, detail);
    if (r->launches) {
        print_hart(r);
    }
    print_limit(r);
    if (!hart_limits(r)) {
        report_accuracy(r);
    }
}

/* One command that turns the text's program counters into lines of source. */
static void print_lines(const struct sched_report *report)
{
    number pc[PCS + 1];
    unsigned n = 0;

    for (const char *at = strstr(report->text, "pc 0x"); at && n < PCS;
         at = strstr(at, "pc 0x")) {
        unsigned i = 0;
        at += strlen("pc 0x");
        for (pc[n] = 0; is_digit(*at) || is_letter(*at); at++) {
            pc[n] = pc[n] * 16 + (number)(is_digit(*at) ? *at - '0' : *at - 'a' + 10);
        }
        while (pc[i] != pc[n]) {
            i++;
        }
        n += i == n && pc[n] != 0;
    }
    if (n) {
        fprintf(stderr, "  lines: riscv64-unknown-elf-addr2line -e %s", host_program());
        for (unsigned i = 0; i < n; i++) {
            fprintf(stderr, " 0x%llx", pc[i] - 1); /* inside the call */
        }
        fprintf(stderr, "\n");
    }
}

int report_error(const char *who, int err, const struct sched_report *report)
{
    const char *text = report->text[0] ? report->text : err_text(err);

    /* Bad input has one line, and so has a task without memory: where it was. */
    fprintf(stderr, "%s: %.*s\n", who, (int)strcspn(text, err == ERR_NOMEM ? "\n" : ""),
            text);
    if (err == ERR_FAULT && report->task) {
        fprintf(stderr, "  issued by task %s\n", report->task);
    }
    if (err == ERR_FAULT && report->fault.pc) {
        fprintf(stderr,
                "  issued at pc 0x%llx: riscv64-unknown-elf-addr2line -e %s 0x%llx\n",
                (number)report->fault.pc, host_program(),
                (number)report->fault.pc - 1); /* inside the call */
    }
    print_lines(report);
    /* Nothing was started, or MEM= is too small. */
    return err == ERR_ARG || err == ERR_SHAPE || err == ERR_TYPE || err == ERR_ABSENT ||
                   err == ERR_NOMEM
               ? RUN_INPUT
               : RUN_FAULT;
}
