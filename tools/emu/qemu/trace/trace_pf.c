/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A trace in Perfetto's own format: packets of protobuf, their texts interned, compressed in
 * blocks. It is a tenth of the JSON and is read faster. Source: Perfetto,
 * protos/perfetto/trace (trace_packet, track_event, debug_annotation, interned_data).
 *
 * One cycle is one nanosecond. A command's arguments are those of the JSON but for core, pipe
 * and op, which its track and its name say.
 */
#include "tools/emu/qemu/trace/protobuf.h"
#include "tools/emu/qemu/trace/trace.h"
#include <zlib.h>

#define BLOCK       (256 << 10) /* bytes of packets that are compressed together */
#define INTERN_MOST 65536       /* texts; a reader holds all of them */

/* Numbers of fields. */
enum {
    TRACE_PACKET = 1,
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_EVENT = 11,
    PACKET_INTERNED = 12,
    PACKET_FLAGS = 13,
    PACKET_COMPRESSED = 50,
    PACKET_TRACK = 60,
    EVENT_ANNOTATIONS = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_COUNTER = 30,
    EVENT_FLOWS = 47,
    EVENT_LAST_FLOWS = 48,
    NOTE_NAME = 1,
    NOTE_NUMBER = 3,
    NOTE_TEXT = 6,
    NOTE_ENTRIES = 11,
    NOTE_VALUES = 12,
    NOTE_INTERNED = 17,
    INTERNED_NAMES = 2,
    INTERNED_NOTES = 3,
    INTERNED_TEXTS = 29,
    TRACK_UUID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    PROCESS_PID = 1,
    PROCESS_NAME = 6,
    COUNTER_UNIT = 6,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { FLAG_BEGINS = 1, FLAG_INTERNED = 2 };
enum { TABLE_NAMES, TABLE_NOTES, TABLE_TEXTS, TABLES };

static struct {
    Out *out;
    GByteArray *block;
    GHashTable *table[TABLES]; /* text -> number */
    GHashTable *counters;      /* process and name -> track */
    Message packet, event, interned, note, entry, value, part;
    uint64_t n_counters, arrows;
    bool begun;
} pf;

/* --- packets --- */

static void end_block(void)
{
    uLongf room = compressBound(pf.block->len);
    g_autofree Bytef *small = g_malloc(room);
    Message packet = {g_byte_array_new()}, trace = {g_byte_array_new()};

    if (pf.block->len &&
        compress2(small, &room, pf.block->data, pf.block->len, 1) == Z_OK) {
        add_bytes(&packet, PACKET_COMPRESSED, small, room);
        add_message(&trace, TRACE_PACKET, &packet);
        out_bytes(pf.out, trace.bytes->data, trace.bytes->len);
    }
    g_byte_array_set_size(pf.block, 0);
    g_byte_array_unref(packet.bytes);
    g_byte_array_unref(trace.bytes);
}

/* pf.packet is complete. */
static void end_packet(void)
{
    Message block = {pf.block};

    add_number(&pf.packet, PACKET_SEQUENCE, 1);
    add_number(&pf.packet, PACKET_FLAGS, pf.begun ? FLAG_INTERNED : FLAG_BEGINS);
    pf.begun = true;
    add_message(&block, TRACE_PACKET, &pf.packet);
    if (pf.block->len >= BLOCK) {
        end_block();
    }
}

/* The number of a text in a table, which the packet then brings along if it is new; 0: the
 * table is full. */
static uint64_t interned(unsigned table, const char *text)
{
    static const unsigned fields[TABLES] = {INTERNED_NAMES, INTERNED_NOTES,
                                            INTERNED_TEXTS};
    GHashTable *t = pf.table[table];
    uint64_t n = (uintptr_t)g_hash_table_lookup(t, text);

    if (n == 0 && g_hash_table_size(t) < INTERN_MOST) {
        n = g_hash_table_size(t) + 1;
        g_hash_table_insert(t, g_strdup(text), (gpointer)(uintptr_t)n);
        add_number(&pf.part, 1, n);
        add_text(&pf.part, 2, text);
        add_message(&pf.interned, fields[table], &pf.part);
    }
    return n;
}

/* What follows until end_event() is of the event. */
static void begin_event(unsigned type, uint64_t track, uint64_t at)
{
    add_number(&pf.packet, PACKET_TIMESTAMP, at);
    add_number(&pf.event, EVENT_TYPE, type);
    add_number(&pf.event, EVENT_TRACK, track);
}

static void name_event(const char *name)
{
    add_number(&pf.event, EVENT_NAME, interned(TABLE_NAMES, name));
}

static void end_event(void)
{
    if (pf.interned.bytes->len) {
        add_message(&pf.packet, PACKET_INTERNED, &pf.interned);
    }
    add_message(&pf.packet, PACKET_EVENT, &pf.event);
    end_packet();
}

/* --- notes: arguments of an event --- */

static void name_note(Message *note, const char *name)
{
    add_number(note, NOTE_NAME, interned(TABLE_NOTES, name));
}

/* To `to`, which is the event or a note of notes. */
static void note_number(Message *to, unsigned field, const char *name, uint64_t n)
{
    name_note(&pf.value, name);
    add_number(&pf.value, NOTE_NUMBER, n);
    add_message(to, field, &pf.value);
}

static void note_some(Message *to, unsigned field, const char *name, uint64_t n)
{
    if (n) {
        note_number(to, field, name, n);
    }
}

static void note_text(Message *to, unsigned field, const char *name, const char *text,
                      bool again)
{
    uint64_t n = again ? interned(TABLE_TEXTS, text) : 0;

    if (!*text) {
        return;
    }
    name_note(&pf.value, name);
    if (n) {
        add_number(&pf.value, NOTE_INTERNED, n);
    } else {
        add_text(&pf.value, NOTE_TEXT, text);
    }
    add_message(to, field, &pf.value);
}

/* --- tracks --- */

/* Of a process; its threads and counters lie behind it. */
static uint64_t track_of(unsigned process)
{
    return (process + 1ull) << 20;
}

static uint64_t thread_track(unsigned process, unsigned thread)
{
    return track_of(process) + 1 + thread;
}

static void end_track(void)
{
    add_message(&pf.packet, PACKET_TRACK, &pf.event);
    end_packet();
}

static void process(unsigned number, const char *name)
{
    add_number(&pf.event, TRACK_UUID, track_of(number));
    add_number(&pf.part, PROCESS_PID, number + 1);
    add_text(&pf.part, PROCESS_NAME, name);
    add_message(&pf.event, TRACK_PROCESS, &pf.part);
    end_track();
}

static void thread(unsigned of, unsigned number, const char *name)
{
    add_number(&pf.event, TRACK_UUID, thread_track(of, number));
    add_number(&pf.event, TRACK_PARENT, track_of(of));
    add_text(&pf.event, TRACK_NAME, name);
    end_track();
}

static uint64_t counter_track(unsigned of, const char *name, const char *unit)
{
    char *key = g_strdup_printf("%u %s", of, name);
    uint64_t track = (uintptr_t)g_hash_table_lookup(pf.counters, key);

    if (track) {
        g_free(key);
        return track;
    }
    track = track_of(of) + (1 << 19) + ++pf.n_counters;
    g_hash_table_insert(pf.counters, key, (gpointer)(uintptr_t)track);
    add_number(&pf.event, TRACK_UUID, track);
    add_number(&pf.event, TRACK_PARENT, track_of(of));
    add_text(&pf.event, TRACK_NAME, name);
    add_text(&pf.part, COUNTER_UNIT, unit);
    add_message(&pf.event, TRACK_COUNTER, &pf.part);
    end_track();
    return track;
}

/* --- what is on them --- */

static void slice(unsigned of, unsigned on, const char *name, uint64_t begin,
                  uint64_t end)
{
    begin_event(TYPE_BEGIN, thread_track(of, on), begin);
    name_event(name);
    end_event();
    begin_event(TYPE_END, thread_track(of, on), end);
    end_event();
}

static void begin_range(const char *name, uint64_t at)
{
    begin_event(TYPE_BEGIN, thread_track(TRACE_HART, TRACE_RANGES), at);
    name_event(name);
    end_event();
}

static void end_range(const char *name, const struct launched *l, uint64_t at)
{
    begin_event(TYPE_END, thread_track(TRACE_HART, TRACE_RANGES), at);
    if (l) {
        note_number(&pf.event, EVENT_ANNOTATIONS, "launch", l->number);
        note_number(&pf.event, EVENT_ANNOTATIONS, "call", l->call);
        note_number(&pf.event, EVENT_ANNOTATIONS, "price", l->price);
        note_number(&pf.event, EVENT_ANNOTATIONS, "return", l->back);
    }
    end_event();
}

static void counter(unsigned of, const char *name, const char *unit, uint64_t at,
                    uint64_t value)
{
    uint64_t track = counter_track(of, name, unit);

    begin_event(TYPE_COUNTER, track, at);
    add_number(&pf.event, EVENT_COUNTER, value);
    end_event();
}

static void memory(const TraceMemory *m)
{
    begin_event(TYPE_INSTANT, track_of(m->process), m->at);
    name_event(m->gives ? "free" : "allocate");
    note_text(&pf.event, EVENT_ANNOTATIONS, "mem", m->mem, true);
    note_number(&pf.event, EVENT_ANNOTATIONS, "addr", m->addr);
    note_number(&pf.event, EVENT_ANNOTATIONS, "bytes", m->bytes);
    note_text(&pf.event, EVENT_ANNOTATIONS, "name", m->name, true);
    note_text(&pf.event, EVENT_ANNOTATIONS, "line", m->line, true);
    end_event();
}

static void fault(const struct npu_event *e, const char *error)
{
    begin_event(TYPE_INSTANT,
                thread_track(e->core, e->pipe < NPU_PIPES ? e->pipe : TRACE_CORE),
                e->now);
    name_event("fault");
    note_number(&pf.event, EVENT_ANNOTATIONS, "number", e->number);
    note_text(&pf.event, EVENT_ANNOTATIONS, "error", error, true);
    end_event();
}

/* --- commands --- */

/* Where an arrow begins: within who posted, whose slice has been or will be there. */
static void arrow_begins(const struct waited *w)
{
    bool hart = w->by.who >= NPU_PIPES;

    begin_event(TYPE_INSTANT,
                hart ? thread_track(TRACE_HART, TRACE_DOES)
                     : thread_track(w->by.core, w->by.who),
                hart ? w->by.at : w->by.at - 1);
    name_event("post");
    add_fixed(&pf.event, EVENT_FLOWS, ++pf.arrows);
    end_event();
}

static void note_waits(const TraceCommand *c)
{
    name_note(&pf.note, "waited");
    for (unsigned i = 0; i < c->f->n_waited; i++) {
        const struct waited *w = &c->f->waited[i];
        note_number(&pf.entry, NOTE_ENTRIES, "sem", w->sem);
        note_number(&pf.entry, NOTE_ENTRIES, "cycles", w->cycles);
        note_text(&pf.entry, NOTE_ENTRIES, "by", c->by[i], false);
        if (w->by.barrier) {
            note_number(&pf.entry, NOTE_ENTRIES, "barrier", w->by.barrier - 1u);
        }
        add_message(&pf.note, NOTE_VALUES, &pf.entry);
    }
    add_message(&pf.event, EVENT_ANNOTATIONS, &pf.note);
}

static void note_stalls(const TraceCommand *c)
{
    const struct followed *f = c->f;
    const struct npu_event *e = c->e;

    if (f->empty | f->sem | f->marks | f->delay | e->shared | e->bank_groups | e->banks |
        e->missed) {
        name_note(&pf.note, "stall");
        note_some(&pf.note, NOTE_ENTRIES, "empty", f->empty);
        note_some(&pf.note, NOTE_ENTRIES, "semaphore", f->sem);
        note_some(&pf.note, NOTE_ENTRIES, "units", f->marks);
        note_some(&pf.note, NOTE_ENTRIES, "delay", f->delay);
        note_some(&pf.note, NOTE_ENTRIES, "bandwidth", e->shared);
        note_some(&pf.note, NOTE_ENTRIES, "bank", e->bank_groups + e->banks);
        note_some(&pf.note, NOTE_ENTRIES, "l2", e->missed);
        add_message(&pf.event, EVENT_ANNOTATIONS, &pf.note);
    }
}

static void notes(const TraceCommand *c)
{
    const struct npu_event *e = c->e;
    const unsigned to = EVENT_ANNOTATIONS;

    note_number(&pf.event, to, "cmd", e->number);
    note_text(&pf.event, to, "line", c->line, true);
    note_text(&pf.event, to, "task", c->task, true);
    note_number(&pf.event, to, "issued", c->f->issued);
    note_text(&pf.event, to, "shape", c->shape, true);
    note_some(&pf.event, to, "bytes", e->bytes_written ?: e->bytes_read);
    note_some(&pf.event, to, "read",
              e->bytes_read != e->bytes_written ? e->bytes_read : 0);
    note_some(&pf.event, to, "ops", e->ops);
    note_some(&pf.event, to, "hits", e->hits);
    note_some(&pf.event, to, "misses", e->misses);
    note_text(&pf.event, to, "from", c->from, false);
    note_text(&pf.event, to, "to", c->to, false);
    if (c->f->n_waited) {
        note_waits(c);
    }
    note_stalls(c);
}

static void command(const TraceCommand *c)
{
    const struct npu_event *e = c->e;
    uint64_t stood = c->f->sem + c->f->marks + c->f->delay, arrow = pf.arrows;

    if (stood) {
        slice(e->core, e->pipe, "wait", e->begin - stood, e->begin);
    }
    for (unsigned i = 0; i < c->f->n_waited; i++) {
        if (c->arrow[i]) {
            arrow_begins(&c->f->waited[i]);
        }
    }
    begin_event(TYPE_BEGIN, thread_track(e->core, e->pipe), e->begin);
    name_event(c->op);
    notes(c);
    while (arrow < pf.arrows) {
        add_fixed(&pf.event, EVENT_LAST_FLOWS, ++arrow);
    }
    end_event();
    begin_event(TYPE_END, thread_track(e->core, e->pipe), e->end);
    end_event();
}

/* --- the file --- */

static GHashTable *table_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
}

static void open_pf(Out *out)
{
    Message *const messages[] = {&pf.packet, &pf.event, &pf.interned, &pf.note,
                                 &pf.entry,  &pf.value, &pf.part};

    memset(&pf, 0, sizeof(pf));
    pf.out = out;
    pf.block = g_byte_array_new();
    for (unsigned i = 0; i < ARRAY_SIZE(messages); i++) {
        messages[i]->bytes = g_byte_array_new();
    }
    for (unsigned t = 0; t < TABLES; t++) {
        pf.table[t] = table_new();
    }
    pf.counters = table_new();
}

static void close_pf(void)
{
    const Message messages[] = {pf.packet, pf.event, pf.interned, pf.note,
                                pf.entry,  pf.value, pf.part};

    end_block();
    g_byte_array_unref(pf.block);
    for (unsigned i = 0; i < ARRAY_SIZE(messages); i++) {
        g_byte_array_unref(messages[i].bytes);
    }
    for (unsigned t = 0; t < TABLES; t++) {
        g_hash_table_destroy(pf.table[t]);
    }
    g_hash_table_destroy(pf.counters);
}

const TraceFormat npu_trace_perfetto = {
    .open = open_pf,
    .process = process,
    .thread = thread,
    .command = command,
    .slice = slice,
    .begin = begin_range,
    .end = end_range,
    .counter = counter,
    .memory = memory,
    .fault = fault,
    .close = close_pf,
};
