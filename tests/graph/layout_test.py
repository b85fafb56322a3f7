#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""layout_test.py [NAME]...    tensors of F16 that have channels last

Each model computes the same with channels last as without (--no-layout, whose convolutions are
products with columns), and turns what enters or leaves such a part of it and nothing else: so many
copies that turn. TAP on stdout."""

import os
import re
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import Model, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(5)
OFF = 2**-8  # of the largest element: what is rounded to F16 in between is not the same


def noise(*shape, of=np.float16):
    return (random.standard_normal(shape) * 0.5).astype(of)


def compare(nodes, inputs, outputs, constants, turns, opset=13, cores=1):
    """What is wrong with it; turns: copies whose last dimension was another."""
    last = Model(nodes, inputs, outputs, constants, opset)
    plain = Model(nodes, inputs, outputs, constants, opset, options=["--no-layout"])
    if last.refused or plain.refused:
        return [last.refused, plain.refused]
    (got, said), (want, other) = last.run(cores=cores), plain.run()
    wrong = [] if got and want else [said, other]
    for name in got if want else ():
        bad = differs(got[name], want[name].astype(np.float64), OFF)
        wrong += [f"{name}: {bad}"] if bad else []
    copies = re.findall(r"by move\nx0 0 0 .* \d+:(\d+):1;\n", last.explain())
    found = sum(stride != "1" for stride in copies)
    if found != turns:
        wrong.append(f"{found} steps turn, want {turns}:\n{last.explain()}")
    return wrong


WEIGHTS = {"w": noise(20, 5, 3, 3), "b": noise(20), "v": noise(20, 20, 1, 1),
           "d": noise(20, 1, 3, 3), "g": noise(12, 10, 3, 2), "s": noise(20, 1, 1),
           "t": noise(1, 20, 1, 1), "m": noise(9, 7), "one": noise(1)}
X = {"x": noise(2, 5, 18, 14)}
FIRST = ("Conv", "x w b", "a", {"strides": [2, 2], "pads": [1, 0, 1, 1]})  # 2 x 20 x 9 x 7


@test
def from_end_to_end():
    """One turns in front; what is left of each channel is no other way round."""
    return compare(
        [FIRST, ("Relu", "a", "a2"), ("Conv", "a2 v", "c"), ("Mul", "c s", "c2"),
         ("Add", "c2 a2", "e"), ("LeakyRelu", "e", "f", {"alpha": 0.25}),
         ("MaxPool", "f", "h", {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": 1,
                                "pads": [0, 0, 1, 1]}),
         ("GlobalAveragePool", "h", "i"), ("Flatten", "i", "y")], X, "y", WEIGHTS, 1)


@test
def few_channels():
    """Of one to seven there are zeros behind them; of a tensor that a step has computed nothing is
    copied where there is one picture. One that somebody else wants lies as the model has it."""
    wrong = []
    for channels, pictures, outputs in ((3, 1, "y"), (1, 1, "y n"), (6, 3, "y")):
        x = {"x": noise(pictures, channels, 17, 33)}
        nodes = [("Neg", "x", "n"), ("Conv", "n f b", "a", {"strides": [2, 1]}),
                 ("Relu", "a", "y")]
        constants = {"f": noise(20, channels, 5, 3), "b": WEIGHTS["b"]}
        wrong += compare(nodes, x, outputs, constants, 2)
        plan = Model(nodes, x, outputs, constants).explain()
        zeros = re.findall(r"by move\n(= 0 .*)\n", plan)
        if len(zeros) != 1 or ("x0" in zeros[0]) != (pictures > 1 or outputs != "y"):
            wrong.append(f"{channels} of {pictures}, {outputs}: {zeros}")
    return wrong


@test
def wanted_besides():
    """Who runs the model has channels where the model has them."""
    return compare([FIRST, ("Relu", "a", "a2"), ("Conv", "a2 v b", "c"), ("Neg", "c", "y")],
                   X, "y a a2", WEIGHTS, 4)


@test
def parts_and_places():
    """Concat, Split, Resize, reductions, and what is multiplied by one number of each channel."""
    return compare(
        [FIRST, ("Split", "a", "p q", {"axis": -3}), ("Relu", "p", "p2"),
         ("Concat", "q p2", "c", {"axis": 1}),
         ("Resize", "c  r", "e", {"mode": "nearest", "nearest_mode": "floor",
                                  "coordinate_transformation_mode": "asymmetric"}),
         ("ReduceMean", "e", "h", {"axes": [2, 3], "keepdims": 1}), ("Conv", "h v", "i"),
         ("Sigmoid", "i", "j"), ("Mul", "e j", "k"),
         ("ReduceMax", "k", "y", {"axes": [-1, -2], "keepdims": 0})],
        X, "y", {**WEIGHTS, "r": np.array([1, 1, 2, 3], np.float32)}, 1)


@test
def parts_of_one_picture():
    """Of one picture parts of channels would be views; with channels last they are copies."""
    return compare(
        [FIRST, ("Split", "a", "p q r", {"axis": 1, "split": [8, 4, 8]}), ("Relu", "q", "q2"),
         ("Concat", "r p q2", "c", {"axis": 1}), ("Conv", "c v", "y")],
        {"x": X["x"][:1]}, "y p", WEIGHTS, 3, 12)


@test
def each_channel_and_groups():
    """Depthwise, groups with dilation, and Clip as either opset has it."""
    wrong = []
    for opset, clip, more in ((13, ("Clip", "c l h", "e"), {"l": np.array(0, np.float16),
                                                          "h": np.array(0.5, np.float16)}),
                              (6, ("Clip", "c", "e", {"min": 0.0, "max": 0.5}), {})):
        wrong += compare(
            [FIRST, ("Conv", "a d b", "c", {"group": 20, "pads": [1, 1, 1, 1]}), clip,
             ("Conv", "e g", "y", {"group": 2, "dilations": [2, 3], "pads": [0, 3, 2, 0]})],
            X, "y", {**WEIGHTS, **more}, 2, opset, 3)
    return wrong


@test
def constants_of_any_shape():
    """They are turned before a run."""
    return compare([FIRST, ("Cast", "a", "a1", {"to": 1}), ("Cast", "a1", "a2", {"to": 10}),
                    ("PRelu", "a2 s", "c"), ("Sub", "t c", "e"), ("Add", "e m", "f"),
                    ("Mul", "one f", "h"), ("Where", "k h a", "y")], X, "y",
                   {**WEIGHTS, "k": noise(20, 9, 1) > 0}, 2)


@test
def in_between():
    """What wants channels where they were has them turned back, and on again."""
    return compare([FIRST, ("Softmax", "a", "c", {"axis": 1}), ("Conv", "c v", "e"),
                    ("Transpose", "e", "f", {"perm": [0, 2, 3, 1]}), ("Relu", "f", "y")],
                   X, "y", WEIGHTS, 3)


@test
def turned_by_the_model():
    """As exporters of other frameworks do around each convolution: none is left."""
    back, on = {"perm": [0, 3, 1, 2]}, {"perm": [0, 2, 3, 1]}
    return compare([("Transpose", "x", "p", back), ("Conv", "p w b", "a"),
                    ("Transpose", "a", "c", on), ("Relu", "c", "e"),
                    ("Transpose", "e", "f", back), ("Conv", "f v", "h"),
                    ("Transpose", "h", "y", on)], {"x": noise(2, 11, 9, 5)}, "y", WEIGHTS, 0)


@test
def float32_in_half():
    """Inputs and results stay what they are; what F16 has not is the largest that it has."""
    x, w = noise(1, 6, 12, 12, of=np.float32), noise(8, 6, 3, 3, of=np.float32)
    nodes = [("Conv", "x w", "a", {"pads": [1, 1, 1, 1]}), ("Min", "a big", "c"),
             ("Cast", "c", "e", {"to": 1}), ("Relu", "e", "y")]
    constants = {"w": w, "big": np.array(1e9, np.float32)}
    half = Model(nodes, {"x": x}, "y", constants, options=["--f32", "half"],
                 results="float32")
    got, said = half.run()
    want, other = Model(nodes, {"x": x}, "y", constants).run()
    if not got or not want:
        return [half.refused + said + other]
    bad = differs(got["y"], want["y"].astype(np.float64), OFF)
    return ([f"y: {bad}"] if bad else []) + \
        ([] if got["y"].dtype == np.float32 else [f"y is {got['y'].dtype}"]) + \
        ([] if " by conv2d" in half.explain() else ["no step by conv2d"])


@test
def float32_of_sizes():
    """Scales have float32's digits in half as well: sizes are computed of them."""
    scales = {"s": np.array([1, 1, 4 / 3, 1.1], np.float32)}
    half = Model([("Resize", "x  s", "y", {"mode": "nearest"})],
                 {"x": noise(1, 2, 30, 30, of=np.float32)}, "y", scales,
                 options=["--f32", "half"], results="float32")
    got, said = half.run()
    return [] if got and got["y"].shape == (1, 2, 40, 33) else \
        [half.refused + said + str(got and got["y"].shape)]


@test
def interpolated_on_the_cube():
    """Weights that float16 has not are two of it: as exact as in float32, and no Vector's sums."""
    wrong = []
    x = {"x": noise(1, 5, 9, 11)}
    for scale, dots in ((2, 1), (1.3, 2)):
        nodes = [("Conv", "x w", "a"), ("Resize", "a  r", "y", {"mode": "linear"})]
        constants = {"w": WEIGHTS["w"], "r": np.array([1, 1, scale, scale], np.float32)}
        half = Model(nodes, x, "y", constants)
        got, said = half.run()
        plain = Model(nodes, {"x": x["x"].astype(np.float32)}, "y",
                      {**constants, "w": WEIGHTS["w"].astype(np.float32)})
        want, other = plain.run()
        if not got or not want:
            return [half.refused + said, plain.refused + other]
        bad = differs(got["y"], want["y"].astype(np.float64), 2**-9)
        found = half.explain().count("dot(")
        wrong += ([f"{scale}: {bad}"] if bad else []) + \
            ([] if found == 2 * dots else [f"{scale}: {found} products"])
    return wrong


@test
def activations_beyond_its_options():
    """What conv2d does not take is a step behind it; axes are there once."""
    wrong = []
    for act in (("LeakyRelu", "a", "c", {"alpha": 2e30}),
                ("Clip", "a", "c", {"min": 0.0, "max": 1e-35})):
        wrong += compare([FIRST, act, ("Sigmoid", "c", "y")], X, "y", WEIGHTS, 2, 6)
    twice = Model([FIRST, ("Resize", "a  r", "y", {"axes": [2, 3, 2, 3, 2]})], X, "y",
                  {**WEIGHTS, "r": np.ones(5, np.float32)}, 18)
    return wrong + ([] if "axis 2 twice" in twice.refused else [twice.refused or "taken"])


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("layout"))
