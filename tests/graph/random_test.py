#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""random_test.py [SEED]...    random graphs, with every pass alone and with all of them

100 of 20 to 200 nodes, the first four in the short run; from 100 on, of which 50 are in the long
one, more kinds of nodes. Each is computed as it stands, with one pass at a time and with all:
outputs have to be the same but for the order of sums, memory hardly more than what is live at one
time. TAP on stdout."""

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
PLACES = 1024  # bytes more that few small tensors may take: two places
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
        makers = self.makers()
        while len(self.nodes) < nodes:
            makers[self.random.integers(len(makers))](self.pick())
        self.outputs = [name for name in list(self.shapes)[-OUTPUTS:] if name != "x"]

    def makers(self):
        return [self.unary] * 4 + [self.binary] * 4 + [self.with_constant] * 2 + [
            self.product, self.transpose, self.concat, self.slice, self.softmax, self.centre,
            self.convolution, self.twice]

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


class Wide(Graph):
    """Of more kinds. What small differences would make large ones is of x, which has none."""

    def makers(self):
        return [*super().makers(), self.where, self.reduce, self.arg, self.gather, self.pad,
                self.turned, self.split, self.clip, self.norm, self.column, self.back, self.sort,
                self.whole, self.tile, self.gemm, self.sums, self.scatter]

    def hidden(self, op, inputs, **attributes):
        """No result that others pick."""
        name = self.node(op, inputs, None, **attributes)
        del self.shapes[name]
        return name

    def numbers(self, *whole):
        return self.constant(np.array(whole, np.int64))

    def where(self, y):
        alike = [name for name, shape in self.shapes.items() if shape == self.x.shape]
        c = self.constant(np.float32(self.random.standard_normal()))
        mask = self.hidden(str(self.random.choice(["Greater", "Less"])), f"x {c}")
        y, z = self.random.choice(alike, 2)
        return self.node("Where", f"{mask} {y} {z}", self.x.shape)

    def reduce(self, x):
        op = str(self.random.choice(["ReduceMax", "ReduceMean", "ReduceMin", "ReduceL2"]))
        h = self.hidden(op, x, axes=[int(self.random.integers(2))], keepdims=1)
        return self.node(str(self.random.choice(["Sub", "Add"])), f"{x} {h}", self.shapes[x])

    def arg(self, _):
        rows, columns = self.x.shape
        table = self.constant(self.noise(columns, 7))
        return self.node("Gather", f"{table} {self.hidden('ArgMax', 'x', axis=1, keepdims=0)}",
                         (rows, 7), axis=0)

    def gather(self, x):
        shape, axis = list(self.shapes[x]), int(self.random.integers(2))
        at = self.numbers(*self.random.integers(-shape[axis], shape[axis], 9))
        shape[axis] = 9
        return self.node("Gather", f"{x} {at}", tuple(shape), axis=axis)

    def pad(self, x):
        p = [int(n) for n in self.random.integers(0, 3, 4)]
        rows, columns = self.shapes[x]
        if rows * columns > 2000:
            return x
        return self.node("Pad", f"{x} {self.numbers(*p)} {self.constant(np.float32(.5))}",
                         (rows + p[0] + p[2], columns + p[1] + p[3]))

    def turned(self, x):
        """In three dimensions, and not always back."""
        rows, columns = self.shapes[x]
        part = int(self.random.choice([n for n in (1, 2, 3, 4, 5, 11) if columns % n == 0]))
        h = self.hidden("Reshape", f"{x} {self.numbers(rows, part, columns // part)}")
        perm = [int(n) for n in self.random.permutation(3)]
        h = self.hidden("Sigmoid", self.hidden("Transpose", h, perm=perm))
        if self.random.random() < 0.5:
            h = self.hidden("Transpose", h, perm=[perm.index(i) for i in range(3)])
        return self.node("Reshape", f"{h} {self.numbers(rows, -1)}", (rows, columns))

    def split(self, x):
        rows, columns = self.shapes[x]
        if columns < 2:
            return x
        first = int(self.random.integers(1, columns))
        a = self.hidden("Split", f"{x} {self.numbers(first, columns - first)}", axis=1)
        op, inputs, _, attributes = self.nodes.pop()
        b = f"{a}b"
        self.nodes.append((op, inputs, f"{a} {b}", attributes))
        return self.node("Concat", f"{self.hidden('Tanh', b)} {a}", (rows, columns), axis=1)

    def clip(self, x):
        limits = " ".join(self.constant(np.float32(n)) for n in (-0.7, 0.9))
        return self.node("Clip", f"{x} {limits}", self.shapes[x])

    def norm(self, x):
        g, b = (self.constant(self.noise(self.shapes[x][1])) for _ in range(2))
        return self.node("LayerNormalization", f"{x} {g} {b}", self.shapes[x], axis=1,
                         epsilon=0.01)

    def column(self, x):
        c = self.constant(self.noise(self.shapes[x][0], 1))
        return self.node(str(self.random.choice(BINARY)), f"{c} {x}", self.shapes[x])

    def back(self, x):
        words = [self.numbers(n) for n in (-1, -2**60, int(self.random.integers(2)), -1)]
        return self.node("Slice", " ".join([x, *words]), self.shapes[x])

    def sort(self, _):
        rows, columns = self.x.shape
        name = self.node("TopK", f"x {self.numbers(columns)}", (rows, columns), axis=1)
        op, inputs, _, attributes = self.nodes.pop()
        self.nodes.append((op, inputs, f"{name} {name}i", attributes))
        return name

    def whole(self, _):
        h = self.hidden("Mul", f"x {self.constant(np.float32(8))}")
        h = self.hidden("Abs", self.hidden("Cast", h, to=int(self.random.choice([6, 7]))))
        return self.node("Cast", h, self.x.shape, to=1)

    def tile(self, x):
        rows, columns = self.shapes[x]
        if rows * columns > 1500:
            return x
        return self.node("Tile", f"{x} {self.numbers(2, 1)}", (2 * rows, columns))

    def gemm(self, x):
        rows, k = self.shapes[x]
        w, b = self.constant(self.noise(9, k) / np.float32(np.sqrt(k))), self.constant(
            self.noise(9))
        return self.node("Gemm", f"{x} {w} {b}", (rows, 9), transB=1)

    def sums(self, x):
        if max(self.shapes[x]) > 40:
            return x
        h = self.hidden("CumSum", f"{x} {self.constant(np.int64(self.random.integers(2)))}")
        return self.node("Tanh", h, self.shapes[x])

    def scatter(self, x):
        rows, columns = self.shapes[x]
        at = self.constant(np.array([[self.random.integers(rows)]], np.int64))
        return self.node("ScatterND", f"{x} {at} {self.constant(self.noise(1, columns))}",
                         (rows, columns))


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
    graph = (Graph if seed < 100 else Wide)(seed, nodes)
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
            if memory["arena"] > max(MEMORY * memory["live"],
                                     memory["live"] + PLACES * isinstance(graph, Wide)):
                wrong.append(f"{way}: {memory}")
            for name, path, right in zip(graph.outputs, paths, want):
                off = np.abs(np.load(path) - right).max() / max(np.abs(right).max(), 1e-30)
                wrong += [] if off <= BOUND else [f"{way}: {name} is {off:.1e} off"]
        return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    seeds = [int(word) for word in sys.argv[1:]] or \
        range(150 if os.environ.get("FULL") else 4)
    for seed in seeds:
        nodes = 20 + seed % 100 * 180 // 99
        tap.check(f"random/{seed}_of_{nodes}_nodes", differs(seed, nodes))
    return tap.done(4)


sys.exit(main())
