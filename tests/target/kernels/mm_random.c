/* SPDX-License-Identifier: MIT
 *
 * Random products by the Matmul object against their definition, bit for bit: shapes from 1
 * up, types, layouts, transposed operands, pitches, a bias, scales, activations, batches, any
 * number of blocks; run twice, since commands are kept. What lies around c and between its rows
 * must stay as it was.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/host.h"
#include "kernels/cli/data.h"
#include "kernels/cli/op.h"
#include "kernels/mm/mm.h"
#include "sched/launch.h"
#include "tests/target/kernels/random.h"
#include "tests/target/test.h"

enum {
    MACS = 120000 /* of a product, by the hart */,
    GUARD = 64,
    SIDE = 400,
    SIDE_K = 700
};
enum { FILL = 0xa5 };

/* One product, as it is asked for and as it lies in memory. */
struct product {
    struct mm mm, planned; /* as it was asked for, as it runs */
    unsigned blocks;
    bool whole;     /* by mm_run(), or tile by tile */
    uint32_t parts; /* of k */
    void *a, *b, *bias;
    uint64_t *words;
    float *slopes;
    uint8_t *c;
    uint64_t c_bytes;
    uint32_t pitch;
};

/* From 1 up, small ones as often as large ones. */
static uint32_t some(uint32_t most)
{
    uint32_t n = 1;

    while (n < most && below(8)) {
        n = n * 3 / 2 + 1;
    }
    n = n < most ? n : most;
    return 1 + below(n);
}

/* Numbers whose sums round at every step. */
static uint32_t number(enum type type)
{
    uint32_t bits = below(1 << 16);

    switch (type) {
    case TYPE_F16:
        return (bits & 0x9fff) + 0x2000;
    case TYPE_BF16:
        return (bits & 0x83ff) + 0x3e00;
    case TYPE_F32:
        return ((bits & 0x83ff) + 0x3e00) << 16 | below(1 << 16);
    case TYPE_S32:
        return bits - 0x8000;
    default:
        return bits & 0xff;
    }
}

static void *numbers(enum type type, uint64_t n)
{
    unsigned bytes = type == TYPE_S4 ? 1 : type_bits(type) / 8; /* of S4 two numbers */
    char *to = malloc(n * bytes + 1);

    for (uint64_t i = 0; to && i < n; i++) {
        uint32_t bits = number(type);
        memcpy(to + i * bytes, &bits, bytes);
    }
    return to;
}

/* --- what it must be --- */

/* Where element (row, column) of an operand lies, by the definition of its layout. */
static uint64_t place(const struct mm_operand *o, uint32_t product, uint32_t row,
                      uint32_t column)
{
    uint32_t r = o->transposed ? column : row, c = o->transposed ? row : column;
    uint32_t c0 = type_c0(o->type);
    uint64_t at = product * o->product;

    return o->layout == MM_NZ ? at + (uint64_t)(c / c0) * o->pitch * c0 + r * c0 + c % c0
                              : at + (uint64_t)r * o->pitch + c;
}

static bool is_whole(const struct mm *mm)
{
    return mm->a.type == TYPE_S8 || mm->a.type == TYPE_S4;
}

/* A whole number, of S4 half a byte. */
static int whole_at(const struct mm_operand *o, uint64_t at)
{
    const int8_t *bytes = o->gm;
    int byte = bytes[o->type == TYPE_S4 ? at / 2 : at];

    return o->type == TYPE_S8 ? byte : at % 2 ? byte >> 4 : ((byte & 15) ^ 8) - 8;
}

static float real(const struct mm_operand *o, uint64_t at)
{
    return (float)data_value(data_bits(o->gm, o->type, at), o->type);
}

static float bits_float(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof(f));
    return f;
}

static uint32_t float_bits(float f)
{
    uint32_t bits;

    memcpy(&bits, &f, sizeof(bits));
    return bits;
}

/* hal/contract/fixpipe.md, "Numbers": scale, relu, limit, offset, result. */
static uint64_t convert(const struct product *p, float x, uint32_t column)
{
    const struct mm *mm = &p->mm;
    uint64_t word = p->words ? p->words[column] : mm->scale_word;
    int offset = (int)field_get(QUANT_PRE_OFFSET, word);
    float least = mm->c_type == TYPE_U8 ? 0 : -128, most = least + 255;

    if (mm->scaled) {
        x *= bits_float((uint32_t)word & QUANT_PRE_M1);
    }
    if (mm->act.relu == FIX_RELU_PLAIN) {
        x = x > 0 ? x : 0;
    } else if (mm->act.relu == FIX_RELU_LEAKY) {
        x = x < 0 ? x * mm->act.slope : x;
    } else if (mm->act.relu == FIX_RELU_CHANNEL) {
        x = x < 0 ? x * p->slopes[column] : x;
    }
    if (mm->act.clip) {
        x = x > mm->act.limit ? mm->act.limit : x;
    }
    if (mm->c_type == TYPE_S8 || mm->c_type == TYPE_U8) {
        x = rintf(x + (float)(offset > 255 ? offset - 512 : offset));
        return (uint8_t)(int)(x < least ? least : x > most ? most : x);
    }
    return data_round(x, mm->c_type);
}

static uint64_t definition(const struct product *p, uint32_t product, uint32_t row,
                           uint32_t column)
{
    const struct mm *mm = &p->mm;
    bool whole = is_whole(mm);
    uint32_t sum = whole && p->bias ? ((uint32_t *)p->bias)[column] : 0, part = 1;
    float acc = !whole && p->bias ? ((float *)p->bias)[column] : 0, before = 0;

    for (uint32_t i = 0; i < mm->shape.k; i++) {
        if (p->parts && !whole && i == mm_part_begin(&p->planned, part)) {
            before = part++ == 1 ? acc : before + acc;
            acc = 0;
        }
        uint64_t a = place(&mm->a, product, row, i),
                 b = place(&mm->b, product, i, column);
        if (whole) {
            sum += (uint32_t)(whole_at(&mm->a, a) * whole_at(&mm->b, b));
        } else {
            acc = fmaf(real(&mm->a, a), real(&mm->b, b), acc);
        }
    }
    acc = part > 1 ? before + acc : acc;
    if (whole && !mm->scaled) {
        return mm->act.relu == FIX_RELU_PLAIN && (int32_t)sum < 0 ? 0 : sum;
    }
    if (!whole && mm->c_type == TYPE_F32 && !mm->act.relu && !mm->act.clip) {
        return float_bits(acc);
    }
    return convert(p, whole ? (float)(int32_t)sum : acc, column);
}

/* --- making one up --- */

static void set_operand(struct product *p, bool a)
{
    const struct mm_shape *s = &p->mm.shape;
    static const enum type types[] = {TYPE_F16, TYPE_S8, TYPE_BF16, TYPE_F32, TYPE_S4};
    bool few = !chip_has_type(PIPE_M, TYPE_BF16), transposed = below(2);
    enum type type = a ? types[below(few ? 2 : 5)] : p->mm.a.type;
    uint32_t rows = a ? s->m : s->k, columns = a ? s->k : s->n, stored, wide, pitch;
    enum mm_layout layout = below(4) ? MM_ND : MM_NZ;

    stored = transposed ? columns : rows;
    wide = transposed ? rows : columns;
    pitch = layout == MM_NZ ? (stored + 15) / 16 * 16 : wide;
    pitch += below(3) ? 0 : below(40);
    if (layout == MM_NZ) {
        wide = (wide + type_c0(type) - 1) / type_c0(type) * type_c0(type);
    } else if (type == TYPE_S4) {
        pitch += pitch % 2; /* whole bytes */
    }
    if (a) {
        p->a =
            numbers(type, (uint64_t)pitch * (layout == MM_NZ ? wide : stored) * s->batch);
        mm_set_a(&p->mm, p->a, type, layout, transposed, pitch);
    } else {
        p->b =
            numbers(type, (uint64_t)pitch * (layout == MM_NZ ? wide : stored) * s->batch);
        mm_set_b(&p->mm, p->b, type, layout, transposed, pitch);
    }
}

/* How c comes out: its type, scales, what is done to it. */
static void set_result(struct product *p)
{
    struct mm *mm = &p->mm;
    bool whole = is_whole(mm), bf16 = chip_has_type(PIPE_V, TYPE_BF16);
    uint32_t n = mm->shape.n, kind = below(whole ? 3 : 4);
    enum type type = whole ? TYPE_S32 : TYPE_F32;

    if (kind == 1 || (kind == 2 && whole)) {
        bool narrow = !whole || kind == 2, is_signed = below(2);
        type = !narrow ? TYPE_F16 : is_signed ? TYPE_S8 : TYPE_U8;
        mm_set_scale(mm, fixpipe_word(whole ? 0.01f : 9.5f, 3, is_signed), NULL);
        if (below(2)) {
            p->words = malloc(n * sizeof(uint64_t));
            for (uint32_t i = 0; i < n; i++) {
                p->words[i] = fixpipe_word((float)(1 + i % 7) * 0.013f, (int)(i % 5) - 2,
                                           is_signed);
            }
            mm_set_scale(mm, 0, p->words);
        }
    } else if (kind >= 2 && !whole) {
        type = kind == 2 || !bf16 ? TYPE_F16 : TYPE_BF16;
    }
    if (below(3) == 0) {
        struct mm_activation act = {.relu = FIX_RELU_PLAIN};
        if (type != TYPE_S32 && below(2)) {
            act = (struct mm_activation){FIX_RELU_LEAKY, true, 0.125f, 30.0f};
        }
        mm_set_activation(mm, &act);
        if (act.clip && below(2)) {
            p->slopes = malloc(n * sizeof(float));
            for (uint32_t i = 0; i < n; i++) {
                p->slopes[i] = (float)(int)(i % 9) * 0.25f - 1;
            }
            mm_set_slopes(mm, p->slopes);
        }
    }
    p->pitch = n + (below(3) ? 0 : below(30));
    mm_set_c(mm, type, p->pitch);
    if (below(3) == 0) {
        p->bias = numbers(whole ? TYPE_S32 : TYPE_F32, n);
        mm_set_bias(mm, p->bias);
    }
}

/* c between two guards, twice. */
static uint64_t c_room(const struct product *p)
{
    return 2 * (p->c_bytes + 2 * GUARD);
}

/* Sums as they are, added up from parts of k; whole ones to zeros, which mm_run() makes of a c
 * without gaps. */
static void set_parts(struct product *p)
{
    struct mm *mm = &p->mm;
    bool whole = is_whole(mm);
    uint32_t units =
        (mm->shape.k - 1) / type_c0(mm->a.type == TYPE_F32 ? TYPE_F16 : mm->a.type);

    p->pitch = mm->shape.n + (whole ? 0 : below(30));
    mm_set_c(mm, whole ? TYPE_S32 : TYPE_F32, p->pitch);
    if (below(3) == 0) {
        p->bias = numbers(mm->c_type, mm->shape.n);
        mm_set_bias(mm, p->bias);
    }
    if (units && !(whole && mm->shape.batch > 1)) {
        p->parts = 2 + below(units < 7 ? units : 7);
    }
}

static void make(struct product *p)
{
    struct mm_shape s = {some(SIDE), some(SIDE), some(SIDE_K),
                         below(4) ? 1 : 1 + below(4)};

    while ((uint64_t)s.m * s.n * s.k * s.batch > MACS) {
        s.m = s.m > s.n ? s.m / 2 : s.m;
        s.n = s.n >= s.m ? (s.n + 1) / 2 : s.n;
        s.k = s.k > 16 ? s.k / 2 : s.k;
        s.batch = 1;
    }
    memset(p, 0, sizeof(*p));
    mm_init(&p->mm, &s, NULL);
    set_operand(p, true);
    set_operand(p, false);
    if (below(4)) {
        set_result(p);
    } else {
        set_parts(p);
    }
    p->c_bytes = (uint64_t)s.batch * s.m * p->pitch * type_bits(p->mm.c_type) / 8;
    p->c = malloc(c_room(p));
    memset(p->c, FILL, c_room(p));
    p->whole = below(2) || (p->parts && is_whole(&p->mm));
    p->blocks = 1 + below(chip_cores());
}

static void drop(struct product *p)
{
    free(p->a);
    free(p->b);
    free(p->bias);
    free(p->words);
    free(p->slopes);
    free(p->c);
}

/* --- running and comparing --- */

static bool again; /* the second run, to the other c */

static void kernel(void *arg)
{
    const struct product *p = arg;
    struct mm mm = p->planned;
    uint8_t *c = p->c + GUARD + (again ? p->c_bytes + 2 * GUARD : 0);

    if (p->whole) {
        mm_run(&p->planned, c);
    } else {
        mm_iterate_all(&mm, c, false);
        mm_end(&mm);
    }
}

/* The first wrong element, or what was written beside; false: all is right. */
static bool differs(const struct product *p, char text[MM_TEXT])
{
    const struct mm_shape *s = &p->mm.shape;
    unsigned bytes = type_bits(p->mm.c_type) / 8;

    for (uint64_t i = 0; i < p->c_bytes / bytes; i++) {
        uint64_t row = i / p->pitch, column = i % p->pitch, got = 0, want = 0;
        memcpy(&got, p->c + GUARD + i * bytes, bytes);
        memset(&want, FILL, bytes);
        if (column < s->n) {
            want = definition(p, (uint32_t)(row / s->m), (uint32_t)(row % s->m),
                              (uint32_t)column);
        }
        if (got != want) {
            snprintf(text, MM_TEXT, "row %llu column %llu: %llx, want %llx",
                     (unsigned long long)row, (unsigned long long)column,
                     (unsigned long long)got, (unsigned long long)want);
            return true;
        }
    }
    for (unsigned i = 0; i < GUARD; i++) {
        if (p->c[i] != FILL || p->c[GUARD + p->c_bytes + i] != FILL) {
            snprintf(text, MM_TEXT, "written beside c");
            return true;
        }
    }
    if (memcmp(p->c, p->c + p->c_bytes + 2 * GUARD, p->c_bytes + 2 * GUARD) != 0) {
        snprintf(text, MM_TEXT, "the second run gave others");
        return true;
    }
    return false;
}

static void tell(const struct product *p, const char *what)
{
    const struct mm *mm = &p->mm;
    char how[MM_TEXT];

    mm_explain(&p->planned, how);
    printf("# %lu x (%lu x %lu x %lu) %s%s%s to %s%s%s%s, %u blocks: %s\n# %s\n",
           (unsigned long)mm->shape.batch, (unsigned long)mm->shape.m,
           (unsigned long)mm->shape.n, (unsigned long)mm->shape.k, type_name(mm->a.type),
           mm->a.transposed ? " a'" : "", mm->b.transposed ? " b'" : "",
           type_name(mm->c_type), mm->bias ? " bias" : "",
           mm->scale_words ? " scales"
           : mm->scaled    ? " scale"
                           : "",
           mm->act.relu ? " relu" : "", p->blocks, what, how);
}

/* One random product; false: it is wrong, which has been told. */
static bool run(void)
{
    static struct sched_report report;
    static struct product p;
    struct launch l = {.name = "mm", .kernel = kernel, .arg = &p};
    char why[MM_TEXT] = "";
    int err;

    make(&p);
    p.planned = p.mm;
    err = mm_plan(&p.planned, p.blocks, MM_AUTO, why);
    p.planned.tiling.parts = p.parts;
    err = err ? err : mm_check(&p.planned, why);
    if (!err) {
        l.blocks = p.blocks;
        again = false;
        err = launch(&l, &report);
        again = true;
        err = err ? err : launch(&l, &report);
        if (err) {
            printf("# %s\n", report.text);
        }
    }
    if (err || differs(&p, why)) {
        tell(&p, why);
        drop(&p);
        return false;
    }
    drop(&p);
    return true;
}

static int mm_random(int argc, char **argv)
{
    return random_products(argc, argv, 2000, run);
}

COMMAND(mmrandom, "[COUNT [SEED]]", "random products against their definition",
        mm_random);

TEST_SHAPES(mm, random_products)
{
    seed = 4;
    for (unsigned i = 0; i < 40; i++) {
        CHECK(run());
    }
}
