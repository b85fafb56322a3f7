/* SPDX-License-Identifier: MIT
 *
 * Records of accesses and sets of them; see record.h.
 */
#include "tools/emu/check/race/record.h"

enum { FIRST_ROOM = 1024, LEAST_LIMIT = 1 << 12, BUCKETS = 1 << 12 };

void records_open(struct records *r, const struct check_host *host)
{
    *r = (struct records){.host = host, .n = 1, .n_sets = 1, .limit = LEAST_LIMIT};
    r->room = r->set_room = r->pool_room = FIRST_ROOM;
    r->record = host_grow(host, NULL, 0, r->room * sizeof(*r->record));
    r->set = host_grow(host, NULL, 0, r->set_room * sizeof(*r->set));
    r->pool = host_grow(host, NULL, 0, r->pool_room * sizeof(*r->pool));
    r->bucket = host_grow(host, NULL, 0, BUCKETS * sizeof(*r->bucket));
}

void records_close(struct records *r)
{
    void *ctx = r->host->ctx;

    r->host->free(ctx, r->record, r->room * sizeof(*r->record));
    r->host->free(ctx, r->set, r->set_room * sizeof(*r->set));
    r->host->free(ctx, r->pool, r->pool_room * sizeof(*r->pool));
    r->host->free(ctx, r->bucket, BUCKETS * sizeof(*r->bucket));
}

uint32_t record_add(struct records *r, const struct record *record)
{
    uint32_t name = r->free;

    if (name) {
        r->free = r->record[name].serial;
    } else {
        if (r->n == r->room) {
            uint32_t room = r->room + r->room / 2;
            r->record = host_grow(r->host, r->record, r->room * sizeof(*r->record),
                                  room * sizeof(*r->record));
            r->room = room;
        }
        name = r->n++;
    }
    r->live++;
    r->record[name] = *record;
    return name;
}

static uint32_t hash_of(const uint32_t *all, uint32_t n)
{
    uint32_t hash = n;

    for (uint32_t i = 0; i < n; i++) {
        hash = (hash ^ all[i]) * 0x9e3779b1u;
        hash ^= hash >> 15;
    }
    return hash;
}

static uint32_t find_set(const struct records *r, uint32_t hash, const uint32_t *all,
                         uint32_t n)
{
    for (uint32_t i = r->bucket[hash % BUCKETS]; i; i = r->set[i].next) {
        const struct set *s = &r->set[i];
        bool same = s->hash == hash && s->n == n;
        for (uint32_t k = 0; same && k < n; k++) {
            same = r->pool[s->first + k] == all[k];
        }
        if (same) {
            return i;
        }
    }
    return 0;
}

static uint32_t new_set(struct records *r)
{
    uint32_t at = r->free_set;

    if (at) {
        r->free_set = r->set[at].next;
        return at;
    }
    if (r->n_sets == r->set_room) {
        r->set = host_grow(r->host, r->set, r->set_room * sizeof(*r->set),
                           2 * r->set_room * sizeof(*r->set));
        r->set_room *= 2;
    }
    return r->n_sets++;
}

uint32_t records_name(struct records *r, const uint32_t *all, uint32_t n)
{
    uint32_t hash, at;

    if (n <= 1) {
        return n ? all[0] : 0;
    }
    hash = hash_of(all, n);
    at = find_set(r, hash, all, n);
    if (!at) {
        while (r->pool_used + n > r->pool_room) {
            r->pool = host_grow(r->host, r->pool, r->pool_room * sizeof(*r->pool),
                                2 * r->pool_room * sizeof(*r->pool));
            r->pool_room *= 2;
        }
        at = new_set(r);
        r->set[at] = (struct set){.hash = hash,
                                  .n = n,
                                  .first = r->pool_used,
                                  .next = r->bucket[hash % BUCKETS]};
        r->bucket[hash % BUCKETS] = at;
        memcpy(r->pool + r->pool_used, all, n * sizeof(*all));
        r->pool_used += n;
    }
    return at | NAME_SET;
}

bool records_full(const struct records *r)
{
    return r->live > r->limit || r->pool_used > 4 * (size_t)r->limit;
}

void records_unmark(struct records *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        r->record[i].marked = false;
    }
    for (uint32_t i = 0; i < r->n_sets; i++) {
        r->set[i].marked = false;
    }
}

void records_mark(struct records *r, uint32_t name)
{
    const uint32_t *all;
    uint32_t n;

    if (name & NAME_SET) {
        struct set *set = &r->set[name & ~NAME_SET];
        if (set->marked) {
            return;
        }
        set->marked = true;
    }
    n = records_of(r, &name, &all);
    for (uint32_t i = 0; i < n; i++) {
        r->record[all[i]].marked = true;
    }
}

/* What is left of the sets moves together. */
static void sweep_sets(struct records *r)
{
    uint32_t *old = r->pool, old_room = r->pool_room, used = 0;

    r->pool = host_grow(r->host, NULL, 0, r->pool_room * sizeof(*r->pool));
    memset(r->bucket, 0, BUCKETS * sizeof(*r->bucket));
    r->free_set = 0;
    for (uint32_t i = 1; i < r->n_sets; i++) {
        struct set *s = &r->set[i];
        uint32_t *list = s->marked ? &r->bucket[s->hash % BUCKETS] : &r->free_set;
        if (s->marked) {
            memcpy(r->pool + used, old + s->first, s->n * sizeof(*old));
            s->first = used;
            used += s->n;
        }
        s->next = *list;
        *list = i;
    }
    r->pool_used = used;
    r->host->free(r->host->ctx, old, old_room * sizeof(*old));
}

void records_sweep(struct records *r)
{
    r->live = r->free = 0;
    for (uint32_t i = 1; i < r->n; i++) {
        if (r->record[i].marked) {
            r->live++;
        } else {
            r->record[i].serial = r->free;
            r->free = i;
        }
    }
    sweep_sets(r);
    r->limit = r->live + r->live / 2;
    r->limit = r->limit > LEAST_LIMIT ? r->limit : LEAST_LIMIT;
}

void records_clear(struct records *r)
{
    memset(r->bucket, 0, BUCKETS * sizeof(*r->bucket));
    r->n = r->n_sets = 1;
    r->live = r->free = r->free_set = r->pool_used = 0;
    r->limit = LEAST_LIMIT;
}
