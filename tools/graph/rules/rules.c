/* SPDX-License-Identifier: MIT
 *
 * All operators of ONNX that are known: the families in the folders here.
 */
#include "tools/graph/rules/rules.h"

#include <string.h>

/* Each ends with an op of NULL. */
extern const struct rule rules_elementwise[], rules_reduce[], rules_view[], rules_move[],
    rules_norm[], rules_product[], rules_loss[], rules_index[], rules_quantise[],
    rules_resize[], rules_conv[], rules_pool[], rules_space[], rules_optimise[],
    rules_gather[], rules_order[], rules_signal[], rules_einsum[], rules_recurrent[],
    rules_attention[], rules_sample[], rules_rewrite[], rules_bits[], rules_divide[],
    rules_select[], rules_suppress[], rules_cast[], rules_whole[], rules_list[],
    rules_loop[];

static const struct rule *const families[] = {
    rules_elementwise, rules_reduce, rules_view,      rules_move,      rules_norm,
    rules_product,     rules_loss,   rules_index,     rules_quantise,  rules_resize,
    rules_conv,        rules_space,  rules_optimise,  rules_gather,    rules_order,
    rules_signal,      rules_einsum, rules_recurrent, rules_attention, rules_sample,
    rules_rewrite,     rules_bits,   rules_select,    rules_suppress,  rules_divide,
    rules_list,        rules_pool,   rules_loop,      rules_cast,      rules_whole,
};

const struct rule *rules_find(const char *op)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        for (const struct rule *r = families[i]; r->op; r++) {
            if (strcmp(r->op, op) == 0) {
                return r;
            }
        }
    }
    return NULL;
}

const char *rules_why_not(const char *op)
{
    static const struct {
        const char *begin, *why;
    } reason[] = {
        {"Random", ": random numbers are their author's own"},
        {"Bernoulli", ": random numbers are their author's own"},
        {"Multinomial", ": random numbers are their author's own"},
        {"String", ": strings are no tensors of the machine"},
        {"RegexFullMatch", ": strings are no tensors of the machine"},
    };

    for (size_t i = 0; i < sizeof(reason) / sizeof(reason[0]); i++) {
        if (strncmp(op, reason[i].begin, strlen(reason[i].begin)) == 0) {
            return reason[i].why;
        }
    }
    return "";
}
