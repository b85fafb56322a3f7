#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""random_test.py [SEED]...    random graphs, with every pass alone and with all of them

100 of 20 to 200 nodes, the first four in the short run. Each is computed as it stands, with one
pass at a time and with all: outputs have to be the same but for the order of sums, memory hardly
more than what is live at one time. TAP on stdout."""

import json
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
PASSES = ["norms", "common", "dead", "fusion"]
BOUND = 1e-4  # of the largest element
MEMORY = 1.1  # of what is live at one time, at most
OUTPUTS = 3
UNARY = ["Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Softplus", "Erf"]
BINARY = ["Add", "Sub", "Mul", "Max", "Min"]


class Graph:
    """Nodes that are made at random; tensors are matrices."""

    def __init__(self, seed, nodes):
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.shapes = [], {}, {}
        self.number = 0
        rows, columns = (int(n) for n in self.random.choice([4, 6, 8, 15, 24, 32], 2))
        self.x = self.noise(rows, columns)
        self.shapes["x"] = self.x.shape
        makers = [self.unary] * 4 + [self.binary] * 4 + [self.with_constant] * 2 + [
            self.product, self.transpose, self.concat, self.slice, self.softmax, self.centre,
            self.convolution, self.twice]
        while len(self.nodes) < nodes:
            makers[self.random.integers(len(makers))](self.pick())
        self.outputs = [name for name in list(self.shapes)[-OUTPUTS:] if name != "x"]

    def noise(self, *shape):
        return self.random.standard_normal(shape).astype(np.float32)

    def pick(self):
        """Late ones more often."""
        names = list(self.shapes)
        return names[-1 - min(int(self.random.exponential(4)), len(names) - 1)]

    def constant(self, array):
        self.number += 1
        self.constants[f"c{self.number}"] = np.asarray(array)
        return f"c{self.number}"

    def node(self, op, inputs, shape, **attributes):
        self.number += 1
        self.shapes[f"t{self.number}"] = shape
        self.nodes.append((op, inputs, f"t{self.number}", attributes))
        return f"t{self.number}"

    def unary(self, x):
        return self.node(str(self.random.choice(UNARY)), x, self.shapes[x])

    def binary(self, x):
        alike = [name for name, shape in self.shapes.items() if shape == self.shapes[x]]
        y = alike[self.random.integers(len(alike))]
        y = self.node(str(self.random.choice(BINARY)), f"{x} {y}", self.shapes[x])
        return self.node("Tanh", y, self.shapes[x])

    def with_constant(self, x):
        c = self.constant(self.noise(self.shapes[x][1]))
        return self.node(str(self.random.choice(BINARY)), f"{x} {c}", self.shapes[x])

    def product(self, x):
        rows, k = self.shapes[x]
        columns = int(self.random.choice([4, 8, 16, 24]))
        w = self.constant(self.noise(k, columns) / np.float32(np.sqrt(k)))
        return self.node("MatMul", f"{x} {w}", (rows, columns))

    def transpose(self, x):
        return self.node("Transpose", x, self.shapes[x][::-1], perm=[1, 0])

    def concat(self, x):
        rows, columns = self.shapes[x]
        if rows > 64:
            return x
        return self.node("Concat", f"{x} {x}", (2 * rows, columns), axis=0)

    def slice(self, x):
        rows, columns = self.shapes[x]
        begin, end = int(self.random.integers(rows)), rows
        words = [self.constant(np.array([n], np.int64)) for n in (begin, end, 0)]
        return self.node("Slice", " ".join([x, *words]), (end - begin, columns))

    def softmax(self, x):
        return self.node("Softmax", x, self.shapes[x], axis=1)

    def centre(self, x):
        """Less the mean, by the root of the mean square: half of a layer norm."""
        rows, columns = self.shapes[x]
        mean = self.node("ReduceMean", x, (rows, 1), axes=[1])
        d = self.node("Sub", f"{x} {mean}", (rows, columns))
        var = self.node("ReduceMean", self.node("Mul", f"{d} {d}", (rows, columns)), (rows, 1),
                        axes=[1])
        var = self.node("Add", f"{var} {self.constant(np.float32(0.1))}", (rows, 1))
        return self.node("Div", f"{d} {self.node('Sqrt', var, (rows, 1))}", (rows, columns))

    def convolution(self, x):
        """With a normalisation behind it, over the matrix as a picture of one channel."""
        rows, columns = self.shapes[x]
        m = int(self.random.choice([1, 2, 4]))
        y = self.node("Reshape", f"{x} {self.constant(np.array([1, 1, rows, columns], np.int64))}",
                      None)
        y = self.node("Conv", f"{y} {self.constant(self.noise(m, 1, 3, 3) / 3)}", None,
                      pads=[1, 1, 1, 1])
        y = self.node("BatchNormalization", " ".join([y, *(
            self.constant(a) for a in (self.noise(m), self.noise(m), self.noise(m),
                                       np.abs(self.noise(m)) + 1))]), None)
        for name in [name for name, shape in self.shapes.items() if shape is None]:
            del self.shapes[name]
        return self.node(
            "Reshape", f"{y} {self.constant(np.array([m * rows, columns], np.int64))}",
            (m * rows, columns))

    def twice(self, x):
        """What another node computes already."""
        op, inputs, name, attributes = self.nodes[self.random.integers(len(self.nodes))] \
            if self.nodes else ("Neg", x, "", {})
        if name in self.shapes:
            self.node(op, inputs, self.shapes[name], **attributes)


def plans(graph, work):
    """Words of the firmware's command line for each way to compile it, and their outputs."""
    model.write(f"{work}/m.onnx", graph.nodes, {"x": (graph.x.dtype, graph.x.shape)},
                " ".join(graph.outputs), graph.constants)
    np.save(f"{work}/x.npy", graph.x)
    words, ways = [], {}
    for way in ["none", *PASSES, "all"]:
        off = [f"--no-{p}" for p in PASSES if way not in ("all", p)]
        done = subprocess.run([GRAPH, "compile", f"{work}/m.onnx", f"{work}/{way}", "--json",
                               f"{work}/{way}.json", *off],
                              capture_output=True, text=True, check=False)
        if done.returncode:
            return [], {way: done.stderr}
        ways[way] = [f"{work}/{way}.{name}.npy" for name in graph.outputs]
        words += ["+"] * bool(words) + ["graph", f"{work}/{way}", f"{work}/x.npy"]
        words += [w for name, path in zip(graph.outputs, ways[way])
                  for w in ("-o", f"{name}={path}")]
    return words, ways


def differs(seed, nodes):
    graph = Graph(seed, nodes)
    with tempfile.TemporaryDirectory(prefix="random.", dir=f"{ROOT}/build/test") as work:
        words, ways = plans(graph, work)
        if not words:
            return [str(ways)]
        done = subprocess.run(["timeout", "120", SALAI, "--", *words], capture_output=True,
                              text=True, check=False, env=dict(os.environ, CORES="1"))
        if done.returncode:
            return [f"status {done.returncode}: {done.stderr.strip()}"]
        want = [np.load(path).astype(float) for path in ways["none"]]
        wrong = []
        for way, paths in ways.items():
            with open(f"{work}/{way}.json", encoding="ascii") as f:
                memory = json.load(f)["memory"]
            if memory["arena"] > MEMORY * memory["live"]:
                wrong.append(f"{way}: {memory}")
            for name, path, right in zip(graph.outputs, paths, want):
                off = np.abs(np.load(path) - right).max() / max(np.abs(right).max(), 1e-30)
                wrong += [] if off <= BOUND else [f"{way}: {name} is {off:.1e} off"]
        return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    seeds = [int(word) for word in sys.argv[1:]] or \
        range(100 if os.environ.get("FULL") else 4)
    for seed in seeds:
        nodes = 20 + seed % 100 * 180 // 99
        tap.check(f"random/{seed}_of_{nodes}_nodes", differs(seed, nodes))
    return tap.done()


sys.exit(main())
