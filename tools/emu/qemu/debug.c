/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * What a debugger asks of the device, and the stops that it has asked for.
 *
 * QEMU drops register writes of a debugger, so requests are texts in two properties of
 * /machine/npu, which gdb reaches as `monitor qom-set /machine/npu debug REQUEST` and
 * `monitor qom-get /machine/npu debug`:
 *
 *   stop id=N EVENT... [KEY=N]...   stops at such events of which all that is given holds
 *   delete [id=N] | list | gate [when=NS] [until=NS] | who core=N mem=N addr=N
 *   head core=N pipe=N
 *   trace file=PATH | trace
 *
 * A gate lets stops count at one instant alone, or be noted only, until one. The other
 * is "stopped", which tells what has stopped the machine where it stands.
 *
 * Invariant: the stops are no part of the machine. They change no result, no cycle and
 * no snapshot, and the hart stops behind the same instruction live, recorded and
 * replayed. Numbers are those of the contract; npu.py has the words.
 */
#include "tools/emu/qemu/device.h"

#define HITS_MOST 16
#define ANY       UINT64_MAX
#define ON_SEM    (NPU_FAULTS + 1) /* beside those of enum npu_happens */
#define ON_FOUND  (NPU_FAULTS + 2)

static const char *const events[] = {
    [NPU_PUSHED] = "pushed", [NPU_BEGINS] = "begins", [NPU_ENDS] = "ends",
    [NPU_FAULTS] = "faults", [ON_SEM] = "sem",        [ON_FOUND] = "found",
};

typedef struct Stop {
    unsigned on; /* bits 1 << what */
    uint64_t id, core, pipe, number, opcode;
    uint64_t tag, bits; /* of a command's tag these bits, all of them unless told */
    uint64_t mem, first, bytes, reads, writes; /* an access */
    uint64_t sem, value;
} Stop;

static struct {
    GArray *stops; /* of Stop */
    char *answer;  /* to the last request */
    GString *hits; /* at `when`, a line each */
    unsigned n_hits;
    int64_t when;      /* ns */
    uint64_t icount;   /* instructions that the hart had retired, in a replay */
    bool back;         /* they were found on the way backwards */
    bool over;         /* the machine has stood still since */
    uint64_t sequence; /* counts instants with hits on the way forward */
    int64_t gate;      /* the only instant at which stops count, or -1 */
    int64_t until;     /* stops are noted only, until then; -1: not so */
} debug;

uint64_t npu_replay_icount(void)
{
    return replay_mode == REPLAY_MODE_PLAY ? replay_get_current_icount() : 0;
}

/* --- stops --- */

/* On the way backwards QEMU runs forward twice: to find the last stop, and to come back
 * to it, or to the beginning of the sleep in which it is. The last one is kept. */
static bool begin_hit(int64_t now)
{
    bool back = replay_running_debug() || debug.until >= 0;

    if (back && !debug.over && now < debug.when) {
        return false;
    }
    if (debug.over || now != debug.when) {
        g_string_truncate(debug.hits, 0);
        debug.n_hits = 0;
        debug.sequence += !back;
        debug.when = now;
        debug.icount = npu_replay_icount();
        debug.back = back;
        debug.over = false;
    }
    return debug.n_hits++ < HITS_MOST;
}

/* Notes why, in a line of its own, and stops. */
static void G_GNUC_PRINTF(2, 3) hit(uint64_t id, const char *format, ...)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    g_autofree char *what = NULL, *line = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    line = g_strdup_printf("\nid=%" PRIu64 " %s", id, what);
    if (begin_hit(now) && !strstr(debug.hits->str, line)) {
        g_string_append(debug.hits, line);
    }
    if (debug.until < 0) {
        npu_stop();
    }
}

static bool stops_count(void)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);

    return runstate_is_running() && (debug.gate < 0 || debug.gate == now);
}

static void stop_at_the_end_of_noting(void)
{
    if (debug.until >= 0 && qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL) >= debug.until) {
        debug.until = debug.gate = 0; /* no more stops count */
        npu_stop();
    }
}

static bool is(uint64_t wanted, uint64_t value)
{
    return wanted == ANY || wanted == value;
}

/* Whether a command touches what a stop is for. */
typedef struct Asked {
    const Stop *stop;
    bool reads, writes;
} Asked;

static void ask(void *opaque, const struct access *a, enum touch_kind kind)
{
    Asked *asked = opaque;

    if (npu_touches(a, asked->stop->mem, asked->stop->first, asked->stop->bytes)) {
        asked->reads |= kind == TOUCH_READS;
        asked->writes |= kind != TOUCH_READS;
    }
}

/* Reads happen when a command begins, writes when it ends. */
static bool accesses(SalaiNPU *npu, const Stop *stop, const struct npu_event *e)
{
    Asked asked = {.stop = stop};

    if (stop->mem == ANY) {
        return true;
    }
    if (e->what != NPU_BEGINS && e->what != NPU_ENDS) {
        return false;
    }
    npu_touch(&npu->model, e->core, e->pipe, ask, &asked);
    return e->what == NPU_ENDS ? stop->writes == 1 && asked.writes
                               : stop->reads == 1 && asked.reads;
}

static bool event_matches(SalaiNPU *npu, const Stop *stop, const struct npu_event *e)
{
    return (stop->on >> e->what & 1) && is(stop->core, e->core) &&
           is(stop->pipe, e->pipe) && is(stop->number, e->number) &&
           (stop->opcode == ANY || (e->cmd && e->cmd->head.opcode == stop->opcode)) &&
           (stop->tag == ANY ||
            (e->cmd && (e->cmd->head.tag & stop->bits) == stop->tag)) &&
           accesses(npu, stop, e);
}

static bool sem_matches(const Stop *stop, const struct npu_event *e)
{
    return (stop->on >> ON_SEM & 1) &&
           (e->sem_core == NPU_CHIP || is(stop->core, e->sem_core)) &&
           is(stop->sem, e->sem) && is(stop->value, e->value);
}

void npu_debug_event(SalaiNPU *npu, const struct npu_event *e)
{
    bool of_sem = e->what == NPU_TAKES || e->what == NPU_POSTS;

    if (e->what <= NPU_FAULTS) {
        stop_at_the_end_of_noting();
    }
    for (unsigned i = debug.stops->len; i-- > 0 && stops_count();) {
        Stop *stop = &g_array_index(debug.stops, Stop, i);

        if (of_sem && sem_matches(stop, e)) {
            hit(stop->id, "what=%s cycle=%" PRIu64 " core=%u sem=%u value=%u",
                events[ON_SEM], e->now, e->core == NPU_CHIP ? 0 : e->core, e->sem,
                e->value);
        } else if (e->what <= NPU_FAULTS && event_matches(npu, stop, e)) {
            hit(stop->id,
                "what=%s cycle=%" PRIu64 " core=%u pipe=%u number=%" PRIu64
                " opcode=%u pc=%" PRIu64 " fault=%u",
                events[e->what], e->now, e->core, e->pipe, e->number,
                e->cmd ? e->cmd->head.opcode : 0, e->ra ? e->ra : e->pc, e->fault);
        }
    }
}

void npu_debug_found(uint64_t cycle, unsigned number)
{
    for (unsigned i = debug.stops ? debug.stops->len : 0; i-- > 0 && stops_count();) {
        Stop *stop = &g_array_index(debug.stops, Stop, i);

        if (stop->on >> ON_FOUND & 1) {
            hit(stop->id, "what=%s cycle=%" PRIu64 " number=%u", events[ON_FOUND], cycle,
                number);
        }
    }
}

/* --- requests --- */

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
        for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
            if (strcmp(*words, events[i]) == 0) {
                on |= 1u << i;
                (*words)[0] = '\0';
            }
        }
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
    } keys[] = {KEY(id),    KEY(core),   KEY(pipe), KEY(number), KEY(opcode),
                KEY(tag),   KEY(bits),   KEY(mem),  KEY(first),  KEY(bytes),
                KEY(reads), KEY(writes), KEY(sem),  KEY(value)};
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
        g_array_append_val(debug.stops, stop);
    }
}

static void request_delete(char **words, Error **errp)
{
    uint64_t id = take(words, "id", ANY, errp);

    nothing_left(words, errp);
    for (unsigned i = debug.stops->len; !*errp && i-- > 0;) {
        if (is(id, g_array_index(debug.stops, Stop, i).id)) {
            g_array_remove_index(debug.stops, i);
        }
    }
}

static void request_gate(char **words, Error **errp)
{
    uint64_t when = take(words, "when", ANY, errp);
    uint64_t until = take(words, "until", ANY, errp);

    nothing_left(words, errp);
    if (!*errp) {
        debug.gate = when;
        debug.until = until;
    }
}

static char *request_list(void)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < debug.stops->len; i++) {
        g_string_append_printf(text, "%" PRIu64 " ",
                               g_array_index(debug.stops, Stop, i).id);
    }
    return g_string_free(text, FALSE);
}

static char *request_who(SalaiNPU *npu, char **words, Error **errp)
{
    uint64_t core = take(words, "core", 0, errp), mem = take(words, "mem", ANY, errp);
    uint64_t addr = take(words, "addr", 0, errp);

    nothing_left(words, errp);
    return *errp ? NULL : npu_history_who(npu, core, mem, addr);
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
    } else if (strcmp(verb, "gate") == 0) {
        request_gate(words + 1, &err);
    } else if (strcmp(verb, "list") == 0) {
        answer = request_list();
    } else if (strcmp(verb, "who") == 0) {
        answer = request_who(npu, words + 1, &err);
    } else if (strcmp(verb, "head") == 0) {
        answer = request_head(npu, words + 1, &err);
    } else {
        error_setg(&err, "%s: no such request", verb);
    }
    g_free(debug.answer);
    debug.answer = answer;
    error_propagate(errp, err);
}

static char *get_debug(Object *obj, Error **errp)
{
    return g_strdup(debug.answer ?: "");
}

/* What has happened, and whether at this very instant; `sequence` tells it from what was
 * told before. `settle`: it lies in the sleep that has begun here, or just began. */
static char *get_stopped(Object *obj, Error **errp)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    bool settle = debug.back && debug.when != now && replay_mode == REPLAY_MODE_PLAY &&
                  debug.icount == npu_replay_icount();

    return g_strdup_printf(
        "sequence=%" PRIu64 " here=%d settle=%d back=%d halted=%d end=%d when=%" PRId64
        " now=%" PRId64 " left_out=%u%s",
        debug.sequence, debug.when == now, settle, debug.back && debug.over,
        first_cpu->halted, npu_replay_at_end(), debug.when, now,
        MAX(debug.n_hits, HITS_MOST) - HITS_MOST, debug.hits->str);
}

static void state_changed(void *opaque, bool running, RunState state)
{
    if (!running && state != RUN_STATE_RESTORE_VM && state != RUN_STATE_SAVE_VM) {
        debug.over = true;
    }
}

void npu_debug_init(SalaiNPU *npu)
{
    debug.stops = g_array_new(false, false, sizeof(Stop));
    debug.hits = g_string_new(NULL);
    debug.when = debug.gate = debug.until = -1;
    qemu_add_vm_change_state_handler(state_changed, npu);
    object_property_add_str(OBJECT(npu), "debug", get_debug, set_debug);
    object_property_add_str(OBJECT(npu), "stopped", get_stopped, NULL);
}
