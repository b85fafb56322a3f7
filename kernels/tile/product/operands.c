/* SPDX-License-Identifier: MIT
 *
 * Whether what computes an operand of a product goes into its stage, or is one before it; see
 * prologue.h. Both give the same bits.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/tile/product/prologue.h"

/* The stage before a product leaves one of its operands, and nobody else wants that: the
 * product's parameter that it is. */
static bool is_operand(const struct cut *cut, unsigned product, uint8_t *param)
{
    const struct stage *of = &cut->stage[product - 1];
    unsigned wanted = 0;

    if (of->product || of->gather || of->whole || of->k->n_results != 1 ||
        of->out[0].of != OF_SCRATCH || cut_reduced(of->k)) {
        return false;
    }
    for (unsigned i = product; i < cut->n; i++) {
        const struct stage *s = &cut->stage[i];
        for (unsigned j = 0; j < s->k->n_params; j++) {
            if (s->in[j].of == OF_SCRATCH && s->in[j].bytes == of->out[0].bytes) {
                wanted++;
                *param = i == product ? (uint8_t)j : *param;
            }
        }
    }
    return wanted == 1;
}

/* Where the schedule wants an operand to be, which a stage would leave; NULL: anywhere. */
static const struct tile_choice *wanted_place(const struct tile_kernel *k,
                                              const struct stage *of)
{
    const char *name = of->k->result[0].tensor.name;

    for (unsigned i = 0; i < k->n_choices; i++) {
        const struct tile_choice *c = &k->choice[i];
        if (c->kind == TILE_CHOICE_KEEP && strcmp(tile_name_of(k, c->value), name) == 0) {
            return c;
        }
    }
    return NULL;
}

struct tile_plan *operand_join(const struct tile_plan *product, const struct cut *cut,
                               unsigned i, uint64_t span, const struct tile_kernel *k,
                               unsigned cores, struct tile_arena *arena)
{
    struct product_operand by = {.k = cut->stage[i - 1].k};
    const struct tile_choice *keep = wanted_place(k, &cut->stage[i - 1]);
    struct tile_error error = {0};
    struct tile_plan *t;

    if ((keep && keep->place == TILE_IN_GM) || k->by_gm || product->next ||
        !product_of(product) || product_of(product)->mm.parts > 1 ||
        !is_operand(cut, i, &by.param) ||
        product_plan(&t, cut->stage[i].k,
                     &(struct product_how){.by = &by, .cores = cores}, arena,
                     &error) != 0) {
        return NULL;
    }
    return keep || t->predicted.span < span ? t : NULL;
}

int operand_check(const struct tile_plan *plan, const struct tile_kernel *k,
                  struct tile_error *error)
{
    for (unsigned i = 0; i < k->n_choices; i++) {
        const struct tile_choice *c = &k->choice[i];
        const char *name = tile_name_of(k, c->value);
        bool is = c->kind != TILE_CHOICE_KEEP || c->place == TILE_IN_GM;
        for (const struct tile_plan *t = plan; t && !is; t = t->next) {
            is = t->operand && strcmp(t->operand->k->result[0].tensor.name, name) == 0;
        }
        if (!is) {
            *error = (struct tile_error){.line = c->line, .column = c->column};
            snprintf(
                error->text, sizeof(error->text),
                "keep %s in l1: one product, with what follows it and not cut along k, "
                "is to want it element by element, and L1 to hold its panels",
                name);
            return ERR_ARG;
        }
    }
    return 0;
}
