/* SPDX-License-Identifier: MIT
 *
 * Vector addition; see vadd.h. UB holds two buffers each of x, y and z. MTE2 fills one
 * pair while the Vector adds the other and MTE3 empties the sum before that. FREE counts
 * empty buffers, FULL filled ones; engines post them.
 */
#include "kernels/vadd/vadd.h"

#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/sem.h"
#include "hal/vector.h"

enum { TILE = 32 << 10 /* bytes */, BUFFERS = 2 };

enum {
    IN_FREE = VADD_SEM_FIRST,
    IN_FULL,
    OUT_FREE,
    OUT_FULL,
    DONE = VADD_SEM_LAST,
};

/* What one core does: bytes [begin, end) of the vectors. */
struct share {
    const struct vadd *p;
    uint64_t begin, end;
};

static uint32_t tile_bytes(const struct share *s, uint64_t at)
{
    return (uint32_t)(s->end - at < TILE ? s->end - at : TILE);
}

static uint32_t ub_x(unsigned i)
{
    return i % BUFFERS * TILE;
}

static uint32_t ub_y(unsigned i)
{
    return (BUFFERS + i % BUFFERS) * TILE;
}

static uint32_t ub_z(unsigned i)
{
    return (2 * BUFFERS + i % BUFFERS) * TILE;
}

static void copy_in(void *arg)
{
    const struct share *s = arg;
    unsigned i = 0;
    union cmd cmd;

    for (uint64_t at = s->begin; at < s->end; at += TILE, i++) {
        mte_gm_to_ub(&cmd, ub_x(i), (const char *)s->p->x + at, tile_bytes(s, at));
        cmd_wait(&cmd, IN_FREE, 1);
        task_issue(PIPE_MTE2, &cmd);
        mte_gm_to_ub(&cmd, ub_y(i), (const char *)s->p->y + at, tile_bytes(s, at));
        cmd_post(&cmd, IN_FULL, 1);
        task_issue(PIPE_MTE2, &cmd);
    }
}

static void compute(void *arg)
{
    const struct share *s = arg;
    uint32_t esize = type_bits(s->p->type) / 8, counted = 0;
    unsigned i = 0;
    union cmd cmd;

    for (uint64_t at = s->begin; at < s->end; at += TILE, i++) {
        if (tile_bytes(s, at) != counted) {
            counted = tile_bytes(s, at);
            vector_count(&cmd, counted / esize);
            task_issue(PIPE_V, &cmd);
        }
        vector_add(&cmd, s->p->type, ub_z(i), ub_x(i), ub_y(i));
        cmd_wait(&cmd, IN_FULL, 1);
        cmd_wait(&cmd, OUT_FREE, 1);
        cmd_post(&cmd, IN_FREE, 1);
        cmd_post(&cmd, OUT_FULL, 1);
        task_issue(PIPE_V, &cmd);
    }
}

static void copy_out(void *arg)
{
    const struct share *s = arg;
    unsigned i = 0;
    union cmd cmd;

    for (uint64_t at = s->begin; at < s->end; at += TILE, i++) {
        mte_ub_to_gm(&cmd, (char *)s->p->z + at, ub_z(i), tile_bytes(s, at));
        cmd_wait(&cmd, OUT_FULL, 1);
        cmd_post(&cmd, OUT_FREE, 1);
        if (at + TILE >= s->end) {
            cmd_post(&cmd, DONE, 1);
        }
        task_issue(PIPE_MTE3, &cmd);
    }
    task_wait(DONE, 1);
    task_wait(IN_FREE, BUFFERS);
    task_wait(OUT_FREE, BUFFERS);
}

static int start_share(struct share *s, unsigned core)
{
    int err;

    sem_post(core, IN_FREE, BUFFERS);
    sem_post(core, OUT_FREE, BUFFERS);
    err = task_create("vadd copy-in", core, copy_in, s);
    err = err ? err : task_create("vadd compute", core, compute, s);
    return err ? err : task_create("vadd copy-out", core, copy_out, s);
}

int vadd(const struct vadd *p, struct sched_report *report)
{
    static struct share shares[NPU_MAX_CORES];
    unsigned cores = p->cores ? p->cores : chip_cores();
    uint64_t bytes = p->n * (type_bits(p->type) / 8), tiles = (bytes + TILE - 1) / TILE;
    int err = 0;

    report->text[0] = 0;
    if (p->n == 0 || cores > chip_cores()) {
        return ERR_ARG;
    }
    if (p->type != TYPE_F32 && p->type != TYPE_F16) {
        return ERR_TYPE;
    }
    for (unsigned i = 0; i < cores && !err; i++) {
        uint64_t begin = tiles * i / cores * TILE, end = tiles * (i + 1) / cores * TILE;
        shares[i] = (struct share){p, begin, end < bytes ? end : bytes};
        if (begin < shares[i].end) {
            err = start_share(&shares[i], i);
        }
    }
    if (err) {
        sched_drop();
        return err;
    }
    return sched_run(report);
}
