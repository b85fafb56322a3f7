/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The trace file: every command of every pipe and what the hart did, as Chrome's trace
 * events (JSON), for Perfetto or chrome://tracing. One nanosecond on its axis is one
 * engine cycle. A process is a core, a thread a pipe; the hart is a process of its own.
 *
 * Invariant: nothing here is seen by the guest, so a run is the same with and without.
 * The file is complete when QEMU exits; its size is not limited.
 */
#include "tools/emu/qemu/device.h"

#define HART NPU_MAX_CORES /* process number of the hart */
#define NAME_BYTES 64

static struct {
    FILE *file;
    const char *path;
    char name[NAME_BYTES]; /* what the hart does; "" for nothing */
    uint64_t since;
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

static void event(void *ctx, const struct npu_event *e)
{
    const struct cmd_info *info = cmd_find(e->head->opcode);
    const union cmd *cmd = container_of(e->head, union cmd, head);

    if (cmd_span(e->head_since, e->begin)) {
        write_slice("wait", e->core, e->pipe, e->head_since, e->begin);
        fprintf(trace.file, "}");
    }
    write_slice(info->name, e->core, e->pipe, e->begin, e->end);
    fprintf(trace.file,
            ",\"args\":{\"type\":\"%s\",\"waited\":%" PRIu64 ",\"bytes read\":%" PRIu64
            ",\"bytes written\":%" PRIu64 ",\"ops\":%" PRIu64
            ",\"tag\":%u,\"pc\":\"0x%" PRIx64 "\"",
            type_name(e->head->type), cmd_span(e->head_since, e->begin), e->bytes_read,
            e->bytes_written, e->ops, e->head->tag, e->head->pc);
    for (unsigned i = 0; i < info->n_args; i++) {
        fprintf(trace.file, ",\"%s\":%" PRIu64, info->args[i].name,
                cmd_arg_value(cmd, &info->args[i]));
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

static void mark(void *ctx, uint64_t now, uint64_t name)
{
    SalaiNPU *npu = ctx;
    uint64_t end = npu->config.gm_base + npu->config.gm_size;
    size_t bytes = name < npu->config.gm_base || name >= end ? 0
                                                             : MIN(end - name, NAME_BYTES);

    if (trace.name[0] && now > trace.since) {
        write_slice(trace.name, HART, 0, trace.since, now);
        fprintf(trace.file, "}");
    }
    trace.since = now;
    copy_name(trace.name, bytes ? (char *)npu->gm_host + (name - npu->config.gm_base) : "",
              bytes);
}

static void finish(void)
{
    fprintf(trace.file, "\n]}\n");
    if (ferror(trace.file) | fclose(trace.file)) {
        error_report("npu.so: trace=%s: could not be written completely", trace.path);
    }
}

static void name_process(unsigned number, const char *name)
{
    fprintf(trace.file,
            ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%u,"
            "\"args\":{\"name\":\"%s\"}}",
            number, name);
}

/* Before the first command: opens the file and writes who is who. */
void npu_trace_open(SalaiNPU *npu, const char *path)
{
    static struct npu_host host;

    trace.path = path;
    trace.file = fopen(path, "w");
    if (!trace.file) {
        npu_die("npu.so: trace=%s: %s", path, strerror(errno));
    }
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
    host = *npu->model.host;
    host.event = event;
    host.mark = mark;
    npu->model.host = &host;
    atexit(finish);
}
