/* SPDX-License-Identifier: MIT
 *
 * What the registers say of a machine, whatever has been done to it: nothing that their
 * contract does not allow, nothing that contradicts itself, and the interrupt line where
 * they say that it belongs. They are read as a debugger reads them.
 */
#include "tests/fuzz/fuzz.h"

static uint64_t peek(const struct rig *r, unsigned core, uint32_t reg)
{
    return npu_peek(&r->npu, r->now, core, reg, 8);
}

static uint64_t peek_field(const struct rig *r, unsigned core, uint32_t reg,
                           uint64_t field)
{
    return field_get(field, peek(r, core, reg));
}

static const char *look_at_pipe(const struct rig *r, unsigned core, unsigned pipe)
{
    uint32_t at = rig_pipe((enum pipe)pipe, 0);
    uint64_t state = peek_field(r, core, at + PIPE_STATUS, PIPE_STATUS_STATE);
    uint64_t depth = peek_field(r, core, at + PIPE_STATUS, PIPE_STATUS_DEPTH);
    uint64_t until = peek(r, core, at + PIPE_UNTIL),
             error = peek(r, core, at + PIPE_ERROR);

    if (state > PIPE_STOPPED || depth > PIPE_DEPTH ||
        depth != peek(r, core, at + PIPE_LEFT) ||
        depth + peek(r, core, at + PIPE_FREE) != PIPE_DEPTH) {
        return "a queue that cannot be";
    }
    if (peek(r, core, at + PIPE_ARM) & ~(uint64_t)PIPE_ARM_SLOTS) {
        return "more slots are wanted than one can ask for";
    }
    if ((state == PIPE_STOPPED) != (field_get(PIPE_ERROR_CODE, error) != 0) ||
        npu_error_name((unsigned)field_get(PIPE_ERROR_CODE, error))[0] == '?' ||
        field_get(PIPE_ERROR_FIELD, error) >= CMD_BYTES) {
        return "an error that is none";
    }
    if ((state == PIPE_EMPTY && depth != 0) || (state == PIPE_RUNNING && depth == 0) ||
        (state == PIPE_WAITING && depth == 0)) {
        return "a pipe that does nothing with something, or something with nothing";
    }
    if (peek(r, core, at + PIPE_SINCE) > r->now ||
        (state == PIPE_RUNNING ? until <= r->now || until - r->now > FUZZ_LONGEST
                               : until != 0)) {
        return "a command at an impossible time";
    }
    return NULL;
}

/* Which armed semaphores can be taken follows from two other rows. */
static bool ready_as_armed(const struct rig *r, unsigned core)
{
    for (unsigned i = 0; i < SEM_COUNT; i++) {
        uint64_t armed = peek(r, core, SEM_ARM + 8 * i);
        bool ready = peek(r, core, SEM_READY + 8 * (i / 64)) >> i % 64 & 1;

        if (ready != (armed != 0 && peek(r, core, SEM_VALUE + 8 * i) >= armed)) {
            return false;
        }
    }
    return true;
}

static const char *look_at_core(const struct rig *r, unsigned core)
{
    uint64_t wanted = peek(r, core, CORE_IRQ_STATUS) & peek(r, core, CORE_IRQ_ENABLE);
    uint64_t fault = peek(r, core, CORE_FAULT);

    if (!ready_as_armed(r, core)) {
        return "semaphores that are ready and not armed, or the reverse";
    }
    if (peek(r, core, SEM_TAKEN) & ~(uint64_t)SEM_TAKEN_DONE) {
        return "a semaphore that is more than taken";
    }
    if (peek(r, core, CORE_IRQ_ENABLE) & ~(uint64_t)CORE_IRQ_ENABLE_BITS) {
        return "interrupts for reasons that there are not";
    }
    if (npu_error_name((unsigned)field_get(CORE_FAULT_CODE, fault))[0] == '?' ||
        field_get(CORE_FAULT_SIZE, fault) > 8 ||
        (fault & ~(uint64_t)(CORE_FAULT_CODE | CORE_FAULT_SIZE | CORE_FAULT_WRITE))) {
        return "a bad access that is none";
    }
    if (peek(r, core, PMU_FIRST) > r->now || peek(r, core, PMU_LAST) > r->now) {
        return "counts of what is to come";
    }
    if (r->config.seed == 0 && r->irq[core] != (wanted != 0)) {
        return "an interrupt line that is not where it belongs";
    }
    return NULL;
}

const char *fuzz_look(const struct rig *r)
{
    const char *wrong = NULL;

    for (unsigned c = 0; c < r->config.cores && !wrong; c++) {
        wrong = look_at_core(r, c);
        for (unsigned p = 0; p < NPU_PIPES && !wrong; p++) {
            wrong = pipe_name(p)[0] == '?' ? NULL : look_at_pipe(r, c, p);
        }
    }
    for (unsigned i = 0; i < ROW_CHIP_BARRIER && !wrong; i++) {
        uint64_t unit = peek(r, NPU_CHIP, CHIP_BARRIER + 8 * i);
        uint64_t count = field_get(CHIP_BARRIER_COUNT, unit);
        uint32_t sem = SEM_CORE + (uint32_t)field_get(CHIP_BARRIER_WATCH, unit);

        if (unit & ~(uint64_t)(CHIP_BARRIER_WATCH | CHIP_BARRIER_COUNT |
                               CHIP_BARRIER_TARGET | CHIP_BARRIER_CORES)) {
            wrong = "a barrier unit with more than its fields";
        } else if (count && peek(r, 0, SEM_VALUE + 8 * sem) >= count) {
            wrong = "a barrier unit that does not release";
        }
    }
    return wrong;
}
