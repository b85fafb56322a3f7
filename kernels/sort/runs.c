/* SPDX-License-Identifier: MIT
 *
 * Lines longer than UB; see sort.h. Parts of a line are sorted and go to GM as runs, these are
 * merged four at a time into longer ones until there is one. Of a run that is merged a window
 * is in UB; a merge stops when one of the windows is empty, the hart looks how far it has
 * come, and that window gets what comes next.
 */
#include "hal/chip.h"
#include "hal/mte.h"
#include "hal/vector_gather.h"
#include "hal/vector_sort.h"
#include "kernels/lib/share.h"
#include "kernels/sort/inside.h"
#include "sched/vector.h"

enum {
    WINDOW = SORT_CHUNK / 2, /* pairs: each buffer of pairs holds two of these */
};

/* A run: what is still in GM, what is in its window. */
struct run {
    const char *gm;
    uint64_t rest;
    uint32_t window, at, n; /* in UB; of it from pair `at` on n are left */
};

/* Two halves, of the block's part of `runs`. */
static char *half(const struct sort *s, unsigned which)
{
    return (char *)s->runs + ((uint64_t)task_block() * 2 + which) * s->n * SORT_PAIR;
}

static void out(char *to, uint32_t ub, uint32_t pairs)
{
    union cmd cmd;

    mte_ub_to_gm(&cmd, to, ub, pairs * SORT_PAIR);
    task_issue(PIPE_MTE3, &cmd);
}

static void fill(struct run *run)
{
    union cmd cmd;

    run->n = run->rest < WINDOW ? (uint32_t)run->rest : WINDOW;
    run->at = 0;
    mte_gm_to_ub(&cmd, run->window, run->gm, run->n * SORT_PAIR);
    task_issue(PIPE_MTE2, &cmd);
    run->gm += (uint64_t)run->n * SORT_PAIR;
    run->rest -= run->n;
}

/* One merge of what is in the windows: pairs that came of it, at `to`. */
static uint32_t merge_windows(const struct sort_room *r, struct run *run, unsigned lists,
                              uint32_t to)
{
    struct vec_merge m = {.type = r->s->type,
                          .dst = to,
                          .lists = lists < 2 ? 2 : lists,
                          .flags = lists < 2 ? 0 : VMRGSORT_SUSPEND};
    const uint32_t *taken;
    uint32_t all = 0;
    union cmd cmd;

    for (unsigned i = 0; i < m.lists; i++) { /* a list alone, and nothing */
        m.src[i] = run[i < lists ? i : 0].window + run[i < lists ? i : 0].at * SORT_PAIR;
        m.n[i] = i < lists ? run[i].n : 0;
    }
    vector_merge(&cmd, &m);
    task_vector(&cmd);
    vector_get_count(&cmd, r->keys);
    task_vector(&cmd);
    task_drain();
    taken = chip_local(task_core(), NPU_MEM_UB, r->keys);
    fence_pull();
    for (unsigned i = 0; i < lists; i++) {
        run[i].at += taken[1 + i];
        run[i].n -= taken[1 + i];
        all += taken[1 + i];
    }
    return all;
}

/* Up to four runs become one at `to`. */
static void merge_runs(const struct sort_room *r, struct run *run, unsigned lists,
                       char *to)
{
    for (unsigned i = 0; i < lists; i++) {
        run[i].window = r->pairs[i / 2] + i % 2 * WINDOW * SORT_PAIR;
        fill(&run[i]);
    }
    task_drain();
    for (unsigned turn = 0; lists; turn++) {
        uint32_t all = merge_windows(r, run, lists, r->best[turn % 2]);
        out(to, r->best[turn % 2], all);
        to += (uint64_t)all * SORT_PAIR;
        for (unsigned i = 0; i < lists;) {
            if (run[i].n == 0 && run[i].rest) {
                fill(&run[i]);
            }
            if (run[i].n) {
                i++;
                continue;
            }
            lists--; /* those behind it move up: equal ones keep their order */
            for (unsigned k = i; k < lists; k++) {
                run[k] = run[k + 1];
            }
        }
        task_drain();
    }
}

/* All runs of `length` pairs at `from` become a quarter as many. */
static void merge_pass(const struct sort_room *r, const char *from, char *to,
                       uint64_t length)
{
    uint64_t n = r->s->n;

    for (uint64_t at = 0, first = 0; at < n; first = at) {
        struct run run[SORT_LISTS];
        unsigned lists = 0;
        for (; lists < SORT_LISTS && at < n; at += run[lists++].rest) {
            run[lists].gm = from + at * SORT_PAIR;
            run[lists].rest = n - at < length ? n - at : length;
        }
        merge_runs(r, run, lists, to + first * SORT_PAIR);
    }
}

/* The first k of all pairs, or the last ones backwards. */
static void give(const struct sort_room *r, uint64_t line, const char *from)
{
    const struct sort *s = r->s;
    uint32_t n;
    union cmd cmd;

    for (uint32_t at = 0; at < s->k; at += n) {
        uint64_t pair = at;
        n = min_u32(SORT_CHUNK, s->k - at);
        if (s->smallest) {
            pair = s->n - at - n;
        }
        mte_gm_to_ub(&cmd, r->pairs[0], from + pair * SORT_PAIR, n * SORT_PAIR);
        task_issue(PIPE_MTE2, &cmd);
        task_drain();
        sort_give(r, line, at, n, r->pairs[0]);
        task_drain();
    }
}

void sort_by_runs(const struct sort_room *r, uint64_t line)
{
    const struct sort *s = r->s;
    unsigned in = 0;
    uint32_t part;

    for (uint32_t at = 0; at < s->n; at += part) {
        uint32_t pairs;
        part = min_u32(SORT_CHUNK, s->n - at);
        pairs = sort_part(r, line, at, part);
        task_drain();
        out(half(s, 0) + (uint64_t)at * SORT_PAIR, pairs, part);
        task_drain();
    }
    for (uint64_t length = SORT_CHUNK; length < s->n; length *= SORT_LISTS, in = !in) {
        merge_pass(r, half(s, in), half(s, !in), length);
    }
    give(r, line, half(s, in));
}
