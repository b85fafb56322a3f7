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
from model import Model  # noqa: E402

random = np.random.default_rng(1)
FULL = os.environ.get("FULL") or len(sys.argv) > 1


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


def differs(got, want, bound):
    """By more than that share of the largest element."""
    if got is None or got.shape != want.shape:
        return f"{None if got is None else got.shape}, want {want.shape}"
    error = np.abs(got.astype(np.float64) - want).max() / max(np.abs(want).max(), 1e-30)
    return "" if error <= bound else f"off by {error:.2g} of the largest element"


# --- tests, each a list of what is wrong ---

TESTS = []


def test(what):
    TESTS.append(what)
    return what


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


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    for one in TESTS:
        if len(sys.argv) < 2 or one.__name__ in sys.argv[1:]:
            tap.check(f"nodes/{one.__name__}", one())
    return tap.done()


sys.exit(main())
