# SPDX-License-Identifier: MIT
#
# Recurrent layers for golden.py, in float32 as the machine rounds: what a step before is off
# by could become anything in the next. What they may be off is derived as in
# kernels/recurrent/recurrent_op.c, `off` are its squares.
import numpy as np

FEW = 2.0**-42  # 8 roundings in float32, squared


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


def parts(x, h, off, w, r, bias, gates):
    """Sums of x and h of each gate, which is (rows of w, rows of r), None: without; what they
    are off, squared."""
    n = h.shape[1]
    for i, (a, b) in enumerate(gates):
        s = np.broadcast_to(bias[i * n : (i + 1) * n].astype(np.float32), h.shape)
        s = s if a is None else sums(x, w[a * n : (a + 1) * n], s)
        if b is None:
            yield s, 0
        else:
            rows = r[b * n : (b + 1) * n]
            yield sums(h, rows, s), off @ rows.astype(np.float64).T ** 2


def start_of(first, x, r):
    n = r.shape[1]
    h = np.zeros((x.shape[1], n), np.float16) if first is None else f16(first)
    return h, np.zeros(h.shape)


def rounded(state, off):
    """h, what it is off, squared, and the bound of y."""
    h, far = state.astype(np.float16), 4 * np.sqrt(off)
    bound = np.maximum(*(np.abs((state + d).astype(np.float16) - h.astype(np.float64))
                         for d in (far, -far)))
    ulp = np.abs(np.spacing(h)).astype(np.float64)
    return h, np.where(bound > 0, off + ulp**2, 0), bound


def lstm(x, w, r, bias, first, first_c):
    x, w, r, (h, of_h) = f16(x), f16(w), f16(r), start_of(first, x, r)
    c, of_c = np.float32(0) if first_c is None else first_c.astype(np.float32), 0
    y, bounds = [], []
    for x_t in x:
        (i, f, g, o), off = zip(*parts(x_t, h, of_h, w, r, bias, [(k, k) for k in range(4)]))
        i, f, g, o = sigmoid(i), sigmoid(f), tanh(g), sigmoid(o)
        of_c = (f**2 * of_c + (c * f * (1 - f))**2 * off[1] + (g * i * (1 - i))**2 * off[0]
                + (i * (1 - g**2))**2 * off[2])
        c = c * f + i * g
        of_c, t = of_c + FEW * (1 + c**2), tanh(c)
        h, of_h, bound = rounded(t * o, (o * (1 - t**2))**2 * of_c
                                 + (t * o * (1 - o))**2 * off[3] + FEW)
        y.append(h)
        bounds += [bound.max(), 4 * np.sqrt(of_c.max())]
    return np.array(y, np.float64), c.astype(np.float64), np.asarray(np.max(bounds))


def gru(x, w, r, bias, first):
    x, w, r, (h, of_h) = f16(x), f16(w), f16(r), start_of(first, x, r)
    state, of, y, bounds = h.astype(np.float32), 0, [], []
    for x_t in x:
        (u, z, wx, rh), off = zip(*parts(x_t, h, of_h, w, r, bias,
                                         [(0, 0), (1, 1), (2, None), (None, 2)]))
        u, z = sigmoid(u), sigmoid(z)
        n = tanh(wx + rh * u)
        of_n = (1 - n**2)**2 * (u**2 * off[3] + (rh * u * (1 - u))**2 * off[0]
                                + FEW * (1 + rh**2))
        of = ((1 - z)**2 * of_n + z**2 * of + ((state - n) * z * (1 - z))**2 * off[1] + FEW)
        state = n + (state - n) * z
        h, of_h, bound = rounded(state, of)
        y.append(h)
        bounds.append(bound)
    return np.array(y, np.float64), np.array(bounds)
