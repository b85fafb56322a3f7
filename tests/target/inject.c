/* SPDX-License-Identifier: MIT
 *
 * Memory that runs out: `inject N` has the N-th allocation from here on fail, once, and
 * `inject 0` says how many there have been since. The image of the tests is linked with
 * --wrap for each of the library's ways to allocate.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "hal/host.h"
#include "kernels/cli/op.h"

static unsigned long asked, at;

static bool fails(void)
{
    if (++asked != at) {
        return false;
    }
    errno = ENOMEM;
    return true;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __real_aligned_alloc(alignment, size);
}

static int inject(int argc, char **argv)
{
    if (argc != 2) {
        return RUN_INPUT;
    }
    if (argv[1][0] == '0') {
        printf("inject: %lu allocations\n", asked);
    }
    asked = 0;
    at = strtoul(argv[1], NULL, 10);
    return RUN_OK;
}

COMMAND(inject, "N", "lets the N-th allocation from here on fail, once", inject);
