#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""sizes_test.py    one plan for several sizes of a model

Each size gives the bytes and the cycles that a plan of its own gives; others are refused. FULL:
ten sizes of each model, and of an encoder's layer with two names. TAP on stdout."""
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
FULL = bool(os.environ.get("FULL"))


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
    for size in sizes if FULL else sizes[:BRIEF]:
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
    wrong = refused(work, "graph: --size n=1..11: 44 combinations of sizes, at most 32", GRAPH,
                    "compile", path, f"{work}/no", "--size", "m=1..4", "--size", "n=1..11")
    wrong += refused(work, "graph: --size n=5: that name has a size already", GRAPH, "compile",
                     path, f"{work}/no", "--size", "n=4", "--size", "m=1", "--size", "n=5")
    wrong += refused(work, f"{path}: --size k=4: no input has that dimension, or it has a size",
                     GRAPH, "compile", path, f"{work}/no", "--size", "n=4", "--size", "m=1",
                     "--size", "k=4")
    wrong += refused(work, "graph: -o wants a value", f"{ROOT}/tools/graph/run", path, "-o")
    for text in ("=4", "4", "n=", "n=1..", "n=4..1", "n=1,,2", "n=0..4", "n=1..4:0", "n=1..99",
                 "n=1,2x",
                 "n=99999999999999999999", "n=1..99999999999999999999", "n=4294967297"):
        done = run(GRAPH, "compile", path, f"{work}/no", "--size", "m=1", "--size", text)
        if done.returncode != 2 or \
                done.stderr != f"graph: --size {text}: want NAME=N, NAME=N,N,.. or " \
                               "NAME=FIRST..LAST:STEP\n":
            wrong.append(f"{text}: {done.returncode} {done.stderr}")
    done = run(GRAPH, "compile", path, f"{work}/no", "--no-size")
    if done.returncode != 2 or \
            not done.stderr.startswith("graph: --no-size: no such pass: fusion, "):
        wrong.append(done.stderr)
    return wrong + ([f"{work}/no is there"] if os.path.exists(f"{work}/no") else [])


def names(work):
    """One that the input's begins with; none where a converter has written -1."""
    path, sizes = f"{work}/m.onnx", ("--size", "te=2", "--size", "text.1=3")
    model.write(path, [("Relu", "text", "y")], {"text": (np.float32, ("te", -1))}, "y")
    done = run(GRAPH, "compile", path, f"{work}/plan", *sizes)
    return [done.stderr] if done.returncode else []


def of_inputs(work):
    """Sizes that nobody gave are those of the inputs; a name has one of them."""
    path, wrong = f"{work}/m.onnx", []
    model.write(path, [("Add", "a b", "y")], {"a": (np.float32, ("m", -1)),
                                              "b": (np.float32, ("m", 1))}, "y")
    for name, shape in (("a", (3, 5)), ("b", (3, 1)), ("c", (1, 1)), ("d", (3,))):
        np.save(f"{work}/{name}.npy", noise(*shape))
    plans = []
    for options in (["--size", "m=3", "--size", "a.1=5"],
                    ["--in", f"{work}/a.npy", "--in", f"{work}/b.npy"]):
        wrong += [run(GRAPH, "compile", path, f"{work}/plan", *options).stderr]
        with open(f"{work}/plan", "rb") as f:
            plans.append(f.read())
    wrong += refused(work, f"{path}: {work}/d.npy: it is [3], input 'a' has 2 dimensions", GRAPH,
                     "compile", path, f"{work}/plan", "--in", f"{work}/d.npy")
    wrong = [line for line in wrong if line] + (["other plans"] if plans[0] != plans[1] else [])
    return wrong + refused(work, f"{path}: {work}/c.npy: it is float32 [1, 1], input 'b' float32 "
                           "[3, 1]", GRAPH, "compile", path, f"{work}/plan", "--in",
                           f"{work}/a.npy", "--in", f"{work}/c.npy")


def what_cannot_be(work):
    """A line each with the node and why; the plan is of the others, and none if there are none."""
    path, plan, told = f"{work}/m.onnx", f"{work}/plan", []
    model.write(path, [("MatMul", "x w", "y")], {"x": (np.float32, ("m", "n"))}, "y",
                {"w": noise(4, 5)})
    for n in 2, 8:
        told.append(f"{path}: m={{}}, n={n}: node 'MatMul_0' (MatMul): [{{}}, {n}] and [4, 5] have "
                    "no product")
    want = "".join(f"{line.format(m, m)}\n" for m in (1, 3) for line in told)
    done = run(GRAPH, "compile", path, plan, "--size", "m=1,3", "--size", "n=4,2,8")
    wrong = [] if done.returncode == 0 and done.stderr == want else [f"{done.stderr}, not {want}"]
    for m in 1, 3:
        x = noise(m, 4)
        np.save(f"{work}/x.npy", x)
        done = run(SALAI, "--", "graph", plan, f"{work}/x.npy", "-o", f"{work}/y.npy")
        wrong += [f"m={m}: {done.stderr}"] if done.returncode else []
    os.unlink(plan)
    done = run(GRAPH, "compile", path, plan, "--size", "m=1", "--size", "n=2,8")
    if done.returncode != 2 or done.stderr.count("\n") != 2 or os.path.exists(plan):
        wrong.append(f"{done.returncode}: {done.stderr}")
    return wrong


def linear(name, x, out, fill):
    return [("MatMul", f"{x} {name}", f"{out}.p"), ("Add", f"{out}.p {fill}", out)]


def layer():
    """An encoder's: four heads of 32, lengths and a batch that it only names."""
    heads = []
    for of in "qkv":
        heads += linear(f"w{of}", "x", of, "b") + [
            ("Reshape", f"{of} heads", f"{of}h"),
            ("Transpose", f"{of}h", f"{of}t", {"perm": [0, 2, 3, 1] if of == "k" else
                                               [0, 2, 1, 3]})]
    nodes = heads + [
        ("MatMul", "qt kt", "s"), ("Div", "s root", "d"), ("Softmax", "d", "a"),
        ("MatMul", "a vt", "o"), ("Transpose", "o", "ot", {"perm": [0, 2, 1, 3]}),
        ("Reshape", "ot rows", "of"), *linear("wo", "of", "u", "b"), ("Add", "u x", "r"),
        ("LayerNormalization", "r g b", "h"), *linear("w1", "h", "m", "b1"),
        ("Div", "m two", "e"), ("Erf", "e", "f"), ("Add", "f one", "i"), ("Mul", "m i", "j"),
        *linear("w2", "j", "z", "b"), ("Add", "z h", "t"), ("LayerNormalization", "t g b", "y")]
    constants = {f"w{of}": noise(128, 128) / np.float32(12) for of in "qkvo"}
    constants |= {"w1": noise(128, 512) / np.float32(12), "w2": noise(512, 128) / np.float32(24),
                  "b": noise(128), "b1": noise(512), "g": noise(128),
                  "heads": np.array([0, 0, 4, 32]), "rows": np.array([0, 0, 128]),
                  "root": np.float32(5.66), "two": np.float32(1.414), "one": np.float32(1)}
    return nodes, constants


def names_of_two(work):
    """Ten sizes of an encoder's layer, two names bound together: each as fast as its own plan."""
    nodes, constants = layer()
    path, wrong, worst = f"{work}/layer.onnx", [], 1.0
    model.write(path, nodes, {"x": (np.float32, ("batch", "length", 128))}, "y", constants, 17)
    lengths = (16, 24, 40, 64, 128)
    done = run(GRAPH, "compile", path, f"{work}/all", "--size", "batch=1,3", "--size",
               f"length={','.join(map(str, lengths))}")
    if done.returncode or done.stderr:
        return [done.stderr]
    for batch in (1, 3):
        for length in lengths:
            size = batch * 1000 + length
            np.save(f"{work}/x{size}.npy", noise(batch, length, 128))
            run(GRAPH, "compile", path, f"{work}/one", "--size", f"batch={batch}", "--size",
                f"length={length}")
            got, cycles = compute(work, "all", size)
            want, least = compute(work, "one", size)
            wrong += [] if got == want and cycles else [f"{batch}, {length}: {got} {want}"]
            worst = min(worst, least / max(cycles, 1))
    tap.say(f"# {100 * worst:.2f} % as fast as a plan of its own")
    return wrong + ([] if worst >= 0.9 else [f"{worst}"])


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sizes.", dir=f"{ROOT}/build/test") as work:
        for name, *case in MODELS:
            tap.check(f"sizes/{name}", several(work, *case))
        for one in [what_is_no_size, names, of_inputs, what_cannot_be] + [names_of_two] * FULL:
            tap.check(f"sizes/{one.__name__}", one(work))
    return tap.done(6)


sys.exit(main())
