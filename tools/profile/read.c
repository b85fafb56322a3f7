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

#include "tools/profile/arrange.h"
#include "tools/profile/json.h"
#include "tools/profile/words.h"

enum { TICKS = 1000 /* cycles of a unit of ts, which is a microsecond of its axis */ };
enum { OPEN = 64 /* ranges that may be open within each other */ };

struct reader {
    struct json json;
    struct trace *t;
    struct posts posts;
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
        r->posts.post = array_grow(r->posts.post, r->posts.n, sizeof(p));
        r->posts.post[r->posts.n++] = p;
    }
}

static void read_command(struct reader *r)
{
    struct trace *t = r->t;
    const struct json_node *stall = arg(r, "stall");
    uint64_t stood;
    struct command c = {.begin = ticks(r, "ts"),
                        .number = number(r, "cmd"),
                        .core = (uint16_t)number(r, "core"),
                        .pipe = word_pipe(text(r, "pipe"))};

    if (number(r, "core") >= NPU_MAX_CORES || c.pipe == 0) {
        r->json.error = "a command of no core or pipe";
        return;
    }
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
    stood = c.waited + json_number(json_get(&r->json, stall, "delay"), 1);
    if (json_get(&r->json, stall, "empty") && stood <= c.begin &&
        c.begin - stood > c.issued) {
        c.issued = c.begin - stood;
        c.behind = true;
    }
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

/* Memories and traffic; queues and semaphores, which may be thousands, are not shown. */
static bool wanted(const char *counter)
{
    size_t bytes = strlen(counter);

    return strncmp(counter, "GM ", 3) == 0 ||
           (bytes > 7 && strcmp(counter + bytes - 7, " in use") == 0);
}

static void read_counter(struct reader *r)
{
    struct trace *t = r->t;
    uint32_t name = intern(r, field(r, "name")), i;
    uint16_t process = (uint16_t)json_number(field(r, "pid"), 1);
    const struct json_node *value = json_child(&r->json, field(r, "args"));

    if (!wanted(trace_text(t, name))) {
        return;
    }
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

/* Processes "core N", "hart" and "chip PROFILE TIMING". */
static void read_name(struct reader *r)
{
    char profile[32], timing[32];

    if (!json_is(field(r, "name"), "process_name")) {
        return;
    }
    if (json_is(arg(r, "name"), "hart")) {
        r->hart = json_number(field(r, "pid"), 1);
    } else if (strncmp(text(r, "name"), "core ", 5) == 0) {
        r->t->chip_cores++;
    } else if (sscanf(text(r, "name"), "chip %31s %31s", profile, timing) == 2) {
        int p = npu_profile_find(profile), v = npu_timing_find(timing);
        r->t->profile = p < 0 ? PROFILE_a2 : (enum npu_profile)p;
        r->t->timing = v < 0 ? TIMING_v2 : (enum npu_timing)v;
    }
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
    } else if ((why = trace_arrange(t, &r->posts, window)) != NULL) {
        snprintf(error, room, " %s", why);
    }
    good = !r->json.error && !why;
    free(r->posts.post);
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

    *t = (struct trace){.profile = PROFILE_a2, .timing = TIMING_v2};
    if (json) {
        good = read_text(t, json, bytes, window, why, sizeof(why));
        if (!good) {
            snprintf(error, room, "%s:%s", path, why);
        }
        free(json);
    }
    return good;
}
