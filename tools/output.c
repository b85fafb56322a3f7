/* SPDX-License-Identifier: MIT
 *
 * Files that appear when they are whole; see output.h.
 */
#include "tools/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/emu/part.h"

enum { LINKS_MAX = 40 /* as Linux */ };

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};

/* The part, and the name that it will have; without a part `dir` is -1. */
static struct {
    int dir;
    char name[NAME_MAX + 1], base[NAME_MAX + 1];
} part = {.dir = -1};

static void remove_part(void)
{
    if (part.dir >= 0) {
        unlinkat(part.dir, part.name, 0);
    }
}

void output_lost(void)
{
    remove_part();
}

static void on_signal(int number)
{
    remove_part();
    signal(number, SIG_DFL);
    raise(number);
}

/* Once: a signal that is ignored stays so, and past the largest file that is allowed a
 * write is to come up short like any other. */
static void catch_ends(void)
{
    static bool done;

    for (unsigned i = 0; !done && i < sizeof(signals) / sizeof(signals[0]); i++) {
        if (signal(signals[i], on_signal) == SIG_IGN) {
            signal(signals[i], SIG_IGN);
        }
    }
    if (!done) {
        signal(SIGXFSZ, SIG_IGN);
        atexit(remove_part);
    }
    done = true;
}

/* Where `path` leads to, whether something is there or not; 0 or -errno. */
static int follow(const char *path, char to[PATH_MAX])
{
    char target[PATH_MAX];

    if (snprintf(to, PATH_MAX, "%s%s", strchr(path, '/') ? "" : "./", path) >= PATH_MAX) {
        return -ENAMETOOLONG;
    }
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        ssize_t n = readlink(to, target, sizeof(target));
        char *base = strrchr(to, '/') + 1;
        if (n < 0) {
            return 0; /* no link; what else is wrong will be told by open */
        }
        base = target[0] == '/' ? to : base;
        if (base - to + n >= PATH_MAX) {
            return -ENAMETOOLONG;
        }
        memcpy(base, target, (size_t)n);
        base[n] = '\0';
    }
    return -ELOOP;
}

/* The part of to's last name, in its folder, and no signal meanwhile; old: what is there.
 * Returns its descriptor or -errno. */
static int begin_part(char *to, const struct stat *old)
{
    char prefix[NAME_MAX + 1], *base = strrchr(to, '/') + 1;
    sigset_t set, before;
    int fd;

    if (strlen(base) > NAME_MAX) {
        return -ENAMETOOLONG;
    }
    strcpy(part.base, base);
    base[0] = '\0';
    fd = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return -errno;
    }
    part_prefix(prefix, part.base);
    part_remove_leftovers(fd, prefix);
    catch_ends();
    sigemptyset(&set);
    for (unsigned i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        sigaddset(&set, signals[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &before);
    part.dir = fd;
    fd = part_create(part.dir, prefix, old ? 0600 : 0666, part.name);
    if (fd < 0) {
        close(part.dir);
        part.dir = -1;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (fd >= 0 && old) {
        part_take_over(fd, old);
    }
    return fd;
}

FILE *output_begin(const char *path)
{
    char to[PATH_MAX];
    struct stat is;
    int err = follow(path, to), fd;
    bool old = !err && stat(to, &is) == 0;
    FILE *file;

    if (!err && old && access(to, W_OK) != 0) {
        err = -errno;
    }
    if (err) {
        errno = -err;
        return NULL;
    }
    if (old && !S_ISREG(is.st_mode)) {
        fd = open(to, O_WRONLY | O_CLOEXEC);
        return fd < 0 ? NULL : fdopen(fd, "w");
    }
    fd = begin_part(to, old ? &is : NULL);
    file = fd < 0 ? NULL : fdopen(fd, "w");
    errno = fd < 0 ? -fd : errno;
    return file;
}

static void forget_part(void)
{
    int dir = part.dir;

    part.dir = -1;
    close(dir);
}

bool output_end(FILE *file)
{
    bool good = !ferror(file);
    int lock = dup(fileno(file)); /* no leftover before it has its name */

    good = fclose(file) == 0 && good;
    if (part.dir >= 0) {
        good = good && renameat(part.dir, part.name, part.dir, part.base) == 0;
        if (!good) {
            remove_part();
        }
        forget_part();
    }
    close(lock);
    return good;
}

void output_drop(FILE *file)
{
    (void)fclose(file);
    if (part.dir >= 0) {
        remove_part();
        forget_part();
    }
}
