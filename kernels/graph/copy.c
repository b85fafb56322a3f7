/* SPDX-License-Identifier: MIT
 *
 * Steps of copies: `x1 X Y size:x:y ..;`, from element X of operand 1 on to element Y of the
 * result on, or `= VALUE Y size:0:y ..;`, a value there; see kernels/move/move.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cli/data.h"
#include "kernels/graph/run.h"
#include "kernels/move/move.h"

enum { MOVES = 256 };

/* Where a copy begins and ends, in elements: false if that is outside of a tensor. */
static bool inside(const struct move *m, int64_t at, bool is_x, uint64_t count)
{
    int64_t low = at, high = at;

    for (unsigned d = 0; d < m->ndim; d++) {
        int64_t step = (int64_t)(is_x ? m->dim[d].x_step : m->dim[d].y_step);
        int64_t span;
        if (__builtin_mul_overflow((int64_t)m->dim[d].size - 1, step, &span) ||
            __builtin_add_overflow(span < 0 ? low : high, span,
                                   span < 0 ? &low : &high)) {
            return false;
        }
    }
    return low >= 0 && (uint64_t)high < count;
}

/* The dimensions of a copy; where its text ends, or NULL. */
static const char *dims(const char *text, struct move *m)
{
    char *end;

    while (*text == ' ') {
        if (m->ndim == MOVE_DIMS) {
            return NULL;
        }
        struct move_dim *d = &m->dim[m->ndim++];
        d->size = strtoull(text + 1, &end, 10);
        d->x_step = *end == ':' ? (uint64_t)strtoll(end + 1, &end, 10) : 0;
        d->y_step = *end == ':' ? (uint64_t)strtoll(end + 1, &end, 10) : 0;
        if (d->size == 0 || d->size > INT32_MAX || end == text + 1) {
            return NULL;
        }
        text = end;
    }
    return *text == ';' ? text + 1 : NULL;
}

/* One copy; where the next begins, or NULL: it cannot be understood, or leaves its tensors. */
static const char *one(const struct graph_run *run, const struct plan_step *s,
                       const char *text, struct move *m)
{
    const struct plan_tensor *to = &run->plan.tensor[s->out[0]], *from = NULL;
    unsigned long operand = 0;
    int64_t x = 0, y;
    double value;
    char *end;

    *m = (struct move){.esize = type_bits(to->type) / 8};
    if (*text == 'x') {
        operand = strtoul(text + 1, &end, 10);
        if (operand >= s->n_in) {
            return NULL;
        }
        from = &run->plan.tensor[s->in[operand]];
        x = strtoll(end, &end, 10);
    } else {
        value = *text == '=' ? strtod(text + 1, &end) : 0;
        m->value = *text == '=' ? data_round(value, (enum type)to->type) : 0;
        end = *text == '=' ? end : (char *)(uintptr_t) "";
    }
    y = strtoll(end, &end, 10);
    text = dims(end, m);
    if (!text || !inside(m, y, false, plan_count(to)) ||
        (from && (from->type != to->type || !inside(m, x, true, plan_count(from))))) {
        return NULL;
    }
    m->x = from ? (char *)graph_at(run, s->in[operand]) + x * m->esize : NULL;
    m->y = (char *)graph_at(run, s->out[0]) + y * m->esize;
    return text;
}

static void free_copy(void *arg)
{
    move_end(arg);
}

enum run_status graph_copy(struct graph_run *run, struct graph_job *job)
{
    const struct plan_step *s = job->step;
    struct move *moves = malloc(MOVES * sizeof(*moves));
    const char *text = plan_text(&run->plan, s->text);
    struct move_step *step;
    unsigned n = 0;
    int err;

    while (moves && text && *text && n < MOVES) {
        text = one(run, s, text, &moves[n++]);
    }
    err = !moves                            ? ERR_NOMEM
          : !text || *text || s->n_out != 1 ? ERR_FORMAT
                                            : move_begin(&step, moves, n, run->cores);
    free(moves);
    if (err) {
        return graph_refuse(run, s,
                            err == ERR_NOMEM ? "no memory for its copies"
                                             : "its copies are not for these tensors");
    }
    *job = (struct graph_job){
        .step = s, .kernel = move_kernel, .arg = step, .free = free_copy};
    return RUN_OK;
}
