/* SPDX-License-Identifier: MIT
 *
 * Two traces, and where they part.
 */
#ifndef TOOLS_COMPARE_TRACES_H
#define TOOLS_COMPARE_TRACES_H

#include "tools/profile/trace.h"

struct side {
    const char *path;
    struct trace trace;
};

/* Whether they do: prints the first command that is another one, and the first at another
 * time. */
bool traces_part(const struct side *old, const struct side *new);

#endif
