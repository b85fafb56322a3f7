/* SPDX-License-Identifier: MIT
 *
 * See trial.h.
 */
#include "tools/graph/trial.h"

bool trial_better(struct emit *e, const struct group *before, const struct group *after,
                  struct node *n)
{
    (void)e, (void)before, (void)after, (void)n;
    return true;
}
