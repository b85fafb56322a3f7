/* SPDX-License-Identifier: MIT
 *
 * Local memory of a core and the queues over it, after Ascend C's TPipe, TQue and TBuf. A
 * queue is a ring of buffers between two pipes: one fills them, the other uses them, and
 * the engines themselves hand them over, by two hardware semaphores that count the free
 * and the full ones. The hart runs ahead and never waits for data.
 */
/* clang-format off */
/*
 * struct tpipe *pipe = tpipe_open();
 * struct tque *in = tque_init(pipe, "in", VECIN, PIPE_MTE2, PIPE_V, 2, TILE);
 * struct tque *out = tque_init(pipe, "out", VECOUT, PIPE_V, PIPE_MTE3, 2, TILE);
 * union cmd c;
 *
 * copy in                      compute                       copy out
 *   x = tque_alloc(in);          x = tque_deque(in);           y = tque_deque(out);
 *   mte_gm_to_ub(&c, x, ..);     y = tque_alloc(out);          mte_ub_to_gm(&c, .., y);
 *   tque_enque(in, x, &c);       vector_unary(&c, .., y, x);   tque_free(out, y, &c);
 *   task_issue(PIPE_MTE2, &c);   tque_free(in, x, &c);         task_issue(PIPE_MTE3, &c);
 *                                tque_enque(out, y, &c);
 *                                task_issue(PIPE_V, &c);
 */
/* clang-format on */
/*
 * alloc and deque let the next command that the task issues to the pipe wait for the
 * buffer; enque and free let a command that is not issued yet, the last one that fills or
 * uses it, hand it on. A command has room for two waits and two posts; a third or fourth is
 * paid for with a NOP in front of it or behind it, a cycle of the pipe and the instructions
 * that `make bench` tells. The loops may be tasks of their own or one loop. A mistake ends
 * the run with an error that names the task, the queue and the source line.
 */
#ifndef SCHED_TQUE_H
#define SCHED_TQUE_H

#include "sched/sched.h"

/* Where a buffer lies, by what it is for: UB, L1, L0A, L0B, L0C, BT, FB. */
enum tposition {
    VECIN,
    VECCALC,
    VECOUT,
    A1,
    B1,
    C1,
    TSCM,
    A2,
    B2,
    C2,
    CO1,
    C2PIPE2GM,
    TPOSITIONS,
};

enum {
    TPIPE_ITEMS = 24, /* queues and buffers of a pipe */
    TQUE_DEPTH = 8,   /* buffers of a queue, at most */
    /* Semaphores that queues use, from the highest down; kernels count from 0 up. */
    TQUE_SEM_LAST = SEM_CORE - 2,
    /* The hart as the producer or consumer of a queue: alloc and deque then wait, and
     * enque and free take NULL for the command. */
    TQUE_HART = 0,
};

/* A buffer. Each queue has a ring of its buffers, twice round, so that two verbs which have
 * come to the same slot have been used on equally many buffers. */
struct tslot {
    const struct tslot *next;
    uint32_t addr;
};

/* How far a verb has come, and in which line alloc and deque were used last. */
struct tturn {
    const struct tslot *slot;
    unsigned line;
};

/* n buffers, for one pipe alone or from a producer to a consumer. */
struct tque {
    struct tturn alloc, enque, deque, freed;
    struct pipe_port *producer_port, *consumer_port; /* tque_hart: the hart */
    uint32_t free_one, full_one; /* of the semaphores, as half of CMD_SYNC has it */
    const char *name, *where;
    uint32_t begin, bytes; /* of a buffer */
    uint8_t core, mem, n, producer, consumer;
    uint8_t free_sem, full_sem; /* 0: a buffer without a queue */
    struct tslot ring[2 * TQUE_DEPTH];
};

/* Of a queue: its pipes, and n buffers of so many bytes. */
struct tends {
    unsigned producer, consumer;
};
struct troom {
    unsigned n;
    uint32_t bytes;
};

/* The local memory of a core, handed out from 0 up. */
struct tpipe {
    unsigned core, n, sem;
    uint32_t used[NPU_MEM_COUNT];
    struct tque item[TPIPE_ITEMS];
};

/* The memory of the task's core, all of it free; its queues live until the block ends or
 * it is opened again, which waits until the core's pipes are empty and ends the run with
 * ERR_LEFT if a buffer is not free. */
struct tpipe *tpipe_open(void);
/* Bytes that are left at a position. */
uint32_t tpipe_free(const struct tpipe *pipe, enum tposition position);

/* n buffers (1 to TQUE_DEPTH) of `bytes` each between two pipes of the core. When memory
 * runs out the run ends with ERR_LOCAL and a map of who holds what; ERR_QUEUE: no command
 * of the producer fills, or none of the consumer uses, what lies at the position. */
#define tque_init(pipe, name, position, producer, consumer, n, bytes)                    \
    tque_init_at((pipe), (name), (position), (struct tends){(producer), (consumer)},     \
                 (struct troom){(n), (bytes)}, SCHED_HERE)
struct tque *tque_init_at(struct tpipe *pipe, const char *name, enum tposition position,
                          struct tends ends, struct troom room, const char *where);
/* A buffer for one pipe alone (TBuf): its address. */
#define tbuf_init(pipe, name, position, bytes)                                           \
    tbuf_init_at((pipe), (name), (position), (bytes), SCHED_HERE)
uint32_t tbuf_init_at(struct tpipe *pipe, const char *name, enum tposition position,
                      uint32_t bytes, const char *where);

/* --- the four verbs; what follows them in this file is for them alone --- */

/* The next buffer to fill: its address. The producer's next command waits for it. */
#define tque_alloc(que) tque_take((que), false, __LINE__, SCHED_HERE)
/* cmd, which the task issues next, fills the buffer to its end. */
#define tque_enque(que, buffer, cmd) tque_give((que), false, (buffer), (cmd), SCHED_HERE)
/* The next full buffer: its address. The consumer's next command waits for it. */
#define tque_deque(que) tque_take((que), true, __LINE__, SCHED_HERE)
/* cmd, which the task issues next, is the last that uses the buffer. Buffers are freed in
 * the order in which they were dequeued. */
#define tque_free(que, buffer, cmd) tque_give((que), true, (buffer), (cmd), SCHED_HERE)

extern struct pipe_port tque_hart;
/* The hart waits itself, a pipe in its next command that has room for the wait. */
void tque_wait(struct pipe_port *port, uint32_t wait, const char *where);
/* The hart posts itself, a command as its second post; for a third and a fourth a NOP
 * follows it. */
void tque_post(const struct tque *que, union cmd *cmd, uint32_t post, const char *where);
_Noreturn void tque_bad_order(const struct tque *que, bool free, uint32_t buffer,
                              const char *where);

/* The waits of the next command of a port are one more. */
static inline void tque_owe(struct pipe_port *port, uint32_t wait, const char *where)
{
    if (port->owed == 0) {
        port->owed = wait;
    } else {
        tque_wait(port, wait, where);
    }
}

/* The post becomes the command's first. */
static inline void tque_hand_on(const struct tque *que, union cmd *cmd, uint32_t post,
                                const char *where)
{
    uint32_t has = 0;

    if (cmd) {
        __builtin_memcpy(&has, cmd->head.post_sem, sizeof(has));
    }
    if (cmd && has == 0) {
        __builtin_memcpy(cmd->head.post_sem, &post, sizeof(post));
    } else {
        tque_post(que, cmd, post, where);
    }
}

/* alloc and deque: the next buffer of the producer, or of the consumer. */
static inline uint32_t tque_take(struct tque *que, bool consumer, unsigned line,
                                 const char *where)
{
    struct tturn *turn = consumer ? &que->deque : &que->alloc;
    const struct tslot *slot = turn->slot;

    turn->line = line;
    tque_owe(consumer ? que->consumer_port : que->producer_port,
             consumer ? que->full_one : que->free_one, where);
    turn->slot = slot->next;
    return slot->addr;
}

/* enque and free: the first buffer that it has taken goes to the other one. */
static inline void tque_give(struct tque *que, bool consumer, uint32_t buffer,
                             union cmd *cmd, const char *where)
{
    struct tturn *turn = consumer ? &que->freed : &que->enque;
    const struct tslot *slot = turn->slot;

    if (slot == (consumer ? que->deque : que->alloc).slot || slot->addr != buffer) {
        tque_bad_order(que, consumer, buffer, where);
    }
    turn->slot = slot->next;
    tque_hand_on(que, cmd, consumer ? que->free_one : que->full_one, where);
}

/* What the last pipe of a core has not got back: takes the queues' semaphores, names in
 * text what is missing, and forgets the pipe. Returns how many things that are. */
unsigned tpipe_leftovers(unsigned core, char *text, size_t size);

#endif
