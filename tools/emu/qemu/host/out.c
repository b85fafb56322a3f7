/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Files that appear when they are complete; see out.h. The hart's thread closes them when the
 * image exits, and may not rename then: outside.h.
 */
#include "tools/emu/qemu/host/out.h"
#include "tools/emu/qemu/host/outside.h"
#include "tools/emu/part.h"
#include <zlib.h>

#define BUFFER   (1 << 16)
#define LEVEL_GZ "wb1" /* fast: the texts are alike */
#define LEVEL_NO "wbT"

struct Out {
    char *path, *part; /* part: NULL if it is written where it is */
    gzFile file;
    int lock; /* the part's, until it has its name: before, it would be a leftover */
    bool lost, keep;
    size_t n;
    char buffer[BUFFER];
};

static bool told; /* that something was lost */

/* Its name, or its end. */
static void finish(void *arg)
{
    Out *o = arg;

    if (o->keep && !o->lost) {
        o->lost = rename(o->part, o->path) != 0;
    }
    if (!o->keep || o->lost) {
        unlink(o->part);
    }
}

/* A new file beside the one that it will replace, whose mode it gets. */
static int open_part(const char *path, const struct stat *old, char **part)
{
    g_autofree char *dir = g_path_get_dirname(path), *base = g_path_get_basename(path);
    char prefix[NAME_MAX + 1], name[NAME_MAX + 1];
    int in = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd;

    if (in < 0) {
        return -1;
    }
    part_prefix(prefix, base);
    part_remove_leftovers(in, prefix);
    fd = part_create(in, prefix, old ? 0600 : 0666, name);
    if (fd >= 0 && old) {
        part_take_over(fd, old);
    }
    close(in);
    *part = g_build_filename(dir, name, NULL);
    errno = fd < 0 ? -fd : 0;
    return fd;
}

Out *out_open(const char *path, bool large)
{
    char *real = realpath(path, NULL); /* or there is none yet */
    g_autofree char *there = g_strdup(real ?: path), *part = NULL;
    struct stat st;
    bool old = stat(path, &st) == 0, file = !old || S_ISREG(st.st_mode);
    g_autofree char *name = g_path_get_basename(path);
    int fd, err;
    bool gz;
    Out *o;

    free(real);
    if (!*path || (old && file && access(path, W_OK) != 0)) {
        errno = *path ? errno : ENOENT;
        return NULL;
    }
    fd = file ? open_part(there, old ? &st : NULL, &part)
              : open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    o = g_new0(Out, 1);
    gz = g_str_has_suffix(path, ".gz") || (large && part && !strchr(name, '.'));
    o->file = gzdopen(fd, gz ? LEVEL_GZ : LEVEL_NO);
    if (!o->file) {
        err = errno;
        close(fd);
        (void)!(part && unlink(part));
        g_free(o);
        errno = err;
        return NULL;
    }
    o->lock = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    told = false;
    o->path = g_steal_pointer(&there);
    o->part = g_steal_pointer(&part);
    return o;
}

static void flush(Out *o)
{
    o->lost |= o->n && gzwrite(o->file, o->buffer, o->n) != (int)o->n;
    o->n = 0;
}

void out_bytes(Out *o, const void *bytes, size_t n)
{
    const char *from = bytes;

    while (n > 0) {
        size_t some = MIN(n, BUFFER - o->n);

        memcpy(o->buffer + o->n, from, some);
        o->n += some;
        from += some;
        n -= some;
        if (o->n == BUFFER) {
            flush(o);
        }
    }
}

void out_text(Out *o, const char *text)
{
    out_bytes(o, text, strlen(text));
}

void out_number(Out *o, uint64_t n)
{
    char digits[20];
    size_t at = sizeof(digits);

    do {
        digits[--at] = '0' + n % 10;
        n /= 10;
    } while (n);
    out_bytes(o, digits + at, sizeof(digits) - at);
}

bool out_close(Out *o, bool keep)
{
    bool good;

    flush(o);
    o->lost |= gzclose(o->file) != Z_OK;
    if (o->part) {
        o->keep = keep;
        outside_do(finish, o);
    }
    close(o->lock);
    good = !keep || !o->lost;
    if (!good && !told) {
        error_report("npu.so: %s: could not be written completely", o->path);
        told = true;
    }
    g_free(o->path);
    g_free(o->part);
    g_free(o);
    return good;
}
