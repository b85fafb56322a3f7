#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""nodes_test.py [NAME]...    operators by planes, and those that libonnx-testdata has no model of

Written by model.py, compiled and run, and compared with NumPy in double precision. TAP on
stdout."""

import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Graph, Model, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(1)
FULL = os.environ.get("FULL") or len(sys.argv) > 1


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


# --- tests, each a list of what is wrong ---

@test
def products_by_planes():
    """Where the Cube has no F32: hi and lo of F16, of constants before a run; but for numbers that
    F16 has not, and where they are not asked for."""
    wrong = []
    x, w = noise(96, 64), noise(64, 80)
    ways = ((1, (), 2), (65504 / np.abs(w).max(), (), 2), (1e5, (), 1), (1, ("--no-planes",), None))
    for scale, options, planes in ways if FULL else ways[1:3]:
        weights = (w * scale).astype(np.float32)
        m = Model([("MatMul", "x w", "u"), ("Mul", "u d", "v"), ("Transpose", "v", "t"),
                   ("Gemm", "x t", "y", {"transA": 1, "transB": 1})], {"x": x}, "y",
                  {"w": weights, "d": np.float32([1 / scale])}, options=options,
                  profile="ascend310")
        got, said = m.run()
        wide = x.astype(np.float64)
        bad = differs(got.get("y"), wide.T @ (wide @ weights) / scale, 1e-6)
        if not m.refused and planes and f"\nplanes: {planes} " not in m.explain():
            wrong.append(f"{scale}: {m.explain()}")
        wrong += [f"{scale} {options}: {bad} {m.refused or said}"] if bad else []
    return wrong


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def scores(q, k, bias=0., scale=None, cap=0):
    """Those by themselves, within the cap, with the bias, and the weights: 0 of all hidden."""
    k = np.repeat(k, q.shape[1] // k.shape[1], axis=1).astype(np.float64)
    raw = q.astype(np.float64) @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5)
    within = cap * np.tanh(raw / cap) if cap else raw
    with np.errstate(invalid="ignore"):
        w = softmax(within + bias)
    return raw, within, within + bias, np.where(within + bias == -np.inf, 0, w)


def attention(q, k, v, bias=0., scale=None, cap=0):
    """(b, h, s, d), (b, hk, t, d), (b, hk, t, dv)"""
    v = np.repeat(v, q.shape[1] // v.shape[1], axis=1).astype(np.float64)
    return scores(q, k, bias, scale, cap)[3] @ v


def checked(made, inputs, want, constants=None, opset=23, bound=2e-6, **more):
    """One model of all nodes; want: output -> array."""
    m = Model(made, inputs, " ".join(want), constants, opset=opset, **more)
    got, said = m.run()
    bad = {name: differs(got.get(name), np.asarray(array), bound)
           for name, array in want.items()}
    return [f"{name}: {what} {m.refused or said}" for name, what in bad.items() if what]


@test
def attentions():
    """Heads that share keys, masks, keys of steps before, heads in one row; what opset 24 adds."""
    q, k, v = noise(2, 4, 5, 8), noise(2, 2, 7, 8), noise(2, 2, 7, 6)
    mask, bits = noise(5, 7), random.random((2, 1, 5, 7)) < 0.7
    bits[..., 0] = True
    past, lengths = (noise(2, 2, 3, 8), noise(2, 2, 3, 6)), np.int64([7, 4])
    longer = [np.concatenate(both, axis=2) for both in zip(past, (k, v))]
    flat = [x.transpose(0, 2, 1, 3).reshape(2, x.shape[2], -1) for x in (q, k, v)]
    sees = np.where(np.tril(np.ones((5, 7))) > 0, 0, -np.inf)
    wrong = checked(
        [("Attention", "q k v", "plain"), ("Attention", "q k v mask", "added   s",
                                           {"qk_matmul_output_mode": 2}),
         ("Attention", "q k v bits", "masked", {"scale": 0.5, "softcap": 2.0}),
         ("Attention", "q k v", "causal", {"is_causal": 1}),
         ("Attention", "q k v  pk pv", "behind k2 v2"),
         ("Attention", "q k v  pk pv", "after k3 v3", {"is_causal": 1}),
         ("Attention", "fq fk fv", "rows", {"q_num_heads": 4, "kv_num_heads": 2})],
        {"q": q, "k": k, "v": v, "mask": mask, "bits": bits, "pk": past[0], "pv": past[1],
         "fq": flat[0], "fk": flat[1], "fv": flat[2]},
        {"plain": attention(q, k, v), "added": attention(q, k, v, mask), "s": scores(q, k, mask)[2],
         "masked": attention(q, k, v, np.where(bits, 0, -np.inf), 0.5, 2),
         "causal": attention(q, k, v, sees), "behind": attention(q, *longer),
         "after": attention(q, *longer, np.where(np.tri(5, 10, 3) > 0, 0, -np.inf)),
         "k2": longer[0], "v2": longer[1],
         "rows": attention(q, k, v).transpose(0, 2, 1, 3).reshape(2, 5, -1)})
    inside = np.arange(7) < lengths.reshape(-1, 1, 1, 1)
    short = np.pad(mask[:, :4], ((0, 0), (0, 3)), constant_values=-np.inf)
    return wrong + checked([("Attention", "q k v    n", "y"), ("Attention", "q k v m", "short")],
                           {"q": q, "k": k, "v": v, "n": lengths, "m": mask[:, :4].copy()},
                           {"y": attention(q, k, v, np.where(inside, 0, -np.inf)),
                            "short": attention(q, k, v, short)}, opset=24)


@test
def attentions_that_hide():
    """A cap bends scores before a mask hides keys; rows that see none are 0, but for NaN of their
    own; the scores that are told."""
    wrong, q, k, v = [], noise(2, 4, 5, 8), noise(2, 2, 7, 8), noise(2, 2, 7, 6)
    low = np.where(random.random((2, 1, 5, 7)) < 0.4, -np.inf, noise(5, 7)).astype(np.float32)
    low[:, :, 1], low[0, :, 2, 1:], low[1, :, 3] = -np.inf, -np.inf, -np.inf
    bits, more = low > -np.inf, {"softcap": 1.5, "scale": 0.7}
    for mask in (low, bits):
        bias = np.where(bits, 0 if mask is bits else low, -np.inf)
        said = scores(q, k, bias, 0.7, 1.5)
        wrong += checked(
            [("Attention", "q k v m", "y", more), ("Attention", "q k v m", "uncapped")] +
            [("Attention", "q k v m", f"y{i}   s{i}", dict(more, qk_matmul_output_mode=i))
             for i in (0, 1, 3)] + [("Attention", "q k v m", "causal", {"is_causal": 1})],
            {"q": q, "k": k, "v": v, "m": mask},
            {"y": attention(q, k, v, bias, 0.7, 1.5), "uncapped": attention(q, k, v, bias),
             "s0": said[0], "s1": said[1], "s3": said[3],
             "causal": attention(q, k, v, bias + np.where(np.tri(5, 7) > 0, 0, -np.inf))})
    spoilt = q.copy()
    spoilt[0, 0, 0, 3] = np.nan
    m = Model([("Attention", "q k v m", "y")], {"q": spoilt, "k": k, "v": v, "m": low}, "y",
              opset=23)
    y, said = m.run()
    if not y or not np.isnan(y["y"][0, 0, 0]).all() or np.isnan(y["y"]).any(-1).sum() != 1:
        wrong.append(f"NaN: {y} {m.refused or said}")
    return wrong


@test
def attentions_of_some_keys():
    """nonpad_kv_seqlen with is_causal: the last row sees all keys that there are, the one before
    one fewer, and so on; with a mask, and rows that are before the first key."""
    q, k, v = noise(3, 4, 5, 8), noise(3, 2, 9, 8), noise(3, 2, 9, 6)
    n, mask = np.int64([9, 5, 2]), noise(5, 9)
    row, key = np.arange(5)[:, None], np.arange(9)
    bias = np.where(key <= row + n.reshape(-1, 1, 1, 1) - 5, 0, -np.inf)
    none = np.where(key < np.int64([0, 9, 4]).reshape(-1, 1, 1, 1), 0, -np.inf)
    return checked(
        [("Attention", "q k v    n", "y", {"is_causal": 1}),
         ("Attention", "q k v m   n", "masked", {"is_causal": 1, "softcap": 2.0}),
         ("Attention", "q k v    z", "none"),
         ("Attention", "q1 k v    z", "one", {"is_causal": 1})],
        {"q": q, "k": k, "v": v, "m": mask, "n": n, "z": np.int64([0, 9, 4]),
         "q1": q[:, :, :1].copy()},
        {"y": attention(q, k, v, bias), "masked": attention(q, k, v, bias + mask, cap=2.0),
         "none": attention(q, k, v, none), "one": attention(q[:, :, :1], k, v, none)}, opset=24)


@test
def rotary_and_rms():
    """Pairs apart and side by side, of a part of each head, by places; norms of some axes."""
    x, cos, sin = noise(2, 3, 5, 8), noise(9, 3), noise(9, 3)
    places = random.integers(0, 9, (2, 5))
    c, t = cos[places][:, None].astype(np.float64), sin[places][:, None].astype(np.float64)
    a, b = x[..., :3], x[..., 3:6]
    apart = np.concatenate([a * c - b * t, a * t + b * c, x[..., 6:]], -1)
    a, b = x[..., 0:6:2], x[..., 1:6:2]
    beside = np.stack([a * c - b * t, a * t + b * c], -1).reshape(2, 3, 5, 6)
    beside = np.concatenate([beside, x[..., 6:]], -1)
    rows = x.transpose(0, 2, 1, 3).reshape(2, 5, 24)
    scale, wide = noise(5, 8), x.astype(np.float64)
    norm = wide / np.sqrt((wide ** 2).mean((2, 3), keepdims=True) + 1e-3) * scale
    return checked(
        [("RotaryEmbedding", "x cos sin p", "apart", {"rotary_embedding_dim": 6}),
         ("RotaryEmbedding", "x cos sin p", "beside",
          {"rotary_embedding_dim": 6, "interleaved": 1}),
         ("RotaryEmbedding", "rows cos sin p", "flat",
          {"rotary_embedding_dim": 6, "num_heads": 3}),
         ("RMSNormalization", "x g", "norm", {"axis": 2, "epsilon": 1e-3}),
         ("Swish", "x", "swish", {"alpha": 1.5})],
        {"x": x, "rows": rows, "p": places},
        {"apart": apart, "beside": beside,
         "flat": apart.transpose(0, 2, 1, 3).reshape(2, 5, 24), "norm": norm,
         "swish": wide / (1 + np.exp(-1.5 * wide))}, {"cos": cos, "sin": sin, "g": scale})


@test
def bits_and_blocks():
    """Bit by bit, of numbers of 8 and 32 bits, also constants; a scale for each block."""
    x, y = random.integers(-2**31, 2**31, (2, 3, 40)), random.integers(-2**31, 2**31, 40)
    x, u = x.astype(np.int32), random.integers(0, 256, (5, 7)).astype(np.uint8)
    q = random.integers(-128, 128, (3, 8, 2)).astype(np.int8)
    scale, zero = np.abs(noise(3, 2, 2)) + 0.5, random.integers(-9, 9, (3, 2, 2)).astype(np.int8)
    wide = (q - np.repeat(zero, 4, axis=1).astype(float)) * np.repeat(scale, 4, axis=1)
    made = [("BitwiseAnd", "x c", "and"), ("BitwiseOr", "x x2", "or"), ("BitwiseXor", "x c", "xor"),
            ("BitwiseNot", "x", "not"), ("BitwiseXor", "u v", "small"), ("BitwiseNot", "u", "flip"),
            ("DequantizeLinear", "q s z", "wide", {"block_size": 4, "axis": 1}),
            ("QuantizeLinear", "wide s z", "back", {"block_size": 4, "axis": 1})]
    return checked(made, {"x": x, "x2": x[:1], "u": u, "v": u[::-1].copy(), "q": q},
                   {"and": x & y, "or": x | x[:1], "xor": x ^ y, "not": ~x, "small": u ^ u[::-1],
                    "flip": ~u, "wide": wide, "back": q},
                   {"c": y.astype(np.int32), "s": scale, "z": zero}, opset=21, bound=1e-7)


@test
def casts():
    """Each type to each other one, of numbers that all have."""
    types = {"float32": 1, "float16": 10, "int64": 7, "int32": 6, "int8": 3, "uint8": 2, "bool": 9}
    x = np.array([[0, 1, 5], [7, 100, 3]])
    wrong = []
    groups = (("int64", "int32"), ("float32", "int8"), ("float16", "uint8"), ("bool",))
    for sources in groups if FULL else groups[:1]:
        of = [(a, b) for a in sources for b in types if a != b]
        wrong += checked([("Cast", a, f"{a}_{b}", {"to": types[b]}) for a, b in of],
                         {a: x.astype(a) for a in sources},
                         {f"{a}_{b}": x.astype(a).astype(b) for a, b in of}, opset=13, bound=0)
    return wrong


@test
def whole_numbers_in_order():
    """The first of 32 bits, equal ones by their places; rests of numbers and of what is given."""
    x = random.integers(-5, 5, (3, 40)).astype(np.int64)
    x[:, ::3] += random.integers(-2**31 + 9, 2**31 - 9, (3, 14))
    x[x == 0] = 5
    up, down = np.argsort(x, 1, "stable"), np.argsort(-x, 1, "stable")[:, :7]
    return checked([("TopK", "x seven", "most at"), ("TopK", "x all", " up", {"largest": 0}),
                    ("TopK", "b seven", "small", {"axis": 0}),
                    ("Mod", "x seven", "rest"), ("Mod", "eleven x", "other"),
                    ("Div", "x eleven", "share")],
                   {"x": x, "b": x.astype(np.int8).T.copy()},
                   {"most": np.take_along_axis(x, down, 1), "at": down, "up": up,
                    "small": -np.sort(-x.astype(np.int8).astype(np.int64).T, 0)[:7],
                    "rest": np.mod(x, 7), "other": np.mod(np.int64(11), x),
                    "share": np.trunc(x / 11)},
                   {"seven": np.int64([7]), "all": np.int64([40]), "eleven": np.int64(11)},
                   bound=0)


@test
def normalised_and_scattered():
    """By norms of lines; by what a batch has; by channels around, of what the same program has
    computed; rows put into a cache where each of a batch says."""
    x, cache, rows = noise(2, 3, 4), noise(2, 2, 5, 3), noise(2, 2, 3, 3)
    g, b, mean, var = noise(3), noise(3), noise(3), np.abs(noise(3))
    x[0, 1] = 0  # whose norm is none
    wide = x.astype(np.float64)
    sums = np.abs(wide).sum(2, keepdims=True)
    sides = np.pad(wide**2, ((0, 0), (1, 1), (0, 0)))
    of, by = wide.mean((0, 2)), wide.var((0, 2))
    put = [cache.copy(), cache.copy()]
    for i in range(6):
        put[0][i // 3, :, (2, 1)[i // 3] + i % 3] = rows[i // 3, :, i % 3]
        put[1][i // 3, :, ((4, 3)[i // 3] + i % 3) % 5] = rows[i // 3, :, i % 3]
    return checked([("LpNormalization", "x", "l2", {"axis": 1}), ("LpNormalization", "x", "l1",
                                                                 {"p": 1}),
                    ("BatchNormalization", "x g b m v", "y m2 v2", {"training_mode": 1}),
                    ("Neg", "x", "n"), ("LRN", "n", "near", {"size": 3, "alpha": 1.5}),
                    ("TensorScatter", "c r at", "put"),
                    ("TensorScatter", "c r round", "turned", {"mode": "circular"})],
                   {"x": x, "c": cache, "r": rows, "m": mean, "v": var},
                   {"l2": wide / np.sqrt((wide ** 2).sum(1, keepdims=True)),
                    "l1": wide / (sums + (sums == 0)),
                    "y": (wide - of[:, None]) / np.sqrt(by[:, None] + 1e-5) * g[:, None] +
                         b[:, None],
                    "near": -x / (1 + 0.5 * sum(sides[:, i:i + 3] for i in range(3)))**0.75,
                    "m2": mean * 0.9 + of * 0.1, "v2": var * 0.9 + by * 0.1,
                    "put": put[0], "turned": put[1]},
                   {"g": g, "b": b, "at": np.int64([2, 1]), "round": np.int64([4, 3])}, opset=24)


def few(mantissa, least, largest):
    """The numbers from 0 up of a float of few bits, in order of their bits."""
    codes = np.arange(largest + 1)
    exponent, rest = codes >> mantissa, codes % (1 << mantissa)
    return np.where(exponent > 0, (rest + 2.0**mantissa) * 2.0**np.maximum(exponent - 1, 0),
                    rest) * 2.0**(least - mantissa)


@test
def floats_of_few_bits():
    """To the nearest of 8 or 4 bits, of two the even one, and back; whole numbers of 4 bits with a
    scale for each block. Who computes with such is refused."""
    kinds = {17: (3, -6, 0x7e, np.nan), 18: (3, -7, 0x7f, np.nan), 19: (2, -14, 0x7b, np.inf),
             20: (2, -15, 0x7f, np.nan), 23: (1, 0, 7, 6)}
    parts = [few(*of[:3]) for of in kinds.values()]
    x = np.concatenate([*parts, *((a[1:] + a[:-1]) / 2 for a in parts), np.abs(noise(50)) * 9,
                        [0, 1e6, np.inf, np.nan, 7e4, 460, 1e-9]]).astype(np.float32)
    x = np.concatenate([x, -x])
    made, want = [], {}
    for of, (mantissa, least, largest, beyond) in kinds.items():
        have = few(mantissa, least, largest)
        middle = np.append((have[1:] + have[:-1]) / 2, have[-1] * 2 - (have[-1] + have[-2]) / 2)
        at = np.searchsorted(middle, np.abs(x), "left")
        at += (at < largest + 1) & (np.abs(x) == middle[np.minimum(at, largest)]) & (at % 2 == 1)
        for keeps in (0, 1):
            y = np.append(have, have[-1] if keeps else beyond)[np.minimum(at, largest + 1)]
            y[np.isnan(x)] = 0 if of == 23 else np.nan
            want[f"y{of}_{keeps}"] = np.copysign(y, x)
            made += [("Cast", "x", f"b{of}_{keeps}", {"to": of, "saturate": keeps}),
                     ("Cast", f"b{of}_{keeps}", f"y{of}_{keeps}", {"to": 1})]
    m = Model(made, {"x": x}, " ".join(want), opset=25)
    got, said = m.run() if not m.refused else ({}, m.refused)
    wrong = [f"{name}: {said if not got else (x[bad][:3], got[name][bad][:3], y[bad][:3])}"
             for name, y in want.items()
             if not got or (bad := ~((got[name] == y) | np.isnan(got[name]) & np.isnan(y))).any()]
    q, scale = random.integers(-8, 8, (4, 6)).astype(np.int8), np.abs(noise(2, 6))
    wrong += checked([("Cast", "q", "i", {"to": 22}),
                      ("DequantizeLinear", "i s", "w", {"axis": 0, "block_size": 2})], {},
                     {"w": q * np.repeat(scale, 2, axis=0)}, {"q": q, "s": scale}, opset=25)
    m = Model([("Cast", "x", "b", {"to": 17}), ("Abs", "b", "y")], {"x": x}, "y", opset=25)
    refused = "node 'Abs_1' (Abs): 'b' is float8e4m3fn"
    return wrong + ([] if m.refused == refused else [m.refused or "taken"])


def suppressed(boxes, scores, most, share, least):
    """As ONNX says it: (batch, class, box), of each class the best first."""
    found = []
    for b, c in np.ndindex(scores.shape[:2]):
        kept = []
        for i in np.argsort(-scores[b, c], kind="stable"):
            y, x, y2, x2 = boxes[b].T
            high = np.minimum(y2[i], y2[kept]) - np.maximum(y[i], y[kept])
            wide = np.minimum(x2[i], x2[kept]) - np.maximum(x[i], x[kept])
            both = np.maximum(high, 0) * np.maximum(wide, 0)
            area = (y2 - y) * (x2 - x)
            if len(kept) < most and scores[b, c, i] > least and not (
                    both / (area[i] + area[kept] - both) > share).any():
                kept.append(i)
        found += [(b, c, i) for i in kept]
    return np.array(found, np.int64).reshape(-1, 3)


@test
def concat_of_two_types():
    """Parts of other bytes are refused, not copied in a run."""
    m = Model([("Concat", "a b", "y", {"axis": 0})],
              {"a": np.ones(4, np.float16), "b": np.ones(4, np.int32)}, "y")
    refused = "node 'Concat_0' (Concat): int32 does not go behind float16"
    return [] if m.refused == refused else [m.refused or "taken"]


@test
def what_a_run_finds():
    """Boxes that do not overlap, and what is done with them; truth; one of each: as many as there
    are. Many boxes are several programs a step. What would count them before a run is refused."""
    wrong = []
    for n, most in ((30, 4), (1600, 3)) if FULL else ((30, 4),):
        at = random.random((2, n, 2)).astype(np.float32) * 9
        boxes = np.concatenate([at, at + 1 + random.random((2, n, 2)).astype(np.float32)], 2)
        scores = random.random((2, 3, n)).astype(np.float32)
        want = suppressed(boxes, scores, most, 0.2, 0.9)
        wrong += checked(
            [("NonMaxSuppression", "boxes scores most share least", "found"),
             ("Gather", "found two", "column", {"axis": 1}), ("Squeeze", "column one", "which"),
             ("Gather", "all which", "best", {"axis": 0}), ("Cast", "best", "half", {"to": 10}),
             ("NonMaxSuppression", "boxes scores nought", "none")],
            {"boxes": boxes, "scores": scores, "all": boxes[0]},
            {"found": want, "best": boxes[0][want[:, 2]], "half": boxes[0][want[:, 2]].astype(
                np.float16), "none": np.zeros((0, 3))},
            {"most": np.int64([most]), "share": np.float32([0.2]), "least": np.float32([0.9]),
             "two": np.int64([2]), "one": np.int64([1]), "nought": np.int64([0])}, bound=0)
    x, q = noise(4, 5) > 0, random.integers(0, 4, (7, 2)).astype(np.int64)
    value, first, back, count = np.unique(q[:, 0], True, True, True)
    turn = np.argsort(first)
    made = [("NonZero", "x", "are"), ("NonZero", "no", "no2"), ("NonZero", "c", "known"),
            ("Unique", "u", "v f b n"), ("Unique", "u", "v2  b2", {"sorted": 0}),
            ("Unique", "q", "rows", {"axis": 0}), ("Compress", "q k", "some", {"axis": 0}),
            ("Compress", "q k", "first"), ("Compress", "q no3", "never", {"axis": 1}),
            ("CastLike", "are k", "all"), ("Unique", "k", "two"), ("Unique", "nan", "w   m")]
    k = np.array([1, 0, 0, 1, 1], bool)
    wrong += checked(made, {"x": x, "no": x & False, "q": q, "u": q[:, 0].copy(), "k": k,
                            "nan": np.float32([np.nan, 1, np.nan, -0., 0])},
                     {"are": np.array(x.nonzero()), "no2": np.zeros((2, 0)), "known": [[1, 2]],
                      "v": value, "f": first, "b": back, "n": count, "v2": value[turn],
                      "b2": np.argsort(turn)[back], "rows": np.unique(q, axis=0),
                      "some": q[:5][k], "first": q.ravel()[:5][k], "never": q[:, :0],
                      "all": np.array(x.nonzero()) != 0, "two": [0, 1], "m": [2, 1, 2]},
                     {"c": np.float32([0, 3, 1]), "no3": np.zeros(2, bool)}, bound=0)
    for op, attributes in (("Shape", {}), ("ReduceSum", {"keepdims": 0}), ("Softmax", {})):
        m = Model([("NonZero", "x", "n"), ("Cast", "n", "f", {"to": 1}),
                   (op, "f", "y", attributes)], {"x": x}, "y")
        if m.refused != f"node '{op}_2' ({op}): how many 'f' has is known in a run only":
            wrong.append(f"{op}: {m.refused or 'taken'}")
    far = {"v": np.lib.stride_tricks.as_strided(np.float32(0), (2**30,), (0,))}
    m = Model([("NonZero", "v", "y")], far, "y")  # before memory is asked for
    return wrong + ([] if "1073741824 to choose from" in m.refused else [m.refused or "taken"])


@test
def branches():
    """Of an If the branch that a condition says, which shapes, or what is given, decide."""
    bodies = [(("Neg", "x", "a"),), (("Add", "x c", "b"), ("Relu", "b", "d"))]
    x, c, wrong = noise(3, 4), noise(4), []
    for yes in (True, False):
        branch = {"then_branch": Graph(bodies[0], "a"),
                  "else_branch": Graph(bodies[1], "d", {"c": c})}
        wrong += checked([("Shape", "x", "s"), ("Gather", "s i", "n"), ("Equal", "n k", "is"),
                          ("If", "is", "u", branch), ("Exp", "u", "y")], {"x": x},
                         {"y": np.exp(-x if yes else np.maximum(x + c, 0)).astype(float)},
                         {"i": np.int64(0), "k": np.int64(3 if yes else 4)}, opset=16)
    return wrong


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("nodes"))
