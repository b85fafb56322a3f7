/* SPDX-License-Identifier: MIT
 *
 * Matrix multiplication; see matmul.h. What is computed how is the Matmul object's
 * (kernels/mm): each block has a copy of it and computes its share of the tiles.
 */
#include "kernels/matmul/matmul.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hal/chip.h"
#include "hal/fixpipe.h"
#include "hal/hint.h"
#include "kernels/lib/share.h"
#include "kernels/matmul/published.h"
#include "kernels/mm/finish.h"
#include "kernels/mm/made.h"
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

    return matmul_last.cores == cores && !l->bias == !p->bias &&
           !l->scales == !p->scales &&
           memcmp(&l->m, &p->m, sizeof(*p) - offsetof(struct matmul, m)) == 0;
}

enum type matmul_in_b(const struct matmul *p)
{
    return p->in_b != TYPE_NONE ? p->in_b : p->in == TYPE_U8 ? TYPE_S8 : p->in;
}

const struct mm_made *matmul_asked(const struct matmul *p)
{
    static struct mm_made asked;

    asked.in = p->in;
    asked.in_b = matmul_in_b(p);
    asked.hf32 = p->hf32;
    asked.a_transposed = p->a_transposed;
    asked.b_transposed = p->b_transposed;
    asked.sparse = p->sparse;
    asked.m = p->m;
    asked.n = p->n;
    asked.k = p->k;
    asked.batch = p->batch;
    asked.a = p->a;
    asked.b = p->b;
    asked.bias = p->bias;
    asked.work = p->work;
    return &asked;
}

/* The object, with this call's operands. */
static void take_operands(const struct matmul *call, struct mm *mm)
{
    const struct mm_made made = mm_made(matmul_asked(call)), *p = &made;

    mm->a.gm = mm->turned ? p->b : p->a;
    mm->b.gm = mm->turned ? p->a : p->b;
    mm->bias = p->bias;
    mm->repeats = call->repeats;
    mm->begun = false;
}

/* Whether the Vector makes results of the sums. */
static bool finishes(const struct matmul *p)
{
    return p->scales || p->in_b == TYPE_U8;
}

static void kernel(void *arg)
{
    const struct matmul *p = arg;

    mm_run(&matmul_last.mm, p->c);
}

static void kernel_that_finishes(void *arg)
{
    const struct matmul *p = arg;

    mm_finish_run(&matmul_last.mm,
                  &(struct mm_finish){.rows = mm_made_rows(matmul_asked(p)),
                                      .scales = p->scales,
                                      .scale = p->scale,
                                      .zero = p->zero,
                                      .act = p->act,
                                      .out = p->out,
                                      .c = p->c});
}

static void kernel_of_made(void *arg)
{
    mm_make(matmul_asked(arg));
    (finishes(arg) ? kernel_that_finishes : kernel)(arg);
}

/* What is done to the sums on their way out. */
static void set_result(struct mm *mm, const struct matmul *p)
{
    bool scaled = matmul_is_whole(p->in) && p->out != TYPE_S32;

    mm_set_c(mm, p->out, 0);
    mm_set_bias(mm, p->bias);
    mm_set_activation(mm, &p->act);
    if (scaled) {
        uint64_t word = fixpipe_word(p->scale, p->zero, p->out == TYPE_S8);
        mm_set_scale(mm, word, NULL);
    }
    if (p->hf32) {
        mm_set_hf32(mm, false);
    }
}

/* Makes matmul_last the object for the call. */
static int plan_own(const struct matmul *p, unsigned cores, char why[MM_TEXT])
{
    struct mm *mm = &matmul_last.mm;
    struct mm_made own;
    int err;

    if (planned(p, cores)) {
        return 0;
    }
    matmul_last.cores = 0;
    own = mm_made(matmul_asked(p));
    mm_init(mm, &(struct mm_shape){p->m, p->n, own.k, p->batch}, NULL);
    mm_set_a(mm, own.a, own.in, MM_ND, p->a_transposed, 0);
    mm_set_b(mm, own.b, own.in, MM_ND, p->b_transposed, 0);
    if (p->sparse) {
        mm_set_sparse(mm, own.b);
    }
    set_result(mm, p);
    mm_set_bias(mm, own.bias);
    mm->bias_product = own.bias_product;
    mm->adds = true;
    mm->any_order = p->any_order;
    err = finishes(p) ? mm_finish_plan(mm, p->out, cores, p->strategy, why)
                      : mm_plan_checked(mm, cores, p->strategy, why);
    err = err ? err : mm_plan_made(matmul_asked(p), cores, why);
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

static bool has_types(const struct matmul *p)
{
    enum type in = p->in, out = p->out;
    bool bytes = out == TYPE_S8 || out == TYPE_U8;

    return mm_made_takes(in, matmul_in_b(p)) &&
           (matmul_is_whole(in)
                ? bytes || (!p->scales && (out == TYPE_S32 || out == TYPE_F16))
                : !p->scales && (out == TYPE_F32 || out == in));
}

static bool published_can(const struct matmul *p)
{
    bool bytes = p->in == TYPE_S8 && p->in_b != TYPE_U8 && p->out == TYPE_S32;
    bool types = p->in == TYPE_F16 || bytes;

    return types && !p->a_transposed && !p->b_transposed && !p->bias && !p->act.relu &&
           !p->act.clip;
}

int matmul(const struct matmul *p, struct sched_report *report)
{
    unsigned cores = p->cores ? p->cores : chip_cores();
    const struct mm_made *made = matmul_asked(p);
    struct published published;
    const char *no;
    struct launch l = {"matmul", kernel, (void *)(uintptr_t)p, .cores = p->cores};
    int err = 0;

    report->text[0] = 0;
    if (p->m == 0 || p->n == 0 || p->k == 0) {
        return ERR_ARG;
    }
    if (!has_types(p)) {
        return ERR_TYPE;
    }
    no = p->tiling == MATMUL_OWN ? mm_cannot_be_made(made)
         : published_can(p)
             ? NULL
             : "published tiling: plain F16 and S8 alone";
    if (no) {
        snprintf(report->text, sizeof(report->text), "%s", no);
        return ERR_TYPE;
    }
    if (p->tiling == MATMUL_PUBLISHED) {
        l.kernel = matmul_published;
        l.arg = &published;
        l.blocks = matmul_plan_published(&published, p, cores);
    } else {
        err = plan_own(p, cores, report->text);
        take_operands(p, &matmul_last.mm);
        l.blocks = mm_blocks(&matmul_last.mm, cores);
        l.kernel = finishes(p) ? kernel_that_finishes : kernel;
        if (!err && mm_is_made(made)) {
            l.kernel = kernel_of_made;
            l.blocks = cores;
        }
    }
    return err ? err : launch(&l, report);
}
