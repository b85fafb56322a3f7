/* SPDX-License-Identifier: MIT
 *
 * What every launch of mla_prolog does; see tiles.h.
 */
#include <stdlib.h>

#include "kernels/mla_prolog/product.h"

/* Commands that go out together: less than half of what the Vector does with a tile, so
 * that what is left in its queue then takes it long. */
enum { PARCEL = 16 };

void issue_many(enum pipe pipe, union cmd *cmds, unsigned n)
{
    for (unsigned i = 0, part; i < n; i += part) {
        part = min_u32(n - i, PARCEL);
        task_issue_many(pipe, &cmds[i], part);
    }
}

struct job {
    const struct mla_prolog *p;
    uint32_t rows;
    void (*run)(struct share *s);
    struct step *steps; /* of each core */
};

/* One core's part of a launch: whole blocks of rows. */
static void kernel(void *arg)
{
    const struct job *job = arg;
    const struct mla_prolog *p = job->p;
    uint64_t begin = share_begin(p->m, job->rows, task_block(), task_blocks());
    uint64_t end = share_begin(p->m, job->rows, task_block() + 1, task_blocks());
    struct share s = {.p = p,
                      .m_begin = (uint32_t)begin,
                      .m_end = (uint32_t)end,
                      .rows = job->rows,
                      .tiles = p->n / TILE + (p->n % TILE != 0),
                      .step = &job->steps[task_block()]};

    if (s.m_begin < s.m_end) {
        job->run(&s);
    }
}

int run_shares(const struct mla_prolog *p, const char *name, uint32_t rows,
               void (*run)(struct share *s), struct sched_report *report)
{
    unsigned cores = p->cores ? p->cores : chip_cores();
    struct job job = {p, rows, run, malloc(cores * sizeof(struct step))};
    int err = ERR_ARG;

    report->text[0] = 0;
    if (p->m != 0 && p->n != 0 && p->k != 0) {
        err = job.steps ? launch(&(struct launch){name, kernel, &job, .cores = p->cores},
                                 report)
                        : ERR_NOMEM;
    }
    free(job.steps);
    return err;
}

void give(const struct handed *h, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        task_post(h[i].sem, h[i].count);
    }
}

void take_back(const struct handed *h, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        task_wait(h[i].sem, h[i].count);
    }
}
