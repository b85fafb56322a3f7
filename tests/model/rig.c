/* SPDX-License-Identifier: MIT
 *
 * A chip without a CPU; see rig.h.
 */
#include "tests/model/rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *gm_map(void *ctx, uint64_t addr, uint64_t len, bool write)
{
    struct rig *r = ctx;

    (void)write;
    if (addr < RIG_GM_BASE || addr - RIG_GM_BASE > RIG_GM_BYTES ||
        len > RIG_GM_BYTES - (addr - RIG_GM_BASE)) {
        return NULL;
    }
    r->maps++;
    return r->gm + (addr - RIG_GM_BASE);
}

static void gm_unmap(void *ctx, void *p, uint64_t addr, uint64_t len, bool write)
{
    struct rig *r = ctx;

    (void)p;
    (void)addr;
    (void)len;
    (void)write;
    r->maps--;
}

static void irq(void *ctx, unsigned core, bool level)
{
    struct rig *r = ctx;

    r->irq[core] = level;
}

static const struct npu_host host = {.gm_map = gm_map, .gm_unmap = gm_unmap, .irq = irq};

static void *zeroed(size_t bytes)
{
    void *p = calloc(1, bytes);

    if (p == NULL) {
        fprintf(stderr, "no memory for the rig\n");
        exit(1);
    }
    return p;
}

void rig_open(struct rig *r, unsigned cores, enum npu_profile profile)
{
    memset(r, 0, sizeof(*r));
    r->gm = zeroed(RIG_GM_BYTES);
    r->npu.s = zeroed(npu_state_size());
    r->npu.host = &host;
    r->npu.ctx = r;
    r->config = (struct npu_config){cores, profile, RIG_GM_BASE, RIG_GM_BYTES, 0};
    for (unsigned c = 0; c < cores; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            r->npu.mem[c][m] = zeroed(npu_mem_size(profile, (enum npu_mem)m));
        }
    }
    npu_init(&r->npu, &r->config);
}

void rig_close(struct rig *r)
{
    for (unsigned c = 0; c < r->config.cores; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            free(r->npu.mem[c][m]);
        }
    }
    free(r->npu.s);
    free(r->gm);
}

void rig_to(struct rig *r, uint64_t cycle)
{
    r->now = cycle;
    npu_advance(&r->npu, cycle);
}

void rig_drain(struct rig *r)
{
    while (npu_next(&r->npu) != NPU_NEVER) {
        rig_to(r, npu_next(&r->npu));
    }
}

uint64_t rig_read(struct rig *r, unsigned core, uint32_t reg)
{
    return npu_read(&r->npu, r->now, core, reg, 8);
}

void rig_write(struct rig *r, unsigned core, uint32_t reg, uint64_t value)
{
    npu_write(&r->npu, r->now, core, reg, value, 8);
}

uint32_t rig_pipe(enum pipe pipe, uint32_t reg)
{
    return PIPE_BASE + (uint32_t)pipe * PIPE_STRIDE + reg;
}

void rig_push(struct rig *r, unsigned core, enum pipe pipe, const union cmd *cmd)
{
    uint64_t at = RIG_GM_BYTES - CMD_BYTES;

    memcpy(r->gm + at, cmd, CMD_BYTES);
    rig_write(r, core, rig_pipe(pipe, PIPE_PUSH), RIG_GM_BASE + at);
}

unsigned rig_error(struct rig *r, unsigned core, enum pipe pipe)
{
    return (unsigned)field_get(PIPE_ERROR_CODE,
                               rig_read(r, core, rig_pipe(pipe, PIPE_ERROR)));
}

union cmd rig_command(enum op op, enum type type)
{
    return (union cmd){.head = {.opcode = (uint16_t)op, .type = (uint8_t)type}};
}

union cmd rig_copy_in(uint32_t ub, uint64_t gm, uint32_t bytes)
{
    union cmd c = rig_command(OP_COPY_GM_UB, TYPE_NONE);

    c.copy_in.src = RIG_GM_BASE + gm;
    c.copy_in.dst = ub;
    c.copy_in.len_bytes = bytes;
    c.copy_in.n_blocks = 1;
    return c;
}
