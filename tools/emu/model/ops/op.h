/* SPDX-License-Identifier: MIT
 *
 * The seam between the machine and the operations: what a command touches, costs and
 * does. An operation sees the command, the special registers of its pipe and the profile,
 * and nothing else of the machine: no queue, no semaphore, no other pipe, no time.
 */
#ifndef TOOLS_EMU_MODEL_OPS_OP_H
#define TOOLS_EMU_MODEL_OPS_OP_H

#include "tools/emu/model/plan.h"
#include "tools/emu/model/share.h"

struct npu_fault {
    uint16_t code; /* enum npu_error */
    uint16_t opcode;
    uint8_t field; /* offset in the command */
    uint32_t tag;
    uint64_t addr, value, pc;
};

/* Special registers, each pipe its own; 0 after a reset unless op_reset_special says
 * otherwise. */
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

/* What an operation is given and what it fills. */
struct op_ctx {
    const union cmd *cmd;
    enum npu_profile profile;
    const uint32_t *cost; /* [COST_COUNT] */
    bool free_banks;
    uint64_t *special; /* [SPECIALS]; run() may change what SET_ commands change */
    struct plan *plan; /* plan() fills it, all 0 but a rate of 1; then it stays */
    struct npu_fault *fault;
    const uint8_t *src[4];     /* run(): where plan->src[i].base lies */
    uint8_t *stage;            /* run() leaves the destination's rows there, packed */
    uint8_t *to;               /* store(): where plan->dst.base lies */
    const struct share *share; /* run(): with whom it may share its work, or NULL */
};

/* plan(): checks beyond those of the contract's tables, accesses and cost; 0 or
 * op_fail(). run(): arithmetic. What it finds wrong in the data it puts into c->fault:
 * then the command has no effect. It leaves c->plan alone: a snapshot does not hold it. */
struct operation {
    unsigned (*plan)(const struct op_ctx *c);
    void (*run)(const struct op_ctx *c);
    /* How the stage gets to c->to; NULL: every row whole. */
    void (*store)(const struct op_ctx *c);
    /* Which bytes it touches, behind run(); NULL: those of the accesses of the plan. */
    void (*touch)(const struct op_ctx *c, const struct touch *t);
    /* How undefined bytes travel (flow.h); NULL: it writes no memory. */
    void (*flow)(const struct op_ctx *c);
    bool decides;    /* run() looks at data for more than results: faults, registers */
    uint8_t offsets; /* 1 + the source that says where others are; 0: none does */
};

const struct operation *op_find(unsigned opcode);
/* Special registers as a reset of the pipe leaves them. */
void op_reset_special(uint64_t special[SPECIALS]);
/* Tells the accesses of the plan. */
void op_touch(const struct op_ctx *c, const struct touch *t);
/* What it does to its destination: an atomic one combines. */
enum touch_kind op_stores(const struct op_ctx *c);
/* Copies the packed rows of the stage to where they belong. */
void op_store_rows(uint8_t *to, const uint8_t *stage, const struct access *a);

/* Names the operand that breaks a rule. */
static inline unsigned op_fail(const struct op_ctx *c, size_t field, unsigned code)
{
    c->fault->field = (uint8_t)field;
    return code;
}

/* plan() of a command that touches no memory: one cycle. */
static inline unsigned op_set_plan(const struct op_ctx *c)
{
    c->plan->fixed = 1;
    return 0;
}

static inline uint32_t op_cost(const struct op_ctx *c, enum npu_cost cost)
{
    return c->cost[cost];
}

static inline uint32_t op_mem_size(const struct op_ctx *c, enum npu_mem mem)
{
    return npu_mem_size(c->profile, mem);
}

static inline uint64_t div_up(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

#endif
