/* SPDX-License-Identifier: MIT
 *
 * What every launch of mla_prolog does; see tiles.h.
 */
#include "kernels/mla_prolog/tiles.h"

/* Commands that go out together: less than half of what the Vector does with a tile, so
 * that what is left in its queue then takes it long. Of 8 to 20 the best, m = 4096. */
enum { PARCEL = 12 };

void make_room(enum pipe pipe, unsigned n)
{
    if (pipe_free(task_core(), pipe) < n) {
        unsigned slots = n < PARCEL ? PARCEL : n; /* not so often */
        (void)!task_wait_room(pipe, slots, SCHED_FOREVER);
    }
}

void issue_many(enum pipe pipe, union cmd *cmds, unsigned n)
{
    bool again = cmds[0].head.pc != 0;

    for (unsigned i = 0, part; i < n; i += part) {
        part = again ? min_u32(n - i, PARCEL) : 1;
        if (again) {
            make_room(pipe, part);
        }
        if (!again || pipe_push_many(task_core(), pipe, &cmds[i], part) != 0) {
            task_issue(pipe, &cmds[i]);
            part = 1;
        }
    }
}

struct job {
    const struct mla_prolog *p;
    uint32_t rows;
    void (*run)(struct share *s);
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
                      .tiles = p->n / TILE + (p->n % TILE != 0)};

    if (s.m_begin < s.m_end) {
        job->run(&s);
    }
}

int run_shares(const struct mla_prolog *p, const char *name, uint32_t rows,
               void (*run)(struct share *s), struct sched_report *report)
{
    struct job job = {p, rows, run};

    report->text[0] = 0;
    if (p->m == 0 || p->n == 0 || p->k == 0) {
        return ERR_ARG;
    }
    return launch(&(struct launch){name, kernel, &job, .cores = p->cores}, report);
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
