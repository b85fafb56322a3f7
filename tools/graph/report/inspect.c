/* SPDX-License-Identifier: MIT
 *
 * graph inspect: whether a model can run, what its work wants of the machine, and what is worth
 * changing; by what its plan is predicted to take on one core.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "tools/graph/model/dtype.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/price/trial.h"
#include "tools/graph/report/inspect.h"
#include "tools/graph/rules/rules.h"

/* Points of a score, and what is told. */
enum { SUPPORT = 40, COMPUTES = 20, NEAR = 20, FP16 = 20, PROBLEMS = 16, TOLD = 3 };

#define FP16_NORMAL 0x1p-14
#define FP16_LEAST  0x1p-25 /* half of that, a tie, is 0 */

struct problem {
    double points; /* that it costs */
    const char *what, *remedy;
};

struct inspection {
    const struct graph *g;
    unsigned nodes, known;
    double flop, bytes, cycles, copies,
        fixed;                         /* of the plan; cycles of copies, of beginning */
    unsigned steps, operators;         /* operators: not predicted */
    const struct step *copy, *longest; /* those that take most */
    /* Of floats: beyond fp16, with fewer bits, 0 in it; 0, or beside one that is beyond it. */
    double weights, large, small, lost, unfit;
    const struct tensor *largest; /* that has one which is too large */
    struct problem problem[PROBLEMS];
    unsigned n_problems;
};

static void add(struct inspection *i, double points, const char *what, const char *remedy)
{
    if (i->n_problems < PROBLEMS) {
        i->problem[i->n_problems++] = (struct problem){points, what, remedy};
    }
}

/* --- support --- */

/* Nodes of the same operator. */
static unsigned count_of(const struct graph *g, const char *op)
{
    unsigned count = 0;

    for (const struct node *n = g->nodes; n; n = n->next) {
        count += strcmp(n->op, op) == 0;
    }
    return count;
}

static bool is_first(const struct graph *g, const struct node *n)
{
    const struct node *first = g->nodes;

    while (strcmp(first->op, n->op) != 0) {
        first = first->next;
    }
    return first == n;
}

static void look_at_support(struct inspection *i)
{
    for (const struct node *n = i->g->nodes; n; n = n->next) {
        i->nodes++;
        i->known += rules_find(n->op) != NULL;
    }
    for (const struct node *n = i->g->nodes; n; n = n->next) {
        if (!rules_find(n->op) && is_first(i->g, n)) {
            unsigned count = count_of(i->g, n->op);
            printf("  node '%s' (%s), %u of these: no such operator of opset %d here%s\n",
                   n->name, n->op, count, i->g->opset, rules_why_not(n->op));
            add(i, SUPPORT * (double)count / i->nodes,
                graph_text("%s is not known, %u nodes", n->op, count),
                "cut the model in front of it, or export what it is made of");
        }
    }
}

/* --- work --- */

/* Products and sums that the formula has; 1 of each element where it has none. */
static double flop_of(const struct node *n)
{
    double out = n->out[0] ? (double)tensor_count(n->out[0]) : 0;
    const struct tensor *a = n->in[0], *b = n->n_in > 1 ? n->in[1] : NULL;

    if (strcmp(n->op, "MatMul") == 0) {
        return 2 * out * (double)a->shape.dim[a->shape.n - 1];
    }
    if (strcmp(n->op, "Gemm") == 0) {
        return 2 * out * (double)a->shape.dim[node_int(n, "transA", 0) ? 0 : 1];
    }
    if (strcmp(n->op, "Conv") == 0) {
        return 2 * out * (double)tensor_count(b) / (double)b->shape.dim[0];
    }
    if (strcmp(n->op, "ConvTranspose") == 0) {
        return 2 * (double)tensor_count(a) * (double)tensor_count(b) /
               (double)b->shape.dim[0];
    }
    if (n->rule->optional &&
        n->n_in > 2) { /* recurrent: weights of x and of states in each step */
        return 2 * (double)(tensor_count(b) + tensor_count(n->in[2])) *
               (double)(a->shape.dim[0] * a->shape.dim[1]);
    }
    return out;
}

static bool is_copy(const struct step *s)
{
    return s->op && strcmp(s->op, "move") == 0;
}

static void look_at_work(struct inspection *i, const struct emit *e)
{
    for (const struct node *n = i->g->nodes; n; n = n->next) {
        i->flop += n->group ? flop_of(n) : 0;
    }
    for (const struct step *s = e->steps; s; s = s->next) {
        const struct step **most = is_copy(s) ? &i->copy : &i->longest;
        i->steps++;
        i->operators += s->op && !s->cycles;
        i->bytes += (double)step_bytes(s);
        i->cycles += (double)s->cycles;
        i->fixed += s->cycles ? TRIAL_STEP : 0;
        i->copies += is_copy(s) ? (double)s->cycles : 0;
        *most = *most && (*most)->cycles >= s->cycles ? *most : s;
    }
}

/* --- weights --- */

static void look_at_weight(struct inspection *i, struct tensor *t)
{
    static double part[PACKED_PART];
    size_t count;
    double large = 0, lost = 0;

    if (!t->value || t->alias || !elem_is_float(t->type)) {
        return;
    }
    count = (size_t)tensor_count(t);
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < PACKED_PART ? count - at : PACKED_PART;
        packed_read(t, at, n, part);
        for (size_t k = 0; k < n; k++) {
            double x = fabs(part[k]);
            large += x > DTYPE_F16_MAX;
            lost += x > 0 && x <= FP16_LEAST;
            i->small += x > FP16_LEAST && x < FP16_NORMAL;
        }
    }
    i->weights += (double)count;
    i->large += large;
    i->lost += lost;
    i->unfit += large > 0 ? (double)count : lost;
    i->largest = large > 0 ? t : i->largest;
}

/* --- what comes of it --- */

/* Operations a cycle of the Cube, bytes a cycle from GM. */
static double peak(const struct graph *g)
{
    bool half = g->n_inputs && g->input[0]->type == ELEM_F16;

    /* A fractal is 16 x 16 x type_c0(); of fp32 it takes two cycles. */
    return 2.0 * 16 * 16 * (half ? type_c0(TYPE_F16) : type_c0(TYPE_F32) / 2.0);
}

static double rate(void)
{
    return chip_cost(COST_GM_L1_RATE);
}

static double share(double part, double of)
{
    return of > 0 ? part / of : 0;
}

static void weigh(struct inspection *i)
{
    double limit = fmax(i->flop / peak(i->g), i->bytes / rate());
    double rest = i->cycles - i->copies - i->fixed;

    if (i->copy) {
        add(i, COMPUTES * share(i->copies, i->cycles),
            graph_text("copies take %.0f %% of the cycles, most of them '%s'",
                       100 * share(i->copies, i->cycles), i->copy->nodes),
            "export it without what only moves (Transpose, Pad, Slice), strides of 1 "
            "last");
    }
    add(i, NEAR * share(i->fixed, i->cycles),
        graph_text("%u steps take %.0f %% of the cycles to begin", i->steps,
                   100 * share(i->fixed, i->cycles)),
        "a larger batch, or larger sizes, has more to do in each");
    if (i->longest && i->longest->cycles) {
        double own = (double)i->longest->cycles;
        add(i, NEAR * share(own, i->cycles) * fmax(0, 1 - share(limit, i->cycles)),
            graph_text("step '%s' takes %.0f %% of the cycles", i->longest->nodes,
                       100 * share(own, i->cycles)),
            "explain.txt says what it is made of; tools/profile where its cycles went");
    }
    if (i->bytes / rate() > i->flop / peak(i->g)) {
        add(i, NEAR * share(fmin(i->bytes / rate(), rest), i->cycles),
            graph_text("it waits for %.1f MiB of GM, the Cube would have %.0f %% of that",
                       i->bytes / (1 << 20),
                       100 * share(i->flop / peak(i->g), i->bytes / rate())),
            "fp16 halves the bytes; a larger batch uses weights more than once");
    }
    if (i->large || i->lost) {
        add(i, FP16 * share(i->unfit, i->weights),
            graph_text("%.0f weights are beyond fp16, %.0f are 0 in it%s%s", i->large,
                       i->lost, i->largest ? ", as some of " : "",
                       i->largest ? i->largest->name : ""),
            "leave that layer in fp32, or scale it and its neighbour");
    }
}

static int by_points(const void *a, const void *b)
{
    const struct problem *x = a, *y = b;

    return (x->points < y->points) - (x->points > y->points);
}

static double term(const char *name, double part, int points, const char *what)
{
    printf("  %-10s %5.1f of %2d: %s\n", name, part * points, points, what);
    return part * points;
}

static void tell(struct inspection *i, bool can)
{
    double limit = fmax(i->flop / peak(i->g), i->bytes / rate()), score;
    double fits = 1 - share(i->unfit, i->weights);

    printf("score\n");
    score = term("support", share(i->known, i->nodes), SUPPORT,
                 graph_text("%u of %u nodes", i->known, i->nodes));
    if (can) {
        score += term("computes", 1 - share(i->copies, i->cycles), COMPUTES,
                      graph_text("%.0f of %.0f cycles are no copies",
                                 i->cycles - i->copies, i->cycles));
        score += term("near", fmin(1, share(limit, i->cycles)), NEAR,
                      graph_text("%.0f cycles are what the formulas want", limit));
        score += term(
            "fp16", fits, FP16,
            graph_text("%.0f of %.0f weights, without tensors that have one too large",
                       i->weights - i->unfit, i->weights));
    }
    printf("  %-10s %5.1f of %2d\n", "", score, SUPPORT + COMPUTES + NEAR + FP16);
    qsort(i->problem, i->n_problems, sizeof(i->problem[0]), by_points);
    printf("worst\n");
    for (unsigned k = 0; k < i->n_problems && k < TOLD; k++) {
        printf("  %4.1f points: %s: %s\n", i->problem[k].points, i->problem[k].what,
               i->problem[k].remedy);
    }
}

static void tell_work(const struct inspection *i)
{
    printf("work       %.1f M operations, %.2f MiB moved by %u steps: %.1f a byte, the "
           "chip's balance is %.1f\n",
           i->flop / 1e6, i->bytes / (1 << 20), i->steps, share(i->flop, i->bytes),
           peak(i->g) / rate());
    printf("bandwidth  %.1f of %.0f bytes a cycle of GM, %.0f cycles predicted",
           share(i->bytes, i->cycles), rate(), i->cycles);
    if (i->operators) {
        printf(", but for %u steps by operators", i->operators);
    }
    printf("\nfp16       of %.0f weights %.0f are too large, %.0f lose bits, %.0f become "
           "0\n",
           i->weights, i->large, i->small, i->lost);
}

bool inspect_support(const struct graph *g, struct inspection **made)
{
    struct inspection *i = graph_alloc(1, sizeof(*i));

    i->g = g;
    *made = i;
    look_at_support(i);
    printf("support    %u of %u nodes, opset %d\n", i->known, i->nodes, g->opset);
    if (i->known < i->nodes) {
        tell(i, false);
    }
    return i->known == i->nodes;
}

void inspect_plan(struct inspection *i, const struct emit *e)
{
    look_at_work(i, e);
    for (struct tensor *t = i->g->tensors; t; t = t->next) {
        look_at_weight(i, t);
    }
    tell_work(i);
    weigh(i);
    tell(i, true);
}
