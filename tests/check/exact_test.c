/* SPDX-License-Identifier: MIT
 *
 * What it is good for that npu_touch() is exact: for each way in which an operation names
 * its bytes a command and a store of the hart's beside it, to a byte that the command does
 * not touch but that the accesses of its plan have, or the other way round. The race check
 * is right on it by npu_touch(), and wrong by the plan.
 */
#include <string.h>

#include "tests/check/host.h"
#include "tests/host/data.h"
#include "tests/model/machine/touch.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/check/race/stream.h"
#include "tools/emu/model/ops/op.h"

enum { MEMORIES = NPU_MEM_COUNT + 1, TRIES = 400 }; /* GM last */

/* Bytes that are told to be touched, by npu_touch() and by the plan: 0, or 1 and the operand
 * that has them. */
static uint8_t exact[MEMORIES][TOUCH_WINDOW], planned[MEMORIES][TOUCH_WINDOW];
static unsigned opcode; /* of the command that is looked at */
static struct race *by_touch, *by_plan;

/* --- which bytes --- */

struct noting {
    uint8_t (*to)[TOUCH_WINDOW];
    unsigned mem, operand;
};

static bool note_range(void *ctx, uint64_t first, uint64_t bytes)
{
    const struct noting *n = ctx;

    for (uint64_t i = first; i < first + bytes && i < TOUCH_WINDOW; i++) {
        n->to[n->mem][i] = (uint8_t)(1 + n->operand);
    }
    return true;
}

static void note(void *to, const struct access *a, enum touch_kind kind)
{
    struct noting n = {to, a->mem, a->field};
    struct access local = *a;

    (void)kind;
    if (a->mem == NPU_MEM_GM) {
        n.mem = NPU_MEM_COUNT;
        local.base -= RIG_GM_BASE;
    }
    access_each(&local, note_range, &n);
}

/* The accesses of the plan, those that are read first. */
static void each_planned(const struct npu_event *e, touch_told *told, void *opaque)
{
    const struct touch t = {told, opaque};

    for (unsigned i = 0; i < e->n_src; i++) {
        touch_access(&t, e->src[i], TOUCH_READS);
    }
    if (e->dst) {
        touch_access(&t, *e->dst, TOUCH_WRITES);
    }
    if (e->also) {
        touch_access(&t, *e->also, TOUCH_WRITES);
    }
}

/* --- the two checks --- */

static bool tell_range(void *ctx, uint64_t first, uint64_t bytes)
{
    race_range(ctx, first, bytes);
    return true;
}

static void tell_planned(void *race, const struct access *a, enum touch_kind kind)
{
    struct race_operand o = {.kind = kind == TOUCH_READS ? ACCESS_READ : ACCESS_WRITE,
                             .mem = a->mem};

    race_operand(race, 0, pipe_of(&(union cmd){.head.opcode = (uint16_t)opcode}), &o);
    access_each(a, tell_range, race);
}

static void hear(void *ctx, const struct npu_event *e)
{
    bool ends = e->what == NPU_ENDS && e->cmd->head.opcode == opcode;

    (void)ctx;
    if (ends) {
        memset(exact, 0, sizeof(exact));
        memset(planned, 0, sizeof(planned));
        npu_touch(&rig.npu, 0, e->pipe, note, exact);
        each_planned(e, note, planned);
    }
    if (!by_touch) {
        return;
    }
    race_event(by_touch, e);
    if (e->what == NPU_PUSHED) {
        race_push(by_plan, 0, e->pipe, &(struct race_site){.pc = 1});
    } else if (e->what == NPU_BEGINS) {
        race_begin(by_plan, 0, e->pipe, e->now);
    } else if (e->what == NPU_ENDS) {
        race_end(by_plan, 0, e->pipe, e->now);
        if (ends) {
            each_planned(e, tell_planned, by_plan);
        }
    }
}

static void count(void *ctx, const struct race_pair *pair)
{
    (void)pair;
    ++*(unsigned *)ctx;
}

static struct race *open_race(unsigned *found)
{
    struct race_report report = {.found = count, .ctx = found};
    struct race_config config = {.cores = 1,
                                 .profile = PROFILE_a2,
                                 .gm_base = RIG_GM_BASE,
                                 .gm_bytes = RIG_GM_BYTES};

    return race_new(&test_host, &config, &report);
}

/* --- a twin --- */

/* False: the command is refused. store: what the hart does beside it, or NULL: then offsets
 * and the like are made. */
static bool run_program(const struct touch_program *p,
                        const struct race_hart_access *store)
{
    static uint8_t ub[COST_MAX_UB_BYTES], index[COST_MAX_L1_BYTES];
    uint8_t *const *at = rig.npu.mem[0];
    enum pipe pipe = pipe_of(&p->cmd);

    rig_write(&rig, 0, CORE_CTRL, CORE_CTRL_RESET);
    if (!store) {
        touch_data(&p->cmd, ub, index);
    }
    memcpy(at[NPU_MEM_UB], ub, npu_mem_size(PROFILE_a2, NPU_MEM_UB));
    memcpy(at[NPU_MEM_L0B_INDEX], index, npu_mem_size(PROFILE_a2, NPU_MEM_L0B_INDEX));
    opcode = p->cmd.head.opcode;
    for (unsigned i = 0; i < p->n_set; i++) {
        rig_push(&rig, 0, pipe, &p->set[i]);
        rig_drain(&rig);
    }
    rig_push(&rig, 0, pipe, &p->cmd);
    if (store) {
        race_hart(by_touch, store);
        race_hart(by_plan, store);
    }
    rig_drain(&rig);
    return rig_error(&rig, 0, pipe) == 0;
}

/* A byte that one of the two has and the other has not. */
static bool finds_byte(struct race_hart_access *at)
{
    for (unsigned m = 0; m < MEMORIES; m++) {
        for (unsigned i = 0; i < TOUCH_WINDOW; i++) {
            if (!exact[m][i] != !planned[m][i]) {
                *at =
                    (struct race_hart_access){.mem = m == NPU_MEM_COUNT ? NPU_MEM_GM : m,
                                              .bytes = 1,
                                              .write = true};
                at->first = i + (m == NPU_MEM_COUNT ? RIG_GM_BASE : 0u);
                return true;
            }
        }
    }
    return false;
}

/* Whether the plan and the exact bytes tell apart whether there is a race, and rightly. */
static bool tells_apart(const struct touch_program *p, const struct race_hart_access *at)
{
    unsigned found[2] = {0}, m = at->mem == NPU_MEM_GM ? NPU_MEM_COUNT : at->mem;
    bool is_race = exact[m][at->mem == NPU_MEM_GM ? at->first - RIG_GM_BASE : at->first];

    by_touch = open_race(&found[0]);
    by_plan = open_race(&found[1]);
    run_program(p, at);
    race_free(by_touch);
    race_free(by_plan);
    by_touch = by_plan = NULL;
    return (found[0] > 0) == is_race && (found[1] > 0) != is_race;
}

/* What of the mask the program sets, as part of a name. */
static const char *masked(const struct touch_program *p)
{
    for (unsigned i = 0; i < p->n_set; i++) {
        if (p->set[i].head.opcode == OP_SET_MASK) {
            return p->set[i].head.flags & SET_MASK_COUNTER ? "_of_a_count" : "_masked";
        }
    }
    return "";
}

/* --- all of them --- */

/* A way of naming bytes, and the first opcode that has it. */
static struct way {
    void (*touch)(const struct op_ctx *c, const struct touch *t);
    const char *name, *mask;
    unsigned twins, wrong;
    unsigned renames; /* the same bytes, or not, as other operands */
} ways[64];
static unsigned n_ways;

static struct way *way_of(const struct cmd_info *info, const char *mask)
{
    const struct operation *op = op_find(info->opcode);
    unsigned i = 0;

    while (i < n_ways && (ways[i].touch != op->touch || strcmp(ways[i].mask, mask))) {
        i++;
    }
    if (i == n_ways) {
        ways[n_ways++] = (struct way){op->touch, info->name, mask, 0, 0, 0};
    }
    return &ways[i];
}

static void look_for_twins(const struct cmd_info *info)
{
    unsigned idle = 0; /* tries that have brought nothing new */

    for (unsigned i = 0; i < TRIES && idle < TRIES / 8 && n_ways < LENGTH(ways); i++) {
        struct touch_program p = touch_program(info);
        struct way *way = way_of(info, masked(&p));
        struct race_hart_access at = {0};
        idle++;
        if (way->twins || !run_program(&p, NULL)) {
            continue;
        }
        way->renames += memcmp(exact, planned, sizeof(exact)) != 0;
        if (finds_byte(&at)) {
            way->twins++;
            way->wrong += !tells_apart(&p, &at);
            idle = 0;
        }
    }
}

/* With some mask. */
static bool has_twin(const struct way *way)
{
    unsigned twins = 0;

    for (unsigned i = 0; i < n_ways; i++) {
        twins += ways[i].touch == way->touch ? ways[i].twins : 0;
    }
    return twins;
}

static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) opcode,
#include "hal/contract/all.h"
};

TEST(exact, twins)
{
    static struct npu_host host;

    rig_reset(&rig);
    host = *rig.npu.host;
    host.event = hear;
    rig.npu.host = &host;
    n_ways = 0;
    for (unsigned i = 0; i < LENGTH(opcodes); i++) {
        if (op_find(opcodes[i])->touch) {
            rnd_begin();
            look_for_twins(cmd_find(opcodes[i]));
        }
    }
    for (unsigned i = 0; i < n_ways; i++) {
        const struct way *way = &ways[i];
        if (way->twins) {
            ok(!way->wrong, "exact/%s%s", way->name, way->mask);
        } else if (!has_twin(way)) {
            ok(way->renames, "exact/%s%s_by_its_operands", way->name, way->mask);
        }
    }
    rig_reset(&rig);
}
