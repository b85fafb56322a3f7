/* SPDX-License-Identifier: MIT
 *
 * NumPy's files, on the host: values that a plan is made for, and tensors of ONNX.
 */
#include "kernels/cli/npy.h"

#include <stdio.h>
#include <string.h>

#include "tools/graph/model/graph.h"

static const enum elem elems[NPY_TYPES] = {
    [NPY_F4] = ELEM_F32, [NPY_F2] = ELEM_F16, [NPY_F8] = ELEM_F64,  [NPY_I1] = ELEM_I8,
    [NPY_I2] = ELEM_I16, [NPY_I4] = ELEM_I32, [NPY_I8] = ELEM_I64,  [NPY_U1] = ELEM_U8,
    [NPY_U2] = ELEM_U16, [NPY_U4] = ELEM_U32, [NPY_B1] = ELEM_BOOL, [NPY_U8] = ELEM_U64};

struct tensor *graph_read_npy_at(const char *path, uint64_t at)
{
    struct graph *g = graph_alloc(1, sizeof(*g));
    struct tensor *t = graph_alloc(1, sizeof(*t));
    char head[NPY_HEADER_MAX], why[NPY_WHY_BYTES], element[8];
    FILE *f;
    size_t have, total = 0;
    struct npy npy;

    g->path = path;
    f = graph_open(g);
    have = fseek(f, (long)at, SEEK_SET) == 0 ? fread(head, 1, sizeof(head), f) : 0;
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
    if (fseek(f, (long)(at + total), SEEK_SET) != 0) {
        graph_die(g, "cannot be read");
    }
    for (int64_t i = 0; i < tensor_count(t); i++) {
        if (fread(element, elem_bytes(t->type), 1, f) != 1) {
            graph_die(g, "is cut off");
        }
        t->value[i] = elem_get(t->type, element);
    }
    (void)fclose(f);
    return t;
}

struct tensor *graph_read_npy(const char *path)
{
    return graph_read_npy_at(path, 0);
}

int graph_npy_type(enum elem type)
{
    type = elem_file(type);
    for (int i = 0; i < NPY_TYPES; i++) {
        if (elems[i] == type) {
            return i;
        }
    }
    return NPY_F4;
}

void graph_write_npy(const struct tensor *t, FILE *to)
{
    struct npy header = {.type = (enum npy_type)graph_npy_type(t->type),
                         .ndim = t->shape.n};
    char text[256], element[8];
    int bytes;

    for (unsigned d = 0; d < NPY_MAX_DIMS; d++) {
        header.shape[d] = d < t->shape.n ? (size_t)t->shape.dim[d] : 1;
    }
    bytes = npy_format_header(&header, text, sizeof(text));
    fwrite(text, 1, (size_t)bytes, to);
    for (int64_t i = 0; i < tensor_count(t); i++) {
        elem_put(elems[header.type], t->value[i], element);
        fwrite(element, npy_type_bytes(header.type), 1, to);
    }
}
