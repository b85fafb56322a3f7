#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""plan_test.py [NAME]...    small models, each for one thing that becomes of models

Each is written by model.py, compiled and run, and compared with NumPy; or it is refused, or its
explain.txt has to say something. TAP on stdout."""

import json
import os
import re
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import tap  # noqa: E402
from model import GRAPH, SALAI, Graph, Model, crc, differs  # noqa: E402
from tap import test  # noqa: E402

random = np.random.default_rng(1)


def noise(*shape, of=np.float32):
    return random.standard_normal(shape).astype(of)


def conv(x, w, bias, stride, pad, groups=1):
    """In double precision; pad: above, left, below, right."""
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])))
    m, c, kh, kw = w.shape
    high, wide = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    y = np.zeros((x.shape[0], m, high, wide))
    for o in range(m):
        first = o // (m // groups) * c
        for i in range(kh):
            for j in range(kw):
                part = x[:, first:first + c, i:i + high * stride:stride,
                         j:j + wide * stride:stride]
                y[:, o] += np.einsum("nchw,c->nhw", part, w[o, :, i, j].astype(np.float64))
        y[:, o] += 0 if bias is None else float(bias[o])
    return y


# --- tests, each a list of what is wrong ---

def long_test(what):  # for FULL alone
    return test(what) if os.environ.get("FULL") or len(sys.argv) > 1 else what


@test
def conv_of_f16_is_an_operator():
    """By conv2d of the firmware, which has channels last; strides, pads and groups go along."""
    wrong = []
    for shape, w, stride, pad, groups in (((1, 5, 9, 8), (6, 5, 3, 3), 1, [1, 1, 1, 1], 1),
                                          ((2, 8, 7, 11), (4, 4, 2, 3), 2, [0, 2, 1, 1], 2)):
        x, w = noise(*shape, of=np.float16), noise(*w, of=np.float16)
        bias = noise(w.shape[0], of=np.float16)
        m = Model([("Conv", "x w b", "y", {"strides": [stride, stride], "pads": pad,
                                           "group": groups})], {"x": x}, "y",
                  {"w": w, "b": bias})
        if " by conv2d" not in m.explain():
            wrong.append("no step by conv2d: " + m.explain())
        out, said = m.run()
        bad = differs(out.get("y"), conv(x, w, bias, stride, pad, groups), 2**-10)
        wrong += [f"{shape}: {bad}; {said}"] if bad else []
    return wrong


@test
def operator_refused():
    """A step that the operator refuses ends with status 2."""
    m = Model([("Conv", "x w", "y", {"pads": [1, 1, 1, 1]})],
              {"x": noise(1, 4, 6, 6, of=np.float16)}, "y",
              {"w": noise(4, 4, 3, 3, of=np.float16)})
    with open(f"{m.work}/plan", "rb") as f:
        plan = bytearray(f.read())
    at = plan.index(b"--groups 1")
    plan[at:at + 10] = b"--groups 7"
    plan[20:24] = crc(bytes(plan[24:]))
    with open(f"{m.work}/plan", "wb") as f:
        f.write(plan)
    _, said = m.run()
    return [] if re.fullmatch("status 2: .*groups.*", said) else [said]


@test
def one_launch():
    """Steps share a launch, but for operators that launch; the same bits in fewer cycles."""
    wrong = []
    x, w = noise(1, 6, 10, 10, of=np.float16), noise(6, 6, 3, 3, of=np.float16)
    turned = [("Transpose", "x", "t", {"perm": [0, 1, 3, 2]}), ("Conv", "t w", "y", {})]
    for nodes, inputs, constants, launches in (
            ([("Transpose", "x", "u", {"perm": [1, 0]}), ("Softmax", "u", "s", {"axis": 1}),
              ("Transpose", "s", "y", {"perm": [1, 0]})], {"x": noise(40, 50)}, {}, 1),
            (turned, {"x": x}, {"w": w}, 1),
            ([("Transpose", "z", "t", {"perm": [1, 0]}), ("Softmax", "t", "u", {"axis": 1}),
              ("TopK", "u k", "v i"), ("Neg", "v", "y")], {"z": noise(90, 4)},
             {"k": np.array([7])}, 3)):
        m = Model(nodes, inputs, "y", constants)
        one, said = m.run(cores=2)
        many, apart = m.run("--launches", cores=2)
        if not one or not many or one["y"].tobytes() != many["y"].tobytes():
            wrong.append(f"other bits: {said} {apart}")
            continue
        steps, got = (int(n) for n in re.search(r"(\d+) steps in (\d+) launch", said).groups())
        all_of = int(re.search(r"in (\d+) launch", apart).group(1))
        cycles = [int(re.search(r"(\d+) cycles", text).group(1)) for text in (said, apart)]
        if got != launches or all_of != steps or cycles[0] >= cycles[1]:
            wrong.append(f"want {launches} launches: {said}{apart}")
    return wrong


@test
def a_longer_path_takes_no_cycle():
    """What the hart does before a measurement, as with a longer path of its image, moves where in
    a cycle of the engines that begins, and nothing else."""
    m = Model([("Neg", "x", "u"), ("Softmax", "u", "y")], {"x": noise(4, 50)}, "y")
    said = []
    np.save(f"{m.work}/x.npy", m.inputs["x"])
    for option in "--steps", "--launches":
        for longer in range(1, 9):
            path = f"{ROOT}{'/' * longer}build/salai.elf"
            done = m.call(SALAI, "--image", path, "--", "graph", f"{m.work}/plan",
                          f"{m.work}/x.npy", "-o", f"{m.work}/y.npy", option, cores=7)
            said.append((done.returncode, done.stdout))
    return [f"{said}"] if len(set(said)) != 2 or said[0][0] != 0 else []


@test
def operands_that_are_not_there():
    """Left out, or one too many: refused with the node's name."""
    wrong = []
    for op, operands, outputs, want in (
            ("Mean", "x ", "y", "operand 1 is missing"), ("Add", "x x x", "y", "3 operands"),
            ("Add", "x", "y", "1 operands"), ("Div", "x", "y", "operand 1 is missing"),
            ("Abs", "x", " y", "nobody is given"), ("CumSum", "x", "y", "operand 1 is missing"),
            ("Adam", " x x x x x", "y", "operand 0 is missing"),
            ("InstanceNormalization", "x x x", "y", "channels of [3]"),
            ("QLinearMatMul", "b  b b r b r b", "y", "operand 1 is missing"),
            ("HannWindow", "inf", "y", "a window of -inf"),
            ("GatherElements", "x k ", "y", "operand 2 is missing"),
            ("Trilu", "x", "y", "of [3]"), ("CumSum", "x c", "y", "'c' is [0]"),
            ("OneHot", "x i c", "y", "'c' is [0]"), ("Clip", "c c", "y", "'c' is [0]"),
            ("LayerNormalization", "x z", "y", "operand 1 is [2, 3], x [3]"),
            ("DynamicQuantizeLinear", "x", "y s", "nobody is given")):
        m = Model([(op, operands, outputs)], {"x": noise(3), "z": noise(2, 3)}, "y",
                  {"c": np.zeros(0, np.int64), "i": np.array(3), "b": np.zeros((2, 2), np.int8),
                   "r": np.float32(1), "k": np.zeros(3, np.int64),
                   "inf": np.float32(-np.inf)})
        if want not in m.refused or f"'{op}_0'" not in m.refused:
            wrong.append(f"{op} of '{operands}': {m.refused or 'taken'}")
    return wrong


@test
def files_that_have_no_end():
    """A FIFO that nobody writes to is refused, as a model and as an input."""
    m, wrong = Model([("Abs", "x", "y")], {"x": noise(3)}, "y"), []
    os.mkfifo(f"{m.work}/fifo")
    for words in (["fifo", "p"], ["m.onnx", "p", "--in", "fifo"]):
        done = m.call("env", "-C", m.work, "timeout", "9", GRAPH, "compile", *words)
        if done.returncode != 2 or done.stderr != "fifo: is not a regular file\n":
            wrong.append(f"status {done.returncode}: {done.stderr}")
    return wrong


@test
def names_are_one_line():
    """What a model or a plan names goes to a terminal, and is never more than a line there."""
    m = Model([("Abs", "x", "y\n\33[2J")], {"x": noise(3)}, "y\n\33[2J")
    with open(f"{m.work}/plan", "rb") as f:
        plan = bytearray(f.read())
    wrong = [] if b"y??[2J\0" in plan else ["a name with a line's end"]
    at = plan.index(b"Abs_0")
    plan[at + 1] = 10
    plan[20:24] = crc(bytes(plan[24:]))
    with open(f"{m.work}/plan", "wb") as f:
        f.write(plan)
    done = m.call(SALAI, "--", "graph", f"{m.work}/plan")
    if done.returncode != 2 or not done.stderr.endswith("plan: is a damaged plan\n"):
        wrong.append(f"status {done.returncode}: {done.stderr}")
    return wrong


@test
def names_within_nodes():
    """Are others than the model's, which may be the same: of what is in place of a node, and of the
    branches of an If."""
    x, w = noise(2, 3), noise(2, 2)
    body = Graph([("Add", "x c", "a")], "a", {"c": np.float32([1, 2, 3])})
    m = Model([("Relu", "x", "NonZero_1.0.flag"), ("NonZero", "x", "i"),
               ("Neg", "NonZero_1.0.flag", "z"),
               ("If", "k", "u", {"then_branch": body, "else_branch": body}),
               ("Neg", "w", "u/c"), ("Abs", "u/c", "y")], {"x": x, "w": w}, "i z u y",
              {"k": np.array(True)})
    got, said = m.run() if not m.refused else ({}, m.refused)
    want = {"i": np.array(x.nonzero()), "z": -np.maximum(x, 0), "u": x + [1, 2, 3],
            "y": np.abs(w)}
    bad = {name: differs(got.get(name), np.asarray(a, np.float64), 1e-6)
           for name, a in want.items()}
    return [f"{name}: {what} {said}" for name, what in bad.items() if what]


@test
def files_of_bfloat16():
    """Are float32: a plan that says otherwise is no plan."""
    m = Model([("Abs", "x", "y")], {"x": noise(3)}, "y", wide="bfloat16")
    with open(f"{m.work}/plan", "rb") as f:
        plan = bytearray(f.read())
    tensors, of = int.from_bytes(plan[40:48], "little"), int.from_bytes(plan[96:100], "little")
    plan[tensors + 48 * of + 13] = 1  # NPY_F2
    plan[20:24] = crc(bytes(plan[24:]))
    with open(f"{m.work}/plan", "wb") as f:
        f.write(plan)
    m.inputs["x"] = m.inputs["x"].astype(np.float16)
    _, said = m.run()
    return [] if said.endswith("plan: is a damaged plan") else [said]


def counted(m, name):
    return int(re.search(rf"^{name}: (\d+)", m.explain(), re.M).group(1))


def norm(x, of):
    scale, bias, mean, var = (a.astype(np.float64).reshape(-1, *[1] * (x.ndim - 2)) for a in of)
    return (x - mean) / np.sqrt(var + 1e-5) * scale + bias


@long_test
def norms_are_weights():
    """Behind Conv, ConvTranspose and Gemm, in front of them without pads; the same results."""
    wrong = []
    w, wt, b = noise(6, 4, 3, 3), noise(4, 3, 2, 2), noise(6)
    x, flat = noise(1, 4, 8, 7), noise(5, 4)
    for op, data, weights, attributes, front in (
            ("Conv", x, w, {}, False), ("Conv", x, w, {"pads": [1, 1, 1, 1]}, False),
            ("ConvTranspose", x, wt, {"group": 2}, False),
            ("Gemm", flat, noise(4, 6), {"alpha": 0.5}, False),
            ("Gemm", flat, noise(6, 4), {"transB": 1}, True), ("Conv", x, w, {}, True),
            ("Conv", x, w, {"pads": [1, 1, 1, 1]}, True)):
        size = 4 if front else 6
        of = [noise(size), noise(size), noise(size), np.abs(noise(size)) + 0.5]
        product = (op, "u w b" if front else "x w b", "y" if front else "u", attributes)
        rest = ("BatchNormalization", f"{'x' if front else 'u'} s t m v", "u" if front else "y")
        made = [Model([rest, product] if front else [product, rest], {"x": data}, "y",
                      dict(zip("stmv", of), w=weights, b=b), options=options)
                for options in ((), ("--no-norms",))]
        folds = not (front and attributes.get("pads"))
        if [counted(made[0], "norms"), "norms: left out" in made[1].explain()] != [folds, True]:
            wrong.append(f"{op} {attributes} {front}: {made[0].explain()}")
        got, want = (m.run()[0].get("y") for m in made)
        bad = "no result" if want is None else differs(got, want.astype(np.float64), 1e-5)
        if op == "Conv" and not bad:
            pad = attributes.get("pads", [0] * 4)
            want = (conv(norm(x.astype(np.float64), of), w, b, 1, pad) if front
                    else norm(conv(x, w, b, 1, pad), of))
            bad = differs(got, want, 1e-5)
        wrong += [f"{op} {attributes} {front}: {bad}"] if bad else []
    return wrong


@test
def common_and_dead_nodes():
    """What is computed twice is computed once, what nobody wants not at all."""
    nodes = [("Exp", "x", "a"), ("Exp", "x", "b"), ("Mul", "a c", "p"), ("Mul", "b d", "q"),
             ("Add", "p q", "y"), ("Sqrt", "x", "dead"), ("Neg", "dead", "deader"),
             ("LeakyRelu", "x", "l1", {"alpha": 0.1}), ("LeakyRelu", "x", "l2", {"alpha": 0.2}),
             ("Add", "l1 l2", "z")]
    constants = {"c": np.float32([2]), "d": np.float32([2])}
    x = noise(30)
    wrong = []
    for options, counts in (((), [2, 2]), (("--no-common",), [None, 2]),
                            (("--no-dead",), [2, None])):
        m = Model(nodes, {"x": x}, "y z", constants, options=options)
        for name, count in zip(("common", "dead"), counts):
            if count is not None and counted(m, name) != count:
                wrong.append(f"{options}: {m.explain()}")
        out, said = m.run()
        wide = x.astype(np.float64)
        for name, want in (("y", 4 * np.exp(wide)),
                           ("z", np.where(wide < 0, 0.3 * wide, 2 * wide))):
            bad = differs(out.get(name), want, 1e-5)
            wrong += [f"{options} {name}: {bad} {said}"] if bad else []
    return wrong


@test
def what_follows_a_conv_joins_it():
    """Bias, residual and activation are part of the product's step."""
    x, w, b, r = noise(1, 4, 6, 6), noise(5, 4, 3, 3), noise(5), noise(1, 5, 6, 6)
    m = Model([("Conv", "x w b", "u", {"pads": [1, 1, 1, 1]}), ("Add", "u r", "v"),
               ("Relu", "v", "y")], {"x": x, "r": r}, "y", {"w": w, "b": b})
    out, said = m.run()
    bad = differs(out.get("y"), np.maximum(conv(x, w, b, 1, [1] * 4) + r, 0), 1e-5)
    wrong = [bad + said] if bad else []
    return wrong if ": Conv_0+Add_1+Relu_2\n" in m.explain() else wrong + [m.explain()]


@test
def what_two_nodes_read_is_no_obstacle():
    """x less its mean, which two nodes read, and x itself; the f16 operand of a product."""
    x, g, w = (noise(*n, of=np.float16) for n in ((16, 256), (256,), (256, 32)))
    mean = {"axes": [1]}
    m = Model([("ReduceMean", "x", "m", mean), ("Sub", "x m", "d"), ("Mul", "d d", "q"),
               ("ReduceMean", "q", "v", mean), ("Sqrt", "v", "r"), ("Div", "d r", "z"),
               ("Mul", "z g", "y"), ("Relu", "x", "u"), ("MatMul", "u w", "p")], {"x": x}, "y p",
              {"g": g, "w": w})
    out, said = m.run()
    wide = x.astype(np.float64)
    d = wide - wide.mean(1, keepdims=True)
    bad = differs(out.get("y"), d / d.std(1, keepdims=True) * g, 1e-3) or \
        differs(out.get("p"), np.maximum(wide, 0) @ w.astype(np.float64), 1e-3)
    wrong = [f"{bad} {said}"] if bad else []
    return wrong if ": 2 steps in " in said else wrong + [m.explain()]


@test
def bags_of_rows():
    """Sums of rows that indices name are of the firmware's bags, indices below 0 too."""
    table, wrong = noise(50, 24), []
    i = np.random.default_rng(1).integers(-50, 50, (2, 3, 5))
    for op, want in (("ReduceMean", table[i].mean(2)), ("ReduceMax", table[i].max(2))):
        m = Model([("Gather", "t i", "r"), (op, "r", "y", {"axes": [2], "keepdims": 0})],
                  {"i": i}, "y", {"t": table})
        out, said = m.run()
        bad = differs(out.get("y"), want.astype(np.float64), 1e-6)
        wrong += [bad + said] if bad else []
        wrong += [] if " by embedding_bag\n" in m.explain() else [m.explain()]
    return wrong


@long_test
def windows_without_columns():
    """Of a channel by itself: depthwise convolutions and pools, with pads, steps, dilations."""
    wrong = []
    x = noise(2, 3, 9, 11)
    for kernel, stride, pad in (([3, 3], 1, [1, 1, 1, 1]), ([5, 5], 1, [2, 2, 2, 2]),
                                ([2, 3], 2, [0, 1, 1, 1]), ([3, 3], 2, [1, 1, 1, 1])):
        window = {"kernel_shape": kernel, "strides": [stride] * 2, "pads": pad}
        w, b = noise(3, 1, *kernel), noise(3)
        ones = np.ones((3, 1, *kernel))
        wide = np.pad(x, ((0, 0), (0, 0), (pad[0], pad[2]), (pad[1], pad[3])),
                      constant_values=-np.inf)
        high, across = ((wide.shape[2 + d] - kernel[d]) // stride + 1 for d in range(2))
        most = np.max([wide[:, :, i:i + high * stride:stride, j:j + across * stride:stride]
                       for i in range(kernel[0]) for j in range(kernel[1])], axis=0)
        share = conv(np.ones_like(x), ones, None, stride, pad, 3)
        for op, operands, want in (
                ("Conv", "x w b", conv(x, w, b, stride, pad, 3)), ("MaxPool", "x", most),
                ("AveragePool", "x", conv(x, ones, None, stride, pad, 3) / share)):
            attributes = dict(window, group=3) if op == "Conv" else window
            m = Model([(op, operands, "y", attributes)], {"x": x}, "y",
                      {"w": w, "b": b} if op == "Conv" else {})
            out, said = m.run()
            bad = differs(out.get("y"), want.astype(np.float64), 1e-6)
            if "sum(" in m.explain() or "max(x0, d" in m.explain():
                bad = m.explain()
            wrong += [f"{op} {kernel} {stride}: {bad} {said}"] if bad else []
    return wrong


@test
def indices_of_a_run():
    """What is taken and put where an input says, the best and sums; one index too far is told."""
    x, i = noise(5, 7), np.array([[4, -5, 0], [2, 2, -1]])
    wrong = []
    for nodes, constants, want in (
            ([("Gather", "x i", "y")], {}, x[i]),
            ([("Gather", "x i", "y", {"axis": 1})], {}, x[:, i]),
            ([("Reshape", "i flat", "j"), ("ScatterND", "x j u", "y")],
             {"flat": np.array([6, 1]), "u": np.ones((6, 7), np.float32)},
             np.array([x[k] if k in (1, 3) else np.ones(7) for k in range(5)])),
            ([("Gather", "x i", "g"), ("TopK", "g k", "v y", {"axis": -1, "sorted": 0})],
             {"k": np.array([2])}, np.argsort(-x[i], -1, kind="stable")[..., :2]),
            ([("Gather", "x i", "g"), ("CumSum", "g a", "y", {"reverse": 1})],
             {"a": np.array(1)}, np.cumsum(x[i][:, ::-1], 1)[:, ::-1])):
        m = Model(nodes, {"x": x, "i": i}, "y", constants)
        out, said = (None, m.refused) if m.refused else m.run()
        bad = said if not out else differs(out["y"], want, 1e-6)
        wrong += [f"{nodes}: {bad}"] if bad else []
    m = Model([("Gather", "x i", "y")], {"x": x, "i": i + 1}, "y")
    said = m.run()[1]
    want = "status 2: Gather_0: index (0, 0) is 5, want -5 to 4"
    return wrong + ([] if said == want else [f"{said}, {want}"])


@test
def sums_by_equation():
    """Products of matrices, sums, transposed results, diagonals, `...`; what makes no sense."""
    wrong = []
    for equation, *shapes in (("ij,jk->ik", (3, 4), (4, 5)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
                              ("ij->ji", (3, 4)), ("ij->i", (3, 4)), ("i,i", (6,), (6,)),
                              ("...ii->...i", (2, 5, 5)), ("...ij, ...jk", (2, 3, 4), (4, 5)),
                              ("ij,kj->ki", (3, 4), (5, 4)), ("aib,cb->aic", (2, 3, 4), (5, 4)),
                              ("i,j,k->kij", (2,), (3,), (4,)), ("ij,ij->", (3, 4), (3, 4))):
        x = {f"x{i}": noise(*shape) for i, shape in enumerate(shapes)}
        m = Model([("Einsum", " ".join(x), "y", {"equation": equation})], x, "y")
        out, said = (None, m.refused) if m.refused else m.run()
        bad = said if not out else differs(out["y"], np.einsum(equation, *x.values()), 1e-5)
        wrong += [f"{equation}: {bad}"] if bad else []
    for equation in "ij->k", "i->i", "ij->ij,", "i%->i":
        m = Model([("Einsum", "x", "y", {"equation": equation})], {"x": noise(3, 4)}, "y")
        wrong += [] if "(Einsum): equation" in m.refused else [equation + ": " + m.refused]
    return wrong


@test
def unknown_attribute():
    """What a later definition has added is not passed over; nor is a kernel_shape that lies."""
    wrong = []
    for nodes, opset, want in (
            ([("Softmax", "x", "y", {"axis": 1, "beta": 2.0})], 22,
             "node 'Softmax_0' (Softmax): attribute 'beta' is not known"),
            ([("Conv", "x w", "y", {"kernel_shape": [3, 2]})], 13,
             "node 'Conv_0' (Conv): kernel_shape has 2 where the weights have 3"),
            ([("Relu", "x", "y")], 27, "opset 27: 1 to 26 are known")):
        m = Model(nodes, {"x": noise(1, 2, 5, 5)}, "y",
                  {"w": noise(2, 2, 3, 3)} if nodes[0][0] == "Conv" else {}, opset)
        wrong += [] if m.refused == want else [f"{want}: {m.refused or 'taken'}"]
    return wrong


def mean_of_four(x):
    return x.reshape(*x.shape[:-2], x.shape[-2] // 2, 2, x.shape[-1] // 2, 2).mean((-3, -1))


def halved(x):
    """By triangles twice as wide; beyond the edge is what lies at it."""
    for axis in (2, 3):
        x = np.moveaxis(x.astype(np.float64), axis, 0)
        x = np.concatenate([x[:1], x, x[-1:]])
        x = (x[0:-3:2] + 3 * x[1:-2:2] + 3 * x[2:-1:2] + x[3::2]) / 8
        x = np.moveaxis(x, 0, axis)
    return x


def group_norm(x, scale, bias, groups):
    y = x.reshape(x.shape[0], groups, -1)
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + 1e-5)
    return y.reshape(x.shape) * scale[:, None, None] + bias[:, None, None]


@test
def later_opsets():
    """What operators have learned since opset 18."""
    x, ints = noise(2, 6, 8, 8), {"p": np.array([1, 2, 0, 3], np.int64)}
    gelu = 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))
    wide = np.array([6, 10], np.int64)
    wrong = []
    for nodes, opset, constants, want in (
            ([("Gelu", "x", "y", {"approximate": "tanh"})], 20, {}, gelu),
            ([("Mish", "x", "y")], 18, {}, x * np.tanh(np.log1p(np.exp(x)))),
            # Weights of four: 1/8, 3/8, 3/8, 1/8 each way, which no mean of four is.
            ([("Resize", "x  s", "y", {"mode": "linear", "antialias": 1, "axes": [2, 3]})], 19,
             {"s": np.array([0.5, 0.5], np.float32)}, halved(x)),
            ([("Resize", "x   n", "y", {"axes": [3], "keep_aspect_ratio_policy": "stretch"})],
             18, {"n": np.array([16], np.int64)}, x.repeat(2, 3)),
            ([("Pad", "x p  a", "y", {"mode": "wrap"})], 19,
             ints | {"a": np.array([1, -1], np.int64)},
             np.pad(x, ((0, 0), (1, 0), (0, 0), (2, 3)), mode="wrap")),
            ([("CenterCropPad", "x n", "y", {"axes": [2, 3]})], 18, {"n": wide},
             np.pad(x[:, :, 1:7], ((0, 0), (0, 0), (0, 0), (1, 1)))),
            ([("GroupNormalization", "x g b", "y", {"num_groups": 3})], 21,
             {"g": noise(6), "b": noise(6)}, None),
            ([("LpPool", "x", "y", {"kernel_shape": [2, 2], "strides": [2, 2], "p": 3})], 18, {},
             (4 * mean_of_four(np.abs(x.astype(float))**3))**(1 / 3)),
            ([("ReduceLogSumExp", "x k", "y", {"keepdims": 0})], 18,
             {"k": np.array([0, 1, 2, 3], np.int64)},
             1000 * x.max() + np.log(np.exp(1000.0 * (x - x.max())).sum()))):
        given = x * 1000 if nodes[0][0] == "ReduceLogSumExp" else x
        m = Model(nodes, {"x": given}, "y", constants, opset)
        out, said = ({}, m.refused) if m.refused else m.run()
        want = group_norm(x, constants["g"], constants["b"], 3) if want is None else want
        bad = differs(out.get("y"), np.asarray(want, np.float64), 1e-5)
        wrong += [f"{nodes[0][0]}: {bad}; {said}"] if bad else []
    return wrong


@test
def every_candidate_is_explained():
    """Prices, rule and reason of what was tried; by bytes another rule decides."""
    x, w = noise(8, 6), noise(6, 5)
    nodes = [("MatMul", "x w", "u"), ("Add", "u c", "v"), ("Relu", "v", "y")]
    wrong = []
    for rule, taken in ((["cycles"], 2), (["bytes", "--threshold", "20"], 2),
                        (["bytes", "--threshold", "90"], 0)):
        m = Model(nodes, {"x": x}, "y", {"w": w, "c": noise(5)}, options=["--rule", *rule])
        told = json.loads(m.explain("json"))
        got = [c for c in told["candidates"] if c["taken"]]
        if len(got) != taken or len(told["steps"]) != 3 - taken:
            wrong.append(f"{rule}: {told}")
        for c in told["candidates"]:
            fewer = 100 - 100 * c["after"]["bytes"] / (c["before"]["bytes"] + c["alone"]["bytes"])
            cycles = c["before"]["cycles"] + c["alone"]["cycles"] - c["after"]["cycles"]
            right = cycles >= 0 if rule == ["cycles"] else fewer >= float(rule[2])
            if c["taken"] != right or c["rule"] != rule[0] or not c["why"]:
                wrong.append(f"{rule}: {c}")
    _, said = m.run("--steps")
    with open(f"{m.work}/steps", "w", encoding="ascii") as f:
        f.write(said)
    for name in "json", "txt":
        m.call(GRAPH, "measured", f"{m.work}/steps", f"{m.work}/explain.{name}")
    measured = [int(n) for n in re.findall(r"(\d+) cycles$", said, re.M)]
    for name, found in (("json", [s["measured"] for s in json.loads(m.explain("json"))["steps"]]),
                        ("txt", [int(n) for n in re.findall(r"measured (\d+)", m.explain())])):
        wrong += [f"{name}: {found}, want {measured}"] if found != measured else []
    return wrong


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
sys.exit(tap.main("plan"))
