/* SPDX-License-Identifier: MIT
 *
 * Queues over local memory; see tque.h.
 *
 * Each of the four verbs goes round the ring of buffers by itself. What the hart may say
 * in which order is checked here; what the engines do in which order, the semaphores see
 * to.
 */
#include "sched/tque.h"

#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/sem.h"
#include "sched/task.h"

static struct tpipe pipes[NPU_MAX_CORES]; /* of the blocks that run there */

static const struct {
    const char *name;
    uint8_t mem;
    uint16_t align; /* of a buffer's address and size */
} positions[TPOSITIONS] = {
    [VECIN] = {"VECIN", NPU_MEM_UB, 32},   [VECCALC] = {"VECCALC", NPU_MEM_UB, 32},
    [VECOUT] = {"VECOUT", NPU_MEM_UB, 32}, [A1] = {"A1", NPU_MEM_L1, 32},
    [B1] = {"B1", NPU_MEM_L1, 32},         [C1] = {"C1", NPU_MEM_L1, 64},
    [TSCM] = {"TSCM", NPU_MEM_L1, 32},     [A2] = {"A2", NPU_MEM_L0A, 512},
    [B2] = {"B2", NPU_MEM_L0B, 512},       [C2] = {"C2", NPU_MEM_BT, 64},
    [CO1] = {"CO1", NPU_MEM_L0C, 1024},    [C2PIPE2GM] = {"C2PIPE2GM", NPU_MEM_FB, 128},
};

/* The pipes, a bit each, that have commands which fill a memory, and which use what is
 * there; bit TQUE_HART is the hart, whose loads and stores reach UB and L1 alone. */
#define BIT(pipe) (1u << (pipe))
static const struct {
    uint8_t fill, use;
} users[NPU_MEM_COUNT] = {
    [NPU_MEM_UB] = {BIT(TQUE_HART) | BIT(PIPE_V) | BIT(PIPE_MTE1) | BIT(PIPE_MTE2) |
                        BIT(PIPE_FIX),
                    BIT(TQUE_HART) | BIT(PIPE_V) | BIT(PIPE_MTE3)},
    [NPU_MEM_L1] = {BIT(TQUE_HART) | BIT(PIPE_MTE2) | BIT(PIPE_MTE3) | BIT(PIPE_FIX),
                    BIT(TQUE_HART) | BIT(PIPE_MTE1) | BIT(PIPE_MTE3) | BIT(PIPE_FIX)},
    [NPU_MEM_L0A] = {BIT(PIPE_MTE1) | BIT(PIPE_MTE2), BIT(PIPE_M)},
    [NPU_MEM_L0B] = {BIT(PIPE_MTE1) | BIT(PIPE_MTE2), BIT(PIPE_M)},
    [NPU_MEM_L0C] = {BIT(PIPE_M), BIT(PIPE_FIX)},
    [NPU_MEM_BT] = {BIT(PIPE_MTE1), BIT(PIPE_M)},
    [NPU_MEM_FB] = {BIT(PIPE_FIX), BIT(PIPE_FIX)},
};

struct tpipe *tpipe_open(void)
{
    struct tpipe *pipe = &pipes[task_core()];
    char left[512]; /* not cleared: most launches have nothing to say */

    if (pipe->n) {
        left[0] = '\0';
        task_drain();
        if (tpipe_leftovers(pipe->core, left, sizeof(left))) {
            task_fail(ERR_LEFT, "tpipe_open", "%s", left);
        }
    }
    pipe->core = task_core();
    pipe->sem = TQUE_SEM_LAST;
    pipe->n = 0;
    memset(pipe->used, 0, sizeof(pipe->used));
    chip_hint(&(struct hint){.kind = HINT_OPEN, .core = (uint8_t)pipe->core});
    report_forget_labels(pipe->core, TQUE_SEM_LAST + 1);
    return pipe;
}

uint32_t tpipe_free(const struct tpipe *pipe, enum tposition position)
{
    unsigned mem = positions[position].mem;

    return chip_mem((enum npu_mem)mem) - pipe->used[mem];
}

static uint32_t up(uint32_t bytes, uint32_t align)
{
    return (bytes + align - 1) / align * align;
}

/* Who holds what of the memory that is full, and the smallest change that fits. */
static _Noreturn void overflow(const struct tpipe *pipe, const char *name,
                               enum tposition position, struct troom room,
                               const char *where)
{
    unsigned mem = positions[position].mem, n = room.n;
    uint32_t left = tpipe_free(pipe, position), align = positions[position].align;
    uint32_t fits = left / n / align * align, had = 0;
    char map[SCHED_TEXT / 2];

    map[0] = 0;
    for (unsigned i = 0; i < pipe->n; i++) {
        const struct tque *t = &pipe->item[i];
        if (t->mem == mem) {
            sched_append(map, sizeof(map), "\n  %8lu %8lu  %u x %-8lu %s, %s",
                         (unsigned long)t->begin, (unsigned long)(t->n * t->bytes), t->n,
                         (unsigned long)t->bytes, t->name, t->where);
            had = t->n * t->bytes > had ? t->n * t->bytes : had;
        }
    }
    if (n > 1 && left / (n - 1) / align * align >= room.bytes) {
        sched_append(map, sizeof(map), "\n  fits: %u buffers instead of %u", n - 1, n);
    } else if (fits) {
        sched_append(map, sizeof(map), "\n  fits: buffers of %lu bytes instead of %lu",
                     (unsigned long)fits, (unsigned long)room.bytes);
    } else {
        sched_append(map, sizeof(map),
                     "\n  fits: nothing; the largest holder has %lu bytes",
                     (unsigned long)had);
    }
    task_fail(ERR_LOCAL, where,
              "%s overflow: %s (%s) wants %u x %lu bytes, %lu of %lu are free\n"
              "    offset    bytes  what%s",
              npu_mem_name((enum npu_mem)mem), name, positions[position].name, n,
              (unsigned long)room.bytes, (unsigned long)left,
              (unsigned long)chip_mem((enum npu_mem)mem), map);
}

static struct tque *take(struct tpipe *pipe, const char *name, enum tposition position,
                         struct troom room, const char *where)
{
    unsigned mem = positions[position].mem, align = positions[position].align;
    uint32_t each = up(room.bytes, align), has = chip_mem((enum npu_mem)mem);
    uint32_t begin = up(pipe->used[mem], align);
    struct tque *item = &pipe->item[pipe->n];

    if (pipe->n == TPIPE_ITEMS) {
        task_fail(ERR_LOCAL, where, "%s is one more than the %u of a pipe", name,
                  TPIPE_ITEMS);
    }
    pipe->used[mem] = begin;
    if (begin > has || (uint64_t)room.n * each > has - begin) {
        overflow(pipe, name, position, room, where);
    }
    item->name = name;
    item->where = where;
    item->begin = begin;
    item->bytes = each;
    item->core = (uint8_t)pipe->core;
    item->mem = (uint8_t)mem;
    item->n = (uint8_t)room.n;
    item->free_sem = item->full_sem = 0; /* as of one that is no queue */
    pipe->used[mem] = begin + room.n * each;
    pipe->n++;
    return item;
}

static uint8_t take_sem(struct tpipe *pipe, const char *name, const char *role,
                        const char *where)
{
    sched_label_at(pipe->core, pipe->sem, name, role, where);
    return (uint8_t)pipe->sem--;
}

static void tell(const struct tque *que, enum hint_kind kind, struct tends ends,
                 const void *site)
{
    chip_hint(&(struct hint){.kind = (uint8_t)kind,
                             .mem = que->mem,
                             .core = que->core,
                             .count = que->n,
                             .producer = (uint8_t)ends.producer,
                             .consumer = (uint8_t)ends.consumer,
                             .free_sem = que->free_sem,
                             .full_sem = que->full_sem,
                             .addr = que->begin,
                             .bytes = que->bytes,
                             .name = (uintptr_t)que->name,
                             .site = (uintptr_t)site});
}

static const char *user_name(unsigned pipe)
{
    return pipe == TQUE_HART ? "the hart" : pipe_name(pipe);
}

/* `verb` is what the pipe should do with buffers at the position, and cannot. */
static _Noreturn void bad_user(const char *name, enum tposition position, unsigned pipe,
                               const char *verb, unsigned can, const char *where)
{
    char list[64] = "";

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (can & BIT(p)) {
            sched_append(list, sizeof(list), "%s%s", list[0] ? ", " : "", user_name(p));
        }
    }
    task_fail(ERR_QUEUE, where,
              "queue %s: %s (pipe %u) cannot %s buffers at %s, in %s; who can: %s", name,
              user_name(pipe), pipe, verb, positions[position].name,
              npu_mem_name((enum npu_mem)positions[position].mem), list);
}

static void check_users(const char *name, enum tposition position, struct tends ends,
                        const char *where)
{
    unsigned fill = users[positions[position].mem].fill;
    unsigned use = users[positions[position].mem].use;

    if (ends.producer >= NPU_PIPES || !(fill & BIT(ends.producer))) {
        bad_user(name, position, ends.producer, "fill", fill, where);
    }
    if (ends.consumer >= NPU_PIPES || !(use & BIT(ends.consumer))) {
        bad_user(name, position, ends.consumer, "use", use, where);
    }
}

static struct pipe_port *port_of(unsigned pipe)
{
    return pipe == TQUE_HART ? &tque_hart : &task_ports[pipe];
}

struct tque *tque_init_at(struct tpipe *pipe, const char *name, enum tposition position,
                          struct tends ends, struct troom room, const char *where)
{
    unsigned n = room.n;
    struct tque *que;

    if (n == 0 || n > TQUE_DEPTH) {
        task_fail(ERR_QUEUE, where, "queue %s wants %u buffers: 1 to %u are possible",
                  name, n, TQUE_DEPTH);
    }
    check_users(name, position, ends, where);
    que = take(pipe, name, position, room, where);
    for (unsigned i = 0; i < n; i++) {
        que->ring[i].addr = que->ring[n + i].addr = que->begin + i * que->bytes;
        que->ring[i].next = &que->ring[i + 1];
        que->ring[n + i].next = &que->ring[n + i + 1];
    }
    que->ring[2 * n - 1].next = que->ring;
    que->alloc.slot = que->enque.slot = que->deque.slot = que->freed.slot = que->ring;
    que->producer = (uint8_t)ends.producer;
    que->consumer = (uint8_t)ends.consumer;
    que->producer_port = port_of(ends.producer);
    que->consumer_port = port_of(ends.consumer);
    que->free_sem = take_sem(pipe, name, "FREE", where);
    que->full_sem = take_sem(pipe, name, "FULL", where);
    que->free_one = que->free_sem | 1u << 16;
    que->full_one = que->full_sem | 1u << 16;
    sem_post(pipe->core, que->free_sem, n);
    tell(que, HINT_QUEUE, ends, __builtin_return_address(0));
    return que;
}

uint32_t tbuf_init_at(struct tpipe *pipe, const char *name, enum tposition position,
                      uint32_t bytes, const char *where)
{
    const struct tque *item = take(pipe, name, position, (struct troom){1, bytes}, where);

    tell(item, HINT_BUFFER, (struct tends){0, 0}, __builtin_return_address(0));
    return item->begin;
}

/* --- the four verbs, where it is not the usual case --- */

/* Owes everything always, so that the verbs come here. */
struct pipe_port tque_hart = {.owed = UINT32_MAX};

void tque_wait(struct pipe_port *port, uint32_t wait, const char *where)
{
    if (port == &tque_hart) {
        task_wait_at(wait & 0xff, 1, where);
    } else {
        task_owe(port, wait);
    }
}

void tque_post(const struct tque *que, union cmd *cmd, uint32_t post, const char *where)
{
    if (cmd == NULL) {
        task_post_at(post & 0xff, 1, where);
    } else if (cmd->head.post_n[1] == 0) {
        cmd_post(cmd, post & 0xff, 1);
    } else if (!task_owe_post(post == que->full_one ? que->producer_port
                                                    : que->consumer_port,
                              post)) {
        task_fail(ERR_QUEUE, where, "queue %s: the command already hands on four buffers",
                  que->name);
    }
}

void tque_bad_order(const struct tque *que, bool free, uint32_t buffer, const char *where)
{
    const struct tturn *turn = free ? &que->freed : &que->enque;
    const char *verb = free ? "free" : "enque";

    if (turn->slot == (free ? &que->deque : &que->alloc)->slot) {
        task_fail(ERR_QUEUE, where, "queue %s: %s of 0x%lx, but no buffer is %s",
                  que->name, verb, (unsigned long)buffer,
                  free ? "dequeued (freed twice?)" : "allocated");
    }
    task_fail(ERR_QUEUE, where, "queue %s: %s of 0x%lx, its next buffer is 0x%lx",
              que->name, verb, (unsigned long)buffer, (unsigned long)turn->slot->addr);
}

bool tque_owes(unsigned core, unsigned sem, char *text, size_t size)
{
    for (unsigned i = 0; i < pipes[core].n; i++) {
        const struct tque *q = &pipes[core].item[i];
        bool alloc = q->free_sem == sem;
        if (q->full_sem && (alloc || q->full_sem == sem)) {
            sched_append(text, size,
                         ": queue %s (%s), %s in line %u, and no command of that pipe "
                         "was issued since: another's?",
                         q->name, q->where, alloc ? "alloc" : "deque",
                         alloc ? q->alloc.line : q->deque.line);
            return true;
        }
    }
    return false;
}

/* --- the end of a block --- */

/* By how many buffers a verb is ahead of another. */
static unsigned ahead(const struct tque *que, const struct tturn *a,
                      const struct tturn *b)
{
    return (unsigned)(a->slot - b->slot + 2 * que->n) % (2 * que->n);
}

static unsigned left_of(const struct tque *que, char *text, size_t size)
{
    unsigned filling = ahead(que, &que->alloc, &que->enque);
    unsigned full = ahead(que, &que->enque, &que->deque);
    unsigned used = ahead(que, &que->deque, &que->freed);

    if (filling + full + used == 0) {
        (void)!sem_try_take(que->core, que->free_sem, que->n);
        return 0;
    }
    sched_append(text, size,
                 "%squeue %s: %u allocated but not enqueued, %u enqueued but not "
                 "dequeued, %u dequeued but not freed",
                 text[0] ? ", " : "", que->name, filling, full, used);
    return 1;
}

unsigned tpipe_leftovers(unsigned core, char *text, size_t size)
{
    struct tpipe *pipe = &pipes[core];
    unsigned found = 0;

    if (pipe->n == 0) {
        return 0;
    }
    for (unsigned i = 0; i < pipe->n; i++) {
        found += pipe->item[i].full_sem ? left_of(&pipe->item[i], text, size) : 0;
    }
    if (pipe->n) {
        chip_hint(&(struct hint){.kind = HINT_OPEN, .core = (uint8_t)core});
    }
    pipe->n = 0;
    return found;
}

void tpipe_forget(unsigned core)
{
    char left[8] = "";

    (void)tpipe_leftovers(core, left, sizeof(left));
}
