# SPDX-License-Identifier: MIT
#
# Tile programs by NumPy, in double precision: what tests compare the interpreter of the
# firmware with. A program's expressions are Python's, over arrays that have an axis for
# every dimension of the kernel, of size 1 where the value does not have it.
import math
import re

import numpy as np

TYPES = {"f32": np.float32, "f16": np.float16, "s32": np.int32, "s16": np.int16,
         "s8": np.int8, "u8": np.uint8}
TENSOR = re.compile(r"(\w+)\s*:\s*(\w+)\s*(?:\[([^\]]*)\])?")


class Value(np.ndarray):
    """`@` contracts the one axis that both have; dims: an axis by its name."""
    axis = None

    def __matmul__(self, other):
        both = [i for i in range(self.ndim) if self.shape[i] > 1 and other.shape[i] > 1]
        return (np.asarray(self) * np.asarray(other)).sum(both[0], keepdims=True).view(Value)


def value(array):
    return np.asarray(array).view(Value)


def reduction(over, elementwise=None):
    """over(x, axis) where the last argument is a dimension."""
    def call(x, last):
        if elementwise and getattr(last, "axis", None) is None:
            return value(elementwise(x, last))
        return value(over(np.asarray(x), last.axis))
    return call


def keep(function):
    return reduction(lambda x, axis: function(x, axis=axis, keepdims=True))


def to_integer(low, high, dtype):
    return lambda x: value(np.clip(np.rint(np.asarray(x, np.float64)), low, high).astype(dtype))


def to_float(dtype):
    """What is a float already stays: only integers lose something on their way to fp32."""
    def call(x):
        x = np.asarray(x)
        to = np.float64 if dtype == np.float32 and x.dtype == np.float64 else dtype
        return value(x.astype(to).astype(np.float64))
    return call


erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    "neg": np.negative, "abs": np.abs, "relu": lambda x: np.maximum(x, 0), "exp": np.exp,
    "log": np.log, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "rec": lambda x: 1 / x,
    "tanh": np.tanh, "erf": lambda x: value(erf(x)), "floor": np.floor, "ceil": np.ceil,
    "round": np.rint, "trunc": np.trunc, "not_": np.logical_not, "and_": np.logical_and,
    "or_": np.logical_or, "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "gelu": lambda x: value(x / 2 * (1 + erf(x / math.sqrt(2)))),
    "gelu_tanh": lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) *
                                                (x + 0.044715 * x ** 3))),
    "softplus": lambda x: np.logaddexp(0, x), "prelu": lambda x, y: np.where(x < 0, x * y, x),
    "sign": np.sign, "mod": np.mod, "pow": np.power, "isnan": np.isnan, "isinf": np.isinf,
    "elu": lambda x, a: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1), "xor": np.logical_xor,
    "argmin": reduction(lambda x, a: np.expand_dims(x.argmin(a), a).astype(np.int32)),
    "all": keep(np.all), "norm": keep(lambda x, **k: np.sqrt(np.sum(x * x, **k))),
    "where": lambda m, x, y: value(np.where(m, x, y)), "clip": np.clip,
    "max": reduction(lambda x, axis: x.max(axis, keepdims=True), np.maximum),
    "min": reduction(lambda x, axis: x.min(axis, keepdims=True), np.minimum),
    "sum": keep(np.sum), "mean": keep(np.mean), "var": keep(np.var), "any": keep(np.any),
    "count": reduction(lambda x, a: x.sum(a, keepdims=True).astype(np.int32)),
    "argmax": reduction(lambda x, a: np.expand_dims(x.argmax(a), a).astype(np.int32)),
    "dot": lambda x, y, d: value((np.asarray(x) * np.asarray(y)).sum(d.axis, keepdims=True)),
    "quantise": lambda x, scale, zero, to: to(np.rint(x / scale) + zero),
    "dequantise": lambda x, scale, zero: (x - zero) * scale,
    "f32": to_float(np.float32), "f16": to_float(np.float16),
    "s32": to_integer(-2**31, 2**31 - 1, np.int32), "s16": to_integer(-2**15, 2**15 - 1, np.int16),
    "s8": to_integer(-128, 127, np.float64), "u8": to_integer(0, 255, np.float64),
    "inf": math.inf, "F": lambda x: float(np.float32(x)),
}


class Program:
    def __init__(self, text):
        self.lines = [line for line in re.sub("#.*", "", text).splitlines() if line.strip()]
        head = re.match(r"kernel (\w+)\((.*)\)\s*->\s*(.*)", self.lines[0])
        self.name = head[1]
        self.params = self.tensors(head[2])
        self.results = self.tensors(head[3])
        self.scalars = dict(re.findall(r"(\w+)\s*=\s*([-\w.]+)", re.sub(TENSOR, "", head[2])))
        self.dims = []
        for _, _, dims in self.params + self.results:
            self.dims += [d for d in dims if d not in self.dims]

    @staticmethod
    def tensors(text):
        return [(name, type_, re.findall(r"\w+", dims)) for name, type_, dims
                in TENSOR.findall(text)]

    def spread(self, array, dims):
        """An array with an axis for each dimension of the kernel."""
        order = sorted(range(len(dims)), key=lambda i: self.dims.index(dims[i]))
        shape = [array.shape[dims.index(d)] if d in dims else 1 for d in self.dims]
        integer = array.dtype in (np.int32, np.int16)
        array = array if integer else array.astype(np.float64)
        return value(array.transpose(order).reshape(shape))

    def run(self, arrays, sizes, scalars=()):
        """Results in double precision, by name, for arrays by name."""
        names = dict(FUNCTIONS)
        for i, d in enumerate(self.dims):
            shape = [sizes[d] if j == i else 1 for j in range(len(self.dims))]
            names[d] = value(np.arange(sizes[d], dtype=np.int32).reshape(shape))
            names[d].axis = i
        for name, _, dims in self.params:
            names[name] = self.spread(arrays[name], dims)
        for name, number in {**self.scalars, **dict(scalars)}.items():
            names[name] = float(np.float32(number))
        carried, pending = (), {}
        for line in self.lines[1:]:
            words = line.split()
            if words[0] == "loop":  # one step over all of its dimension
                carried = re.findall(r"(\w+) = (\S+?)\[", line)
                names.update((name, eval(first, {}, names)) for name, first in carried)
                carried = [name for name, _ in carried]
            elif words[0] == "end":
                names.update(pending)
                carried = ()
            elif words[0] != "schedule":
                name, expression = re.match(r"\s*(\w+)\s*=(.*)", line).groups()
                to = pending if name in carried else names
                to[name] = eval(self.python(expression), {}, names)
        return {name: self.gather(names[name], dims, sizes) for name, _, dims in self.results}

    def gather(self, array, dims, sizes):
        """A value as the tensor that its declaration says."""
        array = np.broadcast_to(array, [sizes[d] if d in dims else 1 for d in self.dims])
        array = array.reshape([sizes[d] for d in self.dims if d in dims])
        order = sorted(dims, key=self.dims.index)
        return array.transpose([order.index(d) for d in dims])

    @staticmethod
    def python(expression):
        """Numbers are those of fp32; words of Python's own get an underscore."""
        expression = re.sub(r"\b(not|and|or)\(", r"\1_(", expression.strip())
        return re.sub(r"(?<![\w.])(\d+\.\d*(?:e-?\d+)?|\d+e-?\d+)", r"F(\1)", expression)
