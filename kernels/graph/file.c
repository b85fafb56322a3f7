/* SPDX-License-Identifier: MIT
 *
 * Elements as files and as the machine have them; see file.h.
 */
#include "kernels/graph/file.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cli/op.h"

size_t file_element(const struct plan_tensor *t)
{
    return type_bits(t->type) / 8;
}

bool file_narrow(const struct plan_tensor *t, char *data, uint64_t *i)
{
    uint64_t n = plan_count(t);

    for (*i = 0; *i < n && t->file == NPY_U4; (*i)++) {
        if (data[*i * sizeof(uint32_t) + 3] & 0x80) {
            return false;
        }
    }

    for (*i = 0; *i < n && (t->file == NPY_I8 || t->file == NPY_U8); (*i)++) {
        int64_t whole;
        int32_t word;
        memcpy(&whole, data + *i * sizeof(whole), sizeof(whole));
        word = (int32_t)whole;
        if (whole != word || (t->file == NPY_U8 && whole < 0)) {
            return false;
        }
        memcpy(data + *i * sizeof(word), &word, sizeof(word));
    }
    for (*i = 0; *i < n && t->type == TYPE_BF16; (*i)++) {
        float number;
        uint16_t half;
        memcpy(&number, data + *i * sizeof(number), sizeof(number));
        half = (uint16_t)data_round((double)number, TYPE_BF16);
        memcpy(data + *i * sizeof(half), &half, sizeof(half));
    }
    return true;
}

bool file_lengthen(const struct plan_tensor *t, struct npy *npy)
{
    uint64_t n = plan_count(t);
    uint32_t *to;
    uint16_t x;

    if (t->file != NPY_U2) {
        return true;
    }
    to = malloc(n * sizeof(*to) + 1);
    for (uint64_t i = 0; to && i < n; i++) {
        memcpy(&x, (char *)npy->data + i * sizeof(x), sizeof(x));
        to[i] = x;
    }
    free(npy->data);
    npy->data = to;
    return to;
}

void file_widen(const struct plan_tensor *t, const char *from, char *to, size_t bytes)
{
    if (file_element(t) == bytes) {
        memcpy(to, from, plan_count(t) * bytes);
        return;
    }
    for (uint64_t i = 0; i < plan_count(t); i++) {
        int64_t whole = 0;
        memcpy(&whole, from + i * file_element(t), file_element(t));
        whole = t->type == TYPE_S32    ? (int32_t)whole
                : t->type == TYPE_BF16 ? (int64_t)((uint64_t)whole << 16)
                                       : whole;
        memcpy(to + i * bytes, &whole, bytes);
    }
}

void file_cut(struct npy *npy, unsigned axis, int64_t found)
{
    size_t outer = 1, inner = npy_type_bytes(npy->type), was = npy->shape[axis], is;
    char *data = npy->data;

    is = found < 0 ? 0 : (size_t)found < was ? (size_t)found : was;
    for (unsigned d = 0; d < npy->ndim; d++) {
        outer *= d < axis ? npy->shape[d] : 1;
        inner *= d > axis ? npy->shape[d] : 1;
    }
    for (size_t o = 0; o < outer; o++) {
        memmove(data + o * is * inner, data + o * was * inner, is * inner);
    }
    npy->shape[axis] = is;
}
