/* SPDX-License-Identifier: MIT
 *
 * NumPy's .npy files: versions 1.0, 2.0 and 3.0, C order, 0 to 8 dimensions of float64,
 * float32, float16, int64 to int8, uint64 to uint8 or bool, little-endian. Source:
 * numpy/lib/format.py, "Format Specification". Whatever the format allows beyond that is
 * refused with a reason.
 */
#ifndef KERNELS_CLI_NPY_H
#define KERNELS_CLI_NPY_H

#include <stddef.h>
#include <stdint.h>
#include "hal/err.h"

#define NPY_MAX_DIMS     8
#define NPY_ALIGN        512   /* of the data that npy_read allocates */
#define NPY_PREAMBLE_MAX 12    /* bytes that tell how long the header is */
#define NPY_HEADER_MAX   65536 /* bytes of preamble and header; NumPy's own are 128 */
#define NPY_WHY_BYTES    320   /* room for a reason */
#define NPY_OTHER_BYTES  40    /* room for the name of a type */

enum npy_type {
    NPY_F4,
    NPY_F2,
    NPY_F8,
    NPY_I1,
    NPY_I2,
    NPY_I4,
    NPY_I8,
    NPY_U1,
    NPY_U2,
    NPY_U4,
    NPY_B1,
    NPY_U8,
    NPY_TYPES
};

struct npy {
    enum npy_type type;
    unsigned ndim;               /* 0: a scalar, one element */
    size_t shape[NPY_MAX_DIMS];  /* 1 beyond ndim; any may be 0 */
    void *data;                  /* C order; free() it. NULL if not read */
    size_t bytes;                /* of the data */
    char other[NPY_OTHER_BYTES]; /* after ERR_TYPE: what it is of, such as "uint16" */
};

/* Bytes of an element; the name that NumPy gives the type, such as "float32". */
size_t npy_type_bytes(enum npy_type type);
const char *npy_type_name(enum npy_type type);

/* Number of elements. */
size_t npy_count(const struct npy *npy);

/*
 * Reads a file whole. Its size must be exactly what the header says. Returns 0,
 * ERR_NOFILE, ERR_IO, ERR_FORMAT, ERR_TYPE (another type or byte order: npy->other), ERR_SHAPE
 * (too many dimensions or elements) or ERR_NOMEM; then *npy has no data and `why`,
 * NPY_WHY_BYTES long, one line such as "a.npy: Fortran order is not supported".
 */
MUST_CHECK int npy_read(const char *path, struct npy *npy, char *why);

/*
 * Writes the data of each (bytes are not looked at) to a file that takes the place of its
 * path (NULL: it has none) when all are complete, so that no error leaves a partial file, some
 * of several, or harms an older one. Returns 0, ERR_NOFILE, ERR_IO, ERR_SHAPE or, of more than
 * NPY_FILES, ERR_OVERFLOW, with a reason as above.
 */
enum npy_limit { NPY_FILES = 32 };
MUST_CHECK int npy_write_all(unsigned n, const char *const *path, const struct npy *npy,
                             char *why);
MUST_CHECK static inline int npy_write(const char *path, const struct npy *npy, char *why)
{
    return npy_write_all(1, &path, npy, why);
}

/* The pure parts, in npy_header.c; they touch nothing but their arguments. */

/* From the file's first len bytes, at least NPY_PREAMBLE_MAX unless the file is shorter:
 * *total is the offset of the data. Returns 0 or ERR_FORMAT with a reason. */
MUST_CHECK int npy_header_bytes(const char *buf, size_t len, size_t *total, char *why);

/* buf is the file up to its data. Fills *npy, data apart. Returns 0, ERR_FORMAT, ERR_TYPE
 * or ERR_SHAPE with a reason. Any bytes whatever are safe. */
MUST_CHECK int npy_parse_header(const char *buf, size_t len, struct npy *npy, char *why);

/* A version 1.0 header for type, ndim and shape. Returns its length, a multiple of 64
 * and at most 256, or ERR_SHAPE. Sets npy->bytes. */
MUST_CHECK int npy_format_header(struct npy *npy, char *buf, size_t size);

#endif
