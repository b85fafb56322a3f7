/* SPDX-License-Identifier: MIT
 *
 * Where two traces part.
 */
#ifndef TOOLS_COMPARE_PART_H
#define TOOLS_COMPARE_PART_H

#include "tools/profile/trace.h"

struct side {
    const char *path;
    struct trace trace;
};

/* Prints the first command that is another one, and the first at another time; false: there is
 * neither. */
bool part(const struct side *old, const struct side *new);

#endif
