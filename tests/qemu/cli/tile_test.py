#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# Tile programs around QEMU: what the interpreter computes against NumPy, for the examples
# and for random programs, and what is refused. TAP on stdout.
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

sys.dont_write_bytecode = True
ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + "/../../..")
sys.path[:0] = [ROOT + "/tests", ROOT + "/tests/qemu/cli"]
from tap import done, ok  # noqa: E402
from tile_numpy import TYPES, Program  # noqa: E402

SALAI = [ROOT + "/tools/salai"]
TEST = [*SALAI, "--image", ROOT + "/build/fw-picolibc/test.elf"]
FULL = os.environ.get("FULL")
RANDOM = 2000 if FULL else 30
PLANNED = 20000 if FULL else 150  # random programs that run on the machine
PRODUCTS = 2000 if FULL else 20  # of such with products
WITH_PRODUCTS = 1 << 30  # as tests/tile/random.h has it
AT_ONCE = 20  # programs of one boot: what a command line holds
EXAMPLES = {"attention": "h=2 s=9 t=13 d=5", "linear_gelu": "m=5 k=33 n=17"}
MORE = """kernel attention(q: f16[h, s, d], k: f16[h, t, d], v: f16[h, t, d], scale = 0.3) \
-> o: f16[h, s, d]
    loop t while t <= s carry m = -inf[h, s], l = 0[h, s], acc = 0[h, s, d]
        x = where(t <= s, dot(q, k, d) * scale, -inf)
        top = max(m, max(x, t))
        p = exp(x - top)
        r = exp(m - top)
        l = l * r + sum(p, t)
        acc = acc * r + dot(f16(p), v, t)
        m = top
    end
    o = f16(acc * rec(l))
kernel linear_gelu(a: f16[m, k], b: f16[k, n], bias: f32[n]) -> out: f16[m, n]
    out = f16(gelu(a @ b + bias))
"""
FUNCTIONS = """kernel functions(x: f32[m, n], z: f32[m, n]) -> a: f32[m, n], b: f32[m, n], \
c: f32[m, n], d: f32[m, n]
    a = sign(x) + elu(x, 0.75) * pow(x, 3) + pow(z, 0)
    b = mod(x, 0.375) + hard_swish(x * 8) + pow(abs(z) + 0.125, 1.75) + hard_sigmoid(z)
    c = where(isnan(x / (z - z)), 1, where(isinf(1 / (x - x)), 2, x)) + clip(z, -0.5, 0.25)
    d = where(xor(x > 0, z > 0), norm(x, n), f32(argmin(x, n))) + where(all(x > -1, n), 1, 0)
"""
rng = np.random.default_rng(15)


def salai(command, words):
    return subprocess.run([*command, *words], stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120)


# --- against NumPy ---

def made_up(type_, shape, below):
    if type_ == "s32" and below:
        return rng.integers(0, below, shape, dtype=np.int32)
    if type_.startswith("f"):
        return (rng.integers(-512, 512, shape) / 512).astype(TYPES[type_])
    limits = np.iinfo(TYPES[type_])
    return rng.integers(limits.min, limits.max, shape, dtype=TYPES[type_], endpoint=True)


class Case:
    """A program with its operands as files of the working directory; indices are below a
    number."""

    def __init__(self, name, text, sizes, kernel=None, below=0):
        self.name, self.sizes = name, sizes
        of = rf"kernel {kernel}.*?(?=^kernel|\Z)"
        self.program = Program(re.search(of, text, re.S | re.M)[0] if kernel else text)
        with open(name + ".tile", "w") as f:
            f.write(text)
        self.arrays, words = {}, []
        for param, type_, dims in self.program.params:
            self.arrays[param] = made_up(type_, [sizes[d] for d in dims], below)
            np.save(f"{name}.{param}.npy", self.arrays[param])
            words.append(f"{name}.{param}.npy")
        names = [result for result, _, _ in self.program.results]
        for result in names:
            path = f"{name}.out.{result}.npy"
            words += ["-o", path if len(names) == 1 else f"{result}={path}"]
        self.words = ["tile", name + ".tile", *words, "--interpret",
                      *(["--kernel", kernel] if kernel else [])]

    def wrong(self, units=1):
        """What differs from NumPy by more than so many units, or nothing."""
        with np.errstate(all="ignore"):
            want = self.program.run(self.arrays, self.sizes)
        for result, type_, _ in self.program.results:
            got = np.load(f"{self.name}.out.{result}.npy")
            right = want[result].astype(np.float64)
            if got.dtype != TYPES[type_] or got.shape != right.shape:
                return f"{result} is {got.dtype} {got.shape}, want {type_} {right.shape}"
            got, unit = got.astype(np.float64), {"f32": 2**-23, "f16": 2**-11}.get(type_, 0)
            unit *= units
            size = np.abs(right)  # a cast to f16 within a program is not rounded, see ref.h
            size = np.maximum(size, np.nanmax(size)) * 3 if type_ == "f16" else size
            with np.errstate(invalid="ignore"):
                bad = ~(np.abs(got - right) <= size * unit + unit * 2**-14) & (got != right)
            bad &= ~(np.isnan(got) & np.isnan(right))
            if not unit and bad.mean() < 0.02:  # ties that libm and NumPy see apart
                bad &= np.abs(got - right) > 1
            if bad.any():
                at = tuple(np.argwhere(bad)[0])
                return f"{result}{list(map(int, at))} is {got[at]}, want {right[at]}"
        return ""


def examples():
    for name, sizes in EXAMPLES.items():
        sizes = {d: int(n) for d, n in (word.split("=") for word in sizes.split())}
        yield Case(name, MORE, sizes, name)


def random_programs():
    texts = []
    for first in range(0, RANDOM, AT_ONCE * 4):
        seeds = range(first, min(first + AT_ONCE * 4, RANDOM))
        words = " + ".join(f"tile_random {seed}" for seed in seeds).split()
        texts += re.findall(r"kernel .*?^#[ \d]*$", salai(TEST, words).stdout, re.S | re.M)
    assert len(texts) == RANDOM, "tile_random prints something else"
    for text in texts:
        sizes = map(int, text.rsplit("#", 1)[1].split())
        text = text.replace("bf16", "f16")  # of which there are no files
        yield Case(re.match(r"kernel (\w+)", text)[1], text, dict(zip("mnk", sizes)))


def page():
    """The example of kernels/tile/language.md, as it is typed there, and whether all is on it."""
    with open(ROOT + "/kernels/tile/language.md") as f:
        text = f.read()
    with open(ROOT + "/kernels/tile/ir/ops.def") as f:
        names = re.findall(r'TILE_OP\(\w+, "(\w+)"', f.read())
    with open(ROOT + "/kernels/tile/ir/build.c") as f:
        names += re.findall(r'^    \{"(\w+)", "', f.read(), re.M)
    missing = [name for name in names if f"`{name}" not in text]
    ok(not missing, "tile/page_has_every_function", " ".join(missing))
    example = re.search(r"```\n(kernel .*?)```", text, re.S)[1]
    case = Case("rms", example, {"m": 11, "n": 77})
    typed = re.findall(r'ARGS="(tile .*?)"', text)
    case.words = typed[0].replace("1000", "50").split()
    ran = [salai(SALAI, case.words), salai(SALAI, [*"tile rms.tile rms.x.npy rms.g.npy -o".split(),
                                                   "rms.out.y.npy"])]
    bad = [f"{r.args}: {r.stderr}" for r in ran
           if r.returncode != 0 or "verified: " not in r.stdout]
    ok(not bad, "tile/page_example_runs", "\n".join(bad))
    ok(not case.wrong(4), "tile/page_example_is_right", case.wrong(4))
    with open("rms.tile", "w") as f:
        f.write(example.replace("x, n", "x, k"))
    ran = salai(SALAI, case.words)
    told = re.search(r"^    (rms.tile:.*)$", text, re.M)[1]
    ok(ran.stderr.strip() == told, "tile/page_error", f"{ran.stderr}\n{told}")


def run_cases(cases):
    wrong = {}
    for first in range(0, len(cases), AT_ONCE):
        some = cases[first:first + AT_ONCE]
        ran = salai(SALAI, [w for case in some for w in ("+", *case.words)][1:])
        for case in some:
            wrong[case.name] = case.wrong() if ran.returncode == 0 else ran.stderr
    return wrong


def against_numpy():
    made_of_others = Case("functions", FUNCTIONS, {"m": 11, "n": 45})
    for name, reason in run_cases([*examples(), made_of_others]).items():
        ok(not reason, f"tile/{name}_by_the_interpreter", reason)
    ran = salai(SALAI, [w for w in made_of_others.words if w != "--interpret"])
    ok(ran.returncode == 0 and "verified: " in ran.stdout, "tile/functions_on_the_machine",
       ran.stdout + ran.stderr)
    wrong = run_cases(list(random_programs()))
    bad = [f"{name}: {reason}" for name, reason in wrong.items() if reason]
    ok(not bad, f"tile/{len(wrong)}_random_programs_by_the_interpreter", "\n".join(bad[:5]))


# --- on the machine ---

def planned(what, first, count):
    """Against the interpreter; what cannot be planned is counted by its reason."""
    ran = subprocess.run([*TEST, "tile_random", str(first), str(count)],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280)
    last = ran.stdout.splitlines()[-1:]
    ran_all = re.match(r"programs: (\d+) run, (\d+) refused, 0 wrong", last[0] if last else "")
    good = ran.returncode == 0 and ran_all and int(ran_all[1]) > 2 * int(ran_all[2])
    ok(good, f"tile/{count}_random_{what}_planned", ran.stdout[:2000] + ran.stderr)


# What the Cube does in programs, each with sizes at which cores share it.
CUBE = {
    "left": ("x: f16[m, k], w: f16[k, n]) -> y: f32[m, n]\n h = f16(silu(x))\n y = h @ w\n"
             "schedule keep h in l1\n", "m=300 k=300 n=600"),
    "right": ("x: f16[m, k], w: s8[k, n], s: f32[n]) -> y: f16[m, n]\n h = f16(f32(w) * s)\n"
              " y = f16(gelu(x @ h))\nschedule keep h in l1\n", "m=200 k=300 n=300"),
    "parts": ("x: f16[m, k], w: f16[k, n], s: f32[n]) -> y: f16[m, n]\n"
              " y = f16(gelu(x @ w + s))\n", "m=16 k=9000 n=64"),
    "windows": ("x: f16[b, m, n, 24], w: f16[40, r, s, 24]) -> y: f16[b, m, n, 40]\n"
                " y = f16(silu(conv(f16(relu(x)), w, pad 1)))\n", "b=2 m=20 n=31 r=3 s=3"),
    "apart": ("x: f16[b, m, n, c], w: f16[d, r, s, 1]) -> y: f16[b, m, n, d]\n"
              " y = f16(silu(conv(x, w, pad 1, groups 48)))\n", "b=2 m=20 n=31 c=48 d=48 r=3 s=3"),
    "attend": ("q: f16[h, m, k], t: f16[h, n, k], v: f16[h, n, k]) -> o: f16[h, m, k]\n"
               " loop n while n <= m carry a = -inf[h, m], l = 0[h, m], c = 0[h, m, k]\n"
               "  x = where(n <= m, dot(q, t, k) * 0.125, -inf)\n  b = max(a, max(x, n))\n"
               "  p = exp(x - b)\n  r = exp(a - b)\n  l = l * r + sum(p, n)\n"
               "  c = c * r + dot(f16(p), v, n)\n  a = b\n end\n o = f16(c * rec(l))\n"
               "schedule tile n 32\n", "h=2 m=140 n=140 k=32"),
}


def same_bytes():
    """On any number of cores, in any order of their engines."""
    words = []
    for name, (text, sizes) in CUBE.items():
        with open(f"{name}.tile", "w", encoding="ascii") as f:
            f.write(f"kernel {name}({text}")
        sizes = re.sub(r"(\w+)=(\w+)", r"--\1 \2", sizes)
        words += f"+ tile {name}.tile {sizes} --digest --check 9".split()
    options = ["--cores 1", "--cores 7 --seed 3"]
    if FULL:
        options += [f"--cores {n}" for n in (2, 7, 24, 32)]
        options += [f"--cores {1 + seed % 5} --seed {seed}" for seed in range(1, 101)]
    ran = [salai([*SALAI, *some.split(), "--"], words[1:]) for some in options]
    said = [re.findall("^digest .*", r.stdout, re.M) for r in ran]
    wrong = {line for lines in said for line in {*lines} ^ {*said[0]}}
    ok(not wrong and len(said[0]) == len(CUBE) and not any(r.returncode for r in ran),
       "tile/same_bytes_on_any_cores", wrong or "\n".join(r.stderr for r in ran))


# --- lines of a program ---

def lines():
    """A finding names the program's lines, of a stage those of the whole program."""
    for name, sizes, codes in (("softmax", "--m 64 --n 1024", ("COPY_GM_UB", "VSUB")),
                               ("layernorm", "--m 1 --n 65536", ("COPY_GM_UB",))):
        path = f"{ROOT}/kernels/ops/{name}.tile"
        with open(path) as f:
            first = [line.startswith("kernel") for line in f].index(True) + 1
        want = {f"{path}:{first + i}  {code}" for i, code in enumerate(codes)}
        words = f"--sanitize race -- tile {path} {sizes} --check 0"
        ran = subprocess.run([*SALAI, *words.split()], stdin=subprocess.DEVNULL, timeout=120,
                             capture_output=True, text=True, env={**os.environ,
                                                                  "FAULT": "skip:sem2"})
        missing = [w for w in want if w not in ran.stderr]
        ok(ran.returncode == 1 and not missing, f"tile/race_at_lines_of_{name}",
           "\n".join([*missing, ran.stderr]))
    with open("left.tile", "w", encoding="ascii") as f:
        f.write(f"kernel left({CUBE['left'][0]}")
    words = "--sanitize race -- tile left.tile --m 300 --k 300 --n 60 --check 0"
    ran = subprocess.run([*SALAI, *words.split()], stdin=subprocess.DEVNULL, timeout=120,
                         capture_output=True, text=True, env={**os.environ,
                                                              "FAULT": "skip:sem17"})
    want = ("left.tile:2  COPY_UB_L1 writes", "left.tile:3  LOAD3D_L0A reads")  # a in L1
    ok(ran.returncode == 1 and all(w in ran.stderr for w in want),
       "tile/race_at_lines_of_an_operand", ran.stderr)


# --- what is refused ---

SOFT = ("kernel soft(x: f32[m, n]) -> y: f32[m, n]\n    e = exp(x - max(x, n))\n"
        "    y = e * rec(sum(e, n))\n")
PROGRAMS = {
    "soft": "kernel soft(x: f32[m, n]) -> y: f32[m, n]\n    y = exp(x - max(x, k))\n",
    "good": "kernel good(x: f32[m, n]) -> y: f32[m, n]\n    y = exp(x)\n",
    "two": "kernel two(x: f32[m, n], z: f32[n]) -> y: f32[m, n]\n    y = x + z\n",
    "fixed": "kernel fixed(x: f32[m, 4]) -> y: f32[m, 4]\n    y = x\n",
    "rows": "kernel rows(x: f32[v, n], i: s32[k]) -> y: f32[k, n]\n    y = gather(x, i, v)\n",
    "scalar": "kernel scalar(x: f32[n], a) -> y: f32[n]\n    y = x * a\n",
    "option": "kernel option(x: f32[n], cores = 2) -> y: f32[n]\n    y = x * cores\n",
    "layout": SOFT + "schedule layout r8c5p8\n",
    "few": SOFT + "schedule layout x, layout r3c5p8n2\n",
    "many": SOFT + "schedule layout r3c5p8n2, layout x\n",
    "twice": SOFT + "schedule tile m 3, layout r3c5p8n2\n",
    "beyond": SOFT + "schedule buffers 9\n",
    "wide": SOFT + "schedule tile n 2\n",
    "sign": "kernel sign(x: f32[n]) -> y: f32[n]\n    y = sign(x, x)\n",
    "argmin": "kernel argmin(x: f32[n]) -> y: s32\n    y = argmin(x, x)\n",
    "useless": SOFT + "schedule lanes n\n",
    "cores": SOFT + "schedule cores 99\n",
    "much": SOFT + "schedule tile m 200\n",
    "arith": SOFT + "schedule arith f16\n",
    "half": "kernel half(x: f32[m, n]) -> y: bf16[m, n]\n    y = bf16(x)\n",
}

REFUSED = [
    ("unknown_dimension", "soft x.npy", "soft.tile:2:24: no value or dimension 'k'"),
    ("no_file", "none.tile x.npy", "tile: none.tile: no such file or directory"),
    ("a_folder", ". x.npy", "tile: .: is a directory"),
    ("no_program", "", "tile: want FILE.tile"),
    ("100_megabytes", "large.tile x.npy", "large.tile: a program has 65535 bytes at the most"),
    ("nul", "nul.tile x.npy", "nul.tile:2:9: a NUL byte: this is no text"),
    ("another_type", "good bad.npy", "good: bad.npy: x is float16, want float32"),
    ("another_rank", "good line.npy", "good: line.npy: x is (5,), want (m, n)"),
    ("another_size", "two x.npy bad.npy", "two: bad.npy: z is float16, want float32"),
    ("contradiction", "two x.npy x.npy", "two: x.npy: z is (3, 5), want (n,)"),
    ("fixed_size", "fixed x.npy", "fixed: x.npy: x is (3, 5), want 4 for 5"),
    ("index", "rows x.npy indices.npy", "rows: indices.npy: index 3, but v is 3"),
    ("scalar", "scalar line.npy", "scalar.tile:1:26: 'a' has no default"),
    ("name_of_an_option", "option line.npy",
     "option.tile:1:26: 'cores' is an option of the command line"),
    ("layout_of_another", "layout x.npy",
     "layout.tile:4:10: layout r8c5p8 is none of this program"),
    ("too_few_layouts", "few x.npy", "few.tile: the schedule has too few layouts"),
    ("too_many_layouts", "many x.npy", "many.tile:4:27: layout x: the plan is complete"),
    ("tile_beside_layout", "twice x.npy",
     "twice.tile:4:10: the layouts of this schedule say that already"),
    ("buffers_beyond", "beyond x.npy", "beyond.tile:4:10: buffers are 1 to 4"),
    ("tile_of_what_is_reduced", "wide x.npy",
     "wide.tile:4:10: tile n: it is reduced, so a tile has all of it"),
    ("choice_without_effect", "useless x.npy",
     "useless.tile:4:10: a program without products has no such choice"),
    ("too_many_arguments", "sign line.npy", "sign.tile:2:9: expected sign(x)"),
    ("no_dimension", "argmin line.npy",
     "argmin.tile:2:9: expected argmin(x, dimension)"),
    ("more_cores_than_there_are", "cores.tile --m 256 --n 1024",
     "cores.tile:4:10: cores 99: the chip has 1"),
    ("keeping_by_pieces", "useless.tile --m 256 --n 1024",
     "useless.tile:4:10: a program without products has no such choice"),
    ("a_tile_beyond_the_memory", "much.tile --m 256 --n 1024",
     "much.tile:4:10: soft does not fit: 200 rows of 1024 want 2266 KiB more"),
    ("arithmetic_of_another_type", "arith x.npy", "arith.tile:4:10: arith f16: nothing is f16"),
    ("bf16_to_a_file", "half x.npy", "half.tile:1:30: no .npy file holds bf16"),
    ("no_kernel", "good x.npy --kernel bad", "good.tile: no kernel 'bad'"),
]


def stored():
    """A schedule without letters: digits behind the number of buffers are phases."""
    with open("stored.tile", "w", encoding="ascii") as f:
        f.write(SOFT + "schedule layout r3c5p8n201\n")
    ran = salai(SALAI, ["tile", "stored.tile", "--m", "3", "--n", "5"])
    ok(ran.returncode == 0 and "verified: 15 of 15" in ran.stdout, "tile/layout_without_letters",
       ran.stdout + ran.stderr)


def spread():
    """Of two rows that UB does not hold for each row of a tile one lies there."""
    with open("spread.tile", "w", encoding="ascii") as f:
        f.write("kernel spread(x: f32[m, n], g: f32[n], b: f32[n]) -> y: f32[m, n]\n"
                "y = x * g + b\nschedule layout r8c64p72n2ft1\n")
    ran = salai(SALAI, ["tile", "spread.tile", "--m", "20", "--n", "64", "--explain"])
    ok("8 x 64, pitch 72, 2 buffers, columns spread once" in ran.stdout and
       "schedule layout r8c64p72n2ft1\n" in ran.stdout and "verified: " in ran.stdout,
       "tile/columns_spread_once", ran.stdout + ran.stderr)


def refused():
    x = np.zeros((3, 5), np.float32)
    np.save("x.npy", x)
    np.save("bad.npy", np.zeros((2, 3), np.float16))
    np.save("line.npy", x[0])
    with open("indices.npy", "wb") as f:
        np.save(f, np.array([0, 3], np.int32))
    for name, text in PROGRAMS.items():
        with open(name + ".tile", "w") as f:
            f.write(text)
    with open("large.tile", "wb") as f:
        f.truncate(100 << 20)
    with open("nul.tile", "wb") as f:
        f.write(b"kernel a(x: f32[n]) -> y: f32[n]\n    y = \0x\n")
    before = sorted(os.listdir())
    for name, words, want in REFUSED:
        words = words.split()
        words[:1] = [words[0] if "." in words[0] else words[0] + ".tile"] if words else []
        ran = salai(SALAI, ["tile", *words, "-o", "y.npy"] if words else ["tile"])
        reasons = [] if ran.returncode == 2 else [f"exit status {ran.returncode}"]
        if not ran.stderr.startswith(want) or ran.stderr.count("\n") != 1:
            reasons.append(f"got {ran.stderr.strip()}\nwant {want}")
        if sorted(os.listdir()) != before:
            reasons.append("left something behind")
        ok(not reasons, f"tile/refuses_{name}", "\n".join(reasons))


with tempfile.TemporaryDirectory(prefix="tile-", dir=ROOT + "/build/test") as folder:
    os.chdir(folder)
    against_numpy()
    page()
    planned("programs", 0, PLANNED)
    planned("products", WITH_PRODUCTS, PRODUCTS)
    same_bytes()
    lines()
    stored()
    spread()
    refused()
    os.chdir(ROOT)
sys.exit(done())
