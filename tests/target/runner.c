/* SPDX-License-Identifier: MIT
 *
 * The operator `test`: runs what TEST() has registered and prints TAP, version 13, with
 * what went wrong in comment lines before the verdict.
 */
#include <stdio.h>
#include <string.h>
#include "hal/err.h"
#include "kernels/cli/op.h"
#include "tests/target/test.h"

static struct {
    bool failed;
    const char *skipped;
} now;

__attribute__((weak)) int test_leak_check(char *buf, size_t n)
{
    (void)buf, (void)n;
    return 0;
}

bool test_failed(void)
{
    return now.failed;
}

void test_skip(const char *reason)
{
    now.skipped = reason;
}

struct test_value test_signed(int64_t value)
{
    return (struct test_value){.kind = TEST_SIGNED, .as.i = value};
}

struct test_value test_unsigned(uint64_t value)
{
    return (struct test_value){.kind = TEST_UNSIGNED, .as.u = value};
}

struct test_value test_real(double value)
{
    return (struct test_value){.kind = TEST_REAL, .as.d = value};
}

struct test_value test_pointer(const volatile void *value)
{
    return (struct test_value){.kind = TEST_POINTER, .as.p = value};
}

static double as_real(struct test_value v)
{
    return v.kind == TEST_REAL     ? v.as.d
           : v.kind == TEST_SIGNED ? (double)v.as.i
                                   : (double)v.as.u;
}

static bool equal(struct test_value a, struct test_value b)
{
    if (a.kind == TEST_REAL || b.kind == TEST_REAL) {
        double x = as_real(a), y = as_real(b);

        return x == y || (x != x && y != y);
    }
    /* The same 64 bits are the same number unless one of them is negative. */
    return a.as.u == b.as.u &&
           (a.kind == TEST_SIGNED && a.as.i < 0) == (b.kind == TEST_SIGNED && b.as.i < 0);
}

static void print_value(struct test_value v)
{
    switch (v.kind) {
    case TEST_SIGNED:
        printf("%lld", (long long)v.as.i);
        break;
    case TEST_UNSIGNED:
        printf("%llu", (unsigned long long)v.as.u);
        break;
    case TEST_REAL:
        printf("%.17g", v.as.d);
        return;
    case TEST_POINTER:
        printf("%p", (void *)(uintptr_t)v.as.p);
        return;
    }
    printf(" (0x%llx)", (unsigned long long)v.as.u);
}

static bool failed_at(const char *file, int line, const char *text)
{
    now.failed = true;
    printf("# %s:%d: %s", file, line, text);
    return false;
}

bool test_true(bool ok, const char *text, const char *file, int line)
{
    if (!ok) {
        failed_at(file, line, text);
        printf(" is false\n");
    }
    return ok;
}

bool test_ok(int err, const char *text, const char *file, int line)
{
    if (err != 0) {
        failed_at(file, line, text);
        printf(" returns %d: %s\n", err, err_text(err));
    }
    return err == 0;
}

bool test_equal(struct test_value got, struct test_value want, const char *text,
                const char *file, int line)
{
    if (equal(got, want)) {
        return true;
    }
    failed_at(file, line, text);
    printf(" is ");
    print_value(got);
    printf(", want ");
    print_value(want);
    printf("\n");
    return false;
}

bool test_same_text(const char *got, const char *want, const char *text, const char *file,
                    int line)
{
    if (strcmp(got, want) == 0) {
        return true;
    }
    failed_at(file, line, text);
    printf(" is \"%s\", want \"%s\"\n", got, want);
    return false;
}

bool test_same_bytes(const void *got, const void *want, size_t len, const char *text,
                     const char *file, int line)
{
    const uint8_t *g = got, *w = want;
    size_t first = len, differ = 0;

    for (size_t i = len; i-- > 0;) {
        if (g[i] != w[i]) {
            first = i;
            differ++;
        }
    }
    if (differ == 0) {
        return true;
    }
    failed_at(file, line, text);
    printf(": %zu of %zu bytes differ, the first at %zu: 0x%02x, want 0x%02x\n", differ,
           len, first, g[first], w[first]);
    return false;
}

static bool any_timing;

/* Selected if no filter is given or one of them occurs in "suite/name". */
static bool selected(const struct test *test, int n_filters, char **filters)
{
    char name[128];

    if (any_timing && test->cycles) {
        return false;
    }
    snprintf(name, sizeof(name), "%s/%s", test->suite, test->name);
    for (int i = 0; i < n_filters; i++) {
        if (strstr(name, filters[i]) != NULL) {
            return true;
        }
    }
    return n_filters == 0;
}

static bool run_one(const struct test *test, unsigned number)
{
    char leak[160] = "left something behind";

    now.failed = false;
    now.skipped = NULL;
    test->run();
    if (test_leak_check(leak, sizeof(leak)) != 0) {
        now.failed = true;
        printf("# %s/%s: %s\n", test->suite, test->name, leak);
    }
    printf("%s %u - %s/%s%s%s\n", now.failed ? "not ok" : "ok", number, test->suite,
           test->name, now.skipped != NULL ? " # SKIP " : "",
           now.skipped != NULL ? now.skipped : "");
    return !now.failed;
}

static int run(int argc, char **argv)
{
    unsigned n = 0, done = 0, failed = 0;

    any_timing = argc > 1 && strcmp(argv[1], "--any-timing") == 0;
    argc -= any_timing;
    argv += any_timing;
    for (const struct test *t = __tests_start; t < __tests_end; t++) {
        n += selected(t, argc - 1, argv + 1);
    }
    if (n == 0) {
        fprintf(stderr, "salai: no test matches\n");
        return RUN_INPUT;
    }
    printf("TAP version 13\n1..%u\n", n);
    for (const struct test *t = __tests_start; t < __tests_end; t++) {
        if (selected(t, argc - 1, argv + 1) && !run_one(t, ++done)) {
            failed++;
        }
    }
    printf("# %u passed, %u failed\n", n - failed, failed);
    return failed != 0 ? RUN_CHECK : RUN_OK;
}

COMMAND(test, "[--any-timing] [FILTER]...",
         "runs the self-tests whose suite/name contains a filter, but with --any-timing "
         "those of cycles",
         run);
