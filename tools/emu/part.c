/* SPDX-License-Identifier: MIT
 *
 * Files that are not whole yet; see part.h.
 */
#include "tools/emu/part.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

enum { BASE_MAX = 200, DIGITS = 16 }; /* bytes of NAME, of the random number */

void part_prefix(char prefix[NAME_MAX + 1], const char *base)
{
    snprintf(prefix, NAME_MAX + 1, ".%.*s.salai-", BASE_MAX, base);
}

static bool is_part_of(const char *name, const char *prefix)
{
    size_t n = strlen(prefix);

    return strncmp(name, prefix, n) == 0 && strlen(name) == n + DIGITS &&
           strspn(name + n, "0123456789abcdef") == DIGITS;
}

void part_remove_leftovers(int dir, const char *prefix)
{
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;

    while (d && (entry = readdir(d))) {
        if (is_part_of(entry->d_name, prefix)) {
            int left = openat(dir, entry->d_name,
                              O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

            if (left >= 0 && flock(left, LOCK_EX | LOCK_NB) == 0) {
                unlinkat(dir, entry->d_name, 0);
            }
            close(left);
        }
    }
    if (d) {
        closedir(d);
    }
}

int part_create(int dir, const char *prefix, mode_t mode, char name[NAME_MAX + 1])
{
    struct stat now;
    uint64_t random;
    int fd;

    do { /* again if another's part_remove_leftovers() was faster than our lock */
        if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
            return -EIO;
        }
        snprintf(name, NAME_MAX + 1, "%s%0*" PRIx64, prefix, DIGITS, random);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd < 0) {
            return -errno;
        }
        (void)!flock(fd, LOCK_EX);
        if (fstat(fd, &now) != 0) {
            now.st_nlink = 1;
        }
    } while (now.st_nlink == 0 && close(fd) == 0);
    return fd;
}

/* What its group might do is not for another group. */
void part_take_over(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;

    if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, -1, old->st_gid) != 0) {
        mode &= ~(mode_t)070;
    }
    (void)!fchmod(fd, mode);
}
