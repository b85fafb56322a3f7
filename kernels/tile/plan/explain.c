/* SPDX-License-Identifier: MIT
 *
 * What stages of several kinds tell of themselves; see plan.h.
 */
#include "kernels/tile/plan/plan.h"

void plan_explain_cycles(const struct tile_plan *t, FILE *to)
{
    const struct tile_cycles *p = &t->predicted;

    const struct {
        const char *pipe;
        uint64_t busy;
    } row[] = {{"V", p->v}, {"MTE2", p->mte2}, {"MTE3", p->mte3}};

    fprintf(to, "predicted %llu cycles; alone", (unsigned long long)p->span);
    for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
        fprintf(to, "%s %s takes %llu (%llu %%)", i ? "," : "", row[i].pipe,
                (unsigned long long)row[i].busy,
                (unsigned long long)(row[i].busy * 100 / (p->span ? p->span : 1)));
    }
    fprintf(to, "\n");
}

void plan_explain_added(const struct tile_kernel *k, FILE *to)
{
    for (unsigned r = 0; r < k->n_results; r++) {
        if (k->result[r].adds) {
            fprintf(to,
                    "adds     %s to what is there, by atomics, each element once: in any "
                    "order the same bits\n",
                    k->result[r].tensor.name);
        }
    }
}
