/* SPDX-License-Identifier: MIT
 *
 * The Cube: Mmad, dense and sparse. Source: hal/contract/cube.md.
 */
#include "tools/emu/model/ops/flow.h"
#include "tools/emu/model/arith/cube.h"
#include "tools/emu/model/arith/num.h"
#include "tools/emu/model/mem.h"
#include "tools/emu/model/ops/op.h"

#define FIELD_OF(field) offsetof(struct cmd_mmad, field)

_Static_assert((int)MMAD_INIT == (int)MMAD_SPARSE_INIT &&
                   (int)MMAD_BIAS == (int)MMAD_SPARSE_BIAS,
               "MMAD and MMAD_SPARSE share their code, here and in hal/cube.h");

/* Rules between operands; 0 or an error. */
static unsigned mmad_rules(const struct op_ctx *c, const struct cmd_mmad *a)
{
    unsigned flags = a->head.flags;

    if ((flags & (MMAD_HF32 | MMAD_K_ALIGN) && a->head.type != TYPE_F32) ||
        (flags & MMAD_HF32_ZERO && !(flags & MMAD_HF32))) {
        return op_fail(c, FIELD_OF(head.flags), NPU_ERR_FLAGS);
    }
    if (flags & MMAD_INIT && flags & MMAD_BIAS) {
        return op_fail(c, FIELD_OF(head.flags), NPU_ERR_RANGE);
    }
    if (a->unit == 1) {
        return op_fail(c, FIELD_OF(unit), NPU_ERR_RANGE);
    }
    if (a->bias != 0 && !(flags & MMAD_BIAS)) {
        return op_fail(c, FIELD_OF(bias), NPU_ERR_RESERVED);
    }
    return flags & MMAD_GEMV && a->m > 1 ? op_fail(c, FIELD_OF(m), NPU_ERR_RANGE) : 0;
}

static bool is_sparse(const struct cmd_mmad *a)
{
    return a->head.opcode == OP_MMAD_SPARSE;
}

/* Fractals of k that a holds. */
static unsigned a_fractals(const struct cmd_mmad *a)
{
    unsigned n = (unsigned)div_up(a->k, type_c0(a->head.type));

    return a->head.flags & MMAD_K_ALIGN ? n + n % 2 : n;
}

/* Rows of b that L0B holds: of a sparse b 2 of each 4. */
static unsigned b_rows(const struct cmd_mmad *a)
{
    return is_sparse(a) ? 2 * (unsigned)div_up(a->k, 4) : a->k;
}

/* Fractals of k that b holds. */
static unsigned b_fractals(const struct cmd_mmad *a)
{
    return is_sparse(a) ? (unsigned)div_up(b_rows(a), 32) : a_fractals(a);
}

/* Where the sum begins: c or the bias table; false if at 0. */
static bool start_access(const struct cmd_mmad *a, const struct plan *plan,
                         struct access *start)
{
    if (a->head.flags & MMAD_BIAS) {
        *start = access_rows(NPU_MEM_BT, FIELD_OF(bias), a->bias, 4 * a->n, 1, 4 * a->n);
        return true;
    }
    *start = plan->dst;
    return !(a->head.flags & MMAD_INIT);
}

static unsigned mmad_plan(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_mmad *a = &c->cmd->mmad;
    bool slow = a->head.type == TYPE_F32 && !(a->head.flags & MMAD_HF32);
    uint64_t m16 = div_up(a->m, 16), n16 = div_up(a->n, 16), k0 = b_fractals(a);
    uint64_t a_bytes = 512 * m16 * a_fractals(a), b_bytes = 512 * n16 * k0,
             c_bytes = 1024 * m16 * n16;
    unsigned code = mmad_rules(c, a);

    if (code) {
        return code;
    }
    if (a->m == 0 || a->n == 0 || a->k == 0) {
        plan->fixed = 1;
        return 0;
    }
    if (a->head.flags & MMAD_GEMV) {
        a_bytes = div_up((uint64_t)a->k * type_bits(a->head.type), 8);
    }
    plan->src[0] = access_rows(NPU_MEM_L0A, FIELD_OF(a), a->a, a_bytes, 1, a_bytes);
    plan->src[1] = access_rows(NPU_MEM_L0B, FIELD_OF(b), a->b, b_bytes, 1, b_bytes);
    plan->dst = access_rows(NPU_MEM_L0C, FIELD_OF(dst), a->dst, c_bytes, 1, c_bytes);
    plan->n_src = start_access(a, plan, &plan->src[2]) ? 3 : 2;
    if (is_sparse(a)) {
        b_bytes = b_bytes / 512 * SPARSE_INDEX_BYTES;
        plan->src[plan->n_src++] =
            access_rows(NPU_MEM_L0B_INDEX, FIELD_OF(b), a->b / 512 * SPARSE_INDEX_BYTES,
                        b_bytes, 1, b_bytes);
    }
    plan->has_dst = true;
    plan->behind = BEHIND_ANY;
    plan->fixed = op_cost(c, COST_MMAD_FIRST);
    plan->fixed_next = op_cost(c, COST_MMAD_NEXT);
    plan->work = m16 * n16 * k0 * (slow ? 2 : 1); /* a fractal a cycle, fp32 in two */
    plan->ops = (uint64_t)a->m * a->n * b_rows(a);
    return 0;
}

static enum cube_type cube_type(const struct cmd_head *head)
{
    switch (head->type) {
    case TYPE_F16:
        return CUBE_F16;
    case TYPE_BF16:
        return CUBE_BF16;
    case TYPE_F32:
        return head->flags & MMAD_HF32 ? CUBE_HF32 : CUBE_F32;
    case TYPE_S8:
        return CUBE_S8;
    default:
        return CUBE_S4;
    }
}

/* Elements of m x n, and no others. */
static void saturate(const struct cmd_mmad *a, uint8_t *c)
{
    for (unsigned j = 0; j < a->n; j += 16) {
        uint8_t *block = c + j / 16 * div_up(a->m, 16) * 1024;
        for (unsigned i = 0; i < a->m; i++) {
            num_saturate(block + i * 64, 4, NUM_F32_INF, a->n - j < 16 ? a->n - j : 16);
        }
    }
}

/* False if an index of m x n is 3; then the command has no effect. */
static bool index_legal(const struct op_ctx *c, const struct cmd_mmad *a,
                        const uint8_t *index)
{
    unsigned rows = b_rows(a), n16 = (unsigned)div_up(a->n, 16);

    for (unsigned x = 0; x < rows; x += 32) {
        uint64_t inside = rows - x < 32 ? (1ull << 2 * (rows - x)) - 1 : UINT64_MAX;
        for (unsigned j = 0; j < a->n; j++) {
            size_t at = (x / 32 * n16 + j / 16) * SPARSE_INDEX_BYTES + j % 16 * 8u;
            uint64_t word, bad;
            memcpy(&word, index + at, sizeof(word));
            bad = word & word >> 1 & inside & 0x5555555555555555u;
            if (bad) {
                *c->fault = (struct npu_fault){.code = NPU_ERR_INDEX,
                                               .field = FIELD_OF(b),
                                               .addr = a->b + at * 4 +
                                                       (unsigned)__builtin_ctzll(bad) / 2,
                                               .value = 3};
                return false;
            }
        }
    }
    return true;
}

static void mmad_run(const struct op_ctx *c)
{
    struct plan *plan = c->plan;
    const struct cmd_mmad *a = &c->cmd->mmad;
    unsigned flags = a->head.flags;
    struct cube_op op = {.type = cube_type(&a->head),
                         .m = a->m,
                         .n = a->n,
                         .k = a->k,
                         .a_kb = a_fractals(a),
                         .row = flags & MMAD_GEMV,
                         .ties_down = flags & MMAD_HF32_ZERO,
                         .bias = flags & MMAD_BIAS ? c->src[2] : NULL,
                         .share = c->share};

    if (!plan->has_dst) {
        return;
    }
    if (is_sparse(a)) {
        op.index = c->src[plan->n_src - 1];
        if (!index_legal(c, a, op.index)) {
            return;
        }
    }
    cube_run(&op, c->stage, flags & (MMAD_BIAS | MMAD_INIT) ? NULL : c->src[2], c->src[0],
             c->src[1]);
    if (c->special[SPECIAL_SATURATE] && op.type != CUBE_S8 && op.type != CUBE_S4) {
        saturate(a, c->stage);
    }
}

/* --- what it touches --- */

/* A matrix in fractals of 16 rows: how many there are of them in each direction, bytes
 * from one to the next, and of each row that counts; of the last ones less may do. */
struct tile {
    struct access at;                       /* memory, operand, begin */
    uint64_t row, fractal_row, fractal_col; /* distances in bytes */
    unsigned rows;                          /* that count */
    unsigned bytes, row_bytes; /* of all rows that count; of a fractal's row */
};

/* Full fractals as one access, the last rows and the last columns as one each. */
static void touch_tile(const struct touch *t, enum touch_kind kind, const struct tile *x)
{
    unsigned full = x->bytes / x->row_bytes, part = x->bytes % x->row_bytes;
    struct access a = x->at;

    for (unsigned first = 0; first < x->rows;) {
        unsigned n = x->rows - first >= 16 ? (x->rows - first) / 16 : 0;
        unsigned rows = n ? 16 : x->rows - first;
        a.base = x->at.base + first / 16 * x->fractal_row;
        a.n[0] = rows;
        a.stride[0] = x->row;
        a.n[1] = full;
        a.stride[1] = x->fractal_col;
        a.n[2] = n ? n : 1;
        a.stride[2] = x->fractal_row;
        a.row_bytes = x->row_bytes;
        touch_access(t, a, kind);
        a.base += full * x->fractal_col;
        a.n[1] = 1;
        a.row_bytes = part;
        touch_access(t, a, kind);
        first += n ? 16 * n : rows;
    }
}

/* `length` elements of k in each row, C0 of them in a fractal. */
static unsigned k_bytes(const struct cmd_mmad *a, unsigned length)
{
    return (length * type_bits(a->head.type) + 7) / 8;
}

static struct tile a_tile(const struct op_ctx *c)
{
    const struct cmd_mmad *a = &c->cmd->mmad;

    return (struct tile){.at = c->plan->src[0],
                         .row = 32,
                         .fractal_row = 512ull * a_fractals(a),
                         .fractal_col = 512,
                         .rows = a->m,
                         .bytes = k_bytes(a, a->k),
                         .row_bytes = 32};
}

static struct tile b_tile(const struct op_ctx *c)
{
    const struct cmd_mmad *a = &c->cmd->mmad;

    return (struct tile){.at = c->plan->src[1],
                         .row = 32,
                         .fractal_row = 512,
                         .fractal_col = 512 * div_up(a->n, 16),
                         .rows = a->n,
                         .bytes = k_bytes(a, b_rows(a)),
                         .row_bytes = 32};
}

static void touch_ab(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_mmad *a = &c->cmd->mmad;
    const struct access *src = c->plan->src;
    struct tile left = a_tile(c), right = b_tile(c);

    if (a->head.flags & MMAD_GEMV) {
        touch_access(t, src[0], TOUCH_READS);
    } else {
        touch_tile(t, TOUCH_READS, &left);
    }
    touch_tile(t, TOUCH_READS, &right);
    if (is_sparse(a)) {
        right.at = src[c->plan->n_src - 1];
        right.row = right.row_bytes = 8;
        right.fractal_row = SPARSE_INDEX_BYTES;
        right.fractal_col = SPARSE_INDEX_BYTES * div_up(a->n, 16);
        right.bytes = (unsigned)div_up(b_rows(a), 4);
        touch_tile(t, TOUCH_READS, &right);
    }
}

/* The elements of m x n; those around them become 0 with a start of its own, and stay
 * with that of c. */
static void mmad_touch(const struct op_ctx *c, const struct touch *t)
{
    const struct cmd_mmad *a = &c->cmd->mmad;
    unsigned flags = a->head.flags;
    struct tile sums = {.at = c->plan->dst,
                        .row = 64,
                        .fractal_row = 1024,
                        .fractal_col = 1024 * div_up(a->m, 16),
                        .rows = a->m,
                        .bytes = 4u * a->n,
                        .row_bytes = 64};

    if (!c->plan->has_dst) {
        return;
    }
    touch_ab(c, t);
    if (flags & (MMAD_BIAS | MMAD_INIT)) {
        if (flags & MMAD_BIAS) {
            touch_access(t, c->plan->src[2], TOUCH_READS);
        }
        touch_access(t, c->plan->dst, TOUCH_WRITES);
    } else {
        touch_tile(t, TOUCH_READS, &sums);
        touch_tile(t, TOUCH_WRITES, &sums);
    }
}

/* --- how undefined bytes travel --- */

/* Whether one of the elements of k is undefined, of row i of a tile like that of
 * touch_tile(). */
static bool row_undefined(const struct tile *x, const uint8_t *shadow, unsigned i)
{
    unsigned full = x->bytes / x->row_bytes, part = x->bytes % x->row_bytes;
    const uint8_t *row = shadow + i / 16 * x->fractal_row + i % 16 * x->row;

    for (unsigned f = 0; f < full; f++) {
        if (flow_any(row + f * x->fractal_col, x->row_bytes)) {
            return true;
        }
    }
    return flow_any(row + full * x->fractal_col, part);
}

/* Element (i, j) is undefined if row i of a or column j of b is, or what it begins with. */
static void mmad_flow(const struct op_ctx *c)
{
    static uint8_t rows[4096], columns[4096];
    const struct cmd_mmad *a = &c->cmd->mmad;
    bool bias = a->head.flags & MMAD_BIAS, init = a->head.flags & MMAD_INIT;
    struct tile left = a_tile(c), right = b_tile(c);

    for (unsigned i = 0; i < a->m; i++) {
        rows[i] = a->head.flags & MMAD_GEMV ? flow_any(c->src[0], k_bytes(a, a->k))
                                            : row_undefined(&left, c->src[0], i);
    }
    for (unsigned j = 0; j < a->n; j++) {
        columns[j] = row_undefined(&right, c->src[1], j) ||
                     (bias && flow_any(c->src[2] + 4ull * j, 4));
    }
    flow_set(c->stage, false, access_bytes(&c->plan->dst));
    if (!bias && !init) {
        memcpy(c->stage, c->src[2], access_bytes(&c->plan->dst));
    }
    for (unsigned j = 0; j < a->n; j++) {
        for (unsigned i = 0; i < a->m; i++) {
            uint8_t *to =
                c->stage + j / 16 * div_up(a->m, 16) * 1024 + i * 64ull + j % 16 * 4;
            flow_set(to, rows[i] || columns[j] || flow_any(to, 4), 4);
        }
    }
    flow_store(c);
}

const struct operation op_MMAD = {
    .plan = mmad_plan, .run = mmad_run, .touch = mmad_touch, .flow = mmad_flow};
const struct operation op_MMAD_SPARSE = {
    .decides = true, .plan = mmad_plan, .run = mmad_run, .touch = mmad_touch, .flow = mmad_flow};
