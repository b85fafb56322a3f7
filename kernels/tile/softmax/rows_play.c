/* SPDX-License-Identifier: MIT
 *
 * Long rows on their cores, slot by slot; see rows.h. Whatever a command waits for has been
 * pushed before it, so nobody can wait for ever.
 */
#include "hal/chip.h"
#include "kernels/tile/softmax/spill.h"

enum {
    ESIZE = sizeof(float),
    SUMS_BYTES = ROWS_SUMS * PIPES_DIAGONAL * ESIZE, /* of a row's, in L0C */
    ROWS_PRODUCTS = 2,                               /* in ROWS_MMAD, in ROWS_FIX */
    LOADED_AHEAD = 2, /* slots that loads from GM are pushed before */
};
static const uint32_t SIGN = 1u << 31;

/* A core's chunks, in whose numbers the first is 0. */
struct walk {
    const struct rows_plan *p;
    struct rows_core *core;
    struct pipes *sink;
};

/* Commands of a slot's turn. */
static inline union cmd *turn(const struct walk *w, enum rows_push which, uint32_t slot)
{
    const struct sequence *s = &w->core->seq[which];

    return s->cmds + slot % ROWS_TURNS * s->n;
}

/* To a pipe by one store: rows_bind() has looked at the commands. */
static inline void push_some(const struct walk *w, enum rows_push which,
                             const union cmd *cmds, unsigned n)
{
    pipes_store(w->sink, &w->core->seq[which], cmds, n);
}

static inline union cmd *cmds(const struct walk *w, enum rows_push which)
{
    return w->core->seq[which].cmds;
}

static inline void push(const struct walk *w, enum rows_push which)
{
    push_some(w, which, cmds(w, which), w->core->seq[which].n);
}

/* The chunk that is `ahead` of a slot; false: there is none. */
static inline bool chunk_at(const struct walk *w, uint32_t slot, uint32_t ahead,
                            uint32_t *chunk)
{
    *chunk = slot + ahead;
    return *chunk < w->core->chunks; /* what is before the first is beyond the last */
}

static inline uint32_t in_group(const struct walk *w, uint32_t chunk)
{
    return chunk % w->p->group;
}

static inline bool ends_group(const struct walk *w, uint32_t chunk)
{
    return in_group(w, chunk) == w->p->group - 1 || chunk == w->core->chunks - 1;
}

/* Of its group: the row that a chunk is of, or the number of rows up to it. */
static inline uint32_t row_of(const struct walk *w, uint32_t chunk)
{
    return w->p->per_row > 1 ? 0 : in_group(w, chunk);
}
static inline unsigned rows_to(const struct walk *w, uint32_t chunk)
{
    return row_of(w, chunk) + 1;
}

/* Rows of the group that a chunk begins. */
static unsigned rows_from(const struct walk *w, uint32_t chunk)
{
    uint32_t last = chunk + w->p->group - 1;

    return rows_to(w, last < w->core->chunks ? last : w->core->chunks - 1);
}

static inline uint64_t offset(const struct walk *w, uint32_t chunk)
{
    return (uint64_t)(w->core->begin + chunk) * rows_bytes(w->p);
}

/* --- the Vector --- */

static void set_exp(const struct walk *w, union cmd *cmd, uint32_t chunk)
{
    uint32_t *most = w->core->most;

    if (in_group(w, chunk) == 0) {
        pipes_read(w->sink, ROWS_MAX, rows_numbers(w->p->most, chunk / w->p->group), most,
                   rows_from(w, chunk));
    }
    cmd[1].vec1s.scalar = most[row_of(w, chunk)] ^ SIGN;
}

/* exp and greatest of this slot. */
static void work(const struct walk *w, uint32_t slot)
{
    const struct rows_plan *p = w->p;
    union cmd *cmd = turn(w, ROWS_WORK, slot);
    uint32_t chunk;
    bool exp = chunk_at(w, slot, 0, &chunk), greatest;

    if (exp) {
        set_exp(w, cmd, chunk);
    }
    greatest = chunk_at(w, slot, p->lag, &chunk);
    if (greatest) {
        cmd[ROWS_WORK_ALL - 1].vec_reduce.dst =
            p->part[0] + in_group(w, chunk) % ROWS_TOGETHER * rows_bytes(p) / VEC_BLOCKS;
    }
    if (exp || greatest) {
        unsigned first = exp ? 0 : ROWS_WORK_EXP;
        unsigned end = greatest ? ROWS_WORK_ALL : ROWS_WORK_EXP;
        push_some(w, ROWS_WORK, cmd + first, end - first);
    }
}

/* Behind some chunks' blocks their greatest, behind a group's those of its rows. */
static void fold(const struct walk *w, uint32_t chunk)
{
    const struct rows_plan *p = w->p;
    uint32_t at = in_group(w, chunk) % ROWS_TOGETHER, blocks = p->chunk / VEC_BLOCKS;
    uint32_t first = in_group(w, chunk) - at, left = p->n / (VEC_BLOCKS * VEC_BLOCKS);
    union cmd *cmd = cmds(w, ROWS_FOLD);
    unsigned rows = rows_to(w, chunk);

    if (at != ROWS_TOGETHER - 1 && !ends_group(w, chunk)) {
        return;
    }
    cmd[0].set_mask.lo = (at + 1) * blocks;
    cmd[1].vec_reduce.dst = p->part[1] + first * blocks / VEC_BLOCKS * ESIZE;
    push(w, ROWS_FOLD);
    if (!ends_group(w, chunk)) {
        return;
    }
    for (cmd = cmds(w, ROWS_CHAIN); left > ROWS_SUMS; cmd += 2) {
        cmd->set_mask.lo = left * rows;
        left = div_up(left, VEC_BLOCKS);
    }
    cmd[1].vec_reduce.dst = rows_numbers(p->most, chunk / p->group);
    cmd[1].vec_reduce.repeat = (uint8_t)rows;
    push(w, ROWS_CHAIN);
}

static void total(const struct walk *w, uint32_t chunk)
{
    unsigned rows = rows_to(w, chunk);
    union cmd *cmd = cmds(w, ROWS_TOTAL);

    cmd[1].vec_reduce.repeat = (uint8_t)(rows * ROWS_SUMS / VEC_BLOCKS);
    cmd_no_sync(&cmd[1]);
    cmd_wait(&cmd[1], ROWS_UB_FULL, rows);
    cmd_post(&cmd[1], ROWS_UB_FREE, rows);
    cmd[3].vec_reduce.repeat = (uint8_t)rows;
    cmd[4].vec1.dst = rows_numbers(w->p->reciprocal, chunk / w->p->group);
    push(w, ROWS_TOTAL);
}

/* --- moves --- */

static void load_a(const struct walk *w, uint32_t slot, uint32_t chunk)
{
    union cmd *cmd = turn(w, ROWS_LOAD_A, slot);

    cmd->copy_in.src = (uintptr_t)w->p->x + offset(w, chunk);
    push_some(w, ROWS_LOAD_A, cmd, 1);
}

/* Two chunks at one time, or the last one. */
static void load_x(const struct walk *w, uint32_t chunk)
{
    unsigned n = chunk + 1 < w->core->chunks ? 2 : 1;
    union cmd *cmd = cmds(w, ROWS_LOAD_X);

    cmd->copy_in.src = (uintptr_t)w->p->x + offset(w, chunk);
    cmd->copy_in.dst = rows_l1(w->p, chunk);
    cmd->copy_in.len_bytes = n * rows_bytes(w->p);
    cmd->words[CMD_SYNC] = w->p->load_sync[n - 1];
    push(w, ROWS_LOAD_X);
}

static void keep(const struct walk *w, uint32_t chunk)
{
    union cmd *cmd = turn(w, ROWS_KEEP, chunk);

    cmd->copy_local.dst = rows_l1(w->p, chunk);
    push_some(w, ROWS_KEEP, cmd, 1);
}

/* What a group's rows are multiplied by, to L0B. */
static void load_diagonal(const struct walk *w, uint32_t chunk)
{
    const struct rows_plan *p = w->p;
    uint32_t *reciprocal = w->core->reciprocal, group = chunk / p->group;
    uint32_t at = rows_diagonal(p, group), l1 = p->slots * rows_bytes(p) + at;
    unsigned n = rows_from(w, chunk);
    union cmd *cmd = cmds(w, ROWS_LOAD_DIAGONAL);

    pipes_read(w->sink, ROWS_RECIPROCAL, rows_numbers(p->reciprocal, group), reciprocal,
               n);
    pipes_diagonal(w->sink, l1, reciprocal, n);
    cmd->fractals.src = l1;
    cmd->fractals.dst = rows_ones_bytes(p) + at;
    push(w, ROWS_LOAD_DIAGONAL);
}

/* B and what is summed; e for a quotient, if nothing has to be waited for before that. */
static void fills(const struct walk *w, uint32_t slot)
{
    const struct rows_plan *p = w->p;
    union cmd *cmd = turn(w, ROWS_FILL, slot);
    uint32_t chunk, first, end;
    bool b = chunk_at(w, slot, 1, &chunk), sum = chunk_at(w, slot, 0, &first);

    cmd[0].copy_local.src = rows_l1(p, chunk);
    cmd[1].fractals.src = rows_l1(p, first);
    first = b ? 0 : 1;
    end = sum ? 2 : 1;
    if (chunk_at(w, slot, -p->lag, &chunk)) {
        cmd[2].load2d.src = rows_l1(p, chunk);
        if (in_group(w, chunk)) {
            first = sum ? first : 2;
            end = 3;
        }
    }
    if (first < end) {
        push_some(w, ROWS_FILL, cmd + first, end - first);
    }
}

/* The first e of a group for a quotient. */
static void fill_first(const struct walk *w, uint32_t slot, uint32_t chunk)
{
    load_diagonal(w, chunk);
    push_some(w, ROWS_FILL, turn(w, ROWS_FILL, slot) + 2, 1);
}

/* --- the Cube --- */

/* Sums of a chunk and the quotient of another, what there is of them. */
static void products(const struct walk *w, uint32_t slot)
{
    const struct rows_plan *p = w->p;
    union cmd *mmad = cmds(w, ROWS_MMAD), *fix = cmds(w, ROWS_FIX);
    uint32_t chunk, first = ROWS_PRODUCTS, end = 1, first_fix = ROWS_PRODUCTS;

    if (chunk_at(w, slot, 0, &chunk)) {
        uint32_t at = p->per_row > 1 ? in_group(w, chunk) : 0;
        bool last = at == p->per_row - 1;
        mmad[0].head.flags = at == 0 ? MMAD_INIT : 0;
        mmad[0].words[CMD_SYNC] = p->mmad_sync[at == 0][last];
        mmad[0].mmad.dst = chunk / p->per_row % ROWS_TURNS * SUMS_BYTES;
        fix[0].fix_local.src = mmad[0].mmad.dst;
        fix[0].fix_local.dst = p->sums + row_of(w, chunk) * ROWS_SUMS * BLOCK;
        first = 0;
        first_fix = last ? 0 : 1;
    }
    if (chunk_at(w, slot, -p->lag, &chunk)) {
        mmad[1].mmad.dst = ROWS_TURNS * SUMS_BYTES + chunk % ROWS_TURNS * rows_bytes(p);
        mmad[1].mmad.b = rows_ones_bytes(p) + rows_diagonal(p, chunk / p->group) +
                         row_of(w, chunk) * PIPES_DIAGONAL_BYTES;
        fix[1].fix_gm.src = mmad[1].mmad.dst;
        fix[1].fix_gm.dst = (uintptr_t)p->y + offset(w, chunk);
        first = first ? 1 : 0;
        first_fix = first_fix ? 1 : 0;
        end = ROWS_PRODUCTS;
    }
    if (first < end) {
        push_some(w, ROWS_MMAD, mmad + first, end - first);
    }
    if (first_fix < end) {
        push_some(w, ROWS_FIX, fix + first_fix, end - first_fix);
    }
}

/* --- all --- */

void rows_steps(const struct rows_plan *p, struct rows_core *core, struct pipes *sink)
{
    const struct walk walk = {p, core, sink}, *w = &walk;
    uint32_t c, end = core->chunks + p->lag;

    push(w, ROWS_ZEROS);
    push(w, ROWS_ONES);
    for (uint32_t s = -p->lag - LOADED_AHEAD; s != end; s++) {
        work(w, s);
        if (chunk_at(w, s, p->lag, &c)) {
            fold(w, c);
        }
        if (chunk_at(w, s, 0, &c)) {
            keep(w, c);
        }
        fills(w, s);
        if (chunk_at(w, s, LOADED_AHEAD, &c) && c % 2 == 0) {
            load_x(w, c);
        }
        if (chunk_at(w, s, p->lag + LOADED_AHEAD, &c)) {
            load_a(w, s, c);
        }
        if (chunk_at(w, s, -1u, &c) && ends_group(w, c)) {
            total(w, c);
        }
        if (chunk_at(w, s, -p->lag, &c) && in_group(w, c) == 0) {
            fill_first(w, s, c);
        }
        products(w, s);
    }
}

/* --- on the machine --- */

static struct rows_core *core_of(const struct rows_plan *p)
{
    struct rows_core *core = &p->core[task_block()];

    return task_block() < p->stage.cores && core->chunks ? core : NULL;
}

static void label(void)
{
    static const char *const names[] = {"x of max", "x of exp", "row in L1",
                                        "e to sum", "e in L0",  "sums in L0C",
                                        "sums",     "y in L0C"};

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        sched_label(task_core(), 2 * i + ROWS_A_FREE, names[i], "FREE");
        sched_label(task_core(), 2 * i + ROWS_A_FULL, names[i], "FULL");
    }
    sched_label(task_core(), ROWS_EXP_FULL, "e", "FULL");
    sched_label(task_core(), ROWS_EXP_KEPT, "e in L1", "FULL");
    sched_label(task_core(), ROWS_MAX, "max", "FULL");
    sched_label(task_core(), ROWS_RECIPROCAL, "1 / sum", "FULL");
}

static void rows_play(const struct tile_plan *t)
{
    const struct rows_plan *p = rows_of(t);
    struct rows_core *core;

    if (p->spill) {
        spill_play(p);
        return;
    }
    core = core_of(p);
    if (core == NULL) {
        return;
    }
    label();
    for (unsigned s = 0; s < ROWS_SEMS; s++) {
        unsigned units = rows_units(p, s);
        if (units) {
            task_post(s, units);
        }
    }
    rows_steps(p, core, NULL);
}

static void rows_finish(const struct tile_plan *t)
{
    const struct rows_plan *p = rows_of(t);
    if (p->spill) {
        spill_finish(p);
        return;
    }
    if (core_of(p) == NULL) {
        return;
    }
    task_drain();
    for (unsigned s = 0; s < ROWS_SEMS; s++) {
        unsigned units = rows_units(p, s);
        if (units) {
            task_wait(s, units);
        }
    }
}

static int rows_bind(const struct tile_plan *t, const struct tile_call *call,
                     struct sched_report *report)
{
    struct rows_plan *p = rows_of(t);
    int err = 0;

    p->x = call->in[0];
    p->y = call->out[0];
    if (p->spill) {
        return spill_bind(p, report);
    }
    for (unsigned c = 0; c < p->stage.cores; c++) {
        struct rows_core *core = &p->core[c];
        for (unsigned i = 0; i < ROWS_TURNS; i++) {
            core->seq[ROWS_LOAD_A].cmds[i].copy_in.src = (uintptr_t)p->x;
        }
        core->seq[ROWS_LOAD_X].cmds->copy_in.src = (uintptr_t)p->x;
        core->seq[ROWS_FIX].cmds[1].fix_gm.dst = (uintptr_t)p->y;
        for (unsigned i = 0; i < ROWS_PUSHES && !err; i++) {
            struct sequence *s = &core->seq[i];
            err = s->checked == s->cmds
                      ? 0
                      : sequence_check(s, report->text, sizeof(report->text));
        }
    }
    return err;
}

const struct stage_run rows_run = {
    .kind = &rows_kind, .bind = rows_bind, .play = rows_play, .finish = rows_finish};
