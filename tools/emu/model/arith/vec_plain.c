/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Vector for any host; see vec_kernel.h.
 */
#define VEC_PATH vec_plain
#include "tools/emu/model/arith/vec_kernel.h"
