#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""corners_test.py [--seed N] [NAME]...    operators at the ends of what their types hold

Zeros with a sign, numbers that are hardly any, those whose squares and powers overflow, infinite
ones and NaN, among random ones of any size: what NumPy makes of them in double precision, rounded
to the type, each element by itself. In a run, and of constants, which the host computes. Some of it
briefly; with FULL or a NAME all, of every type, and more random numbers. TAP on stdout."""

import math
import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Model  # noqa: E402
from tap import test  # noqa: E402

SEED = int(sys.argv.pop(sys.argv.index("--seed") + 1)) if "--seed" in sys.argv else 1
sys.argv = [word for word in sys.argv if word != "--seed"]
random = np.random.default_rng(SEED)
FULL = os.environ.get("FULL") or len(sys.argv) > 1
tap.MOST = 40
MANY = 24  # nodes of a model
np.seterr(all="ignore")
TINY = 2e-38  # what is closer to 0 may be 0: no normal number of float32

erf = np.vectorize(math.erf, otypes=[float])
AT = {np.float32: [1e-45, 1e-40, 1.1754944e-38, 1e-30, 1e-20, 1e-10, 1e-5, 3e-4, 0.01, 0.1, 0.25,
                   0.5, 0.75, 0.9999999, 1, 1.0000001, 1.0001, 1.5, 2, 2.5, 3, 3.5, 5, 8.3, 10, 17,
                   20, 50, 80, 87, 88.5, 88.8, 89.3, 90, 103, 104, 105, 400, 1e3, 5e3, 65504, 1e5,
                   8388607.5, 1e7, 1e10, 9e18, 1.9e19, 1e20, 1e30, 2e38, 3.4028235e38],
      np.float16: [6e-8, 3e-6, 6.1e-5, 1e-3, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9995, 1, 1.001, 1.5, 2,
                   2.5, 3, 5, 8.3, 10, 11.2, 12, 17, 20, 50, 100, 255, 256, 300, 1e3, 2048, 5e3,
                   6e4, 65504]}


def numbers(kind, more=None):
    """Both signs of the above, of 0, infinity and NaN, and random ones of any size."""
    more = (200 if FULL else 20) if more is None else more
    scale = 4 if kind == np.float16 else 37
    loose = np.exp2(random.uniform(-scale, scale, more) * 3.3) * random.choice([-1, 1], more)
    near = random.standard_normal(more) * 4
    at = np.array([0, *AT[kind], np.inf])
    return np.concatenate([at, -at, [np.nan], loose, near]).astype(kind)


def differ(got, want, bound, least=TINY):
    """Where an element is none of: the same, both NaN, within `bound` of it."""
    if got is None or got.shape != want.shape:
        return np.array([0]), f"{None if got is None else got.shape}, want {want.shape}"
    got, want = got.astype(float), want.astype(float)
    near = np.isfinite(want) & (np.abs(got - want) <= bound * np.abs(want) + least)
    bad = np.flatnonzero(~((got == want) | near | np.isnan(got) & np.isnan(want)))
    return bad, ""


# A sum with 1, as other runtimes have it: digits of 1 are right. Angles of many turns: of 2^-22.
SUMS = {"Elu": 4e-7, "Celu": 4e-7, "Selu": 4e-7, "Gelu": 2e-6, "HardSwish": 1e-6,
        "CumSum": 0.2}


def compared(rows, inputs, bound=3e-6, opset=22, least=TINY, ways=("run", "folded"),
             constants=None):
    """rows: (operator, operands, NumPy's, attributes), one result each."""
    wrong = []
    for way in ways:
        for first in range(0, len(rows), MANY):
            some = rows[first:first + MANY]
            made = [(op, names, f"y{i}", more) for i, (op, names, _, more) in enumerate(some)]
            given = (inputs, constants) if way == "run" else ({}, {**inputs, **(constants or {})})
            m = Model(made, given[0], " ".join(f"y{i}" for i in range(len(some))), given[1],
                      opset=opset)
            got, said = m.run() if not m.refused else ({}, m.refused)
            for i, (op, names, want, more) in enumerate(some):
                of = [np.asarray({**inputs, **(constants or {})}[name])
                      for name in names.split(" ") if name]
                want = np.asarray(want)
                bad, why = differ(got.get(f"y{i}"), want, bound, max(SUMS.get(op, 0), least))
                if not bad.size:
                    continue
                of = [np.broadcast_to(x, want.shape).ravel() if x.size <= want.size
                      else x.ravel() for x in of]
                what = [f"({', '.join(f'{x[b]:.9g}' for x in of if b < x.size)}) is "
                        f"{got[f'y{i}'].ravel()[b]:.9g}, want {want.ravel()[b]:.9g}"
                        for b in bad[:40 if FULL else 4]] if not why else [why + " " + said]
                wrong.append(f"{way} {op} {more} {of[0].dtype}: {bad.size} of {want.size}: "
                             f"{'; '.join(what)}")
    return wrong


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def elu(x, alpha):
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


ALPHA, GAMMA = 1.67326319217681884765625, 1.05070102214813232421875
UNARY = [("Abs", np.abs, {}), ("Neg", np.negative, {}), ("Exp", np.exp, {}), ("Log", np.log, {}),
         ("Sqrt", np.sqrt, {}), ("Reciprocal", lambda x: 1 / x, {}), ("Floor", np.floor, {}),
         ("Ceil", np.ceil, {}), ("Round", np.rint, {}), ("Sign", np.sign, {}), ("Erf", erf, {}),
         ("Relu", lambda x: np.maximum(x, 0), {}), ("Sigmoid", sigmoid, {}), ("Tanh", np.tanh, {}),
         ("LeakyRelu", lambda x: np.where(x < 0, x * 0.125, x), {"alpha": 0.125}),
         ("ThresholdedRelu", lambda x: np.where(x > 1, x, 0), {}), ("Elu", lambda x: elu(x, 2),
                                                                   {"alpha": 2.0}),
         ("Celu", lambda x: np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(x / 2)), {"alpha": 2.0}),
         ("Selu", lambda x: GAMMA * elu(x, ALPHA), {}),
         ("HardSigmoid", lambda x: np.clip(0.25 * x + 0.5, 0, 1), {"alpha": 0.25, "beta": 0.5}),
         ("HardSwish", lambda x: x * np.clip(x / 6 + 0.5, 0, 1), {}), ("Softplus", softplus, {}),
         ("Mish", lambda x: x * np.tanh(softplus(x)), {}),
         ("Softsign", lambda x: x / (1 + np.abs(x)), {}),
         ("Shrink", lambda x: np.where(x < -.5, x + .25,
                                        np.where(x > .5, x - .25, 0)),
          {"lambd": 0.5, "bias": 0.25}),
         ("Sinh", np.sinh, {}), ("Cosh", np.cosh, {}), ("Atan", np.arctan, {}),
         ("Asin", np.arcsin, {}), ("Acos", np.arccos, {}), ("Asinh", np.arcsinh, {}),
         ("Acosh", np.arccosh, {}), ("Atanh", np.arctanh, {}),
         ("IsNaN", np.isnan, {}), ("IsInf", np.isinf, {}),
         ("IsInf", lambda x: x == -np.inf, {"detect_positive": 0}),
         ("Gelu", lambda x: x * 0.5 * (1 + erf(x * 0.5 ** 0.5)), {}),
         ("Gelu", lambda x: x * 0.5 * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x ** 3))),
          {"approximate": "tanh"})]


def full(what):
    return test(what) if FULL else what


def kinds():
    return [np.float32, np.float16] if FULL else [np.float32]


@test
def one_operand():
    wrong = []
    for kind in kinds():
        x = numbers(kind)
        rows = [(op, "x", f(x.astype(float)), more) for op, f, more in UNARY]
        rows = [(op, names, want if want.dtype == bool else want.astype(kind), more)
                for op, names, want, more in rows]
        half = kind == np.float16
        rows = rows if FULL else [rows[i] for i in random.permutation(len(rows))[:MANY]]
        wrong += compared(rows, {"x": x}, 1e-3 if half else 3e-6, least=1e-7 if half else TINY)
    return wrong


@full
def angles():
    """Of many turns: to 2^-21 as far as a step of float32 is a small one, at most 1 beyond."""
    wrong = []
    for kind in kinds():
        x = numbers(kind)
        near = x[np.abs(x) < 2e5]
        wrong += compared([(op, "x", f(near.astype(float)).astype(kind), {}) for op, f in (
            ("Sin", np.sin), ("Cos", np.cos))], {"x": near},
                          least=1e-3 if kind == np.float16 else 1e-6)
        m = Model([("Sin", "x", "s"), ("Cos", "x", "c")], {"x": x}, "s c")
        got, said = m.run()
        for name in "sc":
            bad = np.flatnonzero(~np.where(np.isfinite(x), np.abs(got[name]) <= 1.000001,
                                           np.isnan(got[name]))) if got else [0]
            wrong += [f"{name} {x[b]}: {got[name][b] if got else said}" for b in bad[:9]]
    return wrong


BINARY = [("Add", np.add, {}), ("Sub", np.subtract, {}), ("Mul", np.multiply, {}),
          ("Div", np.divide, {}), ("Max", np.maximum, {}), ("Min", np.minimum, {}),
          ("PRelu", lambda x, y: np.where(x < 0, x * y, x), {}), ("Equal", np.equal, {}),
          ("Less", np.less, {}), ("LessOrEqual", np.less_equal, {}),
          ("Greater", np.greater, {}), ("GreaterOrEqual", np.greater_equal, {})]


@full
def two_operands():
    """Each of some with each."""
    wrong = []
    for kind in kinds():
        x = numbers(kind, 8)
        y = random.permutation(x)[:40 if FULL else 12]
        y = np.concatenate([y, np.array([0, -0., 1, -1, np.inf, -np.inf, np.nan])]).astype(kind)
        y = y[~(np.abs(y) < 1e-37) | (y == 0)]  # 1 / y is infinite, which is what Div takes
        wide = x.astype(float)[:, None], y.astype(float)
        rows = [(op, "x y", f(*wide), more) for op, f, more in BINARY]
        rows = [(op, names, want if want.dtype == bool else want.astype(kind), more)
                for op, names, want, more in rows]
        wrong += compared(rows, {"x": x[:, None], "y": y}, 1e-3 if kind == np.float16 else 1e-6)
        share = np.abs(wide[0] / y)  # Mod of floats is exact up to quotients of 2^24
        a, b = (z[~(share > 2 ** 24)] for z in np.broadcast_arrays(x[:, None], y))
        wrong += compared([("Mod", "a b", np.fmod(a, b), {"fmod": 1})], {"a": a, "b": b}, 0,
                          least=1e-7 if kind == np.float16 else TINY)
    return wrong


@test
def powers():
    """IEEE 754's: of -0, to odd ones, to none, of 1 to anything; by numbers that are known, too."""
    wrong = []
    for kind in kinds():
        at = np.array([0, 1e-4, 0.5, 0.99, 1, 1.5, 2, 3, 10, 250, 6e4, np.inf])
        x = np.concatenate([at, -at, [np.nan]]).astype(kind)
        y = np.array([0, 0.25, 0.5, 1, 2, 3, 4, 5, 17, 33, 1.5, 2.5, 1e4, np.inf])
        y = np.concatenate([y, -y, [np.nan]]).astype(kind)
        want = np.power(x.astype(float)[:, None], y.astype(float)).astype(kind)
        half = kind == np.float16
        some = range(len(y)) if FULL else [1, 2, 4, 16, 17, 18, 19, 21, 27]
        rows = [("Pow", "x y", want, {})] + [("Pow", f"v k{i}", want[:, i], {}) for i in some]
        known = {f"k{i}": y[i] for i in some}
        least = 1e-7 if half else TINY
        wrong += compared(rows[:1], {"x": x[:, None], "y": y}, 2e-3 if half else 2e-5, least=least)
        if not FULL:
            break
        wrong += compared(rows[1:], {"v": x}, 2e-3 if half else 2e-5, least=least, ways=("run",),
                          constants=known)
    return wrong


WHOLE = [("Add", np.add, {}), ("Sub", np.subtract, {}), ("Mul", np.multiply, {}),
         ("Max", np.maximum, {}), ("Min", np.minimum, {}), ("Equal", np.equal, {}),
         ("Less", np.less, {}), ("GreaterOrEqual", np.greater_equal, {})]
DIVIDED = [("Div", lambda x, y: x // y + ((x % y != 0) & ((x < 0) != (y < 0))), {}),
           ("Mod", np.mod, {}), ("Mod", np.fmod, {"fmod": 1})]


def wholes(kind):
    """Around 0 and the limits, all powers of two, random ones of any size; int64 of 32 bits."""
    of = np.iinfo(np.int32 if kind in (np.int64, np.uint32, np.uint64) else kind)
    least = 0 if kind in (np.uint32, np.uint64) else of.min
    x = [of.max, of.max - 1, least, least + 1, *(2 ** i for i in range(of.bits)), *range(8)]
    x += [-n for n in x] + [n - 1 for n in x] + [3, 5, 7, 10, 100, 255, 256, 1000, 65535, 65536]
    x += [int(n) for n in np.exp2(random.uniform(0, of.bits, 30 if FULL else 9))]
    return np.array(sorted({n for n in x if least <= n <= of.max}), kind)


@full
def whole_numbers():
    """Each with each: they wrap; quotients towards 0, rests of the sign of one or the other."""
    wrong = []
    for kind in (np.int32, np.uint8, np.int8, np.int16, np.uint16) if FULL else (np.int32, np.int8):
        x = wholes(kind)
        y = random.permutation(x)[:12]
        y = np.concatenate([y, x[:2], x[-2:]])
        by = y[(y != 0) & ~((y == -1) if kind in (np.int8, np.int16, np.int32) else False)]
        rows = [(op, "x y", f(x[:, None], y), more) for op, f, more in WHOLE]
        rows += [(op, "x by", f(x[:, None], by).astype(kind), more) for op, f, more in DIVIDED]
        rows += [(op, "x", f(x[:, None]), {}) for op, f in (("Neg", np.negative), ("Abs", np.abs),
                                                   ("Sign", np.sign))
                 if kind in (np.int8, np.int16, np.int32)]
        wrong += compared(rows, {"x": x[:, None], "y": y, "by": by}, 0, least=0)
    return wrong


@full
def shifts():
    """By as many bits as there are, and more."""
    wrong = []
    for kind in (np.uint8, np.uint16, np.uint32) if FULL else (np.uint8,):
        x = wholes(kind)[:, None]
        y = np.array([0, 1, 2, 7, 8, 9, 15, 16, 17, 30, 31, 32, 33, 200], kind)
        bits = np.iinfo(kind).bits
        left = [[(int(a) << min(int(b), 64)) % (1 << bits) for b in y] for a in x[:, 0]]
        left = np.array(left, kind)
        rows = [("BitShift", "x y", np.where(y < bits, x >> np.minimum(y, bits - 1), 0),
                 {"direction": "RIGHT"})]
        if kind != np.uint32:
            rows.append(("BitShift", "x y", left, {"direction": "LEFT"}))
        wrong += compared(rows, {"x": x, "y": y}, 0, least=0)
    return wrong


def cast(x, to):
    """Towards 0; what is too large is the nearest there is, NaN is 0."""
    if to == bool or np.dtype(to).kind == "f" or x.dtype.kind != "f":
        return x.astype(to)
    of = np.iinfo(np.int32 if to in (np.int64, np.uint32, np.uint64) else to)
    y = np.nan_to_num(np.trunc(x.astype(float)), nan=0, posinf=1e30, neginf=-1e30)
    return np.clip(y, 0 if to in (np.uint32, np.uint64) else of.min, of.max).astype(to)


@full
def casts():
    """Between all types, of numbers that they have not."""
    numbers_of = {np.float32: 1, np.uint8: 2, np.int8: 3, np.uint16: 4, np.int16: 5, np.int32: 6,
                  np.int64: 7, bool: 9, np.float16: 10, np.uint32: 12,
                  np.uint64: 13}
    wrong = []
    for kind in numbers_of if FULL else (np.float32, np.int32):
        x = numbers(kind) if np.dtype(kind).kind == "f" else wholes(kind) if kind != bool else \
            np.array([True, False])
        rows = [("Cast", "x", cast(x, to), {"to": n}) for to, n in numbers_of.items() if to != kind]
        wrong += compared(rows, {"x": x}, 0, least=0, ways=("run",))
        if np.dtype(kind).kind == "f":  # what 64 bits have, and 32 have not, is refused
            rows = [row for row in rows if row[3]["to"] != 7]
        rows = [row for row in rows if row[3]["to"] not in (12, 13)]  # of which 31 are left
        wrong += compared(rows, {"x": x}, 0, least=0, ways=("folded",))
    return wrong


@full
def limits():
    """That cross, are NaN or infinite."""
    x = numbers(np.float32)
    at = np.array([-1, 2, np.inf, -np.inf, np.nan, 0], np.float32)
    pairs = [(a, b) for a in at for b in at]
    wrong = compared([("Clip", f"x a{i} b{i}", np.minimum(np.maximum(x, a), b), {})
                      for i, (a, b) in enumerate(pairs)], {"x": x},
                     constants={**{f"a{i}": a for i, (a, _) in enumerate(pairs)},
                                **{f"b{i}": b for i, (_, b) in enumerate(pairs)}}) if FULL else []
    q, x = wholes(np.int32), x[np.isfinite(x)]
    return wrong + compared([("Clip", "x nan two", x + np.nan, {}), ("Clip", "x two one",
                                                                   x * 0 + 1, {}),
                             ("Clip", "q two3 one3", np.minimum(np.maximum(q, 2), 1), {})],
                            {"x": x, "q": q, "nan": np.float32(np.nan),
                             "two": np.float32(2), "one": np.float32(1), "two3": np.int32(2),
                             "one3": np.int32(1)}, ways=("run",))


def lines(width):
    """Rows of numbers of one size, some with what is hardly one."""
    near = random.standard_normal((4, width))
    inf, nan = np.inf, np.nan
    rows = [near[0], near[1] * 1e30, near[2] * 1e-30, near[3] * 100, near[0] * 0, near[0] * 0 + 7,
            np.abs(near[1]) * 1e19, np.abs(near[1]) * 1e-22, near[2] * 1e-40, near[3] * 1e4,
            np.round(near[3]), near[0] * 0 - inf, near[0] * 0 + inf, -np.abs(near[2] * 900)]
    for some in ((inf,), (-inf,), (inf, -inf), (nan,), (nan, inf), (-inf, nan, nan), (0, -0.)):
        row = near[random.integers(4)].copy()
        row[random.permutation(width)[:len(some)]] = some
        rows.append(row)
    return np.array(rows, np.float32)


def log_sum_exp(x):
    most = np.max(x, 1, keepdims=True)
    most = np.where(np.isfinite(most), most, 0)
    return np.log(np.exp(x - most).sum(1, keepdims=True)) + most


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def log_softmax(x):
    less = x - x.max(1, keepdims=True)
    return less - np.log(np.exp(less).sum(1, keepdims=True))


def norm(x):
    """Of squares that float32 does not hold as well."""
    return np.sqrt((x * x).sum(1, keepdims=True))


def normalised(x, p):
    most = np.max(np.abs(x), 1, keepdims=True)
    most = np.where((most > 0) & np.isfinite(most), most, 1)
    size = (np.abs(x / most) ** p).sum(1, keepdims=True) ** (1 / p)
    return x / most / np.where(size == 0, 1, size)


def last(f):
    return lambda x: x.shape[1] - 1 - f(x[:, ::-1], 1)[:, None]


LINES = [("ReduceSum", lambda x: x.sum(1, keepdims=True), {}),
         ("ReduceMean", lambda x: x.mean(1, keepdims=True), {}),
         ("ReduceMax", lambda x: x.max(1, keepdims=True), {}),
         ("ReduceMin", lambda x: x.min(1, keepdims=True), {}),
         ("ReduceProd", lambda x: x.prod(1, keepdims=True), {}),
         ("ReduceL1", lambda x: np.abs(x).sum(1, keepdims=True), {}),
         ("ReduceL2", norm, {}), ("ReduceSumSquare", lambda x: (x * x).sum(1, keepdims=True), {}),
         ("ReduceLogSum", lambda x: np.log(x.sum(1, keepdims=True)), {}),
         ("ReduceLogSumExp", log_sum_exp, {}), ("Softmax", softmax, {}),
         ("LogSoftmax", log_softmax, {}),
         ("Hardmax", lambda x: np.arange(x.shape[1]) == x.argmax(1)[:, None], {}),
         ("ArgMax", lambda x: x.argmax(1)[:, None], {}),
         ("ArgMin", lambda x: x.argmin(1)[:, None], {}),
         ("ArgMax", last(np.argmax), {"select_last_index": 1}),
         ("ArgMin", last(np.argmin), {"select_last_index": 1}),
         ("LpNormalization", lambda x: normalised(x, 1), {"p": 1}),
         ("LpNormalization", lambda x: normalised(x, 2), {"p": 2}),
         ("CumSum", lambda x: x.cumsum(1), {}),
         ("TopK", lambda x: np.sort(x, 1)[:, ::-1], {}),
         ("TopK", lambda x: np.sort(x, 1), {"largest": 0})]


@test
def of_lines():
    """What is made of rows: norms whose squares are too large, sums of exponentials, the first or
    the last of equal ones."""
    wrong = []
    for width in (1, 2, 9, 40, 300) if FULL else (9,):
        x = lines(width) if width > 2 else lines(3)[:, :width]
        wide, rows = x.astype(float), []
        for op, f, more in LINES:
            want = f(wide)
            whole = op.startswith("Arg")
            names = "x axis" if op in ("ReduceSum", "CumSum") else "x all" if op == "TopK" else "x"
            named = {} if names != "x" else {"axes": [1]} if "Reduce" in op else {"axis": 1}
            rows.append((op, names, want.astype(np.int64 if whole else np.float32),
                         {**named, **more}))
        wrong += compared(rows, {"x": x}, 1e-4, opset=13, least=1e-6, ways=("run",),
                          constants={"axis": np.int64([1]), "all": np.int64([width])})
    return wrong

os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("corners"))
