/* SPDX-License-Identifier: MIT
 *
 * The header of a .npy file: magic, version, length, and a Python dictionary
 *
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
 *
 * padded with blanks and ended by a newline. The parser takes the keys in any order and
 * blanks where Python does. It reads through a cursor that never passes the end, keeps
 * nothing, and calls nothing but string functions, so that it can be fuzzed on the host.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "kernels/cli/npy.h"

static const struct {
    const char *code, *name;
    size_t bytes;
} types[] = {
    [NPY_F4] = {"f4", "float32", 4}, [NPY_F2] = {"f2", "float16", 2},
    [NPY_F8] = {"f8", "float64", 8}, [NPY_I1] = {"i1", "int8", 1},
    [NPY_I2] = {"i2", "int16", 2},   [NPY_I4] = {"i4", "int32", 4},
    [NPY_I8] = {"i8", "int64", 8},   [NPY_U1] = {"u1", "uint8", 1},
    [NPY_U2] = {"u2", "uint16", 2},  [NPY_U4] = {"u4", "uint32", 4},
    [NPY_B1] = {"b1", "bool", 1},    [NPY_U8] = {"u8", "uint64", 8},
};

/* What NumPy has besides; sizes behind a code without one vary. */
static const struct {
    const char *code, *name;
} others[] = {
    {"c8", "complex64"},  {"c16", "complex128"}, {"c32", "complex256"},
    {"f16", "float128"},  {"O", "object"},       {"U", "str"},
    {"S", "bytes"},       {"V", "void"},         {"M", "datetime64"},
    {"m", "timedelta64"},
};

struct cursor {
    const char *at, *end;
    char *why;
};

size_t npy_type_bytes(enum npy_type type)
{
    return types[type].bytes;
}

const char *npy_type_name(enum npy_type type)
{
    return types[type].name;
}

size_t npy_count(const struct npy *npy)
{
    size_t n = 1;

    for (unsigned i = 0; i < npy->ndim; i++) {
        n *= npy->shape[i];
    }
    return n;
}

static int refuse(char *why, int err, const char *text)
{
    snprintf(why, NPY_WHY_BYTES, "%s", text);
    return err;
}

/* npy->bytes from type and shape; false if a size_t cannot hold it. A dimension of 0
 * does not excuse the others: NumPy could not make such an array either. */
static bool set_bytes(struct npy *npy)
{
    size_t all = types[npy->type].bytes, product = all;

    for (unsigned i = 0; i < npy->ndim; i++) {
        size_t n = npy->shape[i] != 0 ? npy->shape[i] : 1;

        if (__builtin_mul_overflow(product, n, &product) || product > INT64_MAX) {
            return false;
        }
        all *= npy->shape[i]; /* no larger than product */
    }
    npy->bytes = all;
    return true;
}

int npy_header_bytes(const char *buf, size_t len, size_t *total, char *why)
{
    const unsigned char *b = (const unsigned char *)buf;
    size_t preamble = 10, header;

    if (len < preamble || memcmp(buf, "\x93NUMPY", 6) != 0) {
        return refuse(why, ERR_FORMAT, "not a .npy file");
    }
    if (b[6] < 1 || b[6] > 3 || b[7] != 0) {
        snprintf(why, NPY_WHY_BYTES, "version %d.%d of the format is not supported", b[6],
                 b[7]);
        return ERR_FORMAT;
    }
    header = b[8] | (size_t)b[9] << 8;
    if (b[6] > 1) {
        preamble = 12;
        if (len < preamble) {
            return refuse(why, ERR_FORMAT, "the file ends within its header");
        }
        header |= (size_t)b[10] << 16 | (size_t)b[11] << 24;
    }
    if (header > NPY_HEADER_MAX - preamble) {
        return refuse(why, ERR_FORMAT, "the header is longer than any NumPy writes");
    }
    *total = preamble + header;
    return 0;
}

static void skip_blanks(struct cursor *c)
{
    while (c->at < c->end &&
           (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r')) {
        c->at++;
    }
}

/* Takes the character if it is next, blanks apart. */
static bool take(struct cursor *c, char what)
{
    skip_blanks(c);
    if (c->at < c->end && *c->at == what) {
        c->at++;
        return true;
    }
    return false;
}

static bool take_word(struct cursor *c, const char *word)
{
    size_t n = strlen(word);

    skip_blanks(c);
    if ((size_t)(c->end - c->at) >= n && memcmp(c->at, word, n) == 0) {
        c->at += n;
        return true;
    }
    return false;
}

/* A string without escapes, in either sort of quotes. What does not fit is cut, which
 * makes it a name that nothing matches. Bytes that could upset a terminal become '?'. */
static bool take_string(struct cursor *c, char *text, size_t size)
{
    char quote;
    size_t n = 0;

    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) {
        return false;
    }
    quote = *c->at++;
    while (c->at < c->end && *c->at != quote) {
        if (n + 1 < size) {
            text[n++] = *c->at >= ' ' && *c->at <= '~' ? *c->at : '?';
        }
        c->at++;
    }
    text[n] = '\0';
    return c->at < c->end && *c->at++ == quote;
}

/* NumPy's name of a type that is not among ours, by its code; or NULL. */
static const char *other_name(const char *code)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t n = strlen(others[i].code);
        if (strncmp(code, others[i].code, n) == 0 && (n == 1 || code[n] == '\0')) {
            return others[i].name;
        }
    }
    return NULL;
}

/* Says what it is instead of a type of ours. */
static int refuse_type(struct cursor *c, struct npy *npy, const char *kind,
                       const char *name)
{
    snprintf(npy->other, sizeof(npy->other), "%s%s", kind, name);
    snprintf(c->why, NPY_WHY_BYTES, "%s is not supported", npy->other);
    return ERR_TYPE;
}

static int parse_type(struct cursor *c, struct npy *npy)
{
    char text[24];
    const char *code = text, *name;
    size_t type = 0;

    skip_blanks(c);
    if (c->at < c->end && *c->at == '[') {
        return refuse_type(c, npy, "", "a structured type");
    }
    if (!take_string(c, text, sizeof(text))) {
        return refuse(c->why, ERR_FORMAT, "the header's 'descr' is no string");
    }
    if (strchr("<>=|", text[0]) != NULL && text[0] != '\0') {
        code++;
    }
    while (type < NPY_TYPES && strcmp(code, types[type].code) != 0) {
        type++;
    }
    name = type < NPY_TYPES ? types[type].name : other_name(code);
    if (name == NULL || (text[0] == '|' && type < NPY_TYPES && types[type].bytes > 1)) {
        char quoted[sizeof(text) + 2]; /* "no byte order" makes no sense there */
        snprintf(quoted, sizeof(quoted), "'%s'", text);
        return refuse_type(c, npy, "type ", quoted);
    }
    if (text[0] == '>' && (type == NPY_TYPES || types[type].bytes > 1)) {
        return refuse_type(c, npy, "big-endian ", name);
    }
    if (type == NPY_TYPES) {
        return refuse_type(c, npy, "", name);
    }
    npy->type = (enum npy_type)type;
    return 0;
}

static int parse_order(struct cursor *c)
{
    if (take_word(c, "False")) {
        return 0;
    }
    if (take_word(c, "True")) {
        return refuse(c->why, ERR_FORMAT, "Fortran order is not supported");
    }
    return refuse(c->why, ERR_FORMAT, "the header's 'fortran_order' is no boolean");
}

/* Decimal digits; Python 2 put an L behind them. */
static int parse_size(struct cursor *c, size_t *size)
{
    const char *start;
    size_t n = 0;

    skip_blanks(c);
    for (start = c->at; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (__builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (size_t)(*c->at - '0'), &n)) {
            return refuse(c->why, ERR_SHAPE, "the shape is too large");
        }
    }
    if (c->at == start) {
        return refuse(c->why, ERR_FORMAT, "the header's 'shape' is no tuple of sizes");
    }
    if (c->at < c->end && *c->at == 'L') {
        c->at++;
    }
    *size = n;
    return 0;
}

/* () or (n,) or (n, n) or (n, n,) */
static int parse_shape(struct cursor *c, struct npy *npy)
{
    bool comma = true;

    if (!take(c, '(')) {
        return refuse(c->why, ERR_FORMAT, "the header's 'shape' is no tuple");
    }
    while (!take(c, ')')) {
        size_t size = 0;
        int err;

        if (!comma) {
            return refuse(c->why, ERR_FORMAT,
                          "the header's 'shape' is no tuple of sizes");
        }
        err = parse_size(c, &size);
        if (err != 0) {
            return err;
        }
        if (npy->ndim == NPY_MAX_DIMS) {
            return refuse(c->why, ERR_SHAPE, "more than 8 dimensions are not supported");
        }
        npy->shape[npy->ndim++] = size;
        comma = take(c, ',');
    }
    if (npy->ndim == 1 && !comma) { /* Python reads (3) as 3 */
        return refuse(c->why, ERR_FORMAT, "the header's 'shape' is no tuple");
    }
    return 0;
}

static int parse_entry(struct cursor *c, struct npy *npy, unsigned *seen)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    char key[24];
    unsigned i = 0;

    if (!take_string(c, key, sizeof(key)) || !take(c, ':')) {
        return refuse(c->why, ERR_FORMAT, "the header is no dictionary");
    }
    while (i < 3 && strcmp(key, keys[i]) != 0) {
        i++;
    }
    if (i == 3 || (*seen & 1u << i) != 0) {
        snprintf(c->why, NPY_WHY_BYTES, "the header has %s key '%s'",
                 i == 3 ? "an unknown" : "twice the", key);
        return ERR_FORMAT;
    }
    *seen |= 1u << i;
    return i == 0 ? parse_type(c, npy) : i == 1 ? parse_order(c) : parse_shape(c, npy);
}

int npy_parse_header(const char *buf, size_t len, struct npy *npy, char *why)
{
    struct cursor c = {.end = buf + len, .why = why};
    unsigned seen = 0;
    bool comma = true;
    size_t total;
    int err = npy_header_bytes(buf, len, &total, why);

    *npy = (struct npy){.shape = {1, 1, 1, 1, 1, 1, 1, 1}};
    if (err != 0) {
        return err;
    }
    if (len < total) {
        return refuse(why, ERR_FORMAT, "the file ends within its header");
    }
    c.at = buf + (buf[6] == 1 ? 10 : 12);
    c.end = buf + total;
    if (!take(&c, '{')) {
        return refuse(why, ERR_FORMAT, "the header is no dictionary");
    }
    while (!take(&c, '}')) {
        err = comma ? parse_entry(&c, npy, &seen)
                    : refuse(why, ERR_FORMAT, "the header is no dictionary");
        if (err != 0) {
            return err;
        }
        comma = take(&c, ',');
    }
    skip_blanks(&c);
    if (seen != 7 || c.at != c.end) {
        return refuse(why, ERR_FORMAT,
                      seen != 7 ? "the header lacks descr, fortran_order or shape"
                                : "there is something behind the header's dictionary");
    }
    return set_bytes(npy) ? 0 : refuse(why, ERR_SHAPE, "the shape is too large");
}

int npy_format_header(struct npy *npy, char *buf, size_t size)
{
    char text[256];
    size_t n, total;

    if (npy->ndim > NPY_MAX_DIMS || (size_t)npy->type >= NPY_TYPES || !set_bytes(npy)) {
        return ERR_SHAPE;
    }
    n = (size_t)snprintf(text, sizeof(text),
                         "{'descr': '%c%s', 'fortran_order': False, 'shape': (",
                         types[npy->type].bytes > 1 ? '<' : '|', types[npy->type].code);
    for (unsigned i = 0; i < npy->ndim; i++) {
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%zu%s", npy->shape[i],
                              i + 1 < npy->ndim ? ", "
                              : npy->ndim == 1  ? ","
                                                : "");
    }
    n += (size_t)snprintf(text + n, sizeof(text) - n, "), }");
    total = (10 + n + 1 + 63) / 64 * 64; /* the data then starts on 64 bytes */
    if (total > size) {
        return ERR_SHAPE;
    }
    memset(buf, ' ', total);
    memcpy(buf, "\x93NUMPY\x01\x00", 8);
    buf[8] = (char)((total - 10) & 0xff);
    buf[9] = (char)((total - 10) >> 8);
    memcpy(buf + 10, text, n);
    buf[total - 1] = '\n';
    return (int)total;
}
