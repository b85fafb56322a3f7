/* SPDX-License-Identifier: MIT
 *
 * Moving elements; see move.h. A tile is brought as rows by MTE2 and stored as rows by MTE3;
 * between them the Vector transposes it, if it is of that kind. One loop issues all three.
 */
#include "kernels/move/move.h"

#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "kernels/lib/share.h"
#include "kernels/move/inside.h"
#include "sched/launch.h"

enum { PATTERN_SEM = 0 };

struct move_step {
    struct move_job *job;
    unsigned n;
    uint64_t units;
    char *pattern; /* MOVE_PATTERN bytes in GM that fill, or NULL */
    struct move_record (*records)[MOVE_BUFFERS]; /* of a block, or NULL */
};

/* Buffers of a block. */
struct room {
    struct tque *in, *out; /* out: of what is transposed */
    uint32_t pattern;
    struct move_record *record; /* of each buffer */
    unsigned tile;
};

static void fill(const struct room *r, const struct move_job *j,
                 const struct move_tile *t)
{
    struct mte_rows rows = move_rows_out(j, t);
    union cmd cmd;

    mte_ub_to_gm_rows(&cmd, t->y, r->pattern, &rows);
    task_issue(PIPE_MTE3, &cmd);
}

static void bring(struct room *r, const struct move_job *j, const struct move_tile *t)
{
    struct mte_rows rows = move_rows_in(j, t), out = move_rows_out(j, t);
    uint32_t in = tque_alloc(r->in);
    struct tque *que = r->in;
    union cmd cmd;

    mte_gm_to_ub_rows(&cmd, in, t->x, &rows);
    tque_enque(r->in, in, &cmd);
    task_issue(PIPE_MTE2, &cmd);
    if (j->transposes) {
        uint32_t from = tque_deque(r->in), to = tque_alloc(r->out);
        move_transpose(j, t, from, to, &r->record[r->tile++ % MOVE_BUFFERS]);
        cmd_nop(&cmd);
        tque_free(r->in, from, &cmd);
        tque_enque(r->out, to, &cmd);
        task_issue(PIPE_V, &cmd);
        que = r->out;
    }
    in = tque_deque(que);
    mte_ub_to_gm_rows(&cmd, t->y, in, &out);
    tque_free(que, in, &cmd);
    task_issue(PIPE_MTE3, &cmd);
}

static struct room open_room(const struct move_step *l)
{
    struct tpipe *pipe = tpipe_open();
    bool transposes = l->job[0].transposes;
    struct room r = {.in = tque_init(pipe, "x", VECIN, PIPE_MTE2,
                                     transposes ? PIPE_V : PIPE_MTE3, MOVE_BUFFERS,
                                     MOVE_SLOT)};
    union cmd cmd;

    if (transposes) {
        r.record = l->records[task_block()];
        for (unsigned i = 0; i < MOVE_BUFFERS; i++) {
            r.record[i].n = 0;
        }
        r.out = tque_init(pipe, "y", VECOUT, PIPE_V, PIPE_MTE3, MOVE_BUFFERS, MOVE_SLOT);
    }
    if (l->pattern) {
        r.pattern = tbuf_init(pipe, "pattern", VECIN, MOVE_PATTERN);
        mte_gm_to_ub(&cmd, r.pattern, l->pattern, MOVE_PATTERN);
        cmd_post(&cmd, PATTERN_SEM, 1);
        task_issue(PIPE_MTE2, &cmd);
        cmd_nop(&cmd);
        cmd_wait(&cmd, PATTERN_SEM, 1);
        task_issue(PIPE_MTE3, &cmd);
    }
    return r;
}

void move_kernel(void *arg)
{
    const struct move_step *l = arg;
    uint64_t unit = share_begin(l->units, 1, task_block(), task_blocks());
    uint64_t end = share_begin(l->units, 1, task_block() + 1, task_blocks()), before = 0;
    struct room r = open_room(l);

    for (unsigned i = 0; i < l->n; before += l->job[i++].units) {
        const struct move_job *j = &l->job[i];
        for (; unit < end && unit < before + j->units; unit++) {
            struct move_tile t = move_tile(j, unit - before);
            if (j->x) {
                bring(&r, j, &t);
            } else {
                fill(&r, j, &t);
            }
        }
    }
}

static char *make_pattern(uint64_t value, uint32_t esize)
{
    char *pattern = malloc(MOVE_PATTERN);

    for (uint32_t i = 0; pattern && i < MOVE_PATTERN; i += esize) {
        memcpy(pattern + i, &value, esize);
    }
    return pattern;
}

static bool is_sound(const struct move *m)
{
    bool sound = m->y && m->ndim <= MOVE_DIMS &&
                 (m->esize == 1 || m->esize == 2 || m->esize == 4 || m->esize == 8);

    for (uint32_t d = 0; sound && d < m->ndim; d++) {
        sound = m->dim[d].size > 0;
    }
    return sound;
}

/* Plans the moves; ERR_ARG, ERR_NOMEM: not all of them. */
static int plan(struct move_step *l, const struct move *moves)
{
    for (unsigned i = 0; i < l->n; i++) {
        const struct move *m = &moves[i];
        if (!is_sound(m)) {
            return ERR_ARG;
        }
        move_plan(m, l->n == 1, &l->job[i]);
        l->units += l->job[i].units;
        if (m->x == NULL && l->pattern == NULL) {
            l->pattern = make_pattern(m->value, m->esize);
            if (l->pattern == NULL) {
                return ERR_NOMEM;
            }
        }
    }
    return 0;
}

void move_end(struct move_step *of)
{
    free(of->records);
    free(of->pattern);
    free(of->job);
    free(of);
}

int move_begin(struct move_step **of, const struct move *moves, unsigned n,
               unsigned cores)
{
    struct move_step *l = malloc(sizeof(*l));
    int err;

    if (n == 0 || l == NULL) {
        free(l);
        return n ? ERR_NOMEM : ERR_ARG;
    }
    *l = (struct move_step){.job = malloc(n * sizeof(struct move_job)), .n = n};
    err = l->job ? plan(l, moves) : ERR_NOMEM;
    if (!err && l->job[0].transposes) {
        l->records = malloc((cores ? cores : chip_cores()) * sizeof(*l->records));
        err = l->records ? 0 : ERR_NOMEM;
    }
    if (err) {
        move_end(l);
        return err;
    }
    *of = l;
    return 0;
}

int move(const char *name, const struct move *moves, unsigned n, unsigned cores,
         struct sched_report *report)
{
    struct move_step *l;
    int err = move_begin(&l, moves, n, cores);

    report->text[0] = 0;
    if (err) {
        return err;
    }
    err = launch(&(struct launch){name, move_kernel, l, .cores = cores}, report);
    move_end(l);
    return err;
}
