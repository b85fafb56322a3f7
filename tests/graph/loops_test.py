#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""loops_test.py [NAME]...    graphs within nodes that have turns, and sequences of tensors

Both are there while a plan is made only: Loop, Scan and SequenceMap become their turns, one behind
the other, sequences the tensors that they hold. Results beside NumPy's; what a run would have to
tell is refused in one line. TAP on stdout."""

import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Graph, Model, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(7)
whole, number = np.int64, np.float32


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


def checked(nodes, inputs, want, constants=None, opset=16):
    m = Model(nodes, inputs, " ".join(want), constants, opset=opset)
    got, said = m.run() if not m.refused else ({}, m.refused)
    bad = {name: differs(got.get(name), np.asarray(array, np.float64), 2e-6)
           for name, array in want.items()}
    return [f"{name}: {what} {said}" for name, what in bad.items() if what]


def refused(nodes, inputs, output, constants, want, opset=16):
    m = Model(nodes, inputs, output, constants, opset=opset)
    return [] if want in m.refused else [f"{want}: {m.refused or 'taken'}"]


# --- tests, each a list of what is wrong ---

@test
def loops():
    """As often as a shape says, or while a number is small; what turns leave; weights that all
    turns share, and tensors from outside; a loop in a loop, none at all."""
    x, w, c = noise(3, 4), noise(4, 4) / 4, noise(4)
    step = Graph([("MatMul", "h w", "m"), ("Add", "m c", "a"), ("Tanh", "a", "h2"),
                  ("ReduceSum", "h2", "s", {"keepdims": 0}), ("Identity", "more", "more2"),
                  ("Cast", "i", "f", {"to": 1}), ("Mul", "s f", "left")], "more2 h2 left",
                 {"w": w}, "i more h")
    h, left = x.astype(float), []
    for i in range(5):
        h = np.tanh(h @ w + c)
        left.append(h.sum() * i)
    to_limit = Graph([("Add", "n three", "n2"), ("Less", "n2 limit", "more2"),
                      ("Mul", "v v", "v2")], "more2 n2 v2", {"three": whole(3)}, "i more n v")
    inner = Graph([("Add", "u x", "u2"), ("Identity", "more", "more2")], "more2 u2", None,
                  "j more u")
    outer = Graph([("Loop", "i  v", "v2", {"body": inner}), ("Neg", "v2", "v3"),
                   ("Identity", "go", "go2")], "go2 v3", None, "i go v")
    nested = x * 0
    for i in range(4):
        nested = -(nested + i * x.astype(float))
    return checked(
        [("Shape", "five", "n"), ("Squeeze", "n", "turns"),
         ("Loop", "turns yes x", "h left", {"body": step}),
         ("Loop", " yes zero half", "n3 v", {"body": to_limit}),
         ("Loop", "four  nothing", "nested", {"body": outer}),
         ("Loop", "none yes x", "as", {"body": inner})],
        {"x": x, "five": noise(5), "half": number([0.5, 2])},
        {"h": h, "left": left, "n3": 9, "v": number([0.5, 2]) ** 8, "nested": nested, "as": x},
        {"c": c, "yes": np.array(True), "zero": whole(0), "four": whole(4), "none": whole(0),
         "limit": whole(8), "nothing": x * 0})


@test
def scans():
    """Over rows and over columns, from the end, with results along another axis."""
    x, y = noise(4, 3), noise(2, 4)
    body = Graph([("Add", "h a", "h2"), ("Concat", "h2 b", "both", {"axis": 0}),
                  ("Mul", "h2 h2", "q")], "h2 both q", None, "h a b")
    h, both, q = np.zeros(3), [], []
    for i in range(4):
        h = h + x[i]
        both.append(np.concatenate([h, y[:, 3 - i]]))
        q.insert(0, h * h)
    return checked(
        [("Scan", "zero x y", "h both q",
          {"body": body, "num_scan_inputs": 2, "scan_input_axes": [0, -1],
           "scan_input_directions": [0, 1], "scan_output_axes": [1, 0],
           "scan_output_directions": [0, 1]})],
        {"x": x, "y": y}, {"h": h, "both": np.array(both).T, "q": q}, {"zero": np.zeros(3, number)})


@test
def sequences():
    """Made, taken apart, joined, also of more than a node may read, and gone through."""
    x, y, wide = noise(3, 4), noise(3, 4), noise(70, 2)
    twice = Graph([("Add", "a b", "c"), ("Mul", "c k", "d"), ("Shape", "a", "s")], "d s", None,
                  "a b")
    wrong = checked(
        [("SequenceConstruct", "x y", "two"), ("SequenceInsert", "two z one", "three"),
         ("SequenceInsert", "three x", "four"), ("SequenceErase", "four zero", "last"),
         ("SequenceErase", "last", "less"), ("SequenceLength", "four", "n"),
         ("SequenceAt", "last minus", "at"), ("ConcatFromSequence", "less", "rows", {"axis": 0}),
         ("ConcatFromSequence", "four", "stacked", {"axis": -1, "new_axis": 1}),
         ("SplitToSequence", "wide", "all", {"keepdims": 0}),
         ("ConcatFromSequence", "all", "again", {"axis": 0, "new_axis": 1}),
         ("SplitToSequence", "x sizes", "parts", {"axis": 1}), ("SequenceAt", "parts one", "part"),
         ("SplitToSequence", "wide thirty", "thirds"), ("SequenceAt", "thirds minus", "third"),
         ("SequenceEmpty", "", "no"), ("SequenceInsert", "no y", "single"),
         ("Identity", "single", "same"), ("SequenceAt", "same zero", "y2"),
         ("SequenceMap", "two y", "sums shapes", {"body": twice}),
         ("ConcatFromSequence", "sums", "sum", {"axis": 0}), ("SequenceAt", "shapes one", "shape"),
         ("Optional", "two", "maybe"), ("OptionalHasElement", "maybe", "is"),
         ("OptionalGetElement", "maybe", "sure"), ("SequenceAt", "sure zero", "x2")],
        {"x": x, "y": y, "wide": wide},
        {"rows": np.concatenate([x * 0, y]), "n": 4, "at": x, "stacked": np.stack(
            [x, x * 0, y, x], -1), "again": wide, "part": x[:, 1:3], "third": wide[60:], "y2": y,
         "sum": np.concatenate([x + y, y + y]) * 3, "shape": [3, 4], "is": True, "x2": x},
        {"z": x * 0, "zero": whole(0), "one": whole(1), "minus": whole(-1), "thirty": whole(30),
         "sizes": whole([1, 2, 1, 0]), "k": number(3)}, opset=18)
    two = [("SequenceConstruct", "x x", "s")]
    for nodes, output, want in (
            (two, "s", "output 's' is a sequence, which no run leaves"),
            ([*two, ("Relu", "s", "y")], "y", "node 'Relu_1' (Relu): 's' is a sequence"),
            ([("SequenceAt", "x one", "y")], "y", "(SequenceAt): 'x' is no sequence"),
            ([*two, ("SequenceAt", "s five", "y")], "y", "(SequenceAt): place 5 of 2"),
            ([*two, ("SequenceInsert", "s x far", "t"), ("SequenceAt", "t one", "y")], "y",
             "(SequenceInsert): place 3 of 3"),
            ([*two, ("SequenceInsert", "s x before", "t"), ("SequenceAt", "t one", "y")], "y",
             "(SequenceInsert): place -3 of 2"),
            ([*two, ("ReduceMax", "x", "m"), ("Cast", "m", "i", {"to": 7}),
              ("SequenceAt", "s i", "y")], "y", "'i', which its shape depends on, is known in a")):
        wrong += refused(nodes, {"x": x}, output,
                         {"one": whole(1), "five": whole(5), "far": whole(3),
                          "before": whole(-3)}, want)
    return wrong


@test
def what_has_no_end():
    """Turns of which a run would tell, too many of them, none that tells a shape."""
    x = noise(2)
    body = Graph([("Add", "v x", "w"), ("Less", "w ten", "all"), ("Cast", "all", "f", {"to": 1}),
                  ("ReduceMin", "f", "g", {"keepdims": 0}), ("Cast", "g", "more2", {"to": 9})],
                 "more2 w", None, "i more v")
    ever = Graph([("Add", "v x", "w"), ("Identity", "more", "more2")], "more2 w w", None,
                 "i more v")
    wrong = []
    for want, made, most in (
            ("which its shape depends on, is known in a run only", body, ""),
            ("(Loop): turn 1365: graphs within others would become more than 4096 nodes", ever, ""),
            ("(Loop): no turn, of which 'y2' would have its shape", ever, "none")):
        wrong += refused([("Loop", f"{most} yes x", "y" if made == body else "y y2",
                           {"body": made})], {"x": x}, "y",
                         {"yes": np.array(True), "ten": number(10), "none": whole(0)}, want)
    return wrong


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("loops"))
