/* SPDX-License-Identifier: MIT
 *
 * A stage that copies rows by their indices; see gather.h. The hart looks at each index, MTE2
 * brings the rows to UB, MTE3 takes some of them away together while the next ones come.
 * What is a row follows from the result: its last dimensions, which the tensor has side by
 * side too.
 */
#include <stdio.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/mte.h"
#include "kernels/lib/share.h"
#include "kernels/tile/gather/gather.h"
#include "kernels/tile/ir/size.h"
#include "sched/launch.h"

enum { SEM_FULL = 2, SEM_FREE, HALVES = 2, ROWS = 64 /* that are stored together */ };

struct gather {
    struct tile_plan stage;
    uint64_t row_bytes, rows, step;   /* step: bytes from an index to the next */
    unsigned n;                       /* dimensions of the result before the row */
    uint32_t size[TILE_RANK];         /* of these */
    uint64_t x_stride[TILE_RANK];     /* bytes; 0: the tensor does not have it */
    uint64_t index_stride[TILE_RANK]; /* elements */
    uint16_t line;
    uint8_t x, index; /* parameters */
    const char *from; /* of the call */
    const int32_t *place;
    char *to;
};

static struct gather *gather_of(const struct tile_plan *t)
{
    return (struct gather *)(uintptr_t)t;
}

/* How many dimensions at the end are a row. */
static unsigned row_dims(const struct tile_tensor *to, const struct tile_tensor *x,
                         const struct tile_tensor *index, unsigned dim)
{
    unsigned n = 0;

    while (n < to->rank && n < x->rank &&
           to->dim[to->rank - 1 - n] == x->dim[x->rank - 1 - n] &&
           x->dim[x->rank - 1 - n] != dim &&
           !(tile_tensor_dims(index) >> to->dim[to->rank - 1 - n] & 1)) {
        n++;
    }
    return n;
}

int gather_plan(struct tile_plan **plan, const struct tile_kernel *k, unsigned cores,
                struct tile_arena *arena, struct tile_error *error)
{
    struct gather *g = tile_alloc(arena, sizeof(*g));
    const struct tile_node *n = &k->node[k->result[0].value];
    const struct tile_tensor *to = &k->result[0].tensor;
    const struct tile_tensor *x = &k->param[k->node[n->operand[0]].index];
    const struct tile_tensor *index = &k->param[k->node[n->operand[1]].index];
    unsigned esize = esize_of(x->type), row;

    *plan = g ? &g->stage : NULL;
    if (g == NULL) {
        return ERR_NOMEM;
    }
    row = row_dims(to, x, index, n->dim);
    *g = (struct gather){.stage = {.kind = &gather_kind,
                                   .k = k,
                                   .name = k->name,
                                   .cores = cores},
                         .row_bytes = esize,
                         .rows = 1,
                         .n = to->rank - row,
                         .line = n->line,
                         .x = (uint8_t)k->node[n->operand[0]].index,
                         .index = (uint8_t)k->node[n->operand[1]].index,
                         .step = tile_dim_stride(k, x, n->dim) * esize};
    for (unsigned i = 0; i < to->rank; i++) {
        uint32_t size = k->dim[to->dim[i]].size;
        if (i >= g->n) {
            g->row_bytes *= size;
            continue;
        }
        g->size[i] = size;
        g->rows *= size;
        g->x_stride[i] = tile_dim_stride(k, x, to->dim[i]) * esize;
        g->index_stride[i] = tile_dim_stride(k, index, to->dim[i]);
    }
    if (round_up(g->row_bytes, BLOCK) > chip_mem(NPU_MEM_UB) / HALVES) {
        return tile_error_set(error, n, ERR_LOCAL,
                              "gather of rows of %llu bytes: half of UB is %lu",
                              (unsigned long long)g->row_bytes,
                              (unsigned long)chip_mem(NPU_MEM_UB) / HALVES);
    }
    plan_begin(&g->stage);
    return 0;
}

static int gather_bind(const struct tile_plan *t, const struct tile_call *call,
                       struct sched_report *report)
{
    struct gather *g = gather_of(t);

    (void)report;
    g->from = call->in[g->x];
    g->place = call->in[g->index];
    g->to = call->out[0];
    return 0;
}

/* Where row r of the result comes from. */
static const char *row_at(const struct gather *g, uint64_t r)
{
    uint64_t offset = 0, place = 0;

    for (unsigned i = g->n; i-- > 0; r /= g->size[i]) {
        offset += r % g->size[i] * g->x_stride[i];
        place += r % g->size[i] * g->index_stride[i];
    }
    return g->from + offset + (uint64_t)(uint32_t)g->place[place] * g->step;
}

/* Some rows, to one half of UB and from there. */
static void copy_rows(const struct gather *g, uint64_t first, uint32_t rows, uint32_t ub)
{
    uint32_t pitch = (uint32_t)round_up(g->row_bytes, BLOCK);
    union cmd cmd;

    for (uint32_t r = 0; r < rows; r++) {
        mte_gm_to_ub(&cmd, ub + r * pitch, row_at(g, first + r), (uint32_t)g->row_bytes);
        if (r == 0) {
            cmd_wait(&cmd, SEM_FREE, 1);
        }
        if (r == rows - 1) {
            cmd_post(&cmd, SEM_FULL, 1);
        }
        task_issue(PIPE_MTE2, &cmd);
    }
    mte_ub_to_gm_rows(&cmd, g->to + first * g->row_bytes, ub,
                      &(struct mte_rows){.n_rows = rows,
                                         .row_bytes = (uint32_t)g->row_bytes,
                                         .gm_pitch_bytes = (uint32_t)g->row_bytes,
                                         .local_pitch_bytes = pitch});
    cmd_wait(&cmd, SEM_FULL, 1);
    cmd_post(&cmd, SEM_FREE, 1);
    task_issue(PIPE_MTE3, &cmd);
}

static void gather_play(const struct tile_plan *t)
{
    const struct gather *g = gather_of(t);
    uint32_t half = chip_mem(NPU_MEM_UB) / HALVES / BLOCK * BLOCK;
    uint32_t pitch = (uint32_t)round_up(g->row_bytes, BLOCK);
    uint32_t most = half / pitch < ROWS ? half / pitch : ROWS, unit = 1;
    uint64_t at, end;
    unsigned turn = 0;

    while (g->row_bytes * unit % BLOCK) { /* no two cores write to one block */
        unit *= 2;
    }
    at = share_begin(g->rows, unit, task_block(), task_blocks());
    end = share_begin(g->rows, unit, task_block() + 1, task_blocks());
    sched_label(task_core(), SEM_FULL, "rows", "FULL");
    sched_label(task_core(), SEM_FREE, "rows", "FREE");
    task_tag(g->line);
    task_post(SEM_FREE, HALVES);
    for (; at < end; turn++) {
        uint32_t rows = end - at < most ? (uint32_t)(end - at) : most;
        copy_rows(g, at, rows, turn % HALVES * half);
        at += rows;
    }
    task_drain();
    task_wait(SEM_FREE, HALVES);
    task_tag(0);
}

static void gather_explain(const struct tile_plan *t, FILE *to)
{
    const struct gather *g = gather_of(t);

    fprintf(to, "%s: %llu rows of %llu bytes by their indices\n", t->name,
            (unsigned long long)g->rows, (unsigned long long)g->row_bytes);
}

const struct stage_kind gather_kind = {.explain = gather_explain};
const struct stage_run gather_run = {
    .kind = &gather_kind, .bind = gather_bind, .play = gather_play};
