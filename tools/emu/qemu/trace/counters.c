/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Counters of a trace; see counters.h. A sample of a queue is the most that it held within
 * SAMPLE cycles; of bandwidth, what commands have moved in them, each at an even rate from
 * its begin to its end. A semaphore's value is told when its cycle is over, so a unit that
 * is taken as it comes does not show. Values that stay are not told again.
 */
#include "tools/emu/qemu/trace/counters.h"
#include "tools/emu/qemu/trace/lines.h"
#include "tools/emu/qemu/trace/texts.h"

#define SAMPLE 512 /* cycles */

enum { TO_CORE, FROM_CORE, WAYS };

/* The most of a queue, sample by sample. */
typedef struct Depth {
    uint64_t sample;
    unsigned most, now, told;
} Depth;

/* Bytes of a core, of the samples from `first` on; what will come to them is not over. */
typedef struct Traffic {
    uint64_t first;
    GArray *bytes; /* of uint64_t */
    uint64_t told;
} Traffic;

/* A semaphore whose value has changed in this cycle. */
typedef struct Units {
    unsigned core, sem, value;
} Units;

/* Buffers of a queue, or one for a pipe alone. */
typedef struct Named {
    unsigned core, mem;
    uint64_t addr, bytes;
    const char *name; /* of many, each once */
} Named;

static struct {
    const TraceFormat *format;
    unsigned cores;
    Depth depth[NPU_MAX_CORES][NPU_PIPES];
    Traffic traffic[NPU_MAX_CORES][WAYS];
    GArray *units;
    uint64_t units_at;
    uint8_t units_told[NPU_MAX_CORES + 1][SEM_CORE];
    uint64_t held[NPU_MAX_CORES][NPU_MEM_COUNT], heap;
    GArray *named;      /* of Named: local memory that somebody holds */
    GHashTable *blocks; /* address -> bytes */
} count;

static void tell(unsigned process, const char *name, const char *unit, uint64_t at,
                 uint64_t value)
{
    if (npu_window_core(process) && npu_window_cycles(at, at)) {
        count.format->counter(process, name, unit, at, value);
    }
}

/* --- queues --- */

static void tell_depth(unsigned core, unsigned pipe, Depth *d, uint64_t sample,
                       unsigned most)
{
    g_autofree char *name = g_strdup_printf("queue %s", pipe_name(pipe));

    if (most != d->told && npu_window_pipe(pipe)) {
        tell(core, name, "commands", sample * SAMPLE, most);
    }
    d->told = most;
}

static void set_depth(unsigned core, unsigned pipe, uint64_t now, unsigned depth)
{
    Depth *d = &count.depth[core][pipe];
    uint64_t sample = now / SAMPLE;

    if (sample != d->sample) {
        tell_depth(core, pipe, d, d->sample, d->most);
        if (sample > d->sample + 1) {
            tell_depth(core, pipe, d, d->sample + 1, d->now);
        }
        d->sample = sample;
        d->most = d->now;
    }
    d->now = depth;
    d->most = MAX(d->most, depth);
}

void npu_count_queue(const struct follow *f, const struct npu_event *e)
{
    set_depth(e->core, e->pipe, e->now, follow_depth(f, e->core, e->pipe));
}

/* --- GM --- */

static void tell_traffic(unsigned core, unsigned way, uint64_t until)
{
    static const char *const names[WAYS] = {"GM read", "GM written"};
    Traffic *t = &count.traffic[core][way];
    unsigned n = 0;

    while (n < t->bytes->len && t->first + n < until) {
        uint64_t bytes = g_array_index(t->bytes, uint64_t, n);

        if (bytes != t->told) {
            tell(core, names[way], "bytes a cycle", (t->first + n) * SAMPLE,
                 bytes / SAMPLE);
        }
        t->told = bytes;
        n++;
    }
    if (n == t->bytes->len && t->told) {
        tell(core, names[way], "bytes a cycle", (t->first + n) * SAMPLE, 0);
        t->told = 0;
    }
    g_array_remove_range(t->bytes, 0, n);
    t->first += n;
}

static void add_traffic(Traffic *t, const struct npu_event *e, uint64_t bytes)
{
    uint64_t from = e->begin, length = e->end - e->begin, given = 0;

    if (t->bytes->len == 0) {
        t->first = from / SAMPLE;
    }
    while (from < e->end) {
        uint64_t sample = from / SAMPLE, to = MIN(e->end, (sample + 1) * SAMPLE);
        uint64_t all = (__uint128_t)bytes * (to - e->begin) / length;

        if (sample >= t->first) {
            if (sample - t->first >= t->bytes->len) {
                g_array_set_size(t->bytes, sample - t->first + 1);
            }
            g_array_index(t->bytes, uint64_t, sample - t->first) += all - given;
        }
        given = all;
        from = to;
    }
}

static uint64_t gm_bytes(const struct npu_event *e, unsigned way)
{
    uint64_t bytes = 0;

    if (way == FROM_CORE) {
        return e->dst && e->dst->mem == NPU_MEM_GM ? access_bytes(e->dst) : 0;
    }
    for (unsigned i = 0; i < e->n_src; i++) {
        bytes += e->src[i].mem == NPU_MEM_GM ? access_bytes(&e->src[i]) : 0;
    }
    return bytes;
}

/* What is over: nothing that runs began before it. */
void npu_count_ended(const struct follow *f, const struct npu_event *e)
{
    uint64_t over = e->now;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        over = MIN(over, follow_running(f, e->core, p));
    }
    for (unsigned way = 0; way < WAYS; way++) {
        uint64_t bytes = gm_bytes(e, way);

        if (bytes) {
            add_traffic(&count.traffic[e->core][way], e, bytes);
        }
        tell_traffic(e->core, way, over / SAMPLE);
    }
}

/* --- semaphores --- */

static void tell_units(void)
{
    for (unsigned i = 0; i < count.units->len; i++) {
        const Units *u = &g_array_index(count.units, Units, i);
        uint8_t *told = &count.units_told[u->core][u->sem % SEM_CORE];
        char name[16];

        if (*told != u->value) {
            snprintf(name, sizeof(name), "sem %u", u->sem);
            tell(u->core == NPU_CHIP ? TRACE_CHIP : u->core, name, "units",
                 count.units_at, u->value);
            *told = u->value;
        }
    }
    g_array_set_size(count.units, 0);
}

static void set_units(uint64_t now, unsigned core, unsigned sem, unsigned value)
{
    Units units = {core, sem, value};

    if (now != count.units_at) {
        tell_units();
        count.units_at = now;
    }
    for (unsigned i = 0; i < count.units->len; i++) {
        Units *u = &g_array_index(count.units, Units, i);

        if (u->core == core && u->sem == sem) {
            u->value = value;
            return;
        }
    }
    g_array_append_val(count.units, units);
}

void npu_count_units(const struct npu_event *e)
{
    set_units(e->now, e->sem_core, e->sem, e->value);
}

void npu_count_reset(const struct follow *f, const struct npu_event *e)
{
    bool all = e->pipe >= NPU_PIPES;

    for (unsigned p = 0; p < NPU_PIPES && e->core != NPU_CHIP; p++) {
        set_depth(e->core, p, e->now, follow_depth(f, e->core, p));
    }
    for (unsigned s = 0; s < SEM_CORE && all; s++) {
        if (count.units_told[e->core][s]) {
            set_units(e->now, e->core, e->core == NPU_CHIP ? SEM_CORE + s : s, 0);
        }
    }
}

/* --- memory --- */

static void tell_block(SalaiNPU *npu, uint64_t now, const struct hint *h, TraceMemory m)
{
    m.at = now;
    m.name = h->name ? npu_text_of_guest(npu, h->name) : "";
    m.line = (h->site ? npu_line(h->site, 0) : NULL) ?: "";
    if (npu_window_core(m.process) && npu_window_cycles(now, now)) {
        count.format->memory(&m);
    }
}

static void heap(SalaiNPU *npu, uint64_t now, const struct hint *h)
{
    gpointer key = (gpointer)(uintptr_t)h->addr;
    uint64_t had = (uintptr_t)g_hash_table_lookup(count.blocks, key);
    bool gives = h->kind == HINT_FREE;

    if (h->addr == 0 || (gives && !had)) {
        return;
    }
    count.heap += (gives ? 0 : h->bytes) - had;
    if (gives) {
        g_hash_table_remove(count.blocks, key);
    } else {
        g_hash_table_insert(count.blocks, key, (gpointer)(uintptr_t)h->bytes);
    }
    tell(TRACE_CHIP, "GM in use", "bytes", now, count.heap);
    tell_block(npu, now, h,
               (TraceMemory){.gives = gives,
                             .process = TRACE_CHIP,
                             .mem = npu_text_mem(NPU_MEM_GM),
                             .addr = h->addr,
                             .bytes = gives ? had : h->bytes});
}

static void tell_held(uint64_t now, unsigned core, unsigned mem)
{
    g_autofree char *name = g_strconcat(npu_text_mem(mem), " in use", NULL);

    tell(core, name, "bytes", now, count.held[core][mem]);
}

static void tell_named(uint64_t now, const Named *n, uint64_t bytes)
{
    g_autofree char *name = g_strdup_printf("%s: %s", npu_text_mem(n->mem), n->name);

    tell(n->core, name, "bytes", now, bytes);
}

static void name_buffer(SalaiNPU *npu, uint64_t now, const struct hint *h)
{
    const char *name = h->name ? npu_text_of_guest(npu, h->name) : "";
    Named named = {h->core, h->mem, h->addr, h->bytes * h->count, g_intern_string(name)};

    if (*name) {
        g_array_append_val(count.named, named);
        tell_named(now, &named, named.bytes);
    }
}

const char *npu_count_buffer(unsigned core, unsigned mem, uint64_t addr)
{
    for (unsigned i = count.named ? count.named->len : 0; i-- > 0;) {
        const Named *n = &g_array_index(count.named, Named, i);

        if (n->core == core && n->mem == mem && addr - n->addr < n->bytes) {
            return n->name;
        }
    }
    return "";
}

static void forget_named(uint64_t now, unsigned core)
{
    for (unsigned i = count.named->len; i-- > 0;) {
        if (g_array_index(count.named, Named, i).core == core) {
            tell_named(now, &g_array_index(count.named, Named, i), 0);
            g_array_remove_index(count.named, i);
        }
    }
}

static void local(SalaiNPU *npu, uint64_t now, const struct hint *h)
{
    if (h->core >= count.cores || h->mem >= NPU_MEM_COUNT) {
        return;
    }
    count.held[h->core][h->mem] += h->bytes * h->count;
    tell_held(now, h->core, h->mem);
    name_buffer(npu, now, h);
    tell_block(npu, now, h,
               (TraceMemory){.process = h->core,
                             .mem = npu_text_mem(h->mem),
                             .addr = h->addr,
                             .bytes = h->bytes * h->count});
}

static void open_core(uint64_t now, unsigned core)
{
    for (unsigned m = 0; core < count.cores && m < NPU_MEM_COUNT; m++) {
        if (count.held[core][m]) {
            count.held[core][m] = 0;
            tell_held(now, core, m);
        }
    }
    forget_named(now, core);
}

void npu_count_memory(SalaiNPU *npu, uint64_t now, const struct hint *h)
{
    switch (h->kind) {
    case HINT_BLOCK:
    case HINT_FREE:
        heap(npu, now, h);
        break;
    case HINT_QUEUE:
    case HINT_BUFFER:
        local(npu, now, h);
        break;
    case HINT_OPEN:
        open_core(now, h->core);
        break;
    default:
        break;
    }
}

/* --- all of them --- */

void npu_count_open(const TraceFormat *format, SalaiNPU *npu)
{
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned way = 0; way < WAYS; way++) {
            GArray *bytes = count.traffic[c][way].bytes;

            count.traffic[c][way] =
                (Traffic){.bytes = bytes ?: g_array_new(false, true, sizeof(uint64_t))};
            g_array_set_size(count.traffic[c][way].bytes, 0);
        }
    }
    memset(count.depth, 0, sizeof(count.depth));
    memset(count.units_told, 0, sizeof(count.units_told));
    count.units = count.units ?: g_array_new(false, false, sizeof(Units));
    count.blocks = count.blocks ?: g_hash_table_new(NULL, NULL);
    count.named = count.named ?: g_array_new(false, false, sizeof(Named));
    g_array_set_size(count.units, 0);
    count.format = format;
    count.cores = npu->config.cores;
}

void npu_count_end(uint64_t now)
{
    tell_units();
    for (unsigned c = 0; c < count.cores; c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            set_depth(c, p, now + SAMPLE, count.depth[c][p].now);
        }
        for (unsigned way = 0; way < WAYS; way++) {
            tell_traffic(c, way, UINT64_MAX);
        }
    }
}
