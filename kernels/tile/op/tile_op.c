/* SPDX-License-Identifier: MIT
 *
 * An operator from a tile program; see tile_op.h.
 */
#include "kernels/tile/op/tile_op.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/check.h"
#include "kernels/cli/line.h"

/* Operations of the interpreter that are no wait: all elements of a result are compared
 * where they take no more, and as many as fit into this elsewhere. */
enum { CHECK_COST = 1 << 19 };

static struct tile_program *program_of(const struct op_call *call)
{
    return (struct tile_program *)(uintptr_t)call->op; /* its first member */
}

static const struct tile_args *args_of(const struct op_call *call)
{
    return (const struct tile_args *)call->args;
}

int tile_refuse(const struct tile_program *p, const struct tile_error *error, int err)
{
    char line[2 * TILE_TEXT_BYTES];

    tile_error_print(line, sizeof(line), p->path, error);
    fprintf(stderr, "%s\n", line);
    return err;
}

/* --- before a run --- */

static int set_scalars(struct tile_program *p, const struct tile_args *args)
{
    for (unsigned i = 0; i < p->k->n_scalars; i++) {
        struct tile_scalar *s = &p->k->scalar[i];
        if (isnan(args->scalar[i])) {
            struct tile_error error = {.line = s->line, .column = s->column};
            snprintf(error.text, sizeof(error.text),
                     "'%s' has no default, and there is no --%s", s->name, s->name);
            return tile_refuse(p, &error, ERR_ARG);
        }
        s->value = (double)args->scalar[i];
        s->given = true;
    }
    return 0;
}

/* Indices of a GATHER: made-up ones are brought into range, those of a file are in it. */
static int check_indices(const struct tile_program *p, const struct op_call *call,
                         const struct tile_node *n)
{
    uint32_t size = p->k->dim[n->dim].size;
    unsigned param = p->k->node[n->operand[1]].index;
    const struct tensor *present[TILE_PARAMS], *t;
    int32_t *index;

    (void)tile_operands(call, present);
    t = present[param];
    index = t->data;

    for (uint64_t i = 0; i < t->count; i++) {
        if (t->path == NULL) {
            index[i] = (int32_t)((uint32_t)index[i] % size);
        } else if (index[i] < 0 || (uint32_t)index[i] >= size) {
            fprintf(stderr, "%s: %s: index %ld, but %s is %lu\n", p->op.name, t->path,
                    (long)index[i], p->k->dim[n->dim].name, (unsigned long)size);
            return ERR_ARG;
        }
    }
    return 0;
}

static int plan(struct tile_program *p, const struct op_call *call)
{
    struct tile_error error;
    int err;

    p->k->by_gm = args_of(call)->path;
    err = tile_plan(&p->plan, p->k, call->cores, &p->arena, &error);

    p->lowered = err ? NULL : tile_lower(p->k, &p->arena);
    if (!err && p->lowered == NULL) {
        snprintf(error.text, sizeof(error.text), "no memory for a plan");
        err = ERR_NOMEM;
    }
    if (err) {
        return tile_refuse(p, &error, err);
    }
    if (args_of(call)->explain) {
        tile_explain(p->plan, stdout);
    }
    return 0;
}

int tile_prepare(struct op_call *call)
{
    struct tile_program *p = program_of(call);
    const struct tensor *present[TILE_PARAMS];
    const void *in[TILE_PARAMS];
    int err = tile_bind(p, call);

    err = err ? err : set_scalars(p, args_of(call));
    for (unsigned v = 1; !err && v <= p->k->n_nodes; v++) {
        err =
            p->k->node[v].op == TILE_GATHER ? check_indices(p, call, &p->k->node[v]) : 0;
    }
    if (err) {
        return err;
    }
    for (unsigned i = 0, n = tile_operands(call, present); i < n; i++) {
        in[i] = present[i]->data;
    }
    p->ref = tile_ref_begin(p->k, in, &p->arena);
    if (p->ref == NULL) {
        struct tile_error error = {.text = "no memory for the interpreter"};
        return tile_refuse(p, &error, ERR_NOMEM);
    }
    for (unsigned i = 0; i < p->k->n_results; i++) {
        p->op.cost = fmax(p->op.cost, tile_ref_cost(p->ref, i) * CHECK_ALL / CHECK_COST);
    }
    p->op.check = (uint32_t)fmax(16, CHECK_ALL / p->op.cost);
    if (args_of(call)->interpret) { /* nothing to compare, and no engine's limit */
        p->op.ref = NULL;
        p->op.work = NULL;
        return 0;
    }
    return plan(p, call);
}

/* --- a run --- */

static int run_planned(struct tile_program *p, const struct op_call *call,
                       struct sched_report *report)
{
    const struct tensor *present[TILE_PARAMS];
    struct tile_call where = {0};

    for (unsigned i = 0, n = tile_operands(call, present); i < n; i++) {
        where.in[i] = present[i]->data;
    }
    for (unsigned i = 0; i < p->k->n_results; i++) {
        const struct tensor *t = &call->out[i];
        where.out[i] = t->data;
        if (p->k->result[i].adds) { /* a command has nothing there to add to */
            memset(t->data, 0, t->count * type_bits(t->type) / 8);
        }
    }
    return tile_run(p->plan, &where, report);
}

static int interpret(struct tile_program *p, const struct op_call *call)
{
    for (unsigned i = 0; i < p->k->n_results; i++) {
        const struct tensor *t = &call->out[i];
        unsigned bytes = type_bits(t->type) / 8;
        for (uint64_t e = 0; e < t->count; e++) {
            uint64_t bits = data_round(tile_ref_at(p->ref, i, e).value, t->type);
            memcpy((char *)t->data + e * bytes, &bits, bytes);
        }
    }
    return 0;
}

int tile_op_run(const struct op_call *call, struct sched_report *report)
{
    struct tile_program *p = program_of(call);

    return args_of(call)->interpret ? interpret(p, call) : run_planned(p, call, report);
}

void tile_reference(const struct op_call *call, unsigned out, uint64_t first, uint64_t n,
                    struct op_want *want)
{
    (void)n; /* 1 */
    struct tile_number x = tile_ref_at(program_of(call)->ref, out, first);

    want->value[0] = x.value;
    want->bound[0] = x.bound;
}

struct tile_chain_room *tile_chain_room(struct op_call *call, size_t bytes)
{
    struct tile_chain_room *room =
        data_alloc(call->op->name, TYPE_U8, sizeof(*room) + bytes);

    call->work[0] = room;
    if (room) {
        room->arena = (struct tile_arena){.base = room->bytes, .size = bytes};
    }
    return room;
}

int tile_chain_refuse(const struct op_call *call, int err, const struct tile_error *error)
{
    fprintf(stderr, "%s: %s\n", call->op->name, error->text);
    return err;
}

void tile_op_work(const struct op_call *call, struct work *w)
{
    tile_work(program_of(call)->lowered, w);
}
