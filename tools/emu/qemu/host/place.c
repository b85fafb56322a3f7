/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See place.h.
 */
#include "tools/emu/qemu/host/place.h"

#define LINKS_MAX 40 /* as Linux */

/* Where links lead from `path`; NULL and errno. */
static char *follow_links(const char *path)
{
    g_autofree char *at = g_strdup(path);

    for (int i = 0; i < LINKS_MAX; i++) {
        g_autofree char *target = g_file_read_link(at, NULL);
        g_autofree char *dir = NULL;

        if (!target) {
            return g_steal_pointer(&at);
        }
        dir = g_path_get_dirname(at);
        g_free(at);
        at = g_path_is_absolute(target) ? g_steal_pointer(&target)
                                        : g_build_filename(dir, target, NULL);
    }
    errno = ELOOP;
    return NULL;
}

int place_find(struct place *place, const char *path)
{
    g_autofree char *at = follow_links(path), *dir = NULL, *base = NULL;

    *place = (struct place){.dir = -1};
    if (!at || !*path) {
        return place->err = at ? -ENOENT : -errno;
    }
    dir = g_path_get_dirname(at);
    base = g_path_get_basename(at);
    if (g_str_has_suffix(at, "/") || strlen(base) > NAME_MAX) {
        return place->err = g_str_has_suffix(at, "/") ? -EISDIR : -ENAMETOOLONG;
    }
    strcpy(place->base, base);
    place->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return place->err = place->dir < 0 ? -errno : 0;
}

/* What is no regular file is not waited for either. */
int place_open(const struct place *place, int flags)
{
    int fd = place->err
                 ? place->err
                 : openat(place->dir, place->base,
                          flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    struct stat st;

    if (fd < 0) {
        return place->err ? place->err : -errno;
    }
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return S_ISDIR(st.st_mode) ? -EISDIR : -ENXIO;
    }
    (void)!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

int place_remove(const struct place *place)
{
    if (place->err) {
        return place->err;
    }
    return unlinkat(place->dir, place->base, 0) == 0 ? 0 : -errno;
}

char *place_path(const struct place *place)
{
    g_autofree char *link = g_strdup_printf("/proc/self/fd/%d", place->dir);
    g_autofree char *dir = place->err ? NULL : realpath(link, NULL);

    return dir ? g_build_filename(dir, place->base, NULL) : NULL;
}
