/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication; see matmul.h. What is computed how is the Matmul object's
 * (kernels/mm): each block has a copy of it and computes its share of the tiles.
 */
#include "kernels/matmul/matmul.h"

#include <stdlib.h>

#include "hal/chip.h"
#include "hal/hint.h"
#include "kernels/lib/share.h"
#include "kernels/matmul/published.h"
#include "sched/launch.h"

/* What the last plan was made for: who calls again and again plans once. */
static struct {
    struct matmul p;
    unsigned cores;
    struct mm mm;
} matmul_last;

static bool planned(const struct matmul *p, unsigned cores)
{
    const struct matmul *l = &matmul_last.p;

    return matmul_last.cores == cores && l->m == p->m && l->n == p->n && l->k == p->k &&
           l->batch == p->batch && l->in == p->in && l->out == p->out &&
           l->strategy == p->strategy && l->any_order == p->any_order;
}

/* The object, with this call's operands. */
static void take_operands(const struct matmul *p, struct mm *mm)
{
    mm->a.gm = mm->turned ? p->b : p->a;
    mm->b.gm = mm->turned ? p->a : p->b;
    mm->begun = false;
}

/* Sums of the parts of k; kept, because who calls once calls again. */
static struct {
    void *data;
    size_t bytes;
} sums;

static void kernel(void *arg)
{
    const struct matmul *p = arg;

    mm_run(&matmul_last.mm, p->c, sums.data);
}

static int make_room(const struct mm *mm)
{
    size_t bytes = (size_t)mm_sums_bytes(mm);

    if (bytes > sums.bytes) {
        free(sums.data);
        sums.data =
            aligned_alloc(L2_LINE_BYTES, (bytes / L2_LINE_BYTES + 1) * L2_LINE_BYTES);
        sums.bytes = sums.data ? bytes : 0;
        if (sums.data) {
            hint_kept(sums.data, bytes);
        }
    }
    return bytes == 0 || sums.data ? 0 : ERR_NOMEM;
}

/* Makes matmul_last the object for the call. */
static int plan_own(const struct matmul *p, unsigned cores, char why[MM_TEXT])
{
    struct mm *mm = &matmul_last.mm;
    int err;

    if (planned(p, cores)) {
        return 0;
    }
    matmul_last.cores = 0;
    mm_init(mm, &(struct mm_shape){p->m, p->n, p->k, p->batch}, NULL);
    mm_set_a(mm, p->a, p->in, MM_ND, false, 0);
    mm_set_b(mm, p->b, p->in, MM_ND, false, 0);
    mm_set_c(mm, p->out, 0);
    mm->adds = true;
    mm->any_order = p->any_order;
    err = mm_check(mm, why);
    err = err ? err : mm_plan(mm, cores, p->strategy, why);
    err = err ? err : mm_check(mm, why);
    if (!err) {
        matmul_last.p = *p;
        matmul_last.cores = cores;
    }
    return err;
}

int matmul_plan(const struct matmul *p, struct mm *mm, char why[MM_TEXT])
{
    int err = plan_own(p, p->cores ? p->cores : chip_cores(), why);

    if (!err) {
        *mm = matmul_last.mm;
        take_operands(p, mm);
    }
    return err;
}

int matmul(const struct matmul *p, struct sched_report *report)
{
    unsigned cores = p->cores ? p->cores : chip_cores();
    struct published published;
    struct launch l = {"matmul", kernel, (void *)(uintptr_t)p, .cores = p->cores};
    int err = 0;

    report->text[0] = 0;
    if (p->m == 0 || p->n == 0 || p->k == 0) {
        return ERR_ARG;
    }
    if (!(p->in == TYPE_F16 && (p->out == TYPE_F32 || p->out == TYPE_F16)) &&
        !(p->in == TYPE_S8 && p->out == TYPE_S32)) {
        return ERR_TYPE;
    }
    if (p->tiling == MATMUL_PUBLISHED) {
        l.kernel = matmul_published;
        l.arg = &published;
        l.blocks = matmul_plan_published(&published, p, cores);
    } else {
        err = plan_own(p, cores, report->text);
        take_operands(p, &matmul_last.mm);
        l.blocks = err ? 0 : min_u32(matmul_last.mm.tiles, cores);
    }
    if (!err && p->tiling == MATMUL_OWN && matmul_last.mm.parts > 1) {
        err = make_room(&matmul_last.mm);
        l.blocks = cores;
    }
    return err ? err : launch(&l, report);
}
