/* SPDX-License-Identifier: MIT
 *
 * How far two names are from one another, for "did you mean".
 */
#ifndef KERNELS_LIB_NEAR_H
#define KERNELS_LIB_NEAR_H

#include <stddef.h>

enum near_bytes { NEAR_BYTES = 32 /* of a name, with the 0 at its end */ };

/* Letters to put in, leave out or change that make b of the first len characters of a;
 * b is shorter than NEAR_BYTES. */
unsigned near_distance(const char *a, size_t len, const char *b);

#endif
