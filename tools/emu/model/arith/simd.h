/* SPDX-License-Identifier: MIT
 *
 * Which vector instructions of the host the model may use.
 *
 * The choice changes speed only: every path gives the same bits. Hosts other
 * than x86-64 have the plain path.
 */
#ifndef TOOLS_EMU_MODEL_ARITH_SIMD_H
#define TOOLS_EMU_MODEL_ARITH_SIMD_H

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <stdint.h>
#endif

enum simd {
    SIMD_PLAIN,
    SIMD_AVX2,   /* and FMA, F16C */
    SIMD_AVX512, /* F, BW, DQ, VL */
    SIMD_AVX512_VNNI,
    SIMD_COUNT
};

/* The best path that this host has and simd_limit allows; detected once. */
enum simd simd_level(void);
/* Uses no path above `level`; for tests and benchmarks. */
void simd_limit(enum simd level);
/* "plain", "avx2", ... */
const char *simd_name(enum simd level);

/*
 * Floating-point environment of the calculation between enter and leave: nearest,
 * no flush to zero, whatever the host program runs with. leave() gets what enter()
 * gave back. The calculation must be in another, not inlined, function. Hosts other
 * than x86-64 and arm64 are taken to run in the default environment.
 */
static inline unsigned simd_fp_enter(void)
{
#if defined(__x86_64__)
    unsigned old = _mm_getcsr();

    _mm_setcsr(0x1f80);
    return old;
#elif defined(__aarch64__)
    uint64_t old;

    __asm__ volatile("mrs %0, fpcr\n\tmsr fpcr, xzr" : "=&r"(old) : : "memory");
    return (unsigned)old; /* its upper half is reserved */
#else
    return 0;
#endif
}

static inline void simd_fp_leave(unsigned old)
{
#if defined(__x86_64__)
    _mm_setcsr(old);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)old) : "memory");
#else
    (void)old;
#endif
}

#endif
