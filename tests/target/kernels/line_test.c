/* SPDX-License-Identifier: MIT
 *
 * What a description may say and a command line may ask, with an operator that is only
 * described: shape rules, types, every kind of option, operands that may be left out,
 * several results. What is refused prints a line on stderr; its words are tested by
 * tests/qemu/cli.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/line.h"
#include "tests/target/test.h"

#define FILE_X "build/scratch/line_test.x.npy"

struct own {
    uint32_t count, mode;
    int32_t axis;
    float alpha, any;
    const char *label;
    bool fast;
};

/* What the rule cannot say: as many dimensions as `count` says, of the sizes 2, 3, .. */
static int odd_shape(const struct op_call *c, unsigned number, struct tensor *out)
{
    const struct own *own = (const void *)c->args;

    if (number == 1) {
        return own->fast ? ERR_SHAPE : 0;
    }
    out->ndim = own->count;
    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        out->shape[d] = own->mode ? d : 2 + d;
    }
    return 0;
}

static const struct opdesc odd = {
    .name = "odd",
    .io = "x[..., n] -> y[k] z[..., n, n]",
    .types = "f32 -> f32 f32",
    .shape = odd_shape,
    .options =
        OPTIONS(NUMBER(struct own, count, 2, 0, 100, ""),
                CHOICE(struct own, mode, "some|none", ""), FLAG(struct own, fast, "")),
};

static const struct opdesc described = {
    .name = "described",
    .io = "x[..., n] bias?[n] -> y[..., n] sum[...]",
    .types = "f32 f32 -> f32 f32; f16 f16 -> f16 f32; f16 f16 -> f32 f32",
    .options = OPTIONS(NUMBER(struct own, count, 7, 1, 100, ""),
                       CHOICE(struct own, mode, "none|relu|gelu", ""),
                       SIGNED(struct own, axis, -1, -8, 7, ""),
                       FLOAT(struct own, alpha, 0.5, -2, 2, ""),
                       FLOAT(struct own, any, 0, -INFINITY, INFINITY, ""),
                       TEXT(struct own, label, "plain", ""), FLAG(struct own, fast, "")),
};

static struct line line;
static struct op_call call;
static char text[256];

/* Parses `words`, as a user types them; blanks between them. */
static int parse_as(const struct opdesc *op, const char *words)
{
    char *argv[16] = {(char *)op->name};
    int argc = 1;

    strcpy(text, words);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
        argv[argc++] = w;
    }
    return line_parse(op, argc, argv, &line, &call);
}

static int parse(const char *words)
{
    return parse_as(&described, words);
}

static const struct own *own(void)
{
    return (const void *)call.args;
}

/* --- options --- */

TEST(line, options_have_defaults)
{
    CHECK_OK(parse(""));
    CHECK_EQ(own()->count, 7u);
    CHECK_EQ(own()->mode, 0u);
    CHECK_EQ(own()->axis, -1);
    CHECK_EQ(own()->alpha, 0.5);
    CHECK_STR(own()->label, "plain");
    CHECK(!own()->fast && !line.digest);
    CHECK_EQ(line.repeat, 1u);
}

TEST(line, options_are_stored)
{
    CHECK_OK(parse("--count 100 --mode gelu --axis -8 --label a-b --fast --digest"));
    CHECK_EQ(own()->count, 100u);
    CHECK_EQ(own()->mode, 2u);
    CHECK_EQ(own()->axis, -8);
    CHECK_STR(own()->label, "a-b");
    CHECK(own()->fast && line.digest);
}

TEST(line, floats_are_read_right)
{
    static const struct {
        const char *words;
        float value;
    } good[] = {
        {"--alpha 0", 0.0f},
        {"--alpha -0.5", -0.5f},
        {"--alpha 1e-5", 1e-5f},
        {"--alpha .25", 0.25f},
        {"--alpha 1.", 1.0f},
        {"--alpha -2", -2.0f},
        {"--alpha 0.1", 0.1f},
        {"--alpha 12.5e-2", 0.125f},
        {"--alpha 1e-60", 0.0f},
        {"--alpha 2E0", 2.0f},
        {"--any 3.4028235e38", 3.4028235e38f},
        {"--any 1.17549435e-38", 1.17549435e-38f},
        {"--any 16777217", 16777216.0f},
        {"--any inf", INFINITY},
        {"--any -inf", -INFINITY},
        {"--any 1e+3", 1000.0f},
        {"--any 1e999", INFINITY},
    };

    for (unsigned i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        bool any = strncmp(good[i].words, "--any", 5) == 0;
        int err = parse(good[i].words);
        CHECK_OK(err);
        CHECK_EQ(any ? own()->any : own()->alpha, good[i].value);
    }
}

TEST(line, bad_values_are_refused)
{
    static const char *const bad[] = {
        "--alpha nan",
        "--alpha inf",
        "--alpha 2.01",
        "--alpha -2.01",
        "--alpha x",
        "--alpha 1x",
        "--alpha 1e",
        "--alpha -",
        "--alpha .",
        "--alpha e5",
        "--alpha 1e-",
        "--any nan",
        "--any 0x10",
        "--alpha --fast",
        "--alpha",
        "--count 0",
        "--count 101",
        "--count -1",
        "--count 1.5",
        "--count 7x",
        "--axis -9",
        "--axis 8",
        "--axis --1",
        "--axis 99999999999999999999",
        "--mode",
        "--mode tanh",
        "--mode gel",
        "--mode gelux",
        "--mode none|relu",
        "--fast yes a b",
        "--Count 3",
        "--coun 3",
        "--",
        "-count 3",
        "-o y",
        "-o sum=a -o sum=b",
        "-o Y=a",
        "-o =a",
        "-o a_name_that_is_too_long=a",
    };

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int err = parse(bad[i]);
        if (err != ERR_ARG) {
            CHECK_STR(bad[i], "refused");
        }
    }
}

/* --- operands and results --- */

TEST(line, results_by_name)
{
    CHECK_OK(parse("-o sum=a=b.npy"));
    CHECK(line.out_path[0] == NULL);
    CHECK_STR(line.out_path[1], "a=b.npy");
    CHECK_OK(parse("-o sum=s -o y="));
    CHECK_STR(line.out_path[0], "");
    CHECK_STR(line.out_path[1], "s");
}

static void check_shape(const struct tensor *t, enum type type, unsigned ndim,
                        const uint64_t *shape)
{
    CHECK_EQ(t->type, type);
    CHECK_EQ(t->ndim, ndim);
    CHECK_BYTES(t->shape, shape, ndim * sizeof(*shape));
}

TEST(line, made_up_operands_and_results)
{
    CHECK_OK(parse("--n 5 --m 3 --type f16 --out f32"));
    CHECK_EQ(line_call(&line, &call), RUN_OK);
    check_shape(&call.in[0], TYPE_F16, 2, (uint64_t[]){3, 5});
    check_shape(&call.in[1], TYPE_F16, 1, (uint64_t[]){5});
    check_shape(&call.out[0], TYPE_F32, 2, (uint64_t[]){3, 5});
    check_shape(&call.out[1], TYPE_F32, 1, (uint64_t[]){3});
    CHECK(call.in[1].data && call.out[1].data);
    line_free(&call);
}

TEST(line, an_operand_may_be_left_out)
{
    static float data[24];
    struct npy x = {.type = NPY_F4, .ndim = 3, .shape = {2, 3, 4}, .data = data};
    char why[NPY_WHY_BYTES];

    CHECK_OK(npy_write(FILE_X, &x, why));
    CHECK_OK(parse(FILE_X));
    CHECK_EQ(line_call(&line, &call), RUN_OK);
    check_shape(&call.in[0], TYPE_F32, 3, (uint64_t[]){2, 3, 4});
    CHECK(call.in[0].data != NULL && call.in[1].data == NULL);
    check_shape(&call.out[1], TYPE_F32, 2, (uint64_t[]){2, 3});
    line_free(&call);
    CHECK_OK(host_remove(FILE_X));
}

/* x has as many dimensions as there may be, the rule gives z one more. */
TEST(line, results_of_too_many_dimensions_are_refused)
{
    static float data[1];
    struct npy x = {.type = NPY_F4, .ndim = NPY_MAX_DIMS, .data = data};
    char why[NPY_WHY_BYTES];

    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        x.shape[d] = 1;
    }
    CHECK_OK(npy_write(FILE_X, &x, why));
    CHECK_OK(parse_as(&odd, FILE_X));
    CHECK_EQ(line_call(&line, &call), RUN_INPUT);
    CHECK_EQ(call.in[0].ndim, NPY_MAX_DIMS);
    CHECK(call.out[1].data == NULL);
    line_free(&call);
    CHECK_OK(host_remove(FILE_X));
}

TEST(line, shapes_that_an_operator_computes)
{
    CHECK_OK(parse_as(&odd, "--n 5 --m 3 --count 8"));
    CHECK_EQ(line_call(&line, &call), RUN_OK);
    check_shape(&call.out[0], TYPE_F32, 8, (uint64_t[]){2, 3, 4, 5, 6, 7, 8, 9});
    CHECK_EQ(call.out[0].count, 362880u);
    check_shape(&call.out[1], TYPE_F32, 3, (uint64_t[]){3, 5, 5});
    line_free(&call);
    CHECK_OK(parse_as(&odd, "--n 5 --m 3 --count 0"));
    CHECK_EQ(line_call(&line, &call), RUN_OK);
    CHECK_EQ(call.out[0].count, 1u);
    line_free(&call);
}

TEST(line, shapes_that_cannot_be_are_refused)
{
    static const char *const bad[] = {"--count 9", "--mode none", "--fast"};

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        int status;
        CHECK_OK(parse_as(&odd, bad[i]));
        line.size[0] = line.size[1] = 1;
        status = (int)line_call(&line, &call);
        line_free(&call);
        CHECK_EQ(status, RUN_INPUT);
    }
}

TEST(line, sizes_beyond_all_memory_are_refused)
{
    CHECK_OK(parse("--n 2147483647 --m 4294967295"));
    CHECK_EQ(line_call(&line, &call), RUN_INPUT);
    line_free(&call);
}

/* --- descriptions --- */

TEST(line, descriptions_that_cannot_be)
{
    static const char *const bad[][2] = {
        {"x[n]", "f32"},
        {"x[n] -> y[n", "f32 -> f32"},
        {"x -> y[n]", "f32 -> f32"},
        {"x[n, ...] -> y[n]", "f32 -> f32"},
        {"x[n] -> y[n]", "f32"},
        {"x[n] -> y[n]", "f32 -> f31"},
        {"x[n] -> y[n]", "f32 f32 -> f32"},
        {"x[n] -> y[n]", "f32 -> f32;"},
        {"a[] b[] c[] d[] e[] f[] g[] h[] i[] -> y[]",
         "f32 f32 f32 f32 f32 f32 f32 f32 f32 -> f32"},
        {"x[a,b,c,d,e,f,g,h,i] -> y[a]", "f32 -> f32"},
        {"a_name_that_is_longer_than_any_may_be[n] -> y[n]", "f32 -> f32"},
        {"x[n] -> y[k]", "f32 -> f32"},
        {"x[n] -> y[..., n]", "f32 -> f32"},
    };
    struct io io;

    for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct opdesc op = {.name = "bad", .io = bad[i][0], .types = bad[i][1]};
        if (io_parse(&op, &io)) {
            CHECK_STR(bad[i][0], bad[i][1]);
        }
    }
}
