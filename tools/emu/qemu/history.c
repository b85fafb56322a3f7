/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The history: every command that has ended and what it wrote, for `npu who`. Kept only
 * with debug=on; the oldest half is forgotten when there are too many.
 *
 * Invariant: entries [first, npu->history) are what has ended before the machine's
 * present. A snapshot carries that number, so going back only moves it; what lies
 * behind it is the future as it was, and is written again as it comes.
 */
#include "tools/emu/qemu/device.h"

#define MOST       (1u << 20)
#define DUMP_MOST  100000
#define DUMP_WORDS 16

typedef struct Entry {
    uint64_t pushed, ended; /* ns; 0: not known */
    uint64_t icount; /* instructions that the hart had retired at the end, in a replay */
    uint64_t number;
    uint64_t begin, end;
    uint32_t core, pipe;
    struct access dst;
    union cmd cmd;
} Entry;

static struct {
    Entry *entry;
    uint64_t first; /* number of entry[0] */
    uint64_t count, room;
} history;

static uint64_t *pushed_at(SalaiNPU *npu, const struct npu_event *e)
{
    return &npu->pushed[(e->core * NPU_PIPES + e->pipe) * PIPE_DEPTH + e->slot];
}

static Entry *next_entry(SalaiNPU *npu)
{
    uint64_t at = npu->history++ - history.first;

    if (at == MOST) {
        memmove(history.entry, history.entry + MOST / 2, MOST / 2 * sizeof(Entry));
        history.first += MOST / 2;
        at -= MOST / 2;
    }
    if (at == history.room) {
        history.room = MAX(1024, 2 * history.room);
        history.entry = g_renew(Entry, history.entry, history.room);
    }
    history.count = at + 1;
    return &history.entry[at];
}

static void written(SalaiNPU *npu, const struct npu_event *e, const struct access *to)
{
    *next_entry(npu) = (Entry){
        .pushed = *pushed_at(npu, e),
        .ended = (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL),
        .icount = npu_replay_icount(),
        .number = e->number,
        .begin = e->begin,
        .end = e->end,
        .core = e->core,
        .pipe = e->pipe,
        .dst = *to,
        .cmd = *e->cmd,
    };
}

/* A command has an entry for each of its destinations. */
void npu_history_event(SalaiNPU *npu, const struct npu_event *e)
{
    if (e->what == NPU_PUSHED) {
        *pushed_at(npu, e) = (uint64_t)qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    } else if (e->what == NPU_ENDS && e->dst) {
        written(npu, e, e->dst);
        if (e->also) {
            written(npu, e, e->also);
        }
    }
}

void npu_history_restored(SalaiNPU *npu)
{
    if (npu->history < history.first || npu->history > history.first + history.count) {
        history.first = npu->history; /* a past that nobody has seen */
        history.count = 0;
    }
}

static char *entry_text(const Entry *e)
{
    GString *text = g_string_new(NULL);

    g_string_printf(text,
                    "core=%u pipe=%u number=%" PRIu64 " begin=%" PRIu64 " end=%" PRIu64
                    " pushed=%" PRIu64 " ended=%" PRIu64 " icount=%" PRIu64 " cmd=",
                    e->core, e->pipe, e->number, e->begin, e->end, e->pushed, e->ended,
                    e->icount);
    for (unsigned i = 0; i < CMD_BYTES; i++) {
        g_string_append_printf(text, "%02x", e->cmd.bytes[i]);
    }
    return g_string_free(text, FALSE);
}

char *npu_history_who(const SalaiNPU *npu, unsigned core, unsigned mem, uint64_t addr)
{
    for (uint64_t i = npu->history - history.first; i-- > 0;) {
        const Entry *e = &history.entry[i];

        if ((mem == NPU_MEM_GM || e->core == core) &&
            npu_touches(&e->dst, mem, addr, 1)) {
            return entry_text(e);
        }
    }
    return g_strdup_printf("none=1 first=%" PRIu64, history.first);
}

/* The newest entries, oldest first, each as DUMP_WORDS words and the command; tools/gdb/
 * npu/history.py reads them. */
void npu_history_dump(const SalaiNPU *npu, GByteArray *to)
{
    uint64_t count = npu->history - history.first;

    for (uint64_t i = count > DUMP_MOST ? count - DUMP_MOST : 0; i < count; i++) {
        const Entry *e = &history.entry[i];
        const struct access *a = &e->dst;
        uint64_t words[DUMP_WORDS] = {
            e->core,  e->pipe,      e->number,    e->begin,     e->end,  e->pushed,
            e->ended, a->mem,       a->base,      a->row_bytes, a->n[0], a->n[1],
            a->n[2],  a->stride[0], a->stride[1], a->stride[2],
        };

        g_byte_array_append(to, (const guint8 *)words, sizeof(words));
        g_byte_array_append(to, e->cmd.bytes, CMD_BYTES);
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
