/* SPDX-License-Identifier: MIT
 *
 * What commands take: short rows, banks, bytes that are read again, tiles that are small.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/profile/remedy.h"
#include "tools/profile/words.h"

static uint64_t took(const struct command *c)
{
    return c->end - c->begin;
}

uint64_t trial_fixed(const struct trial *x, const struct command *c)
{
    uint64_t fixed = 0;

    if (c->from == NPU_MEM_GM && c->to == NPU_MEM_UB) {
        fixed = trial_cost(x, COST_GM_UB_FIXED);
    } else if (c->from == NPU_MEM_GM) {
        fixed = strncmp(trace_text(x->t, c->name), "ND2NZ", 5) == 0
                    ? trial_cost(x, COST_ND2NZ_NEXT)
                    : trial_cost(x, COST_GM_L1_FIXED);
    } else if (c->pipe == PIPE_MTE3 && c->to == NPU_MEM_GM) {
        fixed = trial_cost(x, COST_UB_GM_FIXED);
    } else if (c->pipe == PIPE_MTE1) {
        fixed = trial_cost(x, COST_L1_L0_NEXT);
    } else if (c->pipe == PIPE_M) {
        fixed = trial_cost(x, COST_MMAD_NEXT);
    } else if (c->pipe == PIPE_V) {
        const struct cmd_info *info = x->info[c->name];
        fixed = info ? info->fixed : 0;
    }
    fixed += c->missed ? trial_cost(x, COST_L2_MISS) : 0;
    return fixed < took(c) ? fixed : took(c) - 1;
}

/* Commands that are alike: the first and the worst as examples, and how often. */
struct sight {
    const struct command *c, *worst;
    uint64_t n, sum, most;
};

static void see(struct sight *s, const struct command *c, uint64_t what)
{
    s->c = s->c ? s->c : c;
    s->worst = what > s->most ? c : s->worst;
    s->most = what > s->most ? what : s->most;
    s->n++;
    s->sum += what;
}

/* A run whose commands take less by what is lost in them; NULL if that saves too little. */
static struct remedy *without(struct trial *x, const char *kind, struct sight *sight,
                              uint64_t (*lost)(const struct trial *x,
                                               const struct command *c))
{
    const struct trace *t = x->t;
    struct change change = {.cycles = x->cycles};

    trial_reset(x);
    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        uint64_t less = lost(x, c);
        if (less && less < took(c)) {
            x->cycles[i] -= less;
            see(sight, c, less);
        }
    }
    return sight->n ? trial_add(x, kind, trial_saves(x, &change)) : NULL;
}

/* Rows that are shorter than those that GM is as fast for. */
static uint64_t short_rows(const struct trial *x, const struct command *c)
{
    uint32_t least = trial_cost(x, COST_GM_ROW_BYTES);
    uint64_t work = took(c) - trial_fixed(x, c);
    bool is_short = c->from == NPU_MEM_GM && c->rows > 1 && c->row_bytes < least;

    return is_short ? work - work * c->row_bytes / least : 0;
}

void try_rows(struct trial *x)
{
    const struct trace *t = x->t;
    uint32_t least = trial_cost(x, COST_GM_ROW_BYTES);
    struct sight sight = {0};
    struct remedy *r = without(x, "short rows", &sight, short_rows);

    if (r) {
        snprintf(
            r->why, sizeof(r->why),
            "%ju commands (%s, %s) read rows of %u bytes of GM, which take as long as %u",
            (uintmax_t)sight.n, trace_text(t, sight.c->name),
            trace_text(t, sight.c->line), sight.c->row_bytes, least);
        snprintf(r->help, sizeof(r->help),
                 "Rows of %u bytes or more: lay the data out so, or take more columns at "
                 "once.",
                 least);
    }
}

static uint64_t bank_conflicts(const struct trial *x, const struct command *c)
{
    (void)x;
    return c->banks;
}

void try_banks(struct trial *x)
{
    const struct trace *t = x->t;
    struct sight sight = {0};
    struct remedy *r = without(x, "bank conflicts", &sight, bank_conflicts);

    if (r) {
        snprintf(r->why, sizeof(r->why),
                 "%ju commands (%s, %s) lose %ju cycles to conflicts of banks of UB",
                 (uintmax_t)sight.n, trace_text(t, sight.c->name),
                 trace_text(t, sight.c->line), (uintmax_t)sight.sum);
        snprintf(r->help, sizeof(r->help),
                 "Let operands begin in other groups of %u (32 bytes each), a result in "
                 "another "
                 "bank (%u KiB). make whatif SET=banks=0 runs it without conflicts.",
                 (unsigned)UB_GROUPS, (unsigned)UB_BANK_SPAN >> 10);
    }
}

/* What others take from a command's rate: other cores of L2 and HBM, MTE2 of L1. */
static uint64_t lost_to_others(const struct trial *x, const struct command *c)
{
    (void)x;
    return c->lost;
}

void try_shared(struct trial *x)
{
    const struct trace *t = x->t;
    struct sight sight = {0};
    struct remedy *r = without(x, "bandwidth", &sight, lost_to_others);

    if (r) {
        const struct command *c = sight.worst;
        bool gm = c->from == NPU_MEM_GM || c->to == NPU_MEM_GM;
        snprintf(
            r->why, sizeof(r->why),
            "%ju commands lose %ju cycles to others on a shared path, %ju of them one "
            "(%s, %s)",
            (uintmax_t)sight.n, (uintmax_t)sight.sum, (uintmax_t)sight.most,
            trace_text(t, c->name), trace_text(t, c->line));
        snprintf(r->help, sizeof(r->help), "%s",
                 gm ? "Fewer bytes of GM: larger tiles, operands that stay in L1, or "
                      "cores that "
                      "read the same at different times."
                    : "MTE2 fills L1 meanwhile: bring in less, or at another time.");
    }
}

/* --- reads of what has been read --- */

static const struct trace *sorted;
static int by_source(const void *a, const void *b)
{
    uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
    const struct command *x = &sorted->command[i], *y = &sorted->command[k];

    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    if (x->src != y->src) {
        return x->src < y->src ? -1 : 1;
    }
    if (x->read != y->read || x->shape != y->shape) {
        return x->read != y->read ? (x->read < y->read ? -1 : 1)
                                  : (x->shape < y->shape ? -1 : 1);
    }
    return i < k ? -1 : 1;
}

static bool same_source(const struct command *a, const struct command *b)
{
    return a->core == b->core && a->src == b->src && a->read == b->read &&
           a->shape == b->shape && a->line == b->line;
}

/* The same bytes of GM, read by the same line of the same core more than once. What they are
 * must fit into the local memory besides what is there. */
void try_reuse(struct trial *x)
{
    const struct trace *t = x->t;
    uint32_t *reads = calloc(t->commands + 1, sizeof(*reads)), n = 0;
    struct change change = {.cycles = x->cycles};
    struct sight again = {0}, once = {0};
    struct remedy *r;

    trial_reset(x);
    for (uint32_t i = 0; i < t->commands; i++) {
        if (t->command[i].from == NPU_MEM_GM && t->command[i].to <= NPU_MEM_GM) {
            reads[n++] = i;
        }
    }
    sorted = t;
    qsort(reads, n, sizeof(*reads), by_source);
    for (uint32_t k = 1; k < n; k++) {
        const struct command *c = &t->command[reads[k]];
        if (same_source(c, &t->command[reads[k - 1]])) {
            bool first = k < 2 || !same_source(c, &t->command[reads[k - 2]]);
            x->cycles[reads[k]] = 0;
            see(&again, c, c->read);
            once.sum += first ? c->read : 0;
        }
    }
    if (again.n &&
        once.sum / t->cores <= trial_cost(x, npu_mem_cost(again.c->to)) / 2 &&
        (r = trial_add(x, "no reuse", trial_saves(x, &change))) != NULL) {
        snprintf(r->why, sizeof(r->why),
                 "%ju commands (%s, %s) read %ju KiB of GM again that have been in %s",
                 (uintmax_t)again.n, trace_text(t, again.c->name),
                 trace_text(t, again.c->line), (uintmax_t)(again.sum >> 10),
                 word_memory(again.c->to));
        snprintf(r->help, sizeof(r->help),
                 "Keep the %ju KiB that they are in %s, read once.",
                 (uintmax_t)(once.sum >> 10), word_memory(again.c->to));
    }
    free(reads);
}

/* --- tiles --- */

/* How many times as large tiles could be: from the peaks of local memories. */
static uint64_t growth(const struct trial *x)
{
    const struct trace *t = x->t;
    uint64_t least = 0;

    for (uint32_t i = 0; i < t->counters; i++) {
        uint64_t peak = 0, size = 0;
        for (uint8_t m = 0; m < NPU_MEM_COUNT; m++) {
            const char *name = trace_text(t, t->counter[i].name);
            size_t bytes = strlen(word_memory(m));
            if (strncmp(name, word_memory(m), bytes) == 0 && name[bytes] == ' ' &&
                strcmp(name + bytes + 1, "in use") == 0) {
                size = trial_cost(x, npu_mem_cost(m));
            }
        }
        for (uint32_t k = 0; size && k < t->counter[i].n; k++) {
            uint64_t value = t->counter[i].sample[k].value;
            peak = value > peak ? value : peak;
        }
        if (peak && (least == 0 || size / peak < least)) {
            least = size / peak;
        }
    }
    return least;
}

/* Each `times` commands of a line become one: the first takes the cycles of all but for what
 * they all have at the start, the others none. */
static uint64_t merge(struct trial *x, uint64_t times, struct sight *sight)
{
    const struct trace *t = x->t;
    uint32_t *first = calloc((size_t)t->texts.n * t->cores * NPU_PIPES, sizeof(*first));
    uint64_t *n = calloc((size_t)t->texts.n * t->cores * NPU_PIPES, sizeof(*n)),
             fixed = 0;

    trial_reset(x);
    for (uint32_t i = 0; i < t->commands; i++) {
        const struct command *c = &t->command[i];
        size_t key = ((size_t)c->line * t->cores + c->core) * NPU_PIPES + c->pipe;
        if (n[key]++ % times == 0) {
            first[key] = i;
        } else {
            uint64_t all = took(c), start = trial_fixed(x, c);
            x->cycles[first[key]] += all - start;
            x->cycles[i] = 0;
            fixed += start;
            see(sight, c, start);
        }
    }
    trial_rings(x, (uint32_t)times - 1);
    free(first);
    free(n);
    return fixed;
}

void try_tiles(struct trial *x)
{
    uint64_t times = growth(x);
    struct sight sight = {0};
    struct change change = {.cycles = x->cycles, .more = x->more};
    const struct trace *t = x->t;
    struct remedy *r;

    if (times < 2 || times > 64) {
        times = times < 2 ? 0 : 64;
    }
    if (times == 0) {
        return;
    }
    merge(x, times, &sight);
    change.percent = (unsigned)(100 - 100 / times);
    if (sight.n && (r = trial_add(x, "small tiles", trial_saves(x, &change))) != NULL) {
        const struct line *l = &x->s->line[0];
        snprintf(r->why, sizeof(r->why),
                 "local memory holds tiles %ju times as large; %ju commands pay %ju "
                 "cycles for "
                 "their begin (most in %s)",
                 (uintmax_t)times, (uintmax_t)sight.n, (uintmax_t)sight.sum,
                 trace_text(t, l->line));
        snprintf(r->help, sizeof(r->help), "Tiles %ju times as large.", (uintmax_t)times);
    }
}
