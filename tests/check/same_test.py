#!/usr/bin/python3
# SPDX-License-Identifier: MIT
#
# same_test.py [--full]    a checked run is the run without checks: what it prints, with
#                          cycles and digests, its trace and its recording, on 1, 7 and 32
#                          cores, with seeds; and a replay with checks finds what they found
#
# --full: every operator and the kernels that race, recorded and replayed. TAP on stdout.
import filecmp
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.abspath(__file__)) + "/../.."
sys.dont_write_bytecode = True
sys.path.insert(0, ROOT + "/tests")
from tap import check, done  # noqa: E402

FULL = "--full" in sys.argv
ENV = {k: v for k, v in os.environ.items()
       if k not in ("CORES", "PROFILE", "MEM", "SEED", "TRACE") and not k.startswith("CHECK")}
TEST = ("--image", "build/fw-picolibc/test.elf")
MLA = ("mla_prolog", "--m", "150", "--n", "260", "--k", "70", "--digest")
VADD = ("vadd", "--n", "20000", "--digest")
MATMUL = ("matmul", "--m", "100", "--n", "130", "--k", "300", "--check", "50", "--digest")
# Cores, seed, whether it is recorded and replayed as well, words.
RUNS = [("1", "0", False, MLA), ("7", "3", True, VADD), ("32", "5", False, MATMUL)]
if FULL:
    RUNS = [(cores, seed, True, words) for words in (MLA, VADD, MATMUL, (*TEST, "races"),
                                                     (*TEST, "hazards"))
            for cores, seed in (("1", "0"), ("2", "9"), ("7", "3"), ("32", "5"))]


class Run:
    """One run in a folder of its own: what it printed, its trace, recording and findings."""

    def __init__(self, folder, cores, seed, words, check=False, record=None, replay=None):
        self.folder = folder
        os.mkdir(folder)
        options = ["--cores", cores, "--seed", seed, "--trace", f"{folder}/trace"]
        if check:
            options += ["--sanitize", "all", "--json", f"{folder}/json"]
        if words[0] == "--image":
            options, words = options + list(words[:2]), words[2:]
        env = {}
        for mode, path in (("record", record), ("replay", replay)):
            if path:
                os.makedirs(path, exist_ok=True)
                env = {"NPU_ARGS": f"{mode}={path}",
                       "QEMU_ICOUNT": f"rr={mode},rrfile={path}/rr"}
        ran = subprocess.run(["tools/salai", *options, "--", *words], cwd=ROOT, env=ENV | env,
                             stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             timeout=300)
        self.out, self.err, self.status = ran.stdout, ran.stderr, ran.returncode
        with open(f"{folder}/trace", "rb") as f:
            self.trace = f.read()
        self.found = None
        if check:
            with open(f"{folder}/json") as f:
                self.found = json.load(f)

    def differs(self, plain):
        problems = []
        if self.status not in (plain.status, max(plain.status, 1)) or len(self.trace) < 1000:
            problems.append(f"status {self.status}: {self.err[:300]}")
        if self.out != plain.out:
            problems.append(f"prints {self.out[:200]!r}, want {plain.out[:200]!r}")
        if self.trace != plain.trace:
            problems.append(f"another trace, {len(self.trace)} and {len(plain.trace)} bytes")
        return problems


def recordings(folder, run, plain, checked):
    """A run recorded without and with checks, and each replayed the other way. The record of
    QEMU itself has times of the host in it."""
    bare = Run(f"{folder}/bare", *run, record=f"{folder}/a")
    under = Run(f"{folder}/under", *run, check=True, record=f"{folder}/b")
    again = Run(f"{folder}/again", *run, check=True, replay=f"{folder}/a")
    without = Run(f"{folder}/without", *run, replay=f"{folder}/b")
    problems = [p for r in (bare, under, again, without) for p in r.differs(plain)]
    names = sorted(os.listdir(f"{folder}/a"))
    _, other, missing = filecmp.cmpfiles(f"{folder}/a", f"{folder}/b", names, shallow=False)
    problems += [f"another recording: {name}" for name in other + missing if name != "rr"]
    if len({os.path.getsize(f"{folder}/{which}/rr") for which in "ab"}) != 1:
        problems.append("a longer record of QEMU's")
    if len(names) < 2 or names != sorted(os.listdir(f"{folder}/b")):
        problems.append(f"recorded {names}")
    if not under.found == again.found == checked.found:
        problems.append("other findings")
    return problems


def main():
    for cores, seed, recorded, words in RUNS:
        run = (cores, seed, words)
        name = f"{words[2] if words[0] == '--image' else words[0]}_{cores}_cores_seed_{seed}"
        with tempfile.TemporaryDirectory() as folder:
            plain = Run(f"{folder}/plain", *run)
            checked = Run(f"{folder}/checked", *run, check=True)
            check(f"same/{name}", plain.differs(plain) + checked.differs(plain))
            if recorded:
                check(f"same/{name}_recorded", recordings(folder, run, plain, checked))
    return done()


sys.exit(main())
