/* SPDX-License-Identifier: MIT
 *
 * Reads the trace file of npu.so, which may be compressed; what stands in it is told in
 * tools/emu/README.md, "The trace". Source of its form: Trace Event Format (Google).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <zlib.h>

#include "tools/profile/json.h"
#include "tools/profile/lane.h"
#include "tools/profile/words.h"

enum { TICKS = 1000 /* cycles of a unit of ts, which is a microsecond of its axis */ };
enum { OPEN = 64 /* ranges that may be open within each other */ };

/* Who posted the unit that a command took, until all commands are known. */
struct post {
    uint16_t core, by_core;
    uint8_t pipe, by_pipe; /* 0: the hart, or nobody that is known */
    uint64_t number, by_number, cycles;
    uint32_t sem;
};

struct reader {
    struct json json;
    struct trace *t;
    struct post *post;
    uint32_t posts;
    uint64_t hart;               /* number of its process */
    uint32_t open[OPEN], n_open; /* ranges */
};

static const struct json_node *field(const struct reader *r, const char *key)
{
    return json_get(&r->json, &r->json.node[0], key);
}

static const struct json_node *arg(const struct reader *r, const char *key)
{
    return json_get(&r->json, field(r, "args"), key);
}

static uint64_t number(const struct reader *r, const char *key)
{
    return json_number(arg(r, key), 1);
}

static uint64_t ticks(const struct reader *r, const char *key)
{
    return json_number(field(r, key), TICKS);
}

static uint32_t intern(struct reader *r, const struct json_node *node)
{
    return node ? text_of(&r->t->texts, node->text, node->bytes) : 0;
}

static const char *text(struct reader *r, const char *key)
{
    return trace_text(r->t, intern(r, arg(r, key)));
}

/* The units that a command has taken. */
static void read_waited(struct reader *r, const struct command *c)
{
    const struct json_node *all = arg(r, "waited");

    for (const struct json_node *w = json_child(&r->json, all); w;
         w = json_after(&r->json, w)) {
        struct post p = {.core = c->core, .pipe = c->pipe, .number = c->number};
        const char *by = trace_text(r->t, intern(r, json_get(&r->json, w, "by")));
        unsigned sem = (unsigned)json_number(json_get(&r->json, w, "sem"), 1);
        char name[64], pipe[16] = "";
        unsigned core = 0;
        unsigned long long n = 0;

        if (sscanf(by, "%u.%15[A-Z0-9].%llu", &core, pipe, &n) == 3) {
            p.by_pipe = word_pipe(pipe);
            p.by_core = (uint16_t)core;
            p.by_number = n;
        }
        if (sem < SEM_CORE) {
            snprintf(name, sizeof(name), "semaphore %u of core %u", sem, c->core);
        } else {
            snprintf(name, sizeof(name), "semaphore %u of the chip", sem);
        }
        p.sem = text_of(&r->t->texts, name, strlen(name));
        p.cycles = json_number(json_get(&r->json, w, "cycles"), 1);
        r->post = array_grow(r->post, r->posts, sizeof(p));
        r->post[r->posts++] = p;
    }
}

static void read_command(struct reader *r)
{
    struct trace *t = r->t;
    const struct json_node *stall = arg(r, "stall");
    struct command c = {.begin = ticks(r, "ts"),
                        .number = number(r, "cmd"),
                        .core = (uint16_t)number(r, "core"),
                        .pipe = word_pipe(text(r, "pipe"))};

    c.end = c.begin + ticks(r, "dur");
    c.name = intern(r, arg(r, "op"));
    c.line = intern(r, arg(r, "line"));
    c.task = intern(r, arg(r, "task"));
    c.shape = intern(r, arg(r, "shape"));
    c.written = number(r, "bytes");
    c.read = arg(r, "read") ? number(r, "read") : c.written;
    c.ops = number(r, "ops");
    c.hits = (uint32_t)number(r, "hits");
    c.misses = (uint32_t)number(r, "misses");
    c.issued = number(r, "issued");
    c.lost = json_number(json_get(&r->json, stall, "bandwidth"), 1);
    c.missed = json_number(json_get(&r->json, stall, "l2"), 1);
    c.banks = json_number(json_get(&r->json, stall, "bank"), 1);
    c.waited = json_number(json_get(&r->json, stall, "semaphore"), 1) +
               json_number(json_get(&r->json, stall, "units"), 1);
    c.from = word_operand(text(r, "from"), &c.src);
    c.to = word_operand(text(r, "to"), &c.dst);
    word_rows(&c, trace_text(t, c.shape));
    read_waited(r, &c);
    if (c.core >= t->cores) {
        t->cores = c.core + 1u;
    }
    t->command = array_grow(t->command, t->commands, sizeof(c));
    t->command[t->commands++] = c;
}

static void read_slice(struct reader *r)
{
    struct trace *t = r->t;

    if (arg(r, "cmd")) {
        read_command(r);
    } else if (json_number(field(r, "pid"), 1) == r->hart &&
               json_number(field(r, "tid"), 1) == 0) {
        t->hart = array_grow(t->hart, t->harts, sizeof(t->hart[0]));
        t->hart[t->harts++] = (struct range){.begin = ticks(r, "ts"),
                                             .end = ticks(r, "ts") + ticks(r, "dur"),
                                             .name = intern(r, field(r, "name"))};
    }
}

static void read_begin(struct reader *r)
{
    struct trace *t = r->t;

    t->launch = array_grow(t->launch, t->launches, sizeof(t->launch[0]));
    t->launch[t->launches] = (struct range){.begin = ticks(r, "ts"),
                                            .end = UINT64_MAX,
                                            .name = intern(r, field(r, "name")),
                                            .depth = r->n_open};
    if (r->n_open < OPEN) {
        r->open[r->n_open++] = t->launches;
    }
    t->launches++;
}

static void read_end(struct reader *r)
{
    if (r->n_open) {
        struct range *l = &r->t->launch[r->open[--r->n_open]];
        l->end = ticks(r, "ts");
        l->number = (uint32_t)number(r, "launch");
        l->call = number(r, "call");
        l->price = number(r, "price");
        l->back = number(r, "return");
    }
}

static void read_counter(struct reader *r)
{
    struct trace *t = r->t;
    uint32_t name = intern(r, field(r, "name")), i;
    uint16_t process = (uint16_t)json_number(field(r, "pid"), 1);
    const struct json_node *value = json_child(&r->json, field(r, "args"));

    for (i = 0; i < t->counters; i++) {
        if (t->counter[i].name == name && t->counter[i].process == process) {
            break;
        }
    }
    if (i == t->counters) {
        t->counter = array_grow(t->counter, i, sizeof(t->counter[0]));
        t->counter[t->counters++] = (struct counter){.name = name, .process = process};
    }
    struct counter *c = &t->counter[i];
    c->sample = array_grow(c->sample, c->n, sizeof(c->sample[0]));
    c->sample[c->n++] = (struct sample){ticks(r, "ts"), json_number(value, 1)};
}

static void read_memory(struct reader *r)
{
    struct trace *t = r->t;

    if (arg(r, "mem")) {
        t->allocation =
            array_grow(t->allocation, t->allocations, sizeof(t->allocation[0]));
        t->allocation[t->allocations++] =
            (struct allocation){.at = ticks(r, "ts"),
                                .addr = number(r, "addr"),
                                .bytes = number(r, "bytes"),
                                .mem = intern(r, arg(r, "mem")),
                                .name = intern(r, arg(r, "name")),
                                .line = intern(r, arg(r, "line")),
                                .process = (uint16_t)json_number(field(r, "pid"), 1),
                                .gives = json_is(field(r, "name"), "free")};
    }
}

static void read_name(struct reader *r)
{
    if (json_is(field(r, "name"), "process_name") && json_is(arg(r, "name"), "hart")) {
        r->hart = json_number(field(r, "pid"), 1);
    }
    r->t->profile = arg(r, "profile") ? intern(r, arg(r, "profile")) : r->t->profile;
}

static void read_event(struct reader *r)
{
    const struct json_node *ph = field(r, "ph");

    switch (ph && ph->bytes == 1 ? *ph->text : 0) {
    case 'X':
        read_slice(r);
        break;
    case 'B':
        read_begin(r);
        break;
    case 'E':
        read_end(r);
        break;
    case 'C':
        read_counter(r);
        break;
    case 'i':
        read_memory(r);
        break;
    case 'M':
        read_name(r);
        break;
    default: /* arrows: commands say the same */
        break;
    }
}

static int compare(const void *a, const void *b)
{
    const struct command *x = a, *y = b;

    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->core != y->core) {
        return x->core < y->core ? -1 : 1;
    }
    return x->pipe != y->pipe ? x->pipe - y->pipe : x->number < y->number ? -1 : 1;
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void hart_does(struct trace *t, const char *what, uint64_t begin, uint64_t end)
{
    if (end > begin) {
        t->hart = array_grow(t->hart, t->harts, sizeof(t->hart[0]));
        t->hart[t->harts++] = (struct range){
            .begin = begin, .end = end, .name = text_of(&t->texts, what, strlen(what))};
    }
}

/* What a launch takes of the chip, and what it does before and behind its tasks, which have
 * names. */
static void name_launches(struct trace *t)
{
    uint32_t named = t->harts;

    for (uint32_t i = 0; i < t->launches; i++) {
        const struct range *l = &t->launch[i];
        uint64_t first = l->back, last = l->call + l->price;
        if (l->number == 0) {
            continue;
        }
        for (uint32_t k = 0; k < named; k++) {
            const struct range *h = &t->hart[k];
            if (h->end > l->call && h->begin < l->back) {
                first = h->begin < first ? h->begin : first;
                last = h->end > last ? h->end : last;
            }
        }
        hart_does(t, "price of a launch", l->call, l->call + l->price);
        hart_does(t, "launch begins", l->call + l->price, first);
        hart_does(t, "launch ends", last, l->back);
    }
}

/* Without launches a run is what the commands and the hart took. */
static void bounds(struct trace *t)
{
    t->begin = t->command[0].begin;
    for (uint32_t i = 0; i < t->commands; i++) {
        t->end = t->command[i].end > t->end ? t->command[i].end : t->end;
    }
    for (uint32_t i = 0; i < t->launches; i++) {
        struct range *l = &t->launch[i];
        l->end = l->end == UINT64_MAX ? t->end : l->end;
        if (l->number) {
            t->begin = l->call && l->call < t->begin ? l->call : t->begin;
            t->end = l->back > t->end ? l->back : t->end;
        }
    }
}

/* What a counter holds in [begin, end): the last value before is that at its begin. */
static void cut_counter(struct counter *c, uint64_t begin, uint64_t end)
{
    uint32_t n = 0, kept = 0;

    for (uint32_t i = 0; i < c->n && c->sample[i].at < end; i++) {
        if (c->sample[i].at <= begin) {
            kept = 0;
        }
        n = kept++;
        c->sample[n] = c->sample[i];
        c->sample[n].at = c->sample[n].at > begin ? c->sample[n].at : begin;
    }
    c->n = kept;
}

/* Leaves launches `first` to `last` of a trace; false: it has not all of them. */
static bool cut(struct trace *t, unsigned first, unsigned last)
{
    uint32_t n = 0, found = 0;

    t->begin = UINT64_MAX;
    t->end = 0;
    for (uint32_t i = 0; i < t->launches; i++) {
        struct range l = t->launch[i];
        if (l.number >= first && l.number <= last && l.number) {
            t->begin = l.call < t->begin ? l.call : t->begin;
            t->end = l.back > t->end ? l.back : t->end;
            t->launch[found++] = l;
        }
    }
    t->launches = found;
    if (found != last - first + 1) {
        return false;
    }
    for (uint32_t i = 0; i < t->commands; i++) {
        if (t->command[i].begin >= t->begin && t->command[i].end <= t->end) {
            t->command[n++] = t->command[i];
        }
    }
    t->commands = n;
    n = 0;
    for (uint32_t i = 0; i < t->harts; i++) {
        if (t->hart[i].end > t->begin && t->hart[i].begin < t->end) {
            t->hart[n++] = t->hart[i];
        }
    }
    t->harts = n;
    for (uint32_t i = 0; i < t->counters; i++) {
        cut_counter(&t->counter[i], t->begin, t->end);
    }
    return t->commands != 0;
}

static uint32_t numbered(const struct trace *t, const struct lanes *lanes, unsigned core,
                         unsigned pipe, uint64_t n)
{
    return pipe ? lane_number(lanes, t, core, pipe, n) : LANE_NONE;
}

static int by_taker(const void *a, const void *b)
{
    const struct edge *x = a, *y = b;

    return x->to < y->to ? -1 : x->to > y->to;
}

/* What is stored after SET_ATOMIC is added up, until another SET_ATOMIC says otherwise. */
static void mark_atomics(struct trace *t, const struct lanes *lanes)
{
    for (uint32_t l = 0; l < lanes->n; l++) {
        bool atomic = false;
        for (uint32_t k = lanes->first[l]; k < lanes->first[l + 1]; k++) {
            struct command *c = &t->command[lanes->order[k]];
            if (strncmp(trace_text(t, c->name), "SET_ATOMIC", 10) == 0) {
                atomic = word_number(trace_text(t, c->shape), "op", 0) != ATOMIC_NONE;
            }
            c->atomic = atomic && c->to == NPU_MEM_GM;
        }
    }
}

static void make_edges(struct reader *r)
{
    struct trace *t = r->t;
    struct lanes lanes;

    lanes_make(&lanes, t);
    mark_atomics(t, &lanes);
    for (uint32_t i = 0; i < r->posts; i++) {
        const struct post *p = &r->post[i];
        uint32_t to = numbered(t, &lanes, p->core, p->pipe, p->number);
        uint32_t from = numbered(t, &lanes, p->by_core, p->by_pipe, p->by_number);
        if (to == LANE_NONE) {
            continue; /* it has been cut off */
        }
        t->edge = array_grow(t->edge, t->edges, sizeof(t->edge[0]));
        t->edge[t->edges++] =
            (struct edge){from == LANE_NONE ? BY_HART : from, to, p->sem, p->cycles};
    }
    if (t->edges) {
        qsort(t->edge, t->edges, sizeof(t->edge[0]), by_taker);
    }
    for (uint32_t i = 0; i < t->edges; i++) {
        struct command *c = &t->command[t->edge[i].to];
        c->wait = c->waits++ ? c->wait : i;
    }
    lanes_free(&lanes);
}

/* Order among what has been read; why that is not possible, or NULL. */
static const char *put_in_order(struct reader *r, unsigned first, unsigned last)
{
    struct trace *t = r->t;

    if (t->commands == 0) {
        return "there is no command in it";
    }
    qsort(t->command, t->commands, sizeof(t->command[0]), compare);
    name_launches(t);
    if (t->harts) {
        qsort(t->hart, t->harts, sizeof(t->hart[0]), compare_ranges);
    }
    if (first == 0) {
        bounds(t);
    } else if (!cut(t, first, last)) {
        return "these launches are not in it";
    }
    make_edges(r);
    return NULL;
}

static bool read_text(struct trace *t, const char *json, size_t bytes,
                      const struct window *window, char *error, size_t room)
{
    struct reader *r = calloc(1, sizeof(*r));
    const char *why = NULL;
    bool good;

    r->t = t;
    text_of(&t->texts, "", 0);
    json_begin(&r->json, json, bytes);
    good = json_enter(&r->json, "traceEvents");
    while (good && json_next(&r->json)) {
        read_event(r);
    }
    if (r->json.error) {
        snprintf(error, room, "%u: %s", json_line(&r->json), r->json.error);
    } else if ((why = put_in_order(r, window->first, window->last)) != NULL) {
        snprintf(error, room, " %s", why);
    }
    good = !r->json.error && !why;
    free(r->post);
    free(r);
    return good;
}

/* The whole file; NULL and `error`: it cannot be read. */
static char *whole_file(const char *path, size_t *bytes, char *error, size_t room)
{
    gzFile file = gzopen(path, "rb");
    size_t have = 0, size = 1 << 20;
    char *all = malloc(size);
    int n = -1;

    while (file && (n = gzread(file, all + have, (unsigned)(size - have))) > 0) {
        have += (size_t)n;
        if (have == size) {
            size_t more = size < 1 << 29 ? size : 1 << 29;
            all = realloc(all, size += more);
        }
    }
    if (n < 0) {
        snprintf(error, room, "%s: %s", path, file ? "cannot be read" : strerror(errno));
        free(all);
        all = NULL;
    }
    if (file) {
        gzclose(file);
    }
    *bytes = have;
    return all;
}

bool trace_read(struct trace *t, const char *path, const struct window *window,
                char *error, size_t room)
{
    size_t bytes;
    char *json = whole_file(path, &bytes, error, room), why[128];
    bool good = false;

    *t = (struct trace){0};
    if (json) {
        good = read_text(t, json, bytes, window, why, sizeof(why));
        if (!good) {
            snprintf(error, room, "%s:%s", path, why);
        }
        free(json);
    }
    return good;
}
