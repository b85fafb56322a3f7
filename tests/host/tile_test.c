/* SPDX-License-Identifier: MIT
 *
 * Tile programs on the host: what the parser takes, what it says of what it does not, what
 * lowering makes of it, and random and mutated texts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/tile/ref/ref.h"
#include "kernels/tile/text/text.h"
#include "tests/fuzz/tile.h"
#include "tests/host/data.h"
#include "tests/test.h"
#include "tests/tile/random.h"

static char memory[4 << 20];

static struct tile_kernel *parse(const char *text, struct tile_error *error)
{
    static struct tile_arena arena;

    arena = (struct tile_arena){memory, sizeof(memory), 0};
    return tile_parse(&arena, text, strlen(text), NULL, error);
}

/* The whole six of the language; those that are no example in kernels/tile/. */
static const char *const programs[] = {
    "kernel vadd(x: f32[n], y: f32[n]) -> z: f32[n]\n    z = x + y\n",
    "kernel softmax(x: f32[m, n]) -> y: f32[m, n]\n"
    "    e = exp(x - max(x, n))\n    y = e * rec(sum(e, n))\n"
    "schedule tile m 64, buffers 2, cores 8\n",
    "kernel layernorm(x: f32[m, n], g: f32[n], b: f32[n], eps = 1e-5) -> y: f32[m, n]\n"
    "    y = (x - mean(x, n)) * rsqrt(var(x, n) + eps) * g + b\n",
    "kernel linear_gelu(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> out: f16[m, n]\n"
    "    out = f16(gelu(a @ b + bias))\n",
    "kernel mla_prolog(a: f16[m, k], b: f16[k, n], bias: f16[n], eps = 1e-5)\n"
    "       -> out: f16[m, n]\n",
    "kernel attention(q: f16[h, s, d], k: f16[h, t, d], v: f16[h, t, d], scale) -> "
    "o: f16[h, s, d]\n"
    "    loop t while t <= s carry m = -inf[h, s], l = 0[h, s], acc = 0[h, s, d]\n"
    "        x = where(t <= s, dot(q, k, d) * scale, -inf)\n"
    "        top = max(m, max(x, t))\n"
    "        p = exp(x - top)\n"
    "        r = exp(m - top)\n"
    "        l = l * r + sum(p, t)\n"
    "        acc = acc * r + dot(f16(p), v, t)\n"
    "        m = top\n"
    "    end\n"
    "    o = f16(acc * rec(l))\n"
    "schedule tile s 64, tile t 128, lanes s\n",
    "kernel all(x: s8[m, 16], i: s32[k], t: bf16[v, 16], a = -2, b) -> y: u8[m, 16], "
    "z: s32[m], w: bf16[k, 16]\n"
    "    f = dequantise(x, a, 3)  # a comment, 2 \xc3\xa4\n"
    "    y = quantise(clip(f,\n 0, 6), 0.5, 128, u8)\n\n"
    "    z = count(and(f > 1, not(f >= b)), 16) + s32(any(f < 0, 16)) + shl(m, 2)\n"
    "    w = gather(t, i, v)\n"
    "schedule exact, arith f16, keep f in ub, strategy some\n",
    "kernel conv(x: f16[n, h, w, c], k: f16[o, r, s, c], b: f32[o]) ->"
    " y: f16[n, p, q, o]\n"
    "    y = f16(silu(conv(x, k, to p q, stride 2 1, pad 1 0 2 3, groups 1) + b))\n",
};

TEST(tile, programs_are_read)
{
    struct tile_error error;

    for (unsigned i = 0; i < LENGTH(programs); i++) {
        bool whole = strstr(programs[i], " = ") != NULL && i != 4;
        struct tile_kernel *k = parse(programs[i], &error);
        if (!ok((k != NULL) == whole, "tile/program_%u", i)) {
            test_note("%u:%u: %s", error.line, error.column, error.text);
        }
    }
}

/* One line each: a text and what is said of it. `%` begins a program on x[m, n] and y. */
static const char *const refused[][2] = {
    {"", "1:1: expected 'kernel', got the end of the text"},
    {"kernel", "1:7: expected a kernel's name, got the end of the text"},
    {"kernel a(x: f64[n]) -> y: f32[n]\n",
     "1:13: expected a type: f32, f16, bf16, s32, s16, s8 or u8, got 'f64'"},
    {"kernel a(x: f32[n, n]) -> y: f32[n]\n", "1:10: x has dimension n twice"},
    {"kernel a(x: f32[0]) -> y: f32[0]\n",
     "1:17: a dimension is of size 1 to 2147483647"},
    {"kernel a(x: f32[n]) -> x: f32[n]\n", "1:24: 'x' is there already"},
    {"kernel a(x: f32[n]) -> y: f32[k]\n    y = x\n",
     "2:5: y has dimensions [k], but this value [n]"},
    {"kernel a(x: f32[n], n) -> y: f32[n]\n", "1:21: 'n' is a dimension already"},
    {"%    y = exp(x - max(x, nn))\n",
     "2:24: no value or dimension 'nn'; did you mean 'n'?"},
    {"%    y = exq(x)\n", "2:9: no function 'exq'; did you mean 'exp'?"},
    {"%    y = exp(x\n    z = y\n", "3:5: expected ',' or ')', got 'z'"},
    {"%    y = w\n    w = x\n", "2:9: no value or dimension 'w'"},
    {"%    x = 1\n", "2:5: 'x' is there already, in line 1"},
    {"%    z = x\n", "1:27: result y is never assigned"},
    {"%    y = sum(x, n)\n", "2:5: y has dimensions [m, n], but this value [m]"},
    {"%    y = x - sum(sum(x, n), n)\n", "2:13: sum over n, but the value is [m]"},
    {"%    y = sum(x)\n", "2:9: expected sum(value, dimension)"},
    {"%    y = exp(x, x)\n", "2:9: exp takes 1 argument, not 2"},
    {"%    y = f16(x)\n", NULL},
    {"%    y = s32(x)\n", "2:5: y is f32, but this value s32: f32(...) casts it"},
    {"%    y = x + s32(x)\n", "2:11: + of f32 and s32: cast one of them"},
    {"%    y = f32(exp(s32(x)))\n", "2:13: exp takes f32 or f16, not s32"},
    {"%    y = f32(s32(x) + 0.5)\n", "2:20: 0.5 is no number of s32"},
    {"%    y = where(x, x, x)\n",
     "2:9: the first of where is a condition, such as x < 0"},
    {"%    y = x * 1e39\n", "2:13: 1e+39 is beyond f32"},
    {"%    y = x @ x\n",
     "2:11: the operands of @ have more than one dimension in common: "
     "dot(x, y, dimension) names it"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k, pad 1, stride 2, pad 1)\n",
     "2:37: conv has 'pad' twice"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k, pads 1)\n",
     "2:20: expected to, stride, pad, dilation or groups, got 'pads'"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k, pad 1 2 3)\n",
     "2:29: expected one, two or four pads, got ')'"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k, stride 0)\n",
     "2:9: conv: a stride is 1 to 63"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(relu(x), k)\n",
     "2:9: conv of f32 and f16: both are f16 or s8"},
    {"kernel c(x: f16[m, k], w: f16[k, n]) -> y: f32[m, n]\n    y = dot(silu(x), w, k)\n",
     "2:9: product of f32 and f16: both are f16, bf16, f32 or s8; write f16(..) around the "
     "first"},
    {"kernel c(x: bf16[m, k], w: s8[k, n]) -> y: f32[m, n]\n    y = x @ w\n",
     "2:11: product of bf16 and s8: both are f16, bf16, f32 or s8; write bf16(..) around the "
     "second"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(f16(x - max(x, c)), k)\n",
     "2:9: conv takes x[image, row, column, channel] and w[out, row, column, channel], "
     "parameters or computed of such element by element"},
    {"kernel c(x: f16[n, h, w, c], k: s8[o, r, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k)\n",
     "2:9: conv of f16 and s8: both are f16 or s8"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, i]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k)\n",
     "2:9: conv: the last dimension of x is c, that of k is i"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, h, s, c]) -> y: f32[n, h, w, o]\n"
     "    y = conv(x, k)\n",
     "2:9: conv: x and k have more than their last dimension in common"},
    {"kernel c(x: f16[n, h, w, c], k: f16[o, r, s, c]) -> y: f32[n, p, q, o]\n"
     "    y = conv(x, k, to p)\n",
     "2:24: expected a name for rows, and one for columns, got ')'"},
    {"kernel c(x: f16[n, 8, 9, c], k: f16[o, 3, 5, c]) -> y: f32[n, 8, 9, o]\n"
     "    y = conv(x, k, pad 1)\n",
     "2:9: conv makes 7 of 9, which is 9: `to` names what it makes"},
    {"kernel c(x: f16[n, 2, 9, c], k: f16[o, 3, 5, c]) -> y: f32[n, p, q, o]\n"
     "    y = conv(x, k, to p q)\n",
     "2:9: conv: 3, with what is between its taps, is more than 2 and pads"},
    {"%    y = x + 2x\n", "2:13: a name begins with a letter"},
    {"%    y = x + \xff\n", "2:13: byte 0xff is not UTF-8"},
    {"%    y = x + \xc3\xa9\n", "2:13: a character that means nothing"},
    {"%    y = x # \xc3\xa9 \xe9\n", "2:15: byte 0xe9 is not UTF-8"},
    {"%    y = x $ 2\n", "2:11: '$' means nothing"},
    {"%    y = x y\n", "2:11: expected an operator or the end of the line, got 'y'"},
    {"%    y = x\n    end\n",
     "3:5: expected a statement, a schedule or a kernel, got 'end'"},
    {"%    y = x\nschedule tile k 4\n", "3:15: no dimension 'k'"},
    {"%    y = x\nschedule tile m 0\n", "3:17: expected a number from 1 to 2147483647"},
    {"%    y = x\nschedule tile m 4, tile m 5\n", "3:20: the schedule says this twice"},
    {"%    y = x\nschedule fast\n", "3:10: expected tile, lanes, buffers, cores, keep, "
                                    "strategy, layout, exact or arith, got 'fast'"},
    {"%    y = x\nschedule keep x in l2\n",
     "3:20: expected 'ub', 'l1' or 'gm', got 'l2'"},
    {"%    loop n carry a = 0[m]\n        b = x\n    end\n    y = x\n",
     "4:5: the loop carries 'a', but gives it no next value"},
    {"%    loop n carry a = 0[m]\n        a = sum(x, n)\n    y = x\n",
     "4:5: result y is assigned behind the loop"},
    {"%    y = x\nkernel b(x: f32[n]) -> y: f32[n]\n    y = x\n",
     "3:1: a second kernel: say which one"},
};

TEST(tile, refusals_say_where_and_what)
{
    static const char begin[] = "kernel a(x: f32[m, n]) -> y: f32[m, n]\n";
    struct tile_error error;
    char text[512], got[256], want[256];

    for (unsigned i = 0; i < LENGTH(refused); i++) {
        const char *body = refused[i][0];
        bool with = body[0] == '%';
        snprintf(text, sizeof(text), "%s%s", with ? begin : "", body + with);
        got[0] = '\0';
        if (parse(text, &error) == NULL) {
            tile_error_print(got, sizeof(got), "f", &error);
        }
        snprintf(want, sizeof(want), "%s%s", refused[i][1] ? "f:" : "",
                 refused[i][1] ? refused[i][1] : "");
        if (!ok(strcmp(got, want) == 0, "tile/refusal_%u", i)) {
            test_note("got  %s", got);
            test_note("want %s", want);
        }
    }
}

TEST(tile, nesting_and_length_have_limits)
{
    static char text[TILE_TEXT_MAX + 2];
    struct tile_arena arena = {memory, sizeof(memory), 0};
    struct tile_error error;
    int n = sprintf(text, "kernel a(x: f32[n]) -> y: f32[n]\n    y = ");

    memset(text + n, '(', 1000);
    ok(tile_parse(&arena, text, (size_t)n + 1000, NULL, &error) == NULL &&
           strcmp(error.text, "nested deeper than 32") == 0 && error.line == 2,
       "tile/deep_nesting_is_refused");
    memset(text, '\n', sizeof(text));
    ok(tile_parse(&arena, text, sizeof(text), NULL, &error) == NULL &&
           strncmp(error.text, "a program has", 13) == 0,
       "tile/a_long_text_is_refused");
    arena = (struct tile_arena){memory, 1000, 0};
    ok(tile_parse(&arena, programs[0], strlen(programs[0]), NULL, &error) == NULL,
       "tile/a_small_arena_is_refused");
}

/* A chain of so many additions is refused by its number of operations, not by a crash. */
TEST(tile, many_operations_are_refused)
{
    static char text[TILE_TEXT_MAX];
    struct tile_error error;
    int n = sprintf(text, "kernel a(x: f32[n]) -> y: f32[n]\n    y = x");

    for (unsigned i = 0; i < 600; i++) {
        n += sprintf(text + n, " + %u", i);
    }
    ok(parse(text, &error) == NULL && strcmp(error.text, "more than 512 operations") == 0,
       "tile/many_operations");
}

static struct tile_kernel *lowered(const char *text)
{
    struct tile_error error;
    struct tile_kernel *k = parse(text, &error);

    for (unsigned d = 0; k && d < k->n_dims; d++) {
        if (k->dim[d].size == 0 && tile_set_size(k, (uint8_t)d, 48) != 0) {
            return NULL;
        }
    }
    return k ? tile_lower(k, k->arena) : NULL;
}

/* The operations of a kernel's nodes, NUMBERs and parameters apart. */
static void operations(const struct tile_kernel *k, char *to, size_t size)
{
    char type[8];

    to[0] = '\0';
    for (unsigned v = 1; k && v <= k->n_nodes; v++) {
        const struct tile_node *n = &k->node[v];
        size_t at = strlen(to);
        if (n->op == TILE_CAST) {
            snprintf(to + at, size - at, "%s ", tile_type_text(n->type, type));
        } else if (tile_op_info[n->op].operands != 0) {
            snprintf(to + at, size - at, "%s ", tile_op_text(n->op));
        }
    }
}

TEST(tile, lowering_gives_what_the_vector_has)
{
    static const char *const rows[][2] = {
        {"f32(s8(x))", "s16 s8 f16 f32 "},
        {"f32(u8(x))", "s16 f16 u8 f16 f32 "},
        {"f32(bf16(x))", "bf16 f32 "},
        {"f32(s32(x))", "s32 f32 "},
        {"x - 3", "+ "},
        {"3 - x", "* + "},
        {"x / 4", "* "},
        {"x / 3", "/ "},
        {"1 / x", "rec "},
        {"2 + 3 * 4 - x", "* + "},
        {"where(x < 0, 1, x)", "< not where "},
        {"where(x == 0, 1, x)", "== != where "},
        {"where(0 < x, x, 1)", "> where "},
        {"x - mean(x, n)", "sum * - "},
        {"silu(x)", "* exp + rec * "},
        {"gelu(x)", "* erf + * * "},
        {"softplus(x)", "abs * exp + + - log + relu + "},
        {"x + f32(count(x > 0, n))", "> where sum s32 f32 + "},
        {"floor(x)", "floor "},
        {"pow(x, 3)", "* * "},
        {"pow(x, -2)", "* rec "},
        {"pow(x, 1.5)", "log * exp "},
        {"elu(x, 0.5)", "max exp log - * + + * < where "},
        {"mod(x, 3)", "/ floor * - "},
        {"sign(x)", "< > not where not where "},
        {"where(isnan(x), 0, x)", "<= not where "},
    };
    char text[256], got[256];

    for (unsigned i = 0; i < LENGTH(rows); i++) {
        snprintf(text, sizeof(text), "kernel a(x: f32[m, n]) -> y: f32[m, n]\n  y = %s\n",
                 rows[i][0]);
        operations(lowered(text), got, sizeof(got));
        if (!ok(strcmp(got, rows[i][1]) == 0, "tile/lowers_%u", i)) {
            test_note("%s: %s, want %s", rows[i][0], got, rows[i][1]);
        }
    }
}

/* Nodes that are equal are one; an error stays the first one. */
TEST(tile, builders)
{
    struct tile_arena arena = {memory, sizeof(memory), 0};
    struct tile_kernel *k = tile_begin(&arena, "a");
    tile_value x = tile_input(k, "x", TYPE_F16, "m n"), once, again;

    once = tile_map1(k, TILE_EXP, x);
    again = tile_map1(k, TILE_EXP, tile_named(k, "x"));
    ok(once != 0 && once == again && k->node[once].type == TYPE_F32,
       "tile/equal_nodes_are_one");
    k->line = 7;
    again = tile_reduce(k, TILE_SUM, once, tile_dim(k, "z"));
    k->line = 8;
    tile_assign(k, "x", once);
    ok(again == 0 && k->error.line == 7 &&
           strcmp(k->error.text, "sum over z, but the value is [m, n]") == 0,
       "tile/the_first_error_stays");
    ok(tile_end(k) == ERR_ARG, "tile/an_error_ends_it");
}

TEST(tile, random_programs_are_valid)
{
    char text[RANDOM_TEXT];
    unsigned bad = 0, n = 2000 * test_times;

    for (uint32_t seed = 0; seed < n; seed++) {
        struct tile_error error;
        uint32_t size[RANDOM_DIMS];
        random_program(seed, 4096, text, size);
        fuzz_tile((const uint8_t *)text, strlen(text), &error);
        if (error.text[0] != '\0') {
            test_note("%u: %u:%u: %s", seed, error.line, error.column, error.text);
            bad++;
        }
    }
    ok(bad == 0, "tile/random_programs_are_valid");
}

/* Bytes of a program exchanged, left out, doubled, or taken from elsewhere. */
static size_t mutate(char *text, size_t bytes, size_t most)
{
    static const char signs[] = "()[],:=+-*/@<>!#.\n \0\xff"
                                "09einfxmn";

    for (unsigned n = 1 + rnd() % 3; n != 0 && bytes > 1; n--) {
        size_t at = rnd() % bytes, from = rnd() % bytes, len = 1 + rnd() % 8;
        len = len < bytes - at ? len : bytes - at;
        len = len < bytes - from ? len : bytes - from;
        switch (rnd() % 4) {
        case 0:
            text[at] = signs[rnd() % (sizeof(signs) - 1)];
            break;
        case 1:
            memmove(text + at, text + at + len, bytes - at - len);
            bytes -= len;
            break;
        case 2:
            memmove(text + at, text + from, len);
            break;
        default:
            len = bytes + len <= most ? len : 0;
            memmove(text + at + len, text + at, bytes - at);
            bytes += len;
            break;
        }
    }
    return bytes;
}

TEST(tile, mutations_are_survived)
{
    unsigned n = 10000 * test_times, read = 0;
    char text[1200];

    for (unsigned i = 0; i < n; i++) {
        const char *program = programs[rnd() % LENGTH(programs)];
        struct tile_error error;
        strcpy(text, program);
        fuzz_tile((const uint8_t *)text, mutate(text, strlen(program), sizeof(text)),
                  &error);
        read += error.text[0] == '\0';
    }
    test_note("%u of %u are programs", read, n);
    ok(read != 0 && read < n / 2, "tile/survives_%u_mutations", n);
}
