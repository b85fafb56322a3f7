# SPDX-License-Identifier: MIT
#
# Attention with the projections in front of it, for golden.py.
import numpy as np


def dropped(shape, o):
    """Which elements the generator of dropout sets to 0."""
    def wrap(i):
        return (i + 2**31) % 2**32 - 2**31

    h = wrap(np.arange(np.prod(shape)).reshape(shape) * -1640531535 + o["seed"] * -2048144789)
    for _ in range(2):
        h = wrap(h * wrap(2 * h + 1))
        h = wrap(h * 65536 + (h >> 16))
    return wrap(h * wrap(2 * h + 1)) < (np.float32(o["drop"]) - 0.5) * 2.0**32


def attended(x, c, w, kv, bias, o):
    """The value of each element, and how far it may be off: rounding to float16 of q, k, v, of
    the softmax and of the result."""
    heads, u = o["heads"], w.shape[1]
    bias = np.zeros(3 * u) if bias is None else bias.astype(np.float64)

    def split(a, b, added):
        y = (a.astype(np.float64) @ b.astype(np.float64) + added).astype(np.float32)
        y = y.astype(np.float16).astype(np.float64)
        return y.reshape(*y.shape[:2], heads, -1).transpose(0, 2, 1, 3)

    q, k = split(x, w, bias[:u]), split(c, kv[:, :u], bias[u : 2 * u])
    v = split(c, kv[:, u:], bias[2 * u :])
    scale = np.float32(o["scale"] or 1 / np.sqrt(q.shape[-1])).astype(np.float64)
    scores = q @ k.swapaxes(2, 3) * scale
    off = np.sqrt((q * q) @ (k * k).swapaxes(2, 3)).max(-1, keepdims=True) * scale
    if o["causal"]:
        scores = np.where(np.tri(*scores.shape[2:]), scores, -np.inf)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True) * (1 - np.float32(o["drop"]).astype(np.float64))
    p = np.where(dropped(p.shape, o), 0, p) if o["drop"] > 0 else p
    y = p @ v
    bound = p @ np.abs(v) * (2.0**-10 + 2.0**-11 * off) + 2.0**-11 * np.abs(y) + 2.0**-24
    return tuple(a.transpose(0, 2, 1, 3).reshape(*x.shape[:2], u) for a in (y, bound))
