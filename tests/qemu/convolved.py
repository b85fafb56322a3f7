# SPDX-License-Identifier: MIT
#
# Convolutions with what follows them, for golden.py, which has convolutions themselves; and
# normalisation over near channels.
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


def conv_transpose(conv2d, x, weight, bias, o):
    """Of x with zeros between: of each rest by the strides the windows that see the same taps on
    x itself, by these alone, in the filter turned round."""
    n, h, w, c = x.shape
    stride = o["stride"], o["stride_w"] or o["stride"]
    dilation = o["dilation"], o["dilation_w"] or o["dilation"]
    more = o["output_pad"], o["output_pad"] if o["output_pad_w"] < 0 else o["output_pad_w"]
    left = o["pad"] if o["pad_left"] < 0 else o["pad_left"]
    pads = ((o["pad"], o["pad"] if o["pad_bottom"] < 0 else o["pad_bottom"]),
            (left, left if o["pad_right"] < 0 else o["pad_right"]))
    taps = weight.shape[1:3]
    reach = [(k - 1) * d for k, d in zip(taps, dilation)]
    size = [(s - 1) * t + 1 for s, t in zip((h, w), stride)]
    full = np.zeros((n, *(s + 2 * r + m for s, r, m in zip(size, reach, more)), c), x.dtype)
    full[:, reach[0] : reach[0] + size[0] : stride[0],
         reach[1] : reach[1] + size[1] : stride[1]] = x
    y = np.zeros((n, *(s + r + m - sum(p) for s, r, m, p in zip(size, reach, more, pads)),
                  len(weight)), np.int32 if o["out"] == np.int32 else np.float32)
    window = o | {"pad": 0, "pad_left": 0, "pad_bottom": 0, "pad_right": 0,
                  "stride": stride[0], "stride_w": stride[1]}
    for a, b in np.ndindex(*np.minimum(stride, y.shape[1:3])):
        first = a + pads[0][0], b + pads[1][0]
        seen = [[r for r in range(k) if (f + r * d - e) % s == 0]
                for k, f, d, e, s in zip(taps, first, dilation, reach, stride)]
        part, turned = y[:, a :: stride[0], b :: stride[1]], weight[:, ::-1, ::-1]
        if not all(seen):
            part[:] = conv2d(np.zeros((*part.shape[:3], c), x.dtype), 0 * np.ones_like(
                weight[:, :1, :1]), bias, window | {"stride": 1, "stride_w": 1})
            continue
        step = [(r + [r[0] + 1])[1] - r[0] for r in seen]
        from_ = full[:, first[0] + seen[0][0] * dilation[0] :,
                     first[1] + seen[1][0] * dilation[1] :]
        got = conv2d(from_, turned[:, seen[0]][:, :, seen[1]], bias, window | {
            "dilation": dilation[0] * step[0], "dilation_w": dilation[1] * step[1]})
        part[:] = got[:, : part.shape[1], : part.shape[2]]
    return y


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


def normalised(x, o):
    """LRN by its formula, and how far each element may be off."""
    unit = 2.0**-11 if o["out"] == np.float16 else 2.0**-24
    x, size = x.astype(np.float64), o["size"]
    around = np.pad(x * x, ((0, 0), ((size - 1) // 2, size // 2), (0, 0), (0, 0)))
    total = sum(around[:, i : i + x.shape[1]] for i in range(size))
    power = np.log(o["bias"] + o["alpha"] / size * total) * o["beta"]
    y = x * np.exp(-power)
    return y, np.abs(y) * (unit + 2.0**-21 * (1 + np.abs(power))) + 2.0**-25
