/* SPDX-License-Identifier: MIT
 *
 * To be preloaded into QEMU: makes the time between the creation of an output's hidden
 * file and the next thing that is done with it so long that a signal always falls into it.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

int openat64(int dir, const char *path, int flags, ...)
{
    int (*next)(int, const char *, int, ...) =
        (int (*)(int, const char *, int, ...))dlsym(RTLD_NEXT, "openat64");
    struct timespec left = {.tv_nsec = 300 * 1000 * 1000};
    va_list more;
    int fd;

    va_start(more, flags);
    fd = next(dir, path, flags, va_arg(more, int));
    va_end(more);
    while ((flags & O_EXCL) && strstr(path, ".salai-") && nanosleep(&left, &left) != 0) {
    }
    return fd;
}
