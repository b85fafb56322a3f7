/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The trace file: every command of every pipe and what the hart did, as Chrome's trace
 * events (JSON), for Perfetto or chrome://tracing. One nanosecond on its axis is one
 * engine cycle. A process is a core, a thread a pipe; the hart is a process of its own.
 *
 * Invariant: nothing here is seen by the guest, so a run is the same with and without.
 * The file is complete when QEMU exits or a debugger ends it; its size is not limited.
 * When a debugger goes back in time, what is in the file is not written again.
 */
#include "tools/emu/qemu/device.h"

#define HART       NPU_MAX_CORES /* process number of the hart */
#define NAME_BYTES 64

static struct {
    FILE *file;
    const char *path;
    char name[NAME_BYTES]; /* what the hart does; "" for nothing */
    uint64_t since;
    uint64_t last; /* cycle of the last event written */
} trace;

static void write_slice(const char *name, unsigned process, unsigned thread,
                        uint64_t begin, uint64_t end)
{
    fprintf(trace.file,
            ",\n{\"name\":\"%s\",\"ph\":\"X\",\"ts\":%" PRIu64 ".%03u,\"dur\":%" PRIu64
            ".%03u,\"pid\":%u,\"tid\":%u",
            name, begin / 1000, (unsigned)(begin % 1000), (end - begin) / 1000,
            (unsigned)((end - begin) % 1000), process, thread);
}

static uint64_t cmd_span(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

static bool traced(uint64_t now)
{
    if (!trace.file || now < trace.last) {
        return false;
    }
    trace.last = now;
    return true;
}

static void write_command(const struct npu_event *e)
{
    const struct cmd_head *head = &e->cmd->head;
    const struct cmd_info *info = cmd_find(head->opcode);

    if (cmd_span(e->head_since, e->begin)) {
        write_slice("wait", e->core, e->pipe, e->head_since, e->begin);
        fprintf(trace.file, "}");
    }
    write_slice(info->name, e->core, e->pipe, e->begin, e->end);
    fprintf(trace.file,
            ",\"args\":{\"type\":\"%s\",\"waited\":%" PRIu64 ",\"bytes read\":%" PRIu64
            ",\"bytes written\":%" PRIu64 ",\"ops\":%" PRIu64
            ",\"tag\":%u,\"pc\":\"0x%" PRIx64 "\"",
            type_name(head->type), cmd_span(e->head_since, e->begin), e->bytes_read,
            e->bytes_written, e->ops, head->tag, e->pc);
    if (e->ra) {
        fprintf(trace.file, ",\"ra\":\"0x%" PRIx64 "\"", e->ra);
    }
    for (unsigned i = 0; i < info->n_args; i++) {
        fprintf(trace.file, ",\"%s\":%" PRIu64, info->args[i].name,
                cmd_arg_value(e->cmd, &info->args[i]));
    }
    fprintf(trace.file, "}}");
}

/* A name of the guest's as a JSON string without its quotes. */
static void copy_name(char *to, const char *from, size_t bytes)
{
    size_t n = 0;

    for (; n < bytes && n < NAME_BYTES - 1 && from[n]; n++) {
        to[n] = from[n] < ' ' || from[n] > '~' || strchr("\"\\", from[n]) ? '?' : from[n];
    }
    to[n] = '\0';
}

static void end_slice(uint64_t now)
{
    if (trace.name[0] && now > trace.since) {
        write_slice(trace.name, HART, 0, trace.since, now);
        fprintf(trace.file, "}");
    }
    trace.since = now;
}

static void name_hart(SalaiNPU *npu, uint64_t now, uint64_t name)
{
    uint64_t end = npu->config.gm_base + npu->config.gm_size;
    size_t bytes =
        name < npu->config.gm_base || name >= end ? 0 : MIN(end - name, NAME_BYTES);

    end_slice(now);
    copy_name(trace.name,
              bytes ? (char *)npu->gm_host + (name - npu->config.gm_base) : "", bytes);
}

void npu_trace_event(SalaiNPU *npu, const struct npu_event *e)
{
    if ((e->what != NPU_ENDS && e->what != NPU_NAMES) || !traced(e->now)) {
        return;
    }
    if (e->what == NPU_ENDS) {
        write_command(e);
    } else {
        name_hart(npu, e->now, e->name);
    }
}

/* False if some of the trace is lost. */
static bool finish(void)
{
    bool lost = false;

    if (trace.file) {
        fprintf(trace.file, "\n]}\n");
        lost = ferror(trace.file) | fclose(trace.file);
        trace.file = NULL;
    }
    if (lost) {
        error_report("npu.so: trace=%s: could not be written completely", trace.path);
    }
    return !lost;
}

static void at_exit(int status, void *opaque)
{
    if (!finish()) {
        npu_exit_worse(status);
    }
}

void npu_trace_close(SalaiNPU *npu)
{
    if (trace.file) {
        end_slice(MAX(npu_now(npu), trace.last));
        finish();
    }
}

static void name_process(unsigned number, const char *name)
{
    fprintf(trace.file,
            ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,"
            "\"args\":{\"name\":\"%s\"}}",
            number, name);
}

/* Opens the file and writes who is who. */
int npu_trace_open(SalaiNPU *npu, const char *path)
{
    static bool ends;

    npu_trace_close(npu);
    trace.file = fopen(path, "w");
    if (!trace.file) {
        return errno;
    }
    trace.path = g_strdup(path);
    trace.name[0] = '\0';
    trace.last = 0;
    fprintf(trace.file, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
                        "{\"name\":\"clock\",\"ph\":\"M\",\"pid\":0,\"args\":{\"unit\":"
                        "\"1 ns is one engine cycle\"}}");
    for (unsigned c = 0; c < npu->config.cores; c++) {
        g_autofree char *core = g_strdup_printf("core %u", c);
        name_process(c, core);
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            fprintf(trace.file,
                    ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%u,\"tid\":%u,"
                    "\"args\":{\"name\":\"%s\"}}",
                    c, p, pipe_name(p));
        }
    }
    name_process(HART, "hart");
    if (!ends) {
        ends = true;
        on_exit(at_exit, NULL);
    }
    return 0;
}
