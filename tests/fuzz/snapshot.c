/* SPDX-License-Identifier: MIT
 *
 * Damaged snapshots: a program runs, the state that it leaves is changed here and there,
 * restored and, unless that is refused, run on. It may then compute anything, but not
 * crash, run for ever, or become a state that no machine can be in.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/emu/model/machine/state.h"

#define EVENTS_MOST 2000 /* after which nothing new comes */

unsigned fuzz_taken, fuzz_refused;

/* Where fields lie: in a pipe, in a core, in the chip. */
struct place {
    uint32_t offset;
    uint16_t bytes; /* of the field */
    uint8_t each;   /* bytes of an element of it */
};

#define IN(type, field, e)                                                               \
    {                                                                                    \
        offsetof(struct type, field), sizeof(((struct type *)0)->field), e               \
    }

static const struct place in_pipe[] = {
    IN(npu_pipe, state, 1),      IN(npu_pipe, head, 1),
    IN(npu_pipe, count, 1),      IN(npu_pipe, checked, 1),
    IN(npu_pipe, for_units, 1),  IN(npu_pipe, arm, 2),
    IN(npu_pipe, ended, 2),      IN(npu_pipe, special, 8),
    IN(npu_pipe, since, 8),      IN(npu_pipe, head_since, 8),
    IN(npu_pipe, begin, 8),      IN(npu_pipe, end, 8),
    IN(npu_pipe, nominal, 8),    IN(npu_pipe, hold, 8),
    IN(npu_pipe, serial, 8),     IN(npu_pipe, tries, 1),
    IN(npu_pipe, flow.pools, 1), IN(npu_pipe, flow.own, 4),
    IN(npu_pipe, flow.rate, 4),  IN(npu_pipe, flow.fixed, 4),
    IN(npu_pipe, flow.left, 8),  IN(npu_pipe, flow.updated, 8),
    IN(npu_pipe, fault.code, 2), IN(npu_pipe, fault.field, 1),
    IN(npu_pipe, counter, 8),    IN(npu_pipe, queue, 1),
};

static const struct place in_core[] = {
    IN(npu_core, sem, 1),         IN(npu_core, arm, 1),
    IN(npu_core, armed, 8),       IN(npu_core, taken, 1),
    IN(npu_core, irq_enable, 1),  IN(npu_core, irq_level, 1),
    IN(npu_core, fault.code, 2),  IN(npu_core, fault_size, 1),
    IN(npu_core, fault_write, 1), IN(npu_core, pmu_select, 2),
    IN(npu_core, alarm, 8),       IN(npu_core, unit_mark, 8),
    IN(npu_core, unit_at, 8),     IN(npu_core, pmu_first, 8),
    IN(npu_core, pmu_last, 8),    IN(npu_core, line_due, 8),
    IN(npu_core, line_rises, 8),  IN(npu_core, next, 8),
};

static const struct place in_chip[] = {
    IN(npu_state, magic, 8), IN(npu_state, cores, 4),   IN(npu_state, profile, 4),
    IN(npu_state, timing, 4),
    IN(npu_state, seed, 8),  IN(npu_state, now, 8),     IN(npu_state, flow_next, 8),
    IN(npu_state, sem, 1),   IN(npu_state, barrier, 8),
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Changes an element of a field: by a bit, a little, or to something. */
static void change(struct fuzz_input *in, uint8_t *at, unsigned bytes, uint64_t now)
{
    uint64_t old = 0, value = fuzz_take(in, 1);

    memcpy(&old, at, bytes);
    switch (fuzz_take(in, 1) % 8) {
    case 0:
        value = old ^ 1ull << value % (8 * bytes);
        break;
    case 1:
        value = old + value + 1;
        break;
    case 2:
        value = old - value - 1;
        break;
    case 3:
        value = now + value;
        break;
    case 4:
        value = now - value;
        break;
    case 5:
        value = fuzz_take(in, 8);
        break;
    case 6:
        value = ~value;
        break;
    default:
        break;
    }
    memcpy(at, &value, bytes);
}

static void change_field(struct fuzz_input *in, uint8_t *base, const struct place *place,
                         uint64_t now)
{
    unsigned element = (unsigned)fuzz_take(in, 1) % (place->bytes / place->each);

    change(in, base + place->offset + element * place->each, place->each, now);
}

static void damage(struct rig *r, struct fuzz_input *in)
{
    struct npu_state *s = r->npu.s;
    struct npu_core *core = &s->core[fuzz_take(in, 1) % r->config.cores];
    struct npu_pipe *pipe = &core->pipe[fuzz_take(in, 1) % NPU_PIPES];
    unsigned kind = (unsigned)fuzz_take(in, 1), which = (unsigned)fuzz_take(in, 1);

    switch (kind % 8) {
    case 0: /* any byte */
        ((uint8_t *)s)[fuzz_take(in, 4) % sizeof(*s)] = (uint8_t)which;
        break;
    case 1: /* the results of what runs, which a snapshot brings back too */
        memset(r->npu.mem[core - s->core][NPU_MEM_STAGE_V], (int)which, 4096);
        break;
    case 2:
        change_field(in, (uint8_t *)s, &in_chip[which % LENGTH(in_chip)], s->now);
        break;
    case 3:
        change_field(in, (uint8_t *)core, &in_core[which % LENGTH(in_core)], s->now);
        break;
    default:
        change_field(in, (uint8_t *)pipe, &in_pipe[which % LENGTH(in_pipe)], s->now);
        break;
    }
}

/* Ends the test, with what is wrong. */
static void wrong(const char *what)
{
    fprintf(stderr, "snapshot: %s\n", what);
    abort();
}

/* From event to event, as a timer would; every one is later than the last. */
static void run_on(struct rig *r)
{
    for (unsigned i = 0; i < EVENTS_MOST && npu_next(&r->npu) != NPU_NEVER; i++) {
        if (npu_next(&r->npu) <= r->npu.s->now) {
            wrong("time stands still");
        }
        rig_to(r, npu_next(&r->npu));
    }
}

int fuzz_snapshot_input(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {data, size};
    struct rig *r = fuzz_chip(&in);
    unsigned steps = (unsigned)fuzz_take(&in, 1) % 32, changes;

    while (steps-- && in.left) {
        fuzz_step(r, &in);
    }
    if (!npu_restored(&r->npu, &r->config, r->now)) {
        wrong("one that is whole is refused");
    }
    changes = (unsigned)fuzz_take(&in, 1) % 4 + 1;
    while (changes-- && in.left) {
        damage(r, &in);
    }
    if (!npu_restored(&r->npu, &r->config, r->now)) {
        fuzz_refused++;
        return 0;
    }
    fuzz_taken++;
    for (unsigned i = 0; i < 16 && in.left; i++) {
        fuzz_step(r, &in);
    }
    run_on(r);
    if (!npu_restored(&r->npu, &r->config, r->now)) {
        wrong("what was taken becomes what is refused");
    }
    return 0;
}
