/* SPDX-License-Identifier: MIT
 *
 * The Vector makes operands for the Cube; see planes.h.
 */
#include "kernels/mm/planes.h"

#include "hal/mte.h"
#include "hal/vector.h"
#include "hal/vector_move.h"
#include "kernels/lib/share.h"
#include "sched/launch.h"

enum {
    NUMBERS = 4096,  /* of a window at most, of bytes four times as many, */
    LINES = 256,     /* which is of so many lines, or of a part of one */
    EDGE = 32,       /* numbers that a line in UB is a multiple of: blocks of each type */
    UP = 0x42800000, /* 2^6 as F32, */
    DOWN = 0x2400,   /* 2^-6 as F16 */
    TURNED = (int)0x80808080 /* top bits of four bytes */
};

/* In UB: two slots each of what comes and of what goes, then F32 twice, or what turns bits over.
 * Without queues, whose code few need who need this. */
enum {
    SLOTS = 2,
    IN_BYTES = NUMBERS * 4,
    OUT_BYTES = NUMBERS * 2 * MM_PLANES,
    OUT = SLOTS * IN_BYTES,
    WHOLE = OUT + SLOTS * OUT_BYTES,
    REST = WHOLE + IN_BYTES,
};

/* Of the core. */
enum { IN_FREE = 16, IN_FULL, OUT_FREE, OUT_FULL };

/* Lines [line, line + lines), of each numbers [at, at + count). */
struct window {
    uint64_t line, at;
    uint32_t lines, count;
};

static unsigned planes_of(const struct mm_planes *o)
{
    return o->type == TYPE_F32 ? MM_PLANES : 1;
}

static uint32_t numbers_of(const struct mm_planes *o)
{
    return o->type == TYPE_F32 ? NUMBERS : IN_BYTES;
}

static uint32_t pitch_of(const struct window *w)
{
    return (w->count + EDGE - 1) / EDGE * EDGE;
}

static uint32_t lines_at_once(const struct mm_planes *o)
{
    uint64_t pitch = (o->length + EDGE - 1) / EDGE * EDGE, lines = numbers_of(o) / pitch;

    return lines == 0 ? 1 : min_u32(LINES, (uint32_t)lines);
}

static uint64_t windows_of(const struct mm_planes *o)
{
    uint32_t lines = lines_at_once(o);

    return (o->lines + lines - 1) / lines *
           ((o->length + numbers_of(o) - 1) / numbers_of(o));
}

static struct window window_of(const struct mm_planes *o, uint64_t number)
{
    uint32_t lines = lines_at_once(o), most = numbers_of(o);
    uint64_t parts = (o->length + most - 1) / most;
    struct window w = {.line = number / parts * lines, .at = number % parts * most};

    w.lines = o->lines - w.line < lines ? (uint32_t)(o->lines - w.line) : lines;
    w.count = o->length - w.at < most ? (uint32_t)(o->length - w.at) : most;
    return w;
}

/* From a line to the next in GM, where there is one. */
static uint32_t gap_of(const struct mm_planes *o, const struct window *w, uint32_t bytes)
{
    return w->lines == 1 ? 0 : (uint32_t)o->length * bytes;
}

static void load(const struct mm_planes *o, const struct window *w, unsigned slot)
{
    uint32_t bytes = type_bits(o->type) / 8;
    const char *from = (const char *)o->from + (w->line * o->length + w->at) * bytes;
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, slot * IN_BYTES, from,
                      &(struct mte_rows){.n_rows = w->lines,
                                         .row_bytes = w->count * bytes,
                                         .gm_pitch_bytes = gap_of(o, w, bytes),
                                         .local_pitch_bytes = pitch_of(w) * bytes});
    cmd_wait(&cmd, IN_FREE, 1);
    cmd_post(&cmd, IN_FULL, 1);
    task_issue(PIPE_MTE2, &cmd);
}

/* The last command of the Vector that reads a window, the last that writes one. */
static void push_last(union cmd *cmd, bool reads, bool writes)
{
    if (reads) {
        cmd_post(cmd, IN_FREE, 1);
    }
    if (writes) {
        cmd_post(cmd, OUT_FULL, 1);
    }
    task_issue(PIPE_V, cmd);
}

/* Planes of hi, of lo, of the other hi, `plane` bytes each. */
static void split(bool b, uint32_t x, uint32_t to, uint32_t plane)
{
    uint32_t hi = to + (b ? 2 : 1) * plane, lo = to + (b ? 1 : 2) * plane;
    union cmd cmd;

    vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_RINT, to, x);
    task_issue(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_F16, TYPE_F32, ROUND_RINT, WHOLE, to);
    task_issue(PIPE_V, &cmd);
    vector_binary(&cmd, OP_VSUB, TYPE_F32, REST, x, WHOLE);
    push_last(&cmd, true, false);
    vector_scalar(&cmd, OP_VMULS, TYPE_F32, REST, REST, UP);
    task_issue(PIPE_V, &cmd);
    vector_convert(&cmd, TYPE_F32, TYPE_F16, ROUND_RINT, lo, REST);
    task_issue(PIPE_V, &cmd);
    vector_scalar(&cmd, OP_VMULS, TYPE_F16, hi, to, DOWN);
    push_last(&cmd, false, true);
}

static void compute(const struct mm_planes *o, const struct window *w, unsigned slot)
{
    uint32_t n = w->lines * pitch_of(w), x = slot * IN_BYTES, to = OUT + slot * OUT_BYTES;
    union cmd cmd;

    vector_count(&cmd, o->type == TYPE_F32 ? n : n / 2);
    cmd_wait(&cmd, IN_FULL, 1);
    cmd_wait(&cmd, OUT_FREE, 1);
    task_issue(PIPE_V, &cmd);
    if (o->type == TYPE_F32) {
        split(o->b, x, to, n * 2);
    } else {
        vector_binary(&cmd, OP_VXOR, TYPE_S16, to, x, WHOLE);
        push_last(&cmd, true, true);
    }
}

static void store(const struct mm_planes *o, const struct window *w, unsigned slot)
{
    unsigned planes = planes_of(o);
    uint32_t bytes = planes == 1 ? 1 : 2, x = OUT + slot * OUT_BYTES;
    char *to = (char *)o->to + (w->line * planes * o->length + w->at) * bytes;
    union cmd cmd;

    for (unsigned i = 0; i < planes; i++) {
        mte_ub_to_gm_rows(
            &cmd, to + i * o->length * bytes, x + i * w->lines * pitch_of(w) * bytes,
            &(struct mte_rows){.n_rows = w->lines,
                               .row_bytes = w->count * bytes,
                               .gm_pitch_bytes = gap_of(o, w, planes * bytes),
                               .local_pitch_bytes = pitch_of(w) * bytes});
        if (i == 0) {
            cmd_wait(&cmd, OUT_FULL, 1);
        }
        if (i == planes - 1) {
            cmd_post(&cmd, OUT_FREE, 1);
        }
        task_issue(PIPE_MTE3, &cmd);
    }
}

static void begin(void)
{
    union cmd cmd;

    task_post(IN_FREE, SLOTS);
    task_post(OUT_FREE, SLOTS);
    vector_count(&cmd, IN_BYTES / 4);
    task_issue(PIPE_V, &cmd);
    vector_fill(&cmd, OP_VDUP, TYPE_S32, WHOLE, (uint32_t)TURNED);
    task_issue(PIPE_V, &cmd);
}

void mm_planes_make(const struct mm_planes *operands, unsigned n)
{
    unsigned slot = 0;

    begin();
    for (const struct mm_planes *o = operands; o < operands + n; o++) {
        uint64_t all = windows_of(o);
        uint64_t end = share_begin(all, 1, task_block() + 1, task_blocks());
        for (uint64_t i = share_begin(all, 1, task_block(), task_blocks()); i < end;
             i++) {
            struct window w = window_of(o, i);
            load(o, &w, slot);
            compute(o, &w, slot);
            store(o, &w, slot);
            slot = (slot + 1) % SLOTS;
        }
    }
    task_drain();
    task_wait(IN_FREE, SLOTS);
    task_wait(OUT_FREE, SLOTS);
}
