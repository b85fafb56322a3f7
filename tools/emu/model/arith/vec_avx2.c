/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Vector for hosts with AVX2, FMA and F16C; see vec_kernel.h.
 */
#if defined(__x86_64__)
#define VEC_PATH vec_avx2
#include "tools/emu/model/arith/vec_kernel.h"
#endif
