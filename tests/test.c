/* SPDX-License-Identifier: MIT
 *
 * What test.h declares: checks, verdicts, and the runner behind the operator `test` of
 * the target and the program build/san/host-tests. TAP with the plan at the end, so that
 * a run that was cut off has none; what went wrong is in comment lines before a verdict.
 */
#include "tests/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hal/err.h"

static struct {
    const struct test *test;
    bool failed;
    unsigned verdicts;
    const char *skipped;
} now;

static unsigned count, passed, skipped;
static bool any_timing, brief, list;
unsigned test_times = 1;
bool test_long;

__attribute__((weak)) void test_begin(void)
{
}

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

bool ok(bool cond, const char *name, ...)
{
    va_list args;

    if (now.verdicts++ == 0) { /* whose verdicts they are, for tests/run */
        printf("# %s/%s\n", now.test->suite, now.test->name);
    }
    count++;
    passed += cond;
    printf("%s %u - ", cond ? "ok" : "not ok", count);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    printf("\n");
    return cond;
}

void test_note(const char *text, ...)
{
    va_list args;

    printf("# ");
    va_start(args, text);
    vprintf(text, args);
    va_end(args);
    printf("\n");
}

static bool selected(const struct test *test, int n_parts, char **parts)
{
    char name[128];

    if ((any_timing && test->kind == TEST_OF_CYCLES) ||
        (brief && test->kind == TEST_OF_SHAPES) ||
        (!test_long && !list && test->kind == TEST_LASTING)) {
        return false;
    }
    snprintf(name, sizeof(name), "%s/%s", test->suite, test->name);
    for (int i = 0; i < n_parts; i++) {
        if (strstr(name, parts[i]) != NULL || strstr(test->file, parts[i]) != NULL) {
            return true;
        }
    }
    return n_parts == 0;
}

static void run_one(const struct test *test)
{
    char leak[160] = "left something behind";

    memset(&now, 0, sizeof(now));
    now.test = test;
    test_begin();
    test->run();
    if (test_leak_check(leak, sizeof(leak)) != 0) {
        now.failed = true;
        printf("# %s/%s: %s\n", test->suite, test->name, leak);
    }
    if (now.verdicts == 0 || now.failed) {
        bool skip = now.skipped != NULL && !now.failed;

        count++;
        passed += !now.failed && !skip;
        skipped += skip;
        printf("%s %u - %s/%s%s%s\n", now.failed ? "not ok" : "ok", count, test->suite,
               test->name, skip ? " # SKIP " : "", skip ? now.skipped : "");
    }
}

/* The options, and where the parts begin; -1 for what is none. */
static int options(int argc, char **argv)
{
    int i = 1;

    any_timing = brief = test_long = list = false;
    test_times = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--any-timing") == 0) {
            any_timing = true;
        } else if (strcmp(argv[i], "--brief") == 0) {
            brief = true;
        } else if (strcmp(argv[i], "--long") == 0) {
            test_long = true;
        } else if (strcmp(argv[i], "--list") == 0) {
            list = true;
        } else if (strcmp(argv[i], "--times") == 0 && i + 1 < argc) {
            test_times = (unsigned)strtoul(argv[++i], NULL, 10);
        } else {
            fprintf(stderr, "%s: no such option\n", argv[i]);
            return -1;
        }
    }
    return i;
}

int test_main(int argc, char **argv)
{
    int first = options(argc, argv);
    bool any = false;

    count = passed = skipped = 0;
    for (const struct test *t = __tests_start; t < __tests_end && first > 0; t++) {
        if (!selected(t, argc - first, argv + first)) {
            continue;
        }
        if (list) {
            printf("%s/%s\n", t->suite, t->name);
        } else {
            if (!any) {
                printf("TAP version 13\n");
            }
            run_one(t);
        }
        any = true;
    }
    if (!any) {
        if (first > 0) {
            fprintf(stderr, "no test has such a name; --list prints them\n");
        }
        return 2;
    }
    if (!list) {
        printf("1..%u\n# %u passed, %u failed, %u skipped\n", count, passed,
               count - passed - skipped, skipped);
    }
    return passed + skipped != count;
}
