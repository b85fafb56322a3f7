/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What trace.c tells those who write a trace in some format: tracks, and what is on them.
 * Times are cycles. A track is (process, thread); a counter belongs to a process.
 */
#ifndef TOOLS_EMU_QEMU_TRACE_TRACE_H
#define TOOLS_EMU_QEMU_TRACE_TRACE_H

#include "tools/emu/qemu/device/device.h"
#include "tools/emu/qemu/host/out.h"
#include "tools/emu/trace/follow.h"

/* Processes; core c is process c. */
enum { TRACE_HART = NPU_MAX_CORES, TRACE_TASKS, TRACE_CHIP };
/* Threads of a core: the core itself, its pipes by their numbers, its interrupt line; of
 * the hart: what it does; launches and operators. A task's is the number of its name. */
enum { TRACE_CORE = 0, TRACE_LINE = NPU_PIPES, TRACE_DOES = 0, TRACE_RANGES = 1 };

/* A command that has ended. Texts are "" if there is nothing to say. */
typedef struct TraceCommand {
    const struct npu_event *e;
    const struct followed *f;
    const char *op, *line, *task;
    const char *shape, *from, *to; /* "F16 m128 n64", "L0A 0x0, L0B 0x400" */
    const char *by[2];             /* who posted what it waited for, "0.M.12" */
    bool arrow[2];                 /* and is in the trace */
} TraceCommand;

/* Memory that is handed out, or given back (gives). */
typedef struct TraceMemory {
    bool gives;
    unsigned process;
    const char *mem, *name, *line;
    uint64_t at, addr, bytes;
} TraceMemory;

typedef struct TraceFormat {
    void (*open)(Out *out);
    void (*process)(unsigned process, const char *name);
    void (*thread)(unsigned process, unsigned thread, const char *name);
    void (*command)(const TraceCommand *c);
    void (*slice)(unsigned process, unsigned thread, const char *name, uint64_t begin,
                  uint64_t end);
    /* Of TRACE_RANGES; they nest. */
    void (*begin)(const char *name, uint64_t at);
    /* The last one that has begun ends; l: it was this launch, or NULL. */
    void (*end)(const char *name, const struct launched *l, uint64_t at);
    void (*counter)(unsigned process, const char *name, const char *unit, uint64_t at,
                    uint64_t value);
    void (*memory)(const TraceMemory *m);
    /* A pipe has stopped, or a core at an access to a register: with this error. */
    void (*fault)(const struct npu_event *e, const char *error);
    void (*close)(void);
} TraceFormat;

extern const TraceFormat npu_trace_json, npu_trace_perfetto;

/* window.c: whether it is in the part of the run that is traced. */
bool npu_window_cycles(uint64_t from, uint64_t to);
bool npu_window_core(unsigned core);
bool npu_window_pipe(unsigned pipe);
bool npu_window_command(uint64_t number);

#endif
