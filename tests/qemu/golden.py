#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# golden.py make [OPERATOR]...   writes inputs, expected outputs and the list `cases`
# golden.py make-bad   writes files that are to be refused, and good ones beside them
# golden.py make-mla   writes operands for mla_prolog, and some that are to be refused
# golden.py make-large writes a.npy and b.npy for a matmul of four rows of tiles
# golden.py compare    prints a line `NAME<TAB>what is wrong, or nothing` for each case
# golden.py perturb    prints lines `OPTIONS OF salai|OPERATOR ARGUMENTS` for other timings
#
# All in the working directory. What operators there are, their cases, and what NumPy says
# they compute is asked of the firmware: `salai help --json` (SALAI, or tools/salai). A line
# of `cases` is NAME, CORES of the chip, OPERATOR, OPTIONS, files, separated by tabs; what
# the operator then writes to NAME.0.out.npy, and so on, must be NAME.0.want.npy in type,
# shape and, by the operator's rule, value: every bit, so many ulps, or within the bound
# NAME.0.bound.npy of each element.
#
# What is expected is NumPy's, not ours, except that every NaN is the canonical one. NumPy
# adds fp16 in float32 and rounds once; 24 bits are enough for that to be the sum rounded
# once. For products of matrices there is a function here:
#   product(a, b)  fp16: for k ascending: acc = acc + a[:, k] * b[k, :], all in float32. The
#                  product of two fp16 numbers has at most 22 bits and lies between 2^-48
#                  and 2^32, so float32 holds it exactly, and only the addition rounds:
#                  one rounding a step, as IEEE 754 has it. check_exactly() convinces
#                  itself of that with integers. int8: int64, then the low 32 bits.
import json
import math
import os
import re
import subprocess
import sys
from functools import partial

import numpy as np
from numpy.lib import format as npy

sys.dont_write_bytecode = True
from attended import attended  # noqa: E402
from convolved import conv2d_act, conv2d_q, conv_transpose, normalised  # noqa: E402
from embedded import bags, rows_added  # noqa: E402
from recurrent import gru, lstm  # noqa: E402
from windows import (cumulated, gathered, interpolated, largest, ordered, padded,  # noqa: E402
                     pooled, scattered, scattered_rows, sliced)

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../.."
TYPES = {"f32": np.float32, "f16": np.float16, "s8": np.int8, "u8": np.uint8,
         "s16": np.int16, "s32": np.int32, "s64": np.int64, "bool": np.bool_}
rng = np.random.default_rng(20240229)
cases = []
OTHERS = ("matmul", "mla_prolog", "vadd")  # for the command line that all have, with FULL each


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


def fused(x, y, z):
    """x * y + z of fp32 numbers, rounded once: the sum in fp64 is made odd where it is
    not exact, so that the second rounding does not show."""
    p, z = x.astype(np.float64) * y, z.astype(np.float64)
    s = p + z
    t = s - p
    error = (p - (s - t)) + (z - t)
    even = np.isfinite(s) & (s.view(np.int64) & 1 == 0) & (error != 0)
    away = np.where((error > 0) == (s > 0), 1, -1)
    return (s.view(np.int64) + np.where(even, away, 0)).view(np.float64).astype(np.float32)


def product(a, b, bias=None):
    if a.dtype.itemsize == 1:
        sums = a.astype(np.int64) @ b.astype(np.int64) + (0 if bias is None else bias)
        return sums.astype(np.uint32).view(np.int32)
    acc = np.zeros((a.shape[0], b.shape[1]), np.float32)
    acc = acc if bias is None else acc + bias
    a32, b32 = a.astype(np.float32), b.astype(np.float32)
    for k in range(a.shape[1]):
        x, y = a32[:, k : k + 1], b32[k : k + 1, :]
        acc = fused(x, y, acc) if a.dtype == np.float32 else acc + x * y
    if bias is None and a.dtype == np.float16 and np.isfinite(acc).all():
        check_exactly(a, b, acc)
    return acc


def img2col(x, kh, kw, o):
    """Windows of x (n, h, w, c) as rows, and how high and wide y is: columns are blocks of
    as many channels as 32 bytes hold, in each filter rows, filter columns, channels; missing
    channels are 0."""
    down, across = o["dilation"], o["dilation_w"] or o["dilation"]
    sh, sw = o["stride"], o["stride_w"] or o["stride"]
    left = o["pad"] if o["pad_left"] < 0 else o["pad_left"]
    c0 = 32 // x.itemsize
    bottom = o["pad"] if o["pad_bottom"] < 0 else o["pad_bottom"]
    x = np.pad(x, ((0, 0), (o["pad"], bottom),
                   (left, left if o["pad_right"] < 0 else o["pad_right"]),
                   (0, -x.shape[3] % c0)))
    oh = (x.shape[1] - (kh - 1) * down - 1) // sh + 1
    ow = (x.shape[2] - (kw - 1) * across - 1) // sw + 1
    columns = [x[:, r * down : r * down + (oh - 1) * sh + 1 : sh,
                 s * across : s * across + (ow - 1) * sw + 1 : sw, c : c + c0]
               for c in range(0, x.shape[3], c0) for r in range(kh) for s in range(kw)]
    return np.concatenate(columns, 3).reshape(x.shape[0] * oh * ow, -1), (oh, ow)


def conv2d(x, weight, bias, o):
    """Depthwise, float16, channels go by 16s, each with its own weight and 0 for the others."""
    groups, (filters, kh, kw, inner) = o["groups"], weight.shape
    if 1 < groups == x.shape[3] == filters and x.dtype == np.float16:
        short = [(0, -filters % 16)]
        wide = np.zeros((filters + short[0][1], kh, kw, 16), np.float16)
        for i in range(filters):
            wide[i, :, :, i % 16] = weight[i, :, :, 0]
        bias = None if bias is None else np.pad(bias, short)
        y = conv2d(np.pad(x, [(0, 0)] * 3 + short), wide, bias, o | {"groups": len(wide) // 16})
        return y[..., :filters]
    weight = np.pad(weight, ((0, 0), (0, 0), (0, 0), (0, -inner % (32 // x.itemsize))))
    y, c0 = [], 32 // x.itemsize
    for x_, weight_, bias_ in zip(np.split(x, groups, 3), np.split(weight, groups),
                                  [None] * groups if bias is None
                                  else np.split(bias, groups)):
        columns, size = img2col(x_, kh, kw, o)
        rows = [weight_[:, r, s, c : c + c0] for c in range(0, weight.shape[3], c0)
                for r in range(kh) for s in range(kw)]
        y.append(product(columns, np.concatenate(rows, 1).T, bias_))
    y = np.concatenate(y, 1).reshape(x.shape[0], *size, filters)
    return fixpipe(y, x.dtype, o)


def fixpipe(y, dtype, o):
    """What sums of products of a type become on their way out. The fixpipe's scale has 11
    significant bits."""
    if dtype.itemsize == 1 and o["out"] != np.int32:
        fraction, exponent = np.frexp(np.float32(o["scale"]))
        scale = np.ldexp(np.rint(fraction * 2048), exponent - 11)
        y = y.astype(np.float32) * np.float32(scale)
    if o["activation"] == "relu":
        y = np.where(y <= 0, y.dtype.type(0), y)
    elif o["activation"] == "leaky":
        y = np.where(y < 0, y * np.float32(o["slope"]), y)
    if o.get("limit", np.inf) < np.inf:
        y = np.where(y > o["limit"], np.float32(o["limit"]), y)
    if o["out"] in (np.int8, np.uint8):
        least = np.iinfo(o["out"]).min
        y = np.clip(np.rint(y + np.float32(o["zero"])), least, least + 255)
    return y


def matmul(a, b, bias, o):
    return fixpipe(product(a, b, bias), a.dtype, o)


def ulp(x):
    """Distance of the fp16 numbers around x."""
    return np.ldexp(1.0, np.maximum(np.frexp(x)[1], -13) - 11)


def limits(dtype):
    return np.iinfo(dtype).min, np.iinfo(dtype).max


HELPERS = {"np": np, "limits": limits, "unit": 2.0**-23, "product": product,
           "conv2d": conv2d, "conv2d_act": partial(conv2d_act, conv2d),
           "attended": attended, "normalised": normalised,
           "conv_transpose": partial(conv_transpose, conv2d),
           "conv2d_q": partial(conv2d_q, conv2d, fixpipe), "matmul": matmul,
           "nibbles": lambda x: ((np.stack([x & 15, x >> 4], -1).astype(np.int8) ^ 8)
                                 - 8).reshape(len(x), -1),
           "pooled": pooled, "largest": largest, "sliced": sliced, "padded": padded,
           "gathered": gathered, "interpolated": interpolated,
           "ordered": ordered, "cumulated": cumulated,
           "scattered": scattered, "scattered_rows": scattered_rows, "ulp": ulp,
           "bags": bags, "lstm": lstm, "gru": gru, "rows_added": rows_added,
           "erf": np.vectorize(math.erf, [float])}


def options_of(op, given):
    """The operator's own options by name, as its NumPy text sees them; numbers are float32."""
    kinds = {"number": int, "float": lambda x: float(np.float32(x)), "choice": str,
             "text": lambda text: text}
    options = {o["name"][2:].replace("-", "_"):
               o["name"] in given if o["kind"] == "flag" else
               kinds[o["kind"]](given.get(o["name"], o["default"]))
               for o in op["options"] if o["kind"] in [*kinds, "flag"]}
    axes = given.get("--axes")  # as NumPy has it: None is all
    return options | {"axes": tuple(map(int, axes.split(","))) if axes else None}


def expected(op, inputs, sizes, options, out_names):
    """Results, and bounds or None, of the operator's own NumPy text."""
    if op["tolerance"] == -1:
        wide = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.bool_}
        inputs = {k: v if v is None else v.astype(wide[v.dtype.kind])
                  for k, v in inputs.items()}
    space = HELPERS | sizes | inputs | {"options": options}
    if re.search(r"^\w+(, \w+)* = ", op["numpy"]):
        exec(op["numpy"], space)
        return [space[name] for name in out_names], space.get("bound")
    return [eval(op["numpy"], space)], None


# --- cases ---

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 6e-8, -6e-8, 6e-5, 65504, -65504, 1]
# Around the smallest subnormal, ties among them; around where the type ends.
VALUES = {"special": (SPECIAL, SPECIAL),
          "tiny": ([6e-8, -1.2e-7, 1.8e-7, 0], [0.5, -0.25, 0.75, 1]),
          "large": ([65504, -65504, 16, 8, 0], [1, 0, 1, -1, 0.5])}


def make_input(kind, number, dtype, shape):
    size = np.dtype(dtype).itemsize
    if dtype == np.bool_:
        return rng.integers(0, 2, shape).astype(bool)
    if kind == "lowest":
        info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else np.finfo(dtype)
        return np.full(shape, info.min, dtype)
    if kind == "bits" or np.dtype(dtype).kind in "iu":
        bits = rng.integers(0, 256, (*shape, size), np.uint8)
        return np.ascontiguousarray(bits).view(dtype)[..., 0]
    if kind in VALUES:
        return rng.choice(np.array(VALUES[kind][number % 2], dtype), shape)
    return np.asarray(rng.standard_normal(shape) * 10.0 ** (number % 2), dtype)


def operands(text):
    """[(name, dimensions)] of `a[m,k] b[k,n]`"""
    return [(name, [d for d in dims.split(",") if d])
            for name, dims in re.findall(r"(\w+)\??\[([^]]*)\]", text)]


def split(op):
    """Inputs, outputs and rows of types of an operator, those that NumPy has."""
    ins, outs = (operands(side) for side in op["io"].split("->"))
    rows = [row.replace("->", " ").split() for row in op["types"].split(";")]
    return ins, outs, [[TYPES[t] for t in row] for row in rows if set(row) <= set(TYPES)]


def row_for(rows, n_in, names):
    """The first row with the types that --type and --out name."""
    wanted = [*enumerate(names.get("--type", "").split(",")), (n_in, names.get("--out"))]
    for row in rows:
        if all(not name or TYPES[name] == row[i] for i, name in wanted):
            return row
    raise SystemExit(f"golden.py: no such types: {names}")


def parsed(op, line):
    """Options by name; a flag's value is an empty text."""
    flags = {o["name"] for o in op["options"] if o["kind"] == "flag"}
    words, given = line.split(), {}
    while words:
        option = words.pop(0)
        given[option] = "" if option in flags else words.pop(0)
    return given


def shapes_of(ins, given, pack):
    """Shapes of the operands, None where one is absent; sizes by name."""
    if "--shapes" in given:
        shapes = [tuple(map(int, s.split("x"))) if s else () for s in given["--shapes"].split(",")]
        sizes = {d: s[j - len(names)] for (_, names), s in zip(ins, shapes)
                 for j, d in enumerate(names) if d not in ("...", "*")}
        return shapes + [None] * (len(ins) - len(shapes)), sizes
    sizes = {d: int(given[f"--{d}"]) for _, names in ins for d in names if d != "..."}
    name = next(n for n in ("n", "m", "batch") if n not in sizes)
    pack = pack if pack is not None else (int(given.get(f"--{name}", 0)),)
    return [sum([pack if d == "..." else (sizes[d],) for d in names], ())
            for _, names in ins], sizes


def index_limits(given, shapes):
    """Operands that are places of another one, from where to below what."""
    size = int(given.get("--depth", min(shapes[0], default=1)))
    rows = int(given.get("--rows", shapes[0][0] if shapes[0] else 1))
    return {"index": (-size, size), "token": (0, rows)}


def bound_of(op, want, bound):
    """Of a program, whose arithmetic is float32: what its text says, and so many ulps of the
    result, of float16 one."""
    bound = np.broadcast_to(0 if bound is None else bound, want.shape)
    if want.dtype.kind != "f":
        return bound
    ulps = op["ulps"] if want.dtype == np.float32 else min(op["ulps"], 1)
    return bound + ulps * np.abs(np.spacing(want)).astype(np.float64)


def moves_bits(op):
    """Takes any type, whatever its bits mean."""
    return "s64 -> s64" in op["types"]


def case(op, name, line, kind=None, pack=None, cores=1, version=(1, 0), files=None,
         more=""):
    """One of the operator's own, or changed; pack: shape that stands for `...`"""
    ins, outs, rows = split(op)
    given = parsed(op, line)
    row = row_for(rows, len(ins), given)
    shapes, dims = shapes_of(ins, given, pack)
    limits = index_limits(given, shapes)
    inputs = {operand: None if shape is None else
              rng.integers(*limits[operand], shape, row[i])
              if operand in limits else
              make_input(kind or given.get("--data"), i, row[i], shape)
              for i, ((operand, _), shape) in enumerate(zip(ins, shapes))}
    there = {o: array for o, array in inputs.items() if array is not None}
    files = files[:len(there)] if files else [f"{name}.{o}.npy" for o in there]
    for file, array in zip(files, there.values()):
        save(file, array, version)
    with np.errstate(all="ignore"):
        options = options_of(op, given)
        wants, bound = expected(op, inputs, dims | options, options | {"out": row[len(ins)]},
                                [o for o, _ in outs])
        for i, want in enumerate(wants):
            wide, want = np.asarray(want), np.asarray(want).astype(row[len(ins) + i])
            if op["program"]:
                save(f"{name}.{i}.bound.npy", bound_of(op, want, bound))
                whole = np.isinf(want) | (op["ulps"] == 0) if want.dtype.kind == "f" else True
                wide = np.where(whole, want, wide)
            elif bound is not None:
                save(f"{name}.{i}.bound.npy", bound)
            save(f"{name}.{i}.wide.npy", wide)
            save(f"{name}.{i}.want.npy", want if moves_bits(op) else with_canonical_nan(want))
    made_up = {f"--{d}" for d in dims} | {"--n", "--m", "--type", "--data", "--shapes"}
    options = [w for o, v in given.items() if o not in made_up for w in (o, v) if w]
    for i, (out, _) in enumerate(outs):
        options += ["-o", (f"{out}=" if len(outs) > 1 else "") + f"{name}.{i}.out.npy"]
    cases.append("\t".join((name, str(cores), op["name"], " ".join(options + more.split()),
                            *files)))


def other_cases(op):
    """What is not in a line of cases: shapes, values, cores, versions and names of files."""
    name, (ins, _, rows) = op["name"], split(op)
    small, middle = (op["cases"][len(op["cases"]) // i] for i in (4, 2))
    code = {v: k for k, v in TYPES.items()}
    for row in rows if op["tolerance"] != -1 else []:
        line = re.sub(r" --(type|out|data) \w+", "", small)
        line += f" --type {code[row[0]]} --out {code[row[len(ins)]]}"
        types = f"{name}_{code[row[0]]}_{code[row[len(ins)]]}"
        kinds = ["range", "special", "bits"] + ["tiny", "large"] * (np.dtype(row[0]).kind == "f")
        if moves_bits(op) or "scales" in dict(ins):  # that are NaN are refused
            kinds = ["bits"] if moves_bits(op) else ["range"]
        for kind in kinds:
            case(op, f"{types}_{kind}", line, kind)
        if any("..." in d for _, d in ins) and "--shapes" not in small:
            for shape in ((), (3, 5, 7), (129, 130), (2, 1, 3, 1, 1, 2, 1, 11)):
                case(op, f"{types}_{'x'.join(map(str, shape)) or 'scalar'}", line, pack=shape)
    case(op, f"{name}_on_3_cores", middle, cores=3)
    case(op, f"{name}_on_2_of_3_cores", middle, cores=3, more="--cores 2")
    for version in 2, 3:
        case(op, f"{name}_version_{version}", middle, version=(version, 0))
    names = ["with blanks, commas,, and 100%.npy", "%20 %,%%2c =+.npy", "3\x7f.npy", "@.npy"]
    case(op, f"{name}_odd_file_names", middle, files=[name + n for n in names[:len(ins)]])


def operators():
    """What the firmware tells of its operators."""
    salai = os.environ.get("SALAI", ROOT + "/tools/salai")
    told = subprocess.run([salai, "help", "--json"], capture_output=True, text=True)
    return json.loads(told.stdout)


def perturb():
    listed = operators()
    programs = [op for op in listed if op["program"]]  # one planner makes them all
    some = programs[::8] if os.environ.get("FULL") else []
    for op in [op for op in listed if op not in programs or op in some]:
        for options, line in zip(("", "--cores 2 --profile ascend310"), op["cases"][-2:]):
            print(f"{options}|{op['name']} {line}")


def make(*names):
    for op in operators():
        if op["texts"] or (names and op["name"] not in names):  # makes its operands of texts
            continue
        full, last = os.environ.get("FULL"), len(op["cases"]) - 1
        for i, line in enumerate(op["cases"]):  # of a program one says what it computes
            if full or (i == min(1, last) if op["program"] else i % 2 or last == 0):
                case(op, f"{op['name']}_{i}", line)
        if op["name"] in OTHERS or (not op["program"] and os.environ.get("FULL")):
            other_cases(op)
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
    save("bool.npy", np.ones((4, 6), bool))
    for kind in "uint16", "uint32", "uint64", "complex64", "complex128", "object":
        save(kind + ".npy", np.ones((4, 6), kind))
    save("structured.npy", np.ones((4, 6), "i4,f4"))
    save("9-d.npy", np.ones((1, 1, 1, 1, 1, 1, 1, 1, 4), np.float16))
    save("big-endian.npy", good.astype(">f2"))
    save("big-endian unsigned.npy", good.astype(">u4"))
    save("big.npy", np.ones(10000, np.float32))
    save("fortran.npy", np.asfortranarray(good))
    save("1-d.npy", np.ones(4, np.float16))
    save("3-d.npy", np.ones((1, 4, 6), np.float16))
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


def make_mla(m=75, n=333, k=147):
    for name, *shape in (("a", m, k), ("b", k, n), ("bias", n), ("short", n - 1),
                         ("square", n, n), ("none", k, 0)):
        save(name + ".npy", rng.standard_normal(shape).astype(np.float16))
    save("bias32.npy", np.zeros(n, np.float32))


def make_large():
    save("a.npy", rng.standard_normal((400, 500)).astype(np.float16))
    save("b.npy", rng.standard_normal((500, 150)).astype(np.float16))


# --- comparison ---

def wrong_elements(got, want, tolerance, name):
    """Which elements are not as they have to be."""
    if tolerance == 0:
        return np.not_equal(*(a.reshape(-1).view(f"u{a.itemsize}") for a in (got, want)))
    wide = [a.astype(np.float64).reshape(-1) for a in (got, np.load(f"{name}.wide.npy"))]
    bound = (np.load(f"{name}.bound.npy").reshape(-1) if tolerance == -1
             else tolerance * np.abs(np.spacing(want)).astype(np.float64).reshape(-1))
    same = (wide[0] == wide[1]) | (np.isnan(wide[0]) & np.isnan(wide[1]))
    return ~(same | (np.abs(np.subtract(*np.where(same, 0, wide))) <= bound))


def difference(name, tolerance):
    try:
        got = np.load(name + ".out.npy")
    except (OSError, ValueError, EOFError) as e:
        return f"no output that NumPy can read: {e}".replace("\n", " ")
    want = np.load(name + ".want.npy")
    if got.dtype != want.dtype or got.shape != want.shape or not got.flags.c_contiguous:
        return f"is {got.dtype} {got.shape}, want {want.dtype} {want.shape}, C order"
    bad = np.flatnonzero(wrong_elements(got, want, tolerance, name))
    if not len(bad):
        return ""
    at = tuple(int(i) for i in np.unravel_index(bad[0], got.shape))
    return f"{len(bad)} of {got.size} elements differ, the first at {at}: {got[at]}, " \
           f"want {want[at]}"


def compare():
    rules = {op["name"]: op["tolerance"] for op in operators()}
    for line in open("cases"):
        name, _, operator = line.split("\t")[:3]
        n = sum(os.path.exists(f"{name}.{i}.want.npy") for i in range(4))
        told = [difference(f"{name}.{i}", rules[operator]) for i in range(n)]
        print(f"{name}\t{'; '.join(t for t in told if t)}")


if __name__ == "__main__":
    {"make": make, "make-bad": make_bad, "make-mla": make_mla, "make-large": make_large,
     "compare": compare, "perturb": perturb}[sys.argv[1]](*sys.argv[2:])
