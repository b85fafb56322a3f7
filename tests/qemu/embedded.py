# SPDX-License-Identifier: MIT
#
# Rows that tokens name, for golden.py.
import numpy as np


def bags(table, token, o):
    """Of each bag of tokens the sum, mean or maximum of its rows, and how far it may be off."""
    there = (token % len(table) != o["padding"])[..., None]
    rows, count = table[token], np.maximum(there.sum(1), 1)
    if o["mode"] == "max":
        y = np.where(there, rows, -np.inf).max(1)
        return np.where(there.any(1), y, 0), 2.0**-11 * np.abs(rows).max(1)
    by = count if o["mode"] == "mean" else 1
    sums = np.where(there, rows, 0)
    y, sizes = sums.sum(1) / by, np.abs(sums).sum(1) / by
    unit = 2.0**-11 if o["out"] == np.float16 else 2.0**-24
    return y, unit * np.abs(y) + (count + 2) * 2.0**-24 * sizes + 2.0**-25


def rows_added(dx, token, rows, padding):
    """One after the other, each sum rounded."""
    y = np.zeros((rows, dx.shape[1]), np.float32)
    for i in np.flatnonzero(token != padding):
        y[token[i]] += dx[i]
    return y
