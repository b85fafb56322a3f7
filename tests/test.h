/* SPDX-License-Identifier: MIT
 *
 * Tests, on the target and on the host. Defining one registers it; there is no list:
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
 *
 * A test that goes through a table has a verdict for each row instead of its own:
 *
 *     ok(cycles == rows[i].cycles, "cost/%s", rows[i].name);
 */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test {
    const char *suite, *name, *file;
    void (*run)(void);
    enum test_kind {
        TEST_ANY,
        TEST_OF_CYCLES, /* wants the cycle counts of an unperturbed machine */
        TEST_OF_SHAPES, /* many points of one thing */
        TEST_LASTING,   /* longer than a run of everything may: where it is asked for */
    } kind;
};

/* On the host a section whose ends ld tells by itself, in the order of each file. */
#ifdef __linux__
#define TEST_PLACE(suite, name) section("tests"), no_reorder
#define __tests_start           __start_tests
#define __tests_end             __stop_tests
#else
#define TEST_PLACE(suite, name) section(".tests." #suite "." #name) /* npu.ld sorts */
#endif
extern const struct test __tests_start[], __tests_end[];

/* aligned: the table is walked as an array, so no compiler may pad its entries. */
#define TEST_ENTRY(suite, name, kind)                                                    \
    static void test_##suite##_##name(void);                                             \
    static const struct test test_entry_##suite##_##name                                 \
        __attribute__((used, TEST_PLACE(suite, name), aligned(8))) = {                   \
            #suite, #name, __FILE__, test_##suite##_##name, kind};                       \
    static void test_##suite##_##name(void)

#define TEST(suite, name) TEST_ENTRY(suite, name, TEST_ANY)

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

/* A verdict of its own, "suite/what_it_does" by a printf format; returns cond. */
bool ok(bool cond, const char *name, ...) __attribute__((format(printf, 2, 3)));

/* A line that explains the verdict before or after it. */
void test_note(const char *text, ...) __attribute__((format(printf, 1, 2)));

/* The running test cannot be made here: unless a check of it fails it counts as skipped, neither
 * passed nor failed. reason: one line, which is printed. The test then returns. */
void test_skip(const char *reason);

/* Random tests take so many times as many cases: --times N, else 1. */
extern unsigned test_times;

/* There is time for each sample, not only for some of them: --long. */
extern bool test_long;

/* Before each test, weak: the same noise and a machine as at the start, for any order. */
void test_begin(void);

/* After each test, weak: nonzero and a line in buf if something is not as it was before,
 * which fails the test. */
int test_leak_check(char *buf, size_t n);

/* The runner: test_main([--list] [--any-timing] [--long] [--times N] [PART]...) runs what has a
 * part in "suite/name" or in its file's name, or all; TAP on stdout. Returns 0 if none
 * has failed, 1 if one has, 2 if there was nothing to run. */
int test_main(int argc, char **argv);

#endif
