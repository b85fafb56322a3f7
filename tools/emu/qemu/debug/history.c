/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The history: every command that has ended and exactly what it wrote, and every one that has
 * begun and what it read, for `npu who`. Kept only with debug=on; the oldest half is forgotten
 * when there is too much of it.
 *
 * Invariant: of writes, entries [first, npu->history) are what has ended before the machine's
 * present. A snapshot carries that number, so going back only moves it; what lies
 * behind it is the future as it was, and is written again as it comes. Of reads there is no
 * future.
 */
#include "tools/emu/qemu/device/device.h"

#define MOST       (1u << 20)
#define DUMP_MOST  100000
#define DUMP_WORDS 18

typedef struct Entry {
    uint64_t pushed, ended; /* ns; 0: not known. Of reads: when it began */
    uint64_t icount;        /* instructions that the hart had retired then, in a replay */
    uint64_t number;
    uint64_t begin, end;
    uint32_t core, pipe;
    uint64_t pc, ra;             /* as an event has them */
    uint64_t touched, n_touched; /* of the log's touched[] */
    union cmd cmd;
} Entry;

typedef struct Log {
    Entry *entry;
    uint64_t first; /* number of entry[0] */
    uint64_t count, room;
    GArray *touched; /* of struct access: those of the entries, one behind the other */
} Log;

static Log history, reads;

static uint64_t *pushed_at(SalaiNPU *npu, const struct npu_event *e)
{
    return &npu->pushed[(e->core * NPU_PIPES + e->pipe) * PIPE_DEPTH + e->slot];
}

static void forget_half(Log *log)
{
    uint64_t half = log->count / 2, touched = log->entry[half].touched;

    memmove(log->entry, log->entry + half, (log->count - half) * sizeof(Entry));
    g_array_remove_range(log->touched, 0, touched);
    log->first += half;
    log->count -= half;
    for (uint64_t i = 0; i < log->count; i++) {
        log->entry[i].touched -= touched;
    }
}

/* Entry `at` and what lies behind it are forgotten. */
static void cut(Log *log, uint64_t at)
{
    if (at < log->count) {
        g_array_set_size(log->touched, log->entry[at].touched);
        log->count = at;
    }
}

/* The one with this number, behind which there is none. */
static Entry *next_entry(Log *log, uint64_t number)
{
    uint64_t at = number - log->first;

    if (!log->touched) {
        log->touched = g_array_new(false, false, sizeof(struct access));
    }
    cut(log, at);
    if (at > 1 && (at >= MOST || log->touched->len >= MOST)) {
        forget_half(log);
        at = log->count;
    }
    if (at == log->room) {
        log->room = MAX(1024, 2 * log->room);
        log->entry = g_renew(Entry, log->entry, log->room);
    }
    log->count = at + 1;
    return &log->entry[at];
}

static void add_touched(Log *log, const struct access *a)
{
    g_array_append_vals(log->touched, a, 1);
    log->entry[log->count - 1].n_touched++;
}

static void add_write(void *opaque, const struct access *a, enum touch_kind kind)
{
    if (kind != TOUCH_READS) {
        add_touched(&history, a);
    }
}

static void add_read(void *opaque, const struct access *a, enum touch_kind kind)
{
    if (kind == TOUCH_READS) {
        add_touched(&reads, a);
    }
}

static void add_entry(SalaiNPU *npu, const struct npu_event *e, Log *log, uint64_t number)
{
    *next_entry(log, number) = (Entry){
        .pushed = *pushed_at(npu, e),
        .ended = (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL),
        .icount = npu_replay_icount(),
        .number = e->number,
        .begin = e->begin,
        .end = e->end,
        .core = e->core,
        .pipe = e->pipe,
        .pc = e->pc,
        .ra = e->ra,
        .touched = log->touched->len,
        .cmd = *e->cmd,
    };
    npu_touch(&npu->model, e->core, e->pipe, log == &history ? add_write : add_read,
              NULL);
}

/* Commands without a destination have no entry among the writes, those without a source none
 * among the reads. */
void npu_history_event(SalaiNPU *npu, const struct npu_event *e)
{
    if (e->what == NPU_PUSHED) {
        *pushed_at(npu, e) = (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    } else if (e->what == NPU_BEGINS && e->bytes_read) {
        add_entry(npu, e, &reads, reads.first + reads.count);
    } else if (e->what == NPU_ENDS && e->bytes_written) {
        add_entry(npu, e, &history, npu->history++);
    }
}

void npu_history_restored(SalaiNPU *npu)
{
    uint64_t now = (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL), n = reads.count;

    if (npu->history < history.first || npu->history > history.first + history.count) {
        cut(&history, 0);
        history.first = npu->history; /* a past that nobody has seen */
    }
    while (n > 0 && reads.entry[n - 1].ended > now) {
        n--;
    }
    cut(&reads, n);
}

static char *entry_text(const Entry *e)
{
    GString *text = g_string_new(NULL);

    g_string_printf(text,
                    "core=%u pipe=%u number=%" PRIu64 " begin=%" PRIu64 " end=%" PRIu64
                    " pushed=%" PRIu64 " ended=%" PRIu64 " icount=%" PRIu64 " pc=%" PRIu64
                    " ra=%" PRIu64 " cmd=",
                    e->core, e->pipe, e->number, e->begin, e->end, e->pushed, e->ended,
                    e->icount, e->pc, e->ra);
    for (unsigned i = 0; i < CMD_BYTES; i++) {
        g_string_append_printf(text, "%02x", e->cmd.bytes[i]);
    }
    return g_string_free(text, FALSE);
}

static bool touched(const Log *log, const Entry *e, unsigned core, unsigned mem,
                    uint64_t addr)
{
    for (uint64_t i = 0; i < e->n_touched && (mem == NPU_MEM_GM || e->core == core);
         i++) {
        if (npu_touches(&g_array_index(log->touched, struct access, e->touched + i), mem,
                        addr, 1)) {
            return true;
        }
    }
    return false;
}

char *npu_history_who(const SalaiNPU *npu, unsigned core, unsigned mem, uint64_t addr)
{
    for (uint64_t i = npu->history - history.first; i-- > 0;) {
        if (touched(&history, &history.entry[i], core, mem, addr)) {
            return entry_text(&history.entry[i]);
        }
    }
    return g_strdup_printf("none=1 first=%" PRIu64, history.first);
}

char *npu_history_readers(unsigned core, unsigned mem, uint64_t addr, unsigned most)
{
    GString *text = g_string_new(NULL);

    for (uint64_t i = reads.count; most > 0 && i-- > 0;) {
        if (touched(&reads, &reads.entry[i], core, mem, addr)) {
            g_autofree char *line = entry_text(&reads.entry[i]);
            g_string_append_printf(text, "%s\n", line);
            most--;
        }
    }
    return g_string_free(text, FALSE);
}

char *npu_history_before(const SalaiNPU *npu, uint64_t ns)
{
    uint64_t low = 0, high = history.count;
    Entry none = {0};

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (history.entry[middle].ended <= ns) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    const Entry *last = low > 0 ? &history.entry[low - 1] : &none;
    const Entry *next = low < history.count ? &history.entry[low] : &none;
    return g_strdup_printf("ns=%" PRIu64 " icount=%" PRIu64 " next=%" PRIu64
                           " next_icount=%" PRIu64 " when=%" PRIu64,
                           last->ended, last->icount, next->ended, next->icount, ns);
}

static void dump_write(const Entry *e, const struct access *a, GByteArray *to)
{
    uint64_t words[DUMP_WORDS] = {
        e->core,  e->pipe, e->number, e->begin,     e->end,       e->pushed,
        e->ended, e->pc,   e->ra,     a->mem,       a->base,      a->row_bytes,
        a->n[0],  a->n[1], a->n[2],   a->stride[0], a->stride[1], a->stride[2],
    };

    g_byte_array_append(to, (const guint8 *)words, sizeof(words));
    g_byte_array_append(to, e->cmd.bytes, CMD_BYTES);
}

/* The newest entries, oldest first, each of their writes as DUMP_WORDS words and the
 * command; tools/gdb/npu/history.py reads them. */
void npu_history_dump(const SalaiNPU *npu, GByteArray *to)
{
    uint64_t count = npu->history - history.first, from = count, writes = 0;

    while (from > 0 && writes < DUMP_MOST) {
        writes += history.entry[--from].n_touched;
    }
    for (; from < count; from++) {
        const Entry *e = &history.entry[from];

        for (uint64_t w = 0; w < e->n_touched; w++) {
            dump_write(e, &g_array_index(history.touched, struct access, e->touched + w),
                       to);
        }
    }
}

static bool history_needed(void *opaque)
{
    return SALAI_NPU(opaque)->debug;
}

const VMStateDescription npu_history_vmstate = {
    .name = TYPE_SALAI_NPU "/history",
    .version_id = 1,
    .minimum_version_id = 1,
    .needed = history_needed,
    .fields =
        (VMStateField[]){
            VMSTATE_UINT64(history, SalaiNPU),
            VMSTATE_UINT64_ARRAY(pushed, SalaiNPU, NPU_MAX_CORES *NPU_PIPES *PIPE_DEPTH),
            VMSTATE_END_OF_LIST(),
        },
};
