/* SPDX-License-Identifier: MIT
 *
 * The page: its parts from a folder, with the data of a trace between them.
 */
#ifndef TOOLS_PROFILE_PAGE_H
#define TOOLS_PROFILE_PAGE_H

#include <stdio.h>

#include "tools/profile/sums.h"

struct advice;

/* Writes the page. False: one of its parts in `folder` cannot be read. What is wrong with
 * `out` is for the caller to ask it. */
bool page_write(FILE *out, const char *folder, const char *title, const struct trace *t,
                const struct sums *s, const struct advice *a);

#endif
