/* SPDX-License-Identifier: MIT
 *
 * The command `wild`: firmware that writes rubbish to the device, so that QEMU's side of it
 * is tried as well as the model's: registers of every size and alignment, windows, pushes
 * and DMA from and to any address. What DMA can reach of memory is one buffer of its own
 * or no memory at all, so the firmware lives to print what it has read: the same again
 * for the same seed, and nothing else is right or wrong here.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "hal/chip.h"
#include "hal/mmio.h"
#include "kernels/cli/op.h"

/* DMA begins in the first part of the buffer, and reaches no farther than its end. */
enum { BUFFER = 1 << 22, BEGINS = 1 << 17 };

static union cmd queue[PIPE_DEPTH];

struct wild {
    uint64_t random, read; /* state of the generator; what was read, mixed */
    unsigned cores;
    uint8_t *buffer;
};

static uint64_t next(struct wild *w)
{
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return w->random;
}

static unsigned below(struct wild *w, unsigned n)
{
    return (unsigned)(next(w) >> 32) % n;
}

static void access_at(struct wild *w, uintptr_t at, uint64_t value)
{
    uint64_t got = 0;

    switch (below(w, 8)) {
    case 0:
        got = *(volatile uint8_t *)at;
        break;
    case 1:
        got = *(volatile uint16_t *)at;
        break;
    case 2:
        got = *(volatile uint32_t *)at;
        break;
    case 3:
        got = read64(at);
        break;
    case 4:
        *(volatile uint8_t *)at = (uint8_t)value;
        break;
    case 5:
        *(volatile uint16_t *)at = (uint16_t)value;
        break;
    case 6:
        *(volatile uint32_t *)at = (uint32_t)value;
        break;
    default:
        write64(at, value);
        break;
    }
    w->read = (w->read ^ got) * 0x100000001b3u;
}

/* Mostly in the buffer; else where no memory is, or so high that a sum wraps around. */
static uint64_t address(struct wild *w)
{
    switch (below(w, 16)) {
    case 0:
        return next(w) % NPU_CHIP_BASE;
    case 1:
        return UINT64_MAX - next(w) % BUFFER;
    case 2:
        return core_base(below(w, w->cores)) + next(w) % NPU_CORE_STRIDE;
    default:
        return (uintptr_t)w->buffer + next(w) % BEGINS / 32 * 32;
    }
}

static void registers(struct wild *w)
{
    uintptr_t page = below(w, 8) ? core_base(below(w, w->cores)) : NPU_CHIP_BASE;
    uintptr_t at = page + below(w, NPU_CORE_REG_BYTES - 8);
    uint64_t value = below(w, 4) ? next(w) % 256 : next(w);

    at -= below(w, 4) ? at % 8 : 0;
    /* A push reads from the address, but a random one could be where the image lies. */
    if ((at - PIPE_BASE) % PIPE_STRIDE / 8 == PIPE_PUSH / 8) {
        value = address(w);
    }
    access_at(w, at, value);
}

static void windows(struct wild *w)
{
    enum npu_mem mem = (enum npu_mem)below(w, NPU_MEM_COUNT);
    uint32_t bytes = npu_mem_offset(mem) ? chip_mem(mem) : 0;

    if (bytes) {
        access_at(
            w, core_base(below(w, w->cores)) + npu_mem_offset(mem) + below(w, bytes - 7),
            next(w));
    }
}

/* A command that is mostly right. */
static void command(struct wild *w, union cmd *cmd)
{
    const struct cmd_info *info;
    bool writes;

    do {
        info = cmd_find(below(w, CMD_OPCODES));
    } while (!info);
    *cmd = (union cmd){.head = {.opcode = info->opcode,
                                .type = (uint8_t)__builtin_ctz(info->types),
                                .post_sem = {(uint8_t)below(w, SEM_COUNT), 0},
                                .post_n = {(uint8_t)below(w, 4), 0}}};
    writes = info->pipe == PIPE_MTE3 || info->pipe == PIPE_FIX; /* memory, so not far */
    for (unsigned i = 0; i < info->n_args; i++) {
        const struct cmd_range *range = cmd_range(info, &info->args[i]);
        uint64_t value = range->min + (uint64_t)range->multiple * below(w, 32);
        value = range->max > UINT32_MAX ? address(w)
                : writes || below(w, 8) ? value
                                        : next(w);
        __builtin_memcpy(cmd->bytes + info->args[i].offset, &value, info->args[i].size);
    }
}

static void push(struct wild *w)
{
    unsigned n = below(w, 8) ? 1 : 1 + below(w, PIPE_DEPTH), core = below(w, w->cores);
    const struct cmd_info *info;

    for (unsigned i = 0; i < n; i++) {
        command(w, &queue[i]);
    }
    info = cmd_find(queue[0].head.opcode);
    fence_push();
    write64(pipe_base(core, info->pipe ? (enum pipe)info->pipe : PIPE_V) + PIPE_PUSH,
            field_put(PIPE_PUSH_ADDR, (uintptr_t)queue) |
                field_put(PIPE_PUSH_MORE, n - 1));
}

static void reset(struct wild *w)
{
    for (unsigned c = 0; c < w->cores; c++) {
        write64(core_base(c) + CORE_CTRL, CORE_CTRL_RESET | CORE_CTRL_CLEAR);
        write64(core_base(c) + CORE_IRQ_ENABLE, 0);
    }
    write64(NPU_CHIP_BASE + CHIP_CTRL, CHIP_CTRL_RESET);
}

static int run(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    uint64_t steps = argc > 2 ? strtoull(argv[2], NULL, 0) : 10000;
    struct wild w = {.random = seed * 2 + 1,
                     .cores = chip_cores(),
                     .buffer = aligned_alloc(64, BUFFER)};

    for (uint64_t i = 0; i < steps; i++) {
        switch (below(&w, 8)) {
        case 0:
        case 1:
            registers(&w);
            break;
        case 2:
            windows(&w);
            break;
        case 3: /* what has stopped goes on */
            write64(pipe_base(below(&w, w.cores), (enum pipe)below(&w, NPU_PIPES)) +
                        PIPE_CTRL,
                    PIPE_CTRL_RESET);
            break;
        default:
            push(&w);
            break;
        }
    }
    reset(&w);
    printf("wild %" PRIu64 ": %" PRIu64 " steps, read %016" PRIx64 "\n", seed, steps,
           w.read);
    free(w.buffer);
    return 0;
}

COMMAND(wild, "[SEED [STEPS]]", "writes rubbish to the device", run);
