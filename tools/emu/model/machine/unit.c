/* SPDX-License-Identifier: MIT
 *
 * Marks of the units of L0C, by which the fixpipe follows the Cube without a semaphore:
 * the last MMAD of a tile marks its units, the fixpipe takes them. The marks are set when
 * that MMAD begins; until it ends unit_time() says from when on each of them counts, so a
 * fixpipe command can begin while the Cube is still at work and end soon after it.
 * Source: hal/contract/cube.md, "Unit flags".
 */
#include "tools/emu/model/machine/unit.h"

#include "tools/emu/model/machine/later.h"
#include "tools/emu/model/mem.h"

enum { WORDS = ROW_UNIT_MARK };

unsigned unit_mode(const union cmd *cmd)
{
    switch (cmd->head.opcode) {
    case OP_MMAD:
    case OP_MMAD_SPARSE:
        return cmd->mmad.unit;
    case OP_FIX_L0C_GM:
    case OP_FIX_L0C_UB:
    case OP_FIX_L0C_L1:
        return cmd->fix_gm.unit;
    default:
        return UNIT_NONE;
    }
}

/* Adds the units of a range of L0C. */
static bool add_units(void *ctx, uint64_t first, uint64_t bytes)
{
    uint64_t *set = ctx, last = (first + bytes - 1) / UNIT_BYTES;

    for (uint64_t u = first / UNIT_BYTES; u <= last; u++) {
        set[u / 64] |= 1ull << u % 64;
    }
    return true;
}

bool unit_set(const struct npu *n, unsigned core, unsigned pipe, uint64_t set[WORDS])
{
    const struct plan *plan = &n->plan[core][pipe];
    struct access a = plan->src[0];

    memset(set, 0, WORDS * sizeof(set[0]));
    if (pipe == PIPE_M && plan->has_dst) {
        const struct cmd_mmad *c = &pipe_head(&n->s->core[core].pipe[pipe])->mmad;
        /* 8 rows of 64 bytes in a unit */
        a = access_rows(NPU_MEM_L0C, 0, c->dst, UNIT_BYTES * div_up(c->m, 8),
                        (uint32_t)div_up(c->n, 16), 1024 * div_up(c->m, 16));
    }
    if (a.mem != NPU_MEM_L0C || access_bytes(&a) == 0) {
        return false;
    }
    return access_each(&a, add_units, set);
}

static bool subset(const uint64_t set[WORDS], const uint64_t of[WORDS])
{
    uint64_t outside = 0;

    for (unsigned w = 0; w < WORDS; w++) {
        outside |= set[w] & ~of[w];
    }
    return outside == 0;
}

/* The lowest unit of both sets; WORDS * 64 if there is none. */
static unsigned lowest(const uint64_t a[WORDS], const uint64_t b[WORDS])
{
    for (unsigned w = 0; w < WORDS; w++) {
        if (a[w] & b[w]) {
            return w * 64 + (unsigned)__builtin_ctzll(a[w] & b[w]);
        }
    }
    return WORDS * 64;
}

/* The plan of the MMAD that is writing some of these units for the fixpipe, or NULL. */
static const struct plan *passing(const struct npu *n, unsigned core,
                                  const uint64_t set[WORDS])
{
    const struct npu_pipe *m = &n->s->core[core].pipe[PIPE_M];
    uint64_t written[WORDS];
    bool some;

    if (m->state != PIPE_RUNNING || unit_mode(pipe_head(m)) != UNIT_PASS) {
        return NULL;
    }
    some = unit_set(n, core, PIPE_M, written) && lowest(set, written) != WORDS * 64;
    return some ? &n->plan[core][PIPE_M] : NULL;
}

/* Cycle in which the running MMAD has written a unit: one after the other, the last when
 * it ends. A unit of another command has been there all the time. */
static uint64_t unit_time(const struct npu *n, unsigned core, const struct plan *mmad,
                          unsigned unit)
{
    uint64_t first = mmad->dst.base / UNIT_BYTES;
    uint64_t units = access_bytes(&mmad->dst) / UNIT_BYTES;
    uint64_t end = n->s->core[core].pipe[PIPE_M].end;

    if (unit < first || unit >= first + units) {
        return n->s->now;
    }
    return end - (units - 1 - (unit - first)) * mmad->work / units;
}

bool unit_ready(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    const struct plan *mmad;
    uint64_t set[WORDS], at;

    unit_set(n, core, pipe, set);
    if (pipe == PIPE_M) {
        return lowest(set, c->unit_mark) == WORDS * 64;
    }
    if (!subset(set, c->unit_mark)) {
        return false;
    }
    mmad = passing(n, core, set);
    if (!mmad) {
        return true;
    }
    at = unit_time(n, core, mmad, lowest(set, set));
    c->unit_at = at > n->s->now ? at : 0;
    return at <= n->s->now;
}

bool unit_legal(const struct npu *n, unsigned core, unsigned pipe,
                struct npu_fault *fault)
{
    const struct npu_core *c = &n->s->core[core];
    const uint64_t *mark = c->unit_mark;
    uint64_t set[WORDS];

    if ((pipe != PIPE_M && pipe != PIPE_FIX) ||
        unit_mode(pipe_head(&c->pipe[pipe])) != UNIT_NONE ||
        lowest(mark, mark) == WORDS * 64) {
        return true;
    }
    if (!unit_set(n, core, pipe, set) || lowest(set, mark) == WORDS * 64) {
        return true;
    }
    fault->value = UNIT_NONE;
    fault->code = NPU_ERR_UNIT;
    fault->field = pipe == PIPE_M ? offsetof(struct cmd_mmad, unit)
                                  : offsetof(struct cmd_fix_gm, unit);
    fault->addr = lowest(set, mark) * (uint64_t)UNIT_BYTES;
    return false;
}

/* Cycles from now until all is read: no unit before it is written, and each takes its
 * share of the work. */
static uint64_t follow(const struct npu *n, unsigned core, const struct plan *mmad,
                       const struct plan *plan, const uint64_t set[WORDS])
{
    uint64_t longest = 0, count = 0, left;

    for (unsigned w = 0; w < WORDS; w++) {
        count += (unsigned)__builtin_popcountll(set[w]);
    }
    left = count;
    for (unsigned w = 0; w < WORDS; w++) {
        for (uint64_t bits = set[w]; bits; bits &= bits - 1, left--) {
            unsigned unit = w * 64 + (unsigned)__builtin_ctzll(bits);
            uint64_t at = unit_time(n, core, mmad, unit);
            uint64_t wait = at > n->s->now ? at - n->s->now : 0;
            uint64_t rest = div_up(plan->work * left, count * plan->rate);
            longest = wait + rest > longest ? wait + rest : longest;
        }
    }
    return longest;
}

/* Results of the running MMAD go to L0C, where the fixpipe is about to read them. */
static void write_early(struct npu *n, unsigned core, const struct plan *mmad)
{
    struct npu_fault ignored;
    struct op_ctx c = pipe_context(n, core, PIPE_M, &ignored);

    c.to = n->mem[core][NPU_MEM_L0C] + mmad->dst.base;
    later_store(n, core, PIPE_M, &c, NULL);
    if (n->host->mem_dirty) {
        n->host->mem_dirty(n->ctx, core, NPU_MEM_L0C, (uint32_t)mmad->dst.base,
                           (uint32_t)access_bytes(&mmad->dst));
    }
}

void unit_begin(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    struct plan *plan = &n->plan[core][pipe];
    unsigned mode = unit_mode(pipe_head(&c->pipe[pipe]));
    const struct plan *mmad;
    uint64_t set[WORDS];

    if (mode == UNIT_NONE || !unit_set(n, core, pipe, set)) {
        return;
    }
    if (pipe == PIPE_M) {
        for (unsigned w = 0; w < WORDS && mode == UNIT_PASS; w++) {
            c->unit_mark[w] |= set[w];
        }
        return;
    }
    c->unit_at = 0;
    mmad = passing(n, core, set);
    if (mmad) {
        write_early(n, core, mmad);
        uint64_t least = follow(n, core, mmad, plan, set);
        plan->at_least = least > plan->at_least ? least : plan->at_least;
    }
}

void unit_end(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];
    uint64_t set[WORDS];

    if (pipe != PIPE_FIX || unit_mode(pipe_head(&c->pipe[pipe])) != UNIT_PASS) {
        return;
    }
    unit_set(n, core, pipe, set);
    for (unsigned w = 0; w < WORDS; w++) {
        c->unit_mark[w] &= ~set[w];
    }
}

void unit_reset(struct npu *n, unsigned core, unsigned pipe)
{
    struct npu_core *c = &n->s->core[core];

    if (pipe == PIPE_M || pipe == PIPE_FIX) {
        memset(c->unit_mark, 0, sizeof(c->unit_mark));
        c->unit_at = 0;
    }
}
