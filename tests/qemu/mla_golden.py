#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# mla_golden.py make           a.npy, b.npy and bias.npy, and some that are to be refused
# mla_golden.py compare FILE   prints what is wrong with FILE as their result, or nothing
#
# NumPy's result in double precision, with the bound of kernels/mla_prolog/mla_prolog.h.
import math
import sys

import numpy as np

M, N, K = 75, 333, 147


def make():
    rng = np.random.default_rng(7)
    np.save("a.npy", rng.standard_normal((M, K)).astype(np.float16))
    np.save("b.npy", rng.standard_normal((K, N)).astype(np.float16))
    np.save("bias.npy", rng.standard_normal(N).astype(np.float16))
    np.save("bias32.npy", np.zeros(N, np.float32))
    np.save("short.npy", np.zeros(N - 1, np.float16))
    np.save("square.npy", np.zeros((N, N), np.float16))
    np.save("none.npy", np.zeros((K, 0), np.float16))


def compare(path):
    a, b, bias = (np.load(f"{name}.npy").astype(np.float64) for name in ("a", "b", "bias"))
    got = np.load(path)
    if got.dtype != np.float16 or got.shape != (M, N):
        return print(f"{path}: {got.dtype} {got.shape}")
    x = a @ b + bias
    size = (np.abs(a) @ np.abs(b) + np.abs(bias)).max(axis=1, keepdims=True)
    sigma = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    y = (x - x.mean(axis=1, keepdims=True)) / sigma
    want = y / 2 * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))
    exponent = np.maximum(np.frexp(want)[1], -13)
    bound = np.ldexp(0.5, exponent - 11) + np.maximum(1, np.abs(y)) * np.ldexp(
        2 * (4 * math.sqrt(K) + 16) * size / sigma + 64, -24)
    wrong = np.argwhere(~(np.abs(got.astype(np.float64) - want) <= bound))
    if len(wrong):
        i, j = wrong[0]
        print(f"{len(wrong)} wrong, first ({i}, {j}): {got[i, j]}, want {want[i, j]}")


make() if sys.argv[1] == "make" else compare(sys.argv[2])
