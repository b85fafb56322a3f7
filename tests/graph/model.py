# SPDX-License-Identifier: MIT
#
# Models of ONNX for tests, written as protobuf without any package: the few messages of
# onnx.proto that a small graph wants, fields by their numbers there.
#
#   write(PATH, nodes, inputs, outputs, constants)
#       nodes: (op, inputs, outputs, attributes); a list may have names with blanks between
#       inputs: name -> (numpy type, or "bfloat16", shape); outputs: names; constants: name ->
#       array
#   Model(nodes, inputs, outputs)
#       the same with arrays as inputs, compiled, of float32 as `wide` says; what it was
#       refused for, or its run
import os
import struct
import subprocess
import tempfile
import zlib

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GRAPH, SALAI = f"{ROOT}/build/graph", f"{ROOT}/tools/salai"

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
         "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13,
         "bfloat16": 16}


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def field(number, value):
    """A whole number, a float, or bytes: text, a message."""
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value


def tensor(name, array):
    array = np.asarray(array)
    return (b"".join(field(1, int(d)) for d in array.shape) +
            field(2, TYPES[str(array.dtype)]) + field(8, name) + field(9, array.tobytes()))


class Graph:
    """Within a node: its nodes, the results' names, its constants; the operands' names."""

    def __init__(self, nodes, outputs, constants=None, inputs=""):
        self.bytes = b"".join(field(1, node(n[0], n[1], n[2], n[3] if len(n) > 3 else {}, f"in{i}"))
                              for i, n in enumerate(nodes))
        self.bytes += field(2, "body")
        self.bytes += b"".join(field(5, tensor(*of)) for of in (constants or {}).items())
        self.bytes += b"".join(field(11, field(1, name)) for name in inputs.split())
        self.bytes += b"".join(field(12, field(1, name)) for name in outputs.split(" "))


def attribute(name, value):
    kind, body = {int: (2, lambda: field(3, value)), float: (1, lambda: field(2, value)),
                  str: (3, lambda: field(4, value))}.get(type(value), (None, None))
    if kind is None and isinstance(value, Graph):
        kind, body = 5, lambda: field(6, value.bytes)
    elif kind is None and isinstance(value, np.ndarray):
        kind, body = 4, lambda: field(5, tensor("", value))
    elif kind is None and isinstance(value[0], str):
        kind, body = 8, lambda: b"".join(field(9, v) for v in value)
    elif kind is None and isinstance(value[0], float):
        kind, body = 6, lambda: b"".join(field(7, v) for v in value)
    elif kind is None:
        kind, body = 7, lambda: b"".join(field(8, int(v)) for v in value)
    return field(1, name) + field(20, kind) + body()


def node(op, inputs, outputs, attributes, number):
    return (b"".join(field(1, name) for name in inputs.split(" ")) +
            b"".join(field(2, name) for name in outputs.split(" ")) +
            field(3, f"{op}_{number}") + field(4, op) +
            b"".join(field(5, attribute(*a)) for a in attributes.items()))


def value_info(name, kind, shape):
    dims = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d))
                    for d in shape)
    kind = kind if kind in TYPES else np.dtype(kind).name
    return field(1, name) + field(2, field(1, field(1, TYPES[kind]) +
                                           field(2, dims)))


def write(path, nodes, inputs, outputs, constants=None, opset=13, results=None):
    """results: the type of what is given, if it is told."""
    graph = b"".join(field(1, node(n[0], n[1], n[2], n[3] if len(n) > 3 else {}, i))
                     for i, n in enumerate(nodes))
    graph += field(2, "test")
    graph += b"".join(field(5, tensor(name, a)) for name, a in (constants or {}).items())
    graph += b"".join(field(11, value_info(name, *of)) for name, of in inputs.items())
    graph += b"".join(field(12, value_info(name, results, ()) if results else field(1, name))
                      for name in outputs.split(" "))
    with open(path, "wb") as f:
        f.write(field(1, 8) + field(7, graph) + field(8, field(2, opset)))


def crc(data):
    """Of a plan's bytes behind the word that holds it."""
    return struct.pack("<I", zlib.crc32(data))


def differs(got, want, bound):
    """By more than that share of the largest element."""
    if got is None or got.shape != want.shape:
        return f"{None if got is None else got.shape}, want {want.shape}"
    error = np.abs(got.astype(np.float64) - want).max(initial=0)
    error /= max(np.abs(want).max(initial=0), 1e-30)
    return "" if error <= bound else f"off by {error:.2g} of the largest element"


class Model:
    """What becomes of nodes."""

    def __init__(self, nodes, inputs, outputs, constants=None, opset=13, options=(),
                 wide="float32", profile="", results=None):
        self.folder = tempfile.TemporaryDirectory(prefix="plan.", dir=f"{ROOT}/build/test")
        self.work = self.folder.name
        self.inputs, self.outputs, self.profile = inputs, outputs.split(" "), profile
        options = [*options, "--profile", profile] if profile else options
        write(f"{self.work}/m.onnx", nodes,
                    {name: (wide if a.dtype == np.float32 else a.dtype, a.shape)
                     for name, a in inputs.items()}, outputs, constants, opset, results)
        done = self.call(GRAPH, "compile", f"{self.work}/m.onnx", f"{self.work}/plan",
                         "--explain", f"{self.work}/explain.txt",
                         "--json", f"{self.work}/explain.json", *options)
        self.refused = done.stderr.strip().split(": ", 1)[-1] if done.returncode == 2 else ""

    def call(self, *words, cores=1):
        return subprocess.run(["timeout", "120", *words], capture_output=True, text=True,
                              check=False, env=dict(os.environ, CORES=str(cores),
                                                   **({"PROFILE": self.profile}
                                                      if self.profile else {})))

    def explain(self, kind="txt"):
        with open(f"{self.work}/explain.{kind}", encoding="ascii") as f:
            return f.read()

    def run(self, *options, cores=1):
        """Outputs by name; and what it says."""
        words = []
        for name, array in self.inputs.items():
            np.save(f"{self.work}/{name}.npy", array)
            words.append(f"{self.work}/{name}.npy")
        for name in self.outputs:
            words += ["-o", f"{name}={self.work}/{name}.out.npy"]
        done = self.call(SALAI, "--", "graph", f"{self.work}/plan", *words, *options,
                         cores=cores)
        if done.returncode:
            return {}, f"status {done.returncode}: {done.stderr.strip()}"
        return ({name: np.load(f"{self.work}/{name}.out.npy") for name in self.outputs},
                done.stdout)
