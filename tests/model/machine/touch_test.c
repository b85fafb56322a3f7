/* SPDX-License-Identifier: MIT
 *
 * What npu_touch() tells of random commands of every opcode. Each runs on two poisons of
 * the memories, which differ in all that it is not told to read. Then the bytes that it is
 * told to write are equal, so they have been written and depend on no other byte; all
 * others are as they were, also where what was written could have been equal by chance.
 * And what npu_flow() tells of undefined bytes holds when such bytes change.
 */
#include "tests/model/machine/touch.h"

#include <string.h>

#include "tests/host/data.h"
#include "tests/model/rig.h"
#include "tests/test.h"
#include "tools/emu/model/machine/state/state.h"

enum { MEMORIES = NPU_MEM_COUNT + 1 }; /* GM last */

struct image {
    uint8_t mem[MEMORIES][TOUCH_WINDOW];
};

/* Bytes that a command is told to touch: bits 1 << kind; in which memories, and whether
 * outside of the windows. blurred: written twice or combined, so that not all that is read
 * shows. */
static struct told {
    struct image bytes;
    unsigned memories;
    bool outside, blurred;
} at_begin, at_end;

static struct rig *chip;
static unsigned opcode; /* of the command */

static uint8_t *memory(unsigned m)
{
    return m == NPU_MEM_COUNT ? chip->gm : chip->npu.mem[0][m];
}

struct noting {
    struct told *to;
    unsigned mem;
    uint8_t bit;
};

static bool note_range(void *ctx, uint64_t first, uint64_t bytes)
{
    struct noting *n = ctx;

    if (first + bytes > touch_window(n->mem)) {
        n->to->outside = true;
        return false;
    }
    n->to->memories |= 1u << n->mem;
    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t *byte = &n->to->bytes.mem[n->mem][first + i];
        n->to->blurred |=
            n->bit == 1 << TOUCH_COMBINES || (*byte & n->bit & 1 << TOUCH_WRITES);
        *byte |= n->bit;
    }
    return true;
}

/* Offsets and the like decide where others go: not for npu_flow() to follow. */
enum { GUIDE = 0x80 };

static bool guides(const struct access *a)
{
    const struct cmd_arg *arg = cmd_arg_at(cmd_find(opcode), a->field);

    return a->mem == NPU_MEM_L0B_INDEX ||
           (arg && (!strcmp(arg->name, "offsets") || !strcmp(arg->name, "bits")));
}

static void note(void *opaque, const struct access *a, enum touch_kind kind)
{
    struct noting n = {opaque, a->mem, (uint8_t)(1 << kind)};
    struct access local = *a;

    if (a->mem == NPU_MEM_GM) {
        n.mem = NPU_MEM_COUNT;
        local.base -= RIG_GM_BASE;
    }
    access_each(&local, note_range, &n);
    n.bit = GUIDE;
    if (guides(a)) {
        access_each(&local, note_range, &n);
    }
}

/* Shadows as npu_flow() wants them, and whether it is asked. */
static struct {
    _Alignas(64) uint8_t mem[MEMORIES][COST_MAX_L1_BYTES];
    uint64_t cmpmask[2];
    bool on;
} shadow;

static void flow(const struct npu_event *e)
{
    struct npu_shadow of_core = {.gm = shadow.mem[NPU_MEM_COUNT],
                                 .cmpmask = shadow.cmpmask};

    for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
        of_core.mem[m] = shadow.mem[m];
    }
    npu_flow(&chip->npu, 0, e->pipe, &of_core);
}

static void hear(void *ctx, const struct npu_event *e)
{
    struct told *to = e->what == NPU_BEGINS ? &at_begin : &at_end;

    (void)ctx;
    if ((e->what == NPU_BEGINS || e->what == NPU_ENDS) && e->cmd->head.opcode == opcode) {
        memset(to, 0, sizeof(*to));
        npu_touch(&chip->npu, 0, e->pipe, note, to);
    }
    if (shadow.on && e->what == NPU_ENDS && e->cmd->head.opcode == opcode) {
        flow(e);
    }
}

/* On a chip with these memories; false: the command is refused. */
static bool run_on(const struct touch_program *p, const struct image *image)
{
    enum pipe pipe = pipe_of(&p->cmd);

    rig_write(chip, 0, CORE_CTRL, CORE_CTRL_RESET);
    for (unsigned m = 0; m < MEMORIES; m++) {
        memcpy(memory(m), image->mem[m], touch_window(m));
    }
    opcode = p->cmd.head.opcode;
    for (unsigned i = 0; i < p->n_set; i++) {
        rig_push(chip, 0, pipe, &p->set[i]);
        rig_drain(chip);
    }
    rig_push(chip, 0, pipe, &p->cmd);
    rig_drain(chip);
    return rig_error(chip, 0, pipe) == 0;
}

/* Noise; for some commands small numbers, so that floating types seldom are NaN. */
static void poison(struct image *image)
{
    static uint8_t pool[4 * TOUCH_WINDOW];
    bool small = rnd() % 2;

    if (pool[0] == 0) {
        noise(pool, sizeof(pool));
        pool[0] |= 1;
    }
    for (unsigned m = 0; m < MEMORIES; m++) {
        memcpy(image->mem[m], pool + rnd() % (3 * TOUCH_WINDOW), touch_window(m));
        for (unsigned i = 0; small && i < touch_window(m); i += 2) {
            image->mem[m][i + 1] = (uint8_t)(0x38 | (image->mem[m][i + 1] & 0x87));
        }
    }
}

static bool read_told(unsigned m, unsigned i)
{
    return at_end.bytes.mem[m][i] & (1 << TOUCH_READS | 1 << TOUCH_COMBINES);
}

/* Another poison, where nothing is told to be read. */
static void poison_rest(struct image *other, const struct image *image)
{
    uint8_t by = (uint8_t)(1 + rnd() % 255);

    for (unsigned m = 0; m < MEMORIES; m++) {
        for (unsigned i = 0; i < touch_window(m); i++) {
            other->mem[m][i] = image->mem[m][i] ^ by;
        }
        for (unsigned i = 0; (at_end.memories >> m & 1) && i < touch_window(m); i++) {
            other->mem[m][i] = read_told(m, i) ? image->mem[m][i] : other->mem[m][i];
        }
    }
}

static void take_results(struct image *results)
{
    for (unsigned m = 0; m < MEMORIES; m++) {
        memcpy(results->mem[m], memory(m), touch_window(m));
    }
}

/* The first byte that is not as it was told, or NULL; `what` is wrong with it. */
static const char *find_wrong(const struct image before[2], const struct image after[2],
                              unsigned *mem, unsigned *at)
{
    for (*mem = 0; *mem < MEMORIES; ++*mem) {
        bool same =
            !(at_end.memories >> *mem & 1) &&
            !memcmp(after[0].mem[*mem], before[0].mem[*mem], touch_window(*mem)) &&
            !memcmp(after[1].mem[*mem], before[1].mem[*mem], touch_window(*mem));
        for (*at = 0; !same && *at < touch_window(*mem); ++*at) {
            uint8_t a = after[0].mem[*mem][*at], b = after[1].mem[*mem][*at];
            if (at_end.bytes.mem[*mem][*at] & (1 << TOUCH_WRITES | 1 << TOUCH_COMBINES)) {
                if (a != b) {
                    return "not written, or from a byte that is not told";
                }
            } else if (a != before[0].mem[*mem][*at] || b != before[1].mem[*mem][*at]) {
                return "written";
            }
        }
    }
    return NULL;
}

static void complain(const struct touch_program *p, unsigned mem, unsigned at,
                     const char *what)
{
    test_note("%s.%s flags %u: byte %u of %s is %s", cmd_find(opcode)->name,
              type_name(p->cmd.head.type), p->cmd.head.flags, at,
              mem == NPU_MEM_COUNT ? "GM" : npu_mem_name((enum npu_mem)mem), what);
}

/* Whether each byte that is read counts for the result: what moves bytes, or adds whole
 * numbers of some width. */
static bool every_byte_counts(const union cmd *cmd)
{
    bool whole = cmd->head.type == TYPE_S32 || cmd->head.type == TYPE_S16;

    switch (cmd->head.opcode) {
    case OP_COPY_L1_BT:
        return whole;
    case OP_FIX_L0C_GM:
    case OP_FIX_L0C_UB:
    case OP_FIX_L0C_L1:
        return cmd->fix_gm.quant == QUANT_NONE && cmd->fix_gm.relu == 0 &&
               !(cmd->head.flags & FIX_L0C_GM_CLIP);
    case OP_VADD:
    case OP_VSUB:
    case OP_VADDS:
        return whole;
    case OP_MMAD:
        return cmd->head.type == TYPE_S8;
    case OP_VCOPY:
    case OP_VNOT:
    case OP_VBRCB:
    case OP_VTRANSPOSE:
    case OP_VTRANSDATA:
    case OP_VINTLV:
    case OP_VDINTLV:
    case OP_VSORT32:
    case OP_VRPSORT16:
    case OP_VRPCONCAT:
    case OP_VRPEXTRACT:
    case OP_VGATHERB:
        return true;
    default:
        return cmd->head.opcode < OP_MMAD; /* the engines that move */
    }
}

/* Changes a byte that is told to be read, and wants another result: memory and place of
 * one for which there is none. */
static bool counts(const struct touch_program *p, const struct image *before,
                   const struct image *after, unsigned *mem, unsigned *at)
{
    static struct image changed;
    unsigned left = 0;

    for (unsigned m = 0; m < MEMORIES; m++) {
        for (unsigned i = 0; (at_end.memories >> m & 1) && i < touch_window(m); i++) {
            left += at_end.bytes.mem[m][i] == 1 << TOUCH_READS;
        }
    }
    if (left == 0 || at_end.blurred || !every_byte_counts(&p->cmd)) {
        return true;
    }
    left = rnd() % left + 1;
    for (*mem = 0;; ++*mem) {
        for (*at = 0; (at_end.memories >> *mem & 1) && *at < touch_window(*mem); ++*at) {
            if (at_end.bytes.mem[*mem][*at] == 1 << TOUCH_READS && --left == 0) {
                changed = *before;
                changed.mem[*mem][*at] ^= 0xff;
                if (!run_on(p, &changed)) {
                    return true; /* it does count */
                }
                changed = *after;
                changed.mem[*mem][*at] ^= 0xff;
                for (unsigned m = 0; m < MEMORIES; m++) {
                    if (memcmp(memory(m), changed.mem[m], touch_window(m))) {
                        return true;
                    }
                }
                return false;
            }
        }
    }
}

/* --- undefined bytes --- */

static bool written_told(unsigned m, unsigned i)
{
    return at_end.bytes.mem[m][i] & (1 << TOUCH_WRITES | 1 << TOUCH_COMBINES);
}

/* Bytes as they are go to the results. */
static bool moves(const union cmd *cmd)
{
    bool sums = cmd->head.opcode == OP_VADD || cmd->head.opcode == OP_VSUB ||
                cmd->head.opcode == OP_VADDS || cmd->head.opcode == OP_VNOT ||
                cmd->head.opcode == OP_VSORT32 || cmd->head.opcode == OP_VRPSORT16;

    return every_byte_counts(cmd) && !sums && cmd->head.opcode != OP_COPY_L1_BT &&
           cmd_find(cmd->head.opcode)->pipe != PIPE_M &&
           cmd_find(cmd->head.opcode)->pipe != PIPE_FIX;
}

/* Some bytes that are read are undefined and take another value: whichever result changes
 * then is undefined too, and of what only moves no other. */
static const char *flows(const struct touch_program *p, const struct image *before,
                         const struct image *after, unsigned *mem, unsigned *at)
{
    static struct image changed, told;
    bool exact = moves(&p->cmd) && !at_end.blurred;
    unsigned rare = 1u << rnd() % 8;
    const uint64_t *of_v = &chip->npu.s->core[0].pipe[PIPE_V].special[SPECIAL_CMPMASK_LO];
    uint64_t cmpmask[2];

    told = at_end.bytes;
    changed = *before;
    for (unsigned m = 0; m < MEMORIES; m++) {
        for (unsigned i = 0; i < touch_window(m); i++) {
            bool undefined =
                read_told(m, i) && !(told.mem[m][i] & GUIDE) && rnd() % rare == 0;
            shadow.mem[m][i] = undefined ? 0xff : 0;
            changed.mem[m][i] ^= shadow.mem[m][i];
        }
    }
    memset(shadow.cmpmask, 0, sizeof(shadow.cmpmask));
    shadow.on = true;
    run_on(p, before);
    shadow.on = false;
    memcpy(cmpmask, of_v, sizeof(cmpmask));
    if (!run_on(p, &changed) || memcmp(&told, &at_end.bytes, sizeof(told))) {
        return NULL; /* how much there is depends on them */
    }
    *mem = NPU_MEM_UB;
    for (*at = 0; *at < 2; ++*at) {
        if ((cmpmask[*at] ^ of_v[*at]) & ~shadow.cmpmask[*at]) {
            return "(of the compare mask) called defined";
        }
    }
    for (*mem = 0; *mem < MEMORIES; ++*mem) {
        for (*at = 0; *at < touch_window(*mem); ++*at) {
            bool differs = memory(*mem)[*at] != after->mem[*mem][*at];
            bool undefined = shadow.mem[*mem][*at];
            if (written_told(*mem, *at) && differs && !undefined) {
                return "called defined";
            }
            if (written_told(*mem, *at) && undefined && !differs && exact) {
                return "called undefined";
            }
        }
    }
    return NULL;
}

/* Whether the command does what it is told to; counts it if it runs. */
static bool tells(const struct touch_program *p, unsigned *runs)
{
    static struct image before[2], after[2];
    static struct told told;
    uint64_t special[2][SPECIALS];
    const struct npu_pipe *pipe = &chip->npu.s->core[0].pipe[pipe_of(&p->cmd)];
    unsigned mem, at;
    const char *wrong;

    poison(&before[0]);
    touch_data(&p->cmd, before[0].mem[NPU_MEM_UB], before[0].mem[NPU_MEM_L0B_INDEX]);
    if (!run_on(p, &before[0]) || at_end.outside) {
        return true;
    }
    ++*runs;
    take_results(&after[0]);
    memcpy(special[0], pipe->special, sizeof(special[0]));
    if (memcmp(&at_begin, &at_end, sizeof(at_end))) {
        test_note("%s: told otherwise at the end", cmd_find(opcode)->name);
        return false;
    }
    poison_rest(&before[1], &before[0]);
    if (!run_on(p, &before[1])) {
        test_note("%s: refused, because of a byte that is not told",
                  cmd_find(opcode)->name);
        return false;
    }
    take_results(&after[1]);
    memcpy(special[1], pipe->special, sizeof(special[1]));
    wrong = find_wrong(before, after, &mem, &at);
    told = at_end;
    if (!wrong && !counts(p, &before[0], &after[0], &mem, &at)) {
        wrong = "told to be read and is not";
    }
    at_end = told;
    if (!wrong) {
        wrong = flows(p, &before[0], &after[0], &mem, &at);
    }
    if (wrong) {
        complain(p, mem, at, wrong);
    }
    return !wrong && !memcmp(special[0], special[1], sizeof(special[0]));
}

static const uint16_t opcodes[] = {
#define CMD(NAME, pipe, opcode, types, flags, format, text) opcode,
#include "hal/contract/all.h"
};

TEST(touch, every_opcode)
{
    static struct npu_host host;

    rig_reset(&rig);
    chip = &rig;
    host = *chip->npu.host;
    host.event = hear;
    chip->npu.host = &host;
    for (unsigned i = 0; i < LENGTH(opcodes); i++) {
        const struct cmd_info *info = cmd_find(opcodes[i]);
        unsigned runs = 0, wrong = 0, want = 3 * test_times;

        rnd_begin();
        for (unsigned skip = 0; skip < opcodes[i]; skip++) {
            (void)rnd(); /* each opcode has noise of its own */
        }
        for (unsigned tries = 0; runs < want && tries < 40 * want && wrong < 2; tries++) {
            struct touch_program p = touch_program(info);
            wrong += !tells(&p, &runs);
        }
        if (!ok(!wrong && runs == want, "touch/%s", info->name)) {
            test_note("%u of %u run", runs, want);
        }
    }
}

static void add_bytes(void *opaque, const struct access *a, enum touch_kind kind)
{
    uint64_t *bytes = opaque;

    if (a->mem == NPU_MEM_L0C) {
        bytes[kind] += access_bytes(a);
    }
}

static uint64_t sums[TOUCH_COMBINES + 1];

static void add_sums(void *ctx, const struct npu_event *e)
{
    (void)ctx;
    if (e->what == NPU_ENDS) {
        memset(sums, 0, sizeof(sums));
        npu_touch(&chip->npu, 0, e->pipe, add_bytes, sums);
    }
}

/* Of c those elements that are computed; around them those that become 0. */
TEST(touch, sums)
{
    static struct npu_host host;
    union cmd c = rig_command(OP_MMAD, TYPE_F16);

    rig_reset(&rig);
    chip = &rig;
    host = *chip->npu.host;
    host.event = add_sums;
    chip->npu.host = &host;
    c.mmad.m = 19;
    c.mmad.n = 21;
    c.mmad.k = 3;
    run(c);
    ok(sums[TOUCH_READS] == 4 * 19 * 21 && sums[TOUCH_WRITES] == 4 * 19 * 21,
       "touch/elements_that_are_not_computed_stay");
    c.head.flags = MMAD_INIT;
    run(c);
    ok(sums[TOUCH_READS] == 0 && sums[TOUCH_WRITES] == 4096,
       "touch/a_start_of_its_own_writes_whole_fractals");
}
