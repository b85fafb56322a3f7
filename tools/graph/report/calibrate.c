/* SPDX-License-Identifier: MIT
 *
 * See calibrate.h.
 */
#include "tools/graph/report/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/contract/contract.h"
#include "tools/graph/fuse/tune.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/price/trial.h"
#include "tools/graph/report/double.h"
#include "tools/graph/report/record.h"

/* From the fastest to the most exact. */
enum level { IN_F16, IN_F32, BY_CUBE, APART, LEVELS };
static const char *const level_text[] = {"f16", "f32", "F32 Cube", "apart"};
#define TIMES 2   /* that of values which are rounded correctly */
#define WORTH 0.5 /* of the error: what does not mend it is worth so much */

/* Of a program the worst sample of each level, by what is allowed. */
struct verdict {
    const struct step *s; /* the usual one */
    bool there[LEVELS];
    double error[LEVELS], allowed[LEVELS];
    enum level level;
    const char *why; /* it is not known */
    struct verdict *next;
};

/* --- tensors of a run --- */

/* Constants are as the machine has them. */
static double *values_of(struct tensor *t)
{
    struct tensor *root = tensor_root(t);

    if (root->value && !root->seen) {
        size_t count = (size_t)tensor_count(root);
        root->seen = graph_alloc(count, sizeof(double));
        for (size_t i = 0; i < count; i += PACKED_PART) {
            size_t n = count - i < PACKED_PART ? count - i : PACKED_PART;
            packed_read(root, i, n, root->seen + i);
        }
        elem_round_all(root->type, root->seen, count);
    }
    return root->seen ? root->seen + tensor_offset(t) : NULL;
}

static void see(struct tensor *t, const struct tensor *from)
{
    struct tensor *root = tensor_root(t);

    if (!root->seen) {
        root->seen = graph_alloc((size_t)tensor_count(root), sizeof(double));
    }
    memcpy(root->seen + tensor_offset(t), from->value,
           (size_t)tensor_count(t) * sizeof(double));
}

static void see_inputs(const struct graph *g, const char *paths)
{
    char *all = graph_text("%s", paths), *path = strtok(all, ",");

    for (unsigned i = 0; i < g->n_inputs; i++, path = strtok(NULL, ",")) {
        const struct tensor *t = path ? graph_read_npy(path) : NULL;
        if (!t || !shape_equal(&t->shape, &g->input[i]->shape)) {
            record_fail(paths, "is not what the model takes");
        }
        if (!g->input[i]->value) {
            see(g->input[i], t);
        }
    }
}

/* Result number *at of a run, which is one of a step of the plan. */
static struct tensor *next_tensor(const struct record *run, unsigned *at,
                                  const struct tensor *of)
{
    struct tensor *t;

    if (*at == run->n) {
        record_fail(run->folder, "is of another plan");
    }
    t = record_tensor(run, (*at)++);
    if (tensor_count(t) != tensor_count(of)) {
        record_fail(run->folder, "is of another plan");
    }
    return t;
}

/* All of a run with each node by itself. */
static void see_plain(const struct emit *e, const char *inputs, const char *folder)
{
    struct record *run = record_read(folder, "tensors", false);
    unsigned at = 0;

    see_inputs(e->g, inputs);
    for (const struct step *s = e->steps; s; s = s->next) {
        for (unsigned i = 0; i < s->n_out; i++) {
            struct tensor *t = next_tensor(run, &at, s->out[i]);
            see(s->out[i], t);
            free(t->value);
        }
    }
    free(run);
}

/* What the other graph has of a tensor, or NULL. */
static double *plain_values(const struct emit *plain, struct tensor *t)
{
    const char *name = tensor_root(t)->name;

    if (tensor_root(t)->value) {
        return values_of(t);
    }
    for (const struct step *s = plain->steps; s; s = s->next) {
        for (unsigned i = 0; i < s->n_out; i++) {
            struct tensor *root = tensor_root(s->out[i]);
            if (strcmp(root->name, name) == 0) {
                return root->seen ? root->seen + tensor_offset(t) : NULL;
            }
        }
    }
    for (unsigned i = 0; i < plain->g->n_inputs; i++) {
        struct tensor *in = plain->g->input[i];
        if (strcmp(in->name, name) == 0) {
            return in->seen ? in->seen + tensor_offset(t) : NULL;
        }
    }
    return NULL;
}

/* --- what a program should give --- */

/* Its results in double precision, and what rounding may do to each; of those that are floating. */
struct wanted {
    double *exact[PLAN_OUT], rounded[PLAN_OUT];
};

static bool measured(const struct tensor *t)
{
    return elem_is_float(t->type);
}

/* Which nodes of the program are tensors of the model, and their types. */
static void round_to(const struct tile_kernel *k, const struct group *group,
                     enum elem to[TILE_NODES + 1])
{
    memset(to, 0, (TILE_NODES + 1) * sizeof(*to));
    for (unsigned i = 0; i < group->n_made; i++) {
        const struct value *v = &group->made[i];
        tile_value named = v->is_mask ? 0 : tile_named(k, v->name);
        if (named && measured(v->t)) {
            to[named] = v->t->type;
        }
    }
}

/* Of operands in[]; NULL, or why it is not known. */
static const char *want(const struct step *s, const double *const *in, struct wanted *w)
{
    static struct doubles exact, rounded;
    static enum elem to[TILE_NODES + 1];
    struct step usual = *s;
    const char *why = NULL;
    const struct tile_kernel *k;

    usual.text = s->plain;
    k = trial_kernel(&usual, &why);
    if (k) {
        round_to(k, s->group, to);
        why = double_compute(&exact, k, in, NULL, NULL);
    }
    if (!why) {
        why = double_compute(&rounded, k, in, to, &exact);
        for (unsigned i = 0; i < s->n_out && !why; i++) {
            double *near = double_result(&rounded, i);
            w->exact[i] = double_result(&exact, i);
            w->rounded[i] = record_error(near, w->exact[i], tensor_count(s->out[i]));
            free(near);
        }
        double_free(&rounded);
    }
    if (k) {
        double_free(&exact);
    }
    return why;
}

static void forget(struct wanted *w)
{
    for (unsigned i = 0; i < PLAN_OUT; i++) {
        free(w->exact[i]);
        w->exact[i] = NULL;
    }
}

/* --- verdicts --- */

/* None is allowed: infinite. Both are infinite, as where rounded values are beyond F16: 1. */
static double ratio(double error, double allowed)
{
    return isinf(allowed) ? (isinf(error) ? 1 : 0) : error > 0 ? error / allowed : 0;
}

/* One result of a level. */
static void judge(struct verdict *v, enum level level, const double *got,
                  const struct wanted *w, unsigned i, double tolerance)
{
    double error = record_error(got, w->exact[i], tensor_count(v->s->out[i]));
    double allowed = tolerance >= 0 ? tolerance : TIMES * w->rounded[i];

    if (!v->there[level] ||
        ratio(error, allowed) > ratio(v->error[level], v->allowed[level])) {
        v->error[level] = error;
        v->allowed[level] = allowed;
    }
    v->there[level] = true;
}

static bool operands(const struct step *s, const struct emit *plain, const double **in)
{
    for (unsigned i = 0; i < s->n_in; i++) {
        in[i] = plain ? plain_values(plain, s->in[i]) : values_of(s->in[i]);
        if (!in[i]) {
            return false;
        }
    }
    return true;
}

/* The same of the nodes by themselves, of what they have there. */
static void judge_apart(struct verdict *v, const struct emit *plain, double tolerance)
{
    const double *in[PLAN_IN];
    struct wanted w = {0};

    if (v->s->group->n_nodes < 2 || !operands(v->s, plain, in) || want(v->s, in, &w)) {
        return;
    }
    for (unsigned i = 0; i < v->s->n_out; i++) {
        const double *got = plain_values(plain, v->s->out[i]);
        if (got && measured(v->s->out[i])) {
            judge(v, APART, got, &w, i, tolerance);
        }
    }
    forget(&w);
}

static struct verdict *verdict_of(struct verdict **list, const struct step *s)
{
    for (; *list; list = &(*list)->next) {
        if ((*list)->s->group == s->group) {
            return *list;
        }
    }
    *list = graph_alloc(1, sizeof(**list));
    return *list;
}

/* Several arithmetics of a group are steps one behind the other, the usual one last. */
static const struct step *usual_of(const struct step *s)
{
    while (s->arith != ARITH_USUAL) {
        s = s->next;
    }
    return s;
}

static bool decidable(const struct step *s)
{
    return !s->op && (s->arith != ARITH_USUAL || s->group->n_nodes > 1);
}

static enum level level_of(enum arith arith)
{
    return arith == ARITH_F16 ? IN_F16 : arith == ARITH_CUBE ? BY_CUBE : IN_F32;
}

/* A run: each program beside what it should give of what it got there. */
static void judge_run(const struct emit *e, const struct emit *plain, const char *inputs,
                      const char *folder, double tolerance, struct verdict **verdicts)
{
    struct record *run = record_read(folder, "tensors", false);
    const struct group *group = NULL;
    struct wanted w = {0};
    struct verdict *v = NULL;
    unsigned at = 0;

    see_inputs(e->g, inputs);
    for (const struct step *s = e->steps; s; s = s->next) {
        if (s->group != group) {
            const double *in[PLAN_IN];
            group = s->group;
            forget(&w);
            v = decidable(s) ? verdict_of(verdicts, s) : NULL;
            if (v) {
                v->s = usual_of(s);
                v->why = operands(s, NULL, in) ? want(v->s, in, &w)
                                               : "an operand is not known";
                judge_apart(v, plain, tolerance);
            }
        }
        for (unsigned i = 0; i < s->n_out; i++) {
            struct tensor *t = next_tensor(run, &at, s->out[i]);
            if (v && !v->why && measured(s->out[i])) {
                judge(v, level_of(s->arith), t->value, &w, i, tolerance);
            }
            see(s->out[i], t);
            free(t->value);
        }
    }
    forget(&w);
    free(run);
}

/* --- what becomes of them --- */

static bool holds(const struct verdict *v, enum level level)
{
    return v->there[level] && v->error[level] <= v->allowed[level];
}

static enum level first_of(const struct verdict *v)
{
    return v->there[IN_F16] ? IN_F16 : IN_F32;
}

/* The first that holds; if none does the usual one, unless another is much nearer. */
static enum level choose(const struct verdict *v)
{
    enum level best = IN_F32;

    for (enum level l = IN_F16; l < LEVELS; l++) {
        if (holds(v, l)) {
            return l;
        }
    }
    for (enum level l = BY_CUBE; l < LEVELS; l++) {
        if (v->there[l] && v->error[l] <= WORTH * v->error[best]) {
            best = l;
        }
    }
    return best;
}

/* Programs of one text have one arithmetic: the highest that one of them needs. */
static void agree(struct verdict *all)
{
    for (struct verdict *v = all; v; v = v->next) {
        for (const struct verdict *o = all; o && v->level < APART; o = o->next) {
            if (o->s->key == v->s->key && o->level < APART && o->level > v->level) {
                v->level = o->level;
            }
        }
    }
}

static void tell(const struct verdict *v)
{
    enum level first = first_of(v);

    if (v->why) {
        printf("  %s: %s\n", v->s->nodes, v->why);
        return;
    }
    if (v->level == first && holds(v, first)) {
        return;
    }
    printf("  %s: %s %.1e of its largest element, %.1e allowed", v->s->nodes,
           level_text[first], v->error[first], v->allowed[first]);
    for (enum level l = first + 1; l <= (holds(v, v->level) ? v->level : APART); l++) {
        if (v->there[l]) {
            printf("; %s %.1e", level_text[l], v->error[l]);
        }
    }
    printf(": %s%s\n", level_text[v->level],
           holds(v, v->level) ? "" : ", nothing mends it");
}

static void write_line(const struct verdict *v, FILE *to)
{
    if (v->level == IN_F16 || v->level == BY_CUBE) {
        fprintf(to, "arith %08x %s\n", v->s->key, v->level == IN_F16 ? "f16" : "cube");
    } else if (v->level == APART) {
        fprintf(to, "mended ");
        for (unsigned i = 0; i < v->s->group->n_nodes; i++) {
            fprintf(to, "%s%08x", i ? "," : "", tune_name(v->s->group->node[i]));
        }
        fprintf(to, "\n");
    }
}

void calibrate(const struct emit *fused, const struct emit *plain, const char *folder,
               const char *const *samples, unsigned n, double tolerance, FILE *to)
{
    struct verdict *all = NULL;
    unsigned count[LEVELS] = {0}, unmended = 0, programs = 0;

    for (unsigned i = 0; i < n; i++) {
        see_plain(plain, samples[i], graph_text("%s/plain.%u", folder, i));
        judge_run(fused, plain, samples[i], graph_text("%s/fused.%u", folder, i),
                  tolerance, &all);
    }
    for (struct verdict *v = all; v; v = v->next) {
        v->level = v->why ? IN_F32 : choose(v);
    }
    agree(all);
    fprintf(to, "tuned %s\n", npu_profile_name(chip_profile()));
    for (struct verdict *v = all; v; v = v->next) {
        tell(v);
        write_line(v, to);
        programs++;
        count[v->level]++;
        unmended += !v->why && !holds(v, v->level);
    }
    printf("calibrate: %u programs: %u in f16, %u in f32, %u by the F32 Cube, %u apart; "
           "%u that nothing mends\n",
           programs, count[IN_F16], count[IN_F32], count[BY_CUBE], count[APART],
           unmended);
}
