/* SPDX-License-Identifier: MIT
 *
 * Constants of signal processing: windows, weights of mel bands. What they depend on has to be
 * known before a run, so they are.
 */
#include <math.h>
#include <string.h>

#include "tools/graph/model/dtype.h"
#include "tools/graph/model/edit.h"
#include "tools/graph/model/graph.h"

static const double turn = 6.283185307179586; /* 2 pi */

static enum elem type_of(const struct node *n)
{
    const struct attr *type = node_attr(n, "output_datatype");

    return type ? dtype_of(type->i) : ELEM_F32;
}

/* --- windows: a[0] - a[1] cos(x) + a[2] cos(2 x) --- */

static void window(struct graph *g, struct node *n, const double a[3])
{
    double size = node_number(g, n, 0);
    struct shape s = {.n = 1, .dim = {elem_whole(size)}};
    double *to, periods = node_int(n, "periodic", 1) ? size : size - 1;

    if (!(size >= 0)) {
        node_die(g, n, "a window of %g", size);
    }
    tensor_is(g, n, 0, type_of(n), &s);
    to = tensor_values(n->out[0]);
    for (int64_t i = 0; i < s.dim[0]; i++) {
        double x = turn * (double)i / periods;
        to[i] = elem_round(n->out[0]->type, a[0] - a[1] * cos(x) + a[2] * cos(2 * x));
    }
    edit_delete(n);
}

static void hann(struct graph *g, struct node *n)
{
    window(g, n, (const double[]){0.5, 0.5, 0});
}

static void hamming(struct graph *g, struct node *n)
{
    window(g, n, (const double[]){25. / 46, 21. / 46, 0});
}

static void blackman(struct graph *g, struct node *n)
{
    window(g, n, (const double[]){0.42, 0.5, 0.08});
}

/* --- MelWeightMatrix: a triangle over bins for each band --- */

static double mel_of(double hertz)
{
    return 2595 * log10(1 + hertz / 700);
}

static double hertz_of(double mel)
{
    return 700 * (pow(10, mel / 2595) - 1);
}

static void mel(struct graph *g, struct node *n)
{
    double bands = node_number(g, n, 0), length = node_number(g, n, 1),
           rate = node_number(g, n, 2);
    double low = mel_of(node_number(g, n, 3)), high = mel_of(node_number(g, n, 4));
    struct shape s = {.n = 2, .dim = {elem_whole(length) / 2 + 1, elem_whole(bands)}};
    double *to;

    if (!(bands >= 1 && length >= 1 && rate > 0 && low < high)) {
        node_die(g, n, "no bands");
    }
    tensor_is(g, n, 0, type_of(n), &s);
    to = tensor_values(n->out[0]);
    for (int64_t i = 0; i < s.dim[1]; i++) {
        double edge[3];
        for (int e = 0; e < 3; e++) {
            double at = low + (double)(i + e) * (high - low) / (bands + 2);
            edge[e] = floor((length + 1) * hertz_of(at) / rate);
        }
        for (int64_t j = 0; j < s.dim[0]; j++) {
            double x = (double)j, rise = edge[1] - edge[0], fall = edge[2] - edge[1];
            double y = x < edge[0] || x >= fmax(edge[2], edge[1] + 1) ? 0
                       : x <= edge[1] ? (rise > 0 ? (x - edge[0]) / rise : x == edge[1])
                                      : (edge[2] - x) / fall;
            to[j * s.dim[1] + i] = elem_round(n->out[0]->type, y);
        }
    }
    edit_delete(n);
}

const struct rule rules_signal[] = {
    {.op = "HannWindow", .shape = hann, .wants = 1 << 0},
    {.op = "HammingWindow", .shape = hamming, .wants = 1 << 0},
    {.op = "BlackmanWindow", .shape = blackman, .wants = 1 << 0},
    {.op = "MelWeightMatrix", .shape = mel, .wants = 0x1f},
    {0},
};
