/* SPDX-License-Identifier: MIT
 *
 * The NPU as a discrete-event machine: the whole interface of the model.
 *
 * Freestanding C11. The state is one flat struct without a host pointer, plus
 * the memories that the host lends, so a snapshot is a copy of both. Time is a
 * cycle that the caller passes in; it never runs backwards. Everything that the
 * machine does to its surroundings goes through struct npu_host. Guest software
 * can write anything to any register without leaving guest memory or the state.
 */
#ifndef TOOLS_EMU_MODEL_NPU_H
#define TOOLS_EMU_MODEL_NPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "tools/emu/model/plan.h"
#include "tools/emu/model/share.h"

#define NPU_NEVER UINT64_MAX
#define NPU_CHIP  NPU_MAX_CORES /* "core" number of the chip's own registers */

struct npu;
struct npu_state;
struct npu_spill;

/*
 * What happens, for traces, debuggers and checkers: one stream, in the order in which it
 * counts. A command begins, then takes; it ends, then posts, and a barrier unit that this
 * sets off takes and posts next. The hart's accesses stand where they are made.
 */
enum npu_happens {
    NPU_PUSHED,
    NPU_BEGINS,
    NPU_ENDS, /* and has written its destination */
    NPU_FAULTS,
    NPU_TAKES,   /* units leave a semaphore, those first that came first */
    NPU_POSTS,   /* units come to one */
    NPU_RESETS,  /* of a pipe, a core or, core NPU_CHIP, what the chip's reset clears */
    NPU_DRAINED, /* the hart has read (PIPE_LEFT) that a pipe has nothing left to do, or
                  * (CHIP_BUSY; core NPU_CHIP) that no pipe has */
    NPU_NAMES, /* the hart has named what it does, for core `core` or none (CHIP_TRACE) */
    NPU_HINTS, /* it has told what it does with memory (CHIP_HINT) */
    NPU_LACKS, /* it would have taken units of a semaphore that held fewer */
    NPU_DELAYS,  /* a seed holds something up */
    NPU_LINE,    /* a core's interrupt line rises or falls */
    NPU_CALLED,  /* a launch begins (CHIP_SHARE), whose price goes by next */
    NPU_CLOCKED, /* the hart has read CHIP_CYCLE */
};

/* What a seed holds up. Numbers 3 and 4 are drawn for something else. */
enum npu_delay {
    NPU_LATE_BEGIN, /* of a command */
    NPU_LATE_END,
    NPU_LATE_LINE,     /* an interrupt line */
    NPU_LATE_HART = 5, /* the hart, at an access to a register */
    NPU_LATE_CORE,     /* all begins of a core that was idle */
};

/* Who, where it is no pipe: the hart, through a register page; a barrier unit. */
enum { NPU_BY_HART = NPU_PIPES, NPU_BY_BARRIER };

struct npu_event {
    enum npu_happens what;
    const struct npu *npu; /* whose it is: for npu_touch(), npu_flow() */
    uint64_t now;
    unsigned core, pipe, slot; /* who; slot of the queue */

    /* NPU_PUSHED to NPU_FAULTS, and takes and posts. */
    const union cmd *cmd; /* NULL if it is no command's */
    uint64_t number;      /* of the command in its pipe, from 1 at power-on */
    /* Where from: the command's own, or the hart's at the push; the hart's where it posts
     * and takes itself. */
    uint64_t pc, ra;
    unsigned fault; /* NPU_FAULTS: enum npu_error */

    /* NPU_BEGINS, NPU_ENDS; NPU_FAULTS: of a command that the data are wrong for, else
     * src is NULL */
    const struct access *src, *dst; /* dst may be NULL */
    const struct access *also;      /* a second destination, or NULL */
    unsigned n_src;
    uint64_t head_since; /* cycle from which it was the head of its queue */
    uint64_t
        known; /* from which it was pushed and its core's scalar unit had come to it */
    uint64_t begin, end;
    /* Of these cycles: lost to others on a shared path; what is not in L2 cost; what bank
     * groups of UB and banks cost. */
    uint64_t shared, missed, bank_groups, banks;
    uint32_t hits, misses; /* lines of GM that were in L2, that were not */
    uint64_t bytes_read, bytes_written, ops;
    unsigned atomic_op, atomic_type; /* of its writes to GM, ATOMIC_NONE: they replace */
    unsigned unit;                   /* UNIT_*: what it does to marks of L0C */
    const uint64_t *units; /* ROW_UNIT_MARK words: of these units; NULL: of none */

    /* NPU_TAKES, NPU_POSTS, NPU_LACKS: by a pipe, the hart or a barrier unit (core
     * NPU_CHIP) */
    unsigned sem_core, sem; /* whose it is, NPU_CHIP from SEM_CORE on */
    unsigned count, value;  /* units that move or should, that it then holds */
    unsigned barrier;       /* NPU_BY_BARRIER: which */

    /* NPU_NAMES: address of a string in guest memory, 0: nothing; NPU_HINTS: of a
     * struct hint */
    uint64_t name;

    bool level; /* NPU_LINE */

    /* NPU_DELAYS, of a command its begin or end: by how many cycles, and its key; NPU_CALLED:
     * the price */
    enum npu_delay delay;
    unsigned cycles;
    uint64_t key;
};

struct npu_host {
    /* Host address of guest memory [addr, addr + len), or NULL if a byte of it is
     * not DRAM. Every mapping is given back with gm_unmap before the call returns. */
    void *(*gm_map)(void *ctx, uint64_t addr, uint64_t len, bool write);
    void (*gm_unmap)(void *ctx, void *p, uint64_t addr, uint64_t len, bool write);
    /* Bytes [off, off + len) of a local memory have changed. May be NULL. */
    void (*mem_dirty)(void *ctx, unsigned core, enum npu_mem mem, uint32_t off,
                      uint32_t len);
    /* Level of the core's interrupt line; called only when it changes. */
    void (*irq)(void *ctx, unsigned core, bool level);
    /* Something happens; the event and all that it points at last until the return. May
     * be NULL, and nothing depends on it. */
    void (*event)(void *ctx, const struct npu_event *event);
    /* Program counter and return address of the hart, which pushes a command without a pc
     * of its own, or posts or takes. May be NULL, and nothing depends on them. */
    void (*hart)(void *ctx, uint64_t *pc, uint64_t *ra);
    /* The hart's clock: an instruction is 1, and it goes on while the hart sleeps. NULL: the
     * caller has no hart whose time would count. */
    uint64_t (*clock)(void *ctx);
    /* While npu.apart is set: room for a job of npu_job_bytes() of a core's; what has been
     * put there is given, for npu_job_do() behind all jobs of that core before, by whatever
     * thread, and has a ticket, higher than those before; waits until a job is done. */
    void *(*job)(void *ctx, unsigned core);
    uint64_t (*give)(void *ctx, unsigned core);
    void (*wait)(void *ctx, unsigned core, uint64_t ticket);
};
#define NPU_ALL UINT64_MAX /* jobs of a core that have been given */

/* Hardware that is broken (machine/defect.h), of core `core`; NPU_SKIP: or NPU_CHIP, all. */
enum npu_defect_kind {
    NPU_FLIP,  /* `bit` of memory `what` changes at cycle `at`; times: from a launch on */
    NPU_STUCK, /* semaphore `what` keeps its value */
    NPU_DROP,  /* the post number `at` of all commands is lost, from 1 on */
    NPU_SLOW,  /* commands of pipe `what` take `times` as long */
    NPU_DEAD,  /* no command begins */
    NPU_SKIP,  /* commands neither wait for semaphore `what` nor post it */
};
enum { NPU_DEFECTS = 8 };
struct npu_defect {
    uint8_t kind, core, what;
    uint32_t times;
    uint64_t at, bit;
};

/* What a run takes for other than it is, to see what that would bring: numbers of the profile
 * (which software reads as they are), and what can be free of charge. */
struct npu_changes {
    bool changed[COST_COUNT];
    uint32_t cost[COST_COUNT];
    bool free_hart;  /* its instructions take no time */
    bool free_banks; /* nor do conflicts in UB */
    bool endless;    /* no queue is ever full: npu.spill is there */
};

/* Delays, by their keys, in ascending order; NPU_OTHER_ORDER is that of what happens in one
 * cycle. */
enum { NPU_OTHER_ORDER = 1 }; /* no delay has this key, since pipe 0 has no queue */
struct npu_only {
    size_t n;
    const uint64_t *key;
};

struct npu_config {
    unsigned cores;           /* 1 .. NPU_MAX_CORES */
    enum npu_profile profile; /* timing and sizes */
    enum npu_timing timing;   /* which of its prices */
    uint64_t gm_base;         /* DRAM, as the capability block shows it */
    uint64_t gm_size;
    uint32_t seed;               /* perturb.c; 0: off */
    const struct npu_only *only; /* of the seed's delays only these; NULL: all */
    unsigned n_defects;
    struct npu_defect defect[NPU_DEFECTS];
    const struct npu_changes *changes; /* NULL: none */
};

/* mem[] are the memories of mem.def, npu_mem_size() bytes each; the STAGE ones hold
 * the results of running commands, are not mapped, but belong to a snapshot. plan[] is
 * what the heads of the queues will do or do, from their checks to their ends; it follows
 * from the state, and npu_restored() makes it again. */
enum { NPU_SPARES = 4 };
struct npu_later {
    uint64_t ticket[NPU_PIPES];  /* the last job of a pipe's command */
    uint8_t *results[NPU_PIPES]; /* where those of the running one are, NULL: its stage */
    uint8_t *spare[NPU_SPARES];  /* stages of MTE2, if the host is ever `apart` */
    uint64_t until[NPU_SPARES];  /* job with which it is free again */
    uint8_t next;
};

struct npu {
    struct npu_state *s;
    const struct npu_host *host;
    void *ctx; /* first argument of every host function */
    uint8_t *mem[NPU_MAX_CORES][NPU_MEM_COUNT];
    struct plan plan[NPU_MAX_CORES][NPU_PIPES];
    uint32_t *l2; /* its tags, npu_l2_bytes(), lent too and part of a snapshot */
    struct npu_spill *spill; /* npu_spill_bytes() zeros, lent too, or NULL */
    uint8_t works; /* pipe whose command's data are at work now, 0: for who looks on */
    /* The work on local memories goes to other threads, as jobs. Set and cleared by the
     * host, to be cleared only with nothing left, and before anybody but the machine looks
     * at a local memory; `could` counts commands whose work could go there. */
    bool apart;
    uint32_t could;
    struct npu_later later[NPU_MAX_CORES];
    const uint8_t *offsets;      /* for npu_touch() while an end is told: see touch.c */
    const struct npu_only *only; /* the configuration's */
};

/* Bytes of the flat state. */
size_t npu_state_size(void);
/* Bytes of what endless queues hold. */
size_t npu_spill_bytes(unsigned cores);
/* Bytes of the tags of L2. */
size_t npu_l2_bytes(enum npu_profile profile);
/* Cold start. n->s, n->host, n->ctx, n->l2 and n->mem[0 .. cores-1][] must be set. */
void npu_init(struct npu *n, const struct npu_config *config);
/* Power-on reset at cycle `now`; the configuration stays, memories stay. */
void npu_reset(struct npu *n, uint64_t now);
/* After the state was replaced by a snapshot, at cycle `now`: makes the plans of what runs
 * or is checked, and drives every interrupt line.
 * False if the snapshot is of another configuration than `config`, of the future or
 * damaged (restore.c); then npu_init() is all that may follow. */
bool npu_restored(struct npu *n, const struct npu_config *config, uint64_t now);

/* Does everything that is due up to and including cycle `now`. */
void npu_advance(struct npu *n, uint64_t now);
/* First cycle at which npu_advance has something to do, or NPU_NEVER. */
uint64_t npu_next(const struct npu *n);

/* Bytes of a job; does it. ahead() gives the i-th job of its core behind it, from 1 on, if it
 * has been given already, else NULL. share may be NULL. */
struct npu_crew {
    void *(*ahead)(void *ctx, unsigned i);
    void *ctx;
    const struct share *share;
};
size_t npu_job_bytes(void);
void npu_job_do(void *job, const struct npu_crew *crew);
/* For a snapshot: all that has been given is done, the stages hold the results of what
 * runs, and are otherwise 0. */
void npu_settle(struct npu *n);

/* Tells which bytes the command at the head of a queue touches, those it reads first:
 * to be asked while the host hears of its NPU_BEGINS or NPU_ENDS, or of NPU_FAULTS for what
 * it reads. Exact, masks, tails
 * and what follows from data included; a byte may be told more than once. */
void npu_touch(const struct npu *n, unsigned core, unsigned pipe, touch_told *told,
               void *opaque);

/* Which bytes are undefined: 0 for a byte that is defined, FLOW_UNDEFINED
 * (ops/flow.h) for one that is not, where it lies in its memory, as aligned as that;
 * gm is byte gm_base. */
struct npu_shadow {
    uint8_t *mem[NPU_MEM_COUNT];
    uint8_t *gm;
    uint64_t *cmpmask; /* 128 bits: of the Vector's compare mask register, 1: undefined */
};

/* What the command at the head of a queue does to the shadows of its core, to be
 * asked while the host hears of its NPU_ENDS. Padding and constants are defined.
 * Moved bytes, elements and bits are exact, those of m x n go by rows and columns, sums
 * and the like by what is summed, sorting by the whole command. Undefined offsets and
 * indices are the caller's matter, who knows them by npu_guides(). */
void npu_flow(const struct npu *n, unsigned core, unsigned pipe,
              const struct npu_shadow *shadow);
/* Whether what that command reads by this access says where others are, or which of them
 * count. */
bool npu_guides(const struct npu *n, unsigned core, unsigned pipe,
                const struct access *a);

/* Number, as that of an event, of the command at the head of a queue, or of the next. */
uint64_t npu_head_number(const struct npu *n, unsigned core, unsigned pipe);

/* The cycle that belongs to each `now`, out of the hart's clock; the clock when a cycle
 * begins, at most INT64_MAX. */
uint64_t npu_cycle(const struct npu *n, uint64_t clock);
uint64_t npu_clock(const struct npu *n, uint64_t cycle);
/* With a seed the hart is slower than its clock says: by so many cycles, which npu_cycle()
 * adds. npu_slow_hart() is called before an access of the hart's. */
uint64_t npu_hart_late(const struct npu *n);
void npu_slow_hart(struct npu *n);

/* Register access of `size` bytes at `offset` of a core's register page (or of
 * NPU_CHIP's). Advances to `now` first. Never fails: a bad access raises the
 * core's fault as hal/contract/core.md says, and reads 0. npu_peek is for debuggers:
 * it changes nothing whatsoever, and a bad access just reads 0. */
uint64_t npu_peek(const struct npu *n, uint64_t now, unsigned core, uint32_t offset,
                  unsigned size);
uint64_t npu_read(struct npu *n, uint64_t now, unsigned core, uint32_t offset,
                  unsigned size);
void npu_write(struct npu *n, uint64_t now, unsigned core, uint32_t offset,
               uint64_t value, unsigned size);

#endif
