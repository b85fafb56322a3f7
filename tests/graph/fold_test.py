#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""fold_test.py    what passes make of large weights, beside the model in double precision

Constants are read out of the plan, so nothing is run: outputs of a layer of 3 billion products a
picture are computed at some places alone. TAP on stdout."""
import os
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402

GRAPH, BOUND, SAMPLES = f"{ROOT}/build/graph", 1e-5, 200
random = np.random.default_rng(1)


def constants(path):
    """Of a plan, kernels/graph/plan.h: arrays of fp32 by name."""
    with open(path, "rb") as f:
        data = f.read()
    tensors, _, texts = struct.unpack_from("<3Q", data, 40)
    count, = struct.unpack_from("<I", data, 80)
    found = {}
    for i in range(count):
        at, name, kind, _, rank, place, *size = struct.unpack_from("<QI4B8I", data,
                                                                   tensors + 48 * i)
        name = data[texts + name:data.index(b"\0", texts + name)].decode()
        if place == 0 and kind == F32:
            n = int(np.prod(size[:rank]))
            found[name] = np.frombuffer(data, np.float32, n, at).reshape(size[:rank])
    return found


def number_of(name):
    """Of a type, in the contract."""
    with open(f"{ROOT}/hal/contract/type.def", encoding="ascii") as f:
        return int(re.search(rf"^TYPE\({name}, (\d+)", f.read(), re.M)[1])


def compile_model(work, nodes, shape, weights, opset=13):
    """Constants of its plan, and how many parameters there were and are."""
    model.write(f"{work}/m.onnx", nodes, {"x": (np.float32, shape)}, "y", weights, opset)
    done = subprocess.run([GRAPH, "compile", f"{work}/m.onnx", f"{work}/plan", "--explain",
                           f"{work}/explain"], capture_output=True, text=True, check=False)
    if done.returncode:
        return {}, done.stderr
    with open(f"{work}/explain", encoding="ascii") as f:
        said = re.search(r"^parameters: (\d+), were (\d+)$", f.read(), re.M)
    return constants(f"{work}/plan"), (int(said[2]), int(said[1]))


def values(*shape, centre=0.0):
    return (centre + 0.3 * random.standard_normal(shape)).astype(np.float32)


def convolution(work):
    """32x64x224x224 to 128 by 3x3 and a normalisation: windows at some places."""
    w, gamma, beta, mean = values(128, 64, 3, 3), values(128, centre=1), values(128), values(128)
    var = np.abs(values(128, centre=1)) + np.float32(0.1)
    bias = values(128)
    got, parameters = compile_model(
        work, [("Conv", "x w b", "u", {"pads": [1, 1, 1, 1]}),
               ("BatchNormalization", "u g e m v", "y")], (32, 64, 224, 224),
        {"w": w, "b": bias, "g": gamma, "e": beta, "m": mean, "v": var})
    if "Conv_0.weights" not in got or "Conv_0.bias" not in got:
        return [f"{sorted(got)}, {parameters}"]
    x = random.standard_normal((SAMPLES, 64, 3, 3)).astype(np.float32).astype(np.float64)
    scale = gamma / np.sqrt(var.astype(np.float64) + 1e-5)
    want = (np.einsum("ncij,ocij->no", x, w.astype(np.float64)) + bias - mean) * scale + beta
    have = got["Conv_0.weights"].reshape(w.shape).astype(np.float64)
    have = np.einsum("ncij,ocij->no", x, have) + got["Conv_0.bias"].ravel()
    error = np.abs(have - want).max() / np.abs(want).max()
    tap.say(f"# off by {error:.2g} of the largest, {parameters[0]} parameters, now "
            f"{parameters[1]}")
    return [] if error < BOUND and parameters == (w.size + 5 * 128, w.size + 128) else [
        f"off by {error}, {parameters}"]


def chains(work):
    """What is computed of constants alone, and what two branches compute of them."""
    a, b, g = values(192, 256), values(192, 256), values(192, centre=1)
    got, parameters = compile_model(
        work, [("Mul", "a b", "p"), ("Transpose", "p", "q", {"perm": [1, 0]}),
               ("Softplus", "q", "r"), ("Mul", "r half", "w"),
               ("MatMul", "x w", "left"), ("Mul", "half r", "again"),
               ("MatMul", "x again", "right"), ("Exp", "g", "unused"),
               ("Add", "left right", "y")], (64, 256),
        {"a": a, "b": b, "g": g, "half": np.array(0.5, np.float32)})
    want = np.log1p(np.exp((a.astype(np.float64) * b).T)) * 0.5
    have = next((v.reshape(want.shape) for v in got.values() if v.size == want.size), None)
    if have is None:
        return [f"{sorted(got)}, {parameters}"]
    error = np.abs(have - want).max() / np.abs(want).max()
    tap.say(f"# off by {error:.2g} of the largest, {parameters[0]} parameters, now "
            f"{parameters[1]}")
    good = error < BOUND and parameters[1] == want.size
    return [] if good else [f"off by {error}, {parameters}"]


F32 = number_of("F32")
with tempfile.TemporaryDirectory(prefix="fold.", dir=f"{ROOT}/build/test") as folder:
    for one in convolution, chains:
        tap.check(f"fold/{one.__name__}", one(folder))
sys.exit(tap.done(2))
