/* SPDX-License-Identifier: MIT
 *
 * Tasks that say a letter each time they run, so that a test can compare the order.
 */
#ifndef TESTS_TARGET_SAY_H
#define TESTS_TARGET_SAY_H

#include <string.h>

static char log_text[128];

static inline void say(char c)
{
    size_t used = strlen(log_text);

    if (used + 1 < sizeof(log_text)) {
        log_text[used] = c;
        log_text[used + 1] = 0;
    }
}

#endif
