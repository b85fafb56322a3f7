/* SPDX-License-Identifier: MIT
 *
 * one_hot: y[.., k] = on where index[..] = k, else off
 *
 *   index (...), y (..., depth), as ONNX's OneHot of the last axis: an index from -depth to -1
 *   counts from the end, others are refused, by position and value. y F32, F16 or S32.
 *
 * A tile program over pairs of an index and a class; classes, 0 to depth - 1, are an operand of
 * it that the host's side of the call makes. Memory, cost and errors: kernels/tile/tile.h.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "kernels/cli/limit.h"
#include "kernels/index/op.h"
#include "kernels/tile/op/tile_op.h"
#include "kernels/tile/text/text.h"

enum { TEXT = 256 };

struct own {
    uint32_t depth;
    float on, off;
};

/* work[0]: the plan, and the arena that it lies in; work[1]: the classes. */
struct room {
    struct tile_plan *plan;
    struct tile_arena arena;
    _Alignas(16) char bytes[TILE_ARENA_BYTES];
};

static const struct own *own_of(const struct op_call *c)
{
    return (const void *)c->args;
}

static int shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    (void)number;
    out->ndim = c->in[0].ndim + 1;
    memcpy(out->shape, c->in[0].shape, sizeof(out->shape));
    if (out->ndim > NPY_MAX_DIMS) {
        fprintf(stderr, "one_hot: index has %u dimensions, want at most %u\n",
                c->in[0].ndim, NPY_MAX_DIMS - 1);
        return ERR_SHAPE;
    }
    out->shape[c->in[0].ndim] = own_of(c)->depth;
    return 0;
}

static struct places places_of(const struct op_call *c)
{
    return (struct places){.index = c->in[0].data,
                           .depth = 1,
                           .axis = {{own_of(c)->depth, 0}},
                           .outer = 1,
                           .n = c->in[0].count,
                           .inner = 1};
}

/* The program for the sizes of a call, in the arena. */
static int program(struct tile_kernel **k, const struct op_call *c,
                   struct tile_arena *arena, struct tile_error *error)
{
    const struct own *o = own_of(c);
    const char *type = c->out[0].type == TYPE_F32   ? "f32"
                       : c->out[0].type == TYPE_F16 ? "f16"
                                                    : "s32";
    const struct tile_size sizes[] = {{"m", c->in[0].count}, {"n", o->depth}};
    char text[TEXT];

    snprintf(text, sizeof(text),
             "kernel one_hot(i: s32[m], c: s32[n]) -> y: %s[m, n]\n"
             "    y = %s(where(where(i < 0, i + %lu, i) == c, %.9g, %.9g))\n",
             type, type, (unsigned long)o->depth, (double)o->on, (double)o->off);
    return tile_parse_sized(k, text, sizes, 2, arena, error);
}

static int prepare(struct op_call *c)
{
    struct room *room = data_alloc("one_hot", TYPE_U8, sizeof(*room));
    int32_t *classes = data_alloc("one_hot", TYPE_S32, own_of(c)->depth);
    struct places p = places_of(c);
    struct tile_error error;
    struct tile_kernel *k;
    int err;

    c->work[0] = room;
    c->work[1] = classes;
    if (room == NULL || classes == NULL) {
        return ERR_NOMEM;
    }
    index_fold(&c->in[0], &p);
    for (uint32_t i = 0; i < own_of(c)->depth; i++) {
        classes[i] = (int32_t)i;
    }
    room->arena = (struct tile_arena){.base = room->bytes, .size = sizeof(room->bytes)};
    err = program(&k, c, &room->arena, &error);
    err = err ? err : tile_plan(&room->plan, k, c->cores, &room->arena, &error);
    return err ? tile_chain_refuse(c, err, &error) : 0;
}

static int run(const struct op_call *c, struct sched_report *report)
{
    const struct room *room = c->work[0];
    const struct tensor *y = &c->out[0];
    struct places p = places_of(c);
    int err = c->in[0].type != TYPE_S32 ||
                      (y->type != TYPE_F32 && y->type != TYPE_F16 && y->type != TYPE_S32)
                  ? ERR_TYPE
              : y->count == 0 || y->count != c->in[0].count * own_of(c)->depth ? ERR_ARG
                                                                               : 0;

    report->text[0] = 0;
    err = err ? err : c->cores > chip_cores() ? ERR_CORES : 0;
    err = err ? err : index_check(&c->in[0], &p, report);
    return err ? err
               : tile_run(room->plan,
                          &(struct tile_call){.in = {c->in[0].data, c->work[1]},
                                              .out = {y->data}},
                          report);
}

static void ref(const struct op_call *c, unsigned out, uint64_t first, uint64_t n,
                struct op_want *want)
{
    const struct own *o = own_of(c);
    const int32_t *index = c->in[0].data;

    for (uint64_t i = 0; i < n; i++) {
        int64_t at = index[(first + i) / o->depth],
                class = (int64_t)((first + i) % o->depth);
        bool on = (at < 0 ? at + o->depth : at) == class;
        want->bits[i] = data_round((double)(on ? o->on : o->off), c->out[out].type);
    }
}

static void work(const struct op_call *c, struct work *w)
{
    work_in(w, NPU_MEM_UB, &c->in[0]);
    work_out(w, NPU_MEM_UB, &c->out[0]);
}

OPERATOR(one_hot, .summary = "of each index as many numbers as classes: which it is",
         .io = "index[...] -> y[*]", .shape = shape,
         .types = "s32 -> f32; s32 -> f16; s32 -> s32", .prepare = prepare, .run = run,
         .ref = ref, .check = 4096, .work = work,
         .options = OPTIONS(NUMBER(struct own, depth, 10, 1, 2147483647, "classes"),
                            FLOAT(struct own, on, 1, -1e38, 1e38, "where it is"),
                            FLOAT(struct own, off, 0, -1e38, 1e38, "elsewhere")),
         .numpy = "np.where(index[..., None] % depth == np.arange(depth), on, off)",
         .cases = CASES("--shapes 1 --depth 1", "--shapes 300 --depth 7",
                        "--shapes 3x5x4 --depth 100 --out f16 --on 3 --off -0.5",
                        "--shapes 40x9 --depth 33 --out s32", "--shapes 9 --depth 5000"));
