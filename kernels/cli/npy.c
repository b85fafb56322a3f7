/* SPDX-License-Identifier: MIT
 *
 * Reading and writing .npy files. The header is checked before memory is asked for, and
 * data moves in one host call.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hal/host.h"
#include "kernels/cli/npy.h"

/* Puts "path: " before a reason, in place. A path too long to show loses its start. */
static int blame(const char *path, char *why, int err, const char *text)
{
    size_t n = strlen(text), p = strlen(path);
    size_t room = NPY_WHY_BYTES - 3 - n;

    assert(n < NPY_WHY_BYTES / 2);
    if (p > room) {
        path += p - room;
        p = room;
    }
    memmove(why + p + 2, text, n + 1); /* text may be why */
    memcpy(why, path, p);
    memcpy(why + p, ": ", 2);
    return err;
}

/* Preamble and header. The data's offset goes to *offset. */
static int read_header(int fd, const char *path, struct npy *npy, size_t *offset,
                       char *why)
{
    char first[NPY_PREAMBLE_MAX];
    int64_t n = host_read_some(fd, first, sizeof(first));
    char *header;
    int err;

    if (n == 0) {
        return blame(path, why, ERR_FORMAT, "empty, a directory, or not readable");
    }
    err = npy_header_bytes(first, (size_t)n, offset, why);
    if (err != 0) {
        return blame(path, why, err, why);
    }
    header = malloc(*offset);
    if (header == NULL) {
        return blame(path, why, ERR_NOMEM, "no memory for the header");
    }
    if (host_seek(fd, 0) != 0) {
        err = blame(path, why, ERR_IO, host_errno_text());
    } else {
        n = host_read_some(fd, header, *offset);
        err = npy_parse_header(header, (size_t)n, npy, why);
        err = err != 0 ? blame(path, why, err, why) : 0;
    }
    free(header);
    return err;
}

static int read_data(int fd, const char *path, struct npy *npy, size_t offset, char *why)
{
    int64_t size = host_size(fd);
    size_t room;

    if (size < 0) {
        return blame(path, why, ERR_IO, host_errno_text());
    }
    if (size - (int64_t)offset != (int64_t)npy->bytes) {
        char text[96];

        snprintf(text, sizeof(text), "%s: %lld bytes of data, the header says %zu",
                 size - (int64_t)offset < (int64_t)npy->bytes ? "truncated" : "too long",
                 (long long)(size - (int64_t)offset), npy->bytes);
        return blame(path, why, ERR_FORMAT, text);
    }
    /* At least one block, so that an empty array has an address too. */
    room = (npy->bytes / NPY_ALIGN + 1) * NPY_ALIGN;
    npy->data = aligned_alloc(NPY_ALIGN, room);
    if (npy->data == NULL) {
        char text[64];

        snprintf(text, sizeof(text), "no memory for %zu bytes: MEM=", npy->bytes);
        return blame(path, why, ERR_NOMEM, text);
    }
    if (host_seek(fd, offset) != 0 || host_read(fd, npy->data, npy->bytes) != 0) {
        free(npy->data);
        npy->data = NULL;
        return blame(path, why, ERR_IO, "could not be read to its end");
    }
    return 0;
}

int npy_read(const char *path, struct npy *npy, char *why)
{
    size_t offset = 0;
    int fd = host_open(path, HOST_READ);
    int err;

    *npy = (struct npy){.shape = {1, 1, 1, 1, 1, 1, 1, 1}};
    if (fd < 0) {
        return blame(path, why, fd, host_errno_text());
    }
    err = read_header(fd, path, npy, &offset, why);
    if (err == 0) {
        err = read_data(fd, path, npy, offset, why);
    }
    if (host_close(fd) != 0 && err == 0) {
        free(npy->data);
        npy->data = NULL;
        err = blame(path, why, ERR_IO, host_errno_text());
    }
    return err;
}

/* A new file with all that there is to write; a handle, or an error. */
static int begin_file(const char *path, const struct npy *npy, char *why)
{
    struct npy copy = *npy;
    char header[256];
    int len = npy_format_header(&copy, header, sizeof(header));
    int err, fd;

    if (len < 0) {
        return blame(path, why, len, "the shape is too large");
    }
    fd = host_create(path);
    if (fd < 0) {
        return blame(path, why, fd, host_errno_text());
    }
    err = host_write(fd, header, (size_t)len);
    err = err != 0 ? err : host_write(fd, copy.data, copy.bytes);
    if (err == 0) {
        return fd;
    }
    if (host_create_end(fd, false) != 0) {
        return blame(path, why, ERR_IO, host_errno_text());
    }
    return blame(path, why, err, "could not be written, is the disk full?");
}

int npy_write_all(unsigned n, const char *const *path, const struct npy *npy, char *why)
{
    int fd[NPY_FILES], err = n > NPY_FILES ? ERR_OVERFLOW : 0;
    unsigned begun = 0;

    for (; begun < n && err == 0; begun++) {
        fd[begun] = path[begun] ? begin_file(path[begun], &npy[begun], why) : 0;
        err = fd[begun] < 0 ? fd[begun] : 0;
    }
    for (unsigned i = 0; i < begun; i++) {
        if (!path[i] || fd[i] < 0 || host_create_end(fd[i], err == 0) == 0 || err != 0) {
            continue;
        }
        err = blame(path[i], why, ERR_IO, host_errno_text());
        for (unsigned k = 0; k < i; k++) {
            (void)!(path[k] && host_remove(path[k])); /* they had taken their places */
        }
    }
    return err;
}
