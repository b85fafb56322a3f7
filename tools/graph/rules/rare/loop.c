/* SPDX-License-Identifier: MIT
 *
 * Loop, Scan, SequenceMap: their graph once a turn, one behind the other. How often, and whether
 * there is one more turn, has to be known before a run. The turns of a Loop follow from each other:
 * behind the nodes of one stands a Loop of those that are left.
 */
#include <string.h>

#include "tools/graph/model/edit.h"
#include "tools/graph/model/list.h"

enum { UNROLLED = 4096 /* nodes, at most, that graphs within others become */ };

static struct tensor *made(struct graph *g, const char *name)
{
    return graph_tensor(g, graph_alloc(1, sizeof(struct node)), name);
}

static const struct attr *body_of(struct graph *g, const struct node *n)
{
    const struct attr *body = node_attr(n, "body");

    if (!body || !body->graph) {
        node_die(g, n, "it has no graph");
    }
    return body;
}

/* One more turn, before it is made: there are not too many. */
static const char *turn_name(struct graph *g, const struct node *n, int64_t turn)
{
    g->unrolled += graph_body(body_of(g, n)).nodes + 1;
    if (g->unrolled > UNROLLED) {
        node_die(g, n, "turn %lld: graphs within others would become more than %d nodes",
                 (long long)turn, UNROLLED);
    }
    return graph_text("%s.%lld", n->name, (long long)turn);
}

/* --- Loop --- */

/* Operands: how many turns there are at most, whether there is one, what one turn hands to the
 * next; then, of a Loop that is the rest of one, what turns have left of each further result, as a
 * sequence. */
struct loop {
    const struct attr *body;
    unsigned carried, scanned;
    int64_t turn;
};

static struct loop loop_of(struct graph *g, const struct node *n)
{
    struct loop l = {.body = body_of(g, n), .turn = n->turn};
    struct body has = graph_body(l.body);

    if (has.inputs < 2 || has.inputs > GRAPH_OPERANDS || has.outputs > GRAPH_OPERANDS ||
        has.outputs + 1 < has.inputs || has.inputs + has.outputs > GRAPH_OPERANDS) {
        node_die(g, n, "a graph of %zu operands and %zu results", has.inputs,
                 has.outputs);
    }
    l.carried = (unsigned)has.inputs - 2;
    l.scanned = (unsigned)has.outputs - 1 - l.carried;
    if (n->n_in < 2 + l.carried || n->n_out > l.carried + l.scanned) {
        node_die(g, n, "%u operands and %u results for a graph of %zu and %zu", n->n_in,
                 n->n_out, has.inputs, has.outputs);
    }
    return l;
}

static bool goes_on(const struct graph *g, const struct node *n, const struct loop *l)
{
    return (!node_maybe(n, 0) || (double)l->turn < node_number(g, n, 0)) &&
           (!node_maybe(n, 1) || node_number(g, n, 1) != 0);
}

/* Results are what the last turn has handed on, and what all have left. */
static void loop_end(struct graph *g, struct node *n, const struct loop *l)
{
    struct node was = *n;
    struct lower to = lower_begin(g, n);

    for (unsigned i = 0; i < was.n_out; i++) {
        struct tensor *last = was.in[2 + i], *result = was.out[i];
        if (!result) {
            continue;
        }
        if (i >= l->carried && l->turn == 0) {
            node_die(g, n, "no turn, of which '%s' would have its shape", result->name);
        } else if (i >= l->carried) {
            list_join(&to, last->list->at, last->list->n, 0, true,
                      graph_text("joined%u", i));
            lower_text(&to, "@%u = Identity(joined%u)\n", i, i);
        } else if (last->list) {
            list_is(g, n, result, last->list->at, last->list->n);
        } else {
            lower_reads(&to, &last, 1);
            lower_text(&to, "@%u = Identity($0)\n", i);
        }
    }
    lower_end(&to);
}

/* The loop of the turns behind this one. */
static struct node *rest_of(struct node *n, const struct loop *l)
{
    struct node *rest = graph_alloc(1, sizeof(*rest));

    *rest = (struct node){.op = n->op, .name = n->name, .attr = n->attr};
    rest->n_attrs = n->n_attrs;
    rest->turn = l->turn + 1;
    rest->n_in = 2 + l->carried + l->scanned;
    rest->in[0] = n->in[0];
    for (unsigned i = 0; i < n->n_out; i++) {
        edit_result(rest, n->out[i]);
    }
    return rest;
}

/* What turns up to this one have left of a result, as a sequence. */
static struct tensor *left_so_far(struct graph *g, const struct node *n, unsigned i,
                                  struct tensor *now)
{
    struct tensor *t = made(g, now->name), **all;
    struct tensor *const *before = NULL;
    unsigned count = 0;

    if (i < n->n_in) {
        before = list_of(g, n, i, &count);
    }
    all = graph_alloc((size_t)count + 1, sizeof(struct tensor *));
    for (unsigned k = 0; k < count; k++) {
        all[k] = before[k];
    }
    all[count] = now;
    list_is(g, n, t, all, count + 1);
    return t;
}

static void loop_turn(struct graph *g, struct node *n, const struct loop *l)
{
    const char *name = turn_name(g, n, l->turn);
    struct tensor *in[GRAPH_OPERANDS], *out[GRAPH_OPERANDS];
    struct node *rest = rest_of(n, l), *last;
    struct lower to = lower_begin(g, n);
    const struct inlined as = {name, in, out, 2 + l->carried,
                               1 + l->carried + l->scanned};

    *lower_value(&to, "turn", ELEM_I64, &(struct shape){.n = 0}) = (double)l->turn;
    *lower_value(&to, "more", ELEM_BOOL, &(struct shape){.n = 0}) = 1;
    in[0] = lower_tensor(&to, "turn");
    in[1] = lower_tensor(&to, "more");
    for (unsigned i = 2; i < as.n_in; i++) {
        in[i] = n->in[i];
    }
    for (unsigned i = 0; i < as.n_out; i++) {
        out[i] = made(g, graph_text("%s.%u", name, i));
        rest->in[1 + i] = i > l->carried ? left_so_far(g, n, 1 + i, out[i]) : out[i];
    }
    last = graph_inline(g, n, l->body, &as);
    edit_link(g, &last->next, rest);
    edit_replaced(g, n);
}

static void loop(struct graph *g, struct node *n)
{
    struct loop l = loop_of(g, n);

    if (goes_on(g, n, &l)) {
        loop_turn(g, n, &l);
    } else {
        loop_end(g, n, &l);
    }
}

/* --- Scan: a turn for each element of an axis of its last operands --- */

struct scan {
    const struct attr *body;
    unsigned states, scanned, left; /* operands, operands and results of the graph */
    int64_t turns;
    int64_t axis[GRAPH_OPERANDS], back[GRAPH_OPERANDS], /* of operands, and of results */
        to_axis[GRAPH_OPERANDS], to_back[GRAPH_OPERANDS];
};

static void scan_list(const struct graph *g, const struct node *n, const char *name,
                      unsigned want, int64_t to[GRAPH_OPERANDS])
{
    unsigned count = node_ints(g, n, name, GRAPH_OPERANDS, to);

    if (count && count != want) {
        node_die(g, n, "%u %s, want %u", count, name, want);
    }
    for (unsigned i = 0; i < want && !count; i++) {
        to[i] = 0;
    }
}

static struct scan scan_of(struct graph *g, const struct node *n)
{
    struct scan s = {.body = body_of(g, n)};
    struct body has = graph_body(s.body);
    int64_t scanned = node_int(n, "num_scan_inputs", 0);

    if (g->opset < 9 || scanned < 1 || scanned > n->n_in || has.inputs != n->n_in ||
        has.outputs > GRAPH_OPERANDS || has.outputs + (size_t)scanned < has.inputs ||
        n->n_out > has.outputs) {
        node_die(g, n, "%u operands, %lld of them in turns, for a graph of %zu%s",
                 n->n_in, (long long)scanned, has.inputs,
                 g->opset < 9 ? ", as before opset 9" : "");
    }
    s.scanned = (unsigned)scanned;
    s.states = n->n_in - s.scanned;
    s.left = (unsigned)has.outputs - s.states;
    scan_list(g, n, "scan_input_axes", s.scanned, s.axis);
    scan_list(g, n, "scan_input_directions", s.scanned, s.back);
    scan_list(g, n, "scan_output_axes", s.left, s.to_axis);
    scan_list(g, n, "scan_output_directions", s.left, s.to_back);
    for (unsigned i = 0; i < s.scanned; i++) {
        const struct shape *of = &node_in(g, n, s.states + i)->shape;
        s.axis[i] = node_axis(g, n, s.axis[i], of->n);
        if (i && of->dim[s.axis[i]] != s.turns) {
            node_die(g, n, "%lld turns, and %lld", (long long)s.turns,
                     (long long)of->dim[s.axis[i]]);
        }
        s.turns = of->dim[s.axis[i]];
    }
    if (s.turns < 1 || s.turns > LIST_MOST) {
        node_die(g, n, "%lld turns: 1 to %d", (long long)s.turns, LIST_MOST);
    }
    return s;
}

/* What operands have in a turn: x0_7 and so on. */
static void scan_elements(struct lower *to, const struct scan *s, int64_t turn,
                          struct tensor *in[GRAPH_OPERANDS])
{
    for (unsigned i = 0; i < s->scanned; i++) {
        long long at = s->back[i] ? s->turns - 1 - turn : turn, axis = s->axis[i];
        lower_text(to,
                   "part%u_%lld = Slice($%u, [%lld], [%lld], [%lld])\n"
                   "x%u_%lld = Squeeze(part%u_%lld; axes=[%lld])\n",
                   i, (long long)turn, s->states + i, at, at + 1, axis, i,
                   (long long)turn, i, (long long)turn, axis);
        in[i] = lower_tensor(to, graph_text("x%u_%lld", i, (long long)turn));
    }
}

static void scan(struct graph *g, struct node *n)
{
    const struct scan s = scan_of(g, n);
    struct tensor *in[GRAPH_OPERANDS], *out[GRAPH_OPERANDS];
    struct tensor **left = graph_alloc((size_t)s.left * (size_t)s.turns, sizeof(left[0]));
    struct lower to = lower_begin(g, n);
    struct inlined as = {NULL, in, out, n->n_in, s.states + s.left};

    memcpy(out, n->in, sizeof(out));
    for (int64_t turn = 0; turn < s.turns; turn++) {
        as.name = turn_name(g, n, turn);
        memcpy(in, out, s.states * sizeof(in[0]));
        scan_elements(&to, &s, turn, in + s.states);
        for (unsigned i = 0; i < as.n_out; i++) {
            out[i] = made(g, graph_text("%s.%u", as.name, i));
        }
        for (unsigned i = 0; i < s.left; i++) {
            int64_t at = s.to_back[i] ? s.turns - 1 - turn : turn;
            left[i * s.turns + at] = out[s.states + i];
        }
        to.last = graph_inline(g, to.last, s.body, &as);
    }
    for (unsigned i = 0; i < s.states; i++) {
        lower_reads(&to, &out[i], 1);
        lower_text(&to, "@%u = Identity($0)\n", i);
    }
    for (unsigned i = 0; i < s.left; i++) {
        list_join(&to, left + i * s.turns, (unsigned)s.turns, s.to_axis[i], true,
                  graph_text("joined%u", i));
        lower_text(&to, "@%u = Identity(joined%u)\n", s.states + i, i);
    }
    lower_end(&to);
}

/* --- SequenceMap: a turn for each of a sequence, with the same of others, or with a tensor --- */

static void map(struct graph *g, struct node *n)
{
    const struct attr *body = body_of(g, n);
    struct tensor *in[GRAPH_OPERANDS], *out[GRAPH_OPERANDS];
    struct lower to = lower_begin(g, n);
    struct inlined as = {NULL, in, out, n->n_in, n->n_out};
    unsigned count, more;
    struct tensor **all;

    (void)list_of(g, n, 0, &count);
    all = graph_alloc((size_t)count * n->n_out, sizeof(struct tensor *));
    for (unsigned turn = 0; turn < count; turn++) {
        as.name = turn_name(g, n, turn);
        for (unsigned i = 0; i < n->n_in; i++) {
            in[i] = node_in(g, n, i);
            if (in[i]->list) {
                struct tensor *const *item = list_of(g, n, i, &more);
                if (more != count) {
                    node_die(g, n, "sequences of %u and %u", count, more);
                }
                in[i] = item[turn];
            }
        }
        for (unsigned i = 0; i < n->n_out; i++) {
            out[i] = made(g, graph_text("%s.%u", as.name, i));
            all[i * count + turn] = out[i];
        }
        to.last = graph_inline(g, to.last, body, &as);
    }
    for (unsigned i = 0; i < n->n_out; i++) {
        if (n->out[i]) {
            list_is(g, n, n->out[i], all + (size_t)i * count, count);
        }
    }
    lower_end(&to);
}

const struct rule rules_loop[] = {
    {.op = "Loop",
     .shape = loop,
     .wants = 1 << 0 | 1 << 1,
     .optional = true,
     .lists = true},
    {.op = "Scan", .shape = scan, .optional = true},
    {.op = "SequenceMap", .shape = map, .optional = true, .lists = true},
    {0},
};
