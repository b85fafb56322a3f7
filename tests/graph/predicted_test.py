#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""predicted_test.py    steps take what tools/graph predicts, within 15 %

One run: what the hart records of products, for each tile of another size, and for each chunk of an
operand that lies in L1 as a whole; squares that are transposed; a convolution, a pool; the end of
a launch.
Real models: real_test.py. TAP on stdout."""
import json
import os
import re
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Model  # noqa: E402
from tap import test  # noqa: E402

NEAR = 0.15
random = np.random.default_rng(1)


def noise(*shape, of=np.float32):
    return random.standard_normal(shape).astype(of)


@test
def each_step():
    x = {"x": noise(300, 700, of=np.float16), "g": noise(1, 1536), "r": noise(4, 20, 30),
         "i": noise(1, 16, 28, 28, of=np.float16)}
    constants = {"w": noise(700, 500, of=np.float16), "b": noise(500, of=np.float16),
                 "h": noise(128, 1536), "c": noise(128), "k": noise(32, 16, 3, 3, of=np.float16)}
    m = Model([("MatMul", "x w", "u"), ("Add", "u b", "v"), ("Sigmoid", "v", "y"),
               ("Gemm", "g h c", "s", {"transB": 1}), ("Relu", "s", "z"),
               ("Transpose", "r", "t", {"perm": [2, 0, 1]}), ("Conv", "i k", "n"),
               ("MaxPool", "n", "o", {"kernel_shape": [3, 3], "strides": [2, 2]})], x, "y z t o",
              constants)
    _, said = m.run("--steps")
    took = [int(n) for n in re.findall(r" (\d+) cycles$", said, re.M)]
    steps = json.loads(m.explain("json"))["steps"]
    wrong = [] if len(took) == len(steps) == 7 else [said]
    return wrong + [f"{s['nodes']}: {s['cycles']} cycles predicted, {n} taken"
                    for s, n in zip(steps, took) if abs(s["cycles"] / n - 1) > NEAR]


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("predicted"))
