#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tools_test.py    what `graph inspect`, tools/graph/debug and the pictures say of small models

TAP on stdout."""

import multiprocessing
import os
import re
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402

GRAPH, DEBUG = f"{ROOT}/build/graph", f"{ROOT}/tools/graph/debug"
NODES = [("MatMul", "x w", "u"), ("Add", "u c", "v"), ("Relu", "v", "y"),
         ("Transpose", "y", "z", {"perm": [1, 0]})]


def run(*words):
    return subprocess.run(["timeout", "120", *words], capture_output=True, text=True,
                          check=False, env=dict(os.environ, CORES="1"))


def write(folder, nodes, outputs="z", large=0.0):
    random = np.random.default_rng(1)
    w = random.standard_normal((24, 40)).astype(np.float32)
    w[0, 0], w[0, 1] = large, 1e-9
    x = random.standard_normal((32, 24)).astype(np.float32)
    np.save(f"{folder}/x.npy", x)
    model.write(f"{folder}/tools_test.onnx", nodes, {"x": (x.dtype, x.shape)}, outputs,
                {"w": w, "c": random.standard_normal(40).astype(np.float32)})
    return f"{folder}/tools_test.onnx"


def inspects(folder):
    """Each term of the score is shown, and what of the weights fp16 does not hold."""
    done = run(GRAPH, "inspect", write(folder, NODES, large=1e6))
    said = done.stdout
    terms = [float(n) for n in re.findall(r"^  [a-z]\w* +([\d.]+) of \d+: ", said, re.M)]
    total = re.search(r"^ +([\d.]+) of 100$", said, re.M)
    wrong = [] if done.returncode == 0 else [f"status {done.returncode}: {done.stderr}"]
    if not total or len(terms) != 4 or abs(sum(terms) - float(total[1])) > 0.21:
        wrong.append(f"terms {terms}: {said}")
    for want in ("support    4 of 4 nodes", "of 1000 weights 1 are too large",
                 "1 become 0", "1 weights are beyond fp16, 1 are 0 in it, as some of w",
                 f"work       {(2 * 32 * 24 * 40 + 3 * 32 * 40) / 1e6:.1f} M operations"):
        wrong += [] if want in said else [f"no '{want}': {said}"]
    points = [float(n) for n in re.findall(r"^ +([\d.]+) points: ", said, re.M)]
    if points != sorted(points, reverse=True) or len(points) != 3:
        wrong.append(f"worst three: {points}")
    return wrong


def inspects_what_cannot_run(folder):
    done = run(GRAPH, "inspect", write(folder, [*NODES, ("NoSuch", "z", "q")], "q"))
    want = "node 'NoSuch_4' (NoSuch), 1 of these: no such operator of opset 13 here"
    ok = done.returncode == 1 and want in done.stdout and "32.0 of 40" in done.stdout
    return [] if ok else [f"status {done.returncode}: {done.stdout}{done.stderr}"]


def draws(folder):
    """Nodes and steps, groups in the same colours; bytes of tensors on the lines."""
    path = write(folder, NODES)
    run(GRAPH, "compile", path, f"{folder}/plan", "--before", f"{folder}/b.svg", "--after",
        f"{folder}/a.svg")
    drawn = {}
    for name in "ba":
        root = xml.parse(f"{folder}/{name}.svg").getroot()
        rects = [r.get("fill") for r in root.iter("{http://www.w3.org/2000/svg}rect")
                 if r.get("stroke")]
        texts = [t.text for t in root.iter("{http://www.w3.org/2000/svg}text")]
        drawn[name] = ([f for f in rects if f.startswith("hsl")], rects.count("#fff"), texts)
    wrong = []
    if drawn["b"][0] != drawn["a"][0] or len(set(drawn["a"][0])) != 2:
        wrong.append(f"colours {drawn['b'][0]}, {drawn['a'][0]}")
    if drawn["b"][1] != 4 or drawn["a"][1] != 2:
        wrong.append(f"{drawn['b'][1]} nodes, {drawn['a'][1]} steps")
    for name, want in (("b", ["Relu", "Transpose_3", "5120 B"]), ("a", ["5120 B"])):
        wrong += [f"no '{w}' in {drawn[name][2]}" for w in want if w not in drawn[name][2]]
    chain = [("Exp", "xabdefgh"[i], "abdefghz"[i]) for i in range(8)]
    run(GRAPH, "compile", write(folder, chain), f"{folder}/plan", "--after", f"{folder}/a.svg")
    with open(f"{folder}/a.svg", encoding="ascii") as f:
        return wrong + ([] if re.search(r">\.\.[^<.]*Exp_7<", f.read()) else ["not its end"])


def debugs(folder):
    """Both runs agree; then a number is changed in what one has left, and a step's cycles."""
    done = run(DEBUG, write(folder, NODES), f"{folder}/x.npy")
    fused, plain = (f"{ROOT}/build/models/tools_test/{name}" for name in ("fused", "plain"))
    wrong = []
    if done.returncode or "tensors: 2 that both runs have" not in done.stdout or \
            "none of 1 is slower" not in done.stdout:
        return [f"status {done.returncode}: {done.stdout}{done.stderr}"]
    with open(f"{fused}/tensors", encoding="ascii") as f:
        at, size, _ = next(line.split(" ") for line in f if line.endswith(" z\n"))
    with open(f"{fused}/all", "r+b") as f:
        f.seek(int(at) + int(size) - 4)
        f.write(struct.pack("<f", 1e3))
    with open(f"{fused}/steps", encoding="ascii") as f:
        steps = re.sub(r"(?m)^(  \S*\+\S* .*?)\d+ cycles$", r"\g<1>123456 cycles", f.read())
    with open(f"{fused}/steps", "w", encoding="ascii") as f:
        f.write(steps)
    done = run(GRAPH, "differ", fused, plain, "1e-4")
    for want in ("first wrong tensor: 'z'", "slower than its pieces: MatMul_0+Add_1+Relu_2, "
                 "123456 cycles, apart", "  limit "):
        wrong += [] if want in done.stdout else [f"no '{want}': {done.stdout}{done.stderr}"]
    return wrong + ([] if done.returncode == 1 else [f"status {done.returncode}"])


def makes(folder):
    """The same model each time, which runs; another name is refused."""
    for name in "a", "b":
        os.mkdir(f"{folder}/{name}")
        run(GRAPH, "make", "embedding", f"{folder}/{name}")
    with open(f"{folder}/a/embedding.onnx", "rb") as a, \
            open(f"{folder}/b/embedding.onnx", "rb") as b:
        wrong = [] if a.read() == b.read() else ["two models of one name"]
    done = run(DEBUG, f"{folder}/a/embedding.onnx", f"{folder}/a/x0.npy")
    if done.returncode or "that both runs have are within" not in done.stdout:
        wrong.append(f"status {done.returncode}: {done.stdout}{done.stderr}")
    done = run(GRAPH, "make", "nothing", folder)
    want = "no such model: resnet50 bert yolov5s embedding cross_attention lstm"
    return wrong + ([] if done.returncode == 2 and want in done.stderr else [done.stderr])


def write_wide(path):
    """47 million weights, normalisations behind them."""
    wide = 1024
    nodes, weights = [], {"one": np.ones(wide, np.float32)}
    for i in range(5):
        nodes += [("Conv", f"x{i} w{i}", f"c{i}", {"pads": [1] * 4}),
                  ("BatchNormalization", f"c{i} one one one one", f"x{i + 1}", {})]
        weights[f"w{i}"] = np.full((wide, wide, 3, 3), 0.01, np.float32)
    model.write(path, nodes, {"x0": (np.float32, (1, wide, 8, 8))}, "x5", weights)


def compiles_the_largest(folder):
    """Plans of 25 and 47 million weights take a second of one processor and 300 MB at most."""
    writer = multiprocessing.Process(target=write_wide, args=[f"{folder}/wide.onnx"])
    writer.start()  # what it has counts as memory of the children of who has it
    writer.join()
    run(GRAPH, "make", "resnet50", folder)
    wrong = []
    for words in ["resnet50.onnx"], ["wide.onnx"], ["wide.onnx", "--f32", "half"]:
        with subprocess.Popen([GRAPH, "compile", f"{folder}/{words[0]}", f"{folder}/plan",
                               *words[1:]]) as p:
            _, status, used = os.wait4(p.pid, 0)
            p.returncode = os.waitstatus_to_exitcode(status)
        seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
        said = f"{' '.join(words)}: {seconds:.2f} s, {megabytes:.0f} MB"
        tap.say(f"# {said}")
        if p.returncode or seconds > 1 or megabytes > 300:
            wrong.append(f"status {p.returncode}, {said}")
    return wrong


def main():
    os.makedirs(f"{ROOT}/build/test", exist_ok=True)
    tests = [inspects, inspects_what_cannot_run, draws, debugs, makes]
    for one in tests + [compiles_the_largest] * bool(os.environ.get("FULL")):
        with tempfile.TemporaryDirectory(prefix="tools.", dir=f"{ROOT}/build/test") as folder:
            tap.check(f"tools/{one.__name__}", one(folder))
    return tap.done(5)


sys.exit(main())
