/* SPDX-License-Identifier: MIT
 *
 * The init check; see init.h. Most commands read nothing undefined: what they write is
 * defined then, and no more is done. For others npu_flow() is asked.
 */
#include "tools/emu/check/memory/init.h"

#include "tools/emu/check/memory/undefined.h"
#include "tools/emu/model/mem.h"

enum {
    FOUND_MOST = 1024,
    SOURCES_MOST = 1024,
    SOURCE_SLOTS = 2048,
    SCOPES_MOST = 16,
    CMPMASK_WORDS = 2
};

struct init {
    const struct check_host *host;
    struct race_config config;
    struct memory *memory;
    struct undefined undefined;
    /* Undefined bits of the Vector's compare mask register, and where they come from. */
    uint64_t cmpmask[NPU_MAX_CORES][CMPMASK_WORDS];
    uint32_t cmpmask_origin[NPU_MAX_CORES];
    bool at_work;            /* the allocator is */
    struct allocation moved; /* realloc gives it back; kind 0: nothing */
    uint64_t task;
    uint64_t scope[SCOPES_MOST]; /* names of the launches and operators that have begun */
    unsigned depth;
    uint64_t pushed[NPU_MAX_CORES][NPU_PIPES][PIPE_DEPTH]; /* by which task */
    struct init_source *source; /* an origin's is [origin - 1] */
    uint32_t n_sources, sources_room, slot[SOURCE_SLOTS];
    struct init_finding *found;
    uint32_t n_found, found_room;
    uint64_t lost;
};

struct init *init_new(const struct check_host *host, const struct race_config *config,
                      struct memory *memory)
{
    struct init *i = host->alloc(host->ctx, sizeof(*i));

    i->host = host;
    i->config = *config;
    i->memory = memory;
    undefined_open(&i->undefined, host, config);
    return i;
}

void init_free(struct init *i)
{
    const struct check_host *host = i->host;

    undefined_close(&i->undefined);
    if (i->source) {
        host->free(host->ctx, i->source, i->sources_room * sizeof(*i->source));
    }
    if (i->found) {
        host->free(host->ctx, i->found, i->found_room * sizeof(*i->found));
    }
    host->free(host->ctx, i, sizeof(*i));
}

size_t init_bytes(const struct init *i)
{
    return sizeof(*i) + undefined_bytes(&i->undefined) +
           i->sources_room * sizeof(*i->source) + i->found_room * sizeof(*i->found);
}

const struct init_finding *init_findings(const struct init *i, uint32_t *n,
                                         uint64_t *lost)
{
    *n = i->n_found;
    *lost = i->lost;
    return i->found;
}

bool init_undefined(struct init *i, unsigned core, unsigned mem, uint64_t addr)
{
    return undefined_find(&i->undefined, core, mem, addr, 1) == 0;
}

/* --- findings --- */

/* Room for one more of an array that has n; the array, which may have moved. */
static void *room_for(struct init *i, void *array, uint32_t n, uint32_t *room,
                      size_t each)
{
    uint32_t more = *room ? 2 * *room : 16;

    if (n == *room) {
        array = host_grow(i->host, array, *room * each, more * each);
        *room = more;
    }
    return array;
}

static bool same_place(const struct record *a, const struct record *b)
{
    return a->site.pc == b->site.pc && a->site.caller == b->site.caller;
}

static bool same_source(const struct init_source *a, const struct init_source *b)
{
    return same_place(&a->access, &b->access) && a->access.field == b->access.field &&
           a->mem == b->mem && a->of.site == b->of.site;
}

static void add(struct init *i, const struct init_finding *f)
{
    for (uint32_t k = 0; k < i->n_found; k++) {
        struct init_finding *old = &i->found[k];
        if (old->use == f->use && old->mem == f->mem &&
            same_place(&old->access, &f->access) && same_source(&old->from, &f->from)) {
            old->count++;
            return;
        }
    }
    if (i->n_found == FOUND_MOST) {
        i->lost++;
        return;
    }
    i->found = room_for(i, i->found, i->n_found, &i->found_room, sizeof(*f));
    i->found[i->n_found] = *f;
    i->found[i->n_found++].count = 1;
}

/* An access that comes upon undefined bytes at addr, where they were all the time. */
static struct init_source source_at(struct init *i, const struct record *access,
                                    unsigned core, unsigned mem, uint64_t addr)
{
    struct init_source source = {
        .access = *access, .core = core, .mem = mem, .addr = addr};

    (void)memory_holds(i->memory, core, mem, addr, &source.of);
    return source;
}

/* The number of a source, which may be new; 0: there are too many. */
static uint32_t origin_of(struct init *i, const struct init_source *source)
{
    uint64_t key = source->access.site.pc + source->access.site.caller * 5 +
                   source->access.field * 3u + source->of.site;
    uint32_t slot = (uint32_t)(key ^ key >> 11) % SOURCE_SLOTS;

    for (; i->slot[slot]; slot = (slot + 1) % SOURCE_SLOTS) {
        if (same_source(&i->source[i->slot[slot] - 1], source)) {
            return i->slot[slot];
        }
    }
    if (i->n_sources == SOURCES_MOST) {
        return 0;
    }
    i->source = room_for(i, i->source, i->n_sources, &i->sources_room, sizeof(*source));
    i->source[i->n_sources] = *source;
    i->slot[slot] = ++i->n_sources;
    return i->n_sources;
}

/* --- hints --- */

static void block(struct init *i, const struct hint *h)
{
    struct undefined *u = &i->undefined;
    struct allocation moved = i->moved;
    uint64_t kept = 0;

    i->at_work = false;
    i->moved.kind = 0;
    if (h->addr == 0) {
        return;
    }
    if (moved.kind) {
        kept = moved.bytes < h->bytes ? moved.bytes : h->bytes;
    }
    for (uint64_t at = 0; moved.addr != h->addr && at < kept; at++) {
        at += undefined_find(u, 0, NPU_MEM_GM, moved.addr + at, kept - at);
        if (at < kept) {
            undefined_set(u, 0, NPU_MEM_GM, h->addr + at, 1, true);
        }
    }
    undefined_set(u, 0, NPU_MEM_GM, h->addr + kept, h->bytes - kept, h->count == 0);
}

static void handed_out(struct init *i, const struct hint *h)
{
    if (h->core < i->config.cores && h->mem < NPU_MEM_COUNT) {
        undefined_set(&i->undefined, h->core, h->mem, h->addr, h->bytes * h->count, true);
    }
}

void init_hint(struct init *i, const struct hint *h)
{
    switch (h->kind) {
    case HINT_WORK:
        i->at_work = true;
        break;
    case HINT_REST:
        i->at_work = false;
        break;
    case HINT_FREE: /* a block that the allocator has work with is moved */
        i->moved.kind = 0;
        if (i->at_work) {
            (void)memory_holds(i->memory, 0, NPU_MEM_GM, h->addr, &i->moved);
        }
        i->at_work = true;
        break;
    case HINT_BLOCK:
        block(i, h);
        break;
    case HINT_INPUT:
        undefined_set(&i->undefined, 0, NPU_MEM_GM, h->addr, h->bytes, false);
        break;
    case HINT_OPEN:
        for (unsigned m = 0; h->core < i->config.cores && m < NPU_MEM_COUNT; m++) {
            undefined_set(&i->undefined, h->core, m, 0,
                          npu_mem_size(i->config.profile, (enum npu_mem)m), true);
        }
        break;
    case HINT_QUEUE:
    case HINT_BUFFER:
        handed_out(i, h);
        break;
    case HINT_BEGIN:
        if (i->depth < SCOPES_MOST) {
            i->scope[i->depth] = h->name;
        }
        i->depth++;
        break;
    case HINT_END:
        i->depth -= i->depth != 0;
        break;
    default:
        break;
    }
}

/* What the hart does, by its name. */
static uint64_t doing(const struct init *i)
{
    unsigned depth = i->depth < SCOPES_MOST ? i->depth : SCOPES_MOST;

    return i->task ? i->task : depth ? i->scope[depth - 1] : 0;
}

/* --- commands --- */

struct ended {
    struct init *i;
    const struct npu_event *e;
    struct npu_shadow shadow;
    bool undefined; /* something that it reads is, */
    bool found;     /* and that is known to come from: */
    struct init_source source;
    uint32_t origin;
};

static struct record operand(const struct ended *x, const struct access *a,
                             enum touch_kind kind)
{
    const struct npu_event *e = x->e;

    return (struct record){.site = {.pc = e->pc,
                                    .caller = e->ra,
                                    .task = x->i->pushed[e->core][e->pipe][e->slot],
                                    .tag = e->cmd->head.tag,
                                    .opcode = e->cmd->head.opcode},
                           .lane = lane_of(e->core, e->pipe),
                           .serial = (uint32_t)e->number,
                           .cycle = e->now,
                           .base = a->base,
                           .bytes = access_extent(a),
                           .kind = kind == TOUCH_READS ? ACCESS_READ : ACCESS_WRITE,
                           .field = a->field};
}

static void guided(const struct ended *x, const struct access *a, uint64_t addr)
{
    struct init_finding f = {.use = INIT_GUIDES,
                             .access = operand(x, a, TOUCH_READS),
                             .core = x->e->core,
                             .mem = a->mem,
                             .addr = addr,
                             .bytes = 1};
    uint32_t origin = undefined_origin(&x->i->undefined, f.core, a->mem, addr);

    f.from = origin ? x->i->source[origin - 1]
                    : source_at(x->i, &f.access, f.core, f.mem, addr);
    add(x->i, &f);
}

/* Of an operand: is it defined? What is written is, if all that was read is. */
static void judge(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct ended *x = opaque;
    struct undefined *u = &x->i->undefined;
    uint64_t first;

    if (kind == TOUCH_WRITES) {
        if (!x->undefined) {
            undefined_define(u, x->e->core, a);
        }
    } else if (!undefined_in(u, x->e->core, a, &first)) {
        return;
    } else if (npu_guides(x->e->npu, x->e->core, x->e->pipe, a)) {
        guided(x, a, first);
        undefined_define(u, x->e->core, a);
    } else if (!x->found) {
        struct record r = operand(x, a, kind);
        x->undefined = x->found = true;
        x->origin = undefined_origin(u, x->e->core, a->mem, first);
        if (!x->origin) {
            x->source = source_at(x->i, &r, x->e->core, a->mem, first);
            x->origin = origin_of(x->i, &x->source);
        }
    }
}

static void show(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct ended *x = opaque;

    if (a->mem == NPU_MEM_GM && kind != TOUCH_WRITES) {
        undefined_show(&x->i->undefined, &x->shadow, a);
    }
}

/* What npu_flow() has left of an operand in GM, then nothing of it is. */
static void stored(struct ended *x, const struct access *a, enum touch_kind kind)
{
    struct init_finding f = {.use = INIT_STORED,
                             .access = operand(x, a, kind),
                             .core = x->e->core,
                             .mem = NPU_MEM_GM};

    f.bytes = undefined_shown(&x->i->undefined, &x->shadow, a, &f.addr);
    if (f.bytes) {
        f.from = x->origin ? x->i->source[x->origin - 1] : x->source;
        add(x->i, &f);
    }
    undefined_define(&x->i->undefined, x->e->core, a);
}

static void take(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct ended *x = opaque;

    if (a->mem != NPU_MEM_GM) {
        if (kind != TOUCH_READS) {
            undefined_flowed(&x->i->undefined, x->e->core, a, x->origin);
        }
        return;
    }
    if (kind != TOUCH_READS) {
        stored(x, a, kind);
    }
    undefined_hide(&x->i->undefined, &x->shadow, a);
}

static void ends(struct init *i, const struct npu_event *e)
{
    struct ended x = {.i = i, .e = e};
    uint64_t *cmpmask = i->cmpmask[e->core], before[CMPMASK_WORDS];

    if (e->pipe == PIPE_V && (cmpmask[0] | cmpmask[1])) {
        x.undefined = true;
        x.origin = i->cmpmask_origin[e->core]; /* if nothing else is */
    }
    npu_touch(e->npu, e->core, e->pipe, judge, &x);
    if (!x.undefined) {
        return;
    }
    x.shadow = undefined_shadow(&i->undefined, e);
    x.shadow.cmpmask = cmpmask;
    if (x.shadow.gm) {
        npu_touch(e->npu, e->core, e->pipe, show, &x);
    }
    memcpy(before, cmpmask, sizeof(before));
    npu_flow(e->npu, e->core, e->pipe, &x.shadow);
    npu_touch(e->npu, e->core, e->pipe, take, &x);
    if (before[0] != cmpmask[0] || before[1] != cmpmask[1]) {
        i->cmpmask_origin[e->core] = x.origin;
    }
}

/* Of a command that is refused because of its data only what guides it is of interest. */
static void judge_guides(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct ended *x = opaque;

    if (kind == TOUCH_READS && npu_guides(x->e->npu, x->e->core, x->e->pipe, a)) {
        judge(opaque, a, kind);
    }
}

static void faults(struct init *i, const struct npu_event *e)
{
    if (e->src) {
        npu_touch(e->npu, e->core, e->pipe, judge_guides,
                  &(struct ended){.i = i, .e = e});
    }
}

static void reset(struct init *i, const struct npu_event *e)
{
    for (unsigned c = 0; c < i->config.cores; c++) {
        bool of_v = e->pipe == NPU_BY_HART || e->pipe == PIPE_V;
        if (e->core == NPU_CHIP || (e->core == c && of_v)) {
            memset(i->cmpmask[c], 0, sizeof(i->cmpmask[c]));
        }
    }
}

void init_event(struct init *i, const struct npu_event *e)
{
    switch (e->what) {
    case NPU_NAMES:
        i->task = e->name;
        break;
    case NPU_PUSHED:
        i->pushed[e->core][e->pipe][e->slot] = i->task;
        break;
    case NPU_ENDS:
        ends(i, e);
        break;
    case NPU_FAULTS:
        faults(i, e);
        break;
    case NPU_RESETS:
        reset(i, e);
        break;
    default:
        break;
    }
}

/* --- the hart and the host --- */

bool init_hart_matters(const struct init *i, unsigned mem, uint64_t first, uint64_t bytes)
{
    return mem != NPU_MEM_GM || !undefined_never(&i->undefined, first, bytes);
}

static void used(struct init *i, enum init_use use, const struct race_hart_access *a,
                 uint64_t addr, uint64_t bytes)
{
    struct init_finding f = {.use = use,
                             .access = {.site = a->site,
                                        .lane = LANE_HART,
                                        .cycle = a->cycle,
                                        .base = a->first,
                                        .bytes = a->bytes,
                                        .kind = ACCESS_READ},
                             .core = a->core,
                             .mem = a->mem,
                             .addr = addr,
                             .bytes = bytes};
    uint32_t origin = undefined_origin(&i->undefined, a->core, a->mem, addr);

    f.access.site.task = doing(i);
    f.from =
        origin ? i->source[origin - 1] : source_at(i, &f.access, a->core, a->mem, addr);
    add(i, &f);
    undefined_set(&i->undefined, a->core, a->mem, a->first, a->bytes, false);
}

void init_hart(struct init *i, const struct race_hart_access *a, bool loads)
{
    struct undefined *u = &i->undefined;

    if (a->write) {
        undefined_set(u, a->core, a->mem, a->first, a->bytes, false);
    } else if (loads && !(i->at_work && a->mem == NPU_MEM_GM) &&
               undefined_count(u, a->core, a->mem, a->first, a->bytes) == a->bytes) {
        used(i, INIT_LOADED, a, a->first, a->bytes);
    }
}

void init_output(struct init *i, const struct race_hart_access *a)
{
    struct undefined *u = &i->undefined;
    uint64_t defined = undefined_find(u, 0, NPU_MEM_GM, a->first, a->bytes);

    if (defined < a->bytes) {
        used(i, INIT_OUTPUT, a, a->first + defined,
             undefined_count(u, 0, NPU_MEM_GM, a->first, a->bytes));
    }
}
