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

static enum npu_timing prices = TIMING_v2;

void rig_prices(enum npu_timing timing)
{
    prices = timing;
    if (rig.gm) {
        rig.config.timing = timing;
        rig.npu.host = &host;
        npu_init(&rig.npu, &rig.config);
    }
}

void rig_reset(struct rig *r)
{
    r->npu.host = &host;
    r->npu.ctx = r;
    r->now = 0;
    r->maps = 0;
    memset(r->irq, 0, sizeof(r->irq));
    memset(r->gm, 0, RIG_GM_BYTES);
    for (unsigned c = 0; c < r->config.cores; c++) {
        for (unsigned m = 0; m < NPU_MEM_COUNT; m++) {
            memset(r->npu.mem[c][m], 0, npu_mem_size(r->config.profile, (enum npu_mem)m));
        }
    }
    npu_init(&r->npu, &r->config);
}

void rig_open(struct rig *r, unsigned cores, enum npu_profile profile)
{
    memset(r, 0, sizeof(*r));
    r->gm = zeroed(RIG_GM_BYTES);
    r->npu.host = &host;
    r->npu.ctx = r;
    r->npu.s = zeroed(npu_state_size());
    r->npu.l2 = zeroed(npu_l2_bytes(profile));
    r->config = (struct npu_config){.cores = cores,
                                    .profile = profile,
                                    .timing = prices,
                                    .gm_base = RIG_GM_BASE,
                                    .gm_size = RIG_GM_BYTES};
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
    free(r->npu.l2);
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

uint64_t rig_sem(struct rig *r, unsigned core, unsigned sem)
{
    return rig_read(r, core, SEM_VALUE + 8 * sem);
}

void rig_post(struct rig *r, unsigned core, unsigned sem, unsigned count)
{
    rig_write(r, core, SEM_POST + 8 * sem, count);
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

union cmd rig_nop(unsigned wait, unsigned post)
{
    union cmd c = rig_command(OP_NOP, TYPE_NONE);

    c.head.wait_sem[0] = (uint8_t)wait;
    c.head.wait_n[0] = wait != 0;
    c.head.post_sem[0] = (uint8_t)post;
    c.head.post_n[0] = post != 0;
    return c;
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

union cmd rig_load3d(enum op op, enum type type)
{
    union cmd c = rig_command(op, type);
    unsigned c0 = type_c0(type);

    c.load3d.dst = 512;
    c.load3d.src = 64;
    c.load3d.map_h = 9;
    c.load3d.map_w = 11;
    c.load3d.channels = (uint16_t)(2 * c0);
    c.load3d.filter_h = c.load3d.filter_w = 3;
    c.load3d.stride_h = c.load3d.stride_w = 1;
    c.load3d.dilation_h = c.load3d.dilation_w = 1;
    c.load3d.pad_left = c.load3d.pad_right = 1;
    c.load3d.pad_top = c.load3d.pad_bottom = 1;
    c.load3d.m_len = 50;
    c.load3d.k_len = (uint16_t)(9 * c0);
    return c;
}

bool rig_stopped(struct rig *r, enum pipe pipe, unsigned code, unsigned field)
{
    uint64_t error = rig_read(r, 0, rig_pipe(pipe, PIPE_ERROR));

    return field_get(PIPE_ERROR_CODE, error) == code &&
           field_get(PIPE_ERROR_FIELD, error) == field;
}

struct rig rig;

void fresh(void)
{
    if (rig.gm == NULL) {
        rig_open(&rig, 1, PROFILE_a2);
    } else {
        rig_reset(&rig);
    }
}

uint8_t *mem(enum npu_mem m)
{
    return rig.npu.mem[0][m];
}

enum pipe pipe_of(const union cmd *c)
{
    return (enum pipe)cmd_find(c->head.opcode)->pipe;
}

unsigned run(union cmd c)
{
    rig_push(&rig, 0, pipe_of(&c), &c);
    rig_drain(&rig);
    return rig_error(&rig, 0, pipe_of(&c));
}

uint64_t cycles_of(union cmd c)
{
    uint64_t begin = rig.now;

    run(c);
    return rig.now - begin;
}

bool refused(union cmd c, unsigned code, unsigned field)
{
    return run(c) == code && rig_stopped(&rig, pipe_of(&c), code, field);
}
