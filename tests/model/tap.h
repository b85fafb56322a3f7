/* SPDX-License-Identifier: MIT
 *
 * Test output of the host tests: TAP on stdout.
 *
 *   ok(sum == 3, "suite/what_it_does");    the name is a printf format
 *   return tap_done();                     plan line, exit status
 */
#ifndef TESTS_MODEL_TAP_H
#define TESTS_MODEL_TAP_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

static unsigned tap_count, tap_failed;

__attribute__((format(printf, 2, 3))) static inline bool ok(bool cond, const char *name,
                                                            ...)
{
    va_list args;

    tap_count++;
    tap_failed += !cond;
    printf("%s %u - ", cond ? "ok" : "not ok", tap_count);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    printf("\n");
    return cond;
}

/* A line that explains the result before or after it. */
__attribute__((format(printf, 1, 2))) static inline void tap_note(const char *text, ...)
{
    va_list args;

    printf("# ");
    va_start(args, text);
    vprintf(text, args);
    va_end(args);
    printf("\n");
}

static inline int tap_done(void)
{
    printf("1..%u\n", tap_count);
    return tap_failed ? 1 : 0;
}

#endif
