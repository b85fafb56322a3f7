/* SPDX-License-Identifier: MIT
 *
 * Operators of sequences (list.h), and of what may be there or not. Places in a sequence have to be
 * known before a run. So is whether something is there.
 */
#include "tools/graph/model/edit.h"
#include "tools/graph/model/list.h"

#include <string.h>

/* The place that operand i names, counted from the end if it is below 0. */
static unsigned place(const struct graph *g, const struct node *n, unsigned i,
                      unsigned count)
{
    double given = node_number(g, n, i), at = given < 0 ? given + count : given;

    if (!(at >= 0 && at < count)) {
        node_die(g, n, "place %.0f of %u", given, count);
    }
    return (unsigned)at;
}

/* The result is that tensor. */
static void give(struct graph *g, struct node *n, struct tensor *t)
{
    struct lower l = lower_begin(g, n);

    if (t->list) {
        list_is(g, n, n->out[0], t->list->at, t->list->n);
        edit_replaced(g, n);
        return;
    }
    lower_reads(&l, &t, 1);
    lower_text(&l, "@0 = Identity($0)\n");
    lower_end(&l);
}

static void give_number(struct graph *g, struct node *n, enum elem type, double number)
{
    struct lower l = lower_begin(g, n);

    *lower_value(&l, "number", type, &(struct shape){.n = 0}) = number;
    lower_text(&l, "@0 = Identity(number)\n");
    lower_end(&l);
}

/* --- sequences --- */

static void construct(struct graph *g, struct node *n)
{
    bool none = strcmp(n->op, "SequenceEmpty") == 0;

    for (unsigned i = 0; i < n->n_in && !none; i++) {
        (void)node_in(g, n, i);
    }
    (void)node_attr(n, "dtype"); /* of what is not there */
    list_is(g, n, n->out[0], n->in, none ? 0 : n->n_in);
    edit_replaced(g, n);
}

static void at(struct graph *g, struct node *n)
{
    unsigned count;
    struct tensor *const *item = list_of(g, n, 0, &count);

    give(g, n, item[place(g, n, 1, count)]);
}

static void length(struct graph *g, struct node *n)
{
    unsigned count;

    (void)list_of(g, n, 0, &count);
    give_number(g, n, ELEM_I64, count);
}

/* In front of a place; behind all if there is none. */
static void insert(struct graph *g, struct node *n)
{
    unsigned count, where;
    struct tensor *const *item = list_of(g, n, 0, &count);
    struct tensor **to = graph_alloc((size_t)count + 1, sizeof(struct tensor *));

    where =
        !node_maybe(n, 2) ? count : place(g, n, 2, count + (node_number(g, n, 2) >= 0));
    for (unsigned i = 0; i <= count; i++) {
        to[i] = i < where ? item[i] : i > where ? item[i - 1] : node_in(g, n, 1);
    }
    list_is(g, n, n->out[0], to, count + 1);
    edit_replaced(g, n);
}

static void erase(struct graph *g, struct node *n)
{
    unsigned count, where;
    struct tensor *const *item = list_of(g, n, 0, &count);
    struct tensor **to = graph_alloc(count, sizeof(struct tensor *));

    if (count == 0) {
        node_die(g, n, "'%s' has none", n->in[0]->name);
    }
    where = node_maybe(n, 1) ? place(g, n, 1, count) : count - 1;
    for (unsigned i = 0; i + 1 < count; i++) {
        to[i] = item[i + (i >= where)];
    }
    list_is(g, n, n->out[0], to, count - 1);
    edit_replaced(g, n);
}

/* How many elements of the axis part i has, of which there are `left`: as operand 1 says, one
 * number for all, of which the last may lack some, or one for each. */
static int64_t part(const struct graph *g, const struct node *n, unsigned i, int64_t left)
{
    const struct tensor *sizes = node_maybe(n, 1);
    bool each = sizes && sizes->shape.n == 1;
    int64_t size = 1;

    if (each) {
        size = i < tensor_count(sizes) ? elem_whole(sizes->value[i]) : -1;
    } else if (sizes) {
        size = elem_whole(node_number(g, n, 1));
    }
    if (size < !each || (each && size > left)) {
        node_die(g, n, "part %u of %lld, where %lld are left", i, (long long)size,
                 (long long)left);
    }
    return size < left ? size : left;
}

/* Without operand 1 the axis goes away unless keepdims holds. */
static void split(struct graph *g, struct node *n)
{
    const struct shape s = node_in(g, n, 0)->shape;
    unsigned axis = node_axis(g, n, node_int(n, "axis", 0), s.n), count = 0;
    bool keeps = node_int(n, "keepdims", 1) != 0 || node_maybe(n, 1);
    struct tensor **to = graph_alloc(LIST_MOST, sizeof(struct tensor *));
    struct lower l = lower_begin(g, n);
    const struct tensor *sizes = node_maybe(n, 1);
    int64_t begin = 0, size, least = sizes && sizes->shape.n ? tensor_count(sizes) : 0;

    for (; begin < s.dim[axis] || count < least; begin += size, count++) {
        if (count == LIST_MOST) {
            node_die(g, n, "more than %d parts", LIST_MOST);
        }
        size = part(g, n, count, s.dim[axis] - begin);
        lower_text(&l, "part%u = Slice($0, [%lld], [%lld], [%u])\n", count,
                   (long long)begin, (long long)(begin + size), axis);
        if (!keeps) {
            lower_text(&l, "one%u = Squeeze(part%u; axes=[%u])\n", count, count, axis);
        }
        to[count] = lower_tensor(&l, graph_text("%s%u", keeps ? "part" : "one", count));
    }
    list_is(g, n, n->out[0], to, count);
    lower_end(&l);
}

static void join(struct graph *g, struct node *n)
{
    const struct attr *axis = node_attr(n, "axis");
    bool fresh = node_int(n, "new_axis", 0) != 0;
    struct lower l = lower_begin(g, n);
    unsigned count;
    struct tensor *const *item = list_of(g, n, 0, &count);

    if (!axis || count == 0) {
        node_die(g, n, count ? "it names no axis" : "of a sequence that has none");
    }
    list_join(&l, item, count, axis->i, fresh, "joined");
    lower_text(&l, "@0 = Identity(joined)\n");
    lower_end(&l);
}

/* --- what may be there or not: a tensor, or a sequence, is --- */

static void there(struct graph *g, struct node *n)
{
    if (!node_maybe(n, 0)) {
        node_die(g, n, "of nothing");
    }
    give(g, n, n->in[0]);
}

static void is_there(struct graph *g, struct node *n)
{
    give_number(g, n, ELEM_BOOL, node_maybe(n, 0) != NULL);
}

const struct rule rules_list[] = {
    {.op = "SequenceConstruct", .shape = construct},
    {.op = "SequenceEmpty", .shape = construct},
    {.op = "SequenceAt", .shape = at, .wants = 1 << 1, .lists = true},
    {.op = "SequenceLength", .shape = length, .lists = true},
    {.op = "SequenceInsert", .shape = insert, .wants = 1 << 2, .lists = true},
    {.op = "SequenceErase", .shape = erase, .wants = 1 << 1, .lists = true},
    {.op = "SplitToSequence", .shape = split, .wants = 1 << 1},
    {.op = "ConcatFromSequence", .shape = join, .lists = true},
    {.op = "Optional", .shape = there, .lists = true},
    {.op = "OptionalGetElement", .shape = there, .lists = true},
    {.op = "OptionalHasElement", .shape = is_there, .lists = true},
    {0},
};
