# SPDX-License-Identifier: MIT
#
# Recurrent layers for golden.py, in float32 as the machine rounds: what a step before is off
# by could become anything in the next.
import numpy as np


def f16(a):
    return None if a is None else a.astype(np.float16)


def sums(x, w, start):
    """start + x w', k ascending, one rounding a step."""
    for k in range(x.shape[1]):
        p = x[:, k : k + 1].astype(np.float64) * w[:, k].astype(np.float64)
        start = (start + p.astype(np.float32)).astype(np.float32)
    return start


def sigmoid(x):
    return np.float32(1) / (np.float32(1) + np.exp(-x.astype(np.float64)).astype(np.float32))


def tanh(x):
    return np.tanh(x.astype(np.float64)).astype(np.float32)


def parts(x, h, w, r, bias, gates):
    """Sums of x and h of each gate, which is (rows of w, rows of r), None: without."""
    n = h.shape[1]
    for i, (a, b) in enumerate(gates):
        s = np.broadcast_to(bias[i * n : (i + 1) * n].astype(np.float32), h.shape)
        s = s if a is None else sums(x, w[a * n : (a + 1) * n], s)
        yield s if b is None else sums(h, r[b * n : (b + 1) * n], s)


def start_of(first, x, r):
    n = r.shape[1]
    return np.zeros((x.shape[1], n), np.float16) if first is None else f16(first)


def lstm(x, w, r, bias, first, first_c):
    x, w, r, h = f16(x), f16(w), f16(r), start_of(first, x, r)
    c = np.float32(0) if first_c is None else first_c.astype(np.float32)
    y = []
    for x_t in x:
        i, f, g, o = parts(x_t, h, w, r, bias, [(k, k) for k in range(4)])
        c = c * sigmoid(f) + sigmoid(i) * tanh(g)
        h = (tanh(c) * sigmoid(o)).astype(np.float16)
        y.append(h)
    y, c = np.array(y, np.float64), c.astype(np.float64)
    return y, c, np.asarray(2.0**-9 * (1 + np.abs(c).max()))


def gru(x, w, r, bias, first):
    x, w, r, h = f16(x), f16(w), f16(r), start_of(first, x, r)
    state, y = h.astype(np.float32), []
    for x_t in x:
        u, z, wx, rh = parts(x_t, h, w, r, bias,
                             [(0, 0), (1, 1), (2, None), (None, 2)])
        n = tanh(wx + rh * sigmoid(u))
        state = n + (state - n) * sigmoid(z)
        h = state.astype(np.float16)
        y.append(h)
    y = np.array(y, np.float64)
    return y, 2.0**-9 * (1 + np.abs(y))
