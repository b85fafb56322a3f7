/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * The stops that a debugger has asked for (requests.c); the property "stopped" of /machine/npu
 * tells what has stopped the machine where it stands.
 *
 * A gate lets stops count at one instant alone, or be noted only, until one.
 *
 * Invariant: the stops are no part of the machine. They change no result, no cycle and
 * no snapshot, and the hart stops behind the same instruction live, recorded and
 * replayed. Numbers are those of the contract; npu.py has the words.
 */
#include "tools/emu/qemu/debug/debug.h"

#define HITS_MOST 16
#define LOG_MOST  1000
#define ON_SEM    (NPU_FAULTS + 1) /* beside those of enum npu_happens */
#define ON_FOUND  (NPU_FAULTS + 2)

static const char *const events[] = {
    [NPU_PUSHED] = "pushed", [NPU_BEGINS] = "begins", [NPU_ENDS] = "ends",
    [NPU_FAULTS] = "faults", [ON_SEM] = "sem",        [ON_FOUND] = "found",
};

static struct {
    GArray *stops; /* of Stop */
    GString *log;  /* what was noted, a line each */
    uint64_t n_log;
    QEMUTimer *alarm;
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

static bool backwards(void)
{
    return replay_running_debug() || debug.until >= 0;
}

/* On the way backwards QEMU runs forward twice: to find the last stop, and to come back
 * to it, or to the beginning of the sleep in which it is. The last one is kept. */
static bool begin_hit(int64_t now)
{
    bool back = backwards();

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

/* What need not be noted twice: of what is gone through once more. */
static void note(const char *line)
{
    if (!backwards() && ++debug.n_log <= LOG_MOST) {
        g_string_append(debug.log, line);
    }
}

/* Notes why, in a line of its own, and stops. On the way backwards none is passed over, for
 * their number is that of the way forward. */
static void G_GNUC_PRINTF(2, 3) hit(Stop *stop, const char *format, ...)
{
    int64_t now = qemu_clock_get_ns(QEMU_CLOCK_VIRTUAL);
    g_autofree char *what = NULL, *line = NULL;
    va_list args;

    va_start(args, format);
    what = g_strdup_vprintf(format, args);
    va_end(args);
    line = g_strdup_printf("\nid=%" PRIu64 " %s", stop->id, what);
    if (stop->log == 1) {
        note(line);
        return;
    }
    if (stop->ignore != ANY && stop->ignore != 0 && !backwards()) {
        stop->ignore--;
        return;
    }
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
            hit(stop, "what=%s cycle=%" PRIu64 " core=%u sem=%u value=%u", events[ON_SEM],
                e->now, e->core == NPU_CHIP ? 0 : e->core, e->sem, e->value);
        } else if (e->what <= NPU_FAULTS && event_matches(npu, stop, e)) {
            hit(stop,
                "what=%s cycle=%" PRIu64 " core=%u pipe=%u number=%" PRIu64
                " opcode=%u tag=%u pc=%" PRIu64 " fault=%u",
                events[e->what], e->now, e->core, e->pipe, e->number,
                e->cmd ? e->cmd->head.opcode : 0, e->cmd ? e->cmd->head.tag : 0,
                e->ra ? e->ra : e->pc, e->fault);
        }
    }
}

void npu_debug_found(uint64_t cycle, unsigned number)
{
    for (unsigned i = debug.stops ? debug.stops->len : 0; i-- > 0 && stops_count();) {
        Stop *stop = &g_array_index(debug.stops, Stop, i);

        if (stop->on >> ON_FOUND & 1) {
            hit(stop, "what=%s cycle=%" PRIu64 " number=%u", events[ON_FOUND], cycle,
                number);
        }
    }
}

/* --- what requests.c asks for --- */

unsigned npu_stop_event(const char *name)
{
    for (unsigned i = 0; i < ARRAY_SIZE(events); i++) {
        if (strcmp(events[i], name) == 0) {
            return 1u << i;
        }
    }
    return 0;
}

void npu_stop_add(const Stop *stop)
{
    g_array_append_vals(debug.stops, stop, 1);
}

void npu_stop_delete(uint64_t id)
{
    for (unsigned i = debug.stops->len; i-- > 0;) {
        if (is(id, g_array_index(debug.stops, Stop, i).id)) {
            g_array_remove_index(debug.stops, i);
        }
    }
}

void npu_stop_ignore(uint64_t id, uint64_t times)
{
    for (unsigned i = 0; i < debug.stops->len; i++) {
        Stop *stop = &g_array_index(debug.stops, Stop, i);

        stop->ignore = stop->id == id ? times : stop->ignore;
    }
}

char *npu_stop_list(void)
{
    GString *text = g_string_new(NULL);

    for (unsigned i = 0; i < debug.stops->len; i++) {
        g_string_append_printf(text, "%" PRIu64 " ",
                               g_array_index(debug.stops, Stop, i).id);
    }
    return g_string_free(text, FALSE);
}

char *npu_stop_log(void)
{
    uint64_t more = debug.n_log - MIN(debug.n_log, LOG_MOST);
    char *text = g_strdup_printf("left_out=%" PRIu64 "%s", more, debug.log->str);

    g_string_truncate(debug.log, 0);
    debug.n_log = 0;
    return text;
}

void npu_stop_gate(uint64_t when, uint64_t until)
{
    debug.gate = (int64_t)when;
    debug.until = (int64_t)until;
}

static void alarm_rings(void *opaque)
{
    SalaiNPU *npu = opaque;
    Stop stop = {.ignore = ANY};

    npu_advance(&npu->model, npu_now(npu));
    hit(&stop, "what=time cycle=%" PRIu64, npu_now(npu));
    npu_arm(npu);
}

void npu_stop_at(SalaiNPU *npu, int64_t ns)
{
    if (!debug.alarm) {
        debug.alarm = timer_new_ns(QEMU_CLOCK_VIRTUAL, alarm_rings, npu);
    }
    timer_mod(debug.alarm, ns);
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
    debug.log = g_string_new(NULL);
    debug.when = debug.gate = debug.until = -1;
    qemu_add_vm_change_state_handler(state_changed, npu);
    npu_requests_init(npu);
    object_property_add_str(OBJECT(npu), "stopped", get_stopped, NULL);
}
