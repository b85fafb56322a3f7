/* SPDX-License-Identifier: MIT
 *
 * Allocations and accesses; see memory.h. What is allocated in one memory lies sorted in an
 * array, the blocks that are gone among those that are not, so that none overlap.
 */
#include "tools/emu/check/memory/memory.h"

#include "tools/emu/model/mem.h"

/* RED_ZONE: bytes behind a buffer of local memory that are nobody's. */
enum {
    RED_ZONE = 512,
    FOUND_MOST = 1024,
    SCOPES_MOST = 16,
    SEEN = 16,
    SEEN_PAGE = 4096,
};

struct space {
    struct allocation *at;
    uint32_t n, room, last; /* last: which one was looked at */
};

struct memory {
    const struct check_host *host;
    struct race_config config;
    struct space gm, local[NPU_MAX_CORES][NPU_MEM_COUNT];
    uint64_t heap, heap_end;
    bool at_work; /* the allocator is */
    struct {
        uint64_t addr, bytes;
    } seen[SEEN];    /* blocks of the hart's last accesses to some page */
    uint32_t serial; /* of the newest block */
    struct {
        uint64_t name;
        uint32_t serial; /* of the newest block when it began */
    } scope[SCOPES_MOST];
    unsigned depth;
    uint64_t task;
    uint64_t pushed[NPU_MAX_CORES][NPU_PIPES][PIPE_DEPTH]; /* by which task */
    struct memory_finding *found;
    uint32_t n_found;
    uint64_t lost;
    size_t used;
};

static void *grow(struct memory *m, void *old, uint32_t room, uint32_t more, size_t each)
{
    m->used += (more - room) * each;
    return host_grow(m->host, old, room * each, more * each);
}

struct memory *memory_new(const struct check_host *host, const struct race_config *config)
{
    struct memory *m = host->alloc(host->ctx, sizeof(*m));

    m->host = host;
    m->config = *config;
    m->found = grow(m, NULL, 0, FOUND_MOST, sizeof(*m->found));
    return m;
}

static void space_close(struct memory *m, struct space *s)
{
    if (s->at) {
        m->host->free(m->host->ctx, s->at, s->room * sizeof(*s->at));
    }
}

void memory_free(struct memory *m)
{
    const struct check_host *host = m->host;

    space_close(m, &m->gm);
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned i = 0; i < NPU_MEM_COUNT; i++) {
            space_close(m, &m->local[c][i]);
        }
    }
    host->free(host->ctx, m->found, FOUND_MOST * sizeof(*m->found));
    host->free(host->ctx, m, sizeof(*m));
}

size_t memory_bytes(const struct memory *m)
{
    return sizeof(*m) + m->used;
}

const struct memory_finding *memory_findings(const struct memory *m, uint32_t *n,
                                             uint64_t *lost)
{
    *n = m->n_found;
    *lost = m->lost;
    return m->found;
}

/* --- findings --- */

static bool same(const struct memory_finding *a, const struct memory_finding *b)
{
    return a->what == b->what && a->mem == b->mem && a->of.site == b->of.site &&
           a->access.site.pc == b->access.site.pc &&
           a->access.site.caller == b->access.site.caller;
}

static void add(struct memory *m, const struct memory_finding *f)
{
    for (uint32_t i = 0; i < m->n_found; i++) {
        if (same(&m->found[i], f)) {
            m->found[i].count++;
            return;
        }
    }
    if (m->n_found == FOUND_MOST) {
        m->lost++;
        return;
    }
    m->found[m->n_found] = *f;
    m->found[m->n_found++].count = 1;
}

/* --- what is allocated --- */

/* One byte at least, so that an empty block has a place too. */
static uint64_t end_of(const struct allocation *a)
{
    return a->addr + (a->bytes ? a->bytes : 1);
}

/* The number of those that begin at or below an address. */
static uint32_t below(struct space *s, uint64_t addr)
{
    uint32_t low = 0, high = s->n;

    if (s->last < s->n && s->at[s->last].addr <= addr && addr < end_of(&s->at[s->last])) {
        return s->last + 1;
    }
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (s->at[middle].addr <= addr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    s->last = low ? low - 1 : 0;
    return low;
}

static void insert(struct memory *m, struct space *s, const struct allocation *a)
{
    uint32_t first = below(s, a->addr), behind = first;

    if (first && end_of(&s->at[first - 1]) > a->addr) {
        first--;
    }
    while (behind < s->n && s->at[behind].addr < end_of(a)) {
        behind++;
    }
    if (s->n - (behind - first) + 1 > s->room) {
        uint32_t room = s->room ? 2 * s->room : 16;
        s->at = grow(m, s->at, s->room, room, sizeof(*s->at));
        s->room = room;
    }
    memmove(s->at + first + 1, s->at + behind, (s->n - behind) * sizeof(*s->at));
    s->n = s->n - (behind - first) + 1;
    s->at[first] = *a;
    s->last = first;
}

static struct space *space_of(struct memory *m, unsigned core, unsigned mem)
{
    return mem == NPU_MEM_GM ? &m->gm : &m->local[core][mem];
}

bool memory_holds(struct memory *m, unsigned core, unsigned mem, uint64_t addr,
                  struct allocation *held)
{
    struct space *s = space_of(m, core, mem);
    uint32_t n = below(s, addr);

    if (n == 0 || addr - s->at[n - 1].addr >= s->at[n - 1].bytes) {
        return false;
    }
    *held = s->at[n - 1];
    return true;
}

/* --- hints --- */

/* In the call that returns there. */
static uint64_t call_before(uint64_t site)
{
    return site ? site - CALL_BYTES : 0;
}

static struct record hart_at(uint64_t place, uint64_t cycle)
{
    return (struct record){
        .site.pc = place, .lane = LANE_HART, .cycle = cycle, .kind = ACCESS_WRITE};
}

static void block_freed(struct memory *m, uint64_t cycle, const struct hint *h)
{
    uint32_t n = below(&m->gm, h->addr);
    struct allocation *a = n ? &m->gm.at[n - 1] : NULL;
    struct memory_finding f = {.what = MEMORY_NOT_ONE,
                               .access = hart_at(call_before(h->site), cycle),
                               .mem = NPU_MEM_GM,
                               .addr = h->addr};

    if (a && a->addr == h->addr && !a->gone) {
        a->gone = true;
        a->freed = call_before(h->site);
        return;
    }
    if (a) {
        f.of = *a;
        f.what = a->addr == h->addr ? MEMORY_TWICE : MEMORY_NOT_ONE;
    }
    f.access.site.task = m->task;
    add(m, &f);
}

static void buffers(struct memory *m, const struct hint *h)
{
    if (h->core >= m->config.cores || h->mem >= NPU_MEM_COUNT) {
        return;
    }
    for (unsigned i = 0; i < h->count; i++) {
        insert(m, space_of(m, h->core, h->mem),
               &(struct allocation){.addr = h->addr + i * h->bytes,
                                    .bytes = h->bytes,
                                    .name = h->name,
                                    .site = call_before(h->site),
                                    .kind = h->kind});
    }
}

static void lost_by(struct memory *m, uint64_t cycle, uint64_t name, uint32_t serial)
{
    for (uint32_t i = 0; i < m->gm.n; i++) {
        struct allocation *a = &m->gm.at[i];
        if (!a->gone && a->serial > serial) {
            add(m, &(struct memory_finding){.what = MEMORY_LEAK,
                                            .access = hart_at(a->site, cycle),
                                            .mem = NPU_MEM_GM,
                                            .addr = a->addr,
                                            .of = *a,
                                            .scope = name});
            a->serial = 0; /* told once, however many scopes end */
        }
    }
}

static void scope_ends(struct memory *m, uint64_t cycle)
{
    if (m->depth) {
        m->depth--;
        if (m->depth < SCOPES_MOST) {
            lost_by(m, cycle, m->scope[m->depth].name, m->scope[m->depth].serial);
        }
    }
}

static void scope_begins(struct memory *m, const struct hint *h)
{
    if (m->depth < SCOPES_MOST) {
        m->scope[m->depth].name = h->name;
        m->scope[m->depth].serial = m->serial;
    }
    m->depth++;
}

static void block_used(struct memory *m, const struct hint *h)
{
    uint32_t n = below(&m->gm, h->addr);

    if (n && m->gm.at[n - 1].addr == h->addr && !m->gm.at[n - 1].gone) {
        struct allocation *a = &m->gm.at[n - 1];
        a->bytes = h->bytes < a->bytes ? h->bytes : a->bytes;
        a->name = h->name ? h->name : a->name;
        a->serial = h->count & HINT_COUNT_KEPT ? 0 : a->serial;
    }
}

static void block(struct memory *m, const struct hint *h)
{
    m->at_work = false;
    if (h->addr) {
        insert(
            m, &m->gm,
            &(struct allocation){.addr = h->addr,
                                 .bytes = h->bytes,
                                 .site = call_before(h->site),
                                 .serial = h->count & HINT_COUNT_KEPT ? 0 : ++m->serial,
                                 .kind = HINT_BLOCK});
    }
}

void memory_hint(struct memory *m, uint64_t cycle, const struct hint *h)
{
    memset(m->seen, 0, sizeof(m->seen));
    switch (h->kind) {
    case HINT_HEAP:
        m->heap = h->addr;
        m->heap_end = h->addr + h->bytes;
        break;
    case HINT_WORK:
    case HINT_REST:
        m->at_work = h->kind == HINT_WORK;
        break;
    case HINT_BLOCK:
        block(m, h);
        break;
    case HINT_FREE:
        m->at_work = true;
        block_freed(m, cycle, h);
        break;
    case HINT_USED:
        block_used(m, h);
        break;
    case HINT_OPEN:
        for (unsigned i = 0; h->core < m->config.cores && i < NPU_MEM_COUNT; i++) {
            m->local[h->core][i].n = 0;
        }
        break;
    case HINT_QUEUE:
    case HINT_BUFFER:
        buffers(m, h);
        break;
    case HINT_BEGIN:
        scope_begins(m, h);
        break;
    case HINT_END:
        scope_ends(m, cycle);
        break;
    case HINT_INPUT:
    default:
        break;
    }
}

/* --- accesses --- */

/* Whether the bytes at base are somebody's, so that there are allocations to keep to. */
static bool kept(const struct memory *m, const struct space *s, unsigned mem,
                 uint64_t base)
{
    return mem == NPU_MEM_GM ? base - m->heap < m->heap_end - m->heap : s->n != 0;
}

/* A range of an access that has its base at `base`; `of`: what begins there or below. */
static bool is_wrong(unsigned mem, const struct allocation *of, uint64_t base,
                     uint64_t first, uint64_t end, enum memory_class *what)
{
    if (!of || base - of->addr >= of->bytes) {
        *what = MEMORY_NOWHERE; /* a kernel may lay out by hand what no buffer has */
        return mem == NPU_MEM_GM || (of && base - end_of(of) < RED_ZONE);
    }
    *what = of->gone ? MEMORY_FREED : MEMORY_BEYOND;
    return of->gone || first < of->addr || end > of->addr + of->bytes;
}

void memory_touch(struct memory *m, const struct record *who, unsigned core, unsigned mem,
                  uint64_t first, uint64_t bytes)
{
    struct space *s = space_of(m, core, mem);
    uint32_t n = kept(m, s, mem, who->base) ? below(s, who->base) : 0;
    const struct allocation *of = n ? &s->at[n - 1] : NULL;
    enum memory_class what;

    if (kept(m, s, mem, who->base) &&
        is_wrong(mem, of, who->base, first, first + bytes, &what)) {
        struct memory_finding f = {
            .what = what, .access = *who, .core = core, .mem = mem, .addr = first};
        f.of = of ? *of : f.of;
        if (what == MEMORY_BEYOND && first - of->addr < of->bytes) {
            f.addr = of->addr + of->bytes;
        }
        add(m, &f);
    }
}

static void hart_touch(struct memory *m, const struct race_hart_access *a)
{
    struct record who = {.site = a->site,
                         .lane = LANE_HART,
                         .cycle = a->cycle,
                         .base = a->first,
                         .bytes = a->bytes,
                         .kind = a->write ? ACCESS_WRITE : ACCESS_READ};

    who.site.task = m->task;
    if (a->first % a->bytes) {
        add(m, &(struct memory_finding){.what = MEMORY_SKEWED,
                                        .access = who,
                                        .core = a->core,
                                        .mem = a->mem,
                                        .addr = a->first});
    }
    if (a->mem != NPU_MEM_GM || !m->at_work) {
        memory_touch(m, &who, a->core, a->mem, a->first, a->bytes);
    }
}

bool memory_passes(struct memory *m, uint64_t first, uint64_t bytes)
{
    unsigned i = (unsigned)(first / SEEN_PAGE % SEEN);
    const struct allocation *of;
    uint32_t n;

    if (first & (bytes - 1)) {
        return false;
    }
    if (m->at_work || first - m->heap >= m->heap_end - m->heap) {
        return true;
    }
    if (first - m->seen[i].addr >= m->seen[i].bytes) {
        n = below(&m->gm, first);
        of = n ? &m->gm.at[n - 1] : NULL;
        if (!of || of->gone || first - of->addr >= of->bytes) {
            return false;
        }
        m->seen[i].addr = of->addr;
        m->seen[i].bytes = of->bytes;
    }
    return first - m->seen[i].addr + bytes <= m->seen[i].bytes;
}

void memory_hart(struct memory *m, const struct race_hart_access *a)
{
    if (a->mem != NPU_MEM_GM || !memory_passes(m, a->first, a->bytes)) {
        hart_touch(m, a);
    }
}

/* --- commands --- */

struct ended {
    struct memory *m;
    const struct npu_event *e;
    struct record who;
    unsigned mem;
};

static bool range(void *ctx, uint64_t first, uint64_t bytes)
{
    const struct ended *x = ctx;

    memory_touch(x->m, &x->who, x->e->core, x->mem, first, bytes);
    return true;
}

/* The operand that a touch belongs to. What a gather reads has the base of its source. */
static const struct access *operand(const struct npu_event *e, const struct access *a)
{
    for (unsigned i = 0; i < e->n_src; i++) {
        if (e->src[i].field == a->field && e->src[i].mem == a->mem) {
            return &e->src[i];
        }
    }
    return e->dst && e->dst->field == a->field && e->dst->mem == a->mem      ? e->dst
           : e->also && e->also->field == a->field && e->also->mem == a->mem ? e->also
                                                                             : a;
}

static void touched(void *ctx, const struct access *a, enum touch_kind kind)
{
    struct ended *x = ctx;

    x->mem = a->mem;
    x->who.field = a->field;
    x->who.base = operand(x->e, a)->base;
    x->who.bytes = access_extent(operand(x->e, a));
    x->who.kind = kind == TOUCH_READS    ? ACCESS_READ
                  : kind == TOUCH_WRITES ? ACCESS_WRITE
                                         : ACCESS_ATOMIC;
    access_each(a, range, x);
}

void memory_event(struct memory *m, const struct npu_event *e)
{
    if (e->what == NPU_NAMES) {
        m->task = e->name;
    } else if (e->what == NPU_PUSHED) {
        m->pushed[e->core][e->pipe][e->slot] = m->task;
    } else if (e->what == NPU_ENDS) {
        struct ended x = {.m = m, .e = e};
        x.who = (struct record){.site = {.pc = e->pc,
                                         .caller = e->ra,
                                         .task = m->pushed[e->core][e->pipe][e->slot],
                                         .tag = e->cmd->head.tag,
                                         .opcode = e->cmd->head.opcode},
                                .lane = lane_of(e->core, e->pipe),
                                .serial = (uint32_t)e->number,
                                .cycle = e->now};
        npu_touch(e->npu, e->core, e->pipe, touched, &x);
    }
}
