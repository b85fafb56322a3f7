#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""hostile_test.py [NAME]...    model files and names that are meant to break the tools, and ends
in the middle: a line and status 2, nothing beside build/models, nothing left. TAP on stdout."""
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402
from model import field  # noqa: E402
from tap import test  # noqa: E402

GRAPH, MODELS = f"{ROOT}/build/graph", f"{ROOT}/build/models"
SMALL = f"hostile{os.getpid()}"  # a model's name


def refused(why, done):
    return [] if done.returncode == 2 and why in done.stderr and done.stderr.count("\n") == 1 else [
        f"status {done.returncode}, want 2 and '{why}': {done.stderr[-300:]}"]


def compile_(path, *words, **more):
    return subprocess.run([GRAPH, "compile", path, f"{work}/plan", *words], capture_output=True,
                          text=True, check=False, timeout=60, **more)


def relu(path):
    model.write(path, [("Relu", "x", "y")], {"x": (np.float32, (3,))}, "y", {}, 17)


@test
def graphs_in_graphs():
    """5,000 of them, and 2,000 with a small stack: protobuf-c calls itself for each level."""
    wrong = []
    for depth, stack in ((5000, None), (2000, 256 << 10), (34, None), (32, None)):
        graph = b""
        for i in range(depth):
            graph = field(1, field(4, "If") + field(5, field(1, "then_branch") + field(6, graph)))
        with open(f"{work}/deep.onnx", "wb") as f:
            f.write(field(1, 8) + field(8, field(2, 17)) + field(7, graph))
        done = compile_(f"{work}/deep.onnx", preexec_fn=stack and (lambda: resource.setrlimit(
            resource.RLIMIT_STACK, (stack, stack))))
        bad = refused("at most 100 levels", done)
        wrong += [f"{depth}: {b}" for b in bad] if depth > 32 else \
            [f"{depth} is refused as too deep"] * (not bad)
    return wrong


@test
def inputs_of_one_name():
    of = field(2, field(1, field(1, 1) + field(2, field(1, field(1, 3)))))
    graph = field(1, field(1, "x") + field(2, "y") + field(4, "Relu")) + field(2, "g") + \
        field(11, field(1, "x") + of) * 2 + field(12, field(1, "y") + of)
    with open(f"{work}/twice.onnx", "wb") as f:
        f.write(field(1, 8) + field(8, field(2, 17)) + field(7, graph))
    return refused("input 'x' is there twice", compile_(f"{work}/twice.onnx"))


@test
def becomes_shorter():
    """While it is compiled: what is mapped of it is no longer there."""
    path = f"{work}/large.onnx"
    for _ in range(8):
        model.write(path, [("MatMul", "x w", "y")], {"x": (np.float32, (1, 2048))}, "y",
                    {"w": np.zeros((2048, 8192), np.float32)}, 17)
        process = subprocess.Popen([GRAPH, "compile", path, f"{work}/plan"], text=True,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        while process.poll() is None:
            with open(f"/proc/{process.pid}/maps", encoding="ascii") as f:
                if "large.onnx" in f.read():
                    os.truncate(path, 4096)
                    break
        text = process.communicate(timeout=60)[1]
        if process.returncode:
            break
    left = [name for name in os.listdir(work) if "salai" in name]
    return refused("has become shorter while it was read", subprocess.CompletedProcess(
        [], process.returncode, "", text)) + [f"left: {left}"] * bool(left)


@test
def names_of_models():
    """A model's folder lies in build/models, whatever it is called."""
    wrong, before = [], set(os.listdir(f"{ROOT}/build"))
    np.save(f"{work}/x.npy", np.float32([-1, 0, 1]))
    for name in "...onnx", "..onnx", ".onnx", "-x.onnx":
        relu(f"{work}/{name}")
        for tool in "run", "tune":
            done = subprocess.run([f"{ROOT}/tools/graph/{tool}", name, "x.npy"], cwd=work,
                                  capture_output=True, text=True, check=False, timeout=60)
            wrong += [f"{tool} {name}: {done.stderr}"] * bool(done.returncode)
        folder = f"{MODELS}/{'-x' if name == '-x.onnx' else name}"
        wrong += [] if os.path.exists(f"{folder}/plan") else [f"no {folder}/plan"]
        shutil.rmtree(folder, ignore_errors=True)
    new = set(os.listdir(f"{ROOT}/build")) - before - {"models"}
    return wrong + [f"new in build: {new}"] * bool(new & {"plan", "explain.txt", "before.svg"})


@test
def killed_and_interrupted():
    """Ctrl-C is no traceback; what SIGKILL leaves goes with the next run, not what is in use."""
    relu(f"{work}/{SMALL}.onnx")
    folder, wrong = f"{MODELS}/{SMALL}", []
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGKILL:
        process = subprocess.Popen([f"{ROOT}/tools/graph/tune", f"{SMALL}.onnx", "x.npy"], cwd=work,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   start_new_session=True)
        while process.poll() is None and not (os.path.isdir(folder) and any(
                name.startswith("tune.") for name in os.listdir(folder))):
            time.sleep(0.002)
        os.killpg(process.pid, number)  # with what it has started, as a terminal does
        text = process.communicate(timeout=60)[1]
        left = [name for name in os.listdir(folder) if name.startswith("tune.")]
        wrong += [f"{number.name}: {text}"] * ("Traceback" in text)
        wrong += [f"{number.name}: left {left}"] * (bool(left) != (number == signal.SIGKILL))
    os.makedirs(f"{folder}/run.in_use")
    for name in os.listdir(folder):
        os.utime(f"{folder}/{name}", (0, 0))
    with subprocess.Popen(["flock", "-s", f"{folder}/run.in_use", "sleep", "60"]) as other:
        time.sleep(0.2)
        subprocess.run([f"{ROOT}/tools/graph/folder", SMALL], check=True, stdout=subprocess.DEVNULL)
        other.kill()
    left = os.listdir(folder)
    shutil.rmtree(folder)
    return wrong + ([] if left == ["run.in_use"] else [f"in the end {left}"])


os.makedirs(f"{ROOT}/build/test", exist_ok=True)
with tempfile.TemporaryDirectory(prefix="hostile.", dir=f"{ROOT}/build/test") as work:
    status = tap.main("hostile")
sys.exit(status)
