/* SPDX-License-Identifier: MIT
 *
 * What a tiling comes to, whether it fits, and what is wrong otherwise.
 */
#include <stdarg.h>
#include <stdio.h>

#include "hal/mte.h"
#include "kernels/mm/inside.h"
#include "kernels/mm/record.h"

static const char *const names[MM_STRATEGIES] = {"auto", "general", "small", "tall",
                                                 "gemv", "split-k", "batch"};

const char *mm_strategy_name(enum mm_strategy strategy)
{
    return strategy < MM_STRATEGIES ? names[strategy] : "?";
}

enum quant mm_quant(const struct mm *mm)
{
    bool words = mm->scale_words != NULL;

    if (mm_sum_type(mm) == TYPE_F32) {
        if (mm->scaled) {
            return words ? QUANT_VQF322B8_PRE : QUANT_QF322B8_PRE;
        }
        switch (mm->c_type) {
        case TYPE_F16:
            return QUANT_F322F16;
        case TYPE_BF16:
            return QUANT_F322BF16;
        default:
            return QUANT_NONE;
        }
    }
    if (!mm->scaled) {
        return QUANT_NONE;
    }
    if (mm->c_type == TYPE_F16) {
        return words ? QUANT_VDEQF16 : QUANT_DEQF16;
    }
    return words ? QUANT_VREQ8 : QUANT_REQ8;
}

uint32_t mm_part_begin(const struct mm *mm, uint32_t i)
{
    return mm_part_at(mm, i, mm_max(1, mm->tiling.parts));
}

/* Bytes of k of an operand in L1 whose other side is `side`. */
static uint32_t slot_bytes(const struct mm *mm, uint32_t side, uint32_t k)
{
    uint32_t unit = mm_unit(mm, true);

    return mm_bytes(mm->a.type, mm_up(side, unit) * mm_up(k, unit));
}

static void fill_in(struct mm *mm)
{
    struct mm_tiling *t = &mm->tiling;
    uint32_t unit = mm_unit_k(mm), most;
    uint32_t chunks = mm_count(mm->shape.k, t->k);

    if (t->columns == 0) {
        bool twice = 2 * t->m * t->n * MM_SUM_BYTES <= mm_size(mm, NPU_MEM_L0C);
        t->columns = twice ? t->n : mm_up(mm_count(t->n, 2), mm_unit_n(mm));
    }
    if (t->slice == 0 && t->m != 0) {
        most = mm_min(mm_l0a_slot(mm) / mm_bytes(mm->a.type, t->m),
                      mm_l0b_slot(mm) / mm_bytes(mm->a.type, mm_up(t->columns, 16)));
        t->slice = mm_min(t->k, most / unit * unit);
    }
    t->a_slots = t->a_slots ? t->a_slots : (uint16_t)(t->a_stays ? chunks : 2);
    t->b_slots = t->b_slots ? t->b_slots : (uint16_t)(t->b_stays ? chunks : 2);
}

/* Rows of what leaves one slot of L0C that take as long as the least does, but no more strips
 * of a tile than FIX's queue holds. */
static uint32_t strip_of(const struct mm *mm)
{
    uint32_t columns = mm_max(1, mm->tiling.columns),
             pieces = mm_columns(mm, mm->tiling.n);
    uint32_t row = MM_SUM_BYTES * mm_up(columns, 16);
    uint32_t least =
        mm_count(chip_cost(COST_L0C_GM_LEAST) * chip_cost(COST_L0C_GM_RATE), row);

    return mm_max(
        least, mm_count(mm->tiling.m, mm_max(1, (PIPE_DEPTH - 4) / mm_max(1, pieces))));
}

void mm_lay_out(struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;

    if (t->strategy == MM_GEMV && !mm->turned) {
        mm_turn(mm);
    }
    fill_in(mm);
    mm->parts = mm_max(1, t->parts);
    mm->rows = mm_pieces(mm->shape.m, mm_unit_m(mm), t->m);
    mm->cols = mm_pieces(mm->shape.n, mm_unit_n(mm), t->n);
    mm->tiles = mm->rows * mm->cols * mm->shape.batch * mm->parts;
    mm->winding = mm_winding(mm);
    mm->winds = mm->winding != 0;
    mm->c_pitch = mm->c_pitch ? mm->c_pitch : mm->shape.n;
    mm->c_product = mm->c_product ? mm->c_product : (uint64_t)mm->shape.m * mm->c_pitch;
    mm->c0 = type_c0(mm->a.type);
    mm->unit_m = mm_unit_m(mm);
    mm->unit_n = mm_unit_n(mm);
    mm->unit_k = mm_unit_k(mm);
    mm->a.in_rows = (t->rows || mm->a.given) && mm_may_be_rows(mm, &mm->a);
    mm->b.in_rows = (t->rows || mm->b.given) && mm_may_be_rows(mm, &mm->b);
    mm->l0a_slot = mm_l0a_slot(mm);
    mm->l0b_slot = mm_l0b_slot(mm);
    mm->l0a = mm_begin(mm, NPU_MEM_L0A);
    mm->l0b = mm_begin(mm, NPU_MEM_L0B);
    mm->l0c = mm_begin(mm, NPU_MEM_L0C);
    mm->slot_a = slot_bytes(mm, t->m, t->a_whole ? mm_part_k(mm, mm->parts) : t->k);
    mm->slot_b = mm_b_bytes(mm, slot_bytes(mm, t->n, t->k));
    mm->l1_a = mm->l1_begin;
    mm->l1_b = mm->l1_a + t->a_slots * mm->slot_a;
    mm->l1_bias = mm->l1_b + t->b_slots * mm->slot_b;
    mm->l1_scale = mm->l1_bias;
    if (mm->bias) {
        mm->l1_scale += MM_SMALL_SLOTS * mm_small_slot(mm, MM_BIAS_BYTES);
    }
    mm->l1_slope = mm->l1_scale;
    if (mm->scale_words) {
        mm->l1_slope += MM_SMALL_SLOTS * mm_small_slot(mm, MM_SCALE_BYTES);
    }
    mm->c1 = t->m * mm_up(t->columns, 16) * MM_SUM_BYTES;
    mm->strip = strip_of(mm);
    mm->group = PIPE_DEPTH / (2 * mm_count(t->k, mm_max(1, t->slice)) + 1);
}

uint32_t mm_l1_bytes(const struct mm *mm)
{
    struct mm all = *mm;

    mm_lay_out(&all);
    return all.l1_slope - all.l1_begin +
           (mm->slopes ? MM_SMALL_SLOTS * mm_small_slot(&all, MM_SLOPE_BYTES) : 0);
}

void mm_explain(const struct mm *mm, char text[MM_TEXT])
{
    const struct mm_tiling *t = &mm->tiling;

    snprintf(
        text, MM_TEXT,
        "%s%s: %lu tiles of %lu x %lu, %s in L0C, k by %lu in L1 (%s%u + %u slots%s), by "
        "%lu in L0; %llu cycles expected",
        mm_strategy_name(t->strategy),
        mm->parts > 1 && !mm_chained(mm, mm->parts) ? " in any order" : "",
        (unsigned long)mm->tiles, (unsigned long)t->m, (unsigned long)t->n,
        mm_in_halves(t)     ? "in halves"
        : t->columns < t->n ? "in columns"
                            : "two",
        (unsigned long)t->k,
        t->a_whole ? "rows, a at once, "
        : t->rows  ? "rows, "
                   : "",
        t->a_slots, t->b_slots,
        t->a_stays   ? ", a stays"
        : t->b_stays ? ", b stays"
                     : "",
        (unsigned long)t->slice, (unsigned long long)t->cycles);
}

/* --- what is wrong --- */

__attribute__((format(printf, 3, 4))) static int wrong(char *why, int err,
                                                       const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(why, MM_TEXT, format, args);
    va_end(args);
    return err;
}

/* Whether the fixpipe makes c's type of sums of integers, or of floats. */
static bool gives_type(const struct mm *mm, bool whole)
{
    enum type c = mm->c_type;
    bool bytes = c == TYPE_S8 || c == TYPE_U8;

    if (whole) {
        return mm->scaled ? bytes || c == TYPE_F16 : c == TYPE_S32;
    }
    return mm->scaled ? bytes : c == TYPE_F32 || c == TYPE_F16 || c == TYPE_BF16;
}

static int check_types(const struct mm *mm, char *why)
{
    enum type in = mm->a.type, c = mm->c_type;
    bool whole = in == TYPE_S8 || in == TYPE_S4;
    bool takes = in == TYPE_F16 || in == TYPE_BF16 || in == TYPE_F32 || whole;
    bool gives = gives_type(mm, whole);

    if (!takes || in != mm->b.type || !gives) {
        return wrong(why, ERR_TYPE, "%s x %s to %s%s: no such product", type_name(in),
                     type_name(mm->b.type), type_name(c), mm->scaled ? ", scaled" : "");
    }
    if (mm->b.sparse && !chip_has_sparse()) {
        return wrong(why, ERR_TYPE, "this chip's Cube has no sparse b");
    }
    if (!chip_has_type(PIPE_M, in)) {
        return wrong(why, ERR_TYPE, "this chip's Cube has no %s", type_name(in));
    }
    if (mm->cube_flags && in != TYPE_F32) {
        return wrong(why, ERR_TYPE, "HF32 is a way to multiply F32, not %s",
                     type_name(in));
    }
    return 0;
}

/* What the fixpipe does to c besides its type. */
static int check_result(const struct mm *mm, char *why)
{
    if (mm->c_type == TYPE_S32 && (mm->act.relu > FIX_RELU_PLAIN || mm->act.clip)) {
        return wrong(why, ERR_ARG, "S32 as it is takes a plain relu alone");
    }
    if ((mm->act.relu == FIX_RELU_CHANNEL) != (mm->slopes != NULL)) {
        return wrong(why, ERR_ARG, "slopes of columns: %s",
                     mm->slopes ? "the activation is another" : "they were not set");
    }
    return 0;
}

/* Rows and columns of an operand as it lies in GM. */
static int check_operand(const struct mm_operand *o, const char *name, uint32_t rows,
                         uint32_t columns, char *why)
{
    uint32_t least = o->layout == MM_NZ ? rows : o->sparse ? columns / 2 : columns;

    if ((o->gm == NULL && !o->given) || o->pitch < least) {
        return wrong(why, ERR_ARG, "%s: %s", name,
                     o->gm || o->given ? "its pitch is less than a row"
                                       : "it was not set");
    }
    if (o->type == TYPE_S4 && o->layout == MM_ND && o->pitch % 2) {
        return wrong(why, ERR_ARG,
                     "%s: rows of S4 begin at whole bytes, its pitch is odd", name);
    }
    return 0;
}

static int check_sides(const struct mm *mm, char *why)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t um = mm_unit_m(mm), un = mm_unit_n(mm), uk = mm_unit_k(mm);

    if (t->m == 0 || t->m % um || t->n == 0 || t->n % un || t->columns % un ||
        t->k == 0 || t->k % uk || t->slice % uk) {
        return wrong(why, ERR_ARG,
                     "tiling %lu x %lu by %lu: wants multiples of %lu, %lu, %lu",
                     (unsigned long)t->m, (unsigned long)t->n, (unsigned long)t->k,
                     (unsigned long)um, (unsigned long)un, (unsigned long)uk);
    }
    return 0;
}

static int check_memory(const struct mm *mm, char *why)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t um = mm_unit_m(mm), un = mm_unit_n(mm);
    uint32_t columns = mm_up(t->columns, 16);
    uint32_t right = mm_in_halves(t) ? t->n - t->columns : columns;
    uint32_t l1 = mm_l1_size(mm);
    uint32_t needs = mm_l1_bytes(mm);
    const char *full = NULL;

    if (t->slice == 0 || mm_bytes(mm->a.type, t->m * t->slice) > mm_l0a_slot(mm)) {
        full = "L0A";
    } else if (mm_bytes(mm->a.type, columns * t->slice) > mm_l0b_slot(mm)) {
        full = "L0B";
    } else if (t->m * (columns + right) * MM_SUM_BYTES > mm_size(mm, NPU_MEM_L0C)) {
        full = "L0C";
    } else if (mm->bias && columns * MM_BIAS_BYTES > mm_bt_slot(mm)) {
        full = "BT";
    } else if (mm_fb_bytes(mm, columns) > mm_size(mm, NPU_MEM_FB)) {
        full = "FB";
    } else if (needs > l1) {
        full = "L1";
    }
    return full ? wrong(why, ERR_LOCAL,
                        "tiling %lu x %lu by %lu: %s is too small; the smallest is %lu x "
                        "%lu by %lu",
                        (unsigned long)t->m, (unsigned long)t->n, (unsigned long)t->k,
                        full, (unsigned long)um, (unsigned long)un,
                        (unsigned long)mm_unit_k(mm))
                : 0;
}

/* Whether MTE1 can take it from where the caller has brought it. */
static bool lies_so(const struct mm *mm, const struct mm_operand *o)
{
    return o->layout == MM_NZ || mm_may_be_rows(mm, o);
}

/* What the caller brings stays unless one tile uses it. */
static bool cannot_be_given(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;

    return (mm->a.given &&
            (!(t->a_stays || mm->cols == 1) || t->a_whole || !lies_so(mm, &mm->a))) ||
           (mm->b.given && (!(t->b_stays || mm->rows == 1) || !lies_so(mm, &mm->b)));
}

/* A row is as wide as a filter may be. */
static bool rows_too_wide(const struct mm *mm)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t k = t->a_whole ? mm_part_k(mm, mm->parts) : t->k;
    uint32_t a = mm->a.transposed ? t->m : k, b = mm->b.transposed ? t->k : t->n;

    return (mm->a.in_rows && mm_count(a, mm->c0) > MM_ROW_PIXELS) ||
           (mm->b.in_rows && mm_count(b, mm->c0) > MM_ROW_PIXELS);
}

/* Parts of k are added up: to c as it is, or to zeros that lie side by side. */
static int check_parts(const struct mm *mm, char *why)
{
    uint32_t most = mm_min(MM_PARTS, mm_count(mm->shape.k, mm->unit_k));

    if (mm->parts > most) {
        return wrong(why, ERR_ARG, "tiling: %lu parts of k, %lu at most",
                     (unsigned long)mm->parts, (unsigned long)most);
    }
    if (mm->scaled || mm->act.relu || mm->act.clip || mm->c_type != mm_sum_type(mm)) {
        return wrong(why, ERR_ARG, "tiling: parts of k want sums as they are");
    }
    if (!mm_chained(mm, mm->parts) &&
        (mm->shape.batch > 1 || mm->c_pitch != mm->shape.n)) {
        return wrong(why, ERR_ARG, "tiling: parts in any order want one c without gaps");
    }
    return 0;
}

/* What stays is given back all at once. */
static int check_slots(const struct mm *mm, char *why)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t chunks = mm_count(mm_part_k(mm, mm->parts), t->k);

    if ((t->a_stays && t->a_slots < chunks) || (t->b_stays && t->b_slots < chunks)) {
        return wrong(why, ERR_ARG,
                     "tiling: what stays wants %lu slots, a chunk of k each",
                     (unsigned long)chunks);
    }
    if (t->a_slots > MM_SLOTS || t->b_slots > MM_SLOTS) {
        return wrong(why, ERR_ARG, "tiling: %u and %u slots in L1, %u at most",
                     t->a_slots, t->b_slots, MM_SLOTS);
    }
    return 0;
}

static int check_tiling(const struct mm *mm, char *why)
{
    const struct mm_tiling *t = &mm->tiling;
    uint32_t pieces = mm_count(t->n, t->columns);
    int err;

    if (t->columns > t->n ||
        (pieces > 2 && (t->k < mm_part_k(mm, mm->parts) || mm->group < pieces))) {
        return wrong(
            why, ERR_ARG,
            "tiling: %lu columns of %lu in a slot of L0C, so k must be one chunk of "
            "few slices",
            (unsigned long)t->columns, (unsigned long)t->n);
    }
    if (mm->b.sparse && (t->columns < t->n || mm->slopes || mm->shape.batch > 1)) {
        return wrong(why, ERR_ARG,
                     "a sparse b: one product, all columns of a tile at once, no slopes");
    }
    err = mm->parts > 1 ? check_parts(mm, why) : 0;
    err = err ? err : check_slots(mm, why);
    err = err ? err : check_memory(mm, why);
    if (!err && 2 * mm_count(t->k, t->slice) + 1 > PIPE_DEPTH) {
        err = wrong(why, ERR_ARG, "tiling: %lu slices in a chunk, 15 at most",
                    (unsigned long)mm_count(t->k, t->slice));
    }
    if (!err && t->rows && rows_too_wide(mm)) {
        err = wrong(why, ERR_ARG, "tiling: rows of more than %u bytes in L1",
                    MM_ROW_PIXELS * MTE_BLOCK);
    }
    if (!err && mm->half && mm->parts > 1) {
        err = wrong(why, ERR_ARG, "tiling: parts of k want all of L0");
    }
    if (!err && t->a_whole && (t->a_stays || !mm->a.in_rows)) {
        err = wrong(why, ERR_ARG, "tiling: a at one time wants rows, and does not stay");
    }
    if (!err && cannot_be_given(mm)) {
        err = wrong(why, ERR_ARG,
                    "tiling: what the caller brings to L1 lies there in "
                    "rows, and stays");
    }
    if (!err && t->a_stays && t->b_stays) {
        err = wrong(why, ERR_ARG, "tiling: a and b cannot both stay");
    }
    return err;
}

static int check_ring(const struct mm *mm, char *why)
{
    const struct mm_ring *r = &mm->ring;
    uint32_t needs = mm_ring_bytes(mm);

    if (r->pitch_bytes % MTE_BLOCK || r->begin % MTE_BLOCK || r->bytes % MTE_BLOCK) {
        return wrong(why, ERR_ARG, "ring: wants multiples of %u bytes", MTE_BLOCK);
    }
    if (r->pitch_bytes &&
        r->pitch_bytes < mm->tiling.columns * type_bits(mm->c_type) / 8) {
        return wrong(why, ERR_ARG, "ring: its pitch is less than a row");
    }
    if (needs > r->bytes ||
        r->begin + (uint64_t)r->slots * r->bytes > chip_mem(NPU_MEM_UB)) {
        return wrong(why, ERR_LOCAL, "ring: %lu slots of %lu bytes, of %lu that it wants",
                     (unsigned long)r->slots, (unsigned long)r->bytes,
                     (unsigned long)needs);
    }
    if (mm_ring_most(mm) > PIPE_DEPTH) {
        return wrong(why, ERR_ARG, "ring: %u commands for a tile, %u at most",
                     mm_ring_most(mm), PIPE_DEPTH);
    }
    return 0;
}

int mm_check(struct mm *mm, char why[MM_TEXT])
{
    const struct mm_shape *s = &mm->shape;
    int err = 0;

    why[0] = 0;
    if (s->m == 0 || s->n == 0 || s->k == 0) {
        return wrong(why, ERR_ARG, "a product of %lu x %lu x %lu", (unsigned long)s->m,
                     (unsigned long)s->n, (unsigned long)s->k);
    }
    err = check_types(mm, why);
    err = err ? err : check_result(mm, why);
    err = err ? err
              : check_operand(&mm->a, "a", mm->a.transposed ? s->k : s->m,
                              mm->a.transposed ? s->m : s->k, why);
    err = err ? err
              : check_operand(&mm->b, "b", mm->b.transposed ? s->n : s->k,
                              mm->b.transposed ? s->k : s->n, why);
    if (!err && mm->c_pitch && mm->c_pitch < s->n) {
        err = wrong(why, ERR_ARG, "c: its pitch is less than a row");
    }
    if (!err && mm->tiled) {
        err = check_sides(mm, why);
        if (!err) {
            mm_lay_out(mm);
            err = check_tiling(mm, why);
            err = err || mm->ring.slots == 0 ? err : check_ring(mm, why);
        }
    }
    mm->checked = mm->tiled && !err;
    mm->folded = mm->checked ? mm_fold(mm) : 0;
    return err;
}
