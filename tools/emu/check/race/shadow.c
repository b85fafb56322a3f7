/* SPDX-License-Identifier: MIT
 *
 * Cells of the shadow; see shadow.h.
 *
 * An access has to be ordered behind the writers that it meets, and behind the readers if
 * it writes. Whoever it is ordered behind is then forgotten: what comes later and is not
 * ordered behind the forgotten one is not ordered behind this one either, and is told of
 * this one. Two exceptions: an atomic update is not told to others of its kind, so it does
 * not stand for what is of another; and an access of the hart's is known to all cores that
 * it pushes to later, while what it knows of is known to those alone who have waited for
 * it, so it makes nothing be forgotten that one of these does not know.
 */
#include "tools/emu/check/race/shadow.h"

#include "tools/emu/check/race/edge.h"

#define CELL_SPLIT  (1u << 31)
#define MOST        (4u * NPU_MAX_CORES * NPU_PIPES) /* of a set, a few for each lane */
#define SPLITS      1024u
#define NO_SPLIT    UINT32_MAX
#define SWEEP_BYTES 768u /* for each so many that are touched a record may be kept */
#define PAGE_CELLS  (SHADOW_PAGE / CELL_BYTES)
#define CELLS_OF(n) (((n) + CELL_BYTES - 1) / CELL_BYTES)

void shadow_open(struct shadow *s, const struct check_host *host,
                 enum npu_profile profile, uint64_t gm_base, uint64_t gm_bytes)
{
    *s = (struct shadow){.arena.host = host, .profile = profile, .gm_base = gm_base};
    s->free_split = NO_SPLIT;
    s->pages = (gm_bytes + SHADOW_PAGE - 1) / SHADOW_PAGE;
    s->page = arena_alloc(&s->arena, s->pages * sizeof(*s->page));
    s->used = arena_alloc(&s->arena, s->pages);
    records_open(&s->records, host);
}

void shadow_close(struct shadow *s)
{
    records_close(&s->records);
    if (s->split) {
        s->arena.host->free(s->arena.host->ctx, s->split,
                            s->split_room * sizeof(*s->split));
    }
    arena_free(&s->arena);
}

/* --- cells that are split --- */

static struct cell *split_at(const struct shadow *s, uint32_t i)
{
    return s->split[i / SPLITS] + (size_t)(i % SPLITS) * CELL_BYTES;
}

static uint32_t new_split(struct shadow *s)
{
    uint32_t i = s->free_split;

    if (i != NO_SPLIT) {
        s->free_split = split_at(s, i)->readers;
        return i;
    }
    i = s->n_splits++;
    if (i / SPLITS >= s->split_room) {
        uint32_t room = s->split_room ? 2 * s->split_room : 16;
        s->split = host_grow(s->arena.host, s->split, s->split_room * sizeof(*s->split),
                             room * sizeof(*s->split));
        s->split_room = room;
    }
    if (!s->split[i / SPLITS]) {
        s->split[i / SPLITS] =
            arena_alloc(&s->arena, (size_t)SPLITS * CELL_BYTES * sizeof(struct cell));
    }
    return i;
}

static bool alike(struct cell a, struct cell b)
{
    return a.writers == b.writers && a.readers == b.readers;
}

static struct cell *split(struct shadow *s, struct cell *cell)
{
    uint32_t i = new_split(s);
    struct cell *bytes = split_at(s, i);

    for (unsigned b = 0; b < CELL_BYTES; b++) {
        bytes[b] = *cell;
    }
    *cell = (struct cell){CELL_SPLIT, i};
    return bytes;
}

static void join_if_alike(struct shadow *s, struct cell *cell)
{
    struct cell *bytes = split_at(s, cell->readers);
    uint32_t i = cell->readers;

    if (!alike(bytes[0], bytes[CELL_BYTES - 1])) {
        return;
    }
    for (unsigned b = 1; b < CELL_BYTES - 1; b++) {
        if (!alike(bytes[0], bytes[b])) {
            return;
        }
    }
    *cell = bytes[0];
    bytes[0] = (struct cell){CELL_SPLIT, s->free_split};
    s->free_split = i;
}

/* --- the judgement --- */

/* What an access makes of the records of a name: those that it meets unordered, and those
 * that have to be remembered beside it. */
struct verdict {
    uint32_t unordered[MOST], kept[MOST];
    uint32_t n_unordered, n_kept;
};

static void keep(struct verdict *v, uint32_t name)
{
    if (v->n_kept < MOST) {
        v->kept[v->n_kept++] = name;
    }
}

static bool knows(const struct clock *clock, const struct record *x)
{
    return clock->lane[x->lane] >= x->serial;
}

static bool ordered(const struct toucher *t, const struct record *x)
{
    return x->lane == t->lane ? HOLDS(PROGRAM) : knows(t->clock, x);
}

/* Whoever is told of the access need not be told of x, which it knows of. */
static bool replaces(const struct toucher *t, const struct record *x)
{
    if (t->kind >= ACCESS_ATOMIC && x->kind != t->kind) {
        return false;
    }
    for (unsigned i = 0; i < t->n_heirs; i++) {
        if (x->lane != t->lane && !knows(t->heirs[i], x)) {
            return false;
        }
    }
    return true;
}

static void look(const struct shadow *s, const struct toucher *t, uint32_t name,
                 struct verdict *v)
{
    const uint32_t *list;
    uint32_t n = records_of(&s->records, &name, &list);

    v->n_unordered = v->n_kept = 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct record *x = record_at(&s->records, list[i]);
        if (!ordered(t, x)) {
            v->unordered[v->n_unordered++] = list[i];
        } else if (!replaces(t, x)) {
            keep(v, list[i]);
        }
    }
}

static uint32_t with(struct shadow *s, struct verdict *v, uint32_t name)
{
    keep(v, name);
    return records_name(&s->records, v->kept, v->n_kept);
}

/* Writers that the access meets: atomic updates of one kind may come in any order and
 * stay beside each other, but sums of floats tell which. */
static void meet_writers(struct shadow *s, struct toucher *t, struct verdict *v,
                         uint64_t addr)
{
    for (uint32_t i = 0; i < v->n_unordered; i++) {
        const struct record *x = record_at(&s->records, v->unordered[i]);
        bool commute = HOLDS(COMMUTE) && t->kind >= ACCESS_ATOMIC && x->kind == t->kind;
        if (!commute || (x->kind & ACCESS_INEXACT && HOLDS(INEXACT))) {
            t->met(t, v->unordered[i], addr);
        }
        if (commute) {
            keep(v, v->unordered[i]);
        }
    }
}

static struct cell judge(struct shadow *s, struct toucher *t, struct cell was,
                         uint64_t addr)
{
    struct verdict v;
    struct cell is = was;

    look(s, t, was.writers, &v);
    meet_writers(s, t, &v, addr);
    if (t->kind != ACCESS_READ) {
        is.writers = with(s, &v, t->name);
    }
    look(s, t, was.readers, &v);
    if (t->kind == ACCESS_READ) {
        for (uint32_t i = 0; i < v.n_unordered; i++) {
            keep(&v, v.unordered[i]);
        }
        is.readers = with(s, &v, t->name);
        return is;
    }
    for (uint32_t i = 0; i < v.n_unordered; i++) {
        t->met(t, v.unordered[i], addr);
    }
    is.readers = records_name(&s->records, v.kept, v.n_kept);
    return is;
}

/* --- the way over it --- */

void toucher_begin(struct toucher *t)
{
    t->was = (struct cell){0, 0};
    t->is =
        t->kind == ACCESS_READ ? (struct cell){0, t->name} : (struct cell){t->name, 0};
}

static inline struct cell meet(struct shadow *s, struct toucher *t, struct cell was,
                               uint64_t addr)
{
    if (!alike(was, t->was)) {
        t->is = judge(s, t, was, addr);
        t->was = was;
    }
    return t->is;
}

/* `n` bytes from byte `from` of a cell; addr: of the first. */
static void touch_part(struct shadow *s, struct toucher *t, struct cell *cell,
                       unsigned from, unsigned n, uint64_t addr)
{
    struct cell *bytes;

    if (cell->writers & CELL_SPLIT) {
        bytes = split_at(s, cell->readers);
    } else if (alike(meet(s, t, *cell, addr), *cell)) {
        return;
    } else {
        bytes = split(s, cell);
    }
    for (unsigned b = from; b < from + n; b++, addr++) {
        bytes[b] = meet(s, t, bytes[b], addr);
    }
    join_if_alike(s, cell);
}

static void touch_cells(struct shadow *s, struct toucher *t, struct cell *cell,
                        uint64_t addr, uint64_t bytes)
{
    unsigned skip = addr % CELL_BYTES, n;

    if (skip) {
        n = CELL_BYTES - skip < bytes ? CELL_BYTES - skip : (unsigned)bytes;
        touch_part(s, t, cell++, skip, n, addr);
        addr += n;
        bytes -= n;
    }
    for (; bytes >= CELL_BYTES; bytes -= CELL_BYTES, addr += CELL_BYTES, cell++) {
        if (cell->writers & CELL_SPLIT) {
            touch_part(s, t, cell, 0, CELL_BYTES, addr);
        } else {
            *cell = meet(s, t, *cell, addr);
        }
    }
    if (bytes) {
        touch_part(s, t, cell, 0, (unsigned)bytes, addr);
    }
}

static struct cell *gm_page(struct shadow *s, const struct toucher *t, uint64_t page)
{
    if (!s->page[page]) {
        s->page[page] = arena_alloc(&s->arena, PAGE_CELLS * sizeof(struct cell));
    }
    s->used[page] |= t->lane == LANE_HART ? SHADOW_USED : SHADOW_USED | SHADOW_ENGINE;
    return s->page[page];
}

static void touch_gm(struct shadow *s, struct toucher *t, uint64_t first, uint64_t bytes)
{
    uint64_t off = first - s->gm_base;

    while (bytes && off / SHADOW_PAGE < s->pages) {
        uint64_t in = off % SHADOW_PAGE;
        uint64_t n = SHADOW_PAGE - in < bytes ? SHADOW_PAGE - in : bytes;
        struct cell *cell = gm_page(s, t, off / SHADOW_PAGE) + in / CELL_BYTES;
        touch_cells(s, t, cell, first, n);
        first += n;
        off += n;
        bytes -= n;
    }
}

void shadow_touch(struct shadow *s, struct toucher *t, unsigned core, unsigned mem,
                  uint64_t first, uint64_t bytes)
{
    uint64_t size;

    if (mem == NPU_MEM_GM) {
        touch_gm(s, t, first, bytes);
        return;
    }
    size = npu_mem_size(s->profile, (enum npu_mem)mem);
    if (first >= size) {
        return;
    }
    if (!s->local[core][mem]) {
        s->local[core][mem] =
            arena_alloc(&s->arena, CELLS_OF(size) * sizeof(struct cell));
    }
    s->local_used[core][mem] = true;
    touch_cells(s, t, s->local[core][mem] + first / CELL_BYTES, first,
                size - first < bytes ? size - first : bytes);
}

bool shadow_engine(const struct shadow *s, uint64_t addr)
{
    uint64_t page = (addr - s->gm_base) / SHADOW_PAGE;

    return page < s->pages && s->used[page] & SHADOW_ENGINE;
}

uint64_t shadow_touched(const struct shadow *s)
{
    uint64_t bytes = 0;

    for (uint64_t i = 0; i < s->pages; i++) {
        bytes += s->page[i] ? SHADOW_PAGE : 0;
    }
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            bytes += s->local[c][m] ? npu_mem_size(s->profile, (enum npu_mem)m) : 0;
        }
    }
    return bytes;
}

/* --- what nobody needs any more --- */

static void mark_cells(struct shadow *s, const struct cell *cell, uint64_t n)
{
    struct cell last = {0, 0};

    for (uint64_t i = 0; i < n; i++) {
        if (cell[i].writers & CELL_SPLIT) {
            mark_cells(s, split_at(s, cell[i].readers), CELL_BYTES);
        } else if (!alike(cell[i], last)) {
            last = cell[i];
            records_mark(&s->records, last.writers);
            records_mark(&s->records, last.readers);
        }
    }
}

bool shadow_sweep(struct shadow *s)
{
    uint32_t least;

    if (!records_full(&s->records)) {
        return false;
    }
    records_unmark(&s->records);
    for (uint64_t i = 0; i < s->pages; i++) {
        if (s->page[i]) {
            mark_cells(s, s->page[i], PAGE_CELLS);
        }
    }
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            if (s->local[c][m]) {
                uint64_t size = npu_mem_size(s->profile, (enum npu_mem)m);
                mark_cells(s, s->local[c][m], CELLS_OF(size));
            }
        }
    }
    records_sweep(&s->records);
    /* To go over all cells costs as much as to touch them once: seldom enough. */
    least = (uint32_t)(shadow_touched(s) / SWEEP_BYTES);
    s->records.limit = s->records.limit < least ? least : s->records.limit;
    return true;
}

void shadow_clear(struct shadow *s)
{
    for (uint64_t i = 0; i < s->pages; i++) {
        if (s->used[i]) {
            s->used[i] = 0;
            memset(s->page[i], 0, PAGE_CELLS * sizeof(struct cell));
        }
    }
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            if (s->local_used[c][m]) {
                uint64_t size = npu_mem_size(s->profile, (enum npu_mem)m);
                s->local_used[c][m] = false;
                memset(s->local[c][m], 0, CELLS_OF(size) * sizeof(struct cell));
            }
        }
    }
    s->n_splits = 0;
    s->free_split = NO_SPLIT;
    records_clear(&s->records);
}
