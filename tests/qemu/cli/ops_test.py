#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Operators that are tile programs, as a user meets them: every number of fp16 through each
# function of one operand, types of files, and what is refused. TAP on stdout. What they compute
# on other shapes and types is with the goldens of cli_test.sh.
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../..")
sys.path.insert(0, ROOT + "/tests")
from tap import done, ok  # noqa: E402

SALAI = ROOT + "/tools/salai"
FULL = bool(os.environ.get("FULL"))


def salai(line, *options):
    return subprocess.run([SALAI, *options, *line.split()], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=120)


# --- every fp16 ---

ERF = np.vectorize(math.erf, [float])
FUNCTIONS = {
    "abs": np.abs, "ceil": np.ceil, "erf": ERF, "exp": np.exp, "floor": np.floor,
    "gelu": lambda x: x * (1 + ERF(x / np.sqrt(2))) / 2,
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1), "ln": np.log, "neg": np.negative,
    "reciprocal": lambda x: 1 / x, "relu": lambda x: np.maximum(x, 0), "round": np.round,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sign": np.sign, "softplus": lambda x: np.logaddexp(0, x), "sqrt": np.sqrt, "tanh": np.tanh,
}
# Where the formula itself has no value: NaN by the machine.
NONE = {"gelu": lambda x: np.isinf(x)}


def every_half():
    x = np.arange(65536, dtype=np.uint16).view(np.float16)
    np.save("x.npy", x)
    ran = salai(" + ".join(f"{name} x.npy -o {name}.out.npy --check 0" for name in FUNCTIONS))
    ok(ran.returncode == 0, "ops/every_half_runs", ran.stderr)
    for name, function in FUNCTIONS.items():
        with np.errstate(all="ignore"):
            want = function(x.astype(np.float64))
            rounded = want.astype(np.float16)
        got = np.load(f"{name}.out.npy")
        with np.errstate(all="ignore"):
            unit = np.abs(np.spacing(rounded)).astype(np.float64)
            good = np.abs(got.astype(np.float64) - want) <= 2 * unit
        good |= (got == rounded) | (np.isnan(got) & np.isnan(want)) | np.isnan(x)
        good |= NONE.get(name, lambda x: False)(x)
        bad = np.flatnonzero(~good)
        ok(len(bad) == 0, f"ops/every_half_by_{name}", "" if len(bad) == 0 else
           f"{len(bad)}: of {x[bad[0]]!r} {got[bad[0]]!r}, want {want[bad[0]]!r}")
        nan = np.isnan(x) & ~np.isnan(got)
        ok(not nan.any(), f"ops/nan_by_{name}", got[nan][:3])


# --- types of files ---

def types():
    np.save("i8.npy", np.array([[3, -7], [2**31 - 1, -2**31]], np.int64))
    np.save("i4.npy", np.array([1, 2], np.int32))
    np.save("beyond.npy", np.array([1, 2, -2**31 - 1], np.int64))
    ran = salai("add i8.npy i4.npy -o sum.npy + less i8.npy i4.npy -o less.npy "
                "+ logical_not less.npy -o not.npy + count less.npy -o count.npy")
    ok(ran.returncode == 0, "ops/int64_runs", ran.stderr)
    total, less = np.load("sum.npy"), np.load("less.npy")
    want = np.array([[4, -5], [-2**31, -2**31 + 2]], np.int32)
    ok(total.dtype == np.int32 and (total == want).all(), "ops/int64_is_int32", total)
    want = np.array([[False, True], [False, True]])
    ok(less.dtype == bool and (less == want).all(), "ops/results_are_bool", less)
    inverted = np.load("not.npy")
    ok(inverted.dtype == bool and (inverted == ~want).all(), "ops/operands_are_bool", inverted)
    ok(np.load("count.npy") == 2, "ops/bool_counts", np.load("count.npy"))


def digests(lines, *options):
    """What identifies each result."""
    text = ""
    for first in range(0, len(lines), 20):  # what a command line holds
        some = [f"{line} --digest --check 9" for line in lines[first:first + 20]]
        ran = salai(" + ".join(some), *options)
        text += ran.stdout + ran.stderr
    return re.findall("^digest .*", text, re.M)


def cores():
    """Equal bytes on any number of cores, in any order of their engines."""
    lines = ["dropout --n 100000 --p 0.3 --seed 5", "softmax --m 300 --n 200", "sum --n 70000"]
    if FULL:
        lines += [f"{op['name']} {case}" for op in json.loads(salai("help --json").stdout)
                  if op["ulps"] for case in op["cases"]]
    said = [digests(lines, *options.split()) for options in
            ("", "--cores 2", "--cores 7 --seed 3", *FULL * ["--cores 32", "--seed 11"])]
    wrong = [set(row) for row in zip(*said) if len(set(row)) != 1]
    ok(not wrong and len(said[0]) >= len(lines) and len(set(map(len, said))) == 1,
       "ops/equal_bytes_on_any_cores", wrong)


# --- what is refused ---

REFUSED = (
    ("shapes", "add a.npy b.npy", "add: b.npy: y is (5, 3), but the shape is (4, 3) by a.npy"),
    ("axis", "softmax a.npy --axis 2", "softmax: no axis 2: there are 2 dimensions"),
    ("axis_below", "softmax a.npy --axis -3", "softmax: no axis -3: there are 2 dimensions"),
    ("axes", "sum a.npy --axes 0,2", "sum: no axis 2: there are 2 dimensions"),
    ("axes_twice", "sum a.npy --axes 1,-1", "sum: --axes 1,-1: axis 1 twice"),
    ("axes_of_letters", "sum a.npy --axes x", "sum: --axes x: want numbers with commas between"),
    ("axes_for_argmax", "argmax c.npy --axes 0,2", "argmax is over one dimension"),
    ("width", "layernorm a.npy g.npy", "layernorm: g.npy: g is (4,), but n is 3 by a.npy"),
    ("channels", "batchnorm c.npy g.npy g.npy", "c is 3, not 4"),
    ("int64", "add beyond.npy i4.npy", "add: beyond.npy: -2147483649 at 2 is no int32"),
    ("type", "sqrt i4.npy", "sqrt: i4.npy: x is int32, want float32 or float16"),
    ("bool", "add t.npy t.npy", "add: t.npy: x is bool, want float32 or float16 or int32"),
    ("no_bool", "where a.npy a.npy a.npy", "where: a.npy: c is float32, want bool"),
    ("nothing", "exp none.npy", "exp: none.npy: x is (0, 3), which is no elements"),
    ("nan", "quantise a.npy --scale nan", "quantise: --scale nan: want a number from -inf to inf"),
    ("made_up", "add --shapes 3x4", "add: want 2 .npy files (x, y), or --n"),
    ("too_many", "add a.npy a.npy a.npy", "add: one file too many: a.npy"),
    ("no_operator", "softmaxx a.npy", "salai: no operator 'softmaxx'; 'help' lists them"),
)


def refused():
    for name, shape in (("a", (4, 3)), ("b", (5, 3)), ("c", (2, 3, 4)), ("g", 4), ("none", (0, 3))):
        np.save(name + ".npy", np.ones(shape, np.float32))
    np.save("t.npy", np.ones(3, bool))
    for name, line, want in REFUSED:
        ran = salai(line + " -o out.npy")
        good = (ran.returncode == 2 and want in ran.stderr and ran.stderr.count("\n") == 1
                and not os.path.exists("out.npy"))
        ok(good, f"ops/refused_{name}", f"{ran.returncode}: {ran.stderr}")


with tempfile.TemporaryDirectory(dir=ROOT + "/build/test") as folder:
    os.chdir(folder)
    every_half()
    types()
    cores()
    refused()
    os.chdir(ROOT)
sys.exit(done())
