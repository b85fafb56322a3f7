/* SPDX-License-Identifier: MIT
 *
 * The parser of .npy headers against valid, truncated and hostile headers. Build it with
 * the sanitizers: each header lies in a heap block of exactly its size.
 *
 *     cc -I. -fsanitize=address,undefined tests/host/npy_test.c kernels/cli/npy_header.c
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "kernels/cli/npy.h"
#include "tests/host/data.h"
#include "tests/test.h"

#define N(a) (sizeof(a) / sizeof((a)[0]))

/* clang-format off: one case a line */
static const struct {
    const char *dict;
    enum npy_type type;
    unsigned ndim;
    size_t shape[NPY_MAX_DIMS];
    size_t bytes;
} good[] = {
    {"{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }",
     NPY_F4,
     2,
     {3, 4},
     48},
    {"{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", NPY_F2, 1, {5}, 10},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (), }", NPY_I1, 0, {0}, 1},
    {"{'descr': '<i4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }",
     NPY_I4,
     4,
     {1, 2, 3, 4},
     96},
    {"{\"shape\":(2,0,7),\"fortran_order\":False,\"descr\":\"=f4\"}",
     NPY_F4,
     3,
     {2, 0, 7},
     0},
    {"  { 'descr' : 'i1' , 'shape' : ( 3L , ) , 'fortran_order' : False }  \n",
     NPY_I1,
     1,
     {3},
     3},
    {"{'descr': '>i1', 'fortran_order': False, 'shape': (007, 1,)}",
     NPY_I1,
     2,
     {7, 1},
     7},
    {"{'descr': '|i1', 'fortran_order': False, 'shape': (9223372036854775807,)}",
     NPY_I1,
     1,
     {INT64_MAX},
     INT64_MAX},
    {"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2, 3, 1, 1, 2, 1, 2), }",
     NPY_F8,
     8,
     {1, 2, 3, 1, 1, 2, 1, 2},
     192},
    {"{'descr': '|b1', 'fortran_order': False, 'shape': (5,), }", NPY_B1, 1, {5}, 5},
    {"{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }", NPY_U1, 1, {5}, 5},
    {"{'descr': '<i2', 'fortran_order': False, 'shape': (5,), }", NPY_I2, 1, {5}, 10},
    {"{'descr': '<i8', 'fortran_order': False, 'shape': (5,), }", NPY_I8, 1, {5}, 40},
    {"{'descr': '<u2', 'fortran_order': False, 'shape': (5,), }", NPY_U2, 1, {5}, 10},
    {"{'descr': '<u4', 'fortran_order': False, 'shape': (5,), }", NPY_U4, 1, {5}, 20},
    {"{'descr': '<u8', 'fortran_order': False, 'shape': (5,), }", NPY_U8, 1, {5}, 40},
};

#define HEAD "{'descr': '<f4', 'fortran_order': False, "

static const struct {
    const char *dict;
    int err;
    const char *why; /* occurs in the reason */
} bad[] = {
    {"", ERR_FORMAT, "no dictionary"},
    {"{", ERR_FORMAT, "no dictionary"},
    {"{}", ERR_FORMAT, "lacks"},
    {"{,}", ERR_FORMAT, "no dictionary"},
    {HEAD "}", ERR_FORMAT, "lacks"},
    {HEAD "'shape': (3,)", ERR_FORMAT, "no dictionary"},
    {HEAD "'shape': (3,)} x", ERR_FORMAT, "behind"},
    {HEAD "'shape': (3,)}{", ERR_FORMAT, "behind"},
    {HEAD "'shape': (3)}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': 3}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (,)}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (3,,4)}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (3 4)}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (-3,)}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (3", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (0x3,)}", ERR_FORMAT, "no tuple"},
    {HEAD "'shape': (1,1,1,1,1,1,1,1,1)}", ERR_SHAPE, "8 dimensions"},
    {HEAD "'shape': (99999999999999999999,)}", ERR_SHAPE, "too large"},
    {HEAD "'shape': (18446744073709551616,)}", ERR_SHAPE, "too large"},
    {HEAD "'shape': (4294967296, 4294967296)}", ERR_SHAPE, "too large"},
    {HEAD "'shape': (4611686018427387904,)}", ERR_SHAPE, "too large"},
    {HEAD "'shape': (0, 18446744073709551615, 2)}", ERR_SHAPE, "too large"},
    {HEAD "'shape': (3,), 'shape': (3,)}", ERR_FORMAT, "twice the key 'shape'"},
    {HEAD "'shape': (3,), 'x': 1}", ERR_FORMAT, "unknown key 'x'"},
    {HEAD "'sha\x1b[31mpe': (3,)}", ERR_FORMAT, "'sha?[31mpe'"},
    {HEAD "'a very long key that no NumPy has ever written': 1}", ERR_FORMAT, "unknown"},
    {"{'descr': '<f4', 'fortran_order': True, 'shape': (3,)}", ERR_FORMAT,
     "Fortran order"},
    {"{'descr': '<f4', 'fortran_order': 0, 'shape': (3,)}", ERR_FORMAT, "no boolean"},
    {"{'descr': '>f4', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "big-endian"},
    {"{'descr': '>i4', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "big-endian"},
    {"{'descr': '|f4', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "'|f4'"},
    {"{'descr': '>i8', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE,
     "big-endian int64"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "complex64"},
    {"{'descr': '<c16', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "complex128"},
    {"{'descr': '>c8', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE,
     "big-endian complex64"},
    {"{'descr': '<c8', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "complex64"},
    {"{'descr': '<f16', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "float128"},
    {"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "object"},
    {"{'descr': '<U7', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "str"},
    {"{'descr': '|S7', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "bytes"},
    {"{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE,
     "datetime64"},
    {"{'descr': '<u3', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "'<u3'"},
    {"{'descr': '', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "''"},
    {"{'descr': '<', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "'<'"},
    {"{'descr': '<<f4', 'fortran_order': False, 'shape': (3,)}", ERR_TYPE, "'<<f4'"},
    {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (3,)}", ERR_TYPE,
     "structured"},
    {"{'descr': None, 'fortran_order': False, 'shape': (3,)}", ERR_FORMAT, "no string"},
    {"{'descr': '<f4", ERR_FORMAT, "no string"},
};
/* clang-format on */

/* A whole header around a dictionary, in a block of its exact size. */
static char *wrap(const char *dict, int version, size_t *len)
{
    size_t n = strlen(dict), preamble = version == 1 ? 10 : 12;
    char *buf = malloc(preamble + n);

    memcpy(buf, "\x93NUMPY", 6);
    memcpy(buf + 6, ((char[]){(char)version, 0, (char)(n & 0xff), (char)(n >> 8), 0, 0}),
           preamble - 6);
    memcpy(buf + preamble, dict, n);
    *len = preamble + n;
    return buf;
}

/* Parses a copy of exactly len bytes, so that reading further is seen. */
static int parse(const char *buf, size_t len, struct npy *npy, char *why)
{
    char *copy = malloc(len != 0 ? len : 1);
    int err;

    memcpy(copy, buf, len);
    why[0] = '\0';
    err = npy_parse_header(copy, len, npy, why);
    free(copy);
    return err;
}

TEST(npy, good)
{
    char why[NPY_WHY_BYTES];

    for (size_t i = 0; i < N(good); i++) {
        for (int version = 1; version <= 3; version++) {
            struct npy npy;
            size_t len;
            char *buf = wrap(good[i].dict, version, &len);
            bool same = parse(buf, len, &npy, why) == 0 && npy.type == good[i].type &&
                        npy.ndim == good[i].ndim && npy.bytes == good[i].bytes &&
                        npy.data == NULL;

            for (unsigned d = 0; same && d < npy.ndim; d++) {
                same = npy.shape[d] == good[i].shape[d];
            }
            ok(same, "npy/takes version %d.0, header %zu%s%s", version, i,
               why[0] != '\0' ? ": " : "", why);
            free(buf);
        }
    }
}

TEST(npy, bad)
{
    char why[NPY_WHY_BYTES];

    for (size_t i = 0; i < N(bad); i++) {
        struct npy npy;
        size_t len;
        char *buf = wrap(bad[i].dict, 1, &len);
        int err = parse(buf, len, &npy, why);

        ok(err == bad[i].err && strstr(why, bad[i].why) != NULL,
           "npy/refuses %zu: %d, %s", i, err, why);
        free(buf);
    }
}

TEST(npy, preamble)
{
    static const struct {
        const char *name, *bytes;
        size_t len;
    } preambles[] = {
        {"no bytes", "", 0},
        {"other magic", "\x93NUMPX\x01\x00\x02\x00{}", 12},
        {"version 0.0", "\x93NUMPY\x00\x00\x02\x00{}", 12},
        {"version 1.1", "\x93NUMPY\x01\x01\x02\x00{}", 12},
        {"version 4.0", "\x93NUMPY\x04\x00\x02\x00\x00\x00{}", 14},
        {"a cut version 2.0", "\x93NUMPY\x02\x00\x02\x00\x00", 11},
        {"a header of 4 GiB", "\x93NUMPY\x02\x00\xff\xff\xff\xff{}", 14},
        {"a length beyond the end", "\x93NUMPY\x01\x00\xff\x7f{}", 12},
    };
    char why[NPY_WHY_BYTES];
    struct npy npy;

    for (size_t i = 0; i < N(preambles); i++) {
        int err = parse(preambles[i].bytes, preambles[i].len, &npy, why);

        ok(err == ERR_FORMAT && why[0] != '\0', "npy/refuses %s: %s", preambles[i].name,
           why);
    }
}

TEST(npy, truncated)
{
    char why[NPY_WHY_BYTES];
    struct npy npy;
    size_t len, refused = 0;
    char *buf = wrap(good[0].dict, 1, &len);

    for (size_t n = 0; n < len; n++) {
        refused += parse(buf, n, &npy, why) == ERR_FORMAT;
    }
    free(buf);
    ok(refused == len, "npy/refuses every truncation: %zu of %zu", refused, len);
}

/* What npy_format_header writes, npy_parse_header reads, in all types and ranks. */
TEST(npy, round_trip)
{
    unsigned wrong = 0;

    for (int type = 0; type < NPY_TYPES; type++) {
        for (unsigned ndim = 0; ndim <= NPY_MAX_DIMS; ndim++) {
            struct npy out = {.type = (enum npy_type)type,
                              .ndim = ndim,
                              .shape = {SIZE_MAX >> 40, 100, 1, 9, 1, 3, 1, 2}},
                       in;
            char buf[256], why[NPY_WHY_BYTES];
            int len = npy_format_header(&out, buf, sizeof(buf));

            wrong += len <= 0 || len % 64 != 0 ||
                     parse(buf, (size_t)len, &in, why) != 0 || in.type != out.type ||
                     in.ndim != ndim || in.bytes != out.bytes ||
                     memcmp(in.shape, out.shape, ndim * sizeof(size_t)) != 0;
        }
    }
    ok(wrong == 0, "npy/reads what it writes: %u wrong", wrong);
}

/* Mutations of good headers: whatever comes out must be consistent. */
TEST(npy, garbage)
{
    unsigned wrong = 0;

    for (unsigned round = 0; round < 200000; round++) {
        char why[NPY_WHY_BYTES];
        struct npy npy;
        size_t len;
        char *buf = wrap(good[round % N(good)].dict, 1 + (int)(round / 7 % 3), &len);
        unsigned changes = 1 + rnd() % 4;
        int err;

        for (unsigned i = 0; i < changes; i++) {
            static const char likely[] = "{}()[]'\":,0123456789LTF<>|=fi \n";
            uint32_t r = rnd();

            buf[8 + rnd() % (len - 8)] =
                r & 1 ? likely[(r >> 1) % (sizeof(likely) - 1)] : (char)(r >> 8);
        }
        err = parse(buf, rnd() % 8 ? len : rnd() % len, &npy, why);
        wrong += err == 0 ? why[0] != '\0' || npy.ndim > NPY_MAX_DIMS ||
                                npy.bytes != npy_count(&npy) * npy_type_bytes(npy.type)
                          : why[0] == '\0' || strlen(why) >= NPY_WHY_BYTES / 2;
        free(buf);
    }
    ok(wrong == 0, "npy/survives garbage: %u wrong", wrong);
}
