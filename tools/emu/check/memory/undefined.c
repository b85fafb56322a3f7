/* SPDX-License-Identifier: MIT
 *
 * Undefined bytes; see undefined.h.
 */
#include "tools/emu/check/memory/undefined.h"

#include "tools/emu/model/mem.h"

/* HULL_MOST: pages that are looked at one by one before the rows of an access are. */
enum { ALIGN = 64, WINDOW_LEAST = 1 << 16, HULL_MOST = 256 };

void undefined_open(struct undefined *u, const struct check_host *host,
                    const struct race_config *config)
{
    memset(u, 0, sizeof(*u));
    u->config = *config;
    u->arena.host = host;
    u->pages = (config->gm_bytes + UNDEFINED_PAGE - 1) / UNDEFINED_PAGE;
    u->page = host->alloc(host->ctx, u->pages * sizeof(struct undefined_page *));
    memset(u->all.bit, 0xff, sizeof(u->all.bit));
    u->all.n = UNDEFINED_PAGE;
}

/* Bytes of shadow of all memories of a core, each from a multiple of ALIGN on. */
static size_t core_bytes(const struct undefined *u)
{
    size_t bytes = ALIGN;

    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        bytes +=
            (npu_mem_size(u->config.profile, (enum npu_mem)m) + ALIGN) / ALIGN * ALIGN;
    }
    return bytes;
}

void undefined_close(struct undefined *u)
{
    const struct check_host *host = u->arena.host;

    host->free(host->ctx, u->page, u->pages * sizeof(struct undefined_page *));
    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        if (u->shadow[c]) {
            host->free(host->ctx, u->shadow[c], core_bytes(u));
        }
    }
    if (u->window) {
        host->free(host->ctx, u->window, u->window_bytes);
    }
    arena_free(&u->arena);
}

size_t undefined_bytes(const struct undefined *u)
{
    size_t bytes = u->arena.used + u->window_bytes;

    for (unsigned c = 0; c < NPU_MAX_CORES; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            bytes += local_bytes(&u->local[c][m]);
        }
    }
    return bytes;
}

/* The memories of a core come all at once, so that the host has them from where zeros cost
 * nothing. */
static void open_core(struct undefined *u, unsigned core)
{
    const struct check_host *host = u->arena.host;
    uint8_t *at = u->shadow[core] = host->alloc(host->ctx, core_bytes(u));

    at += -(uintptr_t)at % ALIGN;
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        uint32_t bytes = npu_mem_size(u->config.profile, (enum npu_mem)m);
        local_open(&u->local[core][m], &u->arena, at, bytes);
        at += (bytes + ALIGN) / ALIGN * ALIGN;
    }
}

static struct undefined_local *local_of(struct undefined *u, unsigned core, unsigned mem)
{
    if (!u->shadow[core]) {
        open_core(u, core);
    }
    return &u->local[core][mem];
}

/* --- GM --- */

static struct undefined_page *page_new(struct undefined *u, bool undefined)
{
    struct undefined_page *page = u->free;

    if (page) {
        u->free = page->next;
    } else {
        page = arena_alloc(&u->arena, sizeof(*page));
    }
    memset(page->bit, undefined ? 0xff : 0, sizeof(page->bit));
    page->n = undefined ? UNDEFINED_PAGE : 0;
    return page;
}

static void page_drop(struct undefined *u, struct undefined_page **page)
{
    if (*page && *page != &u->all) {
        (*page)->next = u->free;
        u->free = *page;
    }
    *page = NULL;
}

/* Bits [from, from + n) of a word. */
static uint64_t bits(uint64_t from, uint64_t n)
{
    return (n < 64 ? (1ull << n) - 1 : ~0ull) << from;
}

static uint64_t of_word(uint64_t at, uint64_t end)
{
    uint64_t n = 64 - at % 64;

    return n < end - at ? n : end - at;
}

/* Bytes [first, end) of a page, not all of it. */
static void page_set(struct undefined *u, struct undefined_page **place, uint64_t first,
                     uint64_t end, bool undefined)
{
    struct undefined_page *page = *place;

    if (page == (undefined ? &u->all : NULL)) {
        return;
    }
    if (!page || page == &u->all) {
        *place = page = page_new(u, !undefined);
    }
    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t *word = &page->bit[at / 64], was = *word, mask;
        n = of_word(at, end);
        mask = bits(at % 64, n);
        *word = undefined ? was | mask : was & ~mask;
        page->n += (unsigned)__builtin_popcountll(*word);
        page->n -= (unsigned)__builtin_popcountll(was);
    }
    if (page->n == 0) {
        page_drop(u, place);
    }
}

/* The part of GM of a range, as offsets. */
static bool gm_clipped(const struct undefined *u, uint64_t *first, uint64_t bytes,
                       uint64_t *end)
{
    *first -= u->config.gm_base;
    if (*first >= u->config.gm_bytes || bytes == 0) {
        return false;
    }
    *end = bytes < u->config.gm_bytes - *first ? *first + bytes : u->config.gm_bytes;
    return true;
}

static uint64_t of_page(uint64_t at, uint64_t end)
{
    uint64_t n = UNDEFINED_PAGE - at % UNDEFINED_PAGE;

    return n < end - at ? n : end - at;
}

static void gm_set(struct undefined *u, uint64_t first, uint64_t bytes, bool undefined)
{
    uint64_t end, n;

    if (!gm_clipped(u, &first, bytes, &end)) {
        return;
    }
    for (uint64_t at = first; at < end; at += n) {
        struct undefined_page **page = &u->page[at / UNDEFINED_PAGE];
        n = of_page(at, end);
        if (n == UNDEFINED_PAGE) {
            page_drop(u, page);
            *page = undefined ? &u->all : NULL;
        } else {
            page_set(u, page, at % UNDEFINED_PAGE, at % UNDEFINED_PAGE + n, undefined);
        }
    }
}

/* The first bit that is set in [first, end) of a page; end: none is. */
static uint64_t page_find(const struct undefined_page *page, uint64_t first, uint64_t end)
{
    for (uint64_t at = first, n; at < end; at += n) {
        uint64_t set = page->bit[at / 64];
        n = of_word(at, end);
        set &= bits(at % 64, n);
        if (set) {
            return at / 64 * 64 + (unsigned)__builtin_ctzll(set);
        }
    }
    return end;
}

static uint64_t gm_find(struct undefined *u, uint64_t first, uint64_t bytes)
{
    uint64_t end, n;

    if (!gm_clipped(u, &first, bytes, &end)) {
        return bytes;
    }
    for (uint64_t at = first; at < end; at += n) {
        const struct undefined_page *page = u->page[at / UNDEFINED_PAGE];
        uint64_t begin = at % UNDEFINED_PAGE, found;
        n = of_page(at, end);
        if (page) {
            found = page_find(page, begin, begin + n);
            if (found < begin + n) {
                return at + found - begin - first;
            }
        }
    }
    return bytes;
}

/* --- either --- */

void undefined_set(struct undefined *u, unsigned core, unsigned mem, uint64_t first,
                   uint64_t bytes, bool undefined)
{
    if (mem == NPU_MEM_GM) {
        gm_set(u, first, bytes, undefined);
    } else if (!undefined || u->local[core][mem].byte) { /* else all of it is */
        local_set(local_of(u, core, mem), first, bytes, undefined);
    }
}

uint64_t undefined_find(struct undefined *u, unsigned core, unsigned mem, uint64_t first,
                        uint64_t bytes)
{
    return mem == NPU_MEM_GM ? gm_find(u, first, bytes)
                             : local_find(local_of(u, core, mem), first, bytes);
}

uint64_t undefined_count(struct undefined *u, unsigned core, unsigned mem, uint64_t first,
                         uint64_t bytes)
{
    uint64_t n = 0;

    for (uint64_t at = 0; at < bytes; at++) {
        at += undefined_find(u, core, mem, first + at, bytes - at);
        n += at < bytes;
    }
    return n;
}

uint32_t undefined_origin(const struct undefined *u, unsigned core, unsigned mem,
                          uint64_t addr)
{
    const struct undefined_local *l;

    if (mem == NPU_MEM_GM) {
        return 0; /* what gets there was told, and is defined */
    }
    l = &u->local[core][mem];
    return l->byte ? l->origin[addr / ORIGIN_BLOCK] : 0;
}

/* Whether nothing from the first to the last byte of an access can be undefined; a false
 * one says nothing. */
static bool far_from_all(struct undefined *u, unsigned core, const struct access *a)
{
    uint64_t bytes = access_extent(a), first = a->base, end;

    if (a->mem != NPU_MEM_GM) {
        struct undefined_local *l = local_of(u, core, a->mem);
        return !local_marked(l, first, bytes);
    }
    if (!gm_clipped(u, &first, bytes, &end)) {
        return true;
    }
    for (uint64_t p = first / UNDEFINED_PAGE; p <= (end - 1) / UNDEFINED_PAGE; p++) {
        if (u->page[p] || end - first > HULL_MOST * UNDEFINED_PAGE) {
            return false;
        }
    }
    return true;
}

struct looking {
    struct undefined *u;
    unsigned core, mem;
    uint64_t first;
};

static bool look(void *ctx, uint64_t first, uint64_t bytes)
{
    struct looking *l = ctx;
    uint64_t defined = undefined_find(l->u, l->core, l->mem, first, bytes);

    l->first = first + defined;
    return defined == bytes;
}

bool undefined_in(struct undefined *u, unsigned core, const struct access *a,
                  uint64_t *first)
{
    struct looking l = {u, core, a->mem, 0};

    if (far_from_all(u, core, a) || access_each(a, look, &l)) {
        return false;
    }
    *first = l.first;
    return true;
}

static bool define(void *ctx, uint64_t first, uint64_t bytes)
{
    struct looking *l = ctx;

    undefined_set(l->u, l->core, l->mem, first, bytes, false);
    return true;
}

void undefined_define(struct undefined *u, unsigned core, const struct access *a)
{
    if (!far_from_all(u, core, a)) {
        access_each(a, define, &(struct looking){u, core, a->mem, 0});
    }
}

/* --- for npu_flow() --- */

/* The bytes of GM that a command has. */
struct hull {
    uint64_t first, end;
};

/* An access gets what it needs: the shadow of its memory, a place in the window. */
static void want(struct undefined *u, unsigned core, const struct access *a,
                 struct hull *hull)
{
    uint64_t bytes = a ? access_extent(a) : 0;

    if (bytes && a->mem != NPU_MEM_GM) {
        local_tell(local_of(u, core, a->mem), a->base, bytes);
    } else if (bytes) {
        uint64_t first = a->base - u->config.gm_base;
        hull->first = first < hull->first ? first : hull->first;
        hull->end = first + bytes > hull->end ? first + bytes : hull->end;
    }
}

static void widen(struct undefined *u, uint64_t bytes)
{
    const struct check_host *host = u->arena.host;

    if (bytes > u->window_bytes) {
        if (u->window) {
            host->free(host->ctx, u->window, u->window_bytes);
        }
        u->window_bytes = bytes > WINDOW_LEAST ? bytes : WINDOW_LEAST;
        u->window = host->alloc(host->ctx, u->window_bytes);
    }
}

static bool tell(void *ctx, uint64_t first, uint64_t bytes)
{
    const struct looking *l = ctx;

    local_tell(&l->u->local[l->core][l->mem], first, bytes);
    return true;
}

struct telling {
    struct undefined *u;
    unsigned core;
};

/* What data lead to lies outside of the accesses of the plan. */
static void tell_touched(void *opaque, const struct access *a, enum touch_kind kind)
{
    const struct telling *t = opaque;

    (void)kind;
    if (a->mem != NPU_MEM_GM) {
        local_of(t->u, t->core, a->mem);
        access_each(a, tell, &(struct looking){t->u, t->core, a->mem, 0});
    }
}

struct npu_shadow undefined_shadow(struct undefined *u, const struct npu_event *e)
{
    struct npu_shadow shadow = {0};
    struct hull hull = {UINT64_MAX, 0};

    for (unsigned i = 0; i < e->n_src; i++) {
        want(u, e->core, &e->src[i], &hull);
    }
    want(u, e->core, e->dst, &hull);
    want(u, e->core, e->also, &hull);
    npu_touch(e->npu, e->core, e->pipe, tell_touched, &(struct telling){u, e->core});
    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        shadow.mem[m] = u->local[e->core][m].byte;
    }
    if (hull.first < hull.end) {
        uint64_t first = hull.first / ALIGN * ALIGN;
        widen(u, hull.end - first + ALIGN);
        shadow.gm = u->window + -(uintptr_t)u->window % ALIGN - first;
    }
    return shadow;
}

struct showing {
    struct undefined *u;
    uint8_t *gm;
    uint64_t base; /* of GM */
    uint64_t n, first;
};

static bool show(void *ctx, uint64_t first, uint64_t bytes)
{
    struct showing *s = ctx;

    for (uint64_t at = 0; at < bytes; at++) {
        at += gm_find(s->u, first + at, bytes - at);
        if (at < bytes) {
            s->gm[first + at - s->base] = 0xff;
        }
    }
    return true;
}

void undefined_show(struct undefined *u, const struct npu_shadow *shadow,
                    const struct access *a)
{
    access_each(a, show,
                &(struct showing){.u = u, .gm = shadow->gm, .base = u->config.gm_base});
}

static bool count(void *ctx, uint64_t first, uint64_t bytes)
{
    struct showing *s = ctx;
    const uint8_t *row = s->gm + (first - s->base);

    for (uint64_t at = local_zeros(row, bytes); at < bytes; at++) {
        if (row[at]) {
            s->first = s->n ? s->first : first + at;
            s->n++;
        }
    }
    return true;
}

uint64_t undefined_shown(struct undefined *u, const struct npu_shadow *shadow,
                         const struct access *a, uint64_t *first)
{
    struct showing s = {.gm = shadow->gm, .base = u->config.gm_base};

    access_each(a, count, &s);
    *first = s.first;
    return s.n;
}

static bool hide(void *ctx, uint64_t first, uint64_t bytes)
{
    struct showing *s = ctx;

    memset(s->gm + (first - s->base), 0, bytes);
    return true;
}

void undefined_hide(struct undefined *u, const struct npu_shadow *shadow,
                    const struct access *a)
{
    access_each(a, hide,
                &(struct showing){.u = u, .gm = shadow->gm, .base = u->config.gm_base});
}

struct flowed {
    struct undefined_local *l;
    uint32_t origin;
};

static bool flowed(void *ctx, uint64_t first, uint64_t bytes)
{
    struct flowed *f = ctx;

    local_flowed(f->l, first, bytes, f->origin);
    return true;
}

void undefined_flowed(struct undefined *u, unsigned core, const struct access *a,
                      uint32_t origin)
{
    access_each(a, flowed, &(struct flowed){local_of(u, core, a->mem), origin});
}
