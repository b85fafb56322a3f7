/* SPDX-License-Identifier: MIT
 *
 * Tests of the number formats (tools/emu/model/arith/num.h, half.h), against libm.
 */
#include "tools/emu/model/arith/half.h"
#include <math.h>
#include "tests/host/data.h"
#include "tests/test.h"

TEST(num, halves)
{
    bool widen = true, narrow = true, bf16 = true;

    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = half_value((uint16_t)h);
        bool nan = (h & 0x7fff) > 0x7c00;
        uint32_t wide = num_f16_to_f32((uint16_t)h);

        widen = widen && wide == (nan ? 0x7fc00000 : num_bits(f));
        narrow = narrow && num_f32_to_f16(wide) == (nan ? 0x7e00 : h);
        nan = (h & 0x7fff) > 0x7f80;
        wide = num_bf16_to_f32((uint16_t)h);
        bf16 = bf16 && wide == (nan ? 0x7fc00000 : h << 16) &&
               num_f32_to_bf16(wide) == (nan ? 0x7fc0 : h);
    }
    ok(widen, "num/f16_to_f32_all");
    ok(narrow, "num/f32_to_f16_inverts");
    ok(bf16, "num/bf16_round_trip_all");
}

/* Sums and products of all fp16 with some, as the larger floats of half.h have them. */
TEST(num, half_arithmetic)
{
    static const uint16_t some[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,
                                    0x3c00, 0x3c01, 0x1001, 0x7bff, 0xfbff, 0x4c00,
                                    0x7c00, 0xfc00, 0x7c01, 0xffff, 0x3555, 0x1400};
    bool same = true, sum = true, product = true;

    for (uint32_t h = 0; h < 0x10000; h++) {
        float x = half_value((uint16_t)h), up = half_up((uint16_t)h);
        same = same && half_down(up) == num_f32_to_f16(num_bits(x));
        for (unsigned i = 0; i < 2 * sizeof(some) / sizeof(some[0]); i++) {
            uint16_t g = i % 2 ? (uint16_t)rnd() : some[i / 2];
            float y = half_value(g), total = half_round(up + half_up(g));
            sum = sum && half_down(total) == num_f32_to_f16(num_bits(x + y)) &&
                  (isnan(total) || half_up(half_down(total)) == total);
            product =
                product && half_down(half_fit(up * y)) == num_f32_to_f16(num_bits(x * y));
        }
    }
    ok(same, "num/larger_float_and_back_all");
    ok(sum, "num/f16_sums_rounded_once");
    ok(product, "num/f16_products_rounded_once");
}

/* Every hf32, the middle to the next one and both sides of the middle. */
TEST(num, hf32)
{
    bool good = true;

    bool down = true;

    for (uint32_t h = 0; h < 0x7f800 && good && down; h++) {
        uint32_t at = h << 12, mid = at + 0x800, even = (h + (h & 1)) << 12;

        for (unsigned z = 0; z < 2; z++) {
            good &= num_f32_to_hf32(at, z) == at && num_f32_to_hf32(mid - 1, z) == at &&
                    num_f32_to_hf32(mid + 1, z) == at + 0x1000;
        }
        good &= num_f32_to_hf32(mid, false) == even &&
                num_f32_to_hf32(mid | 0x80000000, false) == (even | 0x80000000);
        down = num_f32_to_hf32(mid, true) == at &&
               num_f32_to_hf32(mid | 0x80000000, true) == (at | 0x80000000);
    }
    ok(good, "num/f32_to_hf32_ties_to_even");
    ok(down, "num/f32_to_hf32_ties_towards_zero");
    for (unsigned z = 0; z < 2; z++) {
        good &= num_f32_to_hf32(0x7f800001, z) == 0x7fc00000 &&
                num_f32_to_hf32(0xffffffff, z) == 0x7fc00000 &&
                num_f32_to_hf32(0xff800000, z) == 0xff800000;
    }
    ok(good, "num/hf32_nan_and_infinity");
}

/* Between two neighbours h and h + 1: just below, at and just above the middle. */
TEST(num, rounding)
{
    bool f16 = true, bf16 = true;

    for (uint32_t h = 0; h < 0x7c00; h++) {
        double lo = (double)half_value((uint16_t)h);
        double hi = h == 0x7bff ? 65536.0 : (double)half_value((uint16_t)(h + 1));
        uint32_t mid = num_bits((float)((lo + hi) / 2));
        uint16_t even = (uint16_t)(h + (h & 1));

        f16 = f16 && num_f32_to_f16(mid) == even && num_f32_to_f16(mid - 1) == h &&
              num_f32_to_f16(mid + 1) == h + 1 &&
              num_f32_to_f16(mid | 0x80000000) == (even | 0x8000);
    }
    for (uint32_t h = 0; h < 0x7f80; h++) {
        uint32_t mid = (h << 16) + 0x8000;

        bf16 = bf16 && num_f32_to_bf16(mid) == h + (h & 1) &&
               num_f32_to_bf16(mid - 1) == h && num_f32_to_bf16(mid + 1) == h + 1;
    }
    ok(f16, "num/f32_to_f16_ties_to_even");
    ok(bf16, "num/f32_to_bf16_ties_to_even");
    ok(num_f32_to_f16(0x47800000) == 0x7c00 && num_f32_to_f16(0x47c01234) == 0x7c00 &&
           num_f32_to_f16(0xff800000) == 0xfc00 && num_f32_to_f16(0xff800001) == 0x7e00 &&
           num_f32_to_bf16(0xff800001) == 0x7fc0,
       "num/narrowing_overflow_and_nan");
}

TEST(num, fma)
{
    bool good = true;

    for (unsigned i = 0; i < 1000000 && good; i++) {
        uint32_t x = rnd(), y = rnd(), z = rnd();
        float p, got, exact;

        p = num_float(x) * num_float(y);
        if (i % 2 && !isnan(p)) { /* a sum of similar size: ties and cancellation */
            z = (num_bits(p) ^ (z & 0x80000000)) + (rnd() % 64 << 20) - (32u << 20);
        }
        got = num_fma(num_float(x), num_float(y), num_float(z));
        exact = fmaf(num_float(x), num_float(y), num_float(z));
        good = num_canon(num_bits(got)) == num_canon(num_bits(exact));
        if (!good) {
            test_note("fma(%08x,%08x,%08x) is %08x, want %08x", x, y, z, num_bits(got),
                      num_bits(exact));
        }
    }
    ok(good, "num/fma_matches_fmaf");
}

/* c + half an ulp +- 2^-34 ulp: rounding to double first would make a tie of it. */
TEST(num, fma_near_ties)
{
    static const float factor[2][2] = {{187713, 45761}, {599479, 14329}}; /* 2^33 +- 1 */
    bool good = true;

    for (int i = 0; i < 8; i++) {
        float x = factor[i & 1][0] * (i & 2 ? -1.0f : 1.0f), y = factor[i & 1][1];
        float z = (i & 4 ? 0x1p57f : 0x1p57f + 0x1p34f) * (i & 2 ? -1.0f : 1.0f);

        good = good && num_bits(num_fma(x, y, z)) == num_bits(fmaf(x, y, z));
    }
    ok(good, "num/fma_rounds_once");
}
