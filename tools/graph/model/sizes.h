/* SPDX-License-Identifier: MIT
 *
 * Sizes that a model only names, as --size gives them. Names may have several: a plan is for each
 * combination of them.
 */
#ifndef GRAPH_SIZES_H
#define GRAPH_SIZES_H

#include <stdbool.h>

enum { SIZES_MOST = 32 }; /* names, and combinations */

/* `NAME=8`, `NAME=1,2,8` or `NAME=32..320:32`; dies if it is none of these, if the name has been
 * there, or if there are too many combinations. */
void sizes_take(const char *word);
/* Where a run's inputs lie, in order: a dimension that --size does not name has their size. */
void sizes_inputs(const char *const *path, unsigned n);
/* From here on any size does: what is asked does not depend on them. */
void sizes_any(void);
/* How many combinations there are, from 1; which of them graph_size() has from now on. */
unsigned sizes_count(void);
void sizes_choose(unsigned combination);
/* `MODEL: batch=2, length=64` of those that have several; or the path as it is. */
const char *sizes_path(const char *model);

#endif
