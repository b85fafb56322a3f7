/* SPDX-License-Identifier: MIT
 *
 * In an image that counts what runs (build/fw-cov/test.elf): as it ends, in whatever way, its
 * counters go to build/scratch/gcov.TIME, which tests/coverage takes apart. Of each object: a
 * name, ended by 0; pieces of its .gcda file, each behind its size in four bytes; a size 0.
 */
#include <gcov.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hal/host.h"

extern const struct gcov_info *const __start_gcov_info[], *const __stop_gcov_info[];
_Noreturn void __real_host_exit(int status);
_Noreturn void __wrap_host_exit(int status); /* in the place of that: linker/image.mk */

static char out[8 << 20], scratch[1 << 20];
static size_t used, lent;

static void put(const void *bytes, size_t n)
{
    if (n > sizeof(out) - used) {
        __real_host_exit(RUN_FAULT);
    }
    memcpy(out + used, bytes, n);
    used += n;
}

static void name(const char *text, void *arg)
{
    (void)arg;
    put(text, strlen(text) + 1);
}

static void piece(const void *bytes, unsigned n, void *arg)
{
    (void)arg;
    if (n) {
        put(&n, sizeof(n));
        put(bytes, n);
    }
}

static void *lend(unsigned bytes, void *arg)
{
    void *p = scratch + lent;

    (void)arg;
    lent += (bytes + 15u) / 16 * 16;
    return lent <= sizeof(scratch) ? p : NULL;
}

_Noreturn void __wrap_host_exit(int status)
{
    const volatile uint32_t *clock = (const uint32_t *)0x101000; /* of the host, in ns */
    uint32_t low = clock[0], end = 0;
    char path[64];
    int fd;

    for (const struct gcov_info *const *i = __start_gcov_info; i < __stop_gcov_info; i++) {
        lent = 0;
        __gcov_info_to_gcda(*i, name, piece, lend, NULL);
        put(&end, sizeof(end));
    }
    snprintf(path, sizeof(path), "build/scratch/gcov.%08x%08x", (unsigned)clock[1],
             (unsigned)low);
    fd = host_open(path, HOST_WRITE);
    if (fd < 0 || host_write(fd, out, used) != 0 || host_close(fd) != 0) {
        __real_host_exit(RUN_FAULT);
    }
    __real_host_exit(status);
}
