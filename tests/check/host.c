/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "tests/check/host.h"

static void *get(void *ctx, size_t bytes)
{
    void *p = calloc(1, bytes);

    (void)ctx;
    if (!p) {
        abort();
    }
    return p;
}

static void give_back(void *ctx, void *p, size_t bytes)
{
    (void)ctx, (void)bytes;
    free(p);
}

const struct check_host test_host = {.alloc = get, .free = give_back};
