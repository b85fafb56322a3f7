/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of the Vector for hosts with AVX-512; see vec_kernel.h.
 */
#if defined(__x86_64__)
#define VEC_PATH vec_avx512
#include "tools/emu/model/arith/vec_kernel.h"
#endif
