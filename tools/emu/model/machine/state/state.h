/* SPDX-License-Identifier: MIT
 *
 * The flat state of the machine.
 *
 * Invariant: struct npu_state holds no pointer and nothing that could be derived
 * from the host, so two runs with the same pushes at the same cycles are equal byte
 * for byte, whatever the host.
 */
#ifndef TOOLS_EMU_MODEL_MACHINE_STATE_STATE_H
#define TOOLS_EMU_MODEL_MACHINE_STATE_STATE_H

#include "tools/emu/model/npu.h"
#include "tools/emu/model/ops/op.h"

/* A running command's use of shared bandwidth; rates in 1/256 byte a cycle. */
struct npu_flow {
    uint8_t pools;         /* POOL_* that it draws from, 0: none */
    uint32_t own;          /* rate without anybody else */
    uint32_t rate;         /* rate now */
    uint32_t fixed;        /* cycles after the last byte of work */
    uint32_t hbm;          /* bytes that HBM moves for 256 bytes of work */
    uint32_t hits, misses; /* lines, see l2.h */
    uint32_t late;         /* bytes that were not in L2 */
    uint8_t same_line;     /* another core was in the line in which it begins */
    uint64_t left;         /* work in 1/256 byte at cycle `updated` */
    uint64_t updated;
};

/* The hart, when it pushed a command: told in events and nowhere else, if the command has
 * no pc of its own, or 0; the cycle in which its core's scalar unit had the command. */
struct npu_from {
    uint64_t pc, ra, scalar;
};

/* hart.c: cycle `cycle` began with the hart's clock at `clock`, and `share` of the clock are
 * a cycle; the hart works for core `of` - 1, or for none, since its clock was `since`. */
struct npu_hart {
    uint64_t clock, cycle, since;
    uint32_t share, of;
};

struct npu_pipe {
    uint8_t state; /* enum pipe_state */
    uint8_t head, count;
    uint8_t checked;   /* the head has passed its checks */
    uint8_t for_units; /* it waits for marks of L0C */
    uint8_t ahead; /* its core's scalar unit has not come to it: it counts for nothing */
    uint16_t arm;
    uint16_t ended;              /* opcode of the last command that ended, or 0 */
    uint64_t special[SPECIALS];  /* what SET_ commands of this queue have set */
    uint64_t since;              /* cycle up to which the PMU counts are complete */
    uint64_t head_since;         /* cycle from which the head has been the head */
    uint64_t begin, end;         /* of the running command, or of the last one */
    uint64_t nominal;            /* end if nothing were shared */
    uint64_t pushed[PIPE_DEPTH]; /* cycle at which a command was queued */
    uint64_t hold;   /* perturb.c: cycle before which the head may not take, or 0 */
    uint64_t serial; /* number of the head; no two commands since power-on share one */
    uint8_t tries;   /* of the head to take */
    struct npu_flow flow;
    struct npu_fault fault;
    uint64_t counter[PMU_COUNTERS];
    union cmd queue[PIPE_DEPTH];
    struct npu_from from[PIPE_DEPTH];
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
    uint16_t pmu_select[ROW_PMU_SELECT];
    uint64_t alarm;                    /* cycle, 0: never */
    uint64_t unit_mark[ROW_UNIT_MARK]; /* a bit for each unit of L0C */
    uint64_t unit_at;                  /* cycle at which FIX looks again, 0: never */
    uint64_t pmu_first, pmu_last;      /* NPU_NEVER: nothing began yet */
    uint64_t line_due;                 /* perturb.c: when a held line rises, or 0 */
    uint64_t line_rises;               /* times that it was to rise */
    uint64_t scalar; /* hart.c: cycle to which its scalar unit has come */
    uint64_t start;  /* perturb.c: cycle before which no command takes, or past */
    uint64_t starts; /* times that it was idle and got something to do */
    uint64_t next;   /* when something is due: an end, a held begin, a held line */
};

struct npu_state {
    uint64_t magic;
    uint32_t cores, profile;
    uint64_t gm_base, gm_size;
    uint64_t seed;
    uint64_t only; /* perturb.c: which of its delays there are, 0: all */
    uint64_t hart_late, hart_accesses; /* perturb.c */
    struct npu_hart hart;
    uint64_t now;
    uint64_t flow_next; /* cycle at which shared rates change, or NPU_NEVER */
    uint64_t l2_lines;  /* that are in L2 */
    uint64_t posts;     /* of commands, counted if there are defects */
    uint32_t timing;    /* enum npu_timing */
    uint32_t n_defects;
    struct npu_defect defect[NPU_DEFECTS];
    uint32_t cost[COST_COUNT]; /* of the profile, or what a run takes for them */
    uint8_t free_hart, free_banks, endless;
    uint8_t sem[SEM_CHIP];
    uint64_t barrier[ROW_CHIP_BARRIER]; /* the registers */
    struct npu_core core[NPU_MAX_CORES];
};

static inline uint32_t cost(const struct npu_state *s, enum npu_cost c)
{
    return s->cost[c];
}

/* Something of it will still end or begin without anybody's help. */
static inline bool pipe_in_flight(const struct npu_pipe *p)
{
    return p->state == PIPE_RUNNING || p->hold != 0;
}

static inline const union cmd *pipe_head(const struct npu_pipe *p)
{
    return &p->queue[p->head];
}

#endif
