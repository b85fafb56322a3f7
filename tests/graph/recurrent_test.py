#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""recurrent_test.py [NAME]...    RNN, GRU and LSTM with all that they may be given

Each becomes a model whose result is compared with the definition in double precision, one row
of the batch after the other; FULL: all of them. TAP on stdout."""

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
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
USUAL = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
FUNCTIONS = {  # of x, alpha, beta
    "Sigmoid": lambda x, a, b: 1 / (1 + np.exp(-x)), "Tanh": lambda x, a, b: np.tanh(x),
    "Relu": lambda x, a, b: np.maximum(x, 0), "Affine": lambda x, a, b: a * x + b,
    "LeakyRelu": lambda x, a, b: np.where(x < 0, a * x, x),
    "ThresholdedRelu": lambda x, a, b: np.where(x > a, x, 0),
    "ScaledTanh": lambda x, a, b: a * np.tanh(b * x),
    "HardSigmoid": lambda x, a, b: np.clip(a * x + b, 0, 1),
    "Elu": lambda x, a, b: np.where(x < 0, a * np.expm1(x), x),
    "Softsign": lambda x, a, b: x / (1 + np.abs(x)),
    "Softplus": lambda x, a, b: np.log1p(np.exp(x))}
ALPHA = {"Affine": 1.0, "LeakyRelu": 0.01, "ThresholdedRelu": 1.0, "ScaledTanh": 1.0,
         "HardSigmoid": 0.2, "Elu": 1.0}
BETA = {"Affine": 0.0, "ScaledTanh": 1.0, "HardSigmoid": 0.5}

# name, operator, (steps, batch, inputs, units), attributes, operands besides x, w, r
CASES = [
    ("rnn_of_one", "RNN", (1, 1, 1, 1), {}, "b"),
    ("lstm_there_and_back", "LSTM", (3, 2, 5, 20), {"direction": "bidirectional"},
     "b lengths h c p"),
    ("gru_reset_behind", "GRU", (3, 2, 6, 17), {"linear_before_reset": 1, "layout": 1,
                                                "direction": "reverse"}, "b h"),
    ("rnn_back", "RNN", (4, 3, 8, 16), {"direction": "reverse"}, "b lengths h"),
    ("rnn_there_and_back", "RNN", (3, 1, 7, 9), {
        "direction": "bidirectional", "activations": ["Relu", "ScaledTanh"],
        "activation_alpha": [0.7], "activation_beta": [1.3]}, ""),
    ("gru", "GRU", (5, 3, 6, 17), {}, "b"),
    ("gru_without_biases", "GRU", (2, 3, 6, 17), {"linear_before_reset": 1}, ""),
    ("gru_there_and_back", "GRU", (2, 3, 4, 5), {
        "direction": "bidirectional", "layout": 1, "clip": 0.5,
        "activations": ["HardSigmoid", "Softsign", "Sigmoid", "LeakyRelu"],
        "activation_alpha": [0.3, 0.1], "activation_beta": [0.4]}, "b lengths h"),
    ("lstm", "LSTM", (5, 3, 6, 17), {}, "b"),
    ("lstm_coupled", "LSTM", (3, 2, 6, 8), {"input_forget": 1, "clip": 0.4}, "b h c p"),
    ("lstm_batch_first", "LSTM", (3, 2, 6, 8), {"layout": 1, "direction": "bidirectional"},
     "b h c"),
    ("lstm_of_others", "LSTM", (2, 2, 6, 8), {
        "activations": ["Affine", "Elu", "Softplus"], "activation_alpha": [0.4, 0.5],
        "activation_beta": [0.2]}, "b lengths"),
    ("lstm_thresholds", "LSTM", (2, 1, 6, 8), {
        "activations": ["hardsigmoid", "ThresholdedRelu", "tanh"],
        "activation_alpha": [0.25, 0.1]}, "b"),
    ("lstm_of_many", "LSTM", (6, 4, 48, 96), {}, "b"),
]
BRIEF = 3


def functions(op, attributes, direction):
    """Those of one direction, with their numbers."""
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    names = attributes.get("activations", USUAL[op] * directions)
    alpha = list(attributes.get("activation_alpha", ()))
    beta = list(attributes.get("activation_beta", ()))
    chosen = []
    for name in names:
        name = next(f for f in FUNCTIONS if f.lower() == name.lower())
        a = alpha.pop(0) if name in ALPHA and alpha else ALPHA.get(name)
        b = beta.pop(0) if name in BETA and beta else BETA.get(name)
        chosen.append(lambda x, f=FUNCTIONS[name], a=a, b=b: f(x, a, b))
    return chosen[direction * len(USUAL[op]):][:len(USUAL[op])]


def row(op, attributes, act, x, given, h, c):
    """y of each step of one row of a batch, its last h and c; given: w r b p of a direction."""
    w, r, p = given["w"], given["r"], given["p"]
    wb, rb = np.split(given["b"], 2)
    ys, n = [], len(h)
    clip = attributes.get("clip", np.inf)

    def gate(f, s):
        return f(np.clip(s, -clip, clip))

    for xt in x:
        sx = w @ xt + wb
        sh = r @ h + rb
        if op == "RNN":
            h = gate(act[0], sx + sh)
        elif op == "GRU":
            z = gate(act[0], (sx + sh)[:n])
            reset = gate(act[0], (sx + sh)[n:2 * n])
            own = reset * sh[2 * n:] if attributes.get("linear_before_reset") else \
                r[2 * n:] @ (reset * h) + rb[2 * n:]
            h = (1 - z) * gate(act[1], sx[2 * n:] + own) + z * h
        else:
            s, (pi, po, pf) = np.split(sx + sh, 4), np.split(p, 3)
            i = gate(act[0], s[0] + pi * c)
            f = 1 - i if attributes.get("input_forget") else gate(act[0], s[2] + pf * c)
            c = f * c + i * gate(act[1], s[3])
            h = gate(act[0], s[1] + po * c) * act[2](c)
        ys.append(h)
    return ys, h, c


def definition(op, sizes, attributes, a):
    """y, the last h and c; of operands with the batch behind the steps."""
    steps, batch, _, units = sizes
    directions = a["w"].shape[0]
    y = np.zeros((steps, directions, batch, units))
    last, cell = np.zeros((2, directions, batch, units))
    for d in range(directions):
        act = functions(op, attributes, d)
        back = d == 1 or attributes.get("direction") == "reverse"
        given = {name: a[name][d] for name in ("w", "r", "b", "p")}
        for b in range(batch):
            n = a["lengths"][b]
            order = slice(None, None, -1) if back else slice(None)
            ys, last[d, b], cell[d, b] = row(op, attributes, act, a["x"][:n, b][order], given,
                                             a["h"][d, b], a["c"][d, b])
            y[:n, d, b] = ys[::-1] if back else ys
    return y, last, cell


def operands(op, sizes, attributes):
    """All that there may be, in the order of the operator."""
    steps, batch, inputs, units = sizes
    directions = 2 if attributes.get("direction") == "bidirectional" else 1
    rows, random = GATES[op] * units, np.random.default_rng(units)
    shapes = {"x": (steps, batch, inputs), "w": (directions, rows, inputs),
              "r": (directions, rows, units), "b": (directions, 2 * rows), "lengths": (batch,),
              "h": (directions, batch, units), "c": (directions, batch, units),
              "p": (directions, 3 * units)}
    a = {name: (0.5 * random.standard_normal(shape)).astype(np.float32)
         for name, shape in shapes.items()}
    a["lengths"] = np.arange(1, batch + 1, dtype=np.int32) % steps + 1
    return a


def run(*words):
    return subprocess.run(["timeout", "120", *words], capture_output=True, text=True,
                          check=False, env=dict(os.environ, CORES="1"))


def build(work, op, attributes, a, used, inputs, opset=14):
    """The model; operands are constants but for `inputs`."""
    order = ["x", "w", "r", "b", "lengths", "h", "c", "p"][:8 if op == "LSTM" else 6]
    names = [name if name in ("x", "w", "r") or name in used.split() else "" for name in order]
    turned = {name: v.swapaxes(0, 1) if attributes.get("layout") and name in ("x", "h", "c")
              else v for name, v in a.items()}
    while not names[-1]:
        names.pop()
    results = "y last cell" if op == "LSTM" else "y last"
    given = [name for name in inputs if name in names]
    own = {"hidden_size": a["r"].shape[2], **attributes}
    model.write(f"{work}/m.onnx", [(op, " ".join(names), results, own)],
                {name: (turned[name].dtype, turned[name].shape) for name in given}, results,
                {name: turned[name] for name in names if name and name not in given}, opset)
    for name in given:
        np.save(f"{work}/{name}.npy", turned[name])
    return [f"{work}/{name}.npy" for name in given], results.split()


def compute(work, op, sizes, attributes, used):
    """What is wrong."""
    a = operands(op, sizes, attributes)
    inputs, names = build(work, op, attributes, a, used, ("x", "lengths", "h"))
    for name, value in (("b", 0), ("lengths", sizes[0]), ("h", 0), ("c", 0), ("p", 0)):
        if name not in used.split():
            a[name][:] = value
    done = run(GRAPH, "compile", f"{work}/m.onnx", f"{work}/plan")
    if done.returncode:
        return [done.stderr]
    done = run(SALAI, "--", "graph", f"{work}/plan", *inputs,
               *(w for name in names for w in ("-o", f"{name}={work}/{name}.npy")))
    if done.returncode:
        return [done.stderr]
    a = {name: v if name == "lengths" else v.astype(np.float64) for name, v in a.items()}
    wrong = []
    for name, want in zip(names, definition(op, sizes, attributes, a)):
        if attributes.get("layout"):
            want = want.transpose((2, 0, 1, 3) if want.ndim == 4 else (1, 0, 2))
        got = np.load(f"{work}/{name}.npy")
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-4, atol=1e-6):
            wrong.append(f"{name}: {got.shape}, want {want.shape}, off by "
                         f"{np.abs(got - want).max() if got.shape == want.shape else '?'}")
    return wrong


def refused(work):
    """What contradicts, and what is not known: one line, status 2."""
    sizes, wrong = (2, 1, 3, 4), []
    for op, attributes, change, want in (
            ("RNN", {"activations": ["Swish"]}, {}, "no activation 'Swish' is known"),
            ("GRU", {"activations": ["Tanh"]}, {}, "1 activations"),
            ("RNN", {"direction": "sideways"}, {}, "direction 'sideways'"),
            ("LSTM", {"hidden_size": 5}, {}, "hidden_size is not 4"),
            ("RNN", {"alpha": 2}, {}, "attribute 'alpha' is not known"),
            ("LSTM", {}, {"b": (1, 31)}, "operand 3 is [1, 31] for 4 units and 3 inputs"),
            ("RNN", {}, {"x": (4097, 1, 3)},
             "4097 steps of 3 inputs to 4 units: 1 to 4096, 1 to 65536"),
            ("LSTM", {}, {"x": (0, 1, 3)},
             "0 steps of 3 inputs to 4 units: 1 to 4096, 1 to 65536"),
            ("GRU", {}, {"w": (12, 3)}, "[2, 1, 3] by weights of [12, 3] and [1, 12, 4]")):
        a = operands(op, sizes, {})
        a.update({name: np.zeros(shape, np.float32) for name, shape in change.items()})
        build(work, op, attributes, a, "b", ("x",))
        done = run(GRAPH, "compile", f"{work}/m.onnx", f"{work}/no")
        line = f"{work}/m.onnx: node '{op}_0' ({op}): {want}\n"
        if done.returncode != 2 or done.stderr != line or os.path.exists(f"{work}/no"):
            wrong.append(f"{done.returncode}: {done.stderr}, want {line}")
    return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    cases = CASES if os.environ.get("FULL") or len(sys.argv) > 1 else CASES[:BRIEF]
    with tempfile.TemporaryDirectory(prefix="rnn.", dir=f"{ROOT}/build/test") as work:
        for name, *case in cases:
            if len(sys.argv) < 2 or name in sys.argv[1:]:
                tap.check(f"recurrent/{name}", compute(work, *case))
        if len(sys.argv) < 2:
            tap.check("recurrent/refused", refused(work))
    return tap.done(4)


sys.exit(main())
