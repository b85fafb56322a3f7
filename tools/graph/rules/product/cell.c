/* SPDX-License-Identifier: MIT
 *
 * Recurrent cells; see recurrent.h. What x gives to the sums of all steps is one product, then
 * each step is a product of its state with the weights of all gates and a program of what
 * follows. Sums are (gate, b, h), so that those of a gate are a part that a program takes:
 *
 *   RNN    h = f(s)
 *   GRU    z, r = f(s), f(s);  n = g(of r h), or g of x's sum + r times h's;  h = (1 - z) n + z h
 *   LSTM   i, f = f(s + p c);  c = f c + i g(s);  o = f(s + p c);  h = o h(c)
 */
#include <string.h>

#include "tools/graph/rules/product/product.h"
#include "tools/graph/rules/product/recurrent.h"

enum { GATE, B, H, K }; /* axes of products */
static const uint8_t of_h[] = {B, H}, of_sums[] = {GATE, B, H};

static struct tensor *state(const struct recurrent *r, const char *what)
{
    struct shape s = {.n = 2, .dim = {r->b, r->h}};

    return tensor_new(r->n, what, r->x->type, &s);
}

static struct tensor *sums(const struct recurrent *r, const char *what, int64_t gates)
{
    struct shape s = {.n = 3, .dim = {gates, r->b, r->h}};

    return tensor_new(r->n, what, ELEM_F32, &s);
}

/* Sums of one gate. */
static struct tensor *gate_of(const struct recurrent *r, struct tensor *of, int64_t gate)
{
    struct shape s = {.n = 2, .dim = {r->b, r->h}};

    return tensor_part(of, gate * r->b * r->h, &s);
}

/* What x gives to the sums of gate g and those behind it in step t. */
static struct tensor *of_x(const struct recurrent_pass *p, int64_t t, int64_t g,
                           int64_t gates)
{
    const struct recurrent *r = p->r;
    struct shape s = {.n = 3, .dim = {gates, r->b, r->h}};

    return tensor_part(p->sums, (t * r->gates + g) * r->b * r->h, &s);
}

/* Operand 3, biases of x and behind them those of h: from gate g on. */
static const char *bias(struct program *to, const struct recurrent_pass *p, bool is_h,
                        int64_t g, int64_t gates, const uint8_t *axes)
{
    const struct recurrent *r = p->r;
    struct shape s = {.n = 2, .dim = {gates, r->h}};
    int64_t at = (2 * p->number + is_h) * r->gates + g;

    return program_in(to, tensor_part(r->n->in[3], at * r->h, &s), axes);
}

/* The sums of x with the biases that are added there, (t, b, gate, h). */
static struct tensor *product_of_x(struct recurrent_pass *p)
{
    enum { ROW, OUT_GATE, OUT, IN };
    static const uint8_t of_rows[] = {ROW, IN}, of_w[] = {OUT_GATE, OUT, IN},
                         of_y[] = {ROW, OUT_GATE, OUT}, of_bias[] = {OUT_GATE, OUT};
    const struct recurrent *r = p->r;
    struct shape x = {.n = 2, .dim = {r->t * r->b, r->k}};
    struct shape w = {.n = 3, .dim = {r->gates, r->h, r->k}};
    struct shape y = {.n = 3, .dim = {r->t * r->b, r->gates, r->h}};
    struct tensor *to = tensor_new(r->n, "sums", ELEM_F32, &y);
    struct program at = program_begin(r->e, r->n);
    int64_t from = p->number * r->gates * r->h * r->k;
    const char *sum = product_of(&at, tensor_view(r->x, &x), of_rows,
                                 tensor_part(r->n->in[1], from, &w), of_w, IN, r->k);

    if (node_maybe(r->n, 3)) {
        sum = graph_text("%s + %s", sum, bias(&at, p, false, 0, r->gates, of_bias));
        if (!r->apart) {
            sum = graph_text("%s + %s", sum, bias(&at, p, true, 0, r->gates, of_bias));
        }
    }
    program_out(&at, to, of_y, sum, false);
    at.group->alone = true;
    return to;
}

/* ... with the gates of a step in front of its batch. */
static void sums_of_x(struct recurrent_pass *p)
{
    const struct recurrent *r = p->r;
    struct tensor *plain = product_of_x(p);
    struct copy c;

    if (r->b == 1 || r->gates == 1) {
        p->sums = plain;
        return;
    }
    p->sums = tensor_new(r->n, "gates", plain->type, &plain->shape);
    copy_begin(&c, r->e, r->n, p->sums);
    copy_dim(&c, r->t, r->b * r->gates * r->h, r->b * r->gates * r->h);
    copy_dim(&c, r->gates, r->h, r->b * r->h);
    copy_dim(&c, r->b, r->gates * r->h, r->h);
    copy_dim(&c, r->h, 1, 1);
    copy_add(&c, plain, 0, 0);
}

/* A product of h with the units' weights of some gates, and what is added; its text. */
static const char *product_of_h(struct program *to, const struct recurrent_pass *p,
                                struct tensor *h, int64_t gate, int64_t gates)
{
    static const uint8_t of_rows[] = {B, K}, of_w[] = {GATE, H, K};
    const struct recurrent *r = p->r;
    struct shape w = {.n = 3, .dim = {gates, r->h, r->h}};
    int64_t from = (p->number * r->gates + gate) * r->h * r->h;

    return product_of(to, h, of_rows, tensor_part(r->n->in[2], from, &w), of_w, K,
                      r->h);
}

/* Sums of step t: those of x, if `x`, and those of h. */
static struct tensor *step_sums(const struct recurrent_pass *p, int64_t t,
                                struct tensor *h, int64_t gate, int64_t gates, bool x)
{
    static const uint8_t of_bias[] = {GATE, H};
    const struct recurrent *r = p->r;
    struct tensor *to = sums(r, "step", gates);
    struct program at = program_begin(r->e, r->n);
    const char *sum = product_of_h(&at, p, h, gate, gates);

    if (x) {
        sum =
            graph_text("%s + %s", sum, program_in(&at, of_x(p, t, gate, gates), of_sums));
    } else if (node_maybe(r->n, 3)) {
        sum = graph_text("%s + %s", sum, bias(&at, p, true, gate, gates, of_bias));
    }
    program_out(&at, to, of_sums, sum, false);
    at.group->alone = true;
    return to;
}

/* --- expressions --- */

static const char *apply(struct program *to, const struct activation *act, const char *x)
{
    const char *value[] = {program_line(to, x)};
    const char *attr[] = {graph_text("(%.9g)", act->alpha),
                          graph_text("(%.9g)", act->beta)};

    return program_line(to, program_text_with(act->text, value, attr));
}

/* A gate of a sum. */
static const char *gated(struct program *to, const struct recurrent_pass *p, unsigned act,
                         const char *sum)
{
    if (p->r->clip > 0) {
        sum = graph_text("min(max(%s, -%.9g), %.9g)", program_line(to, sum), p->r->clip,
                         p->r->clip);
    }
    return apply(to, &p->act[act], sum);
}

/* --- one step --- */

/* h and c of a step: what they were, what they become. */
struct step_of {
    int64_t t;
    struct tensor *h, *c, *new_h, *new_c;
};

static void rnn(const struct recurrent_pass *p, const struct step_of *s)
{
    struct program at = program_begin(p->r->e, p->r->n);
    const char *sum = product_of_h(&at, p, s->h, 0, 1);

    sum = graph_text("%s + %s", sum,
                     program_in(&at, gate_of(p->r, of_x(p, s->t, 0, 1), 0), of_h));
    program_out(&at, s->new_h, of_h, gated(&at, p, 0, sum), false);
    at.group->alone = true;
}

/* What is left of h where r resets it. */
static struct tensor *reset(const struct recurrent_pass *p, struct tensor *sum,
                            struct tensor *h)
{
    struct tensor *to = state(p->r, "reset");
    struct program at = program_begin(p->r->e, p->r->n);
    const char *r = gated(&at, p, 0, program_in(&at, gate_of(p->r, sum, 1), of_h));

    program_out(&at, to, of_h, graph_text("%s * %s", r, program_in(&at, h, of_h)), false);
    at.group->alone = true;
    return to;
}

static void gru(const struct recurrent_pass *p, const struct step_of *s)
{
    enum { Z, R, N };
    const struct recurrent *r = p->r;
    struct tensor *own = r->apart ? step_sums(p, s->t, s->h, Z, 3, false)
                                  : step_sums(p, s->t, s->h, Z, 2, true);
    struct tensor *last =
        r->apart ? NULL : step_sums(p, s->t, reset(p, own, s->h), N, 1, true);
    struct program at = program_begin(r->e, r->n);
    const char *z = program_in(&at, gate_of(r, own, Z), of_h), *n, *u;

    if (r->apart) {
        z = graph_text("%s + %s", z,
                       program_in(&at, gate_of(r, of_x(p, s->t, Z, 1), 0), of_h));
        u = program_in(&at, gate_of(r, own, R), of_h);
        u = graph_text("%s + %s", u,
                       program_in(&at, gate_of(r, of_x(p, s->t, R, 1), 0), of_h));
        u = gated(&at, p, 0, u);
        n = program_in(&at, gate_of(r, of_x(p, s->t, N, 1), 0), of_h);
        n = graph_text("%s + %s * %s", n, u, program_in(&at, gate_of(r, own, N), of_h));
    } else {
        n = program_in(&at, gate_of(r, last, 0), of_h);
    }
    z = gated(&at, p, 0, z);
    n = gated(&at, p, 1, n);
    program_out(
        &at, s->new_h, of_h,
        graph_text("(1 - %s) * %s + %s * %s", z, n, z, program_in(&at, s->h, of_h)),
        false);
    at.group->alone = true;
}

/* A sum, and a part of what the cell holds besides: of `gate` by operand 7. */
static const char *peep(struct program *to, const struct recurrent_pass *p,
                        const char *sum, const char *c, int64_t gate)
{
    static const uint8_t of_units[] = {H};
    const struct recurrent *r = p->r;
    struct shape s = {.n = 1, .dim = {r->h}};
    struct tensor *part;

    if (!node_maybe(r->n, 7)) {
        return sum;
    }
    part = tensor_part(r->n->in[7], (3 * p->number + gate) * r->h, &s);
    return graph_text("%s + %s * %s", sum, program_in(to, part, of_units), c);
}

static void lstm(const struct recurrent_pass *p, const struct step_of *s)
{
    enum { I, O, F, G }; /* of peepholes the first three */
    const struct recurrent *r = p->r;
    struct tensor *sum = step_sums(p, s->t, s->h, 0, RECURRENT_GATES, true);
    struct program at = program_begin(r->e, r->n);
    const char *x[RECURRENT_GATES], *c = program_in(&at, s->c, of_h), *in, *out, *keep;

    for (int64_t g = 0; g < RECURRENT_GATES; g++) {
        bool unused = r->couple && g == F;
        x[g] = unused ? NULL : program_in(&at, gate_of(r, sum, g), of_h);
    }
    in = gated(&at, p, 0, peep(&at, p, x[I], c, I));
    keep = r->couple ? graph_text("(1 - %s)", in)
                     : gated(&at, p, 0, peep(&at, p, x[F], c, F));
    c = graph_text("%s * %s + %s * %s", keep, c, in, gated(&at, p, 1, x[G]));
    c = program_line(&at, c);
    out = gated(&at, p, 0, peep(&at, p, x[O], c, O));
    program_out(&at, s->new_c, of_h, c, false);
    program_out(&at, s->new_h, of_h,
                graph_text("%s * %s", out, apply(&at, &p->act[2], c)), false);
    at.group->alone = true;
}

/* A sequence that is over stays as it was, and gives zeros. */
static void mask(const struct recurrent_pass *p, struct step_of *s, struct tensor *y)
{
    static const uint8_t of_lengths[] = {B};
    const struct recurrent *r = p->r;
    struct tensor *h = state(r, "h"), *c = s->c ? state(r, "c") : NULL;
    struct program at = program_begin(r->e, r->n);
    const char *on = program_in(&at, r->lengths, of_lengths);
    const char *is = program_in(&at, s->new_h, of_h), *was = program_in(&at, s->h, of_h);

    on = graph_text("%s > %lld", on, (long long)s->t);
    program_out(&at, h, of_h, graph_text("where(%s, %s, %s)", on, is, was), false);
    program_out(&at, y, of_h, graph_text("where(%s, %s, 0)", on, is), false);
    if (c) {
        is = program_in(&at, s->new_c, of_h);
        was = program_in(&at, s->c, of_h);
        program_out(&at, c, of_h, graph_text("where(%s, %s, %s)", on, is, was), false);
    }
    at.group->alone = true;
    s->new_h = h;
    s->new_c = c;
}

void recurrent_run(struct recurrent_pass *p)
{
    const struct recurrent *r = p->r;
    struct shape of_state = {.n = 2, .dim = {r->b, r->h}};

    sums_of_x(p);
    for (int64_t i = 0; i < r->t; i++) {
        int64_t t = p->back ? r->t - 1 - i : i;
        int64_t at = (t * r->directions + p->number) * r->b * r->h;
        struct tensor *y = tensor_part(r->all, at, &of_state);
        struct step_of s = {.t = t, .h = p->h, .c = p->c};

        s.new_h = r->lengths ? state(r, "new_h") : y;
        s.new_c = r->gates == RECURRENT_GATES ? state(r, "new_c") : NULL;
        if (r->gates == 1) {
            rnn(p, &s);
        } else if (r->gates == RECURRENT_GATES) {
            lstm(p, &s);
        } else {
            gru(p, &s);
        }
        if (r->lengths) {
            mask(p, &s, y);
        }
        p->h = s.new_h;
        p->c = s.new_c;
    }
}
