/* SPDX-License-Identifier: MIT
 *
 * Distance of names; see near.h.
 */
#include "kernels/lib/near.h"

#include <string.h>

unsigned near_distance(const char *a, size_t len, const char *b)
{
    unsigned
        row[NEAR_BYTES]; /* [j]: from what is done of a to the first j letters of b */
    unsigned n = (unsigned)strlen(b);

    for (unsigned j = 0; j <= n; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned above = row[0]++;
        for (unsigned j = 1; j <= n; j++) {
            unsigned change = above + (a[i] != b[j - 1]);
            unsigned other = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            above = row[j];
            row[j] = change < other ? change : other;
        }
    }
    return row[n];
}
