/* SPDX-License-Identifier: MIT
 *
 * Tests that run on the target. Defining one registers it (linker/npu.ld sorts them):
 *
 *     TEST(dma, copies_1d)
 *     {
 *         CHECK_OK(dma_start(src, dst, 64));
 *         CHECK_EQ(dst[63], src[63]);
 *     }
 *
 * A check that fails prints where and what, marks the test as failed, and returns from
 * the function it stands in, which must be void. That is safe in the body of a task: the
 * task ends, the test that joins it goes on and is failed all the same. Behind a
 * helper that checks, ask test_failed(). Arguments are evaluated once.
 */
#ifndef TESTS_TARGET_TEST_H
#define TESTS_TARGET_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
    const char *suite, *name;
    void (*run)(void);
    bool cycles; /* wants the cycle counts of an unperturbed machine */
};

extern const struct test __tests_start[], __tests_end[]; /* linker/npu.ld */

/* aligned: the table is walked as an array, so no compiler may pad its entries. */
#define TEST_ENTRY(suite, name, cycles)                                                  \
    static void test_##suite##_##name(void);                                             \
    static const struct test test_entry_##suite##_##name                                 \
        __attribute__((used, section(".tests." #suite "." #name), aligned(8))) = {       \
            #suite, #name, test_##suite##_##name, cycles};                               \
    static void test_##suite##_##name(void)

#define TEST(suite, name) TEST_ENTRY(suite, name, false)
/* A test of how many cycles something takes: left out by `test --any-timing`, which is
 * for machines with a SEED. Every other test must pass there too. */
#define TEST_CYCLES(suite, name) TEST_ENTRY(suite, name, true)

/* A value of any arithmetic or pointer type, for comparing and printing. */
struct test_value {
    enum { TEST_SIGNED, TEST_UNSIGNED, TEST_REAL, TEST_POINTER } kind;
    union {
        int64_t i;
        uint64_t u;
        double d;
        const volatile void *p;
    } as;
};

struct test_value test_signed(int64_t value);
struct test_value test_unsigned(uint64_t value);
struct test_value test_real(double value);
struct test_value test_pointer(const volatile void *value);

/* clang-format off */
#define TEST_VALUE(x)                                                                    \
    _Generic((x),                                                                        \
        _Bool: test_unsigned,                                                            \
        char: test_signed,                                                               \
        signed char: test_signed,                                                        \
        unsigned char: test_unsigned,                                                    \
        short: test_signed,                                                              \
        unsigned short: test_unsigned,                                                   \
        int: test_signed,                                                                \
        unsigned: test_unsigned,                                                         \
        long: test_signed,                                                               \
        unsigned long: test_unsigned,                                                    \
        long long: test_signed,                                                          \
        unsigned long long: test_unsigned,                                               \
        float: test_real,                                                                \
        double: test_real,                                                               \
        default: test_pointer)(x)
/* clang-format on */

/* True if the check holds; else it prints and marks the running test as failed. */
bool test_true(bool ok, const char *text, const char *file, int line);
bool test_ok(int err, const char *text, const char *file, int line);
bool test_equal(struct test_value got, struct test_value want, const char *text,
                const char *file, int line);
bool test_same_text(const char *got, const char *want, const char *text, const char *file,
                    int line);
bool test_same_bytes(const void *got, const void *want, size_t len, const char *text,
                     const char *file, int line);

#define TEST_LEAVE_UNLESS(ok)                                                            \
    do {                                                                                 \
        if (!(ok)) {                                                                     \
            return;                                                                      \
        }                                                                                \
    } while (0)

#define CHECK(cond) TEST_LEAVE_UNLESS(test_true((cond), #cond, __FILE__, __LINE__))

/* A call that returns 0 or an ERR_ number. */
#define CHECK_OK(call) TEST_LEAVE_UNLESS(test_ok((call), #call, __FILE__, __LINE__))

/* Equal as numbers, whatever their types: -1 and UINT64_MAX differ. NaN equals NaN. */
#define CHECK_EQ(got, want)                                                              \
    TEST_LEAVE_UNLESS(                                                                   \
        test_equal(TEST_VALUE(got), TEST_VALUE(want), #got, __FILE__, __LINE__))

#define CHECK_STR(got, want)                                                             \
    TEST_LEAVE_UNLESS(test_same_text((got), (want), #got, __FILE__, __LINE__))

#define CHECK_BYTES(got, want, len)                                                      \
    TEST_LEAVE_UNLESS(test_same_bytes((got), (want), (len), #got, __FILE__, __LINE__))

/* True once a check of the running test has failed. */
bool test_failed(void);

/* Leaves the running test aside: it counts as passed and the reason is printed. */
void test_skip(const char *reason);

/* After each test: nonzero and a line in buf if hardware or scheduler is not as it was
 * before, which fails the test. Weak: hal and sched have no say until one defines it. */
int test_leak_check(char *buf, size_t n);

#endif
