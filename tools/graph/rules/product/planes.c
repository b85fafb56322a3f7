/* SPDX-License-Identifier: MIT
 *
 * Products of F32 on chips whose Cube has none: by F16, x ~ hi + lo / 64, hi = f16(x),
 *
 *     sum a b ~ sum hi hi + (sum hi lo + sum lo hi) / 64        lo = f16((x - hi) 64)
 *
 * with sums in fp32. What is left out is 2^-22 of sum |a b|; kernels/mm/planes.h has the whole
 * bound. |x| up to 65504: constants beyond are left to the Vector, and so is a product that it
 * computes sooner, or can at all.
 */
#include <math.h>
#include <string.h>

#include "hal/chip.h"
#include "tools/graph/model/packed.h"
#include "tools/graph/price/trial.h"
#include "tools/graph/rules/product/product.h"

enum { SHIFT = 6, MOST = 65504 };

bool product_on_cube(enum elem type)
{
    return !elem_is_float(type) || chip_has_type(PIPE_M, type == ELEM_F32   ? TYPE_F32
                                                         : type == ELEM_F16 ? TYPE_F16
                                                                            : TYPE_BF16);
}

/* --- operands --- */

/* Of all that a constant is a part of, once: steps share it. */
static void halve(struct tensor *t)
{
    static double x[PACKED_PART], half[2][PACKED_PART];
    size_t count = (size_t)tensor_count(t);

    for (unsigned lo = 0; lo < 2; lo++) {
        t->half[lo] = graph_alloc(1, sizeof(*t->half[lo]));
        *t->half[lo] =
            (struct tensor){.name = graph_text("%s.%s", t->name, lo ? "lo" : "hi"),
                            .type = ELEM_F16,
                            .shape = t->shape,
                            .known = true};
        packed_buffer(t->half[lo], ELEM_F16);
    }
    for (size_t at = 0, n; at < count; at += n) {
        n = count - at < PACKED_PART ? count - at : PACKED_PART;
        packed_read(t, at, n, x);
        for (size_t i = 0; i < n; i++) {
            half[0][i] = elem_round(ELEM_F16, x[i]);
            half[1][i] = elem_round(ELEM_F16, ldexp(x[i] - half[0][i], SHIFT));
        }
        packed_write(t->half[0], at, n, half[0]);
        packed_write(t->half[1], at, n, half[1]);
    }
}

static bool f16_holds(const struct tensor *t)
{
    static double x[PACKED_PART];
    size_t count = (size_t)tensor_count(t);
    bool good = true;

    for (size_t at = 0, n; at < count && good; at += n) {
        n = count - at < PACKED_PART ? count - at : PACKED_PART;
        packed_read(t, at, n, x);
        for (size_t i = 0; i < n; i++) {
            good = good && fabs(x[i]) <= MOST;
        }
    }
    return good;
}

static const char *half(struct program *p, struct tensor *t, const uint8_t *axis,
                        unsigned lo)
{
    struct tensor *root = tensor_root(t), *view;

    if (!root->half[0]) {
        halve(root);
    }
    view = tensor_view(root->half[lo], &t->shape);
    view->offset = tensor_offset(t);
    return program_in(p, view, axis);
}

struct product_operand product_in(struct program *p, struct tensor *t,
                                  const uint8_t *axis)
{
    struct product_operand x = {.type = t->type,
                                .planes = p->n->planes && t->type == ELEM_F32};

    if (!x.planes) {
        x.hi = program_in(p, t, axis);
    } else if (t->value) {
        if (!f16_holds(tensor_root(t))) {
            p->group->wrong = "a constant that F16 has not";
        }
        x.hi = half(p, t, axis, 0);
        x.lo = half(p, t, axis, 1);
    } else {
        const char *all = program_in(p, t, axis);
        x.hi = program_line(p, graph_text("f16(%s)", all));
        x.lo = program_line(
            p, graph_text("f16((%s - f32(%s)) * %d)", all, x.hi, 1 << SHIFT));
    }
    return x;
}

/* --- products --- */

static const char *dot(struct program *p, const char *a, const char *b, uint8_t k)
{
    return graph_text("dot(%s, %s, %s)", a, b, program_index(p, k));
}

/* What a program computes of tensors of the type is f32: the operand as the tensor would be. */
static const char *rounded(const struct product_operand *x)
{
    return x->type == ELEM_F16    ? graph_text("\4f16(%s)", x->hi)
           : x->type == ELEM_BF16 ? graph_text("\4bf16(%s)", x->hi)
                                  : x->hi;
}

const char *product_text(struct program *p, struct product_operand a,
                         struct product_operand b, uint8_t k)
{
    if (a.planes && b.planes) {
        return graph_text("(%s + (%s + %s) * %.9g)", dot(p, a.hi, b.hi, k),
                          dot(p, a.hi, b.lo, k), dot(p, a.lo, b.hi, k), ldexp(1, -SHIFT));
    }
    return product_on_cube(a.type)
               ? dot(p, rounded(&a), rounded(&b), k)
               : program_over(p, "sum", 1u << k, graph_text("%s * %s", a.hi, b.hi));
}

const char *product_of(struct program *p, struct tensor *a, const uint8_t *of_a,
                       struct tensor *b, const uint8_t *of_b, uint8_t k, int64_t size)
{
    struct product_operand x, y;

    if (size == 1) {
        const char *first = program_in(p, a, of_a);
        return graph_text("%s * %s", first, program_in(p, b, of_b));
    }
    x = product_in(p, a, of_a);
    y = product_in(p, b, of_b);
    return product_text(p, x, y, k);
}

/* --- which way --- */

/* What the steps of a node take, about; UINT64_MAX: they cannot be done. */
static uint64_t price(struct graph *g, struct node *n, bool planes)
{
    struct emit e = {.g = g, .last = &e.steps, .last_group = &e.groups};
    const char *schedule;
    uint64_t sum = 0, cycles;

    n->planes = planes;
    n->group = NULL;
    n->rule->emit(&e, n);
    for (struct group *group = e.groups; group; group = group->next) {
        struct step s = {0};
        group->alone |= group->next != NULL;
        if (group->wrong) {
            sum = UINT64_MAX;
            break;
        }
        if (group->op) {
            sum += TRIAL_STEP +
                   (group->moves ? trial_copies(group->moves, group->n_moves) : 0);
            continue;
        }
        program_step(&e, group, &s);
        if (s.n_out && trial_step(&s, &cycles, &schedule)) {
            sum = UINT64_MAX;
            break;
        }
        sum += s.n_out ? cycles : 0;
    }
    n->planes = false;
    n->group = NULL;
    return sum;
}

static bool multiplies(const struct node *n)
{
    static const char *const ops[] = {"MatMul", "Gemm", "Conv", "ConvTranspose", "Einsum",
                                      "RNN",    "GRU",  "LSTM", "Resize"};
    bool good = false;

    for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
        good = good || strcmp(n->op, ops[i]) == 0;
    }
    return good && n->in[0] && n->in[0]->type == ELEM_F32 &&
           (!n->out[0] || tensor_count(n->out[0]) > 0);
}

unsigned product_planes(struct graph *g)
{
    unsigned count = 0;

    for (struct node *n = g->nodes; n && !product_on_cube(ELEM_F32); n = n->next) {
        if (!n->done && multiplies(n)) {
            bool sooner = price(g, n, true) < price(g, n, false);
            n->planes = sooner;
            count += sooner;
        }
    }
    return count;
}
