/* SPDX-License-Identifier: MIT
 *
 * Damaged snapshots: a program runs, fields of the state that it leaves are changed,
 * restored and, unless that is refused, run on. It may then compute anything, but not
 * crash, run for ever, say in its registers what no machine says (look.c), or become a
 * state that no machine can be in.
 *
 * What is changed stands first in an input, so that a fuzzer can vary it and leave the
 * program behind it as it is.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/emu/model/machine/state/state.h"

#define CHANGES_MOST 4
#define CHANGE_BYTES 16
#define EVENTS_MOST  100000 /* more than all queues can have */

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
    IN(npu_pipe, state, 1),        IN(npu_pipe, head, 1),
    IN(npu_pipe, count, 1),        IN(npu_pipe, checked, 1),
    IN(npu_pipe, for_units, 1),    IN(npu_pipe, ahead, 1),
    IN(npu_pipe, arm, 2),          IN(npu_pipe, ended, 2),
    IN(npu_pipe, special, 8),      IN(npu_pipe, since, 8),
    IN(npu_pipe, head_since, 8),   IN(npu_pipe, begin, 8),
    IN(npu_pipe, end, 8),          IN(npu_pipe, nominal, 8),
    IN(npu_pipe, hold, 8),         IN(npu_pipe, serial, 8),
    IN(npu_pipe, tries, 1),        IN(npu_pipe, flow.pools, 1),
    IN(npu_pipe, flow.own, 4),     IN(npu_pipe, flow.rate, 4),
    IN(npu_pipe, flow.fixed, 4),   IN(npu_pipe, flow.left, 8),
    IN(npu_pipe, flow.updated, 8), IN(npu_pipe, fault.code, 2),
    IN(npu_pipe, fault.field, 1),  IN(npu_pipe, counter, 8),
    IN(npu_pipe, queue, 1),        IN(npu_pipe, from, 8),
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
    IN(npu_core, scalar, 8),
};

static const struct place in_chip[] = {
    IN(npu_state, magic, 8),   IN(npu_state, cores, 4),     IN(npu_state, profile, 4),
    IN(npu_state, timing, 4),  IN(npu_state, hart, 4),      IN(npu_state, seed, 8),
    IN(npu_state, now, 8),     IN(npu_state, flow_next, 8), IN(npu_state, sem, 1),
    IN(npu_state, barrier, 8), IN(npu_state, hart_late, 8),
};

#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* Values that something may be wrong with: about nothing, about all, about now, about what
 * is there, and any. */
static uint64_t odd_value(struct fuzz_input *in, uint64_t old, uint64_t now)
{
    uint64_t n = fuzz_take(in, 1), any = fuzz_take(in, 8);

    switch (fuzz_take(in, 1) % 16) {
    case 0:
        return old ^ 1ull << n % 64;
    case 1:
        return old + n + 1;
    case 2:
        return old - n - 1;
    case 3:
        return now + n;
    case 4:
        return now - n;
    case 5:
        return any;
    case 6:
        return ~n;
    case 7:
        return 0;
    case 8:
        return 1ull << n % 64;
    case 9:
        return (1ull << n % 64) - 1;
    case 10:
        return n;
    case 11:
    case 12:
        return old ^ 1;
    default:
        return n % 4;
    }
}

static void put(uint8_t *base, const struct place *place, unsigned element,
                uint64_t value)
{
    element %= place->bytes / place->each;
    memcpy(base + place->offset + element * place->each, &value, place->each);
}

/* Changes an element of a field and, if that is asked for, of the next one alike. */
static void change_field(struct fuzz_input *in, uint8_t *base, const struct place *place,
                         uint64_t now, bool next)
{
    unsigned element = (unsigned)fuzz_take(in, 1) % (place->bytes / place->each);
    uint64_t value = 0;

    memcpy(&value, base + place->offset + element * place->each, place->each);
    value = odd_value(in, value, now);
    put(base, place, element, value);
    if (next) {
        put(base, place + 1, element, value);
    }
}

/* The which-th of a core's pipes in a state, or if none is, of all. */
static struct npu_pipe *pipe_in(struct npu_core *core, unsigned state, unsigned which)
{
    unsigned found[NPU_PIPES], n = 0;

    for (unsigned p = 0; p < NPU_PIPES; p++) {
        if (core->pipe[p].state == state) {
            found[n++] = p;
        }
    }
    return &core->pipe[n ? found[which % n] : which % NPU_PIPES];
}

static void damage(struct rig *r, struct fuzz_input *in)
{
    struct npu_state *s = r->npu.s;
    unsigned kind = (unsigned)fuzz_take(in, 1), which = (unsigned)fuzz_take(in, 1);
    unsigned core_of = (unsigned)fuzz_take(in, 1), pipe_of = (unsigned)fuzz_take(in, 1);
    struct npu_core *core = &s->core[core_of % r->config.cores];
    struct npu_pipe *pipe;

    switch (kind % 8) {
    case 0: /* any byte */
        ((uint8_t *)s)[fuzz_take(in, 4) % sizeof(*s)] = (uint8_t)which;
        /* the results of what runs, which a snapshot brings back too */
        memset(r->npu.mem[core - s->core][NPU_MEM_STAGE_V], (int)which, 4096);
        break;
    case 1:
        change_field(in, (uint8_t *)s, &in_chip[which % LENGTH(in_chip)], s->now, false);
        break;
    case 2:
    case 3:
        change_field(in, (uint8_t *)core, &in_core[which % LENGTH(in_core)], s->now,
                     false);
        break;
    case 4: /* of a pipe in any state */
        pipe = pipe_in(core, pipe_of / 8 % 4, pipe_of);
        change_field(in, (uint8_t *)pipe, &in_pipe[which % LENGTH(in_pipe)], s->now,
                     false);
        break;
    case 5: /* two that belong together */
        pipe = pipe_in(core, PIPE_RUNNING, pipe_of);
        change_field(in, (uint8_t *)pipe, &in_pipe[which % (LENGTH(in_pipe) - 1)], s->now,
                     true);
        break;
    default:
        pipe = pipe_in(core, PIPE_RUNNING, pipe_of);
        change_field(in, (uint8_t *)pipe, &in_pipe[which % LENGTH(in_pipe)], s->now,
                     false);
        break;
    }
}

/* Something in every state: transfers that share, a command that waits, one that has
 * failed, a semaphore that interrupts. */
static void make_busy(struct rig *r, unsigned how)
{
    union cmd in = rig_copy_in(0, 0, 65536), wait = rig_command(OP_NOP, TYPE_NONE);

    for (unsigned c = 0; c < r->config.cores; c++) {
        rig_push(r, c, PIPE_MTE2, &in);
        rig_push(r, c, PIPE_MTE2, &in);
        rig_write(r, c, SEM_ARM + 8 * (how % 8), how & 3);
        rig_write(r, c, SEM_POST + 8 * (how % 8), how >> 2 & 3);
        rig_write(r, c, CORE_IRQ_ENABLE, how % 32);
    }
    wait.head.wait_n[0] = 1;
    rig_push(r, 0, PIPE_V, &wait);
    rig_push(r, 0, PIPE_MTE1, &in);
    npu_write(&r->npu, r->now, NPU_CHIP, CHIP_BARRIER, field_put(CHIP_BARRIER_COUNT, 2),
              8);
    rig_to(r, r->now + how);
}

/* Ends the test, with what is wrong. */
static void wrong(const char *what)
{
    fprintf(stderr, "snapshot: %s\n", what);
    abort();
}

static void look(const struct rig *r)
{
    const char *what = fuzz_look(r);

    if (what) {
        wrong(what);
    }
}

/* From event to event, as a timer would; every one is later than the last, and there is a
 * last. An alarm may be as late as it likes. */
static void run_on(struct rig *r)
{
    uint64_t begin = r->now;
    unsigned events = 0;

    for (unsigned c = 0; c < r->config.cores; c++) {
        if (rig_read(r, c, CORE_ALARM) > begin + FUZZ_LONGEST) {
            rig_write(r, c, CORE_ALARM, 0);
        }
    }
    while (npu_next(&r->npu) != NPU_NEVER) {
        if (npu_next(&r->npu) <= r->npu.s->now) {
            wrong("time stands still");
        }
        if (events++ == EVENTS_MOST || npu_next(&r->npu) - begin > FUZZ_LONGEST) {
            wrong("no end can be seen");
        }
        rig_to(r, npu_next(&r->npu));
    }
    for (unsigned c = 0; c < r->config.cores; c++) {
        if (field_get(CORE_STATUS_RUNNING, rig_read(r, c, CORE_STATUS))) {
            wrong("what runs does not end");
        }
    }
}

int fuzz_snapshot_input(const uint8_t *data, size_t size)
{
    struct fuzz_input changes = {data, size}, in;
    struct rig *r = fuzz_chip(&changes);
    unsigned steps = (unsigned)fuzz_take(&changes, 1),
             how = (unsigned)fuzz_take(&changes, 1);
    unsigned n = (unsigned)fuzz_take(&changes, 1) % CHANGES_MOST + 1;

    in = changes;
    fuzz_skip(&in, CHANGES_MOST * CHANGE_BYTES);
    for (unsigned i = 0; i < steps % 32 && in.left; i++) {
        fuzz_step(r, &in);
    }
    if (steps & 32) {
        make_busy(r, how);
    }
    if (!npu_restored(&r->npu, &r->config, r->now)) {
        wrong("one that is whole is refused");
    }
    look(r);
    for (unsigned i = 0; i < n; i++) {
        struct fuzz_input change = changes;

        fuzz_skip(&changes, CHANGE_BYTES);
        damage(r, &change);
    }
    if (!npu_restored(&r->npu, &r->config, r->now)) {
        fuzz_refused++;
        return 0;
    }
    fuzz_taken++;
    look(r);
    for (unsigned i = 0; i < 16 && in.left; i++) {
        fuzz_step(r, &in);
    }
    run_on(r);
    look(r);
    if (!npu_restored(&r->npu, &r->config, r->now)) {
        wrong("what was taken becomes what is refused");
    }
    return 0;
}
