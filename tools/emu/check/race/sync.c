/* SPDX-License-Identifier: MIT
 *
 * Semaphores and settings at the end; see sync.h.
 */
#include "tools/emu/check/race/sync.h"

#include "tools/emu/model/mem.h"

enum { FOUND_MOST = 256, SCOPES_MOST = 16 };

struct use {
    struct record by;
    bool known;
};

struct semaphore {
    struct use post, take;
    struct record wanted;  /* where the hart has begun to wait for what was taken last */
    struct record lack[2]; /* it found too few here, the last time first; of two places */
    struct hint queue,
        of; /* whose FREE or FULL it is, was when last used; kind 0: none's */
    unsigned value;
};

struct waiter {
    struct record by; /* of the head that was pushed and has not begun */
    uint8_t sem[2], n[2];
};

struct queue {
    struct waiter at[PIPE_DEPTH];
    unsigned head, count;
    uint64_t task[PIPE_DEPTH]; /* who has pushed what lies in a slot of the machine's */
    bool runs;
};

/* A setting other than a reset leaves it, and during which scope it was made. */
struct setting {
    struct use use; /* known: it is other */
    uint32_t tick;
};

struct sync {
    const struct check_host *host;
    unsigned cores;
    struct semaphore sem[NPU_MAX_CORES + 1][SEM_CORE];
    struct queue queue[NPU_MAX_CORES][NPU_PIPES];
    struct setting set[NPU_MAX_CORES][NPU_PIPES][SETTINGS];
    uint32_t tick; /* counts scopes that have begun */
    uint64_t task;
    struct {
        uint64_t name;
        uint32_t tick;
        uint8_t sem[NPU_MAX_CORES + 1][SEM_CORE]; /* values when it began */
    } scope[SCOPES_MOST];
    unsigned depth;
    struct sync_finding found[FOUND_MOST];
    uint32_t n_found;
    uint64_t lost;
};

struct sync *sync_new(const struct check_host *host, unsigned cores)
{
    struct sync *s = host->alloc(host->ctx, sizeof(*s));

    s->host = host;
    s->cores = cores;
    return s;
}

void sync_free(struct sync *s)
{
    s->host->free(s->host->ctx, s, sizeof(*s));
}

size_t sync_bytes(const struct sync *s)
{
    return sizeof(*s);
}

const struct sync_finding *sync_findings(const struct sync *s, uint32_t *n,
                                         uint64_t *lost)
{
    *n = s->n_found;
    *lost = s->lost;
    return s->found;
}

/* --- findings --- */

static bool same(const struct sync_finding *a, const struct sync_finding *b)
{
    return a->what == b->what && a->sem == b->sem && a->post.site.pc == b->post.site.pc &&
           a->take.site.pc == b->take.site.pc &&
           a->post.site.caller == b->post.site.caller &&
           a->take.site.caller == b->take.site.caller;
}

static void add(struct sync *s, const struct sync_finding *f)
{
    for (uint32_t i = 0; i < s->n_found; i++) {
        if (same(&s->found[i], f)) {
            s->found[i].count++;
            return;
        }
    }
    if (s->n_found == FOUND_MOST) {
        s->lost++;
        return;
    }
    s->found[s->n_found] = *f;
    s->found[s->n_found++].count = 1;
}

/* --- ends --- */

static void left_in(struct sync *s, unsigned core, unsigned i, unsigned was)
{
    const struct semaphore *sem = &s->sem[core][i];

    if (sem->value > was) {
        add(s, &(struct sync_finding){.what = SYNC_LEFT,
                                      .post = sem->post.by,
                                      .take = sem->take.by,
                                      .wanted = sem->wanted,
                                      .queue = sem->of,
                                      .posted = sem->post.known,
                                      .taken = sem->take.known,
                                      .core = core,
                                      .sem = i,
                                      .value = sem->value,
                                      .want = was,
                                      .scope = s->depth && s->depth <= SCOPES_MOST
                                                   ? s->scope[s->depth - 1].name
                                                   : 0});
    }
}

static void scope_ends(struct sync *s)
{
    if (s->depth && s->depth <= SCOPES_MOST) {
        for (unsigned c = 0; c < NPU_MAX_CORES + 1; c++) {
            for (unsigned i = 0; i < SEM_CORE; i++) {
                left_in(s, c, i, s->scope[s->depth - 1].sem[c][i]);
            }
        }
    }
    s->depth -= s->depth != 0;
}

static void scope_begins(struct sync *s, uint64_t name)
{
    s->tick++;
    if (s->depth < SCOPES_MOST) {
        s->scope[s->depth].name = name;
        s->scope[s->depth].tick = s->tick;
        for (unsigned c = 0; c < NPU_MAX_CORES + 1; c++) {
            for (unsigned i = 0; i < SEM_CORE; i++) {
                s->scope[s->depth].sem[c][i] = (uint8_t)s->sem[c][i].value;
            }
        }
    }
    s->depth++;
}

/* Queues of the core come and go. */
static void queues(struct sync *s, const struct hint *h)
{
    struct semaphore *sem = s->sem[h->core];
    struct semaphore *free = &sem[h->free_sem % SEM_CORE];
    struct semaphore *full = &sem[h->full_sem % SEM_CORE];

    if (h->kind == HINT_QUEUE) {
        free->queue = free->of = full->queue = full->of = *h;
    }
    for (unsigned i = 0; h->kind == HINT_OPEN && i < SEM_CORE; i++) {
        sem[i].queue.kind = 0;
    }
}

void sync_hint(struct sync *s, const struct hint *h)
{
    if ((h->kind == HINT_QUEUE || h->kind == HINT_OPEN) && h->core < s->cores) {
        queues(s, h);
    } else if (h->kind == HINT_BEGIN) {
        scope_begins(s, h->name);
    } else if (h->kind == HINT_END) {
        scope_ends(s);
    }
}

/* --- resets --- */

/* A semaphore by the number that a command of the core has for it. */
static struct semaphore *sem_of(struct sync *s, unsigned core, unsigned sem)
{
    return sem < SEM_CORE ? &s->sem[core][sem]
                          : &s->sem[NPU_CHIP][(sem - SEM_CORE) % SEM_CORE];
}

static bool anything_runs(const struct sync *s)
{
    bool runs = false;

    for (unsigned c = 0; c < s->cores; c++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            runs |= s->queue[c][p].runs;
        }
    }
    return runs;
}

/* The head of a queue that is thrown away: whether a post is what it has lacked. */
static void stuck(struct sync *s, unsigned core, unsigned pipe)
{
    const struct queue *q = &s->queue[core][pipe];
    const struct waiter *w = &q->at[q->head];

    for (unsigned i = 0; q->count && !q->runs && i < 2; i++) {
        const struct semaphore *sem = sem_of(s, core, w->sem[i]);
        if (w->n[i] && sem->value < w->n[i]) {
            add(s, &(struct sync_finding){.what = SYNC_STUCK,
                                          .post = sem->post.by,
                                          .take = w->by,
                                          .queue = sem->of,
                                          .posted = sem->post.known,
                                          .taken = true,
                                          .core = w->sem[i] < SEM_CORE ? core : NPU_CHIP,
                                          .sem = w->sem[i] % SEM_CORE,
                                          .value = sem->value,
                                          .want = w->n[i]});
        }
    }
}

static void reset_queue(struct sync *s, unsigned core, unsigned pipe)
{
    s->queue[core][pipe] = (struct queue){0};
    memset(s->set[core][pipe], 0, sizeof(s->set[core][pipe]));
}

/* A core that is reset while nothing runs anywhere has come to its end or hangs. */
static void reset_core(struct sync *s, unsigned core)
{
    bool waits = false;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        waits |= s->queue[core][p].count != 0;
        if (!anything_runs(s)) {
            stuck(s, core, p);
        }
    }
    for (unsigned i = 0; i < SEM_CORE; i++) {
        if (!waits && s->depth) {
            left_in(s, core, i, 0);
        }
        s->sem[core][i] = (struct semaphore){0};
    }
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        reset_queue(s, core, p);
    }
}

static void reset(struct sync *s, const struct npu_event *e)
{
    if (e->core == NPU_CHIP) {
        memset(s->sem[NPU_CHIP], 0, sizeof(s->sem[NPU_CHIP]));
    } else if (e->pipe == NPU_BY_HART) {
        reset_core(s, e->core);
    } else {
        reset_queue(s, e->core, e->pipe);
    }
}

/* --- commands, takes and posts --- */

static struct record who(const struct sync *s, const struct npu_event *e)
{
    struct record r = {.cycle = e->now, .site.task = s->task};

    if (e->pipe < NPU_PIPES && e->cmd) {
        r.lane = lane_of(e->core, e->pipe);
        r.serial = (uint32_t)e->number;
        r.site.pc = e->pc;
        r.site.caller = e->ra;
        r.site.opcode = e->cmd->head.opcode;
        r.site.tag = e->cmd->head.tag;
        r.site.task = s->queue[e->core][e->pipe].task[e->slot];
    } else {
        r.site.pc = e->pc;
        r.site.caller = e->ra;
    }
    return r;
}

static void push(struct sync *s, const struct npu_event *e)
{
    struct queue *q = &s->queue[e->core][e->pipe];
    struct waiter *w = &q->at[(q->head + q->count) % PIPE_DEPTH];

    q->task[e->slot] = s->task;
    *w = (struct waiter){.by = who(s, e)};
    for (unsigned i = 0; i < 2; i++) {
        w->sem[i] = e->cmd->head.wait_sem[i];
        w->n[i] = e->cmd->head.wait_n[i];
    }
    q->count += q->count < PIPE_DEPTH;
}

/* Whether the command leaves a setting other than a reset does; -1: it sets none. */
static int sets(const union cmd *c, enum sync_setting *which)
{
    switch (c->head.opcode) {
    case OP_SET_MASK:
        *which = SETTING_MASK;
        return c->head.flags & SET_MASK_COUNTER || ~c->set_mask.lo || ~c->set_mask.hi;
    case OP_SET_ATOMIC_MTE3:
    case OP_SET_ATOMIC_FIX:
        *which = SETTING_ATOMIC;
        return c->set_atomic.op != ATOMIC_NONE;
    case OP_SET_CTRL:
        *which = SETTING_SATURATE;
        return (c->head.flags & SET_CTRL_SATURATE) != 0;
    default:
        return -1;
    }
}

/* Commands of the Vector that work on all of their repeats, whatever the mask. */
static bool masked(unsigned opcode)
{
    switch (opcode) {
    case OP_VBRCB:
    case OP_VTRANSPOSE:
    case OP_VTRANSDATA:
    case OP_VINTLV:
    case OP_VDINTLV:
    case OP_VMULL:
    case OP_VGATHERB:
    case OP_VSORT32:
    case OP_VMRGSORT:
    case OP_VRPSORT16:
    case OP_VRPCONCAT:
    case OP_VRPEXTRACT:
    case OP_GET_COUNT:
    case OP_GET_CMPMASK:
        return false;
    default:
        return true;
    }
}

/* Which settings what a command computes depends on. */
static bool depends(const struct npu_event *e, enum sync_setting on)
{
    switch (on) {
    case SETTING_MASK:
        return e->pipe == PIPE_V && masked(e->cmd->head.opcode);
    case SETTING_ATOMIC:
        return e->atomic_op != ATOMIC_NONE && e->dst && e->dst->mem == NPU_MEM_GM;
    default:
        return e->pipe == PIPE_V || e->pipe == PIPE_M || e->pipe == PIPE_FIX;
    }
}

/* It works with what was set before its launch began. */
static void begin(struct sync *s, const struct npu_event *e)
{
    const struct setting *set = s->set[e->core][e->pipe];
    enum sync_setting which;

    s->queue[e->core][e->pipe].runs = true;
    if (s->depth == 0 || s->depth > SCOPES_MOST || !e->dst || sets(e->cmd, &which) >= 0) {
        return;
    }
    for (unsigned i = 0; i < SETTINGS; i++) {
        if (set[i].use.known && set[i].tick < s->scope[s->depth - 1].tick &&
            depends(e, (enum sync_setting)i)) {
            add(s, &(struct sync_finding){.what = SYNC_SETTING,
                                          .post = set[i].use.by,
                                          .take = who(s, e),
                                          .posted = true,
                                          .taken = true,
                                          .core = e->core,
                                          .sem = i,
                                          .scope = s->scope[s->depth - 1].name});
        }
    }
}

static void end(struct sync *s, const struct npu_event *e)
{
    struct queue *q = &s->queue[e->core][e->pipe];
    enum sync_setting which;
    int on = sets(e->cmd, &which);

    if (on >= 0) {
        s->set[e->core][e->pipe][which] = (struct setting){{who(s, e), on}, s->tick};
    }
    q->runs = false;
    q->head = (q->head + 1) % PIPE_DEPTH;
    q->count -= q->count != 0;
}

/* That of an event. */
static struct semaphore *sem_at(struct sync *s, const struct npu_event *e)
{
    return e->sem_core == NPU_CHIP ? sem_of(s, 0, e->sem) : &s->sem[e->sem_core][e->sem];
}

static void moved(struct sync *s, const struct npu_event *e)
{
    struct semaphore *sem = sem_at(s, e);
    struct use use = {who(s, e), true};

    sem->of = sem->queue;
    sem->value = e->value;
    if (e->what == NPU_POSTS) {
        sem->post = use;
    } else {
        sem->take = use;
        sem->wanted = sem->lack[sem->lack[0].site.pc == e->pc];
        memset(sem->lack, 0, sizeof(sem->lack));
    }
}

/* A task that has to wait tries where it is, then the scheduler does so for it, always in
 * one place. */
static void lacks(struct sync *s, const struct npu_event *e)
{
    struct semaphore *sem = sem_at(s, e);

    if (sem->lack[0].site.pc != e->pc) {
        sem->lack[1] = sem->lack[0];
    }
    sem->lack[0] = who(s, e);
}

void sync_event(struct sync *s, const struct npu_event *e)
{
    switch (e->what) {
    case NPU_PUSHED:
        push(s, e);
        break;
    case NPU_BEGINS:
        begin(s, e);
        break;
    case NPU_ENDS:
        end(s, e);
        break;
    case NPU_TAKES:
    case NPU_POSTS:
        moved(s, e);
        break;
    case NPU_LACKS:
        lacks(s, e);
        break;
    case NPU_RESETS:
        reset(s, e);
        break;
    case NPU_NAMES:
        s->task = e->name;
        break;
    default:
        break;
    }
}
