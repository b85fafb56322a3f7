#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""packed_test.py    large weights, which stay as the file has them until a plan is written

Where a file lists values, each of them a number of the message, nothing of that is done: the plan
has to be the same. TAP on stdout."""
import functools
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

GRAPH = f"{ROOT}/build/graph"
raw, varint = model.tensor, functools.cache(model.varint)
random = np.random.default_rng(1)


def listed(name, array):
    """float_data, or int32_data."""
    if array.dtype == np.float16:
        numbers = (5, b"".join(varint(v) for v in array.view(np.uint16).ravel().tolist()))
    elif array.dtype == np.float32:
        numbers = (4, array.tobytes())
    elif array.dtype.itemsize == 1 and array.size > 1:
        numbers = (5, b"".join(varint(v) for v in array.ravel().tolist()))
    else:
        return raw(name, array)
    return (b"".join(model.field(1, int(d)) for d in array.shape) +
            model.field(2, model.TYPES[str(array.dtype)]) + model.field(8, name) +
            model.field(*numbers))


def twice(name, array):
    """Values in the message twice: the last ones count."""
    return raw(name, array)[:-array.nbytes] + bytes(array.nbytes) + model.field(9, array.tobytes())


def plan(folder, nodes, x, outputs, weights, how, options=()):
    model.tensor = how
    model.write(f"{folder}/m.onnx", nodes, {"x": (x[0], x[1:])}, outputs, weights)
    model.tensor = raw
    done = subprocess.run([GRAPH, "compile", f"{folder}/m.onnx", f"{folder}/plan", *options],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        return done.stderr
    with open(f"{folder}/plan", "rb") as f:
        return f.read()


def noise(kind, *shape):
    values = random.standard_normal(shape).astype(kind)
    values.ravel()[:3] = np.array([1e5, -1e5, np.inf] if kind == np.float32 else 1)
    return values


def models(kind):
    c = 72
    one = [random.random(c).astype(kind) + np.ones(1, kind) for _ in range(4)]
    norm = dict(zip(("s", "b", "m", "v"), one))
    w, image = {"w": noise(kind, c, c, 3, 3)}, (kind, 1, c, 6, 6)
    yield "conv", [("Conv", "x w", "y")], image, "y", w
    yield "behind", [("Conv", "x w", "u"), ("BatchNormalization", "u s b m v", "y")], image, "y", \
        w | norm
    yield "in_front", [("BatchNormalization", "x s b m v", "u"), ("Conv", "u w", "y")], image, \
        "y", w | norm
    yield "transposed", [("ConvTranspose", "x w", "u"), ("BatchNormalization", "u s b m v", "y")], \
        image, "y", w | norm
    w = {"w": noise(kind, 128, 256)}
    yield "gemm", [("Gemm", "x w", "y")], (kind, 16, 128), "y", w
    yield "matmul", [("MatMul", "x w", "y")], (kind, 16, 128), "y", w
    yield "turned", [("Transpose", "w", "u", {"perm": [1, 0]}), ("MatMul", "x u", "y")], \
        (kind, 16, 256), "y", w
    yield "shared", [("MatMul", "x w", "u"), ("Add", "u w", "v"), ("MatMul", "x w", "t"),
                     ("Mul", "v t", "y")], (kind, 128, 128), "y", w
    yield "added", [("Add", "x w", "y")], (kind, 128, 256), "y", w
    yield "given", [("MatMul", "x w", "y")], (kind, 16, 128), "y w", w


def whole(kind):
    """Of 8 bits, to be added up beforehand."""
    w = {"w": random.integers(np.iinfo(kind).min, np.iinfo(kind).max, (72, 72, 3, 3), kind),
         "v": random.integers(np.iinfo(kind).min, np.iinfo(kind).max, (128, 256), kind),
         "z": np.uint8(3), "o": kind(5)}
    yield "conv", [("ConvInteger", "x w z o", "y")], (np.uint8, 1, 72, 6, 6), "y", w
    yield "matmul", [("MatMulInteger", "x v z o", "y")], (np.uint8, 16, 128), "y", w


def same_plans(folder):
    wrong = []
    for kind, options, how in ((np.int8, [], raw), (np.uint8, [], raw),
                               (np.float32, [], raw),
                               (np.float32, ["--f32", "half"], raw),
                               (np.float32, ["--profile", "ascend310"], raw),
                               (np.float16, [], twice)):
        for name, *of in (whole if kind in (np.int8, np.uint8) else models)(kind):
            want, got = (plan(folder, *of, as_, options) for as_ in (listed, how))
            if got != want or not isinstance(got, bytes):
                wrong.append(f"{name} {np.dtype(kind)} {options} {how.__name__}")
    return wrong


def refuses(folder):
    """What is no model as it was before values were cut."""
    nodes, x = [("MatMul", "x w", "y")], (np.float32, 16, 128)
    w = {"w": noise(np.float32, 128, 256)}
    wrong = []
    for what, how, want in (
            ("few", lambda n, a: raw(n, a)[:-a.nbytes - 4] + model.field(9, a.tobytes()[4:]),
             "has values of 32767 elements"),
            ("odd", lambda n, a: raw(n, a)[:-a.nbytes - 4] + model.field(9, a.tobytes()[1:]),
             "has values of 32767 elements"),
            ("ends", lambda n, a: raw(n, a)[:-8], "is no ONNX model")):
        said = plan(folder, nodes, x, "y", w, how)
        wrong += [] if isinstance(said, str) and want in said else [f"{what}: {said[:80]}"]
    return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    for one in same_plans, refuses:
        with tempfile.TemporaryDirectory(prefix="packed.", dir=f"{ROOT}/build/test") as folder:
            tap.check(f"packed/{one.__name__}", one(folder))
    return tap.done(2)


sys.exit(main())
