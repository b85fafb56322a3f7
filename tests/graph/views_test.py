#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""views_test.py    what is only another shape, a part or parts side by side is not copied

Reshape, Squeeze, Unsqueeze, Flatten, Identity; Split and Slice of whole pieces; Concat, whose
operands are computed where they lie in it. The performance counters say what was brought from
memory and back: what the other nodes read and write, not a byte more. TAP on stdout."""
import csv
import os
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
random = np.random.default_rng(1)


def moved(work, nodes, x, constants, outputs="y"):
    """The first result; KiB that came from memory, and that went there; or why not."""
    model.write(f"{work}/m.onnx", nodes, {"x": (x.dtype, x.shape)}, outputs, constants, 12)
    np.save(f"{work}/x.npy", x)
    done = subprocess.run([GRAPH, "compile", f"{work}/m.onnx", f"{work}/plan"],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        done = subprocess.run([SALAI, "--tables", work, "--", "graph", f"{work}/plan",
                               f"{work}/x.npy", "-o", f"{outputs.split(' ')[0]}={work}/y.npy"],
                              capture_output=True, text=True, check=False,
                              env=dict(os.environ, CORES="1", PROFILE="", TIMING=""))
    if done.returncode:
        return done.stderr, 0, 0
    with open(f"{work}/Memory.csv", encoding="ascii") as f:
        row = next(csv.DictReader(f))
    return (np.load(f"{work}/y.npy"), float(row["read_main_memory_datas(KB)"]),
            float(row["write_main_memory_datas(KB)"]))


def check(work, name, case, want, kib):
    got, read, written = moved(work, *case)
    wrong = [] if isinstance(got, np.ndarray) and np.array_equal(got, want) else [f"{got}"]
    wrong += [] if (read, written) == kib else [f"{read} and {written} KiB, want {kib}"]
    tap.check(f"views/{name}", wrong)


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    x = random.standard_normal((4, 96, 128)).astype(np.float32)
    relu, flat = np.maximum(x, 0).reshape(8, -1), x.reshape(-1)
    with tempfile.TemporaryDirectory(prefix="views.", dir=f"{ROOT}/build/test") as work:
        check(work, "shapes_parts_side_by_side",
              ([("Reshape", "x s1", "a"), ("Squeeze", "a", "b", {"axes": [0]}),
                ("Relu", "b", "c"), ("Unsqueeze", "c", "d", {"axes": [0]}),
                ("Flatten", "d", "e", {"axis": 2}), ("Split", "e", "f g", {"axis": 0}),
                ("Neg", "f", "h"), ("Abs", "g", "i"), ("Concat", "h i", "j", {"axis": 0}),
                ("Reshape", "j s2", "k"), ("Identity", "k", "y")], x,
               {"s1": np.array([1, 8, 6144]), "s2": np.array([192, 256])}),
              np.concatenate([-relu[:4], abs(relu[4:])]).reshape(192, 256), (384, 384))
        # What is wanted twice, or besides, is copied; so is what begins within a block.
        check(work, "copies_where_they_must_be",
              ([("Reshape", "x s1", "a"), ("Slice", "a b1 e1", "b"), ("Slice", "a b2 e2", "c"),
                ("Neg", "b", "d"), ("Neg", "c", "e"), ("Concat", "d e d x2", "y", {"axis": 0})],
               x, {"s1": np.array([-1]), "b1": np.array([1024]), "e1": np.array([3072]),
                   "b2": np.array([1]), "e2": np.array([2049]),
                   "x2": np.ones(2048, np.float32)}),
              np.concatenate([-flat[1024:3072], -flat[1:2049], -flat[1024:3072],
                              np.ones(2048, np.float32)]), (40, 40))
        whole = np.arange(8192).astype(np.int64)  # of 32 bits: 16 bytes are no block
        check(work, "parts_of_whole_numbers",
              ([("Slice", "x b e", "a"), ("Neg", "a", "c"), ("Slice", "x b2 e2", "d"),
                ("Neg", "d", "f"), ("Concat", "c f", "y", {"axis": 0})], whole,
               {"b": np.array([4]), "e": np.array([1028]), "b2": np.array([2048]),
                "e2": np.array([3072])}),
              -np.concatenate([whole[4:1028], whole[2048:3072]]), (12, 12))
        check(work, "results_besides",
              ([("Neg", "x", "z"), ("Abs", "x", "b"), ("Concat", "z b", "y", {"axis": 0})], x, {},
               "y z"), np.concatenate([-x, abs(x)]), (576, 576))
    return tap.done(4)


sys.exit(main())
