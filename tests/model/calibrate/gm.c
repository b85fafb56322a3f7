/* SPDX-License-Identifier: MIT
 *
 * GM of more bytes than the host spends on it: the rig's few lie behind all of it, over and
 * over. For what is timed only; see calibrate.h.
 */
#include "tests/model/calibrate/calibrate.h"

static void *map(void *ctx, uint64_t addr, uint64_t len, bool write)
{
    struct rig *r = ctx;
    uint64_t at = (addr - RIG_GM_BASE) % RIG_GM_BYTES;

    (void)write;
    r->maps++;
    return len <= RIG_GM_BYTES - at ? r->gm + at : NULL;
}

static void unmap(void *ctx, void *p, uint64_t addr, uint64_t len, bool write)
{
    struct rig *r = ctx;

    (void)p, (void)addr, (void)len, (void)write;
    r->maps--;
}

static void irq(void *ctx, unsigned core, bool level)
{
    (void)ctx, (void)core, (void)level;
}

void calibrate_gm(struct rig *r, uint64_t bytes)
{
    static const struct npu_host host = {.gm_map = map, .gm_unmap = unmap, .irq = irq};

    r->npu.host = &host;
    r->config.gm_size = bytes;
    r->now = 0;
    npu_init(&r->npu, &r->config);
}
