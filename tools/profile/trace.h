/* SPDX-License-Identifier: MIT
 *
 * A trace in memory: commands in the order in which they began, what each of them waited
 * for, what the hart did, launches and counters. All times are cycles of the engines.
 */
#ifndef TOOLS_PROFILE_TRACE_H
#define TOOLS_PROFILE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hal/contract/contract.h"

#define BY_HART UINT32_MAX /* instead of a command: the hart has posted */

/* Texts, each once: a number stands for one, 0 for "". */
struct texts {
    const char **text;
    uint32_t *slot; /* hash table of numbers */
    uint32_t n, room;
};

struct command {
    uint64_t begin, end;
    uint64_t issued;             /* cycle of the push, as far as it is known */
    uint64_t read, written, ops; /* bytes, bytes, multiply-adds or elements */
    uint64_t src, dst;           /* addresses as the command has them */
    uint64_t number;             /* in its pipe */
    uint64_t waited;             /* cycles before it, for semaphores or marks of L0C */
    /* Of end - begin: what others took from its rate, what was not in L2 cost, and banks. */
    uint64_t lost, missed, banks;
    uint32_t hits, misses;                  /* lines of GM that were in L2, and not */
    uint32_t name, line, task, shape, type; /* texts */
    uint32_t rows, row_bytes;               /* of GM, 0: not known */
    uint32_t wait, waits;                   /* its edges: the first, how many */
    uint16_t core;
    uint8_t pipe, from, to; /* enum pipe, npu_mem; NPU_MEM_COUNT + 1: none */
    bool atomic;
    bool behind; /* its core's scalar unit came to the push later than the hart: then */
};

/* A unit of a semaphore on its way from who posted to who took. */
struct edge {
    uint32_t from, to; /* commands; from may be BY_HART */
    uint32_t sem;      /* text */
    uint64_t cycles;   /* that the taker waited for it */
};

/* What the hart did; a launch or an operator, with what E tells of it. */
struct range {
    uint64_t begin, end;
    uint32_t name, depth;
    uint32_t number; /* of a launch, 0: it is none */
    uint64_t call, price, back;
};

/* A buffer is handed out or given back. */
struct allocation {
    uint64_t at, addr, bytes;
    uint32_t mem, name, line;
    uint16_t process;
    bool gives;
};

struct sample {
    uint64_t at, value;
};

struct counter {
    uint32_t name;    /* text */
    uint16_t process; /* core, or what is behind them */
    struct sample *sample;
    uint32_t n, room;
};

/* A stretch of the critical path: of a command (what: its pipe, text: its name), of the hart
 * (text: what it did), or of the chip between them. */
enum { STEP_HART = NPU_PIPES, STEP_CHIP };
struct step {
    uint64_t begin, end;
    uint32_t what, text, via;
    uint64_t number; /* of the command in its pipe, 0: of none */
    uint16_t core;
};

struct trace {
    struct texts texts;
    struct command *command;
    struct edge *edge;
    struct range *hart, *launch;
    struct counter *counter;
    struct allocation *allocation;
    struct step *step;
    uint32_t commands, edges, harts, launches, counters, allocations, steps;
    uint32_t cores, chip_cores; /* those that had commands; those of the machine */
    enum npu_profile profile;
    enum npu_timing timing;
    uint64_t begin, end; /* from the first launch to the return of the last */
};

/* Launches, by their numbers; first 0: the whole trace. */
struct window {
    unsigned first, last;
};

/* Reads a trace file. False: `error`, which has the line, is what is wrong. */
bool trace_read(struct trace *t, const char *path, const struct window *window,
                char *error, size_t room);
/* Reads the critical path of what has been read (critical.csv of `make profile`). */
bool trace_read_path(struct trace *t, const char *path, char *error, size_t room);
void trace_free(struct trace *t);

uint32_t text_of(struct texts *texts, const char *text, size_t bytes);
static inline const char *trace_text(const struct trace *t, uint32_t text)
{
    return t->texts.text[text];
}

/* Room for one more of *array, whose `n` it is told. */
void *array_grow(void *array, uint32_t n, size_t size);

#endif
