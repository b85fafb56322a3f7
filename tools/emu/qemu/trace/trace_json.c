/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * A trace as Chrome's trace events (JSON), for Perfetto, chrome://tracing and scripts. One
 * nanosecond on its axis is one engine cycle. Source: Trace Event Format (Google).
 */
#include "tools/emu/qemu/trace/trace.h"

static struct {
    Out *out;
    uint64_t arrows;
} json;

static void text(const char *s)
{
    out_text(json.out, s);
}

static void number(uint64_t n)
{
    out_number(json.out, n);
}

/* What is no plain character of a name is left out. */
static void string(const char *s)
{
    text("\"");
    for (; *s; s++) {
        char c = *s < ' ' || *s > '~' || *s == '"' || *s == '\\' ? '.' : *s;
        out_bytes(json.out, &c, 1);
    }
    text("\"");
}

static void time_of(const char *key, uint64_t cycles)
{
    char part[] = {'.', '0' + cycles / 100 % 10, '0' + cycles / 10 % 10,
                   '0' + cycles % 10};

    text(key);
    number(cycles / 1000);
    out_bytes(json.out, part, sizeof(part));
}

/* {"name":NAME,"ph":PH,"pid":N,"tid":N: an event begins. */
static void event(const char *name, const char *phase, unsigned process, unsigned thread)
{
    text(",\n{\"name\":");
    string(name);
    text(",\"ph\":\"");
    text(phase);
    text("\",\"pid\":");
    number(process);
    text(",\"tid\":");
    number(thread);
}

static void metadata(const char *what, unsigned process, unsigned thread,
                     const char *name)
{
    event(what, "M", process, thread);
    text(",\"args\":{\"name\":");
    string(name);
    text("}}");
}

static void open_json(Out *out)
{
    json.out = out;
    json.arrows = 0;
    text("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
         "{\"name\":\"clock\",\"ph\":\"M\",\"pid\":0,\"args\":{\"unit\":"
         "\"1 ns is one engine cycle\"}}");
}

static void process(unsigned number_, const char *name)
{
    metadata("process_name", number_, 0, name);
}

static void thread(unsigned process_, unsigned number_, const char *name)
{
    metadata("thread_name", process_, number_, name);
}

static void complete(const char *name, unsigned process_, unsigned thread_,
                     uint64_t begin, uint64_t end)
{
    event(name, "X", process_, thread_);
    time_of(",\"ts\":", begin);
    time_of(",\"dur\":", end - begin);
}

static void slice(unsigned process_, unsigned thread_, const char *name, uint64_t begin,
                  uint64_t end)
{
    complete(name, process_, thread_, begin, end);
    text("}");
}

/* --- a command --- */

/* "key":value, if there is one, behind a comma if it is not the first. */
static void pair(const char *key, uint64_t value, bool *first)
{
    if (value) {
        text(*first ? "\"" : ",\"");
        text(key);
        text("\":");
        number(value);
        *first = false;
    }
}

static void words(const char *key, const char *value)
{
    if (*value) {
        text(",\"");
        text(key);
        text("\":");
        string(value);
    }
}

static void waited(const TraceCommand *c)
{
    bool some = false;

    for (unsigned i = 0; i < c->f->n_waited; i++) {
        const struct waited *w = &c->f->waited[i];
        text(some ? ",{\"sem\":" : ",\"waited\":[{\"sem\":");
        number(w->sem);
        text(",\"cycles\":");
        number(w->cycles);
        words("by", c->by[i]);
        if (w->by.barrier) {
            text(",\"barrier\":");
            number(w->by.barrier - 1);
        }
        text("}");
        some = true;
    }
    text(some ? "]" : "");
}

static void stalls(const TraceCommand *c)
{
    const struct followed *f = c->f;
    bool first = true;

    if (f->empty | f->sem | f->marks | f->delay | c->e->shared | c->e->bank_groups |
        c->e->banks | c->e->missed) {
        text(",\"stall\":{");
        pair("empty", f->empty, &first);
        pair("semaphore", f->sem, &first);
        pair("units", f->marks, &first);
        pair("delay", f->delay, &first);
        pair("bandwidth", c->e->shared, &first);
        pair("bank", c->e->bank_groups + c->e->banks, &first);
        pair("l2", c->e->missed, &first);
        text("}");
    }
}

static void arguments(const TraceCommand *c)
{
    const struct npu_event *e = c->e;
    bool first = false;

    text(",\"args\":{\"cmd\":");
    number(e->number);
    text(",\"core\":");
    number(e->core);
    words("pipe", pipe_name(e->pipe));
    words("op", c->op);
    words("line", c->line);
    words("task", c->task);
    text(",\"issued\":");
    number(c->f->issued);
    words("shape", c->shape);
    pair("bytes", e->bytes_written ?: e->bytes_read, &first);
    pair("read", e->bytes_read != e->bytes_written ? e->bytes_read : 0, &first);
    pair("ops", e->ops, &first);
    pair("hits", e->hits, &first);
    pair("misses", e->misses, &first);
    words("from", c->from);
    words("to", c->to);
    waited(c);
    stalls(c);
    text("}");
}

/* From within who posted: an arrow begins at a slice, and an end is behind its last cycle. */
static void arrow(const TraceCommand *c, const struct waited *w)
{
    bool hart = w->by.who >= NPU_PIPES;
    uint64_t from = hart ? w->by.at : w->by.at - 1;

    event("semaphore", "s", hart ? TRACE_HART : w->by.core,
          hart ? TRACE_DOES : w->by.who);
    time_of(",\"cat\":\"sem\",\"ts\":", from);
    text(",\"id\":");
    number(++json.arrows);
    text("}");
    event("semaphore", "f", c->e->core, c->e->pipe);
    time_of(",\"cat\":\"sem\",\"bp\":\"e\",\"ts\":", c->e->begin);
    text(",\"id\":");
    number(json.arrows);
    text("}");
}

static void command(const TraceCommand *c)
{
    uint64_t stood = c->f->sem + c->f->marks + c->f->delay;

    if (stood) {
        slice(c->e->core, c->e->pipe, "wait", c->e->begin - stood, c->e->begin);
    }
    complete(c->op, c->e->core, c->e->pipe, c->e->begin, c->e->end);
    arguments(c);
    text("}");
    for (unsigned i = 0; i < c->f->n_waited; i++) {
        if (c->arrow[i]) {
            arrow(c, &c->f->waited[i]);
        }
    }
}

/* --- the rest --- */

static void begin(const char *name, uint64_t at)
{
    event(name, "B", TRACE_HART, TRACE_RANGES);
    time_of(",\"ts\":", at);
    text("}");
}

static void end(const char *name, const struct launched *l, uint64_t at)
{
    event(name, "E", TRACE_HART, TRACE_RANGES);
    time_of(",\"ts\":", at);
    if (l) {
        text(",\"args\":{\"launch\":");
        number(l->number);
        text(",\"call\":");
        number(l->call);
        text(",\"price\":");
        number(l->price);
        text(",\"return\":");
        number(l->back);
        text("}");
    }
    text("}");
}

static void counter(unsigned process_, const char *name, const char *unit, uint64_t at,
                    uint64_t value)
{
    event(name, "C", process_, 0);
    time_of(",\"ts\":", at);
    text(",\"args\":{");
    string(unit);
    text(":");
    number(value);
    text("}}");
}

static void memory(const TraceMemory *m)
{
    event(m->gives ? "free" : "allocate", "i", m->process, 0);
    time_of(",\"cat\":\"memory\",\"s\":\"p\",\"ts\":", m->at);
    text(",\"args\":{\"mem\":");
    string(m->mem);
    text(",\"addr\":");
    number(m->addr);
    text(",\"bytes\":");
    number(m->bytes);
    words("name", m->name);
    words("line", m->line);
    text("}}");
}

static void fault(const struct npu_event *e, const char *error)
{
    event("fault", "i", e->core, e->pipe < NPU_PIPES ? e->pipe : TRACE_CORE);
    time_of(",\"cat\":\"fault\",\"s\":\"t\",\"ts\":", e->now);
    text(",\"args\":{\"number\":");
    number(e->number);
    words("error", error);
    text("}}");
}

static void close_json(void)
{
    text("\n]}\n");
}

const TraceFormat npu_trace_json = {
    .open = open_json,
    .process = process,
    .thread = thread,
    .command = command,
    .slice = slice,
    .begin = begin,
    .end = end,
    .counter = counter,
    .memory = memory,
    .fault = fault,
    .close = close_json,
};
