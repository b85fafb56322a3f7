/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a debugger asks of the device. QEMU drops register writes of a debugger, so requests are
 * texts in a property of /machine/npu, which gdb reaches as
 * `monitor qom-set /machine/npu debug REQUEST` and `monitor qom-get /machine/npu debug`:
 *
 *   stop id=N EVENT... [KEY=N]...   stops at such events of which all that is given holds;
 *                                   log=1: notes them instead, for `log`
 *   delete [id=N] | ignore id=N times=N | list | log | gate [when=NS] [until=NS]
 *   at cycle=N                      stops there
 *   before cycle=N                  the commands that ended around it
 *   who core=N mem=N addr=N [readers=MOST]
 *   sems core=N sem=N most=N        who posted and took units of a semaphore
 *   head core=N pipe=N
 *   trace file=PATH | trace
 */
#include "tools/emu/qemu/debug/debug.h"

static char *last_answer;

/* The value of KEY= among the words, which it then takes out. Of several mistakes the first
 * is told. */
static uint64_t take(char **words, const char *key, uint64_t otherwise, Error **errp)
{
    size_t length = strlen(key);
    uint64_t value = otherwise;

    for (; *words; words++) {
        if (strncmp(*words, key, length) == 0 && (*words)[length] == '=') {
            if (qemu_strtou64(*words + length + 1, NULL, 0, &value) && !*errp) {
                error_setg(errp, "%s: no number", *words);
            }
            (*words)[0] = '\0';
        }
    }
    return value;
}

/* Bits of the events that are named, which it then takes out. */
static unsigned take_events(char **words)
{
    unsigned on = 0;

    for (; *words; words++) {
        unsigned event = npu_stop_event(*words);

        on |= event;
        (*words)[0] = event ? '\0' : (*words)[0];
    }
    return on;
}

static void nothing_left(char **words, Error **errp)
{
    for (; *words; words++) {
        if (**words && !*errp) {
            error_setg(errp, "%s: not known", *words);
        }
    }
}

static void request_stop(char **words, Error **errp)
{
#define KEY(name)                                                                        \
    {                                                                                    \
#name, offsetof(Stop, name)                                                      \
    }
    static const struct {
        const char *name;
        size_t offset;
    } keys[] = {KEY(id),   KEY(core),  KEY(pipe),   KEY(number), KEY(opcode), KEY(tag),
                KEY(bits), KEY(mem),   KEY(first),  KEY(bytes),  KEY(reads),  KEY(writes),
                KEY(sem),  KEY(value), KEY(ignore), KEY(log)};
    Stop stop = {.on = take_events(words)};

    for (unsigned i = 0; i < ARRAY_SIZE(keys) && !*errp; i++) {
        *(uint64_t *)((char *)&stop + keys[i].offset) =
            take(words, keys[i].name, ANY, errp);
    }
    nothing_left(words, errp);
    if (!*errp && (stop.id == ANY || !stop.on)) {
        error_setg(errp, "a stop wants id= and an event");
    }
    if (!*errp) {
        npu_stop_add(&stop);
    }
}

static void request_delete(char **words, Error **errp)
{
    uint64_t id = take(words, "id", ANY, errp);

    nothing_left(words, errp);
    if (!*errp) {
        npu_stop_delete(id);
    }
}

static void request_ignore(char **words, Error **errp)
{
    uint64_t id = take(words, "id", ANY, errp), times = take(words, "times", 0, errp);

    nothing_left(words, errp);
    if (!*errp) {
        npu_stop_ignore(id, times);
    }
}

static void request_gate(char **words, Error **errp)
{
    uint64_t when = take(words, "when", ANY, errp);
    uint64_t until = take(words, "until", ANY, errp);

    nothing_left(words, errp);
    if (!*errp) {
        npu_stop_gate(when, until);
    }
}

/* Stops at a cycle that is to come. A replay has no timer that the recording had not. */
static void request_at(SalaiNPU *npu, char **words, Error **errp)
{
    uint64_t cycle = take(words, "cycle", 0, errp);

    nothing_left(words, errp);
    if (!*errp && (replay_mode != REPLAY_MODE_NONE || cycle <= npu_now(npu))) {
        error_setg(errp, "at: not in a replay, and not what is over");
    }
    if (!*errp) {
        npu_stop_at(npu, (int64_t)npu_clock(&npu->model, cycle));
    }
}

static char *request_before(SalaiNPU *npu, char **words, Error **errp)
{
    uint64_t cycle = take(words, "cycle", 0, errp);

    nothing_left(words, errp);
    return *errp ? NULL : npu_history_before(npu, npu_clock(&npu->model, cycle));
}

static char *request_sems(SalaiNPU *npu, char **words, Error **errp)
{
    uint64_t core = take(words, "core", 0, errp), sem = take(words, "sem", 0, errp);
    uint64_t most = take(words, "most", 0, errp);

    nothing_left(words, errp);
    return *errp ? NULL : npu_semlog(core, sem, most);
}

static char *request_who(SalaiNPU *npu, char **words, Error **errp)
{
    uint64_t core = take(words, "core", 0, errp), mem = take(words, "mem", ANY, errp);
    uint64_t addr = take(words, "addr", 0, errp),
             readers = take(words, "readers", 0, errp);

    nothing_left(words, errp);
    return *errp     ? NULL
           : readers ? npu_history_readers(core, mem, addr, readers)
                     : npu_history_who(npu, core, mem, addr);
}

/* The number of the head of a queue, which is the next to end. */
static char *request_head(SalaiNPU *npu, char **words, Error **errp)
{
    uint64_t core = take(words, "core", ANY, errp), pipe = take(words, "pipe", ANY, errp);

    nothing_left(words, errp);
    if (!*errp && (core >= npu->config.cores || pipe >= NPU_PIPES)) {
        error_setg(errp, "head: no such pipe");
    }
    return *errp ? NULL
                 : g_strdup_printf("%" PRIu64, npu_head_number(&npu->model, core, pipe));
}

static void request_trace(SalaiNPU *npu, const char *path, Error **errp)
{
    int err;

    if (!path) {
        npu_trace_close(npu);
    } else if (!*path) {
        error_setg(errp, "trace: file= names none");
    } else if ((err = npu_trace_open(npu, path))) {
        error_setg(errp, "%s: %s", path, strerror(err));
    }
}

/* The answer of what only asks; false: it is no such request. */
static bool asks(SalaiNPU *npu, const char *verb, char **words, char **answer,
                 Error **errp)
{
    if (strcmp(verb, "list") == 0) {
        *answer = npu_stop_list();
    } else if (strcmp(verb, "log") == 0) {
        *answer = npu_stop_log();
    } else if (strcmp(verb, "who") == 0) {
        *answer = request_who(npu, words, errp);
    } else if (strcmp(verb, "head") == 0) {
        *answer = request_head(npu, words, errp);
    } else if (strcmp(verb, "before") == 0) {
        *answer = request_before(npu, words, errp);
    } else if (strcmp(verb, "sems") == 0) {
        *answer = request_sems(npu, words, errp);
    } else {
        return false;
    }
    return true;
}

static void set_debug(Object *obj, const char *text, Error **errp)
{
    SalaiNPU *npu = SALAI_NPU(obj);
    g_auto(GStrv) words = g_strsplit(text, " ", 0);
    const char *verb = words[0] ?: "";
    char *answer = NULL;
    Error *err = NULL;

    if (strcmp(verb, "trace") == 0) {
        text = strstr(text, "file=");
        request_trace(npu, text ? text + 5 : NULL, &err);
    } else if (!npu->debug) {
        error_setg(&err, "npu.so was started without debug=on");
    } else if (strcmp(verb, "stop") == 0) {
        request_stop(words + 1, &err);
    } else if (strcmp(verb, "delete") == 0) {
        request_delete(words + 1, &err);
    } else if (strcmp(verb, "ignore") == 0) {
        request_ignore(words + 1, &err);
    } else if (strcmp(verb, "gate") == 0) {
        request_gate(words + 1, &err);
    } else if (strcmp(verb, "at") == 0) {
        request_at(npu, words + 1, &err);
    } else if (!asks(npu, verb, words + 1, &answer, &err)) {
        error_setg(&err, "%s: no such request", verb);
    }
    g_free(last_answer);
    last_answer = answer;
    error_propagate(errp, err);
}

static char *get_debug(Object *obj, Error **errp)
{
    return g_strdup(last_answer ?: "");
}

void npu_requests_init(SalaiNPU *npu)
{
    object_property_add_str(OBJECT(npu), "debug", get_debug, set_debug);
}
