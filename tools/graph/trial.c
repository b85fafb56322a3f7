/* SPDX-License-Identifier: MIT
 *
 * See trial.h. What has been planned once is kept by its text and the sizes of its tensors.
 */
#include "tools/graph/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/tile/text.h"
#include "kernels/tile/tile.h"

enum { KEPT = 4096, LOAD = 13 << 10 /* bytes that a command brings, about */ };

struct kept {
    const char *key, *why, *schedule;
    struct tile_cycles cycles;
};

static struct kept kept[KEPT];
static unsigned n_kept;

/* Sizes of the tensors, in order, behind the text. */
static const char *key_of(const struct step *s)
{
    const char *key = s->text;

    for (unsigned i = 0; i < s->n_in; i++) {
        key = graph_text("%s %s", key, shape_text(&s->in[i]->shape));
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        key = graph_text("%s %s", key, shape_text(&s->out[i]->shape));
    }
    return key;
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

/* What the planner assumes is not so of all: constants and inputs are not in L2 yet, parts of
 * tensors begin between two of its lines. Of products it does not say what MTE2 has to do. */
static uint64_t cycles_of(const struct kept *k, const struct step *s)
{
    uint64_t more = 0;

    for (unsigned i = 0; i < s->n_in; i++) {
        struct tensor *t = s->in[i], *root = tensor_root(t);
        uint64_t bytes = (uint64_t)tensor_count(t) * elem_bytes(t->type);
        if (root->value || root->input) {
            more += (bytes + LOAD - 1) / LOAD * chip_cost(COST_L2_MISS);
        }
        if ((uint64_t)tensor_offset(t) * elem_bytes(t->type) % L2_LINE_BYTES) {
            more +=
                bytes * chip_cost(COST_GM_UNALIGNED) / 100 / chip_cost(COST_GM_UB_RATE);
        }
    }
    if (k->cycles.mte2 == 0 || strstr(s->text, "dot(")) {
        return k->cycles.span + more;
    }
    more += k->cycles.mte2;
    return k->cycles.span > more ? k->cycles.span : more;
}

static void plan(struct kept *to, const struct step *s, struct tile_arena *arena)
{
    struct tile_error error = {0};
    struct tile_kernel *k = tile_parse(arena, s->text, strlen(s->text), NULL, &error);
    struct tile_plan *p = NULL;
    bool fits = k != NULL;

    for (unsigned i = 0; fits && i < s->n_in; i++) {
        fits = set_sizes(k, &k->param[i], s->in[i]);
    }
    for (unsigned i = 0; fits && i < s->n_out; i++) {
        fits = set_sizes(k, &k->result[i].tensor, s->out[i]);
    }
    if (!fits || tile_plan(&p, k, 0, arena, &error) != 0) {
        to->why = graph_text("%s", k && !fits ? k->error.text : error.text);
        return;
    }
    to->cycles = tile_predicted(p);
    to->schedule = tile_schedule(p) && tile_schedule(p)[0]
                       ? graph_text("%s", tile_schedule(p))
                       : NULL;
}

const char *trial_step(const struct step *s, uint64_t *cycles, const char **schedule)
{
    const char *key = key_of(s);
    struct tile_arena arena = {.size = TILE_ARENA_BYTES};
    struct kept *to = &kept[n_kept];
    struct kept here = {.key = key};

    for (unsigned i = 0; i < n_kept; i++) {
        if (strcmp(kept[i].key, key) == 0) {
            to = &kept[i];
        }
    }
    if (to == &kept[n_kept]) {
        arena.base = graph_alloc(1, TILE_ARENA_BYTES);
        plan(&here, s, &arena);
        free(arena.base);
        to = n_kept < KEPT ? &kept[n_kept++] : &kept[0];
        *to = here;
    }
    *cycles = to->why ? 0 : cycles_of(to, s) + TRIAL_STEP + TRIAL_PROGRAM;
    *schedule = to->schedule;
    return to->why;
}

/* What the rule says of prices that are known. */
static void decide(const struct rule_of_joining *rule, struct candidate *c)
{
    uint64_t cycles = c->before.cycles + c->alone.cycles;
    uint64_t bytes = c->before.bytes + c->alone.bytes;
    double less = 100 * (1 - (double)c->after.bytes / (double)bytes);

    if (strcmp(rule->name, "bytes") == 0) {
        c->taken = less >= rule->threshold;
        c->why =
            graph_text("%.0f %% fewer bytes, %.0f are wanted", less, rule->threshold);
    } else if (c->after.cycles > cycles) {
        c->why = graph_text("%llu cycles more",
                            (unsigned long long)(c->after.cycles - cycles));
    } else if (c->after.bytes > bytes) {
        c->why =
            graph_text("%llu bytes more", (unsigned long long)(c->after.bytes - bytes));
    } else {
        c->taken = true;
        c->why = graph_text("%llu cycles and %llu bytes less",
                            (unsigned long long)(cycles - c->after.cycles),
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
        decide(rule, c);
    }
}

void trial_forget(void)
{
    n_kept = 0;
}
