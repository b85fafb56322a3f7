/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The history: every command that has ended and exactly what it wrote, for `npu who`. Kept
 * only with debug=on; the oldest half is forgotten when there is too much of it.
 *
 * Invariant: entries [first, npu->history) are what has ended before the machine's
 * present. A snapshot carries that number, so going back only moves it; what lies
 * behind it is the future as it was, and is written again as it comes.
 */
#include "tools/emu/qemu/device.h"

#define MOST       (1u << 20)
#define DUMP_MOST  100000
#define DUMP_WORDS 18

typedef struct Entry {
    uint64_t pushed, ended; /* ns; 0: not known */
    uint64_t icount; /* instructions that the hart had retired at the end, in a replay */
    uint64_t number;
    uint64_t begin, end;
    uint32_t core, pipe;
    uint64_t pc, ra; /* as an event has them */
    uint64_t writes; /* history.write[] from here on */
    uint64_t n_writes;
    union cmd cmd;
} Entry;

static struct {
    Entry *entry;
    uint64_t first; /* number of entry[0] */
    uint64_t count, room;
    GArray *write; /* of struct access: those of the entries, one behind the other */
} history;

static uint64_t *pushed_at(SalaiNPU *npu, const struct npu_event *e)
{
    return &npu->pushed[(e->core * NPU_PIPES + e->pipe) * PIPE_DEPTH + e->slot];
}

static void forget_half(void)
{
    uint64_t half = history.count / 2, writes = history.entry[half].writes;

    memmove(history.entry, history.entry + half, (history.count - half) * sizeof(Entry));
    g_array_remove_range(history.write, 0, writes);
    history.first += half;
    history.count -= half;
    for (uint64_t i = 0; i < history.count; i++) {
        history.entry[i].writes -= writes;
    }
}

/* What lies behind the present is forgotten. */
static Entry *next_entry(SalaiNPU *npu)
{
    uint64_t at = npu->history++ - history.first;

    if (!history.write) {
        history.write = g_array_new(false, false, sizeof(struct access));
    }
    if (at < history.count) {
        g_array_set_size(history.write, history.entry[at].writes);
        history.count = at;
    }
    if (at > 1 && (at >= MOST || history.write->len >= MOST)) {
        forget_half();
        at = history.count;
    }
    if (at == history.room) {
        history.room = MAX(1024, 2 * history.room);
        history.entry = g_renew(Entry, history.entry, history.room);
    }
    history.count = at + 1;
    return &history.entry[at];
}

static void add_write(void *opaque, const struct access *a, enum touch_kind kind)
{
    Entry *entry = opaque;

    if (kind != TOUCH_READS) {
        g_array_append_vals(history.write, a, 1);
        entry->n_writes++;
    }
}

static void add_entry(SalaiNPU *npu, const struct npu_event *e)
{
    Entry *entry = next_entry(npu);

    *entry = (Entry){
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
        .writes = history.write->len,
        .cmd = *e->cmd,
    };
    npu_touch(&npu->model, e->core, e->pipe, add_write, entry);
}

/* Commands without a destination have no entry. */
void npu_history_event(SalaiNPU *npu, const struct npu_event *e)
{
    if (e->what == NPU_PUSHED) {
        *pushed_at(npu, e) = (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    } else if (e->what == NPU_ENDS && e->bytes_written) {
        add_entry(npu, e);
    }
}

void npu_history_restored(SalaiNPU *npu)
{
    if (npu->history < history.first || npu->history > history.first + history.count) {
        history.first = npu->history; /* a past that nobody has seen */
        history.count = 0;
        if (history.write) {
            g_array_set_size(history.write, 0);
        }
    }
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

static const struct access *write_of(const Entry *e, uint64_t i)
{
    return &g_array_index(history.write, struct access, e->writes + i);
}

static bool wrote(const Entry *e, unsigned mem, uint64_t addr)
{
    for (uint64_t i = 0; i < e->n_writes; i++) {
        if (npu_touches(write_of(e, i), mem, addr, 1)) {
            return true;
        }
    }
    return false;
}

char *npu_history_who(const SalaiNPU *npu, unsigned core, unsigned mem, uint64_t addr)
{
    for (uint64_t i = npu->history - history.first; i-- > 0;) {
        const Entry *e = &history.entry[i];

        if ((mem == NPU_MEM_GM || e->core == core) && wrote(e, mem, addr)) {
            return entry_text(e);
        }
    }
    return g_strdup_printf("none=1 first=%" PRIu64, history.first);
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
        writes += history.entry[--from].n_writes;
    }
    for (; from < count; from++) {
        const Entry *e = &history.entry[from];

        for (uint64_t w = 0; w < e->n_writes; w++) {
            dump_write(e, write_of(e, w), to);
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
