#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""calibrate_test.py    the arithmetic that programs of a model need, tools/graph/calibrate

One model of four groups: f16 holds one, f32 mends the second, whose squares are beyond f16, the
third is mended by its nodes apart, the fourth's operand of a product by F32 on the Cube where the
tolerance asks for it. FULL: errors that are told are those that NumPy finds. TAP on stdout."""
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

F16, F32 = np.float16, np.float32
FULL = bool(os.environ.get("FULL"))
NAME = "calibrate_test"
FILE = f"{ROOT}/build/models/{NAME}/calibrated-a2"
random = np.random.default_rng(1)


def noise(kind, *shape):
    return random.standard_normal(shape).astype(kind)


X, Z = noise(F16, 24, 256), noise(F32, 16, 512)
CONSTANTS = {"tenth": np.asarray(0.1, F16), "many": np.asarray(100, F16), "a": noise(F16, 256),
             "w": noise(F16, 256, 32), "v": noise(F32, 512, 32),
             "large": np.asarray(4096, F32) + noise(F32, 32)}
NODES = [("Mul", "x tenth", "p"), ("Add", "p a", "o"), ("Relu", "o", "held"),
         ("Mul", "x many", "q"), ("ReduceL2", "q", "n", {"axes": [1]}), ("Div", "x n", "squares"),
         ("MatMul", "z v", "r"), ("Add", "r large", "apart"),
         ("Mul", "x a", "t"), ("MatMul", "t w", "cube")]
GROUPS = ["Mul_0+Add_1+Relu_2", "Mul_3+ReduceL2_4+Div_5", "MatMul_6+Add_7", "Mul_8+MatMul_9"]


def exact():
    """Outputs in double precision."""
    x, c = X.astype(float), {name: a.astype(float) for name, a in CONSTANTS.items()}
    q = x * c["many"]
    return {"held": np.maximum(x * c["tenth"] + c["a"], 0),
            "squares": x / np.linalg.norm(q, axis=1)[:, None],
            "apart": Z.astype(float) @ c["v"] + c["large"], "cube": (x * c["a"]) @ c["w"]}


def run(*words):
    return subprocess.run(["timeout", "120", *words], capture_output=True, text=True,
                          check=False, env=dict(os.environ, CORES="1", PROFILE="a2"))


def compute(work, *options):
    """Errors of all outputs, and what is told."""
    outputs = [w for name in exact() for w in ("-o", f"{name}={work}/{name}.npy")]
    done = run(f"{ROOT}/tools/graph/run", f"{work}/{NAME}.onnx", f"{work}/x.npy", f"{work}/z.npy",
               *outputs, *options)
    if done.returncode:
        raise RuntimeError(f"status {done.returncode}: {done.stdout}{done.stderr}")
    return {name: np.abs(np.load(f"{work}/{name}.npy") - y).max() / np.abs(y).max()
            for name, y in exact().items()}, done.stdout


def line_of(told, group):
    return next((line.strip() for line in told.split("\n") if f" {group}: " in line), "")


def off(told, error):
    """Whether two digits say another number."""
    return abs(float(told[0]) / error - 1) > 0.06


def climbs(work):
    """By default, twice what correct rounding of each node gives."""
    usual = compute(work, "--no-calibrated")[0] if FULL else {}
    errors, told = compute(work, "--calibrate", f"{work}/x.npy,{work}/z.npy")
    with open(f"{ROOT}/build/models/{NAME}/explain.txt", encoding="ascii") as f:
        explained = f.read()
    with open(FILE, encoding="ascii") as f:
        kinds = sorted(line.split()[0] for line in f)
    squares, apart = line_of(told, GROUPS[1]), line_of(told, GROUPS[2])
    wrong = [f"{name}: {error}" for name, error in errors.items()
             if error > (2.2e-7 if name == "apart" else 1.2e-3)]
    if not re.search(r": f16 \S+ of its largest element, \S+ allowed; f32 \S+: f32$", squares):
        wrong.append(f"squares: {told}")
    elif FULL and off(re.findall(r"f32 (\d\S+):", squares), usual["squares"]):
        wrong.append(f"{usual['squares']} is told as {squares}")
    if not re.search(r": f32 \S+ of its .*; apart \S+: apart$", apart):
        wrong.append(f"apart: {told}")
    elif FULL and off(re.findall(r"f32 (\S+) of", apart), usual["apart"]):
        wrong.append(f"{usual['apart']} is told as {apart}")
    if kinds != ["arith", "mended", "tuned"] or "1 in f16, 2 in f32, 0 by the F32 Cube, 1 apart; " \
            "0 that nothing mends" not in told:
        wrong.append(f"{kinds}: {told}")
    for want in "measured as more exact apart", "schedule arith f16":
        wrong += [] if want in explained else [f"no '{want}': {explained}"]
    return wrong


def tolerates(work):
    """What is asked for: F32 of products mends one; nothing mends what has to be exact."""
    usual, _ = compute(work, "--no-calibrated")
    less = f"{0.9 * usual['cube']:.3e}"
    samples = ("--calibrate", f"{work}/x.npy,{work}/z.npy") * 2
    errors, told = compute(work, *samples, "--tolerance", less)
    wrong = [] if errors["cube"] <= float(less) < usual["cube"] else [f"{errors['cube']}, {less}"]
    if not line_of(told, GROUPS[3]).endswith(": F32 Cube"):
        wrong.append(told)
    told = compute(work, *samples[:2], "--tolerance", "0")[1]
    return wrong + ([] if "; 4 that nothing mends" in told else [told])


def refuses(work):
    """One line, status 2, and what is there stays."""
    wrong = []
    for words, want in ((["--calibrate", f"{work}/x.npy"], "want 2 inputs"),
                        (["--calibrate", f"{work}/no.npy"], "No such file"),
                        (["--tolerance", "1e-3"], "want --calibrate"),
                        (["--calibrate", "x", "--tolerance", "-1"], "tolerance -1")):
        done = run(f"{ROOT}/tools/graph/calibrate", f"{work}/{NAME}.onnx", *words)
        if done.returncode != 2 or want not in done.stderr or done.stderr.count("\n") != 1:
            wrong.append(f"{words}: {done.returncode} {done.stderr}")
    return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="calibrate.", dir=f"{ROOT}/build/test") as work:
        if os.path.exists(FILE):
            os.unlink(FILE)
        np.save(f"{work}/x.npy", X)
        np.save(f"{work}/z.npy", Z)
        model.write(f"{work}/{NAME}.onnx", NODES, {"x": (F16, X.shape), "z": (F32, Z.shape)},
                    " ".join(exact()), CONSTANTS)
        for one in [climbs] + [tolerates, refuses] * FULL:
            tap.check(f"calibrate/{one.__name__}", one(work))
    return tap.done(1)


sys.exit(main())
