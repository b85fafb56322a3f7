#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""end_test.py    a run of a model that is ended by Ctrl-C, and several at once

In the middle of it, and while its plan is made. TAP on stdout."""
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests"]
import model  # noqa: E402
from tap import done, ok  # noqa: E402

NAME = f"end-{os.getpid()}"
FOLDER = f"{ROOT}/build/test/{NAME}"
MODELS = f"{ROOT}/build/models/{NAME}"
KEPT = {"plan", "explain.txt", "explain.json", "before.svg", "after.svg"}
LONG, TICKS = 3000, 20  # of the product; of QEMU's processor time, when it computes


def start(size, folder=FOLDER, weight=1):
    """`make run-onnx` of a product."""
    path = f"{folder}/{NAME}.onnx"
    os.makedirs(folder, exist_ok=True)
    model.write(path, [("MatMul", "x w", "y")], {"x": ("float32", (size, size))}, "y",
                {"w": np.full((size, size), weight, np.float32)})
    np.save(f"{folder}/x.npy", np.ones((size, size), np.float32))
    return subprocess.Popen([f"{ROOT}/tools/graph/run", path, f"{folder}/x.npy", "-o",
                             f"{folder}/y.npy"], start_new_session=True, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def computes(group):
    """QEMU of this group of processes has begun to."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="latin-1") as f:
                comm, _, rest = f.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        rest = rest.split()
        if comm.startswith("qemu-system") and int(rest[2]) == group and int(rest[11]) > TICKS:
            return True
    return False


def ended(when, name):
    process = start(LONG)
    while process.poll() is None and not when(process.pid):
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    left = set(os.listdir(MODELS)) - KEPT if os.path.isdir(MODELS) else set()
    left |= set(os.listdir(FOLDER)) - {"x.npy", f"{NAME}.onnx"}
    ok(process.returncode in (130, -signal.SIGINT) and err.count("\n") <= 1 and not left,
       f"end/{name}", f"status {process.returncode}, left {left}\n{out}{err}")


def at_once():
    """Models of one name: hubs call each model.onnx."""
    all_of = [start(40, f"{FOLDER}/{weight}", weight) for weight in (1, 2, 3)]
    told = [p.communicate(timeout=60) + (p.returncode,) for p in all_of]
    ok(all(status == 0 for _, _, status in told) and
       all((np.load(f"{FOLDER}/{weight}/y.npy") == 40 * weight).all() for weight in (1, 2, 3)),
       "end/three_at_once", told)
    left = set(os.listdir(MODELS)) - KEPT
    ok(not left, "end/nothing_is_left_but_the_plan", left)


os.makedirs(FOLDER)
try:
    ended(computes, "in_the_middle")
    ended(lambda _: True, "at_its_beginning")
    at_once()
finally:
    shutil.rmtree(FOLDER)
    shutil.rmtree(MODELS, ignore_errors=True)
sys.exit(done(4))
