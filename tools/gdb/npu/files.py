# SPDX-License-Identifier: MIT
#
# Tiles as files: NumPy's .npy (version 1.0; bfloat16 as float32) and .pgm, a picture in
# greys from the smallest number, black, to the largest, white.
import math
import os
import struct

from npu import machine, numbers


def npy(tile):
    letter, name = numbers.TYPES[tile.kind][1:]
    letter = "f" if tile.kind == "bf16" else letter
    header = f"{{'descr': '{name}', 'fortran_order': False, " \
             f"'shape': ({tile.rows}, {tile.columns}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = struct.pack(f"<{tile.rows * tile.columns}{letter}", *tile.flat())
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + data


def pgm(tile):
    finite = [v for v in tile.flat() if math.isfinite(v)] or [0]
    low, high = min(finite), max(finite)
    scale = 255 / (high - low) if high > low else 0
    data = bytes(round((min(max(v, low), high) - low) * scale) if v == v else 255
                 for v in tile.flat())
    return f"P5\n{tile.columns} {tile.rows}\n255\n".encode() + data


def save(tile, path):
    """Written beside and renamed, so that no error harms an older file."""
    writers = {".npy": npy, ".pgm": pgm}
    kind = os.path.splitext(path)[1]
    if kind not in writers:
        raise machine.Error(f"{path}: want a name that ends in .npy or .pgm")
    data = writers[kind](tile)
    part = path + ".part"
    with open(part, "wb") as f:
        f.write(data)
    os.replace(part, path)
