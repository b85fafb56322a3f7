/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The trace file: every command of every pipe, what it waited for, and what the hart did. This
 * file says what is in it, trace_json.c how it is written, counters.c samples.
 *
 * Invariant: nothing here is seen by the guest, so a run is the same with and without.
 * The file is complete when QEMU exits or a debugger ends it; its size is not limited.
 * When a debugger goes back in time, what is in the file is not written again.
 */
#include "tools/emu/qemu/trace/counters.h"
#include "tools/emu/qemu/trace/lines.h"
#include "tools/emu/qemu/trace/texts.h"

enum { RANGES_MOST = 64 };

static struct {
    Out *out; /* NULL: nothing is traced */
    const TraceFormat *format;
    SalaiNPU *npu;
    struct follow *follow;
    uint64_t last; /* cycle of the last event */
    bool again;    /* what is heard is known: the machine has gone back */
    /* Of the cores: since when they have something to do, or their line is up. */
    unsigned queued[NPU_MAX_CORES];
    uint64_t busy[NPU_MAX_CORES], up[NPU_MAX_CORES]; /* NPU_NEVER: it is not */
    unsigned depth;                                  /* of ranges */
    bool range[RANGES_MOST]; /* those that have been written, and the names of all */
    unsigned name[RANGES_MOST];
    GHashTable *tasks; /* whose threads have been named */
} trace;

/* --- what the hart does --- */

static void slice(unsigned process, unsigned thread, const char *name, uint64_t begin,
                  uint64_t end)
{
    if (end > begin && npu_window_cycles(begin, end)) {
        trace.format->slice(process, thread, name, begin, end);
    }
}

/* Neither idle nor the scheduler: a thread of its own. */
static bool is_task(const char *name)
{
    return *name && strcmp(name, "idle") != 0 && strcmp(name, "scheduler") != 0;
}

static void end_slice(uint64_t now)
{
    const struct hart_does *does = follow_does(trace.follow);
    const char *name = follow_text(trace.follow, does->name);

    if (does->name == 0 || now <= does->since || !npu_window_cycles(does->since, now)) {
        return;
    }
    slice(TRACE_HART, TRACE_DOES, name, does->since, now);
    if (is_task(name)) {
        if (g_hash_table_add(trace.tasks, GUINT_TO_POINTER(does->name))) {
            trace.format->thread(TRACE_TASKS, does->name, name);
        }
        slice(TRACE_TASKS, does->name, name, does->since, now);
    }
}

static void name_hart(const struct npu_event *e)
{
    end_slice(e->now);
    follow_hart(trace.follow, e->now,
                follow_name(trace.follow, npu_text_of_guest(trace.npu, e->name)));
}

/* --- launches and operators; memory --- */

static void begin_range(uint64_t now, uint64_t name)
{
    const char *text = npu_text_of_guest(trace.npu, name);

    follow_begins(trace.follow, follow_name(trace.follow, text));
    npu_text_launch(text);
    if (trace.depth < RANGES_MOST) {
        trace.name[trace.depth] = follow_name(trace.follow, text);
        trace.range[trace.depth] = npu_window_cycles(now, UINT64_MAX);
        if (trace.range[trace.depth]) {
            trace.format->begin(text, now);
        }
    }
    trace.depth++;
}

static void end_range(uint64_t now)
{
    struct launched l;

    bool launched = follow_ends(trace.follow, &l);

    trace.depth -= trace.depth != 0;
    if (trace.depth < RANGES_MOST && trace.range[trace.depth]) {
        trace.format->end(follow_text(trace.follow, trace.name[trace.depth]),
                          launched ? &l : NULL, now);
        trace.range[trace.depth] = false;
    }
}

static void hear_hint(const struct npu_event *e)
{
    struct hint h;

    if (!npu_hint_of_guest(trace.npu, e->name, &h)) {
        return;
    }
    if (h.kind == HINT_BEGIN) {
        begin_range(e->now, h.name);
    } else if (h.kind == HINT_END) {
        end_range(e->now);
    } else {
        npu_count_memory(trace.npu, e->now, &h);
    }
}

/* --- commands --- */

static bool in_window(unsigned core, unsigned pipe)
{
    return npu_window_core(core) && npu_window_pipe(pipe);
}

/* From a poster that is in the trace, and was when it posted. */
static bool has_arrow(const struct by *by)
{
    return (by->number || by->who == NPU_BY_HART) && in_window(by->core, by->who) &&
           npu_window_command(by->number ?: 1) && npu_window_cycles(by->at, by->at) &&
           by->at;
}

static void write_command(const struct npu_event *e)
{
    TraceCommand c = {.e = e, .f = follow_ended(trace.follow)};

    if (!in_window(e->core, e->pipe) || !npu_window_cycles(e->begin, e->end) ||
        !npu_window_command(e->number)) {
        return;
    }
    npu_text_command(trace.npu, trace.follow, &c);
    for (unsigned i = 0; i < c.f->n_waited; i++) {
        c.arrow[i] = has_arrow(&c.f->waited[i].by);
    }
    trace.format->command(&c);
}

static void pushed(const struct npu_event *e)
{
    if (trace.queued[e->core]++ == 0) {
        trace.busy[e->core] = e->now;
    }
}

static void not_busy(unsigned core, uint64_t now)
{
    if (trace.busy[core] != NPU_NEVER && npu_window_core(core)) {
        slice(core, TRACE_CORE, "busy", trace.busy[core], now);
    }
    trace.busy[core] = NPU_NEVER;
    trace.queued[core] = 0;
}

static void ended(const struct npu_event *e)
{
    write_command(e);
    npu_count_ended(trace.follow, e);
    if (trace.queued[e->core] && --trace.queued[e->core] == 0) {
        not_busy(e->core, e->now);
    }
}

static void faults(const struct npu_event *e)
{
    if (in_window(e->core, e->pipe) && npu_window_cycles(e->now, e->now)) {
        trace.format->fault(e, npu_error_name(e->fault));
    }
}

static void line(const struct npu_event *e)
{
    if (e->level) {
        trace.up[e->core] = e->now;
    } else if (trace.up[e->core] != NPU_NEVER) {
        if (npu_window_core(e->core)) {
            slice(e->core, TRACE_LINE, "up", trace.up[e->core], e->now);
        }
        trace.up[e->core] = NPU_NEVER;
    }
}

static void resets(const struct npu_event *e)
{
    if (e->core != NPU_CHIP && e->pipe == NPU_BY_HART) {
        not_busy(e->core, e->now);
    }
    npu_count_reset(trace.follow, e);
}

static void hear(const struct npu_event *e)
{
    switch (e->what) {
    case NPU_NAMES:
        name_hart(e);
        break;
    case NPU_HINTS:
        hear_hint(e);
        break;
    case NPU_PUSHED:
        pushed(e);
        npu_count_queue(trace.follow, e);
        break;
    case NPU_ENDS:
        ended(e);
        npu_count_queue(trace.follow, e);
        break;
    case NPU_TAKES:
    case NPU_POSTS:
        npu_count_units(e);
        break;
    case NPU_FAULTS:
        faults(e);
        break;
    case NPU_LINE:
        line(e);
        break;
    case NPU_RESETS:
        resets(e);
        break;
    default:
        break;
    }
}

void npu_trace_event(SalaiNPU *npu, const struct npu_event *e)
{
    if (!trace.out) {
        return;
    }
    trace.again = e->now < trace.last || (trace.again && e->now == trace.last);
    if (trace.again) {
        return;
    }
    trace.last = e->now;
    follow_event(trace.follow, e);
    hear(e);
}

/* --- the file --- */

/* What goes on has its end now. */
static void end_all(uint64_t now)
{
    end_slice(now);
    for (unsigned c = 0; c < trace.npu->config.cores; c++) {
        not_busy(c, now);
        if (trace.up[c] != NPU_NEVER && npu_window_core(c)) {
            slice(c, TRACE_LINE, "up", trace.up[c], now);
        }
    }
    while (trace.depth) {
        end_range(now);
    }
    npu_count_end(now);
}

/* False if some of the trace is lost. A run that never began leaves none. */
static bool finish(void)
{
    bool keep = trace.last != 0, good;

    if (!trace.out) {
        return true;
    }
    end_all(trace.last);
    trace.format->close();
    good = out_close(trace.out, keep);
    trace.out = NULL;
    follow_free(trace.follow);
    g_hash_table_destroy(trace.tasks);
    return good;
}

static void at_exit(int status, void *opaque)
{
    if (!finish()) {
        npu_exit_worse(status);
    }
}

void npu_trace_close(SalaiNPU *npu)
{
    if (trace.out) {
        trace.last = MAX(npu_now(npu), trace.last);
        finish();
    }
}

static void name_tracks(void)
{
    const struct npu_config *config = &trace.npu->config;

    for (unsigned c = 0; c < config->cores; c++) {
        g_autofree char *core = g_strdup_printf("core %u", c);

        if (!npu_window_core(c)) {
            continue;
        }
        trace.format->process(c, core);
        trace.format->thread(c, TRACE_CORE, "core");
        trace.format->thread(c, TRACE_LINE, "interrupt line");
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            if (*pipe_name(p) != '?' && npu_window_pipe(p)) {
                trace.format->thread(c, p, pipe_name(p));
            }
        }
    }
    trace.format->process(TRACE_HART, "hart");
    trace.format->thread(TRACE_HART, TRACE_DOES, "hart");
    trace.format->thread(TRACE_HART, TRACE_RANGES, "ranges");
    trace.format->process(TRACE_TASKS, "tasks");
    g_autofree char *chip = g_strdup_printf(
        "chip %s %s", npu_profile_name(config->profile), npu_timing_name(config->timing));
    trace.format->process(TRACE_CHIP, chip);
}

/* The format goes by the name, compressed or not. */
static bool is_perfetto(const char *path)
{
    return g_str_has_suffix(path, ".pftrace") || g_str_has_suffix(path, ".pftrace.gz");
}

/* Opens the file and writes who is who. */
int npu_trace_open(SalaiNPU *npu, const char *path)
{
    static bool ends;

    npu_trace_close(npu);
    trace.out = out_open(path, true);
    if (!trace.out) {
        return errno;
    }
    trace.npu = npu;
    trace.follow = follow_new(npu->config.cores);
    trace.tasks = g_hash_table_new(NULL, NULL);
    trace.last = 0;
    trace.again = false;
    trace.depth = 0;
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        trace.busy[c] = trace.up[c] = NPU_NEVER;
        trace.queued[c] = 0;
    }
    trace.format = is_perfetto(path) ? &npu_trace_perfetto : &npu_trace_json;
    trace.format->open(trace.out);
    npu_count_open(trace.format, npu);
    npu_lines_open();
    name_tracks();
    if (!ends) {
        ends = true;
        on_exit(at_exit, NULL);
    }
    return 0;
}
