/* SPDX-License-Identifier: MIT
 *
 * From the model's events to the race check; see stream.h.
 */
#include "tools/emu/check/race/stream.h"

#include "tools/emu/check/race/journal.h"

/* How a command combines its results with what is there. Minima, maxima and sums of
 * integers of one type come out alike in any order, sums of floats do not. */
static unsigned kind_of(const struct npu_event *e)
{
    unsigned type = e->atomic_type;
    bool inexact = e->atomic_op == ATOMIC_ADD &&
                   (type == TYPE_F32 || type == TYPE_F16 || type == TYPE_BF16);

    return (ACCESS_ATOMIC + type + TYPE_COUNT * (e->atomic_op - ATOMIC_ADD)) |
           (inexact ? ACCESS_INEXACT : 0);
}
_Static_assert(ACCESS_ATOMIC + TYPE_COUNT * ATOMIC_MIN <= ACCESS_INEXACT, "kinds");

static uint8_t access_kind(const struct npu_event *e, enum touch_kind kind)
{
    return kind == TOUCH_READS      ? ACCESS_READ
           : kind == TOUCH_COMBINES ? (uint8_t)kind_of(e)
                                    : ACCESS_WRITE;
}

static bool hands_on(const struct npu_event *e)
{
    return e->pipe == PIPE_M && e->unit == UNIT_PASS && e->units;
}

/* The command's accesses on their way: its result that is handed on, or all else. */
struct told {
    struct race *race;
    const struct npu_event *event;
    bool results;
};

static bool range(void *ctx, uint64_t first, uint64_t bytes)
{
    race_range(ctx, first, bytes);
    return true;
}

static void told(void *opaque, const struct access *a, enum touch_kind kind)
{
    const struct told *t = opaque;
    const struct npu_event *e = t->event;
    struct race_operand o = {.kind = access_kind(e, kind),
                             .field = a->field,
                             .mem = a->mem,
                             .results = t->results,
                             .base = a->base,
                             .bytes = access_extent(a)};

    if (o.bytes && t->results == (hands_on(e) && kind == TOUCH_WRITES)) {
        race_operand(t->race, e->core, e->pipe, &o);
        access_each(a, range, t->race);
    }
}

static void tell(struct race *r, const struct npu_event *e, bool results)
{
    struct told t = {r, e, results};

    npu_touch(e->npu, e->core, e->pipe, told, &t);
}

static void begins(struct race *r, const struct npu_event *e)
{
    const struct cmd_head *head = &e->cmd->head;

    for (unsigned i = 0; i < 2; i++) {
        if (head->wait_n[i]) {
            race_contend(r, &(struct race_want){.core = e->core,
                                                .who = e->pipe,
                                                .sem = head->wait_sem[i],
                                                .count = head->wait_n[i],
                                                .beside = head->wait_sem[!i],
                                                .n_beside = i ? 0 : head->wait_n[1]});
            race_take(r, e->core, e->pipe, head->wait_sem[i], head->wait_n[i]);
        }
    }
    race_begin(r, e->core, e->pipe, e->now);
    if (e->units) {
        race_units_wait(r, e->core, e->pipe, e->units);
    }
    if (hands_on(e)) {
        race_units_pass(r, e->core, e->pipe, e->units);
        tell(r, e, true);
    }
}

static void ends(struct race *r, const struct npu_event *e)
{
    race_end(r, e->core, e->pipe, e->now);
    tell(r, e, false);
    if (e->pipe == PIPE_FIX && e->unit == UNIT_PASS && e->units) {
        race_units_pass(r, e->core, e->pipe, e->units);
    }
}

static void push(struct race *r, const struct npu_event *e)
{
    struct race_site site = {.pc = e->pc,
                             .caller = e->ra,
                             .tag = e->cmd->head.tag,
                             .opcode = e->cmd->head.opcode};

    race_push(r, e->core, e->pipe, &site);
}

static unsigned who(const struct npu_event *e)
{
    return e->pipe == NPU_BY_HART      ? RACE_HART
           : e->pipe == NPU_BY_BARRIER ? RACE_BARRIER
                                       : e->pipe;
}

/* A semaphore of the chip is in the page of each core. */
static unsigned page_of(const struct npu_event *e)
{
    return who(e) != RACE_BARRIER ? e->core : e->sem_core == NPU_CHIP ? 0 : e->sem_core;
}

static void reset(struct race *r, const struct npu_event *e)
{
    if (e->core == NPU_CHIP) {
        race_reset_chip(r);
    } else if (e->pipe == NPU_BY_HART) {
        race_reset_core(r, e->core);
    } else {
        race_reset_pipe(r, e->core, e->pipe);
    }
}

static void drained(struct race *r, const struct npu_event *e)
{
    for (unsigned c = 0; c < race_cores(r); c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (e->core == NPU_CHIP || (e->core == c && e->pipe == p)) {
                race_drained(r, c, p);
            }
        }
    }
}

void race_event(struct race *r, const struct npu_event *e)
{
    const struct race_want wanted = {.core = page_of(e),
                                     .who = RACE_HART,
                                     .sem = e->sem,
                                     .count = e->count,
                                     .pc = e->pc,
                                     .ra = e->ra};

    switch (e->what) {
    case NPU_PUSHED:
        push(r, e);
        break;
    case NPU_BEGINS:
        begins(r, e);
        break;
    case NPU_ENDS:
        ends(r, e);
        break;
    case NPU_TAKES: /* what a command takes, it takes where it begins */
        if (who(e) == RACE_HART) {
            race_contend(r, &wanted);
        }
        if (who(e) >= NPU_PIPES) {
            race_take(r, page_of(e), who(e), e->sem, e->count);
        }
        break;
    case NPU_POSTS:
        race_post(r, page_of(e), who(e), e->sem, e->count);
        break;
    case NPU_LACKS:
        race_lacks(r, &wanted);
        break;
    case NPU_RESETS:
        reset(r, e);
        break;
    case NPU_DRAINED:
        drained(r, e);
        break;
    case NPU_NAMES:
        race_task(r, e->name);
        break;
    case NPU_FAULTS:
    default:
        break;
    }
}

/* --- the same for a journal --- */

static struct entry entry_of(enum entry_what what, const struct npu_event *e)
{
    return (struct entry){
        .what = (uint8_t)what, .core = (uint8_t)e->core, .pipe = (uint8_t)e->pipe};
}

static void note_add(struct journal *j, enum entry_what what, const struct npu_event *e)
{
    struct entry entry = entry_of(what, e);

    journal_add(j, &entry);
}

struct noted {
    struct journal *journal;
    const struct npu_event *event;
    bool results;
};

static bool note_range(void *ctx, uint64_t first, uint64_t bytes)
{
    journal_add(ctx,
                &(struct entry){
                    .what = ENTRY_RANGE, .n = 1, .at = first, .bytes = (uint32_t)bytes});
    return true;
}

static void note_told(void *opaque, const struct access *a, enum touch_kind kind)
{
    const struct noted *t = opaque;
    struct entry entry = entry_of(ENTRY_OPERAND, t->event);

    if (access_extent(a) && t->results == (hands_on(t->event) && kind == TOUCH_WRITES)) {
        entry.sem = access_kind(t->event, kind);
        entry.n = a->mem;
        entry.bytes = t->results;
        journal_add(t->journal, &entry);
        access_each(a, note_range, t->journal);
    }
}

static void note_touches(struct journal *j, const struct npu_event *e, bool results)
{
    struct noted t = {j, e, results};

    npu_touch(e->npu, e->core, e->pipe, note_told, &t);
}

static void note_units(struct journal *j, enum entry_what what, const struct npu_event *e)
{
    for (unsigned w = 0; w < ROW_UNIT_MARK; w++) {
        if (e->units[w]) {
            journal_add(j, &(struct entry){.what = ENTRY_UNITS,
                                           .sem = (uint8_t)w,
                                           .at = e->units[w]});
        }
    }
    note_add(j, what, e);
}

static void note_push(struct journal *j, const struct npu_event *e)
{
    struct entry entry = entry_of(ENTRY_PUSH, e);

    entry.n = e->cmd->head.opcode;
    entry.at = e->pc;
    entry.bytes = (uint32_t)e->ra;
    journal_add(j, &entry);
}

static void note_begins(struct journal *j, const struct npu_event *e)
{
    const struct cmd_head *head = &e->cmd->head;
    struct entry entry = entry_of(ENTRY_TAKE, e);

    for (unsigned i = 0; i < 2; i++) {
        entry.sem = head->wait_sem[i];
        entry.n = head->wait_n[i];
        if (entry.n) {
            journal_add(j, &entry);
        }
    }
    note_add(j, ENTRY_BEGIN, e);
    if (e->units) {
        note_units(j, ENTRY_WAITS, e);
    }
    if (hands_on(e)) {
        note_units(j, ENTRY_PASSES, e);
        note_touches(j, e, true);
    }
}

static void note_ends(struct journal *j, const struct npu_event *e)
{
    note_add(j, ENTRY_END, e);
    note_touches(j, e, false);
    if (e->pipe == PIPE_FIX && e->unit == UNIT_PASS && e->units) {
        note_units(j, ENTRY_PASSES, e);
    }
}

static void note_moves(struct journal *j, const struct npu_event *e)
{
    struct entry entry = {.what = e->what == NPU_TAKES ? ENTRY_TAKE : ENTRY_POST,
                          .core = (uint8_t)page_of(e),
                          .pipe = (uint8_t)who(e),
                          .sem = (uint8_t)e->sem,
                          .n = e->count};

    if (e->what == NPU_POSTS || entry.pipe >= NPU_PIPES) {
        journal_add(j, &entry);
    }
}

static void note_reset(struct journal *j, const struct npu_event *e)
{
    note_add(j,
             e->core == NPU_CHIP      ? ENTRY_RESET_CHIP
             : e->pipe == NPU_BY_HART ? ENTRY_RESET_CORE
                                      : ENTRY_RESET_PIPE,
             e);
}

void journal_event(struct journal *j, const struct npu_event *e)
{
    switch (e->what) {
    case NPU_PUSHED:
        note_push(j, e);
        break;
    case NPU_BEGINS:
        note_begins(j, e);
        break;
    case NPU_ENDS:
        note_ends(j, e);
        break;
    case NPU_TAKES:
    case NPU_POSTS:
        note_moves(j, e);
        break;
    case NPU_RESETS:
        note_reset(j, e);
        break;
    case NPU_DRAINED:
        note_add(j, ENTRY_DRAINED, e);
        break;
    case NPU_NAMES:
        journal_add(j, &(struct entry){.what = ENTRY_TASK, .at = e->name});
        break;
    default:
        break;
    }
}

void journal_hart(struct journal *j, const struct race_hart_access *a)
{
    journal_add(j, &(struct entry){.what = ENTRY_HART,
                                   .core = (uint8_t)a->core,
                                   .pipe = (uint8_t)a->mem,
                                   .sem = a->write,
                                   .at = a->first,
                                   .bytes = (uint32_t)a->bytes});
}
