/* SPDX-License-Identifier: MIT
 *
 * Operands of operators; see data.h.
 */
#include "kernels/cli/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/lib/f16.h"

static const struct {
    enum npy_type npy;
    enum type type;
} types[] = {
    {NPY_F4, TYPE_F32}, {NPY_F2, TYPE_F16}, {NPY_I1, TYPE_S8}, {NPY_I4, TYPE_S32}};

enum type data_type(const struct npy *npy)
{
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].npy == npy->type) {
            return types[i].type;
        }
    }
    return TYPE_NONE;
}

enum npy_type data_npy_type(enum type type)
{
    for (unsigned i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (types[i].type == type) {
            return types[i].npy;
        }
    }
    return NPY_F4;
}

int data_read(const char *who, const char *path, struct npy *npy)
{
    char why[NPY_WHY_BYTES];
    int err = npy_read(path, npy, why);

    if (err) {
        fprintf(stderr, "%s: %s\n", who, why);
    }
    return err;
}

int data_write(const char *who, const char *path, enum type type, unsigned ndim,
               const size_t *shape, void *data)
{
    struct npy npy = {.type = data_npy_type(type), .ndim = ndim, .data = data};
    char why[NPY_WHY_BYTES];
    int err;

    for (unsigned i = 0; i < NPY_MAX_DIMS; i++) {
        npy.shape[i] = i < ndim ? shape[i] : 1;
    }
    err = npy_write(path, &npy, why);
    if (err) {
        fprintf(stderr, "%s: %s\n", who, why);
    }
    return err;
}

void *data_alloc(const char *who, enum type type, uint64_t count)
{
    uint64_t bytes =
        (count * (type_bits(type) / 8) + NPY_ALIGN - 1) & -(uint64_t)NPY_ALIGN;
    void *data = count > SIZE_MAX / 8 ? NULL : aligned_alloc(NPY_ALIGN, bytes);

    if (data == NULL) {
        fprintf(stderr, "%s: no memory for %llu elements; MEM= gives the machine more\n",
                who, (unsigned long long)count);
    }
    return data;
}

void *data_make(const char *who, enum type type, uint64_t count, uint32_t seed)
{
    void *data = data_alloc(who, type, count);
    uint16_t halves[1024];

    for (unsigned i = 0; i < 1024; i++) {
        halves[i] = f32_to_f16(((float)i - 512) / 512);
    }
    for (uint64_t i = 0; data && i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        switch (type) {
        case TYPE_F32:
            ((float *)data)[i] = ((float)(seed >> 22) - 512) / 512;
            break;
        case TYPE_F16:
            ((uint16_t *)data)[i] = halves[seed >> 22];
            break;
        default:
            ((uint8_t *)data)[i] = (uint8_t)(seed >> 24);
            break;
        }
    }
    return data;
}

bool data_digest_wanted;

/* A word at a time: multiply, as FNV-1a does with bytes, and fold the high half in. */
static uint64_t digest_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * 0x00000100000001b3u;
    return hash ^ hash >> 32;
}

void data_digest(const char *who, const void *data, enum type type, uint64_t count)
{
    uint64_t bytes = count * (type_bits(type) / 8), hash = digest_word(0, bytes),
             last = 0;
    const uint64_t *words = data; /* of data_alloc */

    if (!data_digest_wanted) {
        return;
    }
    for (uint64_t i = 0; i < bytes / 8; i++) {
        hash = digest_word(hash, words[i]);
    }
    memcpy(&last, words + bytes / 8, bytes % 8);
    printf("digest %s %s %llu %016llx\n", who, type_name(type), (unsigned long long)count,
           (unsigned long long)digest_word(hash, last));
}

uint32_t data_bits(const void *data, enum type type, uint64_t i)
{
    switch (type_bits(type)) {
    case 32:
        return ((const uint32_t *)data)[i];
    case 16:
        return ((const uint16_t *)data)[i];
    default:
        return ((const uint8_t *)data)[i];
    }
}

/* The s-th of `samples` places; the odd ones in between fall on every column of a tile.
 */
static uint64_t sample_at(uint64_t s, uint64_t samples, uint64_t count)
{
    if (samples == count) {
        return s;
    }
    if (s == 0 || s == samples - 1) {
        return s ? count - 1 : 0;
    }
    return (uint64_t)((double)s / (double)samples * (double)count) | 1;
}

int data_check(const char *who, const void *data, enum type type, uint64_t count,
               uint64_t samples, data_ref_fn *ref, const void *arg)
{
    samples = samples < count ? samples : count;
    for (uint64_t s = 0; s < samples; s++) {
        uint64_t i = sample_at(s, samples, count);
        uint32_t got = data_bits(data, type, i), want = ref(arg, i);
        if (got != want) {
            fprintf(stderr, "%s: element %llu is 0x%x, want 0x%x\n", who,
                    (unsigned long long)i, (unsigned)got, (unsigned)want);
            return ERR_MISMATCH;
        }
    }
    return 0;
}
