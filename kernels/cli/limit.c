/* SPDX-License-Identifier: MIT
 *
 * The limit of the machine for some work; see limit.h. Rates are those of the chip that
 * runs, a fractal of the Cube takes a cycle, of fp32 two (hal/contract/cube.md).
 */
#include "kernels/cli/limit.h"

#include "hal/chip.h"

static double bytes_of(const struct tensor *t)
{
    return (double)t->count * type_bits(t->type) / 8;
}

static uint64_t up(uint64_t n, unsigned to)
{
    return (n + to - 1) / to;
}

void work_in(struct work *w, enum npu_mem to, const struct tensor *t)
{
    double bytes = bytes_of(t);

    w->gm_read += bytes;
    w->cycles[PIPE_MTE2] +=
        bytes / chip_cost(to == NPU_MEM_UB ? COST_GM_UB_RATE : COST_GM_L1_RATE);
}

void work_out(struct work *w, enum npu_mem from, const struct tensor *t)
{
    w->gm_written += bytes_of(t);
    if (from == NPU_MEM_UB) {
        w->cycles[PIPE_MTE3] += bytes_of(t) / chip_cost(COST_UB_GM_RATE);
    } else {
        w->cycles[PIPE_FIX] += (double)t->count * 4 / chip_cost(COST_L0C_GM_RATE);
    }
}

void work_matmul(struct work *w, enum type type, uint64_t m, uint64_t n, uint64_t k)
{
    uint64_t fractals = up(m, 16) * up(n, 16) * up(k, type_c0(type));

    w->macs += m * n * k;
    w->cycles[PIPE_M] += (double)fractals * (type == TYPE_F32 ? 2 : 1);
}

void work_vector(struct work *w, enum op code, enum type type, uint64_t elements)
{
    const struct cmd_info *info = cmd_find(code);
    unsigned bits = type_bits(type);

    w->cycles[PIPE_V] += (double)up(elements, 256 * 8 / bits) *
                         (bits == 32 ? info->slope32 : info->slope16);
}

static double above(double n, double most)
{
    return n > most ? n - most : 0;
}

/* Bytes that have to come from HBM or go there: what L2 has not yet, or cannot hold. */
static double hbm_bytes(const struct work *w)
{
    double room = chip_cost(COST_L2_BYTES);

    return w->cold ? w->gm_read + above(w->gm_written, room)
                   : above(w->gm_read + w->gm_written, room);
}

struct work_limit work_limit(const struct work *w, unsigned cores)
{
    double read = w->gm_read / chip_cost(COST_L2_READ_RATE);
    double all = (w->gm_read + w->gm_written) / chip_cost(COST_L2_RATE);
    double hbm_rate = chip_cost(COST_HBM_RATE); /* 0 under v1 */
    struct work_limit limit = {read > all ? read : all, "L2"};
    uint64_t whole;

    if (hbm_rate > 0 && hbm_bytes(w) / hbm_rate > limit.cycles) {
        limit = (struct work_limit){hbm_bytes(w) / hbm_rate, "HBM"};
    }

    cores = cores ? cores : chip_cores();
    for (unsigned pipe = 0; pipe < NPU_PIPES; pipe++) {
        if (w->cycles[pipe] / cores > limit.cycles) {
            limit.cycles = w->cycles[pipe] / cores;
            limit.by = pipe_name(pipe);
        }
    }
    whole = (uint64_t)limit.cycles; /* a share of a cycle takes one */
    limit.cycles = (double)(whole + ((double)whole < limit.cycles));
    return limit;
}
