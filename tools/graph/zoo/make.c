/* SPDX-License-Identifier: MIT
 *
 * graph make: models of published architectures with weights of a seed, for measurements; what
 * they compute means nothing.
 */
#include "tools/graph/zoo/make.h"

#include <math.h>
#include <string.h>

#include "tools/graph/zoo/builder.h"

enum { OPSET = 17, SEED = 1 };

typedef const char *name;

#define SHAPE(...)                                                                       \
    (&(struct shape){.n = sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),            \
                     .dim = {__VA_ARGS__}})
#define NODE(b, op, ...)                                                                 \
    builder_node(b, op, sizeof((name[]){__VA_ARGS__}) / sizeof(name),                    \
                 (const name[]){__VA_ARGS__})
#define INTS(b, attr, ...)                                                               \
    builder_ints(b, attr, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),            \
                 (const int64_t[]){__VA_ARGS__})
#define WHOLE(b, ...)                                                                    \
    builder_whole(b, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t),                 \
                  (const int64_t[]){__VA_ARGS__})

/* So that values stay of one size from layer to layer. */
static name weight(struct builder *b, int64_t inputs, const struct shape *shape)
{
    return builder_weight(b, 0, sqrt(3.0 / (double)inputs), shape);
}

static name number(struct builder *b, double value)
{
    return builder_weight(b, value, 0, &(struct shape){0});
}

/* --- convolutions --- */

/* What a layer has besides its channels. */
struct layer {
    int64_t kernel, stride, pad;
    const char *act; /* "Relu", "Silu"; NULL: none */
};

static name conv(struct builder *b, name x, int64_t in, int64_t out, struct layer l)
{
    int64_t k = l.kernel, p = l.pad;
    const struct shape *each = SHAPE(out);

    x = NODE(b, "Conv", x, weight(b, in * k * k, SHAPE(out, in, k, k)));
    INTS(b, "kernel_shape", k, k);
    INTS(b, "strides", l.stride, l.stride);
    INTS(b, "pads", p, p, p, p);
    x = NODE(b, "BatchNormalization", x, builder_weight(b, 1, 0.1, each),
             builder_weight(b, 0, 0.1, each), builder_weight(b, 0, 0.1, each),
             builder_weight(b, 1, 0.1, each));
    if (l.act && strcmp(l.act, "Silu") == 0) {
        return NODE(b, "Mul", x, NODE(b, "Sigmoid", x));
    }
    return l.act ? NODE(b, l.act, x) : x;
}

static name pool(struct builder *b, name x, int64_t kernel, int64_t stride, int64_t pad)
{
    x = NODE(b, "MaxPool", x);
    INTS(b, "kernel_shape", kernel, kernel);
    INTS(b, "strides", stride, stride);
    INTS(b, "pads", pad, pad, pad, pad);
    return x;
}

static name concat(struct builder *b, name x, name y, int64_t axis)
{
    x = NODE(b, "Concat", x, y);
    builder_int(b, "axis", axis);
    return x;
}

static void resnet50(struct builder *b)
{
    static const struct layer one = {1, 1, 0, "Relu"};
    static const int64_t blocks[] = {3, 4, 6, 3};
    name x = builder_input(b, ELEM_F32, 1, SHAPE(1, 3, 224, 224)), was;
    int64_t in = 64;

    x = pool(b, conv(b, x, 3, in, (struct layer){7, 2, 3, "Relu"}), 3, 2, 1);
    for (unsigned s = 0; s < sizeof(blocks) / sizeof(blocks[0]); s++) {
        int64_t mid = 64 << s, out = 4 * mid;
        for (int64_t i = 0; i < blocks[s]; i++) {
            int64_t stride = i == 0 && s > 0 ? 2 : 1;
            was = i == 0 ? conv(b, x, in, out, (struct layer){1, stride, 0, NULL}) : x;
            x = conv(b, x, in, mid, one);
            x = conv(b, x, mid, mid, (struct layer){3, stride, 1, "Relu"});
            x = conv(b, x, mid, out, (struct layer){1, 1, 0, NULL});
            x = NODE(b, "Relu", NODE(b, "Add", x, was));
            in = out;
        }
    }
    x = NODE(b, "Flatten", NODE(b, "GlobalAveragePool", x));
    x = NODE(b, "Gemm", x, weight(b, in, SHAPE(in, 1000)), weight(b, in, SHAPE(1000)));
    builder_output(b, x);
}

static const struct layer silu = {1, 1, 0, "Silu"}, silu3 = {3, 1, 1, "Silu"},
                          down = {3, 2, 1, "Silu"};

/* A C3 block of n bottlenecks, with what goes around each or without. */
static name c3(struct builder *b, name x, int64_t in, int64_t out, unsigned n,
               bool around)
{
    int64_t mid = out / 2;
    name y = conv(b, x, in, mid, silu), z = conv(b, x, in, mid, silu);

    while (n--) {
        x = conv(b, conv(b, y, mid, mid, silu), mid, mid, silu3);
        y = around ? NODE(b, "Add", y, x) : x;
    }
    return conv(b, concat(b, y, z, 1), 2 * mid, out, silu);
}

static name sppf(struct builder *b, name x, int64_t channels)
{
    name y;

    x = conv(b, x, channels, channels / 2, silu);
    y = x;
    for (unsigned i = 0; i < 3; i++) {
        x = pool(b, x, 5, 1, 2);
        y = concat(b, y, x, 1);
    }
    return conv(b, y, 2 * channels, channels, silu);
}

/* Twice as high and as wide, by the nearest element. */
static name larger(struct builder *b, name x, int64_t channels, int64_t size)
{
    return builder_node(b, "Resize", 4,
                        (const name[]){x, "", "", WHOLE(b, 1, channels, size, size)});
}

static void yolov5s(struct builder *b)
{
    name x = builder_input(b, ELEM_F32, 1, SHAPE(1, 3, 320, 320)), p3, p4, p5, up4, up5;

    x = conv(b, x, 3, 32, (struct layer){6, 2, 2, "Silu"});
    x = c3(b, conv(b, x, 32, 64, down), 64, 64, 1, true);
    p3 = c3(b, conv(b, x, 64, 128, down), 128, 128, 2, true);
    p4 = c3(b, conv(b, p3, 128, 256, down), 256, 256, 3, true);
    p5 = c3(b, conv(b, p4, 256, 512, down), 512, 512, 1, true);
    p5 = sppf(b, p5, 512);
    up5 = conv(b, p5, 512, 256, silu);
    x = c3(b, concat(b, larger(b, up5, 256, 20), p4, 1), 512, 256, 1, false);
    up4 = conv(b, x, 256, 128, silu);
    p3 = c3(b, concat(b, larger(b, up4, 128, 40), p3, 1), 256, 128, 1, false);
    p4 = c3(b, concat(b, conv(b, p3, 128, 128, down), up4, 1), 256, 256, 1, false);
    p5 = c3(b, concat(b, conv(b, p4, 256, 256, down), up5, 1), 512, 512, 1, false);
    builder_output(b, NODE(b, "Conv", p3, weight(b, 128, SHAPE(255, 128, 1, 1))));
    builder_output(b, NODE(b, "Conv", p4, weight(b, 256, SHAPE(255, 256, 1, 1))));
    builder_output(b, NODE(b, "Conv", p5, weight(b, 512, SHAPE(255, 512, 1, 1))));
}

/* --- products --- */

static name linear(struct builder *b, name x, int64_t in, int64_t out)
{
    x = NODE(b, "MatMul", x, weight(b, in, SHAPE(in, out)));
    return NODE(b, "Add", x, weight(b, in, SHAPE(out)));
}

/* (1, n, heads * size) as (1, heads, n, size), or the last two the other way round. */
static name heads_of(struct builder *b, name x, int64_t n, int64_t heads, int64_t size,
                     bool turned)
{
    x = NODE(b, "Reshape", x, WHOLE(b, 1, n, heads, size));
    x = NODE(b, "Transpose", x);
    if (turned) {
        INTS(b, "perm", 0, 2, 3, 1);
    } else {
        INTS(b, "perm", 0, 2, 1, 3);
    }
    return x;
}

/* Of n queries from x, of k keys and values from y. */
static name attention(struct builder *b, name x, name y, int64_t n, int64_t k,
                      int64_t heads, int64_t size)
{
    int64_t width = heads * size;
    name q = heads_of(b, linear(b, x, width, width), n, heads, size, false);
    name keys = heads_of(b, linear(b, y, width, width), k, heads, size, true);
    name values = heads_of(b, linear(b, y, width, width), k, heads, size, false);

    x = NODE(b, "Div", NODE(b, "MatMul", q, keys), number(b, sqrt((double)size)));
    x = NODE(b, "Softmax", x);
    builder_int(b, "axis", -1);
    x = NODE(b, "Transpose", NODE(b, "MatMul", x, values));
    INTS(b, "perm", 0, 2, 1, 3);
    x = NODE(b, "Reshape", x, WHOLE(b, 1, n, width));
    return linear(b, x, width, width);
}

static name norm(struct builder *b, name x, int64_t width)
{
    return NODE(b, "LayerNormalization", x, builder_weight(b, 1, 0.1, SHAPE(width)),
                builder_weight(b, 0, 0.1, SHAPE(width)));
}

/* As exporters take it apart. */
static name gelu(struct builder *b, name x)
{
    name y = NODE(b, "Erf", NODE(b, "Div", x, number(b, sqrt(2))));

    y = NODE(b, "Mul", x, NODE(b, "Add", y, number(b, 1)));
    return NODE(b, "Mul", y, number(b, 0.5));
}

static void bert(struct builder *b)
{
    enum { TOKENS = 128, HEADS = 12, SIZE = 64, WIDTH = HEADS * SIZE, WIDE = 4 * WIDTH };
    name x = builder_input(b, ELEM_F32, 1, SHAPE(1, TOKENS, WIDTH)), y;

    y = attention(b, x, x, TOKENS, TOKENS, HEADS, SIZE);
    x = norm(b, NODE(b, "Add", x, y), WIDTH);
    y = linear(b, gelu(b, linear(b, x, WIDTH, WIDE)), WIDE, WIDTH);
    builder_output(b, norm(b, NODE(b, "Add", x, y), WIDTH));
}

static void cross(struct builder *b)
{
    enum { IMAGE = 197, TEXT = 77, HEADS = 16, SIZE = 80, WIDTH = HEADS * SIZE };
    name x = builder_input(b, ELEM_F32, 1, SHAPE(1, IMAGE, WIDTH));
    name y = builder_input(b, ELEM_F32, 1, SHAPE(1, TEXT, WIDTH));

    y = attention(b, x, y, IMAGE, TEXT, HEADS, SIZE);
    builder_output(b, NODE(b, "Add", x, y));
}

static void embedding(struct builder *b)
{
    enum { ROWS = 10000, WIDTH = 64, BAGS = 64, BAG = 20, WIDE = 256 };
    name x = builder_input(b, ELEM_I64, ROWS, SHAPE(BAGS, BAG));

    x = NODE(b, "Gather", builder_weight(b, 0, 1, SHAPE(ROWS, WIDTH)), x);
    builder_int(b, "axis", 0);
    x = NODE(b, "ReduceSum", x, WHOLE(b, 1));
    builder_int(b, "keepdims", 0);
    x = NODE(b, "Relu", linear(b, x, WIDTH, WIDE));
    x = NODE(b, "Relu", linear(b, x, WIDE, WIDTH));
    builder_output(b, NODE(b, "Sigmoid", linear(b, x, WIDTH, 1)));
}

static void lstm(struct builder *b)
{
    enum { STEPS = 16, BATCH = 16, UNITS = 512, LAYERS = 2, ROWS = 4 * UNITS };
    name x = builder_input(b, ELEM_F32, 1, SHAPE(STEPS, BATCH, UNITS));

    for (unsigned i = 0; i < LAYERS; i++) {
        x = NODE(b, "LSTM", x, weight(b, UNITS, SHAPE(1, ROWS, UNITS)),
                 weight(b, UNITS, SHAPE(1, ROWS, UNITS)),
                 builder_weight(b, 0, 0.1, SHAPE(1, 2 * ROWS)));
        builder_int(b, "hidden_size", UNITS);
        x = NODE(b, "Squeeze", x, WHOLE(b, 1));
    }
    builder_output(b, x);
}

/* --- all --- */

static const struct {
    const char *name;
    void (*build)(struct builder *b);
} models[] = {{"resnet50", resnet50},
              {"bert", bert},
              {"yolov5s", yolov5s},
              {"embedding", embedding},
              {"cross_attention", cross},
              {"lstm", lstm}};
enum { MODELS = sizeof(models) / sizeof(models[0]) };

struct builder *make_model(const char *model)
{
    for (unsigned i = 0; i < MODELS; i++) {
        if (strcmp(models[i].name, model) == 0) {
            struct builder *b = builder_begin(model, OPSET, SEED);
            models[i].build(b);
            return b;
        }
    }
    return NULL;
}

void make_names(FILE *to)
{
    for (unsigned i = 0; i < MODELS; i++) {
        fprintf(to, " %s", models[i].name);
    }
}
