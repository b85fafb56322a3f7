#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""operands_test.py [NAME]...    types of operands, such as are empty and such as are left out

As in plan_test.py. TAP on stdout."""

import os
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import GRAPH, Graph, Model  # noqa: E402

random = np.random.default_rng(1)


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


# --- tests, each a list of what is wrong ---

def whole_numbers_of_32_bits():
    """A constant that int32 has not is refused, in an array and as a number of a program."""
    wrong = []
    for value, good in ((2**31 - 1, True), (-2**31, True), (2**31, False), (2**32 - 1, False)):
        for shape in ((3,), ()):
            m = Model([("Max", "x c", "y")], {"x": np.zeros(3, np.int64)}, "y",
                      {"c": np.full(shape, value, np.int64)})
            if good and m.refused:
                wrong.append(f"{value}: {m.refused}")
            elif good:
                out, said = m.run()
                if not out or (out["y"] != max(value, 0)).any():
                    wrong.append(f"{value}: {out or said}")
            elif m.refused != f"'c' holds {value}: whole numbers have 32 bits here":
                wrong.append(f"{value}: {m.refused or 'taken'}")
    return wrong


def bfloat16_comes_and_goes_as_float32():
    """NumPy has no such type; a number between two is rounded to the even one."""
    x = np.array([1, -2.5, 1 + 2**-8, 1 + 3 * 2**-8, 3e38, np.inf], np.float32)
    want = np.array([1, -2.5, 1, 1 + 2**-6, np.uint32(0x7f620000).view(np.float32), np.inf],
                    np.float32)
    m = Model([("Abs", "x", "y")], {"x": x}, "y", wide="bfloat16")
    out, said = m.run()
    given = m.call(GRAPH, "compile", f"{m.work}/m.onnx", f"{m.work}/again", "--in",
                   f"{m.work}/x.npy")
    return (([] if np.array_equal(out.get("y"), abs(want)) else [f"{out or said}"]) +
            ([f"with its value: {given.stderr}"] if given.returncode else []))


def what_is_left_out():
    """A result that nobody wants has its part all the same; operands are counted without it."""
    x, wrong = noise(9, 2), []
    for c in ({}, {"x": x}):
        m = Model([("Split", "x", "a  c", {"axis": 0})], {} if c else {"x": x}, "a c", c)
        out, said = m.run() if not m.refused else ({}, m.refused)
        if not (np.array_equal(out.get("a"), x[:3]) and np.array_equal(out.get("c"), x[6:])):
            wrong.append(f"Split: {out or said}")
    w, r = noise(1, 12, 3), noise(1, 12, 4)
    m = Model([("GRU", "x w r    ", "y")], {"x": noise(2, 1, 3)}, "y", {"w": w, "r": r})
    if "operand 6 is one too many" not in m.refused:
        wrong.append(f"GRU: {m.refused or 'taken'}")
    branches = {"then_branch": Graph((("Neg", "x", "a"), ("Abs", "x", "b")), "a b"),
                "else_branch": Graph((), "x x")}
    m = Model([("If", "is", " y", branches)], {"x": x}, "y", {"is": np.array(True)})
    out, said = m.run() if not m.refused else ({}, m.refused)
    return wrong + ([] if np.array_equal(out.get("y"), abs(x)) else [f"If: {out or said}"])


def names_within():
    """Graphs within nodes have names of their own, which others may have, and those around."""
    x = noise(2, 3)

    def branches(*then):
        return {"then_branch": Graph(then, "b", {"c": x}), "else_branch": Graph((), "x")}

    inner = branches(("Abs", "a", "d"), ("Mul", "d c", "b"))
    m = Model([("If", "is", "u", branches(("Neg", "x", "a"), ("Mul", "a c", "b"))),
               ("If", "is", "y", branches(("Add", "u x", "a"), ("If", "is", "b", inner)))],
              {"x": x}, "y u", {"is": np.array(True)})
    out, said = m.run() if not m.refused else ({}, m.refused)
    want = {"u": -x * x, "y": abs(x - x * x) * x}
    good = out and all(np.allclose(out[name], want[name]) for name in want)
    return [] if good else [f"{out or said}"]


def what_has_no_elements():
    """Sums of it are constants, one has it joined as nothing; it has neither windows nor
    products."""
    x, wrong = np.zeros((2, 0, 3), np.float32), []
    for op, want in (("ReduceSum", 0), ("ReduceMax", -np.inf), ("ReduceProd", 1)):
        m = Model([(op, "x", "y", {"axes": [1]})], {"x": x}, "y", opset=11)
        out, said = m.run() if not m.refused else ({}, m.refused)
        if not np.array_equal(out.get("y"), np.full((2, 1, 3), want, np.float32)):
            wrong.append(f"{op}: {out.get('y', said)}")
    m = Model([("Concat", "x z", "y", {"axis": 1})], {"x": x, "z": noise(2, 5, 3)}, "y")
    wrong += [] if m.run()[0]["y"].shape == (2, 5, 3) else ["joined"]
    m = Model([("AveragePool", "x", "y", {"kernel_shape": [3], "pads": [3, 3]})],
              {"x": np.zeros((1, 2, 0), np.float32)}, "y")
    wrong += [] if "which has no elements" in m.refused else [f"windows: {m.refused}"]
    for op, shape, w, attributes in (("MatMul", (2, 3, 0), (0, 4), {}),
                                     ("Einsum", (5, 0), (0, 3), {"equation": "ij,jk->ik"}),
                                     ("Conv", (2, 0, 5, 5), (3, 0, 3, 3), {"pads": [1] * 4})):
        m = Model([(op, "x w", "y", attributes)], {"x": np.zeros(shape, np.float32)}, "y",
                  {"w": np.zeros(w, np.float32)})
        wrong += [] if "that has no elements" in m.refused else [f"{op}: {m.refused}"]
    return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    for one in (whole_numbers_of_32_bits, bfloat16_comes_and_goes_as_float32, what_is_left_out,
                names_within, what_has_no_elements):
        if len(sys.argv) < 2 or one.__name__ in sys.argv[1:]:
            tap.check(f"operands/{one.__name__}", one())
    return tap.done(5)


sys.exit(main())
