/* SPDX-License-Identifier: MIT
 *
 * NumPy's files, on the host: values that a plan is made for.
 */
#include "kernels/cli/npy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "kernels/lib/f16.h"
#include "tools/graph/graph.h"

static const enum elem elems[NPY_TYPES] = {
    [NPY_F4] = ELEM_F32, [NPY_F2] = ELEM_F16, [NPY_F8] = ELEM_F64,
    [NPY_I1] = ELEM_I8,  [NPY_I2] = ELEM_I16, [NPY_I4] = ELEM_I32,
    [NPY_I8] = ELEM_I64, [NPY_U1] = ELEM_U8,  [NPY_B1] = ELEM_BOOL};

static double value_of(enum npy_type type, const char *p)
{
    union {
        float f;
        double d;
        uint16_t u;
        int16_t h;
        int32_t w;
        int64_t l;
        int8_t b;
    } x = {.l = 0};

    memcpy(&x, p, npy_type_bytes(type));
    switch (type) {
    case NPY_F4:
        return (double)x.f;
    case NPY_F2:
        return (double)f16_to_f32(x.u);
    case NPY_F8:
        return x.d;
    case NPY_I1:
        return x.b;
    case NPY_I2:
        return x.h;
    case NPY_I4:
        return x.w;
    default:
        return (double)x.l; /* of 64 bits, or unsigned */
    }
}

struct tensor *graph_read_npy(const char *path)
{
    struct graph *g = graph_alloc(1, sizeof(*g));
    struct tensor *t = graph_alloc(1, sizeof(*t));
    char head[NPY_HEADER_MAX], why[NPY_WHY_BYTES], element[8];
    FILE *f = fopen(path, "rb");
    size_t have, total = 0;
    struct npy npy;

    g->path = path;
    if (!f) {
        graph_die(g, "%s", strerror(errno));
    }
    have = fread(head, 1, sizeof(head), f);
    if (npy_header_bytes(head, have, &total, why) != 0 || total > have ||
        npy_parse_header(head, total, &npy, why) != 0) {
        graph_die(g, "%s", total > have ? "is cut off" : why);
    }
    t->type = elems[npy.type];
    t->shape.n = npy.ndim;
    for (unsigned d = 0; d < npy.ndim; d++) {
        t->shape.dim[d] = (int64_t)npy.shape[d];
    }
    tensor_check(g, t);
    tensor_values(t);
    if (fseek(f, (long)total, SEEK_SET) != 0) {
        graph_die(g, "cannot be read");
    }
    for (int64_t i = 0; i < tensor_count(t); i++) {
        if (fread(element, npy_type_bytes(npy.type), 1, f) != 1) {
            graph_die(g, "is cut off");
        }
        t->value[i] = value_of(npy.type, element);
    }
    (void)fclose(f);
    return t;
}
