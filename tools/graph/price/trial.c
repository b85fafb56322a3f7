/* SPDX-License-Identifier: MIT
 *
 * See trial.h. What has been planned once is kept by its text and the sizes of its tensors.
 */
#include "tools/graph/price/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"

enum {
    BITS = 15,
    KEPT = 3 << BITS >> 2, /* of as many places */
};

struct kept {
    uint64_t key; /* of its text and sizes, 64 bits of FNV-1a; 0: nothing is here */
    const char *why, *schedule, *limit;
    uint64_t busy; /* of the busiest pipe */
    /* Where nothing that it reads lies in L2, or all; `again`: where the commands of `records`
     * are there already; `room`: cycles of the first steps that record any. */
    uint64_t cycles, again, warm, warm_again, records, room;
};

static struct kept kept[1 << BITS];
static unsigned n_kept;
static char *room; /* that plans are made in */

/* Sizes of the tensors, in order, behind the text. */
static char *key_of(const struct step *s)
{
    const char *sizes = "";

    for (unsigned i = 0; i < s->n_in; i++) {
        sizes = graph_text("%s %s", sizes, shape_text(&s->in[i]->shape));
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        sizes = graph_text("%s %s", sizes, shape_text(&s->out[i]->shape));
    }
    return graph_text("%s%s", s->text, sizes);
}

static bool set_sizes(struct tile_kernel *k, const struct tile_tensor *t,
                      const struct tensor *of)
{
    uint32_t size[GRAPH_RANK];

    for (unsigned d = 0; d < of->shape.n; d++) {
        size[d] = (uint32_t)of->shape.dim[d]; /* below GRAPH_ELEMENTS */
    }
    return tile_set_shape(k, t, size, of->shape.n) == 0;
}

static uint64_t bytes_of(const struct tensor *t)
{
    return (uint64_t)tensor_count(t) * elem_bytes(t->type);
}

/* What the planner assumes is not so of all: parts of tensors begin between two lines of L2, and
 * if `cold` constants and inputs are not there yet. */
static struct cold_misses misses_of(const struct step *s, bool cold)
{
    struct cold_misses m = {0};

    for (unsigned i = 0; i < s->n_in; i++) {
        struct tensor *t = s->in[i], *root = tensor_root(t);
        m.bytes += cold && (root->value || root->input) ? bytes_of(t) : 0;
        if ((uint64_t)tensor_offset(t) * elem_bytes(t->type) % L2_LINE_BYTES) {
            m.unaligned += bytes_of(t) * chip_cost(COST_GM_UNALIGNED) / 100 /
                           chip_cost(COST_GM_UB_RATE);
        }
    }
    return m;
}

/* Where the busiest pipe has nothing to do for half of the time, it waits for what the hart has
 * not issued yet. */
static const char *limit_of(const struct tile_plan *p, uint64_t cycles, uint64_t *busy)
{
    const char *pipe = cold_busiest(p, busy);

    return graph_text("%s%s %llu %%", *busy * 2 < cycles ? "the hart; " : "", pipe,
                      (unsigned long long)(*busy * 100 / cycles));
}

/* NULL: it cannot be done, *why. */
static struct tile_kernel *parsed(const struct step *s, struct tile_arena *arena,
                                  const char **why)
{
    struct tile_error error = {0};
    struct tile_kernel *k = tile_parse(arena, s->text, strlen(s->text), NULL, &error);
    bool fits = k != NULL;

    for (unsigned i = 0; fits && i < s->n_in; i++) {
        fits = set_sizes(k, &k->param[i], s->in[i]);
    }
    for (unsigned i = 0; fits && i < s->n_out; i++) {
        fits = set_sizes(k, &k->result[i].tensor, s->out[i]);
    }
    if (!fits) {
        *why = graph_text("%s", k ? k->error.text : error.text);
    }
    return fits ? k : NULL;
}

static struct tile_plan *planned(const struct step *s, unsigned cores,
                                 struct tile_arena *arena, const char **why)
{
    struct tile_kernel *k = parsed(s, arena, why);
    struct tile_error error = {0};
    struct tile_plan *p = NULL;

    if (k && tile_plan(&p, k, cores, arena, &error) != 0) {
        *why = graph_text("%s", error.text);
        return NULL;
    }
    return p;
}

static void plan(struct kept *to, const struct step *s, struct tile_arena *arena)
{
    struct tile_plan *p = planned(s, 1, arena, &to->why);
    struct cold_misses cold = misses_of(s, true), warm = misses_of(s, false);
    struct cold_kept kept = {0};

    if (!p) {
        return;
    }
    to->cycles = cold_cycles(p, 1, &cold, &kept);
    to->records = kept.of;
    to->room = kept.room;
    to->again = cold_cycles(p, 1, &cold, &kept);
    to->warm_again = cold_cycles(p, 1, &warm, &kept);
    kept.of = 0;
    to->warm = cold_cycles(p, 1, &warm, &kept);
    to->limit = limit_of(p, to->cycles, &to->busy);
    to->schedule = tile_schedule(p, false) && tile_schedule(p, false)[0]
                       ? graph_text("%s", tile_schedule(p, false))
                       : NULL;
}

static struct tile_arena arena_of_trial(void)
{
    room = room ? room : graph_alloc(1, TILE_ARENA_BYTES);
    return (struct tile_arena){.base = room, .size = TILE_ARENA_BYTES};
}

const struct tile_kernel *trial_kernel(const struct step *s, const char **why)
{
    struct tile_arena arena = arena_of_trial();

    return parsed(s, &arena, why);
}

/* All words of its schedule; NULL: there are none. */
static const char *schedule_of(const struct tile_plan *p)
{
    const char *words = tile_schedule(p, true);

    return words && words[0] ? graph_text("%s", words) : NULL;
}

const char *trial_schedule(struct step s, unsigned cores, uint64_t *cycles)
{
    struct cold_misses misses = misses_of(&s, true);
    struct tile_arena arena = arena_of_trial();
    struct cold_kept kept = {0};
    const char *why;
    const struct tile_plan *p = planned(&s, cores, &arena, &why);

    *cycles = p ? cold_cycles(p, cores, &misses, &kept) : 0;
    return p ? schedule_of(p) : NULL;
}

const char *trial_schedule_text(const struct step *s, unsigned cores, struct cold_product *shape,
                        unsigned most, unsigned *n)
{
    struct tile_arena arena = arena_of_trial();
    const char *why;
    const struct tile_plan *p = planned(s, cores, &arena, &why);

    *n = cold_products(p, shape, most);
    return p ? schedule_of(p) : NULL;
}

uint32_t trial_key(const struct step *s)
{
    const char *key = key_of(s);

    return plan_crc(0, key, strlen(key));
}

static uint64_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash ? hash : 1;
}

/* Which operands are constants or inputs. */
static uint64_t early_of(const struct step *s)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < s->n_in; i++) {
        struct tensor *root = tensor_root(s->in[i]);
        mask |= (uint64_t)(root->value || root->input) << i;
    }
    return mask << 32;
}

static void forget_kept(void)
{
    memset(kept, 0, sizeof(kept));
    n_kept = 0;
}

static const struct kept *trial(const struct step *s)
{
    char *text = key_of(s);
    uint64_t key = hash_of(text) ^ early_of(s);
    struct tile_arena arena = arena_of_trial();
    uint64_t at = key >> (64 - BITS);

    free(text);
    if (n_kept == KEPT) {
        forget_kept();
    }
    while (kept[at].key && kept[at].key != key) {
        at = (at + 1) & ((1 << BITS) - 1);
    }
    if (!kept[at].key) {
        struct kept here = {.key = key};
        plan(&here, s, &arena);
        kept[at] = here;
        n_kept++;
    }
    return &kept[at];
}

const char *trial_step(const struct step *s, uint64_t *cycles, const char **schedule)
{
    const struct kept *k = trial(s);

    *cycles = k->cycles;
    *schedule = k->schedule;
    return k->why;
}

const char *trial_limit(const struct step *s, uint64_t *busy)
{
    const struct kept *k = trial(s);

    *busy = k->busy;
    return k->limit;
}

/* Whether a step has read or written it, and not so much since that L2 has it no more. */
static bool in_l2(const struct trial_before *b, struct tensor *t)
{
    return t->touched && b->bytes - t->touched < chip_cost(COST_L2_BYTES);
}

static void touch(struct trial_before *b, struct tensor *t)
{
    b->bytes += bytes_of(t);
    tensor_root(t)->touched = b->bytes;
}

void trial_touch(const struct step *s, struct trial_before *b)
{
    for (unsigned i = 0; i < s->n_in; i++) {
        touch(b, s->in[i]);
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        touch(b, s->out[i]);
    }
}

/* Whether a product's commands are there; its room, of the two that each core has (kernels/mm/
 * room.c), is the first one then. *more: cycles until it is there. */
static bool recorded(struct trial_before *b, const struct kept *k, uint64_t *more)
{
    bool again = k->records && (b->recorded[0] == k->records || b->recorded[1] == k->records);

    *more = !again && b->rooms < TRIAL_BUFFERS ? k->room : 0;
    b->rooms += *more > 0;
    if (k->room && b->recorded[0] != k->records) {
        b->recorded[1] = b->recorded[0];
        b->recorded[0] = k->records;
    }
    return again;
}

uint64_t trial_behind(const struct step *s, struct trial_before *b)
{
    const struct kept *k = trial(s);
    uint64_t all = 0, missing = 0, more;
    bool again = recorded(b, k, &more);
    uint64_t cold = again ? k->again : k->cycles, warm = again ? k->warm_again : k->warm;

    for (unsigned i = 0; i < s->n_in; i++) {
        struct tensor *root = tensor_root(s->in[i]);
        bool early = root->value || root->input;
        all += early ? bytes_of(s->in[i]) : 0;
        missing += early && !in_l2(b, root) ? bytes_of(s->in[i]) : 0;
    }
    trial_touch(s, b);
    return more + (all ? warm + (cold - warm) * missing / all : cold);
}

/* What the rule says of prices that are known; predictions that differ by less than 1 % are the
 * same. */
void trial_decide(const struct rule_of_joining *rule, struct candidate *c)
{
    uint64_t cycles = c->before.cycles + c->alone.cycles;
    uint64_t bytes = c->before.bytes + c->alone.bytes;
    double less = 100 * (1 - (double)c->after.bytes / (double)bytes);

    if (strcmp(rule->name, "bytes") == 0) {
        c->taken = less >= rule->threshold;
        c->why =
            graph_text("%.0f %% fewer bytes, %.0f are wanted", less, rule->threshold);
    } else if (c->after.cycles > cycles + cycles / 100) {
        c->why = graph_text("%llu cycles more",
                            (unsigned long long)(c->after.cycles - cycles));
    } else if (c->after.bytes > bytes) {
        c->why =
            graph_text("%llu bytes more", (unsigned long long)(c->after.bytes - bytes));
    } else {
        c->taken = true;
        c->why = graph_text("%lld cycles and %llu bytes less",
                            (long long)cycles - (long long)c->after.cycles,
                            (unsigned long long)(bytes - c->after.bytes));
    }
}

void trial_weigh(const struct rule_of_joining *rule, const struct step *before,
                 const struct step *alone, const struct step *after, struct candidate *c)
{
    const char *schedule, *why = trial_step(after, &c->after.cycles, &schedule);

    c->before.bytes = step_bytes(before);
    c->alone.bytes = step_bytes(alone);
    c->after.bytes = step_bytes(after);
    if (why) {
        c->why = why;
    } else if (trial_step(before, &c->before.cycles, &schedule) ||
               trial_step(alone, &c->alone.cycles, &schedule)) {
        c->taken = true;
        c->why = "one of the two cannot be done by itself";
    } else {
        c->known = true;
        trial_decide(rule, c);
    }
}

void trial_forget(void)
{
    forget_kept();
    room = NULL;
}
