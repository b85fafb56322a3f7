/* SPDX-License-Identifier: MIT
 *
 * An operator from a tile program; see tile_op.h.
 */
#include "kernels/tile/tile_op.h"

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
    int err = tile_plan(&p->plan, p->k, call->cores, &p->arena, &error);

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
        where.out[i] = call->out[i].data;
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

/* The fastest command that does for an operation what it has to do for each element; 0:
 * none, or one that may be part of another. */
static enum op command_for(const struct tile_node *n)
{
    switch ((enum tile_op)n->op) {
    case TILE_EXP:
        return OP_VEXP;
    case TILE_LN:
        return OP_VLN;
    case TILE_SQRT:
        return OP_VSQRT;
    case TILE_TANH:
        return OP_VTANH;
    case TILE_ERF:
        return OP_VERF;
    case TILE_DOT:
    case TILE_GATHER: /* of no pipe but those that copy */
    case TILE_RELU:   /* of VADDRELU and its like */
    case TILE_NOT:
        return 0;
    default:
        return tile_op_info[n->op].kind == KIND_LEAF || n->type == TILE_MASK ? 0
                                                                             : OP_VADD;
    }
}

/* What the Vector has to compute at the least: each element of each operation once. */
static void work_on_vector(const struct tile_kernel *k, struct work *w)
{
    for (unsigned v = 1; v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        enum op code = command_for(n);
        tile_dims dims = k->node[n->operand[0]].dims | n->dims;
        if (code) {
            work_vector(w, code, (enum type)n->type, tile_count(k, dims));
        }
    }
}

static struct tensor tensor_of(const struct tile_kernel *k, const struct tile_tensor *t)
{
    return (struct tensor){.count = tile_count(k, tile_tensor_dims(t)),
                           .type = (enum type)t->type};
}

/* A product of what only one of the operands has, for each index that both have. */
static void work_on_cube(const struct tile_kernel *k, const struct tile_node *n,
                         struct work *w)
{
    const struct tile_node *a = &k->node[n->operand[0]], *b = &k->node[n->operand[1]];
    tile_dims along = (tile_dims)(1u << n->dim), both = a->dims & b->dims;
    struct work one = {0};
    uint64_t times = tile_count(k, both & (tile_dims)~along);

    work_matmul(&one, (enum type)a->type, tile_count(k, a->dims & (tile_dims)~both),
                tile_count(k, b->dims & (tile_dims)~both), k->dim[n->dim].size);
    w->cycles[PIPE_M] += one.cycles[PIPE_M] * (double)times;
    w->macs += one.macs * times;
}

/* Where a parameter is first wanted: L1, if a product takes it as it is. */
static enum npu_mem wanted_in(const struct tile_kernel *k, unsigned param)
{
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        for (unsigned i = 0; i < 2 && k->node[v].op == TILE_DOT; i++) {
            const struct tile_node *x = &k->node[k->node[v].operand[i]];
            if (x->op == TILE_INPUT && x->index == param) {
                return NPU_MEM_L1;
            }
        }
    }
    return NPU_MEM_UB;
}

/* Where a result comes from: L0C, if it is a product, or one in fewer bytes. */
static enum npu_mem made_in(const struct tile_kernel *k, tile_value v)
{
    v = k->node[v].op == TILE_CAST ? k->node[v].operand[0] : v;
    return k->node[v].op == TILE_DOT ? NPU_MEM_L0C : NPU_MEM_UB;
}

void tile_work(const struct tile_kernel *k, struct work *w)
{
    work_on_vector(k, w);
    for (tile_value v = 1; v <= k->n_nodes; v++) {
        if (k->node[v].op == TILE_DOT) {
            work_on_cube(k, &k->node[v], w);
        }
    }
    for (unsigned i = 0; i < k->n_params; i++) {
        struct tensor t = tensor_of(k, &k->param[i]);
        work_in(w, wanted_in(k, i), &t);
    }
    for (unsigned i = 0; i < k->n_results; i++) {
        struct tensor t = tensor_of(k, &k->result[i].tensor);
        work_out(w, made_in(k, k->result[i].value), &t);
    }
}

void tile_op_work(const struct op_call *call, struct work *w)
{
    tile_work(program_of(call)->lowered, w);
}
