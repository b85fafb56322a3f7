#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""tune_test.py [NAME]...    tools/graph/tune of small models

What it keeps is no slower than the usual plan, the same on every run, taken by the next run of
the model, and computes the same. FULL: 18 shapes, a budget of 32 beside all ways, and for each what
the usual plan and the tuned one reach of their limit, what the busiest pipe of a core has to do,
and what a step of nearly nothing takes. TAP on stdout."""
import json
import os
import re
import shutil
import subprocess
import sys

import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/graph"]
import model  # noqa: E402
import tap  # noqa: E402

GRAPH, SALAI, RUN, TUNE = (f"{ROOT}/{path}" for path in ("build/graph", "tools/salai",
                                                          "tools/graph/run", "tools/graph/tune"))
NAME = f"tune-{os.getpid()}"
FOLDER, MODELS = f"{ROOT}/build/test/{NAME}", f"{ROOT}/build/models/{NAME}"
random = np.random.default_rng(1)



def conv(o, c, kernel, stride=1):
    """A convolution with its relu: nodes, shapes of constants."""
    attributes = {"kernel_shape": [kernel] * 2, "pads": [kernel // 2] * 4, "strides": [stride] * 2}
    return ([("Conv", "x a b", "u", attributes), ("Relu", "u", "y")],
            {"a": (o, c, kernel, kernel), "b": (o,)})


# name, cores, shape of x, nodes, shapes of constants
SHAPES = [
    ("chain", 8, (64, 512), [("Mul", "x a", "u"), ("Tanh", "u", "v"), ("Add", "v x", "y")],
     {"a": (64, 512)}),
    ("softmax", 8, (24, 300), [("Softmax", "x", "y")], {}),
    ("add", 1, (1024, 512), [("Add", "x a", "y")], {"a": (512,)}),
    ("layernorm", 8, (128, 768), [("LayerNormalization", "x a b", "y")],
     {"a": (768,), "b": (768,)}),
    ("long_rows", 8, (16, 4096), [("Softmax", "x", "y")], {}),
    ("few_rows", 2, (4, 1000), [("LogSoftmax", "x", "y")], {}),
    ("gelu", 4, (77, 3072), [("Erf", "x", "u"), ("Add", "u c", "v"), ("Mul", "v x", "y")],
     {"c": ()}),
    ("rows", 1, (512, 256), [("ReduceSum", "x", "y", {"axes": [1]})], {}),
    ("columns", 8, (256, 1024), [("ReduceMean", "x", "y", {"axes": [0]})], {}),
    ("channels", 8, (2, 32, 28, 28), [("BatchNormalization", "x a b c d", "y")],
     {"a": (32,), "b": (32,), "c": (32,), "d": (32,)}),
    ("product", 8, (128, 256), [("MatMul", "x a", "u"), ("Add", "u b", "v"), ("Relu", "v", "y")],
     {"a": (256, 192), "b": (192,)}),
    ("wide", 8, (100000,), [("Sigmoid", "x", "y")], {}),
    ("square", 8, (512, 512), [("MatMul", "x a", "y")], {"a": (512, 512)}, np.float16),
    ("tiles", 1, (128, 256), [("MatMul", "x a", "u"), ("Add", "u b", "v"), ("Relu", "v", "y")],
     {"a": (256, 192), "b": (192,)}),
    ("odd", 1, (300, 700), [("MatMul", "x a", "u"), ("Add", "u b", "v"), ("Sigmoid", "v", "y")],
     {"a": (700, 500), "b": (500,)}, np.float16),
    ("long_k", 8, (64, 4096), [("MatMul", "x a", "y")], {"a": (4096, 256)}, np.float16),
    ("conv_3x3", 1, (1, 64, 56, 56), *conv(64, 64, 3), np.float16),
    ("conv_strided", 8, (1, 128, 56, 56), *conv(128, 128, 3, 2), np.float16),
]
BRIEF, SMALL = 1, 16
GAPS = []  # a word for each shape
PHASE = 2  # cycles: with another command line a launch begins in another part of one


def run(*words, cores=1):
    return subprocess.run(["timeout", "300", *words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, CORES=str(cores), PROFILE=""), cwd=ROOT)


def write(shape, nodes, constants, of=np.float32):
    x = random.standard_normal(shape).astype(of)
    np.save(f"{FOLDER}/x.npy", x)
    model.write(f"{FOLDER}/{NAME}.onnx", nodes, {"x": (x.dtype, x.shape)}, "y",
                {name: (1 + 0.1 * random.random(size)).astype(of)
                 for name, size in constants.items()}, 12 if nodes[-1][0] == "ReduceSum" else 17)


def tune(cores, *options):
    """Cycles before and behind, and what is kept; or why not."""
    done = run(TUNE, f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/x.npy", *options, cores=cores)
    said = re.search(r"; (\d+) cycles, now (\d+); score", done.stdout)
    if done.returncode or not said:
        return None, None, f"status {done.returncode}: {done.stdout}{done.stderr}"
    with open(f"{MODELS}/tuned-a2-{cores}", encoding="ascii") as f:
        return int(said[1]), int(said[2]), f.read()


def runs(cores, *options):
    """Cycles and result of `make run-onnx`."""
    done = run(RUN, f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/x.npy", "-o", f"{FOLDER}/y.npy", *options,
               cores=cores)
    said = re.search(r"(\d+) cycles, ", done.stdout)
    return int(said[1]) if said else done.stderr, np.load(f"{FOLDER}/y.npy")


def limit(cores):
    """Cycles that the last run's steps took, and that the busiest pipe of a core has to do."""
    with open(f"{MODELS}/explain.json", encoding="ascii") as f:
        took = sum(step["measured"] for step in json.load(f)["steps"])
    with open(f"{MODELS}/explain.txt", encoding="ascii") as f:
        return took, int(re.search(r"^limits: (\d+) cycles", f.read(), re.M)[1]) / cores


def price(cores, size, nodes, constants, of):
    """Cycles of the same step of nearly nothing: to begin, first loads, last stores, a launch's
    end, and of products the memory that each core records them in."""
    def few(shape):
        return tuple(min(n, SMALL) for n in shape)
    write(few(size), nodes, {name: few(shape) for name, shape in constants.items()}, of)
    runs(cores, "--no-tuned")
    return limit(cores)[0]


def gap(was, now, best, least, begun):
    """How much of what is above 95 % of the limit is gone, and of what is above the price of a
    step besides; a word for the summary."""
    closed, rest = (was - now) / max(was - least, 1), was - least - begun
    of_rest = (was - now) / rest if rest > 0 else 1  # nothing is left of it
    GAPS.append("within 95 %" if least >= 0.95 * was else "half" if closed >= 0.5 else
                "half of what a step of nearly nothing does not take" if of_rest >= 0.5 else
                "less")
    tap.say(f"# {was} cycles, now {now}: {least / was:.0%} of the limit {least:.0f}, now "
            f"{least / now:.0%}; {closed:.0%} of the gap; all ways {best}; a step of nearly "
            f"nothing {begun}, {of_rest:.0%} of the rest")


def shape(cores, size, nodes, constants, of=np.float32):
    write(size, nodes, constants, of)
    was, now, kept = tune(cores)
    if was is None:
        return [kept]
    wrong = [f"{was} cycles, now {now}"] if now > was else []
    wrong += [f"nothing is better, but: {kept}"] if now == was and "\n" in kept.strip() else []
    usual, y = runs(cores, "--no-tuned")
    took, least = limit(cores)
    tuned, z = runs(cores)
    if abs(usual - was) > PHASE or abs(tuned - now) > PHASE:
        wrong.append(f"runs take {usual} and {tuned}, want {was}, {now}")
    error = np.abs(y - z).max() / np.abs(y).max()
    wrong += [f"results differ by {error:.2g}"] if not error < 1e-5 else []
    if os.environ.get("FULL"):
        tunes = limit(cores)[0]
        wrong += ["not the same again"] if tune(cores)[2] != kept else []
        _, best, _ = tune(cores, "--budget", "0")
        runs(cores)
        of_all = limit(cores)[0]
        gap(took, tunes, of_all, least, price(cores, size, nodes, constants, of))
        wrong += [f"{now} cycles, of all ways {best}"] if now > 1.02 * best else []
    return wrong


def refused():
    """Files and options that are none: status 2, one line, no plan."""
    write((8, 8), [("Relu", "x", "y")], {})
    wrong = []
    for text, want in (("no\n", "1: is no file of tools/graph/tune"),
                       ("tuned ascend310\n", "1: is of another profile"),
                       ("tuned a2\nstep 12\n", "2: is none of its lines"),
                       ("tuned a2\narith 12 f64\n", "2: is none of its lines"),
                       ("tuned a2\napart 1,2\nstep 0x r1c1 more\n", "3: is none")):
        with open(f"{FOLDER}/tuned", "w", encoding="ascii") as f:
            f.write(text)
        done = run(GRAPH, "compile", f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/plan", "--tuned",
                   f"{FOLDER}/tuned")
        if done.returncode != 2 or want not in done.stderr or done.stderr.count("\n") != 1 or \
                os.path.exists(f"{FOLDER}/plan"):
            wrong.append(f"{text!r}: {done.returncode} {done.stderr}")
    for words, want in ((("--budget", "many"), "--budget many: want a number"),
                        (("--weights", "1,2"), "--weights 1,2: want three numbers"),
                        (("--never",), "--never: no such option")):
        done = run(TUNE, f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/x.npy", *words)
        if done.returncode != 2 or want not in done.stderr or done.stderr.count("\n") != 1:
            wrong.append(f"{words}: {done.returncode} {done.stderr}")
    return wrong


def schedule_of_another():
    """A schedule that a program has not is left out; one that it has is in the plan."""
    write((64, 512), [("Tanh", "x", "y")], {})
    run(GRAPH, "compile", f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/plan", "--keys", f"{FOLDER}/keys")
    with open(f"{FOLDER}/keys", encoding="ascii") as f:
        key = f.read().split()[0]
    wrong = []
    for words, taken in (("r1c512p512n2", True), ("r1c512p100n2", False), ("x", False)):
        with open(f"{FOLDER}/tuned", "w", encoding="ascii") as f:
            f.write(f"tuned a2\nstep {key} {words}\n")
        run(GRAPH, "compile", f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/plan", "--tuned",
            f"{FOLDER}/tuned", "--explain", f"{FOLDER}/explain")
        with open(f"{FOLDER}/explain", encoding="ascii") as f:
            text = f.read()
        if (f"layout {words}\n" in text) != taken or (", tuned: " in text) != taken:
            wrong.append(text)
    return wrong


def compiled(words=None):
    """What a model is with those words for its convolution: its plan, explain.txt."""
    with open(f"{FOLDER}/tuned", "w", encoding="ascii") as f:
        f.write("tuned a2\n" + (f"step {words}\n" if words else ""))
    done = run(GRAPH, "compile", f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/plan", "--tuned",
               f"{FOLDER}/tuned", "--explain", f"{FOLDER}/explain", "--keys", f"{FOLDER}/keys")
    if done.returncode:
        return b"", f"status {done.returncode}"
    with open(f"{FOLDER}/plan", "rb") as plan, open(f"{FOLDER}/explain", encoding="ascii") as text:
        return plan.read(), text.read()


def cuts():
    """Of a convolution other cuts are tried, each once; one that fits is in the plan, which is the
    same whenever it is made, another is left out."""
    words = words_tried((1, 64, 28, 28), conv(256, 64, 3)[0], 4, conv(256, 64, 3)[1],
                        np.float16)
    words = [w for w in words if w != "-"]
    wrong = [] if words[0] == "again" and len(set(words)) == len(words) > 100 else [f"{words}"]
    form = r"n\d+k\d+r\d+c\d+m\d+i1l\d+b[12](x[12])?p?"
    wrong += [w for w in words[1:] if not re.fullmatch(form, w)]
    for part in "n64", "n128", "k32", "b1", "b2", "p":
        wrong += [] if any(part in w for w in words) else [f"no {part}"]
    usual = compiled()
    with open(f"{FOLDER}/keys", encoding="ascii") as f:
        key = next(w for w in f.read().split("\n") if w[0] != "-").split()[0]
    cut = compiled(f"{key} {words[1]}")
    if f" --cut {words[1]}\n" not in cut[1] or ", tuned: " not in cut[1] or cut[0] == usual[0]:
        wrong.append(f"{words[1]} is not in {cut[1]}")
    wrong += [] if compiled(f"{key} {words[1]}") == cut else ["not the same again"]
    for other in "n64k64r100", "r1c512p512n2", "n24", "n65520", "n32768m32768", "r60000c60000":
        wrong += [] if compiled(f"{key} {other}") == usual else [f"{other} is taken"]
    return wrong


def words_tried(size, nodes, cores=1, constants=None, of=np.float32):
    """Of a model of one step, the usual one first."""
    write(size, nodes, constants or {}, of)
    run(GRAPH, "compile", f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/plan", "--tries", "1024", "--cores",
        str(cores), "--keys", f"{FOLDER}/keys")
    with open(f"{FOLDER}/keys", encoding="ascii") as f:
        return [line.split()[1] for line in f]


def ways_are_words():
    """Every part of a word is tried otherwise: loads of several tiles, too."""
    words = words_tried((512, 256), [("ReduceSum", "x", "y", {"axes": [1]})])
    bulk = [bool(re.fullmatch(r"r\d+c\d+p\d+n\d[afsto]*l[b-m]b?h?[012]*", w)) for w in words]
    wrong = [] if any(bulk) and not all(bulk[2:]) else [f"{sum(bulk)} of bulk: {words}"]
    for letter in "afstobh":
        wrong += [] if any(letter in w.split("n")[-1] for w in words[2:]) else [f"no {letter}"]
    return wrong


def ways_are_apart():
    """On several cores a way's cycles have nothing of the one before it: none takes much less than
    the others."""
    words = words_tried(*SHAPES[0][2:4], 8, SHAPES[0][4])
    done = run(SALAI, "--", "graph", f"{FOLDER}/plan", f"{FOLDER}/x.npy", "--steps", cores=8)
    took = dict(zip(words, [int(n) for n in re.findall(r" (\d+) cycles$", done.stdout, re.M)]))
    least = min(took, key=took.get)
    return [] if took[least] >= 0.7 * took["again"] else [
        f"{least} {took[least]}, the usual one {took['again']}"]


def steps_of(kind, nodes):
    """How many steps there are if so many bytes are wanted that nothing joins, but for a file."""
    with open(f"{FOLDER}/tuned", "w", encoding="ascii") as f:
        f.write(f"tuned a2\n{kind} {nodes}\n")
    rule = "100" if kind == "together" else "0"
    run(GRAPH, "compile", f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/plan", "--keys", f"{FOLDER}/keys",
        "--rule", "bytes", "--threshold", rule, "--tuned", f"{FOLDER}/tuned")
    with open(f"{FOLDER}/keys", encoding="ascii") as f:
        return [line.split()[2] for line in f]


def groups_as_measured():
    """Nodes are together, or apart, as a file says, whatever else the rule wants; FULL: a run with
    the rule `measured` has one made."""
    _, _, size, nodes, constants = SHAPES[0]
    write(size, nodes, constants)
    single = steps_of("together", "0,1")
    names = ",".join(single)
    steps = len(single), len(steps_of("together", names)), len(steps_of("apart", names))
    wrong = [] if steps == (3, 1, 3) else [f"{steps} steps"]
    if os.environ.get("FULL"):
        done = run(RUN, f"{FOLDER}/{NAME}.onnx", f"{FOLDER}/x.npy", "--rule", "measured")
        wrong += [] if done.returncode == 0 and "tune: 0 ways measured in" in done.stdout else [
            f"{done.returncode}: {done.stdout}{done.stderr}"]
    return wrong


def main():
    os.makedirs(FOLDER)
    only = sys.argv[1:]
    try:
        for name, *case in SHAPES if only or os.environ.get("FULL") else SHAPES[:BRIEF]:
            if not only or name in only:
                tap.check(f"tune/{name}", shape(*case))
        for word in sorted(set(GAPS)):
            tap.say(f"# {word}: {GAPS.count(word)} of {len(GAPS)} shapes")
        if not only:
            tap.check("tune/refused", refused())
            tap.check("tune/schedule_of_another", schedule_of_another())
            tap.check("tune/groups_as_measured", groups_as_measured())
            tap.check("tune/ways_are_words", ways_are_words())
            tap.check("tune/cuts", cuts())
        if not only and os.environ.get("FULL"):
            tap.check("tune/ways_are_apart", ways_are_apart())
    finally:
        shutil.rmtree(FOLDER)
        shutil.rmtree(MODELS, ignore_errors=True)
    return tap.done(6)


sys.exit(main())
