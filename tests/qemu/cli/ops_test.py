#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Operators, most of them tile programs, as a user meets them: every number of fp16 through each
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
    for first in range(0, len(lines), 8):  # what a command line holds
        some = [f"{line} --digest --check 9" for line in lines[first:first + 8]]
        ran = salai(" + ".join(some), *options)
        text += ran.stdout + ran.stderr
    return re.findall("^digest .*", text, re.M)


def cores():
    """Equal bytes on any number of cores, in any order of their engines."""
    lines = ["dropout --n 100000 --p 0.3 --seed 5", "softmax --m 300 --n 200", "sum --n 70000"]
    if FULL:
        lines += [f"{op['name']} {case}" for op in json.loads(salai("help --json").stdout)
                  if not op["texts"] for case in op["cases"]]
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


# Operators that are no tile programs: arrays by name, as a shape and a type, or as they are.
ARRAYS = {
    "table": ((5, 4), "f4"), "dx": ((3, 4), "f4"), "dx2": ((2, 4), "f4"), "tokens": ((3,), "i4"),
    "over": np.array([0, 1, 5], np.int32), "under": np.array([0, -1, 2], np.int64),
    "bags": np.array([[0, 1], [2, 5]], np.int32),
    "square": ((4, 4), "f2"), "image": ((1, 300, 300, 1), "f2"),
    "filter": ((1, 256, 256, 1), "f2"), "heads": ((1, 8, 1300), "f2"),
    "wide": np.array([0, 1 << 40], np.int64), "reals": ((3,), "f4"),
    "no_rows": ((0, 4), "f4"), "no_tokens": ((0,), "i4"), "no_columns": ((4, 0), "f4"),
    "x": ((4, 6), "f4"), "bytes": ((4, 6), "i1"), "doubles": ((4, 6), "f8"),
    "map": ((1, 5, 6, 4), "f2"), "weight": ((8, 3, 3, 4), "f2"), "bias": ((8,), "f4"),
    "short": ((7,), "f4"), "narrow": ((1, 3, 4, 7), "f2"), "high": ((1, 5, 6, 8), "f2"),
    "map8": ((1, 5, 6, 4), "i1"), "weight8": ((8, 3, 3, 4), "i1"), "bias8": ((8,), "i4"),
    "nans": np.array([1, 1, 1, np.nan] * 2, np.float32), "large": np.full(8, 1e6, np.float32),
    "infinite": np.array([1, 1, 1, np.inf] * 2, np.float32), "seq": ((3, 5, 20), "f2"),
    "no_seq": ((0, 5, 20), "f2"), "w": ((64, 20), "f2"), "r": ((64, 16), "f2"),
    "lbias": ((64,), "f4"), "wide_r": ((64, 17), "f2"), "wide_w": ((60, 20), "f2"),
    "first": ((4, 16), "f2"), "odd_w": ((96, 20), "f2"), "odd_r": ((96, 24), "f2"),
    "odd_bias": ((96,), "f4"),
}
# Name, command line, the one line that it leads to.
REFUSED_TOO = (
    ("index_over", "embedding table over", "embedding: index 2 is 5, want 0 to 4"),
    ("index_under", "embedding table under", "embedding: index 1 is -1, want 0 to 4"),
    ("index_type", "embedding table reals", "token is float32, want int32"),
    ("no_table", "embedding no_rows tokens", "table is (0, 4), which is no elements"),
    ("no_tokens", "embedding table no_tokens", "token is (0,), which is no elements"),
    ("token_shape", "embedding table bags", "token is (2, 2), want (n,)"),
    ("bag_index", "embedding_bag table bags", "embedding_bag: index 3 is 5, want 0 to 4"),
    ("bag_shape", "embedding_bag table tokens", "token is (3,), want (b, l)"),
    ("bag_mode", "embedding_bag table bags --mode median", "--mode median: want sum|mean|max"),
    ("grad_index", "embedding_grad dx over --rows 5", "index 2 is 5, want 0 to 4"),
    ("grad_shape", "embedding_grad dx2 tokens --rows 5", "token is (3,), but n is 2"),
    ("grad_rows", "embedding_grad dx tokens --rows 0", "--rows 0: want a number from 1"),
    ("grad_way", "embedding_grad dx tokens --strategy fast", "want auto|atomic|sorted|cube"),
    ("grad_type", "embedding_grad dx reals --rows 5", "token is float32, want int32"),
    ("lstm_units", "lstm seq w wide_r lbias", "lstm: want 4 x 17 rows of w and r"),
    ("lstm_bias", "lstm seq w r short", "bias is (7,), but g is 64"),
    ("lstm_gates", "lstm seq wide_w r lbias", "r is (64, 16), but g is 60"),
    ("lstm_empty", "lstm no_seq w r lbias", "x is (0, 5, 20), which is no elements"),
    ("lstm_first", "lstm seq w r lbias first", "first is (4, 16), but b is 5"),
    ("lstm_blocks", "lstm seq odd_w odd_r odd_bias", "24 units of 20 inputs: want a multiple"),
    ("gru_gates", "gru seq w r lbias", "gru: want 3 x 16 rows of w and r"),
    ("act_bias", "conv2d_act map weight short", "bias is (7,), but o is 8"),
    ("act_add", "conv2d_act map weight bias narrow", "add is (1, 3, 4, 7), but o is 8"),
    ("act_size", "conv2d_act map weight bias high", "add is 1 x 5 x 6 x 8, y 1 x 3 x 4 x 8"),
    ("act_slope", "conv2d_act map weight bias --slope nan", "--slope nan: want a number"),
    ("act_type", "conv2d_act map8 weight8 bias8", "x is int8, want float16"),
    ("q_nan", "conv2d_q map8 weight8 bias8 nans", "conv2d_q: a scale that is no number"),
    ("q_inf", "conv2d_q map8 weight8 bias8 infinite", "conv2d_q: a scale that is no number"),
    ("q_large", "conv2d_q map8 weight8 bias8 large --exact --scale 1",
     "conv2d_q: an exact scale of 65536 or more"),
    ("q_scales", "conv2d_q map8 weight8 bias8 short", "scales is (7,), but o is 8"),
    ("q_type", "conv2d_q map weight bias8 bias", "x is float16, want int8"),
    ("q_zero", "conv2d_q map8 weight8 bias8 bias --zero 128", "want a number from -128 to 127"),
    ("class_over", "one_hot over --depth 5", "one_hot: index (2) is 5, want -5 to 4"),
    ("class_wide", "one_hot wide --depth 5", "one_hot: wide.npy: 1099511627776 at 1 is no int32"),
    ("class_type", "one_hot reals", "one_hot: reals.npy: index is float32, want int32"),
    ("diagonal", "triu tokens", "x is (3,), want (..., m, n)"),
    ("resize_rows", "resize_linear map --rows 0", "--rows 0: want a number from 1"),
    ("resize_type", "resize_linear map8", "x is int8, want float32 or float16"),
    ("filter", "conv2d image filter", "a filter of 256 x 256 is too large for the smallest tile"),
    ("head", "attention heads heads heads --scale 1", "8 keys want 835 KiB of UB, which has 192"),
    ("strategy", "matmul square square --strategy gemv", "strategy gemv wants m = 1"),
    ("k_above", "top_k x --k 7", "top_k: --k 7 of 6"),
    ("k_none", "top_k x --k 0", "--k 0: want a number from 1"),
    ("k_axis", "top_k x --axis 2", "top_k: --axis 2 of 2 dimensions"),
    ("k_type", "top_k bytes", "x is int8, want float32 or float16"),
    ("k_empty", "top_k no_columns", "x is (4, 0), which is no elements"),
    ("sort_type", "sort bytes", "x is int8, want float32 or float16"),
    ("sort_axis", "sort x --axis 2", "sort: --axis 2 of 2 dimensions"),
    ("sort_empty", "sort no_columns", "x is (4, 0), which is no elements"),
    ("lrn_shape", "lrn x", "x is (4, 6), want (n, c, h, w)"),
    ("lrn_size", "lrn map --size 0", "--size 0: want a number from 1"),
    ("lrn_bias", "lrn map --bias nan", "--bias nan: want a number"),
    ("lrn_type", "lrn map8", "x is int8, want float32 or float16"),
    ("cumsum_axis", "cumsum x --axis 2", "cumsum: --axis 2 of 2 dimensions"),
    ("cumsum_type", "cumsum doubles", "x is float64, want float32 or float16 or int32"),
    ("cumsum_empty", "cumsum no_columns", "x is (4, 0), which is no elements"),
)


def refused_too():
    """As many as a command line holds in a boot: a line each, and no result."""
    for name, a in ARRAYS.items():
        np.save(name + ".npy", a if isinstance(a, np.ndarray) else np.ones(*a))
    result = {"top_k": "v=", "sort": "v=", "lstm": "y="}
    for at in range(0, len(REFUSED_TOO), 15):
        some = REFUSED_TOO[at : at + 15]
        words = [[w + ".npy" if w in ARRAYS else w for w in line.split()] for _, line, _ in some]
        ran = salai(" + ".join(f"{' '.join(w)} -o {result.get(w[0], '')}out.npy" for w in words))
        said = ran.stderr.splitlines()
        for (name, _, want), line in zip(some, said + [""] * len(some)):
            good = want in line and ran.returncode == 2 and len(said) == len(some)
            ok(good and not os.path.exists("out.npy"), f"ops/refused_{name}",
               f"{ran.returncode}, {len(said)} lines: {line}")


def refused_by_chip():
    ran = salai("matmul_nt --m 4 --n 4 --k 4 --type bf16 -o out.npy", "--profile", "ascend310")
    good = ran.returncode == 2 and ran.stderr == "matmul_nt: this chip's Cube has no BF16\n"
    ok(good and not os.path.exists("out.npy"), "ops/refused_by_chip",
       f"{ran.returncode}: {ran.stderr}")


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
    refused_too()
    refused_by_chip()
    os.chdir(ROOT)
sys.exit(done())
