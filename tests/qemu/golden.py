#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# golden.py make       writes inputs, expected outputs and the list `cases`
# golden.py make-bad   writes files that are to be refused, and good ones beside them
# golden.py make-large writes a.npy and b.npy for a matmul of four rows of tiles
# golden.py compare    prints a line `NAME<TAB>what is wrong, or nothing` for each case
#
# All in the working directory. A line of `cases` is NAME, CORES of the chip, OPERATOR,
# first and second file, OPTIONS, separated by tabs; what the operator then writes to
# NAME.out.npy must equal NAME.want.npy in type, shape and every bit.
#
# What is expected is NumPy's, not ours, except that every NaN is the canonical one:
#   matmul fp16   for k ascending: acc = acc + a[:, k] * b[k, :], all in float32. The
#                 product of two fp16 numbers has at most 22 bits and lies between 2^-48
#                 and 2^32, so float32 holds it exactly, and only the addition rounds:
#                 one rounding a step, as IEEE 754 has it. check_exactly() convinces
#                 itself of that with integers. To fp16: astype, rounds to even.
#   matmul int8   int64, then the low 32 bits
#   vadd          NumPy's +, for fp16 as well (formed in float32, rounded once; 24 bits
#                 are enough for that to be the sum rounded once)
import os
import sys

import numpy as np
from numpy.lib import format as npy

rng = np.random.default_rng(20240229)
cases = []


def save(path, array, version=(1, 0)):
    with open(path, "wb") as f:
        npy.write_array(f, array, version)


def with_canonical_nan(array):
    if array.dtype.kind == "f":
        array = np.array(array)
        bits = array.reshape(-1).view(f"u{array.itemsize}")
        bits[np.isnan(array).reshape(-1)] = 0x7E00 if array.itemsize == 2 else 0x7FC00000
    return array


# --- what is right ---

def round_to_24_bits(x):
    """The integer x as float32 would hold it, ties to even."""
    drop = max(abs(x).bit_length() - 24, 0)
    low, half = abs(x) & ((1 << drop) - 1), (1 << drop) >> 1
    kept = abs(x) >> drop
    kept += low > half or (low == half > 0 and kept & 1)
    return (kept << drop) * (1 if x >= 0 else -1)


def check_exactly(a, b, c, samples=8):
    """Some elements by integers: a unit of 2^-24 for a and b makes it 2^-48 for c, below
    which no sum has a bit, so that float32's subnormals never come into it."""
    for _ in range(samples):
        i, j = rng.integers(c.shape[0]), rng.integers(c.shape[1])
        acc = 0
        for x, y in zip(a[i, :], b[:, j]):
            acc = round_to_24_bits(acc + int(float(x) * 2**24) * int(float(y) * 2**24))
        assert acc == int(float(c[i, j]) * 2**48), "golden.py does not sum as it says"


def product(a, b, out):
    if a.dtype == np.int8:
        return (a.astype(np.int64) @ b.astype(np.int64)).astype(np.uint32).view(np.int32)
    acc = np.zeros((a.shape[0], b.shape[1]), np.float32)
    a32, b32 = a.astype(np.float32), b.astype(np.float32)
    for k in range(a.shape[1]):
        acc = acc + a32[:, k : k + 1] * b32[k : k + 1, :]
    if np.isfinite(acc).all():
        check_exactly(a, b, acc)
    return acc.astype(out)


# --- cases ---

def case(name, operator, options, x, y, want, files=None, version=(1, 0), cores=1):
    files = files or (name + ".x.npy", name + ".y.npy")
    save(files[0], x, version)
    save(files[1], y, version)
    save(name + ".want.npy", with_canonical_nan(want))
    cases.append("\t".join((name, str(cores), operator, *files, options)))


def normal(*shape):
    return rng.standard_normal(shape).astype(np.float16)


def any_bits(dtype, *shape):
    size = np.dtype(dtype).itemsize
    return rng.integers(0, 256, (*shape, size), np.uint8).view(dtype)[..., 0]


def pick(values, *shape):
    return rng.choice(np.array(values, np.float16), shape)


def f16_operands(name, m, k, n):
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 6e-5, 65504, -65504, 1]
    if name == "special":
        return pick(special, m, k), pick(special, k, n)
    if name == "bits":
        return any_bits(np.float16, m, k), any_bits(np.float16, k, n)
    if name == "tiny":  # around fp16's smallest subnormal, ties among them
        return pick([6e-8, -1.2e-7, 1.8e-7, 0], m, k), pick([0.5, -0.25, 0.75, 1], k, n)
    if name == "large":  # around 65520, where fp16 ends
        return pick([65504, -65504, 16, 8, 0], m, k), pick([1, 0, 1, -1, 0.5], k, n)
    return normal(m, k), normal(k, n)


def matmul_cases():
    for name, m, k, n in (
        ("one", 1, 1, 1), ("odd", 7, 13, 5), ("tails", 130, 257, 129), ("row", 1, 515, 33),
        ("column", 261, 3, 1), ("deep", 17, 2049, 19), ("special", 37, 3, 41),
        ("bits", 40, 2, 300), ("tiny", 33, 50, 65), ("large", 31, 5, 35),
    ):
        a, b = f16_operands(name, m, k, n)
        case(f"f16_f32_{name}", "matmul", "", a, b, product(a, b, np.float32))
        case(f"f16_f16_{name}", "matmul", "--out f16", a, b, product(a, b, np.float16))
    for m, k, n in ((1, 1, 1), (7, 13, 5), (130, 257, 129), (3, 4000, 65)):
        a, b = any_bits(np.int8, m, k), any_bits(np.int8, k, n)
        case(f"s8_s32_{m}x{k}x{n}", "matmul", "", a, b, product(a, b, np.int32))
    low = np.full((2, 131073), -128, np.int8)  # wraps around: 2^14 * (2^17 + 1)
    case("s8_s32_wraps", "matmul", "", low, low.T.copy(), product(low, low.T, np.int32))
    a, b = normal(100, 70), normal(70, 50)
    case("f16_on_3_cores", "matmul", "", a, b, product(a, b, np.float32), cores=3)
    case("f16_on_2_of_3_cores", "matmul", "--cores 2", a, b, product(a, b, np.float32),
         cores=3)
    names = ("with blanks, commas,, and 100%.npy", "%20 %,%%2c =+.npy")
    case("odd_file_names", "matmul", "", a, b, product(a, b, np.float32), names)
    case("version_2", "matmul", "", a, b, product(a, b, np.float32), version=(2, 0))
    case("version_3", "matmul", "", a, b, product(a, b, np.float32), version=(3, 0))


def vadd_cases():
    for dtype, name in ((np.float32, "f32"), (np.float16, "f16")):
        for shape in ((), (1,), (65,), (100003,), (3, 5, 7), (2, 1, 3, 11), (129, 130)):
            x = (100 * rng.standard_normal(shape)).astype(dtype)
            y = (0.01 + rng.standard_normal(shape)).astype(dtype)
            x, y = np.asarray(x, dtype), np.asarray(y, dtype)
            size = "x".join(map(str, shape)) or "scalar"
            case(f"vadd_{name}_{size}", "vadd", "", x, y, np.asarray(x + y, dtype))
        x, y = any_bits(dtype, 70001), any_bits(dtype, 70001)
        case(f"vadd_{name}_any_bits", "vadd", "", x, y, x + y)
        special = np.array([0, -0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max,
                            -np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal,
                            np.finfo(dtype).tiny, -1], dtype)
        x, y = (np.ascontiguousarray(g) for g in np.meshgrid(special, special))
        case(f"vadd_{name}_special", "vadd", "", x, y, x + y)
    x = rng.standard_normal(300).astype(np.float32)
    case("vadd_version_2", "vadd", "", x, x[::-1].copy(), x + x[::-1], version=(2, 0))
    case("vadd_on_3_cores", "vadd", "", x, x, x + x, cores=3)
    case("vadd_version_3", "vadd", "", x, x[::-1].copy(), x + x[::-1], version=(3, 0))


def make():
    with np.errstate(all="ignore"):
        matmul_cases()
        vadd_cases()
    with open("cases", "w") as f:
        f.write("\n".join(cases) + "\n")


# --- files that are to be refused ---

def make_bad():
    good = rng.standard_normal((4, 6)).astype(np.float16)
    save("a.npy", good)
    save("b.npy", good.T.copy())
    save("int8.npy", np.ones((6, 4), np.int8))
    save("int32.npy", np.ones((4, 6), np.int32))
    save("float32.npy", np.ones((4, 6), np.float32))
    save("float64.npy", np.ones((4, 6)))
    save("big-endian.npy", good.astype(">f2"))
    save("big.npy", np.ones(10000, np.float32))
    save("fortran.npy", np.asfortranarray(good))
    save("1-d.npy", np.ones(4, np.float16))
    save("5-d.npy", np.ones((1, 1, 1, 1, 4), np.float16))
    save("no rows.npy", np.ones((0, 6), np.float16))
    save("no columns.npy", np.ones((4, 0), np.float16))
    save("5x5.npy", np.ones((5, 5), np.float16))
    data = open("a.npy", "rb").read()
    for name, text in (
        ("empty", b""), ("5 bytes", data[:5]), ("9 bytes", data[:9]),
        ("half a header", data[:70]), ("header only", data[:128]),
        ("short", data[:-1]), ("long", data + b"\0"), ("text", b"a, b, c\n" * 20),
        ("magic", b"\x94" + data[1:]), ("version 4", data[:6] + b"\4" + data[7:]),
        ("11 bytes of version 2", data[:6] + b"\2" + data[7:11]),
        ("no dictionary", data.replace(b"{", b"[")),
    ):
        with open(name + ".npy", "wb") as f:
            f.write(text)
    os.mkdir("directory.npy")


def make_large():
    save("a.npy", normal(400, 500))
    save("b.npy", normal(500, 150))


# --- comparison ---

def difference(name):
    try:
        got = np.load(name + ".out.npy")
    except (OSError, ValueError, EOFError) as e:
        return f"no output that NumPy can read: {e}".replace("\n", " ")
    want = np.load(name + ".want.npy")
    if got.dtype != want.dtype or got.shape != want.shape or not got.flags.c_contiguous:
        return f"is {got.dtype} {got.shape}, want {want.dtype} {want.shape}, C order"
    g, w = (a.reshape(-1).view(f"u{a.itemsize}") for a in (got, want))
    bad = np.flatnonzero(g != w)
    if not len(bad):
        return ""
    at = tuple(int(i) for i in np.unravel_index(bad[0], got.shape))
    return (f"{len(bad)} of {got.size} elements differ, the first at {at}: "
            f"{g[bad[0]]:#x}, want {w[bad[0]]:#x}")


def compare():
    for line in open("cases"):
        name = line.split("\t")[0]
        print(f"{name}\t{difference(name)}")


{"make": make, "make-bad": make_bad, "make-large": make_large,
 "compare": compare}[sys.argv[1]]()
