/* SPDX-License-Identifier: MIT
 *
 * Pipe driver; see pipe.h.
 */
#include "hal/pipe.h"

#include "hal/chip.h"
#include "hal/mmio.h"

struct pipe_port pipe_ports[NPU_MAX_CORES][NPU_PIPES];

void pipe_init(unsigned n)
{
    for (unsigned core = 0; core < n; core++) {
        for (unsigned p = 0; p < NPU_PIPES; p++) {
            pipe_ports[core][p].push =
                (volatile uint64_t *)(pipe_base(core, (enum pipe)p) + PIPE_PUSH);
        }
    }
}

void pipe_forget(unsigned core)
{
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        pipe_ports[core][p].room = pipe_ports[core][p].owed = 0;
    }
}

int pipe_push_many(unsigned core, enum pipe pipe, const union cmd *cmds, unsigned count)
{
    struct pipe_port *port = &pipe_ports[core][pipe];

    if (count == 0 || count > PIPE_DEPTH) {
        return ERR_ARG;
    }
    if (port->room < count && pipe_refresh(port) < count) {
        return ERR_BUSY;
    }
    pipe_store_many(port, cmds, count);
    return 0;
}

unsigned pipe_free(unsigned core, enum pipe pipe)
{
    return (unsigned)read64(pipe_base(core, pipe) + PIPE_FREE);
}

void pipe_arm(unsigned core, enum pipe pipe, unsigned slots)
{
    write64(pipe_base(core, pipe) + PIPE_ARM, slots);
}

bool pipe_idle(unsigned core, enum pipe pipe)
{
    return read64(pipe_base(core, pipe) + PIPE_LEFT) == 0;
}

bool pipe_waits(unsigned core, enum pipe pipe)
{
    uint64_t status = read64(pipe_base(core, pipe) + PIPE_STATUS);

    return field_get(PIPE_STATUS_STATE, status) == PIPE_WAITING;
}

static void read_queued(unsigned core, enum pipe pipe, unsigned i, uint64_t *words,
                        unsigned n)
{
    for (unsigned w = 0; w < n; w++) {
        unsigned at = ((unsigned)pipe * PIPE_DEPTH + i) * CMD_BYTES / 8 + w;
        words[w] = read64(core_base(core) + QUEUE_CMD + 8 * at);
    }
}

struct cmd_head pipe_queued(unsigned core, enum pipe pipe, unsigned i)
{
    union {
        struct cmd_head head;
        uint64_t words[sizeof(struct cmd_head) / 8];
    } cmd;

    read_queued(core, pipe, i, cmd.words, sizeof(cmd.words) / 8);
    return cmd.head;
}

union cmd pipe_command(unsigned core, enum pipe pipe, unsigned i)
{
    union cmd cmd;

    read_queued(core, pipe, i, cmd.words, sizeof(cmd.words) / 8);
    return cmd;
}

uint64_t pipe_since(unsigned core, enum pipe pipe)
{
    return read64(pipe_base(core, pipe) + PIPE_SINCE);
}

bool pipe_waits_for_units(unsigned core, enum pipe pipe)
{
    return (read64(pipe_base(core, pipe) + PIPE_STATUS) & PIPE_STATUS_UNITS) != 0;
}

bool core_busy(unsigned core)
{
    return (read64(core_base(core) + CORE_STATUS) & CORE_STATUS_BUSY) != 0;
}

bool core_in_flight(unsigned core)
{
    return (read64(core_base(core) + CORE_STATUS) & CORE_STATUS_RUNNING) != 0;
}

void pipe_reset(unsigned core, enum pipe pipe)
{
    write64(pipe_base(core, pipe) + PIPE_CTRL, PIPE_CTRL_RESET);
    pipe_ports[core][pipe].room = 0;
}

void core_reset(unsigned core)
{
    write64(core_base(core) + CORE_CTRL, CORE_CTRL_RESET | CORE_CTRL_PMU);
    for (unsigned p = 0; p < NPU_PIPES; p++) {
        pipe_ports[core][p].room = pipe_ports[core][p].owed = 0;
    }
}
