#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""attention_test.py [NAME]...    attention as exporters take it apart is one step again

Many in a model, each with a result of its own: beside NumPy in double precision, beside the same
model with each node by itself, and what explain.txt says of each. TAP on stdout."""

import os
import re
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Model, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(1)
FULL = os.environ.get("FULL") or len(sys.argv) > 1
B, H, S, T, D = 2, 3, 24, 40, 16
INF = float("inf")


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


def reference(q, k, v, scale, bias):
    """(b, s, h, d), (b, t, h, d), as these lie."""
    q, k, v = (np.moveaxis(x.astype(np.float64), 2, 1) for x in (q, k, v))
    x = scale * q @ np.swapaxes(k, -1, -2) + bias
    e = np.exp(x - x.max(-1, keepdims=True))
    return np.moveaxis(e / e.sum(-1, keepdims=True) @ v, 1, 2)


class Many:
    """Nodes of several, each of q, k and v of its own, (b, s, h d)."""

    def __init__(self, half=False):
        self.type = np.float16 if half else np.float32
        self.inputs, self.constants = {}, {
            "shape": np.array([0, 0, H, D]), "rows": np.array([0, 0, H * D]),
            "heads": np.array([B * H, -1, D]), "headsk": np.array([B * H, D, -1]),
            "deep": np.array([B, H, -1, D]), "four": np.array(4, self.type),
            "quarter": np.array(.25, self.type), "half": np.array(.5, self.type),
            "low": np.array(-6e4, self.type), "none": np.array(0, self.type),
            "never": np.array(-INF, self.type)}
        self.nodes, self.want, self.inside = [], {}, 0

    def node(self, op, operands, to="", **attributes):
        self.inside += not to
        to = to or f"t{self.inside}"
        self.nodes.append((op, operands, to, attributes))
        return to

    def heads(self, x, rows, perm):
        """A new input of so many rows."""
        self.inputs[x] = noise(B, rows, H * D).astype(self.type)
        return self.node("Transpose", self.node("Reshape", f"{x} shape"), perm=perm)

    def add(self, name, scores, keys=T, bias=0., flat=False, turned=True, rows=S,
            zeros=False):
        """scores: nodes from q and k in heads to what the softmax is of."""
        a = self.heads(f"q_{name}", rows, [0, 2, 1, 3])
        b = self.heads(f"k_{name}", keys, [0, 2, 3, 1] if turned else [0, 2, 1, 3])
        b = b if turned else self.node("Transpose", b, perm=[0, 1, 3, 2])
        v = self.heads(f"v_{name}", keys, [0, 2, 1, 3])
        if flat:
            a, b, v = (self.node("Reshape", f"{x} {how}") for x, how in
                       ((a, "heads"), (b, "headsk"), (v, "heads")))
        p = self.node("Softmax", scores(a, b), axis=-1)
        if zeros:
            p = self.node("Where", f"{self.node('IsNaN', p)} none {p}")
        y = self.node("MatMul", f"{p} {v}")
        y = self.node("Reshape", f"{y} deep") if flat else y
        y = self.node("Transpose", y, perm=[0, 2, 1, 3])
        self.node("Reshape", f"{y} rows", name)
        of = [self.inputs[f"{x}_{name}"].reshape(B, -1, H, D) for x in "qkv"]
        want = reference(*of, .25, bias).reshape(B, rows, H * D)
        self.want[name] = np.nan_to_num(want) if zeros else want

    def plain(self, a, b):
        return self.node("Mul", f"{self.node('MatMul', f'{a} {b}')} quarter")

    def checked(self, bound, ways):
        """What differs; and where a way is named, a result that has not gone it."""
        wrong = []
        m = Model(self.nodes, self.inputs, " ".join(self.want), self.constants,
                  wide=self.type)
        got, said = m.run()
        for name, want in self.want.items():
            bad = differs(got.get(name), want, bound)
            wrong += [f"{name}: {bad} {m.refused or said}"] if bad else []
        if m.refused:
            return wrong
        tried = re.findall(r" (joins|does not join) attention: .*: (.*)", m.explain())
        if [said for said, _ in tried] != ["joins"] * len(self.want):
            wrong.append(f"{len(self.want)} wanted: {tried}")
        wrong += [f"no '{way}': {tried}" for way in ways if not any(way in t[1] for t in tried)]
        if FULL and not wrong:
            apart = Model(self.nodes, self.inputs, " ".join(self.want), self.constants,
                          wide=self.type, options=("--no-fusion",)).run()[0]
            for name, one in apart.items():
                bad = differs(got[name], one, bound)
                wrong += [f"{name}: apart {bad}"] if bad else []
        return wrong


def several(m):
    """With all that may be around."""
    masks = {"mask": noise(S, T), "keys": noise(B, 1, 1, T),
             "sees": np.where(np.tri(S, T), 0, -INF).astype(np.float32)}
    m.constants["sees"] = masks["sees"].astype(m.type)
    m.inputs.update({name: masks[name].astype(m.type) for name in ("mask", "keys")})
    bits = random.random((B, 1, S, T)) < .8
    bits[..., 0] = True
    m.inputs["bits"] = bits
    m.add("div", lambda a, b: m.node("Div", m.node("MatMul", f"{a} {b}") + " four"), keys=S)
    m.add("before", lambda a, b: m.node(
        "MatMul", f"{m.node('Mul', f'{a} half')} {m.node('Mul', f'half {b}')}"), turned=False)
    m.add("masked", lambda a, b: m.node("Add", m.plain(a, b) + " mask"), bias=masks["mask"])
    m.add("of_keys", lambda a, b: m.node("Add", "keys " + m.plain(a, b)), bias=masks["keys"])
    m.add("kept", lambda a, b: m.node("Where", f"bits {m.plain(a, b)} low"),
          bias=np.where(bits, 0, -INF))
    m.add("causal", lambda a, b: m.node("Add", m.plain(a, b) + " sees"), bias=masks["sees"])
    m.add("flat", m.plain, flat=True)
    m.add("one_row", m.plain, rows=1)
    few = bits & (np.arange(S) > 2)[:, None]
    m.inputs["few"] = few
    with np.errstate(invalid="ignore"):
        m.add("zeros", lambda a, b: m.node("Where", f"few {m.plain(a, b)} never"),
              bias=np.where(few, 0, -INF), zeros=True)
    return m


# --- tests, each a list of what is wrong ---

@test
def of_float32():
    return several(Many()).checked(2e-6, ["as a loop", "in stages"])


@test
def all_that_a_row_sees_is_hidden():
    """By another mask than the one that hides what comes later: that is not left out then."""
    m, many, low = Many(), 640, np.float32(-3e38)
    first = np.zeros((B, 1, 1, many), np.float32)
    first[0, ..., :9] = first[0, ..., 300:] = low
    later = np.where(np.tri(S, many), 0, low).astype(np.float32)
    m.inputs.update({"first": first, "bits": first == 0})
    m.constants.update({"later": later, "never": np.where(later, -INF, 0).astype(np.float32),
                        "low": np.float32(-1e9)})
    m.add("added", lambda a, b: m.node("Add", m.node("Add", m.plain(a, b) + " later") + " first"),
          keys=many, bias=later.astype(float) + first)
    m.add("chosen", lambda a, b: m.node("Where", "bits " + m.node(
        "Add", m.plain(a, b) + " never") + " low"),
          keys=many, bias=np.where(first, -1e30, np.where(later, -INF, 0)))
    return m.checked(2e-6, [])


@test
def of_float16():
    return several(Many(True)).checked(2e-3, ["as a loop"])


@test
def heads_that_share_keys():
    """As opset 23 has them, side by side or one behind the other: rows of one product are of
    several heads."""
    wrong, q, k, v = [], noise(B, S, 4 * D), noise(B, T, 2 * D), noise(B, T, 2 * D)
    of = [np.repeat(x.reshape(B, -1, n, D), 4 // n, axis=2) for x, n in ((q, 4), (k, 2), (v, 2))]
    want = reference(*of, 1 / np.sqrt(D), 0)
    apart = [np.moveaxis(x.reshape(B, -1, n, D), 2, 1) for x, n in ((q, 4), (k, 2), (v, 2))]
    for inputs, y, heads in (((q, k, v), want.reshape(q.shape), {"q_num_heads": 4,
                                                                 "kv_num_heads": 2}),
                             (apart, np.moveaxis(want, 2, 1), {})):
        m = Model([("Attention", "q k v", "y", heads)], dict(zip("qkv", inputs)), "y", opset=23)
        got, said = m.run()
        bad = differs(got.get("y"), y, 2e-6)
        wrong += [f"{heads}: {bad} {m.refused or said}"] if bad else []
        if not m.refused and not re.search(" joins attention: .*as a loop", m.explain()):
            wrong.append(f"{heads}: {m.explain()}")
    return wrong


@test
def rows_that_see_no_key():
    """0, in each arithmetic, of few keys and of many, the first tiles of which a row may not see;
    rows with NaN in them stay NaN."""
    wrong, seen = [], set()
    for keys, half in ((T, False), (640, False), (640, True)) if not FULL else \
            [(n, half) for n in (1, 17, T, 200, 640, 1500) for half in (False, True)]:
        q, k, v = (noise(B, H, n, 2 * D) for n in (S, keys, keys))
        bias = np.where(random.random((S, keys)) < .3, -INF, noise(S, keys)).astype(np.float32)
        bias[3], bias[4, :-1], bias[5, 1:] = -INF, -INF, -INF
        bias[6] = bias[9] = noise(keys)
        q[0, 1, 6, 0] = np.nan
        with np.errstate(invalid="ignore"):
            want = np.moveaxis(reference(*(np.moveaxis(x, 1, 2) for x in (q, k, v)),
                                         (2 * D) ** -.5, bias), 1, 2)
        nans = np.isnan(q).any(-1)
        want = np.nan_to_num(want)
        for mask in (bias, bias > -INF)[:1 + (keys == T)]:
            m = Model([("Attention", "q k v m", "y")], {"q": q, "k": k, "v": v, "m": mask}, "y",
                      opset=23, options=("--f32", "half") if half else ())
            got, said = m.run()
            y = got.get("y", np.zeros(want.shape))
            if mask.dtype == bool:
                e = np.where(mask, q.astype(float) @ k.swapaxes(2, 3) * (2 * D) ** -.5, -1e300)
                e = np.where(mask, np.exp(e - e.max(-1, keepdims=True)), 0)
                want = np.nan_to_num(e / np.maximum(e.sum(-1, keepdims=True), 1e-30) @ v)
            bad = "" if (np.isnan(y).all(-1) == nans).all() else "NaN elsewhere"
            bad = bad or differs(np.nan_to_num(y), want, 2e-3 if half else 2e-6)
            wrong += [f"{keys} {half} {mask.dtype}: {bad} {m.refused or said}"] if bad else []
            seen |= set(re.findall(r" joins attention: .*: (as a loop|in stages)", m.explain()))
    return wrong + ([] if seen == {"as a loop", "in stages"} else [f"only {seen}"])


@test
def what_is_none():
    """Scores that somebody else reads, a softmax over rows, a mask before the scale."""
    m = Many()
    q, k, v = (m.heads(x, S, p) for x, p in
               (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])))
    scores = m.plain(q, k)
    m.node("MatMul", f"{m.node('Softmax', scores, axis=-1)} {v}", "a")
    m.node("Abs", scores, "b")
    rows = m.node("Softmax", m.node("MatMul", f"{v} {k}"), axis=-2)
    m.node("MatMul", f"{rows} {q}", "c")
    late = m.node("Mul", m.node("Add", m.node("MatMul", f"{q} {k}") + " four") + " half")
    m.node("MatMul", f"{m.node('Softmax', late, axis=-1)} {v}", "d")
    made = Model(m.nodes, m.inputs, "a b c d", m.constants)
    return [] if "\npatterns: 0 " in made.explain() else [made.refused or made.explain()]


sys.exit(tap.main("attention"))
