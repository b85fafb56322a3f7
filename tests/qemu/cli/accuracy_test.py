#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# accuracy_test.py [--table] [NAME]...
#
# How far results are from what NumPy computes in double precision, for every operator that the
# firmware lists with an error bound (`salai help --json`: its formula, its bound, its types and
# the options of its cases); nothing here names one. TAP on stdout; --table: the worst error of
# each operator besides. With FULL on three profiles and with more values.
#
#   elementwise  of one operand every number of 8 and 16 bits, of float32 and int32 samples of
#                every exponent, both signs, and around the numbers of the formula; of several all
#                pairs of special values and samples, and each operand broadcast in each form: that
#                has to give the bits that the operand spread out by NumPy gives. Zeros have the
#                sign that NumPy's have.
#   reductions   along each kind of axes: sums that cancel, magnitudes from 1e-30 to 1e30, equal
#                elements, special values
#   others       rows, products, steps of training: the shapes of their cases with such values
#
# Without FULL: of several operands those of float32, broadcast once, and fewer shapes.
#
# Allowed is what the operator documents: `ulps` of the result's type (0: the value rounded once)
# and what its formula says of `bound`.
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../..")
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/qemu"]
import golden  # noqa: E402
from tap import check, done, ok  # noqa: E402

FULL = bool(os.environ.get("FULL"))
PROFILES = ("a2", "ascend910", "ascend310") if FULL else ("a2",)
PER_EXPONENT = 40 if FULL else 6
ARGUMENTS = 240  # of a boot; HOST_ARGS_MAX
CODES = {v: k for k, v in golden.TYPES.items()}
rng = np.random.default_rng(33)


# --- values ---

def near(number, dtype):
    """A number, its neighbours, and some a little further away."""
    x = np.asarray(number, dtype)
    up = np.nextafter(x, dtype(np.inf))
    down = np.nextafter(x, dtype(-np.inf))
    with np.errstate(all="ignore"):
        away = [x * dtype(1 + s * 2.0**-e) for e in (4, 8, 12) for s in (-1, 1)]
    return [x, up, down, np.nextafter(up, dtype(np.inf)), np.nextafter(down, dtype(-np.inf)),
            *away]


def specials(dtype):
    """Values at which formulas go wrong, in each type."""
    if dtype == np.bool_:
        return np.array([False, True])
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return np.unique(np.array([info.min, info.min + 1, 0, 1, 2, 3, 7, 46341, info.max - 1,
                                   info.max, -1, -2, -7]).clip(info.min, info.max)).astype(dtype)
    info = np.finfo(dtype)
    positive = [0, info.smallest_subnormal, 3 * info.smallest_subnormal,
                info.tiny - info.smallest_subnormal, info.tiny, 1.5 * info.tiny, info.eps, 2.0**-7,
                0.1, 1 / 3, 0.5, 1 - info.epsneg, 1, 1 + info.eps, 1.5, 2, 2.5, 3, 7, 10, 255,
                2.0**(info.nmant + 1) - 1, 2.0**(info.nmant + 1) + 2, np.sqrt(float(info.max)),
                float(info.max) / 2, info.max, np.inf]
    positive = np.array(positive, np.float64).astype(dtype)
    return np.concatenate([positive, -positive, np.array([np.nan], dtype)])


def numbers_in(text):
    return {abs(float(n)) for n in re.findall(r"(?<![\w.])\d+\.?\d*(?:e-?\d+)?", text or "")}


def sampled(dtype, text, per_exponent):
    """Of every exponent, both signs; small whole numbers and halves; around what stands in a
    text; evenly where exp() and its kin have their values."""
    if np.dtype(dtype).kind != "f":
        return np.concatenate([specials(dtype), rng.integers(
            np.iinfo(dtype).min, np.iinfo(dtype).max, 100 * per_exponent, dtype, True)])
    points = {x / 2 for x in range(41)} | {88.5, 88.72284, 103.97, 17.33} | numbers_in(text)
    around = np.concatenate([near(s * p, dtype) for p in sorted(points) for s in (-1, 1)])
    bits, fraction = np.dtype(dtype).itemsize * 8, np.finfo(dtype).nmant
    word = np.dtype(f"u{bits // 8}").type
    heads = np.arange(1 << (bits - fraction), dtype=np.uint64)[:, None] << np.uint64(fraction)
    tails = rng.integers(0, 1 << fraction, (len(heads), per_exponent), np.uint64)
    tails[:, :3] = 0, 1, (1 << fraction) - 1
    every = (heads | tails).astype(word).view(dtype).reshape(-1)
    even = rng.uniform(-120, 120, 300 * per_exponent).astype(dtype)
    return np.concatenate([specials(dtype), around, every, even])


def unary_values(dtype, text):
    if dtype == np.bool_:
        return np.array([False, True] * 50)
    if np.dtype(dtype).itemsize <= 2:
        bits = 8 * np.dtype(dtype).itemsize
        return np.arange(1 << bits, dtype=f"u{bits // 8}").view(dtype)
    return sampled(dtype, text, PER_EXPONENT)


def filled(dtype, count, text):
    """Any values for places that are left: a third of every exponent, others of moderate size,
    whole numbers among them."""
    if np.dtype(dtype).kind != "f":
        return rng.choice(np.concatenate([specials(dtype), np.arange(-5, 9).astype(dtype)]), count)
    anything = rng.choice(sampled(dtype, text, 3), count)
    sign = rng.choice([-1.0, 1.0], count)
    moderate = (sign * np.exp2(rng.uniform(-9, 9, count))).astype(dtype)
    whole = (sign * rng.integers(0, 40, count)).astype(dtype)
    return np.choose(rng.integers(0, 3, count), [anything, moderate, whole])


KINDS = ("wide", "cancels", "large", "small", "special", "equal", "normal")
KINDS = KINDS if FULL else ("cancels", "large", "special")


def made(kind, dtype, shape, last):
    """An operand of a reduction or of rows; last: the axis along which it cancels."""
    if dtype == np.bool_:
        return rng.random(shape) < {"wide": 0.02, "large": 1, "small": 0}.get(kind, 0.5)
    if np.dtype(dtype).kind != "f":
        return rng.integers(-9, 10, shape).astype(dtype)
    x = rng.standard_normal(shape)
    most, least = (30, -30) if dtype == np.float32 else (4.5, -5)
    if kind == "wide":
        x = x * 10.0 ** rng.uniform(-4, 4 if dtype == np.float32 else 2, shape)
    elif kind == "cancels" and x.ndim:
        half = np.take(x, range(x.shape[last] // 2), last)
        rest = np.take(x, range(x.shape[last] - 2 * half.shape[last]), last)
        x = np.concatenate([half * 100, -half * 100, rest * 1e-3], last)
    elif kind in ("large", "small"):
        x = x * 10.0 ** (most if kind == "large" else least)
    elif kind == "equal":
        x = np.full(shape, 1234.567)
    elif kind == "special" and x.size:
        at = rng.random(shape) < 1.5 / (x.shape[last] if x.ndim else 1)
        x = np.where(at, rng.choice(specials(dtype).astype(np.float64), shape), x)
    with np.errstate(all="ignore"):
        return np.asarray(x, dtype)


# --- one result ---

class Case:
    """A command line of an operator with its operands, and what is known of its results."""
    total = 0

    def __init__(self, op, given, row, inputs, what, signs=True):
        Case.total += 1
        self.op, self.given, self.row, self.inputs = op, given, row, inputs
        self.what, self.signs, self.stem = what, signs, f"c{Case.total}"
        self.ins, self.outs, _ = golden.split(op)
        self.sizes = {d: n for (name, dims), x in zip(self.ins, inputs.values())
                      if x is not None and "*" not in dims
                      for d, n in zip(reversed(dims), reversed(x.shape))
                      if d != "..." and dims[-1] != "..."}
        self.same_as = None

    def words(self):
        there = [(f"{self.stem}.{name}.npy", x) for name, x in self.inputs.items()
                 if x is not None]
        for path, x in there:
            np.save(path, x)
        many = len(self.outs) > 1
        results = [w for i, (out, _) in enumerate(self.outs)
                   for w in ("-o", (f"{out}=" if many else "") + f"{self.stem}.{i}.out.npy")]
        options = [w for o, v in self.given.items() for w in (o, v) if w]
        to = CODES[self.row[len(self.ins)]]
        alike = [row for row in golden.split(self.op)[2]
                 if row[:len(self.ins)] == self.row[:len(self.ins)]]
        options += ["--out", to] if len(alike) > 1 else []
        return [self.op["name"], *(path for path, _ in there), *options, "--check", "0", *results]

    def results(self):
        return [np.load(f"{self.stem}.{i}.out.npy") for i in range(len(self.outs))]

    def wanted(self):
        options = golden.options_of(self.op, self.given)
        options |= {"out": self.row[len(self.ins)]}
        with np.errstate(all="ignore"):
            return golden.expected(self.op, dict(self.inputs), self.sizes | options, options,
                                   [o for o, _ in self.outs])

    def problems(self, tally):
        """Lines of what is wrong; the largest errors go to the tally."""
        wants, bound = self.wanted()
        lines = []
        for i, (got, want) in enumerate(zip(self.results(), wants)):
            want, dtype = np.asarray(want), self.row[len(self.ins) + i]
            if got.dtype != dtype or got.shape != want.shape:
                lines.append(f"{self.told()}: {got.dtype} {got.shape}, want "
                             f"{np.dtype(dtype)} {want.shape}")
                continue
            lines += self.judged(got, want, bound, tally)
        if self.same_as and not lines:
            lines += self.other_bits()
        return lines

    def judged(self, got, want, bound, tally):
        error, allowed, unit = errors(self.op, got, want, bound, self.signs)
        bad = ~(error <= allowed)
        tally.add(self, error, allowed, unit, bad)
        if not bad.any():
            return []
        worst = np.argmax(np.where(bad, np.where(np.isfinite(error), error / unit, np.inf), 0))
        at = np.unravel_index(worst, got.shape)
        return [f"{self.told()}: {bad.sum()} of {bad.size}, {self.of(at, got.shape)}: "
                f"{got[at]!r}, want {want[at]!r}, {error[at] / unit[at]:.3g} ulp, "
                f"allowed {allowed[at] / unit[at]:.3g}"]

    def other_bits(self):
        for got, spread in zip(self.results(), self.same_as.results()):
            word = f"u{got.itemsize}"
            bad = np.ascontiguousarray(got).view(word) != np.ascontiguousarray(spread).view(word)
            if bad.any():
                at = tuple(np.argwhere(bad)[0])
                return [f"{self.told()}: {bad.sum()} of {bad.size} not as the operands spread, "
                        f"{self.of(at, got.shape)}: {got[at]!r}, not {spread[at]!r}"]
        return []

    def told(self):
        """The command line as it can be typed, about."""
        options = " ".join(w for o, v in self.given.items() for w in (o, v) if w)
        types = ",".join(CODES[t] for t in self.row)
        return f"{self.op['name']} {options} {types} {self.what}".replace("  ", " ")

    def of(self, at, shape):
        """Of elementwise operators the operands there."""
        given = []
        for name, x in self.inputs.items():
            if x is not None and self.signs:
                given.append(f"{name} {np.broadcast_to(x, shape)[at]!r}")
        return ", ".join(given) if given else f"at {tuple(map(int, at))}"


def errors(op, got, want, bound, signs):
    """Of each element how far it is off, how far it may be, and the unit of its last place. What
    is beyond the type counts as the number that follows its largest."""
    if got.dtype.kind != "f":  # integers wrap
        wide = got.astype(np.int64) - want.astype(np.int64).astype(got.dtype)
        limit = np.broadcast_to(0 if bound is None else np.floor(bound), got.shape)
        return np.abs(wide).astype(float), limit, np.ones(got.shape)
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = want.astype(got.dtype)
        beyond = float(info.max) * (1 + info.epsneg)
        below = np.nextafter(info.max, info.dtype.type(0))
        unit = np.spacing(np.minimum(np.abs(rounded), below)).astype(np.float64)
        unit = np.where(np.isnan(rounded), 1, unit)
        wide = [np.clip(np.asarray(x, np.float64), -beyond, beyond) for x in (got, want)]
        once = [np.clip(np.asarray(x, np.float64), -beyond, beyond) for x in (got, rounded)]
        ulps = op["ulps"] if got.dtype == np.float32 else min(op["ulps"], 1)
        allowed = np.broadcast_to(0 if bound is None else bound, got.shape)
        if np.ndim(bound) == 0 and bound is not None and not np.isfinite(bound):
            allowed = np.full(got.shape, np.inf)  # of all elements, one of which is infinite
        else:
            exact = np.isnan(allowed) | (~np.isfinite(want) & np.isfinite(allowed))
            allowed = np.where(exact, 0, allowed)
        if not signs:  # terms of what is beyond the type may be, of both signs
            lost = np.isfinite(want) & (np.abs(want) >= beyond) & ~np.isfinite(got)
            allowed = np.where(lost, np.inf, allowed)
        allowed = allowed + ulps * unit
        error = np.abs(np.subtract(*(wide if ulps else once)))
    error = np.where(np.isnan(got) & np.isnan(want), 0, error)
    error = np.where(np.isnan(got) != np.isnan(want), np.inf, error)
    infinite = np.isinf(want) & (got != want)
    if signs:  # where no other bound allows the least number
        other = (got != 0) | (np.signbit(got) != np.signbit(want))
        infinite |= (want == 0) & (allowed <= ulps * unit) & other
    return np.where(infinite, np.inf, error), allowed, unit


# --- the cases of an operator ---

def option_sets(op):
    """What its own cases say besides shapes and types, each once."""
    known = {o["name"] for o in op["options"]}
    sets = [{}]
    for line in op["cases"]:
        given = {o: v for o, v in golden.parsed(op, line).items()
                 if o in known and o not in ("--axis", "--axes", "--keepdims")}
        if given not in sets:
            sets.append(given)
    return sets


def unary(op, row, given):
    (name, _), = golden.split(op)[0]
    text = " ".join([op["numpy"], *given.values()])
    x = unary_values(row[0], text)
    yield Case(op, given, row, {name: x}, "")


def grid(dtypes, text):
    """Operands of one shape in which each two have all pairs of special values."""
    lists = [specials(t) for t in dtypes]
    rows, columns = (max(map(len, lists)) + 1, max(map(len, lists)) + 75)
    operands = []
    for i, (values, dtype) in enumerate(zip(lists, dtypes)):
        along = rows if i == 0 else columns
        line = np.concatenate([values, filled(dtype, along - len(values), text)])
        line = np.roll(line, 7 * i)
        operands.append(line[:, None] if i == 0 else line[None, :])
    return operands, (rows, columns)


def several(op, row, given):
    """All pairs; samples; then each operand in each form beside the others spread out."""
    names = [name for name, _ in golden.split(op)[0]]
    text = " ".join([op["numpy"], *given.values()])
    lines, shape = grid(row[:len(names)], text)
    full = dict(zip(names, (np.ascontiguousarray(np.broadcast_to(x, shape)) for x in lines)))
    pairs = Case(op, given, row, full, "all pairs")
    yield pairs
    count = 20000 if FULL else 4000
    yield Case(op, given, row, {n: filled(t, count, text) for n, t in zip(names, row)}, "samples")
    for form, x in (("column by row", dict(zip(names, lines))),):
        case = Case(op, given, row, x, form)
        case.same_as = pairs
        yield case
    for name, line in zip(names, lines):
        yield from broadcast(pairs, name, "row" if line.shape[0] == 1 else "column", line)
        if not FULL and name != names[-1]:
            continue
        others = {n: x.T for n, x in full.items()}
        turned = Case(op, given, row, {n: np.ascontiguousarray(x) for n, x in others.items()},
                      "transposed")
        yield turned
        yield from broadcast(turned, name, "column" if line.shape[0] == 1 else "row", line.T)
        for number in rng.choice(line.reshape(-1), 6 if FULL else 1, replace=False):
            whole = Case(op, given, row, full | {name: np.full(shape, number)}, "spread scalar")
            yield whole
            yield from broadcast(whole, name, "scalar", np.asarray(number))


def broadcast(spread, name, form, line):
    line = line[0] if form == "row" else line
    case = Case(spread.op, spread.given, spread.row, spread.inputs | {name: line},
                f"{name} a {form}")
    case.same_as = spread
    yield case


REDUCED = (((9, 130), "-1"), ((130, 9), "0"), ((1000,), None), ((5, 6, 7), "1"), ((3, 1), "-1"),
           ((40, 700), "0,1"))


def reduced(op, row, given):
    names = [name for name, _ in golden.split(op)[0]]
    one = "along an axis" in op["summary"]
    for shape, axes in REDUCED if FULL else REDUCED[:2]:
        if one and axes and "," in axes:
            continue
        for kind in KINDS:
            last = int((axes or "-1").split(",")[-1])
            inputs = {n: made(kind, t, shape, last) for n, t in zip(names, row)}
            if kind == "special":  # sums of the largest overflow on the way
                inputs = {n: np.where(np.isfinite(x) & (np.abs(x) > 2.0**62), x.dtype.type(0), x)
                          if x.dtype.kind == "f" else x for n, x in inputs.items()}
            options = given | ({"--axes": axes} if axes else {})
            text = "x".join(map(str, shape))
            yield Case(op, options, row, inputs, f"{kind} {text}", False)


def others(op, row, _):
    ins = golden.split(op)[0]
    for line in op["cases"] if FULL else op["cases"][:2][-1:]:
        given = golden.parsed(op, re.sub(r" --(type|out|data) \S+", "", line))
        shapes, sizes = golden.shapes_of(ins, given, None)
        made_up = {f"--{d}" for d in sizes} | {"--n", "--m", "--shapes"}
        options = {o: v for o, v in given.items() if o not in made_up}
        limits = golden.index_limits(given, shapes)
        for kind in KINDS:
            inputs = {n: None if s is None else rng.integers(*limits[n], s, t) if n in limits
                      else made(kind, t, s, -1) for (n, _), s, t in zip(ins, shapes, row)}
            case = Case(op, options, row, inputs, f"{kind}, as {line}", False)
            case.sizes = sizes
            yield case


def kind_of(op):
    """Which of the functions above makes its cases."""
    ins, outs, _ = golden.split(op)
    if any(dims != ["..."] for _, dims in ins + outs):
        return others
    if "--axes" in (o["name"] for o in op["options"]):
        return reduced
    return unary if len(ins) == 1 else several


# --- all of them ---

class Tally:
    """The largest errors of an operator by the types of a row."""

    def __init__(self):
        self.rows = {}

    def add(self, case, error, allowed, unit, bad):
        key = case.op["name"], ",".join(CODES[t] for t in case.row)
        n, wrong, ulps, share = self.rows.get(key, (0, 0, 0.0, 0.0))
        with np.errstate(all="ignore"):
            worst = np.nanmax(np.where(unit > 0, error / unit, 0), initial=0)
            part = np.nanmax(np.where(error > 0, error / allowed, 0), initial=0)
        self.rows[key] = (n + error.size, wrong + int(bad.sum()), max(ulps, worst),
                          max(share, part))

    def print(self, ops):
        print(f"# {'operator':18} {'types':14} {'values':>9} {'wrong':>7} {'worst ulp':>10} "
              f"{'of bound':>9}  bound")
        for (name, types), (n, wrong, ulps, share) in sorted(self.rows.items()):
            op = next(op for op in ops if op["name"] == name)
            more = re.findall(r"^bound = (.*)", op["numpy"], re.M)
            said = " + ".join([f"{op['ulps']} ulp", *more])
            print(f"# {name:18} {types:14} {n:9} {wrong:7} {ulps:10.3g} {share:9.3g}  {said}")


def boots(cases):
    """Lists of cases that a command line holds."""
    some, words = [], 0
    for case in cases:
        n = len(case.words()) + 1
        if some and words + n > ARGUMENTS:
            yield some
            some, words = [], 0
        some.append(case)
        words += n
    if some:
        yield some


def run(cases, profile):
    line = [w for case in cases for w in ["+", *case.words()]][1:]
    ran = subprocess.run([ROOT + "/tools/salai", "--profile", profile, *line],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    return "" if ran.returncode == 0 else ran.stderr


def cases_of(op):
    make = kind_of(op)
    for row in golden.split(op)[2][: None if FULL or make is unary else 1]:
        for given in option_sets(op) if make is not others else [{}]:
            yield from make(op, row, given)


def listed(names):
    """Operators that are tile programs."""
    return [op for op in golden.operators() if op["program"] and (not names or op["name"] in names)]


def main():
    np.seterr(all="ignore")
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    ops, tally = listed(words), Tally()
    for profile in PROFILES:
        wrong = {op["name"]: [] for op in ops}
        for some in boots(case for op in ops for case in cases_of(op)):
            said = run(some, profile)
            for case in some:
                try:
                    lines = case.problems(tally)
                except FileNotFoundError:
                    lines = [f"{case.told()}: {said[:300]}"]
                wrong[case.op["name"]] += lines
            keep = {c.stem for c in some[-40:]}
            for path in os.listdir():
                if path.split(".")[0] not in keep:
                    os.unlink(path)
        for name, lines in wrong.items():
            check(f"accuracy/{name}_on_{profile}", lines)
    ok(bool(ops), "accuracy/operators_are_listed")
    if "--table" in sys.argv:
        tally.print(ops)


with tempfile.TemporaryDirectory(prefix="accuracy-", dir=ROOT + "/build/test") as folder:
    os.chdir(folder)
    main()
    os.chdir(ROOT)
sys.exit(done())
