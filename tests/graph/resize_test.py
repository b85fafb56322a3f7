#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""resize_test.py [NAME]...    which element is the nearest, by float32 as onnxruntime 1.30 has it

And a plan that the firmware would refuse. TAP on stdout."""

import os
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402
from model import Model, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(1)
f32 = np.float32


def place(how, scale, size, to):
    """Where each of `to` elements lies among `size`."""
    i, scale = np.arange(to, dtype=f32), f32(scale)
    if how == "align_corners":
        return i * f32(size - 1) / f32(to - 1) if to > 1 else i
    if how == "pytorch_half_pixel" and to == 1:
        return i
    if how == "asymmetric":
        return i / scale
    if how == "half_pixel_symmetric":
        beside = f32(size) / f32(2) * (1 - f32(to) / (scale * f32(size)))
        return (float(beside) + (i.astype(float) + .5) / float(scale) - .5).astype(f32)
    return (i + f32(.5)) / scale - f32(.5)


def nearest(how, x):
    half = np.abs(x - np.floor(x) - .5) <= 1e-6
    return {"floor": np.floor(x), "ceil": np.ceil(x),
            "round_prefer_floor": np.where(half, np.floor(x), np.floor(x.astype(float) + .5)),
            "round_prefer_ceil": np.where(half, np.ceil(x), np.floor(x.astype(float) + .5))}[how]


def one(how, by, size, scale, to):
    """Places of the nearest, one axis."""
    at = nearest(by, place(how, scale, size, to))
    return np.clip(at, 0, size - 1).astype(int)


# --- tests, each a list of what is wrong ---

@test
def nearest_by_float32():
    """13 to 28 has 6.4999995 where 6.5 is meant, 20 to 6 a half, 10 by 1.3 is 13."""
    nodes, constants, want = [], {}, {}
    x = random.standard_normal((2, 13, 20)).astype(f32)
    for k, (rows, columns) in enumerate([(28, 6), (1.3, .6), (2.7, 1 / 3), (1, 1.5)]):
        scales = isinstance(rows, float) or rows == 1
        by = f32([1, rows, columns]) if scales else f32([1, rows / 13, columns / 20])
        to = np.floor(by * f32(x.shape)).astype(int) if scales else np.array([2, rows, columns])
        constants[f"s{k}"] = by if scales else to.astype(np.int64)
        for how in ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                    "half_pixel_symmetric"):
            for mode in ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"):
                y = f"{how}_{mode}_{k}"
                nodes.append(("Resize", f"x {'' if scales else ' '} s{k}", y,
                              {"mode": "nearest", "nearest_mode": mode,
                               "coordinate_transformation_mode": how}))
                rows_at, columns_at = (np.arange(n) if f == 1 and n == m else
                                       one(how, mode, n, f, m)
                                       for n, f, m in zip(x.shape[1:], by[1:], to[1:]))
                want[y] = x[:, rows_at][:, :, columns_at]
    wrong, names = [], list(want)
    for part in (names[i:i + 20] for i in range(0, len(names), 20)):
        m = Model([n for n in nodes if n[2] in part], {"x": x}, " ".join(part), constants,
                  opset=19)
        got, said = m.run()
        bad = {name: differs(got.get(name), want[name], 0) for name in part}
        wrong += [f"{name}: {what} {m.refused or said}" for name, what in bad.items() if what]
    return wrong


@test
def corners_of_a_fractional_length():
    """The last element is the last: of 7 by 1.3, which are 9, and not 9.1."""
    x = random.standard_normal((1, 1, 7)).astype(f32)
    m = Model([("Resize", "x  s", "y", {"mode": "linear",
                                       "coordinate_transformation_mode": "align_corners"})],
              {"x": x}, "y", {"s": f32([1, 1, 1.3])}, opset=19)
    got, said = m.run()
    want = np.interp(np.arange(9) * 6 / 8, np.arange(7), x[0, 0]).reshape(1, 1, 9)
    bad = differs(got.get("y"), want, 1e-6)
    return [f"{bad} {m.refused or said}"] if bad else []


@test
def of_a_part():
    """What lies between both axes is no part of the operand's memory."""
    wrong = []
    for shape, by in (((3, 1, 64, 64), 2), ((3, 2, 16, 16), 3)):
        x = random.standard_normal(shape).astype(f32)
        m = Model([("Split", "x n", "a b c", {"axis": 0}),
                   ("Resize", "c  s", "y", {"mode": "nearest"})], {"x": x}, "y",
                  {"n": np.int64([1, 1, 1]), "s": f32([1, 1, by, by])})
        got, said = m.run()
        bad = differs(got.get("y"), x[2:].repeat(by, 2).repeat(by, 3), 0)
        wrong += [f"{shape}: {bad} {m.refused or said}"] if bad else []
    return wrong


def never_written():
    """The firmware's own check of a plan says no, in a debugger: one line, status 2, no file."""
    path = f"{ROOT}/build/test/refused"
    model.write(f"{path}.onnx", [("Relu", "x", "y")], {"x": ("float32", (4,))}, "y")
    if os.path.exists(path):
        os.remove(path)
    done = subprocess.run(
        ["gdb-multiarch", "-nx", "-batch", "-ex", "set confirm off", "-ex", "break plan_holds",
         "-ex", f"run compile {path}.onnx {path}", "-ex", "return (_Bool)0", "-ex", "continue",
         model.GRAPH], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    said = done.stdout + done.stderr
    if "Breakpoint 1, plan_holds" not in said:
        tap.skip("resize/a_refused_plan_is_not_written", "no program can be run in gdb here")
        return
    wrong = [] if ": internal error: the firmware would call this plan damaged" in said and \
        "exited with code 02" in said else [said]
    tap.check("resize/a_refused_plan_is_not_written",
              wrong + (["it is there"] if os.path.exists(path) else []))


if len(sys.argv) < 2:
    never_written()
sys.exit(tap.main("resize"))
