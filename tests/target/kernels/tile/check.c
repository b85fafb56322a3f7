/* SPDX-License-Identifier: MIT
 *
 * A program of some shape, planned, run and compared; see check.h.
 */
#include "tests/target/kernels/tile/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/tile/ref/ref.h"
#include "kernels/tile/text/text.h"
#include "kernels/tile/tile.h"
#include "tests/target/test.h"

enum { ARENA_BYTES = 4 << 20 };

/* Elements of a result that are looked at. */
#define LOOKED_AT (test_long ? 150u : 70u)

static struct sched_report report;
/* Here, since malloc() takes its time to clear it. */
static char room[ARENA_BYTES] __attribute__((aligned(16)));

struct run {
    struct tile_arena arena;
    struct tile_kernel *k;
    struct tile_call call;
    void *before[TILE_RESULTS]; /* of results that add */
};

uint32_t check_gathered;

static void make_indices(int32_t *index, uint64_t n)
{
    for (uint64_t i = 0; i < n && check_gathered; i++) {
        index[i] = (int32_t)((uint32_t)index[i] % check_gathered);
    }
}

static void make_tensors(struct run *r)
{
    for (unsigned i = 0; i < r->k->n_params; i++) {
        const struct tile_tensor *t = &r->k->param[i];
        uint64_t n = tile_count(r->k, tile_tensor_dims(t));
        void *data = data_make("test", (enum type)t->type, n, i + 1);
        r->call.in[i] = data;
        if (t->type == TYPE_S32) {
            make_indices(data, n);
        }
    }
    for (unsigned i = 0; i < r->k->n_results; i++) {
        const struct tile_tensor *t = &r->k->result[i].tensor;
        uint64_t n = tile_count(r->k, tile_tensor_dims(t));
        r->call.out[i] = data_alloc("test", (enum type)t->type, n);
        if (r->k->result[i].adds) {
            r->before[i] = data_make("test", (enum type)t->type, n, TILE_PARAMS + i);
            memcpy(r->call.out[i], r->before[i], n * type_bits((enum type)t->type) / 8);
        }
    }
}

static bool is_float(enum type type)
{
    return type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16;
}

/* How far an element is from what it should be; integers wrap. */
static double distance(double got, double want, enum type type)
{
    double far = fabs(got - want), all = ldexp(1, (int)type_bits(type));

    return is_float(type) || far < all / 2 ? far : fabs(far - all);
}

/* What an element of a result should be, with what was there. */
static struct tile_number wanted(struct run *r, struct tile_ref *ref, unsigned result,
                                 uint64_t at)
{
    enum type type = (enum type)r->k->result[result].tensor.type;
    struct tile_number x = tile_ref_at(ref, result, at);

    if (r->before[result]) {
        x.value += data_value(data_bits(r->before[result], type, at), type);
        x = is_float(type) ? tile_ref_settle(x, type, 1) : x;
    }
    return x;
}

/* How many elements of a result, of those that are looked at, are not what they should. */
static unsigned wrong(struct run *r, struct tile_ref *ref, unsigned result)
{
    const struct tile_tensor *t = &r->k->result[result].tensor;
    uint64_t count = tile_count(r->k, tile_tensor_dims(t));
    unsigned bad = 0;

    for (uint64_t i = 0; i < LOOKED_AT && i < count; i++) {
        uint64_t at = count <= LOOKED_AT ? i : i * (count - 1) / (LOOKED_AT - 1);
        struct tile_number want = wanted(r, ref, result, at);
        double got = data_value(data_bits(r->call.out[result], (enum type)t->type, at),
                                (enum type)t->type);
        bool same = got == want.value || (isnan(got) && isnan(want.value)) ||
                    distance(got, want.value, (enum type)t->type) <= want.bound ||
                    isinf(want.bound);
        if (!same && !bad) {
            test_note("%s of %s, element %lu: %g, want %g +- %g", t->name, r->k->name,
                      (unsigned long)at, got, want.value, want.bound);
        }
        bad += !same;
    }
    return bad;
}

void check_sizes(struct tile_kernel *k, struct shape shape)
{
    for (unsigned d = 0; k && d < k->n_dims; d++) {
        uint32_t size = shape.n;
        if (k->dim[d].size) { /* digits */
            continue;
        }
        switch (k->dim[d].name[0]) {
        case 'b':
            size = shape.b;
            break;
        case 'm':
            size = shape.m;
            break;
        case 'k':
            size = shape.k;
            break;
        }
        CHECK_OK(tile_set_size(k, (uint8_t)d, size));
    }
}

void check_program(const char *text, struct shape shape)
{
    struct run r = {.arena = {room, sizeof(room), 0}};
    struct tile_error error = {0};
    struct tile_plan *plan;
    int err;

    r.k = tile_parse(&r.arena, text, strlen(text), NULL, &error);
    check_sizes(r.k, shape);
    err = r.k ? tile_plan(&plan, r.k, 0, &r.arena, &error) : ERR_FORMAT;
    if (err) {
        test_note("%s", error.text);
    }
    CHECK_OK(err);
    make_tensors(&r);
    err = tile_run(plan, &r.call, &report);
    if (err) {
        test_note("%lu x %lu: %s", (unsigned long)shape.m, (unsigned long)shape.n,
                  report.text);
        tile_explain(plan, stdout);
    }
    CHECK_OK(err);
    for (unsigned i = 0; i < r.k->n_results; i++) {
        CHECK_EQ(wrong(&r, tile_ref_begin(r.k, r.call.in, &r.arena), i), 0u);
        free(r.call.out[i]);
        free(r.before[i]);
    }
    for (unsigned i = 0; i < r.k->n_params; i++) {
        free((void *)(uintptr_t)r.call.in[i]);
    }
}

void check_programs(const char *text, const struct shape *shapes, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        check_program(text, shapes[i]);
    }
}

void check_refused(const char *text, struct shape shape, unsigned line, unsigned column,
                   const char *why)
{
    struct tile_arena arena = {room, sizeof(room), 0};
    struct tile_error error = {0};
    struct tile_kernel *k = tile_parse(&arena, text, strlen(text), NULL, &error);
    struct tile_plan *plan;

    check_sizes(k, shape);
    CHECK(k && tile_plan(&plan, k, 0, &arena, &error) != 0);
    test_note("%u:%u: %s", error.line, error.column, error.text);
    CHECK_EQ(error.line, line);
    CHECK_EQ(error.column, column);
    CHECK(strstr(error.text, why) != NULL);
}
