#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""external_test.py    weights that lie in files beside the model

A part of such a file, in the model's folder or below; what is missing, too short or outside is
told in one line, and nothing is written. TAP on stdout."""
import os
import subprocess
import sys
import tempfile

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402

GRAPH, SALAI = f"{ROOT}/build/graph", f"{ROOT}/tools/salai"
W = np.arange(20, dtype=np.float32).reshape(4, 5)


def write(path, **where):
    """x @ w, of which w lies elsewhere."""
    held = model.tensor

    def beside(name, array):
        entries = b"".join(model.field(13, model.field(1, key) + model.field(2, str(value)))
                           for key, value in where.items())
        return (b"".join(model.field(1, int(d)) for d in array.shape) + model.field(2, 1) +
                model.field(8, name) + entries + model.field(14, 1))

    model.tensor = beside
    try:
        model.write(path, [("MatMul", "x w", "y")], {"x": (np.float32, (3, 4))}, "y", {"w": W}, 17)
    finally:
        model.tensor = held


def compiled(work, **where):
    write(f"{work}/in/m.onnx", **where)
    return subprocess.run([GRAPH, "compile", "m.onnx", "plan"], capture_output=True, text=True,
                          check=False, cwd=f"{work}/in")


def computed(work, **where):
    done = compiled(work, **where)
    if done.returncode:
        return [done.stderr]
    done = subprocess.run([SALAI, "--", "graph", f"{work}/in/plan", f"{work}/x.npy", "-o",
                           f"{work}/y.npy"], capture_output=True, text=True, check=False)
    os.unlink(f"{work}/in/plan")
    return [done.stderr] if done.returncode or not np.array_equal(
        np.load(f"{work}/y.npy"), np.ones((3, 4), np.float32) @ W) else []


def refused(work):
    wrong = []
    file = "m.onnx: 'w': its file "
    for want, where in (
            (f"{file}'no.bin': No such file or directory", {"location": "no.bin"}),
            (f"{file}'../w.bin' is outside of the model's folder", {"location": "../w.bin"}),
            (f"{file}'link.bin' is outside of the model's folder", {"location": "link.bin"}),
            (f"{file}'/w.bin' is outside of the model's folder", {"location": "/w.bin"}),
            (f"{file}'sub' is no regular file", {"location": "sub"}),
            (f"{file}'sub/w.bin' has 112 bytes, which is too few",
             {"location": "sub/w.bin", "offset": 64, "length": 80}),
            (f"{file}'sub/w.bin' has 112 bytes, which is too few",
             {"location": "sub/w.bin", "offset": 4096}),
            ("m.onnx: 'w': offset '-4' of its file is no number",
             {"location": "sub/w.bin", "offset": -4}),
            ("m.onnx: 'w' lies in a file that is not named", {"offset": 0}),
            ("m.onnx: 'w' is 80 bytes, but 112 of its file", {"location": "sub/w.bin"}),
            ("m.onnx: 'w' is 80 bytes, but 4294967296 of its file", {"location": "large.bin"})):
        done = compiled(work, **where)
        if done.returncode != 2 or done.stderr != f"{want}\n" or \
                os.path.exists(f"{work}/in/plan"):
            wrong.append(f"{where}: {done.returncode} {done.stderr}, want {want}")
    return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="ext.", dir=f"{ROOT}/build/test") as work:
        work = os.path.relpath(work)
        os.makedirs(f"{work}/in/sub")
        np.save(f"{work}/x.npy", np.ones((3, 4), np.float32))
        W.tofile(f"{work}/w.bin")
        with open(f"{work}/in/sub/w.bin", "wb") as f:
            f.write(bytes(32) + W.tobytes())
        os.symlink("../w.bin", f"{work}/in/link.bin")
        with open(f"{work}/in/large.bin", "wb") as f:
            f.truncate(1 << 32)  # of which nothing is there
        tap.check("external/part_of_a_file",
                  computed(work, location="sub/w.bin", offset=32, length=80))
        tap.check("external/to_its_end", computed(work, location="sub/w.bin", offset=32))
        tap.check("external/refused", refused(work))
    return tap.done(3)


sys.exit(main())
