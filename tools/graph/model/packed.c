/* SPDX-License-Identifier: MIT
 *
 * See packed.h.
 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "tools/graph/model/packed.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/graph/model/dtype.h"

enum { LEAST = 1 << 15 }; /* elements: below, there is little to win */

struct packed {
    enum elem type;
    uint8_t *bytes;
    size_t count;
    enum packed_where where;
    bool loaded;
    bool clamps; /* what float16 has not is the largest that it has */
};

static void *range(size_t bytes)
{
    void *p =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return p == MAP_FAILED ? NULL : p;
}

bool packed_take(struct tensor *t, enum elem type, uint8_t *bytes,
                 enum packed_where where)
{
    size_t count = (size_t)tensor_count(t);
    double *value = count >= LEAST ? range(count * sizeof(double)) : NULL;

    if (!value) {
        return false;
    }
    t->packed = graph_alloc(1, sizeof(*t->packed));
    *t->packed =
        (struct packed){.type = type, .bytes = bytes, .count = count, .where = where};
    t->value = value;
    return true;
}

void packed_hold(struct tensor *t)
{
    t->packed->clamps = true;
    t->type = ELEM_F16;
}

void packed_buffer(struct tensor *t, enum elem type)
{
    size_t count = (size_t)tensor_count(t);
    uint8_t *bytes = count >= LEAST ? graph_alloc(count, elem_bytes(type)) : NULL;

    if (!bytes || !packed_take(t, type, bytes, PACKED_OWNED)) {
        free(bytes);
        tensor_values(t);
    }
}

void packed_write(struct tensor *t, size_t i, size_t n, const double *from)
{
    const struct packed *p = t->packed;

    if (p) {
        elem_put_all(p->type, from, n, p->bytes + i * elem_bytes(p->type));
    } else {
        memcpy(t->value + i, from, n * sizeof(*from));
    }
}

/* Once all are read: pages of the file that are theirs alone the kernel has, and gives again. */
static void drop_read(const struct packed *p, size_t end)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)p->bytes;
    uintptr_t from = (at + page - 1) / page * page;
    uintptr_t to = (at + p->count * elem_bytes(p->type)) / page * page;

    if (p->where == PACKED_MAPPED && end == p->count && to > from) {
        (void)madvise((void *)from, to - from, MADV_DONTNEED);
    }
}

static void unpack(const struct packed *p, size_t i, size_t n, double *to)
{
    elem_get_all(p->type, p->bytes + i * elem_bytes(p->type), n, to);
    if (p->clamps) {
        dtype_clamp(to, n);
    }
    drop_read(p, i + n);
}

void packed_load(const struct tensor *t)
{
    struct packed *p = t->packed;
    size_t bytes = p ? p->count * sizeof(double) : 0;

    if (!p || p->loaded) {
        return;
    }
    if (mprotect(t->value, bytes, PROT_READ | PROT_WRITE) != 0) {
        fprintf(stderr, "graph: no memory for %zu bytes\n", bytes);
        exit(2);
    }
    unpack(p, 0, p->count, t->value);
    p->loaded = true;
}

void packed_read(const struct tensor *t, size_t i, size_t n, double *to)
{
    if (t->packed && !t->packed->loaded) {
        unpack(t->packed, i, n, to);
    } else {
        memcpy(to, t->value + i, n * sizeof(double));
    }
}

void packed_put(const struct tensor *t, size_t i, size_t n, void *to)
{
    static double part[PACKED_PART];
    const struct packed *p = t->packed;
    enum elem type = elem_machine(t->type);
    size_t size = elem_bytes(type);

    if (!p || p->loaded) {
        elem_put_all(type, t->value + i, n, to);
    } else if (p->type == type && !p->clamps) {
        memcpy(to, p->bytes + i * size, n * size);
        drop_read(p, i + n);
    } else {
        unpack(p, i, n, part);
        elem_put_all(type, part, n, to);
    }
}

/* Those that differ do so early. */
bool packed_same(const struct tensor *a, const struct tensor *b)
{
    static double x[PACKED_PART], y[PACKED_PART];
    size_t count = (size_t)tensor_count(a), n = 16;
    bool same = true;

    for (size_t i = 0; i < count && same; i += n) {
        n = i < PACKED_PART ? (i ? i : n) : PACKED_PART;
        n = n < count - i ? n : count - i;
        packed_read(a, i, n, x);
        packed_read(b, i, n, y);
        same = memcmp(x, y, n * sizeof(*x)) == 0;
    }
    return same;
}

void packed_free(double *value, struct packed *p)
{
    if (!p) {
        free(value);
        return;
    }
    (void)munmap(value, p->count * sizeof(double));
    if (p->where == PACKED_OWNED) {
        free(p->bytes);
    }
}

bool packed_reads(const struct node *n, unsigned i)
{
    static const struct {
        const char *op;
        unsigned operand;
    } ops[] = {{"Conv", 1},          {"ConvTranspose", 1}, {"Gemm", 1},
               {"MatMul", 1},        {"ConvInteger", 1},   {"QLinearConv", 3},
               {"MatMulInteger", 1}, {"QLinearMatMul", 3}};
    bool good = false;

    for (unsigned k = 0; k < sizeof(ops) / sizeof(ops[0]); k++) {
        good = good || (i == ops[k].operand && strcmp(n->op, ops[k].op) == 0);
    }
    return good;
}
