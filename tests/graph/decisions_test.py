#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""decisions_test.py [--table] [PATTERN]...    what tools/graph decides to fuse, beside measurements

Nine patterns of eight sizes on three chips. A point is a model, made in groups as predictions
decide, with every group that moves fewer bytes, and with each node by itself. A decision is right
if its steps take no more than 2 % longer than those of the best of the three. At least 95 % are.
--table prints the least size from which groups are faster, for each chip, and how often a table of
sizes known from articles is right. TAP on stdout."""
import concurrent.futures
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
SIZES, CHIPS = (8, 16, 24, 32, 48, 64, 96, 128), ("a2", "ascend910", "ascend310")
WAYS = {"decided": [], "groups": ["--rule", "bytes", "--threshold", "0"], "nodes": ["--no-fusion"]}
NEAR, RIGHT = 1.02, 0.95
# Least size by articles; None: never. Chips that they do not name are as the larger one.
ARTICLES = {"conv_bn_relu": {"a2": 32, "ascend910": 32, "ascend310": 16},
            "matmul_add": {"a2": 64, "ascend910": 64, "ascend310": None},
            "long_chain": {"a2": 128, "ascend910": 128, "ascend310": None}}


def noise(*shape):
    return (0.5 * np.random.default_rng(len(shape)).standard_normal(shape)).astype(np.float32)


def chain(ops, start="x"):
    """Each of the value before it: a name, or (name, another operand)."""
    nodes = []
    for i, op in enumerate(ops):
        op, *other = (op,) if isinstance(op, str) else op
        out = "y" if i + 1 == len(ops) else f"t{i}"
        nodes.append((op, " ".join([start, *other]), out))
        start = out
    return nodes


def batch_norm(n):
    return {"g": 1 + noise(n) / 9, "e": noise(n), "m": noise(n), "v": np.abs(noise(n)) + 1}


def patterns(n):
    """name: (nodes, shape of x, constants)"""
    return {
        "conv_bn_relu": ([("Conv", "x w", "u", {"pads": [1, 1, 1, 1]}),
                          ("BatchNormalization", "u g e m v", "t"), ("Relu", "t", "y")],
                         (1, 4, n, n), {"w": noise(8, 4, 3, 3), **batch_norm(8)}),
        "conv_silu": ([("Conv", "x w", "u"), ("Sigmoid", "u", "s"), ("Mul", "u s", "y")],
                      (1, 8, n, n), {"w": noise(16, 8, 1, 1)}),
        "matmul_add": (chain([("MatMul", "w"), ("Add", "b")]), (n, n),
                       {"w": noise(n, n), "b": noise(n)}),
        "matmul_gelu": ([("MatMul", "x w", "t"), ("Add", "t b", "u"), ("Erf", "u", "r"),
                         ("Add", "r b", "s"), ("Mul", "s u", "y")],
                        (n, n), {"w": noise(n, 2 * n), "b": noise(2 * n)}),
        "layernorm": ([("ReduceMean", "x", "m", {"axes": [1]}), ("Sub", "x m", "d"),
                       ("Mul", "d d", "q"), ("ReduceMean", "q", "v", {"axes": [1]}),
                       ("Sqrt", "v", "r"), ("Div", "d r", "z"), ("Mul", "z g", "y")],
                      (n, 8 * n), {"g": noise(8 * n)}),
        "softmax_mask": (chain([("Mul", "a"), ("Add", "b"), "Softmax"]), (n, 4 * n),
                         {"a": noise(4 * n), "b": noise(n, 4 * n)}),
        "residual": (chain(["Relu", ("Add", "x"), "Tanh"]), (n, 8 * n), {}),
        "matmul_layernorm": ([("MatMul", "x w", "u"), ("Add", "u b", "v"),
                              ("LayerNormalization", "v g e", "y")], (n, 2 * n),
                             {"w": noise(2 * n, 4 * n), "b": noise(4 * n), "g": noise(4 * n),
                              "e": noise(4 * n)}),
        "long_chain": (chain([("Mul", "a"), "Tanh", ("Add", "b"), "Sigmoid", ("Sub", "a"), "Abs",
                              ("Mul", "b"), "Exp", ("Add", "a"), "Relu", ("Mul", "a"), "Neg"]),
                       (n, 8 * n), {"a": noise(n, 8 * n), "b": noise(8 * n)}),
    }


def cycles(work, chip, options):
    """Of all steps, and how many steps there are."""
    env = dict(os.environ, PROFILE=chip, CORES="1")
    plan = f"{work}/plan"
    done = subprocess.run([GRAPH, "compile", f"{work}/m.onnx", plan, "--profile", chip, *options],
                          capture_output=True, text=True, check=False)
    if done.returncode == 0:
        done = subprocess.run([SALAI, "--", "graph", plan, f"{work}/x.npy", "--steps"], env=env,
                              capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    found = [int(n) for n in re.findall(r"^  .* (\d+) cycles$", done.stdout, re.M)]
    return sum(found), len(found)


def point(job):
    """The cycles of each way; groups: whether what was decided has any."""
    name, size, chip = job
    nodes, shape, constants = patterns(size)[name]
    # Products in a type that the Cube has.
    of = np.float16 if name.startswith("matmul") and chip != "a2" else np.float32
    constants = {name: array.astype(of) for name, array in constants.items()}
    with tempfile.TemporaryDirectory(prefix="point.", dir=f"{ROOT}/build/test") as work:
        model.write(f"{work}/m.onnx", nodes, {"x": (of, shape)}, "y", constants, 17)
        np.save(f"{work}/x.npy", noise(*shape).astype(of))
        took = {way: cycles(work, chip, options) for way, options in WAYS.items()}
    return job, took


def by_articles(job, took):
    """None: they say nothing of it; whether they are right."""
    name, size, chip = job
    if name not in ARTICLES:
        return None
    least = ARTICLES[name][chip]
    fuses = least is not None and size >= least
    best = min(c for c, _ in took.values())
    return (min(took["decided"][0], took["groups"][0]) if fuses else took["nodes"][0]) <= \
        NEAR * best


def table(points):
    """From which size on groups are faster, and no slower in any larger one."""
    print("| pattern | " + " | ".join(CHIPS) + " |\n|---|" + "---|" * len(CHIPS))
    for name in patterns(8):
        row = []
        for chip in CHIPS:
            least = None
            for size in reversed(SIZES):
                took = points[name, size, chip]
                if min(took["decided"][0], took["groups"][0]) >= took["nodes"][0]:
                    break
                least = size
            row.append(f"from {least}" if least else "no")
        print(f"| {name} | {' | '.join(row)} |")
    known = [w for w in (by_articles(job, took) for job, took in points.items()) if w is not None]
    print(f"articles: right at {sum(known)} of {len(known)} points")


def main():
    only = [word for word in sys.argv[1:] if word != "--table"]
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    jobs = [(name, size, chip) for name in patterns(8) for size in SIZES for chip in CHIPS
            if not only or name in only]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        points = dict(pool.map(point, jobs))
    if "--table" in sys.argv:
        table(points)
    wrong = []
    for job, took in points.items():
        best = min(c for c, _ in took.values())
        if took["decided"][0] > NEAR * best:
            wrong.append(f"{' '.join(map(str, job))}: {took['decided'][0]} cycles, by groups "
                         f"{took['groups'][0]}, by nodes {took['nodes'][0]}")
    right = len(points) - len(wrong)
    tap.say(f"# {right} of {len(points)} decisions are right")
    if wrong and right >= RIGHT * len(points):
        tap.say("\n".join(f"# {line}" for line in wrong))
    tap.check("decisions/95_percent_are_right",
              [] if right >= RIGHT * len(points) else wrong)
    return tap.done()


sys.exit(main())
