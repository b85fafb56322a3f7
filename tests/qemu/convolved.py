# SPDX-License-Identifier: MIT
#
# Convolutions with what follows them, for golden.py, which has convolutions themselves.
import numpy as np


def conv2d_act(conv2d, x, weight, bias, add, o):
    """The value of each element, and how far it may be off."""
    x, weight = x.astype(np.float16), weight.astype(np.float16)
    bias = None if bias is None else bias.astype(np.float32)
    sums = conv2d(x, weight, bias, o | {"activation": "none", "limit": np.inf}).astype(np.float64)
    add = np.float64(0) if add is None else add.astype(np.float64)
    v = sums if o["add_last"] else sums + add
    act = {"none": v, "relu": np.maximum(v, 0), "leaky": np.where(v < 0, v * o["slope"], v),
           "silu": v / (1 + np.exp(-v)), "sigmoid": 1 / (1 + np.exp(-v)), "tanh": np.tanh(v),
           "hard_swish": v * np.clip(v / 6 + 0.5, 0, 1)}[o["activation"]]
    act = np.minimum(act, o["limit"]) + (add if o["add_last"] else 0)
    unit = 2.0**-11 if o["out"] == np.float16 else 2.0**-24
    return act, unit * np.abs(act) + 2.0**-22 * (np.abs(sums) + np.abs(add)) + 2.0**-25


def conv2d_q(conv2d, fixpipe, x, weight, bias, scales, o):
    """A scale of each channel: the fixpipe's, or that of TFLite in integers."""
    scales = np.float64(np.float32(o["scale"])) * scales.astype(np.float64)
    if not o["exact"]:
        y = conv2d(x, weight, bias, o | {"out": np.int32, "activation": "none"})
        parts = [fixpipe(y[..., i], x.dtype, o | {"scale": s}) for i, s in enumerate(scales)]
        return np.stack(parts, -1)
    y = conv2d(x, weight, bias, o | {"out": np.int32, "activation": "none"}).astype(object)
    fraction, exponent = np.frexp(scales)
    for i in range(len(scales)):
        whole, shift = int(np.rint(fraction[i] * 2**31)), int(exponent[i])
        high = (y[..., i] * 2**max(shift, 0) * whole + 2**30) // 2**31
        half = 2**-shift // 2 if shift < 0 else 0
        y[..., i] = np.sign(high) * ((abs(high) + half) // 2**max(-shift, 0)) + o["zero"]
    least = o["zero"] if o["activation"] == "relu" else -128
    return np.clip(y, least, 127).astype(np.int8)
