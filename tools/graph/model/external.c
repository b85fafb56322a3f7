/* SPDX-License-Identifier: MIT
 *
 * See external.h. A model names a file by its path from the model's folder on, and which bytes of
 * it are the tensor's. Where that leads out of the folder, by `..` or by a link, it is refused: a
 * model is not to read what it was not given.
 */
#include "tools/graph/model/external.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the model says under a name; NULL: nothing. */
static const char *told(const Onnx__TensorProto *p, const char *key)
{
    for (size_t i = 0; i < p->n_external_data; i++) {
        const Onnx__StringStringEntryProto *e = p->external_data[i];
        if (e->key && strcmp(e->key, key) == 0) {
            return e->value ? e->value : "";
        }
    }
    return NULL;
}

static size_t number(const struct graph *g, const Onnx__TensorProto *p, const char *name,
                     const char *key, size_t usual)
{
    const char *text = told(p, key);
    char *end;
    unsigned long long n;

    if (!text) {
        return usual;
    }
    errno = 0;
    n = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end || errno || n > SSIZE_MAX) {
        graph_die(g, "'%s': %s '%.32s' of its file is no number", name, key, text);
    }
    return (size_t)n;
}

/* The file, opened. */
static int open_file(const struct graph *g, const char *name, const char *location)
{
    const char *slash = strrchr(g->path, '/');
    const char *folder =
        slash ? graph_text("%.*s", (int)(slash - g->path + 1), g->path) : "./";
    char *home = realpath(folder, NULL),
         *path = realpath(graph_text("%s%s", folder, location), NULL);
    size_t length = home ? strlen(home) : 0;
    int fd;

    if ((!home || !path) && location[0] != '/') {
        graph_die(g, "'%s': its file '%.64s': %s", name, location, strerror(errno));
    }
    if (location[0] == '/' || !home || !path || strncmp(path, home, length) != 0 ||
        (path[length] != '/' && length > 1)) {
        graph_die(g, "'%s': its file '%.64s' is outside of the model's folder", name,
                  location);
    }
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        graph_die(g, "'%s': its file '%.64s': %s", name, location, strerror(errno));
    }
    free(home);
    free(path);
    return fd;
}

void external_read(const struct graph *g, Onnx__TensorProto *p, const char *name,
                   size_t bytes)
{
    const char *location = told(p, "location");
    size_t offset = number(g, p, name, "offset", 0), have, length, at = 0;
    struct stat info;
    uint8_t *data;
    int fd;

    if (!location || !location[0]) {
        graph_die(g, "'%s' lies in a file that is not named", name);
    }
    fd = open_file(g, name, location);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        graph_die(g, "'%s': its file '%.64s' is no regular file", name, location);
    }
    have = (size_t)info.st_size < offset ? 0 : (size_t)info.st_size - offset;
    length = number(g, p, name, "length", have);
    if (length > have || (size_t)info.st_size < offset) {
        graph_die(g, "'%s': its file '%.64s' has %lld bytes, which is too few", name,
                  location, (long long)info.st_size);
    }
    if (length != bytes) { /* before it is read, for a file may be any size */
        graph_die(g, "'%s' is %zu bytes, but %zu of its file", name, bytes, length);
    }
    data = malloc(length ? length : 1);
    while (data && at < length) {
        ssize_t n = pread(fd, data + at, length - at, (off_t)(offset + at));
        if (n <= 0) {
            graph_die(g, "'%s': its file '%.64s' could not be read", name, location);
        }
        at += (size_t)n;
    }
    if (!data) {
        graph_die(g, "'%s': no memory for %zu bytes", name, length);
    }
    (void)close(fd);
    free(p->raw_data.data);
    p->raw_data = (ProtobufCBinaryData){.len = length, .data = data};
    p->has_raw_data = 1;
}
