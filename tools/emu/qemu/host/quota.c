/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * See quota.h. The files are counted whenever one is opened, and what grows between that is
 * added; holes count as what they would be when they are filled.
 */
#include "tools/emu/qemu/host/quota.h"
#include "semihosting/guestfd.h"
#include <dirent.h>

#define BYTES_MOST (256ull << 20)
#define FILES_MOST 256

static struct {
    uint64_t bytes;
    unsigned files;
    GHashTable *handles;
    bool told;
} quota;

static bool too_much(void)
{
    if (!quota.told) {
        quota.told = true;
        error_report("npu.so: refused: the image's files in build/scratch are more than "
                     "%llu MiB or %u (UNCONFINED=1 allows it)",
                     BYTES_MOST >> 20, FILES_MOST);
    }
    return false;
}

bool quota_look(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *entry;
    struct stat st;

    quota.bytes = quota.files = 0;
    while (d && (entry = readdir(d))) {
        if (fstatat(folder, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode)) {
            quota.bytes += st.st_size;
            quota.files++;
        }
    }
    if (d) {
        closedir(d);
    }
    return quota.files < FILES_MOST || too_much();
}

void quota_opened(int guest)
{
    quota.handles = quota.handles ?: g_hash_table_new(NULL, NULL);
    g_hash_table_add(quota.handles, GINT_TO_POINTER(guest));
}

void quota_closed(int guest)
{
    if (quota.handles) {
        g_hash_table_remove(quota.handles, GINT_TO_POINTER(guest));
    }
}

bool quota_allows(int guest, uint64_t bytes)
{
    GuestFD *handle = get_guestfd(guest);
    struct stat st;
    off_t at;
    uint64_t grows;

    if (!quota.handles || !handle ||
        !g_hash_table_contains(quota.handles, GINT_TO_POINTER(guest)) ||
        fstat(handle->hostfd, &st) != 0) {
        return true;
    }
    at = fcntl(handle->hostfd, F_GETFL) & O_APPEND ? st.st_size
                                                   : lseek(handle->hostfd, 0, SEEK_CUR);
    if (at < 0 || at > INT64_MAX - (int64_t)MIN(bytes, INT32_MAX)) {
        return too_much();
    }
    grows = at + MIN(bytes, INT32_MAX);
    grows -= MIN(grows, (uint64_t)st.st_size);
    if (grows > BYTES_MOST || quota.bytes + grows > BYTES_MOST) {
        return too_much();
    }
    quota.bytes += grows;
    return true;
}
