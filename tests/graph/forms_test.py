#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""forms_test.py [NAME]...    forms of operators that exporters write and libonnx-testdata has not

Sizes of 1 and none, axes from the end, numbers near the limits of their type, operands left out,
what opset 7 wrote otherwise. Many nodes are one model, so that it is one run; results beside
NumPy's; all of them with FULL. TAP on stdout."""

import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Graph, Model, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(5)
whole = np.int64
FULL = os.environ.get("FULL") or len(sys.argv) > 1


def full(what):
    return test(what) if FULL else what


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


def number(x):
    return np.float32(x)


def checked(rows, inputs, constants=None, opset=13, bound=2e-6):
    """rows: (op, operands, results, what they are, one or several[, attributes])"""
    made = [(row[0], row[1], row[2], *row[4:]) for row in rows]
    want = {}
    for row in rows:
        names = [name for name in row[2].split(" ") if name]
        want.update(zip(names, row[3] if len(names) > 1 else [row[3]]))
    m = Model(made, inputs, " ".join(want), constants, opset=opset)
    got, said = m.run() if not m.refused else ({}, m.refused)
    bad = {name: differs(got.get(name), np.asarray(array, np.float64), bound)
           for name, array in want.items()}
    return [f"{name}: {what} {said}" for name, what in bad.items() if what]


# --- tests, each a list of what is wrong ---

@test
def whole_numbers():
    """Of 32 bits near their limits, sums of them; 8 bits wrap; truth as it is."""
    q = np.array([2**31 - 1, -2**31, 5, -7], np.int32)
    r, s = np.array([1, 2, -3, 3], np.int32), np.array([2**30, -2**30, 5, -7], np.int32)
    u, v = np.array([250, 3, 200, 255], np.uint8), np.array([10, 5, 2, 255], np.uint8)
    b, c = np.array([127, -128, 100, -1], np.int8), np.array([1, -1, 3, -128], np.int8)
    t, f = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    big = random.integers(-2**24, 2**24, (5, 70))
    big[2] += 2**31 - 2**26
    return checked(
        [("Div", "q r", "q:r", [2**31 - 1, -2**30, -1, -2]),
         ("Mod", "q r", "q%r", [0, 0, -1, 2]), ("Mul", "s r", "s*r", s * r),
         ("Max", "q r", "top", np.maximum(q, r)), ("Less", "q r", "less", q < r),
         ("Clip", "q lo hi", "cut", np.clip(q, -6, 2**30)),
         ("Add", "u v", "u+v", u + v), ("Sub", "u v", "u-v", u - v), ("Mul", "u v", "u*v", u * v),
         ("Add", "b c", "b+c", b + c), ("Mul", "b c", "b*c", b * c), ("Neg", "b", "-b", -b),
         ("Equal", "t f", "same", t == f), ("Where", "t f yes", "either", np.where(t, f, True)),
         ("Cast", "half", "is", [1, 0, 1], {"to": 9}),
         ("ReduceSum", "big over", "sum", big.sum(1).astype(np.int32), {"keepdims": 0}),
         ("ReduceMax", "big", "most", big.max(0, keepdims=True), {"axes": [0]}),
         ("ReduceMin", "big", "least", big.min(), {"keepdims": 0}),
         ("ArgMax", "big", "which", big.argmax(1), {"axis": 1, "keepdims": 0})],
        {"q": q, "r": r, "s": s, "u": u, "v": v, "b": b, "c": c, "t": t, "f": f, "big": big,
         "half": number([0.5, -0.0, np.nan])},
        {"lo": np.int32(-6), "hi": np.int32(2**30), "yes": np.array(True), "over": whole([-1])},
        bound=0)


@full
def without_a_sign():
    """16 bits that wrap, 32 of which the last one is not there in what is given; shifts."""
    a, b = np.array([65535, 3, 40000, 9], np.uint16), np.array([10, 5, 3, 0], np.uint16)
    c, d = np.array([2**31 - 1, 7, 12], np.uint32), np.array([2, 40, 3], np.uint32)
    few = np.array([1, 15, 16, 2], np.uint16)
    x = noise(3, 8) * 20000
    wrong = checked(
        [("Add", "a b", "a+b", a + b), ("Sub", "b a", "b-a", b - a), ("Mul", "a a", "a*a", a * a),
         ("Div", "a five", "a:5", a // 5), ("Less", "b a", "less", b < a), ("Max", "a b", "m",
                                                                        np.maximum(a, b)),
         ("BitwiseNot", "a", "not", ~a), ("BitwiseAnd", "a b", "and", a & b),
         ("Cast", "a", "wide", a, {"to": 1}), ("Cast", "c", "low", c.astype(np.uint16), {"to": 4}),
         ("BitShift", "a few", "up", [65534, 3 << 15 & 65535, 0, 36], {"direction": "LEFT"}),
         ("BitShift", "c d", "down", [2**29 - 1, 0, 1], {"direction": "RIGHT"}),
         ("Mod", "c d", "rest", c % d), ("Add", "c d", "c+d", c + d),
         ("QuantizeLinear", "x s z", "q", np.clip(np.rint(x / number(0.5)) + 32768, 0, 65535)),
         ("DequantizeLinear", "q s z", "y",
          (np.clip(np.rint(x / number(0.5)) + 32768, 0, 65535) - 32768) / 2)],
        {"a": a, "b": b, "c": c, "d": d, "few": few, "x": x},
        {"five": np.uint16(5), "s": number(0.5), "z": np.uint16(32768)}, opset=21, bound=0)
    for far in (np.array([2**31], np.uint32), np.array([2**31], np.uint64),
                np.array([2**64 - 1], np.uint64)):
        _, said = Model([("Abs", "c", "y")], {"c": far}, "y").run()
        wrong += [] if "element 0 does not fit int32" in said else [said]
    c = c.astype(np.uint64)
    return wrong + checked([("Mul", "c d", "cd", c * [1, 40, 3]), ("Min", "c d", "less",
                                                                 [1, 7, 3])],
                           {"c": c, "d": np.array([1, 40, 3], np.uint64)}, bound=0)


@test
def shapes():
    """No dimension and one of 1, axes from the end, nothing; what is given back as it came."""
    x, a, b = noise(2, 3, 4), noise(3, 1, 4), noise(1, 5, 1)
    return checked(
        [("Add", "one two", "sum", 4.), ("Mul", "sum x", "all", x * 4), ("Sub", "a b", "d", a - b),
         ("Where", "is x one", "w", np.where([[True], [False], [True]], x, 1.5)),
         ("Concat", "x x", "row", np.concatenate([x, x], 1), {"axis": -2}),
         ("ReduceSum", "x ax", "r", x.sum((0, 2)), {"keepdims": 0}),
         ("ReduceSum", "x", "as", x, {"noop_with_empty_axes": 1}),
         ("Flatten", "x", "flat", x.reshape(24, 1), {"axis": 3}),
         ("Slice", "x two3 five", "none", x[2:]), ("Relu", "none", "still", x[2:]),
         ("Slice", "x back far mid step", "turned", x[:, ::-1]),
         ("Pad", "x cut", "padded", np.pad(x[:, 1:, :-2], ((0, 0), (0, 0), (1, 0))))],
        {"x": x, "one": number(1.5), "two": number(2.5), "a": a, "b": b,
         "is": np.array([[True], [False], [True]])},
        {"ax": whole([-1, -3]), "two3": whole([2]), "five": whole([5]), "back": whole([-1]),
         "far": whole([-2**62]), "mid": whole([1]), "step": whole([-1]),
         "cut": whole([0, -1, 1, 0, 0, -2])})


@full
def places():
    """From the end, of fewer rows; what is given back as it came."""
    x, a, v, gap = noise(2, 3, 4), noise(3, 1, 4), noise(1), noise(2, 1, 3, 1, 2)
    fill, wide = [2, 2, 3, 2, 2], [3, 2, 2, 4, 2]
    pic, w = noise(1, 2, 9, 7), noise(2, 3, 2, 2)
    whole_pic = np.einsum("ncij,cmab->nmiajb", pic.astype(float), w).reshape(1, 3, 18, 14)
    return checked(
        [("Gather", "x at", "g", x[..., [[-1, 0], [2, -4]]], {"axis": -1}),
         ("GatherElements", "x low", "low1", x[:1, [0, 1, 2], [0, 1, 2]][:, None],
          {"axis": 1}),
         ("Squeeze", "wide ax2", "less", x), ("Reshape", "x keep", "kept", x.reshape(2, 12)),
         ("Identity", "x", "same", x), ("Max", "x x x", "most", x),
         ("Sum", " ".join("xvxvxvxvxv"), "many", (x + v) * 5),
         ("Mean", " ".join("xxxxxxxxx"), "mean", x),
         ("Min", " ".join("xxvxxxxxx"), "least", np.minimum(x, v)),
         ("ConvTranspose", "pic w", "inner", whole_pic[..., 3:-4, 5:-3],
          {"strides": [2, 2], "pads": [3, 5, 4, 3]}),
         ("Expand", "gap fill", "filled", np.broadcast_to(gap, fill)),
         ("Expand", "v five", "all", np.broadcast_to(v, wide)),
         ("MatMul", "v a", "p", v @ a), ("OneHot", "last three ends", "hot", [[0., 0, 1]])],
        {"x": x, "a": a, "v": v, "gap": gap, "wide": x.reshape(2, 1, 3, 4, 1),
         "pic": pic, "w": w},
        {"fill": whole(fill), "five": whole(wide), "last": whole([-1]), "three": whole(3),
         "ends": number([0, 1]), "at": whole([[-1, 0], [2, -4]]), "low": whole([[[0, 1, 2]]]),
         "ax2": whole([1, -1]),
         "keep": whole([0, -1])})


@full
def far_and_near():
    """Angles of many turns; near 0 as many digits as elsewhere."""
    x, t = number([1e3, -2e3, 31415.9, 1e5, 0, 700]), number([1e-4, -1e-5, 1e-6, 3e-5])
    wide, small = x.astype(float), t.astype(float)
    m = Model([("Sinh", "t", "u"), ("Asinh", "t", "v"), ("Atanh", "t", "w")], {"t": t}, "u v w")
    got, said = m.run()
    return checked([("Sin", "x", "s", np.sin(wide)), ("Cos", "x", "c", np.cos(wide))], {"x": x}) + \
        [f"{name}: {got.get(name, said)}" for name in "uvw"
         if not got or (np.abs(got[name] / small - 1) > 1e-6).any()]


@test
def powers():
    """Whole ones of numbers below 0, also such as a run tells; of whole numbers exactly."""
    x = number([-2, -2, -2, -0.5, 0, 0, 4, -1, 3, 1.5, 1, -1])
    y = number([2, 3, -1, -2, 0, 2, 0.5, 5, 0, -2.5, np.inf, -np.inf])
    q, e = np.array([-2, -3, 5001, 5, -7, 0]), np.array([3, 2, 2, 0, 11, 1])
    r, f = np.array([4, 27, 3, -3, 2, 0, -1, 7]), number([.5, 1 / 3, 2.5, 3, -1, 64, -65, 2])
    return checked(
        [("Pow", "x y", "z", np.power(x.astype(float), y)), ("Pow", "x c", "u", x ** 3.),
         ("Pow", "h two", "v", x ** 2.), ("Pow", "x list", "w", np.where(x, x ** 2., 0))],
        {"x": x, "y": y, "h": x.astype(np.float16)},
        {"c": number(3), "two": np.float16(2), "list": np.full(12, 2, np.float32)}, bound=1e-6) + \
        checked([("Pow", "q e", "p", q ** e), ("Pow", "q two", "s", q * q),
                 ("Pow", "q g", "u", q * q), ("Pow", "r f", "t", [2, 3, 15, -27, 0, 0, -1, 49])],
                {"q": q, "e": e, "r": r, "f": f}, {"two": np.int64(2), "g": number(2)}, bound=0)


@test
def casts_and_bytes():
    """What fits no more wraps; truth is put and taken by what a run tells."""
    q = np.array([[70000, -1, 200, -129], [-40000, 255, 128, 32768]])
    b, k = q.astype(np.int8), q > 0
    at = np.array([[0, 1, 0, 1]])
    put = k.copy()
    np.put_along_axis(put, at, ~k[:1], 0)
    x = noise(1, 2, 3, 4)
    return checked(
        [("Cast", "q", "q8", b, {"to": 3}), ("Cast", "q", "u8", q.astype(np.uint8), {"to": 2}),
         ("Cast", "q", "q16", q.astype(np.int16), {"to": 5}), ("Cast", "b", "bu",
                                                            b.astype(np.uint8), {"to": 2}),
         ("Cast", "b", "half", b.astype(np.float16), {"to": 10}),
         ("Cast", "q", "is", q != 0, {"to": 9}),
         ("ScatterElements", "k at n", "put", put), ("GatherElements", "k at", "got",
                                                  np.take_along_axis(k, at, 0)),
         ("GlobalLpPool", "x", "norm", np.sqrt((x ** 2).sum((2, 3), keepdims=True)))],
        {"q": q, "b": b, "k": k, "at": at, "n": ~k[:1], "x": x}, bound=1e-6) + \
        checked([("Upsample", "x", "more", x.repeat(2, 2).repeat(3, 3),
                  {"scales": [1., 1., 2., 3.]})], {"x": x}, opset=8)


@test
def left_out():
    """Limits that are not there or cross, products without a bias, places that are not written."""
    x, u, a, b = noise(2, 3, 4), noise(1, 2, 3), noise(5, 3), noise(5, 4)
    put, at = x.copy(), whole([[[0, 1, 2], [2, 0, 1]]])
    np.put_along_axis(put[:1, :, :3], at, u, 1)
    y, far = number([5.3, -5.3, 7, 1e6]), number([5, -5, 1, 3e36])
    return checked(
        [("Clip", "x  hi", "top", np.minimum(x, number(0.3))), ("Clip", "x lo ", "low",
                                                                np.maximum(x, number(-0.2))),
         ("Clip", "x", "all", x), ("Clip", "x hi lo", "cross", np.full_like(x, -0.2)),
         ("Gemm", "a b", "half", a.T @ b / 2, {"transA": 1, "alpha": 0.5}),
         ("Gemm", "a b three", "more", a.T @ b + 3, {"transA": 1}),
         ("Dropout", "x", "same mask", (x, np.ones_like(x))),
         ("ScatterElements", "x at u", "put", put, {"axis": 1}),
         ("Mod", "y z", "rest", np.fmod(y, number([2, 2, -3, 0.7])), {"fmod": 1}),
         ("Mod", "far end", "whole", [5, -5, 1, 0], {"fmod": 1})],
        {"x": x, "u": u, "a": a, "b": b, "y": y, "z": number([2, 2, -3, 0.7]), "far": far},
        {"hi": number(0.3), "lo": number(-0.2), "three": number(3), "at": at,
         "end": number([np.inf, -np.inf, 1e36, 1.5e36])})


@full
def as_before():
    """Attributes that have become operands, softmax over all that is behind an axis."""
    x, w = noise(2, 3, 4), np.ones(4, np.float32)
    e = np.exp(x.astype(np.float64))
    return checked(
        [("Slice", "x", "part", x[:1, :, -3:], {"axes": [0, 2], "starts": [0, -3],
                                                "ends": [1, 9999]}),
         ("Clip", "x", "cut", np.clip(x, -.5, .5), {"min": -0.5, "max": 0.5}),
         ("Softmax", "x", "soft", e / e.sum((1, 2), keepdims=True), {"axis": 1}),
         ("ReduceMean", "x", "mean", x.mean(1), {"axes": [1], "keepdims": 0}),
         ("Unsqueeze", "x", "more", x[None, ..., None], {"axes": [0, 4]}),
         ("Pad", "x", "pad", np.pad(x, ((0, 0), (1, 0), (0, 2)), constant_values=1.5),
          {"pads": [0, 1, 0, 0, 0, 2], "value": 1.5}), ("Add", "x w", "sum", x + 1)],
        {"x": x}, {"w": w}, opset=7)


@test
def quantised_in_a_run():
    """Whole numbers whose zero point a run finds, which pads hold; weights that have one too."""
    x, a = noise(1, 64, 5, 6), noise(4, 1024)
    w = random.integers(0, 256, (6, 64, 3, 3)).astype(np.uint8)
    b = random.integers(0, 256, (1024, 40)).astype(np.uint8)
    each, wrong = random.integers(0, 256, 40).astype(np.uint8), []
    m = Model([("DynamicQuantizeLinear", "x", "qx sx zx"),
               ("ConvInteger", "qx w zx zw", "conv", {"pads": [1, 0, 2, 1], "strides": [1, 2]}),
               ("DynamicQuantizeLinear", "a", "qa sa za"),
               ("MatMulInteger", "qa b za zw", "one"),
               ("MatMulInteger", "qa b za each", "many")],
              {"x": x, "a": a}, "qx zx conv qa za one many",
              {"w": w, "b": b, "zw": np.uint8(120), "each": each}, opset=11)
    got, said = m.run() if not m.refused else ({}, m.refused)
    if not got:
        return [said]
    q = np.pad(got["qx"].astype(int) - int(got["zx"]), ((0, 0), (0, 0), (1, 2), (0, 1)))
    conv, n = np.zeros((1, 6, 6, 3), int), got["qa"].astype(int) - int(got["za"])
    for i in range(3):
        for j in range(3):
            conv += np.einsum("bchw,mc->bmhw", q[:, :, i:i + 6, j:j + 5:2],
                              w[:, :, i, j].astype(int) - 120)
    for name, want in (("conv", conv), ("one", n @ (b.astype(int) - 120)),
                       ("many", n @ (b.astype(int) - each))):
        wrong += [] if (got[name] == want).all() else [f"{name} is not exact"]
    return wrong


@full
def what_nests_deep():
    """Of several pictures, each longer than a tile: groups of one result each, what is repeated
    along another dimension than theirs."""
    x, w = noise(2, 4, 90, 101), noise(2, 2, 1, 1)
    z, b = x[:, :, None], noise(4, 2, 1, 1)
    want = (x.reshape(2, 2, 2, 90, 101).astype(float) * w.reshape(2, 2, 1, 1)).sum(2)
    return checked([("Conv", "x w", "y", want, {"group": 2}), ("Add", "z b", "all", z + b)],
                   {"x": x, "z": z, "b": b}, {"w": w})


@test
def by_the_dozen():
    """As many operands and results as a block of DenseNet-201 has."""
    x, parts = noise(50, 4), [f"p{i}" for i in range(50)]
    m = Model([("Split", "x", " ".join(parts), {"axis": 0}),
               ("Concat", " ".join(reversed(parts)), "y", {"axis": 0})], {"x": x}, "y")
    got, said = m.run() if not m.refused else ({}, m.refused)
    return [] if got and (got["y"] == x[::-1]).all() else [said]


@test
def in_any_order():
    """Nodes in front of what they read, a branch of an If too; what reads itself is refused."""
    x, c = noise(3, 4), noise(3, 4)
    branch = {"then_branch": Graph([("Neg", "late", "a")], "a"),
              "else_branch": Graph([("Abs", "late", "b")], "b")}
    wrong = checked(
        [("Exp", "branch", "y", np.exp(-(x + c))), ("If", "is", "branch", -(x + c), branch),
         ("Add", "same c", "late", x + c), ("Identity", "x", "same", x)],
        {"x": x}, {"c": c, "is": np.array(True)}, opset=16)
    for made in ([("Add", "x b", "a"), ("Neg", "a", "b")], [("Add", "x a", "a")]):
        m = Model(made, {"x": x}, "a")
        wrong += [] if "of its own result" in m.refused else [m.refused or "taken"]
    return wrong


@test
def as_it_would_be():
    """Attributes with the value that they have where they are left out, of constants too."""
    x, c, w, pool = noise(2, 6), noise(3, 4), noise(6), noise(1, 2, 5, 5)
    d, q = x - x.mean(1, keepdims=True), np.clip(np.round(x / number(0.5)), -128, 127)
    wrong = checked(
        [("Reshape", "c to", "d", c.reshape(2, 6), {"allowzero": 0}),
         ("Add", "x d", "y", x + c.reshape(2, 6)),
         ("LayerNormalization", "x w", "norm", d / np.sqrt((d * d).mean(1, keepdims=True) + 1e-5)
          * w, {"stash_type": 1}),
         ("MaxPool", "pool", "most", pool.max((2, 3), keepdims=True),
          {"kernel_shape": [5, 5], "storage_order": 0}),
         ("QuantizeLinear", "x half zero", "q", q, {"precision": 0, "saturate": 1}),
         ("DequantizeLinear", "q half zero", "back", q / 2, {"output_dtype": 1})],
        {"x": x, "pool": pool}, {"c": c, "to": whole([2, 6]), "w": w, "half": number(0.5),
                                 "zero": np.int8(0)}, opset=23)
    for of, good in ((1, True), (0, False)):
        m = Model([("BatchNormalization", "pool a a a a", "y", {"spatial": of})],
                  {"pool": pool}, "y", {"a": np.ones(2, np.float32)}, opset=7)
        wrong += [] if good is (m.refused == "") else [f"spatial {of}: {m.refused}"]
    return wrong


@test
def of_opset_26():
    """Products of what is in front or behind, with it or without; bits as another type."""
    x, q = noise(2, 5, 3), random.integers(-9, 9, (3, 7)).astype(np.int32)
    q[q == 0] = 1
    ahead = np.concatenate([np.ones((2, 1, 3)), x.astype(float)], 1).cumprod(1)
    h = noise(40).astype(np.float16)
    m = Model([("BitCast", "x", "i", {"to": 6}), ("Abs", "x", "a"),
               ("BitCast", "a", "b", {"to": 12}),
               ("BitCast", "i", "back", {"to": 1}), ("BitCast", "h", "s", {"to": 5}),
               ("BitCast", "c", "d", {"to": 1})], {"x": x, "h": h}, "i b back s d",
              {"c": np.int32([0x3f800000, -2**31 + 0x40000000])}, opset=26)
    got, said = m.run() if not m.refused else ({}, m.refused)
    want = {"i": x.view(np.int32), "b": np.abs(x).view(np.uint32), "back": x,
            "s": h.view(np.int16), "d": np.float32([1, -2])}
    return checked([("CumProd", "x axis", "y", ahead[:, 1:]),
                    ("CumProd", "x axis", "y2", ahead[:, :-1], {"exclusive": 1}),
                    ("CumProd", "x axis", "y3", x[:, ::-1].astype(float).cumprod(1)[:, ::-1],
                     {"reverse": 1}),
                    ("CumProd", "q last", "p", np.concatenate(
                        [q[:, :0:-1].cumprod(1, dtype=np.int32)[:, ::-1], q[:, :1] * 0 + 1], 1),
                     {"reverse": 1, "exclusive": 1})], {"x": x, "q": q},
                   {"axis": whole(1), "last": np.int32(-1)}, opset=26) + \
        [f"{name}: {got.get(name)} {said}" for name, y in want.items()
         if not got or got[name].dtype != y.dtype or (got[name] != y).any()] + \
        [m.refused for m in [Model([("BitCast", "x", "y", {"to": 7})], {"x": x}, "y", opset=26)]
         if m.refused != "node 'BitCast_0' (BitCast): of float32 to int64"]


@test
def what_is_not_so():
    """Refused in one line: an axis that there is not, parts that are not those of the results."""
    wrong = []
    for op, attributes, constants, want in (
            ("Flatten", {"axis": 4}, {}, "(Flatten): axis 4 of 3 dimensions"),
            ("BitwiseNot", {}, {"": whole(0)}, "(BitwiseNot): 2 operands"),
            ("Split", {"axis": 0}, {"c": whole([1, 1])}, "(Split): 2 parts for 3 results")):
        m = Model([(op, " ".join(["x", *constants]), "a b d" if constants else "a", attributes)],
                  {"x": noise(2, 3, 4)}, "a", constants)
        wrong += [] if want in m.refused else [f"{want}: {m.refused or 'taken'}"]
    m = Model([("Relu", "x", "a"), ("Neg", "x", "b")], {"x": noise(3)}, "a b")
    m.outputs = ["a", "c"]
    said = m.run()[1]
    wrong += [] if "which output? -o NAME=PATH of a b" in said else [said]
    return wrong


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("forms"))
