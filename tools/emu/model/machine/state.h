/* SPDX-License-Identifier: MIT
 *
 * What the parts of the model share: the flat state, the description of what a
 * command touches and costs, and the functions of the event loop. Only files in
 * tools/emu/model/ include it.
 *
 * Invariant: struct npu_state holds no pointer and nothing that could be derived
 * from the host, so two runs with the same pushes at the same cycles are equal byte
 * for byte, whatever the host.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_STATE_H
#define TOOLS_EMU_MODEL_MACHINE_STATE_H

#include "tools/emu/model/npu.h"

/* In the order of their registers, 8 bytes apart from PMU_BUSY. */
#define PMU_COUNTERS       10
#define PMU_INDEX(counter) (((counter)-PMU_BUSY) / 8)

struct npu_fault {
    uint16_t code; /* enum npu_error */
    uint16_t opcode;
    uint8_t field; /* offset in the command */
    uint32_t tag;
    uint64_t addr, value, pc;
};

/* A running command's use of shared bandwidth; rates in 1/256 byte a cycle. */
struct npu_flow {
    uint8_t pools;  /* POOL_* that it draws from, 0: none */
    uint32_t own;   /* rate without anybody else */
    uint32_t rate;  /* rate now */
    uint32_t fixed; /* cycles after the last byte of work */
    uint64_t left;  /* work in 1/256 byte at cycle `updated` */
    uint64_t updated;
};

/* Special registers, each pipe its own; 0 after a reset unless pipe_reset says otherwise.
 */
enum {
    SPECIAL_MASK_LO, /* V: bits of a repeat, or the number of elements */
    SPECIAL_MASK_HI,
    SPECIAL_MASK_COUNTER, /* V: which of the two */
    SPECIAL_ATOMIC,       /* MTE3, FIX: operation, type in bits 15:8 */
    SPECIAL_PAD,          /* MTE2, MTE1: padding value, low bits as wide as the element */
    SPECIAL_QUANT,        /* FIX: quantisation word */
    SPECIAL_RELU,         /* FIX: slope in bits 31:0, limit in bits 63:32, fp32 */
    SPECIAL_CMPMASK_LO,   /* V: the compare mask register */
    SPECIAL_CMPMASK_HI,
    SPECIAL_KEPT,   /* V: elements that the last VREDUCEV2 kept */
    SPECIAL_MERGED, /* V: pairs that the last VMRGSORT took, 16 bits a list */
    SPECIAL_VA_DST, /* V: 16 block addresses, 16 bits each */
    SPECIAL_VA_SRC = SPECIAL_VA_DST + 4,
    SPECIAL_SATURATE = SPECIAL_VA_SRC + 4, /* M, V, FIX: SET_CTRL_SATURATE or 0 */
    SPECIAL_DEQ_SCALE,                     /* V: fp16 */
    SPECIAL_DEQ_WORD,                      /* V: fields DEQ_ */
    SPECIAL_LOAD3D_STRIDE,                 /* MTE1: operands of SET_LOAD3D_REPEAT */
    SPECIAL_LOAD3D_TIMES,
    SPECIAL_LOAD3D_ALONG_K,
    SPECIAL_LOAD3D_BOUNDARY, /* MTE1: bytes, a multiple of 32; 0: none */
    SPECIALS = 32,
};

struct npu_pipe {
    uint8_t state; /* enum pipe_state */
    uint8_t head, count;
    uint8_t checked;   /* the head has passed its checks */
    uint8_t for_units; /* it waits for marks of L0C */
    uint16_t arm;
    uint16_t ended;             /* opcode of the last command that ended, or 0 */
    uint64_t special[SPECIALS]; /* what SET_ commands of this queue have set */
    uint64_t since;             /* cycle up to which the PMU counts are complete */
    uint64_t head_since;        /* cycle from which the head has been the head */
    uint64_t begin, end;        /* of the running command, or of the last one */
    uint64_t nominal;           /* end if nothing were shared */
    uint64_t hold;   /* perturb.c: cycle before which the head may not take, or 0 */
    uint64_t serial; /* number of the head; no two commands since power-on share one */
    uint8_t tries;   /* of the head to take */
    struct npu_flow flow;
    struct npu_fault fault;
    uint64_t counter[PMU_COUNTERS];
    union cmd queue[PIPE_DEPTH];
};

struct npu_core {
    struct npu_pipe pipe[NPU_PIPES];
    uint8_t sem[SEM_CORE];
    uint8_t arm[SEM_COUNT];
    uint64_t armed[SEM_COUNT / 64]; /* bit set: arm[] is not 0 */
    uint8_t taken;
    uint8_t irq_enable, irq_level;
    struct npu_fault fault; /* of a register access; addr is the offset */
    uint8_t fault_size, fault_write;
    uint16_t pmu_select[8];
    uint64_t alarm;                    /* cycle, 0: never */
    uint64_t unit_mark[ROW_UNIT_MARK]; /* a bit for each unit of L0C */
    uint64_t unit_at;                  /* cycle at which FIX looks again, 0: never */
    uint64_t pmu_first, pmu_last;      /* NPU_NEVER: nothing began yet */
    uint64_t line_due;                 /* perturb.c: when a held line rises, or 0 */
    uint64_t line_rises;               /* times that it was to rise */
    uint64_t next; /* when something is due: an end, a held begin, a held line */
};

struct npu_state {
    uint64_t magic;
    uint32_t cores, profile;
    uint64_t gm_base, gm_size;
    uint64_t seed;
    uint64_t now;
    uint64_t flow_next; /* cycle at which shared rates change, or NPU_NEVER */
    uint8_t sem[SEM_CHIP];
    uint64_t barrier[ROW_CHIP_BARRIER]; /* the registers */
    struct npu_core core[NPU_MAX_CORES];
};

enum { POOL_READ = 1, POOL_WRITE = 2 };

/* What a command will do, worked out before it touches anything. */
struct plan {
    struct access src[4], dst;
    struct access also; /* a second, local, destination; its rows follow in the stage */
    uint8_t n_src;
    bool has_dst;
    bool in_order; /* rows of dst may overlap: the last one stays */
    uint8_t pools;
    uint32_t fixed;            /* cycles */
    uint64_t work;             /* bytes, or cycles with rate 1 */
    uint32_t rate;             /* per cycle */
    uint64_t ops;              /* for the PMU */
    uint64_t bank_group, bank; /* cycles of `work` that conflicts in UB cost */
    uint64_t at_least;         /* cycles that the work takes however fast it could go */
    uint64_t stage_bytes;      /* that run() fills, 0: those of dst and also */
};

/* What an operation sees of the machine. */
struct op_ctx {
    const struct npu_state *s;
    struct npu_pipe *pipe;
    uint16_t behind; /* opcode of the command that ended in this cycle, or 0 */
};

/* An operation: checks beyond the table's and cost in plan(), arithmetic in run().
 * plan() returns 0 or an enum npu_error and sets *field. run() reads src[] (where
 * plan->src[i].base lies) and leaves the destination's rows, packed, in stage. What it
 * finds wrong in the data it puts into c->pipe->fault: then the command has no effect. */
struct operation {
    unsigned (*plan)(const struct op_ctx *c, const union cmd *cmd, struct plan *plan,
                     uint8_t *field);
    void (*run)(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                const uint8_t *const src[4], uint8_t *stage);
    /* How the stage gets to `to`, where plan->dst.base lies; NULL: every row whole. */
    void (*store)(const struct op_ctx *c, const union cmd *cmd, const struct plan *plan,
                  uint8_t *to, const uint8_t *stage);
};

/* ops.c */
const struct operation *operation_find(unsigned opcode);

static inline uint32_t cost(const struct npu_state *s, enum npu_cost c)
{
    return npu_profile_cost((enum npu_profile)s->profile, c);
}

/* Something of it will still end or begin without anybody's help. */
static inline bool pipe_in_flight(const struct npu_pipe *p)
{
    return p->state == PIPE_RUNNING || p->hold != 0;
}

static inline uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* Rows at one stride; merged into one where they lie side by side. */
static inline struct access access_rows(unsigned mem, size_t field, uint64_t base,
                                        uint64_t row_bytes, uint32_t n, uint64_t stride)
{
    bool dense = row_bytes == stride && row_bytes * n <= UINT32_MAX;

    return (struct access){.mem = (uint8_t)mem,
                           .field = (uint8_t)field,
                           .row_bytes = (uint32_t)(dense ? row_bytes * n : row_bytes),
                           .n = {dense ? n != 0 : n, 1, 1},
                           .base = base,
                           .stride = {stride, 0, 0}};
}

static inline uint64_t access_bytes(const struct access *a)
{
    return (uint64_t)a->row_bytes * a->n[0] * a->n[1] * a->n[2];
}

/* Bytes from the first to behind the last that the access touches. */
static inline uint64_t access_extent(const struct access *a)
{
    uint64_t extent = a->row_bytes;

    if (access_bytes(a) == 0) {
        return 0;
    }
    for (unsigned i = 0; i < ACCESS_LEVELS; i++) {
        extent += (a->n[i] - 1) * a->stride[i];
    }
    return extent;
}

/* npu.c */
void npu_kick(struct npu *n, uint32_t cores);
void npu_update_next(struct npu_core *core);
void npu_update_irq(struct npu *n, unsigned core);
uint64_t npu_irq_status(const struct npu *n, unsigned core);
uint64_t npu_sem_ready(const struct npu *n, unsigned core, unsigned word);

/* unit.c: marks of the units of L0C. */
unsigned unit_mode(const union cmd *cmd);
/* Whether the marks let the head of M or FIX begin; if not yet, when to look again. */
bool unit_ready(struct npu *n, unsigned core, unsigned pipe, const union cmd *cmd,
                const struct plan *plan);
/* Whether a command without unit flag leaves marked units alone. */
bool unit_legal(const struct npu *n, unsigned core, unsigned pipe, const union cmd *cmd,
                const struct plan *plan, struct npu_fault *fault);
/* A command begins, ends: what it does to the marks, and how long it takes at least. */
void unit_begin(struct npu *n, unsigned core, unsigned pipe, const union cmd *cmd,
                struct plan *plan);
void unit_end(struct npu *n, unsigned core, unsigned pipe, const union cmd *cmd,
              const struct plan *plan);
void unit_reset(struct npu *n, unsigned core, unsigned pipe);

/* perturb.c: all of them do nothing without a seed. */
/* True while a head that could take its semaphores is held back; sets p->hold. ready: its
 * units of L0C let it begin. */
bool perturb_hold(struct npu *n, unsigned core, unsigned pipe, bool ready);
/* Cycles by which the command that begins now ends later. */
uint32_t perturb_end(const struct npu *n, unsigned core, unsigned pipe);
/* True while the core's line, which is low, is kept from rising; rise: it is to be high.
 */
bool perturb_line(struct npu *n, unsigned core, bool rise);
/* Who comes first in this cycle: core `core`, and of each core the pipe `pipe`; the
 * others follow in a ring, and by exclusive or. */
struct order {
    unsigned core, pipe;
};
struct order perturb_order(const struct npu_state *s);

/* sem.c */
uint8_t sem_value(const struct npu *n, unsigned core, unsigned sem);
bool sem_post(struct npu *n, unsigned core, unsigned sem, unsigned count);
/* What the barrier units do about a semaphore of the chip that has changed, or whose unit
 * has. May touch every core: npu_kick all. */
void barrier_run(struct npu *n, unsigned sem);
/* Whether a take would succeed. */
bool sem_has(const struct npu *n, unsigned core, const uint8_t *sems,
             const uint8_t *counts, unsigned length);
bool sem_take(struct npu *n, unsigned core, const uint8_t *sems, const uint8_t *counts,
              unsigned length);

/* regs.c: keeps the core's first fault; npu_update_irq must follow. */
void core_fail(struct npu *n, unsigned core, unsigned code, uint32_t offset,
               uint64_t value, unsigned size, bool write);

/* pipe.c */
/* Where the results of a pipe's running command are kept. */
enum npu_mem pipe_stage(unsigned pipe);
void pipe_reset(struct npu *n, unsigned core, unsigned pipe, uint64_t now);
void pipe_push(struct npu *n, unsigned core, unsigned pipe, uint64_t value);
/* Whether a snapshot's pipe can go on: what has passed the checks still does. */
bool pipe_valid(struct npu *n, unsigned core, unsigned pipe);
/* What the head of a pipe will do; 0 or the error that it breaks. */
unsigned pipe_plan(struct npu *n, unsigned core, unsigned pipe,
                   const struct operation *op, struct plan *plan,
                   struct npu_fault *fault);
/* Begins the head if it may. */
void pipe_start(struct npu *n, unsigned core, unsigned pipe);
/* Ends the running command; true if it posted to a semaphore of the chip. */
bool pipe_finish(struct npu *n, unsigned core, unsigned pipe);
void pipe_account(struct npu_pipe *p, uint64_t now);
uint64_t pipe_counter(const struct npu_pipe *p, unsigned index, uint64_t now);
void store_rows(uint8_t *to, const uint8_t *stage, const struct access *a);

/* check.c: the rules of the tables and the extents; 0 or an enum npu_error. */
unsigned check_command(const struct npu *n, unsigned pipe, const union cmd *cmd,
                       struct npu_fault *f);
unsigned check_plan(const struct npu *n, unsigned pipe, const union cmd *cmd,
                    const struct plan *plan, struct npu_fault *f);

/* flow.c */
void flow_begin(struct npu *n, struct npu_pipe *p, const struct plan *plan);
void flow_update(struct npu *n);

#endif
