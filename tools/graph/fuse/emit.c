/* SPDX-License-Identifier: MIT
 *
 * Steps of all nodes, and their order; see fuse.h.
 */
#include "tools/graph/fuse/fuse.h"

#include <string.h>

#include "hal/chip.h"
#include "tools/graph/fuse/pattern.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/price/conv_price.h"
#include "tools/graph/price/trial.h"

/* --- nodes --- */

static bool empty(const struct node *n)
{
    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i] && tensor_count(n->out[i]) != 0) {
            return false;
        }
    }
    return true;
}

const struct group *fuse_node(struct emit *e, struct node *n, bool fuse)
{
    struct group **own;

    if (fuse && !n->rule->alone && fuse_take(e, n)) {
        return NULL;
    }
    own = e->last_group;
    n->rule->emit(e, n);
    for (struct group *s = *own; s; s = s->next) {
        s->alone |= n->rule->alone;
    }
    return *own;
}

static void emit_node(struct emit *e, struct node *n, bool fuse)
{
    if (!n->rule->emit) {
        node_die(e->g, n, "the machine has no operator for it");
    }
    for (const struct group *s = fuse_node(e, n, fuse); s; s = s->next) {
        if (s->wrong) {
            node_die(e->g, n, "%s", s->wrong);
        }
    }
}

/* --- steps --- */

/* A group's program. */
static struct step program_of(const struct emit *e, struct group *group, enum arith arith)
{
    struct step s = {.group = group, .arith = arith};

    group->arith = arith;
    program_step(e, group, &s);
    s.plain = s.text;
    s.key = s.n_out ? trial_key(&s) : 0;
    return s;
}

/* The schedule goes with the program where it leads to the same plan, so that the firmware need
 * not search; or one that measurements have told. */
static void predict(struct emit *e, struct step *s)
{
    const char *schedule, *words, *why = trial_step(s, &s->cycles, &schedule);
    struct step with;
    uint64_t cycles;

    if (why) {
        node_die(e->g, s->group->node[0], "%s", why);
    }
    words = tune_words(s);
    if (schedule || words) {
        with = step_with(s, words ? words : schedule);
        if (!trial_step(&with, &cycles, &schedule) && (words || cycles == s->cycles)) {
            *s = with;
            s->tuned = words != NULL;
        }
    }
    s->cycles = trial_behind(s, &e->before);
    s->limit = trial_limit(s, &s->busy);
}

/* Puts it behind the others. */
static struct step *put_step(struct emit *e, const struct step *from)
{
    struct step *s = graph_alloc(1, sizeof(*s));

    *s = *from;
    *e->last = s;
    e->last = &s->next;
    return s;
}

static void go_to_end(struct emit *e)
{
    while (*e->last) {
        e->last = &(*e->last)->next;
    }
}

static bool ariths;

void fuse_ariths(bool wanted)
{
    ariths = wanted;
}

/* In front of the usual program those of another arithmetic: f16 for less cycles, f32 in products
 * of what is rounded to f16 else. */
static void put_ariths(struct emit *e, struct group *group, const struct step *usual)
{
    for (enum arith a = ARITH_F16; a <= ARITH_CUBE; a++) {
        struct step s = program_of(e, group, a);
        const char *schedule;
        uint64_t cycles;
        if (strcmp(s.text, usual->text) == 0 || trial_step(&s, &s.cycles, &schedule) ||
            trial_step(usual, &cycles, &schedule) ||
            (a == ARITH_F16 && s.cycles >= cycles) ||
            (a == ARITH_CUBE && group->n_nodes < 2)) {
            continue;
        }
        predict(e, &s);
        (void)put_step(e, &s);
    }
}

/* --- programs in parts --- */

/* The dimension of a value that is an axis of the group; the rank: none is. */
static unsigned along(const struct value *v, uint8_t axis)
{
    unsigned d = 0;

    while (d < v->t->shape.n && v->axis[d] != axis) {
        d++;
    }
    return d;
}

/* Whether the parts of a value along an axis lie one behind the other, where steps may begin;
 * what has not that axis is the same for all. */
static bool is_cut(const struct value *v, uint8_t axis, bool result)
{
    unsigned d = along(v, axis);
    int64_t stride[GRAPH_RANK];
    bool first = true;

    if (d == v->t->shape.n) {
        return !result;
    }
    for (unsigned k = 0; k < d; k++) {
        first &= v->t->shape.dim[k] == 1;
    }
    shape_strides(&v->t->shape, stride);
    return first && tensor_has_part(v->t, stride[d]);
}

static uint8_t axis_to_cut(const struct group *group)
{
    enum { PARTS = 64 };

    for (uint8_t a = 0; a < group->n_axes; a++) {
        bool good = group->size[a] > 1 && group->size[a] <= PARTS && !group->whole[a];
        for (unsigned i = 0; i < group->n_in; i++) {
            good = good && is_cut(&group->in[i], a, false);
        }
        for (unsigned i = 0; i < group->n_made; i++) {
            good = good && is_cut(&group->made[i], a, true);
        }
        if (good) {
            return a;
        }
    }
    return NO_AXIS;
}

static void take_part(struct value *v, uint8_t axis, int64_t i)
{
    unsigned d = along(v, axis);
    struct shape shape = v->t->shape;
    int64_t stride[GRAPH_RANK];

    if (d < shape.n) {
        shape_strides(&shape, stride);
        shape.dim[d] = 1;
        v->t = tensor_part(v->t, i * stride[d], &shape);
        v->axis[d] = NO_AXIS;
    }
}

static void put_program(struct emit *e, struct group *group);

/* A node that the planner cannot do, for its operands are repeated along other dimensions than
 * loops nest, as a program for each index of the first. */
static bool put_parts(struct emit *e, const struct group *group)
{
    uint8_t axis = group->n_nodes == 1 ? axis_to_cut(group) : NO_AXIS;

    for (int64_t i = 0; axis != NO_AXIS && i < group->size[axis]; i++) {
        struct group *part = graph_alloc(1, sizeof(*part));
        *part = *group;
        part->alone = true;
        for (unsigned k = 0; k < part->n_in; k++) {
            take_part(&part->in[k], axis, i);
        }
        for (unsigned k = 0; k < part->n_made; k++) {
            take_part(&part->made[k], axis, i);
        }
        put_program(e, part);
    }
    return axis != NO_AXIS;
}

static void put_program(struct emit *e, struct group *group)
{
    struct step s = program_of(e, group, ARITH_USUAL);
    enum arith arith = tune_arith(&s);
    const char *schedule;
    uint64_t cycles;

    if (!s.n_out || (trial_step(&s, &cycles, &schedule) && put_parts(e, group))) {
        return;
    }
    if (ariths) {
        put_ariths(e, group, &s);
    }
    s = arith == ARITH_USUAL ? s : program_of(e, group, arith);
    predict(e, &s);
    put_step(e, &s)->next = tune_tries(&s);
    go_to_end(e);
}

/* Each byte comes in and goes out once, at the same time. */
static uint64_t copied_at_least(const struct step *s)
{
    uint64_t in = 0, out = 0;

    for (unsigned i = 0; i < s->n_in; i++) {
        in += tensor_bytes(s->in[i]);
    }
    for (unsigned i = 0; i < s->n_out; i++) {
        out += tensor_bytes(s->out[i]);
    }
    in /= chip_cost(COST_GM_UB_RATE);
    out /= chip_cost(COST_UB_GM_RATE);
    return in > out ? in : out;
}

struct step fuse_operator_step(const struct group *group)
{
    struct step s = {.op = group->op,
                     .text = group->text,
                     .nodes = group->node[0]->name,
                     .n_in = group->n_in,
                     .n_out = group->n_made,
                     .group = group};

    for (unsigned i = 0; i < s.n_in; i++) {
        s.in[i] = group->in[i].t;
    }
    for (unsigned i = 0; i < s.n_out; i++) {
        s.out[i] = group->made[i].t;
    }
    s.cycles = group->moves ? trial_copies(group->moves, group->n_moves) : group->cycles;
    return s;
}

/* A convolution as measurements have told. */
static void cut(struct step *s)
{
    struct conv_plan plan;
    const char *words;
    uint64_t cycles;

    s->plain = s->text;
    s->key = trial_key(s);
    words = tune_cut(s);
    cycles = words ? conv_price_cut(s->group->conv, words, 1, &plan) : 0;
    if (cycles) {
        s->text = graph_text("%s --cut %s", s->text, words);
        s->cycles = CONV_STEP + cycles;
        s->tuned = true;
    }
}

/* An operator that has its own. */
static bool launches(const struct group *group)
{
    return group->op && !group->moves && !group->shares;
}

static void put_operator(struct emit *e, const struct group *group)
{
    struct step s = fuse_operator_step(group);

    s.busy = copied_at_least(&s);
    s.busy = s.busy > group->least ? s.busy : group->least;
    if (launches(group)) {
        memset(e->before.recorded, 0, sizeof(e->before.recorded));
    }
    trial_touch(&s, &e->before);
    if (s.n_out && s.group->conv) {
        struct step *put;
        cut(&s);
        put = put_step(e, &s);
        put->next = tune_cuts(e, put);
        go_to_end(e);
    } else if (s.n_out) {
        (void)put_step(e, &s);
    }
}

/* Behind those that compute what it reads. */
static void emit_steps(struct emit *e, struct group *group)
{
    if (group->emitted) {
        return;
    }
    group->emitted = true;
    if (group->before) {
        emit_steps(e, group->before);
    }
    for (unsigned k = 0; k < group->n_nodes; k++) {
        const struct node *n = group->node[k];
        for (unsigned i = 0; i < n->n_in; i++) {
            struct node *from = n->in[i] ? group_maker(n->in[i]) : NULL;
            if (from && from->group) {
                emit_steps(e, from->group);
            }
        }
    }
    if (group->op && !(strcmp(group->op, "move") == 0 && group->n_moves == 0)) {
        put_operator(e, group);
    } else if (!group->op) {
        put_program(e, group);
    }
}

struct emit *fuse_begin(struct graph *g, const struct rule_of_joining *rule)
{
    struct emit *e = graph_alloc(1, sizeof(*e));

    group_forget_readers(g);
    *e = (struct emit){
        .g = g, .last = &e->steps, .last_group = &e->groups, .last_tried = &e->tried};
    if (rule) {
        e->rule = *rule;
    }
    return e;
}

/* The last step of a launch takes its end, too: behind it is none, or an operator that launches
 * by itself. */
static void end_launches(struct emit *e)
{
    for (struct step *s = e->steps; s; s = s->next) {
        const struct step *next = s->next;
        if (s->cycles && (!next || launches(next->group))) {
            s->cycles += TRIAL_LAUNCH_END;
        }
    }
}

struct emit *fuse_graph(struct graph *g, const struct rule_of_joining *rule)
{
    struct emit *e = fuse_begin(g, rule);

    if (rule) {
        pattern_groups(e);
    }
    for (struct node *n = g->nodes; n; n = n->next) {
        n->done = n->done || empty(n);
        if (!n->done) {
            if (!n->group) {
                emit_node(e, n, rule != NULL);
            }
            node_heard(g, n);
        }
    }
    if (rule) {
        fuse_merge(e);
    }
    for (struct group *s = e->groups; s; s = s->next) {
        emit_steps(e, s);
    }
    end_launches(e);
    return e;
}
