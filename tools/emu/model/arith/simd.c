/* SPDX-License-Identifier: MIT
 *
 * Detection of the host's vector instructions.
 *
 * The compiler's run-time library also checks that the operating system saves
 * the registers.
 */
#include "tools/emu/model/arith/simd.h"
#include <stdbool.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

static enum simd limit = SIMD_COUNT;

#if defined(__x86_64__)
static bool has_f16c(void) /* no name for it in every compiler's cpu_supports */
{
    unsigned a, b, c, d;

    return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C);
}

static enum simd detect(void)
{
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
        !has_f16c()) {
        return SIMD_PLAIN;
    }
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
        return SIMD_AVX2;
    }
    return __builtin_cpu_supports("avx512vnni") ? SIMD_AVX512_VNNI : SIMD_AVX512;
}
#else
static enum simd detect(void)
{
    return SIMD_PLAIN;
}
#endif

enum simd simd_level(void)
{
    static enum simd found = SIMD_COUNT;

    enum simd level = __atomic_load_n(&found, __ATOMIC_RELAXED);

    if (level == SIMD_COUNT) {
        level = detect();
        __atomic_store_n(&found, level, __ATOMIC_RELAXED);
    }
    return level < limit ? level : limit;
}

void simd_limit(enum simd level)
{
    limit = level;
}

const char *simd_name(enum simd level)
{
    static const char *const names[SIMD_COUNT] = {"plain", "avx2", "avx512", "vnni"};

    return level < SIMD_COUNT ? names[level] : "?";
}
