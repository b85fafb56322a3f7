# SPDX-License-Identifier: MIT
#
# What operators that move or combine elements compute, in NumPy, for golden.py: parts of
# arrays by lists in options or by index, windows of a map with its channels last.
import numpy as np


def largest(x, axes=None, keepdims=False):
    """The maximum, in which -0 is below +0: of these np.max gives either."""
    most = np.max(x, axes, keepdims=keepdims)
    plus = np.any((x == 0) & ~np.signbit(x), axes, keepdims=keepdims)
    return np.where((most == 0) & plus, most.dtype.type(0), most)


def pooled(x, o, combine):
    """Windows of x (n, h, w, c), each combined as far as it is in x, or with 0 around it."""
    if o["global"]:
        return combine(x, (1, 2), keepdims=True)
    kh, sh, gap, top = o["kernel"], o["stride"], o["dilation"], o["pad"]
    kw, sw = o["kernel_w"] or kh, o["stride_w"] or sh
    left = top if o["pad_left"] < 0 else o["pad_left"]
    pads = ((0, 0), (top, top if o["pad_bottom"] < 0 else o["pad_bottom"]),
            (left, left if o["pad_right"] < 0 else o["pad_right"]), (0, 0))
    there = np.pad(np.ones(x.shape, bool), pads)
    if o.get("include_pad"):
        there[:] = True
    x = np.pad(x, pads)
    oh = (x.shape[1] - (kh - 1) * gap - 1) // sh + 1
    ow = (x.shape[2] - (kw - 1) * gap - 1) // sw + 1
    y = np.zeros((x.shape[0], oh, ow, x.shape[3]), x.dtype)
    for n, p, q, c in np.ndindex(y.shape):
        at = (n, slice(p * sh, p * sh + (kh - 1) * gap + 1, gap),
              slice(q * sw, q * sw + (kw - 1) * gap + 1, gap), c)
        y[n, p, q, c] = combine(x[at][there[at]])
    return y


def interpolated(x, rows, columns, o):
    """Rows and columns of x (n, h, w, c) by linear weights, and what y may be off."""
    def taps(of_x, of_y):
        at = (np.arange(of_y) * (of_x - 1) / max(of_y - 1, 1) if o["corners"] else
              (np.arange(of_y) + 0.5) * of_x / of_y - 0.5)
        first, after = np.divmod(np.clip(at, 0, of_x - 1), 1)
        for i, weight in (first, 1 - after), (np.minimum(first + 1, of_x - 1), after):
            yield i.astype(int), np.where(weight.astype(o["out"]) == 0, 0, weight)
    unit, least = (2.0**-11, 2.0**-23) if o["out"] == np.float16 else (2.0**-24, 2.0**-147)
    y = size = 0
    for h, a in taps(x.shape[1], rows):
        for w, b in taps(x.shape[2], columns):
            weight = (a[:, None] * b)[None, :, :, None]
            term = weight * x[:, h][:, :, w].astype(np.float64)
            term = np.where(weight == 0, 0, term)
            y, size = y + term, size + np.abs(term)
    return y, 6 * unit * size + least


def listed(text, ndim, rest):
    return [int(n) for n in text.split(",")] if text else [rest] * ndim


def sliced(ndim, starts, stops, steps):
    parts = zip(listed(starts, ndim, None), listed(stops, ndim, None), listed(steps, ndim, None))
    return tuple(slice(*part) for part in parts)


def padded(ndim, before, after):
    return list(zip(listed(before, ndim, 0), listed(after, ndim, 0)))


def gathered(x, index, batch):
    outer = x.shape[:batch]
    tuples = index.reshape(*outer, -1, index.shape[-1])
    rows = [x[(*at[:-1], *map(int, tuples[at]))] for at in np.ndindex(tuples.shape[:-1])]
    return np.array(rows, x.dtype).reshape(index.shape[:-1] + x.shape[batch + index.shape[-1]:])


def combine(reduce, before, with_):
    how = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}.get(reduce)
    return how(before, with_) if how else with_


def scattered(x, index, u, axis, reduce):
    y = x.copy()
    for at in np.ndindex(index.shape):
        to = list(at)
        to[axis] = index[at]
        y[tuple(to)] = combine(reduce, y[tuple(to)], u[at])
    return y


def scattered_rows(x, index, u, reduce):
    y = x.copy()
    for at in np.ndindex(index.shape[:-1]):
        to = tuple(map(int, index[at]))
        y[to] = combine(reduce, y[to], u[at])
    return y


def ordered(x, axis, k, descending):
    """The first k of a stable sort, and where they were; NaN is the largest."""
    way = slice(None, None, -1) if descending else slice(None)
    x = np.moveaxis(x, axis, -1)
    i = np.argsort(x[..., way], -1, kind="stable")[..., way]
    i = (x.shape[-1] - 1 - i if descending else i)[..., :k]
    return [np.moveaxis(a, -1, axis) for a in (np.take_along_axis(x, i, -1), i)]


def cumulated(x, o):
    """Sums along an axis, wide, and bounds of the error of those of float32."""
    way = slice(None, None, -1) if o["reverse"] else slice(None)
    x = np.moveaxis(x, o["axis"], 0)[way]
    y, size = np.cumsum(x, 0), np.cumsum(np.abs(x), 0)
    if o["exclusive"]:
        y, size = (np.concatenate([np.zeros_like(a[:1]), a[:-1]]) for a in (y, size))
    bound = size * len(x) * 2.0**-24 if x.dtype.kind == "f" else size * 0.0
    if o["out"] == np.float16:
        bound = bound + np.abs(y) * 2.0**-11 + 2.0**-25
    y = y.astype(np.int32) if o["out"] == np.int32 else y
    return [np.moveaxis(a[way], 0, o["axis"]) for a in (y, bound)]
