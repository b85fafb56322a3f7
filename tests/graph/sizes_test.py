#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sizes_test.py    one plan for several sizes of a model

Each size gives the bytes and the cycles that a plan of its own gives; others are refused. FULL:
ten sizes of each model. TAP on stdout."""
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402

GRAPH, SALAI = f"{ROOT}/build/graph", f"{ROOT}/tools/salai"
PHASE = 2  # cycles: with another command line a launch begins in another part of one
random = np.random.default_rng(1)


def noise(*shape):
    return random.standard_normal(shape).astype(np.float32)


# name, nodes, shape of x with n, constants, sizes, what --size says of them
MODELS = [
    ("rows", [("MatMul", "x w", "u"), ("Add", "u b", "v"), ("Softmax", "v", "y")], ("n", 24),
     {"w": noise(24, 40), "b": noise(40)}, [1, 7, 16, 3, 100, 33, 64, 5, 128, 250],
     "n=1,7,16,3,100,33,64,5,128,250"),
    ("pictures", [("Conv", "x w", "u", {"pads": [1, 1, 1, 1]}), ("Relu", "u", "v"),
                  ("MaxPool", "v", "p", {"kernel_shape": [2, 2], "strides": [2, 2]}),
                  ("GlobalAveragePool", "p", "y")], (1, 3, 12, "n"), {"w": noise(8, 3, 3, 3)},
     list(range(8, 48, 4)), "n=8..44:4"),
]
BRIEF = 1


def run(*words):
    return subprocess.run(["timeout", "120", *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, CORES="1"))


def compute(work, plan, size):
    """Result and cycles, or why not."""
    done = run(SALAI, "--", "graph", f"{work}/{plan}", f"{work}/x{size}.npy", "-o",
               f"{work}/y.npy")
    if done.returncode:
        return f"status {done.returncode}: {done.stderr}", 0
    with open(f"{work}/y.npy", "rb") as f:
        return f.read(), int(re.search(r"(\d+) cycles, ", done.stdout)[1])


def refused(work, want, *words):
    done = run(*words)
    return [] if done.returncode == 2 and done.stderr == f"{want}\n" else [
        f"{done.returncode}: {done.stderr}, want {want}"]


def several(work, nodes, shape, constants, sizes, option):
    path, wrong = f"{work}/m.onnx", []
    model.write(path, nodes, {"x": (np.float32, shape)}, "y", constants)
    for size in sizes:
        np.save(f"{work}/x{size}.npy", noise(*(size if d == "n" else d for d in shape)))
    done = run(GRAPH, "compile", path, f"{work}/all", "--size", option)
    if done.returncode:
        return [done.stderr]
    for size in sizes if os.environ.get("FULL") else sizes[:BRIEF]:
        run(GRAPH, "compile", path, f"{work}/one", "--size", f"n={size}")
        got, cycles = compute(work, "all", size)
        want, least = compute(work, "one", size)
        if got != want or not isinstance(got, bytes):
            wrong.append(f"n={size}: {got}, want {want}")
        if abs(cycles - least) > PHASE:
            wrong.append(f"n={size}: {cycles} cycles, by itself {least}")
    if os.path.getsize(f"{work}/all") > len(sizes) * os.path.getsize(f"{work}/one"):
        wrong.append(f"{os.path.getsize(f'{work}/all')} bytes")
    other = [2 if d == "n" else d for d in shape]
    np.save(f"{work}/x2.npy", noise(*other))
    texts = [" ".join(str(size if d == "n" else d) for d in shape) for size in sizes]
    return wrong + refused(work, f"graph: {work}/x2.npy: input x is float32 of "
                           f"{', or '.join(texts)}", SALAI, "--", "graph", f"{work}/all",
                           f"{work}/x2.npy", "-o", f"{work}/no.npy")


def what_is_no_size(work):
    """Neither a plan, nor more than a line."""
    path = f"{work}/m.onnx"
    model.write(path, [("MatMul", "x w", "y")], {"x": (np.float32, ("m", "n"))}, "y",
                {"w": noise(4, 5)})
    wrong = refused(work, f"{path}: n=2: node 'MatMul_0' (MatMul): [1, 2] and [4, 5] have no "
                    "product", GRAPH, "compile", path, f"{work}/no", "--size", "m=1", "--size",
                    "n=4,2,8")
    wrong += refused(work, "graph: --size n=1,2: one name alone may have several", GRAPH,
                     "compile", path, f"{work}/no", "--size", "m=3,4", "--size", "n=1,2")
    for text in "n=", "n=1..", "n=4..1", "n=1,,2", "n=0..4", "n=1..4:0", "n=1..99", "n=1,2x":
        done = run(GRAPH, "compile", path, f"{work}/no", "--size", "m=1", "--size", text)
        if done.returncode != 2 or not done.stderr.startswith("usage: graph compile"):
            wrong.append(f"{text}: {done.returncode} {done.stderr}")
    return wrong + ([f"{work}/no is there"] if os.path.exists(f"{work}/no") else [])


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sizes.", dir=f"{ROOT}/build/test") as work:
        for name, *case in MODELS:
            tap.check(f"sizes/{name}", several(work, *case))
        tap.check("sizes/what_is_no_size", what_is_no_size(work))
    return tap.done()


sys.exit(main())
